"""Sums over subsets of items whose weights are integers, by tables over weights.

The table of the first j items has in column c the sum of exp(score) over their subsets of weight at most c (or, if all
weights are 1, of exactly c items),

    F_j[c] = F_{j−1}[c] + exp(s_j) F_{j−1}[c − w_j],

and the probability that item j is chosen, if room c is left for the first j items, is the share of the second term. On
the way back, B_j[c] is the sum over subsets of the later items that leave room c, and P(j) = Σ_c B_j[c] exp(s_j)
F_{j−1}[c − w_j] / Z. Large tables are held for every √n-th item only, and those between are computed again. Entries are
logarithms if their exponentials might overflow, which takes longer.

Common arguments: the items of example r have scores from starts[r] on and weights from begins[r] on; their subsets
weigh at most capacities[r], or if `exact` is True they have exactly capacities[r] items.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import log_add, uniform

#: Greatest logarithm of an entry of a table, for entries that are not logarithms.
MOST_RANGE = 600.0
#: Entries of all tables up to which none is computed twice.
FEW_ENTRIES = 1 << 17


@inlined
def plan(scores, weights, capacity, exact):
    """Return the room that items can use, what is subtracted from scores, whether to use logarithms, and the step.

    Subsets of exactly k items do not change if a number is subtracted from all scores: then the k-th greatest score is
    0, and no entry that contributes to the total vanishes.
    """
    n, room, shift, total, top = len(scores), capacity, 0.0, 0.0, 0.0
    if not exact:
        room = 0
        for j in range(n):
            if scores[j] > -np.inf and room < capacity:
                room = min(room + weights[j], capacity)
    elif 0 < capacity <= n:
        shift = np.sort(scores)[n - capacity]
        if shift == -np.inf:
            shift = 0.0
    for j in range(n):
        score = scores[j] - shift
        total += max(score, 0.0) + np.log1p(np.exp(-abs(score)))
        top = max(top, score)
    if exact:
        total = min(total, capacity * (top + np.log(n + 1.0)))
    step = n if n * (room + 1) <= FEW_ENTRIES else int(np.sqrt(n))
    return room, shift, total > MOST_RANGE, max(step, 1)


@inlined
def next_row(before, after, weight, score, logs):
    """Write the table with one more item."""
    for c in range(min(weight, len(before))):
        after[c] = before[c]
    if logs:
        for c in range(weight, len(before)):
            after[c] = log_add(before[c], score + before[c - weight])
    else:
        factor = np.exp(score)
        for c in range(weight, len(before)):
            after[c] = before[c] + factor * before[c - weight]


@inlined
def fill_held(scores, weights, shift, exact, logs, step, held):
    """Write the tables of the first 0, step, 2 step … items, fewer than all."""
    size, n = held.shape[1], len(scores)
    for c in range(size):
        held[0, c] = (0.0 if logs else 1.0) if c == 0 or not exact else (-np.inf if logs else 0.0)
    row, other = held[0].copy(), np.empty(size)
    for j in range(((n - 1) // step) * step):
        next_row(row, other, weights[j], scores[j] - shift, logs)
        row, other = other, row
        if (j + 1) % step == 0:
            held[(j + 1) // step] = row


@inlined
def fill_rows(scores, weights, start, stop, shift, logs, step, held, rows):
    """Write the tables of the first start, start + 1 … stop items, of which that of `start` is held."""
    rows[0] = held[start // step]
    for j in range(start, stop):
        next_row(rows[j - start], rows[j - start + 1], weights[j], scores[j] - shift, logs)


@inlined
def share(before, after, c, weight, score, logs):
    """Return the probability that an item is chosen if the room is c; `score` is exp(score) without logarithms."""
    if c < weight:
        return 0.0
    if logs:
        return min(np.exp(score + before[c - weight] - after[c]), 1.0) if after[c] > -np.inf else 0.0
    return min(score * before[c - weight] / after[c], 1.0) if after[c] > 0.0 else 0.0


@inlined
def sums_before(before, weight, factor, after, other):
    """Write B_{j−1} to `other`, given B_j in `after`; return Z · P(j)."""
    size, total = len(before), 0.0
    for c in range(weight, size):
        total += after[c] * before[c - weight]
    for c in range(size - weight):
        other[c] = after[c] + factor * after[c + weight]
    for c in range(max(size - weight, 0), size):
        other[c] = after[c]
    return factor * total


@inlined
def chances_before(before, row, weight, score, after, other):
    """Write the probabilities of the room left for the first j − 1 items to `other`, given those for j; return P(j)."""
    total = 0.0
    for c in range(len(before)):
        other[c] = 0.0
    for c in range(len(before)):
        if after[c] > 0.0:
            p = after[c] * share(before, row, c, weight, score, True)
            other[c] += after[c] - p
            if p > 0.0:
                other[c - weight] += p
                total += p
    return total


@jit
def subset_sums(
    starts, scores, begins, weights, capacities, exact, coefficients, log_partitions, expected_scores, marginals
):
    """Write log Z and E[score] of each example; add coefficient · P(item is chosen) to the marginals."""
    for r in range(len(starts) - 1):
        n = starts[r + 1] - starts[r]
        own, loads = scores[starts[r] : starts[r + 1]], weights[begins[r] : begins[r] + n]
        room, shift, logs, step = plan(own, loads, capacities[r], exact)
        log_partitions[r], expected_scores[r] = 0.0, 0.0
        if n == 0:
            continue
        held, rows = np.empty(((n - 1) // step + 1, room + 1)), np.empty((step + 1, room + 1))
        fill_held(own, loads, shift, exact, logs, step, held)
        after, other, expected = np.zeros(room + 1), np.empty(room + 1), 0.0
        after[room], stop, log_z = 1.0, n, 0.0
        while stop > 0:
            start = ((stop - 1) // step) * step
            fill_rows(own, loads, start, stop, shift, logs, step, held, rows)
            if stop == n:
                last = rows[stop - start, room]
                log_z = last if logs else (np.log(last) if last > 0.0 else -np.inf)
                log_partitions[r] = log_z + room * shift if exact else log_z
                if log_z == -np.inf:
                    break
            for j in range(stop - 1, start - 1, -1):
                before, score = rows[j - start], own[j] - shift
                if logs:
                    p = chances_before(before, rows[j - start + 1], loads[j], score, after, other)
                else:
                    p = sums_before(before, loads[j], np.exp(score), after, other) * np.exp(-log_z)
                after, other = other, after
                if p > 0.0:
                    marginals[starts[r] + j] += coefficients[r] * p
                    expected += p * own[j]
            stop = start
        expected_scores[r] = expected


@jit
def subset_samples(starts, scores, begins, weights, capacities, exact, seeds, chosen):
    """Write whether each item is chosen, by subsets drawn from the distribution of each example, a row for each."""
    n_samples, state = chosen.shape[0], np.zeros(1, np.uint64)
    left = np.empty(n_samples, np.int64)
    for r in range(len(starts) - 1):
        n = starts[r + 1] - starts[r]
        own, loads = scores[starts[r] : starts[r + 1]], weights[begins[r] : begins[r] + n]
        room, shift, logs, step = plan(own, loads, capacities[r], exact)
        if n == 0:
            continue
        held, rows = np.empty(((n - 1) // step + 1, room + 1)), np.empty((step + 1, room + 1))
        fill_held(own, loads, shift, exact, logs, step, held)
        for m in range(n_samples):
            left[m] = room
        state[0], stop = seeds[r], n
        while stop > 0:
            start = ((stop - 1) // step) * step
            fill_rows(own, loads, start, stop, shift, logs, step, held, rows)
            for j in range(stop - 1, start - 1, -1):
                score = own[j] - shift
                given = score if logs else np.exp(score)
                for m in range(n_samples):
                    p = share(rows[j - start], rows[j - start + 1], left[m], loads[j], given, logs)
                    taken = uniform(state) < p
                    chosen[m, starts[r] + j] = taken
                    if taken:
                        left[m] -= loads[j]
            stop = start
