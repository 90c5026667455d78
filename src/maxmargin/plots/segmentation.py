"""Images beside their true and predicted masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin.core.errors import ExampleError, Place
from maxmargin.plots._matplotlib import ORANGE, pyplot


class SegmentationDisplay:
    """Images in rows: the image, the true mask, and the predicted mask with wrong pixels outlined.

    Use `from_estimator`.

    Parameters
    ----------
    images : sequence of arrays of shape (height, width) or (height, width, channels)
        Images of one or three channels; of others, the first is shown.
    true, predicted : sequence of arrays of shape (height, width)
        Labels of the pixels.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n, 3)
        The axes.
    figure_ : matplotlib Figure
        The figure.
    """

    def __init__(self, images: Sequence[Any], true: Sequence[Any], predicted: Sequence[Any]) -> None:
        if not len(images) == len(true) == len(predicted) > 0:
            raise ValueError(
                f"expected as many masks as images, found {len(images)} images, {len(true)} true and "
                f"{len(predicted)} predicted masks"
            )
        self.images = [np.asarray(image) for image in images]
        self.true, self.predicted = [np.asarray(y) for y in true], [np.asarray(y) for y in predicted]
        for i, shapes in enumerate(zip(self.images, self.true, self.predicted, strict=True)):
            if len({array.shape[:2] for array in shapes}) > 1:
                raise ExampleError.at(
                    Place("X", i), f"image and masks have shapes {[array.shape for array in shapes]}, expected the same"
                )
        self.labels = np.unique(np.concatenate([y.ravel() for y in (*self.true, *self.predicted)]))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Sequence[Any], Y: Sequence[Any]) -> SegmentationDisplay:
        """Plot images with the masks that a fitted estimator predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator whose `predict` returns masks, such as `CutSegmenter`.
        X, Y : sequence of arrays
            A few images and their true masks.

        Returns
        -------
        SegmentationDisplay
            The display, with its figure drawn.
        """
        return cls(X, Y, estimator.predict(X)).plot()

    def plot(self) -> SegmentationDisplay:
        """Draw the figure.

        Returns
        -------
        SegmentationDisplay
            The display, with its figure drawn.
        """
        plt, n = pyplot(), len(self.images)
        height, width = self.images[0].shape[:2]
        across = 2.4
        figure, axes = plt.subplots(
            n, 3, figsize=(3 * across, n * (across * height / width + 0.1) + 0.3), layout="constrained", squeeze=False
        )
        self.figure_, self.axes_ = figure, axes
        for row, image, true, predicted in zip(axes, self.images, self.true, self.predicted, strict=True):
            row[0].imshow(_shown(image), cmap="gray")
            codes = [np.searchsorted(self.labels, labels) for labels in (true, predicted)]
            for ax, code in zip(row[1:], codes, strict=True):
                ax.imshow(code, cmap="viridis", vmin=0, vmax=max(len(self.labels) - 1, 1), interpolation="nearest")
            wrong = codes[0] != codes[1]
            _outline(row[2], wrong)
            row[2].set_xlabel(f"{wrong.mean():.1%} wrong", fontsize=8)
            for ax in row:
                ax.set_xticks([])
                ax.set_yticks([])
                ax.spines[:].set_visible(False)
        for ax, title in zip(axes[0], ("image", "truth", "prediction"), strict=True):
            ax.set_title(title, fontsize=10)
        return self


def _shown(image: Any) -> Any:
    """Return an image that matplotlib shows as it is, floats scaled to 0 … 1."""
    pixels = image if image.ndim == 2 or image.shape[2] == 3 else image[:, :, 0]
    if pixels.dtype == np.uint8 or pixels.ndim == 2:
        return pixels
    low, high = float(pixels.min()), float(pixels.max())
    return (pixels - low) / (high - low or 1.0)


def _outline(ax: Any, marked: Any) -> None:
    """Draw the borders between marked and other pixels."""
    from matplotlib.collections import LineCollection

    padded = np.pad(marked, 1)
    upright = np.argwhere(padded[:, 1:] != padded[:, :-1]) - [1, 0]
    flat = np.argwhere(padded[1:] != padded[:-1]) - [0, 1]
    lines = [[(c - 0.5, r - 0.5), (c - 0.5, r + 0.5)] for r, c in upright.tolist()]
    lines += [[(c - 0.5, r - 0.5), (c + 0.5, r - 0.5)] for r, c in flat.tolist()]
    ax.add_collection(LineCollection(lines, colors=ORANGE, linewidths=0.8))
