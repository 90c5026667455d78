"""Any bound by search over the scale of the loss, for structures that offer only a loss-augmented argmax.

The argmax at scale s finds the output that maximises m + s b: a corner of the upper hull of all points (m, b). Every
violation is quasi-concave and rises in both coordinates, so its best corner can be bracketed: at a corner found with
scale s, more loss is worth having exactly when the exchange rate there is above s. The hull between the last two
corners bounds what the search may have missed below the hull (compare Choi, Meshi, Srebro 2016, on slack re-scaling).
The truth (0, 0) stands for the first corner until one is found: no output has less loss, but it may lie off the hull.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import FloatArray, IntArray
from maxmargin.bounds.rescaling import Bound
from maxmargin.core.codes import Answers, spans

#: Called as decode(ids, scales): overwrites the answers of ids.
Decode = Callable[[IntArray, FloatArray], None]

_RELATIVE = 1e-9
_GALLOP, _LARGEST_SCALE = 8.0, 8.0**5


class _Brackets:
    """For each example the corner with too little loss and the one with too much: (rise, loss) and the scale asked."""

    def __init__(self, n: int) -> None:
        self.rise, self.loss, self.scale = np.zeros(n), np.zeros(n), np.full(n, np.nan)  # the truth, never asked for
        self.rise_to, self.loss_to, self.scale_to = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
        self.closed = np.zeros(n, bool)  # the two corners are joined by an edge of the hull

    def bracketed(self, rows: IntArray) -> NDArray[np.bool_]:
        return ~np.isnan(self.loss_to[rows])


class _Kept:
    """The best answer of each example so far; the truth to begin with."""

    def __init__(self, ids: IntArray, offsets: IntArray, n_outputs: int) -> None:
        self.ids, self.offsets, n = ids, offsets, len(ids)
        self.local = np.concatenate([[0], np.cumsum(offsets[ids + 1] - offsets[ids])])
        self.answers, self.violations = Answers.empty(n, int(self.local[-1]), n_outputs), np.zeros(n)

    def update(self, rows: IntArray, answers: Answers, violations: FloatArray) -> None:
        better = violations > self.violations[rows]
        rows, violations = rows[better], violations[better]
        here, mine = self.ids[rows], self.answers
        mine.codes[spans(rows, self.local)] = answers.codes[spans(here, self.offsets)]
        mine.losses[rows], mine.rises[rows], mine.keys[rows] = (
            answers.losses[here],
            answers.rises[here],
            answers.keys[here],
        )
        if len(mine.outputs):
            mine.outputs[rows] = answers.outputs[here]
        self.violations[rows] = violations

    def restore(self, answers: Answers) -> None:
        answers.codes[spans(self.ids, self.offsets)] = self.answers.codes
        answers.losses[self.ids], answers.rises[self.ids] = self.answers.losses, self.answers.rises
        answers.keys[self.ids] = self.answers.keys
        if len(self.answers.outputs):
            answers.outputs[self.ids] = self.answers.outputs


def search_over_scale(
    bound: Bound, ids: IntArray, offsets: IntArray, answers: Answers, decode: Decode, max_queries: int = 12
) -> FloatArray:
    """Leave in `answers` the best output found for each of ids; an upper bound of each violation comes back.

    Equal to the violation found (up to rounding), the upper bound proves it exact.
    """
    brackets = _Brackets(len(ids))
    kept = _Kept(ids, offsets, len(ids) if len(answers.outputs) else 0)
    scales, active = np.ones(len(ids)), np.arange(len(ids))
    for _ in range(max_queries):
        here = ids[active]
        decode(here, scales[active])
        rises, losses = answers.rises[here], answers.losses[here]
        kept.update(active, answers, bound.violation(rises, losses))
        active = _narrow(bound, brackets, active, scales, rises, losses)
        if len(active) == 0:
            break
    kept.restore(answers)
    return np.maximum(kept.violations, _upper_bounds(bound, brackets))


def _narrow(
    bound: Bound, b: _Brackets, active: IntArray, scales: FloatArray, rises: FloatArray, losses: FloatArray
) -> IntArray:
    """Move one end of each bracket to the corner just found and choose the next scales; who must be asked again."""
    scale = scales[active]
    before = np.fmax(b.rise[active] + scale * b.loss[active], b.rise_to[active] + scale * b.loss_to[active])
    no_gain = rises + scale * losses <= before + _RELATIVE * (1.0 + np.abs(before))
    edge = b.bracketed(active) & no_gain
    rates = bound.exchange_rate(rises, losses)
    more = rates > scale
    for part, ends in (
        (more & ~edge, (b.rise, b.loss, b.scale)),
        (~more & ~edge, (b.rise_to, b.loss_to, b.scale_to)),
    ):
        for end, found in zip(ends, (rises, losses, scale), strict=True):
            end[active[part]] = found[part]
    b.closed[active[edge | (b.loss_to[active] <= b.loss[active])]] = True

    asked, active = active, active[~b.closed[active]]
    bracketed = b.bracketed(active)
    open_ended, right = active[~bracketed], active[bracketed]
    exhausted = scales[open_ended] >= _LARGEST_SCALE
    # With more loss the rate falls, so the best corner is not beyond the scale that is the rate at this one.
    jump = np.full(len(b.loss), np.inf)
    jump[asked] = rates
    further = open_ended[~exhausted]
    scales[further] = np.where(np.isfinite(jump[further]), jump[further], _GALLOP * scales[further])
    # Below 0 where the corner with more loss is above the truth: then the corner of greatest rise is asked for.
    scales[right] = np.maximum((b.rise[right] - b.rise_to[right]) / (b.loss_to[right] - b.loss[right]), 0.0)
    return np.concatenate([open_ended[~exhausted], right])


def _upper_bounds(bound: Bound, b: _Brackets) -> FloatArray:
    """What no output can exceed: on the bracket's edge where it is closed, on the two supporting lines m + s b = const
    at its corners where the search was cut short, on the line beyond the last corner where no end was found."""
    open_ended, asked = np.isnan(b.loss_to), ~np.isnan(b.scale)
    scale = np.where(open_ended, b.scale, 1.0)
    reach = 2.0 * (1.0 + np.abs(b.rise) + scale * b.loss) / scale + 1.0 / scale**2
    rise_to = np.where(open_ended, b.rise - scale * reach, b.rise_to)
    loss_to = np.where(open_ended, b.loss + reach, b.loss_to)
    on_line = bound.best_between(b.rise, b.loss, rise_to, loss_to)

    low, high = np.where(asked, b.scale, 0.0), np.where(open_ended, 1.0, b.scale_to)
    with np.errstate(divide="ignore", invalid="ignore"):
        meet = (rise_to - b.rise + high * loss_to - low * b.loss) / (high - low)
    meet = np.where(asked & (high > low), np.clip(meet, b.loss, loss_to), b.loss)
    peak = rise_to + high * (loss_to - meet)
    on_lines = np.maximum(
        bound.best_between(b.rise, b.loss, peak, meet), bound.best_between(peak, meet, rise_to, loss_to)
    )
    return np.where(b.closed | open_ended, on_line, on_lines)
