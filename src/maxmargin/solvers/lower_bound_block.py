"""Lower bounds on weights as one more block of the dual.

Solvers that step on one example at a time use this block. With multipliers β ≥ 0 of the bounds w ≥ l, the weights
around a proximal centre are

    w = ((ρ − 1) z + u + β) / ρ,      β ≥ 0,      β_j > 0 only if w_j = l_j,

and w = max(free, l) with free = ((ρ − 1) z + u) / ρ. Steps on examples treat β as constant and change w and `free`
equally; afterwards β is set to its optimum again. The **lift** w − free = β / ρ is stored, because it does not change
when α and ρ are scaled together.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.solvers.base import Decodable
from maxmargin.solvers.saved_states import check_array, check_names


class Floor:
    """Lift of the current weights; empty if the objective has no lower bounds.

    Parameters
    ----------
    problem : Decodable
        The problem with the lower bounds.
    """

    def __init__(self, problem: Decodable) -> None:
        self.lower = problem.objective.lower
        self.lift: FloatArray = np.zeros(0 if self.lower is None else problem.dim)

    def raised(self, free: FloatArray) -> FloatArray:
        """Return max(free, l) and store the lift."""
        if self.lower is None:
            return free
        w = np.maximum(free, self.lower)
        self.lift = w - free
        return w

    def free(self, w: FloatArray) -> FloatArray:
        """Return the weights without their lift."""
        return w if self.lower is None else w - self.lift

    def settle(self, w: FloatArray) -> None:
        """Set the multipliers of the bounds to their optimum, and w, which steps have changed, in place."""
        if self.lower is not None:
            w[:] = self.raised(w - self.lift)

    def conjugate(self, w: FloatArray) -> float:
        """Return h(u) for the weights w = u + β without a centre (ρ = 1)."""
        half_square = 0.5 * float(w @ w)
        return half_square if self.lower is None else half_square - float(self.lift @ w)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the lift as a plain array."""
        return {"lift": self.lift}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        check_names(arrays, ["lift"])
        check_array("lift", arrays["lift"], self.lift)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Set the lift."""
        self.lift = np.array(arrays["lift"])
