"""Kernels over decisions; `offsets` are the first variables of each example, `rows` its decisions in a batch (n, m)."""

from __future__ import annotations

import numpy as np

from maxmargin._compile import kernel


@kernel
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


@kernel
def judge(ids, offsets, linear, true, scores, augmented, rows, rises, losses, excesses, sizes):
    """Write rises and losses of the decisions in `rows`, and by how much they are worse than the truth.

    `sizes` are the sums of absolute costs and losses of all variables, for tolerances.
    """
    for r in range(len(ids)):
        first, rise, loss, excess, size, loss_size = offsets[ids[r]], 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(rows.shape[1]):
            size += abs(augmented[r, j])
            loss_size += abs(linear[first + j])
            change = rows[r, j] - true[first + j]
            if change != 0.0:
                rise -= scores[r, j] * change
                loss += linear[first + j] * change
                excess += augmented[r, j] * change
        rises[ids[r]], losses[ids[r]], excesses[r] = rise, loss, excess
        sizes[r, 0], sizes[r, 1] = size, loss_size


@kernel
def encode_whole(ids, code_offsets, rows, codes):
    """Write decisions as whole numbers; return the first row that is not whole, or −1."""
    wrong = -1
    for r in range(len(ids)):
        at = code_offsets[ids[r]]
        for j in range(rows.shape[1]):
            codes[at + j] = np.int32(rows[r, j])
            if wrong < 0 and codes[at + j] != rows[r, j]:
                wrong = r
    return wrong


@kernel
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
