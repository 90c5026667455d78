"""Features of the cells of alignments as keys of positions: nothing of size cells × features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.engines.engine import Engine
from maxmargin.features.biology.position_fields import Field, PositionEncoder, columns_of
from maxmargin.parts.blocks import Block
from maxmargin.structures.alignment import _cell_scores as _tables


class Pairs(NamedTuple):
    """Where the sequences of each pair are among the positions of all sequences.

    Attributes
    ----------
    row_starts, n_rows, col_starts, n_cols : arrays of shape (n_pairs,)
        First position and number of positions, of the first and of the second sequence.
    """

    row_starts: IntArray
    n_rows: IntArray
    col_starts: IntArray
    n_cols: IntArray

    def take(self, ids: IntArray) -> Pairs:
        """Return some of the pairs."""
        return Pairs(*(array[ids] for array in self))

    def cell_offsets(self) -> IntArray:
        """Return the offset of each pair's cells among all cells."""
        return offsets_of(self.n_rows * self.n_cols)


#: Maximum number of keys of a group that joins others.
MOST_JOINED = 96


class Layout:
    """The templates of a preset as arrays, grouped by their row fields from coarse to fine.

    Groups whose keys do not follow from another group's are joined, as long as the keys stay few.

    Parameters
    ----------
    encoder : PositionEncoder
        A fitted encoder.
    """

    def __init__(self, encoder: PositionEncoder) -> None:
        templates = encoder.templates
        groups = list(dict.fromkeys(a for a, _ in templates))
        joins = joining_fields(encoder, groups)
        self.fields: list[Field] = list(dict.fromkeys([*(field for pair in templates for field in pair), *joins]))
        number = {field: k for k, field in enumerate(self.fields)}
        sizes = np.array([a.size * b.size for a, b in templates], np.int64)
        self.row_fields = np.array([number[a] for a, _ in templates], np.int64)
        self.col_fields = np.array([number[b] for _, b in templates], np.int64)
        self.offsets = offsets_of(sizes)[:-1]
        self.widths = np.array([b.size for _, b in templates], np.int64)
        self.dim, self.tied = encoder.width, encoder.tied
        groups += joins
        self.group_fields = np.array([number[field] for field in groups], np.int64)
        self.group_stops = np.cumsum([sum(a == field for a, _ in templates) for field in groups])
        self.group_sizes = np.array([field.size for field in groups], np.int64)
        known = [encoder.known(field) for field in groups]
        finer = [[k for k in range(g + 1, len(groups)) if known[g] < known[k]] for g in range(len(groups))]
        self.finer = np.full((len(groups), max(map(len, finer), default=0) + 1), -1, np.int64)
        for row, some in zip(self.finer, finer, strict=True):
            row[: len(some)] = some
        self.products = np.zeros((len(encoder.products), 5), np.int64)
        firsts, at = columns_of(encoder), int(sizes.sum())
        for row, (a, b) in zip(self.products, encoder.products, strict=True):
            n_a, n_b = encoder.n_columns(a), encoder.n_columns(b)
            row[:] = firsts[a], n_a, firsts[b], n_b, at
            at += n_a * n_b

    @classmethod
    def of(cls, encoder: PositionEncoder) -> Layout:
        """Return the layout of a fitted encoder, which is made once."""
        if not isinstance(encoder.layout, cls):
            encoder.layout = cls(encoder)
        return encoder.layout

    def spread(self, w: FloatArray) -> FloatArray:
        """Return weights with those of a pair of keys in both orders."""
        return w if self.tied is None else w[self.tied]

    @property
    def n_features(self) -> int:
        """Maximum number of features of a cell."""
        return len(self.offsets) + int((self.products[:, 1] * self.products[:, 3]).sum())

    def most_rows(self, n: int) -> int:
        """Return the maximum number of rows that are gathered for a table of n rows."""
        return int(np.minimum(self.group_sizes, n - n // 4).sum())

    def scratch(self, n: int, m: int) -> tuple[AnyArray, ...]:
        """Return the scratch space of `score_table` for tables of up to n × m cells."""
        groups, most = len(self.group_fields), self.most_rows(n)
        slots = np.full(int(self.group_sizes.max(initial=0)) + 1, -1, np.int32)
        lists = np.zeros((4, groups + 1), np.int64)
        return slots, np.zeros((groups, n), np.int32), lists, np.zeros(most, np.int32), np.empty((most, m))


def joining_fields(encoder: PositionEncoder, groups: list[Field]) -> list[Field]:
    """Return fields that join groups whose keys follow from no other group, the largest with those that still fit."""
    known = [encoder.known(field) for field in groups]
    alone = [a for a, some in zip(groups, known, strict=True) if not any(some < other for other in known)]
    joins: list[Field] = []
    for field in sorted(alone, key=lambda field: -field.size):
        fitting = next((k for k, join in enumerate(joins) if join.size * field.size <= MOST_JOINED), None)
        if fitting is None:
            joins.append(field)
        else:
            joins[fitting] = encoder.field(*joins[fitting].parts, *field.parts)
    return [join for join in joins if join not in groups]


class CellFeatures(Block):
    """Features of matches: cell i m + j matches position i of the first sequence with j of the second.

    Parameters
    ----------
    layout : Layout
        The templates.
    keys, numbers : arrays
        As in `score_table`.
    pairs : Pairs
        The sequences of each example.
    """

    def __init__(self, layout: Layout, keys: AnyArray, numbers: FloatArray, pairs: Pairs) -> None:
        self.layout, self.keys, self.numbers, self.pairs = layout, keys, numbers, pairs
        self.offsets, self.width = pairs.cell_offsets(), layout.dim
        self.n_rows, self.n_outputs, self.constant = int(self.offsets[-1]), 1, False
        self.forbidden, self.dense = None, None

    @property
    def templates(self) -> tuple[Any, ...]:
        """The arguments of compiled functions that describe the templates."""
        layout = self.layout
        return (
            self.keys, len(layout.group_fields), layout.group_fields, layout.group_stops, layout.finer,
            layout.col_fields, layout.offsets, layout.widths, self.numbers, layout.products,
        )  # fmt: skip

    @property
    def n_entries(self) -> int:
        return self.n_rows * len(self.layout.group_fields)

    @property
    def operations(self) -> float:
        """Additions of all tables, and the recursion over the cells."""
        return self.n_rows * (0.25 * len(self.layout.group_fields) + 4.0 + 8.0 * len(self.layout.products))

    def fullest(self, n_examples: int) -> IntArray:
        return np.full(n_examples, self.layout.n_features)

    def largest_norms(self, n_examples: int) -> FloatArray:
        squares = float(len(self.layout.offsets))
        for a, n_a, c, n_c, _ in self.layout.products:
            rows, cols = (self.numbers[first : first + n] for first, n in ((a, n_a), (c, n_c)))
            squares += float((rows**2).sum(axis=0).max(initial=0.0) * (cols**2).sum(axis=0).max(initial=0.0))
        return np.full(n_examples, np.sqrt(self._most_equal * squares))

    def largest_whole(self) -> float:
        return np.inf if len(self.layout.products) else float(self._most_equal)

    @property
    def _most_equal(self) -> int:
        """Maximum number of templates that give a cell the same weight."""
        return 1 if self.layout.tied is None else 2

    def largest(self, ids: IntArray) -> tuple[int, int]:
        """Return the greatest numbers of rows and columns of some examples."""
        return int(self.pairs.n_rows[ids].max(initial=0)), int(self.pairs.n_cols[ids].max(initial=0))

    def scores(self, w: FloatArray, ids: IntArray, engine: Engine | None = None) -> Scores:
        starts = offsets_of(self.pairs.n_rows[ids] * self.pairs.n_cols[ids])
        values = np.empty(starts[-1])
        _tables.score_tables(
            ids,
            *self.pairs,
            *self.templates,
            self.layout.spread(w),
            starts,
            *self.layout.scratch(*self.largest(ids)),
            values,
        )
        return Scores(values, starts)

    def sums(self, ids: IntArray, counts: Planes, n_examples: int, scratch: FloatArray, kind: type) -> Planes:
        features, lengths = self.layout.n_features, np.diff(counts.indptr)
        room = int(counts.indptr[-1]) * features
        touched = np.empty(int(lengths.max(initial=0)) * features + 1, np.uint64)
        out = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, kind))
        layout = self.layout
        terms = np.empty((sum(self.largest(ids)), len(layout.offsets)), np.uint64)
        _tables.sum_cells(
            ids, *self.pairs, counts.indptr, counts.indices, counts.values, self.keys, layout.row_fields,
            layout.col_fields, layout.offsets, layout.widths, self.numbers, layout.products, layout.tied is not None,
            np.zeros(0, np.int64) if layout.tied is None else layout.tied, terms, touched, scratch, out.indptr,
            out.indices, out.values,
        )  # fmt: skip
        return out.trimmed()

    def add_sums(
        self, ids: IntArray, counts: Planes, n_examples: int, out: FloatArray, engine: Engine | None = None
    ) -> None:
        rows = self.sums(ids, counts, n_examples, np.zeros(self.dim), np.float64)
        rows.weighted_sum(np.ones(len(ids)), out)

    def add_weighted(self, ids: IntArray, values: FloatArray, out: FloatArray, squared: bool = False) -> None:
        """Add Σ_p values_p φ_p to `out`; most features are 1 or 0, so squares are estimated by the features."""
        layout, (n, m) = self.layout, self.largest(ids)
        total = out if layout.tied is None else np.zeros(len(layout.tied))
        slots = np.full(max((field.size for field in layout.fields), default=0), -1, np.int64)
        _tables.add_tables(
            ids, *self.pairs, offsets_of(self.pairs.n_rows[ids] * self.pairs.n_cols[ids]), values, self.keys,
            layout.row_fields, layout.col_fields, layout.offsets, layout.widths, self.numbers, layout.products, slots,
            np.empty(n, np.int64), np.empty((n, m)), total,
        )  # fmt: skip
        if layout.tied is not None:
            out += np.bincount(layout.tied, total, len(out))

    def matrix(self) -> sp.csr_array:
        raise TypeError("features of cells are keys of positions, not rows")

    def take(self, ids: IntArray) -> CellFeatures:
        return CellFeatures(self.layout, self.keys, self.numbers, self.pairs.take(ids))

    def arrays(self) -> tuple[Any, ...]:
        return self.keys, self.numbers, *self.pairs
