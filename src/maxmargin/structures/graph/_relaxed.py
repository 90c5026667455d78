"""Half-integral answers: points of the local polytope whose nodes have one label, or two labels by half.

A node has the symbol a K + b with a ≤ b. The pairs of labels of an edge follow from the symbols (a, b) and (c, d) of
its ends: (a, c) and (b, d) by half, or crossed (a, d) and (b, c), which the symbol of the edge tells. The maximum over
these points is at least that over labellings and at most that of the linear relaxation, with two labels the same.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.structures.graph._decode import ELIMINATION, scope_ends
from maxmargin.structures.graph._elimination import maximise
from maxmargin.structures.graph._messages import by_messages
from maxmargin.structures.graph._pairs import incident_edges, pair_score, total_of
from maxmargin.structures.graph._two_labels import HALF, by_cuts

#: Sweeps over all nodes that improve half-integral symbols.
MOST_ROUNDS = 20


@inlined
def straight_and_crossed(pairs, e, first, second, n_labels):
    """Return twice the score of an edge for both couplings of the symbols of its ends."""
    a, b, c, d = first // n_labels, first % n_labels, second // n_labels, second % n_labels
    straight = pair_score(pairs, e, a, c, n_labels) + pair_score(pairs, e, b, d, n_labels)
    crossed = pair_score(pairs, e, a, d, n_labels) + pair_score(pairs, e, b, c, n_labels)
    return straight, crossed


@jit
def couple(symbols, scores, pairs, edges, couplings):
    """Write the better coupling of each edge, 0 if both are the same; return the value of the relaxation."""
    n_labels, total = scores.shape[1], 0.0
    for v in range(len(scores)):
        total += 0.5 * (scores[v, symbols[v] // n_labels] + scores[v, symbols[v] % n_labels])
    for e in range(len(edges)):
        straight, crossed = straight_and_crossed(pairs, e, symbols[edges[e, 0]], symbols[edges[e, 1]], n_labels)
        couplings[e] = 1 if crossed > straight else 0
        total += 0.5 * max(straight, crossed)
    return total


@jit
def doubled(scores, edges, messages, first, incident, symbols):
    """Write the two best labels of each node by its scores and messages."""
    n, n_labels = scores.shape
    own = np.empty(n_labels)
    for v in range(n):
        for k in range(n_labels):
            own[k] = scores[v, k]
        for q in range(first[v], first[v + 1]):
            into = messages[incident[q] >> 1, incident[q] & 1]
            for k in range(n_labels):
                own[k] += into[k]
        best, second = 0, -1
        for k in range(1, n_labels):
            if own[k] > own[best]:
                best, second = k, best
            elif second < 0 or own[k] > own[second]:
                second = k
        if own[second] == -np.inf:
            second = best
        symbols[v] = min(best, second) * n_labels + max(best, second)


@jit
def improve_symbols(scores, pairs, edges, first, incident, symbols):
    """Change the symbols of single nodes while this improves the value of the relaxation."""
    n, n_labels = scores.shape
    gains = np.empty((n_labels, n_labels))
    for _ in range(MOST_ROUNDS):
        changed = False
        for v in range(n):
            for a in range(n_labels):
                for b in range(a, n_labels):
                    gains[a, b] = scores[v, a] + scores[v, b]
            for q in range(first[v], first[v + 1]):
                e, side = incident[q] >> 1, incident[q] & 1
                other = symbols[edges[e, 1 - side]]
                for a in range(n_labels):
                    for b in range(a, n_labels):
                        own = a * n_labels + b
                        if side == 0:
                            straight, crossed = straight_and_crossed(pairs, e, own, other, n_labels)
                        else:
                            straight, crossed = straight_and_crossed(pairs, e, other, own, n_labels)
                        gains[a, b] += max(straight, crossed)
            best = symbols[v]
            for a in range(n_labels):
                for b in range(a, n_labels):
                    top = gains[best // n_labels, best % n_labels]
                    if gains[a, b] > top + 1e-12 * abs(gains[a, b]):
                        best = a * n_labels + b
            if best != symbols[v]:
                symbols[v], changed = best, True
        if not changed:
            break


@jit
def best_symbols(
    ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, n_labels, hard, methods, orders, ends,
    scopes, scope_offsets, sweeps, truths, codes, code_offsets, upper,
):  # fmt: skip
    """Write the symbols of nodes and edges of each example of ids, and upper bounds on the relaxation."""
    for r in range(len(ids)):
        i = ids[r]
        n, m = offsets[i + 1] - offsets[i], edge_offsets[i + 1] - edge_offsets[i]
        scores = values[starts[r] : starts[r + 1]].reshape(n, n_labels)
        own, joined = pairs[edge_starts[r] : edge_starts[r + 1]], edges[edge_offsets[i] : edge_offsets[i + 1]]
        symbols = codes[code_offsets[i] : code_offsets[i] + n]
        couplings = codes[code_offsets[i] + n : code_offsets[i + 1]]
        labels = np.empty(n, np.int32)
        for v in range(n):
            labels[v] = truths[code_offsets[i] + v] // n_labels
        if methods[i] == ELIMINATION:
            upper[r] = maximise(
                scores, own, joined, orders[offsets[i] : offsets[i + 1]],
                scope_ends(ends[offsets[i] : offsets[i + 1]]), scopes[scope_offsets[i] : scope_offsets[i + 1]], labels,
            )  # fmt: skip
            for v in range(n):
                symbols[v] = labels[v] * n_labels + labels[v]
            couple(symbols, scores, own, joined, couplings)
            continue
        value = total_of(labels, scores, own, joined)
        first, incident = incident_edges(joined, n)
        if n_labels == 2 and not hard:
            by_cuts(scores, own, joined, hard, labels)
            for v in range(n):
                symbols[v] = 1 if labels[v] == HALF else 3 * labels[v]
            upper[r] = couple(symbols, scores, own, joined, couplings)
            continue
        messages = np.zeros((m, 2, n_labels))
        value, upper[r] = by_messages(
            scores.copy(), own, joined, first, incident, messages, hard, sweeps, np.int64(0), value, labels
        )  # fmt: skip
        total = -np.inf
        if upper[r] > value:
            doubled(scores, joined, messages, first, incident, symbols)
            improve_symbols(scores, own, joined, first, incident, symbols)
            total = couple(symbols, scores, own, joined, couplings)
        if not total > value:
            for v in range(n):
                symbols[v] = labels[v] * n_labels + labels[v]
            total = couple(symbols, scores, own, joined, couplings)
        upper[r] = max(upper[r], total)


@jit
def half_parts(
    ids, edges, edge_offsets, offsets, code_offsets, codes, n_labels, classes, n_classes, node_ptr, node_parts,
    node_counts, edge_ptr, edge_parts, edge_counts,
):  # fmt: skip
    """Write the parts of half-integral codes, each by ½ or 1."""
    p = q = 0
    for r in range(len(ids)):
        i = ids[r]
        n = offsets[i + 1] - offsets[i]
        code = codes[code_offsets[i] : code_offsets[i + 1]]
        for v in range(n):
            a, b = code[v] // n_labels, code[v] % n_labels
            node_parts[p], node_counts[p] = v * n_labels + a, 1.0 if a == b else 0.5
            p += 1
            if a != b:
                node_parts[p], node_counts[p] = v * n_labels + b, 0.5
                p += 1
        node_ptr[r + 1] = p
        for e in range(edge_offsets[i + 1] - edge_offsets[i]):
            first, second = code[edges[edge_offsets[i] + e, 0]], code[edges[edge_offsets[i] + e, 1]]
            a, b, c, d = first // n_labels, first % n_labels, second // n_labels, second % n_labels
            if code[n + e] == 1:
                c, d = d, c
            one, other = classes[a * n_labels + c], classes[b * n_labels + d]
            if one >= 0:
                edge_parts[q], edge_counts[q] = e * n_classes + one, 1.0 if one == other else 0.5
                q += 1
            if other >= 0 and other != one:
                edge_parts[q], edge_counts[q] = e * n_classes + other, 0.5
                q += 1
        edge_ptr[r + 1] = q
    return p, q
