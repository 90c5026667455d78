"""Features of the arcs of graphs, as rows in the order of the compiled functions."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Place, error_at
from maxmargin._base.input import checked_csr
from maxmargin._base.types import AnyArray, IntArray
from maxmargin.features.graphs.networkx_graphs import arc_lists, is_networkx
from maxmargin.features.text.sequences import SequenceEncoder

_EXPECTED = "an array (nodes, nodes, d), a sparse matrix (nodes², d), or lists x[i][j] of dicts or lists of strings"


class ArcEncoder(SequenceEncoder):
    """Encoder of the feature rows of arcs.

    Attributes
    ----------
    directed : bool
        Whether the rows are arcs into nodes 1 … n or pairs i < j, for messages.
    """

    row = "arc"
    directed = True

    def _row_name(self, row: int, offsets: IntArray) -> Place:
        i = int(np.searchsorted(offsets, row, "right")) - 1
        at, count = row - int(offsets[i]), int(offsets[i + 1] - offsets[i])
        n = (isqrt(4 * count + 1) + 1) // 2 if self.directed else (isqrt(8 * count + 1) + 1) // 2
        head, node = (at % n, at // n + 1) if self.directed else pairs_of(n)[at].tolist()
        return self._name(i, f", arc ({head}, {node})")


@dataclass(frozen=True)
class Arcs:
    """The arcs of one graph: those into nodes 1 … n by node and then by head, or pairs i < j in reading order.

    Attributes
    ----------
    rows : array, sparse matrix or list
        Features of the arcs.
    n_nodes : int
        Number of nodes, the root included.
    directed : bool
        Whether arcs have a direction.
    forbidden : array of bool of shape (nodes, nodes), optional
        Forbidden arcs; None if all arcs are allowed.
    """

    rows: Any
    n_nodes: int
    directed: bool
    forbidden: NDArray[np.bool_] | None

    def numbers(self) -> IntArray:
        """Return the position of each arc in a table (nodes, nodes) that is read row by row."""
        n = self.n_nodes
        if self.directed:
            return np.arange(n * n).reshape(n, n).T[1:].ravel()
        first, second = pairs_of(n).T
        return first * n + second

    def select(self, table: AnyArray) -> AnyArray:
        """Return the entries of a table (nodes, nodes) in the order of the arcs."""
        return table.reshape(-1)[self.numbers()]

    def mask(self) -> NDArray[np.bool_]:
        """Return which arcs are forbidden, including those from a node to itself."""
        n = self.n_nodes
        blocked = np.eye(n, dtype=bool) if self.forbidden is None else self.forbidden | np.eye(n, dtype=bool)
        mask: NDArray[np.bool_] = self.select(blocked)
        return mask


def pairs_of(n: int) -> IntArray:
    """Return the pairs i < j of n nodes in reading order, (n(n − 1)/2, 2)."""
    return np.stack(np.triu_indices(n, 1), axis=1)


def read_arcs(x: Any, directed: bool, i: int) -> Arcs:
    """Return the arcs of the i-th input; raise ValueError if it cannot be read or if no tree is allowed."""
    arcs = read_graph(x, directed, i)
    if arcs.forbidden is not None and not _spannable(~arcs.forbidden, directed):
        raise error_at(Place("X", i), "the allowed arcs contain no spanning tree: some node cannot be reached")
    return arcs


def read_graph(x: Any, directed: bool, i: int) -> Arcs:
    """Return the arcs of the i-th input; raise ValueError if it cannot be read."""
    allowed = None
    if isinstance(x, tuple):
        if len(x) != 2:
            raise error_at(
                Place("X", i), f"expected features, or a pair (features, allowed), found a tuple of {len(x)}"
            )
        x, allowed = x
    x = x.to_numpy() if hasattr(x, "to_numpy") else x
    x = arc_lists(x, directed, Place("X", i)) if is_networkx(x) else x
    if sp.issparse(x):
        return _sparse_arcs(x, allowed, directed, i)
    if isinstance(x, np.ndarray) and x.dtype != object:
        return _dense_arcs(x, allowed, directed, i)
    return _listed_arcs(x, allowed, directed, i)


def _arcs(n: int, allowed: Any, directed: bool, i: int) -> Arcs:
    """Return the arcs of a graph of n nodes, without features."""
    if n == 0:
        raise error_at(Place("X", i), f"expected at least {'the root' if directed else 'one node'}, found no nodes")
    if allowed is None:
        return Arcs(None, n, directed, None)
    mask = np.asarray(allowed)
    if mask.shape != (n, n) or mask.dtype != bool:
        raise error_at(
            Place("X", i),
            f"the allowed arcs must be an array of bool of shape {(n, n)}, found {mask.dtype} {mask.shape}",
        )
    return Arcs(None, n, directed, ~mask)


def _spannable(allowed: NDArray[np.bool_], directed: bool) -> bool:
    """Return whether every node can be reached from node 0."""
    links = allowed if directed else np.triu(allowed, 1) | np.triu(allowed, 1).T
    reached, new = np.zeros(len(links), bool), np.arange(len(links)) == 0
    while new.any():
        reached |= new
        new = links[new].any(axis=0) & ~reached
    return bool(reached.all())


def _with_rows(arcs: Arcs, rows: Any) -> Arcs:
    return Arcs(rows, arcs.n_nodes, arcs.directed, arcs.forbidden)


def _sparse_arcs(x: Any, allowed: Any, directed: bool, i: int) -> Arcs:
    n = round(x.shape[0] ** 0.5)
    if x.ndim != 2 or n * n != x.shape[0]:
        raise error_at(
            Place("X", i), f"{x.shape[0]} rows of features are not those of nodes² arcs; expected {_EXPECTED}"
        )
    arcs = _arcs(n, allowed, directed, i)
    rows = checked_csr(x, lambda row: Place("X", i, f", arc ({row // n}, {row % n})"), Place("X", i))
    return _with_rows(arcs, sp.csr_array(rows)[arcs.numbers()])


def _dense_arcs(x: AnyArray, allowed: Any, directed: bool, i: int) -> Arcs:
    if x.ndim != 3 or x.shape[0] != x.shape[1]:
        raise error_at(Place("X", i), f"expected {_EXPECTED}, found an array of shape {x.shape}")
    if x.shape[2] == 0:
        raise error_at(Place("X", i), f"expected {_EXPECTED}, found an array of shape {x.shape} without features")
    if isinstance(x, np.ma.MaskedArray):
        raise error_at(Place("X", i), "masked arrays are not supported; give a pair (features, allowed)")
    if x.dtype.kind in "cmM":
        raise error_at(Place("X", i), f"features must be real numbers, found {x.dtype}")
    arcs = _arcs(x.shape[0], allowed, directed, i)
    rows = x.reshape(-1, x.shape[2])[arcs.numbers()]
    rows[arcs.mask()] = 0.0  # these entries are not read and may be anything
    return _with_rows(arcs, rows)


def is_numbers(cell: Any) -> bool:
    """Return whether the features of an arc or a pair are a list of numbers."""
    return is_list(cell) and len(cell) > 0 and not any(isinstance(value, str | bytes) for value in cell)


def numeric_cells(x: Any, i: int, part: str) -> AnyArray:
    """Return lists x[h][m] of numbers as an array (rows, columns, d), with zeros for None."""
    width = next(len(cell) for row in x for cell in row if is_numbers(cell))
    table = np.zeros((len(x), len(x[0]), width))
    for h, row in enumerate(x):
        for m, cell in enumerate(row):
            if cell is None:
                continue
            try:
                table[h, m] = np.asarray(cell, float).reshape(width)
            except (TypeError, ValueError):
                raise error_at(
                    Place("X", i, f", {part} ({h}, {m})"), f"expected {width} numbers, found {cell!r:.60}"
                ) from None
    return table


def _listed_arcs(x: Any, allowed: Any, directed: bool, i: int) -> Arcs:
    if not is_list(x) or any(not is_list(row) or len(row) != len(x) for row in x):
        raise error_at(Place("X", i), f"expected {_EXPECTED}, found {type(x).__name__} {x!r:.60}")
    n = len(x)
    given = np.array([[cell is not None for cell in row] for row in x], bool).reshape(n, n)
    if not given[~np.eye(n, dtype=bool)].all():
        given |= np.eye(n, dtype=bool)
        allowed = given if allowed is None else given & np.asarray(allowed)
    if any(is_numbers(cell) for row in x for cell in row):
        return _dense_arcs(numeric_cells(x, i, "arc"), allowed, directed, i)
    arcs = _arcs(n, allowed, directed, i)
    cells = [x[at // n][at % n] for at in arcs.numbers().tolist()]
    return _with_rows(arcs, [[] if blocked else cell for cell, blocked in zip(cells, arcs.mask(), strict=True)])
