"""The shortest w with A w ≥ b, against a linear program and the conditions of optimality."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from maxmargin.solvers.least_norm import least_norm


@settings(max_examples=400)
@given(seed=st.integers(0, 2**32 - 1))
def test_optimal_or_impossible(seed):
    rng = np.random.default_rng(seed)
    m, d = rng.integers(1, 15), rng.integers(1, 6)
    A, b = rng.normal(size=(m, d)), rng.choice([0.1, 1.0, 2.0], m)
    if rng.random() < 0.6:  # there is a solution
        A *= np.sign(A @ rng.normal(size=d))[:, None]
    alpha = least_norm(A, b, rng.random(m) * (rng.random(m) < 0.3))
    margin = linprog(
        np.append(np.zeros(d), -1.0), A_ub=np.hstack([-A, b[:, None]]), b_ub=np.zeros(m),
        bounds=[(-1.0, 1.0)] * d + [(0.0, 1.0)],
    )  # fmt: skip
    if -margin.fun < 1e-4:
        assert alpha is None or -margin.fun > 1e-9
        return
    w = alpha @ A
    assert (alpha >= 0).all()
    assert (A @ w >= b * (1 - 1e-6)).all()
    assert abs(alpha @ b - w @ w) <= 1e-6 * (w @ w)  # primal ½‖w‖² = dual α·b − ½‖w‖²


def test_features_of_very_different_scale():
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(40, 3))
    plain *= np.sign(plain[:, 0])[:, None]
    plain[:, 0] += 0.3
    A = plain * [1e-3, 1.0, 10.0]
    alpha = least_norm(A, np.ones(40), np.zeros(40))
    w = alpha @ A
    assert (A @ w >= 1 - 1e-6).all()
    assert abs(alpha.sum() - w @ w) <= 1e-6 * (w @ w)


def test_nothing_asked_for():
    assert least_norm(np.ones((2, 3)), np.zeros(2), np.zeros(2)).sum() == 0
