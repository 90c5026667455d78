"""What a hard margin (C = inf) needs beside the dual: a feasible point, and a word when there is none."""

from __future__ import annotations

import numpy as np

from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.solvers.working_sets import WorkingSets

#: Sweeps spent on one try to make weights feasible.
MOST_SWEEPS = 6
#: Constraints may be violated by this share of the required margin, which is rounding.
FEASIBLE_WITHIN = 1e-9
#: Budgets grow by this factor, and in all by no more than …
BUDGET_FACTOR = 4.0
MOST_GROWTH = 1e9


class NotSeparableError(ValueError):
    """C = inf asked for weights without slack, and there are none."""

    def __init__(self, problem: Problem, state: State) -> None:
        short = int((problem.hinges > 0).sum())
        super().__init__(
            f"the data are not separable: no weights give every one of the {problem.n_examples} examples its margin "
            f"({short} fall short at present, and the dual grows without end), so C=inf has no solution; give a "
            f"finite C, for instance C=1.0"
        )


def grow_budgets(problem: Problem, state: State, sets: WorkingSets, first_budget: float, at_once: bool = False) -> bool:
    """A hard margin has no budget: where the truth's share is used up (or at once), all budgets grow. Whether they did.

    `first_budget` is where they began: after growth without end, the dual has no bound and the margins no solution.
    """
    if not at_once and (sets.alpha[sets.first] > 0.1 * sets.budget).all():
        return False
    if sets.budget.max() > MOST_GROWTH * first_budget * problem.objective.weights.max():
        raise NotSeparableError(problem, state)
    sets.set_budgets(BUDGET_FACTOR * sets.budget)
    return True


def feasible_scale(problem: Problem, state: State) -> None:
    """Offer the smallest multiple t w that meets all margins, where there is one.

    With the hinges found at t w, a plane asks for t' = t b / (b − hinge); the largest such t' is tried next, until no
    margin is missed (Dinkelbach's iteration: it ends after finitely many planes). Afterwards the
    problem holds the hinges at w again.
    """
    w, calls = state.w, problem.oracle_calls
    t = 1.0
    for sweep in range(MOST_SWEEPS):
        missed = problem.hinges > FEASIBLE_WITHIN * problem.values
        if not missed.any():
            _offer(problem, state, t * w)
            break
        reached = problem.values[missed] - problem.hinges[missed]
        if (reached <= 0).any() or sweep == MOST_SWEEPS - 1:
            break
        t *= float((problem.values[missed] / reached).max())
        if 0.5 * t * t * float(w @ w) > state.best_primal:
            break
        problem.decode(t * w, problem.everyone)
    if problem.oracle_calls > calls:
        problem.decode(w, problem.everyone)


def _offer(problem: Problem, state: State, w: np.ndarray) -> None:
    primal = 0.5 * float(w @ w)
    if primal < state.best_primal:
        state.best_primal, state.best_w = primal, w.copy()
        state.best_bound = primal if problem.exact else np.inf
