"""Images beside their true and predicted masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.errors import ExampleError, Place
from maxmargin.plots._matplotlib import ORANGE, pyplot


class SegmentationDisplay:
    """Images in rows: the image, the true mask, the predicted mask with wrong pixels outlined, and margins of pixels.

    Use `from_estimator`. Pixels in doubt are dark in the picture of margins.

    Parameters
    ----------
    images : sequence of arrays of shape (height, width) or (height, width, channels)
        Images of one or three channels; of others, the first is shown.
    true : sequence of arrays of shape (height, width) or None
        True labels of the pixels; None if they are not known.
    predicted : sequence of arrays of shape (height, width)
        Predicted labels of the pixels.
    margins : sequence of arrays of shape (height, width), optional
        Margins of the pixels, from `CutSegmenter.decision_margins`.
    ignore_label : object, default=None
        The true label of pixels that do not count; they are white.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n, n_columns)
        The axes: image, truth, prediction and margins, as far as they are known.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.images()
    >>> display = mm.plots.SegmentationDisplay(X[:1], Y[:1], [X[0] > 0.5]).plot()
    >>> display.axes_.shape
    (1, 3)
    """

    def __init__(
        self,
        images: Sequence[Any],
        true: Sequence[Any] | None,
        predicted: Sequence[Any],
        margins: Sequence[Any] | None = None,
        *,
        ignore_label: Any = None,
    ) -> None:
        if not len(images) == len(predicted) == len(predicted if true is None else true) > 0:
            n_true = "no" if true is None else len(true)
            raise ValueError(
                f"expected as many masks as images, found {len(images)} images, {n_true} true and {len(predicted)} "
                f"predicted masks"
            )
        self.images, self.predicted = [np.asarray(image) for image in images], [np.asarray(y) for y in predicted]
        self.true = None if true is None else [np.asarray(y) for y in true]
        self.margins = None if margins is None else [np.asarray(m, float) for m in margins]
        self.ignore_label = ignore_label
        for i, shapes in enumerate(zip(*self._columns().values(), strict=True)):
            if len({array.shape[:2] for array in shapes}) > 1:
                raise ExampleError.at(
                    Place("X", i), f"image and masks have shapes {[array.shape for array in shapes]}, expected the same"
                )
        labels = np.unique(np.concatenate([y.ravel() for y in (*(self.true or ()), *self.predicted)]))
        self.labels = labels if ignore_label is None else labels[labels != ignore_label]

    def _columns(self) -> dict[str, list[Any]]:
        """Return what is shown, by title."""
        columns = {"image": self.images, "truth": self.true, "prediction": self.predicted, "margin": self.margins}
        return {title: arrays for title, arrays in columns.items() if arrays is not None}

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Sequence[Any], Y: Sequence[Any] | None = None, *, margins: bool = False
    ) -> SegmentationDisplay:
        """Plot images with the masks that a fitted estimator predicts.

        Parameters
        ----------
        estimator : estimator
            A fitted estimator whose `predict` returns masks, such as `CutSegmenter`, or `GraphLabeler` of grids.
        X : sequence of arrays
            A few images.
        Y : sequence of arrays, optional
            Their true masks.
        margins : bool, default=False
            Whether to show the margins of the pixels too (`CutSegmenter.decision_margins`).

        Returns
        -------
        SegmentationDisplay
            The display, with its figure drawn.
        """
        margin_maps = estimator.decision_margins(X) if margins else None
        void = getattr(estimator, "ignore_label", None)
        return cls(X, Y, estimator.predict(X), margin_maps, ignore_label=void).plot()

    def plot(self) -> SegmentationDisplay:
        """Draw the figure.

        Returns
        -------
        SegmentationDisplay
            The display, with its figure drawn.
        """
        plt, n, columns = pyplot(), len(self.images), self._columns()
        height, width = self.images[0].shape[:2]
        across = 2.4
        figure, axes = plt.subplots(
            n, len(columns), figsize=(len(columns) * across, n * (across * height / width + 0.1) + 0.3),
            layout="constrained", squeeze=False,
        )  # fmt: skip
        self.figure_, self.axes_ = figure, axes
        for i, row in enumerate(axes):
            for ax, (title, arrays) in zip(row, columns.items(), strict=True):
                self._draw(ax, title, arrays[i], i)
                ax.set_xticks([])
                ax.set_yticks([])
                ax.spines[:].set_visible(False)
        for ax, title in zip(axes[0], columns, strict=True):
            ax.set_title(title, fontsize=10)
        return self

    def _draw(self, ax: Any, title: str, array: Any, i: int) -> None:
        """Draw one picture of image i."""
        if title == "image":
            ax.imshow(_shown(array), cmap="gray")
            return
        if title == "margin":
            finite = array[np.isfinite(array)]
            highest = float(np.quantile(finite, 0.9)) if finite.size else 1.0
            shown = ax.imshow(array, cmap="magma", vmin=0.0, vmax=highest)
            bar = ax.figure.colorbar(shown, ax=ax, shrink=0.8, extend="max")
            bar.ax.tick_params(labelsize=7)
            bar.outline.set_visible(False)
            return
        known = np.ones(array.shape, bool) if self.ignore_label is None else array != self.ignore_label
        codes = np.ma.masked_array(np.searchsorted(self.labels, array), ~known)
        ax.imshow(codes, cmap="viridis", vmin=0, vmax=max(len(self.labels) - 1, 1), interpolation="nearest")
        if title == "prediction" and self.true is not None:
            counted = np.ones(array.shape, bool) if self.ignore_label is None else self.true[i] != self.ignore_label
            wrong = (self.true[i] != array) & counted
            _outline(ax, wrong)
            ax.set_xlabel(f"{wrong.sum() / max(counted.sum(), 1):.1%} wrong", fontsize=8)


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
