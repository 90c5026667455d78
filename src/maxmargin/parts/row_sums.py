"""Compiled functions over parts: scores of rows, sums of rows, and differences of counts.

Common arguments: `ids` are the examples of a batch; `offsets` are the first rows of each example in the block; `starts`
are the first scores of each example of the batch; (`ptr`, `parts`, `counts`) are CSR rows over parts, one per example
of the batch. Part p of an example is its row p // K under output p % K, with K = `n_outputs`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit, row_dot
from maxmargin.core.entries import add_entry, write_entries
from maxmargin.core.planes import HASH_START, hash_step, sparse_dot


@jit
def score_dense_rows(first, stop, rows, w, constant, out, at):
    """Write w·x + constant of the rows first … stop to `out`, from `at` on.

    All rows are summed in the same order, so equal rows have equal scores, which BLAS does not guarantee.
    """
    shift = at - first
    for p in range(first, stop):
        out[shift + p] = row_dot(rows, p, w) + constant


@jit
def score_sparse_rows(first, stop, indptr, indices, data, w, constant, out, at):
    """Write w·x + constant of the sparse rows first … stop to `out`, from `at` on."""
    shift = at - first
    for p in range(first, stop):
        out[shift + p] = sparse_dot(indices, data, indptr[p], indptr[p + 1], w) + constant


@jit
def score_dense(ids, offsets, rows, w, constant, starts, out):
    """Apply `score_dense_rows` to all rows of each example of ids."""
    for r in range(len(ids)):
        score_dense_rows(offsets[ids[r]], offsets[ids[r] + 1], rows, w, constant, out, starts[r])


@jit
def score_sparse(ids, offsets, indptr, indices, data, w, constant, starts, out):
    """Apply `score_sparse_rows` to all rows of each example of ids."""
    for r in range(len(ids)):
        first, stop = offsets[ids[r]], offsets[ids[r] + 1]
        score_sparse_rows(first, stop, indptr, indices, data, w, constant, out, starts[r])


@jit
def score_indicators(ids, offsets, indptr, indices, w, starts, out):
    """Write the sum of the weights of each row's columns to `out`, for all rows of each example of ids."""
    for r in range(len(ids)):
        shift = starts[r] - offsets[ids[r]]
        for p in range(offsets[ids[r]], offsets[ids[r] + 1]):
            score = 0.0
            for k in range(np.uint64(indptr[p]), np.uint64(indptr[p + 1])):  # unsigned as in `sparse_dot`
                score += w[indices[k]]
            out[shift + p] = score


@jit
def forbid(ids, part_offsets, forbidden, starts, scores):
    """Set the scores of forbidden parts to minus infinity."""
    for r in range(len(ids)):
        shift = starts[r] - part_offsets[ids[r]]
        for p in range(part_offsets[ids[r]], part_offsets[ids[r] + 1]):
            if forbidden[p]:
                scores[shift + p] = -np.inf


@jit
def add_costs(ids, part_offsets, costs, scales, starts, scores, out):
    """Compute out = scores + scale · cost of every part."""
    for r in range(len(ids)):
        shift, scale = starts[r] - part_offsets[ids[r]], scales[r]
        for p in range(part_offsets[ids[r]], part_offsets[ids[r] + 1]):
            out[shift + p] = scores[shift + p] + scale * costs[p]


@jit
def add_even_costs(ids, cost, scales, ptr, parts, starts, scores, out):
    """Compute out = scores + scale · cost of every part except those of the truth, listed in (ptr, parts)."""
    for r in range(len(ids)):
        price = scales[r] * cost
        for p in range(starts[r], starts[r + 1]):
            out[p] = scores[p] + price
        for k in range(ptr[ids[r]], ptr[ids[r] + 1]):
            p = starts[r] + np.int64(parts[k])
            out[p] = scores[p]


@jit
def code_keys(ids, offsets, codes, truths, known, keys):
    """Compute the hash of each code; 0 for the code of the truth."""
    for r in range(len(ids)):
        i = ids[r]
        key, same = HASH_START, known
        for p in range(offsets[i], offsets[i + 1]):
            key = hash_step(key, codes[p])
            same = same and codes[p] == truths[p]
        keys[i] = 0 if same else key


@jit
def first_wrong(ids, n_parts, most, ptr, parts):
    """Return the first row of the batch with too many parts or with a part that its example does not have.

    Return −1 if there is none.
    """
    for r in range(len(ids)):
        if ptr[r + 1] - ptr[r] > most[ids[r]]:
            return r
        for k in range(ptr[r], ptr[r + 1]):
            if np.int64(parts[k]) >= n_parts[ids[r]]:
                return r
    return -1


@jit
def judge(
    ids, true_ptr, true_parts, true_counts, ptr, parts, counts, scratch, starts, scores, part_offsets, costs, cost,
    rises, losses,
):  # fmt: skip
    """Add Σ (c(ŷ) − c(y)) s to the rises and Σ (c(ŷ) − c(y)) l to the losses, without terms that cancel.

    l is the entry of `costs`; if there are no costs, l is `cost`, and 0 for the parts of the truth. `scratch` must
    contain zeros, one for each part of the largest example, also on return.
    """
    for r in range(len(ids)):
        first, stop, start, offset = true_ptr[ids[r]], true_ptr[ids[r] + 1], starts[r], part_offsets[ids[r]]
        for k in range(ptr[r], ptr[r + 1]):
            scratch[parts[k]] += counts[k]
        for k in range(first, stop):
            scratch[true_parts[k]] -= true_counts[k]
        rise, loss = 0.0, 0.0
        for k in range(first, stop):
            p = np.int64(true_parts[k])
            if scratch[p] != 0.0:
                rise += scratch[p] * scores[start + p]
                if len(costs) > 0:
                    loss += scratch[p] * costs[offset + p]
                scratch[p] = 0.0
        for k in range(ptr[r], ptr[r + 1]):
            p = np.int64(parts[k])
            if scratch[p] != 0.0:
                rise += scratch[p] * scores[start + p]
                loss += scratch[p] * (costs[offset + p] if len(costs) > 0 else cost)
                scratch[p] = 0.0
        rises[r] += rise
        losses[r] += loss


@jit
def count_changes(ids, true_ptr, true_parts, true_counts, ptr, parts, counts, scratch, out_ptr, out_parts, out_counts):
    """Write the counts of the truth of ids[r] minus those of row r, without entries that cancel.

    `scratch` must contain zeros, one for each part of the largest example, also on return.
    """
    used = 0
    for r in range(len(ids)):
        first, stop = true_ptr[ids[r]], true_ptr[ids[r] + 1]
        for k in range(ptr[r], ptr[r + 1]):
            scratch[parts[k]] -= counts[k]
        for k in range(first, stop):
            scratch[true_parts[k]] += true_counts[k]
        for k in range(first, stop):
            used = move_count(true_parts[k], scratch, out_parts, out_counts, used)
        for k in range(ptr[r], ptr[r + 1]):
            used = move_count(parts[k], scratch, out_parts, out_counts, used)
        out_ptr[r + 1] = used


@inlined
def move_count(part, scratch, out_parts, out_counts, used):
    """Move a count from `scratch` to the outputs; return the number of outputs in use."""
    out_parts[used], out_counts[used], scratch[part] = part, scratch[part], 0.0
    return used + (out_counts[used] != 0.0)


@jit
def most_entries(ids, firsts, ptr, parts, indptr, n_outputs):
    """Return the number of entries in the rows of all parts: the total, and the maximum over examples."""
    total, most = 0, 0
    for r in range(len(ids)):
        before = total
        for k in range(ptr[r], ptr[r + 1]):
            row = firsts[ids[r]] + np.int64(parts[k]) // n_outputs
            total += indptr[row + 1] - indptr[row]
        most = max(most, total - before)
    return total, most


@jit
def sum_sparse(
    ids, firsts, ptr, parts, counts, indptr, indices, data, n_outputs, constant, touched, total, out_ptr, out_index,
    out_value,
):  # fmt: skip
    """Write Σ count · φ over the parts of each example, without zeros; entry f K + k is feature f under output k.

    `total` must contain zeros, one for each weight, also on return; if `constant` ≥ 0, every row has a feature of value
    1 at this index.
    """
    used = 0
    for r in range(len(ids)):
        first, count = firsts[ids[r]], 0
        for k in range(ptr[r], ptr[r + 1]):
            row, output = first + np.int64(parts[k]) // n_outputs, np.int64(parts[k]) % n_outputs
            for p in range(indptr[row], indptr[row + 1]):
                at = np.int64(indices[p]) * n_outputs + output
                count = add_entry(at, counts[k] * data[p], total, touched, count)
            if constant >= 0:
                count = add_entry(constant * n_outputs + output, counts[k], total, touched, count)
        used = write_entries(total, touched, count, 1.0, out_index, out_value, used)
        out_ptr[r + 1] = used


@jit
def sum_dense(
    ids, firsts, ptr, parts, counts, rows, n_outputs, constant, touched, total, out_ptr, out_index, out_value
):
    """Write sparse sums of dense rows, as `sum_sparse`; `touched` is a buffer for the outputs of an example's parts."""
    used, width = 0, rows.shape[1]
    for r in range(len(ids)):
        first, n_touched = firsts[ids[r]], 0
        for k in range(ptr[r], ptr[r + 1]):
            row, output, count = first + np.int64(parts[k]) // n_outputs, np.int64(parts[k]) % n_outputs, counts[k]
            features = rows[row]
            if n_outputs == 1:
                for f in range(width):
                    total[f] += count * features[f]
            else:
                for f in range(width):
                    total[f * n_outputs + output] += count * features[f]
            if constant >= 0:
                total[constant * n_outputs + output] += count
            new = True
            for t in range(n_touched):
                new = new and touched[t] != output
            if new:
                touched[n_touched] = output
                n_touched += 1
        for t in range(n_touched):
            for f in range(width + (constant >= 0)):
                at = f * n_outputs + touched[t]
                value = total[at]
                out_index[used], out_value[used] = at, value
                total[at] = 0.0
                used += value != 0.0
        out_ptr[r + 1] = used


@jit
def add_dense(first, part_first, part_stop, parts, counts, rows, n_outputs, constant, out):
    """Add Σ count · φ over the parts part_first … part_stop to `out`; the example's rows begin at `first`."""
    width = rows.shape[1]
    for k in range(part_first, part_stop):
        row, output = first + np.int64(parts[k]) // n_outputs, np.int64(parts[k]) % n_outputs
        for f in range(width):
            out[f * n_outputs + output] += counts[k] * rows[row, f]
        if constant >= 0:
            out[constant * n_outputs + output] += counts[k]


@jit
def add_sparse(first, part_first, part_stop, parts, counts, indptr, indices, data, n_outputs, constant, out):
    """Add count · sparse row of each part to `out`."""
    for k in range(part_first, part_stop):
        row, output = first + np.int64(parts[k]) // n_outputs, np.int64(parts[k]) % n_outputs
        for p in range(indptr[row], indptr[row + 1]):
            out[np.int64(indices[p]) * n_outputs + output] += counts[k] * data[p]
        if constant >= 0:
            out[constant * n_outputs + output] += counts[k]


@jit
def join(ptr, index, value, other_ptr, other_index, other_value, shift, out_ptr, out_index, out_value):
    """Write row r of the first matrix, followed by row r of the second with its indices shifted."""
    used = 0
    for r in range(len(ptr) - 1):
        for p in range(ptr[r], ptr[r + 1]):
            out_index[used], out_value[used] = index[p], value[p]
            used += 1
        for p in range(other_ptr[r], other_ptr[r + 1]):
            out_index[used], out_value[used] = other_index[p] + shift, other_value[p]
            used += 1
        out_ptr[r + 1] = used
