"""Graphs whose nodes and edges have types, as graphs with columns and labels of their own for each type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import AnyArray
from maxmargin.features.graphs.graphs import read_edges


def typed_graph(
    nodes: Mapping[Any, Any],
    edges: Mapping[Any, Any],
    classes: Mapping[Any, Any],
    labels: Mapping[Any, Any] | None = None,
) -> Any:
    """Return a graph with several types of nodes and edges as an input of `Graph`.

    Each type has weights of its own: features of a type are columns that are 0 for the others. A node may only have the
    labels of its type. Nodes are in the order of the types, and so are predictions.

    Parameters
    ----------
    nodes : dict
        For each type of nodes an array or sparse matrix (n, d) of features. All graphs need the same types, in the same
        order; a type may have no nodes, (0, d).
    edges : dict
        For each type of edges, a tuple that begins with the types of both ends, the edges (m, 2), or a tuple of the
        edges and their features (m, e); by default a single feature of value 1. Nodes are numbered within their type.
    classes : dict
        The labels of each type of nodes. A label of several types is one class. `Graph` needs all of them in this order
        as ``classes``, each once.
    labels : dict, optional
        For each type of nodes the label of each node.

    Returns
    -------
    x : tuple
        (nodes, edges, features of edges, allowed labels).
    y : list
        The label of each node; only returned if there are `labels`.

    Examples
    --------
    Words, each in a box of a page; words are of one kind, boxes of another:

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> classes = {"word": ["name", "amount"], "box": ["head", "table"]}
    >>> nodes = {"word": np.array([[1.0], [0.0], [0.1]]), "box": np.array([[0.0, 1.0], [1.0, 0.0]])}
    >>> edges = {("word", "box"): [(0, 0), (1, 1), (2, 1)], ("word", "word"): ([(1, 2)], np.ones((1, 1)))}
    >>> x, y = mm.typed_graph(nodes, edges, classes, {"word": ["name", "amount", "amount"], "box": ["head", "table"]})
    >>> model = mm.StructuralSVM(mm.Graph(classes=["name", "amount", "head", "table"]), C=10.0).fit([x], [y])
    >>> model.predict([x])
    [['name', 'amount', 'amount', 'head', 'table']]
    """
    if list(classes) != list(nodes):
        raise ValueError(f"classes must have the types of nodes {list(nodes)}, in this order, found {list(classes)}")
    every = list(dict.fromkeys(label for own in classes.values() for label in own))
    rows = {kind: sp.csr_array(table) for kind, table in nodes.items()}
    first = dict(zip(rows, np.cumsum([0, *(table.shape[0] for table in rows.values())]).tolist(), strict=False))
    allowed = [np.tile([label in set(classes[kind]) for label in every], (rows[kind].shape[0], 1)) for kind in rows]
    joined, features = [np.zeros((0, 2), np.int64)], list[Any]()
    for kind, given in edges.items():
        if not isinstance(kind, tuple) or len(kind) < 2 or not set(kind[:2]) <= set(rows):
            raise ValueError(f"types of edges must begin with two types of nodes {list(rows)}, found {kind!r:.60}")
        ends, own = given if isinstance(given, tuple) and len(given) == 2 and np.ndim(given[1]) == 2 else (given, None)
        joined.append(_numbered(ends, kind, first, rows))
        features.append(sp.csr_array(np.ones((len(joined[-1]), 1)) if own is None else own))
        if features[-1].shape[0] != len(joined[-1]):
            raise ValueError(f"edges {kind!r}: {features[-1].shape[0]} rows of features but {len(joined[-1])} edges")
    between = sp.csr_array(sp.block_diag(features)) if features else sp.csr_array((0, 1))
    x = sp.csr_array(sp.block_diag(list(rows.values()))), np.concatenate(joined), between, np.concatenate(allowed)
    if labels is None:
        return x
    for kind, table in rows.items():
        n_labels = len(labels[kind]) if kind in labels else 0
        if n_labels != table.shape[0]:
            raise ValueError(f"labels of {kind!r}: expected {table.shape[0]}, one for each node, found {n_labels}")
    return x, [label for kind in rows for label in labels[kind]]


def _numbered(ends: Any, kind: Any, first: dict[Any, int], rows: dict[Any, Any]) -> AnyArray:
    """Return edges by the numbers of nodes among those of all types."""
    shift = np.array([first[kind[0]], first[kind[1]]])
    table = np.asarray(ends)
    if table.size and table.ndim == 2 and table.shape[1] == 2 and table.dtype.kind in "iu":
        for side in (0, 1):
            n, outside = rows[kind[side]].shape[0], (table[:, side] < 0) | (table[:, side] >= rows[kind[side]].shape[0])
            if outside.any():
                e = int(np.flatnonzero(outside)[0])
                raise ValueError(
                    f"edges {kind!r}: edge {e} is {tuple(table[e].tolist())}, but there are {n} nodes of {kind[side]!r}"
                )
        table = table + shift
    return read_edges(table, f"edges {kind!r}")
