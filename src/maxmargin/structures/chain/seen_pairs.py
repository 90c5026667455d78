"""Pairs of a feature and a label that occur together in the training data, the only ones with a weight.

The weight of any other pair is fixed at 0, as in CRF packages. The weights of feature f are those at
``pointers[f] … pointers[f + 1]``, and belong to the labels at the same places of `labels`, in ascending order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.ragged import PART, offsets_of
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.features.rows.rows import Rows


class SeenPairs:
    """Compact index of the pairs (feature, label) that have a weight.

    Parameters
    ----------
    pointers : ndarray of int64 of shape (n_columns + 1,)
        Start of the weights of each feature, and the end of the last ones.
    labels : ndarray of int32
        Label of each weight.
    n_labels : int
        Number of labels.
    """

    def __init__(self, pointers: IntArray, labels: CodeArray, n_labels: int) -> None:
        self.pointers, self.labels, self.n_labels = pointers, labels, n_labels

    @classmethod
    def of(cls, rows: Rows, labels: CodeArray, n_labels: int) -> SeenPairs:
        """Return the pairs of the features of each row and its label."""
        seen = np.zeros((rows.n_columns, n_labels), bool)
        mark_pairs(labels, rows.indptr, rows.indices, rows.data, seen)
        pointers = offsets_of(np.count_nonzero(seen, axis=1))
        return cls(pointers, np.nonzero(seen)[1].astype(np.int32), n_labels)

    @classmethod
    def merged(
        cls,
        parts: Sequence[SeenPairs],
        columns: Sequence[IntArray],
        labels: Sequence[CodeArray],
        shape: tuple[int, int],
    ) -> SeenPairs:
        """Return the pairs that occur in any part of the data.

        Parameters
        ----------
        parts : sequence of SeenPairs
            The pairs of each part.
        columns, labels : sequence of ndarray
            Column and label in the whole of each column and label of a part; −1 if it is left out.
        shape : tuple of int
            Number of columns and of labels in the whole.
        """
        seen: IntArray = np.zeros(0, np.int64)
        for part, column, label in zip(parts, columns, labels, strict=True):
            at, to = column[part.columns()], label[part.labels]
            seen = np.union1d(seen, (at * shape[1] + to)[(at >= 0) & (to >= 0)])
        pointers = offsets_of(np.bincount(seen // shape[1], minlength=shape[0]))
        return cls(pointers, (seen % shape[1]).astype(np.int32), shape[1])

    def __len__(self) -> int:
        return len(self.labels)

    def scores(self, rows: Rows, weights: FloatArray, where: IntArray) -> FloatArray:
        """Return the scores of all labels of some rows."""
        out = np.empty((len(where), self.n_labels))
        pair_scores(where, rows.indptr, rows.indices, rows.data, self.pointers, self.labels, weights, out)
        return out

    def add_weighted(
        self, rows: Rows, table: FloatArray, where: IntArray, out: FloatArray, squared: bool = False
    ) -> None:
        """Add Σ_r x[where[r], f] table[r, k], or of the squares of x, to the weight of each pair (f, k)."""
        add_pair_sums(where, rows.indptr, rows.indices, rows.data, squared, self.pointers, self.labels, table, out)

    def columns(self) -> IntArray:
        """Return the feature of each weight."""
        return np.repeat(np.arange(len(self.pointers) - 1), np.diff(self.pointers))

    def table(self, weights: FloatArray) -> FloatArray:
        """Return the weights as a table of features × labels, 0 for all other pairs."""
        table = np.zeros((len(self.pointers) - 1, self.n_labels))
        table[self.columns(), self.labels] = weights
        return table

    def entries(self, table: FloatArray) -> FloatArray:
        """Return the entries of a table of features × labels that have a weight, the inverse of `table`."""
        return table[self.columns(), self.labels]

    def counted(self, rows: Rows) -> int:
        """Return the number of weights that the scores of all rows add up."""
        weights, entries = np.diff(self.pointers), rows.indices
        return sum(int(weights[entries[first : first + PART]].sum()) for first in range(0, len(entries), PART))

    def get_state(self) -> dict[str, AnyArray]:
        """Return the number of weights of each feature, and their labels."""
        return {"counts": np.diff(self.pointers).astype(np.int32), "labels": self.labels}

    @classmethod
    def from_state(cls, state: Any, n_columns: int, n_labels: int) -> SeenPairs:
        """Return the pairs of a state; raise ValueError if they do not fit the features and labels."""
        counts, labels = (np.asarray(state[name]).astype(np.int64) for name in ("counts", "labels"))
        pointers = offsets_of(counts)
        sound = counts.shape == (n_columns,) and bool((counts >= 0).all()) and labels.shape == (pointers[-1],)
        sound = sound and (len(labels) == 0 or 0 <= labels.min() <= labels.max() < n_labels)
        keys = np.repeat(np.arange(n_columns), counts) * n_labels + labels if sound else np.zeros(2, np.int64)
        if not (keys[1:] > keys[:-1]).all():
            raise ValueError("the labels seen with each feature must be classes in ascending order")
        return cls(pointers, labels.astype(np.int32), n_labels)


@jit
def mark_pairs(labels, indptr, indices, data, seen):
    """Mark the pairs of each row's label and features; features of value 0 do not count."""
    for t in range(len(labels)):
        for q in range(indptr[t], indptr[t + 1]):
            if len(data) == 0 or data[q] != 0.0:
                seen[indices[q], labels[t]] = True


@jit
def pair_scores(rows, indptr, indices, data, pointers, labels, weights, out):
    """Compute out[r, k] = Σ_f x[rows[r], f] w(f, k) over the pairs that have a weight.

    Most entries of text are of frequent features, which have a weight for every label.
    """
    width = out.shape[1]
    for r in range(len(rows)):
        row = out[r]
        row[:] = 0.0
        for q in range(np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])):
            f = indices[q]
            value = data[q] if len(data) > 0 else 1.0
            first, stop = np.uint64(pointers[f]), np.uint64(pointers[f + np.uint32(1)])
            if stop - first == np.uint64(width):
                every = weights[first:stop]
                for k in range(width):
                    row[k] += value * every[k]
            else:
                for s in range(first, stop):
                    row[labels[s]] += value * weights[s]


@jit
def add_pair_sums(rows, indptr, indices, data, squared, pointers, labels, table, out):
    """Add Σ_r x[rows[r], f] table[r, k] to out of each pair (f, k) that has a weight."""
    width = table.shape[1]
    for r in range(len(rows)):
        row = table[r]
        for q in range(np.uint64(indptr[rows[r]]), np.uint64(indptr[rows[r] + 1])):
            f = indices[q]
            value = data[q] if len(data) > 0 else 1.0
            if squared:
                value *= value
            first, stop = np.uint64(pointers[f]), np.uint64(pointers[f + np.uint32(1)])
            if stop - first == np.uint64(width):
                every = out[first:stop]
                for k in range(width):
                    every[k] += value * row[k]
            else:
                for s in range(first, stop):
                    out[s] += value * row[labels[s]]
