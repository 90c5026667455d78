"""`kernel=` on estimators of rows: the same optimum as explicit features, models that can be saved, bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel
from sklearn.model_selection import cross_val_predict

import maxmargin as mm

GAMMA, COEF0 = 0.5, 1.0
POLY = {"kernel": mm.Kernel("poly", degree=2, gamma=GAMMA, coef0=COEF0)}
QUERIES = np.repeat(np.arange(8), 5)[np.random.default_rng(1).permutation(40)]
X = np.random.default_rng(0).normal(size=(40, 2))
CURVED = (X[:, 0] * X[:, 1] > 0).astype(int)
HIERARCHY = {"a": "left", "b": "left", "c": "right", "d": "right", "left": "root", "right": "root"}
LABELS = np.array(["a", "b", "c", "d"])[2 * CURVED + (X[:, 0] ** 2 > 0.5)]
SETS = np.stack([CURVED, X[:, 0] > 0, X[:, 1] ** 2 > 0.5], axis=1).astype(int)

#: Estimator, its labels, and further arguments of fit.
ESTIMATORS = {
    "ranking SVM": (mm.StructuredRanker(measure="pairwise", drop_empty=True), CURVED, {"groups": QUERIES}),
    "average precision": (mm.StructuredRanker(measure="ap", drop_empty=True), CURVED, {"groups": QUERIES}),
    "precision@k": (
        mm.StructuredRanker(measure="precision@2", max_outer=1, drop_empty=True),
        CURVED,
        {"groups": QUERIES},
    ),
    "taxonomy": (mm.TaxonomyClassifier(hierarchy=HIERARCHY), LABELS, {}),
    "label sets": (mm.MultilabelSVM(), SETS, {}),
    "label sets without pairs": (mm.MultilabelSVM(pairs=None, loss="f1", fit_intercept=False), SETS, {}),
    "f1": (mm.MeasureSVC(measure="f1"), CURVED, {}),
    "roc area": (mm.MeasureSVC(measure="roc_auc"), CURVED, {}),
    "repeated rows": (mm.MeasureSVC(measure="f1"), CURVED, {"sample_weight": np.arange(40) % 3}),
    "one versus rest": (mm.MeasureSVC(measure="f1"), LABELS, {}),
    "micro": (mm.MeasureSVC(measure="roc_auc", average="micro"), LABELS, {}),
}


def products(rows):
    """Return explicit features of (γ a·b + c)²."""
    wide = np.column_stack([np.sqrt(GAMMA) * rows, np.full(len(rows), np.sqrt(COEF0))])
    i, j = np.triu_indices(wide.shape[1])
    return wide[:, i] * wide[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def scores(model, rows):
    return np.asarray(model.predict(rows) if hasattr(model, "drop_empty") else model.decision_function(rows))


@pytest.mark.parametrize("form", ["dense", "expansion"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_optimum_is_that_of_the_features(name, form, tmp_path):
    estimator, y, more = ESTIMATORS[name]
    estimator = clone(estimator).set_params(C=2.0, tol=1e-6)
    plain = clone(estimator).fit(products(X), y, **more)
    method = {"kernel__method": "expansion"} if form == "expansion" else {}
    model = clone(estimator).set_params(**POLY, **method).fit(X if form == "dense" else sp.csr_array(X), y, **more)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    new = np.random.default_rng(1).normal(size=(30, 2))
    assert np.allclose(scores(model, new), scores(plain, products(new)), rtol=2e-2, atol=2e-2)
    model.save(tmp_path / "model.mm")
    for other in (mm.load(tmp_path / "model.mm"), pickle.loads(pickle.dumps(model))):
        assert (scores(other, new) == scores(model, new)).all()
        assert list(other.feature_names_out) == list(model.feature_names_out)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_landmarks_and_names(name):
    estimator, y, more = ESTIMATORS[name]
    exact = clone(estimator).set_params(kernel=mm.Kernel("rbf", gamma=0.3)).fit(X, y, **more)
    names = [part for part in exact.feature_names_out if part.startswith("rbf(X[")]
    rows = {int(part.split("[")[1].split("]")[0]) for part in names}
    assert rows <= set(range(40)) and all("token" not in part for part in names)
    if "sample_weight" in more:
        assert all(row % 3 for row in rows)  # rows of weight 0 are not points
    landmarks = clone(estimator).set_params(kernel=mm.Kernel("rbf", gamma=0.3, n_components=30)).fit(X, y, **more)
    assert landmarks.score(X, y, **more) >= exact.score(X, y, **more) - 0.15


def test_points_of_a_ranker_are_rows_of_the_data():
    model = mm.StructuredRanker(measure="pairwise", drop_empty=True, kernel=mm.Kernel("rbf", gamma=0.3)).fit(
        X, CURVED, QUERIES
    )
    for name, point in zip(model.feature_names_out, model.structure_.features_.points, strict=True):
        assert (X[int(name.removeprefix("rbf(X[").removesuffix("])"))] == point).all()


def test_a_curved_ranking_is_learnt():
    rng = np.random.default_rng(2)
    rows, queries = rng.normal(size=(240, 2)), np.repeat(np.arange(24), 10)
    relevance = (np.hypot(*rows.T) < 1.0).astype(int)
    train, test = slice(0, 160), slice(160, 240)
    for measure in ("pairwise", "ndcg@5", "precision@2"):
        linear = mm.StructuredRanker(measure=measure, drop_empty=True, C=10.0)
        curved = clone(linear).set_params(kernel="rbf").fit(rows[train], relevance[train], queries[train])
        linear.fit(rows[train], relevance[train], queries[train])
        found = [m.score(rows[test], relevance[test], queries[test]) for m in (linear, curved)]
        assert found[1] > found[0] + 0.15
        assert getattr(curved, "start_coef_", None) is None


@pytest.mark.parametrize("name", ["taxonomy", "label sets", "f1", "one versus rest", "repeated rows"])
def test_precomputed(name):
    estimator, y, more = ESTIMATORS[name]
    if name == "one versus rest":  # ramps end at local optima, which differ between versions of scikit-learn
        estimator = clone(estimator).set_params(bound="margin")
    table = polynomial_kernel(X, X, 2, GAMMA, COEF0)
    plain = clone(estimator).set_params(tol=1e-5, **POLY).fit(X, y, **more)
    kept = np.flatnonzero(more.get("sample_weight", np.ones(40)))
    if len(kept) < 40:  # rows of weight 0 are left out
        table, y, more = table[:, kept], y, more
        with pytest.raises(ValueError, match="sample_weight 0"):
            clone(estimator).set_params(kernel="precomputed").fit(polynomial_kernel(X), y, **more)
    model = clone(estimator).set_params(tol=1e-5, kernel="precomputed").fit(table, y, **more)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-4)
    assert np.allclose(scores(model, table), scores(plain, X), atol=0.05)
    with pytest.raises(ValueError, match="expecting"):
        model.predict(table[:, :-1])
    if len(kept) == 40:
        folds = cross_val_predict(clone(model), table, y, cv=2)  # slices rows and columns
        assert len(folds) == 40


def test_models_without_any_point(tmp_path):
    """Equal rows with opposite labels leave no coefficients."""
    rows = np.zeros((4, 2))
    model = mm.MulticlassSVM(kernel="poly", fit_intercept=False).fit(rows, [0, 1, 0, 1])
    assert model.coef_.shape == (1, 0)
    model.save(tmp_path / "model.mm")
    assert (mm.load(tmp_path / "model.mm").predict(rows) == model.predict(rows)).all()


def test_named_columns_stay_names_of_the_input():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["height", "width"])
    for name in ("ranking SVM", "taxonomy", "label sets", "f1"):
        estimator, y, more = ESTIMATORS[name]
        model = clone(estimator).set_params(kernel=mm.Kernel("rbf", gamma=0.3)).fit(frame, y, **more)
        assert list(model.feature_names_in_) == ["height", "width"]
        assert any(str(part).startswith("rbf(X[") for part in model.feature_names_out)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (mm.StructuredRanker(kernel="precomputed"), r"kernel='precomputed' has a column for each row in the order of"),
        (mm.StructuredRanker(kernel="rbf", start=[1.0, 2.0]), "start refers to the weights of features"),
        (mm.StructuredRanker(kernel="rbf", nonnegative=True), "nonnegative refers to the weights of features"),
        (mm.StructuredRanker(kernel="cosine"), "kernel must be"),
    ],
)
def test_rankers_refuse(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, CURVED, QUERIES)


def test_a_taxonomy_of_seen_pairs_takes_no_kernel():
    with pytest.raises(ValueError, match="seen_pairs=True is for sparse features"):
        mm.TaxonomyClassifier(hierarchy=HIERARCHY, seen_pairs=True, kernel="rbf").fit(X, LABELS)
