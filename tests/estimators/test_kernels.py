"""Kernels on parts: the same optimum as explicit features, in every structure that scores rows of parts."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import maxmargin as mm
from maxmargin.solvers import NSlack
from tests.helpers.fitted_models import bumps
from tests.helpers.kernel_data import (
    COEF0,
    GAMMA,
    POLY,
    STRUCTURES,
    chains,
    labelled,
    products,
    same,
    trees,
)


@pytest.mark.parametrize("method", ["auto", "expansion"])
@pytest.mark.parametrize("name", STRUCTURES)
def test_a_polynomial_kernel_is_the_same_as_its_features(name, method, tmp_path):
    structure, data = STRUCTURES[name]
    X, Y = data(0, same)
    explicit, _ = data(0, products)
    plain = mm.StructuralSVM(structure, C=2.0, tol=1e-7).fit(explicit, Y)
    model = mm.StructuralSVM(structure, C=2.0, tol=1e-7, **POLY).set_params(kernel__method=method).fit(X, Y)
    assert model.certificate_.exact and model.certificate_.gap <= 1e-7
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-6)
    new, new_explicit = data(1, same)[0], data(1, products)[0]
    assert list(model.predict(new)) == list(plain.predict(new_explicit))
    scores = zip(map(np.atleast_1d, flat(model, new)), map(np.atleast_1d, flat(plain, new_explicit)), strict=True)
    for found, expected in scores:
        assert np.allclose(found, expected, rtol=1e-3, atol=1e-3)
    model.save(tmp_path / "model.mm", support=True)
    for other in (mm.load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(model))):
        assert list(other.predict(new)) == list(model.predict(new))
        assert all((a == b).all() for a, b in zip(flat(other, new), flat(model, new), strict=True))
        assert list(other.feature_names_out) == list(model.feature_names_out)


def flat(model, X):
    """Return the decision scores of all inputs as one array each."""
    found = model.decision_scores(X)
    return [np.concatenate([np.ravel(block) for block in (s.values() if isinstance(s, dict) else [s])]) for s in found]


@pytest.mark.parametrize("name", ["Multiclass", "Chain", "Tree", "Cut"])
@pytest.mark.parametrize("solver", [NSlack(epsilon=1e-9), "bundle"], ids=["nslack", "bundle"])
def test_every_solver_works_on_the_features_of_a_kernel(name, solver):
    structure, data = STRUCTURES[name]
    X, Y = data(0, same)
    model = mm.StructuralSVM(structure, kernel=mm.Kernel("rbf", gamma=0.7), tol=1e-6).fit(X, Y)
    other = mm.StructuralSVM(structure, kernel=mm.Kernel("rbf", gamma=0.7), tol=1e-6, solver=solver).fit(X, Y)
    assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-5)


@pytest.mark.parametrize("structure", [mm.Ranking(measure="precision@2"), mm.Forest()], ids=["Ranking", "Forest"])
def test_latent_structures(structure, tmp_path):
    rng = np.random.default_rng(0)
    if isinstance(structure, mm.Ranking):
        X, Y = [rng.normal(size=(5, 2)) for _ in range(4)], [[1, 0, 1, 0, 0]] * 4
        explicit = [products(x) for x in X]
    else:
        X, Y = [rng.normal(size=(4, 4, 2)) for _ in range(4)], [[0, 0, 1, 1]] * 4
        explicit = [products(x) for x in X]
    plain = mm.StructuralSVM(structure, tol=1e-6, max_outer=1).fit(explicit, Y)
    model = mm.StructuralSVM(structure, tol=1e-6, max_outer=1, **POLY).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    for scores, expected in zip(model.decision_scores(X), plain.decision_scores(explicit), strict=True):
        assert np.allclose(scores, expected, rtol=0, atol=1e-6)  # predictions may differ: scores tie at the optimum
    model.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").predict(X) == model.predict(X)


def test_clusters(tmp_path):
    """Items belong together if the product of two features is positive, which no linear score of a pair says."""
    rng = np.random.default_rng(0)

    def example():
        y = rng.integers(0, 2, 5)
        signs = np.where(np.equal.outer(y, y), 1.0, -1.0)
        first = rng.choice([-1.0, 1.0], (5, 5))
        return np.stack([first, first * signs], axis=2) + 0.1 * rng.normal(size=(5, 5, 2)), y.tolist()

    X, Y = zip(*(example() for _ in range(30)), strict=True)
    model = mm.ForestClustering(kernel=mm.Kernel("rbf", gamma=0.5), C=1.0, tol=1e-3).fit(X[:20], Y[:20])
    linear = mm.ForestClustering(C=1.0).fit(X[:20], Y[:20])
    assert model.score(X[20:], Y[20:]) > linear.score(X[20:], Y[20:]) + 0.1
    assert model.n_features_in_ == 2 and len(model.feature_names_out) == len(model.coef_) + 1
    model.save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").predict(X) == model.predict(X)


# ---------------------------------------------------------------------- the dual of an independent solver


def test_two_classes_without_intercept_are_a_standard_svm():
    """Crammer and Singer with two classes: w₁ = −w₂ = v/2, so C is that of ½‖v‖² + C' Σ hinge with C' = 2 C."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)
    gram = rbf_kernel(X, gamma=0.8)
    C = 3.0
    model = mm.MulticlassSVM(kernel=mm.Kernel("rbf", gamma=0.8), C=C, fit_intercept=False, tol=1e-9).fit(X, y)
    signs = 2.0 * y - 1.0
    Q = gram * np.outer(signs, signs)
    dual = minimize(
        lambda a: 0.5 * a @ Q @ a - a.sum(), np.zeros(60), jac=lambda a: Q @ a - 1.0,
        bounds=[(0, 2 * C)] * 60, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000},
    )  # fmt: skip
    assert model.certificate_.primal == pytest.approx(-dual.fun / 2, rel=1e-6)
    assert np.allclose(model.decision_function(X), gram @ (dual.x * signs), atol=2e-3)


def test_accuracy_is_close_to_that_of_svc():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (300, 2))
    y = np.digitize(np.hypot(*X.T), [0.8, 1.6])
    train, test = slice(0, 150), slice(150, 300)
    svc = SVC(C=10.0).fit(X[train], y[train])
    model = mm.MulticlassSVM(kernel="rbf", C=10.0).fit(X[train], y[train])
    assert model.score(X[test], y[test]) >= svc.score(X[test], y[test]) - 0.03
    assert mm.MulticlassSVM(C=10.0).fit(X[train], y[train]).score(X[test], y[test]) < 0.7


def test_models_keep_few_parts():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 6))
    y = (X[:, 0] > 0).astype(int)
    model = mm.MulticlassSVM(kernel=mm.Kernel("rbf", gamma=0.1), tol=1e-2).fit(X, y)
    assert model.coef_.shape[1] < 120
    assert model.certificate_.gap <= 1e-2
    scores = model.decision_scores(X)
    hinges = np.maximum(0, 1 + scores[np.arange(200), 1 - y] - scores[np.arange(200), y])
    points = rbf_kernel(model.structure_.features_.points, gamma=0.1)
    norm = np.einsum("kp,pq,kq->", model.coef_, points, model.coef_) + (model.intercept_**2).sum()
    assert 0.25 * norm + hinges.sum() == pytest.approx(model.certificate_.primal, rel=1e-8)  # ± half of coef_


# ---------------------------------------------------------------------- named sparse features


def tokens(seed, n=12):
    rng = np.random.default_rng(seed)
    X = [[[f"a{rng.integers(3)}", f"b{rng.integers(3)}"] for _ in range(4)] for _ in range(n)]
    return X, [[str((int(a[1]) + int(b[1])) % 2) for a, b in x] for x in X]


def test_named_features_of_tokens():
    X, Y = tokens(0)
    linear = mm.SequenceTagger(C=10.0).fit(X, Y)
    exact = mm.SequenceTagger(C=10.0, kernel=mm.Kernel("poly", degree=2, gamma=1.0, coef0=1.0), tol=1e-6).fit(X, Y)
    sparse = clone(exact).set_params(kernel__method="expansion").fit(X, Y)
    new, truth = tokens(1, 30)
    assert exact.score(new, truth) == 1.0 > linear.score(new, truth)
    assert exact.certificate_.primal == pytest.approx(sparse.certificate_.primal, rel=1e-5)
    assert exact.predict(new) == sparse.predict(new)
    assert any("a0 × b1" in name or "b1 × a0" in name for name in sparse.feature_names_out)
    assert exact.structure_.n_points <= 9  # distinct tokens
    # a feature that no training token has is ignored by the expansion and by the kernel
    unseen = [[["a0", "b1", "new"], ["other"]]]
    assert exact.predict(unseen) == sparse.predict(unseen)


# ---------------------------------------------------------------------- precomputed


def test_precomputed_rows_follow_scikit_learn():
    X, Y = labelled(0, same, n=30)
    new, _ = labelled(1, same, n=10)
    parameters = {"C": 2.0, "tol": 1e-6}
    plain = mm.MulticlassSVM(kernel=mm.Kernel("rbf", gamma=0.5), **parameters).fit(X, Y)
    model = mm.MulticlassSVM(kernel="precomputed", **parameters).fit(rbf_kernel(X, gamma=0.5), Y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    assert (model.predict(rbf_kernel(new, X, gamma=0.5)) == plain.predict(new)).all()
    with pytest.raises(ValueError, match="X has 29 features, but MulticlassSVM is expecting 30"):
        model.predict(rbf_kernel(new, X[1:], gamma=0.5))
    with pytest.raises(ValueError, match="a row of 29 kernel values for each of the 29 rows"):
        model.fit(rbf_kernel(X[1:], X, gamma=0.5), Y[1:])
    weights = np.ones(30)
    weights[3] = 0.0
    with pytest.raises(ValueError, match="sample_weight 0"):
        model.fit(rbf_kernel(X, gamma=0.5), Y, weights)
    scores = cross_val_score(mm.MulticlassSVM(kernel="precomputed"), rbf_kernel(X, gamma=0.5), Y, cv=3)
    assert np.allclose(scores, cross_val_score(mm.MulticlassSVM(kernel=mm.Kernel("rbf", gamma=0.5)), X, Y, cv=3))


def test_precomputed_tokens():
    X, Y = chains(0, same)
    everything = np.concatenate(X)
    new, _ = chains(1, same)

    def values(x):
        return polynomial_kernel(x, everything, 2, GAMMA, COEF0)

    plain = mm.SequenceTagger(tol=1e-6, **POLY).fit(X, Y)
    model = mm.SequenceTagger(tol=1e-6, kernel="precomputed").fit([values(x) for x in X], Y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    assert model.predict([values(x) for x in new]) == plain.predict(new)
    with pytest.raises(ValueError, match=r"X\[1\]: 12 features per token, expected 13"):
        model.predict([values(new[0]), values(new[1])[:, :-1]])


def test_precomputed_arcs():
    """Arcs from a node to itself have no features; their rows and columns are not read."""
    X, Y = trees(0, same)
    arcs = [x.transpose(1, 0, 2)[1:].reshape(-1, 2) for x in X]
    everything = np.concatenate(arcs)
    tables = [polynomial_kernel(x.reshape(-1, 2), everything, 2, GAMMA, COEF0).reshape(*x.shape[:2], -1) for x in X]
    plain = mm.StructuralSVM(mm.Tree(), tol=1e-6, **POLY).fit(X, Y)
    model = mm.StructuralSVM(mm.Tree(), tol=1e-6, kernel="precomputed").fit(tables, Y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    assert model.predict(tables) == plain.predict(X)


# ---------------------------------------------------------------------- use in scikit-learn, and inspection


def test_pipelines_and_searches():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 3)) * [1.0, 100.0, 0.01]
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), mm.MulticlassSVM()),
        {"multiclasssvm__kernel": ["linear", "rbf", "poly"], "multiclasssvm__C": [1.0, 10.0]},
        cv=3,
    ).fit(X, y)
    assert search.best_params_["multiclasssvm__kernel"] != "linear"
    assert search.best_score_ > 0.8
    assert search.best_estimator_.predict(sp.csr_array(X).toarray()).shape == (60,)


def test_a_path_encodes_once_and_keeps_its_models_apart():
    X, Y = labelled(0, same, n=40)
    models = mm.regularization_path(mm.MulticlassSVM(kernel="rbf", tol=1e-5), X, Y, Cs=[0.1, 1.0, 10.0])
    for model in models:
        alone = mm.MulticlassSVM(kernel="rbf", C=model.C, tol=1e-5).fit(X, Y)
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=1e-4)
        assert np.allclose(model.decision_scores(X), alone.decision_scores(X), atol=0.05 * model.C)


def test_checkpoints_and_callbacks(tmp_path):
    X, Y = chains(0, same)
    path, seen = tmp_path / "fit.npz", []
    parameters = {"kernel": "rbf", "tol": 1e-6, "random_state": 3}
    whole = mm.SequenceTagger(**parameters).fit(X, Y)
    with pytest.warns(UserWarning):
        mm.SequenceTagger(
            checkpoint=mm.Checkpoint(path, every=0),
            max_iter=2,
            callbacks=lambda s: seen.append(s.weights),
            **parameters,
        ).fit(X, Y)
    resumed = mm.SequenceTagger(**parameters).fit(X, Y, resume=path)
    assert len(seen) == 2
    assert (resumed.coef_ == whole.coef_).all()
    assert resumed.predict(X) == whole.predict(X)


def test_results_do_not_depend_on_the_number_of_threads():
    X, Y = labelled(0, same, n=150)
    one, two = (mm.MulticlassSVM(kernel=mm.Kernel("rbf", n_components=40), n_jobs=jobs).fit(X, Y) for jobs in (1, 2))
    assert (one.coef_ == two.coef_).all()


def test_explanations_name_training_parts():
    X, Y = chains(0, same)
    model = mm.SequenceTagger(kernel="rbf").fit(X, Y)
    decision = model.explain(X[0])
    assert decision.margin == pytest.approx(sum(amount for _, amount in decision.contributions) + decision.rest)
    assert any(name.startswith("rbf(X[") and ", token " in name for name in model.feature_names_out)
    assert len(model.feature_names_out) == len(model.coef_)
    assert set(model.weights_frame().columns) == {"feature", "label", "next_label", "weight"}


def test_names_are_positions_in_the_data_of_the_user():
    X, Y = labelled(0, same, n=20)
    weights = np.ones(20)
    weights[:5] = 0.0
    model = mm.MulticlassSVM(kernel="rbf").fit(X, Y, weights)
    numbers = {int(name.split("[")[1].split("]")[0]) for name in model.feature_names_out if "rbf" in name}
    assert min(numbers) >= 5


def test_predictions_in_batches_are_the_same(monkeypatch):
    X, Y = chains(0, same)
    model = mm.SequenceTagger(kernel="rbf").fit(X, Y)
    together = model.predict(X * 5), model.decision_scores(X * 5)
    monkeypatch.setattr("maxmargin.estimators.predictor.KERNEL_VALUES", 40)
    assert model.predict(X * 5) == together[0]
    assert all(np.allclose(a, b) for a, b in zip(model.decision_scores(X * 5), together[1], strict=True))
    assert model.predict([]) == []
    with pytest.raises(ValueError, match=r"X\[3\]: 5 features per token, expected 2"):
        model.predict([*X[:3], np.ones((2, 5))])


def test_images():
    rng = np.random.default_rng(0)
    mask = np.zeros((8, 10), int)
    mask[2:6, 3:7] = 1
    image = np.where(mask, 0.5, rng.choice([0.0, 1.0], mask.shape)) + 0.05 * rng.normal(size=mask.shape)
    parameters = {"features": "channels", "C": 1.0}
    model = mm.CutSegmenter(kernel=mm.Kernel("rbf", gamma=10.0, n_components=30), **parameters).fit([image], [mask])
    assert model.score([image, image], [mask, mask]) > mm.CutSegmenter(**parameters).fit([image], [mask]).score(
        [image, image], [mask, mask]
    )
    assert model.score([image], [mask]) > 0.95
    assert model.edge_weights_.shape == (2,)


# ---------------------------------------------------------------------- bad input


class Sign(mm.Structure):
    def joint_feature(self, x, y):
        return y * np.asarray(x)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((-1, 1), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (mm.DependencyTree(), "DependencyTree takes no kernel: its templates already combine"),
        (mm.Motif(), "Motif takes no kernel"),
        (mm.Path(cycles=True), r"Path\(cycles=True\) takes no kernel"),
        (mm.Chain(seen_pairs=True), "which seen_pairs does not have"),
        (Sign(), "Sign is user-defined.*joint_kernel"),
    ],
)
@pytest.mark.filterwarnings("ignore:Motif has latent")
def test_structures_without_rows_of_parts(structure, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mm.StructuralSVM(structure, kernel="rbf").fit([["a", "b"]], [[1, 0]])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"nonnegative": True}, "nonnegative refers to the weights of features"),
        ({"nonnegative": ["x0"]}, "nonnegative refers to the weights of features"),
        ({"prior": [1.0]}, "prior refers to"),
        ({"warm_start": True}, "warm_start refers to"),
        ({"kernel": "cosine"}, "kernel must be"),
        ({"kernel": mm.Kernel("rbf", gamma=-1.0)}, "gamma must be"),
    ],
)
def test_parameters_without_meaning(parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.StructuralSVM(mm.Multiclass(), **{"kernel": "rbf"} | parameters).fit(*labelled(0, same))


def test_linear_kernels_are_plain_features():
    X, Y = labelled(0, same)
    plain = mm.MulticlassSVM().fit(X, Y)
    assert (mm.MulticlassSVM(kernel=mm.Kernel("linear", n_components=5)).fit(X, Y).coef_ == plain.coef_).all()


@pytest.mark.parametrize("name", STRUCTURES)
def test_parts_without_features(name):
    """The homogeneous kernel of rows of zeros is 0: there are no features at all."""
    structure, data = STRUCTURES[name]
    X, Y = data(0, np.zeros_like)
    model = mm.StructuralSVM(structure, kernel="poly").fit(X, Y)
    assert len(list(model.predict(X))) == len(Y)


def test_one_row_and_equal_rows():
    model = mm.MulticlassSVM(kernel="rbf").fit(np.zeros((4, 2)), [0, 1, 0, 1])
    assert model.predict(np.zeros((1, 2))).shape == (1,)
    tagger = mm.SequenceTagger(kernel="rbf").fit([np.ones((2, 1))], [["a", "b"]])
    assert tagger.predict([np.ones((2, 1)), np.zeros((0, 1))]) == [["a", "b"], []]


# ---------------------------------------------------------------------- Kernel as the value of a parameter


def test_a_kernel_is_a_value():
    kernel = mm.Kernel("rbf", gamma=0.5)
    assert (repr(kernel), repr(mm.Kernel("poly"))) == ("Kernel('rbf', gamma=0.5)", "Kernel('poly')")
    assert kernel == mm.Kernel("rbf", gamma=0.5) != mm.Kernel("rbf")
    assert len({kernel, mm.Kernel("rbf", gamma=0.5)}) == 1
    with pytest.raises(FrozenInstanceError):
        kernel.gamma = 1.0
    model = mm.MulticlassSVM(kernel=kernel)
    assert repr(model) == "MulticlassSVM(kernel=Kernel('rbf', gamma=0.5))"
    assert clone(model).kernel == kernel and pickle.loads(pickle.dumps(model)).kernel == kernel
    assert model.get_params()["kernel__gamma"] == 0.5
    with pytest.raises(TypeError, match="gamma"):
        mm.MulticlassSVM(kernel="rbf", gamma=0.5)


def test_hyper_parameters_of_a_kernel_are_set_by_name():
    model = mm.MulticlassSVM(kernel="rbf")
    assert model.set_params(kernel__gamma=0.5, C=2.0) is model
    assert (model.kernel, model.C) == (mm.Kernel("rbf", gamma=0.5), 2.0)
    assert model.set_params(kernel="poly", kernel__degree=2).kernel == mm.Kernel("poly", degree=2)
    with pytest.raises(ValueError, match=r"Kernel has no parameter 'width'; it has coef0, degree, gamma"):
        model.set_params(kernel__width=1.0)
    X, y = mm.datasets.make_multiclass(60, random_state=0)
    search = GridSearchCV(mm.MulticlassSVM(kernel="rbf"), {"kernel__gamma": [1e-6, 0.1]}, cv=2).fit(X, y)
    assert search.best_estimator_.kernel == mm.Kernel("rbf", gamma=0.1)


def test_a_kernel_with_parameters_in_a_model_file(tmp_path):
    X, y = mm.datasets.make_multiclass(40, random_state=0)
    model = mm.MulticlassSVM(kernel=mm.Kernel(bumps, n_components=40)).fit(X, y)
    model.save(tmp_path / "model.mm")
    loaded = mm.load(tmp_path / "model.mm", functions={"kernel": bumps})
    assert loaded.kernel == model.kernel
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
