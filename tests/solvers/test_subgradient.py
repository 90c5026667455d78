"""Subgradient steps against a plain loop that keeps every iterate and every dual value."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.solvers.base import Limits
from maxmargin.solvers.primal.dual_points import GAIN, lower_bound
from maxmargin.solvers.primal.subgradient import Subgradient
from tests.helpers.problems import Case


class Plain:
    """Pegasos with all that the solver is too thrifty to keep: iterates, and α of every output."""

    def __init__(self, case, solver, seed, start=None):
        self.problem, self.case, self.rng = case.problem(), case, np.random.default_rng(seed)
        self.solver = solver
        self.rows, self.values, self.owner = case.stacked()
        self.start = np.zeros(self.problem.dim) if start is None else start
        self.alpha, self.iterates, self.alphas, self.t0 = np.zeros(len(self.values)), [], [], None

    def most_violated(self, i, w):
        mine = np.flatnonzero(self.owner == i)
        best = mine[np.argmax(self.values[mine] - self.rows[mine] @ w)]
        return best, self.values[best] - self.rows[best] @ w

    def epoch(self):
        n, batch = self.case.n_examples, self.solver.batch
        order = self.rng.permutation(n)
        n_batches = -(-n // batch)
        for k in range(0, n, batch):
            w = self.iterates[-1] if self.iterates else self.start
            step, risk = np.zeros_like(self.alpha), 0.0
            for i in order[k : k + batch]:
                j, hinge = self.most_violated(i, w)
                if hinge > 0:
                    quadratic = self.case.slack == "quadratic"
                    step[j] = n_batches * self.case.budgets[i] * (hinge if quadratic else 1.0)
                    risk += n_batches * self.case.budgets[i] * (0.5 * hinge**2 if quadratic else hinge)
            square = float((step @ self.rows) @ (step @ self.rows))
            if self.t0 is None:
                self.t0 = max(n_batches, self.solver.calm * square / risk)
            t = len(self.iterates) + 1
            self.alpha = self.alpha + step * min(1.0, risk * (self.t0 + t) / max(square, 1e-300))
            self.iterates.append((self.alpha @ self.rows + self.t0 * self.start) / (self.t0 + t))
            self.alphas.append(self.alpha / (self.t0 + t))

    def averages(self):
        weights = np.array([t * (self.t0 + t) for t in range(1, len(self.iterates) + 1)])
        return weights @ np.array(self.iterates) / weights.sum(), weights @ np.array(self.alphas) / weights.sum()


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("started", [False, True])
def test_iterates_averages_and_dual_points_against_a_plain_loop(slack, started):
    case, solver = Case("dense", "slack", slack, True, C=3.0), Subgradient(batch=3)
    problem = case.problem()
    start = 0.3 * np.random.default_rng(1).normal(size=problem.dim) if started else None
    plain, state = Plain(case, solver, 7, start), solver.init(problem, seed=7, start=start)
    for epoch in range(1, 5):
        plain.epoch()
        solver.run(problem, state, Limits(0.0, epoch))
        average, average_alpha = plain.averages()
        assert state.w == pytest.approx(average, abs=1e-10)
        u = state.summed() / state.norm
        assert u[: problem.dim] == pytest.approx(average_alpha @ plain.rows, abs=1e-10)
        assert u[GAIN] == pytest.approx(average_alpha @ plain.values)
        assert lower_bound(problem, state.total) == pytest.approx(case.best_multiple(plain.alphas[-1]), rel=1e-6)
        assert lower_bound(problem, state.summed()) == pytest.approx(case.best_multiple(average_alpha), rel=1e-6)


def test_after_whole_epochs_no_budget_is_exceeded():
    problem = Case("csr", weighted=True, C=3.0).problem()
    solver = Subgradient(batch=5)
    state = solver.init(problem, seed=2)
    for epoch in range(1, 6):
        solver.run(problem, state, Limits(0.0, epoch))
        masses = state.total[problem.dim : GAIN] / (state.delay + state.taken)
        assert masses.min() >= 0.0
        assert (masses <= problem.objective.budgets * (1 + 1e-12)).all()
        assert masses.max() > 0.0


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("C", [1e-3, 3.0])
def test_polyak_points_are_feasible(slack, C):
    """w = Σ α a with α in the dual's feasible set, at every step; at small C the steps would be longer than that."""
    case = Case("dense", "margin", slack, True, C)
    problem = case.problem()
    solver = Subgradient(step_rule="polyak")
    state = solver.init(problem)
    for iteration in range(1, 30):
        solver.run(problem, state, Limits(0.0, iteration))
        masses = state.total[problem.dim : GAIN]
        assert masses.min() >= 0.0
        assert state.total[: problem.dim] == pytest.approx(state.w, abs=1e-12)
        if slack == "linear":
            assert (masses <= problem.objective.budgets * (1 + 1e-12)).all()
        assert lower_bound(problem, state.total) <= case.optimum() * (1 + 2e-6)


@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("step_rule", ["pegasos", "polyak"])
def test_no_step_runs_away(C, slack, step_rule):
    """The first weights offered are never much worse than w = 0, whatever C is."""
    case = Case("dense", "margin", slack, C=C)
    problem = case.problem()
    solver = Subgradient(step_rule=step_rule)
    state, values = solver.init(problem), []
    at_zero = case.primal(np.zeros(problem.dim))
    solver.run(problem, state, Limits(0.0, 20), lambda s, _: values.append(case.primal(s.w)))
    assert max(values) <= 10.0 * at_zero
    assert state.best_primal < at_zero


def test_more_epochs_close_the_gap():
    problem = Case("dense").problem()
    solver, gaps = Subgradient(), []
    solver.run(problem, solver.init(problem), Limits(0.0, 100), lambda _, certificate: gaps.append(certificate.gap))
    assert gaps[9] < 0.5 * gaps[1]
    assert gaps[99] < 0.3 * gaps[9]


def test_an_unknown_step_rule():
    with pytest.raises(ValueError, match="step_rule must be 'pegasos' or 'polyak', found 'adam'"):
        Subgradient(step_rule="adam").check_parameters()


def test_features_that_are_all_zero_are_proven_to_be_of_no_use():
    solver = Subgradient(step_rule="polyak")
    model = mm.MulticlassSVM(solver=solver, fit_intercept=False).fit(np.zeros((40, 3)), np.arange(40) % 3)
    assert (model.certificate_.primal, model.certificate_.dual) == (40.0, 40.0)
