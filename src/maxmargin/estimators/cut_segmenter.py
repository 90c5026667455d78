"""`CutSegmenter`: a label for each pixel of an image, where neighbouring pixels tend to agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._input import either, example_weights, indexable, paired_examples
from maxmargin._types import AnyArray, FloatArray
from maxmargin.core.errors import ExampleError, Place
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.encoding.costs import check_costs
from maxmargin.encoding.images import pixel_graph, read_image
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.structures.cut.structure import Cut


class CutSegmenter(MaxMarginEstimator):
    """Segmentation of images: a label for each pixel, learnt from images with masks.

    Each x is an image, an array (height, width) or (height, width, channels); images may differ in size. Each y is a
    mask, an array (height, width) of labels of any kind. Pixels have a score for each label, and neighbouring pixels
    with equal labels a reward that is larger where colours are similar; the labels of greatest total score are found by
    minimum cuts (see `Cut`).

    Parameters
    ----------
    features : {"statistics", "channels"} or callable, default="statistics"
        Features of pixels: colours, their means and spreads around the pixel, histograms and position; the channels as
        they are; or a function from an image to an array (height, width, d).
    neighbours : {4, 8}, default=4
        Whether diagonal neighbours are joined.
    C : float, default=0.1
        Trade-off. The loss counts pixels, so that a large image weighs more than a small one.
    loss : str, array of shape (K, K) or dict, default="hamming"
        The loss: ``"hamming"`` (number of wrong pixels), ``"hamming-share"`` (fraction of wrong pixels), a cost matrix
        per pixel (rows: true labels), or a dict of costs by true label (default 1).
    classes : sequence, optional
        All labels in order, in case some do not occur in the training data.
    tol : float, default=1e-2
        Relative gap at which training stops.
    kernel, degree, gamma, coef0, n_components, kernel_method : optional
        Kernel on the features of pixels, as in `StructuralSVM`; rewards of equal labels stay linear.
    bound, slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights.
    classes_ : ndarray of shape (K,)
        The labels.
    pixel_weights_ : ndarray of shape (d + 1, K)
        Weights of the features of pixels; those of the constant come last. With a kernel, the coefficients of the
        kernel values with its points.
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
    """

    def __init__(
        self,
        *,
        features: Any = "statistics",
        neighbours: int = 4,
        C: float = 0.1,
        loss: Any = "hamming",
        classes: Any = None,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        n_components: int | None = None,
        kernel_method: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-2,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.features, self.neighbours, self.C, self.loss, self.classes = features, neighbours, C, loss, classes
        self.bound, self.slack, self.nonnegative, self.solver = bound, slack, nonnegative, solver
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _check_parameters(self) -> None:
        super()._check_parameters()
        named = isinstance(self.features, str) and self.features in ("statistics", "channels")
        if not named and not callable(self.features):
            raise ValueError(f"features must be 'statistics', 'channels' or a function, found {self.features!r:.60}")
        if self.neighbours not in (4, 8):
            raise ValueError(f"neighbours must be 4 or 8, found {self.neighbours!r}")
        check_costs(self.loss, Cut.cost_names, "loss")

    def _make_structure(self) -> Structure:
        return Cut(cost=self.loss, classes=self.classes)

    # ------------------------------------------------------------------ images to graphs

    def _features(self, X: Any) -> list[Any]:
        return [self._graph(image, Place("X", i)) for i, image in enumerate(X)]

    def _graph(self, image: Any, where: Place) -> Any:
        values = read_image(image, where)
        if not callable(self.features):
            return pixel_graph(values, None if self.features == "statistics" else values, self.neighbours, where)
        try:
            features = self.features(image)
        except Exception as error:
            raise ExampleError.at(where, f"features raised {type(error).__name__}: {error}") from error
        return pixel_graph(values, features, self.neighbours, where)

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        labels = [_flat_mask(mask, image, i) for i, (image, mask) in enumerate(zip(X, Y, strict=True))]
        return super()._encode(self._features(X), labels)

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
        """Return the k best masks of one image, with their scores; each takes one cut per pixel.

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

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the pixel accuracy: the fraction of pixels with the correct label, pooled over all images.

        `maxmargin.metrics.intersection_over_union` is another measure.

        Parameters
        ----------
        X, Y : sequence of arrays
            Images and their true masks.
        sample_weight : array-like of shape (n,), default=None
            Weight of each image, for all of its pixels.
        y : sequence of arrays, default=None
            Another name of Y.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, either(Y, y, "Y", "y"))
        weights = example_weights(sample_weight, len(Y))
        right, total = np.zeros(len(Y)), np.zeros(len(Y))
        for i, (mask, found) in enumerate(zip(Y, self.predict(X), strict=True)):
            true = _flat_mask(mask, found, i)
            right[i], total[i] = np.count_nonzero(true == found.ravel()), found.size
        return float(weights @ right / (weights @ total))


def _flat_mask(mask: Any, image: Any, i: int) -> AnyArray:
    """Return the labels of a mask, row by row; raise ExampleError if its shape is not that of its image."""
    labels, shape = np.asarray(mask), np.shape(image)[:2]
    if labels.shape != shape:
        found = f"shape {labels.shape}" if labels.ndim else f"{type(mask).__name__} {mask!r:.60}"
        raise ExampleError.at(Place("Y", i), f"expected a mask of shape {shape} as its image has, found {found}")
    return labels.ravel()
