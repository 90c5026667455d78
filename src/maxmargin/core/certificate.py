"""What a solver proves about the weights it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

#: By this share a lower bound may be above the objective, through rounding.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Certificate:
    """How far weights are from optimal: ``dual ≤ optimum ≤ primal``.

    Attributes
    ----------
    primal : objective value of the best weights found. When ``exact`` is false it rests on the best outputs the
        argmax found, and ``primal_bound`` is what is proven.
    dual : best proven lower bound of the optimum.
    oracle_calls : loss-augmented argmaxes taken so far.
    seconds : wall-clock time spent so far, without that for compiling kernels.
    exact : whether every argmax behind ``primal`` was exact; then the gap is a proof. False in what a fit tells
        where the lower bound lies above the objective (`contradicted`), whatever the structure says of its argmaxes.
    primal_bound : proven upper bound of the objective at the best weights (infinite where there is none).
    outer_steps, outer_decrease : for bounds that are not convex (ramp, latent): all of the above is about the convex
        problem of the last outer step, and this is how many there were, and by which share of itself the objective
        proper fell in the last of them. No more is proven: it is a point where such steps end, not the optimum.
    """

    primal: float
    dual: float
    oracle_calls: int
    seconds: float
    exact: bool = True
    primal_bound: float = float("inf")
    outer_steps: int = 0
    outer_decrease: float = float("nan")

    @property
    def contradicted(self) -> bool:
        """Whether the lower bound lies above the objective, which cannot be where every argmax is exact."""
        return self.dual > self.primal * (1.0 + ROUNDING)

    def reconsidered(self) -> Certificate:
        """Itself; without a claim to be exact where it is contradicted."""
        return replace(self, exact=False, primal_bound=float("inf")) if self.contradicted else self

    @property
    def gap(self) -> float:
        """Relative gap (primal − dual) / primal: the number that is compared with ``tol``."""
        if self.primal == float("inf"):
            return float("inf")
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0

    @property
    def standing(self) -> str:
        """What the gap is worth, in a few words."""
        if self.contradicted:
            return "contradicted: the lower bound lies above the objective"
        return "proven" if self.exact else "estimated: the argmax is not exact"

    def __str__(self) -> str:
        found = (
            f"objective {self.primal:.6g}, lower bound {self.dual:.6g}, relative gap {self.gap:.2g} ({self.standing})"
        )
        work = f"{self.oracle_calls} argmaxes in {self.seconds:.3g} s"
        return f"last convex problem: {found}; {self.end}; {work}" if self.outer_steps else f"{found}; {work}"

    @property
    def end(self) -> str:
        """Where outer steps ended; empty where there were none."""
        if not self.outer_steps:
            return ""
        steps = "1 outer step" if self.outer_steps == 1 else f"{self.outer_steps} outer steps"
        fell = f" (the last lowered it by {self.outer_decrease:.2g})" if isfinite(self.outer_decrease) else ""
        return f"after {steps}{fell}, a local solution at best"
