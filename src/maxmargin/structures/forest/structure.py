"""Clustering by a latent spanning forest (Yu and Joachims 2009, section 5.2).

    Ψ(x, y, h) = Σ_{(i, j) ∈ h} x_ij        y a partition of n items, h a forest with one tree per cluster

Items are in one cluster if a chain of strong links joins them, however weak the link between any two of them is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, finite_number
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.ragged import ONLY, offsets_of, split_rows
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms import spanning_forest
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.core.structure import Compiled
from maxmargin.core.sums import PERTURB
from maxmargin.features.graphs.pairs import Pairs, pair_numbers, symmetric_table
from maxmargin.features.mercer.on_rows import MatrixEncoder
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.row_sums import forbid


class LinkEncoder(MatrixEncoder):
    """Encoder of feature rows for pairs of items."""

    row = "pair"


class Forest(Compiled):
    """A partition of n items, scored by the links of a latent spanning forest.

    Each x holds a row of features for every pair of items: an array (n, n, d), of which only x[i, j] with i < j is read
    (features may depend on which item comes first), or the condensed rows (n(n − 1)/2, d), in the order of
    `numpy.triu_indices(n, 1)`, dense or sparse. Each y holds the cluster of each item, by any labels; predictions
    number the clusters 0, 1, … in the order of their first items. Items are in reading order: the initial forest of the
    true clusters is a chain through each cluster in this order.

    The loss of a partition with forest ĥ, for true clusters y of n(y) items in k(y) clusters, is

        Δ(y, ĥ) = n(y) − k(y) − Σ_{(i, j) ∈ ĥ} l(y, (i, j)),    l = 1 inside a true cluster, −r across,

    which is at least 0, and 0 exactly if ĥ spans the true clusters (for r > 0). Prediction, loss-augmented prediction
    and completion are maximum spanning forests (as by Kruskal's algorithm; ties go to the first pair). Links of score 0
    or less are not predicted, so a constant feature is the threshold for linking.

    Parameters
    ----------
    r : float, default=1.0
        The cost of a link between clusters, relative to a missing link; smaller values join more items.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for every link.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.places()  # distances of all pairs of items
    >>> model = mm.StructuralSVM(mm.Forest(), C=10.0).fit(X, Y)
    >>> Y[0], model.predict(X[:1])[0]
    ([2, 1, 1, 0, 0], [0, 1, 1, 2, 2])
    """

    learns: ClassVar[dict[str, type]] = {"rows_": LinkEncoder}
    state_keys: ClassVar[dict[str, str]] = {"rows_": ""}
    kernel_rows: ClassVar[dict[str, str]] = {"rows_": "links"}
    output_name: ClassVar[str] = "partition"
    capabilities: ClassVar[frozenset[str]] = frozenset({"max_marginals", "latent"})
    #: A partition does not determine its forest, so the score of a runner-up is not defined.
    instead_of_explain: ClassVar[str] = (
        "links(x) of ForestClustering, or structure_.links(coef_, x) of StructuralSVM, which returns the "
        "links that join the clusters"
    )

    rows_: LinkEncoder

    def __init__(self, *, r: float = 1.0, fit_intercept: bool = True) -> None:
        self.r, self.fit_intercept = r, fit_intercept

    # ------------------------------------------------------------------ sizes

    def check_parameters(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        finite_number(self.r, "r")

    @property
    def n_features_(self) -> int:
        """Number of features of a link."""
        return self.rows_.width

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> ForestExamples:
        clusters = None if Y is None else [numbered_clusters(y, Place("Y", i)) for i, y in enumerate(Y)]
        sizes = None if clusters is None else [len(y) for y in clusters]
        pairs = Pairs(X, sizes, None if learn else self.n_features_)
        rows = self.rows_.fit(pairs.matrix, pairs.offsets) if learn else self.rows_.encode(pairs.matrix)
        pairs.matrix = rows
        return ForestExamples(self, pairs, clusters, float(self.r), bool(self.fit_intercept))

    # ------------------------------------------------------------------ one example

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the least loss of all forests that span ŷ: (m − k(y)) + r (m − k(ŷ)).

        m is the number of clusters of the common refinement. The first term counts the links that ŷ does not have, the
        second the links that it has in excess: the errors of MUC's recall and precision (Vilain et al. 1995).
        """
        true, predicted = numbered_clusters(y, "y"), numbered_clusters(y_hat, "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} items but y_hat has {len(predicted)}")
        common = len(set(zip(true.tolist(), predicted.tolist(), strict=True)))
        return float((common - len(set(true.tolist()))) + self.r * (common - len(set(predicted.tolist()))))

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
        answers = examples.empty_answers()
        examples.decode(w, ONLY, np.zeros(1), answers)
        scores = examples.scores(w, ONLY)[0].values
        code = answers.codes[answers.codes >= 0]
        code = code[np.argsort(-scores[code], kind="stable")]
        first, second = (items[code] for items in np.triu_indices(int(examples.sizes[0]), 1))
        return list(zip(first.tolist(), second.tolist(), scores[code].tolist(), strict=True))

    @staticmethod
    def arranged(blocks: list[FloatArray]) -> FloatArray:
        """Return numbers of the links of an example as a symmetric table of its items."""
        return symmetric_table(blocks[0])

    # ------------------------------------------------------------------ weights

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"links": (self.rows_.output_width + bool(self.fit_intercept),)}

    def feature_names(self, columns: Sequence[str] | None = None) -> AnyArray:
        return np.array(self.rows_.column_names(columns) + ["intercept"] * bool(self.fit_intercept), object)

    def pack_outputs(self, outputs: list[Any]) -> dict[str, AnyArray]:
        clusters = np.array([cluster for output in outputs for cluster in output], np.int64)
        return {"clusters": clusters, "lengths": np.fromiter(map(len, outputs), np.int64, len(outputs))}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        clusters = np.asarray(packed["clusters"])
        if clusters.dtype.kind not in "iu":
            raise ValueError(f"expected cluster numbers, found an array of {clusters.dtype}")
        return split_rows(clusters.tolist(), packed["lengths"], "cluster numbers")


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

    derived: ClassVar[dict[str, str]] = {"sizes": ""}
    latent = nested = optional_parts = True
    why_not_summable = (
        "to count the forests of a graph is #P-hard (Jaeger et al. 1990), as the matrix-tree theorem only counts "
        f"trees, or forests with a root in each tree; {PERTURB}"
    )

    def __init__(
        self, structure: Forest, pairs: Pairs, clusters: list[CodeArray] | None, r: float, intercept: bool
    ) -> None:
        self.sizes = pairs.sizes
        offsets = offsets_of(np.maximum(self.sizes - 1, 0))
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
        spanning_forest.best_forests(ids, *scores[0], self.code_offsets, 0.0, codes)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        room = int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        ptr, links = np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32)
        spanning_forest.links_of(ids, self.code_offsets, codes, ptr, links)
        return [counted_once(ptr, links[: ptr[-1]])]

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Find the best forest that spans the true clusters, without links across."""
        scores = self.scores(w, ids)
        values, starts = scores[0]
        forbid(ids, self.part_offsets[0], self.across, starts, values)
        spanning_forest.best_forests(ids, values, starts, self.code_offsets, -np.inf, answers.codes)
        self.judge(scores, ids, answers)

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the truth: chains in reading order, as in Yu and Joachims (2009)."""
        super().initial_completion(rng, answers)
        answers.codes[:] = self.truths

    def output(self, example: int, key: int, code: CodeArray) -> list[int]:
        n = int(self.sizes[example])
        clusters = np.empty(n, np.int64)
        spanning_forest.cluster_numbers(code, n, clusters)
        return clusters.tolist()

    def take(self, ids: IntArray) -> ForestExamples:
        part = super().take(ids)
        part.across = np.asarray(part.costs[0], float) >= 0.0
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
