"""Confidence of a fitted estimator: max-marginals, and margins between labels."""

import numpy as np
import pytest

import maxmargin as mm


@pytest.fixture(scope="module")
def chains():
    X, Y = mm.datasets.make_chains(30, random_state=0)
    return X, Y, mm.SequenceTagger(C=1.0).fit(X, Y)


def test_tables_of_a_tagger(chains):
    X, _, tagger = chains
    tables = tagger.decision_scores(X)
    assert [table.shape for table in tables] == [(len(x), len(tagger.classes_)) for x in X]
    for x, table, labels in zip(X, tables, tagger.predict(X), strict=True):
        best = tagger.topk(x, 1)[0][1]
        np.testing.assert_allclose(table.max(axis=1), best)
        assert tagger.classes_[table.argmax(axis=1)].tolist() == labels


def test_the_least_margin_is_that_of_the_two_best_labellings(chains):
    X, _, tagger = chains
    for x, margins in zip(X, tagger.decision_margins(X), strict=True):
        (_, best), (_, second) = tagger.topk(x, 2)
        assert margins.min() == pytest.approx(best - second)


def test_constraints_leave_one_label(chains):
    X, _, _ = chains
    Y = [["a"] + ["b"] * (len(x) - 1) for x in X]
    only_a = mm.Constraints(start=("b",), transitions=(("a", "a"), ("b", "a")))
    tagger = mm.SequenceTagger(constraints=only_a).fit(X, Y)
    table = tagger.decision_scores(X)[0]
    assert np.isneginf(table[0, 1]) and np.isneginf(table[1:, 0]).all()
    assert np.isposinf(tagger.decision_margins(X)[0]).all()


def test_no_sequences_and_empty_ones(chains):
    _, _, tagger = chains
    assert tagger.decision_scores([]) == []
    assert tagger.decision_scores([np.zeros((0, tagger.n_features_in_))])[0].shape == (0, len(tagger.classes_))


def test_labels_of_rows():
    X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), ["a", "a", "b", "b"]
    model = mm.MulticlassSVM().fit(X, y)
    scores = model.decision_scores(X)
    assert scores.shape == (4, 2)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], model.decision_function(X))
    np.testing.assert_allclose(model.decision_margins(X), np.abs(model.decision_function(X)))
    other = mm.StructuralSVM(mm.Multiclass()).fit(X, y)
    np.testing.assert_allclose(other.decision_scores(X), other.coef_.reshape(-1, 2)[0] * X + other.coef_[2:])


@pytest.mark.parametrize("measure", ["ndcg@2", "pairwise", "ap", "precision@2"])
def test_documents_and_rows_have_their_own_scores(measure):
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=(n, 2)) for n in (4, 3)], [[1, 0, 0, 1], [0, 1, 0]]
    model = mm.StructuralSVM(mm.Ranking(measure=measure)).fit(X, Y)
    for x, found in zip(X, model.decision_scores(X), strict=True):
        np.testing.assert_allclose(found, x @ model.coef_, atol=1e-12)
    with pytest.raises(AttributeError) as error:
        model.explain(X[0])
    assert "Ranking cannot explain an output: use the scores w·x of the documents" in str(error.value.__cause__)
    rows = mm.StructuralSVM(mm.Contingency()).fit(X, Y)
    for x, found, labels in zip(X, rows.decision_scores(X), rows.predict(X), strict=True):
        np.testing.assert_allclose(found, x @ rows.coef_[:2] + rows.coef_[2], atol=1e-12)
        assert labels == (found > 0).astype(int).tolist()


def test_arcs_of_a_tree():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 4, 2)) for _ in range(6)]
    parser = mm.StructuralSVM(mm.Tree()).fit(X, [[0, 1, 1], [2, 0, 2]] * 3)
    for x, table, heads in zip(X, parser.decision_scores(X), parser.predict(X), strict=True):
        scores = {tuple(tree): score for tree, score in parser.topk(x, 100)}
        for h in range(4):
            for m in range(1, 4):
                having = [score for tree, score in scores.items() if tree[m - 1] == h]
                assert table[h, m] == pytest.approx(max(having, default=-np.inf))
        assert all(table[h, m] == pytest.approx(table.max()) for m, h in enumerate(heads, 1))


def test_ranked_rows_have_their_scores():
    X, y, queries = np.array([[1.0], [0.0], [0.8], [0.1]]), [1, 0, 1, 0], [1, 1, 2, 2]
    ranker = mm.StructuredRanker(measure="precision@1").fit(X, y, groups=queries)
    assert ranker.decision_scores(X).tolist() == ranker.predict(X).tolist()


class Sign(mm.Structure):
    def joint_feature(self, x, y):
        return y * np.asarray(x)

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return 1 if w @ x >= 0 else -1

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((-1, 1), key=lambda y_hat: y_hat * (w @ x) + scale * (y_hat != y))


def test_methods_that_could_only_raise_are_left_out():
    own = mm.StructuralSVM(Sign()).fit(np.eye(2), [1, -1])
    with pytest.raises(AttributeError) as error:
        own.decision_scores(np.eye(2))
    assert "decision_scores needs a structure over parts, which Sign is not" in str(error.value.__cause__)
    missing = {
        own: {"topk", "explain", "decision_scores"},
        mm.StructuralSVM(mm.ROCArea()): {"topk", "explain"},
        mm.StructuredRanker(): {"topk", "explain"},
        mm.ForestClustering(): {"topk", "explain"},
        mm.DecoyRanker(): {"topk", "explain", "decision_scores"},
        mm.DiverseSelector(): {"topk", "decision_scores"},
        mm.RNAFolder(): {"decision_scores"},
        mm.CostLearner(mm.Optimizer.assignment(2)): {"decision_scores"},
        mm.MeasureSVC(): {"topk"},
        mm.ConstituencyParser(): set(),
        mm.SequenceTagger(class_weight="balanced"): set(),
        mm.StructuralSVM(mm.Tree()): set(),
    }
    for estimator, names in missing.items():
        found = {name for name in ("topk", "explain", "decision_scores") if not hasattr(estimator, name)}
        assert found == names, estimator
