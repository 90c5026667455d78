"""PathDisplay and SegmentationDisplay show what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import maxmargin as mm


@pytest.fixture
def close():
    yield
    plt.close("all")


def test_paths_go_through_their_nodes(close):
    edges = [(0, 1), (1, 3), (0, 2), (2, 3), (3, 5)]
    display = mm.plots.PathDisplay((3, 2), edges, [0, 1, 4], [2, 3, 4], background=np.arange(6).reshape(3, 2)).plot()
    true, predicted, ends = display.ax_.get_lines()
    np.testing.assert_array_equal(np.transpose(true.get_data()), [[0, 0], [1, 0], [1, 1], [1, 2]])
    np.testing.assert_array_equal(np.transpose(predicted.get_data()), [[0, 0], [0, 1], [1, 1], [1, 2]])
    np.testing.assert_array_equal(np.transpose(ends.get_data()), [[0, 0], [1, 2]])
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["true path", "predicted path"]
    figure, ax = plt.subplots()
    assert mm.plots.PathDisplay((3, 2), edges, [0, 1, 4]).plot(ax=ax).figure_ is figure


def test_paths_outside_the_grid_are_refused():
    with pytest.raises(ValueError, match="edges join nodes up to 5, but the grid has 4 nodes"):
        mm.plots.PathDisplay((2, 2), [(0, 5)], [0])
    with pytest.raises(ValueError, match=r"background has shape \(2,\), expected \(2, 2\)"):
        mm.plots.PathDisplay((2, 2), [(0, 1)], [0], background=[1, 2])


def test_wrong_pixels_are_outlined(close):
    image, true = np.zeros((4, 5, 3), np.uint8), np.zeros((4, 5), int)
    predicted = true.copy()
    predicted[1, 2] = 7
    display = mm.plots.SegmentationDisplay([image], [true], [predicted]).plot()
    assert [ax.get_title() for ax in display.axes_[0]] == ["image", "truth", "prediction"]
    assert display.axes_[0, 2].get_images()[0].get_array()[1, 2] == 1
    (outline,) = display.axes_[0, 2].collections
    corners = {tuple(point) for line in outline.get_segments() for point in line.tolist()}
    assert corners == {(1.5, 0.5), (2.5, 0.5), (1.5, 1.5), (2.5, 1.5)}
    assert display.axes_[0, 2].get_xlabel() == "5.0% wrong"


def test_masks_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"X\[0\]: image and masks have shapes"):
        mm.plots.SegmentationDisplay([np.zeros((4, 5))], [np.zeros((5, 4))], [np.zeros((4, 5))])
    with pytest.raises(ValueError, match="expected as many masks as images, found 1 images, 0 true and 0 predicted"):
        mm.plots.SegmentationDisplay([np.zeros((4, 5))], [], [])


def test_margins_and_pixels_without_a_label(close):
    image = np.random.default_rng(0).normal(size=(6, 8))
    true, predicted = np.zeros((6, 8), int), np.zeros((6, 8), int)
    predicted[2:4, 2:5], true[2:4, 2:5], true[:, 6:], predicted[0, 0] = 1, 1, 255, 1
    margins = np.where(predicted == 1, 0.5, np.inf)
    display = mm.plots.SegmentationDisplay([image], [true], [predicted], [margins], ignore_label=255).plot()
    assert [ax.get_title() for ax in display.axes_[0]] == ["image", "truth", "prediction", "margin"]
    assert display.axes_[0][2].get_xlabel() == "2.8% wrong"  # 1 of 36 pixels with a label
    assert display.labels.tolist() == [0, 1]
    assert display.axes_[0][1].images[0].get_array().mask[:, 6:].all()
    assert display.axes_[0][3].images[0].get_clim() == (0.0, 0.5)
    alone = mm.plots.SegmentationDisplay([image], None, [predicted]).plot()
    assert [ax.get_title() for ax in alone.axes_[0]] == ["image", "prediction"]
