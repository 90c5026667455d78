"""Measures of predictions, with true labels as tables of booleans."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from maxmargin._types import AnyArray, FloatArray
from maxmargin.estimators._one_versus_rest import label_table
from maxmargin.structures.measures.measures import Measure


def true_table(y: Any, classes: AnyArray | None, shape: tuple[int, ...]) -> AnyArray:
    """Return true labels as a table of booleans; raise ValueError if its shape is not the given one.

    Parameters
    ----------
    y : array-like or sparse matrix
        Labels, or a table of 0 and 1.
    classes : ndarray or None
        The labels, of which a table of one column has the second; None if y is a table.
    shape : tuple of int
        Number of rows, and 1 or the number of labels.
    """
    if classes is None:
        table = label_table(y)
        if table.shape != shape:
            raise ValueError(f"y: expected a table of shape {shape}, found {table.shape}")
        return table
    labels = column_or_1d(y)
    if len(labels) != shape[0]:
        raise ValueError(f"X has {shape[0]} rows but y has {len(labels)}")
    of_class = labels[:, None] == classes
    if not np.any(of_class):
        shown = ", ".join(map(repr, classes.tolist()[:5]))
        raise ValueError(f"y: no label is one of the classes {shown}, found {labels.tolist()[0]!r:.60}")
    return of_class[:, 1:] if shape[1] == 1 else of_class


def table_value(measure: Measure, true: AnyArray, found: AnyArray, scores: FloatArray, weights: FloatArray) -> float:
    """Return the measure of predicted labels, or of the rows of the highest scores if their number is given."""
    if measure.fixed:
        if (weights != weights[0]).any():
            raise ValueError("sample_weight: a measure of the k best rows counts rows, so that they have no weights")
        positive = int(np.count_nonzero(true))
        best = np.argsort(-scores, kind="stable")[: measure.size(positive, len(true))]
        hits = int(np.count_nonzero(true[best]))
        return float(measure.value(hits, len(best) - hits, positive, len(true) - positive))
    a, predicted, p = float(weights @ (true & found)), float(weights @ found), float(weights @ true)
    return float(measure.value(a, predicted - a, p, float(weights.sum()) - p))
