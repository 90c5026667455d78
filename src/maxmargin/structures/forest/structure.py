"""Clustering by a latent spanning forest (paper 5, section 5.2; Yu and Joachims 2009).

    Ψ(x, y, h) = Σ_{(i, j) ∈ h} x_ij        y a partition of n items, h a forest with one tree for each cluster

Items belong together when a chain of strong links joins them, weak as the link between any two of them may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import Answers
from maxmargin.core.errors import Place, Where, error_at, inside
from maxmargin.core.examples import Examples
from maxmargin.core.planes import Planes
from maxmargin.core.structure import LatentCompiled
from maxmargin.encoding.pairs import Pairs, pair_numbers
from maxmargin.structures.forest import _kernels as kernels

#: Whole numbers up to this size are exact as float32.
_FLOAT32_WHOLE = 2.0**24
#: Pairs that are scored before forests are sought among them.
_BLOCK = 1 << 17


class Forest(LatentCompiled):
    """A partition of n items, scored by the links of a spanning forest that nobody knows.

    Each x holds a row of features for every pair of items: an array (n, n, d), of which only x[i, j] with i < j is
    read (so features may know which item comes first), or these rows condensed to (n(n − 1)/2, d), in the order of
    `numpy.triu_indices(n, 1)`, dense or sparse. Each y gives the cluster of each item, by any labels; predictions
    number the clusters 0, 1, … in the order of their first items. Items are in reading order: where a forest for the
    true clusters is needed before there are weights, each cluster is a chain in this order.

    The loss of a partition with forest ĥ, for true clusters y of n(y) items in k(y) clusters, is

        Δ(y, ĥ) = n(y) − k(y) − Σ_{(i, j) ∈ ĥ} l(y, (i, j)),    l = 1 inside a true cluster, −r across,

    at least 0, and 0 exactly when ĥ spans the true clusters (for r > 0). Prediction, loss-augmented prediction and
    completion are maximum spanning forests (Kruskal's; ties go to the pair that comes first). No link that is worth 0
    or less is predicted, so a constant feature is the threshold for linking.

    Parameters
    ----------
    r : the price of a link between clusters, where a missing link costs 1; smaller values join more.
    fit_intercept : a constant feature of value 1 for every link.
    """

    output_name: ClassVar[str] = "partition"
    #: A partition does not tell its forest, so that there is no score of a runner-up.
    instead_of_explain: ClassVar[str] = (
        "links(x) of ForestClustering, or structure_.links(coef_, x) of LatentStructuralSVM, which tells what holds "
        "the clusters together"
    )

    def __init__(self, *, r: float = 1.0, fit_intercept: bool = True) -> None:
        self.r, self.fit_intercept = r, fit_intercept

    # ------------------------------------------------------------------ sizes

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Forest:
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> ForestExamples:
        """`fit` and `encode` in one reading of the data."""
        if not isinstance(self.r, int | float | np.number) or not 0 <= self.r < np.inf:
            raise ValueError(f"r must be a finite number ≥ 0, found {self.r!r}")
        examples = self._examples(X, Y, None)
        self._set_width(examples.pairs.width)
        return examples

    def _set_width(self, width: int) -> None:
        self.n_features_, self.size = width, width + bool(self.fit_intercept)

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> ForestExamples:
        return self._examples(X, Y, self.n_features_)

    def _examples(self, X: Sequence[Any], Y: Sequence[Any] | None, width: int | None) -> ForestExamples:
        if Y is None:
            return ForestExamples(Pairs(X, None, width), None, float(self.r), bool(self.fit_intercept))
        if len(X) != len(Y):
            raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
        clusters = [numbered_clusters(y, Place("Y", i)) for i, y in enumerate(Y)]
        pairs = Pairs(X, [len(y) for y in clusters], width)
        return ForestExamples(pairs, clusters, float(self.r), bool(self.fit_intercept))

    # ------------------------------------------------------------------ one example

    def loss(self, y: Any, y_hat: Any) -> float:
        """The least loss of all forests that span ŷ: (m − k(y)) + r (m − k(ŷ)), m the number of common refinements.

        The first term counts the links that ŷ lacks, the second those it has too many: the errors of MUC's recall and
        precision (Vilain et al. 1995).
        """
        true, found = numbered_clusters(y, "y"), numbered_clusters(y_hat, "y_hat")
        if len(true) != len(found):
            raise ValueError(f"y has {len(true)} items but y_hat has {len(found)}")
        common = len(set(zip(true.tolist(), found.tolist(), strict=True)))
        return float((common - len(set(true.tolist()))) + self.r * (common - len(set(found.tolist()))))

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """All partitions, one after the other: for tests."""
        n = int(self.encode([x]).pairs.sizes[0])
        begun: list[list[int]] = [[]]
        while begun:
            clusters = begun.pop()
            if len(clusters) == n:
                yield clusters
            else:
                begun.extend([*clusters, k] for k in reversed(range(max(clusters, default=-1) + 2)))

    def links(self, w: FloatArray, x: Any) -> list[tuple[int, int, float]]:
        """The links (i, j) of the predicted forest with their scores, best first: what holds the clusters together."""
        examples, w = self.encode([x]), np.asarray(w, float)
        answers, everyone = Answers.empty(1, int(examples.code_offsets[-1])), np.zeros(1, np.int64)
        examples.decode(w, everyone, np.zeros(1), answers)
        scores, _ = examples.scores(w, everyone)
        code = answers.codes[answers.codes >= 0]
        code = code[np.argsort(-scores[code], kind="stable")]
        first, second = (items[code] for items in np.triu_indices(int(examples.pairs.sizes[0]), 1))
        return list(zip(first.tolist(), second.tolist(), scores[code].tolist(), strict=True))

    # ------------------------------------------------------------------ weights

    def feature_names(self, columns: Sequence[str] | None = None) -> AnyArray:
        names = [f"x{f}" for f in range(self.n_features_)] if columns is None else list(map(str, columns))
        return np.array(names + ["intercept"] * bool(self.fit_intercept), object)

    def _learnt(self) -> dict[str, Any]:
        return {"n_features": self.n_features_}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_width(int(learnt["n_features"]))

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        clusters = np.array([cluster for output in outputs for cluster in output], np.int64)
        return {"clusters": clusters, "lengths": np.fromiter(map(len, outputs), np.int64, len(outputs))}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        clusters, lengths = np.asarray(packed["clusters"]), np.asarray(packed["lengths"])
        if clusters.dtype.kind not in "iu" or (lengths < 0).any() or lengths.sum() != len(clusters):
            raise ValueError(f"outputs of {lengths.sum()} items in all, found {len(clusters)} cluster numbers")
        return [clusters[a:b].tolist() for a, b in pairwise([0, *np.cumsum(lengths).tolist()])]

    def _joint_features(self, examples: Any) -> FloatArray:
        nothing = Answers.empty(1, int(examples.code_offsets[-1]))
        nothing.codes[:] = -1
        dense: FloatArray = examples.planes(np.zeros(1, np.int64), nothing).matrix(examples.dim).toarray()[0]
        return dense


def numbered_clusters(y: Any, where: Where) -> CodeArray:
    """Clusters by any labels as numbers 0, 1, … in the order of their first items."""
    if isinstance(y, str) or not hasattr(y, "__len__") or np.ndim(np.asarray(y, object)) < 1:
        raise error_at(where, f"expected the cluster of each item, found {type(y).__name__} {y!r}")
    labels = y.tolist() if isinstance(y, np.ndarray) else list(y)
    numbers: dict[Any, int] = {}
    out = np.empty(len(labels), np.int32)
    for item, label in enumerate(labels):
        try:
            if label is None or label != label:
                raise error_at(inside(where, f"item {item}"), f"expected a cluster, found {label!r}")
            out[item] = numbers.setdefault(label, len(numbers))
        except TypeError:
            raise error_at(
                inside(where, f"item {item}"),
                f"a cluster must be a string, a number or the like, found {type(label).__name__} {label!r}",
            ) from None
    return out


class ForestExamples(Examples):
    """Pairs with the clusters of their items; the code of an output is the links of its forest.

    The truth is a chain through each true cluster.
    """

    latent = True

    def __init__(self, pairs: Pairs, clusters: list[CodeArray] | None, r: float, intercept: bool) -> None:
        self.pairs, self.known, self.r, self.intercept = pairs, clusters is not None, r, intercept
        sizes = pairs.sizes
        self.n_examples, self.dim = len(pairs), pairs.width + intercept
        self.items = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.code_offsets = np.concatenate([[0], np.cumsum(np.maximum(sizes - 1, 0))]).astype(np.int64)
        self.clusters = np.full(int(self.items[-1]), -1, np.int32)
        self.truths = np.full(int(self.code_offsets[-1]), -1, np.int32)
        if clusters:
            self.clusters = np.concatenate(clusters)
            for i, own in enumerate(clusters):
                chain = chain_code(own)
                self.truths[self.code_offsets[i] : self.code_offsets[i] + len(chain)] = chain
        self.operations = float(pairs.n_entries + 4 * pairs.offsets[-1])
        links = 2 * np.maximum(sizes - 1, 0)  # at most, in both forests together
        self.link_entries = links * (pairs.most_entries() + intercept)
        self.plane_entries = np.minimum(self.link_entries, self.dim)
        self.float32_exact = pairs.largest_whole() * max(links.max(initial=0), 1) < _FLOAT32_WHOLE

    def scores(self, w: FloatArray, ids: IntArray) -> tuple[FloatArray, IntArray]:
        """The score of every pair of each of ids, and where those of each begin."""
        return self.pairs.scores(w, float(w[-1]) if self.intercept else 0.0, ids)

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self._decode(w, ids, scales, False, answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        self._decode(w, ids, np.zeros(len(ids)), True, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Chains in reading order, as in the paper: the truth."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def _decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, complete: bool, answers: Answers) -> None:
        into = answers.codes, answers.losses, answers.rises, answers.keys
        for block in self._blocks(ids):
            some = ids[block]
            scores, starts = self.scores(w, some)
            kernels.decode_forests(
                some, starts, scores, self.items, self.clusters, self.known, self.code_offsets, self.truths, self.r,
                scales[block], complete, *into,
            )  # fmt: skip

    def _blocks(self, ids: IntArray) -> list[slice]:
        """Runs of ids with few enough pairs in all that their scores stay in the cache."""
        ends = np.cumsum(self.pairs.offsets[ids + 1] - self.pairs.offsets[ids])
        cuts = np.flatnonzero(np.diff(ends // _BLOCK)) + 1
        return [slice(a, b) for a, b in pairwise([0, *cuts.tolist(), len(ids)])]

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        ptr, rows, signs = self._changes(ids, answers)
        room = int(self.plane_entries[ids].sum())
        planes = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room, self.value_type))
        into = self.intercept, np.zeros(self.dim), planes.indptr, planes.indices, planes.values
        pairs = self.pairs
        if pairs.sparse:
            touched = np.empty(self.link_entries[ids].max(initial=0), np.int64)
            kernels.sum_sparse_rows(ptr, rows, signs, pairs.indptr, pairs.indices, pairs.data, touched, *into)
        else:
            kernels.sum_dense_rows(ptr, rows, signs, pairs.dense, *into)
        used = planes.indptr[-1]
        return Planes(planes.indptr, planes.indices[:used], planes.values[:used])

    def _changes(self, ids: IntArray, answers: Answers) -> tuple[IntArray, IntArray, FloatArray]:
        """Links in which the answers differ from the truths: where those of each of ids begin, rows, signs."""
        most = 2 * int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        ptr, rows, signs = np.zeros(len(ids) + 1, np.int64), np.empty(most, np.int64), np.empty(most)
        kernels.changed_links(
            ids, self.code_offsets, self.truths, answers.codes, self.pairs.offsets, ptr, rows, signs
        )  # fmt: skip
        return ptr, rows, signs

    def output(self, example: int, key: int, code: CodeArray) -> list[int]:
        n = int(self.pairs.sizes[example])
        clusters = np.empty(n, np.int64)
        kernels.cluster_numbers(code, n, clusters)
        return clusters.tolist()

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *self.pairs.arrays(), self.clusters, np.array([self.r, self.intercept])


def chain_code(clusters: CodeArray) -> IntArray:
    """The forest that joins each item to the next of its cluster, as sorted pair numbers."""
    order = np.argsort(clusters, kind="stable")
    same = clusters[order[:-1]] == clusters[order[1:]]
    return np.sort(pair_numbers(len(clusters), order[:-1][same], order[1:][same]))
