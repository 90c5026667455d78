"""Weights that must not be negative."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize

import maxmargin as mm

X, Y = mm.datasets.make_multiclass(60, random_state=3)
SOLVERS = ("auto", "nslack", "oneslack", "bundle", "subgradient")


def objective(w, C=0.5):
    """½‖w‖² + C Σ hinge of Crammer and Singer's SVM without intercept, by hand."""
    scores = X @ w.reshape(X.shape[1], -1)
    classes = np.unique(Y, return_inverse=True)[1]
    wrong = np.arange(scores.shape[1]) != classes[:, None]
    hinges = (scores + wrong - scores[np.arange(len(X)), classes][:, None]).max(axis=1)
    return 0.5 * float(w @ w) + C * float(hinges.sum())


@cache
def lowest_found(size):
    """An objective that weights within the bounds have, found without the library."""
    return minimize(objective, np.full(size, 0.1), method="L-BFGS-B", bounds=[(0, None)] * size).fun


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_convex_solver_reaches_the_bounded_optimum(solver):
    tol = {"subgradient": 0.02, "nslack": 5e-3}.get(solver, 1e-4)
    model = mm.MulticlassSVM(C=0.5, fit_intercept=False, nonnegative=True, solver=solver, tol=tol, max_iter=2000)
    model.fit(X, Y)
    w, certificate = model._flat_weights(), model.certificate_
    assert (w >= 0).all() and (w == 0).any()
    assert certificate.primal == pytest.approx(objective(w), rel=1e-9)
    assert certificate.dual <= lowest_found(len(w)) * (1 + 1e-9)
    assert certificate.gap <= tol


def test_chosen_weights_by_index_name_and_feature():
    free = mm.MulticlassSVM(C=0.5, tol=1e-5).fit(X, Y)
    names = free.feature_names_out.tolist()
    j = int(np.argmin(free._flat_weights()))
    feature = names[j].split(" → ")[0]
    for chosen, expected in (
        ([j], [j]),
        ([names[j]], [j]),
        ([j - len(names)], [j]),
        ([feature], [k for k, name in enumerate(names) if name.startswith(feature + " → ")]),
    ):
        model = mm.MulticlassSVM(C=0.5, tol=1e-5, nonnegative=chosen).fit(X, Y)
        w = model._flat_weights()
        assert (w[expected] >= 0).all()
        others = np.setdiff1d(np.arange(len(w)), expected)
        assert (w[others] < 0).any(), "only those that were chosen"
        assert model.certificate_.primal >= free.certificate_.dual


@pytest.mark.parametrize(
    ("nonnegative", "message"),
    [
        ("x0", "nonnegative must be True, False, or a list of indices or feature names, found 'x0'"),
        (1, "nonnegative must be True, False, or a list of indices"),
        ([1.5], "nonnegative must be True, False, or a list of indices"),
        ([None], "nonnegative must be True, False, or a list of indices"),
        ([999], r"nonnegative: there are \d+ weights, found index 999"),
        (["nothing"], r"nonnegative: unknown weight or feature 'nothing'; names are like x0 → "),
    ],
)
def test_bad_choices(nonnegative, message):
    with pytest.raises(ValueError, match=message):
        mm.MulticlassSVM(nonnegative=nonnegative).fit(X, Y)


def test_the_perceptron_keeps_lower_bounds():
    model = mm.MulticlassSVM(nonnegative=True, solver="perceptron", max_iter=20).fit(X, Y)
    assert (model._flat_weights() >= 0).all() and model.score(X, Y) > 0.5


def test_other_estimators_ramps_paths_and_files(tmp_path):
    chains, labels = mm.datasets.make_chains(30, random_state=0)
    for bound in ("margin", "slack", "ramp"):
        tagger = mm.SequenceTagger(nonnegative=True, bound=bound, C=0.2).fit(chains, labels)
        assert (tagger.coef_ >= 0).all()
    path = mm.regularization_path(mm.SequenceTagger(nonnegative=["intercept"]), chains, labels, [0.05, 0.2])
    for model in path:
        bounded = [j for j, name in enumerate(model.feature_names_out) if name.startswith("intercept → ")]
        assert (model.coef_[bounded] >= 0).all() and (model.coef_ < 0).any()
    path[-1].save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").nonnegative == ["intercept"]
    pairs = [np.random.default_rng(k).normal(size=(5, 5, 3)) for k in range(8)]
    clusters = [[0, 0, 1, 1, 2]] * 8
    forest = mm.ForestClustering(nonnegative=["x1"]).fit(pairs, clusters)
    assert forest.coef_[1] >= 0


def test_a_structure_may_ask_for_bounds_itself():
    """What a structure needs (costs that are never negative) and what the user asks for hold together."""

    class Signed(mm.Tree):
        def fit_encode(self, X, Y):
            examples = super().fit_encode(X, Y)
            examples.lower = np.array([0.5, -np.inf, -np.inf])
            return examples

    rng = np.random.default_rng(0)
    graphs = [rng.normal(size=(5, 5, 3)) for _ in range(20)]
    trees = [mm.Tree().fit([x], [[0] * 4]).argmax(np.array([-1.0, -1.0, 1.0]), x) for x in graphs]
    model = mm.StructuralSVM(Signed(), nonnegative=[1]).fit(graphs, trees)
    assert model.coef_[0] >= 0.5 and model.coef_[1] >= 0.0
    assert model.certificate_.gap <= 1e-3


def test_a_feature_whose_name_begins_like_another_is_left_alone():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 5, 5, 2))
    graphs = [[[{"a": x[h, m, 0], "a → b": x[h, m, 1]} for m in range(5)] for h in range(5)] for x in table]
    trees = [mm.Tree().fit([x], [[0] * 4]).argmax(np.array([-1.0, -1.0]), x) for x in table]
    model = mm.StructuralSVM(mm.Tree(), nonnegative=["a"]).fit(graphs, trees)
    weights = dict(zip(model.feature_names_out, model.coef_, strict=True))
    assert weights["a"] == 0.0 and weights["a → b"] < 0.0
