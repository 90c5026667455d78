"""Sensitivity and selectivity of predicted base pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import example_weights, indexable
from maxmargin.features.biology.rna import base_pairs


class BasePairScores(NamedTuple):
    """Counts of base pairs, with sensitivity, selectivity and F1; ratios 0/0 are 0.

    Attributes
    ----------
    n_right : float
        Number of predicted pairs that are correct.
    n_predicted, n_true : float
        Numbers of predicted and of true pairs.
    n_found : float
        Number of true pairs that are predicted; `n_right` unless pairs may slip.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.base_pair_scores(["((...))"], ["(.....)"])
    >>> scores.n_right, scores.n_predicted, scores.n_true, round(scores.f1, 3)
    (1.0, 1.0, 2.0, 0.667)
    """

    n_right: float
    n_predicted: float
    n_true: float
    n_found: float

    @property
    def sensitivity(self) -> float:
        """Fraction of true pairs that are predicted (recall)."""
        return self.n_found / self.n_true if self.n_true else 0.0

    @property
    def selectivity(self) -> float:
        """Fraction of predicted pairs that are correct (precision, positive predictive value)."""
        return self.n_right / self.n_predicted if self.n_predicted else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of sensitivity and selectivity."""
        total = self.sensitivity + self.selectivity
        return 2.0 * self.sensitivity * self.selectivity / total if total else 0.0


def base_pair_scores(
    true: Sequence[str], predicted: Sequence[str], *, slip: int = 0, sample_weight: Any = None
) -> BasePairScores:
    """Return sensitivity, selectivity and F1 of base pairs, pooled over all structures.

    Parameters
    ----------
    true, predicted : sequence of str
        Structures in dot-bracket notation; pairs may cross.
    slip : int, default=0
        A pair (i, j) counts as (i ± slip, j) and (i, j ± slip) too: 1 is usual in comparisons of folding programs
        (Mathews et al. 1999).
    sample_weight : array-like of shape (n,), default=None
        Weight of each structure, for all of its pairs.

    Returns
    -------
    BasePairScores
        The scores.

    Examples
    --------
    >>> import maxmargin as mm
    >>> scores = mm.metrics.base_pair_scores(["((...))"], ["(.....)"])
    >>> scores.sensitivity, scores.selectivity
    (0.5, 1.0)
    """
    slip = whole_number(slip, "slip", 0)
    true, predicted = indexable(true, "true"), indexable(predicted, "predicted")
    if len(true) != len(predicted):
        raise ValueError(f"{len(true)} true structures but {len(predicted)} predicted ones")
    weights = example_weights(sample_weight, len(true)) if len(true) else np.zeros(0)
    totals = np.zeros(4)
    for i, (y, y_hat, weight) in enumerate(zip(true, predicted, weights.tolist(), strict=True)):
        pairs, predicted_pairs = base_pairs(y, Place("true", i)), base_pairs(y_hat, Place("predicted", i))
        if len(y) != len(y_hat):
            raise ExampleError.at(Place("true", i), f"{len(y)} positions, but the predicted structure has {len(y_hat)}")
        right, hit = _within(predicted_pairs, pairs, slip), _within(pairs, predicted_pairs, slip)
        totals += weight * np.array([right, len(predicted_pairs), len(pairs), hit])
    return BasePairScores(*totals.tolist())


def _within(pairs: set[tuple[int, int]], others: set[tuple[int, int]], slip: int) -> int:
    """Return the number of pairs that are in the others, one end up to `slip` positions away."""
    if slip == 0:
        return len(pairs & others)
    shifts = [(s, 0) for s in range(-slip, slip + 1)] + [(0, s) for s in range(-slip, slip + 1)]
    return sum(any((i + a, j + b) in others for a, b in shifts) for i, j in pairs)
