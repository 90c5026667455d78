"""Metrics of pairwise alignments: matches found, matches nearly found, matches that are right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.errors import Place
from maxmargin._base.types import FloatArray
from maxmargin.features.biology.aligned import N_ORDERS, aligned_pair, check_spelling, code_of_strings, core_of_code


def alignment_recall(Y: Sequence[Any], predicted: Sequence[Any], *, core: bool = False) -> FloatArray:
    """Return the share of the true matches of each alignment that were predicted; 1 if there are none.

    Parameters
    ----------
    Y, predicted : sequence of pairs of aligned strings
        True and predicted alignments of the same sequences.
    core : bool, default=False
        Whether to count reliable columns of Y only: those without a lower-case letter, or with ``"*"`` in a third
        string.

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
    return q_score(Y, predicted, tolerance=0, core=core)


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

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.metrics.alignment_precision([("ACGT", "AC-T")], [("ACGT", "A-CT")])
    array([0.66666667])
    """
    return q_score(predicted, Y, tolerance=0)


def q_score(Y: Sequence[Any], predicted: Sequence[Any], tolerance: int = 4, *, core: bool = False) -> FloatArray:
    """Return the share of true matches (i, j) where i is matched within `tolerance` positions of j.

    Alignments without a true match have a score of 1.
    With a tolerance of 4 it is the Q4-score of Joachims et al. (2009), with 0 the recall.

    Parameters
    ----------
    Y, predicted : sequence of pairs of aligned strings
        True and predicted alignments of the same sequences.
    tolerance : int, default=4
        Greatest shift.
    core : bool, default=False
        Whether to count reliable columns of Y only, as in `alignment_recall`.

    Returns
    -------
    ndarray of shape (n,)
        The score of each alignment.

    Examples
    --------
    >>> import maxmargin as mm
    >>> true, shifted = [("ACGT", "AC-T")], [("ACGT", "A-CT")]
    >>> mm.metrics.q_score(true, shifted, tolerance=0), mm.metrics.q_score(true, shifted, tolerance=1)
    (array([0.66666667]), array([0.66666667]))
    """
    tolerance = whole_number(tolerance, "tolerance", 0)
    if len(Y) != len(predicted):
        raise ValueError(f"Y has {len(Y)} alignments but {len(predicted)} were predicted")
    scores = np.ones(len(Y))
    for i, (y, y_hat) in enumerate(zip(Y, predicted, strict=True)):
        true, predicted_partners = _partners(y, y_hat, i, core)
        matched = true >= 0
        if matched.any():
            near = (predicted_partners[matched] >= 0) & (
                np.abs(predicted_partners[matched] - true[matched]) <= tolerance
            )
            scores[i] = near.mean()
    return scores


def _partners(y: Any, y_hat: Any, i: int, core: bool) -> list[Any]:
    """Return the partners of positions of the first sequence, of a true and of a predicted alignment."""
    pairs = aligned_pair(y, Place("Y", i)), aligned_pair(y_hat, Place("predicted", i))
    a, b = pairs[0]
    check_spelling(*pairs[1], (a.replace("-", ""), b.replace("-", "")), Place("predicted", i))
    codes = [code_of_strings(*pair, ordered=False) for pair in pairs]
    if core:
        codes[0] = core_of_code(codes[0], a, b)
    return [code[N_ORDERS:] for code in codes]
