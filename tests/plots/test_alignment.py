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
    display = mm.AlignmentDisplay(("ACGT-", "A-GTT"), true=("ACGT", "AGTT"), names=("one", "two")).plot()
    missed, false, both = display.ax_.get_lines()
    np.testing.assert_array_equal(np.transpose(both.get_data()), [[0, 0]])
    np.testing.assert_array_equal(np.transpose(false.get_data()), [[1, 2], [2, 3]])
    np.testing.assert_array_equal(np.transpose(missed.get_data()), [[1, 1], [2, 2], [3, 3]])
    assert display.ax_.get_xlabel() == "position in two"
    dots = display.ax_.get_images()[0].get_array()
    assert dots.shape == (4, 4) and dots[3, 2] == 2 and dots[1, 0] == 0
    figure, ax = plt.subplots()
    alone = mm.AlignmentDisplay(true=("AC", "AC")).plot(ax=ax, scores=np.eye(2))
    assert alone.figure_ is figure and len(ax.get_lines()) == 1


def test_strings(close):
    display = mm.AlignmentDisplay(("ACGT-", "A-GTT"), true=("ACGT", "AGTT")).plot_strings(width=3)
    letters = [text.get_text() for text in display.ax_.texts]
    assert letters.count("|") == 1 and letters.count("•") == 2
    assert letters.count("-") == 2
    assert mm.AlignmentDisplay(("", "")).plot_strings().plot() is not None


def test_bad_alignments():
    with pytest.raises(ValueError, match="expected a predicted or a true alignment"):
        mm.AlignmentDisplay()
    with pytest.raises(ValueError, match="true: the alignment has 'G' as letter 1 of the first sequence"):
        mm.AlignmentDisplay(("AC", "AC"), true=("AG", "AC"))
    with pytest.raises(ValueError, match=r"scores have shape \(1, 1\), expected \(2, 2\)"):
        mm.AlignmentDisplay(("AC", "AC")).plot(scores=[[1.0]])
