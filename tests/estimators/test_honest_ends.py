"""How a fit ends when its gap is small but not proven, when numbers drown in rounding, and when time is up."""

from __future__ import annotations

import time
import warnings
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.estimators.warnings import warn_of_estimate
from maxmargin.exceptions import InexactArgmaxWarning


class Pairs(mm.Structure):
    """Two binary labels, y = (a, b): a search over scale cannot see outputs below the hull."""

    size = 4

    def joint_feature(self, x, y):
        return np.array([x[0] * y[0], x[1] * y[1], y[0] * y[1], x[2] * (y[0] != y[1])], float)

    def loss(self, y, y_hat):
        return 0.4 * (y[0] != y_hat[0]) + 1.7 * (y[1] != y_hat[1])

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, (0, 0), 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        outputs = [(a, b) for a in (0, 1) for b in (0, 1)]
        return max(outputs, key=lambda o: float(w @ self.joint_feature(x, o)) + scale * self.loss(y, o))


class ListedPairs(Pairs):
    def enumerate(self, x):
        return [(a, b) for a in (0, 1) for b in (0, 1)]


def pairs(seed, n=20):
    rng = np.random.default_rng(seed)
    X = list(rng.normal(size=(n, 3)))
    return X, [tuple(y) for y in rng.integers(0, 2, (n, 2)).tolist()]


def true_objective(structure, model, X, Y):
    """½‖w‖² + C Σ max over all outputs, by enumeration."""
    w, total = model.coef_, 0.0
    for x, y in zip(X, Y, strict=True):
        hinges = [
            structure.loss(y, o) * (1.0 + w @ (structure.joint_feature(x, o) - structure.joint_feature(x, y)))
            for o in ListedPairs().enumerate(x)
        ]
        total += max(0.0, *hinges)
    return 0.5 * float(w @ w) + model.C * total


def test_a_search_that_proves_too_little_is_not_called_tol():
    ends = set()
    for seed, C in product(range(6), (1e-3, 10.0)):
        X, Y = pairs(seed)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = mm.StructuralSVM(Pairs(), bound="slack", C=C).fit(X, Y)
        truth, certificate = true_objective(Pairs(), model, X, Y), model.certificate_
        assert truth <= certificate.primal_bound * (1 + 1e-9)
        ends.add(model.stop_reason_)
        if model.stop_reason_ == "tol":
            assert truth - certificate.dual <= 1.001e-3 * truth
            assert not caught
        elif model.stop_reason_ == "estimated":
            (only,) = caught
            assert only.category is InexactArgmaxWarning
            assert f"{certificate.primal:.6g}" in str(only.message)
            assert f"{certificate.primal_bound:.6g}" in str(only.message)
            assert "estimated" in certificate.standing and certificate.proven_gap > 1e-3
    assert ends == {"tol", "estimated"}


@pytest.mark.parametrize("limit", ["max_seconds", "max_iter"])
def test_a_limit_that_ends_a_fit_before_its_gap_is_proven(limit):
    """A small gap between estimates must not be passed over in silence."""
    with pytest.warns(InexactArgmaxWarning, match="a search may have missed outputs"):
        model = mm.StructuralSVM(mm.Matching(), bound="slack").fit(*mm.datasets.toy.partners())
    assert model.stop_reason_ == "estimated" and model.certificate_.gap <= model.tol < model.certificate_.proven_gap
    model.stop_reason_ = limit
    problem = SimpleNamespace(examples=SimpleNamespace(exact=True, relaxed=False), searches=True, bound="slack")
    with pytest.warns(InexactArgmaxWarning, match=f"ended by {limit} with a gap .* that is not proven.* may be up to"):
        warn_of_estimate(model, problem)


def test_listed_outputs_close_the_search():
    for seed in range(12):
        X, Y = pairs(seed)
        model = mm.StructuralSVM(ListedPairs(), bound="slack", C=10.0).fit(X, Y)
        assert model.stop_reason_ == "tol"
        truth = true_objective(Pairs(), model, X, Y)
        assert truth - model.certificate_.dual <= 1.001e-3 * truth


@pytest.mark.parametrize("cost", ["dict", "matrix", "irregular"])
@pytest.mark.parametrize(("bound", "slack"), [("slack", "linear"), ("slack", "quadratic"), ("margin", "quadratic")])
def test_chains_with_costs_prove_their_gap(cost, bound, slack):
    rng = np.random.default_rng(3)
    X = [rng.normal(size=(int(rng.integers(1, 6)), 3)) for _ in range(25)]
    Y = [rng.integers(0, 3, len(x)) for x in X]
    table = np.array([[0, 1, 2.5], [0.5, 0, 1], [3, 1, 0]])
    costs = {"dict": {0: 2.0, 1: 0.5}, "matrix": table, "irregular": table**1.37}[cost]
    model = mm.StructuralSVM(mm.Chain(cost=costs), C=10.0, bound=bound, slack=slack).fit(X, Y)
    assert model.stop_reason_ == "tol"
    assert model.certificate_.proven_gap <= 1e-3


def exact_objective(X, y, model):
    """The objective of a problem with two classes in rational arithmetic."""
    weights = [[Fraction(v) for v in row] for row in model._flat_weights().reshape(-1, 2).tolist()]
    total = sum(v * v for row in weights for v in row) / 2
    for x, label in zip(X.tolist(), y, strict=True):
        scores = [sum(Fraction(v) * row[k] for v, row in zip([*x, 1.0], weights, strict=True)) for k in (0, 1)]
        total += Fraction(model.C) * max(Fraction(0), 1 + scores[1 - label] - scores[label])
    return float(total)


def test_hinges_that_drown_in_rounding_are_not_proven():
    for seed in (3, 9, 26):
        X, y = np.random.default_rng(seed).normal(size=(2, 2)) * 1e6, [0, 1]
        with pytest.warns(ConvergenceWarning, match=r"rounding errors.*scale the features"):
            model = mm.MulticlassSVM(C=1e8).fit(X, y)
        truth = exact_objective(X, y, model)
        assert truth <= model.certificate_.primal_bound
        assert model.stop_reason_ == "estimated"
        assert "rounding" in model.certificate_.standing


def test_ordinary_features_are_proven_despite_rounding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 10))
    certificate = mm.MulticlassSVM().fit(X, X[:, :3].argmax(axis=1)).certificate_
    assert certificate.standing == "proven"
    assert 0 < certificate.primal_bound - certificate.primal < 1e-9 * certificate.primal


class WithoutLoss(Pairs):
    def loss(self, y, y_hat):
        return 0.0


@pytest.mark.parametrize(("bound", "slack"), [("margin", "quadratic"), ("slack", "linear"), ("slack", "quadratic")])
def test_an_optimum_of_zero_is_proven_by_a_search(bound, slack):
    """At weights of 0 no output rises, so the argmax with the greatest loss has the greatest violation."""
    certificate = mm.StructuralSVM(WithoutLoss(), bound=bound, slack=slack).fit(*pairs(0, 5)).certificate_
    assert certificate.exact and certificate.assumed
    assert certificate.primal == certificate.primal_bound == certificate.proven_gap == 0.0


class Slow(Pairs):
    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        time.sleep(0.01)
        return super().loss_augmented_argmax(w, x, y, scale)


def test_a_time_limit_ends_a_step():
    X, Y = pairs(0, 1000)  # one sweep takes 10 s
    began = time.monotonic()
    with pytest.warns(ConvergenceWarning, match="stopped after"):
        model = mm.StructuralSVM(Slow(), max_seconds=0.5).fit(X, Y)
    assert model.stop_reason_ == "max_seconds"
    assert model.certificate_.seconds < 5 < 10 + time.monotonic() - began
    assert model.coef_.shape == (4,)


def test_a_step_cut_short_leaves_the_last_checkpoint(tmp_path):
    X, Y = pairs(0, 1000)
    path = tmp_path / "run.npz"
    with pytest.warns(ConvergenceWarning):
        mm.StructuralSVM(Slow(), max_seconds=0.3, checkpoint=path).fit(X, Y)
    assert not path.exists()


def test_columns_of_very_different_size_are_named_in_the_advice():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 20)) * 10.0 ** rng.uniform(-5, 5, 20), rng.integers(0, 2, 300)
    with pytest.warns(ConvergenceWarning, match=r"differ in size by a factor of \S+, which is slow: scale them"):
        mm.MulticlassSVM(max_iter=3).fit(X, y)
