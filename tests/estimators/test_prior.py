"""`prior`: weights that the regulariser prefers to 0."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import maxmargin as mm
from tests.helpers.latent_bags import Bag, PairedBag, bags
from tests.helpers.latent_bags import objective as latent_objective

X, Y = mm.datasets.make_multiclass(60, random_state=3)
K = len(np.unique(Y))
SIZE = K * (X.shape[1] + 1)
PRIOR = np.random.default_rng(1).normal(size=SIZE)


def model(**parameters):
    return mm.StructuralSVM(mm.Multiclass(), **{"C": 0.5, "tol": 1e-5, **parameters})


def objective(w, prior, C=0.5):
    """½‖w − w₀‖² + C Σ hinge of Crammer and Singer's SVM, by hand."""
    scores = np.hstack([X, np.ones((len(X), 1))]) @ w.reshape(-1, K)
    classes = np.unique(Y, return_inverse=True)[1]
    wrong = np.arange(K) != classes[:, None]
    hinges = (scores + wrong - scores[np.arange(len(X)), classes][:, None]).max(axis=1)
    return 0.5 * float((w - prior) @ (w - prior)) + C * float(hinges.sum())


def test_the_certificate_is_about_the_distance_from_the_prior():
    fitted = model(prior=PRIOR).fit(X, Y)
    assert fitted.certificate_.primal == pytest.approx(objective(fitted.coef_, PRIOR), rel=1e-9)
    found = minimize(objective, fitted.coef_, (PRIOR,), method="Powell", options={"maxiter": 20000})
    assert fitted.certificate_.dual <= found.fun * (1 + 1e-9)
    assert fitted.certificate_.gap <= 1e-5


def test_small_C_stays_at_the_prior_and_large_C_leaves_it():
    near, far = (model(prior=list(PRIOR), C=C, tol=1e-3).fit(X, Y) for C in (1e-6, 100.0))
    assert near.coef_ == pytest.approx(PRIOR, abs=1e-3)
    assert np.abs(far.coef_ - PRIOR).max() > 0.5
    assert far.score(X, Y) > near.score(X, Y)


def test_a_prior_of_zeros_changes_nothing_but_rounding():
    assert model(prior=np.zeros(SIZE)).fit(X, Y).coef_ == pytest.approx(model().fit(X, Y).coef_, abs=1e-3)


def test_bounds_hold_for_the_weights_themselves():
    fitted = model(prior=PRIOR, nonnegative=True).fit(X, Y)
    assert (fitted.coef_ >= -1e-12).all()
    assert (fitted.coef_ <= 1e-12).any()


def test_callbacks_get_the_weights_and_not_the_difference():
    seen = []
    fitted = model(prior=PRIOR, callbacks=lambda step: seen.append(step.weights.copy())).fit(X, Y)
    assert np.array_equal(seen[-1], fitted.coef_)


def test_a_warm_start_begins_at_the_weights_of_the_last_fit():
    fitted = model(prior=PRIOR, warm_start=True).fit(X, Y)
    before = fitted.certificate_.primal
    fitted.fit(X, Y)
    assert fitted.history_[0]["primal"] <= before * (1 + 1e-9)


def test_a_path_over_C_keeps_the_prior():
    for single, C in zip(mm.regularization_path(model(prior=PRIOR), X, Y, Cs=[0.1, 1.0]), (0.1, 1.0), strict=True):
        assert single.certificate_.primal == pytest.approx(objective(single.coef_, PRIOR, C), rel=1e-9)


def test_saving_and_resuming(tmp_path):
    whole = model(prior=PRIOR).fit(X, Y)
    stopped = model(prior=PRIOR, checkpoint=tmp_path / "c.npz", tol=0.2).fit(X, Y)
    resumed = model(prior=PRIOR).fit(X, Y, resume=tmp_path / "c.npz")
    assert stopped.certificate_.gap > 1e-5
    assert np.array_equal(resumed.coef_, whole.coef_)
    whole.save(tmp_path / "m.mm")
    loaded = mm.load(tmp_path / "m.mm")
    assert np.array_equal(loaded.coef_, whole.coef_)
    assert np.array_equal(loaded.prior, PRIOR)


def test_the_support_adds_up_to_the_difference():
    fitted = model(prior=PRIOR).fit(X, Y)
    assert PRIOR + fitted.support_.alphas @ fitted.support_.planes == pytest.approx(fitted.coef_, abs=0.02)


@pytest.mark.parametrize("structure", [Bag(), PairedBag()])
def test_latent_structures(structure):
    """The objective of the last outer step, by enumeration, is that around the prior."""
    inputs, labels = bags(3)
    prior = np.array([1.0, -0.5, 0.3])
    fitted = mm.StructuralSVM(structure, C=0.5, prior=prior).fit(inputs, labels)
    w, budgets = fitted.coef_, np.full(len(labels), 0.5)
    around = latent_objective(w, inputs, labels, budgets) - 0.5 * w @ w + 0.5 * (w - prior) @ (w - prior)
    assert fitted.history_[-1]["objective"] == pytest.approx(around, rel=1e-9)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("ridge", "prior must be None or a vector of weights, found 'ridge'"),
        ([[1.0]], r"prior must be None or a vector of weights, found an array of shape \(1, 1\)"),
        ([np.nan] * SIZE, r"prior\[0\] must be a finite number, found nan"),
        ([1.0, 2.0], f"prior has 2 weights, but these data have {SIZE}"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises(ValueError, match=message):
        model(prior=prior).fit(X, Y)
