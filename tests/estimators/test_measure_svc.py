"""A classifier of measures: what it optimises, thresholds, weights, several labels, scikit-learn's tools, bad input."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin as mm

pytestmark = pytest.mark.filterwarnings(
    "ignore:all rows (have the same score|are predicted):UserWarning"
)  # random labels

X, Y = make_classification(
    300, 6, n_informative=4, n_redundant=0, weights=[0.8], flip_y=0.02, class_sep=1.5, random_state=0
)
THREE = make_classification(150, 6, n_informative=4, n_classes=3, random_state=1)
X_SEPARABLE, Y_SEPARABLE = X[np.abs(X @ np.ones(6)) > 1.0], (X @ np.ones(6) > 0)[np.abs(X @ np.ones(6)) > 1.0]
MANY = make_multilabel_classification(120, 8, n_classes=4, random_state=2)


def harmonic(tp, fp, fn, tn):
    """F1 as a user writes it."""
    return 2 * tp / (2 * tp + fp + fn) if tp else 0.0


# ---------------------------------------------------------------------- what is optimised


def test_the_error_rate_is_the_loss_of_a_linear_svm():
    model = mm.MeasureSVC(measure="error", C=0.3, tol=1e-7).fit(X, Y)
    other = LinearSVC(C=0.3, loss="hinge", tol=1e-9, max_iter=10**6).fit(X, Y)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-3)
    assert model.certificate_.primal == pytest.approx(hinges(other, 0.3, np.ones(len(Y))), rel=1e-5)


def test_the_balanced_error_weights_rows_by_their_class():
    model = mm.MeasureSVC(measure="balanced", C=0.3, tol=1e-7).fit(X, Y)
    other = LinearSVC(C=0.3, loss="hinge", class_weight="balanced", tol=1e-9, max_iter=10**6).fit(X, Y)
    weights = (len(Y) / (2 * np.bincount(Y)))[Y]
    assert model.certificate_.primal == pytest.approx(hinges(model, 0.3, weights), rel=1e-9)
    assert model.certificate_.primal == pytest.approx(hinges(other, 0.3, weights), rel=1e-5)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-2)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_rare_classes_are_found_by_the_balanced_error(share):
    x, y = make_classification(1000, 20, n_informative=5, weights=[1 - share], class_sep=0.7, random_state=3)
    model = mm.MeasureSVC(measure="balanced").fit(x, y)
    other = LinearSVC(loss="hinge", class_weight="balanced", max_iter=10**6).fit(x, y)
    expected = metrics.balanced_accuracy_score(y, other.predict(x))
    assert expected > 0.7
    assert model.score(x, y) == pytest.approx(expected, abs=0.02)


def test_the_balanced_error_of_weighted_rows_and_of_several_labels():
    given = np.random.default_rng(0).integers(1, 4, len(Y))
    model, repeated = (
        mm.MeasureSVC(measure="balanced", tol=1e-6).fit(X, Y, given),
        mm.MeasureSVC(measure="balanced", tol=1e-6).fit(np.repeat(X, given, axis=0), np.repeat(Y, given)),
    )
    assert model.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-5)
    x, y = THREE
    each = [mm.MeasureSVC(measure="balanced").fit(x, y == k) for k in range(3)]
    np.testing.assert_array_equal(mm.MeasureSVC(measure="balanced").fit(x, y).coef_, np.vstack([m.coef_ for m in each]))
    with pytest.raises(
        ValueError, match=r"measure='balanced' is the error of rows.*use MeasureSVC\(measure='balanced'\)"
    ):
        mm.StructuralSVM(mm.Contingency(measure="balanced")).fit([X], [Y])


def hinges(model, C, weights):
    """The objective of a linear SVM of weighted rows."""
    w, b = model.coef_[0], model.intercept_[0]
    return 0.5 * (w @ w + b * b) + C * (weights * np.maximum(0.0, 1.0 - (2 * Y - 1) * (X @ w + b))).sum()


@pytest.mark.parametrize(
    ("name", "usual"),
    [
        ("accuracy", "error"),
        ("balanced_accuracy", "balanced"),
        ("auc", "roc_auc"),
        ("matthews_corrcoef", "mcc"),
        ("ap", "average_precision"),
    ],
)
def test_names_of_scikit_learn(name, usual):
    first, second = (mm.MeasureSVC(measure=measure).fit(X, Y) for measure in (name, usual))
    np.testing.assert_array_equal(first.coef_, second.coef_)
    assert first.score(X, Y) == second.score(X, Y)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("f1_macro", r"measure='f1_macro': use MeasureSVC\(measure='f1', average='macro'\)"),
        ("jaccard_weighted", r"use MeasureSVC\(measure='jaccard', average='macro' \(no weighted means\)\)"),
        ("roc_auc_ovr", "measure='roc_auc_ovr': use 'roc_auc', which learns one label versus rest"),
        ("recall", "measure='recall': all rows predicted positive reach it: use 'recall@10'"),
        ("log_loss", "measure must be 'f1', .*'balanced', 'roc_auc'.*found 'log_loss'"),
    ],
)
def test_names_that_have_another_form(name, message):
    with pytest.raises(ValueError, match=message):
        mm.MeasureSVC(measure=name).fit(X, Y)


def test_area_is_the_hinge_of_all_pairs():
    model = mm.MeasureSVC(measure="roc_auc", C=0.3, tol=1e-6).fit(X, Y)
    scores = X @ model.coef_[0]
    hinges = np.maximum(0.0, 1.0 - np.subtract.outer(scores[Y == 1], scores[Y == 0]))
    expected = 0.5 * model.coef_[0] @ model.coef_[0] + 0.3 * hinges.sum() / (Y == 0).sum()
    assert model.certificate_.primal == pytest.approx(expected, rel=1e-9)


VALUES = {
    "f1": metrics.f1_score,
    "jaccard": metrics.jaccard_score,
    "mcc": metrics.matthews_corrcoef,
    "f2": lambda y, found: metrics.fbeta_score(y, found, beta=2.0),
}


@pytest.mark.parametrize("measure", VALUES)
@pytest.mark.parametrize("bound", ["margin", "slack", "ramp"])
def test_the_objective_bounds_the_loss_of_the_predictions(measure, bound):
    model = mm.MeasureSVC(measure=measure, bound=bound, tol=1e-2).fit(X, Y)
    value = VALUES[measure](Y, model.predict(X))
    assert model.score(X, Y) == pytest.approx(value, abs=1e-12)
    w = np.append(model.coef_, model.bias_)
    assert model.certificate_.primal - 0.5 * w @ w >= Y.sum() * (1.0 - value) - 1e-9
    assert value > 0.5


def test_a_function_is_the_measure_it_computes():
    named, given = (mm.MeasureSVC(measure=m, C=2.0).fit(X, Y) for m in ("f1", harmonic))
    assert given.certificate_.primal == pytest.approx(named.certificate_.primal, rel=1e-3)
    np.testing.assert_array_equal(given.predict(X), named.predict(X))


def test_partial_areas_lift_the_top():
    whole, part = (mm.MeasureSVC(measure=m, C=1.0).fit(X, Y) for m in ("roc_auc", "roc_auc@fpr=0.1"))
    assert part.score(X, Y) == metrics.roc_auc_score(Y, part.decision_function(X), max_fpr=0.1)
    assert part.score(X, Y) > metrics.roc_auc_score(Y, whole.decision_function(X), max_fpr=0.1)


@pytest.mark.parametrize("k", [5, 40])
def test_counts_of_the_best_rows(k):
    named = mm.MeasureSVC(measure=f"precision@{k}").fit(X, Y)
    best = np.argsort(-named.decision_function(X))[:k]
    assert named.score(X, Y) == pytest.approx(Y[best].mean())
    assert (named.predict(X) == 1).sum() == k
    recall = mm.MeasureSVC(measure=f"recall@{k}").fit(X, Y)
    assert recall.score(X, Y) == pytest.approx(Y[best].sum() / Y.sum())


# ---------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("measure", ["f1", "mcc", "recall@precision=0.7", harmonic])
def test_tuned_thresholds_are_the_best_of_all(measure):
    model = mm.MeasureSVC(measure=measure, threshold="tuned").fit(X, Y)
    scores, best = X @ model.coef_[0] + model.bias_[0], []
    for at in [*scores, scores.min() - 1]:
        found = scores > at
        tp, fp = (found & (Y == 1)).sum(), (found & (Y == 0)).sum()
        recall = tp / Y.sum() if tp >= 0.7 * (tp + fp) else 0.0
        correlation = np.corrcoef(Y, found)[0, 1] if 0 < found.sum() < len(Y) else 0.0
        others = {"recall@precision=0.7": recall, "mcc": correlation}
        best.append(others.get(measure, 2 * tp / (tp + fp + Y.sum())))
    assert model.score(X, Y) == pytest.approx(max(best), abs=1e-12)
    assert model.score(X, Y) >= mm.MeasureSVC(measure=measure).fit(X, Y).score(X, Y)


def test_thresholds_by_counts():
    for measure in ("prbep", "roc_auc", "average_precision"):
        model = mm.MeasureSVC(measure=measure).fit(X, Y)
        assert (model.predict(X) == 1).sum() == Y.sum()
        assert model.bias_ == 0.0
        assert model.intercept_ == -model.threshold_


def test_no_intercept():
    model = mm.MeasureSVC(fit_intercept=False).fit(X, Y)
    assert model.intercept_ == model.bias_ == 0.0
    assert len(model.feature_names_out) == 6
    assert mm.MeasureSVC().fit(X, Y).feature_names_out[-1] == "constant"


def test_classes_that_overlap_too_much():
    """Where no weights are better than 0, a warning says so."""
    labels = np.random.default_rng(0).random(len(X)) < 0.1
    message = "all rows have the same score, since the weights are 0, and are predicted False: the classes overlap"
    with pytest.warns(UserWarning, match=message):
        model = mm.MeasureSVC(bound="margin").fit(X, labels)
    assert model.certificate_.primal == pytest.approx(labels.sum(), rel=0.01)
    area = mm.MeasureSVC(measure="roc_auc").fit(X, labels)
    assert np.ptp(area.decision_function(X)) > 0.1


def rare_and_weak(seed):
    x, y = make_classification(3000, 20, n_informative=8, weights=[0.95], flip_y=0.05, class_sep=0.6, random_state=seed)
    return train_test_split(x, y, test_size=0.5, random_state=0, stratify=y)


@pytest.mark.parametrize("measure", ["f1", "jaccard", "prbep", "precision@30"])
def test_rare_classes_with_weak_features(measure):
    """The convex optimum is w = 0; the ramp from a plain SVM is about as good as that SVM with the best threshold."""
    a, b, y, z = rare_and_weak(0)
    with pytest.warns(UserWarning, match="weights are 0"):
        convex = mm.MeasureSVC(measure=measure, bound="margin").fit(a, y)
    model = mm.MeasureSVC(measure=measure).fit(a, y)
    assert model.certificate_.start == "plain"
    assert model.score(b, z) > convex.score(b, z) + 0.1
    scores = LinearSVC(dual=False).fit(a, y).decision_function(b)
    best = np.argsort(-scores)[: np.count_nonzero(z)]
    assert model.score(b, z) > 0.5 * z[best].mean()


def test_the_plain_start_has_the_best_threshold():
    a, _, y, _ = rare_and_weak(1)
    plain = LinearSVC(C=1.0, dual=False).fit(a, y)
    scores = plain.decision_function(a)
    best = max(metrics.f1_score(y, scores > t) for t in np.unique(scores)[::5])
    assert mm.MeasureSVC().fit(a, y).score(a, y) >= best - 0.02


def test_what_ramps_do_not_have_is_convex_by_default(tmp_path):
    for more in ({"C": np.inf}, {"checkpoint": tmp_path / "fit.npz"}, {"measure": "error"}):
        model = mm.MeasureSVC(**more).fit(X_SEPARABLE, Y_SEPARABLE)
        assert model.certificate_.outer_steps == 0, more
    assert mm.MeasureSVC().fit(X_SEPARABLE, Y_SEPARABLE).certificate_.outer_steps > 0


def test_thresholds_of_cross_validation():
    """The threshold is the best one of scores of rows that the models have not seen."""
    a, b, y, z = rare_and_weak(2)
    learned, cv = (mm.MeasureSVC(threshold=way).fit(a, y) for way in ("learned", "cv"))
    np.testing.assert_array_equal(learned.coef_, cv.coef_)
    assert cv.threshold_[0] != 0.0
    assert cv.score(b, z) > learned.score(b, z) - 0.03
    assert mm.MeasureSVC(measure="prbep", threshold="cv").fit(a, y).score(b, z) > 0.1
    rows, tables = MANY
    assert mm.MeasureSVC(average="micro", threshold="cv").fit(rows, tables).score(rows, tables) > 0.5
    with pytest.raises(ValueError, match="threshold='cv' needs a measure of predicted labels"):
        mm.MeasureSVC(measure="roc_auc", threshold="cv").fit(a, y)


def test_equal_predictions_of_different_scores():
    labels = np.array(["rare", "usual"])[(np.random.default_rng(0).random(len(X)) > 0.1).astype(int)]
    with pytest.warns(UserWarning, match="all rows are predicted 'usual': errors in a rare class.*measure='balanced'"):
        model = mm.MeasureSVC(measure="error").fit(X, labels)
    assert set(model.predict(X)) == {"usual"}
    assert np.ptp(model.decision_function(X)) > 1e-3


@pytest.mark.parametrize(("average", "shown"), [("macro", "without label 1"), ("micro", "without labels")])
def test_labels_that_are_never_predicted(average, shown):
    table = np.column_stack([Y, np.random.default_rng(0).random(len(X)) < 0.05])
    table = table if average == "macro" else table[:, [1, 1]]
    with pytest.warns(UserWarning) as found:
        model = mm.MeasureSVC(measure="error", average=average).fit(X, table)
    (warning,) = found
    assert f"are predicted {shown}: errors" in str(warning.message)
    assert not model.predict(X)[:, 1].any()


# ---------------------------------------------------------------------- weights of rows


@pytest.mark.parametrize("measure", ["f1", "error", "roc_auc", "average_precision"])
def test_whole_weights_are_repetitions(measure):
    weights = np.random.default_rng(0).integers(0, 4, len(Y))
    weighted = mm.MeasureSVC(measure=measure, tol=1e-6).fit(X, Y, weights)
    repeated = mm.MeasureSVC(measure=measure, tol=1e-6).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights))
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=0.02)


def test_any_weights_of_linear_losses():
    weights = np.random.default_rng(0).random(len(Y))
    model = mm.MeasureSVC(measure="error", tol=1e-7).fit(X, Y, weights)
    other = LinearSVC(loss="hinge", tol=1e-9, max_iter=10**6).fit(X, Y, weights)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=5e-3)
    expected = metrics.accuracy_score(Y, model.predict(X), sample_weight=weights)
    assert model.score(X, Y, weights) == pytest.approx(expected)
    tuned = mm.MeasureSVC(measure="balanced", threshold="tuned").fit(X, Y, weights)
    assert tuned.score(X, Y, weights) >= mm.MeasureSVC(measure="balanced").fit(X, Y, weights).score(X, Y, weights)


def test_fractions_need_a_linear_loss():
    weights = np.ones(len(Y))
    weights[7] = 0.5
    with pytest.raises(ValueError, match=r"sample_weight\[7\] is 0.5: measure='f1' takes integers"):
        mm.MeasureSVC().fit(X, Y, weights)
    same = mm.MeasureSVC(C=2.0, tol=1e-6).fit(X, Y)
    half = mm.MeasureSVC(C=4.0, tol=1e-6).fit(X, Y, np.full(len(Y), 0.5))
    np.testing.assert_allclose(half.coef_, same.coef_, atol=1e-6)


# ---------------------------------------------------------------------- several labels


@pytest.mark.parametrize("measure", ["f1", "roc_auc", "prbep"])
def test_one_versus_rest_is_a_model_for_each_label(measure):
    x, y = THREE
    model = mm.MeasureSVC(measure=measure).fit(x, np.array(["c", "a", "b"])[y])
    assert model.classes_.tolist() == ["a", "b", "c"]
    each = [mm.MeasureSVC(measure=measure).fit(x, y == k) for k in (1, 2, 0)]
    np.testing.assert_array_equal(model.coef_, np.vstack([m.coef_ for m in each]))
    np.testing.assert_array_equal(model.intercept_, np.concatenate([m.intercept_ for m in each]))
    assert model.certificate_.primal == pytest.approx(sum(m.certificate_.primal for m in each))
    np.testing.assert_array_equal(model.predict(x), model.classes_[model.decision_function(x).argmax(axis=1)])
    named = np.array(["c", "a", "b"])[y]
    score = model.score(x, named)
    if measure == "f1":
        assert score == pytest.approx(metrics.f1_score(named, model.predict(x), average="macro"))
    elif measure == "roc_auc":
        table = named[:, None] == model.classes_
        assert score == pytest.approx(metrics.roc_auc_score(table, model.decision_function(x), average="macro"))


@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_tables_of_labels(average, form):
    x, y = MANY
    model = mm.MeasureSVC(average=average).fit(x, form(y))
    assert model.multilabel_
    assert model.predict(x).shape == y.shape
    assert model.score(x, form(y)) == pytest.approx(metrics.f1_score(y, model.predict(x), average=average))
    assert model.score(x, y) > metrics.f1_score(
        y, OneVsRestClassifier(LinearSVC()).fit(x, y).predict(x), average=average
    )


def test_the_micro_average_is_one_table():
    x, y = MANY
    model = mm.MeasureSVC(average="micro", C=0.1, tol=1e-6, bound="margin").fit(x, y)
    structure = mm.StructuralSVM(mm.Contingency(n_labels=4), C=0.1, tol=1e-6).fit([x], [y])
    assert model.certificate_.primal == pytest.approx(structure.certificate_.primal, rel=1e-5)
    np.testing.assert_array_equal(structure.predict([x])[0], model.predict(x))


def test_labels_that_never_change():
    x, y = MANY[0], MANY[1].copy()
    y[:, 1], y[:, 2] = 0, 1
    with pytest.warns(UserWarning) as found:
        model = mm.MeasureSVC().fit(x, y)
    messages = [f"label {k}: all rows have the value {v}, which is then always predicted" for k, v in ((1, 0), (2, 1))]
    assert [str(warning.message) for warning in found] == messages
    assert not model.predict(x)[:, 1].any()
    assert model.predict(x)[:, 2].all()


# ---------------------------------------------------------------------- scikit-learn's tools, files


def test_tools_of_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), mm.MeasureSVC(tol=1e-2))
    search = GridSearchCV(pipeline, {"measuresvc__C": [0.1, 1.0], "measuresvc__threshold": ["learned", "tuned"]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.6
    assert np.isfinite(cross_val_score(mm.MeasureSVC(measure="roc_auc"), X, Y, cv=3, scoring="f1")).all()
    calibrated = CalibratedClassifierCV(mm.MeasureSVC(tol=1e-2), cv=3).fit(X, Y)
    chances = calibrated.predict_proba(X)
    assert chances.shape == (len(Y), 2)
    assert metrics.brier_score_loss(Y, chances[:, 1]) < Y.mean() * (1 - Y.mean())
    convex = mm.MeasureSVC(bound="margin")
    models = mm.regularization_path(convex, X, Y, [0.1, 1.0])
    assert models[1].certificate_.primal == pytest.approx(convex.fit(X, Y).certificate_.primal, rel=2e-3)
    rest = mm.regularization_path(mm.MeasureSVC(), *THREE, [0.1, 1.0])
    np.testing.assert_allclose(rest[1].coef_, mm.MeasureSVC().fit(*THREE).coef_, atol=1e-9)


def test_pictures_of_scikit_learn():
    pytest.importorskip("matplotlib").use("agg")
    model = mm.MeasureSVC(measure="average_precision").fit(X, Y)
    shown = metrics.PrecisionRecallDisplay.from_estimator(model, X, Y)
    assert shown.average_precision == pytest.approx(model.score(X, Y))
    area = mm.MeasureSVC(measure="roc_auc").fit(X, Y)
    assert metrics.RocCurveDisplay.from_estimator(area, X, Y).roc_auc == pytest.approx(area.score(X, Y))
    metrics.ConfusionMatrixDisplay.from_estimator(model, X, Y)
    mm.plots.ConvergenceDisplay.from_estimator(model)


@pytest.mark.parametrize(
    "model",
    [
        mm.MeasureSVC(threshold="tuned"),
        mm.MeasureSVC(measure="roc_auc"),
        mm.MeasureSVC(measure="prbep"),
        mm.MeasureSVC(measure=harmonic),
    ],
)
def test_saved_and_pickled(model, tmp_path):
    functions = {"measure": harmonic} if callable(model.measure) else None
    for x, y in ((X, np.array(["no", "yes"])[Y]), THREE, MANY):
        model = clone(model).fit(x[:100], y[:100])
        model.save(tmp_path / "m.mm")
        for again in (mm.load(tmp_path / "m.mm", functions=functions), pickle.loads(pickle.dumps(model))):
            np.testing.assert_array_equal(again.decision_function(x), model.decision_function(x))
            np.testing.assert_array_equal(again.predict(x), model.predict(x))
            assert again.score(x, y) == model.score(x, y)


def test_forms_of_rows():
    dense = mm.MeasureSVC().fit(X, Y)
    for form in (sp.csr_array, sp.csc_matrix, sp.coo_array, np.asfortranarray, lambda rows: rows.tolist()):
        model = mm.MeasureSVC().fit(form(X), Y)
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-3)
        np.testing.assert_allclose(model.decision_function(form(X)), model.decision_function(X), atol=1e-12)


def test_rows_are_not_copied_or_changed():
    rows = sp.csr_array(X)
    before = rows.copy()
    data = mm.MeasureSVC()._training_data(rows, Y)
    block = data.examples.blocks[0]
    assert np.shares_memory(block.data, rows.data)
    assert np.shares_memory(block.indices, rows.indices)
    mm.MeasureSVC().fit(rows, Y)
    assert (rows != before).nnz == 0


def test_results_do_not_depend_on_threads():
    rng = np.random.default_rng(0)
    rows = sp.csr_array(rng.random((70_000, 40)) * (rng.random((70_000, 40)) < 0.5))
    labels = rows @ rng.normal(size=40) + rng.normal(size=70_000) > 1.0
    for measure in ("f1", "roc_auc"):
        one, two = (mm.MeasureSVC(measure=measure, tol=0.05, n_jobs=n).fit(rows, labels) for n in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        assert one.certificate_.standing == "proven"


def test_decisions_of_single_rows():
    model = mm.MeasureSVC().fit(X, Y)
    decision = model.explain(X[0])
    assert decision.prediction == model.predict(X[:1]).tolist()
    assert decision.margin == pytest.approx(abs(model.decision_function(X[:1])[0]))


def test_warm_starts():
    for y in (Y, np.arange(len(Y)) % 3):
        cold = mm.MeasureSVC(tol=1e-4).fit(X, y)
        warm = mm.MeasureSVC(tol=1e-4, warm_start=True).fit(X, y).fit(X, y)
        assert warm.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-4)
        assert warm.certificate_.oracle_calls <= cold.certificate_.oracle_calls


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("model", "x", "y", "message"),
    [
        (mm.MeasureSVC(), X, np.zeros(300), r"y has one class only, .*0.0.*: a measure .* needs rows of two classes"),
        (mm.MeasureSVC(average="micro"), X[:4], np.zeros((4, 2), int), "y has one class only, .*0"),
        (
            mm.MeasureSVC(measure="precision@301"),
            X,
            Y,
            r"^k=301 rows are to be predicted positive, but",
        ),
        (mm.MeasureSVC(measure=lambda *table: 1), X, Y, "measure <lambda> returned 1 for every table"),
        (mm.MeasureSVC(), MANY[0], MANY[1] + 1, r"y\[\d+, \d+\]: a table of labels has 0 and 1, found 2"),
        (mm.MeasureSVC(measure=lambda *table: float("nan")), X, Y, r"measure <lambda> returned nan for tp=0, fp=0"),
        (
            mm.MeasureSVC(measure=lambda tp, fp, fn, tn: fp),
            X,
            Y,
            r"measure <lambda> rises with errors: .*more false",
        ),
        (mm.MeasureSVC(measure=lambda tp: tp), X, Y, "measure <lambda> raised TypeError for tp=0, fp=0"),
        (mm.MeasureSVC(measure=lambda *table: "x"), X, Y, "measure <lambda> returned 'x' for tp=0, fp=0"),
        (mm.MeasureSVC(measure="f2x"), None, None, r"measure must be 'f1'.*'roc_auc'.*found 'f2x'"),
        (mm.MeasureSVC(measure=7), None, None, "measure must be 'f1'.*found 7"),
        (mm.MeasureSVC(measure="fbeta"), None, None, "measure='fbeta': β is part of the name: use 'f2' or 'f0.5'"),
        (mm.MeasureSVC(measure="precision@0"), None, None, "k must be an integer ≥ 1, found 0"),
        (mm.MeasureSVC(measure="recall@2.5"), None, None, "k must be an integer ≥ 1, found 2.5"),
        (mm.MeasureSVC(measure="recall@k"), None, None, "k is part of the name: use 'recall@10'"),
        (mm.MeasureSVC(measure="roc_auc@fpr=2"), None, None, "max_fpr must be a number above 0"),
        (
            mm.MeasureSVC(measure="roc_auc", threshold="tuned"),
            None,
            None,
            "threshold='tuned' needs a measure of predicted",
        ),
        (mm.MeasureSVC(threshold="best"), None, None, "threshold must be 'learned' or 'tuned' or 'cv', found 'best'"),
        (mm.MeasureSVC(average="mean"), None, None, "average must be 'macro' or 'micro', found 'mean'"),
        (mm.MeasureSVC(C=0), None, None, "C must be a number > 0"),
        (mm.MeasureSVC(), X, Y[:-1], "inconsistent numbers of samples"),
        (mm.MeasureSVC(), np.full((4, 1), np.nan), [0, 1, 0, 1], "contains NaN"),
        (mm.MeasureSVC(), X[:3], ["a", 1, "b"], r"Y\[1\]: expected text as Y\[0\] is, found int 1"),
        (mm.MeasureSVC(), X, X[:, 0], "Unknown label type"),
        (mm.MeasureSVC(checkpoint="c"), *THREE, "use average='micro', or set checkpoint=None"),
    ],
)
def test_bad_input(model, x, y, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        model.fit(x, y)
    assert not hasattr(model, "coef_")


def test_scores_of_other_labels():
    model = mm.MeasureSVC().fit(X, Y)
    with pytest.raises(ValueError, match="X has 300 rows but y has 299"):
        model.score(X, Y[:-1])
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="y: no label is one of the classes 0, 1, found 'yes'"):
        model.score(X, np.full(300, "yes"))
    table = mm.MeasureSVC().fit(*MANY)
    with pytest.raises(ValueError, match=r"y\[0, 0\]: a table of labels has 0 and 1, found 2"):
        table.score(MANY[0], MANY[1] + 2)
    with pytest.raises(ValueError, match=r"y: expected a table of shape \(120, 4\), found \(120, 3\)"):
        table.score(MANY[0], MANY[1][:, :3])


def test_the_positive_label():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    rare = X[:, 0] + 0.5 * rng.normal(size=100) > 1.0
    y = np.where(rare, "fraud", "ok")
    named, plain = mm.MeasureSVC(positive_label="fraud").fit(X, y), mm.MeasureSVC().fit(X, rare)
    assert named.classes_.tolist() == ["ok", "fraud"]
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    np.testing.assert_array_equal(named.predict(X) == "fraud", plain.predict(X))
    assert named.score(X, y) == plain.score(X, rare) < mm.MeasureSVC().fit(X, y).score(X, y)


@pytest.mark.parametrize(
    ("label", "y", "message"),
    [
        ("fruad", ["fraud", "ok", "ok", "ok"], "positive_label must be one of the labels 'fraud', 'ok', found 'fruad'"),
        (1, [0, 1, 2, 1], "positive_label is for two labels, found 3"),
        (1, [[0, 1], [1, 0], [1, 1], [0, 0]], "not for a table of 2 labels"),
    ],
)
def test_a_positive_label_that_is_none(label, y, message):
    with pytest.raises(ValueError, match=message):
        mm.MeasureSVC(positive_label=label).fit(np.eye(4), y)
