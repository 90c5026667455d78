"""Argmax of any bound by search over the scale of the loss.

The search serves structures that have only a loss-augmented argmax. The argmax at scale s finds the output that
maximises m + s b: a corner of the upper hull of all points (m, b). Every violation is quasi-concave and increases in
both coordinates, so its best corner can be bracketed: at a corner found with scale s, corners with more loss are better
exactly if the exchange rate there is above s. The hull between the last two corners bounds the violation of outputs
that the search may have missed below the hull (compare Choi, Meshi and Srebro 2016 on slack re-scaling). The truth (0,
0) serves as the first corner until one is found: no output has a smaller loss, but the truth may be below the hull.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.ragged import offsets_among, spans
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.bounds.rescaling import Bound
from maxmargin.core.planes import Answers

#: Called as decode(ids, scales): overwrites the answers of ids.
Decode = Callable[[IntArray, FloatArray], None]

_RELATIVE = 1e-9
_GALLOP, _LARGEST_SCALE = 8.0, 8.0**5


class _Brackets:
    """The two corners that bracket the best one, for each example.

    One corner has too little loss, the other too much. A corner is (rise, loss) and the scale with which it was found.
    """

    def __init__(self, n: int) -> None:
        self.rise, self.loss, self.scale = (
            np.zeros(n),
            np.zeros(n),
            np.full(n, np.nan),
        )  # the truth, which no argmax has returned
        self.rise_to, self.loss_to, self.scale_to = np.full(n, np.nan), np.full(n, np.nan), np.full(n, np.nan)
        self.closed = np.zeros(n, bool)  # whether an edge of the hull joins the two corners

    def bracketed(self, rows: IntArray) -> NDArray[np.bool_]:
        return ~np.isnan(self.loss_to[rows])


class _Kept:
    """Best answer of each example so far, initially the truth."""

    def __init__(self, ids: IntArray, offsets: IntArray, n_outputs: int) -> None:
        self.ids, self.offsets, n = ids, offsets, len(ids)
        self.local = offsets_among(ids, offsets)
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
    """Write the best output found for each example in ids to `answers` and return upper bounds on the violations.

    If an upper bound equals the violation found (up to rounding), the output is proven to be exact.

    Parameters
    ----------
    bound : Bound
        The bound whose violation is maximised.
    ids : ndarray of int64
        The examples.
    offsets : ndarray of int64
        Code offsets of all examples.
    answers : Answers
        Answers of all examples.
    decode : callable
        Called as ``decode(ids, scales)``; overwrites the answers of ids.
    max_queries : int, default=12
        Maximum number of argmaxes per example.

    Returns
    -------
    ndarray of shape (len(ids),)
        Proven upper bounds on the greatest violation.
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
    """Move one end of each bracket to the corner just found and choose the next scales.

    Return the examples that need another argmax.
    """
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
        for end, values in zip(ends, (rises, losses, scale), strict=True):
            end[active[part]] = values[part]
    b.closed[active[edge | (b.loss_to[active] <= b.loss[active])]] = True

    asked, active = active, active[~b.closed[active]]
    bracketed = b.bracketed(active)
    open_ended, right = active[~bracketed], active[bracketed]
    exhausted = scales[open_ended] >= _LARGEST_SCALE
    # The rate decreases with more loss, so the best corner is found at a scale of at most the rate at this corner.
    jump = np.full(len(b.loss), np.inf)
    jump[asked] = rates
    further = open_ended[~exhausted]
    scales[further] = np.where(np.isfinite(jump[further]), jump[further], _GALLOP * scales[further])
    # Negative if the corner with more loss also has a greater rise: scale 0 then finds the greatest rise of all.
    scales[right] = np.maximum((b.rise[right] - b.rise_to[right]) / (b.loss_to[right] - b.loss[right]), 0.0)
    return np.concatenate([open_ended[~exhausted], right])


def _upper_bounds(bound: Bound, b: _Brackets) -> FloatArray:
    """Return the violations that no output can exceed.

    The bound is taken on the edge of a closed bracket, on the two supporting lines m + s b = const at the corners if
    the search ended early, and on the line beyond the last corner if no second corner was found.
    """
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
