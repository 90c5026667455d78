"""The four bounds against their formulas, numeric derivatives and fine grids."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin._base.jit import jit
from maxmargin.bounds import Bound
from maxmargin.bounds.rescaling import violation

CASES = settings(derandomize=True, deadline=None, max_examples=100)
BOUNDS = [Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic")]
FORMULAS = {
    ("margin", "linear"): lambda m, b: b + m,
    ("margin", "quadratic"): lambda m, b: b**0.5 + m,
    ("slack", "linear"): lambda m, b: b * (1 + m),
    ("slack", "quadratic"): lambda m, b: b**0.5 * (1 + m),
}
each_bound = pytest.mark.parametrize("bound", BOUNDS, ids=str)
rises = st.floats(-5, 5).map(lambda v: round(v, 3))
losses = st.floats(0, 6).map(lambda v: round(v, 3))


@jit
def compiled_violations(form, rise, loss, out):
    for r in range(len(out)):
        out[r] = violation(form, rise[r], loss[r])


def test_forms_are_numbered_apart():
    assert [bound.form for bound in BOUNDS] == [0, 1, 2, 3]


@each_bound
@CASES
@given(rise=rises, loss=losses)
def test_violation_is_the_papers_formula(bound, rise, loss):
    expected = FORMULAS[bound.rescaling, bound.slack](rise, loss)
    assert bound.violation(rise, loss) == pytest.approx(expected, abs=1e-12)
    # The hinge of the plane (factor a, value): value − w·(factor a) with w·a = −rise.
    assert bound.value(loss) + bound.factor(loss) * rise == pytest.approx(expected, abs=1e-12)


@each_bound
def test_kernel_and_python_agree(bound):
    rng = np.random.default_rng(0)
    rise, loss, out = rng.normal(size=500) * 3, rng.exponential(size=500) * rng.integers(0, 2, 500), np.empty(500)
    compiled_violations(bound.form, rise, loss, out)
    np.testing.assert_allclose(out, bound.violation(rise, loss), rtol=1e-14, atol=1e-14)


@each_bound
@CASES
@given(rise=rises, loss=st.floats(0.01, 6))
def test_exchange_rate_is_the_ratio_of_derivatives(bound, rise, loss):
    h = 1e-6 * loss
    f = FORMULAS[bound.rescaling, bound.slack]
    by_loss = (f(rise, loss + h) - f(rise, loss - h)) / (2 * h)
    by_rise = (f(rise + h, loss) - f(rise - h, loss)) / (2 * h)
    rate = bound.exchange_rate(np.array([rise]), np.array([loss]))[0]
    assert rate == pytest.approx(by_loss / by_rise, rel=1e-4, abs=1e-4)


@each_bound
def test_loss_is_priceless_where_there_is_none(bound):
    rate = bound.exchange_rate(np.array([0.0, 2.0, -3.0]), np.zeros(3))
    assert (rate == np.inf).all()


@each_bound
@CASES
@given(first=st.tuples(rises, losses), second=st.tuples(rises, losses))
def test_best_between_is_the_greatest_on_a_fine_grid(bound, first, second):
    t = np.linspace(0, 1, 4001)
    m, b = first[0] + t * (second[0] - first[0]), first[1] + t * (second[1] - first[1])
    grid = FORMULAS[bound.rescaling, bound.slack](m, b).max()
    arrays = [np.array([v]) for v in (*first, *second)]
    best = bound.best_between(*arrays)[0]
    assert best >= grid - 1e-10
    # √ is steep at 0, so a grid may miss more there; elsewhere it is off by the square of its step.
    assert best <= grid + (2e-3 if bound.slack == "quadratic" else 1e-5)
    assert best == pytest.approx(bound.best_between(*arrays[2:], *arrays[:2])[0], rel=1e-9, abs=1e-9)


def test_best_between_of_whole_arrays():
    rng = np.random.default_rng(1)
    points = [rng.normal(size=50), rng.exponential(size=50), rng.normal(size=50), rng.exponential(size=50)]
    for bound in BOUNDS:
        together = bound.best_between(*points)
        alone = [bound.best_between(*(p[r : r + 1] for p in points))[0] for r in range(50)]
        np.testing.assert_array_equal(together, alone)
