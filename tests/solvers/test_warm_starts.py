"""A fit that begins from weights ends with none that are worse."""

import numpy as np
import pytest

import maxmargin as mm

SOLVERS = ["auto", "nslack", "oneslack", "bundle", "subgradient", mm.solvers.Subgradient(step_rule="polyak")]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: getattr(solver, "step_rule", solver))
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_the_weights_of_a_better_solver_are_kept(solver, slack):
    X, Y = mm.datasets.make_chains(30, random_state=0)
    model = mm.SequenceTagger(C=1.0, tol=1e-5, slack=slack, warm_start=True).fit(X, Y)
    before = model.certificate_.primal
    model.set_params(solver=solver, max_iter=3, tol=1e-2).fit(X, Y)
    assert model.certificate_.primal <= before * (1 + 1e-12)


def test_a_hard_margin_begins_anew():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 2]
    model = mm.MulticlassSVM(C=np.inf, solver="nslack", warm_start=True).fit(X, y)
    before = model.certificate_.primal
    assert model.fit(X, y).certificate_.primal == pytest.approx(before, rel=1e-3)


@pytest.mark.parametrize("solver", ["bundle", "oneslack"])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_a_path_keeps_aggregate_planes(solver, slack):
    """The planes of another C are scaled with it, and remain lower bounds on the risk."""
    X, Y = mm.datasets.make_chains(30, random_state=0)
    tagger, Cs = mm.SequenceTagger(solver=solver, slack=slack), [0.1, 1.0, 0.3]
    for C, model in zip(Cs, mm.regularization_path(tagger, X, Y, Cs), strict=True):
        alone = mm.SequenceTagger(solver=solver, slack=slack, C=C).fit(X, Y).certificate_
        assert model.certificate_.primal == pytest.approx(alone.primal, rel=2e-3)
        assert model.certificate_.dual <= alone.primal
        assert model.certificate_.oracle_calls <= 1.2 * alone.oracle_calls


def test_a_ramp_begins_at_the_weights():
    """The convex form of the ramp would lead far away from a solution of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(rng.random(60) < 0.4, rng.integers(0, 3, 60), np.argmax(X @ rng.normal(size=(2, 3)), axis=1))
    model = mm.MulticlassSVM(bound="ramp", C=100.0, tol=1e-3, warm_start=True).fit(X, y)
    before, weights = model.history_[-1]["objective"], model.coef_.copy()
    assert len(model.history_) > 2
    model.fit(X, y)
    assert model.history_[0]["objective"] <= before * (1 + 1e-12)
    assert np.abs(model.coef_ - weights).max() < 0.1 * np.abs(weights).max()
