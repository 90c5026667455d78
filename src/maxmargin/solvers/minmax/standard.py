"""The program of one example in standard form: max over A v = b, 0 ≤ v ≤ upper.

A quadratic slack and a hard margin have no fixed dual mass, so the mass M ≥ 0 is a variable: A v − M b = 0, and
upper limits are rows too. The loss √Δ of quadratic slack is not a sum over parts. If Δ is a multiple of one number g,
it is replaced by its linear interpolation at g, 2 g, …, with one variable for each step: an upper bound, and exact if
the loss has a single step.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.optimize import linprog

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.polytopes import Polytope, entries

#: Distance from a multiple of the smallest cost, relative to it, that counts as rounding error.
MULTIPLE = 1e-9
#: Most steps of the interpolation of √Δ.
MOST_STEPS = 1000
#: Diagonal of a triangular factor, relative to the largest, below which a constraint follows from others.
DEPENDENT = 1e-9


@dataclass(frozen=True)
class PartProgram:
    """What an example contributes: its polytope, and features, gains, costs and true counts of its parts."""

    polytope: Polytope
    features: Any
    scores: FloatArray
    costs: FloatArray
    truth: FloatArray


@dataclass(frozen=True)
class StandardForm:
    """max gains·v − ½ curvature·v² + w·Fv over A v = b, 0 ≤ v ≤ upper, relative to the truth.

    Attributes
    ----------
    A : ndarray or csr_array of shape (k, m)
        Constraints, rows of length 1.
    b : ndarray of shape (k,)
        Right-hand sides for a dual mass of 1.
    upper : ndarray of shape (m,)
        Upper limits for a dual mass of 1.
    features : csr_array of shape (m, dim)
        Rows F.
    gains : ndarray of shape (m,)
        Scores at w = 0 plus costs.
    truth_features : csr_array of shape (1, dim)
        Features of the truth, relative to v = 0.
    truth_gain : float
        Gain of the truth, relative to v = 0.
    """

    A: FloatArray
    b: FloatArray
    upper: FloatArray
    features: Any
    gains: FloatArray
    truth_features: Any
    truth_gain: float


def standard_form(part: PartProgram, root: bool, by_mass: bool, dense: bool) -> tuple[StandardForm, bool]:
    """Return the standard form, and whether it has the same maxima as the polytope under the given loss.

    Parameters
    ----------
    part : PartProgram
        The example.
    root : bool
        Whether √Δ replaces Δ.
    by_mass : bool
        Whether upper limits must be rows, because the dual mass is a variable.
    dense : bool
        Whether to write the constraints as a dense matrix.
    """
    part, gains, exact = _with_roots(part) if root else (part, part.scores + part.costs, True)
    low, high, lower, upper = (limits.copy() for limits in part.polytope.limits())
    A, n_parts = as_matrix(part.polytope.A, dense), len(part.truth)
    gains = np.concatenate([gains, np.zeros(A.shape[1] - len(gains))])
    forbidden = np.isneginf(gains)
    lower[forbidden], upper[forbidden], gains[forbidden] = 0.0, 0.0, 0.0
    base = np.where(np.isfinite(lower), lower, np.where(np.isfinite(upper), upper, 0.0))
    sign = np.where(np.isfinite(lower) | ~np.isfinite(upper), 1.0, -1.0)
    free, room = ~np.isfinite(lower) & ~np.isfinite(upper), upper - lower
    variables = np.concatenate([np.flatnonzero(room > 0.0), np.flatnonzero(free)])
    sign = np.concatenate([sign[room > 0.0], np.full(int(free.sum()), -1.0)])
    shift, kept = A @ base, np.flatnonzero(np.isfinite(low) | np.isfinite(high))
    low, high = (low - shift)[kept], (high - shift)[kept]
    right = np.where(np.isfinite(high), high, low)
    matrix, limits = _with_slacks(_scaled(A[kept][:, variables], sign, 1), low, high, room[variables])
    if by_mass:
        matrix, right, limits = _limits_as_rows(matrix, right, limits)
    lengths = np.sqrt((matrix * matrix).sum(axis=1))
    filled = np.flatnonzero(lengths)
    scale, away = 1.0 / lengths[filled], part.truth - base[:n_parts]
    all_gains = np.zeros(matrix.shape[1])
    all_gains[: len(variables)] = gains[variables] * sign
    form = StandardForm(
        _scaled(matrix[filled], scale, 0), right[filled] * scale, limits,
        _features_of(part.features, variables, sign, matrix.shape[1]), all_gains,
        sp.csr_array(away[None]) @ part.features, float(gains[:n_parts] @ away),
    )  # fmt: skip
    return form, exact


def as_matrix(A: Any, dense: bool) -> Any:
    """Return a matrix as a dense or as a sparse one."""
    if dense:
        return np.asarray(A.toarray() if sp.issparse(A) else A, float)
    return sp.csr_array(A)


def _scaled(A: Any, factors: FloatArray, axis: int) -> Any:
    """Return A with its rows (axis 0) or columns (axis 1) multiplied by factors."""
    if isinstance(A, np.ndarray):
        return A * (factors if axis else factors[:, None])
    diagonal = sp.diags_array(factors)
    return sp.csr_array(A @ diagonal if axis else diagonal @ A)


def _beside(A: Any, B: Any) -> Any:
    """Return the matrix [A B], dense or sparse as A is."""
    return np.hstack([A, B.toarray()]) if isinstance(A, np.ndarray) else sp.csr_array(sp.hstack([A, B]))


def _features_of(features: Any, variables: IntArray, sign: FloatArray, size: int) -> Any:
    """Return the features of the variables in standard form, of which those after the parts have none."""
    n_parts = features.shape[0]
    is_part = variables < n_parts
    if (np.diff(variables[is_part]) == 1).all() and is_part.sum() == n_parts and (sign[is_part] == 1.0).all():
        indptr = np.concatenate([features.indptr, np.full(size - n_parts, features.indptr[-1])])
        return sp.csr_array((features.data, features.indices, indptr), (size, features.shape[1]))
    return entries(np.flatnonzero(is_part), variables[is_part], sign[is_part], (size, n_parts)) @ features


def _with_slacks(rows: Any, low: FloatArray, high: FloatArray, limits: FloatArray) -> tuple[Any, FloatArray]:
    """Return rows with a slack variable for each inequality, and the upper limits of all variables."""
    unequal = np.flatnonzero(high > low)
    if len(unequal) == 0:
        return rows, limits
    sign = np.where(np.isfinite(high[unequal]), 1.0, -1.0)
    slack = entries(unequal, np.arange(len(unequal)), sign, (rows.shape[0], len(unequal)))
    room = np.where(np.isfinite(low) & np.isfinite(high), high - low, np.inf)[unequal]
    return _beside(rows, slack), np.concatenate([limits, room])


def _limits_as_rows(rows: Any, right: FloatArray, limits: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
    """Return the program with an equation and a slack variable for each finite upper limit."""
    limited = np.flatnonzero(np.isfinite(limits))
    count, width = len(limited), rows.shape[1]
    if count == 0:
        return rows, right, limits
    more = entries(
        np.tile(np.arange(count), 2), np.concatenate([limited, width + np.arange(count)]), 1.0, (count, width + count)
    )
    rows = _beside(rows, sp.csr_array((rows.shape[0], count)))
    rows = np.vstack([rows, more.toarray()]) if isinstance(rows, np.ndarray) else sp.csr_array(sp.vstack([rows, more]))
    return rows, np.concatenate([right, limits[limited]]), np.full(width + count, np.inf)


def independent(rows: FloatArray, known: dict[bytes, IntArray]) -> IntArray:
    """Return the numbers of rows from which all others follow.

    `known` has the answers for matrices seen before: examples of the same size mostly have the same constraints.
    """
    if not rows.size:
        return np.zeros(0, np.int64)
    key = blake2b(rows.tobytes() + repr(rows.shape).encode()).digest()
    if key not in known:
        triangle, order = sl.qr(rows.T, mode="r", pivoting=True)
        size = np.abs(np.diag(triangle))
        known[key] = np.sort(order[: int((size > DEPENDENT * size[0]).sum())])
    return known[key]


def _with_roots(part: PartProgram) -> tuple[PartProgram, FloatArray, bool]:
    """Return the program with variables for the steps of √Δ, its gains, and whether there is only one step."""
    costs, polytope = part.costs, part.polytope
    low, high, lower, upper = polytope.limits()
    sizes = np.abs(costs[costs != 0.0])
    if len(sizes) == 0:
        return part, part.scores, True
    unit = float(sizes.min())
    if (np.abs(sizes / unit - np.rint(sizes / unit)) > MULTIPLE * sizes / unit).any():
        raise ValueError(
            "min-max programs with quadratic slack need losses that are multiples of one number, so √Δ can be "
            "interpolated; use slack='linear', or solver='auto'"
        )
    most = _largest_loss(part, low, high, lower, upper)
    steps = int(np.rint(most / unit))
    if steps > MOST_STEPS:
        raise ValueError(
            f"min-max programs with quadratic slack need at most {MOST_STEPS} different losses of an example, found "
            f"{steps}; use slack='linear', or solver='auto'"
        )
    if steps <= 1:
        return part, part.scores + costs / np.sqrt(unit), True
    A, n_parts = sp.csr_array(polytope.A), len(costs)
    loss = sp.csr_array(np.concatenate([-costs, np.zeros(A.shape[1] - n_parts)])[None])
    A = sp.csr_array(sp.vstack([
        sp.hstack([A, sp.csr_array((A.shape[0], steps))]), sp.hstack([loss, np.ones((1, steps))]),
    ]))  # fmt: skip
    right = -float(costs @ part.truth)
    wider = Polytope(
        A, np.append(low, right), np.append(high, right), np.append(lower, np.zeros(steps)),
        np.append(upper, np.full(steps, unit)),
    )  # fmt: skip
    slopes = np.diff(np.sqrt(unit * np.arange(steps + 1))) / unit
    gains = np.concatenate([part.scores, np.zeros(A.shape[1] - n_parts - steps), slopes])
    return PartProgram(wider, part.features, part.scores, costs, part.truth), gains, False


def _largest_loss(part: PartProgram, low: FloatArray, high: FloatArray, lower: FloatArray, upper: FloatArray) -> float:
    """Return the largest Δ in the polytope."""
    A, costs = sp.csr_array(part.polytope.A), part.costs
    goal = np.concatenate([-costs, np.zeros(A.shape[1] - len(costs))])
    upper = np.where(np.append(np.isneginf(part.scores), np.zeros(len(goal) - len(costs), bool)), 0.0, upper)
    above, below = np.isfinite(high), np.isfinite(low)
    outcome = linprog(
        goal, A_ub=sp.vstack([A[above], -A[below]]), b_ub=np.concatenate([high[above], -low[below]]),
        bounds=np.stack([lower, upper], axis=1),
    )  # fmt: skip
    if outcome.status != 0:
        raise ValueError(f"the largest loss of an example could not be found: {outcome.message}")
    return float(-outcome.fun - costs @ part.truth)
