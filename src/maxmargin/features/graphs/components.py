"""Connected components of labelled graphs, as graphs of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import IntArray
from maxmargin.features.graphs.graphs import read_allowed, read_edges


def graph_components(x: Any, y: Any = None) -> tuple[list[Any], list[Any]]:
    """Split a graph into its connected components.

    The best labels of a graph are those of its components, and its hinge is the sum of theirs (margin re-scaling,
    linear slack, losses that count nodes), so training on the components is the same problem. It converges faster,
    since every component has planes of its own. The fraction of wrong labels (``cost="hamming-share"``) is another loss
    on components.

    Parameters
    ----------
    x : tuple
        A graph (nodes, edges[, features[, allowed]]), as `Graph` and `Cut` take it.
    y : sequence, optional
        The label of each node.

    Returns
    -------
    X, Y : list
        The components in the order of their first nodes, and their labels, in the order of the nodes; Y is empty
        without y.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, Y = mm.graph_components((np.eye(4), [(0, 2), (1, 3)]), ["a", "b", "c", "d"])
    >>> Y
    [['a', 'c'], ['b', 'd']]
    """
    if not isinstance(x, tuple | list) or not 2 <= len(x) <= 4:
        raise ValueError(f"x must be (nodes, edges[, features[, allowed]]), found {type(x).__name__}")
    nodes, features, allowed = x[0], x[2] if len(x) > 2 else None, x[3] if len(x) > 3 else None
    n = int(nodes.shape[0]) if hasattr(nodes, "shape") else len(nodes)
    edges = read_edges(x[1], "x", n)
    if y is not None and len(y) != n:
        raise ValueError(f"x has {n} nodes but y has {len(y)} labels")
    if allowed is not None:
        allowed = read_allowed(allowed, np.shape(allowed), "labels", "x")
    joined = sp.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), (n, n))
    n_parts, part = sp.csgraph.connected_components(joined, directed=False)
    members, place = _grouped(part, n_parts), np.empty(n, np.int64)
    for own in members:
        place[own] = np.arange(len(own))
    joins = _grouped(part[edges[:, 0]], n_parts)
    X, Y = list[Any](), list[Any]()
    for own, links in zip(members, joins, strict=True):
        graph: tuple[Any, ...] = (_rows(nodes, own), place[edges[links]])
        if features is not None or allowed is not None:
            graph = (*graph, None if features is None else _rows(features, links))
        X.append((*graph, allowed[own]) if allowed is not None else graph)
        if y is not None:
            Y.append(_rows(y, own))
    return X, Y


def _grouped(part: Any, n_parts: int) -> list[IntArray]:
    """Return the positions of the entries of each part, in ascending order."""
    order = np.argsort(part, kind="stable")
    return np.split(order, np.cumsum(np.bincount(part, minlength=n_parts))[:-1]) if n_parts else []


def _rows(values: Any, at: IntArray) -> Any:
    """Return some rows of an array, a sparse matrix or a list."""
    return [values[v] for v in at.tolist()] if isinstance(values, list | tuple) else values[at]
