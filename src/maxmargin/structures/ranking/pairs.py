"""Orders of pairs: the ranking SVM (Joachims 2002), all pairs of a query at once, and average precision.

An output says for each pair of documents of different relevance which one comes first. Relative to the truth,

    Ψ(x, ŷ) = (1/N) Σ_{swapped (i, j)} (x_j − x_i),      i more relevant than j, N the number of pairs,

and the loss is the share of swapped pairs (``"pairwise"``) or 1 − AP (``"ap"``, two degrees of relevance). Each pair of
the former decides for itself, so the hinge of a query is the mean of the hinges of its pairs,

    H(w) = (1/N) Σ_{(i, j)} max(0, 1 − w·(x_i − x_j)),

which sorting finds in O(n log n) (Joachims 2006); the latter is the exact greedy algorithm of Yue et al. (2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.errors import Where, error_at
from maxmargin._base.ragged import offsets_of, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms.average_precision import average_precision_loss
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.parts import row_sums
from maxmargin.parts.blocks import Block
from maxmargin.structures.ranking import _jit
from maxmargin.structures.ranking.documents import DocumentExamples, Form, check_some_relevant, distinct_documents
from maxmargin.structures.ranking.outputs import RankedDocuments, SwappedPairs


class PairForm(Form):
    """Pairs of documents of different relevance, judged by the share of swapped pairs or by average precision."""

    outputs: ClassVar[tuple[type, ...]] = (SwappedPairs, RankedDocuments)

    def __init__(self, precision: bool) -> None:
        self.precision = precision

    def grades(self, labels: FloatArray) -> tuple[IntArray, int]:
        """Return the grade of each document, from 0, and the number of pairs of different grades."""
        levels = (labels > 0).astype(np.int64) if self.precision else np.unique(labels, return_inverse=True)[1]
        sizes = np.bincount(levels).astype(float)
        return levels.astype(np.int64), int((sizes.sum() ** 2 - (sizes**2).sum()) / 2)

    def check_labels(self, labels: FloatArray, where: Where) -> None:
        if self.precision:
            check_some_relevant(labels > 0, where)
        elif len(labels) == 0 or labels.min() == labels.max():
            raise error_at(
                where,
                "the query has no two documents of different relevance, so it cannot be learnt from: leave it out",
            )

    def examples(self, structure: Any, rows: Any, offsets: IntArray, labels: FloatArray | None) -> PairExamples:
        return PairExamples(structure, self, rows, offsets, labels)

    def counts(self, output: Any, n: int) -> tuple[IntArray, FloatArray]:
        """Return the counts of an output; in a ranking all pairs count, since labels are not known."""
        if isinstance(output, SwappedPairs):
            lower, higher = counts_of(output, n).T
            return np.arange(n), (higher - lower) / max(output.n_pairs, 1)
        documents = np.array(distinct_documents(output, n, n), np.int64)
        return documents, all_pairs(n)

    def loss(self, labels: FloatArray, output: Any) -> float:
        grades, n_pairs = self.grades(labels)
        swaps = self.swaps(output, grades)
        if self.precision:
            ahead = np.sort(int(grades.sum()) - swaps[grades == 0, 1])
            return float(average_precision_loss(ahead, int(grades.sum())))
        return float(swaps[:, 0].sum()) / n_pairs

    @staticmethod
    def swaps(output: Any, grades: IntArray) -> IntArray:
        """Return the counts (n, 2) of an output, checked."""
        n = len(grades)
        if isinstance(output, SwappedPairs):
            return counts_of(output, n)
        places = np.argsort(distinct_documents(output, n, n))
        wrong = (grades[:, None] > grades) & (places[:, None] > places)
        return np.stack([wrong.sum(1), wrong.sum(0)], 1)

    def enumerate(self, n: int) -> Iterator[RankedDocuments]:
        return map(RankedDocuments, permutations(range(n)))


def counts_of(output: SwappedPairs, n: int) -> IntArray:
    """Return the counts (n, 2) of swapped pairs; raise ValueError unless they are counts of n documents."""
    counts = np.array(output.counts, np.int64).reshape(-1, 2)
    if len(counts) != n or (counts < 0).any() or (counts >= n).any() or counts[:, 0].sum() != counts[:, 1].sum():
        raise ValueError(f"expected counts of swapped pairs of {n} documents, found {output.counts!r:.60}")
    return counts


def all_pairs(n: int) -> FloatArray:
    """Return the count of each position if all pairs of n documents count: documents below minus those above."""
    return (n - 1.0 - 2.0 * np.arange(n)) / max(n * (n - 1), 1)


class PairExamples(DocumentExamples):
    """Documents of all queries; the code of an output is (lower, higher) swaps of each document.

    Without labels it is the documents in the order of the ranking.
    """

    data: ClassVar[dict[str, str]] = {"grades": "offsets"}
    derived: ClassVar[dict[str, str]] = {"offsets": "offsets", "labels": "offsets", "n_grades": "", "units": ""}

    def __init__(
        self, structure: Any, form: PairForm, matrix: Any, offsets: IntArray, labels: FloatArray | None
    ) -> None:
        self.offsets, self.labels = offsets, np.zeros(0) if labels is None else labels
        self.precision = form.precision
        self.grades, self.n_grades, self.units = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        code_offsets, truths = offsets, None
        if labels is not None:
            parts = [form.grades(labels[a:b]) for a, b in pairwise(offsets.tolist())]
            self.grades = np.concatenate([*(grades for grades, _ in parts), np.zeros(0, np.int64)])
            self.n_grades = np.array([int(grades.max()) + 1 for grades, _ in parts], np.int64)
            self.units = np.array([1.0 / max(n_pairs, 1) for _, n_pairs in parts])
            code_offsets = 2 * offsets
            truths = [np.zeros(2 * n, np.int32) for n in np.diff(offsets).tolist()]
        block = Block(matrix, offsets)
        super().__init__(structure, [block], code_offsets, truths, [None])
        self.operations = 0.5 * block.n_entries + 60.0 * float(offsets[-1])

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        values, starts = scores[0].values, scores[0].starts
        if not self.known:
            nothing = np.zeros(0)
            _jit.sort_documents(
                ids, self.offsets, self.code_offsets, starts, values, nothing, scales, False, answers.codes
            )
            self.judge(scores, ids, answers)
            return
        _jit.order_queries(
            ids, self.offsets, self.code_offsets, starts, values, self.grades, self.n_grades, self.units,
            self.precision, scales, answers.codes, answers.losses, answers.rises,
        )  # fmt: skip
        row_sums.code_keys(ids, self.code_offsets, answers.codes, self.truths, True, answers.keys)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        sizes = self.offsets[ids + 1] - self.offsets[ids]
        ends = offsets_of(sizes)
        numbers = codes[spans(ids, self.code_offsets)]
        if not self.known:
            counts = np.concatenate([*(all_pairs(n) for n in sizes.tolist()), np.zeros(0)])
            return [Planes(ends, numbers.astype(np.uint32), counts)]
        counts = (numbers[1::2] - numbers[::2]) * np.repeat(self.units[ids], sizes)
        return [Planes(ends, places(ends).astype(np.uint32), counts)]

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        if not self.known:
            return RankedDocuments(code.tolist())
        n_pairs = round(1.0 / float(self.units[example]))
        return SwappedPairs(tuple(zip(code[::2].tolist(), code[1::2].tolist(), strict=True)), n_pairs)

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), np.array([self.precision])
