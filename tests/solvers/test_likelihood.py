"""The bounds "likelihood" and "softmax-margin": objectives recomputed by hand, certificates, and every way to a fit."""

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import maxmargin as mm

CHAINS = mm.datasets.make_chains(30, random_state=0)
SMOOTH = ["likelihood", "softmax-margin"]


def chains_of(n, length=4, n_labels=3, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(int(rng.integers(1, length + 1)), d)) for _ in range(n)]
    return X, [rng.integers(n_labels, size=len(x)).tolist() for x in X]


def objective(model, X, Y, C, weights):
    """½‖w‖² + C Σ c_i (log Σ exp(score + loss) − score of the truth), over all labellings."""
    structure, w = model.structure_, model.coef_
    total = 0.5 * w @ w
    for x, y, c in zip(X, Y, weights, strict=True):
        values = []
        for labels in itertools.product(structure.labels_.values, repeat=len(y)):
            loss = structure.loss(y, list(labels)) if model.bound == "softmax-margin" else 0.0
            values.append(w @ structure.joint_feature(x, list(labels)) + loss)
        total += C * c * (logsumexp(values) - w @ structure.joint_feature(x, y))
    return total


@pytest.mark.parametrize("bound", SMOOTH)
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "bundle", "oneslack"])
def test_certificates_are_those_of_enumeration(bound, solver):
    X, Y = chains_of(12)
    weights = np.linspace(0.5, 2.0, 12)
    model = mm.SequenceTagger(bound=bound, solver=solver, C=0.7, tol=1e-5).fit(X, Y, weights)
    value = objective(model, X, Y, 0.7, weights)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-9)
    assert model.certificate_.dual <= value * (1 + 1e-12)
    assert model.certificate_.gap <= 1e-5
    assert model.certificate_.proven


@pytest.mark.parametrize("bound", SMOOTH)
def test_every_solver_reaches_the_same_optimum(bound):
    models = [mm.SequenceTagger(bound=bound, solver=s, tol=1e-7).fit(*CHAINS) for s in ("lbfgs", "bundle")]
    assert models[0].certificate_.primal == pytest.approx(models[1].certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=0.01)


def test_the_lower_bound_is_far_above_that_of_the_last_gradient():
    model = mm.SequenceTagger(bound="likelihood", tol=1e-2).fit(*CHAINS)
    assert model.certificate_.gap <= 1e-2
    row = next(row for row in model.history_ if row["gap"] <= 0.05)
    assert row["dual"] > 0


def test_the_likelihood_of_rows_is_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = np.argmax(X @ rng.normal(size=(5, 3)) + rng.normal(size=(120, 3)), axis=1)
    ours = mm.MulticlassSVM(bound="likelihood", C=0.8, fit_intercept=False, tol=1e-10).fit(X, y)
    theirs = LogisticRegression(C=0.8, fit_intercept=False, tol=1e-10, max_iter=5000).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(ours.predict_log_proba(X), np.log(ours.predict_proba(X)), atol=1e-12)


def test_threads_do_not_change_bits():
    X, Y = mm.datasets.make_chains(300, random_state=1)
    one, two = (mm.SequenceTagger(bound="likelihood", n_jobs=n).fit(X, Y) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("solver", ["lbfgs", "bundle"])
def test_resumed_fits_are_bit_for_bit_the_same(tmp_path, solver):
    whole = mm.SequenceTagger(bound="likelihood", solver=solver, tol=1e-4).fit(*CHAINS)
    path = tmp_path / "state"
    with pytest.warns(UserWarning, match="gap"):
        mm.SequenceTagger(bound="likelihood", solver=solver, tol=1e-4, max_iter=5, checkpoint=path).fit(*CHAINS)
    again = mm.SequenceTagger(bound="likelihood", solver=solver, tol=1e-4).fit(*CHAINS, resume=path)
    np.testing.assert_array_equal(again.coef_, whole.coef_)


def test_lower_bounds_and_sample_weights():
    model = mm.SequenceTagger(bound="likelihood", nonnegative=True, tol=1e-4).fit(*CHAINS)
    assert model.coef_.min() >= 0.0
    assert model.certificate_.gap <= 1e-4
    X, Y = CHAINS
    twice = mm.SequenceTagger(bound="likelihood", tol=1e-7).fit(list(X) * 2, list(Y) * 2)
    weighted = mm.SequenceTagger(bound="likelihood", tol=1e-7).fit(X, Y, np.full(len(X), 2.0))
    assert twice.certificate_.primal == pytest.approx(weighted.certificate_.primal, rel=1e-6)


@pytest.mark.parametrize(
    ("model", "data", "message"),
    [
        (mm.SequenceTagger(bound="likelihood", slack="quadratic"), CHAINS, "needs slack='linear'"),
        (mm.SequenceTagger(bound="likelihood", C=np.inf), CHAINS, "needs a finite C"),
        (mm.SequenceTagger(bound="likelihood", solver="nslack"), CHAINS, "needs planes of single outputs"),
        (mm.SequenceTagger(solver="lbfgs"), CHAINS, "is for the bounds 'likelihood' and 'softmax-margin'"),
        (mm.SequenceTagger(bound="softmax-margin", loss="zero-one"), CHAINS, "not a sum over tokens"),
    ],
)
def test_what_is_not_possible(model, data, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


def test_a_time_limit_ends_a_fit():
    X, Y = mm.datasets.make_chains(200, random_state=1)
    with pytest.warns(UserWarning):
        model = mm.SequenceTagger(bound="likelihood", max_seconds=1e-9).fit(X, Y)
    assert model.stop_reason_ == "max_seconds"


def test_a_fit_of_trees_that_is_cut_short():
    """No single output is found, so there is none whose features could be compared for the warning."""
    X, Y = mm.datasets.toy.constituents()
    with pytest.warns(ConvergenceWarning, match="stopped after 1 steps"):
        mm.ConstituencyParser(bound="likelihood", C=1e6, max_iter=1).fit(X, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "oneslack", "bundle"])
@pytest.mark.parametrize("scale", [1e8, 1e14])
def test_lower_bounds_after_a_start_far_away(solver, scale):
    """Values of planes are differences of numbers of 1e16, which were lower bounds above the objective."""
    X, Y = mm.datasets.toy.items()
    structure = mm.Knapsack(decision="vector")
    best = mm.StructuralSVM(structure, bound="likelihood", C=1e3).fit(X, Y)
    for max_iter in (5, 200):
        model = mm.StructuralSVM(
            structure, bound="likelihood", C=1e3, solver=solver, start=scale * best.coef_, max_iter=max_iter
        ).fit(X, Y)
        assert not model.certificate_.contradicted
        assert model.certificate_.dual <= best.certificate_.primal
        assert model.certificate_.primal_bound >= best.certificate_.dual
