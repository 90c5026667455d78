"""`CutSegmenter`: a label for each pixel of an image, where neighbouring pixels tend to agree."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, choice, declared, parameter
from maxmargin._base.errors import ExampleError, Place, callers_level
from maxmargin._base.input import example_weights, indexable, paired_examples
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.explain import Explanation
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.predictor import label_margins
from maxmargin.estimators.warnings import warn_of_unknown_labels
from maxmargin.features.graphs.images import (
    CONTRAST_NAMES,
    channel_names,
    known_part,
    pixel_graph,
    read_image,
    statistic_names,
)
from maxmargin.features.rows.labels import check_costs
from maxmargin.features.rows.rows import NamedColumns
from maxmargin.structures.cut.structure import Cut

#: The label of pixels without a label in many data sets.
VOID = 255


@dataclass(frozen=True)
class MaskExplanation(Explanation):
    """Why a mask won.

    Attributes
    ----------
    prediction, runner_up : ndarray of shape (height, width)
        The predicted mask, and the next best one (or None).
    score, margin, contributions, rest
        As in `Explanation`.
    margins : ndarray of shape (height, width)
        What another label of a pixel costs: the score of the mask minus the best score of a mask with another label.
    others : ndarray of shape (height, width)
        The best other label of each pixel.
    n_shown : int
        Number of pixels in the text.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.images()
    >>> why = mm.CutSegmenter(C=1.0, features="channels").fit(X, Y).explain(X[0])
    >>> why.prediction.shape, why.margins.shape, bool(why.margins.min() >= 0.0)
    ((6, 8), (6, 8), True)
    """

    margins: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    others: AnyArray = field(default_factory=lambda: np.zeros((0, 0)))
    n_shown: int = 10

    def __str__(self) -> str:
        """Return the shares of the labels, where the next best mask differs, and the most doubtful pixels."""
        height, width = self.prediction.shape
        labels, counts = np.unique(self.prediction, return_counts=True)
        shares = ", ".join(f"{label!r} {count / self.prediction.size:.1%}" for label, count in
                           zip(labels.tolist(), counts.tolist(), strict=True))  # fmt: skip
        lines = [f"mask of {height} × {width} pixels (score {self.score:.4g}): {shares}"]
        if self.runner_up is not None:
            places = np.argwhere(self.runner_up != self.prediction)
            (top, left), (bottom, right) = places.min(axis=0).tolist(), places.max(axis=0).tolist()
            where = f"{len(places)} pixels of rows {top} to {bottom}, columns {left} to {right}"
            lines.append(f"the next best mask differs in {where}, and scores {self.margin:.4g} less")
            lines += [f"  {amount:+.4g}  {name}" for name, amount in self.contributions]
            lines += [f"  {self.rest:+.4g}  all others"] if self.rest else []
        order = np.argsort(self.margins, axis=None, kind="stable")[: self.n_shown].tolist()
        lines += ["most doubtful pixels:"] if order else []
        for row, column in (divmod(p, width) for p in order):
            label, other = self.prediction[row, column].item(), self.others[row, column].item()
            lines.append(f"  row {row}, column {column}: {label!r}, {self.margins[row, column]:.4g} above {other!r}")
        return "\n".join(lines)


@declared
class CutSegmenter(Kernelised, MaxMarginEstimator):
    """Segmentation of images: a label for each pixel, learnt from images with masks.

    Each x is an image, an array (height, width) or (height, width, channels); images may differ in size. Each y is a
    mask, an array (height, width) of labels of any kind. Pixels have a score for each label, and neighbouring pixels
    with equal labels a reward that is larger where colours are similar; the labels of greatest total score are found by
    minimum cuts (see `Cut`).

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights.
    classes_ : ndarray of shape (K,)
        The labels.
    pixel_weights_ : ndarray of shape (d + 1, K)
        Weights of the features of pixels; those of the constant come last. With a kernel, the coefficients of the
        kernel values with its points.
    n_channels_in_ : int
        Number of channels of the training images.
    edge_weights_ : ndarray of shape (2,)
        Rewards of neighbours with equal labels: constant, and by similarity.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> mask = np.zeros((12, 16), int)
    >>> mask[3:9, 4:12] = 1
    >>> noise = np.random.default_rng(0).normal(size=mask.shape)
    >>> model = mm.CutSegmenter(C=1.0, features="channels").fit([mask + 0.8 * noise], [mask])
    >>> model.predict([mask + 0.8 * noise[::-1]])[0].shape
    (12, 16)

    Read on: "Cuts, paths and programs" in the documentation.
    """

    features: Any = parameter(
        "Features of pixels: colours, their means and spreads around the pixel, histograms and position; the "
        "channels as they are; or a function from an image to an array (height, width, d).",
        default="statistics",
        kind='{"statistics", "channels"} or callable',
    )
    neighbours: int = parameter("Whether diagonal neighbours are joined.", choice(4, 8), default=4, kind="{4, 8}")
    C: float = changed("Trade-off. The loss counts pixels, so a large image weighs more than a small one.", default=0.1)
    loss: Any = parameter(
        'The loss: ``"hamming"`` (number of wrong pixels), ``"hamming-share"`` (fraction of wrong pixels), a '
        "cost matrix per pixel (rows: true labels), or a dict of costs by true label (default 1).",
        default="hamming",
        kind="str, array of shape (K, K) or dict",
    )
    classes: Any = parameter(
        "All labels in order, in case some do not occur in the training data.", default=None, kind="sequence, optional"
    )
    ignore_label: Any = parameter(
        'The label of pixels without a known label ("void"), such as 255. In training these pixels and their '
        "edges are left out of the graph, so their labels count neither in the score of the truth nor in "
        "the loss; features of other pixels still look at their colours. `score` leaves them out too, and "
        "predictions never have this label.",
        default=None,
        kind="object",
    )
    kernel: Any = changed(
        "Kernel on the features of pixels, as in `StructuralSVM`; rewards of equal labels stay linear.",
        default="linear",
    )
    tol: float = changed(default=0.01)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named = isinstance(self.features, str) and self.features in ("statistics", "channels")
        if not named and not callable(self.features):
            raise ValueError(f"features must be 'statistics', 'channels' or a function, found {self.features!r:.60}")
        check_costs(self.loss, Cut.cost_names, "loss")
        if self.ignore_label is not None and self.classes is not None and self.ignore_label in list(self.classes):
            raise ValueError(f"ignore_label={self.ignore_label!r} is one of the classes; leave it out of one of them")

    _structure = Cut

    # ------------------------------------------------------------------ images to graphs

    def _features(self, X: Any) -> list[Any]:
        return [self._graph(self._image(image, X, Place("X", i)), image, Place("X", i)) for i, image in enumerate(X)]

    def _image(self, image: Any, X: Any, where: Place) -> FloatArray:
        """Return an image as floats; raise ExampleError if it does not have the channels of the training images."""
        values = read_image(image, where)
        expected = getattr(self, "n_channels_in_", values.shape[2])
        if values.shape[2] != expected:
            hint = "; pass a single image as [image]" if np.ndim(X) == 3 else ""
            raise ExampleError.at(
                where, f"{values.shape[2]} channels, expected {expected} as in the training images{hint}"
            )
        return values

    def _graph(self, values: FloatArray, image: Any, where: Place) -> tuple[AnyArray, Any, Any]:
        """Return the graph of an image."""
        given = values if self.features == "channels" else None
        if callable(self.features):
            try:
                given = self.features(image)
            except Exception as error:
                raise ExampleError.at(where, f"features raised {type(error).__name__}: {error}") from error
        return pixel_graph(values, given, self.neighbours, where)

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        graphs, labels, n_channels = list[Any](), list[AnyArray](), -1
        for i, (image, mask) in enumerate(zip(X, Y, strict=True)):
            flat, values = _flat_mask(mask, image, i), read_image(image, Place("X", i))
            n_channels = values.shape[2] if i == 0 else n_channels
            if values.shape[2] != n_channels:
                raise ExampleError.at(Place("X", i), f"{values.shape[2]} channels, expected {n_channels} as in X[0]")
            known = self._known(flat)
            _check_labelled(flat, known, np.shape(image)[1], i)
            if not known.any():
                raise ExampleError.at(
                    Place("Y", i), f"all pixels have ignore_label={self.ignore_label!r}; leave this image out"
                )
            graph = known_part(*self._graph(values, image, Place("X", i)), known)
            graphs.append(self._named(graph, n_channels))
            labels.append(flat[known])
        self._warn_of_void(labels)
        self.n_channels_in_ = n_channels
        return super()._encode(graphs, labels)

    def _named(self, graph: tuple[Any, Any, Any], n_channels: int) -> tuple[Any, Any, Any]:
        """Return a graph whose features have names, unless a function made them."""
        nodes, edges, contrasts = graph
        if not callable(self.features):
            names = channel_names(n_channels) if self.features == "channels" else statistic_names(n_channels)
            nodes = NamedColumns(nodes, names)
        return nodes, edges, NamedColumns(contrasts, CONTRAST_NAMES)

    def _known(self, labels: AnyArray) -> AnyArray:
        """Return which labels are known: not `ignore_label`."""
        if self.ignore_label is None:
            return np.ones(labels.shape, bool)
        missing = self.ignore_label != self.ignore_label  # NaN
        return np.asarray(labels == labels if missing else labels != self.ignore_label)

    def _warn_of_void(self, labels: list[AnyArray]) -> None:
        """Warn if 255 is a class besides several others, as it marks pixels without a label in many data sets."""
        if self.ignore_label is not None or self.classes is not None or any(y.dtype.kind not in "iu" for y in labels):
            return
        values = np.unique(np.concatenate([np.unique(y) for y in labels]))
        if VOID in values and len(values) > 2:
            warnings.warn(
                f"masks have the label {VOID} besides {values[values != VOID].tolist()!r:.60}: often it marks pixels "
                f"without a label; pass ignore_label={VOID}, or classes= if it is a class",
                UserWarning,
                stacklevel=callers_level(),
            )

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        attributes = super()._fitted_attributes(weights, structure)
        tables = structure.split_weights(attributes["coef_"])
        return attributes | {
            "classes_": structure.labels_.array(),
            "pixel_weights_": tables["nodes"].copy(),
            "edge_weights_": tables["edges"].copy(),
        }

    # ------------------------------------------------------------------ use

    def predict(self, X: Any) -> list[AnyArray]:
        """Return a mask for each image.

        Parameters
        ----------
        X : sequence of arrays
            Images.

        Returns
        -------
        list of ndarray of shape (height, width)
            The label of each pixel.
        """
        check_is_fitted(self, "coef_")
        X = indexable(X, "X")
        codes: list[AnyArray] = []
        for examples in self._encoded(X):
            codes += np.split(self._answers(examples).codes, examples.code_offsets[1:-1])[: examples.n_examples]
        return [self.classes_[code].reshape(np.shape(image)[:2]) for code, image in zip(codes, X, strict=True)]

    def topk(self, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best masks of one image, with their scores.

        Each takes a few cuts (Yanover and Weiss 2003); with more than two labels the order is approximate.

        Parameters
        ----------
        x : array
            One image.
        k : int
            Number of masks.

        Returns
        -------
        list of (ndarray, float)
            At most k pairs, best first.
        """
        shape = np.shape(x)[:2]
        return [(np.array(labels).reshape(shape), score) for labels, score in super().topk(x, k)]

    def decision_scores(self, X: Any) -> list[FloatArray]:
        """Return the best score of a mask that gives a pixel a label, for all pixels and labels.

        One cut for each image (one for each label if there are more than two), whose flow is continued for each pixel
        (Kohli and Torr 2008). With more than two labels the scores are lower bounds.

        Parameters
        ----------
        X : sequence of arrays
            Images.

        Returns
        -------
        list of ndarray of shape (height, width, K)
            One array for each image, in the order of `classes_`.
        """
        X, tables = indexable(X, "X"), super().decision_scores(X)
        return [scores["nodes"].reshape(*np.shape(image)[:2], -1) for image, scores in zip(X, tables, strict=True)]

    def decision_margins(self, X: Any) -> list[FloatArray]:
        """Return how clear the label of each pixel is: the best minus the second best decision score.

        The least margin of an image is the difference of its two best masks. Margins grow with C and are not
        probabilities.

        Parameters
        ----------
        X : sequence of arrays
            Images.

        Returns
        -------
        list of ndarray of shape (height, width)
            One array for each image.
        """
        tables = self.decision_scores(X)
        return [label_margins(t.reshape(-1, t.shape[2])).reshape(t.shape[:2]) for t in tables]

    def explain(self, x: Any, n_features: int = 10) -> MaskExplanation:
        """Return why a mask won: the next best one, the margin, and the pixels that are in doubt.

        `SegmentationDisplay.from_estimator` with ``margins=True`` shows the margins of all pixels as a picture.

        Parameters
        ----------
        x : array
            One image.
        n_features : int, default=10
            Number of features listed, and of doubtful pixels in the text.

        Returns
        -------
        MaskExplanation
            The explanation, with masks and margins of shape (height, width).
        """
        explanation, scores, shape = super().explain(x, n_features), self.decision_scores([x])[0], np.shape(x)[:2]
        mask = np.array(explanation.prediction).reshape(shape)
        other = None if explanation.runner_up is None else np.array(explanation.runner_up).reshape(shape)
        codes, rest = np.argmax(mask[:, :, None] == self.classes_, axis=2), scores.copy()
        np.put_along_axis(rest, codes[:, :, None], -np.inf, axis=2)
        best = np.take_along_axis(scores, codes[:, :, None], axis=2)[:, :, 0]
        return MaskExplanation(
            mask, explanation.score, other, explanation.margin, explanation.contributions, explanation.rest,
            margins=best - rest.max(axis=2), others=self.classes_[rest.argmax(axis=2)], n_shown=n_features,
        )  # fmt: skip

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the pixel accuracy: the fraction of pixels with the correct label, pooled over all images.

        Pixels of `ignore_label` do not count. `maxmargin.metrics.intersection_over_union` is another measure.

        Parameters
        ----------
        X, y : sequence of arrays
            Images and their true masks.
        sample_weight : array-like of shape (n,), default=None
            Weight of each image, for all of its pixels.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, y)
        weights = example_weights(sample_weight, len(Y))
        right, total = np.zeros(len(Y)), np.zeros(len(Y))
        labels, recognised = self.structure_.labels_, False  # type: ignore[attr-defined]
        for i, (mask, predicted) in enumerate(zip(Y, self.predict(X), strict=True)):
            true = _flat_mask(mask, predicted, i)
            known = self._known(true)
            right[i], total[i] = np.count_nonzero((true == predicted.ravel()) & known), np.count_nonzero(known)
            recognised = recognised or bool((labels.find(np.unique(true[known])) >= 0).any())
        if not weights @ total:
            raise ValueError(f"no pixel has a label other than ignore_label={self.ignore_label!r}")
        if not recognised:
            warn_of_unknown_labels(labels)
        return float(weights @ right / (weights @ total))


def _check_labelled(labels: AnyArray, known: AnyArray, width: int, i: int) -> None:
    """Raise ExampleError if a known label is None or NaN."""
    if labels.dtype.kind not in "Of":
        return
    for p in np.flatnonzero(known & ((labels != labels) | (labels == None))):  # noqa: E711 (entry by entry)
        row, column = divmod(int(p), width)
        raise ExampleError.at(
            Place("Y", i, f", pixel ({row}, {column})"),
            f"expected a label, found {labels[p]!r}; give such pixels a label of their own, such as 255, and pass it "
            f"as ignore_label",
        )


def _flat_mask(mask: Any, image: Any, i: int) -> AnyArray:
    """Return the labels of a mask, row by row; raise ExampleError if its shape is not that of its image."""
    labels, shape = np.asarray(mask), np.shape(image)[:2]
    if labels.shape != shape:
        shown = f"shape {labels.shape}" if labels.ndim else f"{type(mask).__name__} {mask!r:.60}"
        raise ExampleError.at(Place("Y", i), f"expected a mask of shape {shape} as its image has, found {shown}")
    return labels.ravel()
