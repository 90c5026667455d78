"""Perfect matching of the greatest weight in a general graph, O(n³) (Edmonds 1965; Galil 1986).

The dual has a price for each vertex and a price z ≥ 0 for each blossom, an odd set of vertices that behaves as one:

    slack(a, b) = price_a + price_b + Σ_{blossoms with a and b} z − weight_ab ≥ 0        0 on all edges of the matching

Every stage grows alternating trees from all unmatched vertices at once, over edges of slack 0. A blossom that is not
part of another is a tree node: outer (an even number of edges from its root), inner (odd), or free. Prices of outer
vertices fall and those of inner vertices rise until an edge to a free node gets slack 0 (the tree grows), an edge
between outer nodes does (a path between two trees is flipped, or a cycle becomes a blossom), or z of an inner blossom
is 0 (it is expanded).

Weights are integers, multiples of 4. All prices begin even; as those of all roots change by the same amounts, the slack
between outer nodes is always even and half of it an integer, so all steps are exact. Common arguments:

    top[x]                 the tree node of vertex x
    parent[b]              the blossom that b is a child of, −1 for tree nodes
    base[b]                the vertex of b that is matched outside of b, or not at all
    came[b]                the edge (from an outer node, into b) by which inner node b was reached
    ring[b, k]             children of blossom b − n in the order of their cycle, the one with the base first
    ends[b, k]             the edge from child k to the next child: its vertex in either
    nearest[b, x]          the vertex of blossom b − n with the least slack to vertex x, −1 if there is no edge
    near[x]                the outer vertex with the least slack to vertex x, which is not outer; −1 if there is none
    closest[b]             the edge with the least slack from outer node b to the nodes that were outer before it
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit

FREE, OUTER, INNER = 0, 1, 2
#: Weight of an edge that does not exist.
NO_EDGE = -(2**62)
_FAR = 2**62


@inlined
def slack(price, weights, a, b):
    """Return how much the prices of two nodes exceed the weight of their edge."""
    return price[a] + price[b] - weights[a, b]


@inlined
def member_near(b, x, weights, nearest):
    """Return the vertex of tree node b with the least slack to vertex x, −1 if there is no edge."""
    n = len(weights)
    if b >= n:
        return nearest[b - n, x]
    return b if weights[b, x] != NO_EDGE else -1


@jit
def make_outer(b, weights, price, top, label, nearest, near, closest):
    """Make a tree node outer and look for the edges that its vertices offer."""
    label[b], closest[b, 0] = OUTER, -1
    least = _FAR
    for x in range(len(weights)):
        if top[x] == b:
            continue
        a = member_near(b, x, weights, nearest)
        if a < 0:
            continue
        there = slack(price, weights, a, x)
        if label[top[x]] == OUTER:
            if there < least:
                least, closest[b, 0], closest[b, 1] = there, a, x
        elif near[x] < 0 or there < slack(price, weights, near[x], x):
            near[x] = a


@jit
def next_move(weights, price, z, top, parent, label, near, closest, n_nodes):
    """Return the least change of prices that makes a move possible, and the move: (change, kind, where).

    Kinds are the label of the node concerned: FREE, the tree grows to vertex `where`; OUTER, the closest edge of node
    `where`; INNER, node `where` is expanded; −1 if there is no move.
    """
    n, change, kind, where = len(weights), _FAR, -1, -1
    for b in range(n_nodes):
        if parent[b] >= 0:
            continue
        if label[b] == OUTER and closest[b, 0] >= 0:
            half = slack(price, weights, closest[b, 0], closest[b, 1]) // 2
            if half < change:
                change, kind, where = half, OUTER, b
        elif label[b] == INNER and b >= n and z[b] // 2 < change:
            change, kind, where = z[b] // 2, INNER, b
    for x in range(n):
        if label[top[x]] == FREE and near[x] >= 0:
            there = slack(price, weights, near[x], x)
            if there < change:
                change, kind, where = there, FREE, x
    return change, kind, where


@jit
def change_prices(change, price, z, top, parent, label, n_nodes):
    """Change the prices of outer and inner nodes and blossoms by the same amount, in opposite directions."""
    n = len(price)
    for x in range(n):
        if label[top[x]] == OUTER:
            price[x] -= change
        elif label[top[x]] == INNER:
            price[x] += change
    for b in range(n, n_nodes):
        if parent[b] < 0:
            if label[b] == OUTER:
                z[b] += 2 * change
            elif label[b] == INNER:
                z[b] -= 2 * change


@inlined
def above(b, mate, base, top, came):
    """Return the outer node two steps closer to the root, −1 if b is the root."""
    partner = mate[base[b]]
    return top[came[top[partner], 0]] if partner >= 0 else -1


@jit
def meeting_node(a, b, mate, base, top, came, seen):
    """Return the first outer node on the paths of both outer nodes to their roots, −1 if these differ."""
    seen[:] = False
    while a >= 0:
        seen[a] = True
        a = above(a, mate, base, top, came)
    while b >= 0 and not seen[b]:
        b = above(b, mate, base, top, came)
    return b


@jit
def shrink(b, meeting, u, v, weights, price, mate, top, parent, base, came, ring, ends, size, nearest):
    """Make blossom b of the cycle that the edge u – v closes between two outer nodes below `meeting`."""
    n = len(weights)
    row, edge = ring[b - n], ends[b - n]
    before, node = 0, top[u]
    while node != meeting:
        before, node = before + 2, above(node, mate, base, top, came)
    row[0], place, node = meeting, before, top[u]
    edge[before, 0], edge[before, 1] = u, v
    while node != meeting:
        inner = top[mate[base[node]]]
        row[place], row[place - 1] = node, inner
        edge[place - 1, 0], edge[place - 1, 1] = mate[base[node]], base[node]
        edge[place - 2, 0], edge[place - 2, 1] = came[inner, 0], came[inner, 1]
        place, node = place - 2, top[came[inner, 0]]
    place, node = before + 1, top[v]
    while node != meeting:
        inner = top[mate[base[node]]]
        row[place], row[place + 1] = node, inner
        edge[place, 0], edge[place, 1] = base[node], mate[base[node]]
        edge[place + 1, 0], edge[place + 1, 1] = came[inner, 1], came[inner, 0]
        place, node = place + 2, top[came[inner, 0]]
    size[b], base[b], parent[b] = place, base[meeting], -1
    for k in range(place):
        parent[row[k]] = b
    for x in range(n):
        if parent[top[x]] == b:
            top[x] = b
    for x in range(n):
        best, least = -1, _FAR
        if top[x] != b:
            for k in range(place):
                a = member_near(row[k], x, weights, nearest)
                if a >= 0 and slack(price, weights, a, x) < least:
                    best, least = a, slack(price, weights, a, x)
        nearest[b - n, x] = best


@jit
def dissolve(b, top, parent, label, ring, size):
    """Make the children of blossom b free tree nodes."""
    n = len(top)
    for x in range(n):
        if top[x] == b:
            child = x
            while parent[child] != b:
                child = parent[child]
            top[x] = child
    for k in range(size[b]):
        child = ring[b - n, k]
        parent[child], label[child] = -1, FREE
    size[b], parent[b] = 0, b  # not in use, and never a tree node


@jit
def expand(b, weights, price, top, parent, label, came, ring, ends, size, nearest, near, closest):
    """Expand an inner blossom: the even path from where it was entered to its base stays in the tree."""
    n, length = len(weights), size[b]
    row, edge = ring[b - n], ends[b - n]
    dissolve(b, top, parent, label, ring, size)
    entered, k = top[came[b, 1]], 0
    while row[k] != entered:
        k += 1
    came[entered, 0], came[entered, 1], label[entered] = came[b, 0], came[b, 1], INNER
    step = length - 1 if k % 2 == 0 else 1  # backwards or forwards
    first = k
    while k != 0:
        middle = (k + step) % length
        k = (middle + step) % length
        if step == 1:
            came[row[k], 0], came[row[k], 1] = edge[middle, 0], edge[middle, 1]
        else:
            came[row[k], 0], came[row[k], 1] = edge[k, 1], edge[k, 0]
        label[row[k]] = INNER
    k = first
    while k != 0:
        middle = (k + step) % length
        k = (middle + step) % length
        make_outer(row[middle], weights, price, top, label, nearest, near, closest)


@jit
def rebase(b, u, mate, parent, base, ring, ends, size, todo, turned, turned_ends):
    """Make vertex u the base of node b, and match the other vertices of b among themselves."""
    n, waiting = len(mate), 1
    todo[0, 0], todo[0, 1] = b, u
    while waiting > 0:
        waiting -= 1
        b, u = todo[waiting, 0], todo[waiting, 1]
        if base[b] == u:
            continue
        row, edge, length = ring[b - n], ends[b - n], size[b]
        child, first = u, 0
        while parent[child] != b:
            child = parent[child]
        while row[first] != child:
            first += 1
        for k in range(length):
            at = (first + k) % length
            turned[k], turned_ends[k, 0], turned_ends[k, 1] = row[at], edge[at, 0], edge[at, 1]
        for k in range(length):
            row[k], edge[k, 0], edge[k, 1] = turned[k], turned_ends[k, 0], turned_ends[k, 1]
        base[b] = u
        todo[waiting, 0], todo[waiting, 1] = child, u
        waiting += 1
        for k in range(1, length, 2):
            a, c = edge[k, 0], edge[k, 1]
            mate[a], mate[c] = c, a
            todo[waiting, 0], todo[waiting, 1] = row[k], a
            todo[waiting + 1, 0], todo[waiting + 1, 1] = row[k + 1], c
            waiting += 2


@jit
def flip(u, v, mate, top, parent, base, came, ring, ends, size, todo, turned, turned_ends):
    """Match u with v and flip the path from the node of u to its root."""
    while True:
        node = top[u]
        old = mate[base[node]]
        rebase(node, u, mate, parent, base, ring, ends, size, todo, turned, turned_ends)
        mate[u] = v
        if old < 0:
            return
        inner = top[old]
        u, v = came[inner, 0], came[inner, 1]
        rebase(inner, v, mate, parent, base, ring, ends, size, todo, turned, turned_ends)
        mate[v] = u


@inlined
def first_matching(weights, price, mate):
    """Set even prices without negative slack, as low as they go in turn, and match along slack 0.

    Return False if a vertex has no edge.
    """
    n = len(weights)
    for a in range(n):
        most = NO_EDGE
        for b in range(n):
            most = max(most, weights[a, b])
        if most == NO_EDGE:
            return False
        price[a], mate[a] = most // 2, -1
    for a in range(n):
        least, partner = _FAR, -1
        for b in range(n):
            if weights[a, b] != NO_EDGE:
                there = slack(price, weights, a, b)
                if there < least or (there == least and mate[partner] >= 0 > mate[b]):
                    least, partner = there, b
        price[a] -= least
        if mate[a] < 0 and mate[partner] < 0:
            mate[a], mate[partner] = partner, a
    return True


@jit
def best_perfect_matching(weights, mate):
    """Write the partner of each vertex in the perfect matching of the greatest weight; return False if there is none.

    Weights are symmetric, multiples of 4, and at most 2⁵⁹ / n in absolute value; `NO_EDGE` on the diagonal and wherever
    there is no edge.
    """
    n = len(weights)
    n_nodes = n + n // 2
    price, z, base = np.empty(n, np.int64), np.zeros(n_nodes, np.int64), np.arange(n_nodes)
    if not first_matching(weights, price, mate):
        return False
    top, parent, label = np.arange(n), np.full(n_nodes, -1), np.zeros(n_nodes, np.int64)
    for b in range(n, n_nodes):
        parent[b] = b
    came, closest = np.empty((n_nodes, 2), np.int64), np.empty((n_nodes, 2), np.int64)
    seen, todo = np.empty(n_nodes, np.bool_), np.empty((2 * n, 2), np.int64)
    ring, ends = np.empty((n_nodes - n, n + 1), np.int64), np.empty((n_nodes - n, n + 1, 2), np.int64)
    size, nearest, near = np.zeros(n_nodes, np.int64), np.empty((n_nodes - n, n), np.int64), np.empty(n, np.int64)
    turned, turned_ends = np.empty(n + 1, np.int64), np.empty((n + 1, 2), np.int64)
    n_single = 0
    for x in range(n):
        n_single += mate[x] < 0
    for _stage in range(n_single // 2 + n_single % 2):
        near[:] = -1
        for b in range(n_nodes):
            label[b] = FREE
        for b in range(n_nodes):
            if parent[b] < 0 and mate[base[b]] < 0:
                make_outer(b, weights, price, top, label, nearest, near, closest)
        while True:
            change, kind, where = next_move(weights, price, z, top, parent, label, near, closest, n_nodes)
            if kind < 0:
                return False
            change_prices(change, price, z, top, parent, label, n_nodes)
            if kind == INNER:
                expand(where, weights, price, top, parent, label, came, ring, ends, size, nearest, near, closest)
            elif kind == FREE:
                node = top[where]
                label[node], came[node, 0], came[node, 1] = INNER, near[where], where
                make_outer(top[mate[base[node]]], weights, price, top, label, nearest, near, closest)
            else:
                u, v = closest[where, 0], closest[where, 1]
                meeting = meeting_node(top[u], top[v], mate, base, top, came, seen)
                if meeting < 0:
                    flip(u, v, mate, top, parent, base, came, ring, ends, size, todo, turned, turned_ends)
                    flip(v, u, mate, top, parent, base, came, ring, ends, size, todo, turned, turned_ends)
                    break
                b = n
                while size[b] > 0:
                    b += 1
                z[b] = 0
                shrink(b, meeting, u, v, weights, price, mate, top, parent, base, came, ring, ends, size, nearest)
                make_outer(b, weights, price, top, label, nearest, near, closest)
        dissolved = True
        while dissolved:
            dissolved = False
            for b in range(n, n_nodes):
                if parent[b] < 0 and z[b] == 0:
                    dissolve(b, top, parent, label, ring, size)
                    dissolved = True
    return True
