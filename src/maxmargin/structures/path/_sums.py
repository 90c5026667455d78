"""Sums over all paths of graphs without cycles: log-partition, marginals and samples.

Forward sums run in topological order. The probability of an edge, given that a path visits its head, is a ratio of
forward sums, so probabilities follow from the target backwards. Arguments are those of `structures.path._jit`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import uniform
from maxmargin.core.planes import NO_OUTPUT


@inlined
def forward(scores, first, edges, a, b, order, source, sums, tops):
    """Write the logarithm of the sum over all paths from the source to each node.

    Until a node is left, it holds its greatest term in `tops` and the sum relative to it in `sums`.
    """
    for v in range(len(sums)):
        sums[v], tops[v] = 0.0, -np.inf
    sums[source], tops[source] = 1.0, 0.0
    last = -1
    for k in range(a, b):
        e = order[k]
        tail, head = edges[a + e, 0], edges[a + e, 1]
        if tail != last:  # edges are sorted by their tails, which have all their terms now
            tops[tail] += np.log(sums[tail]) if sums[tail] > 0.0 else 0.0
            sums[tail], last = 1.0, tail
        term = tops[tail] + scores[first + e]
        if term > tops[head]:
            sums[head] = sums[head] * np.exp(tops[head] - term) + 1.0
            tops[head] = term
        elif term > -np.inf:
            sums[head] += np.exp(term - tops[head])


@inlined
def finish(node, sums, tops):
    """Return the logarithm of the sum over all paths to a node that no edge leaves."""
    return tops[node] + np.log(sums[node]) if tops[node] > -np.inf else -np.inf


@jit
def path_sums(
    starts, scores, ids, edges, offsets, order, node_offsets, sources, targets, coefficients, log_partitions,
    expected_scores, marginals,
):  # fmt: skip
    """Write log Z, E[score] and coefficient · P(edge) of each graph of ids."""
    for r in range(len(ids)):
        i, first = ids[r], starts[r]
        a, b, n = offsets[i], offsets[i + 1], node_offsets[i + 1] - node_offsets[i]
        sums, tops, shares = np.empty(n), np.empty(n), np.zeros(n)
        forward(scores, first, edges, a, b, order, sources[i], sums, tops)
        log_z, expected = finish(targets[i], sums, tops), 0.0
        tops[targets[i]], shares[targets[i]] = log_z, 1.0 if log_z > -np.inf else 0.0
        for k in range(b - 1, a - 1, -1):
            e = order[k]
            tail, head = edges[a + e, 0], edges[a + e, 1]
            if shares[head] > 0.0 and tops[tail] > -np.inf:
                p = shares[head] * np.exp(tops[tail] + scores[first + e] - tops[head])
                if p > 0.0:
                    shares[tail] += p
                    marginals[first + e] += coefficients[r] * p
                    expected += p * scores[first + e]
        log_partitions[r], expected_scores[r] = log_z, expected


@jit
def path_samples(starts, scores, ids, edges, offsets, order, node_offsets, sources, targets, code_starts, seeds, codes):
    """Write paths drawn from the distribution of each graph of ids: their edges from the source on, then −1.

    The first symbol is `NO_OUTPUT` if there is no path. The codes of ids begin at code_starts.
    """
    state = np.zeros(1, np.uint64)
    for r in range(len(ids)):
        i, first = ids[r], starts[r]
        a, b, n = offsets[i], offsets[i + 1], node_offsets[i + 1] - node_offsets[i]
        sums, tops = np.empty(n), np.empty(n)
        forward(scores, first, edges, a, b, order, sources[i], sums, tops)
        tops[targets[i]] = finish(targets[i], sums, tops)
        # Edges by their heads, with their probabilities given the head.
        into, entering = np.zeros(n + 1, np.int64), np.empty(b - a, np.int64)
        shares = np.empty(b - a)
        for e in range(b - a):
            into[edges[a + e, 1] + 1] += 1
        for v in range(n):
            into[v + 1] += into[v]
        place = into[:n].copy()
        for e in range(b - a):
            tail, head = edges[a + e, 0], edges[a + e, 1]
            p = 0.0
            if tops[tail] > -np.inf and tops[head] > -np.inf:
                p = np.exp(tops[tail] + scores[first + e] - tops[head])
            entering[place[head]], shares[place[head]] = e, p
            place[head] += 1
        state[0], at, size = seeds[r], code_starts[r], code_starts[r + 1] - code_starts[r]
        for m in range(codes.shape[0]):
            for q in range(size):
                codes[m, at + q] = -1
            if tops[targets[i]] == -np.inf:
                codes[m, at] = NO_OUTPUT
                continue
            v, used = targets[i], 0
            while v != sources[i]:
                left, chosen = uniform(state), -1
                for q in range(into[v], into[v + 1]):
                    if shares[q] > 0.0:
                        chosen = entering[q]
                        left -= shares[q]
                        if left < 0.0:
                            break
                codes[m, at + used] = chosen
                used += 1
                v = edges[a + chosen, 0]
            for q in range(used // 2):
                codes[m, at + q], codes[m, at + used - 1 - q] = codes[m, at + used - 1 - q], codes[m, at + q]
