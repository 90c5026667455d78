"""Algorithm 1 of Tsochantaridis et al. 2004: all its formulations, its stopping rule, and the hard margin."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.hard_margin import NotSeparableError
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.structures.multiclass import Multiclass
from tests.helpers.problems import Case

COSTS = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])

#: name: (cost, rescaling, slack, C)
FORMULATIONS = {
    "SVM0": ("zero-one", "margin", "linear", np.inf),
    "SVM1": ("zero-one", "margin", "linear", 2.0),
    "SVM2": ("zero-one", "margin", "quadratic", 2.0),
    "SVM1, slack": (COSTS, "slack", "linear", 2.0),
    "SVM2, slack": (COSTS, "slack", "quadratic", 2.0),
    "SVM1, margin": (COSTS, "margin", "linear", 2.0),
    "SVM2, margin": (COSTS, "margin", "quadratic", 2.0),
}


def clusters(spread, n=30, seed=0):
    """Three classes in the plane: apart where the spread is small."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return np.array([[2.0, 0.0], [-1.0, 2.0], [-1.0, -2.0]])[y] + spread * rng.normal(size=(n, 2)), y


def made(X, y, cost="zero-one", rescaling="margin", slack="linear", C=2.0):
    examples = Multiclass(cost=cost).fit(X, y).encode(X, y)
    return Problem(examples, Bound(rescaling, slack), Objective(C, np.ones(len(y)), slack))


def solved(solver, problem, tol=1e-9, max_iter=200):
    state = solver.init(problem)
    return state, solver.run(problem, state, Limits(tol, max_iter))


@pytest.mark.parametrize("name", FORMULATIONS)
def test_all_formulations_against_the_default_solver(name):
    X, y = clusters(0.4 if name == "SVM0" else 1.5)
    problem = made(X, y, *FORMULATIONS[name])
    state, reason = solved(NSlack(epsilon=1e-6), problem)
    other, _ = solved(ProximalWorkingSets(), made(X, y, *FORMULATIONS[name]), tol=1e-5)
    assert reason in ("converged", "tol")
    assert state.certificate(problem).gap < 1e-5
    assert other.best_dual * (1 - 1e-9) <= state.best_primal
    assert state.best_dual * (1 - 1e-9) <= other.best_primal
    assert state.best_primal == pytest.approx(other.best_primal, rel=1e-2 if name == "SVM0" else 1e-4)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("epsilon", [0.1, 0.01, 0.001])
def test_it_ends_when_nothing_is_violated_by_more_than_epsilon(slack, epsilon):
    case = Case("csr", "margin", slack, True, C=2.0)
    problem = case.problem()
    state, reason = solved(NSlack(epsilon=epsilon), problem)
    assert reason in ("converged", "tol")
    keys = state.sets.live_keys()
    assert len(keys) == len(set(keys)) == state.n_constraints

    rows, values, owner = case.stacked()
    violations = values - rows @ state.w
    hinges = np.array([max(0.0, violations[owner == i].max()) for i in range(case.n_examples)])
    slacks = state.slacks(problem.everyone)
    assert (hinges <= slacks + epsilon + 1e-12).all()
    masses = float(state.sets.masses().sum())
    raised = problem.objective.penalties(slacks + epsilon).sum() - problem.objective.penalties(slacks).sum()
    assert case.primal(state.w) - case.optimum() <= raised + epsilon * masses + 2e-6 * case.optimum()


@pytest.mark.parametrize(("slack", "tiny", "C"), [("linear", 1e-6, 2e-6), ("quadratic", 1e-12, 2.0)])
def test_tiny_losses_are_learnt_as_well(slack, tiny, C):
    """The same problem in other units: the weights are 1e-6 times as large, whatever ε is."""
    X, y = clusters(1.5)
    reference, _ = solved(NSlack(), made(X, y, COSTS / 3, slack=slack), tol=1e-9)
    problem = made(X, y, tiny * COSTS / 3, slack=slack, C=C)
    state, reason = solved(NSlack(), problem, tol=1e-9)
    assert reason in ("converged", "tol")
    assert state.certificate(problem).gap < 0.01
    assert state.best_w * 1e6 == pytest.approx(reference.best_w, abs=2e-2)


def test_a_larger_epsilon_takes_fewer_constraints():
    counts = [solved(NSlack(epsilon=e), Case("csr", C=2.0).problem())[0].n_constraints for e in (1.0, 0.3, 1e-4)]
    assert counts[0] < counts[1] < counts[2]


def test_the_working_sets_hold_the_slacks_and_the_weights():
    case = Case("dense", C=2.0)
    problem = case.problem()
    state, _ = solved(NSlack(epsilon=1e-5), problem)
    support = state.support(problem)
    assert support["planes"].weighted_sum(support["alpha"], np.zeros(problem.dim)) == pytest.approx(state.w, abs=1e-10)
    masses = np.bincount(support["example"], support["alpha"], problem.n_examples)
    assert masses == pytest.approx(state.sets.masses(), abs=1e-12)
    assert (masses <= problem.objective.budgets * (1 + 1e-12)).all()


@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_the_batch_does_not_change_the_optimum(batch):
    case = Case("csr", C=2.0)
    state, reason = solved(NSlack(epsilon=1e-6, batch=batch), case.problem())
    assert reason in ("converged", "tol")
    assert state.best_primal == pytest.approx(case.optimum(), rel=1e-5)


def test_planes_are_never_dropped():
    problem, seen = Case("csr", C=5.0).problem(), set()
    solver = NSlack(epsilon=1e-4, full_every=1)
    state = solver.init(problem)

    def keep(state, _):
        held = set(state.sets.live_keys())
        assert seen <= held
        seen.update(held)

    solver.run(problem, state, Limits(1e-9, 50), keep)
    assert len(seen) > problem.n_examples // 2


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_hard_margin(rescaling):
    """Every margin is met, and no smaller weights do: the optimum of one binary example pair is known."""
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0], [3.0, 1.0]]), np.array([0, 1, 0])
    problem = made(X, y, rescaling=rescaling, C=np.inf)
    state, _ = solved(NSlack(epsilon=1e-7), problem)
    # w·(x ⊗ (e_0 − e_1)) ≥ 1 for x = (1, 0, 1) and its mirror: w = ±(½, 0, 0), without intercept
    assert state.best_primal == pytest.approx(0.25, rel=1e-5)
    assert state.best_w.reshape(3, 2) == pytest.approx(np.array([[0.5, -0.5], [0.0, 0.0], [0.0, 0.0]]), abs=1e-4)
    problem.decode(state.best_w, problem.everyone)
    assert (problem.hinges <= 1e-8).all()


def test_hard_margin_against_all_constraints():
    X, y = clusters(0.4)
    problem = made(X, y, COSTS, C=np.inf)
    state, reason = solved(NSlack(epsilon=1e-6), problem)
    soft, _ = solved(ProximalWorkingSets(), made(X, y, COSTS, C=1e4), tol=1e-4)
    assert reason in ("converged", "tol")
    assert state.certificate(problem).gap < 1e-5
    assert state.best_primal == pytest.approx(soft.best_primal, rel=1e-3)


@pytest.mark.parametrize("solver", [NSlack(), ProximalWorkingSets()])
def test_data_that_no_margin_separates(solver):
    X, y = clusters(0.4)
    X, y = np.vstack([X, X[:1]]), np.append(y, y[1])
    with pytest.raises(NotSeparableError, match=r"no weights satisfy the margin of every example \(\d+ of 31 "):
        solved(solver, made(X, y, C=np.inf), max_iter=2000)
