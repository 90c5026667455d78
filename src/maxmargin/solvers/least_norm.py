"""Exact shortest w with A w ≥ b by least distance programming.

The method is that of Lawson and Hanson 1974, chapter 23. With E = [Aᵀ; bᵀ] and f = (0, …, 0, 1), let u ≥ 0 minimise
‖E u − f‖. Then 1 − b·u > 0 exactly if A w ≥ b has a solution, and the shortest one is w = Aᵀα with the dual values
α = u / (1 − b·u). The program over u is solved by an active set method on orthogonal factors, so features of very
different scales are harmless.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.types import FloatArray, IntArray

#: Value of 1 − b·u below which it is rounding error.
_NOTHING = 1e-13
#: Maximum number of solves, each with a better estimate of the length.
_TRIES = 3
#: Gradient, for columns of length 1, below which it is rounding error.
_ROUNDING = 1e-12


def least_norm(
    A: FloatArray, b: FloatArray, start: FloatArray, length: float = 1.0, late: Callable[[], bool] = lambda: False
) -> FloatArray | None:
    """Return the dual values α of the shortest w, or None if no w exists up to rounding, or if it is too late.

    Parameters
    ----------
    A : ndarray of shape (n_rows, dim)
        Rows of the constraints A w ≥ b.
    b : ndarray of shape (n_rows,)
        Right-hand sides; if none is positive, w = 0.
    start : ndarray of shape (n_rows,)
        Initial dual values; the positive ones are tried as the support first.
    length : float, default=1.0
        Approximate length of w so that 1 − b·u is not lost in rounding.
    late : callable, default=never
        Called without arguments; the method gives up when it returns True.
    """
    alpha: FloatArray | None = start
    for _ in range(_TRIES):
        alpha = _solve(A, b, start if alpha is None else alpha, length, late)
        if alpha is None:
            return None
        norm = float(np.linalg.norm(alpha @ A))
        if norm == 0.0 or 0.1 < norm / length < 10.0:
            break
        length = norm
    return alpha


def _solve(
    A: FloatArray, b: FloatArray, start: FloatArray, length: float, late: Callable[[], bool]
) -> FloatArray | None:
    E = np.vstack([A.T, b / length])
    sizes = np.maximum(np.linalg.norm(E, axis=0), 1e-300)
    f = np.zeros(len(E))
    f[-1] = 1.0
    u = nonnegative_least_squares(E / sizes, f, np.flatnonzero(start > 0), late) / sizes
    if late():
        return None
    rest = 1.0 - float(b @ u) / length
    return u / rest * length if rest > _NOTHING else None


def nonnegative_least_squares(
    E: FloatArray, f: FloatArray, passive: IntArray, late: Callable[[], bool] = lambda: False
) -> FloatArray:
    """Return the u ≥ 0 that minimises ‖E u − f‖, or the best one found when it is too late.

    The columns in `passive` are tried as its support first.
    """
    n = E.shape[1]
    u, support = np.zeros(n), np.zeros(n, bool)
    support[passive[: len(E)]] = True
    _settle(E, f, u, support, late)
    for _ in range(3 * n + 10):
        gradient = E.T @ (f - E[:, support] @ u[support])
        gradient[support] = 0.0
        entering = int(np.argmax(gradient))
        if gradient[entering] <= _ROUNDING or late():
            break
        before = float(np.linalg.norm(f - E @ u))
        support[entering] = True
        u[entering] = 0.0
        _settle(E, f, u, support, late)
        if np.linalg.norm(f - E @ u) >= before:  # a gain that is lost in rounding
            break
    return u


def _settle(E: FloatArray, f: FloatArray, u: FloatArray, support: NDArray[np.bool_], late: Callable[[], bool]) -> None:
    """Move u to the least squares solution on its support.

    Columns whose weight would become negative are dropped on the way.
    """
    while support.any() and not late():
        best = np.linalg.lstsq(E[:, support], f, rcond=None)[0]
        if (best > 0).all():
            u[:] = 0.0
            u[support] = best
            return
        present = u[support]
        falling = best <= 0
        shares = present[falling] / np.maximum(present[falling] - best[falling], 1e-300)
        u[support] = present + float(shares.min()) * (best - present)
        gone = np.flatnonzero(support)[falling][shares <= shares.min()]
        support[gone] = False
        u[gone] = 0.0
    if not support.any():
        u[:] = 0.0
