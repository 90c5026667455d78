"""Metrics of labelled images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.errors import ExampleError, Place


def intersection_over_union(
    true: Sequence[Any], predicted: Sequence[Any], label: Any = None, *, ignore_label: Any = None
) -> float:
    """Return the intersection over union of labelled images, pooled over the images.

    For one label, the number of elements that have it in both the true and the predicted image, divided by the number
    of those that have it in at least one (Everingham et al. 2010).

    Parameters
    ----------
    true, predicted : sequence of arrays
        True and predicted labels of each image, of equal shapes.
    label : object, default=None
        The label; None for the mean over all labels of the true images.
    ignore_label : object, default=None
        The true label of elements that do not count, such as 255.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.metrics.intersection_over_union([[[0, 1], [1, 1]]], [[[0, 1], [0, 1]]], label=1)
    0.6666666666666666
    """
    if len(true) != len(predicted):
        raise ValueError(f"{len(true)} true images but {len(predicted)} predicted ones")
    pairs = [(np.asarray(y), np.asarray(p)) for y, p in zip(true, predicted, strict=True)]
    for i, (y, p) in enumerate(pairs):
        if y.shape != p.shape:
            raise ExampleError.at(Place("Y", i), f"shape {y.shape}, but the predicted image has {p.shape}")
    y, p = (np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))
    if ignore_label is not None:
        y, p = y[y != ignore_label], p[y != ignore_label]
    labels = np.unique(y) if label is None else np.array([label])
    shares = []
    for value in labels.tolist():
        either = np.count_nonzero((y == value) | (p == value))
        if either == 0:
            raise ValueError(f"the label {value!r} does not occur")
        shares.append(np.count_nonzero((y == value) & (p == value)) / either)
    return float(np.mean(shares))
