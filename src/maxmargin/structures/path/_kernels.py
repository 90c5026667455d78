"""Kernels for best paths: one pass in topological order, or Dijkstra's algorithm (1959).

Common arguments: `edges` are the tail and head of each edge, `offsets` the first edge of each graph; `order` lists the
edges of each graph by their tails, in topological order of the tails if the graph has no cycle; the edges that leave
node v of graph i are ``order[leaving[k] : leaving[k + 1]]`` with k = v + the first node of the graph in
`node_offsets`. Scores of −∞ forbid an edge. The code of a path is its edges from source to target, then −1.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import inlined, kernel
from maxmargin.core.codes import NO_OUTPUT


@kernel
def order_edges(edges, offsets, node_offsets, order, leaving):
    """Write `order` and `leaving`; return the first graph with a cycle, −1 if there is none.

    Nodes are removed when no edge into them is left (Kahn 1962). In a graph with a cycle the tails are in any order.
    """
    cyclic = -1
    for i in range(len(offsets) - 1):
        a, b, first, n = offsets[i], offsets[i + 1], node_offsets[i], node_offsets[i + 1] - node_offsets[i]
        entering, count = np.zeros(n, np.int64), np.zeros(n + 1, np.int64)
        for e in range(a, b):
            entering[edges[e, 1]] += 1
            count[edges[e, 0] + 1] += 1
        for v in range(n):
            count[v + 1] += count[v]
        by_tail, place = np.empty(b - a, np.int64), count[:n].copy()
        for e in range(a, b):
            tail = edges[e, 0]
            by_tail[place[tail]] = e - a
            place[tail] += 1
        queue, done, size = np.empty(n, np.int64), 0, 0
        listed = np.zeros(n, np.bool_)
        for v in range(n):
            if entering[v] == 0:
                queue[size] = v
                size += 1
        while done < size:
            v = queue[done]
            done += 1
            listed[v] = True
            for k in range(count[v], count[v + 1]):
                head = edges[a + by_tail[k], 1]
                entering[head] -= 1
                if entering[head] == 0:
                    queue[size] = head
                    size += 1
        if size < n:
            if cyclic < 0:
                cyclic = i
            for v in range(n):
                if not listed[v]:
                    queue[size] = v
                    size += 1
        used = a
        for q in range(n):
            v = queue[q]
            leaving[first + v, 0] = used
            for k in range(count[v], count[v + 1]):
                order[used] = by_tail[k]
                used += 1
            leaving[first + v, 1] = used
    return cyclic


@inlined
def write_path(edges, a, via, source, target, code):
    """Write the edges that lead to the target, from the source on, and −1 after them."""
    length, v = 0, target
    while v != source:
        length += 1
        v = edges[a + via[v], 0]
    for k in range(length, len(code)):
        code[k] = -1
    v = target
    for k in range(length - 1, -1, -1):
        code[k] = via[v]
        v = edges[a + via[v], 0]


@kernel
def best_acyclic_paths(ids, scores, starts, edges, offsets, order, node_offsets, sources, targets, code_offsets, codes):
    """Find the path of greatest total score in each graph without cycles; of equals the first one found."""
    for r in range(len(ids)):
        i = ids[r]
        a, b, n = offsets[i], offsets[i + 1], node_offsets[i + 1] - node_offsets[i]
        best, via = np.full(n, -np.inf), np.full(n, -1)
        best[sources[i]] = 0.0
        for k in range(a, b):
            e = order[k]
            tail, head = edges[a + e, 0], edges[a + e, 1]
            total = best[tail] + scores[starts[r] + e]
            if total > best[head]:
                best[head], via[head] = total, e
        code = codes[code_offsets[i] : code_offsets[i + 1]]
        if best[targets[i]] == -np.inf:
            code[0] = NO_OUTPUT
        else:
            write_path(edges, a, via, sources[i], targets[i], code)


@inlined
def push(heap_cost, heap_node, size, cost, node):
    """Add an entry to a binary heap of this size."""
    k = size
    while k > 0 and heap_cost[(k - 1) // 2] > cost:
        heap_cost[k], heap_node[k] = heap_cost[(k - 1) // 2], heap_node[(k - 1) // 2]
        k = (k - 1) // 2
    heap_cost[k], heap_node[k] = cost, node


@inlined
def pop(heap_cost, heap_node, size):
    """Remove the first entry of a binary heap of this size."""
    cost, node = heap_cost[size - 1], heap_node[size - 1]
    k, last = 0, size - 1
    while 2 * k + 1 < last:
        child = 2 * k + 1
        if child + 1 < last and heap_cost[child + 1] < heap_cost[child]:
            child += 1
        if heap_cost[child] >= cost:
            break
        heap_cost[k], heap_node[k] = heap_cost[child], heap_node[child]
        k = child
    heap_cost[k], heap_node[k] = cost, node


@kernel
def shortest_paths(
    ids, scores, starts, edges, offsets, order, leaving, node_offsets, sources, targets, code_offsets, codes
):
    """Find the path of least total cost = −score in each graph, costs ≥ 0; return the first row of ids with another.

    Return −1 if all costs are ≥ 0.
    """
    for r in range(len(ids)):
        i = ids[r]
        a, b, first = offsets[i], offsets[i + 1], node_offsets[i]
        n = node_offsets[i + 1] - first
        for p in range(starts[r], starts[r + 1]):
            if scores[p] > 0.0:
                return r
        cost, via, closed = np.full(n, np.inf), np.full(n, -1), np.zeros(n, np.bool_)
        heap_cost, heap_node, size = np.empty(b - a + 1), np.empty(b - a + 1, np.int64), 1
        heap_cost[0], heap_node[0], cost[sources[i]] = 0.0, sources[i], 0.0
        while size > 0:
            v = heap_node[0]
            pop(heap_cost, heap_node, size)
            size -= 1
            if closed[v]:
                continue
            closed[v] = True
            if v == targets[i]:
                break
            for k in range(leaving[first + v, 0], leaving[first + v, 1]):
                e = order[k]
                head, total = edges[a + e, 1], cost[v] - scores[starts[r] + e]
                if total < cost[head]:
                    cost[head], via[head] = total, e
                    push(heap_cost, heap_node, size, total, head)
                    size += 1
        code = codes[code_offsets[i] : code_offsets[i + 1]]
        if cost[targets[i]] == np.inf:
            code[0] = NO_OUTPUT
        else:
            write_path(edges, a, via, sources[i], targets[i], code)
    return -1
