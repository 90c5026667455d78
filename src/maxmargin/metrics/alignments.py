"""Metrics of pairwise alignments: matches found, matches nearly found, matches that are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._types import FloatArray
from maxmargin.core.errors import Place
from maxmargin.encoding.aligned import N_ORDERS, aligned_pair, check_spelling, code_of_strings


def alignment_recall(Y: Sequence[Any], predicted: Sequence[Any]) -> FloatArray:
    """Return the share of the true matches of each alignment that were predicted; 1 if there are none.

    Parameters
    ----------
    Y, predicted : sequence of pairs of aligned strings
        True and predicted alignments of the same sequences.

    Returns
    -------
    ndarray of shape (n,)
        The recall of each alignment.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.metrics.alignment_recall([("ACGT", "A-GT")], [("ACGT", "AG-T")])
    array([0.66666667])
    """
    return q_score(Y, predicted, tolerance=0)


def alignment_precision(Y: Sequence[Any], predicted: Sequence[Any]) -> FloatArray:
    """Return the share of the predicted matches of each alignment that are true; 1 if there are none.

    Parameters
    ----------
    Y, predicted : sequence of pairs of aligned strings
        True and predicted alignments of the same sequences.

    Returns
    -------
    ndarray of shape (n,)
        The precision of each alignment.
    """
    return q_score(predicted, Y, tolerance=0)


def q_score(Y: Sequence[Any], predicted: Sequence[Any], tolerance: int = 4) -> FloatArray:
    """Return the share of true matches (i, j) where i is matched within `tolerance` positions of j.

    Alignments without a true match have a score of 1.
    With a tolerance of 4 it is the Q4-score of Joachims et al. (2009), with 0 the recall.

    Parameters
    ----------
    Y, predicted : sequence of pairs of aligned strings
        True and predicted alignments of the same sequences.
    tolerance : int, default=4
        Greatest shift.

    Returns
    -------
    ndarray of shape (n,)
        The score of each alignment.
    """
    tolerance = whole_number(tolerance, "tolerance", 0)
    if len(Y) != len(predicted):
        raise ValueError(f"Y has {len(Y)} alignments but {len(predicted)} were predicted")
    scores = np.ones(len(Y))
    for i, (y, y_hat) in enumerate(zip(Y, predicted, strict=True)):
        true, found = _partners(y, y_hat, i)
        matched = true >= 0
        if matched.any():
            near = (found[matched] >= 0) & (np.abs(found[matched] - true[matched]) <= tolerance)
            scores[i] = near.mean()
    return scores


def _partners(y: Any, y_hat: Any, i: int) -> list[Any]:
    pairs = aligned_pair(y, Place("Y", i)), aligned_pair(y_hat, Place("predicted", i))
    a, b = pairs[0]
    check_spelling(*pairs[1], (a.replace("-", ""), b.replace("-", "")), Place("predicted", i))
    return [code_of_strings(*pair, ordered=False)[N_ORDERS:] for pair in pairs]
