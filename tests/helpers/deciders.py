"""Functions that decide, at the top level of a module so that models with them can be saved, and data for them."""

from __future__ import annotations

import itertools

import numpy as np

import maxmargin as mm


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


ARCS = grid(3, 3)
PATHS = all_paths(ARCS, (0, 0), (2, 2))
M = len(ARCS)


def paths():
    """The optimiser of the paths in PATHS."""
    return mm.Optimizer.shortest_path(ARCS, (0, 0), (2, 2))


def data(n=40, d=3, seed=0, degree=4):
    """Features, and costs of arcs that are not linear in them."""
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(n, d)), rng.binomial(1, 0.5, (M, d))
    costs = (X @ B.T / np.sqrt(d) + 3.0) ** degree / 3.5**degree * rng.uniform(0.5, 1.5, (n, M))
    return X, costs
