"""A second fit: it leaves nothing of the first, and where it fails, all of it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import maxmargin as mm


def words():
    X = [["Ana", "met", "Tom"], ["Tom", "sings"], ["Ana", "sings"]]
    return X, [["PER", "O", "PER"], ["PER", "O"], ["PER", "O"]]


def with_columns(sentences, labels):
    return [[(word, "POS") for word in sentence] for sentence in sentences], labels


def motifs():
    rng = np.random.default_rng(0)
    without = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(12)]
    return without + [x[:3] + "TTGA" + x[7:] for x in without], ["no"] * 12 + ["yes"] * 12


def queries():
    X = np.array([[1.0, 0.2], [0.8, 0.9], [0.1, 0.4], [0.9, 0.5], [0.2, 0.3], [0.4, 0.8]])
    return X, [1, 0, 0, 1, 0, 0], list("aaabbb")


def wider(rows, *others):
    return np.c_[rows, rows], *others


def renamed(X, y):
    return X, [f"not {label}" for label in y]


REFITS = {
    "multiclass, wider": (mm.MulticlassSVM(), mm.datasets.make_multiclass(20, random_state=0), wider),
    "multiclass, other labels": (mm.MulticlassSVM(), mm.datasets.make_multiclass(20, random_state=0), renamed),
    "columns": (mm.ColumnTagger(), words(), with_columns),
    "motif": (mm.MotifFinder(length=4, background_order=0), motifs(), renamed),
    "ranker": (mm.StructuredRanker(measure="precision@1"), queries(), wider),
}


def fails(step):
    raise RuntimeError("out of luck")


def learnt(model):
    """Which object each fitted attribute is."""
    return {name: id(value) for name, value in vars(model).items() if name.endswith("_")}


@pytest.mark.parametrize(("model", "first", "other"), REFITS.values(), ids=REFITS)
def test_a_fit_that_fails_leaves_the_model_of_the_one_before(model, first, other):
    model = clone(model).fit(*first)
    before, kept = learnt(model), model.predict(first[0])
    with pytest.raises(RuntimeError, match="out of luck"):
        model.set_params(callbacks=fails).fit(*other(*first))
    assert learnt(model) == before
    np.testing.assert_array_equal(np.array(model.predict(first[0]), object), np.array(kept, object))


@pytest.mark.parametrize(("model", "first", "other"), REFITS.values(), ids=REFITS)
def test_a_first_fit_that_fails_leaves_nothing(model, first, other):
    model = clone(model).set_params(callbacks=fails)
    with pytest.raises(RuntimeError, match="out of luck"):
        model.fit(*first)
    assert learnt(model) == {}
    with pytest.raises(NotFittedError):
        model.predict(first[0])


def test_a_margin_that_there_is_not_leaves_the_model_of_the_fit_before():
    X, y = mm.datasets.make_multiclass(12, random_state=0)
    model = mm.MulticlassSVM().fit(X, y)
    predicted = model.predict(X)
    with pytest.raises(ValueError, match="not separable"):
        model.set_params(C=np.inf).fit(np.r_[X, X], np.repeat(["a", "b"], 12))
    np.testing.assert_array_equal(model.predict(X), predicted)
    np.testing.assert_array_equal(model.classes_, np.unique(y))


def test_a_new_fit_leaves_nothing_of_the_one_before():
    X, Y = mm.datasets.make_chains(10, random_state=0)
    named = [[{f"f{j}": v for j, v in enumerate(row)} for row in x] for x in X]
    model = mm.SequenceTagger().fit(X, Y)
    assert model.n_features_in_ == X[0].shape[1]
    assert not hasattr(model.fit(named, Y), "n_features_in_")


def test_a_new_fit_leaves_nothing_of_a_path():
    X, Y = mm.datasets.make_chains(10, random_state=0)
    named = [[{f"f{j}": v for j, v in enumerate(row)} for row in x] for x in X]
    (model,) = mm.regularization_path(mm.SequenceTagger(), X, Y, [1.0])
    assert model.n_features_in_ == X[0].shape[1]
    assert not hasattr(model.fit(named, Y), "n_features_in_")


def test_a_warm_start_is_what_a_ranker_begins_with():
    X, y, groups = queries()
    model = mm.StructuredRanker(measure="precision@1", warm_start=True).fit(X, y, groups=groups)
    first = model.coef_
    np.testing.assert_array_equal(model.fit(X, y, groups=groups).start_coef_, first)


def test_each_model_of_a_path_knows_its_data():
    X, y, groups = queries()
    models = mm.regularization_path(mm.StructuredRanker(measure="precision@1"), X, y, [0.1, 1.0], groups=groups)
    assert [model.n_features_in_ for model in models] == [2, 2]
    np.testing.assert_array_equal(models[1].start_coef_, models[0].coef_)
    path = mm.regularization_path(mm.MotifFinder(length=4, background_order=0), *motifs(), [0.1, 1.0])
    assert [model.classes_.tolist() for model in path] == [["no", "yes"]] * 2


@pytest.mark.parametrize("intercept", [True, False])
def test_an_intercept_set_after_a_fit_is_for_the_next(intercept):
    X, y = mm.datasets.make_multiclass(20, random_state=0)
    model = mm.MulticlassSVM(fit_intercept=intercept).fit(X, y)
    before = model.topk(X[0], 2), model.explain(X[0])
    model.set_params(fit_intercept=not intercept)
    assert (model.topk(X[0], 2), model.explain(X[0])) == before
    assert model.fit(X, y).intercept_.any() != intercept


def test_an_intercept_of_links_set_after_a_fit_is_for_the_next():
    places = [[0.0, 1.0, 5.0, 5.5], [3.0, 9.0, 3.5]]
    X = [np.abs(np.subtract.outer(p, p))[:, :, None] for p in places]
    model = mm.ForestClustering(C=10.0).fit(X, [["a", "a", "b", "b"], ["a", "b", "a"]])
    before = model.links(X[0])
    assert len(before) == 2
    assert model.set_params(fit_intercept=False).links(X[0]) == before


class Centred(mm.SequenceTagger):
    """Learns something by itself before its base does."""

    def __init__(self, *, C=0.3, scale_=1.0):
        super().__init__(C=C)
        self.scale_ = scale_

    def fit(self, X, Y, sample_weight=None):
        self.mean_ = np.concatenate(X).mean(axis=0)
        return super().fit([self.scale_ * (x - self.mean_) for x in X], Y, sample_weight)

    def predict(self, X):
        return super().predict([self.scale_ * (x - self.mean_) for x in X])


def test_what_a_derived_estimator_learns_is_its_own():
    X, Y = mm.datasets.make_chains(20, random_state=0)
    model = Centred(scale_=2.0).fit(X, Y)
    first = [list(y) for y in model.predict(X)]
    assert model.get_params()["scale_"] == 2.0
    assert [list(y) for y in model.fit(X, Y).predict(X)] == first
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, Y, sample_weight=[-1.0] * len(X))
    assert [list(y) for y in model.predict(X)] == first


def saved_and_loaded(model, path):
    model.save(path / "model.mm")
    return mm.load(path / "model.mm", classes=type(model))


KEPT = {"pickle": lambda model, path: pickle.loads(pickle.dumps(model)), "model file": saved_and_loaded}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_a_model_from_a_file_forgets_its_data_too(kept, tmp_path):
    X, Y = mm.datasets.make_chains(20, random_state=0)
    model = kept(mm.SequenceTagger().fit(X, Y), tmp_path)
    assert model.n_features_in_ == X[0].shape[1]
    model.fit([[["word"] for _ in x] for x in X], Y)
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_what_a_derived_estimator_learns_is_its_own_in_a_file_too(kept, tmp_path):
    X, Y = mm.datasets.make_chains(20, random_state=0)
    model = Centred(scale_=2.0).fit(X, Y)
    first = [list(y) for y in model.predict(X)]
    again = kept(model, tmp_path)
    assert [list(y) for y in again.predict(X)] == first
    assert [list(y) for y in again.fit(X, Y).predict(X)] == first
