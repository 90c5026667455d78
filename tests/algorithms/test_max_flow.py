"""Minimum cuts against SciPy's maximum flow, and against the paths that are left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from maxmargin.algorithms.max_flow import arcs_by_node, minimum_cut


def cut(edges, terminal, capacity):
    """Return the sides of the nodes, and what is left of terminals and capacities."""
    n, edges = len(terminal), np.asarray(edges, np.int64).reshape(-1, 2)
    first, leaving = np.empty(n + 1, np.int64), np.empty(2 * len(edges), np.int64)
    arcs_by_node(edges, n, first, leaving)
    terminal, capacity, side = np.array(terminal, float), np.array(capacity, float), np.empty(n, np.int32)
    minimum_cut(edges, first, leaving, terminal, capacity, side)
    return side, terminal, capacity


def network(edges, terminal, capacity):
    """Return capacities as a matrix; the last two nodes are source and sink."""
    n = len(terminal)
    rows = np.concatenate([edges.ravel(), np.full(n, n), np.arange(n)])
    columns = np.concatenate([edges[:, ::-1].ravel(), np.arange(n), np.full(n, n + 1)])
    values = np.concatenate([capacity, np.maximum(terminal, 0), np.maximum(-terminal, 0)])
    matrix = sp.csr_array((values, (rows, columns)), (n + 2, n + 2))
    matrix.eliminate_zeros()
    return matrix


@pytest.mark.parametrize("size", [(2, 1), (6, 9), (12, 12), (12, 40), (60, 100), (60, 400)])
def test_cuts_have_the_capacity_of_the_maximum_flow(size):
    n, m = size
    rng = np.random.default_rng(n * m)
    for _ in range(60):
        edges = np.stack([first := rng.integers(n, size=m), (first + rng.integers(1, n, m)) % n], axis=1)
        terminal = rng.integers(-20, 21, n) * (rng.random(n) < 0.7)
        capacity = rng.integers(0, 15, 2 * m) * (rng.random(2 * m) < 0.8)
        side, rest, left = cut(edges, terminal, capacity)
        cost = np.maximum(terminal, 0)[side == 0].sum() + np.maximum(-terminal, 0)[side == 1].sum()
        tails, heads = edges.ravel(), edges[:, ::-1].ravel()
        cost += capacity[(side[tails] == 1) & (side[heads] == 0)].sum()
        graph = network(edges, terminal, capacity).astype(np.int32)
        # SciPy 1.12 needs indices of 32 bits.
        graph.indices, graph.indptr = graph.indices.astype(np.int32), graph.indptr.astype(np.int32)
        flow = maximum_flow(graph, n, n + 1)
        assert cost == flow.flow_value == np.maximum(terminal, 0).sum() - np.maximum(rest, 0).sum()
        # What is left is that of a flow, and `side` the nodes that can still be reached.
        assert (left >= 0).all() and (left[::2] + left[1::2] == capacity[::2] + capacity[1::2]).all()
        sent = np.bincount(tails, capacity - left, n)
        np.testing.assert_array_equal(terminal - rest, sent)
        reached = breadth_first_order(network(edges, rest, left), n, return_predecessors=False)
        np.testing.assert_array_equal(np.flatnonzero(side), np.sort(reached[reached < n]))


def test_forced_nodes_and_graphs_without_edges():
    """An infinite capacity from a terminal is never exhausted."""
    side, rest, _ = cut([(0, 1), (1, 2), (2, 3)], [np.inf, 1.0, -2.0, -np.inf], [8, 8, 5, 5, 4, 4])
    np.testing.assert_array_equal(side, [1, 1, 0, 0])
    assert rest[0] == np.inf and rest[3] == -np.inf
    side, rest, _ = cut([], [2.0, -1.0, 0.0], [])
    np.testing.assert_array_equal(side, [1, 0, 0])
    np.testing.assert_array_equal(rest, [2.0, -1.0, 0.0])
