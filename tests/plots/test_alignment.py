"""AlignmentDisplay shows what it is given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm


@pytest.fixture
def close():
    yield
    plt.close("all")


def test_matches_by_kind(close):
    display = mm.plots.AlignmentDisplay(("ACGT-", "A-GTT"), true=("ACGT", "AGTT"), names=("one", "two")).plot()
    missed, false, both = display.ax_.get_lines()
    np.testing.assert_array_equal(np.transpose(both.get_data()), [[0, 0]])
    np.testing.assert_array_equal(np.transpose(false.get_data()), [[1, 2], [2, 3]])
    np.testing.assert_array_equal(np.transpose(missed.get_data()), [[1, 1], [2, 2], [3, 3]])
    assert display.ax_.get_xlabel() == "position in two"
    dots = display.ax_.get_images()[0].get_array()
    assert dots.shape == (4, 4) and dots[3, 2] == 2 and dots[1, 0] == 0
    figure, ax = plt.subplots()
    alone = mm.plots.AlignmentDisplay(true=("AC", "AC")).plot(ax=ax, scores=np.eye(2))
    assert alone.figure_ is figure and len(ax.get_lines()) == 1


def test_strings(close):
    display = mm.plots.AlignmentDisplay(("ACGT-", "A-GTT"), true=("ACGT", "AGTT")).plot_strings(width=3)
    letters = [text.get_text() for text in display.ax_.texts]
    assert letters.count("|") == 1 and letters.count("•") == 2
    assert letters.count("-") == 2
    assert mm.plots.AlignmentDisplay(("", "")).plot_strings().plot() is not None


def test_bad_alignments():
    with pytest.raises(ValueError, match="expected a predicted or a true alignment"):
        mm.plots.AlignmentDisplay()
    with pytest.raises(ValueError, match="true: the alignment has 'G' as letter 1 of the first sequence"):
        mm.plots.AlignmentDisplay(("AC", "AC"), true=("AG", "AC"))
    with pytest.raises(ValueError, match=r"scores have shape \(1, 1\), expected \(2, 2\)"):
        mm.plots.AlignmentDisplay(("AC", "AC")).plot(scores=[[1.0]])


def test_probabilities_of_matches_are_a_heat_map(close):
    X = [("ACGT", "AGT"), ("TTGA", "TGA")] * 3
    Y = [("ACGT", "A-GT"), ("TTGA", "-TGA")] * 3
    aligner = mm.PairwiseAligner(alphabet="ACGT").fit(X, Y)
    display = mm.plots.AlignmentDisplay.from_estimator(aligner, X[0], Y[0])
    (image,) = display.ax_.images
    np.testing.assert_array_equal(image.get_array(), aligner.predict_marginals(X[:1])[0]["matches"])
    assert image.get_clim() == (0.0, 1.0)
    assert display.figure_.axes[1].get_ylabel() == "probability of the match"
    given = mm.plots.AlignmentDisplay.from_predictions(Y[0], np.full((4, 3), 0.5))
    assert (given.ax_.images[0].get_array() == 0.5).all()
    assert len(mm.plots.AlignmentDisplay.from_estimator(mm.LogOddsAligner().fit(X, Y), X[0]).figure_.axes) == 1
    with pytest.raises(ValueError, match=r"probabilities have shape \(3, 3\), expected \(4, 3\)"):
        mm.plots.AlignmentDisplay.from_predictions(Y[0], np.zeros((3, 3)))
    with pytest.raises(ValueError, match="expected scores or probabilities, found both"):
        given.plot(scores=np.zeros((4, 3)), probabilities=np.zeros((4, 3)))
