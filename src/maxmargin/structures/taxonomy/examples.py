"""Encoded examples of taxonomies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import Answers
from maxmargin.core.planes import Planes
from maxmargin.core.rounding import rounding_units
from maxmargin.core.scores import Scores
from maxmargin.encoding.rows import Rows
from maxmargin.structures.multiclass import MulticlassExamples
from maxmargin.structures.taxonomy import _kernels as kernels

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.structures.taxonomy.structure import Taxonomy

#: Scores of nodes that are held at the same time.
SCORES_TOGETHER = 1 << 20
_NO_PAIRS = np.zeros(1, np.int64), np.zeros(0, np.int32)


class TaxonomyExamples(MulticlassExamples):
    """Rows with their classes; the code of an output is its class, its parts are the nodes above it."""

    def __init__(self, structure: Taxonomy, rows: Rows, labels: CodeArray | None) -> None:
        self.pairs, self.n_nodes = structure.pairs_, len(structure.nodes_)
        self.pointers, self.ancestors = structure._above()
        super().__init__(structure, rows, labels)

    def _set(self, costs: FloatArray, label_values: list[Any], rows: Rows, labels: CodeArray) -> None:
        super()._set(costs, label_values, rows, labels)
        depths = np.diff(self.pointers)
        self.deepest = int(depths.max(initial=0))
        pairs = self.pairs
        self.dim = rows.n_columns * self.n_nodes if pairs is None else len(pairs)
        visited = len(rows.indices) * self.n_nodes if pairs is None else 4 * pairs.counted(rows)
        self.operations = 0.5 * visited + 2.0 * self.n_examples * float(depths.sum())
        own = np.where(labels >= 0, depths[labels], 0)
        self.plane_entries = rows.counts() * (own + self.deepest)

    # ------------------------------------------------------------------ scores

    def node_table(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return the score of every node for each example of ids."""
        if self.pairs is not None:
            return self.pairs.scores(self.rows, w, ids)
        return self.rows.scores(w.reshape(-1, self.n_nodes), ids)

    def table(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return the score of every class for each example of ids."""
        out = np.empty((len(ids), self.n_labels))
        step = max(SCORES_TOGETHER // max(self.n_nodes, 1), 1)
        for a in range(0, len(ids), step):
            nodes = self.node_table(w, ids[a : a + step])
            kernels.class_scores(nodes, self.pointers, self.ancestors, out[a : a + step])
        return out

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return the scores of the parts: one for each node."""
        return [Scores(self.node_table(w, ids).ravel(), np.arange(len(ids) + 1) * self.n_nodes)]

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        for some in self._batches(ids):
            self._decode(self.table(w, ids[some]), ids[some], scales[some], -1, answers)

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        for some in self._batches(ids):
            self._decode(self.table(w, ids[some]), ids[some], np.ones(len(ids[some])), bound.form, answers)

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        table = np.empty((len(ids), self.n_labels))
        kernels.class_scores(scores[0].values.reshape(-1, self.n_nodes), self.pointers, self.ancestors, table)
        self._decode(table, ids, scales, -1, answers)

    def _batches(self, ids: IntArray) -> list[slice]:
        """Return runs of ids whose scores are held at the same time."""
        step = max(SCORES_TOGETHER // self.n_labels, 1)
        return [slice(a, a + step) for a in range(0, len(ids), step)]

    def rounding_units(self) -> FloatArray:
        """Return the errors of sums over ancestors: Σ ‖w_z‖ ‖x‖ ≤ √depth ‖w‖ ‖x‖."""
        return rounding_units(self.rows.counts() + self.deepest, np.sqrt(self.deepest) * self.rows.norms())

    # ------------------------------------------------------------------ planes

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        return [self._changes(self.labels[ids], answers.codes[ids])]

    def _changes(self, true: CodeArray, found: CodeArray) -> Planes:
        """Return the nodes above the true classes minus those above the classes found; −1 has none."""
        room = 2 * self.deepest * len(true) + 1
        out = Planes(np.zeros(len(true) + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
        kernels.node_changes(true, found, self.pointers, self.ancestors, out.indptr, out.indices, out.values)
        used = out.indptr[-1]
        return Planes(out.indptr, out.indices[:used], out.values[:used])

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        return self._planes(ids, self._changes(self.labels[ids], answers.codes[ids]), self.value_type)

    def _planes(self, ids: IntArray, changes: Planes, kind: type) -> Planes:
        rows = self.rows
        room = int(rows.counts()[ids] @ np.diff(changes.indptr)) + 1
        out = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, kind))
        first, paired = _NO_PAIRS if self.pairs is None else (self.pairs.pointers, self.pairs.labels)
        used = kernels.node_planes(
            ids, rows.indptr, rows.indices, rows.data, changes.indptr, changes.indices, changes.values,
            self.n_nodes, first, paired, out.indptr, out.indices, out.values,
        )  # fmt: skip
        return Planes(out.indptr, out.indices[:used], out.values[:used])

    def joint_features(self) -> FloatArray:
        """Return Ψ(x, y) of a single example as a dense vector."""
        only = np.zeros(1, np.int64)
        changes = self._changes(self.labels[:1], np.full(1, -1, np.int32))
        dense: FloatArray = self._planes(only, changes, np.float64).matrix(self.dim).toarray()[0]
        return dense

    def part_features(self, example: int) -> Any:
        """Return Ψ(x, y) of all classes, which are the parts of joint programs."""
        classes, none = np.arange(self.n_labels, dtype=np.int32), np.full(self.n_labels, -1, np.int32)
        rows = self._planes(np.full(self.n_labels, example), self._changes(classes, none), np.float64)
        return sp.csr_array(rows.matrix(self.dim))

    # ------------------------------------------------------------------ data

    def take(self, ids: IntArray) -> Self:
        part = object.__new__(type(self))
        part.pairs, part.n_nodes, part.pointers, part.ancestors = (
            self.pairs, self.n_nodes, self.pointers, self.ancestors,
        )  # fmt: skip
        part._set(self.costs, self.label_values, self.rows.take(ids), self.labels[ids])
        return part

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        pairs = () if self.pairs is None else (self.pairs.pointers, self.pairs.labels)
        return *super().digest_arrays(), self.pointers, self.ancestors, *pairs
