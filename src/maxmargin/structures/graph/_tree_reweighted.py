"""Upper bounds on the log-partition of graphs with cycles (Wainwright, Jaakkola and Willsky 2005).

Nodes are summed out in their order. A node with r edges to later nodes has r copies, each with one of these edges, a
share 1 / r of the scores and messages of the node and a shift δ_e; the shifts of a node add up to 0. By Hölder's
inequality (Liu and Ihler 2011),

    log Σ_a Π_e f_e(a) ≤ Σ_e 1/r log Σ_a f_e(a)^r,

so any shifts prove a bound; copies of a node with equal marginals make it the least one. Nodes with at most one later
edge lose nothing.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_table, jit
from maxmargin.structures.graph._pairs import pair_score

#: Marginals of copies below this are compared as if they were equal to it.
LEAST = 1e-12


@jit
def forward(scores, pairs, edges, first, incident, shifts, share, inward):
    """Write the messages into later nodes and the scores of nodes with messages; return the bound."""
    n, n_labels = scores.shape
    bound = 0.0
    own, messages = inward, np.empty(n_labels)
    copy_table(own, scores)
    for v in range(n):
        n_after = 0
        for q in range(first[v], first[v + 1]):
            n_after += edges[incident[q] >> 1, 1 - (incident[q] & 1)] > v
        share[v] = 1.0 / max(n_after, 1)
        if n_after == 0:
            high = own[v].max()
            if high == -np.inf:
                return high
            bound += high + np.log(np.exp(own[v] - high).sum())
        for q in range(first[v], first[v + 1]):
            e, side = incident[q] >> 1, incident[q] & 1
            u = edges[e, 1 - side]
            if u < v:
                continue
            for j in range(n_labels):
                high, total = -np.inf, 0.0
                for k in range(n_labels):
                    a, b = (k, j) if side == 0 else (j, k)
                    high = max(high, own[v, k] * share[v] + shifts[e, k] + pair_score(pairs, e, a, b, n_labels))
                if high > -np.inf:
                    for k in range(n_labels):
                        a, b = (k, j) if side == 0 else (j, k)
                        term = own[v, k] * share[v] + shifts[e, k] + pair_score(pairs, e, a, b, n_labels)
                        total += np.exp((term - high) / share[v])
                messages[j] = high + share[v] * np.log(total) if high > -np.inf else -np.inf
            for j in range(n_labels):
                own[u, j] += messages[j]
    return bound


@jit
def backward(pairs, edges, first, incident, shifts, share, inward, belief, copies):
    """Write the marginals of nodes, and of the copy of a node at each edge to a later one."""
    n, n_labels = inward.shape
    terms = np.empty(n_labels)
    for v in range(n - 1, -1, -1):
        last = True
        belief[v] = 0.0
        for q in range(first[v], first[v + 1]):
            e, side = incident[q] >> 1, incident[q] & 1
            u = edges[e, 1 - side]
            if u < v:
                continue
            last = False
            copies[e] = 0.0
            for j in range(n_labels):
                if belief[u, j] == 0.0:
                    continue
                high, total = -np.inf, 0.0
                for k in range(n_labels):
                    a, b = (k, j) if side == 0 else (j, k)
                    terms[k] = inward[v, k] * share[v] + shifts[e, k] + pair_score(pairs, e, a, b, n_labels)
                    high = max(high, terms[k])
                for k in range(n_labels):
                    terms[k] = np.exp((terms[k] - high) / share[v])
                    total += terms[k]
                for k in range(n_labels):
                    copies[e, k] += belief[u, j] * terms[k] / total
            for k in range(n_labels):
                belief[v, k] += share[v] * copies[e, k]
        if last:
            belief[v] = np.exp(inward[v] - inward[v].max())
            belief[v] /= belief[v].sum()


@jit
def log_partition_bound(scores, pairs, edges, first, incident, n_steps):
    """Return an upper bound on log Σ_y exp(score of y), −∞ if there is no labelling.

    At most `n_steps` steps bring the marginals of the copies of each node together. A step that does not lower the
    bound is taken back, and the next ones are half as long.
    """
    n, n_labels = scores.shape
    shifts, share, inward = np.zeros((len(edges), n_labels)), np.empty(n), np.empty((n, n_labels))
    belief, copies = np.empty((n, n_labels)), np.zeros((len(edges), n_labels))
    best, length = forward(scores, pairs, edges, first, incident, shifts, share, inward), 1.0
    moved, mean = shifts.copy(), np.empty(n_labels)
    renew = True
    for _ in range(n_steps):
        if best == -np.inf or length < 1e-3:
            break
        if renew:
            backward(pairs, edges, first, incident, shifts, share, inward, belief, copies)
        for v in range(n):
            mean[:] = 0.0
            for q in range(first[v], first[v + 1]):
                e = incident[q] >> 1
                if edges[e, 1 - (incident[q] & 1)] > v:
                    for k in range(n_labels):
                        mean[k] += share[v] * np.log(max(copies[e, k], LEAST))
            for q in range(first[v], first[v + 1]):
                e = incident[q] >> 1
                if share[v] < 1.0 and edges[e, 1 - (incident[q] & 1)] > v:
                    for k in range(n_labels):
                        step = length * share[v] * (mean[k] - np.log(max(copies[e, k], LEAST)))
                        moved[e, k] = shifts[e, k] + step
        bound = forward(scores, pairs, edges, first, incident, moved, share, inward)
        renew = bound < best
        if renew:
            falls = best - bound
            best = bound
            copy_table(shifts, moved)
            if falls <= 1e-9 * (1.0 + abs(best)):
                break
        else:
            length *= 0.5
    return best
