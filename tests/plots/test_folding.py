"""Arc and circle diagrams of secondary structures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex

import maxmargin as mm
from maxmargin.plots._matplotlib import BLUE, ORANGE


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_arcs_of_brackets():
    display = mm.plots.ArcDisplay.from_brackets("GGGAAACCC", "(((...)))", "((.....))")
    assert display.arcs == [(0, 8), (1, 7), (2, 6)] and display.predicted == [(0, 8), (1, 7)]
    assert [line.get_color() for line in display.ax_.lines] == [BLUE, BLUE, ORANGE, BLUE, BLUE]
    letters = "".join(text.get_text() for text in display.ax_.texts)
    assert letters.startswith("GGGAAACCC")


def test_letters_shrink_and_vanish():
    sizes = []
    for n in (10, 200, 600):
        display = mm.plots.ArcDisplay.from_brackets("G" + "A" * (n - 2) + "C", "(" + "." * (n - 2) + ")")
        sizes.append([text.get_fontsize() for text in display.ax_.texts])
    assert set(sizes[0]) == {10.0} and 5.0 <= min(sizes[1]) < 10.0 and not sizes[2]


def test_circle_shows_right_false_and_missed_pairs():
    display = mm.plots.CircleDisplay("GGGAAACCC", "(((...)))", "((...)..)").plot()
    assert display.kinds == {"both": [(0, 8)], "false": [(1, 5)], "missed": [(1, 7), (2, 6)]}
    chords = display.ax_.lines[1:]
    assert len(chords) == 4
    assert all(np.hypot(*line.get_xydata()[[0, -1]].T) == pytest.approx(1.0) for line in chords)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["true and predicted", "predicted only", "true only"]
    alone = mm.plots.CircleDisplay("GGGAAACCC", "(((...)))").plot()
    assert alone.ax_.get_legend() is None and len(alone.ax_.lines) == 4


def test_pictures_of_an_estimator():
    X, Y = mm.datasets.make_rna(5)
    model = mm.RNAFolder(tol=0.1).fit(X, Y)
    _, ax = plt.subplots()
    (y,) = model.predict(X[:1])
    for kind in (mm.plots.ArcDisplay, mm.plots.CircleDisplay):
        assert kind.from_estimator(model, X[0], Y[0], ax=ax).ax_ is ax
        assert len(kind.from_estimator(model, X[0]).ax_.lines) >= y.count("(")


def test_bad_pictures():
    with pytest.raises(ValueError, match="predicted: 2 positions, expected one for each of 3 bases"):
        mm.plots.CircleDisplay("GCA", "...", "..")
    with pytest.raises(ValueError, match="structure: 2 positions, expected one for each of 3 bases"):
        mm.plots.ArcDisplay.from_brackets("GCA", "..")
    with pytest.raises(ValueError, match="a structure without bases cannot be drawn"):
        mm.plots.CircleDisplay("", "")


def squares(display):
    """Places (column, row), sides and colour of the squares of each collection."""
    found = []
    for collection in display.ax_.collections:
        shapes = np.array([path.vertices[:4] for path in collection.get_paths()])
        centres = [tuple(c) for c in np.round(shapes.mean(axis=1)).astype(int).tolist()]
        sides = np.ptp(shapes[:, :, 0], axis=1)
        found.append((dict(zip(centres, sides.tolist(), strict=True)), to_hex(collection.get_facecolor()[0])))
    return found


def test_dot_plot_has_probabilities_above_and_the_structure_below():
    table = np.zeros((9, 9))
    table[0, 8], table[1, 7], table[2, 6] = 1.0, 0.25, 1e-6
    display = mm.plots.PairDisplay.from_predictions("GGGAAACCC", table + table.T, "((.....))", "(.(...).)")
    probable, *structure = squares(display)
    assert probable[0] == pytest.approx({(8, 0): 1.0, (7, 1): 0.5}), "the area is the probability"
    kinds = [(list(places), colour) for places, colour in structure]
    assert kinds[:2] == [([(0, 8)], BLUE.lower()), ([(1, 7)], ORANGE.lower())] and kinds[2][0] == [(2, 6)]
    assert len(display.ax_.get_legend().get_texts()) == 3
    alone = mm.plots.PairDisplay("GGGAAACCC", table).plot()
    assert len(alone.ax_.collections) == 1 and alone.ax_.get_legend() is None


def test_probabilities_of_an_estimator():
    X, Y = mm.datasets.make_rna(5)
    model = mm.RNAFolder(tol=0.1).fit(X, Y)
    _, ax = plt.subplots()
    display = mm.plots.PairDisplay.from_estimator(model, X[0], Y[0], ax=ax)
    assert display.ax_ is ax
    np.testing.assert_array_equal(display.probabilities, model.predict_marginals(X[:1])[0])
    (y,) = model.predict(X[:1])
    assert len(display.kinds["both"]) + len(display.kinds["false"]) == y.count("(")
    arcs = mm.plots.ArcDisplay.from_estimator(model, X[0], probabilities=True)
    assert all(arcs.probabilities[i, j] >= 0.1 and i < j for i, j in arcs.others)


def test_bad_probabilities():
    with pytest.raises(ValueError, match=r"probabilities have shape \(2, 2\), expected \(3, 3\)"):
        mm.plots.PairDisplay("GCA", np.zeros((2, 2)))
    for wrong in (2.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="probabilities must be between 0 and 1"):
            mm.plots.PairDisplay("GCA", np.full((3, 3), wrong))
