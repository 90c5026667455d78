"""Blocks of features that are present or absent: columns without values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._base.ragged import offsets_among, spans
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.engines.engine import Engine
from maxmargin.features.rows.rows import add_weighted_rows
from maxmargin.parts import row_sums
from maxmargin.parts.blocks import Block

#: Values of features that are all 1, for compiled functions.
_ONES = np.zeros(0)


class Indicators(Block):
    """Sparse rows whose values are all 1, four bytes per entry: for the many parts of structures over text.

    Parameters
    ----------
    indptr : array of int64
        The entries of row p are ``indptr[p]:indptr[p + 1]``.
    indices : array of uint32
        Columns; a column that occurs twice in a row counts twice.
    width : int
        Number of columns.
    offsets : array of int
        The rows of example i are ``offsets[i]:offsets[i + 1]``.
    forbidden : array of bool, optional
        Parts that no output may have, in the order of the rows.
    """

    def __init__(
        self,
        indptr: IntArray,
        indices: NDArray[np.uint32],
        width: int,
        offsets: IntArray,
        forbidden: NDArray[np.bool_] | None = None,
    ) -> None:
        self.indptr, self.indices, self.width = indptr, indices, width
        self.offsets, self.forbidden, self.n_rows = offsets, forbidden, len(indptr) - 1
        self.n_outputs, self.constant, self.dense = 1, False, None

    @property
    def data(self) -> AnyArray:
        """The values: a view of a single 1, which takes no memory."""
        return np.broadcast_to(np.float32(1.0), len(self.indices))

    @property
    def n_entries(self) -> int:
        return len(self.indices)

    def largest_norms(self, n_examples: int) -> FloatArray:
        return np.sqrt(self.fullest(n_examples).astype(float))

    def largest_whole(self) -> float:
        return 1.0

    def _row_scores(self, w: FloatArray, ids: IntArray, starts: IntArray, engine: Engine | None) -> FloatArray:
        out = np.empty(starts[-1])
        row_sums.score_indicators(ids, self.offsets, self.indptr, self.indices, w, starts, out)
        return out

    def _add_rows(self, rows: IntArray, table: FloatArray, out: FloatArray, squared: bool) -> None:
        add_weighted_rows(rows, self.indptr, self.indices, _ONES, squared, table, out)

    def matrix(self) -> Any:
        values = np.ones(len(self.indices), np.float32)
        return sp.csr_array((values, self.indices.view(np.int32), self.indptr), (self.n_rows, self.width))

    def take(self, ids: IntArray) -> Indicators:
        assert self.offsets is not None
        rows = spans(ids, self.offsets)
        indptr = offsets_among(rows, self.indptr)
        forbidden = None if self.forbidden is None else self.forbidden[rows]
        indices, offsets = self.indices[spans(rows, self.indptr)], offsets_among(ids, self.offsets)
        return Indicators(indptr, indices, self.width, offsets, forbidden)

    def arrays(self) -> tuple[AnyArray, ...]:
        rest = [array for array in (self.offsets, self.forbidden) if array is not None]
        return self.indptr, self.indices, *rest
