"""Clustering by a latent spanning forest (Yu and Joachims 2009, section 5.2).

    Ψ(x, y, h) = Σ_{(i, j) ∈ h} x_ij        y a partition of n items, h a forest with one tree per cluster

Items are in one cluster if a chain of strong links joins them, however weak the link between any two of them is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import Answers
from maxmargin.core.errors import Place, Where, error_at, inside
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.core.structure import LatentCompiled
from maxmargin.encoding.pairs import Pairs, pair_numbers, symmetric_table
from maxmargin.kernel_features.on_rows import KernelOnRows
from maxmargin.parts._kernels import forbid
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.structures.forest import _kernels as kernels


class Forest(KernelOnRows, LatentCompiled):
    """A partition of n items, scored by the links of a latent spanning forest.

    Each x holds a row of features for every pair of items: an array (n, n, d), of which only x[i, j] with i < j is read
    (so that features may depend on which item comes first), or the condensed rows (n(n − 1)/2, d), in the order of
    `numpy.triu_indices(n, 1)`, dense or sparse. Each y holds the cluster of each item, by any labels; predictions
    number the clusters 0, 1, … in the order of their first items. Items are in reading order: the initial forest of the
    true clusters is a chain through each cluster in this order.

    The loss of a partition with forest ĥ, for true clusters y of n(y) items in k(y) clusters, is

        Δ(y, ĥ) = n(y) − k(y) − Σ_{(i, j) ∈ ĥ} l(y, (i, j)),    l = 1 inside a true cluster, −r across,

    which is at least 0, and 0 exactly if ĥ spans the true clusters (for r > 0). Prediction, loss-augmented prediction
    and completion are maximum spanning forests (as by Kruskal's algorithm; ties go to the first pair). Links of score 0
    or less are not predicted, so that a constant feature is the threshold for linking.

    Parameters
    ----------
    r : float, default=1.0
        The cost of a link between clusters, relative to a missing link; smaller values join more items.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for every link.
    """

    output_name: ClassVar[str] = "partition"
    #: A partition does not determine its forest, so the score of a runner-up is not defined.
    instead_of_explain: ClassVar[str] = (
        "links(x) of ForestClustering, or structure_.links(coef_, x) of LatentStructuralSVM, which returns the "
        "links that join the clusters"
    )

    def __init__(self, *, r: float = 1.0, fit_intercept: bool = True) -> None:
        self.r, self.fit_intercept = r, fit_intercept

    # ------------------------------------------------------------------ sizes

    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Forest:
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> ForestExamples:
        """Fit and encode in one pass over the data."""
        self._check_r()
        examples = self._examples(X, Y, None)
        self._set_width(self.features_.n_inputs if self.features_ else examples.blocks[0].width)
        return examples

    def _weight_rows(self, w: FloatArray) -> FloatArray:
        return w[:, None]

    def _resize(self) -> None:
        self._set_width(self.n_features_)

    def _check_r(self) -> None:
        if not isinstance(self.r, int | float | np.number) or not 0 <= self.r < np.inf:
            raise ValueError(f"r must be a finite number ≥ 0, found {self.r!r}")

    def _set_width(self, width: int) -> None:
        columns = width if self.features_ is None else self.features_.width
        self.n_features_, self.size = width, columns + bool(self.fit_intercept)

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> ForestExamples:
        return self._examples(X, Y, self.n_features_)

    def _examples(self, X: Sequence[Any], Y: Sequence[Any] | None, width: int | None) -> ForestExamples:
        settings = float(self.r), bool(self.fit_intercept)
        clusters = None
        if Y is not None:
            if len(X) != len(Y):
                raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
            clusters = [numbered_clusters(y, Place("Y", i)) for i, y in enumerate(Y)]
        pairs = Pairs(X, None if clusters is None else [len(y) for y in clusters], width)
        learn = width is None
        pairs.matrix = self._fit_kernel(pairs.matrix, pairs.offsets, "pair") if learn else self._mapped(pairs.matrix)
        return ForestExamples(self, pairs, clusters, *settings)

    # ------------------------------------------------------------------ one example

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the least loss of all forests that span ŷ: (m − k(y)) + r (m − k(ŷ)).

        m is the number of clusters of the common refinement. The first term counts the links that ŷ does not have, the
        second the links that it has in excess: the errors of MUC's recall and precision (Vilain et al. 1995).
        """
        true, found = numbered_clusters(y, "y"), numbered_clusters(y_hat, "y_hat")
        if len(true) != len(found):
            raise ValueError(f"y has {len(true)} items but y_hat has {len(found)}")
        common = len(set(zip(true.tolist(), found.tolist(), strict=True)))
        return float((common - len(set(true.tolist()))) + self.r * (common - len(set(found.tolist()))))

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """Yield all partitions, for tests."""
        n = int(self.encode([x]).sizes[0])
        begun: list[list[int]] = [[]]
        while begun:
            clusters = begun.pop()
            if len(clusters) == n:
                yield clusters
            else:
                begun.extend([*clusters, k] for k in reversed(range(max(clusters, default=-1) + 2)))

    def links(self, w: FloatArray, x: Any) -> list[tuple[int, int, float]]:
        """Return the links (i, j) that join the predicted clusters, with their scores, best first."""
        examples, w = self.encode([x]), np.asarray(w, float)
        answers, everyone = examples.empty_answers(), np.zeros(1, np.int64)
        examples.decode(w, everyone, np.zeros(1), answers)
        scores = examples.scores(w, everyone)[0].values
        code = answers.codes[answers.codes >= 0]
        code = code[np.argsort(-scores[code], kind="stable")]
        first, second = (items[code] for items in np.triu_indices(int(examples.sizes[0]), 1))
        return list(zip(first.tolist(), second.tolist(), scores[code].tolist(), strict=True))

    @staticmethod
    def arranged(blocks: list[FloatArray]) -> FloatArray:
        """Return numbers of the links of an example as a symmetric table of its items."""
        return symmetric_table(blocks[0])

    # ------------------------------------------------------------------ weights

    def feature_names(self, columns: Sequence[str] | None = None) -> AnyArray:
        names = [f"x{f}" for f in range(self.n_features_)] if columns is None else list(map(str, columns))
        return np.array(self._mapped_names(names) + ["intercept"] * bool(self.fit_intercept), object)

    def _learnt(self) -> dict[str, Any]:
        return {"n_features": self.n_features_, **self._kernel_state()}

    def _set_learnt(self, learnt: Any) -> None:
        self._check_r()
        self._set_kernel_state(learnt, int(learnt["n_features"]))
        self._set_width(int(learnt["n_features"]))

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        clusters = np.array([cluster for output in outputs for cluster in output], np.int64)
        return {"clusters": clusters, "lengths": np.fromiter(map(len, outputs), np.int64, len(outputs))}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        clusters, lengths = np.asarray(packed["clusters"]), np.asarray(packed["lengths"])
        if clusters.dtype.kind not in "iu" or (lengths < 0).any() or lengths.sum() != len(clusters):
            raise ValueError(f"expected {lengths.sum()} cluster numbers in total, found {len(clusters)}")
        return [clusters[a:b].tolist() for a, b in pairwise([0, *np.cumsum(lengths).tolist()])]

    def _joint_features(self, examples: Any) -> FloatArray:
        dense: FloatArray = examples.joint_features()
        return dense


def numbered_clusters(y: Any, where: Where) -> CodeArray:
    """Return clusters by any labels as numbers 0, 1, … in the order of their first items."""
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
                f"a cluster must be hashable (a string, a number), found {type(label).__name__} {label!r}",
            ) from None
    return out


class ForestExamples(PartExamples):
    """Links between the items of each example; the code of an output is the links of its forest.

    The truth is a chain through each true cluster.
    """

    latent, nested = True, True

    def __init__(
        self, structure: Forest, pairs: Pairs, clusters: list[CodeArray] | None, r: float, intercept: bool
    ) -> None:
        self.sizes = pairs.sizes
        offsets = np.concatenate([[0], np.cumsum(np.maximum(self.sizes - 1, 0))]).astype(np.int64)
        truths, costs = None, None
        if clusters is not None:
            truths = [np.full(max(len(own) - 1, 0), -1, np.int32) for own in clusters]
            for truth, own in zip(truths, clusters, strict=True):
                chain = chain_code(own)
                truth[: len(chain)] = chain
            costs = np.concatenate([link_costs(own, r) for own in clusters] or [np.zeros(0)])
        block = Block(pairs.matrix, pairs.offsets, constant=intercept)
        super().__init__(structure, [block], offsets, truths, [costs], (r, intercept))
        self.across = np.zeros(0, bool) if costs is None else costs >= 0.0

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        kernels.best_forests(ids, *scores[0], self.code_offsets, 0.0, codes)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        room = int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        ptr, links = np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32)
        kernels.links_of(ids, self.code_offsets, codes, ptr, links)
        return [counted_once(ptr, links[: ptr[-1]])]

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Find the best forest that spans the true clusters, without links across."""
        scores = self.scores(w, ids)
        values, starts = scores[0]
        forbid(ids, self.part_offsets[0], self.across, starts, values)
        kernels.best_forests(ids, values, starts, self.code_offsets, -np.inf, answers.codes)
        self.judge(scores, ids, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the truth: chains in reading order, as in Yu and Joachims (2009)."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def output(self, example: int, key: int, code: CodeArray) -> list[int]:
        n = int(self.sizes[example])
        clusters = np.empty(n, np.int64)
        kernels.cluster_numbers(code, n, clusters)
        return clusters.tolist()

    def take(self, ids: IntArray) -> ForestExamples:
        part = super().take(ids)
        part.sizes, part.across = self.sizes[ids], np.asarray(part.costs[0], float) >= 0.0
        return part


def link_costs(clusters: CodeArray, r: float) -> FloatArray:
    """Compute the loss of each link: −1 inside a true cluster, r across."""
    first, second = np.triu_indices(len(clusters), 1)
    return np.where(clusters[first] == clusters[second], -1.0, r)


def chain_code(clusters: CodeArray) -> IntArray:
    """Return the forest that joins each item to the next item of its cluster, as sorted pair numbers."""
    order = np.argsort(clusters, kind="stable")
    same = clusters[order[:-1]] == clusters[order[1:]]
    return np.sort(pair_numbers(len(clusters), order[:-1][same], order[1:][same]))
