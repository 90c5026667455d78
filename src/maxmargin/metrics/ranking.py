"""Metrics of rankings of documents, query by query.

All of them rank the documents of each query by their scores, ties going to the earlier document, and return the mean
over queries. A query without a relevant document counts as 0, as in LETOR's evaluation (Liu et al. 2007); documents of
a query need not be adjacent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._base.checks import finite_number, whole_number
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.metrics.gains import DISCOUNTS, GAINS, check_choice, discounts, gains
from maxmargin.metrics.queries import checked_groups, rows_by_query, sizes_hint


def precision_at_k(y: Any, scores: Any, groups: Any = None, k: int = 10) -> float:
    """Return the mean over queries of the fraction of relevant documents among the k best.

    Ties go to the earlier document. The count of a query with fewer than k documents is divided
    by k too, as in LETOR's evaluation, and a query without a relevant document counts as 0.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance of each document; above 0 means relevant.
    scores : array-like of shape (n,)
        Score of each document.
    groups : sequence of length n
        Query of each document.
    k : int, default=10
        Number of documents.

    Returns
    -------
    float
        The mean precision, between 0 and 1.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.2, 0.1, 0.5], ["a", "a", "b", "b"], k=1)
    0.5
    """
    k = whole_number(k, "k")
    return _mean(lambda ranked: float((ranked[:k] > 0).sum()) / k, *_read(y, scores, groups))


def ndcg_at_k(
    y: Any,
    scores: Any,
    groups: Any = None,
    k: int | None = 10,
    *,
    gain: str = "exponential",
    discount: str = "log2",
) -> float:
    """Return the mean over queries of the normalised discounted cumulative gain of the k best documents.

        NDCG@k = Σ_{p ≤ k} gain(r_p) · discount(p) / (the greatest such sum of any order)

    The defaults are those of most papers and of LightGBM: gains 2^r − 1, discounts 1/log2(p + 1). LETOR's evaluation
    has the same gains and the discounts 1, 1, 1/log2(3), … (``discount="letor"``). scikit-learn's `ndcg_score` has
    ``gain="linear"`` and the default discounts, and takes the mean over all orders of tied scores, where this function
    ranks the earlier document first.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance of each document, at least 0.
    scores : array-like of shape (n,)
        Score of each document.
    groups : sequence of length n
        Query of each document.
    k : int or None, default=10
        Number of documents; None for all.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of relevance r: 2^r − 1, or r.
    discount : {"log2", "letor"}, default="log2"
        Discount of position p: 1/log2(p + 1), or 1/log2(max(p, 2)).

    Returns
    -------
    float
        The mean NDCG, between 0 and 1.

    Examples
    --------
    >>> round(ndcg_at_k([2, 0, 1], [0.2, 0.3, 0.1], ["a", "a", "a"], k=2), 3)
    0.521
    """
    check_choice(gain, "gain", GAINS)
    check_choice(discount, "discount", DISCOUNTS)
    depth = None if k is None else whole_number(k, "k")
    relevance, scores, members = _read(y, scores, groups)

    def ndcg(ranked: FloatArray) -> float:
        weights = discounts(len(ranked) if depth is None else min(depth, len(ranked)), discount)
        best = float(np.sort(ranked)[::-1][: len(weights)] @ weights)
        return float(ranked[: len(weights)] @ weights) / best if best > 0 else 0.0

    return _mean(ndcg, gains(relevance, gain, lambda row: f"y[{row}]"), scores, members)


def mean_average_precision(y: Any, scores: Any, groups: Any = None) -> float:
    """Return the mean over queries of average precision: the mean precision at the places of relevant documents.

        AP = (1/n₊) Σ_{p: document p relevant} (relevant documents among the first p) / p

    It is LETOR's definition. scikit-learn's `average_precision_score` is the same for scores without ties; it gives
    tied documents the same place, where this function ranks the earlier document first.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance of each document; above 0 means relevant.
    scores : array-like of shape (n,)
        Score of each document.
    groups : sequence of length n
        Query of each document.

    Returns
    -------
    float
        The mean, between 0 and 1.

    Examples
    --------
    >>> mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], ["a", "a", "a", "a"])
    0.8333333333333333
    """

    def average_precision(ranked: FloatArray) -> float:
        places = np.flatnonzero(ranked > 0) + 1.0
        return float((np.arange(1, len(places) + 1) / places).mean()) if len(places) else 0.0

    return _mean(average_precision, *_read(y, scores, groups))


def mean_reciprocal_rank(y: Any, scores: Any, groups: Any = None) -> float:
    """Return the mean over queries of 1 / (the place of the first relevant document).

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance of each document; above 0 means relevant.
    scores : array-like of shape (n,)
        Score of each document.
    groups : sequence of length n
        Query of each document.

    Returns
    -------
    float
        The mean, between 0 and 1.

    Examples
    --------
    >>> mean_reciprocal_rank([0, 1, 1, 0], [0.9, 0.8, 0.7, 0.1], ["a", "a", "b", "b"])
    0.75
    """

    def reciprocal_rank(ranked: FloatArray) -> float:
        places = np.flatnonzero(ranked > 0)
        return 1.0 / float(places[0] + 1) if len(places) else 0.0

    return _mean(reciprocal_rank, *_read(y, scores, groups))


def expected_reciprocal_rank(
    y: Any,
    scores: Any,
    groups: Any = None,
    k: int | None = None,
    *,
    max_relevance: float | None = None,
) -> float:
    """Return the mean over queries of the expected reciprocal rank (Chapelle et al. 2009).

        ERR@k = Σ_{p ≤ k} (1/p) R_p Π_{i < p} (1 − R_i)        R = (2^r − 1) / 2^(greatest r)

    A reader goes down the ranking and stops at a document of relevance r with probability R; the measure is the
    expected value of 1 / (the place where the reader stops).

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance of each document, at least 0.
    scores : array-like of shape (n,)
        Score of each document.
    groups : sequence of length n
        Query of each document.
    k : int or None, default=None
        Number of documents; None for all.
    max_relevance : float or None, default=None
        The greatest relevance of the scale, such as 4 for the web data of Chapelle et al.; None for the greatest of y,
        which makes values of different data differ in scale.

    Returns
    -------
    float
        The mean, between 0 and 1.

    Examples
    --------
    >>> expected_reciprocal_rank([0, 2, 1], [0.9, 0.8, 0.7], ["a", "a", "a"])
    0.3958333333333333
    """
    depth = None if k is None else whole_number(k, "k")
    relevance, scores, members = _read(y, scores, groups)
    gained = gains(relevance, "exponential", lambda row: f"y[{row}]")
    top = float(relevance.max()) if max_relevance is None else finite_number(max_relevance, "max_relevance")
    if relevance.max() > top:
        row = int(relevance.argmax())
        raise ValueError(f"y[{row}]: relevance {relevance[row]:g} is above max_relevance={top:g}")

    def reciprocal_rank(stops: FloatArray) -> float:
        stops = stops[:depth]
        reached = np.concatenate([[1.0], np.cumprod(1.0 - stops)[:-1]])
        return float((stops * reached / np.arange(1, len(stops) + 1)).sum())

    return _mean(reciprocal_rank, gained / 2.0**top, scores, members)


def pair_accuracy(y: Any, scores: Any, groups: Any = None) -> float:
    """Return the mean over queries of the share of pairs in the right order.

    The pairs are those of documents of different relevance; a pair of equal scores counts one half. For two degrees of
    relevance it is the mean of the ROC areas of the queries. Queries without such a pair are left out.

    Parameters
    ----------
    y : array-like of shape (n,)
        Relevance of each document.
    scores : array-like of shape (n,)
        Score of each document.
    groups : sequence of length n
        Query of each document.

    Returns
    -------
    float
        The mean share, between 0 and 1.

    Examples
    --------
    >>> pair_accuracy([2, 0, 1], [0.2, 0.3, 0.1], ["a", "a", "a"])
    0.3333333333333333
    """
    relevance, scores, members = _read(y, scores, groups)
    by_query = (_ordered_share(relevance[rows], scores[rows]) for rows in members)
    shares = [share for share in by_query if share is not None]
    if not shares:
        raise ValueError("no query has two documents of different relevance, so there is no pair to order")
    return float(np.mean(shares))


def _ordered_share(relevance: FloatArray, scores: FloatArray) -> float | None:
    """Return the share of pairs in the right order, level by level; None if there is no pair."""
    right, pairs = 0.0, 0
    for level in np.unique(relevance)[1:]:
        above, below = scores[relevance == level], np.sort(scores[relevance < level])
        first, last = np.searchsorted(below, above, "left"), np.searchsorted(below, above, "right")
        right += 0.5 * float((first + last).sum())
        pairs += len(above) * len(below)
    return right / pairs if pairs else None


def _mean(
    measure: Callable[[FloatArray], float], values: FloatArray, scores: FloatArray, members: list[IntArray]
) -> float:
    """Return the mean over queries of a measure of values in the order of the scores."""
    return float(np.mean([measure(values[rows[np.argsort(-scores[rows], kind="stable")]]) for rows in members]))


def _read(y: Any, scores: Any, groups: Any) -> tuple[FloatArray, FloatArray, list[IntArray]]:
    """Return labels, scores and the rows of each query, checked."""
    relevance, scores = _numbers(y, "y"), _numbers(scores, "scores")
    if groups is None:
        raise ValueError("groups= is required: the query of each document")
    groups = checked_groups(groups)
    if not relevance.shape == scores.shape == (len(groups),):
        raise ValueError(
            f"{relevance.shape} relevance labels, {scores.shape} scores and {len(groups)} groups differ"
            f"{sizes_hint(groups, len(scores))}"
        )
    if not len(scores):
        raise ValueError("expected at least one document to rank, found none")
    return relevance, scores, rows_by_query(groups)[1]


def _numbers(values: Any, name: str) -> FloatArray:
    try:
        numbers = np.asarray(values, float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected a number for each document, found {values!r:.60}") from None
    missing = np.flatnonzero(np.isnan(numbers))
    if len(missing):
        raise ValueError(f"{name}[{missing[0]}]: expected a number, found nan")
    return numbers
