"""Scores of parts, the interface between a model and an argmax.

The model may be linear, a kernel expansion or a network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.planes import Planes


class Scores(NamedTuple):
    """Scores of the parts of one block, for a batch of examples.

    Attributes
    ----------
    values : ndarray of float64
        Scores of all parts, concatenated. Minus infinity forbids a part.
    starts : ndarray of int64
        Part p of the r-th example of the batch has the score ``values[starts[r] + p]``; the last entry is the end. All
        entries are 0 for a table of parts that all examples share.
    """

    values: FloatArray
    starts: IntArray

    def gradient(self, changes: Planes, coefficients: FloatArray) -> FloatArray:
        """Return the derivative of Σ_r coefficients[r] · hinge_r by the scores.

        The hinge of the r-th example is max_ŷ Σ_p (c_p(ŷ) − c_p(y)) s_p + loss, so its derivative by s_p is c_p(ŷ) −
        c_p(y): minus the result of `Examples.changes`. A network propagates the derivative backwards.
        """
        lengths = np.diff(changes.indptr)
        at = np.repeat(self.starts[:-1], lengths) + changes.indices
        gradient = np.zeros_like(self.values)
        np.subtract.at(gradient, at, np.repeat(coefficients, lengths) * changes.values)
        return gradient
