"""Compiled functions that fold: the pseudoknot-free structure of greatest score, in O(n³) steps and 20 n² bytes.

Bases are symbols 0 … 4 (A, C, G, U, unknown). Common arguments:

    x                    the symbols
    pairs                what each pair (i, j) adds to the score, packed
    least                the least number of bases in a hairpin
    letters              scores of terms that depend on bases, in the tables that begin at BP, ST, …
    hairpin, bulge, size, skew    scores by the length of a hairpin, of a bulge, of an interior loop, by the difference
                         of the lengths of its sides
    small                scores of interior loops whose sides have up to 4 bases, length and difference included
    loops                scores of a multi-loop, of an unpaired base in it, of a branch of it, of an unpaired base and
                         of a branch outside of all pairs

Tables over i ≤ j are packed: (i, j) is at ``i n − i (i + 1) / 2 + j``.

    closed[i, j]    i and j are paired
    single[i, j]    bases of a multi-loop: one branch, which begins at i
    several[i, j]   bases of a multi-loop: one branch or more
    after[i]        all bases from i on

Each structure has exactly one derivation from these, so derivations can be ranked (`ranking.py`).
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.structures.folding._loops import bulges, interior_loops, join_branches
from maxmargin.structures.folding._scores import (
    B1,
    BP,
    CL,
    I11,
    IM,
    ST,
    SYMBOLS,
    hairpin_score,
    inner_end,
    interior_score,
    outer_end,
    row,
    view,
)  # fmt: skip

#: Kinds of nodes of a derivation: bases from i on, a pair, branches of a multi-loop, one branch. Numbers of Python
#: would be types of their own, so a function would be compiled for each of them.
AFTER, CLOSED, SEVERAL, SINGLE = np.arange(4)


@jit
def fill(
    x, pairs, least, letters, hairpin, bulge, size, skew, small, loops, closed, single, several, after
):  # fmt: skip
    """Fill the tables with the greatest score of each node, rows from the last to the first."""
    n, low = len(x), -np.inf
    most = min(len(bulge) - 1, n)
    pads, ring = most + 8, most + 8
    inside, edge = np.full((ring, n + pads), low), np.full((ring, n + pads), low)
    sizes, none = np.empty((2, most + 1, n + 1)), np.full(n + 1, low)
    interior, bulged = np.empty(n), np.empty(n)
    pairs_up, from_single = np.full((2, n), low), np.full(n, low)
    multi, unpaired, branch = loops[0], loops[1], loops[2]
    after[n] = 0.0
    for i in range(n - 1, -1, -1):
        at, below, now, before = row(n, i), row(n, i + 1), i % 2, (i + 1) % 2
        closed[at + i : at + n], single[at + i : at + n], several[at + i : at + n] = low, low, low
        inside[i % ring, :], edge[i % ring, :], pairs_up[now, :] = low, low, low
        interior[:], bulged[:] = low, low
        after[i] = after[i + 1] + loops[3]
        if i + least + 1 >= n:
            continue
        interior_loops(i, n, least, pads, inside, sizes[now], sizes[before], none, size, skew, small, interior)
        bulges(i, n, least, pads, edge, bulge, bulged)
        best = low
        for j in range(i + least + 1, n):
            best += unpaired
            pair = x[i] * SYMBOLS + x[j]
            if letters[BP + pair] > low:
                end = letters[CL + pair]
                score = hairpin_score(x, i, j, letters, hairpin)
                if j >= i + 2:
                    seen = view(x, i, j, i + 1, j - 1)
                    mismatch = end + letters[IM + seen]
                    score = max(score, closed[below + j - 1] + letters[ST + seen])
                    score = max(score, bulged[j] + end, interior[j] + mismatch)
                    score = max(
                        score,
                        edge[(i + 2) % ring, pads + j - 1] + bulge[1] + letters[B1 + x[i + 1]] + end,
                        edge[(i + 1) % ring, pads + j - 2] + bulge[1] + letters[B1 + x[j - 1]] + end,
                    )
                    both = letters[I11 + x[i + 1] * SYMBOLS + x[j - 1]]
                    score = max(score, inside[(i + 2) % ring, pads + j - 2] + small[1, 1] + both + mismatch)
                    score = max(score, pairs_up[before, j - 1] + multi + branch + inner_end(x, i, j, letters))
                score += letters[BP + pair] + pairs[at + j]
                closed[at + j] = score
                end = letters[CL + x[j] * SYMBOLS + x[i]]
                edge[i % ring, pads + j] = score + end
                if i > 0 and j + 1 < n:
                    inside[i % ring, pads + j] = score + end + letters[IM + view(x, j, i, j + 1, i - 1)]
                score += outer_end(x, i, j, letters)
                best = max(best, score + branch)
                after[i] = max(after[i], score + loops[4] + after[j + 1])
            single[at + j] = best
        for j in range(i + least + 1, n):
            from_single[j] = max(single[at + j], from_single[j] + unpaired)
        join_branches(i, n, least, from_single, pairs_up[now], single, several)


@jit
def options(
    kind, i, j, x, pairs, least, letters, hairpin, bulge, size, skew, small, loops, closed, single,
    several, after, values, heads,
):  # fmt: skip
    """Write the derivations of a node: the score of the best of each, and which it is (see `next_nodes`).

    Returns their number; those with a score of −∞ are left out.
    """
    n, most, n_options, low = len(x), len(bulge) - 1, 0, -np.inf
    if kind == AFTER:
        values[0], heads[0, 0], heads[0, 1] = after[i + 1] + loops[3], -1, -1
        n_options, at = 1, row(n, i)
        for q in range(i + least + 1, n):
            if closed[at + q] > low:
                values[n_options] = closed[at + q] + outer_end(x, i, q, letters) + loops[4] + after[q + 1]
                heads[n_options, 0], heads[n_options, 1] = q, -1
                n_options += 1
        return n_options
    if kind == CLOSED:
        paired = letters[BP + x[i] * SYMBOLS + x[j]] + pairs[row(n, i) + j]
        values[0], heads[0, 0], heads[0, 1] = paired + hairpin_score(x, i, j, letters, hairpin), -1, -1
        n_options = 1
        for p in range(i + 1, min(j, i + most + 2)):
            at = row(n, p)
            for q in range(j - 1, max(p + least, j - 2 - (most - (p - i - 1))), -1):
                if closed[at + q] > low:
                    score = interior_score(x, i, j, p, q, letters, bulge, size, skew, small)
                    values[n_options], heads[n_options, 0], heads[n_options, 1] = paired + closed[at + q] + score, p, q
                    n_options += 1
        if j > i + 2:
            paired += loops[0] + loops[2] + inner_end(x, i, j, letters)
            at = row(n, i + 1)
            for k in range(i + 2 + least, j - 2 - least):
                v = paired + several[at + k] + single[row(n, k + 1) + j - 1]
                if v > low:
                    values[n_options], heads[n_options, 0], heads[n_options, 1] = v, k, -1
                    n_options += 1
        return n_options
    if kind == SEVERAL:
        for h in range(i, j - least):
            v = single[row(n, h) + j]
            if v > low:
                values[n_options], heads[n_options, 0], heads[n_options, 1] = v + (h - i) * loops[1], h, 0
                n_options += 1
        at = row(n, i)
        for k in range(i + least + 1, j - least - 1):
            v = several[at + k] + single[row(n, k + 1) + j]
            if v > low:
                values[n_options], heads[n_options, 0], heads[n_options, 1] = v, k, 1
                n_options += 1
        return n_options
    at = row(n, i)
    for q in range(i + least + 1, j + 1):
        if closed[at + q] > low:
            values[n_options] = closed[at + q] + outer_end(x, i, q, letters) + loops[2] + (j - q) * loops[1]
            heads[n_options, 0], heads[n_options, 1] = q, -1
            n_options += 1
    return n_options


@jit
def next_nodes(kind, i, j, a, b, nodes):
    """Write the nodes (kind, i, j) that a derivation with the head (a, b) leads to, and return their number."""
    if kind == AFTER:
        if a < 0:
            nodes[0, 0], nodes[0, 1], nodes[0, 2] = AFTER, i + 1, 0
            return 1
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = AFTER, a + 1, 0
        nodes[1, 0], nodes[1, 1], nodes[1, 2] = CLOSED, i, a
        return 2
    if kind == CLOSED:
        if a < 0:
            return 0
        if b >= 0:
            nodes[0, 0], nodes[0, 1], nodes[0, 2] = CLOSED, a, b
            return 1
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = SEVERAL, i + 1, a
        nodes[1, 0], nodes[1, 1], nodes[1, 2] = SINGLE, a + 1, j - 1
        return 2
    if kind == SEVERAL:
        if b == 0:
            nodes[0, 0], nodes[0, 1], nodes[0, 2] = SINGLE, a, j
            return 1
        nodes[0, 0], nodes[0, 1], nodes[0, 2] = SEVERAL, i, a
        nodes[1, 0], nodes[1, 1], nodes[1, 2] = SINGLE, a + 1, j
        return 2
    nodes[0, 0], nodes[0, 1], nodes[0, 2] = CLOSED, i, a
    return 1


@jit
def most_options(n, most):
    """Return the maximum number of derivations of a node."""
    most = min(most, n)
    return 2 * n + (most + 1) * (most + 2) // 2 + 2


@jit
def best_structures(
    ids, symbols, offsets, pairs, starts, least, letters, hairpin, bulge, size, skew, small, loops, codes
):  # fmt: skip
    """Write the partner of each base in the structure of greatest score, for each example of ids; −1 for none."""
    longest = 0
    for i in ids:
        longest = max(longest, offsets[i + 1] - offsets[i])
    packed = longest * (longest + 1) // 2
    closed, single, several = np.empty(packed), np.empty(packed), np.empty(packed)
    after, room = np.empty(longest + 1), most_options(longest, len(bulge) - 1)
    values, heads = np.empty(room), np.empty((room, 2), np.int64)
    waiting = np.empty((2 * longest + 4, 3), np.int64)
    for r in range(len(ids)):
        first, stop = offsets[ids[r]], offsets[ids[r] + 1]
        x, code, own = symbols[first:stop], codes[first:stop], pairs[starts[r] : starts[r + 1]]
        fill(x, own, least, letters, hairpin, bulge, size, skew, small, loops, closed, single, several, after)
        code[:] = -1
        waiting[0, 0], waiting[0, 1], waiting[0, 2] = AFTER, 0, 0
        top = 1
        while top > 0:
            top -= 1
            kind, i, j = waiting[top, 0], waiting[top, 1], waiting[top, 2]
            if kind == AFTER and i >= len(x):
                continue
            if kind == CLOSED:
                code[i], code[j] = j, i
            n_options = options(
                kind, i, j, x, own, least, letters, hairpin, bulge, size, skew, small, loops, closed, single, several,
                after, values, heads,
            )  # fmt: skip
            best = 0
            for t in range(1, n_options):
                if values[t] > values[best]:
                    best = t
            top += next_nodes(kind, i, j, heads[best, 0], heads[best, 1], waiting[top:])
