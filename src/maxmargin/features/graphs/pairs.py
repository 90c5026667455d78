"""Features of all pairs of items, as one flat matrix of rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import beyond_floats
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import checked_csr
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.rows.rows import check_finite

_EXPECTED = "an array (n, n, d), or the pairs i < j as an array or sparse matrix (n(n − 1)/2, d)"

#: Kinds of arrays that NumPy would convert to floats although they are not real: complex numbers, durations, dates.
_NOT_REAL = "cmM"

#: Types whose values are exact in float32; sparse features of these types are stored in float32.
_SMALL = tuple(map(np.dtype, ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32")))


class Pairs:
    """Concatenated feature rows of all pairs i < j of each example.

    The rows are one float64 matrix, or one CSR matrix if the features of any example are sparse.

    Parameters
    ----------
    X : sequence
        For each example an array (n, n, d), of which x[i, j] with i < j is read; or the condensed rows, (n(n − 1)/2,
        d), in the order (0, 1), (0, 2), …, (1, 2), …, dense or sparse. An example without rows has one item, or none if
        `sizes` says so.
    sizes : sequence of int, optional
        Number of items of each example, if known.
    width : int, optional
        Number of features d, if known.

    Attributes
    ----------
    sizes : array of int
        Number of items of each example.
    offsets : array of int
        The pairs of example i are the rows ``offsets[i]:offsets[i + 1]``.
    matrix : array or CSR matrix
        The rows.
    """

    def __init__(self, X: Sequence[Any], sizes: Sequence[int] | None = None, width: int | None = None) -> None:
        parts = [_rows(i, x) for i, x in enumerate(X)]
        n_items = [n if n is not None else _items(i, rows.shape[0]) for i, (rows, n) in enumerate(parts)]
        if sizes is not None:
            n_items = [_agreed(i, n, parts[i][1] is None, sizes[i]) for i, n in enumerate(n_items)]
        if width is None:
            _check_half(X, parts)
        self.sizes = np.array(n_items, np.int64)
        self.offsets = offsets_of(self.sizes * (self.sizes - 1) // 2)
        self.width = _common_width([rows for rows, _ in parts], width)
        filled = [rows for rows, _ in parts if rows.shape[0] > 0]
        if any(sp.issparse(rows) for rows in filled):
            self.matrix = self._stacked(filled)
        else:
            self.matrix = np.concatenate(filled) if filled else np.zeros((0, self.width))
            check_finite(self.matrix.ravel(), lambda q: self.row_name(q // self.width))

    def _stacked(self, parts: Sequence[Any]) -> sp.csr_array:
        """Return the sparse rows of all examples, in float32 if that is exact."""
        matrix = sp.vstack([sp.csr_array(rows) for rows in parts], format="csr")
        check_finite(matrix.data, lambda q: self.row_name(int(np.searchsorted(matrix.indptr, q, "right")) - 1))
        return matrix.astype(np.float32 if matrix.data.dtype in _SMALL else np.float64, copy=False)

    def __len__(self) -> int:
        return len(self.sizes)

    def row_name(self, row: int) -> Place:
        """Return the place of a row: its example and its two items."""
        i = int(np.searchsorted(self.offsets, row, "right")) - 1
        first, second = np.triu_indices(int(self.sizes[i]), 1)
        at = row - int(self.offsets[i])
        return Place("X", i, f", pair ({first[at]}, {second[at]})")


def pair_numbers(n: int, first: IntArray, second: IntArray) -> IntArray:
    """Return the positions of the pairs first < second among all pairs of n items."""
    return first * (2 * n - first - 1) // 2 + second - first - 1


def _rows(i: int, x: Any) -> tuple[Any, int | None]:
    """Return the rows of an example, and its number of items if its shape determines it."""
    x = x.to_numpy() if hasattr(x, "to_numpy") else x
    kind = getattr(x, "dtype", None)
    if kind is not None and kind.kind in _NOT_REAL:
        raise ExampleError.at(Place("X", i), f"features must be real numbers, found {kind}")
    if sp.issparse(x):
        if x.ndim != 2:
            raise ExampleError.at(Place("X", i), f"expected {_EXPECTED}, found a sparse array of shape {x.shape}")
        return checked_csr(x, lambda row: Place("X", i, f", row {row}"), Place("X", i)), None
    try:
        array = np.asarray(x, float)
    except OverflowError:
        raise beyond_floats("features must be numbers", Place("X", i)) from None
    except (TypeError, ValueError):
        raise ExampleError.at(
            Place("X", i), f"expected {_EXPECTED}, found {type(x).__name__} that is not numeric"
        ) from None
    if array.ndim == 2:
        return array, None
    if array.ndim == 3 and array.shape[0] == array.shape[1]:
        return array[np.triu_indices(len(array), 1)], array.shape[0]
    if array.shape == (0,):
        return np.zeros((0, 0)), None
    raise ExampleError.at(Place("X", i), f"expected {_EXPECTED}, found an array of shape {array.shape}")


def _check_half(X: Sequence[Any], parts: Sequence[tuple[Any, int | None]]) -> None:
    """Raise ExampleError if all features are below the diagonal, where they would be ignored."""
    square = [i for i, (_, n) in enumerate(parts) if n is not None]
    if not square or any(parts[i][0].any() for i in square):
        return
    for i in square:
        if np.tril(np.asarray(X[i], float).any(axis=2), -1).any():
            raise ExampleError.at(
                Place("X", i),
                "the features of all pairs i < j are 0 and those of the pairs i > j are not; only x[i, j] "
                "with i < j is read: pass x.transpose(1, 0, 2)",
            )


def _items(i: int, n_pairs: int) -> int:
    """Return the number of items n of n(n − 1)/2 pairs."""
    n = (1 + isqrt(1 + 8 * n_pairs)) // 2
    if n * (n - 1) // 2 != n_pairs:
        raise ExampleError.at(
            Place("X", i),
            f"{n_pairs} rows of features, but {n} items have {n * (n - 1) // 2} pairs and {n + 1} items "
            f"{n * (n + 1) // 2}; expected {_EXPECTED}",
        )
    return n


def _agreed(i: int, n: int, condensed: bool, expected: int) -> int:
    """Return the number of items; an example without pairs has one item or none, as Y says."""
    if condensed and n == 1 and expected == 0:
        return 0
    if n != expected:
        raise ExampleError.at(
            Place("X", i), f"features for the pairs of {n} items, but Y[{i}] has the clusters of {expected}"
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


def symmetric_table(values: FloatArray) -> FloatArray:
    """Return numbers of the pairs i < j of n items as a table (n, n), −∞ on its diagonal."""
    n = (1 + isqrt(1 + 8 * len(values))) // 2
    table, (i, j) = np.full((n, n), -np.inf), np.triu_indices(n, 1)
    table[i, j] = table[j, i] = values
    return table
