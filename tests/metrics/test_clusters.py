"""Scores of partitions, by worked examples of the literature and by brute force."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.metrics.clusters import ClusterScores, b_cubed, ceaf, mitre_loss, muc, pair_loss

CASES = settings(derandomize=True, deadline=None, max_examples=300)
partitions = st.integers(0, 7).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)
SCORES = [muc, b_cubed, ceaf, lambda y, y_hat: ceaf(y, y_hat, "clusters")]


def clusters(y):
    return [{i for i, label in enumerate(y) if label == k} for k in set(y)]


@pytest.mark.parametrize(
    ("true", "predicted", "recall", "precision"),
    [  # links A-B-C-D against A-B, C-D, as in Vilain et al. 1995; the reverse; further ones by hand
        ("AAAA", "1122", 2 / 3, 1.0),
        ("AABB", "1111", 1.0, 2 / 3),
        ("AAAA", "1123", 1 / 3, 1.0),
        ("AAABCD", "112233", 1 / 2, 1 / 3),
    ],
)
def test_muc_of_vilain_et_al(true, predicted, recall, precision):
    scores = muc([list(true)], [list(predicted)])
    assert (scores.recall, scores.precision) == pytest.approx((recall, precision))


TRUE = [1] * 5 + [2] * 2 + [3] * 5


@pytest.mark.parametrize(
    ("predicted", "muc_f1", "b_cubed_f1", "items_f1", "clusters_f1"),
    [  # the example of Luo 2005, table 1: entities {1..5}, {6, 7}, {8..12} and four answers
        ([1] * 5 + [2] * 7, 0.947, 0.865, 0.833, 0.733),
        ([1] * 5 + [2] * 2 + [1] * 5, 0.947, 0.737, 0.583, 0.667),
        ([1] * 12, 0.900, 0.545, 0.417, 0.294),
        (list(range(12)), 0.0, 0.400, 0.250, 0.178),
    ],
)
def test_the_example_of_luo(predicted, muc_f1, b_cubed_f1, items_f1, clusters_f1):
    found = [score([TRUE], [predicted]).f1 for score in SCORES]
    assert found == pytest.approx([muc_f1, b_cubed_f1, items_f1, clusters_f1], abs=5e-4)


def test_b_cubed_of_bagga_and_baldwin():
    # 1998, figure 3: the same true clusters; joining the two large ones is the worse error of the two
    first, second = ([1] * 5 + [2] * 7), ([1] * 5 + [2] * 2 + [1] * 5)
    assert b_cubed([TRUE], [first]).precision == pytest.approx(16 / 21)
    assert b_cubed([TRUE], [second]).precision == pytest.approx(7 / 12)
    assert b_cubed([TRUE], [first]).recall == b_cubed([TRUE], [second]).recall == 1.0


@CASES
@given(partitions)
def test_scores_by_their_definitions(pair):
    y, y_hat = pair
    true, found, n = clusters(y), clusters(y_hat), len(y)
    links = sum(len(s) - 1 for s in true)
    if links:
        kept = sum(len(s) - sum(bool(s & r) for r in found) for s in true)
        assert muc([y], [y_hat]).recall == pytest.approx(kept / links)
    if n == 0:
        return
    of = {i: (s, r) for s in true for r in found for i in s & r}
    assert b_cubed([y], [y_hat]).precision == pytest.approx(np.mean([len(s & r) / len(r) for s, r in of.values()]))
    assert b_cubed([y], [y_hat]).recall == pytest.approx(np.mean([len(s & r) / len(s) for s, r in of.values()]))
    small, large = sorted((true, found), key=len)
    matchings = [list(zip(small, order, strict=False)) for order in permutations(large, len(small))]
    items = max(sum(len(s & r) for s, r in matching) for matching in matchings)
    shares = max(sum(2 * len(s & r) / (len(s) + len(r)) for s, r in matching) for matching in matchings)
    assert ceaf([y], [y_hat]).recall == pytest.approx(items / n)
    assert ceaf([y], [y_hat], "clusters").precision == pytest.approx(shares / len(found))
    wrong = sum((y[i] == y[j]) != (y_hat[i] == y_hat[j]) for i, j in combinations(range(n), 2))
    assert pair_loss([y], [y_hat]) == pytest.approx(100 * wrong / max(n * (n - 1) // 2, 1))


@CASES
@given(partitions)
def test_what_holds_of_all_scores(pair):
    y, y_hat = pair
    for score in SCORES:
        scores, exchanged = score([y], [y_hat]), score([y_hat], [y])
        assert (scores.precision, scores.recall) == pytest.approx((exchanged.recall, exchanged.precision))
        assert scores.f1 == pytest.approx(exchanged.f1)
        assert 0 <= scores.f1 <= 1 + 1e-12
        renamed = [f"cluster {label}" for label in y]
        assert score([y], [renamed]).f1 == pytest.approx(1.0)
        assert score([y, y], [y_hat, y_hat]).f1 == pytest.approx(scores.f1)
    for loss in (mitre_loss, pair_loss):
        assert loss([y], [y]) == 0.0
        assert loss([y], [y_hat]) == pytest.approx(loss([y_hat], [y]))


def test_means_over_partitions_and_pooled():
    Y, Y_hat = [[0, 0, 0, 0], [0, 0]], [[0, 0, 1, 1], [0, 1]]
    assert muc(Y, Y_hat) == ClusterScores(2, 2, 2, 4)
    assert mitre_loss(Y, Y_hat) == pytest.approx(100 * (1 - (0.8 + 0.0) / 2))
    assert mitre_loss(Y, Y_hat, pooled=True) == pytest.approx(100 * (1 - 2 * 0.5 / 1.5))
    assert pair_loss(Y, Y_hat) == pytest.approx(100 * (4 / 6 + 1) / 2)
    assert pair_loss(Y, Y_hat, pooled=True) == pytest.approx(100 * 5 / 7)


def test_nothing_to_link():
    alone, together = [[0, 1, 2]], [[0, 0, 0]]
    assert muc(alone, alone).f1 == 1.0
    assert mitre_loss(alone, alone) == 0.0
    assert (muc(alone, together).precision, muc(alone, together).f1) == (0.0, 0.0)
    assert (muc(together, alone).recall, mitre_loss(together, alone)) == (0.0, 100.0)
    assert str(muc(together, together)) == "precision 100.00 %  recall 100.00 %  F1 100.00"


@pytest.mark.parametrize(
    ("Y_true", "Y_pred", "message"),
    [
        ([[0]], [[0], [0]], "1 true partitions but 2 predicted ones"),
        ([[0], [0, 1]], [[0], [0]], "partition 1: true clusters for 2 items but predicted ones for 1"),
        ([], [], "there are no partitions to score"),
        ([0, 1], [0, 1], "true partition 0: expected the cluster of each item, found int 0"),
        ([[0, 1]], ["ab"], "predicted partition 0: expected the cluster of each item, found str 'ab'"),
    ],
)
def test_bad_input(Y_true, Y_pred, message):
    for score in (*SCORES, mitre_loss, pair_loss):
        with pytest.raises(ValueError) as error:
            score(Y_true, Y_pred)
        assert message in str(error.value)


def test_unknown_similarity():
    with pytest.raises(ValueError, match="similarity must be 'items' or 'clusters', found 'phi3'"):
        ceaf([[0]], [[0]], "phi3")
