"""Graphs with several types of nodes and edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm

CLASSES = {"word": ["a", "b"], "box": ["x", "y", "z"]}
NODES = {"word": np.array([[1.0, 2.0], [3.0, 4.0]]), "box": sp.csr_array([[5.0]])}
EDGES = {("word", "box"): ([(1, 0), (0, 0)], np.array([[7.0], [8.0]])), ("word", "word", "next"): [(0, 1)]}


def test_types_have_columns_and_labels_of_their_own():
    (nodes, edges, features, allowed), y = mm.typed_graph(NODES, EDGES, CLASSES, {"word": "ba", "box": "z"})
    np.testing.assert_array_equal(nodes.toarray(), [[1, 2, 0], [3, 4, 0], [0, 0, 5]])
    np.testing.assert_array_equal(edges, [[1, 2], [0, 2], [0, 1]])
    np.testing.assert_array_equal(features.toarray(), [[7, 0], [8, 0], [0, 1]])
    np.testing.assert_array_equal(allowed, [[1, 1, 0, 0, 0]] * 2 + [[0, 0, 1, 1, 1]])
    assert y == ["b", "a", "z"]
    assert len(mm.typed_graph(NODES, {}, CLASSES)) == 4


def test_boxes_follow_from_their_words():
    """The label of a box, which has no features, is that of most of its words; words have no labels of boxes."""
    rng, X, Y = np.random.default_rng(0), [], []
    for _ in range(30):
        boxes, place = rng.integers(0, 2, 4), rng.integers(0, 4, 20)
        words = boxes[place]
        nodes = {"word": words[:, None] + 0.5 * rng.normal(size=(20, 1)), "box": np.zeros((4, 1))}
        edges = {("word", "box"): np.stack([np.arange(20), place], axis=1)}
        labels = {"word": np.array(["name", "sum"])[words], "box": np.array(["head", "table"])[boxes]}
        x, y = mm.typed_graph(nodes, edges, {"word": ["name", "sum"], "box": ["head", "table"]}, labels)
        X.append(x)
        Y.append(y)
    model = mm.StructuralSVM(mm.Graph(classes=["name", "sum", "head", "table"]), C=1.0).fit(X[:20], Y[:20])
    found = np.array(model.predict(X[20:]))
    assert set(found[:, :20].ravel()) == {"name", "sum"} and set(found[:, 20:].ravel()) == {"head", "table"}
    assert np.mean(found == np.array(Y[20:])) > 0.95


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": {"word": ["a"]}}, r"classes must have the types of nodes \['word', 'box'\], in this order, found"),
        ({"edges": {("word", "line"): []}}, "types of edges must begin with two types of nodes"),
        ({"edges": {("word", "box"): [(0, 1)]}}, r"edge 0 is \(0, 1\), but there are 1 nodes of 'box'"),
        ({"edges": {("word", "word"): [(1, 1)]}}, "edge 0 joins node 1 with itself"),
        ({"edges": {("word", "word"): [(0.5, 1)]}}, "expected edges as an array of integers"),
        ({"edges": {("word", "word"): ([(0, 1)], np.ones((2, 1)))}}, "2 rows of features but 1 edges"),
        ({"labels": {"word": ["a", "b"]}}, "labels of 'box': expected 1, one for each node, found 0"),
    ],
)
def test_bad_input(change, message):
    given = {"nodes": NODES, "edges": EDGES, "classes": CLASSES} | change
    with pytest.raises(ValueError, match=message):
        mm.typed_graph(**given)
