"""CutSegmenter learns masks from images."""

import numpy as np
import pytest

import maxmargin as mm


def squares(n, rng, noise=1.0, dtype=float):
    """Noisy images with a bright rectangle."""
    X, Y = [], []
    for _ in range(n):
        mask = np.full((14, 16), "outer")
        top, left = rng.integers(1, 6, 2)
        mask[top : top + 7, left : left + 8] = "front"
        image = (mask == "front") + noise * rng.normal(size=mask.shape)
        X.append(image if dtype is float else np.clip(60 * image + 100, 0, 255).astype(dtype))
        Y.append(mask)
    return X, Y


@pytest.mark.parametrize("neighbours", [4, 8])
def test_neighbours_make_masks_better(tmp_path, neighbours):
    X, Y = squares(30, np.random.default_rng(0), noise=0.7)
    model = mm.CutSegmenter(features="channels", neighbours=neighbours).fit(X[:20], Y[:20])
    accuracy = model.score(X[20:], Y[20:])
    alone = np.mean([((x > 0.5) == (y == "front")).mean() for x, y in zip(X[20:], Y[20:], strict=True)])
    assert accuracy > 0.93 > 0.8 > alone
    assert model.certificate_.exact and model.certificate_.gap <= 1e-2
    found = model.predict(X[20:])
    assert found[0].shape == (14, 16) and model.classes_.tolist() == ["front", "outer"]
    right = np.mean([(p == y).mean() for p, y in zip(found, Y[20:], strict=True)])
    assert accuracy == pytest.approx(right)
    assert mm.metrics.intersection_over_union(Y[20:], found, "front") > 0.75
    assert model.pixel_weights_.shape == (2, 2) and (model.edge_weights_ >= 0).all()
    model.save(tmp_path / "masks.mm")
    for a, b in zip(mm.load(tmp_path / "masks.mm").predict(X[20:]), found, strict=True):
        np.testing.assert_array_equal(a, b)


def test_features_of_pixels():
    X, Y = squares(6, np.random.default_rng(1), dtype=np.uint8)
    model = mm.CutSegmenter(tol=0.1).fit(X, Y)
    assert model.pixel_weights_.shape == (1 + 4 + 8 + 5 + 1, 2)
    coloured = [np.stack([x] * 3, axis=2) for x in X]
    assert mm.CutSegmenter(tol=0.1).fit(coloured, Y).score(coloured, Y) > 0.95

    def given(image):
        return np.stack([image / 255.0, image > 130], axis=2)

    model = mm.CutSegmenter(features=given, tol=0.1).fit(X, Y)
    assert model.pixel_weights_.shape == (3, 2)
    nodes, _, _ = mm.image_graph(X[0], features=given(X[0]))
    np.testing.assert_allclose(nodes[17], [X[0][1, 1] / 255.0, X[0][1, 1] > 130])


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32])
def test_wide_integers_are_those_of_8_bits(dtype):
    X, Y = squares(6, np.random.default_rng(1), dtype=np.uint8)
    narrow = mm.CutSegmenter(features="channels").fit(X, Y)
    wide = mm.CutSegmenter(features="channels").fit([x.astype(dtype) for x in X], Y)
    np.testing.assert_array_equal(wide.coef_, narrow.coef_)
    np.testing.assert_array_equal(wide.predict([x.tolist() for x in X[:1]]), narrow.predict(X[:1]))


@pytest.mark.parametrize(("dtype", "missing"), [(float, np.nan), (object, None), (object, np.nan)])
def test_missing_labels_are_named(dtype, missing):
    X, Y = squares(2, np.random.default_rng(1))
    masks = [(y == "front").astype(dtype) for y in Y]
    masks[1][3, 5] = missing
    with pytest.raises(ValueError, match=r"Y\[1\], pixel \(3, 5\): expected a label, found .*pass it as ignore_label"):
        mm.CutSegmenter(features="channels").fit(X, masks)
    if dtype is float:
        model = mm.CutSegmenter(features="channels", ignore_label=np.nan).fit(X, masks)
        assert model.classes_.tolist() == [0.0, 1.0]


def test_masks_without_a_known_label():
    X, Y = squares(4, np.random.default_rng(1))
    model = mm.CutSegmenter(features="channels", ignore_label="void").fit(X, Y)
    other = [np.where(y == "front", 255, 0) for y in Y]
    with pytest.warns(UserWarning, match="none of the true labels is a class of the model.*'front', 'outer'"):
        assert model.score(X, other) == 0.0
    assert model.score(X, [other[0], *Y[1:]]) > 0.5  # without a warning


def test_one_image_in_the_place_of_a_list():
    X, Y = squares(1, np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"X\[0\]: expected an image, .*; pass a single image as \[image\]"):
        mm.CutSegmenter().fit(X[0], Y[0])


def test_the_best_masks_and_the_reason():
    mask = np.zeros((3, 4), int)
    mask[1:, 2:] = 1
    model = mm.CutSegmenter(features="channels", C=1.0).fit([mask * 1.0], [mask])
    (best, score), (second, worse) = model.topk(mask * 1.0, 2)
    np.testing.assert_array_equal(best, mask)
    assert second.shape == mask.shape and (second != best).any() and score >= worse
    assert model.explain(mask * 1.0).margin == pytest.approx(score - worse)


def test_graphs_of_images():
    image = np.zeros((3, 4))
    image[:, 2:] = 1.0
    nodes, edges, features = mm.image_graph(image, features=image)
    assert nodes.shape == (12, 1) and edges.shape == (17, 2)
    border = features[(edges == [1, 2]).all(axis=1)][0], features[(edges == [0, 1]).all(axis=1)][0]
    assert border[0][1] < border[1][1] == 1.0 and border[0][0] == border[1][0] == 1.0
    _, edges, features = mm.image_graph(image, features=image, neighbours=8)
    assert edges.shape == (17 + 12, 2)
    assert features[(edges == [0, 5]).all(axis=1)][0, 0] == pytest.approx(0.5**0.5)
    with pytest.raises(ValueError, match="neighbours must be 4 or 8, found 6"):
        mm.image_graph(image, neighbours=6)
    with pytest.raises(ValueError, match=r"features: expected numbers of shape \(3, 4, d\), found float64 of shape"):
        mm.image_graph(image, features=np.zeros((4, 3)))


IMAGE, MASK = np.random.default_rng(0).random((4, 5)), np.eye(4, 5, dtype=int)


@pytest.mark.parametrize(
    "parameters, X, Y, message",
    [
        (
            {},
            [IMAGE, IMAGE],
            [MASK, MASK.T],
            r"Y\[1\]: expected a mask of shape \(4, 5\) as its image has, found",
        ),
        ({}, [IMAGE], [1], r"Y\[0\]: expected a mask of shape \(4, 5\) as its image has, found int 1"),
        ({}, [IMAGE, "dog.png"], [MASK, ""], r"X\[1\]: expected an image, an array of numbers of shape"),
        ({}, [np.zeros((0, 5))], [np.zeros((0, 5))], r"X\[0\]: expected an image"),
        ({}, [np.where(MASK, np.nan, IMAGE)], [MASK], r"X\[0\]: pixel \(0, 0\) is not a finite number"),
        ({}, [IMAGE, IMAGE[:, :, None].repeat(3, 2)], [MASK] * 2, r"X\[1\]: 3 channels, expected 1 as in X\[0\]"),
        ({}, [IMAGE], [np.zeros((4, 5))], "expected at least two classes, found one class"),
        ({"features": "edges"}, [IMAGE], [MASK], "features must be 'statistics', 'channels' or a function"),
        ({"features": len}, [IMAGE], [MASK], r"X\[0\]: expected numbers of shape \(4, 5, d\), found int64 of shape"),
        ({"features": lambda x: 1 / 0}, [IMAGE], [MASK], r"X\[0\]: features raised ZeroDivisionError"),
        ({"neighbours": 5}, [IMAGE], [MASK], "neighbours must be 4 or 8, found 5"),
        ({"loss": "iou"}, [IMAGE], [MASK], "loss must be 'hamming', 'hamming-share', a matrix or a dict"),
    ],
)
def test_bad_input(parameters, X, Y, message):
    with pytest.raises(ValueError, match=message):
        mm.CutSegmenter(**parameters).fit(X, Y)


def test_intersection_over_union():
    true, found = [np.array([[0, 0], [1, 1]]), np.array([2])], [np.array([[0, 1], [1, 1]]), np.array([1])]
    assert mm.metrics.intersection_over_union(true, found, 1) == pytest.approx(2 / 4)
    assert mm.metrics.intersection_over_union(true, found) == pytest.approx((1 / 2 + 2 / 4 + 0) / 3)
    with pytest.raises(ValueError, match="the label 5 does not occur"):
        mm.metrics.intersection_over_union(true, found, 5)
    with pytest.raises(ValueError, match=r"Y\[1\]: shape \(1,\), but the predicted image has \(2,\)"):
        mm.metrics.intersection_over_union(true, [found[0], [1, 1]])
    with pytest.raises(ValueError, match="2 true images but 1 predicted ones"):
        mm.metrics.intersection_over_union(true, found[:1])


def voids(X, Y, rng):
    """Masks of numbers in which a tenth of the pixels, and a whole corner, have no label."""
    found = [(y == "front").astype(np.uint8) for y in Y]
    for mask in found:
        mask[rng.random(mask.shape) < 0.1] = 255
        mask[:3, :3] = 255
    return found


def test_pixels_without_a_label_do_not_count():
    rng = np.random.default_rng(0)
    X, Y = squares(12, rng, noise=0.7)
    masks = voids(X, Y, rng)
    model = mm.CutSegmenter(features="channels", ignore_label=255).fit(X[:8], masks[:8])
    assert model.classes_.tolist() == [0, 1]
    other = [np.where(mask == 255, 77, mask) for mask in masks]  # whatever stands there
    same = mm.CutSegmenter(features="channels", ignore_label=77).fit(X[:8], other[:8])
    np.testing.assert_array_equal(model.coef_, same.coef_)
    known = np.concatenate([mask.ravel() != 255 for mask in masks[8:]])
    right = np.concatenate([(p == y).ravel() for p, y in zip(model.predict(X[8:]), masks[8:], strict=True)])
    assert model.score(X[8:], masks[8:]) == pytest.approx(right[known].mean()) and right[known].mean() > 0.9
    found = mm.metrics.intersection_over_union(masks[8:], model.predict(X[8:]), 1, ignore_label=255)
    assert found > mm.metrics.intersection_over_union(masks[8:], model.predict(X[8:]), 1)
    floats = [np.where(mask == 255, np.nan, mask) for mask in masks]
    missing = mm.CutSegmenter(features="channels", ignore_label=np.nan).fit(X[:8], floats[:8])
    np.testing.assert_array_equal(model.coef_, missing.coef_)


def test_a_void_label_is_not_taken_for_a_class_without_a_word():
    rng = np.random.default_rng(0)
    X, Y = squares(3, rng)
    masks = voids(X, Y, rng)
    with pytest.warns(UserWarning, match=r"label 255 besides \[0, 1\].*pass ignore_label=255, or classes="):
        mm.CutSegmenter(features="channels", tol=0.5).fit(X, masks)
    mm.CutSegmenter(features="channels", tol=0.5, classes=[0, 1, 255]).fit(X, masks)
    binary = [np.where(mask == 1, 255, 0) for mask in masks]
    assert mm.CutSegmenter(features="channels", tol=0.5).fit(X, binary).classes_.tolist() == [0, 255]
    with pytest.raises(ValueError, match=r"Y\[1\]: all pixels have ignore_label=255; leave this image out"):
        mm.CutSegmenter(ignore_label=255).fit(X, [masks[0], np.full((14, 16), 255), masks[2]])
    with pytest.raises(ValueError, match="ignore_label=255 is one of the classes"):
        mm.CutSegmenter(ignore_label=255, classes=[0, 255]).fit(X, masks)
    model = mm.CutSegmenter(features="channels", ignore_label=255, tol=0.5).fit(X, masks)
    with pytest.raises(ValueError, match="no pixel has a label other than ignore_label=255"):
        model.score(X[:1], [np.full((14, 16), 255)])


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [2, 3])
def test_an_explanation_of_a_large_image_is_short(n_labels):
    rng = np.random.default_rng(3)
    mask = np.zeros((40, 50), int)
    mask[5:25, 10:30] = 1
    mask[30:, 20:] = n_labels - 1
    X = [mask + 0.6 * rng.normal(size=mask.shape) for _ in range(2)]
    model = mm.CutSegmenter(tol=0.1).fit(X, [mask, mask])
    decision, scores = model.explain(X[0], 4), model.decision_scores(X)[0]
    assert scores.shape == (40, 50, n_labels)
    np.testing.assert_array_equal(decision.prediction, model.predict(X)[0])
    np.testing.assert_allclose(decision.margins, model.decision_margins(X)[0], atol=1e-9)
    assert decision.margins.min() == pytest.approx(decision.margin, abs=1e-9)
    row, column = np.unravel_index(decision.margins.argmin(), mask.shape)
    assert decision.runner_up[row, column] == decision.others[row, column] != decision.prediction[row, column]
    lines = str(decision).splitlines()
    assert lines[0].startswith("mask of 40 × 50 pixels (score ") and len(lines) < 16
    assert f"  row {row}, column {column}: {decision.prediction[row, column]}, " in str(decision)
    named = model.feature_names_out.tolist()
    assert named[0] == "brightness → 0" and "spread of brightness in 13 × 13 → 1" in named
    assert named[-2:] == ["agree: neighbours", "agree: similar neighbours"]
    plain = mm.StructuralSVM(mm.Cut(), C=0.1, tol=0.1).fit([mm.image_graph(x) for x in X], [mask.ravel()] * 2)
    text = str(plain.explain(mm.image_graph(X[0])))
    assert "(2000 entries)" in text and "they differ in" in text and len(text) < 2500


def test_a_single_image_and_other_channels_are_errors():
    rng = np.random.default_rng(0)
    X = [rng.uniform(size=(6, 5, 3)) for _ in range(4)]
    model = mm.CutSegmenter(C=1.0).fit(X, [(x[..., 0] > 0.5).astype(int) for x in X])
    assert model.n_channels_in_ == 3
    with pytest.raises(ValueError, match=r"X\[0\]: 1 channels, expected 3 .*; pass a single image as \[image\]"):
        model.predict(X[0])
    with pytest.raises(ValueError, match=r"X\[0\]: 2 channels, expected 3 as in the training images$"):
        model.predict([X[0][..., :2]])
