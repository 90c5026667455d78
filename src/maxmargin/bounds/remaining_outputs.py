"""Outputs that a search over scale may have missed, in descending order of rise + scale · loss.

The violation is quasi-concave, so all outputs with a greater violation than the best one known lie above the tangent
rise + s · loss = const of its level set, where s is the exchange rate at that output. A ranking by rise + s · loss
lists them first. When the greatest violation on the line through the last output listed is at most the best one found,
the argmax is proven; if the list is cut short before, that violation is an upper bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from maxmargin._base.types import CodeArray
from maxmargin.bounds.rescaling import Bound

#: Relative difference between a violation and its upper bound that counts as rounding error.
CLOSED = 1e-9


class Ranked(NamedTuple):
    """An output of a ranking.

    Attributes
    ----------
    rise, loss : float
        Its rise and loss.
    code : ndarray of int32
        Its code.
    """

    rise: float
    loss: float
    code: CodeArray


def tangent_scale(bound: Bound, rise: float, loss: float) -> float:
    """Return the scale of the tangent at a point; 1 if the point is the truth, where there is none."""
    scale = float(bound.exchange_rate(np.array([rise]), np.array([loss]))[0])
    return scale if 0.0 < scale < np.inf else 1.0


def is_closed(violation: float, upper: float) -> bool:
    """Return whether a violation equals its upper bound up to rounding."""
    return upper <= violation + CLOSED * (1.0 + abs(violation))


def best_ranked(
    bound: Bound, ranking: Iterable[Ranked], scale: float, violation: float, upper: float, complete: bool
) -> tuple[Ranked | None, float]:
    """Return the ranked output that exceeds a known violation the most, if any, and an upper bound on all violations.

    Parameters
    ----------
    bound : Bound
        The bound.
    ranking : iterable of Ranked
        Outputs in descending order of rise + scale · loss.
    scale : float
        The scale of the ranking.
    violation, upper : float
        The greatest violation known so far, and an upper bound on all violations.
    complete : bool
        Whether outputs that are not ranked do not exist.
    """
    best = None
    for output in ranking:
        value = float(bound.violation(output.rise, output.loss))
        if value > violation:
            best, violation = output, value
        rest = bound.greatest_on_line(output.rise + scale * output.loss, scale)
        upper = min(upper, max(rest, violation))
        if is_closed(violation, upper):
            return best, max(violation, upper)
    return best, violation if complete else max(violation, upper)
