"""Structures of one's own survive a file by their module and name, and no code runs that was not asked for."""

import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from alike import CHAINS, ROWS, assert_alike, assert_same_model, through_file
from sklearn.base import BaseEstimator

import maxmargin as mm


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
        self.scorers = {"first": [len]}


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
    loaded = through_file(model, tmp_path, support=True)
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
    loaded = through_file(model, tmp_path)
    assert_alike(loaded.structure.get_state(), structure.get_state())
    assert_alike(loaded.coef_, model.coef_)
    assert callable(loaded.structure_.lock)
    assert loaded.predict(list(ROWS[0])) == model.predict(list(ROWS[0]))
    other = Rows(prior=PRIOR)
    model.set_params(structure=other)
    loaded = through_file(model, tmp_path)
    assert type(loaded.structure) is Rows
    assert type(loaded.structure_) is RowsWithState


def test_own_estimator(tmp_path):
    model = MyTagger(extra=("a", 1)).fit(*CHAINS)
    assert_same_model(model, through_file(model, tmp_path), CHAINS[0])


def test_own_structure_that_cannot_be_saved(tmp_path):
    def save(structure):
        mm.StructuralSVM(structure).fit(list(ROWS[0]), ROWS[1].tolist()).save(tmp_path / "model.mm")

    class Local(Rows):
        pass

    with pytest.raises(ValueError, match=r"parameters.structure cannot be saved: its class .*<locals>.Local is def"):
        save(Local())
    message = (
        r"parameters.structure.scorers.first\[0\] cannot be saved: it is a builtin_function_or_method .*"
        r"To save it, give Locked the methods get_state\(self\).* from_state\(cls, state\)"
    )
    with pytest.raises(ValueError, match=message):
        save(Locked())
    hidden = type("Rows", (Rows,), {"__module__": __name__})
    with pytest.raises(ValueError, match="Rows is not its class"):
        save(hidden())
    half = type("Half", (Rows,), {"__module__": __name__, "__qualname__": "Half", "get_state": lambda self: {}})
    globals()["Half"] = half
    with pytest.raises(ValueError, match="Half has get_state but no from_state"):
        save(half())

    def broken(self):
        raise RuntimeError("no state today")

    half.get_state, half.from_state = broken, classmethod(lambda cls, state: cls())
    with pytest.raises(ValueError, match=r"Half.get_state raised RuntimeError: no state today"):
        save(half())
    del globals()["Half"]
    assert list(tmp_path.iterdir()) == []


MODULE = """
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
import numpy as np
import maxmargin as mm

class Scale(mm.Structure):
    size = 6
    def joint_feature(self, x, y): return np.asarray(x) * y
    def loss(self, y, y_hat): return float(y != y_hat)
    def argmax(self, w, x): return 1 if w @ x > 0 else -1
    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((1, -1), key=lambda v: v * (w @ x) + scale * (v != y))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A model of a structure from a module that leaves a trace when it is imported, and is not imported."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "mm_scale.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import mm_scale  # ty: ignore

    model = mm.StructuralSVM(mm_scale.Scale()).fit(list(ROWS[0]), [1 if v else -1 for v in ROWS[1]])
    model.save(tmp_path / "scale.mm")
    expected = model.predict(list(ROWS[0]))
    del sys.modules["mm_scale"]
    (folder / "mm_scale.ran").unlink()
    yield tmp_path / "scale.mm", folder / "mm_scale.ran", expected
    sys.modules.pop("mm_scale", None)


def test_no_module_is_imported_that_was_not_named(module):
    path, trace, expected = module
    message = r"scale.mm needs classes of 'mm_scale', which this program .* load\(path, modules=\['mm_scale'\]\)"
    for modules in ((), ["other"], "other", [json]):
        with pytest.raises(ValueError, match=message):
            mm.load(path, modules)
        assert not trace.exists()
        assert "mm_scale" not in sys.modules
    for modules in (["mm_scale"], "mm_scale", ("json", "mm_scale")):
        sys.modules.pop("mm_scale", None)
        assert mm.load(path, modules).predict(list(ROWS[0])) == expected
    assert trace.exists()
    trace.unlink()
    assert mm.load(path).predict(list(ROWS[0])) == expected
    assert mm.load(path, modules=[sys.modules["mm_scale"]]).predict(list(ROWS[0])) == expected
    assert not trace.exists()


def test_a_named_module_that_is_not_there(module, monkeypatch):
    path, trace, _ = module
    trace.with_suffix(".py").unlink()
    with pytest.raises(ImportError, match="the module 'mm_scale', which a model needs, cannot be imported"):
        mm.load(path, modules="mm_scale")
    monkeypatch.setitem(sys.modules, "mm_scale", None)
    with pytest.raises(ValueError, match="needs classes of 'mm_scale'"):
        mm.load(path)


def test_a_class_that_is_gone(module):
    path, trace, _ = module
    trace.with_suffix(".py").write_text("def __getattr__(name): raise SystemExit('ran')\n")
    with pytest.raises(ValueError, match="needs the class Scale of mm_scale, but this structure does not exist"):
        mm.load(path, modules="mm_scale")


def test_classes_of_a_script(tmp_path, monkeypatch):
    main = sys.modules["__main__"]
    kind = type("ScriptRows", (Rows,), {"__module__": "__main__", "__qualname__": "ScriptRows"})
    monkeypatch.setattr(main, "ScriptRows", kind, raising=False)
    path = tmp_path / "model.mm"
    mm.StructuralSVM(kind()).fit(list(ROWS[0]), ROWS[1].tolist()).save(path)
    assert type(mm.load(path).structure) is kind
    monkeypatch.delattr(main, "ScriptRows")
    with pytest.raises(ValueError, match=r"needs the class ScriptRows of __main__, .*saved by a script"):
        mm.load(path)
    globals()["ScriptRows"] = kind
    try:
        assert type(mm.load(path, modules=__name__).structure) is kind
    finally:
        del globals()["ScriptRows"]


def test_own_code_that_fails_is_told_as_such(tmp_path, monkeypatch):
    path = tmp_path / "model.mm"
    mm.StructuralSVM(RowsWithState(6, 3)).fit(list(ROWS[0]), ROWS[1].tolist()).save(path)

    def broken(state):
        raise KeyError("prior")

    monkeypatch.setattr(RowsWithState, "from_state", broken)
    with pytest.raises(ValueError, match=r"mm cannot be loaded: RowsWithState.from_state raised KeyError") as info:
        mm.load(path)
    assert isinstance(info.value.__cause__, KeyError)
