"""What a hard margin (C = inf) needs beside the dual: a feasible point, and a word when there is none."""

from __future__ import annotations

import numpy as np

from maxmargin.problem import Problem
from maxmargin.solvers.base import State

#: Sweeps spent on one try to make weights feasible.
MOST_SWEEPS = 6
#: Constraints may be violated by this share of the required margin, which is rounding.
FEASIBLE_WITHIN = 1e-9


class NotSeparableError(ValueError):
    """C = inf asked for weights without slack, and there are none."""

    def __init__(self, problem: Problem, state: State) -> None:
        short = int((problem.hinges > 0).sum())
        super().__init__(
            f"the data are not separable: no weights give every one of the {problem.n_examples} examples its margin "
            f"({short} fall short at present, and the dual grows without end), so C=inf has no solution; give a "
            f"finite C, for instance C=1.0"
        )


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
