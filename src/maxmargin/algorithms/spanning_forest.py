"""Compiled functions for spanning forests over the pairs of n items.

The pairs i < j of n items are numbered in reading order: (0, 1), (0, 2), …, (0, n−1), (1, 2), … The code of a forest is
the sorted numbers of its links, padded with −1 to n − 1 entries so that equal forests have equal codes.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit


@inlined
def pair_number(n, i, j):
    """Return the position of the pair i < j among all pairs of n items."""
    return i * (2 * n - i - 1) // 2 + j - i - 1


@jit
def spanning_forest(scores, n, least, links):
    """Write the maximum spanning forest of n items over links above `least`; return the number of links.

    Ties go to the lower pair number, so the forest is unique: the one that Kruskal's algorithm finds. It is found
    by Prim's algorithm (1957) in O(n²) steps, without sorting n(n − 1)/2 pairs. When no link above `least` leaves the
    current tree, a new tree begins.
    """
    best = np.full(n, -np.inf)
    link = np.full(n, -1)
    waiting = np.arange(n)
    links[:] = -1
    taken = at = 0
    for left in range(n - 1, 0, -1):
        item = waiting[at]
        waiting[at] = waiting[left]
        at = 0
        for k in range(left):
            other = waiting[k]
            p = pair_number(n, min(item, other), max(item, other))
            worth = scores[p]
            if worth > best[other] or (worth == best[other] and p < link[other]):
                best[other], link[other] = worth, p
            top = waiting[at]
            if best[other] > best[top] or (best[other] == best[top] and link[other] < link[top]):
                at = k
        top = waiting[at]
        if best[top] > least:
            links[taken] = link[top]
            taken += 1
    links[:taken].sort()
    return taken


@jit
def best_forests(ids, scores, starts, offsets, least, codes):
    """Find the best forest of each example of ids over links above `least`."""
    for r in range(len(ids)):
        a, b = offsets[ids[r]], offsets[ids[r] + 1]
        spanning_forest(scores[starts[r] : starts[r + 1]], b - a + 1, least, codes[a:b])


@jit
def count_links(code):
    """Return the number of links of a code, which ends with negative numbers."""
    count = 0
    while count < len(code) and code[count] >= 0:
        count += 1
    return count


@jit
def links_of(ids, offsets, codes, ptr, links):
    """Write the links of the coded forests of ids without padding; those of ids[r] begin at ptr[r]."""
    used = 0
    for r in range(len(ids)):
        for p in range(offsets[ids[r]], offsets[ids[r] + 1]):
            if codes[p] >= 0:
                links[used] = codes[p]
                used += 1
        ptr[r + 1] = used


@jit
def cluster_numbers(code, n, out):
    """Write the tree of each item; trees are numbered from 0 in the order of their first items."""
    root = np.arange(n)
    first, begin = 0, 0  # pairs of `first` begin at number `begin`
    for k in range(count_links(code)):
        while code[k] >= begin + n - 1 - first:
            begin += n - 1 - first
            first += 1
        a, b = find_root(root, first), find_root(root, first + 1 + code[k] - begin)
        root[max(a, b)] = min(a, b)
    n_trees = 0
    for item in range(n):
        if root[item] == item:
            out[item] = n_trees
            n_trees += 1
        else:
            out[item] = out[find_root(root, item)]


@jit
def find_root(root, item):
    """Return the root of the tree of an item, and shorten the way to it."""
    while root[item] != item:
        root[item] = root[root[item]]
        item = root[item]
    return item
