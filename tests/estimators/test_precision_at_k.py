"""StructuredRanker(measure="precision@k"): queries as groups of rows, the start of the paper, bad input."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import maxmargin as mm


def queries(n_queries=20, n_documents=15, d=6, seed=0):
    """Documents of which a few are relevant, by two of the features and noise; rows of queries are mixed."""
    rng = np.random.default_rng(seed)
    X = rng.random((n_queries * n_documents, d))
    groups = np.repeat([f"q{i}" for i in range(n_queries)], n_documents)
    hidden = 2 * X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=len(X))
    y = np.zeros(len(X), int)
    for query in np.unique(groups):
        rows = np.flatnonzero(groups == query)
        y[rows[np.argsort(-hidden[rows])[: rng.integers(1, 6)]]] = rng.integers(1, 3)
    order = rng.permutation(len(X))
    return X[order], y[order], groups[order]


X, Y, GROUPS = queries()


@pytest.fixture(scope="module")
def ranker():
    return mm.StructuredRanker(measure="precision@3").fit(X, Y, groups=GROUPS)


def test_relevant_documents_come_to_the_top(ranker):
    test = queries(seed=1)
    first = ranker.structure_.encode([X]).blocks[0].width
    assert ranker.coef_.shape == (6,) == (first,)
    assert ranker.coef_[0] > 0 > ranker.coef_[1]
    by_chance = mm.metrics.precision_at_k(test[1], np.zeros(len(X)), test[2], 3)
    assert ranker.score(*test) > by_chance + 0.2
    np.testing.assert_allclose(ranker.predict(X), X @ ranker.coef_)
    assert ranker.score(X, Y, GROUPS) == mm.metrics.precision_at_k(Y, X @ ranker.coef_, GROUPS, 3)
    objectives = [row["objective"] for row in ranker.history_]
    assert (np.diff(objectives) <= 1e-9 * objectives[0]).all()


def test_the_start_is_a_classifier_in_which_every_query_has_the_same_weight():
    kept = (GROUPS != "q0") | (Y > 0)  # the first query is smaller than the others
    sizes = {query: int((GROUPS[kept] == query).sum()) for query in set(GROUPS)}
    fitted = mm.StructuredRanker(measure="precision@3", start_C=2.0, tol=1e-6).fit(
        X[kept], Y[kept], groups=GROUPS[kept]
    )
    classifier = mm.MulticlassSVM(C=2.0, tol=1e-6)
    classifier.fit(X[kept], Y[kept] > 0, sample_weight=[1 / sizes[query] for query in GROUPS[kept]])
    np.testing.assert_allclose(fitted.start_coef_, classifier.coef_[0], atol=1e-3)


def test_weights_to_begin_with(ranker):
    given = mm.StructuredRanker(measure="precision@3", start=ranker.start_coef_).fit(X, Y, groups=GROUPS)
    np.testing.assert_array_equal(given.coef_, ranker.coef_)


def test_rows_of_queries_need_not_stand_together_and_queries_may_have_any_names(ranker):
    order = np.argsort(GROUPS, kind="stable")
    named = {query: (i, query) for i, query in enumerate(np.unique(GROUPS))}
    again = mm.StructuredRanker(measure="precision@3").fit(
        X[order], Y[order], groups=[named[query] for query in GROUPS[order]]
    )
    assert again.history_[-1]["objective"] == pytest.approx(ranker.history_[-1]["objective"], rel=2e-3)
    assert again.score(X, Y, GROUPS) == pytest.approx(ranker.score(X, Y, GROUPS), abs=0.05)


def test_sparse_rows_and_data_frames(ranker):
    pandas = pytest.importorskip("pandas")
    precise = mm.StructuredRanker(
        measure="precision@3", tol=1e-7
    )  # sums are rounded otherwise, so that steps may differ a little
    dense, sparse = (clone(precise).fit(rows, Y, groups=GROUPS) for rows in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), X @ sparse.coef_)
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    named = mm.StructuredRanker(measure="precision@3").fit(frame, pandas.Series(Y), groups=pandas.Series(GROUPS))
    np.testing.assert_array_equal(named.coef_, ranker.coef_)
    assert named.feature_names_out.tolist() == list("abcdef")
    assert ranker.feature_names_out.tolist() == [f"x{j}" for j in range(6)]


def test_labels_of_both_kinds(ranker):
    signs = mm.StructuredRanker(measure="precision@3").fit(X, np.where(Y > 0, 1, -1), groups=GROUPS)
    np.testing.assert_array_equal(signs.coef_, ranker.coef_)


def test_queries_without_relevant_documents():
    empty = np.where(np.isin(GROUPS, ["q3", "q7"]), 0, Y)
    with pytest.raises(ValueError, match=r"query 'q[37]' has no relevant document .* drop_empty=True .* \(2 here\)"):
        mm.StructuredRanker(measure="precision@10", drop_empty=False).fit(X, empty, groups=GROUPS)
    with pytest.warns(UserWarning, match=r"2 of \d+ queries are left out"):
        assert mm.StructuredRanker(measure="precision@10").fit(X, empty, groups=GROUPS).n_dropped_ == 2
    kept = empty.astype(bool) | ~np.isin(GROUPS, ["q3", "q7"])
    dropped = mm.StructuredRanker(measure="precision@10", drop_empty=True).fit(X, empty, groups=GROUPS)
    np.testing.assert_array_equal(
        dropped.coef_, mm.StructuredRanker(measure="precision@10").fit(X[kept], empty[kept], groups=GROUPS[kept]).coef_
    )


def test_all_documents_relevant_or_fewer_than_k():
    with pytest.warns(UserWarning, match="all rankings are equally good"):
        ranker = mm.StructuredRanker(measure="precision@2").fit(X[:4], [1, 1, 1, 1], groups=[0, 0, 0, 1])
    assert ranker.coef_.tolist() == [0.0] * 6
    assert ranker.score(X[:4], [1, 1, 1, 1], [0, 0, 0, 1]) == pytest.approx((1 + 1 / 2) / 2)
    with pytest.raises(ValueError, match=r"no query has more than 5 documents .the largest has 2.*use a smaller k"):
        mm.StructuredRanker(measure="precision@5").fit(X[:3], [1, 0, 1], groups=[0, 0, 1])


def test_save_load_and_clone(ranker, tmp_path):
    ranker.save(tmp_path / "ranker.mm", support=True)
    again = mm.load(tmp_path / "ranker.mm")
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    np.testing.assert_array_equal(again.start_coef_, ranker.start_coef_)
    assert again.get_params() == ranker.get_params()
    assert again.n_features_in_ == 6
    fresh = clone(again)
    assert not hasattr(fresh, "coef_")
    np.testing.assert_array_equal(fresh.fit(X, Y, groups=GROUPS).coef_, ranker.coef_)


def test_grid_search_with_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = mm.StructuredRanker(measure="precision@3").set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(ranker, {"C": [0.1, 1.0]}, cv=GroupKFold(3)).fit(X, Y, groups=GROUPS)
    assert search.best_score_ > 0.4
    assert search.best_params_["C"] in (0.1, 1.0)


@pytest.mark.parametrize(
    ("y", "groups", "parameters", "message"),
    [
        (Y, None, {}, "groups= is required: the query of each row"),
        (Y, GROUPS[:-1], {}, "X has 300 rows but groups has 299"),
        (Y[:-1], GROUPS, {}, "inconsistent numbers of samples"),
        (
            Y,
            [*GROUPS[:-1], ["q"]],
            {},
            r"groups\[299\]: a query must be hashable .*, found list \['q'\]",
        ),
        (
            Y,
            GROUPS[:, None],
            {},
            r"groups: expected a sequence .* of each row, found an array of shape \(300, 1\)",
        ),
        (Y, 3, {}, "groups: expected a sequence with the query of each row, found int"),
        (Y, "q" * 300, {}, "groups: expected a sequence with the query of each row, found str"),
        (Y, set(range(300)), {}, "groups: expected a sequence with the query of each row, found set"),
        (
            ["a"] * 300,
            GROUPS,
            {},
            r"y\[0\]: relevance must be a finite number \(above 0 means .*, found str 'a'",
        ),
        ([*Y[:-1], None], GROUPS, {}, r"y\[299\]: relevance must be a finite number .*, found NoneType None"),
        ([*Y[:-1], np.nan], GROUPS, {}, r"y\[299\]: relevance must be a finite number .*, found float nan"),
        ([*Y[:-1], 10**400], GROUPS, {}, r"y\[299\]: relevance must be a number between ±1.8e308, found a larger one"),
        (0 * Y, GROUPS, {}, "no document is relevant: expected labels above 0 in y"),
        (Y, GROUPS, {"measure": "precision@0"}, "k of the measure must be an integer ≥ 1, found 0"),
        (Y, GROUPS, {"C": 0.0}, "C must be a number > 0, found 0.0"),
        (Y, GROUPS, {"start_C": -1.0}, "start_C must be a number > 0, found -1.0"),
        (Y, GROUPS, {"start": "zero"}, "start must be one of 'auto', 'convex', .*'pairwise', .* found 'zero'"),
        (Y, GROUPS, {"start": [1.0, 2.0]}, r"start: the weights have 2 entries, but these data need 6"),
        (Y, GROUPS, {"bound": "slack"}, "bound must be 'auto' or 'margin' or 'ties' or 'ramp', found 'slack'"),
    ],
)
def test_bad_input(y, groups, parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.StructuredRanker(**{"measure": "precision@10", **parameters}).fit(X, y, groups=groups)


def test_bad_input_to_score(ranker):
    for y in (["a"] * 300, np.full(300, np.nan)):
        with pytest.raises(ValueError, match=r"y\[0\]: relevance must be a finite number"):
            ranker.score(X, y, groups=GROUPS)
    with pytest.raises(ValueError, match="groups: expected a sequence with the query of each row, found int"):
        ranker.score(X, Y, groups=3)
    with pytest.raises(ValueError, match=r"X\[1\]: features must be numbers between ±1.8e308, found a larger one"):
        ranker.predict([[1] * 6, [10**400] * 6])


def test_rows_that_do_not_fit(ranker):
    with pytest.raises(ValueError, match="X has 5 features, but StructuredRanker is expecting 6"):
        ranker.predict(X[:, :5])
    with pytest.raises(ValueError, match="groups= is required"):
        ranker.score(X, Y)
