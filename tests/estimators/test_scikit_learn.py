"""Habits of scikit-learn's users: two classes, class weights, folds, names of arguments, data frames, routing."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.svm import LinearSVC

import maxmargin as mm

X, Y = mm.datasets.make_chains(30, noise=3.0, random_state=0)
ROWS, LABELS = mm.datasets.make_multiclass(120, noise=3.0, random_state=0)
RANKED = np.random.default_rng(0).normal(size=(60, 3))
RELEVANT, QUERIES = (RANKED[:, 0] > 0.3).astype(int), np.arange(60) // 10


# ---------------------------------------------------------------------- two classes, methods that are absent


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("nonnegative", [False, True, ["x0", 3]])
def test_two_classes_have_one_row_of_weights(fit_intercept, nonnegative, tmp_path):
    two = np.array(["a", "b"])[LABELS % 2]
    model = mm.MulticlassSVM(fit_intercept=fit_intercept, nonnegative=nonnegative, tol=1e-6).fit(ROWS, two)
    assert model.coef_.shape == (1, ROWS.shape[1])
    assert model.intercept_.shape == (1,)
    decisions = model.decision_function(ROWS)
    np.testing.assert_allclose(decisions, ROWS @ model.coef_[0] + model.intercept_[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict(ROWS), np.where(decisions > 0, "b", "a"))
    assert model.decision_scores(ROWS).shape == (len(ROWS), 2)
    weights = model._flat_weights()
    hinges = np.maximum(0.0, 1.0 - np.where(two == "b", 1, -1) * decisions).sum()
    assert 0.5 * weights @ weights + hinges == pytest.approx(model.certificate_.primal, rel=1e-9)
    if nonnegative:
        kept = weights if nonnegative is True else weights[[0, 1, 3]]  # weights of x0, and the second of x1
        assert kept.min() >= 0.0 and kept.max() > 0.0
    model.save(tmp_path / "m.mm")
    again = mm.load(tmp_path / "m.mm")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.decision_scores(ROWS), model.decision_scores(ROWS))
    if nonnegative is False:
        other = LinearSVC(C=2.0, loss="hinge", tol=1e-9, max_iter=10**6, fit_intercept=fit_intercept).fit(ROWS, two)
        np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-2)


def test_two_classes_start_from_their_weights():
    two = LABELS % 2
    model = mm.MulticlassSVM(warm_start=True).fit(ROWS, two)
    steps = model.n_iter_
    assert model.fit(ROWS, two).n_iter_ < steps


@pytest.mark.parametrize(
    ("model", "name", "message"),
    [
        (mm.MeasureSVC(), "predict_proba", r"CalibratedClassifierCV\(model\) learns them from decision_function"),
        (mm.MeasureSVC(), "predict_log_proba", "MeasureSVC has no predict_log_proba: margins are not probabilities"),
        (mm.SequenceTagger(), "predict_proba", "SequenceTagger has no predict_proba: .* predict_marginals returns"),
        (mm.StructuredRanker(), "predict_proba", "scores are not probabilities; use decision_scores$"),
        (mm.CostLearner(mm.Optimizer.assignment(2)), "predict_proba", "scores are not probabilities; use topk$"),
        (mm.MulticlassSVM(), "partial_fit", "set warm_start=True and call fit on all examples"),
        (mm.StructuralSVM(mm.Chain()), "partial_fit", "StructuralSVM has no partial_fit"),
        (mm.SequenceTagger(), "resume", r"SequenceTagger has no resume: fit\(X, y, resume=path\) continues"),
    ],
)
def test_absent_methods_say_what_to_use(model, name, message):
    assert not hasattr(model, name)
    assert name not in dir(model)
    with pytest.raises(AttributeError, match=message):
        getattr(model, name)


def test_other_attributes_have_their_own_errors():
    with pytest.raises(AttributeError, match="object has no attribute 'something'"):
        _ = mm.MulticlassSVM().something
    with pytest.raises(sklearn.exceptions.NotFittedError):
        _ = mm.MulticlassSVM().feature_names_out


# ---------------------------------------------------------------------- class weights


def test_all_classifiers_with_class_weights_say_which(tmp_path):
    none = mm.MulticlassSVM().fit(ROWS, LABELS)
    assert none.class_weight_ == dict.fromkeys(range(4), 1.0)
    rows = mm.MulticlassSVM(class_weight={1: 3.0}, classes=[0, 1, 2, 3, 4]).fit(ROWS, LABELS)
    assert rows.class_weight_ == {0: 1.0, 1: 3.0, 2: 1.0, 3: 1.0, 4: 1.0}
    rows.save(tmp_path / "m.mm")
    assert mm.load(tmp_path / "m.mm").class_weight_ == rows.class_weight_
    nodes = mm.TaxonomyClassifier(
        hierarchy=[("r", "a"), ("r", "b"), ("r", "c"), ("r", "d"), ("r", "e")], class_weight="balanced"
    ).fit(ROWS, np.array(list("abcd"))[LABELS])
    counts = np.bincount(LABELS)
    assert nodes.class_weight_ == pytest.approx({**dict(zip("abcd", 120 / (4 * counts), strict=True)), "e": 1.0})
    tagger = mm.SequenceTagger().fit(X, Y)
    assert tagger.class_weight_ == dict.fromkeys(range(4), 1.0)


@pytest.mark.parametrize("loss", ["zero-one", {0: 2.0}])
def test_class_weights_of_rows_multiply_sample_weights(loss):
    sample_weight = np.random.default_rng(0).integers(0, 3, len(LABELS)).astype(float)
    model = mm.MulticlassSVM(loss=loss, class_weight={0: 5.0, 1: 0.0}).fit(ROWS, LABELS, sample_weight)
    factors = np.select([LABELS == 0, LABELS == 1], [5.0, 0.0], 1.0)
    other = mm.MulticlassSVM(loss=loss).fit(ROWS, LABELS, sample_weight * factors)
    np.testing.assert_array_equal(model.coef_, other.coef_)


def test_balanced_rows():
    model = mm.MulticlassSVM(class_weight="balanced").fit(ROWS, LABELS)
    weights = sklearn.utils.compute_sample_weight("balanced", LABELS)
    np.testing.assert_array_equal(model.coef_, mm.MulticlassSVM().fit(ROWS, LABELS, weights).coef_)
    twice = mm.MulticlassSVM(class_weight="balanced", C=1.0).fit(
        np.r_[ROWS, ROWS[LABELS == 1]], np.r_[LABELS, LABELS[LABELS == 1]]
    )
    weighted = mm.MulticlassSVM(class_weight="balanced").fit(ROWS, LABELS, 1.0 + (LABELS == 1))
    np.testing.assert_array_equal(twice.coef_, weighted.coef_)


@pytest.mark.parametrize("loss", ["hamming", {1: 2.0}, 2.0 * (1.0 - np.eye(4))])
def test_class_weights_of_tokens_multiply_costs(loss):
    weights = {0: 3.0, 2: 0.5}
    model = mm.SequenceTagger(loss=loss, class_weight=weights).fit(X, Y)
    table = mm.SequenceTagger(loss=loss).fit(X, Y).structure_.costs_
    expected = table * np.array([3.0, 1.0, 0.5, 1.0])[:, None]
    np.testing.assert_array_equal(model.structure_.costs_, expected)
    np.testing.assert_array_equal(model.coef_, mm.SequenceTagger(loss=expected).fit(X, Y).coef_)


def test_balanced_tokens_and_a_saved_model(tmp_path):
    counts = np.bincount(np.concatenate(Y))
    model = mm.SequenceTagger(class_weight="balanced").fit(X, Y)
    assert model.class_weight_ == pytest.approx({k: counts.sum() / (4 * n) for k, n in enumerate(counts.tolist())})
    model.save(tmp_path / "m.mm")
    assert mm.load(tmp_path / "m.mm").predict(X) == model.predict(X)
    columns = mm.ColumnTagger(class_weight="balanced").fit([["a", "b"]], [["A", "B"]])
    assert columns.class_weight_ == {"A": 1.0, "B": 1.0}


def test_a_heavier_class_is_found_more_often():
    plain, heavy = (mm.SequenceTagger(class_weight=w).fit(X, Y).predict(X) for w in (None, {0: 20.0}))
    assert sum(y.count(0) for y in heavy) > sum(y.count(0) for y in plain)


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "class_weight must be None, 'balanced' or a dict by label, found 'even'"),
        ({0: -1.0}, r"class_weight\[0\] must be a number ≥ 0, found -1.0"),
        ({"zero": 1.0}, "class_weight has the label 'zero', which does not occur in Y, and none for"),
    ],
)
def test_wrong_class_weights(class_weight, message):
    with pytest.raises(ValueError, match=message):
        mm.MulticlassSVM(class_weight=class_weight).fit(ROWS, LABELS)
    with pytest.raises(ValueError, match=message):
        mm.SequenceTagger(class_weight=class_weight).fit(X, Y)


def test_class_weights_need_costs_of_tokens():
    with pytest.raises(ValueError, match=r"class_weight needs a loss that sums over tokens .*, found 'zero-one'"):
        mm.SequenceTagger(loss="zero-one", class_weight="balanced").fit(X, Y)


def test_a_fold_may_lack_a_label_with_a_weight():
    rare = LABELS.copy()
    rare[0] = 9
    weights = {0: 1.0, 1: 1.0, 2: 2.0, 3: 1.0, 9: 3.0}
    scores = cross_val_score(mm.MulticlassSVM(class_weight=weights), ROWS, rare, cv=KFold(3), error_score="raise")
    assert np.isfinite(scores).all()


# ---------------------------------------------------------------------- folds


@pytest.mark.parametrize("model", [mm.MulticlassSVM(), mm.StructuralSVM(mm.Multiclass(cost={0: 2.0}))])
def test_labels_unseen_in_training_are_wrong(model):
    rare = LABELS.copy()
    rare[0] = 9
    search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=KFold(3), error_score="raise").fit(ROWS, rare)
    assert np.isfinite(search.best_score_)


@pytest.mark.parametrize(
    ("cost", "expected"), [("hamming", 2.0), ("hamming-share", 2 / 3), ("zero-one", 1.0), ({0: 3.0}, 4.0)]
)
def test_losses_of_unseen_labels(cost, expected):
    chain = mm.Chain(cost=cost).fit([np.ones((2, 1))], [[0, 1]])
    assert chain.score_loss([9, 0, 1], [0, 1, 1]) == expected
    with pytest.raises(ValueError, match="unknown label 9"):
        chain.loss([9, 0, 1], [0, 1, 1])
    assert chain.score_loss([0, 0, 1], [0, 0, 1]) == 0.0


def test_cost_matrices_know_no_other_label():
    chain = mm.Chain(cost=1.0 - np.eye(2)).fit([np.ones((2, 1))], [[0, 1]])
    with pytest.raises(ValueError, match="unknown label 9"):
        chain.score_loss([9], [0])


# ---------------------------------------------------------------------- names of arguments


@pytest.mark.parametrize("model", [mm.SequenceTagger(), mm.StructuralSVM(mm.Chain())])
def test_outputs_are_called_y(model, tmp_path):
    path = tmp_path / "c"
    first = clone(model).set_params(checkpoint=path, max_iter=3, tol=1e-9)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        first.fit(X, y=Y)
    by_name, by_place = clone(model).fit(X, y=Y), clone(model).fit(X, Y)
    np.testing.assert_array_equal(by_name.coef_, by_place.coef_)
    assert by_name.score(X, y=Y) == by_name.score(X, Y)
    resumed = clone(model).set_params(tol=1e-9, max_iter=3)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        resumed.fit(X, y=Y, resume=path)
    (only,) = mm.regularization_path(model, X, y=Y, Cs=[0.3])
    assert only.score(X, Y) > 0 or isinstance(model, mm.StructuralSVM)
    for call in (by_name.fit, by_name.score):
        with pytest.raises(TypeError, match="unexpected keyword argument 'Y'"):
            call(X, Y=Y)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        by_name.score(X)
    with pytest.raises(ValueError, match="Y: expected a sequence of examples, found NoneType"):
        by_name.fit(X)


def test_clusters_by_y():
    pairs = [np.abs(np.subtract.outer(p, p))[:, :, None] for p in ([0.0, 1.0, 5.0], [3.0, 9.0, 3.5])]
    model = mm.ForestClustering(C=10.0).fit(pairs, y=[[0, 0, 1], [0, 1, 0]])
    assert model.score(pairs, y=[[0, 0, 1], [0, 1, 0]]) == 1.0


def test_a_path_needs_trade_offs():
    with pytest.raises(TypeError, match="regularization_path requires Cs"):
        mm.regularization_path(mm.SequenceTagger(), X, Y)


def test_qid_is_a_name_of_the_groups():
    ranker = mm.StructuredRanker(measure="precision@2", drop_empty=True)
    by_qid, by_groups = clone(ranker).fit(RANKED, RELEVANT, qid=QUERIES), ranker.fit(RANKED, RELEVANT, QUERIES)
    np.testing.assert_array_equal(by_qid.coef_, by_groups.coef_)
    score = by_qid.score(RANKED, RELEVANT, qid=QUERIES)
    assert score == by_qid.score(RANKED, RELEVANT, QUERIES)
    assert mm.metrics.precision_at_k(RELEVANT, by_qid.predict(RANKED), QUERIES, k=2) == score
    (model,) = mm.regularization_path(ranker, RANKED, RELEVANT, [1.0], groups=QUERIES)
    np.testing.assert_allclose(model.coef_, by_qid.coef_)
    with pytest.raises(TypeError, match="groups and qid are the same argument"):
        ranker.fit(RANKED, RELEVANT, QUERIES, qid=QUERIES)


@pytest.mark.parametrize("name", ["groups", "qid"])
def test_routed_queries(name):
    with pytest.raises(ValueError, match=r"groups= is required.*set_fit_request"):
        mm.StructuredRanker().fit(RANKED, RELEVANT)
    with pytest.raises(ValueError, match="groups= is required"):
        mm.metrics.precision_at_k(RELEVANT, RANKED[:, 0])
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = mm.StructuredRanker(measure="precision@2", drop_empty=True)
        request = {"groups": name == "groups", "qid": name == "qid"}
        ranker = ranker.set_fit_request(**request).set_score_request(**request)
        params = {"groups": QUERIES, name: QUERIES}
        scores = cross_val_score(ranker, RANKED, RELEVANT, cv=GroupKFold(2), params=params, error_score="raise")
    assert np.isfinite(scores).all()


# ---------------------------------------------------------------------- data frames


def test_column_names_reach_the_weights_of_a_tagger(tmp_path):
    pandas = pytest.importorskip("pandas")
    names = [f"feature {j}" for j in range(X[0].shape[1])]
    frames = [pandas.DataFrame(x, columns=names) for x in X]
    model = mm.SequenceTagger().fit(frames, Y)
    plain = mm.SequenceTagger().fit(X, Y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    assert model.feature_names_in_.tolist() == names
    assert model.feature_names_out[0] == "feature 0 → 0"
    assert set(names) < set(model.weights_frame()["feature"])
    assert model.predict(frames) == plain.predict(X) == model.predict(X)
    with pytest.raises(ValueError, match=r"X\[1\]: columns \['feature 7'.*, expected \['feature 0'"):
        model.predict([frames[0], frames[1][names[::-1]]])
    model.save(tmp_path / "m.mm")
    loaded = mm.load(tmp_path / "m.mm")
    assert loaded.feature_names_in_.tolist() == names
    assert loaded.feature_names_out.tolist() == model.feature_names_out.tolist()
    frames[3] = frames[3].rename(columns={"feature 1": "other"})
    with pytest.raises(ValueError, match=r"X\[3\]: columns .*'other'"):
        mm.SequenceTagger().fit(frames, Y)


def test_columns_without_names():
    pandas = pytest.importorskip("pandas")
    model = mm.SequenceTagger().fit([pandas.DataFrame(x) for x in X], Y)
    assert not hasattr(model, "feature_names_in_")
    assert model.feature_names_out[0] == "x0 → 0"


def test_column_names_of_rows():
    pandas = pytest.importorskip("pandas")
    names = [f"feature {j}" for j in range(ROWS.shape[1])]
    model = mm.MulticlassSVM().fit(pandas.DataFrame(ROWS, columns=names), LABELS)
    frame = model.weights_frame()
    assert list(frame.columns) == ["feature", "label", "weight"]
    row = frame[(frame["feature"] == "feature 2") & (frame["label"] == 1)]
    assert row["weight"].tolist() == [model.coef_[1, 2]]


# ---------------------------------------------------------------------- weights as a frame


def test_weights_of_a_tagger():
    pytest.importorskip("pandas")
    pairs = [(x, x[1:, :2]) for x in X]
    model = mm.SequenceTagger(transition_features=True).fit(pairs, Y)
    frame = model.weights_frame()
    assert list(frame.columns) == ["feature", "label", "next_label", "weight"]
    assert (frame["weight"].abs().diff().dropna() <= 0).all()
    weights = {tuple(row[:3]): row[3] for row in frame.itertuples(index=False)}
    assert len(weights) == len(model.coef_)
    names = {
        (f"{feature} → {label}" if feature not in ("transition", "end") else f"{label} → {following or 'end'}")
        if following is None or feature == "transition"
        else f"{feature}: {label} → {following}"
        for feature, label, following in weights
        if feature != "transition"
    }
    names |= {f"{a} → {b}" for feature, a, b in weights if feature == "transition"}
    assert names == set(model.feature_names_out)
    assert weights["transition", 1, 2] == model.transitions_[1, 2]
    assert weights["start", 3, None] == model.start_[3]
    assert weights["end", 0, None] == model.end_[0]
    tables = model.structure_.split_weights(model.coef_)
    assert weights["x2", 1, None] == tables["tokens"][2, 1]
    assert weights["x1", 0, 3] == tables["edges"][1, 0, 3]


def test_weights_of_others():
    pytest.importorskip("pandas")
    strings = ["ACGTTTT", "AAAATTT", "ACGAAAA", "TTTTTTT"]
    finder = mm.MotifFinder(length=3, background_order=1).fit(strings, [1, 0, 1, 0])
    frame = finder.weights_frame()
    assert list(frame.columns) == ["feature", "position", "character", "context", "weight"]
    motif = finder.structure_.split_weights(finder.coef_)["motif"]
    row = frame[(frame["position"] == 2) & (frame["character"] == "C")]
    assert row["weight"].tolist() == [motif[1, 1]]
    parser = mm.StructuralSVM(mm.Tree()).fit([np.ones((3, 3, 2))], [[0, 0]])
    assert list(parser.weights_frame().columns) == ["feature", "weight"]
