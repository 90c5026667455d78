"""Hard margins and large C with lower bounds on weights, against SLSQP."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.custom.examples import CustomExamples
from maxmargin.problem import Problem
from maxmargin.solvers import few_planes
from maxmargin.solvers.base import Limits
from maxmargin.solvers.hard_margin import NotSeparableError
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from tests.helpers.bounded_problems import bounds, hard_optimum, margins, multiclass, rows
from tests.helpers.problems import TwoBits

SOLVERS = [ProximalWorkingSets(), NSlack(epsilon=1e-7)]
both_solvers = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


@both_solvers
@pytest.mark.parametrize("C", [np.inf, 1e6])
@pytest.mark.parametrize("kind", ["all 0", "some 0", "mixed", "above 0"])
def test_the_shortest_weights_within_the_bounds(solver, C, kind):
    solved = 0
    for seed in (0, 1, 3, 4, 6):
        X, y = rows(seed)
        lower = bounds(kind, 12, seed)
        best = hard_optimum(margins(X, y), lower)
        problem = multiclass(X, y, C, lower)
        state = solver.init(problem)
        if best is None:
            continue
        solver.run(problem, state, Limits(1e-5, 200))
        assert state.certificate(problem).gap <= 1e-5
        assert (state.best_w >= lower).all()
        assert (margins(X, y) @ state.best_w >= 1 - 1e-4).all()
        assert state.best_dual <= best * (1 + 1e-6)
        assert state.best_primal == pytest.approx(best, rel=3e-5)
        solved += 1
    assert solved >= 3


@both_solvers
def test_many_planes(solver, monkeypatch):
    """Where planes are never few, budgets grow and multiples of the weights are raised to the bounds."""
    monkeypatch.setattr(few_planes, "MOST_DENSE", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    y = (X @ rng.normal(size=(40, 3))).argmax(axis=1)
    lower = 0.1 * bounds("mixed", 123)
    problem = multiclass(X, y, np.inf, lower)
    state = solver.init(problem)
    solver.run(problem, state, Limits(3e-3, 300))
    problem.decode(state.best_w, problem.everyone)
    assert (problem.hinges <= 1e-8).all()
    assert (state.best_w >= lower).all()
    assert state.certificate(problem).gap <= 3e-3


@both_solvers
def test_data_that_only_weights_below_the_bounds_separate(solver):
    X, Y = [np.array([-1.0, 0.0]), np.array([1.0, 0.2])], [(1, 1), (0, 0)]  # both bits need negative weights
    for lower in (None, np.array([-np.inf, 0.0, -np.inf, 0.0, 0.0]), np.array([-9.0, 0.0, -9.0, 0.3, 0.2])):
        problem = Problem(CustomExamples(TwoBits(), X, Y), Bound(), Objective(np.inf, np.ones(2), lower=lower))
        state = solver.init(problem)
        assert solver.run(problem, state, Limits(1e-4, 100)) in ("tol", "converged")
        assert state.best_w[0] < 0.0
    for lower in (np.zeros(5), np.array([-1.0, 0.0, 0.2, 0.0, 0.0])):
        problem = Problem(CustomExamples(TwoBits(), X, Y), Bound(), Objective(np.inf, np.ones(2), lower=lower))
        with pytest.raises(NotSeparableError, match="no weights within the lower bounds satisfy the margin of every"):
            solver.run(problem, solver.init(problem), Limits(1e-4, 2000))
