"""ArcDisplay draws true and predicted arcs, and shows which are wrong."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm
from maxmargin.plots._matplotlib import BLUE, GREY, ORANGE


@pytest.fixture
def close():
    yield
    plt.close("all")


def curves(display):
    """Style and side of each arc."""
    lines = [line for line in display.ax_.lines if len(line.get_xdata()) > 1]
    return [(line.get_color(), line.get_linestyle(), bool(np.mean(line.get_ydata()) > 0)) for line in lines]


def test_wrong_arcs_are_dashed(close):
    display = mm.plots.ArcDisplay.from_heads(["she", "reads", "books"], [2, 0, 2], [2, 0, 1])
    right, wrong = (BLUE, "-"), (ORANGE, "--")
    assert curves(display) == [
        (*right, True), (*right, True), (*wrong, True), (*right, False), (*right, False), (*wrong, False)
    ]  # fmt: skip
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["(root)", "she", "reads", "books", "true", "predicted"]
    markers = [line for line in display.ax_.lines if len(line.get_xdata()) == 1]
    assert len(markers) == 6


def test_a_tree_alone_is_above(close):
    display = mm.plots.ArcDisplay.from_heads(["she", "reads"], [2, 0])
    assert [side for *_, side in curves(display)] == [True, True]


def test_a_parser_is_compared_with_the_truth(close):
    X, Y = [["she", "reads", "books"], ["he", "writes"]], [[2, 0, 2], [2, 0]]
    model = mm.DependencyParser(C=1.0).fit(X, Y)
    assert mm.plots.ArcDisplay.from_estimator(model, X[0]).arcs == [(2, 1), (0, 2), (2, 3)]
    _, ax = plt.subplots()
    display = mm.plots.ArcDisplay.from_estimator(model, X[0], [2, 0, 1], ax=ax)
    assert display.ax_ is ax
    assert display.arcs == [(2, 1), (0, 2), (1, 3)] and display.predicted == [(2, 1), (0, 2), (2, 3)]


def test_relations_are_written_on_arcs(close):
    true, found = [(2, "nsubj"), (0, "root"), (2, "obj")], [(2, "nsubj"), (0, "root"), (1, "iobj")]
    display = mm.plots.ArcDisplay.from_heads(["she", "reads", "books"], true, found)
    texts = {(text.get_text(), bool(text.get_position()[1] > 0)): text.get_color() for text in display.ax_.texts}
    assert [texts[name, True] for name in ("nsubj", "root", "obj")] == [BLUE, BLUE, ORANGE]
    assert [texts[name, False] for name in ("nsubj", "root", "iobj")] == [BLUE, BLUE, ORANGE]
    other = mm.plots.ArcDisplay.from_heads(["she", "reads"], [(2, "nsubj"), (0, "root")], [(2, "csubj"), (0, "root")])
    colours = {text.get_text(): text.get_color() for text in other.ax_.texts}
    assert (colours["nsubj"], colours["csubj"], colours["root"]) == (ORANGE, ORANGE, BLUE)
    assert curves(other)[0][:2] == (BLUE, "-"), "the head is right, the relation is not"
    X = [["she", "reads", "books"], ["he", "writes"]]
    model = mm.DependencyParser(C=1.0, labelled=True).fit(X, [true, [(2, "nsubj"), (0, "root")]])
    assert mm.plots.ArcDisplay.from_estimator(model, X[0]).texts == {(2, 1): "nsubj", (0, 2): "root", (2, 3): "obj"}
    compared = mm.plots.ArcDisplay.from_estimator(model, X[0], [2, 0, 2])
    assert (compared.texts, compared.predicted_texts[2, 3]) == ({}, "obj")


def test_undirected_arcs_have_no_arrows(close):
    display = mm.plots.ArcDisplay("ABCD", [(0, 2), (1, 3)], [(2, 0), (1, 3)], directed=False).plot()
    assert {colour for colour, *_ in curves(display)} == {BLUE}
    assert len(display.ax_.lines) == 4


def test_bad_arcs():
    with pytest.raises(ValueError, match=r"arcs\[1\]: expected two different items from 0 to 1, found \(0, 2\)"):
        mm.plots.ArcDisplay("AB", [(0, 1), (0, 2)])
    with pytest.raises(ValueError, match="predicted: 1 heads, expected one for each of 2 words"):
        mm.plots.ArcDisplay.from_heads(["a", "b"], [0, 1], [0])


def test_improbable_arcs_are_faint_and_other_likely_ones_grey(close):
    table = np.zeros((4, 4))
    table[2, 1], table[0, 2], table[2, 3], table[1, 3], table[0, 1] = 0.95, 1.0, 0.6, 0.4, 0.05
    words, heads = ["she", "reads", "books"], [2, 0, 2]
    display = mm.plots.ArcDisplay.from_heads(words, heads, probabilities=table)
    assert display.others == [(1, 3)]
    lines = [line for line in display.ax_.lines if len(line.get_xdata()) > 1]
    assert [line.get_color() for line in lines] == [GREY, BLUE, BLUE, BLUE]
    other, *arcs = [line.get_alpha() for line in lines]
    assert arcs == pytest.approx([0.25 + 0.75 * p for p in (0.95, 1.0, 0.6)]) and other == pytest.approx(0.55)
    widths = [line.get_linewidth() for line in lines]
    assert widths[0] < widths[3] < widths[1] < widths[2]
    compared = mm.plots.ArcDisplay.from_heads(words, heads, [2, 0, 1], probabilities=table)
    assert compared.others == [(2, 3)]
    lines = [line for line in compared.ax_.lines if len(line.get_xdata()) > 1]
    above = [line.get_alpha() for line in lines if np.mean(line.get_ydata()) > 0]
    assert above == [None] * 3, "the truth has no probability"
    assert len(lines) == 7


def test_probabilities_of_a_parser(close):
    X, Y = [["she", "reads", "books"], ["he", "writes"]], [[2, 0, 2], [2, 0]]
    model = mm.DependencyParser(C=1.0).fit(X, Y)
    display = mm.plots.ArcDisplay.from_estimator(model, X[0], probabilities=True)
    np.testing.assert_array_equal(display.probabilities, model.predict_marginals(X[:1])[0])
    assert mm.plots.ArcDisplay.from_estimator(model, X[0]).probabilities is None
    with pytest.raises(ValueError, match=r"probabilities have shape \(3, 3\), expected \(4, 4\)"):
        mm.plots.ArcDisplay.from_heads(X[0], Y[0], probabilities=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="probabilities must be between 0 and 1"):
        mm.plots.ArcDisplay.from_heads(X[0], Y[0], probabilities=np.full((4, 4), -np.inf))
