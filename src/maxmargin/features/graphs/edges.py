"""Edges of undirected graphs with their features: all pairs of nodes, or a list of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._base.checks import is_list, whole_number
from maxmargin._base.errors import Place, error_at
from maxmargin._base.types import AnyArray, IntArray
from maxmargin.features.graphs.arcs import pairs_of, read_graph
from maxmargin.features.graphs.bipartite import node_rows, split_input
from maxmargin.features.graphs.graphs import read_edges
from maxmargin.features.graphs.networkx_graphs import is_networkx, read_networkx
from maxmargin.features.text.sequences import SequenceEncoder


class EdgeFeatures(NamedTuple):
    """A graph by its edges, with a row of features for each; all other pairs of nodes cannot be joined.

    Parameters
    ----------
    edges : array of int of shape (m, 2)
        The two nodes of each edge; nodes are numbered from 0. No pair occurs twice.
    features : array or sparse matrix of shape (m, d), or list of dicts or lists of strings
        Features of the edges.
    n_nodes : int, optional
        Number of nodes; None: the greatest node in `edges` is the last.

    Examples
    --------
    >>> import maxmargin as mm
    >>> ring = mm.EdgeFeatures([(0, 1), (1, 2), (2, 3), (0, 3)], [[1.0], [3.0], [1.0], [2.0]])
    >>> mm.StructuralSVM(mm.Matching(), C=10.0).fit([ring], [[1, 0, 3, 2]]).predict([ring])
    [[1, 0, 3, 2]]
    """

    edges: Any
    features: Any
    n_nodes: int | None = None


class EdgeRowEncoder(SequenceEncoder):
    """Encoder of the feature rows of edges.

    Attributes
    ----------
    edges : sequence of arrays
        The edges of each example, for messages.
    """

    row = "edge"
    edges: Sequence[IntArray] = ()

    def _row_name(self, row: int, offsets: IntArray) -> Place:
        i = int(np.searchsorted(offsets, row, "right")) - 1
        first, second = self.edges[i][row - int(offsets[i])].tolist()
        return self._name(i, f", edge ({first}, {second})")

    def get_state(self) -> dict[str, Any]:
        self.edges = ()
        return super().get_state()


@dataclass(frozen=True)
class Edges:
    """The edges of one graph.

    Attributes
    ----------
    rows : array, sparse matrix or list
        Features of the edges.
    ends : array of int of shape (m, 2)
        The two nodes of each edge, the smaller one first.
    n_nodes : int
        Number of nodes.
    mask : array of bool of shape (m,), optional
        Forbidden edges; None if all are allowed.
    complete : bool
        Whether all pairs of nodes are allowed edges.
    alone : array, sparse matrix or list
        Features of the nodes if they are not matched.
    names : list, optional
        Names of the nodes of a graph of networkx.
    """

    rows: Any
    ends: IntArray
    n_nodes: int
    mask: NDArray[np.bool_] | None
    complete: bool
    alone: Any
    names: list[Any] | None = None

    def select(self, table: AnyArray) -> AnyArray:
        """Return the entries of a table (nodes, nodes) in the order of the edges."""
        return table[self.ends[:, 0], self.ends[:, 1]]


def read_edge_features(x: Any, optional: str | None, i: int) -> Edges:
    """Return the edges of the i-th input; raise ValueError if it cannot be read.

    `optional` names the features of nodes, the third entry of a triple; None if they are not read.
    """
    if is_networkx(x):
        read = read_networkx(x, Place("X", i))
        given = EdgeFeatures(read.edges, read.edge_rows, len(read.names))
        ends, n_nodes = _given_edges(given, i)
        rows = read.edge_rows if any(read.edge_rows) else np.ones((len(ends), 1))
        alone = read.node_rows if optional is not None and any(read.node_rows) else None
        return Edges(rows, ends, n_nodes, None, False, node_rows(alone, n_nodes, i), read.names)
    features, allowed, alone = (x, None, None) if isinstance(x, EdgeFeatures) else split_input(x, optional, i)
    if isinstance(features, EdgeFeatures):
        if allowed is not None:
            raise error_at(Place("X", i), "EdgeFeatures lists the allowed edges; expected None as second entry")
        ends, n_nodes = _given_edges(features, i)
        return Edges(_given_rows(features, len(ends), i), ends, n_nodes, None, False, node_rows(alone, n_nodes, i))
    arcs = read_graph(features if allowed is None else (features, allowed), False, i)
    n = arcs.n_nodes
    mask = None if arcs.forbidden is None else arcs.mask()
    complete = mask is None or not mask.any()
    return Edges(arcs.rows, pairs_of(n), n, None if complete else mask, complete, node_rows(alone, n, i))


def _given_edges(x: EdgeFeatures, i: int) -> tuple[IntArray, int]:
    """Return the edges with the smaller node first, and the number of nodes."""
    n_nodes = None if x.n_nodes is None else whole_number(x.n_nodes, f"X[{i}]: n_nodes", 0)
    ends = np.sort(read_edges(x.edges, Place("X", i), n_nodes), axis=1)
    if n_nodes is None:
        n_nodes = int(ends.max(initial=-1)) + 1
    numbers, counts = np.unique(ends[:, 0] * n_nodes + ends[:, 1], return_counts=True)
    if (counts > 1).any():
        pair = divmod(int(numbers[counts > 1][0]), n_nodes)
        raise error_at(Place("X", i), f"the edge {pair} occurs twice")
    return ends, n_nodes


def _given_rows(x: EdgeFeatures, n_edges: int, i: int) -> Any:
    rows = x.features.to_numpy() if hasattr(x.features, "to_numpy") else x.features
    n_rows = rows.shape[0] if sp.issparse(rows) else len(rows) if is_list(rows) else 0
    if n_rows != n_edges:
        raise error_at(Place("X", i), f"{n_rows} rows of features but {n_edges} edges")
    return rows


def check_half(X: Sequence[Any], graphs: Sequence[Edges]) -> None:
    """Raise ValueError if the features of all graphs are below the diagonal, where they are ignored."""
    if any(not isinstance(graph.rows, np.ndarray) or graph.rows.any() for graph in graphs):
        return
    for i, x in enumerate(X):
        table = x[0] if isinstance(x, tuple) else x
        if isinstance(table, np.ndarray) and np.tril((table != 0).any(axis=2), -1).any():
            raise error_at(
                Place("X", i),
                "the features of all pairs i < j are 0 and those of the pairs i > j are not; only x[i, j] with i < j "
                "is read: pass x.transpose(1, 0, 2)",
            )
