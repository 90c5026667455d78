"""Decisions, compiled; `offsets` are the first variables of each example, `rows` its decisions in a batch (n, m)."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit

#: Largest integer of a decision: codes have 32 bits.
MOST = 2.0**31 - 1.0


@jit
def augment(ids, offsets, linear, factor, scales, costs, out):
    """Compute scores factor · cost in place, and out = score − scale · loss; return the first row not finite, or −1."""
    for r in range(len(ids)):
        first, total = offsets[ids[r]], 0.0
        for j in range(costs.shape[1]):
            costs[r, j] *= factor
            out[r, j] = costs[r, j] - scales[r] * linear[first + j]
            total += abs(out[r, j])
        if not np.isfinite(total):
            return r
    return -1


#: Difference of totals, relative to their terms and for each term, below which it is rounding error.
_ROUNDING = 2.0**-52


@jit
def judge(ids, offsets, linear, true, scales, scores, augmented, rows, rises, losses, excesses, sizes):
    """Write rises and losses of the decisions in `rows`, and by how much they are worse than the truth.

    A loss-augmented decision whose total is that of the truth up to rounding becomes the truth so that hinges of 0 are
    0. `sizes` are the sums of absolute costs and losses of all variables, for tolerances.
    """
    for r in range(len(ids)):
        first, rise, loss, excess, size, loss_size = offsets[ids[r]], 0.0, 0.0, 0.0, 0.0, 0.0
        terms, n_terms = 0.0, 2
        for j in range(rows.shape[1]):
            size += abs(augmented[r, j])
            loss_size += abs(linear[first + j])
            change = rows[r, j] - true[first + j]
            if change != 0.0:
                rise -= scores[r, j] * change
                loss += linear[first + j] * change
                excess += augmented[r, j] * change
                terms += (abs(scores[r, j]) + abs(scales[r] * linear[first + j])) * abs(change)
                n_terms += 1
        if scales[r] > 0.0 and abs(excess) <= n_terms * _ROUNDING * terms:
            rows[r] = true[first : first + rows.shape[1]]
            rise, loss, excess = 0.0, 0.0, 0.0
        rises[ids[r]], losses[ids[r]], excesses[r] = rise, loss, excess
        sizes[r, 0], sizes[r, 1] = size, loss_size


@jit
def encode_whole(ids, code_offsets, rows, codes):
    """Write decisions as integers; return the first row that is not whole or exceeds `MOST`, or −1."""
    wrong = -1
    for r in range(len(ids)):
        at = code_offsets[ids[r]]
        for j in range(rows.shape[1]):
            value = min(max(rows[r, j], -MOST), MOST)
            codes[at + j] = np.int32(value)
            if wrong < 0 and codes[at + j] != rows[r, j]:
                wrong = r
    return wrong


@jit
def changes(ids, offsets, decisions, true, factor, out_ptr, out_index, out_value):
    """Write factor · (ẑ − z*) as sparse rows; the decisions of ids follow one another."""
    used, at = 0, 0
    for r in range(len(ids)):
        first = offsets[ids[r]]
        for j in range(offsets[ids[r] + 1] - first):
            change = decisions[at] - true[first + j]
            if change != 0.0:
                out_index[used], out_value[used] = j, factor * change
                used += 1
            at += 1
        out_ptr[r + 1] = used
