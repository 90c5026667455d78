"""Argmaxes over sets of labels whose loss depends on counts.

A label that is present or absent adds (u, v) to two counts: true and false positives for the F1 loss, or nothing and
wrong labels for the Hamming loss. All losses and bounds are functions of the score and of the counts, and none falls if
the score rises. So each argmax finds the best set for every pair of counts, a *cell* u · width + v, and then the best
cell.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.bounds.rescaling import violation

#: Losses: none, counted by v; 1 − F1.
NO_LOSS, COUNTED, F1 = 0, 1, 2
#: A form of the violation besides those of bounds: rise + scale · loss.
SCALED = -1


@inlined
def steps(kind, true, present):
    """Return the contribution of a label to the two counts, by whether it is true and whether it is present."""
    if kind == F1:
        return (1, 0) if present and true else ((0, 1) if present else (0, 0))
    if kind == COUNTED:
        return (0, 1) if present != true else (0, 0)
    return (0, 0)


@inlined
def loss_of(kind, n_true, u, v):
    """Return the loss of a pair of counts."""
    if kind == F1:
        return 1.0 - 2.0 * u / (n_true + u + v) if n_true + u + v > 0 else 0.0
    return float(v) if kind == COUNTED else 0.0


@inlined
def best_cell(kind, n_true, most, width, start, scale, form):
    """Return the cell of greatest violation; `start` is the score of the truth. Ties go to the first cell."""
    best, value = -1, -np.inf
    for cell in range(len(most)):
        if most[cell] > -np.inf:
            loss, rise = loss_of(kind, n_true, cell // width, cell % width), most[cell] - start
            worth = rise + scale * loss if form == SCALED else violation(form, rise, loss)
            if best < 0 or worth > value:
                best, value = cell, worth
    return best


@inlined
def cells_of(kind, true):
    """Return the number of cells and their width: one more than the greatest v."""
    n_true = 0
    for label in true:
        n_true += label > 0
    if kind == F1:
        width = len(true) - n_true + 1
        return n_true, (n_true + 1) * width, width
    return n_true, (len(true) + 1 if kind == COUNTED else 1), len(true) + 1


@jit
def fill_pairs(n_labels, pair_scores, table):
    """Compute table[set] = Σ pair_scores over the pairs j < k of each set, given as bits."""
    table[0] = 0.0
    for k in range(n_labels):
        first = 1 << k
        for rest in range(first):
            total = table[rest]
            for j in range(k):
                if rest >> j & 1:
                    total += pair_scores[j * (2 * n_labels - j - 1) // 2 + k - j - 1]
            table[first + rest] = total


@jit
def best_sets(ids, kind, n_labels, scores, starts, pair_scores, pair_starts, truths, scales, form, codes):
    """Enumerate all sets of labels; a set is bits, the lower half of which is read from small tables."""
    low_bits = n_labels // 2
    n_low, n_high = 1 << low_bits, 1 << (n_labels - low_bits)
    table = np.empty(1 << n_labels)
    low, high = np.empty(n_low), np.empty(n_high)
    low_cell, high_cell = np.zeros(n_low, np.int64), np.zeros(n_high, np.int64)
    adds_score, adds_cell = np.empty(n_labels), np.empty(n_labels, np.int64)
    most = np.empty((n_labels + 2) * (n_labels + 2))
    sets = np.empty(len(most), np.int64)
    for r in range(len(ids)):
        if r == 0 or pair_starts[r] != pair_starts[r - 1]:
            fill_pairs(n_labels, pair_scores[pair_starts[r] :], table)
        i = ids[r]
        true = truths[i * n_labels : (i + 1) * n_labels]
        n_true, n_cells, width = cells_of(kind, true)
        most[:n_cells] = -np.inf
        base, start, truth = 0, 0.0, 0
        for k in range(n_labels):
            u0, v0 = steps(kind, true[k] > 0, False)
            u1, v1 = steps(kind, true[k] > 0, True)
            base += u0 * width + v0
            adds_score[k], adds_cell[k] = scores[starts[r] + k], (u1 - u0) * width + v1 - v0
            if true[k] > 0:
                truth |= 1 << k
                start += adds_score[k]
        start += table[truth]
        add_up(adds_score[:low_bits], adds_cell[:low_bits], low, low_cell)
        add_up(adds_score[low_bits:], adds_cell[low_bits:], high, high_cell)
        for h in range(n_high):
            above, cell = high[h], base + high_cell[h]
            some = table[h * n_low : (h + 1) * n_low]
            for q in range(n_low):
                value, c = above + (low[q] + some[q]), cell + low_cell[q]
                if value > most[c]:
                    most[c], sets[c] = value, h * n_low + q
        best = best_cell(kind, n_true, most[:n_cells], width, start, scales[r], form)
        chosen = sets[best] if best >= 0 else 0
        for k in range(n_labels):
            codes[i * n_labels + k] = chosen >> k & 1


@jit
def add_up(adds_score, adds_cell, scores, cells):
    """Compute the sums over all sets of a few labels."""
    scores[0], cells[0] = 0.0, 0
    for k in range(len(adds_score)):
        first = 1 << k
        for rest in range(first):
            scores[first + rest] = scores[rest] + adds_score[k]
            cells[first + rest] = cells[rest] + adds_cell[k]


@jit
def best_in_forest(
    ids, kind, n_labels, scores, starts, pair_scores, pair_starts, order, parent, pair_of, truths, scales, form, codes
):
    """Find the best set if pairs are the edges of a forest: from the leaves up, for every pair of counts.

    `order` lists labels before their parents; the parent of a root is the number of labels, a label that is never
    present. `pair_of` is the number of the pair of a label and its parent, −1 for roots.
    """
    size = n_labels + 1
    room = 0
    for i in ids:
        room = max(room, cells_of(kind, truths[i * n_labels : (i + 1) * n_labels])[1])
    most = np.empty((size, 2, room))  # of the labels below and including one, present or not
    child_cell, child_present = np.empty((size, 2, room), np.int32), np.empty((size, 2, room), np.int8)
    best, merged = np.empty(room), np.empty(room)
    u_most, v_most = np.empty(size, np.int64), np.empty(size, np.int64)  # greatest counts below each label
    cell_of, present_of = np.empty(size, np.int64), np.zeros(size, np.int64)
    for r in range(len(ids)):
        i = ids[r]
        true = truths[i * n_labels : (i + 1) * n_labels]
        n_true, n_cells, width = cells_of(kind, true)
        start = 0.0
        most[:, :, :n_cells] = -np.inf
        for k in range(n_labels):
            score = scores[starts[r] + k]
            u0, v0 = steps(kind, true[k] > 0, False)
            u1, v1 = steps(kind, true[k] > 0, True)
            most[k, 0, u0 * width + v0] = 0.0
            most[k, 1, u1 * width + v1] = score
            u_most[k], v_most[k] = max(u0, u1), max(v0, v1)
            if true[k] > 0:
                start += score
                if pair_of[k] >= 0 and true[parent[k]] > 0:
                    start += pair_scores[pair_starts[r] + pair_of[k]]
        most[n_labels, 0, 0], u_most[n_labels], v_most[n_labels] = 0.0, 0, 0
        for k in order:
            p = parent[k]
            both = pair_scores[pair_starts[r] + pair_of[k]] if pair_of[k] >= 0 else 0.0
            for state in range(2 if p < n_labels else 1):
                for u in range(u_most[k] + 1):
                    for v in range(v_most[k] + 1):
                        c = u * width + v
                        absent, present = most[k, 0, c], most[k, 1, c] + (both if state == 1 else 0.0)
                        best[c] = max(absent, present)
                        child_present[k, state, c] = present > absent
                merge(
                    most[p, state],
                    u_most[p],
                    v_most[p],
                    best,
                    u_most[k],
                    v_most[k],
                    width,
                    merged,
                    child_cell[k, state],
                )
            u_most[p] += u_most[k]
            v_most[p] += v_most[k]
        chosen = best_cell(kind, n_true, most[n_labels, 0, :n_cells], width, start, scales[r], form)
        cell_of[n_labels] = max(chosen, 0)  # −1 only if scores are not numbers
        for q in range(n_labels - 1, -1, -1):
            k = order[q]
            p = parent[k]
            whole = cell_of[p]
            cell_of[k] = child_cell[k, present_of[p], whole]
            cell_of[p] = whole - cell_of[k]
            present_of[k] = child_present[k, present_of[p], cell_of[k]]
            codes[i * n_labels + k] = present_of[k]


@jit
def merge(most, u_most, v_most, best, u_child, v_child, width, merged, child_cell):
    """Replace `most` by the best sums of it and of `best` for every pair of counts; `child_cell` is the cell of `best`.

    The last labels merged are the first to be taken apart again.
    """
    for u in range(u_most + u_child + 1):
        for v in range(v_most + v_child + 1):
            merged[u * width + v], child_cell[u * width + v] = -np.inf, 0
    for a in range(u_child + 1):
        for b in range(v_child + 1):
            c = a * width + b
            if best[c] == -np.inf:
                continue
            for u in range(u_most + 1):
                for v in range(v_most + 1):
                    own = u * width + v
                    value = most[own] + best[c]
                    if value > merged[own + c]:
                        merged[own + c], child_cell[own + c] = value, c
    for u in range(u_most + u_child + 1):
        for v in range(v_most + v_child + 1):
            most[u * width + v] = merged[u * width + v]
