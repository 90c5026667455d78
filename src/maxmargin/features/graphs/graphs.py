"""Edges of graphs as flat arrays, and encoders of the features of nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.ragged import offsets_among, offsets_of, spans
from maxmargin._base.types import AnyArray, IntArray
from maxmargin.features.text.sequences import SequenceEncoder


class NodeEncoder(SequenceEncoder):
    """Encoder of the feature rows of nodes."""

    row = "node"


class EdgeEncoder(SequenceEncoder):
    """Encoder of the feature rows of edges; graphs may have no edges."""

    row = "edge"

    def __init__(self) -> None:
        super().__init__(may_be_empty=True)


@dataclass(frozen=True)
class Graphs:
    """The edges of all graphs; nodes are numbered from 0 in each graph.

    Attributes
    ----------
    edges : ndarray of int64 of shape (edges, 2)
        Both ends of each edge, concatenated over all graphs.
    offsets : ndarray of int64
        The edges of graph i are ``edges[offsets[i]:offsets[i + 1]]``.
    n_nodes : ndarray of int64
        Number of nodes of each graph.
    """

    edges: IntArray
    offsets: IntArray
    n_nodes: IntArray

    @classmethod
    def joined(cls, edges: list[IntArray], n_nodes: list[int]) -> Graphs:
        """Return the graphs with these edges."""
        offsets = offsets_of([len(e) for e in edges])
        return cls(np.concatenate([*edges, np.zeros((0, 2), np.int64)]), offsets, np.array(n_nodes, np.int64))

    def take(self, ids: IntArray) -> Graphs:
        """Return some of the graphs."""
        return Graphs(self.edges[spans(ids, self.offsets)], offsets_among(ids, self.offsets), self.n_nodes[ids])

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays, for fingerprints."""
        return self.edges, self.offsets, self.n_nodes


def read_edges(edges: Any, where: Where, n_nodes: int | None = None) -> IntArray:
    """Return edges as an array (m, 2); raise ValueError if they do not join nodes 0 … n_nodes − 1."""
    try:
        table = np.asarray(edges)
    except ValueError:
        table = np.zeros(0, object)
    if table.size == 0 and table.dtype != object:
        return np.zeros((0, 2), np.int64)
    if table.ndim != 2 or table.shape[1] != 2 or table.dtype.kind not in "iu":
        raise error_at(where, f"expected edges as an array of integers of shape (m, 2), found {_shown(edges)}")
    low, high = int(table.min()), int(table.max())
    if low < 0 or (n_nodes is not None and high >= n_nodes):
        limit = "" if n_nodes is None else f" to {n_nodes - 1}"
        e = int(np.flatnonzero(((table < 0) | (table >= (high + 1 if n_nodes is None else n_nodes))).any(axis=1))[0])
        raise error_at(where, f"edge {e} is {tuple(table[e].tolist())}, expected nodes from 0{limit}")
    loops = np.flatnonzero(table[:, 0] == table[:, 1])
    if len(loops):
        raise error_at(where, f"edge {loops[0]} joins node {table[loops[0], 0]} with itself")
    return table.astype(np.int64)


def read_allowed(allowed: Any, shape: tuple[int, ...], what: str, where: Where) -> NDArray[np.bool_]:
    """Return which parts are allowed, as an array of bool of this shape."""
    mask = np.asarray(allowed)
    if mask.shape != shape or mask.dtype != bool:
        raise error_at(
            where, f"the allowed {what} must be an array of bool of shape {shape}, found {mask.dtype} {mask.shape}"
        )
    return mask


def check_row_counts(offsets: IntArray, expected: IntArray, rows: str, things: str) -> None:
    """Raise ValueError if an example does not have one row of features for each of its nodes or edges."""
    wrong = np.flatnonzero(np.diff(offsets) != expected)
    if len(wrong):
        i = int(wrong[0])
        raise error_at(
            Place("X", i), f"{offsets[i + 1] - offsets[i]} rows of {rows} features but {expected[i]} {things}"
        )


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    return f"{type(value).__name__} {value!r:.60}"
