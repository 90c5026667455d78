"""Metrics of rankings, against scikit-learn and LETOR's definitions."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from maxmargin.metrics import (
    expected_reciprocal_rank,
    mean_average_precision,
    mean_reciprocal_rank,
    ndcg_at_k,
    pair_accuracy,
    precision_at_k,
)
from maxmargin.metrics.queries import rows_by_query


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
    with pytest.raises(ValueError, match="k must be an integer ≥ 1, found 0"):
        precision_at_k([1], [0.5], ["a"], k=0)
    with pytest.raises(ValueError, match="expected at least one document to rank, found none"):
        precision_at_k([], [], [])
    with pytest.raises(ValueError, match=r"scores\[1\]: expected a number, found nan"):
        precision_at_k([1, 0], [0.5, np.nan], ["a", "a"])
    with pytest.raises(ValueError, match=r"y\[0\]: expected a number, found nan"):
        precision_at_k([np.nan, 0], [0.5, 0.1], ["a", "a"])
    with pytest.raises(ValueError, match="y: expected a number for each document, found"):
        precision_at_k(["a", 0], [0.5, 0.1], ["a", "a"])


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([np.nan, np.nan], r"groups\[0\]: expected the query of the row, found nan"),
        (np.array([1.0, np.nan]), r"groups\[1\]: expected the query of the row, found nan"),
        (np.array(["2026-01-01", "NaT"], "datetime64[D]"), r"groups\[1\]: .* found NaT"),
        ([["a"], ["a"]], r"groups\[0\]: a query must be hashable"),
        (np.array([["a"], ["a"]]), r"groups: expected a sequence .* found an array of shape \(2, 1\)"),
        (3, "groups: expected a sequence .* found int"),
        ("ab", "groups: expected a sequence .* found str"),
    ],
)
def test_bad_groups(groups, message):
    """NaN is not equal to itself, so that each would be a query of its own."""
    with pytest.raises(ValueError, match=message):
        precision_at_k([1, 0], [0.5, 0.1], groups)


def test_missing_values_of_pandas_are_not_queries():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"groups\[1\]: expected the query of the row, found"):
        precision_at_k([1, 0], [0.5, 0.1], pd.Series([1, None], dtype="Int64"))
    with pytest.raises(ValueError, match=r"groups\[1\]: expected the query of the row, found <NA>"):
        precision_at_k([1, 0], [0.5, 0.1], ["a", pd.NA])


def test_infinite_scores_rank():
    assert precision_at_k([True, False], [np.inf, -np.inf], ["a", "a"], k=1) == 1.0


def by_query(groups, measure):
    """The mean over queries of a measure of their rows."""
    return np.mean([measure(np.flatnonzero(groups == query)) for query in np.unique(groups)])


@pytest.fixture
def data():
    """Labels 0 to 3, scores without ties, queries of which some have fewer than 10 documents."""
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 8, 90), rng.integers(0, 4, 90)
    return y, rng.normal(size=90), groups


@pytest.mark.parametrize("k", [1, 3, 10, 40, None])
def test_ndcg_agrees_with_scikit_learn(data, k):
    y, scores, groups = data
    for gain, true in (("linear", y), ("exponential", 2.0**y - 1)):
        expected = by_query(groups, lambda rows, true=true: ndcg_score([true[rows]], [scores[rows]], k=k))
        assert ndcg_at_k(y, scores, groups, k, gain=gain) == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 3, 10])
def test_ndcg_with_the_discounts_of_letor(data, k):
    """LETOR 3.0 divides gains by 1, 1, log2(3), log2(4), …"""
    y, scores, groups = data

    def letor(rows):
        def dcg(labels):
            total = 0.0
            for place, label in enumerate(labels[:k], 1):
                total += (2.0**label - 1) * (1.0 if place < 3 else np.log(2) / np.log(place))
            return total

        best = dcg(sorted(y[rows], reverse=True))
        return dcg(y[rows[np.argsort(-scores[rows])]]) / best if best else 0.0

    assert ndcg_at_k(y, scores, groups, k, discount="letor") == pytest.approx(by_query(groups, letor))


def test_average_precision_and_pairs_agree_with_scikit_learn(data):
    y, scores, groups = data
    expected = by_query(groups, lambda rows: average_precision_score(y[rows] > 1, scores[rows]))
    assert mean_average_precision(y > 1, scores, groups) == pytest.approx(expected)
    rounded = scores.round(0)
    expected = by_query(groups, lambda rows: roc_auc_score(y[rows] > 1, rounded[rows]))
    assert pair_accuracy(y > 1, rounded, groups) == pytest.approx(expected)


def test_pairs_of_several_degrees(data):
    y, scores, groups = data

    def share(rows):
        pairs = [(a, b) for a in rows for b in rows if y[a] > y[b]]
        return np.mean([float(scores[a] > scores[b]) for a, b in pairs])

    assert pair_accuracy(y, scores, groups) == pytest.approx(by_query(groups, share))


def test_reciprocal_rank():
    assert mean_reciprocal_rank([0, 0, 1], [3, 2, 1], [0, 0, 0]) == pytest.approx(1 / 3)
    assert mean_reciprocal_rank([0, 0, 1, 0], [3, 2, 1, 5], [0, 0, 0, 1]) == pytest.approx(1 / 6)


def test_queries_without_relevant_documents_and_ties():
    y, scores, groups = [0, 0, 1, 0], [1.0, 2.0, 3.0, 3.0], ["a", "a", "b", "b"]
    for metric in (ndcg_at_k, mean_average_precision, mean_reciprocal_rank):
        assert metric(y, scores, groups) == 0.5  # 0 for query a; in query b the first of equal scores is relevant
    assert pair_accuracy(y, scores, groups) == 0.5  # query a has no pair, and the pair of query b is tied
    with pytest.raises(ValueError, match="no query has two documents of different relevance"):
        pair_accuracy([1, 1], [0.0, 1.0], [0, 0])


def test_bad_gains():
    with pytest.raises(ValueError, match=r"y\[3\]: relevance must be at least 0 for NDCG"):
        ndcg_at_k([1, 0, 0, -1], [1.0, 2.0, 3.0, 4.0], ["a", "b", "a", "b"])  # its place is that in y, not in a ranking
    with pytest.raises(ValueError, match="gain must be 'exponential' or 'linear', found 'log'"):
        ndcg_at_k([1], [1.0], [0], gain="log")
    with pytest.raises(ValueError, match="discount must be 'log2' or 'letor', found 3"):
        ndcg_at_k([1], [1.0], [0], discount=3)
    with pytest.raises(ValueError, match="k must be an integer ≥ 1, found 0"):
        ndcg_at_k([1], [1.0], [0], 0)


def test_expected_reciprocal_rank_by_its_definition():
    rng = np.random.default_rng(0)
    for _ in range(20):
        y, scores, groups = rng.integers(0, 5, 12), rng.permutation(12), rng.integers(0, 2, 12)
        for k in (1, 3, None):
            values = []
            for query in np.unique(groups):
                ranked = y[groups == query][np.argsort(-scores[groups == query])]
                value, reached = 0.0, 1.0
                for place, r in enumerate(ranked[:k], 1):
                    stop = (2.0**r - 1) / 2**4
                    value += reached * stop / place
                    reached *= 1 - stop
                values.append(value)
            found = expected_reciprocal_rank(y, scores, groups, k, max_relevance=4)
            assert found == pytest.approx(np.mean(values), abs=1e-12)
    assert expected_reciprocal_rank([1, 0], [1.0, 0.0], [0, 0]) == 0.5
    with pytest.raises(ValueError, match=r"y\[0\]: relevance 3 is above max_relevance=2"):
        expected_reciprocal_rank([3, 0], [1.0, 0.0], [0, 0], max_relevance=2)
    with pytest.raises(ValueError, match="2 groups differ; these look like the sizes of queries"):
        expected_reciprocal_rank([3, 0, 1], [1.0, 0.0, 2.0], [2, 1])
