"""Planes of the outputs that user-defined structures return, computed in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import HASH_PRIME, HASH_START, TRUTH, Planes, mix_step, sparse_dot, subtract_row
from maxmargin.custom.joint_features import LARGEST
from maxmargin.features.rows.rows import MAGNITUDE

#: The bits of `LARGEST`: the bits of floats are ordered as the floats are, with infinity and NaN last.
LARGEST_BITS = np.float64(LARGEST).view(np.int64)


class Batch:
    """The planes found by one call of `decode`, one row per example of ids; the arrays are reused by later calls."""

    def __init__(self) -> None:
        self.indices: AnyArray = np.empty(0, np.uint32)
        self.values = np.empty(0)

    def begin(self, ids: IntArray) -> None:
        """Clear the batch and make room for one row per example of ids."""
        self.ids, self.keys, self.rises = ids, np.empty(len(ids), np.int64), np.empty(len(ids))
        self.uppers = dict[int, float]()
        self.indptr, self.outputs = np.zeros(len(ids) + 1, np.int64), list[Any]()

    def reserve(self, used: int, entries: int) -> None:
        """Make room for this number of entries after those in use."""
        if used + entries > len(self.values):
            indices, values, size = self.indices[:used], self.values[:used], used + max(used // 2, entries)
            self.indices, self.values = np.empty(size, np.uint32), np.empty(size)
            self.indices[:used], self.values[:used] = indices, values

    def take(self, parts: list[Batch]) -> None:
        """Replace the content by the concatenated rows of other batches."""
        self.begin(np.concatenate([part.ids for part in parts]))
        np.concatenate([part.keys for part in parts], out=self.keys)
        self.indptr = offsets_of(np.concatenate([np.diff(part.indptr) for part in parts]))
        self.reserve(0, int(self.indptr[-1]))
        end = 0
        for part in parts:
            begin, end = end, end + int(part.indptr[-1])
            self.indices[begin:end] = part.indices[: end - begin]
            self.values[begin:end] = part.values[: end - begin]
            self.outputs += part.outputs

    def add_planes(
        self, k: int, truths: Planes, planes: Planes, losses: FloatArray, w: FloatArray, scratch: FloatArray
    ) -> bool:
        """Write the planes of joint features into the rows from k on, with rises and keys.

        Returns
        -------
        bool
            False if a joint feature has an index out of range or too large a value; the rows are then not usable.
        """
        rows = slice(k, k + len(planes))
        ids = self.ids[rows]
        true_entries = int((truths.indptr[ids + 1] - truths.indptr[ids]).sum())
        self.reserve(int(self.indptr[k]), true_entries + int(planes.indptr[-1]))
        return bool(
            difference_planes(
                ids, truths.indptr, truths.indices, truths.values, planes.indptr, planes.indices, planes.values,
                planes.values.view(np.int64), losses.view(np.int64), w, scratch, self.indptr[k:], self.indices,
                self.values, self.values.view(np.int64), self.rises[rows], self.keys[rows],
            )
        )  # fmt: skip


@jit
def difference_planes(
    ids, truth_ptr, truth_index, truth_value, found_ptr, found_index, found_value, found_bits, loss_bits, w, scratch,
    out_ptr, out_index, out_value, out_bits, rises, keys,
):  # fmt: skip
    """Compute the planes a = Ψ(x_i, y_i) − Ψ(x_i, ŷ) of all rows found, their rises −a·w and their keys.

    Entries that cancel are left out; the others are written from out_ptr[0] on. The key is a hash of the loss and of
    the entries, independent of their order; it is 0 for an empty row without loss. Return False if an index is out of
    range or a value is too large; the output is then not usable. `scratch` must contain zeros, also on return.
    """
    wrong = 0
    for q in range(len(found_index)):
        index = found_index[q]
        wrong += (found_bits[q] & MAGNITUDE > LARGEST_BITS) | (index < 0) | (index >= len(scratch))
    if wrong > 0:
        return False
    p = out_ptr[0]
    for r in range(len(ids)):
        begin = p
        p = subtract_row(
            truth_index, truth_value, truth_ptr[ids[r]], truth_ptr[ids[r] + 1], found_index, found_value, found_ptr[r],
            found_ptr[r + 1], scratch, out_index, out_value, p,
        )  # fmt: skip
        out_ptr[r + 1] = p
        rises[r] = -sparse_dot(out_index, out_value, begin, p, w)
        key = mix_step(HASH_START, loss_bits[r])
        for q in range(np.uint64(begin), np.uint64(p)):
            key += mix_step(out_bits[q], np.int64(out_index[q]) * HASH_PRIME)
        if p == begin and loss_bits[r] == 0:
            keys[r] = TRUTH
        else:
            keys[r] = key if key != TRUTH else 1
    return True
