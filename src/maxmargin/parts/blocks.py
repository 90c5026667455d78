"""Blocks of part features, dense or sparse as given, stored once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._base.ragged import offsets_among, spans
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import Planes, gathered
from maxmargin.core.scores import Scores
from maxmargin.engines.engine import Engine
from maxmargin.features.rows.rows import add_weighted_rows, sparse_scores, squared_norms
from maxmargin.parts import row_sums

#: Multiply-adds above which the rows of one example are divided among threads.
MANY = 1 << 20
#: Numbers that the partial sums of all threads may take together.
MOST_PARTIAL = 1 << 23


class Block:
    """Features of one kind of parts.

    Part p of an example is its row p // K under output p % K, so its score is ``(row @ weights)[p % K]`` with
    weights of shape (columns, K).

    Parameters
    ----------
    matrix : array or sparse matrix
        Concatenated feature rows of all examples.
    offsets : array of int, optional
        The rows of example i are ``offsets[i]:offsets[i + 1]``. None: all examples share all rows.
    n_outputs : int, default=1
        K.
    constant : bool, default=False
        Whether every row has one more feature, the last one, of value 1.
    forbidden : array of bool, optional
        Parts that no output may have, in the order of the parts of all examples; their score is −∞.
    """

    def __init__(
        self,
        matrix: Any,
        offsets: IntArray | None,
        n_outputs: int = 1,
        constant: bool = False,
        forbidden: NDArray[np.bool_] | None = None,
    ) -> None:
        self.offsets, self.n_outputs, self.constant, self.forbidden = offsets, n_outputs, constant, forbidden
        self.n_rows, self.width = (int(size) for size in matrix.shape)
        if offsets is not None and offsets[-1] != self.n_rows:
            raise ValueError(f"a block has {self.n_rows} rows, but its offsets end at {offsets[-1]}")
        if forbidden is not None and forbidden.shape != (self.n_rows * n_outputs,):
            raise ValueError(
                f"forbidden has shape {forbidden.shape}, expected ({self.n_rows * n_outputs},): one per part"
            )
        self.dense: FloatArray | None = None
        if sp.issparse(matrix):
            matrix = matrix.tocsr()
            self.indptr, self.indices = matrix.indptr.astype(np.int64), unsigned(matrix.indices)
            self.data = matrix.data if matrix.data.dtype == np.float32 else matrix.data.astype(float, copy=False)
        else:
            self.dense = np.ascontiguousarray(matrix, float)

    @classmethod
    def table(cls, size: int, forbidden: NDArray[np.bool_] | None = None) -> Block:
        """Return a block with one weight for each of `size` parts that all examples share."""
        return cls(np.ones((1, 1)), None, size, forbidden=forbidden)

    # ------------------------------------------------------------------ sizes

    @property
    def dim(self) -> int:
        """Number of weights."""
        return (self.width + self.constant) * self.n_outputs

    @property
    def n_entries(self) -> int:
        """Number of entries that a sweep over all rows reads."""
        return len(self.data) if self.dense is None else self.dense.size

    @property
    def operations(self) -> float:
        """Multiply-adds of scoring all parts; rows are read sequentially, so they count half."""
        return 0.5 * self.n_outputs * (self.n_entries + self.constant * self.n_rows)

    def fullest(self, n_examples: int) -> IntArray:
        """Return the maximum number of features in a row, per example."""
        if self.dense is not None:
            return np.full(n_examples, self.width + self.constant)
        counts = np.diff(self.indptr)
        if self.offsets is None:
            return np.full(n_examples, counts.max(initial=0) + self.constant)
        most, filled = np.zeros(n_examples, np.int64), np.diff(self.offsets) > 0
        if filled.any():
            most[filled] = np.maximum.reduceat(counts, self.offsets[:-1][filled]) + self.constant
        return most

    def largest_norms(self, n_examples: int) -> FloatArray:
        """Return the greatest norm of a feature row, per example."""
        if self.dim == 0:
            return np.zeros(n_examples)
        if self.dense is not None:
            squares = np.einsum("ij,ij->i", self.dense, self.dense)
        else:
            squares = squared_norms(self.indptr, self.data)
        squares = squares + float(self.constant)
        if self.offsets is None:
            return np.full(n_examples, np.sqrt(squares.max(initial=0.0)))
        largest, filled = np.zeros(n_examples), np.diff(self.offsets) > 0
        if filled.any():
            largest[filled] = np.maximum.reduceat(squares, self.offsets[:-1][filled])
        return np.sqrt(largest)

    def largest_whole(self) -> float:
        """Return the greatest absolute value if all values are integers, else infinity."""
        values = self.data if self.dense is None else self.dense.ravel()
        for a in range(0, len(values), MANY):
            if (np.rint(values[a : a + MANY]) != values[a : a + MANY]).any():
                return np.inf
        return max(float(max(values.max(), -values.min())) if len(values) else 0.0, float(self.constant))

    def n_parts(self, n_examples: int) -> IntArray:
        """Return the number of parts of each example."""
        if self.offsets is None:
            return np.full(n_examples, self.n_rows * self.n_outputs, np.int64)
        return np.diff(self.offsets) * self.n_outputs

    def firsts(self, n_examples: int) -> IntArray:
        """Return the first row of each example."""
        return np.zeros(n_examples, np.int64) if self.offsets is None else self.offsets[:-1]

    def part_offsets(self, n_examples: int) -> IntArray:
        """Return the offset of each example's parts among all parts."""
        if self.offsets is None:
            return np.zeros(n_examples + 1, np.int64)
        return self.offsets * self.n_outputs

    # ------------------------------------------------------------------ scores

    def scores(self, w: FloatArray, ids: IntArray, engine: Engine | None = None) -> Scores:
        """Return the scores of all parts, for each example of ids."""
        if self.offsets is None:
            values = self._table_scores(w.reshape(-1, self.n_outputs))
            starts = np.zeros(len(ids) + 1, np.int64)
            if self.forbidden is not None:
                values[self.forbidden] = -np.inf
            return Scores(values, starts)
        starts = offsets_among(ids, self.offsets)
        if self.n_outputs == 1:
            values = self._row_scores(w, ids, starts, engine)
        else:
            values = self._output_scores(w.reshape(-1, self.n_outputs), ids, int(starts[-1]))
            starts = starts * self.n_outputs
        if self.forbidden is not None:
            row_sums.forbid(ids, self.offsets * self.n_outputs, self.forbidden, starts, values)
        return Scores(values, starts)

    def _table_scores(self, weights: FloatArray) -> FloatArray:
        if self.n_rows == self.width == 1 and self.dense is not None and not self.constant:
            return self.dense[0, 0] * weights[0]
        everything = np.arange(self.n_rows)
        return self._weighted(weights, everything).ravel()

    def _row_scores(self, w: FloatArray, ids: IntArray, starts: IntArray, engine: Engine | None) -> FloatArray:
        """Return one score per row, w·x, computed in threads if single examples are large."""
        if self.dim == 0:
            return np.zeros(starts[-1])
        out, w = np.empty(starts[-1]), np.ascontiguousarray(w, float)
        constant = float(w[-1]) if self.constant else 0.0
        rows = (self.dense,) if self.dense is not None else self._csr()
        function, one = (
            (row_sums.score_dense, row_sums.score_dense_rows)
            if self.dense is not None
            else (row_sums.score_sparse, row_sums.score_sparse_rows)
        )
        assert self.offsets is not None
        most_rows = float((self.offsets[ids + 1] - self.offsets[ids]).max(initial=0))
        if engine is None or most_rows * self.n_entries / max(self.n_rows, 1) < MANY:  # no example for several threads
            function(ids, self.offsets, *rows, w, constant, starts, out)
            return out
        for i, at in zip(ids.tolist(), starts[:-1].tolist(), strict=True):
            first, stop = int(self.offsets[i]), int(self.offsets[i + 1])
            engine.map_range(lambda a, b, s=at - first: one(a, b, *rows, w, constant, out, a + s), first, stop)  # type: ignore[misc]
        return out

    def _output_scores(self, weights: FloatArray, ids: IntArray, total: int) -> FloatArray:
        """Return K scores per row: one product, without a copy, for a batch of consecutive examples."""
        assert self.offsets is not None
        first, stop = (int(self.offsets[ids[0]]), int(self.offsets[ids[-1] + 1])) if len(ids) else (0, 0)
        if stop - first == total and bool((ids[1:] > ids[:-1]).all()):
            return self._weighted(weights, np.arange(first, stop), slice(first, stop)).ravel()
        return self._weighted(weights, spans(ids, self.offsets)).ravel()

    def _weighted(self, weights: FloatArray, rows: IntArray, span: slice | None = None) -> FloatArray:
        """Return X[rows] @ weights; `span` is the same rows as a slice if they are consecutive."""
        features = weights[:-1] if self.constant else weights
        if self.dense is not None:
            out = self.dense[rows if span is None else span] @ features
        else:
            out = np.empty((len(rows), self.n_outputs))
            sparse_scores(rows, *self._csr(), np.ascontiguousarray(features), out)
        if self.constant:
            out += weights[-1]
        return out

    # ------------------------------------------------------------------ sums

    def sums(self, ids: IntArray, counts: Planes, n_examples: int, scratch: FloatArray, kind: type) -> Planes:
        """Return Φᵀ c for each row c of counts; `scratch` must contain zeros, one per weight, also on return."""
        firsts, lengths = self.firsts(n_examples), np.diff(counts.indptr)
        constant = self.width if self.constant else -1
        given = ids, firsts, counts.indptr, counts.indices, counts.values
        if self.dense is not None:
            outputs = np.minimum(lengths, self.n_outputs)
            room = int(outputs.sum()) * (self.width + self.constant) + 1
            touched, rows = np.empty(int(outputs.max(initial=0)) + 1, np.int64), (self.dense,)
        else:
            entries, most = row_sums.most_entries(
                ids, firsts, counts.indptr, counts.indices, self.indptr, self.n_outputs
            )
            room = int(entries + self.constant * lengths.sum()) + 1
            touched = np.empty(int(most + self.constant * lengths.max(initial=0)) + 1, np.int64)
            rows = self._csr()  # type: ignore[assignment]
        out = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, kind))
        into = self.n_outputs, constant, touched, scratch, out.indptr, out.indices, out.values
        (row_sums.sum_sparse if self.dense is None else row_sums.sum_dense)(*given, *rows, *into)
        used = out.indptr[-1]
        return Planes(out.indptr, out.indices[:used], out.values[:used])

    def add_sums(
        self, ids: IntArray, counts: Planes, n_examples: int, out: FloatArray, engine: Engine | None = None
    ) -> None:
        """Add Φᵀ Σ_r c_r to `out`, in threads if a single example has many parts."""
        firsts, constant = self.firsts(n_examples), self.width if self.constant else -1
        rows = self._csr() if self.dense is None else (self.dense,)
        add = row_sums.add_sparse if self.dense is None else row_sums.add_dense
        per_part = self.n_entries / max(self.n_rows, 1)
        for r, i in enumerate(ids.tolist()):
            begin, end = int(counts.indptr[r]), int(counts.indptr[r + 1])
            given = counts.indices, counts.values, *rows, self.n_outputs, constant
            if engine is None or (end - begin) * per_part < MANY or self.dim * engine.most_chunks > MOST_PARTIAL:
                add(firsts[i], begin, end, *given, out)
                continue
            partial: dict[int, FloatArray] = {}

            def some(a: int, b: int, first: int = int(firsts[i]), given: Any = given, partial: Any = partial) -> None:
                partial[a] = np.zeros(self.dim)
                add(first, a, b, *given, partial[a])

            engine.map_range(some, begin, end)
            for a in sorted(partial):  # in a fixed order so that sums do not depend on the number of threads
                out += partial[a]

    def add_weighted(self, ids: IntArray, values: FloatArray, out: FloatArray, squared: bool = False) -> None:
        """Add Σ_p values_p φ_p, or of their squares, to `out`, for values of the parts of ids as in `scores`."""
        if self.dim == 0:
            return
        table, into = values.reshape(-1, self.n_outputs), out.reshape(-1, self.n_outputs)
        rows = np.arange(self.n_rows) if self.offsets is None else spans(ids, self.offsets)
        if self.constant:
            into[-1] += table.sum(axis=0)
            into = into[:-1]
        self._add_rows(rows, table, into, squared)

    def _add_rows(self, rows: IntArray, table: FloatArray, out: FloatArray, squared: bool) -> None:
        """Add X[rows]ᵀ table, or of the squares of X, to `out`."""
        if self.dense is not None:
            some = self.dense[rows]
            out += (some**2 if squared else some).T @ table
        else:
            add_weighted_rows(rows, *self._csr(), squared, table, out)

    def matrix(self) -> Any:
        """Return the features as an array or a CSR matrix, without the constant."""
        if self.dense is not None:
            return self.dense
        return sp.csr_array((self.data, self.indices.view(np.int32), self.indptr), (self.n_rows, self.width))

    def features(self, example: int) -> sp.csr_array:
        """Return φ of all parts of an example as sparse rows over the weights of the block."""
        first, stop = (0, self.n_rows) if self.offsets is None else map(int, self.offsets[example : example + 2])
        if self.dense is not None:
            rows = sp.csr_array(self.dense[first:stop])
        else:
            a, b = int(self.indptr[first]), int(self.indptr[stop])
            given = self.data[a:b].astype(float), self.indices[a:b].astype(np.int64), self.indptr[first : stop + 1] - a
            rows = sp.csr_array(given, (stop - first, self.width))
        if self.constant:
            rows = sp.csr_array(sp.hstack([rows, np.ones((stop - first, 1))]))
        return sp.csr_array(sp.kron(rows, sp.eye_array(self.n_outputs))) if self.n_outputs > 1 else rows

    def _csr(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        return self.indptr, self.indices, self.data

    # ------------------------------------------------------------------ data

    def take(self, ids: IntArray) -> Block:
        """Return the block of some examples."""
        if self.offsets is None:
            return self
        part = object.__new__(Block)
        vars(part).update(vars(self))
        rows = spans(ids, self.offsets)
        part.offsets, part.n_rows = offsets_among(ids, self.offsets), len(rows)
        if self.dense is not None:
            part.dense = self.dense[rows]
        else:
            taken = gathered(self.indptr[rows], self.indptr[rows + 1], self.indices, self.data)
            part.indptr, part.indices, part.data = taken.indptr, taken.indices, taken.values
        if self.forbidden is not None:
            part.forbidden = self.forbidden[spans(ids, self.offsets * self.n_outputs)]
        return part

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays of the block, for fingerprints."""
        rows = self._csr() if self.dense is None else (self.dense,)
        rest = [array for array in (self.offsets, self.forbidden) if array is not None]
        return (*rows, *rest, np.array([self.n_outputs, self.constant]))


def unsigned(indices: AnyArray) -> AnyArray:
    """Return indices ≥ 0 as uint32, without a copy if they are of type int32."""
    return indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32)
