"""StructuredRanker: all measures and bounds, agreement with explicit pairs, bad input."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import LinearSVC

import maxmargin as mm
from maxmargin.exceptions import FormatError


def queries(n_queries=15, n_documents=12, d=5, seed=0):
    """Documents of relevance 0 to 2, by two of the features and noise; rows of queries are mixed."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * n_documents, d))
    groups = np.repeat([f"q{i}" for i in range(n_queries)], n_documents)
    hidden = 2 * X[:, 0] - X[:, 1] + 0.2 * rng.normal(size=len(X))
    y = np.digitize(hidden, [0.6, 1.1])
    y[::n_documents] = 1
    order = rng.permutation(len(X))
    return X[order], y[order], groups[order]


X, Y, GROUPS = queries()
MEASURES = ["pairwise", "ndcg@3", "ndcg", "ap", "precision@3"]


def explicit(X, y, groups):
    """Differences of documents of one query with different relevance, and 1 / (number of its pairs)."""
    rows, weights = [], []
    for query in np.unique(groups):
        own = np.flatnonzero(groups == query)
        better, worse = np.nonzero(y[own][:, None] > y[own])
        rows.append(X[own[better]] - X[own[worse]])
        weights.append(np.full(len(better), 1 / max(len(better), 1)))
    return np.concatenate(rows), np.concatenate(weights)


@pytest.mark.parametrize("measure", MEASURES)
def test_good_documents_come_first(measure):
    model = mm.StructuredRanker(measure=measure).fit(X, Y, groups=GROUPS)
    test = queries(seed=1)
    assert model.coef_[0] > 0 > model.coef_[1]
    constant = clone(model).fit(np.ones_like(X), Y, groups=GROUPS)
    assert model.score(*test) > constant.score(np.ones_like(X), test[1], test[2]) + 0.1
    np.testing.assert_allclose(model.predict(X), X @ model.coef_)
    np.testing.assert_array_equal(model.decision_scores(X), model.predict(X))


def test_pairs_are_the_ranking_svm():
    """The objective of all pairs of a query as one example is that of explicit differences."""
    rows, weights = explicit(X, Y, GROUPS)

    def objective(w):
        return 0.5 * w @ w + 2.0 * weights @ np.maximum(0.0, 1.0 - rows @ w)

    model = mm.StructuredRanker(measure="pairwise", C=2.0, tol=1e-6).fit(X, Y, groups=GROUPS)
    assert model.certificate_.exact
    assert objective(model.coef_) == pytest.approx(model.certificate_.primal, rel=1e-9)
    signs = np.where(np.arange(len(rows)) % 2, 1, -1)
    other = LinearSVC(C=2.0, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
    other.fit(signs[:, None] * rows, signs, sample_weight=weights)
    assert model.certificate_.dual <= objective(other.coef_[0]) + 1e-9
    np.testing.assert_allclose(model.coef_, other.coef_[0], atol=2e-3)


def tied(seed=0):
    """Queries of 10 relevant and 10 other documents, which a single feature tells apart with noise; rows are mixed."""
    rng = np.random.default_rng(seed)
    y, groups = np.tile([1] * 10 + [0] * 10, 30), np.repeat(np.arange(30), 20)
    X = np.stack([y + 1.5 * rng.normal(size=len(y)), rng.normal(size=len(y))], 1)
    order = rng.permutation(len(y))
    return X[order], y[order], groups[order]


def test_ties_make_the_convex_bound_give_zero_weights_and_the_ramp_repairs_it():
    data, test = tied(), tied(seed=1)
    convex = mm.StructuredRanker(measure="ndcg@5", bound="margin").fit(*data)
    assert not convex.coef_.any()
    assert convex.certificate_.dual > 0.999 * 30  # no weights are better than 0, where each query has the loss 1
    for bound in ("ties", "ramp"):
        repaired = mm.StructuredRanker(measure="ndcg@5", bound=bound).fit(*data)
        assert repaired.coef_[0] > 0.2
        assert repaired.score(*test) > convex.score(*test) + 0.2
        objectives = [row["objective"] for row in repaired.history_]
        assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()
    by_default = mm.StructuredRanker(measure="ndcg@5").fit(*data)
    np.testing.assert_array_equal(by_default.coef_, repaired.coef_)


@pytest.mark.parametrize("measure", MEASURES)
def test_scores_are_metrics(measure):
    model = mm.StructuredRanker(measure=measure, gain="linear", discount="letor").fit(X, Y, groups=GROUPS)
    scores = model.predict(X)
    expected = {
        "pairwise": mm.metrics.pair_accuracy(Y, scores, GROUPS),
        "ndcg@3": mm.metrics.ndcg_at_k(Y, scores, GROUPS, 3, gain="linear", discount="letor"),
        "ndcg": mm.metrics.ndcg_at_k(Y, scores, GROUPS, None, gain="linear", discount="letor"),
        "ap": mm.metrics.mean_average_precision(Y, scores, GROUPS),
        "precision@3": mm.metrics.precision_at_k(Y, scores, GROUPS, 3),
    }[measure]
    assert model.score(X, Y, GROUPS) == model.score(X, Y, qid=GROUPS) == expected


def test_rows_of_queries_need_not_be_adjacent():
    order = np.argsort(GROUPS, kind="stable")
    mixed = mm.StructuredRanker(measure="pairwise", tol=1e-6).fit(X, Y, groups=GROUPS)
    sorted_ = mm.StructuredRanker(measure="pairwise", tol=1e-6).fit(X[order], Y[order], qid=GROUPS[order].tolist())
    np.testing.assert_allclose(mixed.coef_, sorted_.coef_, atol=5e-3)


def test_sparse_rows_and_data_frames():
    pandas = pytest.importorskip("pandas")
    dense = mm.StructuredRanker(measure="ap", tol=1e-7).fit(X, Y, groups=GROUPS)
    sparse = clone(dense).fit(sp.coo_matrix(X), Y, groups=GROUPS)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(sparse.predict(sp.csc_array(X)), X @ sparse.coef_)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    named = clone(dense).fit(frame, pandas.Series(Y), groups=pandas.Series(GROUPS))
    np.testing.assert_array_equal(named.coef_, dense.coef_)
    assert named.feature_names_out.tolist() == list("abcde")
    assert list(named.weights_frame().columns) == ["feature", "weight"]


def test_save_load_and_clone(tmp_path):
    for measure in MEASURES:
        model = mm.StructuredRanker(measure=measure).fit(X, Y, groups=GROUPS)
        model.save(tmp_path / "ranker.mm", support=True)
        again = mm.load(tmp_path / "ranker.mm")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.get_params() == model.get_params()
        assert repr(again.support_.outputs[:3]) == repr(model.support_.outputs[:3])
        np.testing.assert_array_equal(clone(again).fit(X, Y, groups=GROUPS).coef_, model.coef_)


def test_grid_search_over_measures_with_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = mm.StructuredRanker(measure="pairwise", drop_empty=True)
        ranker = ranker.set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(ranker, {"C": [0.1, 1.0]}, cv=GroupKFold(3)).fit(X, Y, groups=GROUPS)
    assert search.best_score_ > 0.7


def test_checkpoints_of_convex_bounds(tmp_path):
    path = tmp_path / "fit.npz"
    whole = mm.StructuredRanker(measure="pairwise", tol=1e-8).fit(X, Y, groups=GROUPS)
    with pytest.warns(sklearn.exceptions.ConvergenceWarning):
        clone(whole).set_params(max_iter=2, checkpoint=path).fit(X, Y, groups=GROUPS)
    resumed = clone(whole).fit(X, Y, groups=GROUPS, resume=path)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    with pytest.raises(ValueError, match="no checkpoints"):
        mm.StructuredRanker(measure="ndcg@3").fit(X, Y, groups=GROUPS, resume=path)


def test_a_path_over_c():
    models = mm.regularization_path(mm.StructuredRanker(measure="pairwise"), X, Y, [0.1, 1.0], groups=GROUPS)
    alone = mm.StructuredRanker(measure="pairwise").fit(X, Y, groups=GROUPS)
    assert models[1].certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-3)


def test_results_do_not_depend_on_threads():
    for measure in ("pairwise", "ndcg@3", "ap"):
        one, two = (mm.StructuredRanker(measure=measure, n_jobs=n).fit(X, Y, groups=GROUPS) for n in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)


def test_queries_with_nothing_to_learn():
    empty = np.where(np.isin(GROUPS, ["q3", "q7"]), 0, Y)
    for measure, reason in (("ndcg@3", "has no relevant document"), ("pairwise", "has no two documents of different")):
        ranker = mm.StructuredRanker(measure=measure, drop_empty=False)
        with pytest.raises(ValueError, match=rf"query 'q[37]' {reason}.*drop_empty=True.*\(2 here\)"):
            ranker.fit(X, empty, groups=GROUPS)
        kept = ~np.isin(GROUPS, ["q3", "q7"])
        dropped = clone(ranker).set_params(drop_empty=True).fit(X, empty, groups=GROUPS)
        assert dropped.n_dropped_ == 2
        rest = ranker.fit(X[kept], empty[kept], groups=GROUPS[kept])
        assert rest.n_dropped_ == 0
        np.testing.assert_array_equal(dropped.coef_, rest.coef_)
        assert 0 < dropped.score(X, empty, groups=GROUPS) < 1
        with pytest.warns(UserWarning, match=rf"2 of .* queries are left out.*'q[37]' {reason}.*drop_empty"):
            noted = mm.StructuredRanker(measure=measure).fit(X, empty, groups=GROUPS)
        np.testing.assert_array_equal(noted.coef_, rest.coef_)


def test_sizes_of_queries():
    """Of LightGBM and XGBoost: the error says how to make groups of them."""
    message = r"X has 6 rows but groups has 2; these look like the sizes of queries: pass groups=np.repeat"
    with pytest.raises(ValueError, match=message):
        mm.StructuredRanker().fit(X[:6], Y[:6], groups=[4, 2])
    with pytest.raises(TypeError, match="group"):
        mm.StructuredRanker().fit(X[:6], Y[:6], group=[4, 2])


def test_ranked_documents():
    model = mm.StructuredRanker(measure="pairwise").fit(X, Y, groups=GROUPS)
    names = [f"d{i}" for i in range(len(X))]
    ranked, scores = model.rank(X, GROUPS, documents=names), model.predict(X)
    assert set(ranked) == set(GROUPS)
    for query, found in ranked.items():
        rows = [int(name[1:]) for name in found]
        assert sorted(rows) == np.flatnonzero(query == GROUPS).tolist()
        assert (np.diff(scores[rows]) <= 0).all()
    with pytest.raises(ValueError, match=rf"X has {len(X)} rows but documents has 2"):
        model.rank(X, GROUPS, documents=["a", "b"])


def test_few_documents():
    """One query, one document, all relevant, fewer documents than k."""
    with pytest.warns(UserWarning, match="no query has two documents of different relevance"):
        one = mm.StructuredRanker(measure="ndcg@10").fit([[1.0, 2.0]], [1], groups=[0])
    assert one.coef_.tolist() == [0.0, 0.0] and one.score([[1.0, 2.0]], [1], [0]) == 1.0
    two = mm.StructuredRanker(measure="pairwise").fit([[1.0], [0.0]], [1, 0], groups=["a", "a"])
    assert two.coef_[0] == pytest.approx(1.0, abs=1e-3)
    with pytest.warns(UserWarning, match="all rankings are equally good"):
        all_relevant = mm.StructuredRanker(measure="ap").fit(X[:4], [1, 2, 1, 1], groups=[0] * 4)
    assert not all_relevant.coef_.any()


def test_huge_and_tiny_features():
    """Scaling the features by s is scaling C by s²."""
    for factor in (1e-6, 1e6):
        model = mm.StructuredRanker(measure="pairwise", C=1.0 / factor**2, tol=1e-5).fit(factor * X, Y, groups=GROUPS)
        plain = mm.StructuredRanker(measure="pairwise", C=1.0, tol=1e-5).fit(X, Y, groups=GROUPS)
        np.testing.assert_allclose(factor * model.coef_, plain.coef_, atol=1e-2)


@pytest.mark.parametrize(
    ("y", "parameters", "message"),
    [
        (Y, {"measure": "ndcg@0"}, "k of the measure must be an integer ≥ 1, found 0"),
        (Y, {"measure": "mrr"}, "measure must be 'ndcg@k', 'precision@k'.* found 'mrr'"),
        (Y, {"measure": None}, "measure must be"),
        (Y, {"bound": "slack"}, "bound must be 'auto' or 'margin' or 'ties' or 'ramp', found 'slack'"),
        (
            Y,
            {"measure": "ap", "bound": "ties"},
            "bound='ties' is for measures in which the order of documents of equal",
        ),
        (Y, {"start": "zero"}, "start must be one of 'auto', 'convex', .*'pairwise', 'classifier', .* found 'zero'"),
        (Y, {"measure": "ndcg@3", "start": [1.0]}, r"start: the weights have 1 entries, but these data need 5"),
        (Y, {"gain": "log"}, "gain must be 'exponential' or 'linear', found 'log'"),
        (Y, {"discount": "none"}, "discount must be 'log2' or 'letor'"),
        (Y, {"C": 0.0}, "C must be a number > 0"),
        (Y - 1, {"measure": "ndcg@3"}, r"y\[\d+\]: relevance must be at least 0 for NDCG, .*found -1"),
        (0 * Y, {"measure": "ndcg@3"}, "no document is relevant: expected labels above 0 in y"),
        (0 * Y, {"measure": "pairwise"}, "no query has two documents of different relevance"),
        (Y, {"measure": "precision@12"}, "no query has more than 12 documents .the largest has 12.*smaller k"),
        (np.where(Y == 2, 5000, Y), {"measure": "ndcg@3"}, r"y\[\d+\]: the gains of relevance 5000 are too large"),
        (np.where(Y == 2, np.nan, Y), {"measure": "ap"}, r"y\[\d+\]: relevance must be a finite number"),
    ],
)
def test_bad_input(y, parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.StructuredRanker(**parameters).fit(X, y, groups=GROUPS)


def test_bad_groups_and_rows():
    ranker = mm.StructuredRanker()
    with pytest.raises(ValueError, match=r"groups= is required.*StructuredRanker\(\)\.set_fit_request"):
        ranker.fit(X, Y)
    with pytest.raises(ValueError, match="X has 180 rows but groups has 3"):
        ranker.fit(X, Y, groups=[1, 2, 3])
    with pytest.raises(TypeError, match="groups and qid are the same argument"):
        ranker.fit(X, Y, GROUPS, qid=GROUPS)
    with pytest.raises(ValueError, match=r"groups\[3\]: expected the query of the row, found nan"):
        ranker.fit(X, Y, groups=np.where(np.arange(len(Y)) == 3, np.nan, 1.0))
    with pytest.raises(ValueError, match=r"groups\[0\]: expected the query of the row, found None"):
        ranker.fit(X, Y, groups=[None, *GROUPS[1:]])
    with pytest.raises(ValueError, match="NaN"):
        ranker.fit(np.where(X > 0.9, np.nan, X), Y, groups=GROUPS)
    with pytest.raises(ValueError, match="6 features, but StructuredRanker is expecting 5"):
        ranker.fit(X, Y, groups=GROUPS).predict(np.ones((2, 6)))


def test_letor_files(tmp_path):
    lines = [f"{y} qid:{g[1:]} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) for x, y, g in
             zip(X, Y, GROUPS, strict=True)]  # fmt: skip
    path = tmp_path / "train.txt.gz"
    path.write_bytes(gzip.compress(("\n".join(lines) + " #docid = 3\n\n# a comment\n").encode()))
    rows, y, qid = mm.formats.read_letor(path)
    np.testing.assert_array_equal(rows.toarray(), X)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(qid, [int(g[1:]) for g in GROUPS])
    model = mm.StructuredRanker(measure="pairwise", tol=1e-6).fit(rows, y, qid=qid)
    plain = mm.StructuredRanker(measure="pairwise", tol=1e-6).fit(X, Y, groups=GROUPS)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows: expected lines of RELEVANCE qid:QUERY FEATURE:VALUE"),
        ("1 qid:1 1:2\n0 1:3\n", "2: expected qid:QUERY, an integer, after the relevance, found '1:3'"),
        ("1 qid:a 1:2\n", "qid"),
        ("1\n", "1: expected qid:QUERY, an integer, after the relevance, found nothing"),
        ("1 qid:1 1:2 1:3\n", "1: expected features in ascending order"),
        ("x qid:1 1:2\n", "1: expected a number as label, found 'x'"),
    ],
)
def test_bad_letor_files(tmp_path, text, message):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(FormatError, match=message):
        mm.formats.read_letor(tmp_path / "bad.txt")


@pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="real data are in the folder named by MAXMARGIN_DATA")
def test_ohsumed():
    """The training part of the second fold: the convex bound of NDCG gives 0, as Do et al. (2008) found."""
    folder = f"{os.environ['MAXMARGIN_DATA']}/letor_ohsumed"
    parts = [mm.formats.read_letor(f"{folder}/S{i}.txt.gz", n_features=45) for i in (2, 3, 4)]
    X, y, qid = (np.concatenate(column) for column in zip(*((x.toarray(), y, q) for x, y, q in parts), strict=True))
    assert X.shape == (10187, 45) and len(set(qid.tolist())) == 63
    convex = mm.StructuredRanker(measure="ndcg@10", bound="margin").fit(X, y, qid=qid)
    ramp = mm.StructuredRanker(measure="ndcg@10").fit(X, y, qid=qid)
    assert not convex.coef_.any()
    assert convex.certificate_.dual > 0.999 * 63
    assert ramp.score(X, y, qid=qid) > convex.score(X, y, qid=qid) + 0.02


def test_messages_speak_of_documents():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(6), 10)
    with pytest.warns(UserWarning, match="2 landmarks of 60 distinct documents lose"):
        mm.StructuredRanker(kernel=mm.Kernel("rbf", n_components=2)).fit(X, (X[:, 0] > 0).astype(int), groups=groups)
    with pytest.raises(ValueError, match=r"X\[0\]: expected features of documents as an array \(documents, d\)"):
        mm.StructuralSVM(mm.Ranking(measure="precision@1")).fit([["a"], ["b"]], [[1], [0]])
