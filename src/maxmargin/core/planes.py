"""A batch of planes: all that passes between a structure and a solver.

A plane of example i and output ŷ is ``a = Ψ(x_i, y_i) − Ψ(x_i, ŷ)`` with ``b = Δ(y_i, ŷ)``. A structure gives it from
the **code** of ŷ (a row of int32), a bound turns it into the plane to use, and a solver combines planes into weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from maxmargin._compile import inlined, kernel
from maxmargin._types import AnyArray, FloatArray, IntArray


@dataclass
class Planes:
    """CSR rows a, one per example of a batch. An index may stand twice in a row: its entries add up."""

    indptr: IntArray
    indices: AnyArray  # uint32
    values: AnyArray  # float32 where that is exact, else float64

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def matrix(self, dim: int) -> sp.csr_array:
        """The rows as a scipy matrix, duplicates summed."""
        rows = sp.csr_array(
            (self.values.astype(float), self.indices.astype(np.int64), self.indptr.copy()), shape=(len(self), dim)
        )
        rows.sum_duplicates()
        return rows

    def scaled(self, factors: FloatArray) -> Planes:
        """Row r times factors[r]."""
        return Planes(self.indptr, self.indices, self.values * np.repeat(factors, np.diff(self.indptr)))

    def trimmed(self) -> Planes:
        """The same rows, in arrays that end with the last of them."""
        return Planes(self.indptr, self.indices[: self.indptr[-1]], self.values[: self.indptr[-1]])

    def rows(self, rows: IntArray) -> Planes:
        """These rows, in this order."""
        return gathered(self.indptr[rows], self.indptr[rows + 1], self.indices, self.values)

    def minus(self, other: Planes, rows: IntArray, other_rows: IntArray, scratch: FloatArray) -> Planes:
        """Row r: rows[r] of these less other_rows[r] of the others, cancelled entries left out; −1 is an empty row.

        `scratch` is an array of zeros, one for each weight, and is left so.
        """
        room = int(_lengths(self.indptr, rows).sum() + _lengths(other.indptr, other_rows).sum())
        out = Planes(np.zeros(len(rows) + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
        subtract_rows(
            rows, self.indptr, self.indices, self.values, other_rows, other.indptr, other.indices, other.values,
            scratch, out.indptr, out.indices, out.values,
        )  # fmt: skip
        return out

    def dot_of(self, rows: IntArray, w: FloatArray) -> FloatArray:
        """a·w of these rows."""
        out = np.empty(len(rows))
        some_dots(rows, self.indptr, self.indices, self.values, w, out)
        return out

    def dot(self, w: FloatArray) -> FloatArray:
        """a·w of each row."""
        out = np.empty(len(self))
        row_dots(self.indptr, self.indices, self.values, w, out)
        return out

    def weighted_sum(self, coefficients: FloatArray, out: FloatArray) -> FloatArray:
        """out += Σ_r coefficients[r] a_r."""
        add_rows(self.indptr, self.indices, self.values, coefficients, out)
        return out


def float32_exact(values: AnyArray) -> bool:
    """Whether the values lose nothing as float32."""
    return values.dtype == np.float32 or bool(all_float32(np.asarray(values, float)))


def gathered(starts: IntArray, stops: IntArray, indices: AnyArray, values: AnyArray) -> Planes:
    """Row r: the entries starts[r] … stops[r] of these arrays."""
    indptr = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(stops - starts, out=indptr[1:])
    out = Planes(indptr, np.empty(indptr[-1], indices.dtype), np.empty(indptr[-1], values.dtype))
    copy_spans(starts, indices, values, indptr, out.indices, out.values)
    return out


@inlined
def sparse_dot(index, entry, first, stop, w):
    """Σ entry[first:stop] w[index[first:stop]].

    Positions are unsigned here and below: numba tests signed ones for being negative, which takes half of the time.
    """
    total = 0.0
    for q in range(np.uint64(first), np.uint64(stop)):
        total += entry[q] * w[index[q]]
    return total


@inlined
def sparse_dots(index, entry, first, stop, v, w):
    """The dots with v and with w, hardly dearer than one of them."""
    with_v, with_w = 0.0, 0.0
    for q in range(np.uint64(first), np.uint64(stop)):
        with_v += entry[q] * v[index[q]]
        with_w += entry[q] * w[index[q]]
    return with_v, with_w


@inlined
def add_multiple(index, entry, first, stop, factor, out):
    """out[index[first:stop]] += factor · entry[first:stop]."""
    for q in range(np.uint64(first), np.uint64(stop)):
        out[index[q]] += factor * entry[q]


def _lengths(indptr: IntArray, rows: IntArray) -> IntArray:
    """Entries of each of these rows; 0 for −1."""
    return np.where(rows < 0, 0, indptr[rows + 1] - indptr[rows])


@inlined
def subtract_row(
    index, value, first, stop, other_index, other_value, other_first, other_stop, scratch, out_index, out_value, p
):
    """Write one row less another from p on, cancelled entries left out; where it ends. `scratch` is left as zeros."""
    add_multiple(index, value, first, stop, 1.0, scratch)
    add_multiple(other_index, other_value, other_first, other_stop, -1.0, scratch)
    p = take_sums(index, first, stop, scratch, out_index, out_value, np.uint64(p))
    return np.int64(take_sums(other_index, other_first, other_stop, scratch, out_index, out_value, p))


@inlined
def take_sums(index, first, stop, scratch, out_index, out_value, p):
    """Move what is not 0 in `scratch`, at these indices, to the outputs from p on; where they end.

    Zeros are written too, and then over: a branch that cannot be foreseen would cost more.
    """
    for q in range(np.uint64(first), np.uint64(stop)):
        f = index[q]
        value = scratch[f]
        out_index[p], out_value[p], scratch[f] = f, value, 0.0
        p += np.uint64(value != 0.0)
    return p


@kernel
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


@kernel
def all_float32(values):
    """See `float32_exact`."""
    lost = 0
    for q in range(np.uint64(len(values))):
        lost += values[q] != np.float64(np.float32(values[q]))
    return lost == 0


@kernel
def copy_spans(starts, index, value, out_ptr, out_index, out_value):
    """See `gathered`."""
    for r in range(len(starts)):
        shift = starts[r] - out_ptr[r]
        for p in range(out_ptr[r], out_ptr[r + 1]):
            out_index[p], out_value[p] = index[p + shift], value[p + shift]


@kernel
def some_dots(rows, indptr, indices, values, w, out):
    """out[r] = a·w of rows[r]."""
    for r in range(len(rows)):
        out[r] = sparse_dot(indices, values, indptr[rows[r]], indptr[rows[r] + 1], w)


@kernel
def row_dots(indptr, indices, values, w, out):
    """out[r] = a_r·w."""
    for r in range(len(out)):
        out[r] = sparse_dot(indices, values, indptr[r], indptr[r + 1], w)


@kernel
def add_rows(indptr, indices, values, coefficients, out):
    """out += Σ_r coefficients[r] a_r."""
    for r in range(len(coefficients)):
        c = coefficients[r]
        if c != 0.0:
            add_multiple(indices, values, indptr[r], indptr[r + 1], c, out)
