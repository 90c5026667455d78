"""TransitionDisplay shows the weights of a tagger and what is forbidden."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm

X = [[["a"], ["b"], ["c"]], [["c"], ["a"], ["b"]], [["b"], ["c"]]]
Y = [["B-X", "I-X", "O"], ["O", "B-X", "I-X"], ["B-X", "O"]]


@pytest.fixture
def close():
    yield
    plt.close("all")


def test_cells_are_the_weights(close):
    model = mm.SequenceTagger().fit(X, Y)
    display = mm.plots.TransitionDisplay.from_estimator(model)
    shown = display.image_.get_array()
    np.testing.assert_array_equal(shown[0, :3], model.start_)
    np.testing.assert_array_equal(shown[1:, :3], model.transitions_)
    np.testing.assert_array_equal(shown[1:, 3], model.end_)
    assert [tick.get_text() for tick in display.ax_.get_xticklabels()] == ["B-X", "I-X", "O", "end"]
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["start", "B-X", "I-X", "O"]
    low, high = display.image_.get_clim()
    assert low == -high < 0, "0 has the colour in the middle"
    assert not display.forbidden.any()
    assert f"{model.start_[0]:.2f}" in {text.get_text() for text in display.ax_.texts}


def test_forbidden_transitions_are_hatched(close):
    model = mm.SequenceTagger(constraints="bio").fit(X, Y)
    display = mm.plots.TransitionDisplay.from_estimator(model)
    cells = {(round(p.get_y() + 0.5), round(p.get_x() + 0.5)) for p in display.ax_.patches if p.get_hatch()}
    assert cells == {(0, 1), (3, 1)}  # start → I-X, O → I-X
    shown = np.ma.masked_invalid(display.image_.get_array())
    assert shown.mask[0, 1]
    assert shown.mask[3, 1]


def test_many_labels_and_given_axes(close):
    X, Y = mm.datasets.make_chains(60, n_labels=30, random_state=0)
    model = mm.SequenceTagger(tol=0.3, classes=list(range(30))).fit(X, Y)
    figure, ax = plt.subplots()
    display = mm.plots.TransitionDisplay.from_estimator(model, ax=ax)
    assert display.figure_ is figure
    assert not ax.texts, "31 × 31 numbers would not be readable"
    own = mm.plots.TransitionDisplay.from_estimator(model)
    own.figure_.canvas.draw()
    boxes = [tick.get_window_extent() for tick in own.ax_.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes)), "labels are readable"


def test_all_weights_zero(close):
    display = mm.plots.TransitionDisplay(["a", "b"], np.zeros((2, 2)), np.zeros(2), np.zeros(2)).plot()
    assert display.image_.get_clim() == (-1.0, 1.0)


def test_no_tagger():
    for model in (mm.SequenceTagger(), mm.MulticlassSVM()):
        with pytest.raises(ValueError, match="no transitions_ to plot"):
            mm.plots.TransitionDisplay.from_estimator(model)
