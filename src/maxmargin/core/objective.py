"""The one objective of the library, and its dual.

For planes (a, b) of example i, the hinge is ``H_i(w) = max_y b_y − w·a_y`` (0 for the truth), and

    linear slack      P(w) = ½‖w‖² + C Σ c_i H_i(w)             D(α) = Σ α b − ½‖Σ α a‖²,    Σ_y α_iy ≤ C c_i
    quadratic slack   P(w) = ½‖w‖² + (C/2) Σ c_i H_i(w)²        D(α) = Σ α b − ½‖Σ α a‖² − Σ_i (Σ_y α_iy)² / (2 C c_i)
    hard margin       C = inf: P(w) = ½‖w‖² where all H_i(w) = 0, else infinite;  D(α) = Σ α b − ½‖Σ α a‖²

with α ≥ 0. Lower bounds w ≥ l of single weights put h(Σ α a) in the place of ½‖Σ α a‖² (`lower_bounds`). Papers 1 and 2
write C/n where we write C, so their C is n times ours; λ = 1/(nC).
At the optimum ``w = Σ α a`` (with lower bounds, ``w = max(Σ α a, l)``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.core.lower_bounds import best_step, conjugate, excess

#: C c_i of any example.
BUDGETS = 1e-100, 1e100


@dataclass(frozen=True)
class Objective:
    """Trade-off, slack, sample weights and lower bounds: everything of the objective but the planes.

    Attributes
    ----------
    C : trade-off; ``inf`` asks for a hard margin.
    weights : c_i, one per example.
    slack : ``"linear"`` or ``"quadratic"``.
    lower : l, one number per weight, −inf where a weight has no bound; None where none has.
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
                f"sample weights, or ask for a hard margin with C=inf"
            )

    @property
    def hard(self) -> bool:
        """Whether no slack is allowed at all."""
        return bool(np.isinf(self.C))

    @property
    def quadratic(self) -> bool:
        """Whether slack is penalised by its square (a hard margin has no slack to penalise)."""
        return self.slack == "quadratic" and not self.hard

    @property
    def budgets(self) -> FloatArray:
        """C c_i: the most dual mass of each example (linear slack), its weight otherwise."""
        return self.C * self.weights

    @property
    def ridges(self) -> FloatArray:
        """1 / (C c_i) for quadratic slack, else 0: the price of squared dual mass."""
        return 1.0 / self.budgets if self.quadratic else np.zeros_like(self.weights)

    def penalties(self, hinges: FloatArray) -> FloatArray:
        """What each example adds to the primal value."""
        hinges = np.maximum(hinges, 0.0)
        if self.hard:
            return np.where(hinges > 0, np.inf, 0.0)
        return 0.5 * self.budgets * hinges**2 if self.quadratic else self.budgets * hinges

    def primal(self, w: FloatArray, hinges: FloatArray) -> float:
        """P(w), given H_i(w) of all examples."""
        return 0.5 * float(w @ w) + float(self.penalties(hinges).sum())

    def slopes(self, hinges: FloatArray) -> FloatArray:
        """Derivative of the penalty by the hinge: the dual mass that a subgradient step gives to each example."""
        return self.budgets * np.maximum(hinges, 0.0) if self.quadratic else np.where(hinges > 0, self.budgets, 0.0)

    def raised(self, w: FloatArray) -> FloatArray:
        """Return max(w, l): the nearest weights within the lower bounds."""
        return w if self.lower is None else np.maximum(w, self.lower)

    def distance(self, w: FloatArray, u: FloatArray) -> float:
        """Return ½‖w‖² + h(u) − u·w, which is ½‖u − w‖² without lower bounds: the gap between w and Σ α a = u."""
        if self.lower is not None:
            return excess(w, u, self.lower)
        away = u - w
        return 0.5 * float(away @ away)

    def conjugate(self, u: FloatArray) -> float:
        """Return h(u), which is ½‖u‖² without lower bounds."""
        return 0.5 * float(u @ u) if self.lower is None else conjugate(u, self.lower)

    def dual(self, gain: float, u: FloatArray, masses: FloatArray, longest: float = 1.0) -> float:
        """Return the best D(t α) over 0 ≤ t ≤ ``longest`` (any t where the slack is quadratic or the margin hard).

        Parameters
        ----------
        gain : Σ α b.
        u : Σ α a.
        masses : Σ_y α_iy of each example, the truth left out.
        """
        t = self.best_multiple(gain, u, masses, longest)
        if np.isinf(t):
            return np.inf
        if self.lower is None:
            return t * gain - 0.5 * t * t * (float(u @ u) + self._ridge(masses))
        return t * gain - 0.5 * t * t * self._ridge(masses) - conjugate(t * u, self.lower)

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
        """Return twice what D(α) takes off for squared dual mass."""
        return float((self.ridges * masses**2).sum()) if self.quadratic else 0.0
