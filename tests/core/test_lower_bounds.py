"""The conjugate of the regulariser over w ≥ l, and line searches along it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from maxmargin.core.lower_bounds import best_step, conjugate, excess
from maxmargin.core.objective import Objective


def random_bounds(rng, d):
    return np.where(rng.random(d) < 0.7, rng.normal(size=d), -np.inf)


@given(st.integers(0, 10**6))
def test_the_conjugate_is_the_maximum(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    lower, u = random_bounds(rng, d), 2.0 * rng.normal(size=d)
    found = conjugate(u, lower)
    for _ in range(50):
        w = np.maximum(3.0 * rng.normal(size=d), lower)
        assert u @ w - 0.5 * w @ w <= found + 1e-12
        assert excess(w, u, lower) == pytest.approx(0.5 * w @ w + found - u @ w, abs=1e-10)
    assert excess(np.maximum(u, lower), u, lower) == 0.0


@given(st.integers(0, 10**6), st.sampled_from([0.3, 2.0, np.inf]), st.sampled_from([0.0, 0.5]))
def test_the_best_step_against_a_search(seed, longest, ridge):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    lower, at, direction = random_bounds(rng, d), rng.normal(size=d), rng.normal(size=d)
    lower[0] = -np.inf  # so that the maximum is finite
    gain = 3.0 * float(rng.normal())

    def value(t):
        return t * gain - 0.5 * t * t * ridge - conjugate(at + t * direction, lower)

    t = best_step(gain, ridge, at, direction, lower, longest)
    assert 0.0 <= t <= longest
    end = longest if np.isfinite(longest) else 1e3
    found = minimize_scalar(lambda t: -value(t), bounds=(0.0, end), method="bounded", options={"xatol": 1e-10})
    best = max(-found.fun, value(0.0), value(end))
    assert value(t) >= best - 1e-9 * (1.0 + abs(best))


def test_a_step_without_end():
    lower = np.zeros(2)
    assert best_step(1.0, 0.0, np.zeros(2), np.array([-1.0, -2.0]), lower, np.inf) == np.inf
    assert best_step(-1.0, 0.0, np.zeros(2), np.array([-1.0, -2.0]), lower, np.inf) == 0.0
    objective = Objective(np.inf, np.ones(3), lower=lower)
    assert objective.dual(1.0, np.array([-1.0, -2.0]), np.ones(3)) == np.inf


@pytest.mark.parametrize("C", [0.7, np.inf])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_bounds_far_below_change_no_dual_value(C, slack):
    rng = np.random.default_rng(0)
    u, masses, weights = rng.normal(size=4), rng.random(3), np.ones(3)
    bounded = Objective(C, weights, slack, np.full(4, -1e6)).dual(1.3, u, masses)
    assert bounded == pytest.approx(Objective(C, weights, slack).dual(1.3, u, masses), rel=1e-12)


def test_bounds_that_bound_nothing_are_none():
    assert Objective(1.0, np.ones(2), lower=np.full(3, -np.inf)).lower is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_bounds_that_no_weight_meets(bad):
    with pytest.raises(ValueError, match=r"lower\[1\] must be a number below infinity, found (nan|inf)"):
        Objective(1.0, np.ones(2), lower=np.array([0.0, bad]))
