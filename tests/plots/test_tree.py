"""Drawings of trees."""

from __future__ import annotations

import matplotlib
import nltk
import pytest

import maxmargin as mm
from maxmargin.plots._matplotlib import ORANGE

matplotlib.use("Agg")

TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
OTHER = "(S (DT the) (NP (NN dog)) (VP (VBZ barks)))"


def labels(display, colour=None):
    return [text.get_text() for text in display.ax_.texts if colour is None or text.get_color() == colour]


def test_text():
    assert mm.plots.TreeDisplay(TREE).text().splitlines() == [
        "S", "├─ NP", "│  ├─ DT the", "│  └─ NN dog", "└─ VP", "   └─ VBZ barks",
    ]  # fmt: skip
    assert mm.plots.TreeDisplay("( (S (VP VB NN)))").text().splitlines() == [
        "·", "└─ S", "   └─ VP", "      ├─ VB", "      └─ NN",
    ]  # fmt: skip


def test_a_tree_of_any_kind():
    displays = [mm.plots.TreeDisplay(t).plot() for t in (TREE, nltk.Tree.fromstring(TREE))]
    assert labels(displays[0]) == labels(displays[1]) == ["DT\nthe", "NN\ndog", "VBZ\nbarks", "S", "NP", "VP"]
    assert labels(mm.plots.TreeDisplay(("TOP", "A", "B")).plot()) == ["A", "B", "TOP"]


def test_wrong_and_missed_constituents_are_marked():
    display = mm.plots.TreeDisplay(TREE, OTHER).plot()
    assert labels(display, ORANGE) == ["NP", "NP"]
    assert {"true", "predicted"} <= set(labels(display))
    assert sum(line.get_linestyle() == "--" for line in display.ax_.lines) == 2
    assert not labels(mm.plots.TreeDisplay(TREE, TREE).plot(), ORANGE)


def test_from_estimator():
    model = mm.ConstituencyParser(C=10.0).fit([TREE, "(S (NP (NN dog)) (VP (VBZ barks)))"])
    x = [("the", "DT"), ("dog", "NN"), ("barks", "VBZ")]
    figure, ax = matplotlib.pyplot.subplots()
    display = mm.plots.TreeDisplay.from_estimator(model, x, OTHER, ax=ax)
    assert display.figure_ is figure and labels(display, ORANGE) == ["NP", "NP"]
    assert "NP" in labels(mm.plots.TreeDisplay.from_estimator(model, x))


def test_bad_input():
    with pytest.raises(ValueError, match="predicted: expected the leaves of tree, 'A B', found 'A C'"):
        mm.plots.TreeDisplay("(S A B)", "(S A C)")
    with pytest.raises(ValueError, match="tree: unbalanced brackets"):
        mm.plots.TreeDisplay("(S A B")
