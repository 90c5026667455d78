"""Hard margins (C = inf): satisfied if possible, otherwise a clear error."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.exceptions import InexactArgmaxWarning


def test_hard_margin():
    X = np.array([[1.0, 1.0], [2.0, 0.5], [-1.0, -1.0], [-2.0, 0.0]])
    y = np.array([1, 1, 0, 0])
    model = mm.MulticlassSVM(C=np.inf, fit_intercept=False, tol=1e-6).fit(X, y)
    w = model.coef_[0]
    margins = np.where(y == 1, X @ w, -X @ w)
    assert margins.min() == pytest.approx(1.0, rel=1e-6)
    soft = mm.MulticlassSVM(C=1e4, fit_intercept=False, tol=1e-6).fit(X, y)
    assert model.certificate_.primal == pytest.approx(soft.certificate_.primal, rel=1e-5)
    with pytest.raises(ValueError, match="not separable"):
        mm.MulticlassSVM(C=np.inf).fit(np.r_[X, X], np.r_[y, 1 - y])
    with pytest.raises(ValueError, match="needs a finite C"):
        mm.MulticlassSVM(C=np.inf, solver="bundle").fit(X, y)


def test_hard_margin_is_refused_only_where_there_is_none():
    """Features of very different scale need large weights, which does not make the data inseparable."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = (X @ rng.normal(size=(2, 3))).argmax(axis=1)
    cold = mm.MulticlassSVM(C=np.inf, fit_intercept=False).fit(X, y)
    for C in (1.0, 1e4):
        warm = mm.MulticlassSVM(C=C, fit_intercept=False, warm_start=True).fit(X, y).set_params(C=np.inf).fit(X, y)
        assert warm.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-3)
    for solver in ("auto", "nslack"):
        tiny = mm.MulticlassSVM(C=np.inf, solver=solver).fit(1e-5 * X, y)  # an intercept of 1 beside them
        assert tiny.certificate_.gap <= 1e-3
        assert tiny.score(1e-5 * X, y) == 1.0
        assert tiny.certificate_.dual <= 1.1e10 * cold.certificate_.primal
    swapped = y.copy()
    swapped[:2] = (y[:2] + 1) % 3
    with pytest.raises(ValueError, match="not separable"):
        mm.MulticlassSVM(C=np.inf, fit_intercept=False).fit(np.r_[X, X[:2]], np.r_[y, swapped[:2]])


@pytest.mark.parametrize("solver", ["auto", "nslack"])
def test_a_hard_margin_that_there_is_not_is_told_early_on_large_data(solver):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 60)), rng.integers(0, 2, 1500)
    with pytest.raises(ValueError, match="not separable"):
        mm.MulticlassSVM(C=np.inf, solver=solver, max_iter=40).fit(X, y)


@pytest.mark.parametrize("solver", ["auto", "nslack"])
def test_hard_margin_of_unscaled_features(solver):
    X, y = load_wine(return_X_y=True)
    model = mm.MulticlassSVM(C=np.inf, solver=solver).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    true = scores[np.arange(len(y)), y].copy()
    scores[np.arange(len(y)), y] = -np.inf
    assert (true - scores.max(axis=1)).min() == pytest.approx(1.0, rel=1e-6)
    assert model.certificate_.gap <= 1e-3


def test_weights_before_a_hard_margin_is_met_are_not_zero():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match="before the objective was known"):
        model = mm.MulticlassSVM(C=np.inf, max_iter=2).fit(X, y)
    assert np.abs(model.coef_).max() > 0


@pytest.mark.parametrize("solver", ["auto", "nslack"])
def test_outputs_without_loss_must_not_be_better_than_the_truth(solver):
    """Class 0 in place of class 1 costs nothing, but w·(Ψ(y) − Ψ(ŷ)) ≥ 0 is still asked for."""
    model = mm.MulticlassSVM(C=np.inf, loss=[[0, 1], [0, 0]], solver=solver, fit_intercept=False)
    assert model.fit([[1.0, 0.0], [1.0, 0.5]], [0, 1]).certificate_.primal == pytest.approx(1.25)
    np.testing.assert_allclose(model.coef_, [[-1.0, 2.0]], atol=1e-6)
    with pytest.raises(ValueError, match="not separable"):
        model.fit([[1.0, 0.0], [1.0, 0.0]], [0, 1])


class Costs(mm.Structure):
    """x is a matrix with a row for every output."""

    costs = np.array([5.0, 0.0, 2.0])

    def joint_feature(self, x, y):
        return x[y]

    def loss(self, y, y_hat):
        return float(self.costs[y_hat])

    def argmax(self, w, x):
        return int(np.argmax(x @ w))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return int(np.argmax(x @ w + scale * self.costs))


@pytest.mark.parametrize("solver", ["auto", "nslack"])
def test_searched_argmaxes(solver):
    x = np.array([[6.0, 2.0], [-4.0, 4.0], [-6.0, 4.0]])
    with pytest.warns(InexactArgmaxWarning, match="the true one is not known"):
        model = mm.StructuralSVM(Costs(), C=np.inf, bound="slack", solver=solver).fit([x], [1])
    assert model.certificate_.primal == pytest.approx(4.625, rel=1e-3)  # w = (0.5, 3): 10 w₁ − 2 w₂ ≤ −1, 2 w₁ ≥ 1
    assert model.stop_reason_ == "estimated"


def test_what_is_not_found_is_not_called_exact():
    x = np.array([[6.0, 2.0], [-4.0, 4.0], [-6.0, 4.0]])
    with pytest.warns(ConvergenceWarning, match="before the objective was known"):
        model = mm.StructuralSVM(Costs(), C=np.inf, bound="slack", max_iter=1).fit([x], [1])
    assert not model.certificate_.exact
