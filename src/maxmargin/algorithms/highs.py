"""Programs max s·z, low ≤ A z ≤ high, lower ≤ z ≤ upper, some z integer, by HiGHS (Huangfu and Hall 2018)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import AnyArray, FloatArray

#: Status of `scipy.optimize.milp`.
OPTIMAL, LIMIT, INFEASIBLE, UNBOUNDED = 0, 1, 2, 3
#: Size of the costs that HiGHS gets: its tolerances are absolute, 10⁻⁶ for the gap.
LARGEST_COST = 1e4
#: Coefficients between 1 / USUAL and USUAL are not scaled.
USUAL = 1e3
#: Distance from an integer at which a value is taken for it.
WHOLE = 1e-5


class Polyhedron(NamedTuple):
    """The feasible decisions of one program.

    Attributes
    ----------
    A : csr_array of shape (k, m)
        Coefficients of the constraints.
    low, high : ndarray of shape (k,)
        low ≤ A z ≤ high.
    lower, upper : ndarray of shape (m,)
        lower ≤ z ≤ upper.
    integer : ndarray of bool of shape (m,)
        Which variables are integers.
    """

    A: Any
    low: FloatArray
    high: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: AnyArray


class Solution(NamedTuple):
    """What HiGHS found: a decision or None, an upper bound on s·z, and the status."""

    z: FloatArray | None
    upper: float
    status: int
    message: str


def solve(scores: FloatArray, space: Polyhedron, time_limit: float | None, gap: float) -> Solution:
    """Return the decision of greatest s·z; scores of −∞ require z ≤ 0, scores of +∞ z ≥ 1 (k best choices of items).

    With a time limit or gap > 0, the decision may not be optimal; `upper` bounds the maximum.
    """
    lower, upper = space.lower, space.upper
    usual = np.isfinite(scores)
    if not usual.all():
        lower, upper = (
            np.where(scores == np.inf, np.maximum(lower, 1.0), lower),
            np.where(usual | (scores > 0), upper, 0.0),
        )
        if (lower > upper).any():
            return Solution(None, -np.inf, INFEASIBLE, "a forbidden variable cannot be 0")
        scores = np.where(usual, scores, 0.0)
    scale = (float(np.abs(scores).max(initial=0.0)) or 1.0) / LARGEST_COST
    options: dict[str, Any] = {"mip_rel_gap": gap}
    if time_limit is not None:
        options["time_limit"] = time_limit
    constraints = []
    if space.A.shape[0]:
        A, low, high = scaled_rows(space.A, space.low, space.high)
        constraints = [LinearConstraint(with_short_indices(A), low, high)]
    outcome = milp(
        -scores / scale, integrality=space.integer.astype(int), bounds=Bounds(lower, upper), constraints=constraints,
        options=options,
    )  # fmt: skip
    if outcome.x is None:
        bound = getattr(outcome, "mip_dual_bound", None)
        top = np.inf if bound is None or not np.isfinite(bound) else -float(bound) * scale
        return Solution(None, top, int(outcome.status), str(outcome.message))
    z = np.asarray(outcome.x, float)
    z[space.integer] = np.rint(z[space.integer])
    z = np.clip(z, lower, upper) + 0.0  # without −0
    value = float(scores @ z)
    bound = getattr(outcome, "mip_dual_bound", None)
    top = value if bound is None or not space.integer.any() else max(value, -float(bound) * scale)
    return Solution(z, top, int(outcome.status), str(outcome.message))


def with_short_indices(A: Any) -> Any:
    """Return a sparse matrix with indices of 32 bits, which SciPy 1.12 needs; an array as it is."""
    if not sp.issparse(A):
        return A
    A = sp.csr_array(A)
    return sp.csr_array((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), A.shape)


def scaled_rows(A: Any, low: FloatArray, high: FloatArray) -> tuple[Any, FloatArray, FloatArray]:
    """Return constraints whose rows have the size of 1, as HiGHS' tolerances are absolute; usual ones unchanged."""
    sizes = np.abs(A.data)
    if sizes.size == 0 or (sizes.max() <= USUAL and sizes.min() >= 1.0 / USUAL):
        return A, low, high
    largest = abs(A).max(axis=1)
    largest = largest.toarray().ravel() if sp.issparse(largest) else np.asarray(largest)
    factors = np.ldexp(1.0, -np.frexp(np.where(largest > 0.0, largest, 1.0))[1])  # powers of two: no rounding
    return sp.diags_array(factors) @ A, low * factors, high * factors


def ranked_solutions(
    scores: FloatArray, space: Polyhedron, time_limit: float | None, gap: float
) -> Iterator[tuple[float, FloatArray]]:
    """Yield all decisions with their scores, best first; of decisions with the same integers only the best.

    After a decision z is found within some bounds, the others are partitioned: z_1 less or greater, or z_1 the same and
    z_2 less or greater, and so on (Lawler 1972).
    """
    waiting, number, boxes = list[Any](), count(), [space]
    while True:
        for box in boxes:
            solution = solve(scores, box, time_limit, gap) if (box.lower <= box.upper).all() else None
            if solution is not None and solution.z is not None:
                heapq.heappush(waiting, (-float(scores @ solution.z), next(number), solution.z, box))
        if not waiting:
            return
        score, _, z, box = heapq.heappop(waiting)
        yield -score, z
        boxes = list(_around(z, box))


def _around(z: FloatArray, box: Polyhedron) -> Iterator[Polyhedron]:
    """Yield boxes that hold all decisions of a box except those with the integers of z."""
    lower, upper = box.lower.copy(), box.upper.copy()
    for j in np.flatnonzero(box.integer).tolist():
        below, above = upper.copy(), lower.copy()
        below[j], above[j] = z[j] - 1.0, z[j] + 1.0
        yield box._replace(lower=lower.copy(), upper=below)
        yield box._replace(lower=above, upper=upper.copy())
        lower[j] = upper[j] = z[j]


def violated(z: FloatArray, space: Polyhedron, tolerance: float = 1e-6) -> str | None:
    """Return which constraint a decision violates, in words; None if it violates none."""
    room = tolerance * (1.0 + np.abs(z))
    for name, bad in (
        ("below its lower bound", z < space.lower - room),
        ("above its upper bound", z > space.upper + room),
        ("not an integer", space.integer & (np.abs(z - np.rint(z)) > WHOLE)),
    ):
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            limit = {"b": f" {space.lower[j]:g}", "a": f" {space.upper[j]:g}", "n": ""}[name[0]]
            return f"variable {j} is {z[j]:g}, {name}{limit}"
    activity = space.A @ z
    room = tolerance * (1.0 + abs(space.A) @ np.abs(z))
    bad = (activity < space.low - room) | (activity > space.high + room)
    if bad.any():
        k = int(np.flatnonzero(bad)[0])
        return f"constraint {k} is {activity[k]:g}, expected {space.low[k]:g} to {space.high[k]:g}"
    return None


def no_constraints(n_variables: int) -> Any:
    """Return a matrix without rows."""
    return sp.csr_array((0, n_variables))


def polyhedron(A: Any, low: Any, high: Any, lower: Any, upper: Any, integer: Any, m: int, where: Where) -> Polyhedron:
    """Return the constraints of a program of m variables, as users pass them; raise ValueError if that is not possible.

    None as A means no constraints; numbers stand for as many numbers as there are constraints or variables.
    """
    A = _matrix(A, m, where)
    k = A.shape[0]
    low, high = _numbers(low, k, "low", where), _numbers(high, k, "high", where)
    lower, upper = _numbers(lower, m, "lower", where), _numbers(upper, m, "upper", where)
    for name, first, second, bad in (("constraint", low, high, low > high), ("variable", lower, upper, lower > upper)):
        if bad.any():
            j = int(np.flatnonzero(bad)[0])
            raise error_at(where, f"infeasible: {name} {j} must be at least {first[j]:g} and at most {second[j]:g}")
    whole = np.asarray(integer)
    if whole.dtype != bool or (whole.ndim and whole.shape != (m,)):
        raise error_at(where, f"integer must be True, False or {m} bools, found {integer!r:.60}")
    return Polyhedron(A, low, high, lower, upper, np.broadcast_to(whole, (m,)))


def _matrix(A: Any, m: int, where: Where) -> Any:
    if A is None:
        return no_constraints(m)
    try:
        matrix = sp.csr_array(A) if sp.issparse(A) else np.asarray(A, float)
    except (TypeError, ValueError):
        raise error_at(where, f"A must be a matrix of numbers, found {A!r:.60}") from None
    if matrix.ndim != 2 or matrix.shape[1] != m:
        raise error_at(where, f"A has shape {matrix.shape}, but there are features of {m} variables")
    matrix = sp.csr_array(matrix)
    if not np.isfinite(matrix.data).all():
        raise error_at(where, "A must have finite numbers only")
    return matrix


def _numbers(values: Any, size: int, name: str, where: Where) -> FloatArray:
    try:
        numbers = np.asarray(values, float)
    except (TypeError, ValueError):
        raise error_at(where, f"{name} must be a number or {size} numbers, found {values!r:.60}") from None
    if np.isnan(numbers).any() or (numbers.ndim and numbers.shape != (size,)):
        raise error_at(where, f"{name} must be a number or {size} numbers, found {values!r:.60}")
    return np.broadcast_to(numbers, (size,))
