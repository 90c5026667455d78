"""Sums over all outputs of an example, beside the maximum over them: log-partition, marginals, entropy.

Scores s_p of parts define the probabilities p(ŷ) = exp(Σ_p c_p(ŷ) s_p) / Z of the outputs ŷ of an example. The gradient
of log Z by the scores is the expectation of the counts c_p, the marginals of the parts; a temperature T divides the
scores.
"""

from __future__ import annotations

from math import frexp, isfinite
from typing import NamedTuple

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.core.scores import Scores

#: What to use where sums are #P-hard, for messages.
PERTURB = "use perturbed_samples of maxmargin.parts.perturbed, which are approximate"


class Sums(NamedTuple):
    """Sums over the outputs of each example of a batch.

    Attributes
    ----------
    log_partitions : ndarray of shape (len(ids),)
        log Z of each example; −∞ if scores of −∞ exclude all outputs.
    expected_scores : ndarray of shape (len(ids),)
        E[Σ_p c_p s_p] of each example.
    marginals : list of ndarray
        E[c_p] of the parts of each block, in the order of the values of `Scores`, times the coefficient of the example.
        A table of parts that all examples share has the sum over the examples.
    """

    log_partitions: FloatArray
    expected_scores: FloatArray
    marginals: list[FloatArray]

    @property
    def entropies(self) -> FloatArray:
        """Entropy −Σ p log p of the outputs of each example."""
        return self.log_partitions - self.expected_scores


def tempered(scores: list[Scores], temperature: float) -> list[Scores]:
    """Return the scores divided by a temperature."""
    if temperature == 1.0:
        return scores
    return [Scores(block.values / temperature, block.starts) for block in scores]


def size_of_scores(scores: list[Scores]) -> float:
    """Return the greatest absolute score, except for −∞; raise ValueError if a score is NaN or +∞."""
    size = 0.0
    for block in scores:
        if len(block.values):
            high, low = float(np.max(block.values)), float(np.min(block.values))
            if low == -np.inf:
                low = float(block.values.min(where=block.values > -np.inf, initial=high))
            size = max(size, abs(high) if high > -np.inf else 0.0, -low if isfinite(low) else 0.0)
            if not high < np.inf:
                raise ValueError("scores are not finite, so outputs have no probabilities: scale features or weights")
    return size


def of_example(scores: list[Scores], r: int) -> list[Scores]:
    """Return the scores of the r-th example of a batch; a table that examples share is whole."""
    return [
        Scores(block.values[block.starts[r] : block.starts[r + 1]], block.starts[r : r + 2] - block.starts[r])
        if block.starts[-1]
        else Scores(block.values, block.starts[:2])
        for block in scores
    ]


def reduced(scores: list[Scores], most: float) -> tuple[list[Scores], float]:
    """Return scores of at most `most`, and the power of 2 by which they were multiplied.

    Of scores of such sizes, only differences that are far above their rounding errors matter, and the probabilities of
    the other outputs are 0 in both cases; outputs with equal scores stay equal.
    """
    size = size_of_scores(scores)
    if size <= most:
        return scores, 1.0
    factor = 2.0 ** -frexp(size / most)[1]
    return [Scores(block.values * factor, block.starts) for block in scores], factor
