"""Compiled functions for best paths: one pass in topological order, or Dijkstra's algorithm (1959).

Common arguments: `edges` are the tail and head of each edge, `offsets` the first edge of each graph; `order` lists the
edges of each graph by their tails, in topological order of the tails if the graph has no cycle; the edges that leave
node v of graph i are ``order[leaving[k] : leaving[k + 1]]`` with k = v + the first node of the graph in
`node_offsets`. Scores of −∞ forbid an edge. The code of a path is its edges from source to target, then −1.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import NO_OUTPUT

#: Steps of a search for the best path through one edge of a graph with cycles, and edges looked at in all searches.
MOST_STEPS, MOST_LOOKS = 300, 3e8


@jit
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


@jit
def best_acyclic_paths(ids, scores, starts, edges, offsets, order, node_offsets, sources, targets, code_offsets, codes):
    """Find the path of greatest total score in each graph without cycles; ties go to the first one found."""
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


@jit
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


@jit
def acyclic_paths_through(scores, edges, order, n_nodes, source, target, found):
    """Write the score of the best path through each edge of one graph without cycles: best before, edge, best after."""
    before, after = np.full(n_nodes, -np.inf), np.full(n_nodes, -np.inf)
    before[source], after[target] = 0.0, 0.0
    for k in range(len(order)):
        tail, head = edges[order[k], 0], edges[order[k], 1]
        before[head] = max(before[head], before[tail] + scores[order[k]])
    for k in range(len(order) - 1, -1, -1):
        tail, head = edges[order[k], 0], edges[order[k], 1]
        after[tail] = max(after[tail], after[head] + scores[order[k]])
    for e in range(len(edges)):
        found[e] = before[edges[e, 0]] + scores[e] + after[edges[e, 1]]


@inlined
def distances(start, scores, edges, end, ptr, listed, closed, cost, via):
    """Write the least cost of a path from each node to `start` (end = 0), or from `start` to each node (end = 1).

    ``listed[ptr[v] : ptr[v + 1]]`` are the edges that enter (end = 0) or leave (end = 1) node v. Nodes that are closed
    from the beginning are left out; the others are open again at the end. `via` is the edge at each node.
    """
    n = len(cost)
    heap_cost, heap_node, size = np.empty(len(edges) + 1), np.empty(len(edges) + 1, np.int64), 1
    done = closed.copy()
    for v in range(n):
        cost[v], via[v] = np.inf, -1
    heap_cost[0], heap_node[0], cost[start] = 0.0, start, 0.0
    while size > 0:
        v = heap_node[0]
        pop(heap_cost, heap_node, size)
        size -= 1
        if done[v]:
            continue
        done[v] = True
        for k in range(ptr[v], ptr[v + 1]):
            e = listed[k]
            u, total = edges[e, end], cost[v] - scores[e]
            if not done[u] and total < cost[u]:
                cost[u], via[u] = total, e
                push(heap_cost, heap_node, size, total, u)
                size += 1


@inlined
def edges_at(edges, end, n_nodes, ptr, listed):
    """Write the edges whose tail (end = 0) or head (end = 1) is each node."""
    ptr[:] = 0
    for e in range(len(edges)):
        ptr[edges[e, end] + 1] += 1
    for v in range(n_nodes):
        ptr[v + 1] += ptr[v]
    place = ptr[:n_nodes].copy()
    for e in range(len(edges)):
        listed[place[edges[e, end]]] = e
        place[edges[e, end]] += 1


@inlined
def sort_by_way(scores, edges, near, ptr, leave):
    """Sort the edges that leave each node by the costs of the ways on which they begin."""
    for v in range(len(near)):
        for k in range(ptr[v] + 1, ptr[v + 1]):
            e, j = leave[k], k
            cost = near[edges[e, 1]] - scores[e]
            while j > ptr[v] and near[edges[leave[j - 1], 1]] - scores[leave[j - 1]] > cost:
                leave[j] = leave[j - 1]
                j -= 1
            leave[j] = e


@jit
def shortest_paths_through(scores, edges, n_nodes, source, target, found):
    """Write the score of the best path without repeated nodes through each edge of one graph, costs = −scores ≥ 0.

    Where the shortest paths to an edge and from it share no node, they are the best. Elsewhere the paths to the edge
    are searched in depth, with the shortest path from it that avoids their nodes as a bound. To decide whether there
    are two disjoint paths is hard, so searches are limited; a search that does not end leaves NaN, not known.
    """
    n, m = n_nodes, len(edges)
    leave_ptr, leave = np.zeros(n + 1, np.int64), np.empty(m, np.int64)
    enter_ptr, enter = np.zeros(n + 1, np.int64), np.empty(m, np.int64)
    edges_at(edges, 0, n, leave_ptr, leave)
    edges_at(edges, 1, n, enter_ptr, enter)
    closed = np.zeros(n, np.bool_)
    to, to_via, from_, from_via = np.empty(n), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    distances(source, scores, edges, 1, leave_ptr, leave, closed, to, to_via)
    distances(target, scores, edges, 0, enter_ptr, enter, closed, from_, from_via)
    near, near_via = np.empty(n), np.empty(n, np.int64)
    rest, rest_via = np.empty(n), np.empty(n, np.int64)
    node, next_edge, walked = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1)
    after, looks = np.empty(n + 1), 0.0
    for e in range(m):
        tail, head = edges[e, 0], edges[e, 1]
        bound = to[tail] - scores[e] + from_[head]
        found[e] = -np.inf
        if bound == np.inf or head == source or tail == target:
            continue
        seen = np.zeros(n, np.bool_)
        v = tail
        seen[v] = True
        while v != source:
            v = edges[to_via[v], 0]
            seen[v] = True
        v, apart = head, not seen[head]
        while apart and v != target:
            v = edges[from_via[v], 1]
            apart = not seen[v]
        if apart:
            found[e] = -bound
            continue
        # Paths to the tail that avoid head and target, each followed by the shortest path that avoids them.
        seen[:] = False
        seen[head] = seen[target] = True
        distances(tail, scores, edges, 0, enter_ptr, enter, seen, near, near_via)
        sort_by_way(scores, edges, near, leave_ptr, leave)
        best, depth, steps = np.inf, 0, 0
        looks += m
        node[0], next_edge[0], walked[0] = source, leave_ptr[source], 0.0
        seen[:] = False
        seen[source], seen[tail] = True, True
        distances(head, scores, edges, 1, leave_ptr, leave, seen, rest, rest_via)
        seen[tail], seen[head], after[0] = source == tail, True, rest[target]
        while depth >= 0 and steps <= MOST_STEPS and looks < MOST_LOOKS:
            v = node[depth]
            if v == tail:
                best = min(best, walked[depth] - scores[e] + after[depth])
                seen[v], depth = False, depth - 1
                continue
            if next_edge[depth] == leave_ptr[v + 1]:
                seen[v], depth = False, depth - 1
                continue
            k = leave[next_edge[depth]]
            next_edge[depth] += 1
            u, cost = edges[k, 1], walked[depth] - scores[k]
            if seen[u] or u == target or not cost + near[u] - scores[e] + from_[head] < best:
                continue
            seen[u], seen[head], seen[tail] = True, False, True
            distances(head, scores, edges, 1, leave_ptr, leave, seen, rest, rest_via)
            seen[tail], seen[head], steps, looks = u == tail, True, steps + 1, looks + m
            if cost + near[u] - scores[e] + rest[target] < best:
                depth += 1
                node[depth], next_edge[depth], walked[depth], after[depth] = u, leave_ptr[u], cost, rest[target]
            else:
                seen[u] = False
        found[e] = np.nan if depth >= 0 else -best
