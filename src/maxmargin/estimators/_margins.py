"""Margins between the best and the second best label."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray


def label_margins(scores: FloatArray) -> FloatArray:
    """Return the best minus the second best score of each row; infinite if only one label is possible."""
    best = np.partition(scores, -2, axis=1)
    margins: FloatArray = best[:, -1] - best[:, -2]
    return margins
