"""Metrics of rankings of documents, query by query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._input import either
from maxmargin._types import FloatArray, IntArray


def precision_at_k(y: Any, scores: Any, groups: Any = None, k: int = 10, *, qid: Any = None) -> float:
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
    qid : sequence of length n, default=None
        Another name of `groups`.

    Returns
    -------
    float
        The mean precision, between 0 and 1.

    Examples
    --------
    >>> precision_at_k([1, 0, 1, 0], [0.9, 0.2, 0.1, 0.5], ["a", "a", "b", "b"], k=1)
    0.5
    """
    k, scores, relevance = whole_number(k, "k"), np.asarray(scores, float), np.asarray(y, float)
    relevant, groups = relevance > 0, either(groups, qid, "groups", "qid")
    if groups is None:
        raise ValueError("groups= is required: the query of each document (qid= is another name)")
    if not relevant.shape == scores.shape == (len(groups),):
        raise ValueError(f"{relevant.shape} relevance labels, {scores.shape} scores and {len(groups)} groups differ")
    if not len(scores):
        raise ValueError("expected at least one document to rank, found none")
    _check_numbers("y", relevance)
    _check_numbers("scores", scores)
    _, members = rows_by_query(groups)
    shares: FloatArray = np.array(
        [relevant[rows[np.argsort(-scores[rows], kind="stable")[:k]]].sum() for rows in members]
    )
    return float(shares.mean() / k)


def _check_numbers(name: str, values: FloatArray) -> None:
    missing = np.flatnonzero(np.isnan(values))
    if len(missing):
        raise ValueError(f"{name}[{missing[0]}]: expected a number, found nan")


def rows_by_query(groups: Iterable[Any]) -> tuple[list[Any], list[IntArray]]:
    """Return the queries in the order of their first rows, and the rows of each."""
    members: dict[Any, list[int]] = {}
    for row, query in enumerate(groups.tolist() if isinstance(groups, np.ndarray) else groups):
        members.setdefault(query, []).append(row)
    return list(members), [np.array(rows, np.int64) for rows in members.values()]
