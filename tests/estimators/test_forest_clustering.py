"""ForestClustering: what it learns, how it is used, and what it says of bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import maxmargin as mm
from maxmargin.metrics.clusters import muc
from maxmargin.structures.forest.structure import chain_code, numbered_clusters


def strings_of_items(n_examples=12, seed=0):
    """Runs of items on a line: the ends of a run may lie further apart than two runs do.

    Features are the distance, a step at the right threshold, and a useless one.
    """
    rng = np.random.default_rng(seed)
    X, Y = [], []
    for _ in range(n_examples):
        y = np.repeat(np.arange(3), rng.integers(1, 7, 3))
        steps = np.where(np.diff(y, prepend=0) > 0, 3.0, 1.0) + rng.uniform(-0.3, 0.3, len(y))
        order = rng.permutation(len(y))
        places, y = np.cumsum(steps)[order], y[order]
        apart = np.abs(np.subtract.outer(places, places))
        X.append(np.stack([apart, apart < 2.0, rng.normal(size=apart.shape)], axis=2))
        Y.append(["abc"[k] for k in y])
    return X, Y


def condensed(X, form=np.asarray):
    return [form(x[np.triu_indices(len(x), 1)]) for x in X]


@pytest.fixture(scope="module")
def data():
    return strings_of_items()


@pytest.fixture(scope="module")
def model(data):
    return mm.ForestClustering(C=1.0, feature_names=["distance", "near", "noise"]).fit(*data)


def test_chains_of_items_are_found_though_their_ends_are_far_apart(model):
    X, Y = strings_of_items(20, seed=1)
    predicted = model.predict(X)
    assert muc(Y, predicted).f1 > 0.95
    assert all(isinstance(y, list) and y[0] == 0 and isinstance(y[-1], int) for y in predicted)
    distance, near, noise = model.coef_
    assert distance < 0 < near
    assert abs(noise) < 0.2 * near


def test_the_objective_falls_from_chains_on(model, data):
    X, Y = data
    objectives = [row["objective"] for row in model.history_]
    assert len(objectives) > 1
    assert (np.diff(objectives) <= 1e-9).all()
    fixed = mm.StructuralSVM(mm.Forest(), C=1.0, tol=1e-2, max_outer=1).fit(X, Y)  # the chains never change
    assert objectives[-1] < 0.9 * fixed.certificate_.primal


def test_the_first_forest_is_the_chain_in_reading_order(data):
    X, Y = data
    structure = mm.Forest()
    examples = structure.fit_encode(X, Y)
    codes = [chain_code(numbered_clusters(y, "y")) for y in Y]
    first = mm.ForestClustering(C=1.0, max_outer=1, tol=0.5).fit(X, Y)
    chains = [examples.truths[a : a + len(c)] for a, c in zip(examples.code_offsets[:-1], codes, strict=True)]
    for chain, code in zip(chains, codes, strict=True):
        np.testing.assert_array_equal(chain, code)
    joint = np.sum([structure.joint_feature(x, y) for x, y in zip(X, Y, strict=True)], axis=0)
    by_hand = sum(np.append(x[i, j], 1.0) for x, y in zip(X, Y, strict=True) for i, j in chain_links(y))
    np.testing.assert_allclose(joint, by_hand)
    assert first.stop_reason_ == "max_outer"


def chain_links(y):
    """Each item with the next of its cluster."""
    for cluster in dict.fromkeys(y):
        items = [i for i, k in enumerate(y) if k == cluster]
        yield from pairwise(items)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_all_forms_of_x_give_the_same(data, form):
    X, Y = data
    tight = mm.ForestClustering(C=1.0, tol=1e-8)
    square, other = clone(tight).fit(X, Y), clone(tight).fit(condensed(X, form), Y)
    np.testing.assert_allclose(other.coef_, square.coef_, atol=1e-3)
    assert other.predict(condensed(X, form)) == square.predict(X)


def test_links_hold_the_clusters_together(model, data):
    x = data[0][0]
    links, clusters = model.links(x), model.predict([x])[0]
    scores = [score for *_, score in links]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0
    for i, j, score in links:
        assert i < j
        assert clusters[i] == clusters[j]
        assert score == pytest.approx(x[i, j] @ model.coef_ + model.intercept_)
    assert len(links) == len(clusters) - len(set(clusters))


def test_score_is_the_f1_of_muc_with_weights(model):
    X, Y = strings_of_items(6, seed=3)
    X = [x + np.random.default_rng(0).normal(size=x.shape) for x in X]  # so that some links are missed
    predicted = model.predict(X)
    assert model.score(X, Y) == pytest.approx(muc(Y, predicted).f1)
    assert 0 < model.score(X, Y) < 1
    weights = [1, 0, 3, 2, 1, 0]
    repeated = np.repeat(np.arange(6), weights)
    expected = muc([Y[i] for i in repeated], [predicted[i] for i in repeated]).f1
    assert model.score(X, Y, sample_weight=weights) == pytest.approx(expected)
    assert model.score(X, Y, sample_weight=weights) != pytest.approx(model.score(X, Y))


def test_score_does_not_depend_on_r(data):
    model = mm.ForestClustering(C=1.0).fit(*data)
    before = model.score(*data)
    assert model.set_params(r=0.01).score(*data) == before


def test_a_lower_price_of_wrong_links_joins_more(data):
    X, Y = data
    X = [x + np.random.default_rng(i).normal(scale=3.0, size=x.shape) for i, x in enumerate(X)]
    clusters = [
        sum(len(set(y)) for y in mm.ForestClustering(C=0.1, r=r).fit(X, Y).predict(X)) for r in (0.01, 1.0, 20.0)
    ]
    assert clusters[0] < clusters[1] < clusters[2]


def test_weights_are_repetitions(data):
    X, Y = data
    tight = mm.ForestClustering(C=0.3, tol=1e-6, max_iter=5000)
    weights = np.r_[np.full(6, 2.0), np.zeros(6)]
    weighted = clone(tight).fit(X, Y, sample_weight=weights)
    repeated = clone(tight).fit([*X[:6], *X[:6]], [*Y[:6], *Y[:6]])
    assert weighted.history_[-1]["objective"] == pytest.approx(repeated.history_[-1]["objective"], rel=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-2)


def test_without_intercept(data):
    model = mm.ForestClustering(fit_intercept=False, C=1.0).fit(*data)
    assert model.intercept_ == 0.0
    assert model.coef_.shape == (3,)
    assert list(model.feature_names_out) == ["x0", "x1", "x2"]


def test_names_of_weights(model):
    assert list(model.feature_names_out) == ["distance", "near", "noise", "intercept"]
    assert set(model.weights_frame()["feature"]) == set(model.feature_names_out)


@pytest.mark.parametrize("intercept", [True, False])
def test_saved_and_loaded(data, tmp_path, intercept):
    X, Y = data
    model = mm.ForestClustering(fit_intercept=intercept, feature_names=["a", "b", "c"], r=0.5).fit(X, Y)
    model.save(tmp_path / "model.mm", support=True)
    again = mm.load(tmp_path / "model.mm")
    assert type(again) is mm.ForestClustering
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.intercept_ == model.intercept_
    assert list(again.feature_names_out) == list(model.feature_names_out)
    assert again.get_params()["r"] == 0.5
    assert [plane.output for plane in again.support_] == [plane.output for plane in model.support_]


def test_grid_search_over_r(data):
    search = GridSearchCV(mm.ForestClustering(), {"r": [0.1, 1.0], "C": [0.01, 1.0]}, cv=3).fit(*data)
    assert search.best_score_ > 0.9


def test_structured_checks(data):
    for _, check in mm.testing.structured_estimator_checks(mm.ForestClustering(), *data):
        check()


def test_path(data):
    models = mm.regularization_path(mm.ForestClustering(), *data, Cs=[0.01, 0.1, 1.0])
    alone = mm.ForestClustering(C=1.0).fit(*data)
    assert models[-1].history_[-1]["objective"] == pytest.approx(alone.history_[-1]["objective"], rel=0.03)


def test_empty_and_single_items(data):
    X, Y = data
    model = mm.ForestClustering(C=1.0).fit([*X, np.zeros((1, 1, 3)), np.zeros((0, 0, 3))], [*Y, ["a"], []])
    assert model.predict([np.zeros((1, 1, 3)), np.zeros((0, 0, 3)), np.zeros((0, 3))]) == [[0], [], [0]]


def test_bad_input(data, model):
    X, Y = data
    with pytest.raises(ValueError, match=r"^X\[3\]: features for the pairs of \d+ items, but Y\[3\] has the clusters"):
        mm.ForestClustering().fit(X, [*Y[:3], Y[3][:-1], *Y[4:]])
    with pytest.raises(ValueError, match=r"^Y\[2\], item 1: expected a cluster, found None"):
        mm.ForestClustering().fit(X, [*Y[:2], [Y[2][0], None, *Y[2][2:]], *Y[3:]])
    with pytest.raises(ValueError, match=r"^X\[5\].*(finite|nan)"):
        mm.ForestClustering().fit([*X[:5], X[5] * np.nan, *X[6:]], Y)
    with pytest.raises(ValueError, match=r"^X\[1\]: 2 features per pair, expected 3"):
        mm.ForestClustering().fit([X[0], X[1][:, :, :2], *X[2:]], Y)
    with pytest.raises(ValueError, match=r"^X\[0\]: 2 features per pair, expected 3"):
        model.predict([X[0][:, :, :2]])
    with pytest.raises(ValueError, match=r"^X\[1\]: features for the pairs of \d+ items, but Y\[1\] has the"):
        model.score(X[:2], [Y[0], Y[1][:-1]])
    for wrong in (X[1] + 1j, sp.csr_array(X[1][np.triu_indices(len(X[1]), 1)] + 1j)):
        with pytest.raises(ValueError, match=r"^X\[1\]: features must be real numbers, found complex128"):
            model.predict([X[0], wrong])
    with pytest.raises(ValueError, match="feature_names has 2 names, but pairs have 3 features"):
        mm.ForestClustering(feature_names=["a", "b"]).fit(X, Y)
    with pytest.raises(ValueError, match="r must be a number ≥ 0, found -1"):
        mm.ForestClustering(r=-1).fit(X, Y)
    with pytest.raises(ValueError, match="needs a finite C"):
        mm.ForestClustering(C=np.inf).fit(X, Y)
    with pytest.raises(ValueError, match="bound must be 'margin' or 'ramp'"):
        mm.ForestClustering(bound="slack").fit(X, Y)
    with pytest.raises(NotFittedError):
        mm.ForestClustering().links(X[0])


def test_the_place_of_an_example_is_the_users_where_some_have_no_weight(data):
    X, Y = data
    weights = np.r_[0.0, 0.0, np.ones(10)]
    with pytest.raises(ValueError, match=r"^X\[3\]: features for the pairs"):
        mm.ForestClustering().fit(X, [*Y[:3], Y[3][:-1], *Y[4:]], sample_weight=weights)


def test_explain_points_to_links():
    X, Y = [np.random.default_rng(0).normal(size=(4, 4, 2))], [[0, 0, 1, 1]]
    model = mm.ForestClustering().fit(X, Y)
    with pytest.raises(AttributeError, match="no attribute 'explain'") as error:
        model.explain(X[0])
    assert "Forest cannot explain an output: use links(x) of ForestClustering" in str(error.value.__cause__)
    assert len(model.links(X[0])) == 4 - len(set(model.predict(X)[0]))
    latent = mm.StructuralSVM(mm.Forest(), C=0.1, tol=1e-2).fit(X, Y)
    with pytest.raises(AttributeError) as error:
        latent.explain(X[0])
    assert "or structure_.links(coef_, x) of StructuralSVM" in str(error.value.__cause__)
    assert latent.structure_.links(latent.coef_, X[0]) == model.links(X[0])
