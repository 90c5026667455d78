"""Kernels of ordered lists against all orders."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from maxmargin.algorithms.average_precision import average_precision_loss, insert_others, order_list
from maxmargin.algorithms.pairs import order_pairs, swapped_two_grades


def drawn(seed, n):
    """Scores with ties in every second list."""
    rng = np.random.default_rng(seed)
    return rng, rng.integers(-2, 3, n).astype(float) if seed % 2 else rng.normal(size=n)


def average_precision(order, relevant):
    hits, total = 0, 0.0
    for rank, i in enumerate(order, 1):
        if relevant[i]:
            hits += 1
            total += hits / rank
    return total / relevant.sum()


def swapped(order, above):
    """Pairs (i, j) with `above[i, j]` of which j comes first."""
    rank = np.argsort(order)
    return [(i, j) for i, j in np.argwhere(above) if rank[j] < rank[i]]


@pytest.mark.parametrize("seed", range(30))
def test_average_precision_is_the_best_of_all_orders(seed):
    rng, scores = drawn(seed, 6)
    relevant = rng.permutation([True] * int(rng.integers(1, 6)) + [False] * 6)[:6]
    relevant[0] = True
    swap_unit, loss_unit = float(rng.choice([0.2, 1.0])), float(rng.choice([0.5, 2.0]))
    swaps = np.zeros(6, np.int32)
    loss, rise = order_list(scores, relevant, swap_unit, loss_unit, swaps)
    above = relevant[:, None] & ~relevant

    def worth(order):
        pairs = swap_unit * sum(scores[j] - scores[i] for i, j in swapped(order, above))
        return pairs + loss_unit * (1 - average_precision(order, relevant))

    assert loss + rise == pytest.approx(max(map(worth, permutations(range(6)))), abs=1e-12)
    plane = swap_unit * np.where(relevant, swaps, -swaps)
    assert rise == pytest.approx(-plane @ scores, abs=1e-12)


def test_average_precision_of_a_long_list_is_the_best_place_of_each_item():
    rng = np.random.default_rng(0)
    relevant, others = np.sort(rng.normal(size=40))[::-1], np.sort(rng.normal(size=300))[::-1]
    ahead, k = np.empty(300, np.int64), np.arange(1, 41)
    insert_others(relevant, others, 0.01, 20.0, ahead)
    for j in range(300):
        terms = 20.0 / 40 * k / ((k + j) * (k + j + 1)) - 0.01 * (relevant - others[j])
        best = max(terms[p:].sum() for p in range(41))
        assert terms[ahead[j] :].sum() == pytest.approx(best, abs=1e-12)
    assert (np.diff(ahead) >= 0).all()
    keys = np.concatenate([np.arange(1, 41) - 0.5, ahead + np.arange(300) / 1e4])
    labels = np.repeat([1, 0], [40, 300])
    expected = 1 - average_precision_score(labels, -keys)
    assert average_precision_loss(ahead, 40) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_pairs_are_the_best_of_all_orders(seed):
    rng, scores = drawn(seed, 6)
    grades, margin = rng.integers(0, 3, 6), float(rng.choice([0.0, 0.5, 1.0, 3.0]))
    lower, higher = np.zeros(6, np.int64), np.zeros(6, np.int64)
    loss, rise = order_pairs(scores, grades, 3, margin, lower, higher)
    above = grades[:, None] > grades

    def worth(order):
        pairs = swapped(order, above)
        return sum(scores[j] - scores[i] for i, j in pairs) + margin * len(pairs)

    assert rise + margin * loss == pytest.approx(max(map(worth, permutations(range(6)))), abs=1e-12)
    assert rise == pytest.approx(-(lower - higher) @ scores, abs=1e-12)
    assert loss == lower.sum() == higher.sum()
    if grades.max() < 2:
        kind = grades > 0
        down = np.argsort(-scores[kind], kind="stable"), np.argsort(-scores[~kind], kind="stable")
        found = np.zeros(kind.sum(), np.int64), np.zeros((~kind).sum(), np.int64)
        swapped_two_grades(scores[kind][down[0]], scores[~kind][down[1]], margin, *found)
        np.testing.assert_array_equal(found[0], lower[kind][down[0]])
        np.testing.assert_array_equal(found[1], higher[~kind][down[1]])
