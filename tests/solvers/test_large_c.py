"""Large C makes much of the least violation: the optimum is reached all the same, and is that of a hard margin."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.solvers import few_planes
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets


def rows(seed, n=8, width=3, noise=0.0):
    """Points that weights can tell apart, but for noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    y = (X @ rng.normal(size=(width, 3)) + noise * rng.normal(size=(n, 3))).argmax(axis=1)
    y[:3] = [0, 1, 2]
    return X, y


@pytest.mark.parametrize("solver", ["auto", "nslack"])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("C", [1e4, 1e7, 1e10])
@pytest.mark.parametrize("seed", range(4))
def test_large_C_comes_to_the_hard_margin(seed, C, slack, solver):
    X, y = rows(seed)
    hard = mm.MulticlassSVM(C=np.inf, tol=1e-6).fit(X, y).certificate_.primal if separable(X, y) else None
    certificate = mm.MulticlassSVM(C=C, slack=slack, solver=solver, tol=2e-3, max_iter=200).fit(X, y).certificate_
    assert certificate.gap <= 2e-3
    if hard is not None and 1e3 * hard < C:
        assert certificate.primal == pytest.approx(hard, rel=1e-2)


def separable(X, y):
    try:
        mm.MulticlassSVM(C=np.inf, tol=0.5).fit(X, y)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(("bound", "slack"), [("margin", "linear"), ("slack", "linear"), ("slack", "quadratic")])
@pytest.mark.parametrize("seed", [1, 3, 6])
def test_large_C_with_chains(seed, bound, slack):
    X, Y = mm.datasets.make_chains(6, n_features=4, n_labels=3, min_length=1, max_length=5, random_state=seed)
    model = mm.SequenceTagger(C=1e6, bound=bound, slack=slack, tol=1e-3, max_iter=200).fit(X, Y)
    assert model.stop_reason_ == "tol"


def test_resumed_fits_with_large_C_give_the_same_bits(tmp_path):
    X, y = rows(3, n=30)
    whole = mm.MulticlassSVM(C=1e6, tol=1e-6).fit(X, y)
    assert whole.n_iter_ > 20
    first = mm.MulticlassSVM(C=1e6, tol=1e-6, max_iter=whole.n_iter_ - 2, checkpoint=tmp_path / "c.npz")
    with pytest.warns(match="stopped"):
        first.fit(X, y)
    resumed = mm.MulticlassSVM(C=1e6, tol=1e-6).fit(X, y, resume=tmp_path / "c.npz")
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)


@pytest.fixture
def many(monkeypatch):
    """As if planes were never few."""
    monkeypatch.setattr(few_planes, "MOST_DENSE", 0)


@pytest.mark.parametrize("C", [1e3, 1e6])
def test_budgets_that_grow_come_to_the_hard_margin(many, C):
    X, y = rows(0, n=100, width=60)
    hard = mm.MulticlassSVM(C=np.inf).fit(X, y).certificate_
    certificate = mm.MulticlassSVM(C=C, max_iter=300).fit(X, y).certificate_
    assert certificate.gap <= 1e-3
    assert certificate.primal == pytest.approx(hard.primal, rel=3e-3)


@pytest.mark.parametrize("bound", ["margin", "slack"])
def test_budgets_grow_to_those_of_the_objective(many, bound):
    X, Y = mm.datasets.make_chains(20, random_state=0)
    weights = np.linspace(0.1, 3.0, 20)
    grown = mm.SequenceTagger(C=100.0, bound=bound, tol=1e-3, solver=ProximalWorkingSets(large=1.0))
    plain = mm.SequenceTagger(C=100.0, bound=bound, tol=1e-3, solver=ProximalWorkingSets(large=1e300))
    for model in (grown, plain):
        model.fit(X, Y, sample_weight=weights)
        masses = np.bincount(model.support_.examples, model.support_.alphas, 20)
        assert (masses <= 100.0 * weights * (1 + 1e-9)).all()
    assert grown.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-3)


@pytest.mark.parametrize("Cs", [[1e5, 1.0], [1e6, 1e3, 0.1], [1e6, 1e7], [0.1, 1e6]])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_paths_that_begin_or_end_with_large_C(Cs, noise):
    X, y = rows(1, n=30, noise=noise)
    for model in mm.regularization_path(mm.MulticlassSVM(max_iter=400), X, y, Cs):
        fresh = mm.MulticlassSVM(C=model.C, max_iter=400).fit(X, y).certificate_
        assert not model.certificate_.contradicted
        assert model.certificate_.gap <= 1e-3
        assert model.certificate_.primal == pytest.approx(fresh.primal, rel=2e-3)


@pytest.mark.parametrize("solver", ["auto", "nslack"])
def test_a_hard_margin_of_which_nothing_is_asked(solver):
    X, y = rows(0, n=10)
    certificate = mm.MulticlassSVM(C=np.inf, loss=np.zeros((3, 3)), solver=solver).fit(X, y).certificate_
    assert (certificate.primal, certificate.dual, certificate.exact) == (0.0, 0.0, True)


def test_large_C_and_sample_weights_of_many_sizes():
    X, y = rows(5, n=40, noise=1.0)
    weights = 10.0 ** np.random.default_rng(0).uniform(-3, 3, 40)
    model = mm.MulticlassSVM(C=1e6, max_iter=300).fit(X, y, sample_weight=weights)
    assert model.certificate_.gap <= 1e-3
