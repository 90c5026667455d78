"""Precision@k: the k documents to show for a query (paper 5, section 5.3).

    Ψ(x, h) = (1/k) Σ_{j in h} x_j
    Δ(y, h) = min(1, n(y)/k) − (1/k) Σ_{j in h} [y_j relevant],    n(y) the number of relevant documents

The k documents h that stand on top are latent: labels say which documents are relevant, not which of them come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._compile import inlined, kernel
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.bounds.rescaling import violation
from maxmargin.planes import HASH_START, Answers, Planes, hash_step, spans
from maxmargin.structures._entries import add_entry, write_entries
from maxmargin.structures.base import Examples
from maxmargin.structures.features import Rows
from maxmargin.structures.latent import LatentCompiled
from maxmargin.structures.sequences import SequenceEncoder

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

#: Relevance of documents; 0 is not relevant.
_RELEVANT, _UNLABELLED = 1, -1
#: Forms of the argmax beside those of bounds: rise + scale · loss, and the best documents that agree with the labels.
_SCALED, _COMPLETE = -1, -2


class TopK(LatentCompiled):
    """The k best documents of each query.

    Each x is the documents of a query, an array (n, d), a sparse matrix or a list of dicts; each y their n relevance
    labels, of which those above 0 mean relevant. An output is the tuple of the k documents on top, by index in
    ascending order. The truth takes the first relevant documents, and the first others where there are fewer than k.

    A query with no more than k documents shows them all: k is then their number, the loss is 0 and nothing can be
    learnt from it.

    Parameters
    ----------
    k : how many documents are shown.
    """

    output_name: ClassVar[str] = "top documents"

    def __init__(self, *, k: int = 10) -> None:
        self.k = k

    # ------------------------------------------------------------------ sizes

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> TopK:
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> TopKExamples:
        """`fit` and `encode` in one reading of the data."""
        encoder = SequenceEncoder()
        rows, offsets = encoder.fit(X)
        self._set_sizes(encoder)
        return TopKExamples(self.k_, rows, offsets, self._relevance(Y, offsets))

    def _set_sizes(self, documents: SequenceEncoder) -> None:
        self.k_, self.documents_, self.size = whole_number(self.k, "k"), documents, documents.width

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> TopKExamples:
        rows, offsets = self.documents_.encode(X)
        relevance = np.full(int(offsets[-1]), _UNLABELLED, np.int8) if Y is None else self._relevance(Y, offsets)
        return TopKExamples(self.k_, rows, offsets, relevance)

    @staticmethod
    def _relevance(Y: Sequence[Any], offsets: IntArray) -> AnyArray:
        """Whether each document is relevant, for all queries."""
        if len(Y) != len(offsets) - 1:
            raise ValueError(f"X has {len(offsets) - 1} queries but Y has {len(Y)}")
        parts = [_relevant(y, f"Y[{i}]") for i, y in enumerate(Y)]
        for i, part in enumerate(parts):
            n = int(offsets[i + 1] - offsets[i])
            if len(part) != n:
                raise ValueError(f"X[{i}]: {n} documents but {len(part)} relevance labels")
            if not part.any():
                raise ValueError(
                    f"Y[{i}]: the query has no relevant document (no label above 0), so there is nothing to put on "
                    f"top; leave it out"
                )
        return np.concatenate(parts).astype(np.int8) if parts else np.zeros(0, np.int8)

    # ------------------------------------------------------------------ one example

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Ψ(x, h), for the documents h by index."""
        rows, _ = self.documents_.encode([x])
        documents = self._documents(y, rows.shape[0])
        return np.asarray(rows[documents].sum(axis=0), float).ravel() / max(len(documents), 1)

    def _documents(self, documents: Any, n: int) -> list[int]:
        """Documents by index, checked."""
        expected, found = min(self.k_, n), sorted({int(j) for j in documents})
        if len(found) != expected or len(documents) != expected or (found and not 0 <= found[0] <= found[-1] < n):
            raise ValueError(f"expected {expected} different documents between 0 and {n - 1}, found {documents!r}")
        return found

    def _joint_features(self, examples: Any) -> FloatArray:
        raise TypeError("Ψ is that of documents: joint_feature(x, documents)")

    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ of the documents y_hat by index, for the relevance labels y."""
        relevant = _relevant(y, "y")
        documents = self._documents(y_hat, len(relevant))
        k = max(len(documents), 1)
        return min(1.0, int(relevant.sum()) / k) - int(relevant[documents].sum()) / k

    def enumerate(self, x: Any) -> Iterator[tuple[int, ...]]:
        """All choices of k documents, for tests."""
        _, offsets = self.documents_.encode([x])
        n = int(offsets[-1])
        return combinations(range(n), min(self.k_, n))

    # ------------------------------------------------------------------ weights and saving

    def feature_names(self) -> AnyArray:
        return np.array(self.documents_.column_names(), object)

    def _learnt(self) -> dict[str, Any]:
        return {"documents": self.documents_.get_state()}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_sizes(SequenceEncoder().set_state(learnt["documents"]))

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        documents = [j for output in outputs for j in output]
        lengths = np.fromiter(map(len, outputs), np.int64, len(outputs))
        return {"documents": np.array(documents, np.int64), "lengths": lengths}

    def unpack_outputs(self, packed: Any) -> list[tuple[int, ...]]:
        documents, lengths = np.asarray(packed["documents"]), np.asarray(packed["lengths"])
        if (lengths < 0).any() or lengths.sum() != len(documents):
            raise ValueError(f"outputs of {lengths.sum()} documents in all, found {len(documents)}")
        ends = [0, *np.cumsum(lengths).tolist()]
        return [tuple(documents[a:b].tolist()) for a, b in pairwise(ends)]


def _relevant(y: Any, where: str) -> AnyArray:
    """Which of the labels are above 0."""
    try:
        labels = np.asarray(y, float)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: relevance labels must be numbers, found {y!r}") from None
    if labels.ndim != 1:
        raise ValueError(f"{where}: expected one relevance label for each document, found {type(y).__name__} {y!r}")
    if not np.isfinite(labels).all():
        raise ValueError(f"{where}: relevance labels must be finite")
    return labels > 0


class TopKExamples(Examples):
    """Documents of all queries, one behind the other; the code of an output is its documents in ascending order."""

    latent = True

    def __init__(self, k: int, rows: Any, offsets: IntArray, relevance: AnyArray) -> None:
        self.rows, self.offsets, self.relevance = Rows(rows, False), offsets, relevance
        self.n_examples, self.dim = len(offsets) - 1, self.rows.n_columns
        shown = np.minimum(k, np.diff(offsets))
        self.code_offsets = np.concatenate([[0], np.cumsum(shown)]).astype(np.int64)
        self.operations = 0.5 * len(self.rows.indices) + 8.0 * len(relevance)
        self.plane_entries = np.minimum(self.dim, 2 * shown * self._fullest()).astype(np.int64)
        self.truths = self._first_completions()

    def _fullest(self) -> IntArray:
        """The most entries of a document of each query."""
        fullest, counts = np.zeros(self.n_examples, np.int64), self.rows.counts()
        filled = np.diff(self.offsets) > 0
        if filled.any():
            fullest[filled] = np.maximum.reduceat(counts, self.offsets[:-1][filled])
        return fullest

    def _first_completions(self) -> CodeArray:
        """The codes of the truths: with all scores equal, the lowest indices win."""
        answers = Answers.empty(self.n_examples, int(self.code_offsets[-1]))
        self.truths = np.zeros(0, np.int32)
        everyone = np.arange(self.n_examples)
        self._choose(everyone, np.zeros(len(self.relevance)), np.zeros(self.n_examples), _COMPLETE, answers)
        return answers.codes

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._choose(ids, self._scores(w, ids), scales, _SCALED, answers)

    def exact_for(self, bound: Bound) -> bool:
        """The loss counts relevant documents: the best documents with each number of them are enough."""
        return True

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        self._choose(ids, self._scores(w, ids), np.ones(len(ids)), bound.form, answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Relevant documents before others, better ones before worse."""
        self._choose(ids, self._scores(w, ids), np.zeros(len(ids)), _COMPLETE, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """The truth itself. The paper's start is better: `complete` at the weights of a classifier."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def _scores(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """The scores of the documents of ids, one query behind the other."""
        return self.rows.scores(w.reshape(-1, 1), spans(ids, self.offsets))[:, 0]

    def _choose(self, ids: IntArray, scores: FloatArray, scales: FloatArray, form: int, answers: Answers) -> None:
        choose_documents(
            ids, self.offsets, self.code_offsets, scores, self.relevance, self.truths, scales, form, answers.codes,
            answers.losses, answers.rises, answers.keys,
        )  # fmt: skip

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        room, rows = int(self.plane_entries[ids].sum()), self.rows
        planes = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, self.value_type))
        used = document_planes(
            ids, self.offsets, self.code_offsets, rows.indptr, rows.indices, rows.data, self.dim, self.truths,
            answers.codes, planes.indptr, planes.indices, planes.values,
        )  # fmt: skip
        return Planes(planes.indptr, planes.indices[:used], planes.values[:used])

    def output(self, example: int, key: int, code: CodeArray) -> tuple[int, ...]:
        return tuple(code.tolist())

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *self.rows.arrays(), self.offsets, self.code_offsets, self.relevance


@inlined
def keep_best(document, score, held, best, room):
    """Put a document into the list of at most `room` best ones, behind its equals; the new length of the list."""
    if held == room:
        if room == 0 or score <= best[1, room - 1]:
            return held
        held -= 1
    at = held
    while at > 0 and best[1, at - 1] < score:
        best[0, at], best[1, at] = best[0, at - 1], best[1, at - 1]
        at -= 1
    best[0, at], best[1, at] = document, score
    return held + 1


@inlined
def split_documents(first, n, k, begin, scores, relevance, relevant, others):
    """The k best relevant documents and the k best others; how many relevant there are, and of each kind are held."""
    n_relevant, held_relevant, held_others = 0, 0, 0
    for j in range(n):
        if relevance[first + j] == _RELEVANT:
            n_relevant += 1
            held_relevant = keep_best(j, scores[begin + j], held_relevant, relevant, k)
        else:
            held_others = keep_best(j, scores[begin + j], held_others, others, k)
    others[0, held_others], others[1, held_others] = n, -np.inf
    return n_relevant, held_relevant, held_others


@inlined
def merged_count(relevant, others, most, k, price):
    """How many of the k best documents are relevant when those are worth `price` less; of equals the first wins."""
    taken = 0
    for step in range(k):
        if taken < most:
            ahead = relevant[1, taken] - price - others[1, step - taken]
            if ahead > 0.0 or (ahead == 0.0 and relevant[0, taken] < others[0, step - taken]):
                taken += 1
    return taken


@inlined
def best_count(relevant, others, least, most, k, most_loss, truth, form):
    """The number of relevant documents of greatest violation; of equals the greatest."""
    total = 0.0
    for j in range(most):
        total += relevant[1, j]
    for j in range(k - most):
        total += others[1, j]
    count, value = most, violation(form, total / k - truth, most_loss - most / k)
    for taken in range(most - 1, least - 1, -1):
        total += others[1, k - taken - 1] - relevant[1, taken]
        v = violation(form, total / k - truth, most_loss - taken / k)
        if v > value:
            count, value = taken, v
    return count


@inlined
def mean_score(documents, at, k, begin, scores):
    """w·Ψ of the documents in documents[at : at + k]."""
    total = 0.0
    for q in range(at, at + k):
        total += scores[begin + documents[q]]
    return total / k


@inlined
def write_code(codes, at, k, taken, relevant, others):
    """The chosen documents in ascending order, and their key."""
    for q in range(k):
        codes[at + q] = np.int32(relevant[0, q] if q < taken else others[0, q - taken])
    codes[at : at + k].sort()
    key = HASH_START
    for q in range(at, at + k):
        key = hash_step(key, codes[q])
    return key


@kernel
def choose_documents(ids, offsets, code_offsets, scores, relevance, truths, scales, form, codes, losses, rises, keys):
    """The k documents of greatest violation of each query: by how many of them are relevant, the best of each kind.

    `scores` are those of the documents of ids, one query behind the other.
    """
    room = 0
    for r in range(len(ids)):
        room = max(room, code_offsets[ids[r] + 1] - code_offsets[ids[r]])
    relevant, others, begin = np.empty((2, room + 1)), np.empty((2, room + 1)), 0
    for r in range(len(ids)):
        i = ids[r]
        first, n, at = offsets[i], offsets[i + 1] - offsets[i], code_offsets[i]
        k = code_offsets[i + 1] - at
        if k == 0:
            losses[i], rises[i], keys[i] = 0.0, 0.0, 0
            continue
        known = len(truths) > 0 and relevance[first] != _UNLABELLED
        truth = mean_score(truths, at, k, begin, scores) if known else 0.0
        n_relevant, most, held_others = split_documents(first, n, k, begin, scores, relevance, relevant, others)
        most_loss = min(1.0, n_relevant / k)
        if form == _COMPLETE:
            taken = most
        elif form == _SCALED:
            taken = merged_count(relevant, others, most, k, scales[r])
        else:
            taken = best_count(relevant, others, k - held_others, most, k, most_loss, truth, form)
        keys[i] = write_code(codes, at, k, taken, relevant, others)
        losses[i] = most_loss - taken / k if known else 0.0
        rises[i] = mean_score(codes, at, k, begin, scores) - truth
        if known and (codes[at : at + k] == truths[at : at + k]).all():
            keys[i], rises[i] = 0, 0.0
        begin += n


@kernel
def document_planes(
    ids, offsets, code_offsets, indptr, indices, data, dim, truths, codes, out_ptr, out_index, out_value
):
    """Rows (1/k) (Σ true documents − Σ coded ones); documents in both cancel. Returns the number of entries."""
    sums, touched, p = np.zeros(dim), np.empty(0, np.int64), 0
    for r in range(len(ids)):
        i = ids[r]
        first, at, end = offsets[i], code_offsets[i], code_offsets[i + 1]
        room, count = 0, 0
        for q in range(at, end):
            room += indptr[first + truths[q] + 1] - indptr[first + truths[q]]
            room += indptr[first + codes[q] + 1] - indptr[first + codes[q]]
        if room > len(touched):
            touched = np.empty(2 * room, np.int64)
        a, b = at, at
        while a < end or b < end:
            if a < end and b < end and truths[a] == codes[b]:
                a, b = a + 1, b + 1
                continue
            from_truth = b == end or (a < end and truths[a] < codes[b])
            row = first + (truths[a] if from_truth else codes[b])
            for e in range(indptr[row], indptr[row + 1]):
                count = add_entry(np.int64(indices[e]), data[e] if from_truth else -data[e], sums, touched, count)
            a, b = a + from_truth, b + (not from_truth)
        p = write_entries(sums, touched, count, 1.0 / (end - at), out_index, out_value, p)
        out_ptr[r + 1] = p
    return p
