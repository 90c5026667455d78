"""Weights of 0 count as seen: no fit ends above the objective there, and no row of a history is infinite."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm

X, Y = mm.datasets.make_chains(60, random_state=0)
TOKENS = sum(map(len, Y))


def fitted(**settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mm.SequenceTagger(**settings).fit(X, Y)


@pytest.mark.parametrize("solver", ["auto", "nslack", "oneslack", "bundle", "subgradient"])
@pytest.mark.parametrize("max_iter", [1, 2, 4])
@pytest.mark.parametrize("C", [1e-4, 10.0])
def test_no_fit_ends_above_the_objective_at_zero(solver, max_iter, C):
    model = fitted(solver=solver, max_iter=max_iter, C=C)
    certificate, last = model.certificate_, model.history_[-1]
    assert certificate.primal <= C * TOKENS * (1 + 1e-12)  # the Hamming loss of a labelling without a correct label
    assert not any(np.isinf(list(map(float, (row["primal"], row["dual"], row["gap"])))).any() for row in model.history_)
    assert (last["primal"], last["oracle_calls"]) == (certificate.primal, certificate.oracle_calls)


def test_it_is_the_objective_at_zero_that_is_claimed():
    model = fitted(solver="nslack", max_iter=2, C=10.0)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.certificate_.primal, 10.0 * TOKENS)


def test_no_sweep_where_planes_rule_it_out():
    """A fit that converges is not asked at w = 0."""
    calls = []
    decode = mm.Chain.encode(mm.Chain().fit(X, Y), X, Y).__class__.decode

    def counted(self, w, ids, scales, answers):
        calls.append(bool(w.any()))
        decode(self, w, ids, scales, answers)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("maxmargin.structures.chain.examples.ChainExamples.decode", counted)
        model = fitted(C=1.0)
    assert model.stop_reason_ == "tol"
    assert all(calls[calls.index(True) :])  # only the first mini-batch is decoded at w = 0


@pytest.mark.parametrize("solver", ["auto", "nslack", "subgradient"])
def test_lower_bounds_are_kept(solver):
    """With lower bounds, the weights offered are the nearest ones to 0 within the bounds."""
    from maxmargin.bounds import Bound
    from maxmargin.core.objective import Objective
    from maxmargin.problem import Problem
    from maxmargin.solvers.base import Limits
    from maxmargin.solvers.registry import resolve
    from maxmargin.training.run import Run

    examples = mm.Chain().fit_encode(X, Y)
    lower = np.full(examples.dim, -np.inf)
    lower[:3] = 0.1
    problem = Problem(examples, Bound(), Objective(10.0, np.ones(len(Y)), lower=lower))
    state = Run(resolve(solver), Limits(max_iter=2)).go(problem)
    assert (state.best_w >= lower).all()
    zero = np.maximum(np.zeros(examples.dim), lower)
    problem.decode(zero, problem.everyone)
    assert state.best_primal <= problem.primal(zero)[0]


@pytest.mark.slow
def test_a_resumed_fit_is_unaffected(tmp_path):
    """Weights of 0 are offered after the last checkpoint, so that the rest of the fit does not depend on the stop."""
    settings = {"solver": "nslack", "C": 10.0, "tol": 1e-6, "checkpoint": tmp_path / "fit.npz"}
    whole = fitted(**settings, max_iter=9)
    assert not fitted(**settings, max_iter=3).coef_.any()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        resumed = mm.SequenceTagger(**settings, max_iter=9).fit(X, Y, resume=tmp_path / "fit.npz")
    np.testing.assert_array_equal(whole.coef_, resumed.coef_)
    assert whole.certificate_.dual == resumed.certificate_.dual
