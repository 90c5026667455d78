"""GraphLabeler labels the superpixels of images."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.features.graphs.superpixels import BORDER_NAMES, Superpixels, superpixel_graph


def blocks(height, width, side):
    """Return regions that are squares, numbered with gaps."""
    rows, columns = np.indices((height, width)) // side
    return 10 * (rows * (width // side) + columns) + 3


def landscape(seed, side=3):
    """An image with sky above earth, whose squares have noisy brightness."""
    rng = np.random.default_rng(seed)
    height, width = 18, 15
    mask = np.where(np.arange(height)[:, None] < side * rng.integers(2, 5), "sky", "earth") * np.ones(
        (1, width), object
    )
    regions = blocks(height, width, side)
    noise = rng.normal(size=(height // side, width // side)).repeat(side, 0).repeat(side, 1)
    return Superpixels((mask == "sky") + 0.5 * noise, regions), mask


def test_graphs_of_superpixels():
    image = np.zeros((4, 6))
    image[:2, 2:] = 1.0
    regions = np.array([[7, 7, 2, 2, 2, 2], [7, 7, 2, 2, 2, 2], [9, 9, 9, 9, 9, 9], [9, 9, 9, 9, 9, 9]])
    nodes, edges, between = superpixel_graph(Superpixels(image, regions), "x")
    assert nodes.columns[0] == "brightness" and nodes.columns[-1] == "size" and between.columns == BORDER_NAMES
    np.testing.assert_allclose(nodes.values[:, 0], [1, 0, 0])  # superpixels 2, 7, 9
    np.testing.assert_allclose(nodes.values[:, -1], [8 / 24, 4 / 24, 12 / 24])
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    similar, borders = np.exp([-0.75, -0.75, 0.0]), np.array([2, 4, 2])
    expected = np.stack([np.ones(3), similar, similar * borders / borders.mean(), [0, 1, 0]], axis=1)
    np.testing.assert_allclose(between.values, expected)
    turned, down, _ = superpixel_graph(Superpixels(image[::-1], regions[::-1], np.eye(3)), "x")
    assert turned.shape == (3, 3) and sorted(map(tuple, down.tolist())) == [(0, 1), (2, 0), (2, 1)]


def test_masks_are_learnt_and_predicted():
    X, Y = zip(*map(landscape, range(24)), strict=True)
    alone = [Superpixels(x.image, x.regions, np.bincount(np.unique(x.regions, return_inverse=True)[1].ravel(),
             x.image.ravel())[:, None] / 9) for x in X]  # fmt: skip
    model = mm.GraphLabeler(C=1.0).fit(alone[:12], Y[:12])
    found = model.predict(alone[12:13])[0]
    assert found.shape == (18, 15) and set(np.unique(found)) <= {"sky", "earth"}
    assert model.score(alone[12:], Y[12:]) > 0.97
    rows = [a.features for a in alone]
    labels = [[y[x.regions == r][0] for r in np.unique(x.regions)] for x, y in zip(X, Y, strict=True)]
    nodes = mm.GraphLabeler(C=1.0).fit([(r, []) for r in rows[:12]], labels[:12])
    assert nodes.score([(r, []) for r in rows[12:]], labels[12:]) < 0.9
    scores, margins = model.decision_scores(alone[:1])[0], model.decision_margins(alone[:1])[0]
    assert scores.shape == (18, 15, 2) and margins.shape == (18, 15)
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=2)], model.predict(alone[:1])[0])
    given = np.full((18, 15), None)
    given[0, 0] = "earth"
    assert (model.predict(alone[:1], given=[given])[0][:3, :3] == "earth").all()
    assert model.topk(alone[0], 2)[0][0].shape == (18, 15)


def test_pixels_without_a_label():
    X, Y = zip(*map(landscape, range(6)), strict=True)
    hidden = [y.copy() for y in Y]
    for y in hidden:
        y[0, :2] = y[4] = "void"  # a part of some squares
    model = mm.GraphLabeler(C=1.0, unknown="void").fit(X, hidden)
    assert model.classes_.tolist() == ["earth", "sky"]
    assert model.score(X, hidden) > 0.95
    hidden[0][:3, :3] = "void"  # a whole square
    with pytest.raises(ValueError, match=r"Y\[0\]: the label of node 0 is unknown \(None\); pass latent=True"):
        mm.GraphLabeler(unknown="void").fit(X, hidden)
    assert mm.GraphLabeler(C=1.0, unknown="void", latent=True).fit(X, hidden).score(X, hidden) > 0.95


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (Superpixels(np.ones((4, 5)), np.ones((5, 4), int)), np.eye(4, 5), r"X\[0\]: expected regions as integers of"),
        (Superpixels(np.ones((4, 4)), np.ones((4, 4))), np.eye(4), r"X\[0\]: expected regions as integers .* float64"),
        (Superpixels(np.ones((4, 4)), np.eye(4, dtype=int)), np.eye(5), r"Y\[0\]: expected labels of shape \(4, 4\)"),
        (
            Superpixels(np.ones((4, 4)), np.eye(4, dtype=int), np.ones((3, 1))), np.eye(4),
            r"X\[0\]: expected features as numbers of shape \(2, d\), a row for each superpixel, found float64 of",
        ),
    ],
)  # fmt: skip
def test_bad_input(x, y, message):
    with pytest.raises(ValueError, match=message):
        mm.GraphLabeler().fit([x], [y])


def test_unknown_labels_are_not_a_class_by_accident():
    x = np.array([[1.0], [0.1], [-0.1], [-1.0]]), [(0, 1), (1, 2), (2, 3)]
    with pytest.raises(ValueError, match=r"Y\[0\]: the label of node 1 is unknown \(-1\); pass latent=True"):
        mm.GraphLabeler(unknown=-1).fit([x], [[1, -1, 0, 0]])
