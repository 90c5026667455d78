"""Hard margins and large C: weights that satisfy all margins, and budgets that start small and grow.

A hard margin, C = inf, has neither slack nor budgets (solvers ``"auto"`` and ``"nslack"``). If the held planes are few
enough to be written out, the shortest weights that satisfy their margins are found exactly, by least distance
programming (`least_norm`). Otherwise the dual has finite budgets, which grow by 4 where they are used up. Weights are
rarely feasible at once, so Dinkelbach's iteration finds the smallest multiple t·w that satisfies all margins, and t·w
is offered as the primal point. Whether such weights exist at all is decided by a linear program over the held planes,
at rounds 16, 32, 64, … as long as none are known, or when the exact solution fails; if none exist,
`NotSeparableError` is raised.

Large C magnifies the least violation. Solutions must be nearly exact, and steps on one example at a time take very long
to get there. When the default solver makes slow progress, and ``"nslack"`` when its passes over S are not enough, they
solve exactly for few held planes (`few_planes`): with quadratic slack always; with linear slack if the solution without
slack keeps within the budgets, as it does if the data are separable and C is large. With linear slack the default
solver also starts with smaller budgets if C is more than 10,000 times what a first step could use, and multiplies them
by 4, up to C c_i, whenever one is used up. Dual values within smaller budgets are feasible, so certificates stay valid
while budgets grow; as long as budgets are small, the smallest feasible multiple t·w is tried too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin._base.types import FloatArray
from maxmargin.core.planes import Planes
from maxmargin.problem import Problem
from maxmargin.solvers.base import Part, State
from maxmargin.solvers.few_planes import are_few, solve_few
from maxmargin.solvers.working_sets.sets import WorkingSets

#: Maximum number of sweeps in one attempt to make weights feasible.
MOST_SWEEPS = 6
#: Violation of a constraint, relative to the required margin, that counts as rounding error.
FEASIBLE_WITHIN = 1e-9
#: Margin, relative to the largest entry of each feature, below which data count as not separable.
LEAST_MARGIN = 1e-9


class NotSeparableError(ValueError):
    """Error that no weights satisfy all margins, as C = inf requires.

    Parameters
    ----------
    problem : Problem
        The problem after a decode; the message states how many of its examples violate their margin.
    proof : str, default="a linear program over the planes found so far has no solution"
        How that was found.

    Examples
    --------
    >>> import maxmargin as mm
    >>> try:
    ...     mm.MulticlassSVM(C=float("inf")).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    ... except mm.exceptions.NotSeparableError as error:
    ...     print("no weights satisfy all margins")
    no weights satisfy all margins
    """

    def __init__(
        self, problem: Problem, proof: str = "a linear program over the planes found so far has no solution"
    ) -> None:
        short = int((problem.hinges > 0).sum())
        within = "" if problem.objective.lower is None else " within the lower bounds"
        super().__init__(
            f"the data are not separable: no weights{within} satisfy the margin of every example ({short} of "
            f"{problem.n_examples} distinct examples violate their margin at the current weights, and {proof}), so "
            f"C=inf has no solution; set a finite C, for example C=1.0"
        )


def solve_exactly(problem: Problem, state: State, sets: WorkingSets) -> bool:
    """Find the shortest weights that satisfy all margins of the held planes, if these are few.

    Return whether that was done; α and budgets are then changed. Raise `NotSeparableError` if no
    weights satisfy them.
    """
    if solve_few(problem, state, sets):
        return True
    planes, values, _ = sets.held_planes()
    lower = problem.objective.lower
    if are_few(problem, sets) and feasible_direction(planes, values, problem.dim, lower) is None:
        raise NotSeparableError(problem)
    return False


def check_separable(problem: Problem, state: State, sets: WorkingSets) -> None:
    """Raise `NotSeparableError` if no weights satisfy the margins of the held planes.

    Otherwise such weights are tried on all examples. If weights are known that satisfy all margins, nothing is done.
    """
    if np.isfinite(state.best_primal):
        return
    planes, values, _ = sets.held_planes()
    w = feasible_direction(planes, values, problem.dim, problem.objective.lower)
    if w is None:
        raise NotSeparableError(problem)
    present, state.w = state.w, w
    problem.decode(w, problem.everyone)
    feasible_scale(problem, state, sets.largest_values())
    state.w = present


def feasible_direction(
    planes: Planes, values: FloatArray, dim: int, lower: FloatArray | None = None
) -> FloatArray | None:
    """Return weights with a·w ≥ b for all planes and w ≥ lower; None if no weights satisfy these.

    They maximise t ≤ 1 subject to a·w ≥ t b, w ≥ t lower and |w_f| ≤ 1 / max |a_f|, and are scaled to t = 1. The last
    bounds make the result independent of the scale of each feature.
    """
    rows = planes.matrix(dim)
    largest = abs(rows).max(axis=0).toarray().ravel()
    used = np.flatnonzero(largest)
    scaled = rows[:, used] @ sp.diags_array(1.0 / largest[used])
    least = values
    if lower is not None:
        bounded = np.flatnonzero(np.isfinite(lower[used]))
        scaled = sp.vstack([scaled, sp.csr_array(sp.eye_array(len(used)))[bounded]])
        least = np.append(values, (lower * largest)[used[bounded]])
    program = linprog(
        np.append(np.zeros(len(used)), -1.0),
        A_ub=sp.hstack([-scaled, sp.csr_array(least[:, None])]),
        b_ub=np.zeros(len(least)),
        bounds=[(-1.0, 1.0)] * len(used) + [(0.0, 1.0)],
        method="highs",
    )
    if program.status != 0 or -program.fun <= LEAST_MARGIN:
        return None
    w = np.zeros(dim)
    w[used] = program.x[:-1] / largest[used] / -program.fun
    return w if lower is None else np.maximum(w, lower)


def feasible_scale(problem: Problem, state: State, margins: FloatArray) -> None:
    """Offer the smallest multiple t w that satisfies all margins, if there is one.

    `margins` are the largest margins of each example that are known, by which rounding errors are judged.

    With lower bounds l the weights offered are max(t w, l). With the hinges found at t w, a plane requires t' = t b /
    (b − hinge); the largest such t' is tried next, until all margins are satisfied (Dinkelbach's iteration, which ends
    after finitely many planes). Afterwards the problem has the hinges at w again.
    """
    w, calls, raised = state.w, problem.oracle_calls, problem.objective.raised
    t, candidate = 1.0, state.w
    margins = np.where(margins == 0.0, margins.max(initial=0.0), margins)  # 0: such an example only requires w·a ≥ 0
    for sweep in range(MOST_SWEEPS):
        missed = problem.hinges > FEASIBLE_WITHIN * np.maximum(problem.values, margins)
        if not missed.any():
            _offer(problem, state, candidate)
            break
        reached = problem.values[missed] - problem.hinges[missed]
        if (reached <= 0).any() or sweep == MOST_SWEEPS - 1:
            break
        t *= float((problem.values[missed] / reached).max())
        candidate = raised(t * w)
        if 0.5 * float(candidate @ candidate) > state.best_primal:
            break
        problem.decode(candidate, problem.everyone)
    if problem.oracle_calls > calls:
        problem.decode(w, problem.everyone)


def _offer(problem: Problem, state: State, w: FloatArray) -> None:
    if not problem.objective.hard:
        state.offer(problem, w)
        return
    primal = 0.5 * float(w @ w)
    if primal < state.best_primal:
        state.best_primal, state.best_w = primal, w.copy()
        state.best_bound = primal if problem.exact else np.inf


#: Factor by which budgets grow: 2 takes twice as many rounds, 10 exceeds what the dual needs.
BUDGET_FACTOR = 4.0
#: Total growth after which a dual counts as unbounded; beyond that, small budgets are lost in rounding.
MOST_GROWTH = 1e18
#: A budget counts as used up if less than this share is left.
USED_UP = 0.1


@dataclass
class GrowingBudgets(Part):
    """Start of growing budgets.

    Attributes
    ----------
    first : float, default=0.0
        Initial budget of an example of weight 1; 0 if budgets are those of the objective.
    """

    first: float = 0.0

    def begin(self, problem: Problem, sets: WorkingSets, first: float) -> None:
        """Set all budgets to `first` times the example's weight, at most that of the objective."""
        self.first = first
        sets.set_budgets(np.minimum(first * problem.objective.weights, problem.objective.budgets))

    def grow(self, problem: Problem, sets: WorkingSets, at_once: bool = False) -> bool:
        """Increase all budgets, up to those of the objective, if one is used up (or if `at_once`).

        Return whether the budgets grew. A hard margin has no limit of budgets: unlimited growth indicates an unbounded
        dual (see `check_separable`).
        """
        if not at_once and (sets.alpha[sets.first] > USED_UP * sets.budget).all():
            return False
        growth = sets.budget.max() / (self.first * problem.objective.weights.max())
        if growth > MOST_GROWTH:
            return False
        sets.set_budgets(np.minimum(BUDGET_FACTOR * sets.budget, problem.objective.budgets))
        return True
