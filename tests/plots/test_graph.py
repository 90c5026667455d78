"""A labelled graph is drawn with its wrong nodes marked."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import maxmargin as mm

pytest.importorskip("matplotlib").use("Agg")


def test_wrong_nodes_are_marked():
    import matplotlib.pyplot as plt

    rows, edges = np.eye(5)[:, :2], [(0, 1), (1, 2), (2, 3), (3, 4)]
    model = mm.GraphLabeler(C=1.0).fit([(rows, edges)], [["a", "b", "a", "b", "a"]])
    found = model.predict([(rows, edges)])[0]
    true = [*found[:4], "b" if found[4] == "a" else "a"]
    display = mm.plots.GraphDisplay.from_estimator(model, (rows, edges), true)
    assert display.wrong.tolist() == [False] * 4 + [True]
    assert display.ax_.get_title() == "1 of 5 nodes wrong"
    assert len(display.ax_.collections[0].get_segments()) == 4
    assert true[4] in [text.get_text() for text in display.ax_.texts]
    assert np.isfinite(display.positions).all() and display.positions.shape == (5, 2)
    plt.close(display.figure_)


def test_graphs_of_networkx_and_unknown_labels():
    import matplotlib.pyplot as plt

    graph = nx.path_graph(["x", "y", "z"])
    nx.set_node_attributes(graph, 1.0, "one")
    model = mm.GraphLabeler(C=1.0).fit([graph], [{"x": 0, "y": 1, "z": 0}])
    display = mm.plots.GraphDisplay.from_estimator(model, graph, {"x": 0, "y": None, "z": 1})
    assert display.wrong.tolist() == [False, False, True] and display.ax_.get_title() == "1 of 2 nodes wrong"
    assert [text.get_text() for text in display.ax_.texts] == ["x", "y", "z 1"]
    plt.close(display.figure_)
    with pytest.raises(ValueError, match="expected true labels of 2 nodes, found 1"):
        mm.plots.GraphDisplay([(0, 1)], [0, 1], [0])
    with pytest.raises(ValueError, match="expected edges of nodes 0 to 1, found node 2"):
        mm.plots.GraphDisplay([(0, 2)], [0, 1])
