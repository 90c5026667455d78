"""Feature rows as compiled functions read them: CSR, and also dense if BLAS is faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import Where, error_at
from maxmargin._base.jit import inlined, jit, prefetch
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import HASH_START, float32_exact, gathered, mix_step

#: Mask of all bits of a float but the sign, which a zero may have.
MAGNITUDE = np.int64(0x7FFFFFFFFFFFFFFF)
#: Rows after which the weights loaded in the background are needed, and the number of weights that stay in the cache.
AHEAD, CACHED = 2, 1 << 15
#: Distances between positions, which are unsigned because numba checks whether signed ones are negative.
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
#: Rows with a larger fraction of nonzero entries are multiplied by BLAS, others by a sparse product.
DENSE_SHARE = 0.5


class Rows:
    """Feature rows in CSR, and also dense if BLAS is faster; optionally with a constant last column.

    Attributes
    ----------
    n_columns : int
        Number of columns, the constant included.
    indptr, indices : ndarray
        Start of each row, and columns of the entries.
    ones : bool
        Whether all entries are 1; then no values are stored.
    data : ndarray of float64
        Values of the entries; of length 0 if `ones`.
    """

    def __init__(self, matrix: Any, constant: bool) -> None:
        self.constant, self.n_columns = constant, matrix.shape[1] + constant
        self.dense: FloatArray | None = None
        self.ones = False
        if sp.issparse(matrix):
            self._take_sparse(matrix.tocsr())
        else:
            self._take_dense(np.ascontiguousarray(matrix, float))

    @classmethod
    def of_ones(cls, indptr: IntArray, indices: AnyArray, n_columns: int, constant: bool) -> Rows:
        """Return rows whose entries are all 1, the constant column included in `indices` and `n_columns`."""
        rows = object.__new__(cls)
        rows.constant, rows.n_columns, rows.dense, rows.ones = constant, n_columns, None, True
        rows.indptr, rows.indices, rows.data = indptr, indices, np.zeros(0)
        return rows

    def _take_dense(self, dense: FloatArray) -> None:
        bits, self.indptr = dense.view(np.int64), np.zeros(len(dense) + 1, np.int64)
        total = count_nonzeros(bits, self.constant, self.indptr)
        self.indices, self.data = np.empty(total, np.uint32), np.empty(total)
        copy_nonzeros(dense, bits, self.constant, self.indices, self.data)
        if total - self.constant * len(dense) > DENSE_SHARE * dense.size:
            self.dense = dense

    def _take_sparse(self, matrix: Any) -> None:
        """Copy a CSR matrix; ones of type int8 (`features.text.vocabulary`) are not stored."""
        indptr = matrix.indptr.astype(np.int64)
        self.ones = matrix.data.dtype == np.int8 and bool((matrix.data == 1).all())
        data = np.zeros(0) if self.ones else matrix.data.astype(float, copy=False)
        if not self.constant:
            self.indptr, self.indices, self.data = indptr, matrix.indices.astype(np.uint32), data
            return
        self.indptr = indptr + np.arange(len(indptr))
        self.indices = np.empty(self.indptr[-1], np.uint32)
        self.data = np.empty(0 if self.ones else self.indptr[-1])
        append_constant(indptr, matrix.indices, data, matrix.shape[1], self.indices, self.data)

    @property
    def float32_exact(self) -> bool:
        """Return whether the values are exact in float32."""
        return self.ones or float32_exact(self.data)

    def values(self) -> FloatArray:
        """Return the value of every entry, also if all are 1."""
        return np.ones(len(self.indices)) if self.ones else self.data

    def matrix(self, first: int, stop: int) -> sp.csr_array:
        """Return the rows first … stop − 1 as a sparse matrix, the constant included."""
        a, b = int(self.indptr[first]), int(self.indptr[stop])
        values = np.ones(b - a) if self.ones else self.data[a:b]
        return sp.csr_array((values, self.indices[a:b].astype(np.int64), self.indptr[first : stop + 1] - a),
                            (stop - first, self.n_columns))  # fmt: skip

    def scores(self, weights: FloatArray, rows: IntArray) -> FloatArray:
        """Return X[rows] @ weights, for weights of shape (n_columns, K)."""
        if self.dense is not None:
            all_in_order = len(rows) == len(self.dense) and bool((rows[1:] > rows[:-1]).all())
            part = self.dense if all_in_order else self.dense[rows]
            if not self.constant:
                return part @ weights
            table = part @ weights[:-1]
            table += weights[-1]
            return table
        out = np.empty((len(rows), weights.shape[1]))
        if self.ones:
            sums_of_weights(rows, self.indptr, self.indices, weights, out)
        else:
            sparse_scores(rows, self.indptr, self.indices, self.data, weights, out)
        return out

    def add_weighted(self, table: FloatArray, rows: IntArray, out: FloatArray, squared: bool = False) -> None:
        """Add X[rows]ᵀ table, or of the squares of X, to `out`, for tables of shape (len(rows), K), (n_columns, K)."""
        if self.dense is not None:
            features = out[:-1] if self.constant else out
            some = self.dense[rows]
            features += (some**2 if squared else some).T @ table
            if self.constant:
                out[-1] += table.sum(axis=0)
        else:
            add_weighted_rows(rows, self.indptr, self.indices, self.data, squared, table, out)

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays of the rows."""
        return self.indptr, self.indices, self.data

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, in this order."""
        part = object.__new__(Rows)
        part.constant, part.n_columns, part.ones = self.constant, self.n_columns, self.ones
        part.dense = None if self.dense is None else self.dense[rows]
        values = self.indices if self.ones else self.data
        taken = gathered(self.indptr[rows], self.indptr[rows + 1], self.indices, values)
        part.indptr, part.indices = taken.indptr, taken.indices
        part.data = self.data if self.ones else taken.values
        return part

    def hashes(self) -> IntArray:
        """Return a hash of each row; equal rows have equal hashes."""
        out = np.empty(len(self.indptr) - 1, np.int64)
        hash_rows(self.indptr, self.indices, (self.values() + 0.0).view(np.int64), HASH_START, out)
        return out

    def norms(self, first: int = 0, stop: int | None = None) -> FloatArray:
        """Return the norms of the rows first … stop − 1, by default of all."""
        some = self.indptr[first : None if stop is None else stop + 1]
        return np.sqrt(np.diff(some) if self.ones else squared_norms(some, self.data))

    def counts(self) -> IntArray:
        """Return the number of entries of each row."""
        return np.diff(self.indptr)


@jit
def append_constant(indptr, indices, data, width, out_indices, out_data):
    """Copy CSR rows with an entry (width, 1) at the end of each; without values if `data` is empty."""
    q = 0
    for r in range(len(indptr) - 1):
        for p in range(indptr[r], indptr[r + 1]):
            out_indices[q] = indices[p]
            if len(data) > 0:
                out_data[q] = data[p]
            q += 1
        out_indices[q] = width
        if len(out_data) > 0:
            out_data[q] = 1.0
        q += 1


@jit
def count_nonzeros(bits, constant, indptr):
    """Compute the CSR pointers of a dense matrix, given as bits; return the number of nonzero entries."""
    for r in range(len(bits)):
        count = 1 if constant else 0
        for b in bits[r]:
            count += b & MAGNITUDE != 0
        indptr[r + 1] = indptr[r] + count
    return indptr[-1]


@jit
def copy_nonzeros(dense, bits, constant, indices, data):
    """Compute the CSR columns and values of a dense matrix, optionally with a constant last column."""
    q, width = 0, dense.shape[1]
    for r in range(len(dense)):
        for f in range(width):
            if bits[r, f] & MAGNITUDE != 0:
                indices[q], data[q] = f, dense[r, f]
                q += 1
        if constant:
            indices[q], data[q] = width, 1.0
            q += 1


@inlined
def fetch_weights(q, end, indices, weights):
    """Load the weights of the entries q … end − 1 in the background, if all weights are too many for the cache."""
    width = np.uint64(weights.shape[1])
    if weights.size > CACHED:
        for p in range(np.uint64(q), np.uint64(end)):
            at = np.uint64(indices[p]) * width
            prefetch(weights, at)
            prefetch(weights, at + width - ONE)


@jit
def sparse_scores(rows, indptr, indices, data, weights, out):
    """Compute out[r] = Σ_f x[rows[r], f] weights[f], four features at a time."""
    width = weights.shape[1]
    for r in range(len(rows)):
        if r + AHEAD < len(rows):
            fetch_weights(indptr[rows[r + AHEAD]], indptr[rows[r + AHEAD] + 1], indices, weights)
        row = out[r]
        row[:] = 0.0
        q, end = np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])
        while q + FOUR <= end:
            w0, w1 = weights[indices[q]], weights[indices[q + ONE]]
            w2, w3 = weights[indices[q + TWO]], weights[indices[q + THREE]]
            x0, x1, x2, x3 = data[q], data[q + ONE], data[q + TWO], data[q + THREE]
            for k in range(width):
                row[k] += (x0 * w0[k] + x1 * w1[k]) + (x2 * w2[k] + x3 * w3[k])
            q += FOUR
        while q < end:
            w0, x0 = weights[indices[q]], data[q]
            for k in range(width):
                row[k] += x0 * w0[k]
            q += ONE


@jit
def squared_norms(indptr, data):
    """Return the squared norm of each CSR row."""
    out = np.zeros(len(indptr) - 1)
    for r in range(len(out)):
        for q in range(indptr[r], indptr[r + 1]):
            out[r] += float(data[q]) * float(data[q])
    return out


@jit
def add_weighted_rows(rows, indptr, indices, data, squared, table, out):
    """Add X[rows]ᵀ table, or of the squares of X, to `out`; entries have the value 1 if `data` is empty."""
    width = table.shape[1]
    for r in range(len(rows)):
        row = table[r]
        for q in range(indptr[rows[r]], indptr[rows[r] + 1]):
            into, value = out[indices[q]], data[q] if len(data) > 0 else 1.0
            if squared:
                value *= value
            for k in range(width):
                into[k] += value * row[k]


@jit
def sums_of_weights(rows, indptr, indices, weights, out):
    """Compute out[r] = Σ_f weights[f] over the entries f of rows[r], in the order of `sparse_scores`."""
    width = weights.shape[1]
    for r in range(len(rows)):
        if r + AHEAD < len(rows):
            fetch_weights(indptr[rows[r + AHEAD]], indptr[rows[r + AHEAD] + 1], indices, weights)
        row = out[r]
        row[:] = 0.0
        q, end = np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])
        while q + FOUR <= end:
            w0, w1 = weights[indices[q]], weights[indices[q + ONE]]
            w2, w3 = weights[indices[q + TWO]], weights[indices[q + THREE]]
            for k in range(width):
                row[k] += (w0[k] + w1[k]) + (w2[k] + w3[k])
            q += FOUR
        while q < end:
            w0 = weights[indices[q]]
            for k in range(width):
                row[k] += w0[k]
            q += ONE


@jit
def hash_rows(indptr, indices, bits, start, out):
    """Compute a hash of the indices and the bits of the values of each row, which begins with a number."""
    for r in range(len(out)):
        key = start
        for q in range(indptr[r], indptr[r + 1]):
            key = mix_step(mix_step(key, np.int64(indices[q])), bits[q])
        out[r] = key


def check_finite(values: AnyArray, row_of: Any) -> None:
    """Raise ValueError if a value is NaN or infinite; `row_of` maps a position to the place of its row."""
    finite = np.isfinite(values)
    if not finite.all():
        q = int(np.flatnonzero(~finite)[0])
        raise error_at(row_of(q), f"features must be finite, found {values[q]}")


@dataclass(frozen=True)
class NamedColumns:
    """Rows of numbers with the names of their columns, read as data frames are.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        The rows.
    columns : list of str
        The names.
    """

    values: AnyArray
    columns: list[str]

    def to_numpy(self) -> AnyArray:
        """Return the rows."""
        return self.values


def column_names(x: Any) -> list[str] | None:
    """Return the names of the columns of a data frame; None if x is not a frame, or if a name is not a string."""
    if not hasattr(x, "to_numpy") or not hasattr(x, "columns"):
        return None
    names = list(x.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def shared_columns(X: Sequence[Any], where: Callable[[int], Where], known: list[str] | None = None) -> list[str] | None:
    """Return the column names of the frames in X; raise an error for a frame with others, or in another order."""
    for i, x in enumerate(X):
        names = column_names(x)
        if names is None:
            continue
        if known is None:
            known = names
        elif names != known:
            raise error_at(where(i), f"columns {names!r:.80}, expected {known!r:.80} in this order, as in other frames")
    return known
