"""Answers and planes: all that is passed between a structure and a solver.

A plane of example i and output ŷ is ``a = Ψ(x_i, y_i) − Ψ(x_i, ŷ)`` with ``b = Δ(y_i, ŷ)``. A structure computes the
plane from the **code** of ŷ, a bound rescales it, and a solver combines planes into weights.

A code is a row of int32: the label of a row, the labels of a sequence, the heads of a tree. The codes of all
examples are concatenated in `Answers.codes`, that of example i at ``code_offsets[i]:code_offsets[i + 1]``. The **key**
is a 64-bit hash of the code, 0 for the truth. Solvers compare keys only: a plane whose key is already in the working
set is not stored twice.

Outputs of user-defined structures are any Python objects and have no code; `Answers.outputs` holds them. Their key is a
hash of the plane (its entries and its loss), because two outputs with the same plane are the same to a solver. The
objects behind the planes that a solver holds are kept by (example, key) until the plane is dropped (`Examples.forget`).
A resumed fit does not have them, and `support_` shows None for planes from before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.jit import inlined, jit
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray

#: FNV-1a over the labels of a code, in 64 bits.
HASH_START = np.int64(1469598103934665603)
HASH_PRIME = np.int64(1099511628211)

#: The key of the true output.
TRUTH = 0
#: First symbol of the code if forbidden parts leave no valid output.
NO_OUTPUT = -(2**31)


@inlined
def hash_step(key, symbol):
    """Return the key after mixing in one more symbol of a code."""
    return (key ^ np.int64(symbol + 1)) * HASH_PRIME


@jit
def key_of(code):
    """Return the key of a code that is not the true one."""
    key = HASH_START
    for symbol in code:
        key = hash_step(key, symbol)
    return key


_SHIFT_30, _SHIFT_27, _SHIFT_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@inlined
def mix_step(key, word):
    """Return the key after mixing in 64 arbitrary bits (the finaliser of splitmix64).

    The significant bits of floats are the upper ones, which multiplication alone would lose.
    """
    z = np.uint64(key) ^ np.uint64(word)
    z = (z ^ (z >> _SHIFT_30)) * _MIX_1
    z = (z ^ (z >> _SHIFT_27)) * _MIX_2
    return np.int64(z ^ (z >> _SHIFT_31))


@dataclass
class Answers:
    """Results of decoding, in arrays over all examples.

    A decode overwrites the entries of its batch.

    Attributes
    ----------
    codes : ndarray of int32
        Codes of all examples, concatenated.
    losses : ndarray of shape (n_examples,)
        Δ(y_i, ŷ_i).
    rises : ndarray of shape (n_examples,)
        w·Ψ(x_i, ŷ_i) − w·Ψ(x_i, y_i).
    keys : ndarray of int64 of shape (n_examples,)
        Hash of the code; 0 if ŷ_i is the truth.
    upper : ndarray of shape (n_examples,)
        Proven upper bounds on max_ŷ rise + scale · loss, written if `Examples.bounded`. Otherwise the decode found the
        maximum (`Examples.exact`), or nothing is proven.
    outputs : ndarray of object
        The outputs themselves if they have no code (user-defined structures); otherwise of length 0.
    """

    codes: CodeArray
    losses: FloatArray
    rises: FloatArray
    keys: IntArray
    upper: FloatArray
    outputs: AnyArray

    @classmethod
    def empty(cls, n_examples: int, code_size: int, n_outputs: int = 0) -> Answers:
        """Return answers with space for this number of examples, code symbols and outputs."""
        n = n_examples
        return cls(
            np.zeros(code_size, np.int32), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), np.full(n, np.inf),
            np.empty(n_outputs, object),
        )  # fmt: skip


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


#: Unit roundoff of float64.
UNIT = 2.0**-53


def rounding_units(terms: Any, norms: Any) -> FloatArray:
    """Return u such that the rise of an output is computed with an error of at most u ‖w‖.

    A sum of products of n terms w_j x_j is computed with an error of at most n 2⁻⁵³ Σ |w_j x_j| / (1 − n 2⁻⁵³),
    whatever the order of the terms (Higham 2002, section 3.1), and Σ |w_j x_j| ≤ ‖w‖ ‖x‖. The rise is the difference of
    two scores, and the loss is added to it; where that leaves a small hinge, the loss is of the size of the rise.

    Parameters
    ----------
    terms : array-like of shape (n_examples,)
        Number of terms of a score.
    norms : array-like of shape (n_examples,)
        Sum of the norms of the feature vectors that add up to a score.
    """
    shares = UNIT * np.maximum(np.asarray(terms, float) + 2.0, 0.0)
    return 4.0 * shares / (1.0 - np.minimum(shares, 0.5)) * np.asarray(norms, float)
