"""Functions that decide, at the top level of a module so that models with them can be saved."""

from __future__ import annotations

import itertools

import numpy as np


def cheapest_two(costs):
    return set(np.argsort(costs, kind="stable")[:2].tolist())


def within(costs, instance):
    """The cheapest 0/1 vector with weights·z ≤ capacity; an instance is (weights, capacity)."""
    weights, capacity = instance
    every = np.array(list(itertools.product((0, 1), repeat=len(costs))))
    allowed = every[every @ weights <= capacity]
    return allowed[np.argmin(allowed @ costs)]


def fits(decision, instance):
    weights, capacity = instance
    return decision @ weights <= capacity


def grid(rows, columns):
    """Arcs to the right and down."""
    right = [((i, j), (i, j + 1)) for i in range(rows) for j in range(columns - 1)]
    return right + [((i, j), (i + 1, j)) for i in range(rows - 1) for j in range(columns)]


def all_paths(arcs, source, sink):
    """All paths, as 0/1 vectors."""
    found = []

    def walk(node, taken):
        if node == sink:
            found.append(np.isin(np.arange(len(arcs)), taken).astype(float))
        for k, (a, b) in enumerate(arcs):
            if a == node:
                walk(b, [*taken, k])

    walk(source, [])
    return np.array(found)
