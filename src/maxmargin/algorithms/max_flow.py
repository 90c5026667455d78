"""Maximum flow and minimum cut by two search trees that are kept between paths (Boykov and Kolmogorov 2004).

Arc 2e goes from the first to the second end of edge e, arc 2e + 1 back; the arcs that leave node v are
``leaving[first[v] : first[v + 1]]``. `terminal[v]` is the capacity from the source to v if positive, minus the capacity
from v to the sink if negative; it may be infinite. Both `terminal` and `capacity` are overwritten by what is left.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit

#: Parents of nodes: none, the terminal itself, and none since the arc to the parent was saturated.
FREE, TERMINAL, ORPHAN = np.uint32(0xFFFFFFFF), np.uint32(0xFFFFFFFE), np.uint32(0xFFFFFFFD)
#: Indices are unsigned, which spares compiled functions the check for negative ones; arc ^ ONE is the arc back.
ONE = np.uint32(1)
#: Numbers of the type of positions in rings.
ZERO, UNIT = np.uint64(0), np.uint64(1)
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


@jit
def short_paths(edges, heads, first, leaving, terminal, capacity):
    """Push flow along paths of one and of two arcs between terminals, which leaves few paths to search for."""
    for e in range(len(edges)):
        i, j, arc = edges[e, 0], edges[e, 1], 2 * e
        if terminal[i] < 0.0:
            i, j, arc = j, i, arc + 1
        if terminal[i] > 0.0 and terminal[j] < 0.0:
            amount = min(capacity[arc], terminal[i], -terminal[j])
            if amount > 0.0:
                capacity[arc] -= amount
                capacity[arc ^ 1] += amount
                terminal[i] -= amount
                terminal[j] += amount
    for v in range(len(terminal)):
        a, b, end = first[v], first[v], first[v + ONE]
        while True:
            while a < end and not (terminal[heads[leaving[a]]] > 0.0 and capacity[leaving[a] ^ ONE] > 0.0):
                a += ONE
            while b < end and not (terminal[heads[leaving[b]]] < 0.0 and capacity[leaving[b]] > 0.0):
                b += ONE
            if a >= end or b >= end:
                break
            into, out = leaving[a] ^ ONE, leaving[b]
            begin, last = heads[leaving[a]], heads[out]
            amount = min(min(capacity[into], capacity[out]), min(terminal[begin], -terminal[last]))
            capacity[into] -= amount
            capacity[into ^ ONE] += amount
            capacity[out] -= amount
            capacity[out ^ ONE] += amount
            terminal[begin] -= amount
            terminal[last] += amount


@jit
def minimum_cut(edges, first, leaving, terminal, capacity, side):
    """Saturate the graph; set `side` to 1 for the nodes that can still be reached from the source, else to 0.

    These nodes are the same for every maximum flow, so ties are always broken in the same way.
    """
    # One function, since Numba counts references to all arrays at each call, which would take most of the time.
    n, heads = len(terminal), np.empty(len(capacity), np.uint32)
    for e in range(len(edges)):
        heads[2 * e], heads[2 * e + 1] = edges[e, 1], edges[e, 0]
    by_node, begins = leaving.astype(np.uint32), first.astype(np.uint32)
    short_paths(edges, heads, begins, by_node, terminal, capacity)
    parent, sink = np.full(n, FREE, np.uint32), np.zeros(n, np.bool_)
    stamp, distance, clock = np.zeros(n, np.int64), np.zeros(n, np.int64), 0
    # Rings of active nodes, each of which is in it once, and of orphans.
    queue, waiting, queue_begin, queue_end = np.empty(n + 1, np.uint32), np.zeros(n, np.bool_), ZERO, ZERO
    orphans, orphan_begin, orphan_end = np.empty(n + 1, np.uint32), ZERO, ZERO
    size = np.uint64(n + 1)
    for node in range(n):
        if terminal[node] != 0.0:
            parent[node], sink[node], distance[node] = TERMINAL, terminal[node] < 0.0, 1
            waiting[node], queue[queue_end] = True, node
            queue_end = queue_end + UNIT if queue_end + UNIT < size else ZERO
    active, current = False, np.uint32(0)
    while True:
        if not active or parent[current] == FREE:
            active = False
            while not active and queue_begin != queue_end:
                current = queue[queue_begin]
                queue_begin = queue_begin + UNIT if queue_begin + UNIT < size else ZERO
                waiting[current] = False
                active = parent[current] != FREE
            if not active:
                break

        # Extend the tree of the active node until it meets the other tree.
        v, bridge, met = current, np.uint32(0), False
        for k in range(begins[v], begins[v + ONE]):
            arc = by_node[k]
            along = arc ^ ONE if sink[v] else arc
            if capacity[along] <= 0.0:
                continue
            u = heads[arc]
            if parent[u] == FREE:
                sink[u], parent[u], stamp[u], distance[u] = sink[v], arc ^ ONE, stamp[v], distance[v] + 1
                if not waiting[u]:
                    waiting[u], queue[queue_end] = True, u
                    queue_end = queue_end + UNIT if queue_end + UNIT < size else ZERO
            elif sink[u] != sink[v]:
                bridge, met = along, True
                break
            elif stamp[u] <= stamp[v] and distance[u] > distance[v]:
                parent[u], stamp[u], distance[u] = arc ^ ONE, stamp[v], distance[v] + 1
        if not met:
            active = False
            continue

        # Push as much as possible along the path; nodes behind saturated arcs become orphans.
        clock += 1
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
        capacity[bridge] -= amount
        capacity[bridge ^ ONE] += amount
        orphan_begin = orphan_end = ZERO
        v = heads[bridge ^ ONE]
        while parent[v] < ORPHAN:
            arc = parent[v]
            u = heads[arc]
            capacity[arc] += amount
            capacity[arc ^ ONE] -= amount
            if capacity[arc ^ ONE] <= 0.0:
                parent[v], orphans[orphan_end] = ORPHAN, v
                orphan_end += UNIT
            v = u
        terminal[v] -= amount
        if terminal[v] <= 0.0:
            parent[v], orphans[orphan_end], terminal[v] = ORPHAN, v, 0.0
            orphan_end += UNIT
        v = heads[bridge]
        while parent[v] < ORPHAN:
            arc = parent[v]
            u = heads[arc]
            capacity[arc] -= amount
            capacity[arc ^ ONE] += amount
            if capacity[arc] <= 0.0:
                parent[v], orphans[orphan_end] = ORPHAN, v
                orphan_end += UNIT
            v = u
        terminal[v] += amount
        if terminal[v] >= 0.0:
            parent[v], orphans[orphan_end], terminal[v] = ORPHAN, v, 0.0
            orphan_end += UNIT

        # Find new parents for orphans; an orphan without one leaves its tree, and its children become orphans.
        while orphan_begin != orphan_end:
            v = orphans[orphan_begin]
            orphan_begin = orphan_begin + UNIT if orphan_begin + UNIT < size else ZERO
            best, nearest = np.uint32(0), FAR
            for k in range(begins[v], begins[v + ONE]):
                arc = by_node[k]
                u = heads[arc]
                if parent[u] == FREE or sink[u] != sink[v] or capacity[arc if sink[v] else arc ^ ONE] <= 0.0:
                    continue
                # The number of steps from u to its terminal, if its path does not end at an orphan.
                steps, t = 0, u
                while stamp[t] != clock:
                    steps += 1
                    if parent[t] == TERMINAL:
                        stamp[t], distance[t] = clock, 1
                        steps -= 1
                    elif parent[t] >= ORPHAN:
                        steps = FAR
                        break
                    else:
                        t = heads[parent[t]]
                if steps == FAR:
                    continue
                steps += distance[t]
                left, t = steps, u
                while stamp[t] != clock:
                    stamp[t], distance[t] = clock, left
                    left -= 1
                    t = heads[parent[t]]
                if steps < nearest:
                    best, nearest = arc, steps
            if nearest < FAR:
                parent[v], stamp[v], distance[v] = best, clock, nearest + 1
                continue
            parent[v] = FREE
            for k in range(begins[v], begins[v + ONE]):
                arc = by_node[k]
                u = heads[arc]
                if parent[u] == FREE or sink[u] != sink[v]:
                    continue
                if capacity[arc if sink[v] else arc ^ ONE] > 0.0 and not waiting[u]:
                    waiting[u], queue[queue_end] = True, u
                    queue_end = queue_end + UNIT if queue_end + UNIT < size else ZERO
                if parent[u] < ORPHAN and heads[parent[u]] == v:
                    parent[u], orphans[orphan_end] = ORPHAN, u
                    orphan_end = orphan_end + UNIT if orphan_end + UNIT < size else ZERO
    for node in range(n):
        side[node] = 1 if parent[node] != FREE and not sink[node] else 0


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
