"""ArcDisplay draws true and predicted arcs, and shows which are wrong."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm
from maxmargin.plots._matplotlib import BLUE, ORANGE


@pytest.fixture
def close():
    yield
    plt.close("all")


def curves(display):
    """Style and side of each arc."""
    lines = [line for line in display.ax_.lines if len(line.get_xdata()) > 1]
    return [(line.get_color(), line.get_linestyle(), bool(np.mean(line.get_ydata()) > 0)) for line in lines]


def test_wrong_arcs_are_dashed(close):
    display = mm.ArcDisplay.from_heads(["she", "reads", "books"], [2, 0, 2], [2, 0, 1])
    right, wrong = (BLUE, "-"), (ORANGE, "--")
    assert curves(display) == [
        (*right, True), (*right, True), (*wrong, True), (*right, False), (*right, False), (*wrong, False)
    ]  # fmt: skip
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["(root)", "she", "reads", "books", "true", "predicted"]
    markers = [line for line in display.ax_.lines if len(line.get_xdata()) == 1]
    assert len(markers) == 6


def test_a_tree_alone_is_above(close):
    display = mm.ArcDisplay.from_heads(["she", "reads"], [2, 0])
    assert [side for *_, side in curves(display)] == [True, True]


def test_a_parser_is_compared_with_the_truth(close):
    X, Y = [["she", "reads", "books"], ["he", "writes"]], [[2, 0, 2], [2, 0]]
    model = mm.DependencyParser(C=1.0).fit(X, Y)
    assert mm.ArcDisplay.from_estimator(model, X[0]).arcs == [(2, 1), (0, 2), (2, 3)]
    _, ax = plt.subplots()
    display = mm.ArcDisplay.from_estimator(model, X[0], [2, 0, 1], ax=ax)
    assert display.ax_ is ax
    assert display.arcs == [(2, 1), (0, 2), (1, 3)] and display.predicted == [(2, 1), (0, 2), (2, 3)]


def test_undirected_arcs_have_no_arrows(close):
    display = mm.ArcDisplay("ABCD", [(0, 2), (1, 3)], [(2, 0), (1, 3)], directed=False).plot()
    assert {colour for colour, *_ in curves(display)} == {BLUE}
    assert len(display.ax_.lines) == 4


def test_bad_arcs():
    with pytest.raises(ValueError, match=r"arcs\[1\]: expected two different items from 0 to 1, found \(0, 2\)"):
        mm.ArcDisplay("AB", [(0, 1), (0, 2)])
    with pytest.raises(ValueError, match="predicted: 1 heads, expected one for each of 2 words"):
        mm.ArcDisplay.from_heads(["a", "b"], [0, 1], [0])
