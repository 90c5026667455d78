"""Sums over all outputs of an example, beside the maximum over them: log-partition, marginals, entropy.

Scores s_p of parts define the probabilities p(ŷ) = exp(Σ_p c_p(ŷ) s_p) / Z of the outputs ŷ of an example. The gradient
of log Z by the scores is the expectation of the counts c_p, the marginals of the parts; a temperature T divides the
scores.
"""

from __future__ import annotations

from typing import NamedTuple

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
