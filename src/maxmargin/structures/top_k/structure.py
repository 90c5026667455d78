"""Precision@k: the k documents to show for a query (Yu and Joachims 2009, section 5.3).

    Ψ(x, h) = (1/k) Σ_{j in h} x_j
    Δ(y, h) = min(1, n(y)/k) − (1/k) Σ_{j in h} [y_j relevant],    n(y) the number of relevant documents

The top k documents h are latent: labels define which documents are relevant, not which of them come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import Answers, spans
from maxmargin.core.errors import ExampleError, Place, Where, error_at, inside
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.core.structure import LatentCompiled
from maxmargin.encoding.sequences import SequenceEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.structures.top_k import _kernels as kernels

if TYPE_CHECKING:
    from maxmargin.bounds import Bound


class TopDocuments(tuple[int, ...]):
    """The top documents: their indices in ascending order."""

    __slots__ = ()


class TopK(LatentCompiled):
    """The k best documents of each query.

    Each x is the documents of a query, an array (n, d), a sparse matrix or a list of dicts; each y is their n relevance
    labels, of which those above 0 mean relevant. An output is the tuple `TopDocuments` of the top k documents. The
    initial truth is the first relevant documents, followed by the first others if there are fewer than k.

    A query with at most k documents shows all of them: k is then their number, the loss is 0, and the query does not
    contribute to learning.

    Parameters
    ----------
    k : int, default=10
        Number of documents shown.
    """

    output_name: ClassVar[str] = "top documents"

    def __init__(self, *, k: int = 10) -> None:
        self.k = k

    # ------------------------------------------------------------------ sizes

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> TopK:
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> TopKExamples:
        """Fit and encode in one pass over the data."""
        encoder = SequenceEncoder()
        rows, offsets = encoder.fit(X)
        self._set_sizes(encoder)
        return TopKExamples(self, rows, offsets, self._relevance(Y, offsets))

    def _set_sizes(self, documents: SequenceEncoder) -> None:
        self.k_, self.documents_, self.size = whole_number(self.k, "k"), documents, documents.width

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> TopKExamples:
        rows, offsets = self.documents_.encode(X)
        relevance = np.full(int(offsets[-1]), kernels.UNLABELLED, np.int8) if Y is None else self._relevance(Y, offsets)
        return TopKExamples(self, rows, offsets, relevance)

    @staticmethod
    def _relevance(Y: Sequence[Any], offsets: IntArray) -> AnyArray:
        """Return whether each document is relevant, for all queries."""
        if len(Y) != len(offsets) - 1:
            raise ValueError(f"X has {len(offsets) - 1} queries but Y has {len(Y)}")
        parts = [_relevant(y, Place("Y", i)) for i, y in enumerate(Y)]
        for i, part in enumerate(parts):
            n = int(offsets[i + 1] - offsets[i])
            if len(part) != n:
                raise ExampleError.at(Place("X", i), f"{n} documents but {len(part)} relevance labels")
            if not part.any():
                raise ExampleError.at(
                    Place("Y", i),
                    "the query has no relevant document (no label above 0), so it cannot be learnt from: leave it out",
                )
        return np.concatenate(parts).astype(np.int8) if parts else np.zeros(0, np.int8)

    # ------------------------------------------------------------------ one example

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, h), for `TopDocuments` h or the initial ones of relevance labels."""
        if not isinstance(y, TopDocuments):
            return super().joint_feature(x, y)
        examples = self.encode([x])
        examples.truths[:] = self._documents(y, len(examples.relevance))
        return self._joint_features(examples)

    def _joint_features(self, examples: Any) -> FloatArray:
        features: FloatArray = examples.joint_features()
        return features

    def _documents(self, y: Any, n: int) -> list[int]:
        """Return the indices in `TopDocuments`, checked."""
        expected, found = min(self.k_, n), sorted(set(y))
        if len(found) != expected or len(y) != expected or (found and not 0 <= found[0] <= found[-1] < n):
            raise ValueError(f"expected {expected} distinct documents between 0 and {n - 1}, found {tuple(y)!r}")
        return found

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ of the `TopDocuments` y_hat for the relevance labels y; 0 for the labels themselves."""
        relevant = _relevant(y, "y")
        if not isinstance(y_hat, TopDocuments):
            same = np.array_equal(relevant, _relevant(y_hat, "y_hat"))
            if not same:
                raise ValueError("expected TopDocuments, or the relevance labels themselves, as y_hat")
            return 0.0
        documents = self._documents(y_hat, len(relevant))
        k = max(len(documents), 1)
        return min(1.0, int(relevant.sum()) / k) - int(relevant[documents].sum()) / k

    def enumerate(self, x: Any) -> Iterator[TopDocuments]:
        """Yield all choices of k documents, for tests."""
        n = len(self.encode([x]).relevance)
        return map(TopDocuments, combinations(range(n), min(self.k_, n)))

    # ------------------------------------------------------------------ weights and saving

    def feature_names(self) -> AnyArray:
        return np.array([*self.documents_.column_names()], object)

    def _learnt(self) -> dict[str, Any]:
        return {"documents": self.documents_.get_state()}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_sizes(SequenceEncoder().set_state(learnt["documents"]))

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        documents = [j for output in outputs for j in output]
        lengths = np.fromiter(map(len, outputs), np.int64, len(outputs))
        return {"documents": np.array(documents, np.int64), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[TopDocuments]:
        documents, lengths = np.asarray(packed["documents"]), np.asarray(packed["lengths"])
        if (lengths < 0).any() or lengths.sum() != len(documents):
            raise ValueError(f"expected outputs of {lengths.sum()} documents in total, found {len(documents)}")
        ends = [0, *np.cumsum(lengths).tolist()]
        return [TopDocuments(documents[a:b].tolist()) for a, b in pairwise(ends)]


def _relevant(y: Any, where: Where) -> AnyArray:
    """Return which of the labels are above 0."""
    try:
        labels = np.asarray(y, float)
    except (TypeError, ValueError):
        raise error_at(where, f"relevance labels must be numbers, found {y!r}") from None
    if labels.ndim != 1:
        raise error_at(where, f"expected one relevance label for each document, found {type(y).__name__} {y!r}")
    if not np.isfinite(labels).all():
        document = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise error_at(inside(where, f"document {document}"), f"relevance must be finite, found {y[document]!r}")
    return labels > 0


class TopKExamples(PartExamples):
    """Documents of all queries; the code of an output is its documents in ascending order.

    Each top document has the count 1/k. Losses count relevant documents, which kernels do exactly.
    """

    latent, whole_counts = True, False

    def __init__(self, structure: TopK, matrix: Any, offsets: IntArray, relevance: AnyArray) -> None:
        self.offsets, self.relevance, self.truths = offsets, relevance, np.zeros(0, np.int32)
        shown = np.minimum(structure.k_, np.diff(offsets))
        self.code_offsets = np.concatenate([[0], np.cumsum(shown)]).astype(np.int64)
        self.n_examples = len(shown)
        block = Block(matrix, offsets)
        super().__init__(structure, [block], self.code_offsets, self._first_completions(), [None])
        self.operations = 0.5 * block.n_entries + 8.0 * len(relevance)

    def _first_completions(self) -> list[CodeArray]:
        """Return the codes of the truths: with all scores equal, the lowest indices win."""
        answers, everyone = self.empty_answers(), np.arange(self.n_examples)
        self._choose(np.zeros(len(self.relevance)), everyone, np.zeros(self.n_examples), kernels.COMPLETE, answers)
        return np.split(answers.codes, self.code_offsets[1:-1])[: self.n_examples]

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._choose(scores[0].values, ids, scales, kernels.SCALED, answers)

    def exact_for(self, bound: Bound) -> bool:
        """Return True: the loss counts relevant documents, so the best documents for each count suffice."""
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._choose(self.scores(w, ids)[0].values, ids, np.ones(len(ids)), bound.form, answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Find relevant documents before others, better ones before worse."""
        self._choose(self.scores(w, ids)[0].values, ids, np.zeros(len(ids)), kernels.COMPLETE, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the truth; `complete` at the weights of a classifier, as in Yu and Joachims (2009), is better."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def _choose(self, scores: FloatArray, ids: IntArray, scales: FloatArray, form: int, answers: Answers) -> None:
        kernels.choose_documents(
            ids, self.offsets, self.code_offsets, scores, self.relevance, self.truths, scales, form, answers.codes,
            answers.losses, answers.rises, answers.keys,
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        shown = self.code_offsets[ids + 1] - self.code_offsets[ids]
        rows = counted_once(np.concatenate([[0], np.cumsum(shown)]), codes[spans(ids, self.code_offsets)])
        return [rows.scaled(1.0 / np.maximum(shown, 1))]

    def output(self, example: int, key: int, code: CodeArray) -> TopDocuments:
        return TopDocuments(code.tolist())

    def take(self, ids: IntArray) -> TopKExamples:
        part = super().take(ids)
        sizes = self.offsets[ids + 1] - self.offsets[ids]
        part.offsets, part.relevance = np.concatenate([[0], np.cumsum(sizes)]), self.relevance[spans(ids, self.offsets)]
        return part

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.relevance
