"""Ragged data: rows of varying length in one array, and the offsets at which they begin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray

#: Number of entries that are computed at a time, where all of them would take much memory.
PART = 1 << 20
#: The ids of the examples of a batch that has a single one.
ONLY = np.zeros(1, np.int64)


def offsets_of(lengths: Any) -> IntArray:
    """Return the offsets of rows of these lengths: 0, and the sum of the first 1, 2, … lengths."""
    lengths = lengths if isinstance(lengths, np.ndarray) else np.array(lengths, np.int64)
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def offsets_among(ids: IntArray, offsets: IntArray) -> IntArray:
    """Return the offsets of some of the rows, taken out and concatenated."""
    return offsets_of(offsets[ids + 1] - offsets[ids])


def kept_offsets(kept: AnyArray, offsets: IntArray) -> IntArray:
    """Return the offsets of the rows without the entries that are not kept, given a mask of all entries."""
    kept_until: IntArray = offsets_of(kept)[offsets]
    return kept_until


def spans(rows: IntArray, offsets: IntArray) -> IntArray:
    """Return the concatenated positions offsets[r], …, offsets[r + 1] − 1 of the given rows."""
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    return np.repeat(offsets[rows] - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)


def places(offsets: IntArray) -> IntArray:
    """Return the position of each entry in its row: 0, 1, … for each row."""
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))


def row_sums(values: AnyArray, offsets: IntArray) -> AnyArray:
    """Return the sum of each row, as a difference of running sums over all values."""
    running = np.zeros(len(values) + 1, np.result_type(values.dtype, np.int64))
    np.cumsum(values, out=running[1:])
    return np.diff(running[offsets])


def sums_by_parts(values: Callable[[int, int], AnyArray], offsets: IntArray) -> FloatArray:
    """Return `row_sums` of values from one position to another, which are computed a part at a time."""
    sums, carried = np.empty(len(offsets) - 1), np.zeros(1)
    for some in batches(np.diff(offsets), PART):
        first, stop = int(offsets[some.start]), int(offsets[some.stop])
        running = np.cumsum(np.concatenate([carried, values(first, stop)]))
        sums[some] = np.diff(running[offsets[some.start : some.stop + 1] - first])
        carried = running[-1:]
    return sums


def row_maxima(values: IntArray, offsets: IntArray) -> IntArray:
    """Return the maximum of each row of numbers ≥ 0; 0 for a row without entries."""
    maxima, filled = np.zeros(len(offsets) - 1, np.int64), offsets[1:] > offsets[:-1]
    if filled.any():
        maxima[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return maxima


def batches(sizes: IntArray, most: int) -> list[slice]:
    """Return runs of rows whose sizes add up to about `most`, or to more if a single row does."""
    ends = np.cumsum(sizes)
    full = int(ends[-1]) // most if len(ends) else 0
    if full > len(sizes):
        cuts = np.flatnonzero(np.diff(ends // most)) + 1
    else:  # a run begins with the row that reaches a multiple: few searches in place of many divisions
        cuts = np.unique(np.searchsorted(ends, most * np.arange(1, full + 1)))
    return [slice(a, b) for a, b in pairwise([0, *cuts[cuts > 0].tolist(), len(sizes)])]


def renumbered(kept: AnyArray) -> IntArray:
    """Return the number of each entry among those that are kept, −1 for the others."""
    return np.where(kept, np.cumsum(kept) - 1, -1)


def split_rows(values: Any, lengths: Any, noun: str = "numbers") -> list[Any]:
    """Return a sequence as rows of these lengths; raise ValueError if they do not add up to its own length."""
    lengths = np.asarray(lengths)
    if (lengths < 0).any() or lengths.sum() != len(values):
        raise ValueError(f"expected {lengths.sum()} {noun} in total, found {len(values)}")
    return [values[a:b] for a, b in pairwise(offsets_of(lengths).tolist())]


def taken(values: Any, ids: IntArray, offsets: IntArray | None = None) -> Any:
    """Return the entries of some examples, from values with entries for each example.

    Parameters
    ----------
    values : ndarray, list, or object with a method `take`
        Entries of all examples; if there are none, as of truths that are not known, there are none of these examples.
    ids : ndarray of int
        The examples.
    offsets : ndarray of int, optional
        Offsets of the examples among the entries; None if each has one entry.
    """
    at = ids if offsets is None else spans(ids, offsets)
    if isinstance(values, list):
        return [values[i] for i in at.tolist()]
    if not isinstance(values, np.ndarray):
        return None if values is None else values.take(at)
    return values[at] if len(values) else values


@dataclass(frozen=True)
class Ragged:
    """Rows of varying length.

    Attributes
    ----------
    values : ndarray
        The rows, concatenated.
    offsets : ndarray of int64
        Row i is ``values[offsets[i]:offsets[i + 1]]``.
    """

    values: AnyArray
    offsets: IntArray

    @classmethod
    def of(cls, rows: Sequence[AnyArray], dtype: Any) -> Ragged:
        """Return rows as values of one type."""
        values = np.concatenate([*rows, np.zeros(0, dtype)]).astype(dtype, copy=False)
        return cls(values, offsets_of([len(row) for row in rows]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> AnyArray:
        return self.values[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[AnyArray]:
        return (self.values[a:b] for a, b in pairwise(self.offsets.tolist()))

    @property
    def lengths(self) -> IntArray:
        """Length of each row."""
        return np.diff(self.offsets)

    def take(self, ids: IntArray) -> Ragged:
        """Return some of the rows, in this order."""
        return Ragged(self.values[spans(ids, self.offsets)], offsets_among(ids, self.offsets))

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays, for fingerprints."""
        return self.values, self.offsets


class Numbered(Sequence[Any]):
    """Sequences of values that repeat, such as the tokens of a text: 4 bytes for each element.

    Parameters
    ----------
    values : list
        The distinct values, in the order in which they first occur.
    numbers : ndarray of int32
        The value of each element of all sequences, concatenated.
    offsets : ndarray of int64
        Sequence i has the elements ``offsets[i]`` … ``offsets[i + 1] − 1``.

    Attributes
    ----------
    empty : callable (size, type)
        Makes the arrays of the encoded sequences: in memory, or in files that are mapped into it (`_base.mapped`).
    """

    def __init__(self, values: list[Any], numbers: CodeArray, offsets: IntArray) -> None:
        self.values, self.numbers, self.offsets = values, numbers, offsets
        self.empty: Callable[[int, Any], AnyArray] = np.empty

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.take(np.arange(len(self))[at])
        i = range(len(self))[at]
        return [self.values[n] for n in self.numbers[self.offsets[i] : self.offsets[i + 1]].tolist()]

    def translated(self, table: AnyArray) -> AnyArray:
        """Return the entry of a table, which has one for each distinct value, of each element of all sequences."""
        out = self.empty(len(self.numbers), table.dtype)
        for first in range(0, len(out), PART):
            out[first : first + PART] = table[self.numbers[first : first + PART]]
        return out

    def take(self, ids: IntArray) -> Numbered:
        """Return some of the sequences, in this order, with the values that occur in them."""
        order, numbers = np.unique(self.numbers[spans(ids, self.offsets)], return_inverse=True)
        # In the order of the first occurrence again, as if these sequences alone had been read.
        first = np.full(len(order), len(numbers))
        np.minimum.at(first, numbers, np.arange(len(numbers)))
        ranks = np.argsort(first)
        renumber = np.empty(len(order), np.int32)
        renumber[ranks] = np.arange(len(order))
        some = Numbered([self.values[n] for n in order[ranks].tolist()], renumber[numbers],
                        offsets_among(ids, self.offsets))  # fmt: skip
        some.empty = self.empty
        return some
