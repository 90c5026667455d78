"""Precision among the k documents on top."""

import numpy as np
import pytest

from maxmargin.metrics import precision_at_k
from maxmargin.metrics.ranking import rows_by_query


def test_against_sorting_query_by_query():
    rng = np.random.default_rng(0)
    groups, y, scores = rng.integers(0, 6, 80), rng.integers(0, 3, 80), rng.normal(size=80).round(1)
    for k in (1, 3, 10, 30):
        shares = []
        for query in np.unique(groups):
            rows = sorted(np.flatnonzero(groups == query), key=lambda i: (-scores[i], i))
            shares.append(sum(y[i] > 0 for i in rows[:k]) / k)
        assert precision_at_k(y, scores, groups, k) == pytest.approx(np.mean(shares))


def test_queries_come_in_the_order_of_their_first_rows():
    names, rows = rows_by_query(["b", ("a", 1), "b", None])
    assert names == ["b", ("a", 1), None]
    assert [part.tolist() for part in rows] == [[0, 2], [1], [3]]


def test_bad_input():
    with pytest.raises(ValueError, match="differ"):
        precision_at_k([1, 0], [0.5], ["a", "a"])
    with pytest.raises(ValueError, match="k must be a whole number ≥ 1, found 0"):
        precision_at_k([1], [0.5], ["a"], k=0)
    with pytest.raises(ValueError, match="expected at least one document to rank, found none"):
        precision_at_k([], [], [])
    with pytest.raises(ValueError, match=r"scores\[1\]: expected a number, found nan"):
        precision_at_k([1, 0], [0.5, np.nan], ["a", "a"])
    with pytest.raises(ValueError, match=r"y\[0\]: expected a number, found nan"):
        precision_at_k([np.nan, 0], [0.5, 0.1], ["a", "a"])


def test_infinite_scores_rank():
    assert precision_at_k([True, False], [np.inf, -np.inf], ["a", "a"], k=1) == 1.0
