"""Compiled functions for projective trees: the algorithm of Eisner (1996), a test of projectivity, and lifting.

A tree over 0 … n in a row, 0 being the root, is projective if no two arcs cross when they are drawn above the row. Row
m − 1 of the table of scores holds the arcs into node m, by their heads 0 … n.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import NO_OUTPUT

#: Spans of a chart: a head with all of its descendants on one side, or an arc with what lies below it.
COMPLETE_RIGHT, COMPLETE_LEFT, ARC_RIGHT, ARC_LEFT = 0, 1, 2, 3


@inlined
def best_split(left, right, first, stop):
    """Return the greatest left[k] + right[k + 1] for first ≤ k < stop, and its k; ties go to the first."""
    best, at = -np.inf, first
    for k in range(first, stop):
        total = left[k] + right[k + 1]
        if total > best:
            best, at = total, k
    return best, at


@inlined
def fill_chart(table, lowest, n, chart, split):
    """Fill chart[kind, i, j], the best scores of spans within lowest … n; leftward ones are stored at [kind, j, i]."""
    for i in range(lowest, n + 1):
        chart[COMPLETE_RIGHT, i, i] = chart[COMPLETE_LEFT, i, i] = 0.0
    for width in range(1, n - lowest + 1):
        for i in range(lowest, n + 1 - width):
            j = i + width
            best, k = best_split(chart[COMPLETE_RIGHT, i], chart[COMPLETE_LEFT, j], i, j)
            split[ARC_RIGHT, i, j], chart[ARC_RIGHT, i, j] = k, best + table[j - 1, i]
            split[ARC_LEFT, j, i], chart[ARC_LEFT, j, i] = k, -np.inf if i == 0 else best + table[i - 1, j]
            best, at = -np.inf, i
            for k in range(i, j):
                total = chart[COMPLETE_LEFT, k, i] + chart[ARC_LEFT, j, k]
                if total > best:
                    best, at = total, k
            chart[COMPLETE_LEFT, j, i], split[COMPLETE_LEFT, j, i] = best, at
            best, at = -np.inf, j
            for k in range(i + 1, j + 1):
                total = chart[ARC_RIGHT, i, k] + chart[COMPLETE_RIGHT, k, j]
                if total > best:
                    best, at = total, k
            chart[COMPLETE_RIGHT, i, j], split[COMPLETE_RIGHT, i, j] = best, at


@inlined
def read_chart(split, kind, head, end, stack, heads):
    """Write the heads of all nodes below a complete span from `head` to `end`."""
    stack[0, 0], stack[0, 1], stack[0, 2] = kind, head, end
    depth = 1
    while depth > 0:
        depth -= 1
        kind, a, b = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if a == b:
            continue
        k = split[kind, a, b]
        if kind < ARC_RIGHT:
            first, second = (ARC_RIGHT, COMPLETE_RIGHT) if kind == COMPLETE_RIGHT else (ARC_LEFT, COMPLETE_LEFT)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = first, a, k
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = second, k, b
        else:
            heads[b - 1] = a
            i, j = min(a, b), max(a, b)
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = COMPLETE_RIGHT, i, k
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = COMPLETE_LEFT, j, k + 1
        depth += 2


@jit
def best_projective(table, single_root, heads):
    """Write the heads of the best projective tree in O(n³) steps; return False if there is none."""
    n = len(table)
    if n == 0:
        return True
    chart, split = np.full((4, n + 1, n + 1), -np.inf), np.zeros((4, n + 1, n + 1), np.int32)
    stack = np.empty((2 * n + 4, 3), np.int64)
    if not single_root:
        fill_chart(table, 0, n, chart, split)
        if chart[COMPLETE_RIGHT, 0, n] == -np.inf:
            return False
        read_chart(split, COMPLETE_RIGHT, 0, n, stack, heads)
        return True
    fill_chart(table, 1, n, chart, split)
    best, root = -np.inf, 0
    for r in range(1, n + 1):
        total = chart[COMPLETE_LEFT, r, 1] + chart[COMPLETE_RIGHT, r, n] + table[r - 1, 0]
        if total > best:
            best, root = total, r
    if root == 0:
        return False
    heads[root - 1] = 0
    read_chart(split, COMPLETE_LEFT, root, 1, stack, heads)
    read_chart(split, COMPLETE_RIGHT, root, n, stack, heads)
    return True


@jit
def best_projective_trees(ids, scores, starts, offsets, single_root, codes):
    """Find the best projective tree of each example of ids; with `single_root`, the root has one child."""
    for r in range(len(ids)):
        a, b = offsets[ids[r]], offsets[ids[r] + 1]
        table = scores[starts[r] : starts[r + 1]].reshape(b - a, b - a + 1)
        if not best_projective(table, single_root, codes[a:b]):
            codes[a] = NO_OUTPUT


@jit
def crossed_arc(heads):
    """Return the node below the shortest arc that covers a node from outside of its head's subtree; 0 if none does.

    Heads must form a tree. A tree is projective if it has no such arc.
    """
    n = len(heads)
    crossed, shortest = 0, n + 1
    for m in range(1, n + 1):
        h = heads[m - 1]
        if abs(h - m) >= shortest:
            continue
        for k in range(min(h, m) + 1, max(h, m)):
            above = k
            while above != h and above != 0:
                above = heads[above - 1]
            if above != h:
                crossed, shortest = m, abs(h - m)
                break
    return crossed


@jit
def lift(heads):
    """Make a tree projective: the shortest crossed arc moves to the head of its head (Nivre and Nilsson 2005)."""
    m = crossed_arc(heads)
    while m > 0:
        heads[m - 1] = heads[heads[m - 1] - 1]
        m = crossed_arc(heads)
