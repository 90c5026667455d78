"""Lower bounds on single weights, w ≥ l, in the dual.

The regulariser over w ≥ l has the conjugate

    h(u) = max_{w ≥ l} u·w − ½‖w‖² = u·w* − ½‖w*‖²,      w* = max(u, l),

which replaces ½‖u‖² in the dual: D(α) = Σ α b − price − h(u). It is convex, and its gradient is w*. With l = −inf for
all weights it is ½‖u‖². It is not homogeneous, so the best multiple t α is found by a line search.

`Objective.lower` has one number per weight, −inf for a weight without a bound, and is None if there are no bounds. The
parameter `nonnegative` of estimators and `Examples.lower` set it. Solvers differ in how they get there: working sets
treat the multipliers of the bounds as one more block of the dual (`Floor`); 1-slack, bundle and
joint rounds fix the weights at their bounds, solve the program over the simplex for the others, and search along its
solution (`AggregateModel` in `solvers.cutting`); exact rounds have a row e_j·w ≥ l_j per bound; the subgradient method
has w = max(u, l), as in dual averaging; for a hard margin, the linear program has the bounds, and the candidate
max(t w, l) is decoded before it is offered. Solvers that do not declare `lower_bounds`, as the perceptron, raise an
error before any work.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.types import FloatArray

#: Maximum number of trials of a line search; Newton steps on a piecewise linear slope need few.
MOST_TRIALS = 100
#: Slope of a line search, relative to its terms, below which the slope is rounding error.
LEVEL = 1e-13
#: Factor by which an unbounded line search extends its range, and the limit of the range.
FURTHER, FURTHEST = 8.0, 1e100


def conjugate(u: FloatArray, lower: FloatArray) -> float:
    """Return h(u)."""
    w = np.maximum(u, lower)
    return float(u @ w) - 0.5 * float(w @ w)


def excess(w: FloatArray, u: FloatArray, lower: FloatArray) -> float:
    """Return ½‖w‖² + h(u) − u·w ≥ 0 for weights w ≥ l; it is 0 if w = max(u, l)."""
    nearest = np.maximum(u, lower)
    away = w - nearest
    return 0.5 * float(away @ away) + float((nearest - u) @ away)


def best_step(
    gain: float, ridge: float, at: FloatArray, direction: FloatArray, lower: FloatArray, longest: float
) -> float:
    """Return the t in [0, longest] that maximises t·gain − ½ t²·ridge − h(at + t·direction).

    The result is infinite if the maximum is unbounded. The slope gain − t·ridge − direction·max(at + t·direction, l)
    decreases with t and is piecewise linear, so its root is found by Newton steps within a shrinking bracket.
    """

    def slope(t: float) -> tuple[float, float]:
        """Return the slope at t, and minus its derivative."""
        point = at + t * direction
        free = direction[point > lower]
        return gain - t * ridge - float(direction @ np.maximum(point, lower)), ridge + float(free @ free)

    rise, fall = slope(0.0)
    if rise <= 0.0:
        return 0.0
    low, high = 0.0, longest
    if np.isinf(longest):
        high = 1.0
        while slope(high)[0] > 0.0:
            high *= FURTHER
            if high > FURTHEST:
                return np.inf
    elif slope(longest)[0] >= 0.0:
        return longest
    size, t = abs(gain) + rise, 0.0
    for _ in range(MOST_TRIALS):
        guess = t + rise / fall if fall > 0.0 else np.inf
        t = guess if low < guess < high else 0.5 * (low + high)
        rise, fall = slope(t)
        if abs(rise) <= LEVEL * size or not low < t < high:
            break
        low, high = (t, high) if rise > 0.0 else (low, t)
    return t
