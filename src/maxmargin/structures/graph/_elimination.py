"""Exact maxima and sums over the labellings of graphs of small treewidth, by elimination of nodes (Dechter 1999).

Step t eliminates the node ``order[t]``. Its *scope* are its neighbours at this time, in the order of their own
elimination: ``scope[scope_ptr[t] : scope_ptr[t + 1]]``. The table of a step has a number for each labelling of the
scope, the last node fastest: the maximum (or log-sum) over the labels of the node, of its own scores, of its edges to
the scope, and of the tables of earlier steps whose scopes begin with the node (its children). Forests have scopes of
one node.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, jit
from maxmargin.algorithms.log_sums import draw, uniform
from maxmargin.structures.graph._pairs import incident_edges, pair_score

#: Steps of the search for an order per node and edge of a graph; graphs that need more are not eliminated.
MOST_STEPS = 400


@jit
def elimination_order(edges, n_nodes, widest, order, scope_ptr):
    """Find an order by least degree; return the scopes and True, or an empty array and False.

    It is not found if a scope has more nodes than `widest`, or the search takes long. Of nodes of equal degree, the one
    that attained it last is eliminated first.
    """
    n, room = n_nodes, 4 * len(edges) + 16
    following, ends, head = np.empty(room, np.int64), np.empty(room, np.int64), np.full(n, -1, np.int64)
    stamp, rank, used, clock = np.full(n, -1, np.int64), np.full(n, -1, np.int64), 0, 0
    degree, at_degree = np.zeros(n, np.int64), np.full(n + 1, -1, np.int64)
    # A node waits in the list of its degree; entries of nodes whose degree has changed are skipped.
    waiting, waits = np.empty(2 * room + 2 * n, np.int64), np.empty(2 * room + 2 * n, np.int64)
    first, incident = incident_edges(edges, n)
    for v in range(n):
        clock += 1
        for q in range(first[v], first[v + 1]):
            u = edges[incident[q] >> 1, 1 - (incident[q] & 1)]
            if stamp[u] != clock:
                stamp[u] = clock
                ends[used], following[used], head[v] = u, head[v], used
                used += 1
                degree[v] += 1
    n_waiting = 0
    for v in range(n - 1, -1, -1):
        waiting[n_waiting], waits[n_waiting] = v, at_degree[degree[v]]
        at_degree[degree[v]] = n_waiting
        n_waiting += 1
    scope, filled, steps = np.empty(n + 2 * len(edges) + 16, np.int64), 0, 0
    least, limit = 0, MOST_STEPS * (n + len(edges))
    scope_ptr[0] = 0
    for t in range(n):
        v = -1
        while v < 0:
            if at_degree[least] < 0:
                least += 1
                continue
            entry = at_degree[least]
            at_degree[least] = waits[entry]
            if rank[waiting[entry]] < 0 and degree[waiting[entry]] == least:
                v = waiting[entry]
        if least > widest or steps > limit:
            return scope[:0], False
        order[t], rank[v] = v, t
        begin = filled
        if filled + least >= len(scope):
            larger = np.empty(2 * len(scope) + least, np.int64)
            copy_into(larger, scope[:filled])
            scope = larger
        q = head[v]
        while q >= 0:
            if rank[ends[q]] < 0:
                scope[filled] = ends[q]
                filled += 1
            q = following[q]
            steps += 1
        for k in range(begin, filled):
            u = scope[k]
            clock += 1
            stamp[u] = clock
            if filled - begin > 1:
                before, q = -1, head[u]
                while q >= 0:
                    steps += 1
                    if rank[ends[q]] >= 0:
                        if before < 0:
                            head[u] = following[q]
                        else:
                            following[before] = following[q]
                    else:
                        stamp[ends[q]] = clock
                        before = q
                    q = following[q]
                for other in range(begin, filled):
                    if stamp[scope[other]] != clock:
                        if used == len(ends):
                            larger, next_larger = np.empty(2 * used, np.int64), np.empty(2 * used, np.int64)
                            copy_into(larger, ends)
                            copy_into(next_larger, following)
                            ends, following = larger, next_larger
                        ends[used], following[used], head[u] = scope[other], head[u], used
                        used += 1
                        degree[u] += 1
            degree[u] -= 1
            if n_waiting == len(waiting):
                larger, next_larger = np.empty(2 * n_waiting, np.int64), np.empty(2 * n_waiting, np.int64)
                copy_into(larger, waiting)
                copy_into(next_larger, waits)
                waiting, waits = larger, next_larger
            waiting[n_waiting], waits[n_waiting] = u, at_degree[degree[u]]
            at_degree[degree[u]] = n_waiting
            n_waiting += 1
            least = min(least, degree[u])
        scope_ptr[t + 1] = filled
    for t in range(n):
        own = scope[scope_ptr[t] : scope_ptr[t + 1]]
        own[:] = own[np.argsort(rank[own])]
    return scope[:filled].copy(), True


@jit
def table_offsets(scope_ptr, n_labels):
    """Return where the table of each step begins, among tables of Kʷ numbers; and the size of the largest."""
    offsets, largest = np.zeros(len(scope_ptr), np.int64), 1
    for t in range(len(scope_ptr) - 1):
        size = n_labels ** (scope_ptr[t + 1] - scope_ptr[t])
        offsets[t + 1], largest = offsets[t] + size, max(largest, size)
    return offsets, largest


@jit
def family(order, scope_ptr, scope):
    """Return the rank of each node, and lists of the children of each step: first child, next sibling."""
    n = len(order)
    rank, child, sibling = np.empty(n, np.int64), np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    for t in range(n):
        rank[order[t]] = t
    for t in range(n - 1, -1, -1):
        if scope_ptr[t + 1] > scope_ptr[t]:
            parent = rank[scope[scope_ptr[t]]]
            sibling[t], child[parent] = child[parent], t
    return rank, child, sibling


@jit
def strides_of(t, c, scope_ptr, scope, n_labels, strides):
    """Write the stride of each node of the scope of t in the table of its child c; return that of the node of t."""
    width = scope_ptr[t + 1] - scope_ptr[t]
    for j in range(width):
        strides[j] = 0
    step = 1
    for q in range(scope_ptr[c + 1] - 1, scope_ptr[c], -1):
        for j in range(width):
            if scope[scope_ptr[t] + j] == scope[q]:
                strides[j] = step
        step *= n_labels
    return step


@jit
def advance(digits, width, strides, n_labels, place):
    """Go to the next labelling of a scope, the last node fastest; return its place in a table of these strides."""
    for j in range(width - 1, -1, -1):
        place += strides[j]
        digits[j] += 1
        if digits[j] < n_labels:
            break
        place -= n_labels * strides[j]
        digits[j] = 0
    return place


@jit
def joint_scores(
    t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables, digits,
    strides, out,
):  # fmt: skip
    """Write the scores of all labellings of the scope of a step and its node, the label of the node fastest."""
    n_labels, v = scores.shape[1], order[t]
    width = scope_ptr[t + 1] - scope_ptr[t]
    size = n_labels**width
    for row in range(size):
        for k in range(n_labels):
            out[row * n_labels + k] = scores[v, k]
    for q in range(first[v], first[v + 1]):
        e, side = incident[q] >> 1, incident[q] & 1
        u = edges[e, 1 - side]
        if rank[u] < t:
            continue
        stride = 1
        for j in range(scope_ptr[t + 1] - 1, scope_ptr[t] - 1, -1):
            if scope[j] == u:
                break
            stride *= n_labels
        for row in range(size):
            other = (row // stride) % n_labels
            for k in range(n_labels):
                a, b = (k, other) if side == 0 else (other, k)
                out[row * n_labels + k] += pair_score(pairs, e, a, b, n_labels)
    c = child[t]
    while c >= 0:
        step, place = strides_of(t, c, scope_ptr, scope, n_labels, strides), offsets[c]
        digits[:] = 0
        for row in range(size):
            for k in range(n_labels):
                out[row * n_labels + k] += tables[place + k * step]
            place = advance(digits, width, strides, n_labels, place)
        c = sibling[c]


@jit
def maximise(scores, pairs, edges, order, scope_ptr, scope, labels):
    """Write the best labels and return their score, −∞ if there are none; ties go to the lowest labels."""
    n, n_labels = scores.shape
    offsets, largest = table_offsets(scope_ptr, n_labels)
    rank, child, sibling = family(order, scope_ptr, scope)
    first, incident = incident_edges(edges, n)
    tables, best = np.empty(offsets[n]), np.empty(offsets[n], np.int32)
    joint, digits, strides = np.empty(largest * n_labels), np.empty(64, np.int64), np.empty(64, np.int64)
    total = 0.0
    for t in range(n):
        joint_scores(
            t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables,
            digits, strides, joint,
        )  # fmt: skip
        for row in range(offsets[t + 1] - offsets[t]):
            top = 0
            for k in range(1, n_labels):
                if joint[row * n_labels + k] > joint[row * n_labels + top]:
                    top = k
            best[offsets[t] + row], tables[offsets[t] + row] = top, joint[row * n_labels + top]
        if scope_ptr[t + 1] == scope_ptr[t]:
            total += tables[offsets[t]]
    for t in range(n - 1, -1, -1):
        labels[order[t]] = best[offsets[t] + row_of(t, scope_ptr, scope, n_labels, labels)]
    return total


@jit
def row_of(t, scope_ptr, scope, n_labels, labels):
    """Return the row of the labels of the scope of a step in its table."""
    row = 0
    for j in range(scope_ptr[t], scope_ptr[t + 1]):
        row = row * n_labels + labels[scope[j]]
    return row


@jit
def max_marginals(scores, pairs, edges, order, scope_ptr, scope, out):
    """Write the best score of a labelling that gives a node a label, for all nodes and labels."""
    n, n_labels = scores.shape
    offsets, largest = table_offsets(scope_ptr, n_labels)
    rank, child, sibling = family(order, scope_ptr, scope)
    first, incident = incident_edges(edges, n)
    tables, outside = np.empty(offsets[n]), np.full(offsets[n], -np.inf)
    joint, digits, strides = np.empty(largest * n_labels), np.empty(64, np.int64), np.empty(64, np.int64)
    total = 0.0
    for t in range(n):
        joint_scores(
            t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables,
            digits, strides, joint,
        )  # fmt: skip
        for row in range(offsets[t + 1] - offsets[t]):
            tables[offsets[t] + row] = joint[row * n_labels : (row + 1) * n_labels].max()
        if scope_ptr[t + 1] == scope_ptr[t]:
            total += tables[offsets[t]]
    for t in range(n - 1, -1, -1):
        joint_scores(
            t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables,
            digits, strides, joint,
        )  # fmt: skip
        size, width = offsets[t + 1] - offsets[t], scope_ptr[t + 1] - scope_ptr[t]
        if width == 0:
            outside[offsets[t]] = total
        out[order[t]] = -np.inf
        for row in range(size):
            # The best total with the labels of the scope, with the part of this subtree taken out.
            within, whole = tables[offsets[t] + row], outside[offsets[t] + row]
            for k in range(n_labels):
                at = row * n_labels + k
                joint[at] = joint[at] - within + whole if within > -np.inf else -np.inf
                out[order[t], k] = max(out[order[t], k], joint[at])
        c = child[t]
        while c >= 0:
            step, place = strides_of(t, c, scope_ptr, scope, n_labels, strides), offsets[c]
            digits[:] = 0
            for row in range(size):
                for k in range(n_labels):
                    at = place + k * step
                    outside[at] = max(outside[at], joint[row * n_labels + k])
                place = advance(digits, width, strides, n_labels, place)
            c = sibling[c]


@jit
def log_tables(
    scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables, joint,
    digits, strides,
):  # fmt: skip
    """Write the tables of log-sums; return log Z."""
    n, n_labels = scores.shape
    log_z = 0.0
    for t in range(n):
        joint_scores(
            t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables,
            digits, strides, joint,
        )  # fmt: skip
        for row in range(offsets[t + 1] - offsets[t]):
            own = joint[row * n_labels : (row + 1) * n_labels]
            high = own.max()
            total = 0.0
            if high > -np.inf:
                for k in range(n_labels):
                    total += np.exp(own[k] - high)
            tables[offsets[t] + row] = high + np.log(total) if high > -np.inf else -np.inf
        if scope_ptr[t + 1] == scope_ptr[t]:
            log_z += tables[offsets[t]]
    return log_z


@jit
def add_marginals(scores, pairs, edges, order, scope_ptr, scope, coefficient, node_sums, pair_sums):
    """Add coefficient · probabilities of labels and of label pairs of edges; return log Z and the expected score.

    `pair_sums` has the form of `pairs`.
    """
    n, n_labels = scores.shape
    offsets, largest = table_offsets(scope_ptr, n_labels)
    rank, child, sibling = family(order, scope_ptr, scope)
    first, incident = incident_edges(edges, n)
    tables, outside = np.empty(offsets[n]), np.zeros(offsets[n])
    joint, digits, strides = np.empty(largest * n_labels), np.empty(64, np.int64), np.empty(64, np.int64)
    log_z = log_tables(
        scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables, joint,
        digits, strides,
    )  # fmt: skip
    if log_z == -np.inf:
        return log_z, 0.0
    expected, wide = 0.0, pairs.shape[1] == n_labels * n_labels
    for t in range(n - 1, -1, -1):
        joint_scores(
            t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables,
            digits, strides, joint,
        )  # fmt: skip
        size, width, v = offsets[t + 1] - offsets[t], scope_ptr[t + 1] - scope_ptr[t], order[t]
        if width == 0:
            outside[offsets[t]] = 1.0
        for row in range(size):
            within, whole = tables[offsets[t] + row], outside[offsets[t] + row]
            for k in range(n_labels):
                at = row * n_labels + k
                joint[at] = whole * np.exp(joint[at] - within) if whole > 0.0 else 0.0
                node_sums[v, k] += coefficient * joint[at]
                if joint[at] > 0.0:
                    expected += joint[at] * scores[v, k]
        for q in range(first[v], first[v + 1]):
            e, side = incident[q] >> 1, incident[q] & 1
            u = edges[e, 1 - side]
            if rank[u] < t:
                continue
            stride = 1
            for j in range(scope_ptr[t + 1] - 1, scope_ptr[t] - 1, -1):
                if scope[j] == u:
                    break
                stride *= n_labels
            for row in range(size):
                other = (row // stride) % n_labels
                for k in range(n_labels):
                    probability = joint[row * n_labels + k]
                    if probability == 0.0:
                        continue
                    a, b = (k, other) if side == 0 else (other, k)
                    expected += probability * pair_score(pairs, e, a, b, n_labels)
                    if wide:
                        pair_sums[e, a * n_labels + b] += coefficient * probability
                    elif a == b:
                        pair_sums[e, 0 if pairs.shape[1] == 1 else a] += coefficient * probability
        c = child[t]
        while c >= 0:
            step, place = strides_of(t, c, scope_ptr, scope, n_labels, strides), offsets[c]
            digits[:] = 0
            for row in range(size):
                for k in range(n_labels):
                    outside[place + k * step] += joint[row * n_labels + k]
                place = advance(digits, width, strides, n_labels, place)
            c = sibling[c]
    return log_z, expected


@jit
def draw_labels(scores, pairs, edges, order, scope_ptr, scope, state, samples):
    """Write independent labellings to the rows of `samples`, drawn in proportion to exp(score)."""
    n, n_labels = scores.shape
    offsets, largest = table_offsets(scope_ptr, n_labels)
    rank, child, sibling = family(order, scope_ptr, scope)
    first, incident = incident_edges(edges, n)
    tables, joint = np.empty(offsets[n]), np.empty(largest * n_labels)
    digits, strides, own = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(n_labels)
    log_tables(
        scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables, joint,
        digits, strides,
    )  # fmt: skip
    for t in range(n - 1, -1, -1):
        joint_scores(
            t, scores, pairs, edges, first, incident, order, rank, scope_ptr, scope, child, sibling, offsets, tables,
            digits, strides, joint,
        )  # fmt: skip
        for s in range(len(samples)):
            row = row_of(t, scope_ptr, scope, n_labels, samples[s])
            for k in range(n_labels):
                own[k] = joint[row * n_labels + k]
            samples[s, order[t]] = draw(own, n_labels, uniform(state))
