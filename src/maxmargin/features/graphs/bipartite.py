"""Features of the pairs of left and right nodes of bipartite graphs, as rows in the order of the compiled functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.types import AnyArray, IntArray
from maxmargin.features.graphs.arcs import is_numbers, numeric_cells
from maxmargin.features.graphs.networkx_graphs import is_networkx, two_sides
from maxmargin.features.text.sequences import SequenceEncoder

_EXPECTED = (
    "an array (n_left, n_right, d), a list of n_left sparse matrices (n_right, d), or lists x[i][k] of dicts or lists "
    "of strings"
)


class PairFeatures(NamedTuple):
    """A bipartite graph by the features of its pairs, with the capacities of its nodes.

    Parameters
    ----------
    features : array, list of sparse matrices, or lists
        A row of features for each pair of left node i and right node k, as `BipartiteMatching` takes them.
    allowed : array of bool of shape (n_left, n_right), optional
        The allowed pairs; None for all.
    unassigned : array, sparse matrix or list, optional
        Features of unassigned left nodes.
    per_left : int or array of int of shape (n_left,), optional
        Number of right nodes of each left node, at most the greatest `per_left` of the structure; None: as the
        structure says.
    per_right : int or array of int of shape (n_right,), optional
        Maximum number of left nodes of each right node; None: as the structure says.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.assignments()
    >>> model = mm.StructuralSVM(mm.BipartiteMatching(), C=1.0).fit(X, Y)
    >>> allowed = np.ones((3, 4), bool)
    >>> allowed[0, 1] = False  # this pair is out of the question
    >>> model.predict([X[0], mm.PairFeatures(X[0], allowed=allowed)])
    [[1, 0, 2], [3, 0, 2]]
    """

    features: Any
    allowed: Any = None
    unassigned: Any = None
    per_left: Any = None
    per_right: Any = None


class PairEncoder(SequenceEncoder):
    """Encoder of the feature rows of pairs (i, k), left node by left node.

    Attributes
    ----------
    n_rights : sequence of int
        Number of right nodes of each example, for messages.
    """

    row = "pair"
    n_rights: Sequence[int] = ()

    def _row_name(self, row: int, offsets: IntArray) -> Place:
        i = int(np.searchsorted(offsets, row, "right")) - 1
        left, right = divmod(row - int(offsets[i]), int(self.n_rights[i]))
        return self._name(i, f", pair ({left}, {right})")


class NodeEncoder(SequenceEncoder):
    """Encoder of the feature rows of nodes, the third entry of an example."""

    row = "node"

    def __init__(self) -> None:
        super().__init__("[2]", may_be_empty=True)


@dataclass(frozen=True)
class Sides:
    """The pairs of one bipartite graph, left node by left node.

    Attributes
    ----------
    rows : array, sparse matrix or list
        Features of the pairs.
    n_left, n_right : int
        Numbers of nodes.
    forbidden : array of bool of shape (n_left, n_right), optional
        Forbidden pairs; None if all pairs are allowed.
    alone : array, sparse matrix or list
        Features of the left nodes if they are unassigned.
    per_left, per_right : int or array of int, optional
        Capacities of the nodes; None if X does not have them.
    names : (list, list), optional
        Names of the left and right nodes of a graph of networkx.
    """

    rows: Any
    n_left: int
    n_right: int
    forbidden: NDArray[np.bool_] | None
    alone: Any = None
    per_left: Any = None
    per_right: Any = None
    names: tuple[list[Any], list[Any]] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of left and of right nodes."""
        return self.n_left, self.n_right

    def mask(self) -> NDArray[np.bool_]:
        """Return which pairs are forbidden, in the order of the rows."""
        return np.zeros(self.n_left * self.n_right, bool) if self.forbidden is None else self.forbidden.ravel()


def split_input(x: Any, optional: str | None, i: int) -> tuple[Any, Any, Any]:
    """Return (features, allowed, features of nodes) of the i-th input; None for what it does not have.

    `optional` names the features of nodes in messages; None if they are not read.
    """
    if not isinstance(x, tuple):
        return x, None, None
    if len(x) == 2:
        return x[0], x[1], None
    if len(x) == 3 and optional is not None:
        return x[0], x[1], x[2]
    triple = f", or a triple (features, allowed, {optional})" if optional is not None else ""
    raise error_at(
        Place("X", i), f"expected features, or a pair (features, allowed){triple}, found a tuple of {len(x)}"
    )


def node_rows(features: Any, n_nodes: int, i: int) -> Any:
    """Return the features of the nodes of the i-th input, rows without columns if there are none."""
    if features is None:
        return np.zeros((n_nodes, 0))
    features = features.to_numpy() if hasattr(features, "to_numpy") else features
    n_rows = features.shape[0] if hasattr(features, "shape") and features.shape else 0
    n_rows = len(features) if is_list(features) and not sp.issparse(features) else n_rows
    if n_rows != n_nodes:
        raise error_at(Place("X", i, "[2]"), f"features of {n_rows} nodes, expected {n_nodes}")
    return features


def read_sides(x: Any, unassigned: bool, i: int) -> Sides:
    """Return the pairs of the i-th input; raise ValueError if it cannot be read."""
    if is_networkx(x):
        features, left, right, rows = two_sides(x, Place("X", i))
        sides = replace(_listed(features, None, i), n_left=len(left), n_right=len(right), names=(left, right))
        return replace(sides, alone=node_rows(rows if unassigned and any(rows) else None, len(left), i))
    given, optional = (x, x[:3]) if isinstance(x, PairFeatures) else (None, x)
    if given is not None and (given.unassigned is None or not unassigned):
        if given.unassigned is not None:
            raise error_at(Place("X", i), "features of unassigned nodes need unassigned=True")
        optional = optional[:2]
    features, allowed, alone = split_input(optional, "features of unassigned nodes" if unassigned else None, i)
    features = features.to_numpy() if hasattr(features, "to_numpy") else features
    if isinstance(features, np.ndarray) and features.dtype != object:
        sides = _dense(features, allowed, i)
    elif sp.issparse(features) or (is_list(features) and len(features) and all(map(sp.issparse, features))):
        sides = _sparse(features, allowed, i)
    else:
        sides = _listed(features, allowed, i)
    sides = replace(sides, alone=node_rows(alone, sides.n_left, i))
    return sides if given is None else replace(sides, per_left=given.per_left, per_right=given.per_right)


def read_capacity(capacity: Any, n_nodes: int, name: str, where: Where) -> IntArray:
    """Return the capacity of each node, given as one number or as one for each."""
    numbers = np.asarray(capacity)
    if numbers.dtype.kind not in "iu" or numbers.ndim > 1 or (numbers < 0).any():
        raise error_at(where, f"{name} must be an integer ≥ 0 or an array of them, found {capacity!r:.60}")
    if numbers.ndim and len(numbers) != n_nodes:
        side = name.removeprefix("per_")
        raise error_at(where, f"{name} has {len(numbers)} numbers, but X has {n_nodes} {side} nodes")
    return np.full(n_nodes, numbers, np.int64)


def _sides(shape: tuple[int, int], allowed: Any, i: int) -> Sides:
    """Return the pairs of a graph without features."""
    if allowed is None:
        return Sides(None, *shape, None)
    mask = np.asarray(allowed)
    if mask.shape != shape or mask.dtype != bool:
        raise error_at(
            Place("X", i),
            f"the allowed pairs must be an array of bool of shape {shape}, found {mask.dtype} {mask.shape}",
        )
    return Sides(None, *shape, None if mask.all() else ~mask)


def _dense(x: AnyArray, allowed: Any, i: int) -> Sides:
    if x.ndim != 3 or x.shape[2] == 0:
        alone = "; if each pair has one feature, pass x[:, :, None]" if x.ndim == 2 else ""
        raise error_at(Place("X", i), f"expected {_EXPECTED}, found an array of shape {x.shape}{alone}")
    if isinstance(x, np.ma.MaskedArray):
        raise error_at(Place("X", i), "masked arrays are not supported; give a pair (features, allowed)")
    if x.dtype.kind in "cmM":
        raise error_at(Place("X", i), f"features must be real numbers, found {x.dtype}")
    sides = _sides((x.shape[0], x.shape[1]), allowed, i)
    rows = x.reshape(-1, x.shape[2])
    if sides.forbidden is not None:
        rows = np.where(sides.mask()[:, None], 0, rows)  # these entries are not read and may be anything
    return replace(sides, rows=rows)


def _sparse(x: Any, allowed: Any, i: int) -> Sides:
    """Return the pairs of a list of matrices, or of one matrix of all pairs whose shape `allowed` gives."""
    if not sp.issparse(x):
        shapes = {tuple(matrix.shape) for matrix in x}
        if len(shapes) != 1 or x[0].ndim != 2:
            raise error_at(
                Place("X", i), f"expected {_EXPECTED}, found sparse matrices of shapes {sorted(shapes)!r:.60}"
            )
        rows = sp.csr_array(sp.vstack(list(x), format="csr"))
        return replace(_sides((len(x), x[0].shape[0]), allowed, i), rows=rows)
    if x.ndim == 3:
        flat = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
        return replace(_sides((x.shape[0], x.shape[1]), allowed, i), rows=sp.csr_array(flat))
    if np.ndim(allowed) != 2 or np.size(allowed) != x.shape[0]:
        raise error_at(
            Place("X", i),
            f"a sparse matrix of {x.shape[0]} pairs does not say how many nodes are left and right: give a list of "
            f"n_left matrices, or a pair (matrix, allowed) with an array of shape (n_left, n_right)",
        )
    return replace(_sides(np.asarray(allowed).shape, allowed, i), rows=sp.csr_array(x))


def _listed(x: Any, allowed: Any, i: int) -> Sides:
    if not is_list(x) or any(not is_list(row) or len(row) != len(x[0]) for row in x):
        raise error_at(Place("X", i), f"expected {_EXPECTED}, found {type(x).__name__} {x!r:.60}")
    shape = len(x), len(x[0]) if len(x) else 0
    given = np.array([[cell is not None for cell in row] for row in x], bool).reshape(shape)
    sides = _sides(shape, allowed, i)
    if not given.all():
        sides = replace(sides, forbidden=~given if sides.forbidden is None else ~given | sides.forbidden)
    if any(is_numbers(cell) for row in x for cell in row):
        rows = numeric_cells(x, i, "pair").reshape(shape[0] * shape[1], -1)
        return replace(sides, rows=rows)
    cells = [cell for row in x for cell in row]
    return replace(sides, rows=[[] if blocked else cell for cell, blocked in zip(cells, sides.mask(), strict=True)])
