"""Precision@k: the k documents to show for a query (Yu and Joachims 2009, section 5.3).

    Ψ(x, h) = (1/k) Σ_{j in h} x_j
    Δ(y, h) = min(1, n(y)/k) − (1/k) Σ_{j in h} [y_j relevant],    n(y) the number of relevant documents

The top k documents h are latent: labels define which documents are relevant, not which of them come first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._base.errors import Where
from maxmargin._base.ragged import offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms.subset_sums import subset_samples, subset_sums
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import counted_once
from maxmargin.structures.ranking import _set_jit
from maxmargin.structures.ranking.documents import DocumentExamples, Form, check_some_relevant, distinct_documents
from maxmargin.structures.ranking.outputs import TopDocuments

if TYPE_CHECKING:
    from maxmargin.bounds import Bound


class SetForm(Form):
    """Precision among the first k documents.

    Parameters
    ----------
    k : int
        Number of documents that are shown.
    """

    outputs: ClassVar[tuple[type, ...]] = (TopDocuments,)

    def __init__(self, k: int) -> None:
        self.k = k

    def check_labels(self, labels: FloatArray, where: Where) -> None:
        check_some_relevant(labels > 0, where)

    def examples(self, structure: Any, rows: Any, offsets: IntArray, labels: FloatArray | None) -> TopKExamples:
        if labels is None:
            relevance = np.full(int(offsets[-1]), _set_jit.UNLABELLED, np.int8)
        else:
            relevance = (labels > 0).astype(np.int8)
        return TopKExamples(structure, self.k, rows, offsets, relevance)

    def counts(self, output: Any, n: int) -> tuple[IntArray, FloatArray]:
        documents = np.array(self._documents(output, n), np.int64)
        return documents, np.full(len(documents), 1.0 / max(len(documents), 1))

    def _documents(self, output: Any, n: int) -> list[int]:
        return distinct_documents(output, min(self.k, n), n)

    def loss(self, labels: FloatArray, output: Any) -> float:
        relevant, documents = labels > 0, self._documents(output, len(labels))
        k = max(len(documents), 1)
        return min(1.0, int(relevant.sum()) / k) - int(relevant[documents].sum()) / k

    def enumerate(self, n: int) -> Iterator[TopDocuments]:
        return map(TopDocuments, combinations(range(n), min(self.k, n)))


class TopKExamples(DocumentExamples):
    """Documents of all queries; the code of an output is its documents in ascending order.

    Each top document has the count 1/k. Losses count relevant documents, which compiled functions do exactly.
    """

    data: ClassVar[dict[str, str]] = {"relevance": "offsets"}
    latent = summable = True

    def __init__(self, structure: Any, k: int, matrix: Any, offsets: IntArray, relevance: AnyArray) -> None:
        self.offsets, self.relevance, self.truths = offsets, relevance, np.zeros(0, np.int32)
        shown = np.minimum(k, np.diff(offsets))
        self.code_offsets = offsets_of(shown)
        self.n_examples = len(shown)
        block = Block(matrix, offsets)
        super().__init__(structure, [block], self.code_offsets, self._first_completions(), [None])
        self.operations = 0.5 * block.n_entries + 8.0 * len(relevance)

    @property
    def labels(self) -> FloatArray:
        """Relevance of each document, 1 or 0."""
        return (self.relevance > 0).astype(float)

    def _first_completions(self) -> list[CodeArray]:
        """Return the codes of the truths: with all scores equal, the lowest indices win."""
        answers, everyone = self.empty_answers(), np.arange(self.n_examples)
        self._choose(np.zeros(len(self.relevance)), everyone, np.zeros(self.n_examples), _set_jit.COMPLETE, answers)
        return np.split(answers.codes, self.code_offsets[1:-1])[: self.n_examples]

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._choose(scores[0].values, ids, scales, _set_jit.SCALED, answers)

    def exact_for(self, bound: Bound) -> bool:
        """Return True: the loss counts relevant documents, so the best documents for each count suffice."""
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._choose(self.scores(w, ids)[0].values, ids, np.ones(len(ids)), bound.form, answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Find relevant documents before others, better ones before worse."""
        self._choose(self.scores(w, ids)[0].values, ids, np.zeros(len(ids)), _set_jit.COMPLETE, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the truth; `complete` at the weights of a classifier, as in Yu and Joachims (2009), is better."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def _choose(self, scores: FloatArray, ids: IntArray, scales: FloatArray, form: int, answers: Answers) -> None:
        _set_jit.choose_documents(
            ids, self.offsets, self.code_offsets, scores, self.relevance, self.truths, scales, form, answers.codes,
            answers.losses, answers.rises, answers.keys,
        )  # fmt: skip

    # ------------------------------------------------------------------ sums over outputs

    def _subsets(self, scores: list[Scores], ids: IntArray) -> tuple[Any, ...]:
        """Return the arguments of sums over sets of exactly k documents, each with 1/k of its score."""
        (values, starts), shown = scores[0], np.diff(self.code_offsets)[ids]
        own = values / np.repeat(np.maximum(shown, 1), np.diff(starts))
        return starts, own, starts[:-1], np.ones(len(values), np.int64), shown, True

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        """Write sums over all sets of k documents: elementary symmetric polynomials of exp(s_j / k)."""
        subset = self._subsets(scores, ids)
        counts = coefficients / np.maximum(subset[4], 1)
        subset_sums(*subset, counts, log_partitions, expected_scores, marginals[0])

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        chosen = np.zeros((n, len(scores[0].values)), bool)
        subset_samples(*self._subsets(scores, ids), seeds, chosen)
        return (np.nonzero(chosen)[1] - self._firsts(scores[0].starts, ids, n)).astype(np.int32).reshape(n, -1)

    def _firsts(self, starts: IntArray, ids: IntArray, n: int) -> IntArray:
        """Return the first document of the query of each document shown, n times."""
        return np.tile(np.repeat(starts[:-1], np.diff(self.code_offsets)[ids]), n)

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Return scores minus scale for relevant documents, of which each lowers the loss by 1/k."""
        (values, starts), relevant = scores[0], self.relevance[spans(ids, self.offsets)] == _set_jit.RELEVANT
        return [Scores(values - np.repeat(scales, np.diff(starts)) * relevant, starts)]

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        """Return the probability of each document to be among the k that are shown."""
        return marginals[0] * float(np.diff(self.code_offsets)[example])

    # ------------------------------------------------------------------ parts

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        shown = self.code_offsets[ids + 1] - self.code_offsets[ids]
        rows = counted_once(offsets_of(shown), codes[spans(ids, self.code_offsets)])
        return [rows.scaled(1.0 / np.maximum(shown, 1))]

    def output(self, example: int, key: int, code: CodeArray) -> TopDocuments:
        return TopDocuments(code.tolist())
