"""Compiled functions for labels of nodes that maximise Σ_v s_v(y_v) + Σ_e θ_e [y_i = y_j] with θ ≥ 0.

Two labels: one minimum cut, exact (Greig, Porteous and Seheult 1989). More labels: moves that may change any node to
one label, each of them a minimum cut (Boykov, Veksler and Zabih 2001), and an upper bound on the maximum.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, inlined, jit
from maxmargin.algorithms.max_flow import arcs_by_node, change_costs, minimum_cut
from maxmargin.core.planes import NO_OUTPUT

#: Most sweeps over all labels; few are needed.
MOST_SWEEPS = 50
#: Improvement of a total, relative to its terms, below which it is rounding error.
LEVEL = 1e-12


@inlined
def rewards_of_nodes(edges, agree, rewards):
    """Write Σ θ of the edges of each node."""
    for v in range(len(rewards)):
        rewards[v] = 0.0
    for e in range(len(edges)):
        rewards[edges[e, 0]] += agree[e]
        rewards[edges[e, 1]] += agree[e]


@jit
def total_of(labels, scores, edges, agree):
    """Return Σ s + Σ θ of a labelling."""
    total = 0.0
    for v in range(len(labels)):
        total += scores[v, labels[v]]
    for e in range(len(edges)):
        if labels[edges[e, 0]] == labels[edges[e, 1]]:
            total += agree[e]
    return total


@jit
def two_labels(scores, edges, agree, first, leaving, terminal, capacity, labels):
    """Write the best labels 0 and 1; a forbidden label is an infinite capacity, which no flow exhausts."""
    for v in range(len(scores)):
        terminal[v] = scores[v, 1] - scores[v, 0]
    for e in range(len(edges)):
        capacity[2 * e] = capacity[2 * e + 1] = agree[e]
    minimum_cut(edges, first, leaving, terminal, capacity, labels)


@jit
def expand(label, scores, edges, agree, first, leaving, labels, terminal, capacity, side):
    """Change nodes to one label where the best such move does; return the total after the move.

    With x = 1 for nodes that change, the terms of an edge are S(x_i, x_j); S(0, 0) + S(1, 1) − S(0, 1) − S(1, 0) ≥ 0 is
    the capacity from j to i, and the rest are terms of single nodes.
    """
    n = len(scores)
    for v in range(n):
        terminal[v] = scores[v, label] - scores[v, labels[v]]
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        neither = agree[e] if labels[i] == labels[j] else 0.0
        first_stays = agree[e] if labels[i] == label else 0.0
        second_stays = agree[e] if labels[j] == label else 0.0
        terminal[i] += second_stays - neither
        terminal[j] += agree[e] - second_stays
        capacity[2 * e], capacity[2 * e + 1] = 0.0, neither + agree[e] - first_stays - second_stays
    minimum_cut(edges, first, leaving, terminal, capacity, side)
    for v in range(n):
        side[v] = label if side[v] == 1 else labels[v]
    return total_of(side, scores, edges, agree)


@jit
def many_labels(scores, edges, agree, first, leaving, labels):
    """Write labels that no expansion of a single label improves; return their total."""
    n, n_labels = scores.shape
    side, terminal, capacity = np.empty(n, labels.dtype), np.empty(n), np.empty(2 * len(edges))
    for v in range(n):
        labels[v] = 0
        for k in range(1, n_labels):
            if scores[v, k] > scores[v, labels[v]]:
                labels[v] = k
    size = np.abs(agree).sum()
    for v in range(n):
        size += abs(scores[v, labels[v]])
    total, unchanged, step = total_of(labels, scores, edges, agree), 0, 0
    while unchanged < n_labels and step < MOST_SWEEPS * n_labels:
        value = expand(step % n_labels, scores, edges, agree, first, leaving, labels, terminal, capacity, side)
        unchanged += 1
        if value > total + LEVEL * size:
            total, unchanged = value, 0
            copy_into(labels, side)
        step += 1
    return total


@jit
def bound_by_cuts(scores, edges, agree, first, leaving, n_steps, total, labels):
    """Return an upper bound on the maximum, at most Σ_v max_k s + Σ θ; write better labels if the bound finds some.

    [y_i = y_j] = 1 − ½ Σ_k |x_ik − x_jk| for indicators x of the labels. If Σ_k x_vk = 1 is replaced by a price λ_v,

        Σ θ + Σ_v λ_v + Σ_k max_x (Σ_v (s_v(k) − λ_v) x_v − ½ Σ θ |x_i − x_j|)

    bounds the maximum for any λ, and each of the K terms is a minimum cut. Steps along subgradients 1 − Σ_k x_vk lower
    it towards the linear relaxation (Komodakis, Paragios and Tziritas 2007), with the step of Polyak (1969). If all
    subgradients are 0, the indicators are optimal labels.
    """
    n, n_labels = scores.shape
    rewards, reward = np.empty(n), np.zeros((n, n_labels))
    rewards_of_nodes(edges, agree, rewards)
    simple = agree.sum()
    for e in range(len(edges)):
        reward[edges[e, 0], labels[edges[e, 1]]] += agree[e]
        reward[edges[e, 1], labels[edges[e, 0]]] += agree[e]
    price = np.empty(n)
    for v in range(n):
        # Between the labels' best and second best gain at the neighbours' labels, every cut agrees with the labels.
        best, second, own = -np.inf, -np.inf, -np.inf
        for k in range(n_labels):
            own = max(own, scores[v, k])
            gain = scores[v, k] + reward[v, k]
            if gain > best:
                best, second = gain, best
            elif gain > second:
                second = gain
        simple += own
        price[v] = (0.5 * (best + second) if second > -np.inf else best - 1.0) - 0.5 * rewards[v]
    lowest = max(simple, total)
    terminal, capacity = np.empty(n), np.empty(2 * len(edges))
    side, chosen, last = np.empty(n, labels.dtype), np.empty(n, np.int64), np.empty(n, labels.dtype)
    for _ in range(n_steps):
        value = agree.sum()
        for v in range(n):
            value += price[v]
            chosen[v] = 0
        for k in range(n_labels):
            for v in range(n):
                terminal[v] = scores[v, k] - price[v]
            for e in range(len(edges)):
                capacity[2 * e] = capacity[2 * e + 1] = 0.5 * agree[e]
            minimum_cut(edges, first, leaving, terminal, capacity, side)
            for v in range(n):
                if side[v] == 1:
                    value += scores[v, k] - price[v]
                    chosen[v] += 1
                    last[v] = k
            for e in range(len(edges)):
                if side[edges[e, 0]] != side[edges[e, 1]]:
                    value -= 0.5 * agree[e]
        lowest = min(lowest, max(value, total))
        norm = 0
        for v in range(n):
            norm += (1 - chosen[v]) ** 2
        if norm == 0:
            sum_of_last = total_of(last, scores, edges, agree)
            if sum_of_last > total:
                copy_into(labels, last)
                total = sum_of_last
            return max(lowest, total)
        if lowest <= total:
            break
        length = (value - total) / norm
        for v in range(n):
            price[v] -= length * (1 - chosen[v])
    return lowest


@jit
def best_labels(
    ids, scores, starts, agreements, agree_starts, edges, edge_offsets, offsets, n_labels, n_steps, codes, upper
):
    """Find the best labels of each example of ids, and upper bounds on their totals if there are more than two labels.

    Return the first row of ids with an edge of negative score, −1 if there is none.
    """
    for r in range(len(ids)):
        i = ids[r]
        n = offsets[i + 1] - offsets[i]
        labels = codes[offsets[i] : offsets[i + 1]]
        own = scores[starts[r] : starts[r] + n * n_labels].reshape(n, n_labels)
        agree = agreements[agree_starts[r] : agree_starts[r + 1]]
        joined = edges[edge_offsets[i] : edge_offsets[i + 1]]
        for e in range(len(agree)):
            if agree[e] < 0.0:
                return r
        possible = True
        for v in range(n):
            some = False
            for k in range(n_labels):
                some = some or own[v, k] > -np.inf
            possible = possible and some
        if not possible:
            labels[0] = NO_OUTPUT
            continue
        first, leaving = np.empty(n + 1, np.int64), np.empty(2 * len(joined), np.int64)
        arcs_by_node(joined, n, first, leaving)
        if n_labels == 2:
            two_labels(own, joined, agree, first, leaving, np.empty(n), np.empty(2 * len(joined)), labels)
        else:
            total = many_labels(own, joined, agree, first, leaving, labels)
            upper[r] = bound_by_cuts(own, joined, agree, first, leaving, n_steps, total, labels)
    return -1


@jit
def best_with_parts(scores, edges, agree, labels, nodes, joined):
    """Write the best totals of labellings that give node v label k (`nodes`), or equal labels to an edge (`joined`).

    `labels` are the best labels of one graph. With two labels, the flow of their cut is continued for each node (Kohli
    and Torr 2008). There is a best labelling with one node forced in which all nodes change in the same direction, so
    the ends of an edge agree if one of them is forced to the label of the other.

    With more labels, totals are lower bounds: the best moves to label k that move node v, from the flows of K
    expansions. Moves of both ends of an edge to a third label cost at most the sum of their costs.
    """
    n, n_labels = scores.shape
    first, leaving = np.empty(n + 1, np.int64), np.empty(2 * len(edges), np.int64)
    arcs_by_node(edges, n, first, leaving)
    terminal, capacity, costs = np.empty(n), np.empty(2 * len(edges)), np.empty(n)
    side, changed = np.empty(n, labels.dtype), np.empty(n, labels.dtype)
    total, totals = total_of(labels, scores, edges, agree), np.empty(n_labels)
    for k in range(n_labels):
        totals[k] = total
        if n_labels > 2:
            totals[k] = expand(k, scores, edges, agree, first, leaving, labels, terminal, capacity, changed)
            for v in range(n):
                side[v] = changed[v] == k and labels[v] != k
        elif k == 0:
            two_labels(scores, edges, agree, first, leaving, terminal, capacity, side)
        if n_labels > 2 or k == 0:
            change_costs(edges, first, leaving, terminal, capacity, side, costs)
        moved = 1 if n_labels > 2 else k
        for v in range(n):
            if labels[v] == k:
                nodes[v, k] = total
            elif scores[v, k] == -np.inf:
                nodes[v, k] = -np.inf
            else:
                nodes[v, k] = totals[k] if side[v] == moved else totals[k] - costs[v]
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        joined[e] = total
        if labels[i] != labels[j]:
            joined[e] = max(nodes[i, labels[j]], nodes[j, labels[i]])
            for k in range(n_labels):
                if k != labels[i] and k != labels[j] and nodes[i, k] > -np.inf and nodes[j, k] > -np.inf:
                    joined[e] = max(joined[e], nodes[i, k] + nodes[j, k] - totals[k])


@jit
def mark_agreements(ids, edges, edge_offsets, offsets, codes, starts, agree):
    """Write which edges of each example of ids join equal labels."""
    for r in range(len(ids)):
        i = ids[r]
        labels, shift = codes[offsets[i] : offsets[i + 1]], starts[r] - edge_offsets[i]
        for e in range(edge_offsets[i], edge_offsets[i + 1]):
            agree[shift + e] = labels[edges[e, 0]] == labels[edges[e, 1]]
