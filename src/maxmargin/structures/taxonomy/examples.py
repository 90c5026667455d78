"""Encoded examples of taxonomies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers, Planes, rounding_units
from maxmargin.core.scores import Scores
from maxmargin.core.sums import Sums
from maxmargin.features.rows.rows import Rows
from maxmargin.structures.multiclass import MulticlassExamples
from maxmargin.structures.taxonomy import _jit, _sums

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
        self.own = structure._own_nodes()
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
            _jit.class_scores(nodes, self.pointers, self.ancestors, out[a : a + step])
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
        self._decode(self._class_table(scores), ids, scales, -1, answers)

    def _class_table(self, scores: list[Scores]) -> FloatArray:
        """Return the scores of classes, given those of nodes."""
        nodes = scores[0].values.reshape(-1, self.n_nodes)
        table = np.empty((len(nodes), self.n_labels))
        _jit.class_scores(nodes, self.pointers, self.ancestors, table)
        return table

    def _batches(self, ids: IntArray) -> list[slice]:
        """Return runs of ids whose scores are held at the same time."""
        step = max(SCORES_TOGETHER // self.n_labels, 1)
        return [slice(a, a + step) for a in range(0, len(ids), step)]

    def rounding_units(self) -> FloatArray:
        """Return the errors of sums over ancestors: Σ ‖w_z‖ ‖x‖ ≤ √depth ‖w‖ ‖x‖."""
        return rounding_units(self.rows.counts() + self.deepest, np.sqrt(self.deepest) * self.rows.norms())

    # ------------------------------------------------------------------ sums over outputs

    @property
    def _classes(self) -> tuple[IntArray, ...]:
        """Ancestors, classes after those above them, and their nodes, for compiled functions."""
        return self.pointers, self.ancestors, np.argsort(np.diff(self.pointers), kind="stable"), self.own

    def _class_scores(self, scores: list[Scores]) -> list[Scores]:
        table = self._class_table(scores)
        return [Scores(table.ravel(), np.arange(len(table) + 1) * self.n_labels)]

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        sums = super().plain_sums(self._class_scores(scores), ids, coefficients)
        nodes = np.zeros((len(ids), self.n_nodes))
        _sums.add_above(sums.marginals[0].reshape(-1, self.n_labels), self.pointers, self.ancestors, nodes)
        return Sums(sums.log_partitions, sums.expected_scores, [nodes.ravel()])

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        return super().plain_samples(self._class_scores(scores), ids, n, seeds)

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Return scores with the costs of classes, without those of the root, at the nodes of the classes."""
        if not scales.any() or (self.truths[ids] < 0).all():
            return scores
        costs = self._node_values(scales[:, None] * self.costs[self.truths[ids]])
        return [Scores(scores[0].values + costs, scores[0].starts)]

    def _node_values(self, classes: FloatArray) -> FloatArray:
        """Return scores of nodes that give classes these scores, up to a constant in each row."""
        nodes = np.zeros((len(classes), self.n_nodes))
        _sums.node_values(classes, *self._classes, nodes)
        return nodes.ravel()

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        nodes = values[0].reshape(-1, self.n_nodes)
        if self.pairs is not None:
            self.pairs.add_weighted(self.rows, nodes, ids, out, squared)
        else:
            self.rows.add_weighted(nodes, ids, out.reshape(-1, self.n_nodes), squared)

    def class_probabilities(self, marginals: FloatArray) -> FloatArray:
        """Return the probabilities of the classes, given those of the nodes."""
        nodes = marginals.reshape(-1, self.n_nodes)
        shares = np.empty((len(nodes), self.n_labels))
        _sums.class_shares(nodes, *self._classes, np.ones(len(nodes)), shares)
        return shares

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        """Return minus the expected costs of classes, without those of the root, at the nodes of the classes."""
        gains = self._node_values(-(self.class_probabilities(marginals[0]) @ self.costs))
        return [Scores(np.where(scores[0].values > -np.inf, gains, -np.inf), scores[0].starts)]

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        return self.class_probabilities(marginals[0])[0]

    # ------------------------------------------------------------------ planes

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        return [self._changes(codes[ids], np.full(len(ids), -1, np.int32))]

    def _changes(self, true: CodeArray, predicted: CodeArray) -> Planes:
        """Return the nodes above the true classes minus those above the classes found; −1 has none."""
        room = 2 * self.deepest * len(true) + 1
        out = Planes(np.zeros(len(true) + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
        _jit.node_changes(true, predicted, self.pointers, self.ancestors, out.indptr, out.indices, out.values)
        used = out.indptr[-1]
        return Planes(out.indptr, out.indices[:used], out.values[:used])

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        return self._planes(ids, self._changes(self.truths[ids], answers.codes[ids]), self.value_type)

    def _planes(self, ids: IntArray, changes: Planes, kind: type) -> Planes:
        rows = self.rows
        room = int(rows.counts()[ids] @ np.diff(changes.indptr)) + 1
        out = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, kind))
        first, paired = _NO_PAIRS if self.pairs is None else (self.pairs.pointers, self.pairs.labels)
        used = _jit.node_planes(
            ids, rows.indptr, rows.indices, rows.data, changes.indptr, changes.indices, changes.values,
            self.n_nodes, first, paired, out.indptr, out.indices, out.values,
        )  # fmt: skip
        return Planes(out.indptr, out.indices[:used], out.values[:used])

    def part_features(self, example: int) -> Any:
        """Return Ψ(x, y) of all classes, which are the parts of min-max programs."""
        classes, none = np.arange(self.n_labels, dtype=np.int32), np.full(self.n_labels, -1, np.int32)
        rows = self._planes(np.full(self.n_labels, example), self._changes(classes, none), np.float64)
        return sp.csr_array(rows.matrix(self.dim))

    def part_gains(self, w: FloatArray, example: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return scores, costs and counts of all classes, as `part_features`."""
        y = int(self.truths[example])
        return self.table(w, np.array([example]))[0], self.costs[y], np.eye(self.n_labels)[y]

    # ------------------------------------------------------------------ data

    def take(self, ids: IntArray) -> Self:
        part = object.__new__(type(self))
        part.pairs, part.n_nodes, part.pointers, part.ancestors, part.own = (
            self.pairs, self.n_nodes, self.pointers, self.ancestors, self.own,
        )  # fmt: skip
        part._set(self.costs, self.label_values, self.rows.take(ids), self.truths[ids])
        return part

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        pairs = () if self.pairs is None else (self.pairs.pointers, self.pairs.labels)
        return *super().digest_arrays(), self.pointers, self.ancestors, *pairs
