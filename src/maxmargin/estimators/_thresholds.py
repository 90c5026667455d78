"""Thresholds of scores: for a given number of rows, or the best one for a measure."""

from __future__ import annotations

import numpy as np

from maxmargin._types import AnyArray, FloatArray
from maxmargin.structures.measures.measures import Measure


def between(ordered: FloatArray, size: int) -> float:
    """Return a threshold with the first `size` scores above it, in descending order; ties are not divided."""
    if size <= 0:
        return float(ordered[0]) + 1.0
    if size >= len(ordered):
        return float(ordered[-1]) - 1.0
    return 0.5 * float(ordered[size - 1]) + 0.5 * float(ordered[size])


def counted_threshold(scores: FloatArray, size: int) -> float:
    """Return a threshold with `size` scores above it."""
    return between(np.sort(scores)[::-1], size)


def tuned_threshold(measure: Measure, scores: FloatArray, labels: AnyArray, weights: FloatArray | None) -> float:
    """Return the threshold of the greatest measure on these scores; of equals, that of the fewest positive rows.

    Parameters
    ----------
    measure : Measure
        A measure of contingency tables.
    scores : ndarray of shape (n,)
        Scores.
    labels : ndarray of shape (n,)
        Labels 0 and 1.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    """
    order = np.argsort(-scores, kind="stable")
    ordered, weight = scores[order], np.ones(len(order)) if weights is None else weights[order]
    positive = weight * (labels[order] == 1)
    a = np.concatenate([[0.0], np.cumsum(positive)])
    b = np.concatenate([[0.0], np.cumsum(weight - positive)])
    possible = np.concatenate([[True], ordered[1:] < ordered[:-1], [True]])  # equal scores have equal labels
    values = np.where(possible, measure.value(a, b, float(a[-1]), float(b[-1])), -np.inf)
    return between(ordered, int(np.argmax(values)))
