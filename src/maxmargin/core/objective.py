"""The objective of the library and its dual.

For planes (a, b) of example i, the hinge is ``H_i(w) = max_y b_y − w·a_y`` (0 for the truth), and

    linear slack      P(w) = ½‖w‖² + C Σ c_i H_i(w)             D(α) = Σ α b − ½‖Σ α a‖²,    Σ_y α_iy ≤ C c_i
    quadratic slack   P(w) = ½‖w‖² + (C/2) Σ c_i H_i(w)²        D(α) = Σ α b − ½‖Σ α a‖² − Σ_i (Σ_y α_iy)² / (2 C c_i)
    hard margin       C = inf: P(w) = ½‖w‖² if all H_i(w) = 0, else infinite;     D(α) = Σ α b − ½‖Σ α a‖²

with α ≥ 0. At the optimum ``w = Σ α a``. With lower bounds w ≥ l of single weights, h(Σ α a) replaces ½‖Σ α a‖²
(`lower_bounds`), and ``w = max(Σ α a, l)`` at the optimum.

Tsochantaridis et al. 2004 and Joachims et al. 2009 write C/n instead of C, so their C is n times the C used here; λ =
1/(nC).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.core.lower_bounds import best_step, conjugate, excess

#: Smallest and largest C c_i of an example.
BUDGETS = 1e-100, 1e100
#: Numbers above this have a square that is a normal float.
_SMALLEST_SQUARED = 1e-150


@dataclass(frozen=True)
class Objective:
    """Trade-off, slack, sample weights and lower bounds on weights.

    Attributes
    ----------
    C : float
        Trade-off between regulariser and loss; ``inf`` requests a hard margin.
    weights : ndarray of shape (n_examples,)
        Sample weights c_i.
    slack : {"linear", "quadratic"}, default="linear"
        Whether the slack or its square is penalised.
    lower : ndarray of shape (dim,) or None, default=None
        Lower bounds l, −inf for weights without a bound; None if no weight has a bound.
    """

    C: float
    weights: FloatArray
    slack: str = "linear"
    lower: FloatArray | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for budgets whose squares overflow and for bounds that are not below infinity."""
        if self.lower is not None:
            lower = np.array(self.lower, float)
            j = int(np.argmin(lower < np.inf)) if lower.size else 0
            if lower.size and not lower.flat[j] < np.inf:
                raise ValueError(f"lower[{j}] must be a number below infinity, found {lower.flat[j]}")
            object.__setattr__(self, "lower", lower if np.isfinite(lower).any() else None)
        low, high = BUDGETS
        with np.errstate(over="ignore"):
            budgets = self.budgets[self.weights > 0]
        bad = budgets[(budgets < low) | (budgets > high)]
        if len(bad) and not self.hard:
            raise ValueError(
                f"C={self.C:g} times a sample weight must be from {low:g} to {high:g}, found {bad[0]:g}; scale the "
                f"sample weights, or set C=inf for a hard margin"
            )

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed."""
        return bool(np.isinf(self.C))

    @property
    def quadratic(self) -> bool:
        """Whether the squared slack is penalised (a hard margin has no slack to penalise)."""
        return self.slack == "quadratic" and not self.hard

    @property
    def budgets(self) -> FloatArray:
        """The budget C c_i of each example.

        It is the largest dual mass of the example with linear slack, and the weight of its penalty with quadratic
        slack.
        """
        return self.C * self.weights

    @property
    def ridges(self) -> FloatArray:
        """Coefficients of the squared dual masses.

        They are 1 / (C c_i) for quadratic slack, and otherwise 0.
        """
        return 1.0 / self.budgets if self.quadratic else np.zeros_like(self.weights)

    def penalties(self, hinges: FloatArray) -> FloatArray:
        """Return the contribution of each example to the primal value."""
        hinges = np.maximum(hinges, 0.0)
        if self.hard:
            return np.where(hinges > 0, np.inf, 0.0)
        return 0.5 * self.budgets * hinges**2 if self.quadratic else self.budgets * hinges

    def primal(self, w: FloatArray, hinges: FloatArray) -> float:
        """Return P(w), given H_i(w) of all examples."""
        return 0.5 * float(w @ w) + float(self.penalties(hinges).sum())

    def primal_at_most(self, w: FloatArray, primal: float, errors: FloatArray) -> float:
        """Return an upper bound on P(w) if its value is `primal` for hinges that are too small by up to `errors`.

        With quadratic slack it is Minkowski's inequality, √Σ b (H + e)² ≤ √Σ b H² + √Σ b e².
        """
        more = float(self.penalties(errors).sum())
        if not self.quadratic:
            return primal + more
        regulariser = 0.5 * float(w @ w)
        return regulariser + float(np.sqrt(max(primal - regulariser, 0.0)) + np.sqrt(more)) ** 2

    def slopes(self, hinges: FloatArray) -> FloatArray:
        """Return the derivative of the penalty by the hinge of each example.

        It is the dual mass that a subgradient step gives to the example.
        """
        return self.budgets * np.maximum(hinges, 0.0) if self.quadratic else np.where(hinges > 0, self.budgets, 0.0)

    def raised(self, w: FloatArray) -> FloatArray:
        """Return max(w, l), the nearest weights within the lower bounds."""
        return w if self.lower is None else np.maximum(w, self.lower)

    def distance(self, w: FloatArray, u: FloatArray) -> float:
        """Return ½‖w‖² + h(u) − u·w, the part of the gap between w and u = Σ α a.

        Without lower bounds it is ½‖u − w‖².
        """
        if self.lower is not None:
            return excess(w, u, self.lower)
        away = u - w
        return 0.5 * float(away @ away)

    def conjugate(self, u: FloatArray) -> float:
        """Return h(u), which is ½‖u‖² without lower bounds."""
        return 0.5 * float(u @ u) if self.lower is None else conjugate(u, self.lower)

    def dual(self, gain: float, u: FloatArray, masses: FloatArray, longest: float = 1.0) -> float:
        """Return the largest D(t α) over 0 ≤ t ≤ `longest`.

        With quadratic slack or a hard margin, t is not limited.

        Parameters
        ----------
        gain : float
            Σ α b.
        u : ndarray of shape (dim,)
            Σ α a.
        masses : ndarray of shape (n_examples,)
            Σ_y α_iy of each example, without the truth.
        longest : float, default=1.0
            Largest multiple t that is feasible.
        """
        t = self.best_multiple(gain, u, masses, longest)
        if np.isinf(t):
            return np.inf
        if self.lower is None:
            return t * gain - half_square(t, float(u @ u) + self._ridge(masses))
        return t * gain - half_square(t, self._ridge(masses)) - conjugate(t * u, self.lower)

    def best_multiple(self, gain: float, u: FloatArray, masses: FloatArray, longest: float = 1.0) -> float:
        """Return the t of `dual`."""
        if self.quadratic or self.hard:
            longest = np.inf
        if self.lower is not None:
            return best_step(gain, self._ridge(masses), np.zeros_like(u), u, self.lower, longest)
        if gain <= 0.0:
            return 0.0
        cost = float(u @ u) + self._ridge(masses)
        return min(gain / cost if cost > 0 else np.inf, longest)

    def _ridge(self, masses: FloatArray) -> float:
        """Return twice the term of D(α) for squared dual mass."""
        return float((self.ridges * masses**2).sum()) if self.quadratic else 0.0


def half_square(t: float, square: float) -> float:
    """Return ½ t² square, also if t² alone would underflow."""
    return 0.5 * t * t * square if t > _SMALLEST_SQUARED else 0.5 * t * (t * square)
