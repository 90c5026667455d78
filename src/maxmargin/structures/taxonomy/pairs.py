"""Pairs of a feature and a node that have a weight if not all of them do."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import CodeArray, IntArray
from maxmargin.features.rows.hierarchy import Hierarchy
from maxmargin.features.rows.rows import Rows
from maxmargin.structures.chain.seen_pairs import SeenPairs

#: Nodes with more children do not extend the pairs of their children.
MANY_CHILDREN = 100


def seen_node_pairs(
    rows: Rows, classes: CodeArray, pointers: IntArray, ancestors: IntArray, nodes: list[Any], hierarchy: Hierarchy
) -> SeenPairs:
    """Return the pairs of features and nodes that examples below the node, or below a parent of it, have.

    The children of a node get weights for the same features so that an example of one of them can lower the scores of
    the others. Parents with more than 100 children do not count.

    Parameters
    ----------
    rows : Rows
        Features of the examples.
    classes : ndarray of int
        Class of each row.
    pointers, ancestors : ndarray of int
        The nodes above each class, as numbers of `nodes`.
    nodes : list
        Labels of the nodes that have weights.
    hierarchy : Hierarchy
        The hierarchy.
    """
    n, n_classes, n_nodes = len(classes), len(pointers) - 1, len(nodes)
    present = (rows.values() != 0.0, rows.indices.astype(np.int64), rows.indptr)
    features = sp.csr_array(present, (n, rows.n_columns))
    features.eliminate_zeros()
    labels = sp.csr_array((np.ones(n, bool), classes.astype(np.int64), np.arange(n + 1)), (n, n_classes))
    above = sp.csr_array((np.ones(len(ancestors), bool), ancestors, pointers), (n_classes, n_nodes))
    root = sp.csr_array(np.ones((n_classes, 1), bool))
    seen = (features.T @ labels) @ sp.hstack([above, root], dtype=bool) @ _steps(nodes, hierarchy)
    seen = sp.csr_array(seen)
    seen.sort_indices()
    return SeenPairs(seen.indptr.astype(np.int64), seen.indices.astype(np.int32), n_nodes)


def _steps(nodes: list[Any], hierarchy: Hierarchy) -> Any:
    """Return a matrix from nodes, the root last, to the nodes that get their features: themselves and children."""
    numbers = {hierarchy.codes[node]: k for k, node in enumerate(nodes)} | {0: len(nodes)}
    pairs = [(k, k) for k in range(len(nodes))]
    for z, k in numbers.items():
        pairs += [(numbers[p], k) for p in hierarchy.parents[z] if hierarchy.n_children[p] <= MANY_CHILDREN]
    sources, targets = np.array(pairs, np.int64).T
    return sp.csr_array((np.ones(len(pairs), bool), (sources, targets)), (len(nodes) + 1, len(nodes)))
