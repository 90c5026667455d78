"""Rounding errors of scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray

#: Unit roundoff of float64.
UNIT = 2.0**-53


def rounding_units(terms: Any, norms: Any) -> FloatArray:
    """Return u such that the rise of an output is computed with an error of at most u ‖w‖.

    A sum of products of n terms w_j x_j is computed with an error of at most n 2⁻⁵³ Σ |w_j x_j| / (1 − n 2⁻⁵³),
    whatever the order of the terms (Higham 2002, section 3.1), and Σ |w_j x_j| ≤ ‖w‖ ‖x‖. The rise is the difference of
    two scores, and the loss is added to it; where that leaves a small hinge, the loss is of the size of the rise.

    Parameters
    ----------
    terms : array-like of shape (n_examples,)
        Number of terms of a score.
    norms : array-like of shape (n_examples,)
        Sum of the norms of the feature vectors that add up to a score.
    """
    shares = UNIT * np.maximum(np.asarray(terms, float) + 2.0, 0.0)
    return 4.0 * shares / (1.0 - np.minimum(shares, 0.5)) * np.asarray(norms, float)
