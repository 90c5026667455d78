"""Exact solution of the problem over few held planes.

Planes are few if their dense matrix is small. A hard margin is the shortest w with a·w ≥ b for every plane
(`least_norm`). Quadratic slack is the same in a larger space: with v_i = √(C c_i) ξ_i as additional weights,
½‖w‖² + ½ Σ v_i² is minimised subject to a·w + v_i / √(C c_i) ≥ b. With linear slack, the solution without slack is
optimal if no example needs more dual mass than its budget. A lower bound on a weight is one more row, e_j·w ≥ l_j.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.solvers.least_norm import least_norm
from maxmargin.solvers.working_sets.sets import WorkingSets

#: Planes are few if their matrix has at most this number of entries, and at most this number of them can be active.
MOST_DENSE, MOST_ACTIVE = 1_000_000, 500
#: Share of a budget above which the budget counts as used up.
NEARLY = 0.99


def are_few(problem: Problem, sets: WorkingSets) -> bool:
    """Return whether the held planes are few enough to be solved for exactly."""
    named = _named(problem, sets)
    n, width = int(sets.count.sum()) - len(sets.count), int(named.sum())
    if problem.objective.quadratic:
        width += int((sets.count > 1).sum())
    rows = n + len(_bounded(problem, np.flatnonzero(named)))
    return n > 0 and rows * width <= MOST_DENSE and min(rows, width) <= MOST_ACTIVE


def solve_few(problem: Problem, state: State, sets: WorkingSets) -> bool:
    """Solve exactly for the held planes and return whether that was done.

    Budgets that started small are raised to twice the dual mass found.
    """
    alpha = dual_values(problem, state, sets)
    if alpha is None:
        return False
    sets.set_alpha(alpha)
    if not problem.objective.quadratic:
        sets.set_budgets(np.minimum(np.maximum(sets.budget, 2.0 * sets.masses()), problem.objective.budgets))
    return True


def dual_values(problem: Problem, state: State, sets: WorkingSets) -> FloatArray | None:
    """Return α of the held planes, in the order of `WorkingSets.held_planes`.

    Return None if the planes are too many, or if no weights satisfy all margins within the budgets.
    """
    objective = problem.objective
    limited = not (objective.hard or objective.quadratic)
    if limited and (sets.masses() > NEARLY * objective.budgets).any():
        return None
    if not are_few(problem, sets):
        return None
    _, values, alpha = sets.held_planes()
    length = float(np.sqrt(2.0 * state.best_dual)) if 0.0 < state.best_dual < np.inf else 1.0
    rows = _constraints(problem, sets).toarray()
    dual = least_norm(*_with_bounds(problem, sets, rows, values, alpha), length, lambda: problem.out_of_time)
    if dual is None:
        return None
    dual = dual[: len(values)]
    if not limited:
        return dual
    masses = np.bincount(sets.examples_held(), dual, problem.n_examples)
    return dual if (masses <= objective.budgets).all() else None


def _named(problem: Problem, sets: WorkingSets) -> NDArray[np.bool_]:
    """Return a mask of the weights that occur in the held planes."""
    named = np.zeros(problem.dim, bool)
    named[sets.held_planes()[0].indices] = True
    return named


def _bounded(problem: Problem, named: IntArray) -> IntArray:
    """Return which of these weights have a lower bound, as positions in `named`."""
    lower = problem.objective.lower
    return np.zeros(0, np.int64) if lower is None else np.flatnonzero(np.isfinite(lower[named]))


def _with_bounds(
    problem: Problem, sets: WorkingSets, rows: FloatArray, values: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the rows, right-hand sides and dual values with those of the lower bounds appended."""
    lower, named = problem.objective.lower, np.flatnonzero(_named(problem, sets))
    if lower is None:
        return rows, values, alpha
    columns = _bounded(problem, named)
    bounds, u = np.zeros((len(columns), rows.shape[1])), sets.combination()[named[columns]]
    bounds[np.arange(len(columns)), columns] = 1.0
    least = lower[named[columns]]
    return np.vstack([rows, bounds]), np.append(values, least), np.append(alpha, np.maximum(least - u, 0.0))


def _constraints(problem: Problem, sets: WorkingSets) -> sp.csc_array:
    """Return a matrix with one row for each held plane.

    It has a column for each weight that occurs in the planes and, with quadratic slack, for the slack of each example.
    """
    rows = sets.held_planes()[0].matrix(problem.dim)[:, np.flatnonzero(_named(problem, sets))]
    if problem.objective.quadratic:
        examples, column = np.unique(sets.examples_held(), return_inverse=True)
        slack = 1.0 / np.sqrt(problem.objective.budgets[examples][column])
        rows = sp.hstack([rows, sp.csr_array((slack, (np.arange(len(column)), column)))])
    return rows.tocsc()
