"""What a hard margin (C = inf) needs beside the dual: a feasible point, and a word when there is none."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin._types import FloatArray
from maxmargin.planes import Planes
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.solvers.working_sets import WorkingSets

#: Sweeps spent on one try to make weights feasible.
MOST_SWEEPS = 6
#: Constraints may be violated by this share of the required margin, which is rounding.
FEASIBLE_WITHIN = 1e-9
#: Budgets grow by this factor; beyond the first total it is asked whether they can ever be enough, beyond the second
#: they stay.
BUDGET_FACTOR = 4.0
SUSPICIOUS_GROWTH, MOST_GROWTH = 1e9, 1e18
#: Margin, relative to the largest entry of each feature, below which data count as not separable.
LEAST_MARGIN = 1e-9


class NotSeparableError(ValueError):
    """C = inf asked for weights without slack, and there are none."""

    def __init__(self, problem: Problem, state: State) -> None:
        short = int((problem.hinges > 0).sum())
        super().__init__(
            f"the data are not separable: no weights give every one of the {problem.n_examples} examples its margin "
            f"({short} fall short at present, and a linear program over the planes found so far has no solution), so "
            f"C=inf has no solution; give a finite C, for instance C=1.0"
        )


def grow_budgets(problem: Problem, state: State, sets: WorkingSets, first_budget: float, at_once: bool = False) -> bool:
    """A hard margin has no budget: where the truth's share is used up (or at once), all budgets grow. Whether they did.

    `first_budget` is where they began. Growth without end is how a dual without bound looks; whether it is one is
    decided by a linear program over the planes held.
    """
    if not at_once and (sets.alpha[sets.first] > 0.1 * sets.budget).all():
        return False
    growth = sets.budget.max() / (first_budget * problem.objective.weights.max())
    if growth > SUSPICIOUS_GROWTH and not separable(*sets.held_planes(), problem.dim):
        raise NotSeparableError(problem, state)
    if growth > MOST_GROWTH:
        return False
    sets.set_budgets(BUDGET_FACTOR * sets.budget)
    return True


def separable(planes: Planes, values: FloatArray, dim: int) -> bool:
    """Whether any w has a·w > 0 for all planes with b > 0: max t where a·w ≥ t b, |w_f| ≤ 1 / max |a_f|, t ≤ 1.

    The bounds on w make the answer independent of the scale of each feature.
    """
    rows = planes.matrix(dim)[values > 0]
    largest = abs(rows).max(axis=0).toarray().ravel()
    used = np.flatnonzero(largest)
    scaled = rows[:, used] @ sp.diags_array(1.0 / largest[used])
    program = linprog(
        np.append(np.zeros(len(used)), -1.0),
        A_ub=sp.hstack([-scaled, sp.csr_array(values[values > 0][:, None])]),
        b_ub=np.zeros(rows.shape[0]),
        bounds=[(-1.0, 1.0)] * len(used) + [(0.0, 1.0)],
        method="highs",
    )
    return bool(program.status == 0 and -program.fun > LEAST_MARGIN)


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
