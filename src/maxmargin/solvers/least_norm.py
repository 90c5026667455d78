"""The shortest w with A w ≥ b, exactly: least distance programming (Lawson and Hanson 1974, chapter 23).

With E = [Aᵀ; bᵀ] and f = (0, …, 0, 1), let u ≥ 0 minimise ‖E u − f‖. Then 1 − b·u > 0 exactly when A w ≥ b has a
solution, and the shortest is w = Aᵀα with the dual values α = u / (1 − b·u). The program over u is solved by an active
set method on orthogonal factors, so features of very different scales do no harm.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import FloatArray, IntArray

#: 1 − b·u below this is rounding.
_NOTHING = 1e-13
#: Solutions with better and better guesses of the length.
_TRIES = 3
#: A gradient below this, for columns of length 1, is rounding.
_ROUNDING = 1e-12


def least_norm(A: FloatArray, b: FloatArray, start: FloatArray, length: float = 1.0) -> FloatArray | None:
    """The dual values α of the shortest w; None where there is no w, as far as numbers of this size can tell.

    Parameters
    ----------
    A, b : the rows and right-hand sides; where no b is above 0, w = 0.
    start : dual values of which those above 0 are tried first.
    length : about how long w will be, so that 1 − b·u is not lost in rounding.
    """
    alpha: FloatArray | None = start
    for _ in range(_TRIES):
        alpha = _solve(A, b, start if alpha is None else alpha, length)
        if alpha is None:
            return None
        found = float(np.linalg.norm(alpha @ A))
        if found == 0.0 or 0.1 < found / length < 10.0:
            break
        length = found
    return alpha


def _solve(A: FloatArray, b: FloatArray, start: FloatArray, length: float) -> FloatArray | None:
    E = np.vstack([A.T, b / length])
    sizes = np.maximum(np.linalg.norm(E, axis=0), 1e-300)
    f = np.zeros(len(E))
    f[-1] = 1.0
    u = nonnegative_least_squares(E / sizes, f, np.flatnonzero(start > 0)) / sizes
    rest = 1.0 - float(b @ u) / length
    return u / rest * length if rest > _NOTHING else None


def nonnegative_least_squares(E: FloatArray, f: FloatArray, passive: IntArray) -> FloatArray:
    """The u ≥ 0 that minimises ‖E u − f‖; columns in `passive` are tried as its support first."""
    n = E.shape[1]
    u, support = np.zeros(n), np.zeros(n, bool)
    support[passive[: len(E)]] = True
    _settle(E, f, u, support)
    for _ in range(3 * n + 10):
        gradient = E.T @ (f - E[:, support] @ u[support])
        gradient[support] = 0.0
        entering = int(np.argmax(gradient))
        if gradient[entering] <= _ROUNDING:
            break
        before = float(np.linalg.norm(f - E @ u))
        support[entering] = True
        u[entering] = 0.0
        _settle(E, f, u, support)
        if np.linalg.norm(f - E @ u) >= before:  # a gain that is lost in rounding
            break
    return u


def _settle(E: FloatArray, f: FloatArray, u: FloatArray, support: NDArray[np.bool_]) -> None:
    """Move u to the least squares on its support, dropping columns whose weight would be negative on the way."""
    while support.any():
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
    u[:] = 0.0
