"""Compiled functions for matchings of general graphs: a perfect matching of a dense table, for each example of a batch.

A matching that need not be perfect is one of a table of all pairs, whose entries are the better of joining two nodes
and leaving both alone, with one more node if their number is odd: the nodes left alone are even in number then.
"""

from __future__ import annotations

from math import frexp, ldexp

import numpy as np

from maxmargin._base.jit import copy_into, inlined, jit
from maxmargin.algorithms.blossom import NO_EDGE, best_perfect_matching
from maxmargin.core.planes import NO_OUTPUT

#: Number of nodes up to which all subsets are enumerated.
FEW = 6


@jit
def best_of_subsets(table, mate):
    """Write the perfect matching of the greatest sum by recursion over subsets, O(2ⁿ n); return False if there is none.

    The best matching of a subset joins its last node with one of the others, and is the best of the rest.
    """
    n = len(table)
    best, partner = np.full(1 << n, -np.inf), np.zeros(1 << n, np.int8)
    best[0] = 0.0
    for last in range(1, n):
        for rest in range(1 << last):
            subset = rest | (1 << last)
            for other in range(last):
                if rest & (1 << other):
                    total = table[last, other] + best[rest & ~(1 << other)]
                    if total > best[subset]:
                        best[subset], partner[subset] = total, other
    subset = (1 << n) - 1
    if best[subset] == -np.inf:
        return False
    for last in range(n - 1, -1, -1):
        if subset & (1 << last):
            other = partner[subset]
            mate[last], mate[other] = other, last
            subset = subset & ~(1 << last) & ~(1 << other)
    return True


@inlined
def best_by_blossoms(table, mate):
    """Write the perfect matching of the greatest sum; return False if there is none.

    Scores are rounded to integers of at most 2⁵⁷ / n, so their errors are at most n 2⁻⁵⁷ times the largest score,
    about as those of a sum of float64. Scores that are multiples of a common power of two are exact.
    """
    n, largest = len(table), 0.0
    for a in range(n):
        for b in range(n):
            if table[a, b] != -np.inf:
                largest = max(largest, abs(table[a, b]))
    shift = 57 - frexp(float(n))[1] - frexp(largest)[1]
    weights = np.empty((n, n), np.int64)
    for a in range(n):
        for b in range(n):
            score = table[a, b]
            weights[a, b] = 4 * np.int64(np.rint(ldexp(score, shift))) if score != -np.inf else NO_EDGE
    return best_perfect_matching(weights, mate)


@jit
def best_matchings(ids, scores, starts, none, none_starts, ends, edge_offsets, offsets, perfect, codes):
    """Find the best matching of each example of ids: the partner of each node, −1 for none.

    `none` has the scores of nodes that are left alone, −∞ if a node must not be; it is not read if matchings must be
    perfect.
    """
    for r in range(len(ids)):
        code, first = codes[offsets[ids[r]] : offsets[ids[r] + 1]], edge_offsets[ids[r]]
        n = len(code)
        if n == 0:
            continue
        size = n if perfect else n + n % 2
        if size % 2 == 1:
            code[0] = NO_OUTPUT
            continue
        table, mate = np.full((size, size), -np.inf), np.empty(size, np.int64)
        joined = np.zeros((size, size), np.bool_)
        alone = np.zeros(size)
        if not perfect:
            copy_into(alone, none[none_starts[r] : none_starts[r + 1]])
            for a in range(size):
                for b in range(size):
                    if a != b and alone[a] != -np.inf and alone[b] != -np.inf:
                        table[a, b] = 0.0
            for a in range(n):
                alone[a] = 0.0 if alone[a] == -np.inf else alone[a]
        for e in range(starts[r + 1] - starts[r]):
            a, b = ends[first + e, 0], ends[first + e, 1]
            gain = scores[starts[r] + e] - alone[a] - alone[b]
            if gain > table[a, b]:
                table[a, b], table[b, a], joined[a, b], joined[b, a] = gain, gain, True, True
        if not (best_of_subsets(table, mate) if size <= FEW else best_by_blossoms(table, mate)):
            code[0] = NO_OUTPUT
            continue
        for a in range(n):
            code[a] = mate[a] if joined[a, mate[a]] else -1


@jit
def edges_of_codes(ids, ends, edge_offsets, offsets, codes, edge_ptr, edges, alone_ptr, alone):
    """Write the edges of the matching for each example of ids, and its nodes without a partner."""
    n_edges, n_alone = 0, 0
    for r in range(len(ids)):
        start, first = offsets[ids[r]], edge_offsets[ids[r]]
        for e in range(first, edge_offsets[ids[r] + 1]):
            if codes[start + ends[e, 0]] == ends[e, 1]:
                edges[n_edges] = e - first
                n_edges += 1
        for p in range(start, offsets[ids[r] + 1]):
            if codes[p] < 0:
                alone[n_alone] = p - start
                n_alone += 1
        edge_ptr[r + 1], alone_ptr[r + 1] = n_edges, n_alone
