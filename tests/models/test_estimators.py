"""Models survive a file exactly: every estimator, kind of input and kind of label."""

import json
import pickle
import re
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import maxmargin as mm
from maxmargin.features.text.vocabulary import Vocabulary
from maxmargin.models import objects
from maxmargin.models.files import UNSAVED
from maxmargin.models.objects import ModelWriter
from maxmargin.models.values import Reader, Writer
from maxmargin.registry import REPLACED, public_estimators, public_structures
from maxmargin.solvers.registry import SOLVERS
from maxmargin.solvers.working_sets.nslack import NSlack
from tests.helpers.same_models import CHAINS, ROWS, assert_alike, assert_same_model, through_file


def labelled(Y, names):
    return [[names[v] for v in y] for y in Y]


def dicts(X):
    return [[{"word": f"w{row[0]:.0f}", "größe": float(row[1]), "up": bool(row[2] > 0)} for row in x] for x in X]


def strings(X):
    return [[[f"{j}={v:.0f}\n" for j, v in enumerate(row)] for row in x] for x in X]


def pairs(X, features):
    return [(x, features(x[1:])) for x in X]


def bio(Y):
    return [mm.repair_bio([("O", "B-X", "I-X", "O")[v] for v in y]) for y in Y]


def tagger(X=CHAINS[0], Y=CHAINS[1], **parameters):
    return mm.SequenceTagger(**parameters), X, Y


def multiclass(X=ROWS[0], y=ROWS[1], **parameters):
    return mm.MulticlassSVM(**parameters), X, y


X, Y = CHAINS
MIXED = [(0, 1), "x", b"y", 2.5]
COSTS = 1.0 + np.arange(16.0).reshape(4, 4)
np.fill_diagonal(COSTS, 0.0)

CASES = {
    "tagger": tagger(),
    "tagger, sparse": tagger([sp.csr_array(x) for x in X]),
    "tagger, dicts": tagger(dicts(X)),
    "tagger, strings": tagger(strings(X)),
    "tagger, words as labels": tagger(Y=labelled(Y, ["a", "b", "é", ""])),
    "tagger, numbers as labels": tagger(Y=labelled(Y, [1, 2.0, 0, -1])),
    "tagger, any labels": tagger(Y=labelled(Y, MIXED), classes=MIXED),
    "tagger, costs": tagger(loss=COSTS),
    "tagger, dict of costs": tagger(loss={2: 3.0, 0: 0.5}),
    "tagger, share": tagger(loss="hamming-share", bound="slack", slack="quadratic"),
    "tagger, zero-one": tagger(loss="zero-one", start_end=False, fit_intercept=False),
    "tagger, bio": tagger(Y=bio(Y), constraints="bio"),
    "tagger, constraints": tagger(constraints=mm.Constraints(((0, 7),), (7,), (7,)), classes=(0, 1, 2, 3, 7)),
    "tagger, pairs": tagger(constraints=[(0, 7), (7, 0)], classes=[0, 1, 2, 3, 7]),
    "tagger, transitions": tagger(pairs(X, lambda part: part[:, :2]), transition_features=True),
    "tagger, named transitions": tagger(
        pairs(X, lambda part: [{"a": f"{row[0]:.0f}"} for row in part]), transition_features=True
    ),
    "tagger, parameters": tagger(
        C=np.float32(0.3),
        tol=np.float64(0.02),
        n_jobs=np.int64(1),
        random_state=np.random.RandomState(3),
        classes=np.array([3, 2, 1, 0], np.int8),
        max_seconds=1e300,
    ),
    "multiclass": multiclass(),
    "multiclass, sparse": multiclass(sp.csr_matrix(ROWS[0])),
    "multiclass, words": multiclass(y=np.array(["é", "b", "long"])[ROWS[1]]),
    "multiclass, objects": multiclass(y=np.array(["é", "b", "long"], object)[ROWS[1]]),
    "multiclass, booleans": multiclass(y=ROWS[1] > 0),
    "multiclass, floats": multiclass(y=ROWS[1].astype(float) + 1),
    "multiclass, small numbers": multiclass(y=ROWS[1].astype(np.uint8)),
    "multiclass, big-endian": multiclass(y=ROWS[1].astype(">i4")),
    "multiclass, no intercept": multiclass(fit_intercept=False, classes=range(5)),
    "multiclass, costs": multiclass(loss=COSTS[:3, :3].tolist(), bound="slack"),
    "multiclass, fortran costs": multiclass(loss=np.asfortranarray(COSTS[:3, :3])),
    "structural chain": (mm.StructuralSVM(mm.Chain(cost="zero-one")), X, Y),
    "structural chain with constraints": (
        mm.StructuralSVM(mm.Chain(constraints=mm.Constraints(((0, 0),)), classes=[3, 0, 1, 2])),
        X,
        [[v or t % 2 for t, v in enumerate(y)] for y in Y],
    ),
    "structural multiclass": (mm.StructuralSVM(mm.Multiclass()), list(ROWS[0]), ROWS[1].tolist()),
}


def fitted(name):
    estimator, X, Y = CASES[name]
    return estimator.fit(X, Y), X


@pytest.mark.parametrize("name", CASES)
def test_round_trip(name, tmp_path):
    model, X = fitted(name)
    assert_same_model(model, through_file(model, tmp_path), X)
    assert_same_model(model, through_file(model, tmp_path, support=True), X, support=True)


@pytest.mark.parametrize("name", ["tagger, any labels", "tagger, dicts", "multiclass, words", "structural multiclass"])
def test_pickle_and_joblib(name, tmp_path):
    model, X = fitted(name)
    assert_same_model(model, pickle.loads(pickle.dumps(model)), X, support=True)
    joblib.dump(model, tmp_path / "model.joblib")
    assert_same_model(model, joblib.load(tmp_path / "model.joblib"), X, support=True)
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    np.testing.assert_array_equal(through_file(mapped, tmp_path).coef_, model.coef_)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "certificate"])  # which needs trees or matchings
def test_solvers(name, tmp_path):
    kind = SOLVERS[name]
    settings = {"nslack": {"epsilon": 0.02}, "bundle": {"balance": (0.9, 2.0)}, "perceptron": {"shuffle": False}}
    for solver in (name, kind(), kind(**settings.get(name, {}))):
        bound = "likelihood" if kind.smooth else "margin"
        model = mm.MulticlassSVM(bound=bound, solver=solver, tol=0.5).fit(*ROWS)
        loaded = through_file(model, tmp_path, support=True)
        assert_same_model(model, loaded, ROWS[0], support=True)
        assert loaded.solver == solver


def test_a_parameter_that_the_solver_no_longer_has(tmp_path, monkeypatch):
    """Files outlive the parameters of a solver: they load, with a warning that names what is ignored."""

    @dataclass(frozen=True)
    class Earlier(NSlack):
        patience_then: int = 3
        pace: float = 0.5

    monkeypatch.setitem(objects.RECORDS, "solver nslack", Earlier)
    model = mm.MulticlassSVM(solver=Earlier(epsilon=0.02), tol=0.5).fit(*ROWS)
    model.save(tmp_path / "model.mm")
    monkeypatch.undo()
    with pytest.warns(UserWarning, match=r"this version of NSlack has no parameter patience_then, pace;"):
        loaded = mm.load(tmp_path / "model.mm")
    assert loaded.solver == NSlack(epsilon=0.02)
    np.testing.assert_array_equal(loaded.predict(ROWS[0]), model.predict(ROWS[0]))


def test_data_frames(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS[0], columns=[f"größe {j}" for j in range(6)])
    model = mm.MulticlassSVM().fit(frame, ROWS[1])
    loaded = through_file(model, tmp_path)
    assert_same_model(model, loaded, frame)
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns=str.upper))


def test_loaded_models_can_be_used_like_others(tmp_path):
    model = mm.SequenceTagger(warm_start=True).fit(*CHAINS)
    loaded = through_file(model, tmp_path, support=True)
    assert loaded.score(*CHAINS) == model.score(*CHAINS)
    assert loaded.topk(X[0], 3) == model.topk(X[0], 3)
    assert str(loaded.explain(X[0])) == str(model.explain(X[0]))
    assert [plane.output for plane in loaded.support_] == [plane.output for plane in model.support_]
    assert isinstance(loaded.support_[0].output, list)
    np.testing.assert_allclose(loaded.support_.planes.T @ loaded.support_.alphas, loaded.coef_, atol=0.2)
    again = through_file(loaded, tmp_path)
    assert_same_model(model, again, X)
    model.fit(*CHAINS)
    loaded.fit(*CHAINS)
    assert_alike(model.coef_, loaded.coef_)
    loaded.coef_ *= 2  # arrays from a file can be written to


def test_what_belongs_to_the_run_is_not_saved(tmp_path):
    model = mm.SequenceTagger(callbacks=[lambda step: None], checkpoint=tmp_path / "run.checkpoint").fit(*CHAINS)
    loaded = through_file(model, tmp_path)
    assert UNSAVED == ("callbacks", "checkpoint", "engine")
    assert loaded.callbacks is loaded.checkpoint is None
    rest = {name: value for name, value in model.get_params().items() if name not in UNSAVED}
    assert rest == {name: value for name, value in loaded.get_params().items() if name not in UNSAVED}
    assert model.callbacks is not None


def test_weights_that_were_changed_are_the_ones_saved(tmp_path):
    model = mm.MulticlassSVM().fit(*ROWS)
    model.coef_[0] = -0.0
    model.intercept_ += 1.0
    assert_same_model(model, through_file(model, tmp_path), ROWS[0])


def test_equal_models_give_equal_files(tmp_path):
    model, _ = fitted("tagger, dicts")
    model.save(tmp_path / "a.mm")
    mm.load(tmp_path / "a.mm").save(tmp_path / "b.mm")
    assert (tmp_path / "a.mm").read_bytes() == (tmp_path / "b.mm").read_bytes()


def test_layout(tmp_path):
    """What docs/model_files.md promises."""
    model, _ = fitted("tagger, dicts")
    model.save(tmp_path / "model.mm")
    with zipfile.ZipFile(tmp_path / "model.mm") as archive:
        document = json.loads(archive.read("model.json"))
        assert np.load(archive.open("weights.npy"), allow_pickle=False).tolist() == model.coef_.tolist()
        names = {name for name in archive.namelist() if name.startswith("structure.learnt.tokens.vocabulary.")}
    assert names == {f"structure.learnt.tokens.vocabulary.{part}.npy" for part in ("text", "lengths")}
    assert (document["format"], document["version"]) == ("maxmargin model", 3)
    assert document["maxmargin"] == mm.__version__
    assert document["estimator"] == "SequenceTagger"
    assert document["parameters"]["C"] == 0.3
    assert document["fitted"]["stop_reason_"] == "tol"
    assert document["needs"] == {"classes": [], "functions": {}}


def test_every_structure_and_estimator_of_the_library_goes_by_name():
    structures, estimators = public_structures(), public_estimators()
    assert mm.Chain in structures and mm.Ranking in structures and mm.StructuralSVM not in structures
    assert mm.StructuralSVM in estimators and mm.StructuredRanker in estimators
    for kind in (*structures, *estimators):
        assert ModelWriter().class_name(kind) == kind.__name__


def test_names_that_were_replaced():
    for name, other in REPLACED.items():
        with pytest.raises(AttributeError, match=re.escape(f"maxmargin has no {name}: use {other}")):
            getattr(mm, name)
        assert re.split(r"[(.]", other)[0] in mm.__all__ and name not in mm.__all__
    with pytest.raises(AttributeError, match="Nobody"):
        mm.Nobody  # noqa: B018


def test_not_fitted(tmp_path):
    with pytest.raises(NotFittedError, match="this SequenceTagger is not fitted, so it cannot be saved"):
        mm.SequenceTagger().save(tmp_path / "model.mm")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"classes": [int]}, r"parameters.classes\[0\] cannot be saved: it is a type <class 'int'>"),
        ({"classes": iter("ab")}, "parameters.classes cannot be saved: it is a str_"),
        ({"classes": [[object()]]}, r"parameters.classes\[0\]\[0\] cannot be saved: it is an object"),
        ({"classes": np.zeros(2, [("a", int)])}, "parameters.classes cannot be saved: it is an array of"),
        ({"C": -1}, "C must be a number > 0"),
    ],
)
def test_what_cannot_be_saved_is_named_and_nothing_is_written(parameters, message, tmp_path):
    model = mm.MulticlassSVM().fit(*ROWS).set_params(**parameters)
    (tmp_path / "model.mm").write_bytes(b"old")
    with pytest.raises(ValueError, match=message):
        model.save(tmp_path / "model.mm")
    assert (tmp_path / "model.mm").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_weights_that_do_not_fit_their_structure_are_not_saved(tmp_path):
    model = mm.MulticlassSVM().fit(*ROWS)
    model.coef_ = model.coef_[:, :-1]
    with pytest.raises(ValueError, match="it has 18 weights, its structure 21"):
        model.save(tmp_path / "model.mm")


def test_parameters_set_after_a_fit_are_saved_beside_what_was_learnt(tmp_path):
    model = mm.MulticlassSVM().fit(*ROWS).set_params(fit_intercept=False)
    model.save(tmp_path / "model.mm")
    again = mm.load(tmp_path / "model.mm")
    assert again.fit_intercept is False
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    assert again.topk(ROWS[0][0], 1) == model.topk(ROWS[0][0], 1)


def test_labels_that_cannot_be_saved_are_named(tmp_path):
    class Tag(str):
        pass

    model = mm.SequenceTagger(classes=["a", Tag("b"), "c", "d"]).fit(X, labelled(Y, "abcd"))
    with pytest.raises(ValueError, match=r"parameters.classes\[1\] cannot be saved: it is a Tag 'b'"):
        model.save(tmp_path / "model.mm")
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contain themselves"):
        mm.MulticlassSVM().fit(*ROWS).set_params(classes=endless).save(tmp_path / "model.mm")


# ---------------------------------------------------------------------- values

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()) | st.binary()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(st.characters(), max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
LABELS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=4)


@given(VALUES)
def test_any_value(value):
    writer = Writer()
    text = json.dumps(writer.encode(value, "value"), ensure_ascii=False, allow_nan=False).encode()
    assert_alike(Reader(writer.arrays.__getitem__).decode(json.loads(text), "value"), value)


ODD_VALUES = [
    float("nan"), float("-inf"), -0.0, 5e-324, 10**6000, -(2**64), "\ud83d\ude00", "$tuple", {"$tuple": [1]},
    {"\ud800": 1}, {1: "a", "1": "b"}, {True: {}, (1, 2.0): []}, {10**6000: 1}, {1, 2}, frozenset({"a"}),
    range(3, 9, 2), b"\x00\xff", np.float16(0.1), np.float64("nan"), np.bool_(True), np.str_("é"), np.bytes_(b"x"),
    np.uint64(2**64 - 1), np.zeros((0, 3)), np.array(7, np.int8), np.array("é"), np.array(["2001-01-01"], "M8[D]"),
    np.array([1 + 2j]), np.array([[None, "a"], [(1,), 2.0]], object), [1, 1.0, True, "1", (1,), [1]],
    np.arange(6).reshape(2, 3).T, np.arange(10)[::-2], np.array([], "U3"), np.array([True, False]), {}, [], (), set(),
]  # fmt: skip


def test_odd_values(tmp_path):
    model = mm.MulticlassSVM().fit(*ROWS)
    model.extra_ = ODD_VALUES
    assert_alike(through_file(model, tmp_path).extra_, ODD_VALUES)


@settings(max_examples=40)
@given(st.lists(LABELS.filter(lambda label: label is not None), min_size=2, max_size=5, unique=True))
def test_any_labels(labels):
    sequences = [np.eye(len(labels)), np.eye(len(labels))[::-1]]
    Y = [labels, labels[::-1]]
    model = mm.SequenceTagger(classes=labels, tol=0.5).fit(sequences, Y)
    with tempfile.TemporaryDirectory() as folder:
        loaded = through_file(model, Path(folder), support=True)
    assert_same_model(model, loaded, sequences, support=True)
    assert_alike(loaded.structure_.labels_.values, labels)


@given(st.lists(st.text(st.characters()), unique=True))
def test_any_vocabulary(names):
    vocabulary = Vocabulary()
    vocabulary.columns = {name: column for column, name in enumerate(names)}
    again = Vocabulary.from_state(vocabulary.get_state())
    assert list(again.columns.items()) == list(vocabulary.columns.items())


def test_vocabularies_are_compact(tmp_path):
    names = [f"word[{d}]={n:x}" for n in range(20000) for d in (-1, 0, 1)]
    tokens = [names[i : i + 30] for i in range(0, len(names), 30)]
    model = mm.SequenceTagger(tol=0.9).fit([tokens], [[t % 2 for t in range(len(tokens))]])
    loaded = through_file(model, tmp_path)
    assert list(loaded.structure_.tokens_.vocabulary.columns) == names
    with zipfile.ZipFile(tmp_path / "model.mm") as archive:
        sizes = {info.filename: info.compress_size for info in archive.infolist()}
    held = sum(size for name, size in sizes.items() if "vocabulary" in name)
    assert held < 0.5 * sum(map(len, names))
    assert sizes["model.json"] < 3000
