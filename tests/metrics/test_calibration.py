"""Confidences of decisions: labels of tokens and rows, heads of words."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.datasets import toy
from maxmargin.metrics import decision_confidences


def test_heads_of_words():
    X, Y = toy.phrases()
    model = mm.DependencyParser(temperature=2.0, max_iter=30, tol=0.5).fit(X, Y)
    confidences, right = decision_confidences(model, X, Y)
    expected, hits = [], []
    for table, heads, true in zip(model.predict_marginals(X), model.predict(X), Y, strict=True):
        expected += [table[h, m] for m, h in enumerate(heads, 1)]
        hits += [h == t for h, t in zip(heads, true, strict=True)]
    np.testing.assert_array_equal(confidences, expected)
    np.testing.assert_array_equal(right, hits)


def test_labels_of_tokens():
    X, Y = toy.chains()
    model = mm.SequenceTagger(max_iter=30, tol=0.5).fit(X, Y)
    confidences, right = decision_confidences(model, X, Y)
    assert len(confidences) == len(right) == sum(map(len, Y))
    assert right.mean() == pytest.approx(model.score(X, Y))


def test_other_outputs_are_an_error():
    X, Y = toy.molecules()
    model = mm.RNAFolder(max_iter=30, tol=0.5).fit(X, Y)
    with pytest.raises(TypeError, match="RNAFolder predicts neither labels nor heads"):
        decision_confidences(model, X, Y)
