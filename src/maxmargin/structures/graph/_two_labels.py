"""Two labels: one minimum cut if edges reward equal labels, otherwise roof duality (Hammer et al. 1984).

With x_v = 1 for the second label, an edge contributes c_e x_i x_j and terms of single nodes. If all c_e ≥ 0, the best
labels are a minimum cut (Greig, Porteous and Seheult 1989). If not, a cut of the graph with a copy of each node that
stands for its opposite solves the linear relaxation, whose solutions have entries of 0, ½ and 1; nodes with 0 or 1 have
these labels in some best labelling (Boros and Hammer 2002, Kolmogorov and Rother 2007).
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.algorithms.max_flow import arcs_by_node, minimum_cut
from maxmargin.structures.graph._pairs import pair_score

#: Label of a node that the relaxation leaves open, half of each label.
HALF = 2


@jit
def gains(scores, pairs, edges, penalty, terminal, joint):
    """Write the gain of the second label of each node, and the gain c_e of both ends having it; return whether all ≥ 0.

    Forbidden pairs count as −penalty.
    """
    for v in range(len(scores)):
        terminal[v] = scores[v, 1] - scores[v, 0]
    together = True
    for e in range(len(edges)):
        neither = max(pair_score(pairs, e, 0, 0, 2), -penalty)
        second = max(pair_score(pairs, e, 0, 1, 2), -penalty)
        first = max(pair_score(pairs, e, 1, 0, 2), -penalty)
        both = max(pair_score(pairs, e, 1, 1, 2), -penalty)
        terminal[edges[e, 0]] += first - neither
        terminal[edges[e, 1]] += second - neither
        joint[e] = both - first - second + neither
        together = together and joint[e] >= 0.0
    return together


@jit
def finite_range(scores, pairs):
    """Return a penalty that exceeds all differences of scores of labellings without forbidden parts."""
    total = 0.0
    for table in (scores, pairs):
        for row in range(len(table)):
            for k in range(table.shape[1]):
                if table[row, k] > -np.inf:
                    total += abs(table[row, k])
    return 4.0 * total if total > 0.0 else 1.0


@jit
def by_cuts(scores, pairs, edges, hard, labels):
    """Write labels 0 and 1, or `HALF` where the relaxation leaves a node open; return whether one cut was exact."""
    n, m = len(scores), len(edges)
    terminal, joint = np.empty(n), np.empty(m)
    penalty = finite_range(scores, pairs) if hard else np.inf
    if gains(scores, pairs, edges, penalty, terminal, joint):
        capacity = np.zeros(2 * m)
        for e in range(m):
            # c x_i x_j = c x_j − c x_j (1 − x_i): the second label of j without that of i costs c.
            terminal[edges[e, 1]] += joint[e]
            capacity[2 * e + 1] = joint[e]
        first, leaving = np.empty(n + 1, np.int64), np.empty(2 * m, np.int64)
        arcs_by_node(edges, n, first, leaving)
        minimum_cut(edges, first, leaving, terminal, capacity, labels)
        return True
    doubled, capacity = np.empty((2 * m, 2), np.int64), np.zeros(4 * m)
    for e in range(m):
        i, j = edges[e, 0], edges[e, 1]
        if joint[e] >= 0.0:
            terminal[j] += joint[e]
            doubled[2 * e, 0], doubled[2 * e, 1] = j, i
            doubled[2 * e + 1, 0], doubled[2 * e + 1, 1] = n + i, n + j
        else:
            doubled[2 * e, 0], doubled[2 * e, 1] = i, n + j
            doubled[2 * e + 1, 0], doubled[2 * e + 1, 1] = j, n + i
        capacity[4 * e] = capacity[4 * e + 2] = 0.5 * abs(joint[e])
    both, side = np.empty(2 * n), np.empty(2 * n, np.int32)
    for v in range(n):
        both[v], both[n + v] = 0.5 * terminal[v], -0.5 * terminal[v]
    first, leaving = np.empty(2 * n + 1, np.int64), np.empty(4 * m, np.int64)
    arcs_by_node(doubled, 2 * n, first, leaving)
    minimum_cut(doubled, first, leaving, both, capacity, side)
    for v in range(n):
        labels[v] = HALF if side[v] == side[n + v] else side[v]
        # With a forbidden label, a node is never open.
        if scores[v, 0] == -np.inf or scores[v, 1] == -np.inf:
            labels[v] = 1 if scores[v, 0] == -np.inf else 0
    return False


@jit
def relaxed_total(labels, scores, pairs, edges):
    """Return the value of the relaxation at labels 0, 1 and `HALF`, with the best pairs of open nodes."""
    total = 0.0
    for v in range(len(scores)):
        total += scores[v, labels[v]] if labels[v] != HALF else 0.5 * (scores[v, 0] + scores[v, 1])
    for e in range(len(edges)):
        a, b = labels[edges[e, 0]], labels[edges[e, 1]]
        if a != HALF and b != HALF:
            total += pair_score(pairs, e, a, b, 2)
        elif a != HALF:
            total += 0.5 * (pair_score(pairs, e, a, 0, 2) + pair_score(pairs, e, a, 1, 2))
        elif b != HALF:
            total += 0.5 * (pair_score(pairs, e, 0, b, 2) + pair_score(pairs, e, 1, b, 2))
        else:
            equal = pair_score(pairs, e, 0, 0, 2) + pair_score(pairs, e, 1, 1, 2)
            total += 0.5 * max(equal, pair_score(pairs, e, 0, 1, 2) + pair_score(pairs, e, 1, 0, 2))
    return total
