"""Precision@k against plain enumeration of all choices of documents."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core.planes import Answers
from maxmargin.structures.ranking.outputs import TopDocuments
from maxmargin.structures.ranking.structure import Ranking
from maxmargin.testing.conformance import BOUNDS, StructureConformance, every_case
from tests.helpers.instances.rows_and_sequences import Queries


class TestPrecisionAtK(StructureConformance):
    def instance(self, seed):
        return Queries(seed)

    def risk(self, case, y, y_hat):
        """The documents of y_hat that y does not have: y is a set of documents, not labels."""
        return float(len(set(y_hat) - set(y)))

    @every_case
    def test_every_bound_is_exact(self, case):
        assert all(case.examples.exact_for(bound) for bound in BOUNDS)

    @every_case
    def test_of_equals_the_first_wins(self, case):
        ids = np.arange(case.n)
        scales = case.rng.choice([0.0, 0.5, 1.0, 3.0], case.n)
        answers = case.decoded(ids, scales)
        for i in ids.tolist():
            values = case.dense[i] @ case.w - scales[i] * (case.Y[i] > 0)
            if len(set(np.round(values, 9))) == len(values) or case.whole:
                top = np.argsort(-values, kind="stable")[: case.k]
                assert case.found(answers, i) == tuple(sorted(top.tolist()))


def test_prediction_without_relevance_takes_the_first_of_equals():
    structure = Ranking(measure="precision@2").fit([np.eye(3)], [[1, 0, 0]])
    examples = structure.encode([np.eye(3), np.ones((1, 3))])
    answers = Answers.empty(2, 3)
    examples.decode(np.array([0.0, 0.0, 1.0]), np.arange(2), np.zeros(2), answers)
    assert examples.outputs(answers) == [(0, 2), (0,)]
    assert answers.keys.all(), "nothing is known to be the truth"


def test_many_documents_and_large_k():
    rng = np.random.default_rng(0)
    x, y, w = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000), rng.normal(size=5)
    found = Ranking(measure="precision@500").fit([x], [y]).loss_augmented_argmax(w, x, y, 2.0)
    assert found == tuple(sorted(np.argsort(-(x @ w - 2.0 * y), kind="stable")[:500].tolist()))


def test_saved_and_loaded(tmp_path):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 3)) for _ in range(4)]
    Y = [(x[:, 0] > 0).astype(int) | (np.arange(6) == 0) for x in X]
    model = mm.StructuralSVM(mm.Ranking(measure="precision@2")).fit(X, Y)
    model.save(tmp_path / "model")
    again = mm.load(tmp_path / "model")
    assert again.predict(X) == model.predict(X)
    assert list(again.structure_.feature_names()) == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("k", "X", "Y", "message"),
    [
        (1, [np.eye(2), np.eye(2)], [[1, 0], [0, -1]], "Y[1]: the query has no relevant document"),
        (1, [np.eye(2)], [[1, 0, 0]], "X[0]: 2 documents but 3 relevance labels"),
        (1, [np.eye(2)], [[1, 0], [1, 0]], "X has 1 queries but Y has 2"),
        (1, [np.eye(2), np.eye(3)], [[1, 0], [1, 0, 0]], "X[1]: 3 features per document, expected 2"),
        (1, [np.eye(2)], [["yes", "no"]], "Y[0]: relevance labels must be numbers"),
        (1, [np.eye(2)], [1], "Y[0]: expected one relevance label for each document, found int 1"),
        (1, [np.eye(2)], [[1, np.nan]], "Y[0], document 1: relevance must be finite, found nan"),
        (1, [np.array([[1.0], [np.inf]])], [[1, 0]], "features must be finite"),
        (0, [np.eye(2)], [[1, 0]], "k of the measure must be an integer ≥ 1, found 0"),
        (1.5, [np.eye(2)], [[1, 0]], "measure must be 'ndcg@k', 'precision@k' (k a number"),
    ],
)
def test_bad_input(k, X, Y, message):
    with pytest.raises(ValueError) as error:
        Ranking(measure=f"precision@{k}").fit(X, Y)
    assert message in str(error.value)


@pytest.mark.parametrize("documents", [(0,), (0, 0), (0, 5), (-1, 0), (0, 1, 2)])
def test_documents_that_are_no_output(documents):
    structure = Ranking(measure="precision@2").fit([np.eye(3)], [[1, 0, 0]])
    with pytest.raises(ValueError, match="expected 2 distinct documents between 0 and 2"):
        structure.joint_feature(np.eye(3), TopDocuments(documents))
    with pytest.raises(ValueError, match="expected 2 distinct documents between 0 and 2"):
        structure.loss([1, 0, 0], TopDocuments(documents))


def test_losses_are_those_of_documents():
    structure = Ranking(measure="precision@2").fit([np.eye(3)], [[1, 0, 0]])
    assert structure.loss([1, 0, 0], TopDocuments((1, 2))) == 0.5
    with pytest.raises(ValueError, match="expected TopDocuments"):
        structure.loss([1, 0, 0], [0, 1, 0])
