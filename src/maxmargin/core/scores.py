"""Scores of parts, the interface between a model and an argmax.

The model may be linear, a kernel expansion or a network.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.types import AnyArray, FloatArray, IntArray
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
        gradient = np.zeros_like(self.values)
        self.subtract(changes, coefficients, gradient)
        return gradient

    def subtract(self, counts: Planes, coefficients: FloatArray, values: AnyArray) -> None:
        """Subtract coefficient · c_p of each example of the batch from values of the parts."""
        lengths = np.diff(counts.indptr)
        at = np.repeat(self.starts[:-1], lengths) + counts.indices
        np.subtract.at(values, at, np.repeat(coefficients, lengths) * counts.values)

    def add_totals(self, counts: Planes, out: FloatArray) -> None:
        """Add Σ_p c_p s_p of each example of the batch to `out`."""
        add_totals(counts.indptr, counts.indices, counts.values, self.starts, self.values, out)


@jit
def add_totals(ptr, parts, counts, starts, scores, out):
    """Compute out += Σ count · score over the parts of each example."""
    for r in range(len(ptr) - 1):
        total = 0.0
        for k in range(ptr[r], ptr[r + 1]):
            total += counts[k] * scores[starts[r] + np.int64(parts[k])]
        out[r] += total
