"""Compiled functions over batches of alignments: argmaxes, parts and losses.

A code is two orders and the partner of each row (`features.biology.aligned`). Parts are cells i m + j; positions
opposite a gap, p K + k for position p of n rows and then m columns, with k = 0 for the first position of a gap and K −
1 for the others; and unaligned positions p at free ends.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import HASH_START, hash_step
from maxmargin.features.biology.aligned import N_ORDERS, SECOND_FIRST
from maxmargin.structures.alignment._cell_scores import score_table
from maxmargin.structures.alignment.recursion import GLOBAL, LOCAL, best_alignment

#: Losses: see `structure.Alignment`.
RECALL, SHIFT, PRECISION, COLUMNS = 0, 1, 2, 3


@jit
def align_one(table, gaps, ends, mode, words, buffers, code):
    """Write the best alignment for scores of cells (n × m), of gaps (n + m, K) and of free ends (n + m, if any)."""
    n = table.shape[0]
    opening, extending = gaps[:, 0].copy(), gaps[:, gaps.shape[1] - 1].copy()
    row_end, col_end = ends[:n], ends[min(n, len(ends)) :]
    best_alignment(
        table, opening[:n], extending[:n], opening[n:], extending[n:], row_end, col_end, mode, words, buffers, code
    )


@jit
def best_alignments(
    ids, n_rows, n_cols, cells, cell_starts, gaps, gap_starts, ends, end_starts, n_outputs, mode, code_offsets, words,
    buffers, codes,
):  # fmt: skip
    """Write the code of the best alignment for each example of ids; without free ends, `ends` is empty."""
    for r in range(len(ids)):
        n, m = n_rows[ids[r]], n_cols[ids[r]]
        align_one(
            cells[cell_starts[r] : cell_starts[r] + n * m].reshape(n, m),
            gaps[gap_starts[r] : gap_starts[r] + (n + m) * n_outputs].reshape(n + m, n_outputs),
            ends[0:0] if mode == GLOBAL else ends[end_starts[r] : end_starts[r] + n + m],
            mode, words, buffers, codes[code_offsets[ids[r]] : code_offsets[ids[r] + 1]],
        )  # fmt: skip


@jit
def decode_pairs(
    ids, row_starts, n_rows, col_starts, n_cols, keys, groups, group_fields, group_stops, finer, col_fields, offsets,
    widths, numbers, products, w, slots, group_ids, group_lists, members, group_rows, gaps, gap_starts, n_outputs, mode,
    loss, tolerance, scales, truths, cores, known, code_offsets, table, words, buffers, parts, saved, codes, losses,
    rises, hashes,
):  # fmt: skip
    """Score, align and judge each example of ids, one table after the other in the same memory.

    `cores` are the truths without the matches that the loss does not count.
    """
    for r in range(len(ids)):
        e = ids[r]
        n, m = n_rows[e], n_cols[e]
        cells = table[: n * m]
        gap = gaps[gap_starts[r] : gap_starts[r] + (n + m) * n_outputs]
        end = np.zeros(0 if mode == GLOBAL else n + m)
        score_table(
            row_starts[e], n, col_starts[e], m, keys, groups, group_fields, group_stops, finer, col_fields, offsets,
            widths, numbers, products, w, slots, group_ids, group_lists, members, group_rows, cells.reshape(n, m),
        )  # fmt: skip
        code = codes[code_offsets[e] : code_offsets[e + 1]]
        truth = truths[code_offsets[e] : code_offsets[e + 1]]
        core = cores[code_offsets[e] : code_offsets[e + 1]]
        if known and scales[r] != 0.0:
            costly, costly_end = gap.copy(), end.copy()
            move_band(core, m, tolerance, cells, saved, True)
            add_costs_of(core, m, scales[r], loss, tolerance, n_outputs, cells, costly, costly_end)
            align_one(cells.reshape(n, m), costly.reshape(n + m, n_outputs), costly_end, mode, words, buffers, code)
            move_band(core, m, tolerance, cells, saved, False)
        else:
            align_one(cells.reshape(n, m), gap.reshape(n + m, n_outputs), end, mode, words, buffers, code)
        rises[e] = total_score(code, m, n_outputs, mode, cells, gap, parts)
        key, same = HASH_START, known
        for p in range(len(code)):
            key = hash_step(key, code[p])
            same = same and code[p] == truth[p]
        hashes[e], losses[e] = 0 if same else key, 0.0
        if known:
            rises[e] -= total_score(truth, m, n_outputs, mode, cells, gap, parts)
            losses[e] = loss_of(code, core, m, loss, tolerance)


@jit
def move_band(truth, m, tolerance, cells, saved, away):
    """Copy the scores near true matches to `saved`, or back."""
    used = 0
    for i in range(len(truth) - N_ORDERS):
        partner = truth[N_ORDERS + i]
        if partner < 0:
            continue
        for at in range(i * m + max(partner - tolerance, 0), i * m + min(partner + tolerance + 1, m)):
            if away:
                saved[used] = cells[at]
            else:
                cells[at] = saved[used]
            used += 1


@jit
def total_score(code, m, n_outputs, mode, cells, gaps, parts):
    """Return the total score of the parts of an alignment; free ends score 0."""
    n_cells, n_gaps, _ = parts_of_code(code, m, n_outputs, mode, parts[0], parts[1], parts[2])
    total = 0.0
    for k in range(n_cells):
        total += cells[parts[0, k]]
    for k in range(n_gaps):
        total += gaps[parts[1, k]]
    return total


@inlined
def add_gap(parts, used, first, stop, n_outputs):
    """Add the positions first … stop, opposite a gap; return the number of parts."""
    for p in range(first, stop):
        parts[used] = p * n_outputs + (0 if p == first else n_outputs - 1)
        used += 1
    return used


@inlined
def add_end(parts, used, first, stop):
    """Add the positions first … stop, unaligned at a free end; return the number of parts."""
    for p in range(first, stop):
        parts[used] = p
        used += 1
    return used


@jit
def parts_of_code(code, m, n_outputs, mode, cells, gaps, ends):
    """Write the parts of an alignment: cells, positions opposite gaps, unaligned ends; return their numbers."""
    n_cells, n_gaps, n_ends = 0, 0, 0
    partners = code[N_ORDERS:]
    n = len(partners)
    i, j, first = 0, 0, True
    for k in range(n + 1):
        if k < n and partners[k] < 0:
            continue
        last = k == n
        stop, until = (n, m) if last else (k, partners[k])
        rows_free = cols_free = False
        if mode != GLOBAL and (first or last):
            # all of a local end is free; of a semi-global end with both sequences, the outer one
            both = stop > i and until > j and mode != LOCAL and not (first and last)
            order = code[1] if last else code[0]
            rows_free = not both or (order == SECOND_FIRST) == last
            cols_free = not both or not rows_free
        if rows_free:
            n_ends = add_end(ends, n_ends, i, stop)
        else:
            n_gaps = add_gap(gaps, n_gaps, i, stop, n_outputs)
        if cols_free:
            n_ends = add_end(ends, n_ends, n + j, n + until)
        else:
            n_gaps = add_gap(gaps, n_gaps, n + j, n + until, n_outputs)
        if not last:
            cells[n_cells] = k * m + until
            n_cells += 1
            i, j, first = k + 1, until + 1, False
    return n_cells, n_gaps, n_ends


@jit
def parts_of_codes(ids, code_offsets, n_cols, n_outputs, mode, codes, cell_ptr, cells, gap_ptr, gaps, end_ptr, ends):
    """Write the parts of each alignment of ids."""
    for r in range(len(ids)):
        code = codes[code_offsets[ids[r]] : code_offsets[ids[r] + 1]]
        n_cells, n_gaps, n_ends = parts_of_code(
            code, n_cols[ids[r]], n_outputs, mode, cells[cell_ptr[r] :], gaps[gap_ptr[r] :], ends[end_ptr[r] :]
        )
        cell_ptr[r + 1] = cell_ptr[r] + n_cells
        gap_ptr[r + 1] = gap_ptr[r] + n_gaps
        end_ptr[r + 1] = end_ptr[r] + n_ends


@jit
def add_costs_of(truth, m, scale, loss, tolerance, n_outputs, cells, gaps, ends):
    """Add scale · l to the scores of parts: rewards, at most 0, for what agrees with the truth.

    Every position has exactly one part, so a cost of every match is a reward of every position without one.
    """
    n = len(truth) - N_ORDERS
    taken, n_matches = np.zeros(m, np.bool_), 0
    for i in range(n):
        if truth[N_ORDERS + i] >= 0:
            taken[truth[N_ORDERS + i]] = True
            n_matches += 1
    share = 2.0 * scale / max(n + m, 1) if loss == COLUMNS else scale / max(n_matches, 1)
    reach = tolerance if loss == SHIFT else 0
    for i in range(n):
        partner = truth[N_ORDERS + i]
        if partner >= 0:
            for j in range(max(partner - reach, 0), min(partner + reach + 1, m)):
                cells[i * m + j] -= share
        if loss == PRECISION:
            reward_unmatched(i, share, n_outputs, gaps, ends)
        elif loss == COLUMNS and partner < 0:
            reward_unmatched(i, 0.5 * share, n_outputs, gaps, ends)
    if loss == COLUMNS:
        for j in range(m):
            if not taken[j]:
                reward_unmatched(n + j, 0.5 * share, n_outputs, gaps, ends)


@inlined
def reward_unmatched(p, reward, n_outputs, gaps, ends):
    """Subtract a reward from all parts of a position without a match."""
    for k in range(n_outputs):
        gaps[p * n_outputs + k] -= reward
    if len(ends) > 0:
        ends[p] -= reward


@jit
def add_costs(
    ids, scales, truths, code_offsets, n_cols, loss, tolerance, n_outputs, cells, cell_starts, gaps, gap_starts, ends,
    end_starts,
):  # fmt: skip
    """Apply `add_costs_of` to each example of ids."""
    for r in range(len(ids)):
        truth = truths[code_offsets[ids[r]] : code_offsets[ids[r] + 1]]
        end = ends if len(ends) == 0 else ends[end_starts[r] :]
        add_costs_of(
            truth, n_cols[ids[r]], scales[r], loss, tolerance, n_outputs, cells[cell_starts[r] :],
            gaps[gap_starts[r] :], end,
        )  # fmt: skip


@jit
def loss_of(code, truth, m, loss, tolerance):
    """Return the loss of an alignment."""
    n = len(truth) - N_ORDERS
    true_matches, near, same, wrong = 0, 0, 0, 0
    for i in range(N_ORDERS, N_ORDERS + n):
        true_matches += truth[i] >= 0
        near += truth[i] >= 0 and code[i] >= 0 and abs(code[i] - truth[i]) <= tolerance
        same += truth[i] >= 0 and code[i] == truth[i]
        wrong += code[i] >= 0 and code[i] != truth[i]
    if loss == COLUMNS:
        return wrong_partners(code, truth, m, true_matches - same) / max(n + m, 1)
    if loss == PRECISION:
        return wrong / max(true_matches, 1)
    return (true_matches - (near if loss == SHIFT else same)) / max(true_matches, 1)


@jit
def wrong_partners(code, truth, m, missed):
    """Return the number of positions of both sequences with another partner, or none, than in the truth."""
    taken = np.zeros(m, np.bool_)
    for partner in truth[N_ORDERS:]:
        if partner >= 0:
            taken[partner] = True
    wrong = missed  # columns whose true match is missing
    for i in range(N_ORDERS, len(truth)):
        wrong += code[i] != truth[i]
        wrong += code[i] >= 0 and not taken[code[i]]
    return wrong


@jit
def losses_of_codes(ids, codes, truths, code_offsets, n_cols, loss, tolerance, losses):
    """Write the loss of each example of ids."""
    for r in range(len(ids)):
        first, stop = code_offsets[ids[r]], code_offsets[ids[r] + 1]
        losses[r] = loss_of(codes[first:stop], truths[first:stop], n_cols[ids[r]], loss, tolerance)
