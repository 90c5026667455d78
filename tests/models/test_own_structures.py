"""User-defined structures and estimators survive a file by their names; whoever loads it passes their classes."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import maxmargin as mm
from tests.helpers.same_models import CHAINS, ROWS, assert_alike, assert_same_model, through_file


class Rows(mm.Structure):
    """Multiclass in plain Python; what the constructor makes is kept."""

    exact = False  # the prior is not part of w·Ψ

    def __init__(self, n_features=6, n_labels=3, prior=None):
        self.n_features, self.n_labels, self.prior = n_features, n_labels, prior
        self.size = n_features * n_labels

    def joint_feature(self, x, y):
        return np.arange(self.n_features) + y * self.n_features, np.asarray(x, float)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def _scores(self, w, x):
        return w.reshape(self.n_labels, -1) @ x + (0 if self.prior is None else self.prior)

    def argmax(self, w, x):
        return int(self._scores(w, x).argmax())

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        scores = self._scores(w, x) + scale
        scores[y] -= scale
        return int(scores.argmax())


class RowsWithParameters(Rows, BaseEstimator):
    """With get_params: the constructor makes what is private."""

    def __init__(self, n_features=6, n_labels=3, prior=None):
        super().__init__(n_features, n_labels, prior)
        self._lock = lambda: None
        self.note = "made"


class RowsWithState(Rows):
    """With get_state and from_state: whatever one likes."""

    def __init__(self, *sizes):
        super().__init__(*sizes)
        self.lock = lambda: None

    def get_state(self):
        return {"sizes": (self.n_features, self.n_labels), "prior": self.prior}

    @classmethod
    def from_state(cls, state):
        structure = cls(*state["sizes"])
        structure.prior = state["prior"]
        return structure


class DuckRows:
    """No subclass of Structure, and with a class inside a class."""

    exact, size = True, None
    joint_feature, loss, argmax = Rows.joint_feature, Rows.loss, Rows.argmax
    loss_augmented_argmax, _scores = Rows.loss_augmented_argmax, Rows._scores

    def __init__(self, n_features=6, n_labels=3, prior=None):
        Rows.__init__(self, n_features, n_labels, prior)

    class Inner(Rows):
        pass


@dataclass
class DataRows(Rows):
    n_features: int = 6
    n_labels: int = 3
    prior: object = None
    size: int = 18


class Locked(Rows):
    def __init__(self):
        super().__init__()
        self.scorers = {"first": [object()]}


class MyTagger(mm.SequenceTagger):
    """An estimator of one's own."""

    def __init__(self, *, C=0.1, extra=None):
        super().__init__(C=C)
        self.extra = extra


PRIOR = np.array([0.1, -0.2, 0.0])


@pytest.mark.parametrize(
    "structure", [Rows(prior=PRIOR), RowsWithParameters(prior=PRIOR), DuckRows(), DuckRows.Inner(), DataRows()],
    ids=lambda structure: type(structure).__name__,
)  # fmt: skip
def test_own_structure(structure, tmp_path):
    model = mm.StructuralSVM(structure).fit(list(ROWS[0]), ROWS[1].tolist())
    loaded = through_file(model, tmp_path, support=True, classes=type(structure))
    lock = vars(loaded.structure).pop("_lock", None), vars(model.structure).pop("_lock", None)
    assert (lock[0] is None) == (lock[1] is None)
    assert loaded.structure_ is loaded.structure
    assert [plane.output for plane in loaded.support_] == [None] * len(model.support_)
    assert_alike(model.support_.alphas, loaded.support_.alphas)
    model.support_ = None
    loaded.support_ = None
    assert_same_model(model, loaded, list(ROWS[0]))


def test_own_state(tmp_path):
    structure = RowsWithState(6, 3)
    structure.prior = PRIOR
    model = mm.StructuralSVM(structure).fit(list(ROWS[0]), ROWS[1].tolist())
    loaded = through_file(model, tmp_path, classes={"RowsWithState": RowsWithState})
    assert_alike(loaded.structure.get_state(), structure.get_state())
    assert_alike(loaded.coef_, model.coef_)
    assert callable(loaded.structure_.lock)
    assert loaded.predict(list(ROWS[0])) == model.predict(list(ROWS[0]))
    other = Rows(prior=PRIOR)
    model.set_params(structure=other)
    loaded = through_file(model, tmp_path, classes=(Rows, RowsWithState, DuckRows))
    assert type(loaded.structure) is Rows
    assert type(loaded.structure_) is RowsWithState


def test_own_estimator(tmp_path):
    model = MyTagger(extra=("a", 1)).fit(*CHAINS)
    assert_same_model(model, through_file(model, tmp_path, classes=MyTagger), CHAINS[0])


def test_own_structure_that_cannot_be_saved(tmp_path):
    def save(structure):
        mm.StructuralSVM(structure).fit(list(ROWS[0]), ROWS[1].tolist()).save(tmp_path / "model.mm")

    message = (
        r"parameters.structure.scorers.first\[0\] cannot be saved: it is an object .*"
        r"To save it, give Locked the methods get_state\(self\).* from_state\(cls, state\)"
    )
    with pytest.raises(ValueError, match=message):
        save(Locked())
    half = type("Half", (Rows,), {"get_state": lambda self: {}})
    with pytest.raises(ValueError, match="Half has get_state but no from_state"):
        save(half())

    def broken(self):
        raise RuntimeError("no state today")

    half.get_state, half.from_state = broken, classmethod(lambda cls, state: cls())
    with pytest.raises(ValueError, match=r"Half.get_state raised RuntimeError: no state today"):
        save(half())
    assert list(tmp_path.iterdir()) == []


def saved(structure, path):
    model = mm.StructuralSVM(structure).fit(list(ROWS[0]), ROWS[1].tolist())
    model.save(path)
    return model.predict(list(ROWS[0]))


def test_a_class_is_given_by_whoever_loads(tmp_path):
    """Its name is compared with those of the classes given, whatever is imported."""
    path = tmp_path / "model.mm"
    expected = saved(Rows(), path)
    message = (
        rf"model.mm needs the class Rows \(of the module {__name__} when it was saved\); a file never chooses what is "
        r"called, so pass your own in Python: maxmargin.load\(path, classes=\[Rows\]\)"
    )
    for classes in (None, [], DuckRows, [DuckRows, MyTagger]):
        with pytest.raises(ValueError, match=message):
            mm.load(path, classes=classes)
    moved = type("Rows", (Rows,), {"__module__": "elsewhere"})
    for classes, kind in ((Rows, Rows), (moved, moved), ([moved, Rows], Rows), (iter([Rows, moved]), Rows)):
        loaded = mm.load(path, classes=classes)
        assert type(loaded.structure) is kind
        assert loaded.predict(list(ROWS[0])) == expected
    with pytest.raises(ValueError, match="needs the class Rows"):  # which of the two is not known
        mm.load(path, classes=[moved, type("Rows", (Rows,), {"__module__": "third"})])


def test_classes_of_scripts_and_functions(tmp_path):
    class Local(Rows):
        pass

    script = type("ScriptRows", (Rows,), {"__module__": "__main__", "__qualname__": "ScriptRows"})
    for kind in (Local, script):
        expected = saved(kind(), tmp_path / "model.mm")
        loaded = mm.load(tmp_path / "model.mm", classes=kind)
        assert type(loaded.structure_) is kind
        assert loaded.predict(list(ROWS[0])) == expected


@pytest.mark.parametrize("given", [int, [len], ["Rows"], Rows(), 3, [np.ndarray], "Rows", mm.Optimizer])
def test_what_is_given_as_a_class_is_one(tmp_path, given):
    with pytest.raises(TypeError, match="classes must be classes of structures or estimators, found"):
        mm.load(tmp_path / "no file is read", classes=given)


def test_all_that_is_missing_is_named_at_once(tmp_path):
    structure = Rows(prior=PRIOR)
    structure.note, structure.notes = max, [max, min]
    saved(structure, tmp_path / "model.mm")
    with pytest.raises(ValueError, match=r"needs the class Rows .* and the function 'note'") as info:
        mm.load(tmp_path / "model.mm")
    assert "(path, classes=[Rows], functions={'note': …, 'notes[0]': …, 'notes[1]': …})" in str(info.value)
    given = {"note": max, "notes[0]": max, "notes[1]": min}
    loaded = mm.load(tmp_path / "model.mm", classes=Rows, functions=given)
    assert loaded.structure.note is max and loaded.structure.notes == [max, min]


def test_own_code_that_fails_is_told_as_such(tmp_path, monkeypatch):
    path = tmp_path / "model.mm"
    mm.StructuralSVM(RowsWithState(6, 3)).fit(list(ROWS[0]), ROWS[1].tolist()).save(path)

    def broken(state):
        raise KeyError("prior")

    monkeypatch.setattr(RowsWithState, "from_state", broken)
    with pytest.raises(ValueError, match=r"mm cannot be loaded: RowsWithState.from_state raised KeyError") as info:
        mm.load(path, classes=RowsWithState)
    assert isinstance(info.value.__cause__, KeyError)
