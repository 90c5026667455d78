"""Sums over all spanning trees: log-partition, marginals and samples (Kirchhoff 1847; Tutte 1984).

Nodes are eliminated one by one, the last first. A node k whose heads have the sum D_k of weights adds the factor D_k,
and an arc j → k → i becomes one more arc into i:

    Z = Π_k D_k        w[i, j] ← w[i, j] + w[i, k] w[k, j] / D_k

This is the elimination of the determinant of the matrix-tree theorem without any subtraction, as Grassmann et al. 1985
have it for Markov chains: weights of very different sizes do not cancel. With a single root the weights of root arcs
are infinitely small: they are no part of D_k, except where a node has no other head. Marginals are derivatives of log
Z, by the same steps backwards.

Weights of heads of a node are scaled to a sum of 1, so Z is the probability that heads drawn independently form a
tree. If it is very small (`LEAST_LOG`), sums are repeated in logarithms. Row m − 1 of a table holds the weights of the
arcs into node m, by their heads 0 … n; tables are flat arrays.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import uniform
from maxmargin.algorithms.sum_products import (
    LEAST_LOG,
    LOGS,
    NUMBERS,
    add_multiple,
    as_sum,
    dot,
    logarithm,
    number,
    one,
    product,
    quotient,
    total,
    weight,
    zero,
)
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.tree._projective_sums import projective_samples, projective_sums

#: What the sum of the heads of an eliminated node has: all, all but the root, or the root as the only head left.
ALL, NOT_ROOT, ONLY_ROOT = 0, 1, 2
#: exp of a greater number may overflow.
GREAT = 600.0


@jit
def log_weights(scores, at, n, single_root, out):
    """Write the logarithms of scaled weights of the arcs of one graph; return the logarithm of their scale.

    The scale is −∞ if a node has no head.
    """
    size, scale, shift = n + 1, 0.0, -np.inf
    for m in range(1, n + 1 if single_root else 0):
        row, top = at + (m - 1) * size, -np.inf
        for h in range(1, size):
            if h != m:
                top = max(top, scores[row + h])
        if top > -np.inf and scores[row] > -np.inf:
            shift = max(shift, scores[row] - top)
    if shift == -np.inf:
        shift = 0.0
    for m in range(1, n + 1):
        row = (m - 1) * size
        for h in range(size):
            out[row + h] = scores[at + row + h]
        out[row] -= shift
        out[row + m] = -np.inf
        norm = total(out, row, size, LOGS)
        if norm == -np.inf:
            return norm
        for h in range(size):
            out[row + h] -= norm
        scale += norm
    return scale + shift if single_root else scale


@inlined
def eliminate(k, size, weights, kind, logs):
    """Eliminate node k from the table of the nodes up to k; return the sum of its heads, and what it has."""
    at, none = (k - 1) * size, zero(logs)
    first = 1 if kind == NOT_ROOT else 0
    pivot = total(weights, at + first, k - first, logs)
    if kind == NOT_ROOT and pivot == none:
        for i in range(1, k):
            weights[(i - 1) * size] = weights[(i - 1) * size + k]
        return weights[at], ONLY_ROOT
    for i in range(1, k):
        row = (i - 1) * size
        if pivot > none and weights[row + k] > none:
            add_multiple(weights, row, quotient(weights[row + k], pivot, logs), weights, at, k, logs)
            weights[row + i] = none
    return pivot, kind


@inlined
def forward(n, weights, single_root, pivots, kinds, logs):
    """Eliminate all nodes; return log Z of scaled weights, −∞ if there is no tree or too little of it."""
    log_z, kind = 0.0, NOT_ROOT if single_root else ALL
    for k in range(n, 0, -1):
        pivots[k], kinds[k] = eliminate(k, n + 1, weights, kind, logs)
        log_z += logarithm(pivots[k], logs)
        if log_z == -np.inf or (logs is None and (log_z < LEAST_LOG or (kinds[k] == ONLY_ROOT and k > 1))):
            return -np.inf
        kind = ALL if kinds[k] == ONLY_ROOT else kinds[k]
    return log_z


@inlined
def backward(n, weights, pivots, kinds, slopes, sums, logs):
    """Write the derivatives of log Z by the weights, of which `weights` are those that `forward` leaves."""
    size, none = n + 1, zero(logs)
    for k in range(1, n + 1):
        at, pivot = (k - 1) * size, pivots[k]
        slopes[at + k] = none
        if kinds[k] == ONLY_ROOT:
            for j in range(1, k):
                slopes[at + j] = none
            slopes[at] = quotient(one(logs), pivot, logs)
            for i in range(1, k):
                row = (i - 1) * size
                slopes[row + k], slopes[row] = slopes[row], none
            continue
        for j in range(k):
            sums[j] = none
        for i in range(1, k):
            row = (i - 1) * size
            slopes[row + k] = quotient(dot(slopes, row, weights, at, k, logs), pivot, logs)
            add_multiple(sums, 0, weights[row + k], slopes, row, k, logs)
        rest = 1.0 - number(quotient(dot(sums, 0, weights, at, k, logs), pivot, logs), logs)
        for j in range(k):
            if (j == 0 and kinds[k] == NOT_ROOT) or (logs is not None and sums[j] > GREAT):
                slopes[at + j] = quotient(sums[j], pivot, logs)
            else:
                slopes[at + j] = quotient(as_sum(max(number(sums[j], logs) + rest, 0.0), logs), pivot, logs)


@jit
def sum_trees(n, scaled, weights, single_root, logs, found):
    """Write the marginals of all arcs of one graph with logarithms of scaled weights; return log Z of these.

    With numbers, −∞ means that logarithms are needed. `weights` is a buffer.
    """
    size = n + 1
    for t in range(n * size):
        weights[t] = weight(scaled[t], logs)
    pivots, kinds = np.empty(size), np.empty(size, np.int64)
    log_z = forward(n, weights, single_root, pivots, kinds, logs)
    if log_z == -np.inf:
        return log_z
    slopes = np.empty(n * size)
    backward(n, weights, pivots, kinds, slopes, np.empty(size), logs)
    for t in range(n * size):
        if scaled[t] == -np.inf:
            found[t] = 0.0
        else:
            found[t] = min(number(product(weight(scaled[t], logs), slopes[t], logs), logs), 1.0)
    return log_z


@jit
def graph_sums(scores, at, n, single_root, projective, found):
    """Write the marginals of the arcs of one graph; return log Z and E[score], −∞ and 0 if it has no tree."""
    scaled, weights = np.empty(n * (n + 1)), np.empty(n * (n + 1))
    scale, log_z = log_weights(scores, at, n, single_root, scaled), -np.inf
    if scale > -np.inf:
        if projective:
            log_z = projective_sums(n, scaled, weights, single_root, NUMBERS, found)
            if log_z == -np.inf:
                log_z = projective_sums(n, scaled, weights, single_root, LOGS, found)
        else:
            log_z = sum_trees(n, scaled, weights, single_root, NUMBERS, found)
            if log_z == -np.inf:
                log_z = sum_trees(n, scaled, weights, single_root, LOGS, found)
    if log_z == -np.inf:
        return log_z, 0.0
    expected = 0.0
    for t in range(n * (n + 1)):
        if scaled[t] > -np.inf:
            expected += found[t] * scores[at + t]
    return scale + log_z, expected


@jit
def rooted_sums(
    ids, scores, starts, offsets, single_root, projective, coefficients, log_partitions, expected, marginals
):
    """Write log Z and E[score] of each graph of ids; add coefficient · marginals of arcs."""
    for r in range(len(ids)):
        n, at = offsets[ids[r] + 1] - offsets[ids[r]], starts[r]
        arc_marginals = np.empty(n * (n + 1))
        log_partitions[r], expected[r] = graph_sums(scores, at, n, single_root, projective, arc_marginals)
        if log_partitions[r] > -np.inf:
            for t in range(n * (n + 1)):
                marginals[at + t] += coefficients[r] * arc_marginals[t]


@inlined
def both_ways(scores, at, n, out):
    """Write the scores of the edges of a graph of n + 1 nodes as those of arcs in both directions, with root 0."""
    size, t = n + 1, at
    for i in range(size):
        for j in range(i + 1, size):
            out[(j - 1) * size + i] = scores[t]
            if i > 0:
                out[(i - 1) * size + j] = scores[t]
            t += 1


@jit
def free_sums(ids, scores, starts, offsets, coefficients, log_partitions, expected, marginals):
    """Write log Z and E[score] of each undirected graph of ids; add coefficient · marginals of edges."""
    for r in range(len(ids)):
        n = offsets[ids[r] + 1] - offsets[ids[r]]
        size, t = n + 1, starts[r]
        arcs, arc_marginals = np.empty(n * size), np.empty(n * size)
        both_ways(scores, t, n, arcs)
        log_partitions[r], expected[r] = graph_sums(arcs, 0, n, False, False, arc_marginals)
        if log_partitions[r] == -np.inf:
            continue
        for i in range(size):
            for j in range(i + 1, size):
                p = arc_marginals[(j - 1) * size + i] + (arc_marginals[(i - 1) * size + j] if i > 0 else 0.0)
                marginals[t] += coefficients[r] * min(p, 1.0)
                t += 1


@inlined
def insert_node(k, size, before, after, kind, pivot, state, heads, reached):
    """Add node k to a random tree of the nodes before it.

    An arc j → i came about through k with the probability that its weight says. The nodes i of such arcs become
    children of k, whose head is drawn from the nodes that the root reaches without them. Since Σ Π p over all trees
    that join these parts is the p of the root's part (Cayley), every tree has its probability.
    """
    at = (k - 1) * size
    if kind == ONLY_ROOT:
        heads[k] = 0
        for i in range(1, k):
            if heads[i] == 0:
                heads[i] = k
        return
    for i in range(1, k):
        row, j = (i - 1) * size, heads[i]
        through = np.exp(before[row + k] - pivot + before[at + j] - after[row + j])
        reached[i] = -1
        if uniform(state) < through:
            reached[i], heads[i] = 0, k
    reached[0] = 1
    for i in range(1, k):
        v = i
        while reached[v] < 0:
            v = heads[v]
        known, v = reached[v], i
        while reached[v] < 0:
            reached[v] = known
            v = heads[v]
    first, whole, top = 1 if kind == NOT_ROOT else 0, 0.0, -np.inf
    for j in range(first, k):
        if reached[j] == 1:
            top = max(top, before[at + j])
    for j in range(first, k):
        if reached[j] == 1 and top > -np.inf:
            whole += np.exp(before[at + j] - top)
    left, heads[k] = uniform(state) * whole, 0
    for j in range(first, k):
        p = np.exp(before[at + j] - top) if reached[j] == 1 and top > -np.inf else 0.0
        if p > 0.0:
            heads[k] = j
            left -= p
            if left < 0.0:
                break


@jit
def sample_trees(n, scaled, single_root, state, heads):
    """Write random trees of one graph, a row of `heads` for each; return False if there is none.

    Tables are needed before and after each elimination, in reverse order; every b-th one is kept, b = √n, and those
    between are computed again.
    """
    size, cells, apart = n + 1, n * (n + 1), int(np.ceil(np.sqrt(n)))
    pivots, kinds = np.empty(size), np.empty(size, np.int64)
    kept, tables = np.empty((n // apart + 1, cells)), np.empty((apart + 1, cells))
    weights = scaled.copy()
    kind = NOT_ROOT if single_root else ALL
    for k in range(n, 0, -1):
        if (n - k) % apart == 0:
            for t in range(cells):
                kept[(n - k) // apart, t] = weights[t]
        pivots[k], kinds[k] = eliminate(k, size, weights, kind, LOGS)
        if pivots[k] == -np.inf:
            return False
        kind = ALL if kinds[k] == ONLY_ROOT else kinds[k]
    reached = np.empty(size, np.int64)
    for block in range((n - 1) // apart, -1, -1):
        high = n - block * apart
        low = max(high - apart, 0)
        for t in range(cells):
            tables[0, t] = kept[block, t]
        for k in range(high, low, -1):
            table = tables[high - k + 1]
            for t in range(cells):
                table[t] = tables[high - k, t]
            eliminate(k, size, table, NOT_ROOT if kinds[k] == ONLY_ROOT else kinds[k], LOGS)
        for m in range(len(heads)):
            for k in range(low + 1, high + 1):
                before, after = tables[high - k], tables[high - k + 1]
                insert_node(k, size, before, after, kinds[k], pivots[k], state, heads[m], reached)
    return True


@jit
def tree_samples(ids, scores, starts, offsets, directed, single_root, projective, seeds, codes):
    """Write random trees of each graph of ids, one row of `codes` for each sample; codes of ids are concatenated."""
    state, to = np.zeros(1, np.uint64), 0
    for r in range(len(ids)):
        n = offsets[ids[r] + 1] - offsets[ids[r]]
        size = n + 1
        if n == 0:
            continue
        state[0] = seeds[r]
        arcs, scaled = np.empty(n * size), np.empty(n * size)
        if directed:
            for t in range(n * size):
                arcs[t] = scores[starts[r] + t]
        else:
            both_ways(scores, starts[r], n, arcs)
        heads, possible = np.empty((len(codes), size), np.int64), False
        if log_weights(arcs, 0, n, single_root, scaled) > -np.inf:
            if projective:
                possible = projective_samples(n, scaled, single_root, state, heads)
            else:
                possible = sample_trees(n, scaled, single_root, state, heads)
        for m in range(len(codes)):
            if not possible:
                codes[m, to] = NO_OUTPUT
                continue
            if directed:
                for k in range(1, size):
                    codes[m, to + k - 1] = heads[m, k]
                continue
            chosen = np.empty(n, np.int64)
            for k in range(1, size):
                i, j = min(k, heads[m, k]), max(k, heads[m, k])
                chosen[k - 1] = i * (2 * n - i + 1) // 2 + j - i - 1
            chosen.sort()
            for k in range(n):
                codes[m, to + k] = chosen[k]
        to += n
