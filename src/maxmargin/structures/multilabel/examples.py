"""Encoded examples of sets of labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.structures.multilabel import _jit, _sums

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

_NO_PAIRS = np.zeros(0)


@dataclass(frozen=True)
class Forest:
    """Labels before their parents, for dynamic programs.

    Attributes
    ----------
    order : ndarray of int64
        Labels, each before its parent.
    parent : ndarray of int64
        Parent of each label; the number of labels for roots.
    pair_of : ndarray of int64
        Number of the pair of a label and its parent; −1 for roots.
    """

    order: IntArray
    parent: IntArray
    pair_of: IntArray

    @classmethod
    def of(cls, n_labels: int, edges: IntArray) -> Forest:
        """Return the forest of some pairs of labels; raise ValueError if they contain a cycle."""
        around: list[list[tuple[int, int]]] = [[] for _ in range(n_labels)]
        for e, (j, k) in enumerate(edges.tolist()):
            around[j].append((k, e))
            around[k].append((j, e))
        parent, pair_of = np.full(n_labels, -1, np.int64), np.full(n_labels, -1, np.int64)
        order: list[int] = []
        for root in range(n_labels):
            if parent[root] >= 0:
                continue
            parent[root] = n_labels
            reached = [root]
            for j in reached:
                for k, e in around[j]:
                    if e == pair_of[j]:
                        continue
                    if parent[k] >= 0:
                        raise ValueError("the pairs of labels must form a forest")
                    parent[k], pair_of[k] = j, e
                    reached.append(k)
            order += reached
        return cls(np.array(order[::-1], np.int64), parent, pair_of)


def f1_losses(true: CodeArray, predicted: CodeArray) -> FloatArray:
    """Return 1 − F1 of each pair of rows of 0 and 1; 0 if both are empty."""
    both, total = (true & predicted).sum(axis=1), true.sum(axis=1) + predicted.sum(axis=1)
    return np.where(total > 0, 1.0 - 2.0 * both / np.maximum(total, 1), 0.0)


class MultilabelExamples(PartExamples):
    """Rows with their sets of labels; the code of a set is 0 or 1 for each label.

    Parts are the labels and the pairs of labels that are present. The Hamming loss is a sum over labels; the F1 loss is
    a function of the numbers of true and false positives.
    """

    nested = summable = optional_parts = True
    deciding = (0,)

    def __init__(
        self,
        structure: Any,
        blocks: Sequence[Block],
        cost: str,
        edges: IntArray,
        forest: Forest | None,
        truths: CodeArray | None,
    ) -> None:
        n = blocks[0].n_rows
        self.n_labels, self.cost, self.edges, self.forest = blocks[0].n_outputs, cost, edges, forest
        self.risky = (0,) if cost == "hamming" else ()
        costs: list[FloatArray | None] = [None] * len(blocks)
        if cost == "hamming" and truths is not None:
            costs[0] = (1.0 - 2.0 * truths.ravel()).astype(float)
        offsets = np.arange(n + 1) * self.n_labels
        super().__init__(structure, blocks, offsets, None if truths is None else list(truths), costs)
        self.operations += n * self._argmax_operations()

    def _argmax_operations(self) -> float:
        """Return the approximate multiply-adds of an argmax."""
        if self.forest is None:
            return 2.0 * 2.0**self.n_labels
        return 8.0 * self.n_labels * (1.0 if self.cost == "hamming" else float(self.n_labels))

    def _most_parts(self) -> list[IntArray]:
        n = self.n_examples
        return [np.full(n, self.n_labels), np.full(n, len(self.edges))][: len(self.blocks)]

    # ------------------------------------------------------------------ argmaxes

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        self._choose(_jit.NO_LOSS, scores, ids, np.zeros(len(ids)), _jit.SCALED, codes)

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        if self.cost == "hamming" or not self.known:
            super().decode_scores(scores, ids, scales, answers)
            return
        self._choose(_jit.F1, scores, ids, scales, _jit.SCALED, answers.codes)
        self._judge(scores, ids, answers)

    def exact_for(self, bound: Bound) -> bool:
        """Return True: losses depend on counts, and the best set is found for all counts."""
        return self.known

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        kind = _jit.COUNTED if self.cost == "hamming" else _jit.F1
        for some in self._batches(ids):
            scores = self.scores(w, ids[some])
            self._choose(kind, scores, ids[some], np.ones(len(ids[some])), bound.form, answers.codes)
            self._judge(scores, ids[some], answers)

    def _judge(self, scores: list[Scores], ids: IntArray, answers: Answers) -> None:
        self.judge(scores, ids, answers)
        if self.cost == "f1":
            answers.losses[ids] = f1_losses(self._rows(self.truths)[ids], self._rows(answers.codes)[ids])

    def _choose(
        self, kind: int, scores: list[Scores], ids: IntArray, scales: FloatArray, form: int, codes: CodeArray
    ) -> None:
        """Write the best set of each example of ids, for the loss of this kind."""
        given = ids, kind, self.n_labels, *scores[0], *self._pairs(scores)
        if self.forest is None:
            _jit.best_sets(*given, self.truths, scales, form, codes)
        else:
            tree = self.forest
            _jit.best_in_forest(
                *given, tree.order, tree.parent, tree.pair_of, self.truths, scales, form, codes
            )  # fmt: skip

    @staticmethod
    def _pairs(scores: list[Scores]) -> Scores:
        return scores[1] if len(scores) > 1 else Scores(_NO_PAIRS, np.zeros(len(scores[0].starts), np.int64))

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        planned, what = super().planned_decoding(bound, threads)
        if self.forest is None:
            return planned + 8.0 * threads * 2.0**self.n_labels, what
        if self.cost == "hamming" and bound.rescaling == "margin" and bound.slack == "linear":
            return planned, what
        n_true = self._rows(self.truths).sum(axis=1)
        cells = (n_true + 1) * (self.n_labels - n_true + 1) if self.cost == "f1" else np.array([self.n_labels + 1])
        table = 2.0 * (self.n_labels + 1) * float(cells.max(initial=1)) * (8 + 4 + 1)
        return planned + threads * table, f"a table of counts of {self.n_labels} labels, in {threads} threads,"

    def marginals(self, w: FloatArray, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the best scores of sets with each label and of sets without it."""
        best = np.empty((2, len(ids), self.n_labels))
        for some in self._batches(ids):
            scores = self.scores(w, ids[some])
            for k in range(self.n_labels):
                best[0, some, k] = self._restricted_totals(scores, ids[some], k, True)
                best[1, some, k] = self._restricted_totals(scores, ids[some], k, False)
        return best[0], best[1]

    def _restricted_totals(self, scores: list[Scores], ids: IntArray, label: int, present: bool) -> FloatArray:
        """Return the scores of the best sets with or without a label."""
        values = scores[0].values.reshape(-1, self.n_labels).copy()
        bonus = 4.0 * (np.abs(values).sum(axis=1) + sum(float(np.abs(s.values).sum()) for s in scores[1:]))
        bonus[bonus == 0.0] = 1.0
        values[:, label] = values[:, label] + bonus if present else -np.inf
        codes = np.zeros(int(self.code_offsets[-1]), np.int32)
        self.argmax([Scores(values.ravel(), scores[0].starts), *scores[1:]], ids, codes)
        rows = self._rows(codes)[ids]
        totals: FloatArray = (scores[0].values.reshape(rows.shape) * rows).sum(axis=1)
        if len(self.edges):
            totals += (rows[:, self.edges[:, 0]] & rows[:, self.edges[:, 1]]) @ scores[1].values
        return totals

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[Any]:
        """Return the best score of a set that has a label, for every label."""
        return list(self.marginals(w, ids)[0])

    # ------------------------------------------------------------------ sums over outputs

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        into = (
            coefficients,
            log_partitions,
            expected_scores,
            marginals[0],
            marginals[1] if len(scores) > 1 else _NO_PAIRS,
        )
        given, tree = (*scores[0], *self._pairs(scores)), self.forest
        if tree is None:
            _sums.set_sums(self.n_labels, *given, *into)
        else:
            _sums.forest_sums(*given, tree.order, tree.parent, tree.pair_of, *into)

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        codes = np.zeros((n, len(ids) * self.n_labels), np.int32)
        given, tree = (*scores[0], *self._pairs(scores)), self.forest
        if tree is None:
            _sums.set_samples(self.n_labels, *given, seeds, codes)
        else:
            _sums.forest_samples(*given, tree.order, tree.parent, tree.pair_of, seeds, codes)
        return codes

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        if self.cost == "f1" and self.known and scales.any():
            raise ValueError("1 − F1 is not a sum over labels; use cost='hamming'")
        return super().augmented(scores, ids, scales)

    def no_risk(self) -> str:
        return (
            "1 − F1 is not a sum over labels, so decode='risk' cannot minimise it; use the loss 'hamming', with "
            "gamma "
            "above 1 if a missed label costs more than a false one"
        )

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        return marginals[0]

    # ------------------------------------------------------------------ parts

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        rows = self._rows(codes)[ids]
        counts = [_present(rows)]
        if len(self.edges):
            counts.append(_present(rows[:, self.edges[:, 0]] & rows[:, self.edges[:, 1]]))
        return counts

    def _rows(self, codes: CodeArray) -> CodeArray:
        return codes.reshape(-1, self.n_labels)

    def take(self, ids: IntArray) -> Self:
        part = super().take(ids)
        part.operations += part.n_examples * self._argmax_operations()
        return part

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.edges, np.array([self.cost == "f1"])


def _present(rows: CodeArray) -> Planes:
    """Return the columns of ones of each row."""
    indptr = offsets_of(rows.sum(axis=1))
    return counted_once(indptr, np.nonzero(rows)[1])
