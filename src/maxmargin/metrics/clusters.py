"""Metrics of clusterings: MUC, B³, CEAF, and the losses of Yu and Joachims (2009), table 2.

A partition is the cluster of each item, by any labels. Scores are pooled: they are ratios of sums over all partitions,
as in scorers of coreference. The two losses are means over the partitions, in per cent, as in Finley and
Joachims (2005) and Yu and Joachims (2009); ``pooled=True`` pools them too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from maxmargin._base.types import FloatArray, IntArray


@dataclass(frozen=True)
class ClusterScores:
    """Precision, recall and F1 of predicted clusters.

    If there is nothing to score in either partition (MUC: no two items in one cluster), the scores are 1.

    Attributes
    ----------
    right_of_predicted, n_predicted : float
        Precision is the first over the second.
    right_of_true, n_true : float
        Recall is the first over the second.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.muc([["a", "a", "b", "b"]], [[0, 0, 0, 1]])
    >>> scores.precision, scores.recall, scores.f1
    (0.5, 0.5, 0.5)
    """

    right_of_predicted: float
    n_predicted: float
    right_of_true: float
    n_true: float

    @property
    def precision(self) -> float:
        """Fraction of the prediction that is correct."""
        return self._share(self.right_of_predicted, self.n_predicted)

    @property
    def recall(self) -> float:
        """Fraction of the truth that is predicted."""
        return self._share(self.right_of_true, self.n_true)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    def _share(self, right: float, of: float) -> float:
        return right / of if of else float(self.n_predicted == self.n_true)

    def __add__(self, other: ClusterScores) -> ClusterScores:
        return ClusterScores(
            self.right_of_predicted + other.right_of_predicted,
            self.n_predicted + other.n_predicted,
            self.right_of_true + other.right_of_true,
            self.n_true + other.n_true,
        )

    def __str__(self) -> str:
        return f"precision {100 * self.precision:6.2f} %  recall {100 * self.recall:6.2f} %  F1 {100 * self.f1:6.2f}"


def muc(Y_true: Any, Y_pred: Any) -> ClusterScores:
    """Return MUC: the fraction of the links within true clusters that are predicted (Vilain et al. 1995).

    It is ``Σ_S (|S| − p(S)) / Σ_S (|S| − 1)``, p(S) the number of predicted clusters that S is spread over; precision
    is the same with the partitions exchanged. Clusters of one item do not count.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences
        True and predicted partitions: the cluster of each item, by any labels.

    Returns
    -------
    ClusterScores
        Precision, recall and F1, pooled over the partitions.

    Examples
    --------
    >>> scores = muc([["a", "a", "a", "a"]], [[0, 0, 1, 1]])
    >>> scores.precision, scores.recall
    (1.0, 0.6666666666666666)
    """
    return _pooled(_muc(overlap) for overlap in _overlaps(Y_true, Y_pred))


def b_cubed(Y_true: Any, Y_pred: Any) -> ClusterScores:
    """Return B³: the overlap of the two clusters of each item (Bagga and Baldwin 1998).

    Precision is ``Σ_{S,R} |S ∩ R|² / |R|`` over the number of items, recall the same with ``|S|``.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences
        True and predicted partitions: the cluster of each item, by any labels.

    Returns
    -------
    ClusterScores
        Precision, recall and F1, pooled over the partitions.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.b_cubed([["a", "a", "a", "a"]], [[0, 0, 1, 1]])
    >>> scores.precision, scores.recall
    (1.0, 0.5)
    """
    return _pooled(_b_cubed(overlap) for overlap in _overlaps(Y_true, Y_pred))


def ceaf(Y_true: Any, Y_pred: Any, similarity: Literal["items", "clusters"] = "items") -> ClusterScores:
    """Return CEAF: the greatest sum of similarities φ of clusters matched one to one (Luo 2005).

    Precision is the sum over Σ_R φ(R, R), recall over Σ_S φ(S, S).

    Parameters
    ----------
    Y_true, Y_pred : list of sequences
        True and predicted partitions: the cluster of each item, by any labels.
    similarity : {"items", "clusters"}, default="items"
        ``φ₃ = |S ∩ R|`` (mention-based), or ``φ₄ = 2 |S ∩ R| / (|S| + |R|)`` (entity-based).

    Returns
    -------
    ClusterScores
        Precision, recall and F1, pooled over the partitions.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.ceaf([["a", "a", "a", "b"]], [[0, 0, 1, 1]])
    >>> scores.precision, scores.recall
    (0.75, 0.75)
    """
    if similarity not in ("items", "clusters"):
        raise ValueError(f"similarity must be 'items' or 'clusters', found {similarity!r}")
    return _pooled(_ceaf(overlap, similarity == "clusters") for overlap in _overlaps(Y_true, Y_pred))


def mitre_loss(Y_true: Any, Y_pred: Any, *, pooled: bool = False) -> float:
    """Return 100 (1 − F1 of MUC), as a mean over partitions.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences
        True and predicted partitions: the cluster of each item, by any labels.
    pooled : bool, default=False
        Whether to return the loss of the pooled F1 instead.

    Returns
    -------
    float
        The loss, between 0 and 100.

    Examples
    --------
    >>> import maxmargin as mm
    >>> round(mm.metrics.mitre_loss([["a", "a", "a", "a"]], [[0, 0, 1, 1]]), 6)
    20.0
    """
    parts = [_muc(overlap) for overlap in _overlaps(Y_true, Y_pred)]
    if pooled:
        parts = [_pooled(iter(parts))]
    return _mean([100.0 * (1.0 - scores.f1) for scores in parts])


def pair_loss(Y_true: Any, Y_pred: Any, *, pooled: bool = False) -> float:
    """Return 100 W / T: of all T pairs of items, those W that are together in only one of the partitions.

    It is a mean over partitions; the loss of a partition without pairs is 0.

    Parameters
    ----------
    Y_true, Y_pred : list of sequences
        True and predicted partitions: the cluster of each item, by any labels.
    pooled : bool, default=False
        Whether to return the loss of the pooled counts instead.

    Returns
    -------
    float
        The loss, between 0 and 100.

    Examples
    --------
    >>> pair_loss([[0, 0, 1, 1]], [[0, 0, 0, 1]])  # wrong are (0, 2), (1, 2) and (2, 3)
    50.0
    """
    counts = [_wrong_pairs(overlap) for overlap in _overlaps(Y_true, Y_pred)]
    if pooled:
        counts = [(sum(wrong for wrong, _ in counts), sum(total for _, total in counts))]
    return _mean([100.0 * wrong / max(total, 1) for wrong, total in counts])


@dataclass(frozen=True)
class _Overlap:
    """Numbers of items that true and predicted clusters share, and the sizes of all clusters."""

    true: IntArray
    predicted: IntArray
    shared: IntArray
    true_sizes: IntArray
    predicted_sizes: IntArray


def _overlaps(Y_true: Any, Y_pred: Any) -> Iterator[_Overlap]:
    if len(Y_true) != len(Y_pred):
        raise ValueError(f"{len(Y_true)} true partitions but {len(Y_pred)} predicted ones")
    if len(Y_true) == 0:
        raise ValueError("there are no partitions to score")
    for i, (y, y_hat) in enumerate(zip(Y_true, Y_pred, strict=True)):
        for what, clusters in (("true", y), ("predicted", y_hat)):
            if isinstance(clusters, str) or not hasattr(clusters, "__len__"):
                raise ValueError(
                    f"{what} partition {i}: expected the cluster of each item, found "
                    f"{type(clusters).__name__} {clusters!r}"
                )
        if len(y) != len(y_hat):
            raise ValueError(f"partition {i}: true clusters for {len(y)} items but predicted ones for {len(y_hat)}")
        yield _overlap(_numbers(y), _numbers(y_hat))


def _numbers(clusters: Sequence[Any]) -> IntArray:
    known: dict[Any, int] = {}
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else clusters
    return np.array([known.setdefault(label, len(known)) for label in labels], np.int64)


def _overlap(true: IntArray, predicted: IntArray) -> _Overlap:
    width = int(predicted.max(initial=-1)) + 1
    common, shared = np.unique(true * width + predicted, return_counts=True)
    first, second = np.divmod(common, width) if width else (common, common)
    return _Overlap(first, second, shared, np.bincount(true), np.bincount(predicted))


def _muc(overlap: _Overlap) -> ClusterScores:
    n_items, n_parts = int(overlap.shared.sum()), len(overlap.shared)
    n_true, n_predicted = n_items - len(overlap.true_sizes), n_items - len(overlap.predicted_sizes)
    return ClusterScores(n_items - n_parts, n_predicted, n_items - n_parts, n_true)


def _b_cubed(overlap: _Overlap) -> ClusterScores:
    squares, n_items = overlap.shared.astype(float) ** 2, float(overlap.shared.sum())
    precision = float((squares / overlap.predicted_sizes[overlap.predicted]).sum())
    recall = float((squares / overlap.true_sizes[overlap.true]).sum())
    return ClusterScores(precision, n_items, recall, n_items)


def _ceaf(overlap: _Overlap, by_cluster: bool) -> ClusterScores:
    similarity: FloatArray = np.zeros((len(overlap.true_sizes), len(overlap.predicted_sizes)))
    similarity[overlap.true, overlap.predicted] = overlap.shared
    n_true = n_predicted = float(overlap.shared.sum())
    if by_cluster:
        similarity /= (overlap.true_sizes[:, None] + overlap.predicted_sizes) / 2.0
        n_true, n_predicted = map(float, similarity.shape)
    best = float(similarity[linear_sum_assignment(similarity, maximize=True)].sum())
    return ClusterScores(best, n_predicted, best, n_true)


def _wrong_pairs(overlap: _Overlap) -> tuple[int, int]:
    """Return the number of pairs that are together in one partition only, and of all pairs."""
    in_both, in_true, in_predicted = map(_n_pairs, (overlap.shared, overlap.true_sizes, overlap.predicted_sizes))
    return in_true + in_predicted - 2 * in_both, _n_pairs(overlap.shared.sum())


def _n_pairs(sizes: Any) -> int:
    return int((sizes * (sizes - 1) // 2).sum())


def _pooled(scores: Iterator[ClusterScores]) -> ClusterScores:
    return sum(scores, ClusterScores(0, 0, 0, 0))


def _mean(values: list[float]) -> float:
    return float(np.mean(values))
