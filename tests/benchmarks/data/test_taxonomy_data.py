"""Draws of documents and pruned trees of the taxonomy benchmark."""

from __future__ import annotations

import numpy as np

from benchmarks.data.taxonomies import per_class, pruned


def test_a_draw_has_k_of_each_class():
    y = np.repeat([3, 5, 9], [4, 6, 5])
    chosen, rest = per_class(y, 2, np.random.default_rng(0))
    assert np.bincount(y[chosen])[[3, 5, 9]].tolist() == [2, 2, 2]
    assert sorted([*chosen, *rest]) == list(range(15))
    other, _ = per_class(y, 2, np.random.default_rng(1))
    assert other.tolist() != chosen.tolist()


def test_only_nodes_above_the_classes_are_kept():
    edges = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5)]
    assert pruned(edges, np.array([3, 4])) == [(0, 1), (1, 3), (1, 4)]
    assert pruned(edges, np.array([5])) == [(0, 2), (2, 5)]
