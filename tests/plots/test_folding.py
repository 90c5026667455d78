"""Arc and circle diagrams of secondary structures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm
from maxmargin.plots._matplotlib import BLUE, ORANGE


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_arcs_of_brackets():
    display = mm.ArcDisplay.from_brackets("GGGAAACCC", "(((...)))", "((.....))")
    assert display.arcs == [(0, 8), (1, 7), (2, 6)] and display.predicted == [(0, 8), (1, 7)]
    assert [line.get_color() for line in display.ax_.lines] == [BLUE, BLUE, ORANGE, BLUE, BLUE]
    letters = "".join(text.get_text() for text in display.ax_.texts)
    assert letters.startswith("GGGAAACCC")


def test_letters_shrink_and_vanish():
    sizes = []
    for n in (10, 200, 600):
        display = mm.ArcDisplay.from_brackets("G" + "A" * (n - 2) + "C", "(" + "." * (n - 2) + ")")
        sizes.append([text.get_fontsize() for text in display.ax_.texts])
    assert set(sizes[0]) == {10.0} and 5.0 <= min(sizes[1]) < 10.0 and not sizes[2]


def test_circle_shows_right_false_and_missed_pairs():
    display = mm.CircleDisplay("GGGAAACCC", "(((...)))", "((...)..)").plot()
    assert display.kinds == {"both": [(0, 8)], "false": [(1, 5)], "missed": [(1, 7), (2, 6)]}
    chords = display.ax_.lines[1:]
    assert len(chords) == 4
    assert all(np.hypot(*line.get_xydata()[[0, -1]].T) == pytest.approx(1.0) for line in chords)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["true and predicted", "predicted only", "true only"]
    alone = mm.CircleDisplay("GGGAAACCC", "(((...)))").plot()
    assert alone.ax_.get_legend() is None and len(alone.ax_.lines) == 4


def test_pictures_of_an_estimator():
    X, Y = mm.datasets.make_rna(5)
    model = mm.RNAFolder(tol=0.1).fit(X, Y)
    _, ax = plt.subplots()
    (y,) = model.predict(X[:1])
    for kind in (mm.ArcDisplay, mm.CircleDisplay):
        assert kind.from_estimator(model, X[0], Y[0], ax=ax).ax_ is ax
        assert len(kind.from_estimator(model, X[0]).ax_.lines) >= y.count("(")


def test_bad_pictures():
    with pytest.raises(ValueError, match="predicted: 2 positions, expected one for each of 3 bases"):
        mm.CircleDisplay("GCA", "...", "..")
    with pytest.raises(ValueError, match="structure: 2 positions, expected one for each of 3 bases"):
        mm.ArcDisplay.from_brackets("GCA", "..")
    with pytest.raises(ValueError, match="a structure without bases cannot be drawn"):
        mm.CircleDisplay("", "")
