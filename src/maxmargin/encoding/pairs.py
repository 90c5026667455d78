"""Features of the pairs of some items, in any of the forms people have them, to one flat matrix of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._checked import beyond_floats
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.errors import ExampleError, Place
from maxmargin.encoding.rows import check_finite
from maxmargin.structures.forest import _kernels as kernels

_EXPECTED = "an array (n, n, d), or the pairs i < j as an array or sparse matrix (n(n − 1)/2, d)"

#: Kinds of arrays that numpy would make floats of all the same: complex numbers, spans of time and dates.
_NOT_REAL = "cmM"

#: Values of these types lose nothing as float32, in which sparse features are then kept.
_SMALL = tuple(map(np.dtype, ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32")))


class Pairs:
    """Rows of features for all pairs i < j of each example, one behind the other.

    They stay what they are: one flat float64 matrix, or one in CSR where the features of any example are sparse.

    Parameters
    ----------
    X : for each example an array (n, n, d), of which the half above the diagonal is read, x[i, j] with i < j; or these
        rows condensed, (n(n − 1)/2, d), in the order (0, 1), (0, 2), …, (1, 2), …; dense or sparse. No rows mean one
        item, or none where `sizes` says so.
    sizes : the number of items of each example where it is known.
    width : the number of features d where it is known.

    Attributes
    ----------
    sizes : number of items of each example.
    offsets : the pairs of example i are the rows offsets[i] … offsets[i + 1].
    """

    def __init__(self, X: Sequence[Any], sizes: Sequence[int] | None = None, width: int | None = None) -> None:
        parts = [_rows(i, x) for i, x in enumerate(X)]
        found = [n if n is not None else _items(i, rows.shape[0]) for i, (rows, n) in enumerate(parts)]
        if sizes is not None:
            found = [_agreed(i, n, parts[i][1] is None, sizes[i]) for i, n in enumerate(found)]
        if width is None:
            _check_half(X, parts)
        self.sizes = np.array(found, np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(self.sizes * (self.sizes - 1) // 2)]).astype(np.int64)
        self.width = _common_width([rows for rows, _ in parts], width)
        filled = [rows for rows, _ in parts if rows.shape[0] > 0]
        self.sparse = any(sp.issparse(rows) for rows in filled)
        if self.sparse:
            self._set_sparse(sp.vstack([sp.csr_array(rows) for rows in filled], format="csr"))
        else:
            self.dense: FloatArray = np.concatenate(filled) if filled else np.zeros((0, self.width))
            check_finite(self.dense.ravel(), lambda q: self.row_name(q // self.width))

    def _set_sparse(self, matrix: Any) -> None:
        check_finite(matrix.data, lambda q: self.row_name(int(np.searchsorted(matrix.indptr, q, "right")) - 1))
        kind = np.float32 if matrix.data.dtype in _SMALL else np.float64
        self.indptr: IntArray = matrix.indptr.astype(np.int64)
        narrow = matrix.indices.dtype.itemsize == 4
        self.indices: AnyArray = matrix.indices.view(np.uint32) if narrow else matrix.indices.astype(np.uint32)
        self.data: AnyArray = matrix.data.astype(kind, copy=False)

    def __len__(self) -> int:
        return len(self.sizes)

    def row_name(self, row: int) -> Place:
        """Example and items of a row."""
        i = int(np.searchsorted(self.offsets, row, "right")) - 1
        first, second = np.triu_indices(int(self.sizes[i]), 1)
        at = row - int(self.offsets[i])
        return Place("X", i, f", pair ({first[at]}, {second[at]})")

    @property
    def n_entries(self) -> int:
        """Numbers that a sweep over all rows reads."""
        return len(self.data) if self.sparse else self.dense.size

    def most_entries(self) -> IntArray:
        """The most features that a row of each example has."""
        if not self.sparse:
            return np.where(self.sizes > 1, self.width, 0)
        counts, filled = np.diff(self.indptr), self.sizes > 1
        most = np.zeros(len(self), np.int64)
        if filled.any():
            most[filled] = np.maximum.reduceat(counts, self.offsets[:-1][filled])
        return most

    def largest_whole(self) -> float:
        """The greatest absolute value where all are whole numbers, else infinity."""
        values = self.data if self.sparse else self.dense
        if values.size == 0:
            return 0.0
        return float(max(values.max(), -values.min())) if _all_whole(values) else np.inf

    def scores(self, w: FloatArray, intercept: float, ids: IntArray) -> tuple[FloatArray, IntArray]:
        """w·x + intercept of all pairs of each of ids, and where those of each begin."""
        starts = np.zeros(len(ids) + 1, np.int64)
        np.cumsum(self.offsets[ids + 1] - self.offsets[ids], out=starts[1:])
        out = np.empty(starts[-1])
        if self.sparse:
            entries = self.indptr, self.indices, self.data
            kernels.sparse_pair_scores(ids, self.offsets, *entries, w, intercept, starts, out)
        else:
            kernels.dense_pair_scores(ids, self.offsets, self.dense, w, intercept, starts, out)
        return out, starts

    def arrays(self) -> tuple[AnyArray, ...]:
        """What the rows consist of."""
        rows = (self.indptr, self.indices, self.data) if self.sparse else (self.dense,)
        return (*rows, self.sizes)


def pair_numbers(n: int, first: IntArray, second: IntArray) -> IntArray:
    """Where the pairs first < second stand among all pairs of n items."""
    return first * (2 * n - first - 1) // 2 + second - first - 1


def _rows(i: int, x: Any) -> tuple[Any, int | None]:
    """The rows of an example, and its number of items where its shape tells it."""
    x = x.to_numpy() if hasattr(x, "to_numpy") else x
    kind = getattr(x, "dtype", None)
    if kind is not None and kind.kind in _NOT_REAL:
        raise ExampleError.at(Place("X", i), f"features must be real numbers, found {kind}")
    if sp.issparse(x):
        if x.ndim != 2:
            raise ExampleError.at(Place("X", i), f"expected {_EXPECTED}, found a sparse array of shape {x.shape}")
        return x.tocsr(), None
    try:
        array = np.asarray(x, float)
    except OverflowError:
        raise beyond_floats("features must be numbers", Place("X", i)) from None
    except (TypeError, ValueError):
        raise ExampleError.at(
            Place("X", i), f"expected {_EXPECTED}, found {type(x).__name__} that is no array of numbers"
        ) from None
    if array.ndim == 2:
        return array, None
    if array.ndim == 3 and array.shape[0] == array.shape[1]:
        return array[np.triu_indices(len(array), 1)], array.shape[0]
    if array.shape == (0,):
        return np.zeros((0, 0)), None
    raise ExampleError.at(Place("X", i), f"expected {_EXPECTED}, found an array of shape {array.shape}")


def _check_half(X: Sequence[Any], parts: Sequence[tuple[Any, int | None]]) -> None:
    """Features that all lie below the diagonal are meant to be read."""
    square = [i for i, (_, n) in enumerate(parts) if n is not None]
    if not square or any(parts[i][0].any() for i in square):
        return
    for i in square:
        if np.tril(np.asarray(X[i], float).any(axis=2), -1).any():
            raise ExampleError.at(
                Place("X", i),
                "the features of all pairs i < j are 0 and those of the pairs i > j are not; only x[i, j] "
                "with i < j is read, so give x.transpose(1, 0, 2)",
            )


def _items(i: int, n_pairs: int) -> int:
    """n from n(n − 1)/2."""
    n = (1 + isqrt(1 + 8 * n_pairs)) // 2
    if n * (n - 1) // 2 != n_pairs:
        raise ExampleError.at(
            Place("X", i),
            f"{n_pairs} rows of features, but {n} items have {n * (n - 1) // 2} pairs and {n + 1} items "
            f"{n * (n + 1) // 2}; expected {_EXPECTED}",
        )
    return n


def _agreed(i: int, n: int, condensed: bool, expected: int) -> int:
    """The number of items by X and Y; no pairs at all may be one item or none."""
    if condensed and n == 1 and expected == 0:
        return 0
    if n != expected:
        raise ExampleError.at(
            Place("X", i), f"features for the pairs of {n} items, but Y[{i}] gives the clusters of {expected}"
        )
    return n


def _common_width(parts: Sequence[Any], width: int | None) -> int:
    for i, rows in enumerate(parts):
        if rows.shape[0] == 0:
            continue
        width = rows.shape[1] if width is None else width
        if rows.shape[1] != width:
            raise ExampleError.at(Place("X", i), f"{rows.shape[1]} features per pair, expected {width}")
    if width is None:
        raise ValueError("no example has two items: there is nothing to learn from")
    return width


def _all_whole(values: AnyArray, block: int = 1 << 20) -> bool:
    flat = values.ravel()
    return all(bool((np.rint(flat[a : a + block]) == flat[a : a + block]).all()) for a in range(0, len(flat), block))
