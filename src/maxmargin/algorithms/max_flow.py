"""Maximum flow and minimum cut by two search trees that are kept between paths (Boykov and Kolmogorov 2004).

Arc 2e goes from the first to the second end of edge e, arc 2e + 1 back; the arcs that leave node v are
``leaving[first[v] : first[v + 1]]``. `terminal[v]` is the capacity from the source to v if positive, minus the capacity
from v to the sink if negative; it may be infinite. Both `terminal` and `capacity` are overwritten by what is left.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit

#: Parents of nodes: none, the terminal itself, and none since the arc to the parent was saturated.
FREE, TERMINAL, ORPHAN = np.uint32(0xFFFFFFFF), np.uint32(0xFFFFFFFE), np.uint32(0xFFFFFFFD)
#: Indices are unsigned, which spares compiled functions the check for negative ones; arc ^ ONE is the arc back.
ONE = np.uint32(1)
#: Distance of a node whose path to the terminal has not been found.
FAR = 1 << 60


@jit
def arcs_by_node(edges, n_nodes, first, leaving):
    """Write the arcs that leave each node of one graph."""
    for v in range(n_nodes + 1):
        first[v] = 0
    for e in range(len(edges)):
        first[edges[e, 0] + 1] += 1
        first[edges[e, 1] + 1] += 1
    for v in range(n_nodes):
        first[v + ONE] += first[v]
    place = first[:n_nodes].copy()
    for e in range(len(edges)):
        for side in range(2):
            v = edges[e, side]
            leaving[place[v]] = 2 * e + side
            place[v] += 1


@inlined
def activate(v, waiting, queue, ends):
    """Append a node to the ring of active nodes unless it is there."""
    if not waiting[v]:
        waiting[v] = True
        queue[ends[1]] = v
        ends[1] = ends[1] + 1 if ends[1] + 1 < len(queue) else 0


@jit
def minimum_cut(edges, first, leaving, terminal, capacity, side):
    """Saturate the graph; set `side` to 1 for the nodes that can still be reached from the source, else to 0.

    These nodes are the same for every maximum flow, so ties are always broken in the same way.
    """
    n, heads = len(terminal), np.empty(len(capacity), np.uint32)
    for e in range(len(edges)):
        heads[2 * e], heads[2 * e + 1] = edges[e, 1], edges[e, 0]
    by_node, begins = leaving.astype(np.uint32), first.astype(np.uint32)
    parent, sink = np.full(n, FREE, np.uint32), np.zeros(n, np.bool_)
    stamp, distance = np.zeros(n, np.int64), np.zeros(n, np.int64)
    waiting, queue, ends = np.zeros(n, np.bool_), np.empty(n + 1, np.uint32), np.zeros(2, np.uint64)
    orphans = np.empty(n, np.uint32)
    for v in range(n):
        if terminal[v] != 0.0:
            parent[v], sink[v], distance[v] = TERMINAL, terminal[v] < 0.0, 1
            activate(v, waiting, queue, ends)
    clock, current = 0, -1
    while True:
        if current < 0 or parent[current] == FREE:
            current = -1
            while ends[0] != ends[1]:
                v = queue[ends[0]]
                ends[0] = ends[0] + 1 if ends[0] + 1 < len(queue) else 0
                waiting[v] = False
                if parent[v] != FREE:
                    current = v
                    break
            if current < 0:
                break
        bridge = grow(
            np.uint32(current), heads, begins, by_node, capacity, parent, sink, stamp, distance, waiting, queue, ends
        )
        if bridge < 0:
            current = -1
            continue
        clock += 1
        count = augment(np.uint32(bridge), heads, terminal, capacity, parent, orphans)
        adopt(
            orphans, count, clock, heads, begins, by_node, capacity, parent, sink, stamp, distance, waiting, queue, ends
        )
    for v in range(n):
        side[v] = 1 if parent[v] != FREE and not sink[v] else 0


@inlined
def grow(v, heads, first, leaving, capacity, parent, sink, stamp, distance, waiting, queue, ends):
    """Extend the tree of an active node; return an arc from the tree of the source to that of the sink, or −1."""
    bridge = -1
    for k in range(first[v], first[v + ONE]):
        arc = leaving[k]
        along = arc ^ ONE if sink[v] else arc
        if capacity[along] <= 0.0:
            continue
        u = heads[arc]
        if parent[u] == FREE:
            sink[u], parent[u], stamp[u], distance[u] = sink[v], arc ^ ONE, stamp[v], distance[v] + 1
            activate(u, waiting, queue, ends)
        elif sink[u] != sink[v]:
            bridge = along
            break
        elif stamp[u] <= stamp[v] and distance[u] > distance[v]:
            parent[u], stamp[u], distance[u] = arc ^ ONE, stamp[v], distance[v] + 1
    return bridge


@inlined
def augment(bridge, heads, terminal, capacity, parent, orphans):
    """Push as much as possible along the path through an arc; return the number of nodes cut off from their trees."""
    amount = capacity[bridge]
    v = heads[bridge ^ ONE]
    while parent[v] < ORPHAN:
        amount = min(amount, capacity[parent[v] ^ ONE])
        v = heads[parent[v]]
    amount = min(amount, terminal[v])
    v = heads[bridge]
    while parent[v] < ORPHAN:
        amount = min(amount, capacity[parent[v]])
        v = heads[parent[v]]
    amount = min(amount, -terminal[v])
    count = 0
    capacity[bridge] -= amount
    capacity[bridge ^ ONE] += amount
    v = heads[bridge ^ ONE]
    while parent[v] < ORPHAN:
        arc = parent[v]
        u = heads[arc]
        capacity[arc] += amount
        capacity[arc ^ ONE] -= amount
        if capacity[arc ^ ONE] <= 0.0:
            parent[v], orphans[count] = ORPHAN, v
            count += 1
        v = u
    terminal[v] -= amount
    if terminal[v] <= 0.0:
        parent[v], orphans[count], terminal[v] = ORPHAN, v, 0.0
        count += 1
    v = heads[bridge]
    while parent[v] < ORPHAN:
        arc = parent[v]
        u = heads[arc]
        capacity[arc] -= amount
        capacity[arc ^ ONE] += amount
        if capacity[arc] <= 0.0:
            parent[v], orphans[count] = ORPHAN, v
            count += 1
        v = u
    terminal[v] += amount
    if terminal[v] >= 0.0:
        parent[v], orphans[count], terminal[v] = ORPHAN, v, 0.0
        count += 1
    return count


@inlined
def origin_distance(v, clock, heads, parent, stamp, distance):
    """Return the number of steps from a node to its terminal, `FAR` if its path ends at an orphan."""
    steps, u = 0, v
    while True:
        if stamp[u] == clock:
            steps += distance[u]
            break
        steps += 1
        if parent[u] == TERMINAL:
            stamp[u], distance[u] = clock, 1
            break
        if parent[u] >= ORPHAN:
            return FAR
        u = heads[parent[u]]
    left, u = steps, v
    while stamp[u] != clock:
        stamp[u], distance[u] = clock, left
        left -= 1
        u = heads[parent[u]]
    return steps


@inlined
def adopt(orphans, count, clock, heads, first, leaving, capacity, parent, sink, stamp, distance, waiting, queue, ends):
    """Find new parents for orphans; an orphan without one leaves its tree, and its children become orphans."""
    while count > 0:
        count -= 1
        v = orphans[count]
        best, nearest = -1, FAR
        for k in range(first[v], first[v + ONE]):
            arc = leaving[k]
            u = heads[arc]
            if parent[u] == FREE or sink[u] != sink[v] or capacity[arc if sink[v] else arc ^ ONE] <= 0.0:
                continue
            steps = origin_distance(u, clock, heads, parent, stamp, distance)
            if steps < nearest:
                best, nearest = arc, steps
        if best >= 0:
            parent[v], stamp[v], distance[v] = best, clock, nearest + 1
            continue
        parent[v] = FREE
        for k in range(first[v], first[v + ONE]):
            arc = leaving[k]
            u = heads[arc]
            if parent[u] == FREE or sink[u] != sink[v]:
                continue
            if capacity[arc if sink[v] else arc ^ ONE] > 0.0:
                activate(u, waiting, queue, ends)
            if parent[u] < ORPHAN and heads[parent[u]] == v:
                parent[u] = ORPHAN
                orphans[count] = u
                count += 1


@jit
def change_costs(edges, first, leaving, terminal, capacity, side, costs):
    """Write how much more a cut costs at least if single nodes are on the other side (Kohli and Torr 2008).

    `terminal` and `capacity` are what `minimum_cut` left of a maximum flow. To force node v to the other side, it is
    joined with the other terminal without limit; the flow that this adds is the cost. It starts from the flow found,
    along shortest paths from v, which are few and short, and is taken back before the next node.
    """
    n, n_edges = len(terminal), len(edges)
    heads = np.empty(2 * n_edges, np.int64)
    for e in range(n_edges):
        heads[2 * e], heads[2 * e + 1] = edges[e, 1], edges[e, 0]
    kept, left = capacity.copy(), terminal.copy()
    via, stamp, queue, clock = np.empty(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64), 0
    changed, is_changed = np.empty(n_edges, np.int64), np.zeros(n_edges, np.bool_)
    ends, is_end = np.empty(n, np.int64), np.zeros(n, np.bool_)
    for v in range(n):
        # Flow goes from v to the sink if v is on the side of the sink, and from the source to v otherwise.
        sign = 1.0 if side[v] == 0 else -1.0
        cost, n_changed, n_ends = max(0.0, -sign * left[v]), 0, 0
        while cost < np.inf:
            clock += 1
            begin, size, end = 0, 1, -1
            queue[0], stamp[v] = v, clock
            while begin < size and end < 0:
                u = queue[begin]
                begin += 1
                for k in range(first[u], first[u + 1]):
                    arc = leaving[k]
                    t = heads[arc]
                    if stamp[t] != clock and kept[arc if sign > 0.0 else arc ^ 1] > 0.0:
                        stamp[t], via[t] = clock, arc
                        if sign * left[t] < 0.0:
                            end = t
                            break
                        queue[size] = t
                        size += 1
            if end < 0:
                break
            amount, u = -sign * left[end], end
            while u != v:
                arc = via[u]
                amount = min(amount, kept[arc if sign > 0.0 else arc ^ 1])
                u = heads[arc ^ 1]
            u = end
            while u != v:
                arc = via[u]
                along = arc if sign > 0.0 else arc ^ 1
                kept[along] -= amount
                kept[along ^ 1] += amount
                if not is_changed[arc // 2]:
                    is_changed[arc // 2], changed[n_changed] = True, arc // 2
                    n_changed += 1
                u = heads[arc ^ 1]
            if not is_end[end]:
                is_end[end], ends[n_ends] = True, end
                n_ends += 1
            left[end] += sign * amount
            cost += amount
        costs[v] = cost
        for k in range(n_changed):
            e = changed[k]
            is_changed[e] = False
            kept[2 * e], kept[2 * e + 1] = capacity[2 * e], capacity[2 * e + 1]
        for k in range(n_ends):
            left[ends[k]], is_end[ends[k]] = terminal[ends[k]], False
