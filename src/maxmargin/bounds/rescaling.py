"""Margin and slack re-scaling with linear and quadratic slack (Tsochantaridis et al. 2004, section 3).

With the rise m = w·Ψ(x, ŷ) − w·Ψ(x, y) = −w·a and the loss b, the violation that a bound maximises is

    margin, linear       b + m            plane (a, b)
    margin, quadratic    √b + m           plane (a, √b)
    slack, linear        b (1 + m)        plane (b a, b)
    slack, quadratic     √b (1 + m)       plane (√b a, √b)

that is ``value(b) + factor(b) m``, the hinge of the plane ``(factor(b) a, value(b))``. Without the value, the violation
is ``factor(b) m``: the β of Do et al. 2008, whose maximum a ramp bound subtracts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.jit import inlined
from maxmargin._base.types import FloatArray


class NamedBound(NamedTuple):
    """Re-scaling that the name of a bound refers to.

    Attributes
    ----------
    rescaling : {"margin", "slack"}
        The re-scaling.
    convex : bool
        Whether the bound is the re-scaling itself; False for its ramp.
    smooth : bool, default=False
        Whether a sum over outputs replaces the maximum (`maxmargin.likelihood`).
    """

    rescaling: str
    convex: bool
    smooth: bool = False


#: The bounds by the names that estimators use.
BOUNDS = {
    "margin": NamedBound("margin", convex=True),
    "slack": NamedBound("slack", convex=True),
    "ramp": NamedBound("margin", convex=False),
    "ramp-slack": NamedBound("slack", convex=False),
    "likelihood": NamedBound("none", convex=True, smooth=True),
    "softmax-margin": NamedBound("margin", convex=True, smooth=True),
}

MARGIN, MARGIN_ROOT, SLACK, SLACK_ROOT, RISE, LOSS_TIMES_RISE = 0, 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Bound:
    """Upper bound on the loss by margin or slack re-scaling.

    With the rise m = w·Ψ(x, ŷ) − w·Ψ(x, y) and the loss b, the violation of an output is b + m (margin) or b (1 + m)
    (slack). With quadratic slack √b replaces b (Tsochantaridis et al. 2004, section 3).

    Parameters
    ----------
    rescaling : {"margin", "slack"}, default="margin"
        The re-scaling.
    slack : {"linear", "quadratic"}, default="linear"
        Whether the objective penalises the slack or its square.
    valued : bool, default=True
        Whether the violation contains the loss itself. If False, which requires linear slack, the violation is m or b
        m.
    """

    rescaling: str = "margin"
    slack: str = "linear"
    valued: bool = True

    @property
    def form(self) -> int:
        """The form as a number, for compiled functions."""
        if not self.valued:
            return LOSS_TIMES_RISE if self.rescaling == "slack" else RISE
        return 2 * (self.rescaling == "slack") + (self.slack == "quadratic")

    def value(self, loss: Any) -> Any:
        """Return b of the plane that solvers use."""
        return np.sqrt(loss) if self.slack == "quadratic" else loss

    def factor(self, loss: Any) -> Any:
        """Return the factor by which a is multiplied."""
        return self.value(loss) if self.rescaling == "slack" else np.ones_like(np.asarray(loss, float))

    def violation(self, rise: Any, loss: Any) -> Any:
        """Return the violation H of an output with this rise and loss."""
        value, unit = self.value(loss), float(self.valued)
        return value * (unit + rise) if self.rescaling == "slack" else unit * value + rise

    def exchange_rate(self, rise: FloatArray, loss: FloatArray) -> FloatArray:
        """Return ∂violation/∂loss divided by ∂violation/∂rise.

        This is the amount of rise that has the same effect as one unit of loss at this point.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.rescaling == "slack":
                rate = (float(self.valued) + rise) / loss
                rate = rate / 2 if self.slack == "quadratic" else rate
            elif self.slack == "quadratic":
                rate = 0.5 / np.sqrt(loss)
            else:
                rate = np.full_like(loss, float(self.valued))
        return np.where(loss > 0, rate, np.inf)

    def best_between(self, rise: FloatArray, loss: FloatArray, rise_to: FloatArray, loss_to: FloatArray) -> FloatArray:
        """Return the greatest violation on the segment between two points (rise, loss)."""
        dm, db = rise_to - rise, loss_to - loss
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.rescaling == "slack":
                order = 2.0 if self.slack == "quadratic" else 1.0
                t = -(db * (float(self.valued) + rise) + order * loss * dm) / ((1.0 + order) * db * dm)
            elif self.slack == "quadratic":
                t = ((db / (2.0 * dm)) ** 2 - loss) / db
            else:
                t = np.zeros_like(dm)
        t = np.clip(np.nan_to_num(t, nan=0.0), 0.0, 1.0)
        inside = self.violation(rise + t * dm, loss + t * db)
        return np.maximum(inside, np.maximum(self.violation(rise, loss), self.violation(rise_to, loss_to)))

    def greatest_on_line(self, level: float, scale: float) -> float:
        """Return the greatest violation of points (rise, loss) with rise + scale · loss = level and loss ≥ 0."""
        most = level + float(self.valued)
        if self.rescaling == "margin":
            if self.slack == "linear":
                return np.inf if scale < float(self.valued) else level
            return level + 0.25 / scale
        if most <= 0.0:
            return 0.0
        if self.slack == "linear":
            return 0.25 * most**2 / scale
        return float(np.sqrt(most / (3.0 * scale)) * 2.0 * most / 3.0)

    def __str__(self) -> str:
        what = f"{self.rescaling} re-scaling with {self.slack} slack"
        return what if self.valued else f"{what}, without the loss"


@inlined
def violation(form, rise, loss):
    """Return `Bound.violation`, in compiled functions."""
    if form == RISE:
        return rise
    if form == LOSS_TIMES_RISE:
        return loss * rise
    value = np.sqrt(loss) if form & 1 else loss
    return value * (1.0 + rise) if form >= 2 else value + rise
