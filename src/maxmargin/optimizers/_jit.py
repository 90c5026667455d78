"""Compiled functions of ready optimisers, over batches of costs."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit


@jit
def shortest_paths(costs, tails, heads, first, last, n_nodes, decisions):
    """Write the cheapest path from `first` to `last` in each row of `decisions`, 1 for the arcs of the path.

    Arcs into a node precede those out of it; tails and heads are the nodes in this order, and
    `tails[k, 1]` is the number of the arc in the user's order. Ties go to the arc listed first.
    """
    best, into = np.empty(n_nodes), np.empty(n_nodes, np.int64)
    for r in range(len(costs)):
        best[:] = np.inf
        best[first] = 0.0
        row = costs[r]
        for k in range(len(heads)):
            at = best[tails[k, 0]] + row[tails[k, 1]]
            if at < best[heads[k]]:
                best[heads[k]], into[heads[k]] = at, k
        node = last
        while node != first:
            k = into[node]
            decisions[r, tails[k, 1]] = 1.0
            node = tails[k, 0]


@inlined
def _relaxed(values, weights, order, open_at, depth, room):
    """Return the value of the fractional knapsack of one dimension over the items not decided before `depth`."""
    gain = 0.0
    for j in order:
        if values[j] <= 0.0:
            break
        if open_at[j] < depth:
            continue
        if weights[j] > room:
            return gain + values[j] * room / weights[j]
        room -= weights[j]
        gain += values[j]
    return gain


@jit
def knapsacks(costs, weights, capacity, decisions):
    """Write the cheapest set of items within all capacities, by depth-first branch and bound.

    The bound is the least of the fractional knapsacks of single dimensions (Dantzig 1957); items of negative cost are
    branched on by cost, and taken first.
    """
    n_dims, m = weights.shape
    orders, room = np.empty((n_dims, m), np.int64), np.empty(n_dims)
    open_at, taken = np.empty(m, np.int64), np.empty(m, np.bool_)
    density = np.empty(m)
    for r in range(len(costs)):
        values = -costs[r]
        for k in range(n_dims):
            for j in range(m):
                density[j] = -values[j] / max(weights[k, j], 1e-300) if values[j] > 0.0 else np.inf
            orders[k] = np.argsort(density, kind="mergesort")
            room[k] = capacity[k]
        branch = np.argsort(-values, kind="mergesort")
        n_open = 0
        for t in range(m):
            open_at[branch[t]] = t
            n_open += values[branch[t]] > 0.0
        taken[:] = False
        value, best, t = 0.0, -1.0, 0
        slack = 1e-12 * np.abs(values).sum()
        while True:
            bound = value
            if t < n_open:
                least = np.inf
                for k in range(n_dims):
                    least = min(least, _relaxed(values, weights[k], orders[k], open_at, t, room[k]))
                bound += least
            if value > best:
                best = value
                for j in range(m):
                    decisions[r, j] = 1.0 if taken[j] else 0.0
            if t < n_open and bound > best + slack:
                j, fits = branch[t], True
                for k in range(n_dims):
                    fits = fits and weights[k, j] <= room[k]
                if fits:
                    taken[j] = True
                    value += values[j]
                    for k in range(n_dims):
                        room[k] -= weights[k, j]
                t += 1
                continue
            t -= 1
            while t >= 0 and not taken[branch[t]]:
                t -= 1
            if t < 0:
                break
            j = branch[t]
            taken[j] = False
            value -= values[j]
            for k in range(n_dims):
                room[k] += weights[k, j]
            t += 1
