"""Planes: all that is passed between a structure and a solver.

A plane of example i and output ŷ is ``a = Ψ(x_i, y_i) − Ψ(x_i, ŷ)`` with ``b = Δ(y_i, ŷ)``. A structure computes the
plane from the **code** of ŷ (a row of int32), a bound rescales it, and a solver combines planes into weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin._base.jit import inlined, jit
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray


@dataclass
class Planes:
    """CSR rows a, one per example of a batch.

    An index may occur twice in a row; its entries are then added.

    Attributes
    ----------
    indptr : ndarray of int64
        Start of each row, and the end of the last row.
    indices : ndarray of uint32
        Indices of weights.
    values : ndarray of float32 or float64
        Entries; float32 only if that is exact.
    """

    indptr: IntArray
    indices: AnyArray
    values: AnyArray

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def matrix(self, dim: int) -> sp.csr_array:
        """Return the rows as a scipy matrix, with duplicates summed."""
        rows = sp.csr_array(
            (self.values.astype(float), self.indices.astype(np.int64), self.indptr.copy()), shape=(len(self), dim)
        )
        rows.sum_duplicates()
        return rows

    def scaled(self, factors: FloatArray) -> Planes:
        """Return the planes with row r multiplied by factors[r]."""
        return Planes(self.indptr, self.indices, self.values * np.repeat(factors, np.diff(self.indptr)))

    def trimmed(self) -> Planes:
        """Return the same rows in arrays without unused space at the end."""
        return Planes(self.indptr, self.indices[: self.indptr[-1]], self.values[: self.indptr[-1]])

    def rows(self, rows: IntArray) -> Planes:
        """Return the given rows, in this order."""
        return gathered(self.indptr[rows], self.indptr[rows + 1], self.indices, self.values)

    def minus(self, other: Planes, rows: IntArray, other_rows: IntArray, scratch: FloatArray) -> Planes:
        """Return the difference of rows[r] and other_rows[r] of the others as row r.

        Entries that cancel are left out; −1 denotes an empty row. `scratch` is an array of zeros, one for each
        weight, and is zero again afterwards.
        """
        room = int(_lengths(self.indptr, rows).sum() + _lengths(other.indptr, other_rows).sum())
        out = Planes(np.zeros(len(rows) + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
        subtract_rows(
            rows, self.indptr, self.indices, self.values, other_rows, other.indptr, other.indices, other.values,
            scratch, out.indptr, out.indices, out.values,
        )  # fmt: skip
        return out

    def dot_of(self, rows: IntArray, w: FloatArray) -> FloatArray:
        """Return a·w of the given rows."""
        out = np.empty(len(rows))
        some_dots(rows, self.indptr, self.indices, self.values, w, out)
        return out

    def dot(self, w: FloatArray) -> FloatArray:
        """Return a·w of each row."""
        out = np.empty(len(self))
        row_dots(self.indptr, self.indices, self.values, w, out)
        return out

    def weighted_sum(self, coefficients: FloatArray, out: FloatArray) -> FloatArray:
        """Add Σ_r coefficients[r] a_r to `out` and return `out`."""
        add_rows(self.indptr, self.indices, self.values, coefficients, out)
        return out


def float32_exact(values: AnyArray) -> bool:
    """Return whether the values are exact in float32."""
    return values.dtype == np.float32 or bool(all_float32(np.asarray(values, float)))


def gathered(starts: IntArray, stops: IntArray, indices: AnyArray, values: AnyArray) -> Planes:
    """Return planes with the entries starts[r], …, stops[r] − 1 of these arrays as row r."""
    indptr = offsets_of(stops - starts)
    out = Planes(indptr, np.empty(indptr[-1], indices.dtype), np.empty(indptr[-1], values.dtype))
    copy_spans(starts, indices, values, indptr, out.indices, out.values)
    return out


@inlined
def sparse_dot(index, entry, first, stop, w):
    """Return Σ entry[first:stop] w[index[first:stop]].

    Positions are unsigned in this file, because numba checks whether signed ones are negative, which would double the
    time.
    """
    total = 0.0
    for q in range(np.uint64(first), np.uint64(stop)):
        total += entry[q] * w[index[q]]
    return total


@inlined
def sparse_dots(index, entry, first, stop, v, w):
    """Return the products with v and with w, at hardly more than the cost of one of them."""
    with_v, with_w = 0.0, 0.0
    for q in range(np.uint64(first), np.uint64(stop)):
        with_v += entry[q] * v[index[q]]
        with_w += entry[q] * w[index[q]]
    return with_v, with_w


@inlined
def add_multiple(index, entry, first, stop, factor, out):
    """Add factor · entry[first:stop] to out[index[first:stop]]."""
    for q in range(np.uint64(first), np.uint64(stop)):
        out[index[q]] += factor * entry[q]


def _lengths(indptr: IntArray, rows: IntArray) -> IntArray:
    """Return the number of entries of the given rows; 0 for −1."""
    return np.where(rows < 0, 0, indptr[rows + 1] - indptr[rows])


@inlined
def subtract_row(
    index, value, first, stop, other_index, other_value, other_first, other_stop, scratch, out_index, out_value, p
):
    """Write the difference of two rows from p on, without entries that cancel, and return its end.

    `scratch` is zero again afterwards.
    """
    add_multiple(index, value, first, stop, 1.0, scratch)
    add_multiple(other_index, other_value, other_first, other_stop, -1.0, scratch)
    p = take_sums(index, first, stop, scratch, out_index, out_value, np.uint64(p))
    return np.int64(take_sums(other_index, other_first, other_stop, scratch, out_index, out_value, p))


@inlined
def take_sums(index, first, stop, scratch, out_index, out_value, p):
    """Move the nonzero entries of `scratch` at these indices to the outputs from p on and return their end.

    Zeros are written too and then overwritten, because an unpredictable branch would cost more.
    """
    for q in range(np.uint64(first), np.uint64(stop)):
        f = index[q]
        value = scratch[f]
        out_index[p], out_value[p], scratch[f] = f, value, 0.0
        p += np.uint64(value != 0.0)
    return p


@jit
def subtract_rows(
    rows, indptr, index, value, other_rows, other_ptr, other_index, other_value, scratch, out_ptr, out_index, out_value
):
    """See `Planes.minus`."""
    p = 0
    for r in range(len(rows)):
        i, j = rows[r], other_rows[r]
        first, stop = (indptr[i], indptr[i + 1]) if i >= 0 else (0, 0)
        other_first, other_stop = (other_ptr[j], other_ptr[j + 1]) if j >= 0 else (0, 0)
        p = subtract_row(
            index,
            value,
            first,
            stop,
            other_index,
            other_value,
            other_first,
            other_stop,
            scratch,
            out_index,
            out_value,
            p,
        )
        out_ptr[r + 1] = p


@jit
def all_float32(values):
    """See `float32_exact`."""
    lost = 0
    for q in range(np.uint64(len(values))):
        lost += values[q] != np.float64(np.float32(values[q]))
    return lost == 0


@jit
def copy_spans(starts, index, value, out_ptr, out_index, out_value):
    """See `gathered`."""
    for r in range(len(starts)):
        shift = starts[r] - out_ptr[r]
        for p in range(out_ptr[r], out_ptr[r + 1]):
            out_index[p], out_value[p] = index[p + shift], value[p + shift]


@jit
def some_dots(rows, indptr, indices, values, w, out):
    """Write a·w of rows[r] to out[r]."""
    for r in range(len(rows)):
        out[r] = sparse_dot(indices, values, indptr[rows[r]], indptr[rows[r] + 1], w)


@jit
def row_dots(indptr, indices, values, w, out):
    """Write a_r·w to out[r]."""
    for r in range(len(out)):
        out[r] = sparse_dot(indices, values, indptr[r], indptr[r + 1], w)


@jit
def add_rows(indptr, indices, values, coefficients, out):
    """Add Σ_r coefficients[r] a_r to `out`."""
    for r in range(len(coefficients)):
        c = coefficients[r]
        if c != 0.0:
            add_multiple(indices, values, indptr[r], indptr[r + 1], c, out)
