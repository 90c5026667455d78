"""GraphLabeler learns labels of graphs and grids."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import maxmargin as mm


def boards(n, size=6, seed=0, noise=1.0):
    """Grids whose cells alternate, with noise."""
    rng = np.random.default_rng(seed)
    Y = [(np.indices((size, size + 1)).sum(axis=0) + rng.integers(2)) % 2 for _ in range(n)]
    return [y + noise * rng.normal(size=y.shape) for y in Y], Y


def test_grids_of_neighbours_that_differ():
    X, Y = boards(20)
    model = mm.GraphLabeler().fit(X[:10], Y[:10])
    cut = mm.CutSegmenter(features="channels").fit(X[:10], Y[:10])
    assert model.score(X[10:], Y[10:]) > 0.98 and cut.score(X[10:], Y[10:]) < 0.8
    found = model.predict(X[10:12])
    assert found[0].shape == (6, 7) and found[0].dtype == model.classes_.dtype
    assert model.node_weights_.shape == (2, 2) and model.edge_weights_.shape == (2, 4)
    scores, margins = model.decision_scores(X[10:11])[0], model.decision_margins(X[10:11])[0]
    assert scores.shape == (6, 7, 2) and (margins > 0).all()
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=2)], found[0])


def test_best_labellings_and_explanations():
    X, Y = boards(6, 2)
    model = mm.GraphLabeler().fit(X, Y)
    ranked = model.topk(X[0], 3)
    assert [labels.shape for labels, _ in ranked] == [(2, 3)] * 3
    assert ranked[0][1] >= ranked[1][1] >= ranked[2][1]
    np.testing.assert_array_equal(ranked[0][0], model.predict(X[:1])[0])
    explained = model.explain(X[0])
    assert explained.margin == pytest.approx(ranked[0][1] - ranked[1][1])


def test_given_labels_are_kept_and_others_follow():
    X, Y = boards(12, noise=3.0)
    model = mm.GraphLabeler(C=1.0).fit(X, Y)
    given = np.full(Y[0].shape, None)
    given[0, 0] = 1 - Y[0][0, 0]
    found = model.predict(X[:1], given=[given])[0]
    np.testing.assert_array_equal(found, 1 - Y[0])
    even, odd, graph = (nx.path_graph(["a", "b", "c"]) for _ in range(3))
    for some, bias in ((even, 1.0), (odd, -1.0), (graph, 0.0)):
        nx.set_node_attributes(some, {"a": 0.0, "b": bias, "c": 0.0}, "bias")
    other = mm.GraphLabeler(C=1.0).fit([even, odd], [{"a": 0, "b": 1, "c": 0}, {"a": 1, "b": 0, "c": 1}])
    assert other.predict([graph], given=[{"b": 0}]) == [{"a": 1, "b": 0, "c": 1}]
    assert other.predict([graph], given=[{"b": 1}]) == [{"a": 0, "b": 1, "c": 0}]
    with pytest.raises(ValueError, match="'z' is not a node"):
        other.predict([graph], given=[{"z": 1}])
    with pytest.raises(ValueError, match="given has 2 entries, but X has 1 graphs"):
        model.predict(X[:1], given=[given] * 2)
    with pytest.raises(ValueError, match="unknown label 7"):
        other.predict([graph], given=[{"b": 7}])


def test_unknown_labels_are_estimated():
    X, Y = boards(20)
    rng = np.random.default_rng(1)
    hidden = [np.where(rng.random(y.shape) < 0.25, -1, y) for y in Y[:10]]
    model = mm.GraphLabeler(latent=True, unknown=-1).fit(X[:10], hidden)
    assert model.certificate_.outer_steps > 1
    assert model.score(X[10:], Y[10:]) > 0.95
    assert model.score(X[:10], hidden) > 0.95


@pytest.mark.parametrize(
    ("parameters", "X", "y", "message"),
    [
        ({}, [np.ones((2, 3))], [np.ones((3, 2))], r"Y\[0\]: expected labels of shape \(2, 3\) as the grid has, found"),
        ({"pairs": "some"}, [np.ones((2, 3))], [np.eye(2, 3)], "pairs must be 'full'"),
        ({"neighbours": 6}, [np.ones((2, 3))], [np.eye(2, 3)], "neighbours must be 4 or 8, found 6"),
        ({"branches": -1}, [np.ones((2, 3))], [np.eye(2, 3)], "branches must be an integer ≥ 0"),
        ({}, [(np.ones((2, 1)), [(0, 5)])], [[0, 1]], r"X\[0\]: edge 0 is \(0, 5\), expected nodes from 0 to 1"),
    ],
)
def test_bad_input(parameters, X, y, message):
    with pytest.raises(ValueError, match=message):
        mm.GraphLabeler(**parameters).fit(X, y)


def test_labels_that_are_no_classes():
    X, Y = [np.array([[0.0], [1.0]])], [np.array([["low"], ["high"]])]
    model = mm.GraphLabeler(C=10.0).fit(X, Y)
    with pytest.warns(UserWarning, match="none of the true labels is a class of the model.*'high', 'low'"):
        assert model.score(X, [np.array([[0], [1]])]) == 0.0
    assert model.score(X, [np.array([["low"], ["other"]])]) == 0.5  # without a warning


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_are_estimated_or_an_error(missing):
    X, Y = boards(6)
    partial = [y.astype(object) for y in Y]
    partial[1][0, 2] = missing
    with pytest.raises(ValueError, match=r"Y\[1\]: the label of node 2 is unknown \((None|nan)\); pass latent=True"):
        mm.GraphLabeler().fit(X, partial)
    assert mm.GraphLabeler(latent=True).fit(X, partial).score(X, Y) > 0.9


def test_one_graph_in_the_place_of_a_list():
    graph = nx.path_graph([("a", 1), ("b", 2)])
    model = mm.GraphLabeler().fit([graph], [["x", "y"]])
    for call in (lambda: model.fit(graph, {}), lambda: model.predict(graph), lambda: model.score(graph, ["x", "y"])):
        with pytest.raises(ValueError, match=r"X: expected a list of graphs, found one graph; pass \[graph\]"):
            call()
