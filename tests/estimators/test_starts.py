"""First weights of fits: the parameter `start`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import maxmargin as mm


def rare(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + X[:, 1] + 1.5 * rng.normal(size=n) > 2.2).astype(int)


X, y = rare()
CHAINS = mm.datasets.make_chains(20, random_state=0)


def objective(model):
    return model.history_[-1]["objective"]


@pytest.mark.parametrize("start", ["perceptron", "convex", "weights", "estimator"])
def test_a_convex_fit_has_the_same_optimum_from_any_start(start):
    plain = mm.SequenceTagger(C=0.1, tol=1e-4).fit(*CHAINS)
    given = {"weights": plain.coef_, "estimator": plain}.get(start, start)
    model = mm.SequenceTagger(C=0.1, tol=1e-4, start=given).fit(*CHAINS)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-4)
    names = {"perceptron": "perceptron", "convex": "", "weights": "weights", "estimator": "SequenceTagger"}
    assert model.certificate_.start == names[start]


def test_the_optimum_as_first_point_saves_argmaxes():
    plain = mm.SequenceTagger(C=0.1, tol=1e-3).fit(*CHAINS)
    again = mm.SequenceTagger(C=0.1, tol=1e-3, start=plain).fit(*CHAINS)
    assert again.certificate_.oracle_calls < plain.certificate_.oracle_calls


def test_a_ramp_is_never_above_the_objective_of_its_start():
    first = LinearSVC(class_weight="balanced", C=0.1).fit(X, y)
    model = mm.MeasureSVC(measure="f1", bound="ramp", start=first).fit(X, y)
    assert model.certificate_.start == "LinearSVC"
    w = np.append(first.coef_, first.intercept_)
    scores, p = X @ w[:-1] + w[-1], y.sum()
    found = (scores > 0).astype(int)
    loss = p * (1 - 2 * (found & y).sum() / (found.sum() + p))
    assert objective(model) <= 0.5 * w @ w + loss + p  # the ramp exceeds the loss by at most its greatest value
    again = mm.MeasureSVC(measure="f1", bound="ramp", start=model).fit(X, y)
    assert objective(again) <= objective(model) + 1e-9


@pytest.mark.filterwarnings("ignore:all rows")  # the convex optimum is w = 0
def test_the_best_of_several_starts_is_kept_and_named():
    each = {}
    for name in ("convex", "perceptron"):
        each[name] = objective(mm.MeasureSVC(measure="f1", bound="ramp", start=name).fit(X, y))
    model = mm.MeasureSVC(measure="f1", bound="ramp", start=("convex", "perceptron")).fit(X, y)
    best = min(each, key=each.get)
    assert objective(model) == pytest.approx(each[best], rel=1e-9)
    assert model.certificate_.start == best
    assert f"from the start {best!r}" in str(model.certificate_)


def test_a_convex_fit_begins_at_the_best_of_several_points():
    plain = mm.SequenceTagger(C=0.1).fit(*CHAINS)
    model = mm.SequenceTagger(C=0.1, start=[100.0 * plain.coef_, plain]).fit(*CHAINS)
    assert model.certificate_.start == "SequenceTagger"


def test_a_structure_adds_names_with_one_method():
    class Named(mm.Chain):
        def _halves(self, examples, sample_weight):
            assert len(sample_weight) == examples.n_examples == 20
            return np.full(examples.dim, 0.5)

        named_starts = {"halves": _halves}  # noqa: RUF012

    seen = []
    model = mm.StructuralSVM(Named(), start="halves", max_iter=1, callbacks=lambda step: seen.append(step))
    with pytest.warns(UserWarning):
        model.fit(*CHAINS)
    assert model.certificate_.start == "halves"
    with pytest.raises(ValueError, match="start must be one of 'auto', 'convex', 'perceptron', 'halves'"):
        mm.StructuralSVM(Named(), start="hmm").fit(*CHAINS)


@pytest.mark.parametrize("estimator", [mm.MulticlassSVM(start="nope"), mm.MeasureSVC(start="nope")])
def test_unknown_names_are_errors(estimator):
    with pytest.raises(ValueError, match="start must be one of 'auto', 'convex'"):
        estimator.fit(X, y)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (None, "use 'auto'"),
        ((), "found \\(\\)"),
        ([np.nan, 1.0], "start\\[0\\] must be a finite number"),
        ([1.0, 2.0], "the weights have 2 entries, but these data need 6"),
        (LinearSVC(), "has no weights coef_: fit it first"),
        (LogisticRegression().fit(X[:, :2], y), "the weights of this LogisticRegression have 3 entries"),
        ({"a": 1}, "must be None or a vector of weights|must be a name"),
    ],
)
def test_starts_that_do_not_fit_are_errors(start, message):
    with pytest.raises(ValueError, match=message):
        mm.MeasureSVC(measure="f1", start=start).fit(X, y)


def test_a_fitted_start_survives_clone_and_a_model_file(tmp_path):
    first = LinearSVC().fit(X, y)
    model = mm.MeasureSVC(measure="f1", bound="ramp", start=[first, "convex"])
    twin = clone(model)
    assert twin.start is model.start
    model.fit(X, y)
    model.save(tmp_path / "model.mm")
    loaded = mm.load(tmp_path / "model.mm")
    assert loaded.certificate_ == model.certificate_
    assert np.array_equal(loaded.start[0], [*first.coef_[0], first.intercept_[0]])
    assert loaded.start[1] == "convex"
    again = clone(loaded).fit(X, y)
    assert np.array_equal(again.coef_, model.coef_)


def test_weights_of_all_labels_are_divided_among_them():
    labels = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
    whole = mm.MeasureSVC(measure="f1", bound="ramp", start="perceptron").fit(X, labels)
    again = mm.MeasureSVC(measure="f1", bound="ramp", start=whole).fit(X, labels)
    assert again.certificate_.start == "weights"
    assert again.certificate_.primal <= whole.certificate_.primal * (1 + 1e-6)


def test_warm_start_takes_the_place_of_the_start_after_the_first_fit():
    model = mm.SequenceTagger(C=0.1, start="perceptron", warm_start=True)
    assert model.fit(*CHAINS).certificate_.start == "perceptron"
    assert model.fit(*CHAINS).certificate_.start == "last fit"


def test_resuming_makes_no_start(tmp_path):
    calls = []

    class Named(mm.Chain):
        def _zero(self, examples, sample_weight):
            calls.append(1)
            return np.zeros(examples.dim)

        named_starts = {"zero": _zero}  # noqa: RUF012

    settings = {"C": 0.1, "start": "zero", "checkpoint": mm.Checkpoint(tmp_path / "fit.npz", every=0.0)}
    with pytest.warns(UserWarning):
        mm.StructuralSVM(Named(), max_iter=2, **settings).fit(*CHAINS)
    resumed = mm.StructuralSVM(Named(), **settings).fit(*CHAINS, resume=tmp_path / "fit.npz")
    whole = mm.StructuralSVM(Named(), **settings).fit(*CHAINS)
    assert len(calls) == 2
    assert np.array_equal(resumed.coef_, whole.coef_)


def test_a_ramp_starts_within_the_lower_bounds_of_its_structure():
    """Weights of a cut that reward different labels of neighbours were an error about the edges of X."""
    X, Y = mm.datasets.toy.images()
    model = mm.CutSegmenter(bound="ramp", max_iter=50, tol=0.1)
    weights = mm.CutSegmenter(max_iter=50, tol=0.1).fit(X, Y).coef_
    assert (weights > 0.0).any()
    assert model.set_params(start=-weights).fit(X, Y).certificate_.start == "weights"
