"""NDCG: documents in the first positions (Le and Smola 2007; Do et al. 2008, section 5.2).

    Ψ(x, ŷ) = Σ_p c_p x_{ŷ(p)}            Δ(y, ŷ) = 1 − NDCG@k = Σ_p d_p (g_{y(p)} − g_{ŷ(p)})

with gains g of the labels, divided by the greatest DCG, and discounts d. The loss-augmented argmax assigns documents to
positions: document j in position p is worth c_p s_j − scale · d_p g_j. If c = d this is d_p (s_j − scale · g_j), so
sorting solves it; otherwise it is a linear assignment problem. Of documents of equal gain a better score takes an
earlier position, so only the m best documents of each gain are candidates for m positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from maxmargin._base.errors import Where
from maxmargin._base.ragged import offsets_among, offsets_of, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.metrics.gains import discounts, document_of, gains
from maxmargin.parts import row_sums
from maxmargin.parts.blocks import Block
from maxmargin.structures.ranking import _jit
from maxmargin.structures.ranking.documents import DocumentExamples, Form, check_some_relevant, distinct_documents
from maxmargin.structures.ranking.outputs import RankedDocuments


class PositionForm(Form):
    """NDCG among the first k documents, or among all.

    Parameters
    ----------
    k : int or None
        Number of positions that count; None for all.
    gain, discount : str
        As in `maxmargin.metrics.ndcg_at_k`.
    weights : "discount" or ndarray
        c_p of each position; positions after the last have the weight 0.
    """

    outputs: ClassVar[tuple[type, ...]] = (RankedDocuments,)

    def __init__(self, k: int | None, gain: str, discount: str, weights: Any) -> None:
        self.k, self.gain, self.discount, self.weights = k, gain, discount, weights

    def n_positions(self, n: Any) -> Any:
        """Return the number of positions that an output fills, for n documents."""
        if self.k is None:
            return n
        return np.minimum(n, self.k if isinstance(self.weights, str) else max(self.k, len(self.weights)))

    def tables(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return c and d of n positions."""
        values = discounts(n, self.discount)
        values[n if self.k is None else self.k :] = 0.0
        if isinstance(self.weights, str):
            return values, values
        given = self.weights[:n]
        return np.concatenate([given, np.zeros(n - len(given))]), values

    def ideal(self, labels: FloatArray, where: Where) -> tuple[FloatArray, float]:
        """Return the gains of one query and its greatest DCG."""
        values = gains(labels, self.gain, document_of(where))
        best = np.sort(values)[::-1][: self.k]
        return values, float(best @ discounts(len(best), self.discount))

    def check_labels(self, labels: FloatArray, where: Where) -> None:
        values, _ = self.ideal(labels, where)
        check_some_relevant(values > 0, where)

    def examples(self, structure: Any, rows: Any, offsets: IntArray, labels: FloatArray | None) -> PositionExamples:
        return PositionExamples(structure, self, rows, offsets, labels)

    def counts(self, output: Any, n: int) -> tuple[IntArray, FloatArray]:
        m = int(self.n_positions(n))
        return np.array(distinct_documents(output, m, n), np.int64), self.tables(m)[0]

    def loss(self, labels: FloatArray, output: Any) -> float:
        values, best = self.ideal(labels, "y")
        m = int(self.n_positions(len(labels)))
        shown = values[distinct_documents(output, m, len(labels))]
        lost = (np.sort(values)[::-1][:m] - shown) / best
        return max(0.0, float(self.tables(m)[1] @ lost))

    def enumerate(self, n: int) -> Iterator[RankedDocuments]:
        return map(RankedDocuments, permutations(range(n), int(self.n_positions(n))))


class PositionExamples(DocumentExamples):
    """Documents of all queries; the code of an output is the documents of its positions."""

    data: ClassVar[dict[str, str]] = {"gains": "offsets"}
    derived: ClassVar[dict[str, str]] = {"offsets": "offsets", "labels": "offsets"}
    latent = True

    def __init__(
        self, structure: Any, form: PositionForm, matrix: Any, offsets: IntArray, labels: FloatArray | None
    ) -> None:
        sizes = np.diff(offsets)
        self.offsets, self.labels = offsets, np.zeros(0) if labels is None else labels
        self.weights, self.discounts = form.tables(int(form.n_positions(sizes).max(initial=0)))
        self.sorts = bool((self.weights == self.discounts).all())
        code_offsets = offsets_of(form.n_positions(sizes))
        self.gains, truths = np.zeros(0), None
        if labels is not None:
            parts = [form.ideal(labels[a:b], "y") for a, b in pairwise(offsets.tolist())]
            self.gains = np.concatenate([*(values / best for values, best in parts), np.zeros(0)])
            n_positions = np.diff(code_offsets)
            truths = [
                np.argsort(-values, kind="stable")[:m].astype(np.int32)
                for (values, _), m in zip(parts, n_positions.tolist(), strict=True)
            ]
        block = Block(matrix, offsets)
        super().__init__(structure, [block], code_offsets, truths, [None])
        self.operations = 0.5 * block.n_entries + 30.0 * float(offsets[-1])

    def rounding_units(self) -> FloatArray:
        return super().rounding_units() * float(self.weights.max(initial=1.0))

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._sort(scores[0], ids, scales, False, answers.codes)
        if self.known and not self.sorts:
            for r in np.flatnonzero(scales):
                self._assign(scores[0], int(r), int(ids[r]), float(scales[r]), answers.codes)
        self.judge(scores, ids, answers)

    def _sort(self, scores: Scores, ids: IntArray, scales: FloatArray, complete: bool, codes: CodeArray) -> None:
        _jit.sort_documents(
            ids, self.offsets, self.code_offsets, scores.starts, scores.values, self.gains, scales, complete, codes
        )

    def _assign(self, scores: Scores, r: int, i: int, scale: float, codes: CodeArray) -> None:
        """Write the best assignment of the candidates of query i to positions."""
        begin, end = self.code_offsets[i : i + 2]
        m = int(end - begin)
        own = scores.values[scores.starts[r] : scores.starts[r + 1]]
        candidates, worth = best_of_each(own, self.gains[self.offsets[i] : self.offsets[i + 1]], m)
        table = np.outer(self.weights[:m], own[candidates]) - scale * np.outer(self.discounts[:m], worth)
        taken = np.asarray(linear_sum_assignment(table, maximize=True)[1])
        for gain in np.unique(worth[taken]):  # scores may be too small to change a sum with scale · gain
            equal = worth[taken] == gain
            taken[equal] = np.flatnonzero(worth == gain)[: np.count_nonzero(equal)]
        codes[begin:end] = candidates[taken]

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Find the ranking of best score among those of the greatest NDCG."""
        scores = self.scores(w, ids)
        self._sort(scores[0], ids, np.zeros(len(ids)), True, answers.codes)
        self.judge(scores, ids, answers)
        answers.losses[ids] = 0.0

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def judge(self, scores: list[Scores], ids: IntArray, answers: Answers) -> None:
        if not self.known:
            super().judge(scores, ids, answers)
            return
        row_sums.code_keys(ids, self.code_offsets, answers.codes, self.truths, True, answers.keys)
        _jit.judge_positions(
            ids, self.offsets, self.code_offsets, scores[0].starts, scores[0].values, self.gains, self.weights,
            self.discounts, self.truths, answers.codes, answers.losses, answers.rises,
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        ends = offsets_among(ids, self.code_offsets)
        documents = codes[spans(ids, self.code_offsets)]
        return [Planes(ends, documents.astype(np.uint32), self.weights[places(ends)])]

    def output(self, example: int, key: int, code: CodeArray) -> RankedDocuments:
        return RankedDocuments(code.tolist())

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.weights, self.discounts


def best_of_each(scores: FloatArray, gains: FloatArray, m: int) -> tuple[IntArray, FloatArray]:
    """Return the m documents of best score of each gain, by descending score, and their gains; ties go to the first."""
    order = np.argsort(-scores, kind="stable")
    by_gain = order[np.argsort(gains[order], kind="stable")]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(gains[by_gain]) > 0]))
    rank = np.arange(len(by_gain)) - np.repeat(starts, np.diff([*starts, len(by_gain)]))
    kept = np.zeros(len(scores), bool)
    kept[by_gain[rank < m]] = True
    candidates = order[kept[order]]
    return candidates, gains[candidates]
