"""Sums over subsets that are too many to list, against formulas for equal items."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from maxmargin.algorithms.subset_sums import FEW_ENTRIES, subset_samples, subset_sums

N, ROOM = 700, 200


def log_binomials(n, k):
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def summed(scores, weights, capacity, exact):
    n, none, found = len(scores), np.zeros(1, np.int64), (np.zeros(1), np.zeros(1), np.zeros(len(scores)))
    subset_sums(np.array([0, n]), scores, none, weights, np.array([capacity]), exact, np.ones(1), *found)
    return float(found[0][0]), float(found[1][0]), found[2]


def sampled(scores, weights, capacity, exact, n_samples):
    chosen = np.zeros((n_samples, len(scores)), bool)
    given = np.array([0, len(scores)]), scores, np.zeros(1, np.int64), weights, np.array([capacity]), exact
    subset_samples(*given, np.array([5], np.uint64), chosen)
    return chosen


@pytest.mark.parametrize("score", [-40.0, 0.0, 1e4])
def test_sets_of_exactly_k(score):
    """Tables that are held for some items only, with a score that does not change the distribution."""
    assert N * (ROOM + 1) > FEW_ENTRIES
    ones = np.ones(N, np.int64)
    log_z, expected, shares = summed(np.full(N, score), ones, ROOM, True)
    assert log_z == pytest.approx(log_binomials(N, ROOM) + ROOM * score, rel=1e-12)
    assert expected == pytest.approx(ROOM * score, rel=1e-10)
    np.testing.assert_allclose(shares, ROOM / N, rtol=1e-9)
    chosen = sampled(np.full(N, score), ones, ROOM, True, 50)
    assert (chosen.sum(axis=1) == ROOM).all()
    assert np.abs(chosen.mean(axis=0) - ROOM / N).max() < 0.35  # five standard deviations of the mean of 50


@pytest.mark.parametrize("score", [-3.0, 0.1, 50.0])
@pytest.mark.parametrize("weight", [1, 3])
def test_sets_within_a_capacity(score, weight):
    """The last score makes a sum of exponentials overflow."""
    n, room = 400, 350 * weight + 1
    weights = np.full(n, weight, np.int64)
    log_z, expected, shares = summed(np.full(n, score), weights, room, False)
    sizes = np.arange(room // weight + 1)
    logs = log_binomials(n, sizes) + score * sizes
    assert log_z == pytest.approx(logsumexp(logs), rel=1e-11)
    mean = float(np.exp(logs - logsumexp(logs)) @ sizes)
    assert shares.sum() == pytest.approx(mean, rel=1e-8)
    np.testing.assert_allclose(shares, mean / n, rtol=1e-7)
    assert expected == pytest.approx(mean * score, rel=1e-8)
    chosen = sampled(np.full(n, score), weights, room, False, 30)
    assert (chosen @ weights <= room).all()
    assert chosen.sum(axis=1).mean() == pytest.approx(mean, abs=10.0)


def test_a_late_item_that_needs_the_whole_room():
    """Early tables are far larger than what is left for the early items if the last item is chosen."""
    scores, weights = np.append(np.full(60, 20.0), 1300.0), np.append(np.ones(60, np.int64), 60)
    log_z, _, shares = summed(scores, weights, 60, False)
    assert log_z == pytest.approx(np.logaddexp(1300.0, 60 * np.log1p(np.exp(20.0))), rel=1e-12)
    assert shares[-1] == pytest.approx(1.0) and shares[:-1].max() < 1e-30
