"""Sums over all structures in logarithms, for scores of any size. Arguments are those of `_sums.py`."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import log_add
from maxmargin.structures.folding._jit import AFTER, CLOSED, SEVERAL, SINGLE, most_options, next_nodes, options
from maxmargin.structures.folding._scores import (
    B1,
    BP,
    CL,
    D3,
    D5,
    HM,
    I11,
    IM,
    LONGEST_HAIRPIN,
    SMALL,
    ST,
    SYMBOLS,
    hairpin_score,
    inner_end,
    interior_score,
    outer_end,
    row,
    tables_in,
    view,
)  # fmt: skip

#: Summands below exp(−FAR) of the greatest are left out, and so are nodes that are less probable.
FAR = 50.0


@inlined
def add_log(value, high, total):
    """Return the greatest of the values so far and the sum of all relative to it, with one more value."""
    if value > high:
        total = 1.0 + (total * np.exp(high - value) if high > value - FAR else 0.0)
        high = value
    elif value > high - FAR:
        total += np.exp(value - high)
    return high, total


@jit
def fill_logs(x, pairs, least, most, flat, closed, single, several, joined, after):
    """Fill the tables with the logarithms of sums, rows from the last to the first."""
    n, low = len(x), -np.inf
    letters, hairpin, bulge, size, skew, small, loops = tables_in(flat, most)
    from_single, highs, totals = np.empty(n), np.empty(n), np.empty(n)
    for j in range(n):
        from_single[j] = low
    after[n] = 0.0
    for i in range(n - 1, -1, -1):
        at, below = row(n, i), row(n, i + 1)
        for j in range(i, n):
            closed[at + j] = single[at + j] = several[at + j] = joined[at + j] = highs[j] = low
            totals[j] = 0.0
        after[i], best = after[i + 1] + loops[3], low
        for j in range(i + least + 1, n):
            best += loops[1]
            pair = x[i] * SYMBOLS + x[j]
            if letters[BP + pair] > low and pairs[at + j] > low:
                high, total = add_log(hairpin_score(x, i, j, letters, hairpin), low, 0.0)
                for p in range(i + 1, min(j, i + most + 2)):
                    inner = row(n, p)
                    for q in range(j - 1, max(p + least, j - 2 - (most - (p - i - 1))), -1):
                        if closed[inner + q] > low:
                            score = interior_score(x, i, j, p, q, letters, bulge, size, skew, small)
                            high, total = add_log(closed[inner + q] + score, high, total)
                if j > i + 2 and joined[below + j - 1] > low:
                    score = loops[0] + loops[2] + inner_end(x, i, j, letters)
                    high, total = add_log(joined[below + j - 1] + score, high, total)
                if high > low:
                    score = high + np.log(total) + letters[BP + pair] + pairs[at + j]
                    closed[at + j] = score
                    score += outer_end(x, i, j, letters)
                    best = log_add(best, score + loops[2])
                    after[i] = log_add(after[i], score + loops[4] + after[j + 1])
            single[at + j] = best
        for k in range(i + least + 1, n):
            from_single[k] = log_add(single[at + k], from_single[k] + loops[1])
            joined[at + k] = highs[k] + np.log(totals[k]) if highs[k] > low else low
            several[at + k] = log_add(from_single[k], joined[at + k])
            if several[at + k] == low:
                continue
            branch = row(n, k + 1)
            for j in range(k + 2 + least, n):
                if single[branch + j] > low:
                    highs[j], totals[j] = add_log(several[at + k] + single[branch + j], highs[j], totals[j])


@jit
def expected_terms(x, pairs, least, most, flat, closed, single, several, after, found, probable):
    """Add the expected numbers of terms to `found`, and write pair probabilities, given filled tables.

    Nodes of derivations are visited from the largest to the smallest, each with the probability that a structure has
    it, which its derivations share.
    """
    n = len(x)
    if after[0] == -np.inf:
        return
    letters, hairpin, bulge, size, skew, small, loops = tables_in(flat, most)
    number, least_p = most_options(n, most), np.exp(-FAR)
    values, heads, nodes = np.empty(number), np.empty((number, 2), np.int64), np.empty((2, 3), np.int64)
    of_after, of_single, of_several = np.zeros(n + 1), np.zeros(len(probable)), np.zeros(len(probable))
    of_after[0], nowhere = 1.0, np.int64(0)
    given = x, pairs, least, letters, hairpin, bulge, size, skew, small, loops, closed, single, several, after
    room = values, heads, nodes, least_p, most, found, of_after, of_single, of_several, probable
    for i in range(n):
        divide(AFTER, i, nowhere, of_after[i], given, room)
    for span in range(n - 1, least, -1):
        for i in range(n - span):
            at = row(n, i) + i + span
            divide(SEVERAL, i, i + span, of_several[at], given, room)
            divide(SINGLE, i, i + span, of_single[at], given, room)
            divide(CLOSED, i, i + span, probable[at], given, room)


@inlined
def add_expected(found, flat, probable, own, coefficient, counts):
    """Return E[score] by expected terms and pair probabilities; add the terms to `counts`, and scale both."""
    expected = 0.0
    for t in range(len(flat)):
        if found[t] != 0.0:
            expected += found[t] * flat[t]
            counts[t] += coefficient * found[t]
    for t in range(len(probable)):
        if probable[t] != 0.0:
            expected += probable[t] * own[t]
            probable[t] *= coefficient
    return expected


@jit
def sum_in_logs(
    r, ids, symbols, offsets, pairs, starts, least, most, flat, coefficients, log_partitions, expected_scores, counts,
    pair_sums,
):  # fmt: skip
    """Write and add the sums of one example, as `sum_structures` does for the others."""
    x, own = symbols[offsets[ids[r]] : offsets[ids[r] + 1]], pairs[starts[r] : starts[r + 1]]
    n, probable = len(x), pair_sums[starts[r] : starts[r + 1]]
    packed = n * (n + 1) // 2
    closed, single, several, joined = np.empty(packed), np.empty(packed), np.empty(packed), np.empty(packed)
    after, expected = np.empty(n + 1), np.zeros(len(flat))
    for t in range(len(probable)):
        probable[t] = 0.0
    fill_logs(x, own, least, most, flat, closed, single, several, joined, after)
    expected_terms(x, own, least, most, flat, closed, single, several, after, expected, probable)
    log_partitions[r] = after[0]
    expected_scores[r] = add_expected(expected, flat, probable, own, coefficients[r], counts)


@jit
def divide(kind, i, j, p, given, room):
    """Divide the probability p of a node among its derivations: add it to their terms and to the nodes they lead to."""
    values, heads, nodes, least_p, most, expected, of_after, of_single, of_several, probable = room
    if p < least_p:
        return
    x = given[0]
    number, high, total = options(kind, i, j, *given, values, heads), -np.inf, 0.0
    for t in range(number):
        high = max(high, values[t])
    for t in range(number):
        values[t] = np.exp(values[t] - high) if values[t] > high - FAR else 0.0
        total += values[t]
    for t in range(number):
        share = p * values[t] / total
        if share == 0.0:
            continue
        count_terms(kind, i, j, heads[t, 0], heads[t, 1], x, share, most, expected)
        for k in range(next_nodes(kind, i, j, heads[t, 0], heads[t, 1], nodes)):
            if nodes[k, 0] == AFTER:
                of_after[nodes[k, 1]] += share
                continue
            at = row(len(x), nodes[k, 1]) + nodes[k, 2]
            if nodes[k, 0] == CLOSED:
                probable[at] += share
            elif nodes[k, 0] == SINGLE:
                of_single[at] += share
            else:
                of_several[at] += share


@inlined
def count_branch(x, i, j, share, letters):
    """Add the terms of the pair (i, j) as a branch."""
    pair = x[j] * SYMBOLS + x[i]
    letters[CL + pair] += share
    if j + 1 < len(x):
        letters[D3 + pair * SYMBOLS + x[j + 1]] += share
    if i > 0:
        letters[D5 + pair * SYMBOLS + x[i - 1]] += share


@jit
def count_terms(kind, i, j, a, b, x, share, most, found):
    """Add the terms of one derivation of a node, with the head (a, b), `share` times."""
    letters, hairpin, bulge, size, skew, small, loops = tables_in(found, most)
    if kind == AFTER:
        if a < 0:
            loops[3] += share
        else:
            loops[4] += share
            count_branch(x, i, a, share, letters)
        return
    if kind == SINGLE:
        loops[2] += share
        loops[1] += share * (j - a)
        count_branch(x, i, a, share, letters)
        return
    if kind == SEVERAL:
        if b == 0:
            loops[1] += share * (a - i)
        return
    pair = x[i] * SYMBOLS + x[j]
    letters[BP + pair] += share
    if a >= 0 and b >= 0 and a == i + 1 and b == j - 1:
        letters[ST + view(x, i, j, a, b)] += share
        return
    letters[CL + pair] += share
    if a < 0:
        hairpin[min(j - i - 1, LONGEST_HAIRPIN)] += share
        if j > i + 1:
            letters[HM + view(x, i, j, i + 1, j - 1)] += share
        return
    if b < 0:
        loops[0] += share
        loops[2] += share
        letters[D3 + pair * SYMBOLS + x[i + 1]] += share
        letters[D5 + pair * SYMBOLS + x[j - 1]] += share
        return
    left, right = a - i - 1, j - b - 1
    letters[CL + x[b] * SYMBOLS + x[a]] += share
    if left == 0 or right == 0:
        bulge[left + right] += share
        if left + right == 1:
            letters[B1 + (x[i + 1] if left == 1 else x[j - 1])] += share
        return
    if left <= SMALL and right <= SMALL:
        small[left, right] += share
    else:
        size[left + right] += share
        skew[abs(left - right)] += share
    if left == 1 and right == 1:
        letters[I11 + x[i + 1] * SYMBOLS + x[j - 1]] += share
    letters[IM + view(x, i, j, i + 1, j - 1)] += share
    letters[IM + view(x, b, a, b + 1, a - 1)] += share
