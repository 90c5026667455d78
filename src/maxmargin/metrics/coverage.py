"""Coverage of subtopics by chosen candidates."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._base.errors import Place, error_at
from maxmargin._base.types import FloatArray
from maxmargin.features.text.candidates import subtopic_rows
from maxmargin.metrics.gains import check_choice

WEIGHTS = ("popularity", "uniform")


def subtopic_coverage(Y: Sequence[Any], selections: Sequence[Any], *, weights: str = "popularity") -> FloatArray:
    """Return the weighted share of subtopics that chosen candidates cover, for each input.

    Parameters
    ----------
    Y : sequence
        For each input a list with the set of subtopics of each candidate.
    selections : sequence of sequences of int
        For each input the chosen candidates.
    weights : {"popularity", "uniform"}, default="popularity"
        Weights of subtopics: the number of candidates that have them, or 1.

    Returns
    -------
    ndarray of shape (n,)
        The shares, between 0 and 1; 1 minus a share is the loss of Joachims et al. (2009). NaN for an input without
        subtopics.

    Examples
    --------
    >>> subtopic_coverage([[{"a", "b"}, {"a"}, {"c"}]], [[1, 2]]).tolist()
    [0.75]
    """
    return np.array([row[-1] if len(row) else 0.0 for row in coverage_by_rank(Y, selections, weights=weights)])


def coverage_by_rank(Y: Sequence[Any], selections: Sequence[Any], *, weights: str = "popularity") -> list[FloatArray]:
    """Return the weighted share of subtopics that the first 1, 2, … chosen candidates cover, for each input.

    Parameters
    ----------
    Y, selections, weights : object
        As in `subtopic_coverage`; the order of the chosen candidates counts.

    Returns
    -------
    list of ndarray
        An array for each input, with a share for each chosen candidate.

    Examples
    --------
    >>> coverage_by_rank([[{"a", "b"}, {"a"}, {"c"}]], [[1, 2]])[0].tolist()
    [0.5, 0.75]
    """
    check_choice(weights, "weights", WEIGHTS)
    if len(Y) != len(selections):
        raise ValueError(f"Y has {len(Y)} inputs but there are {len(selections)} selections")
    return [_shares(y, chosen, weights, i) for i, (y, chosen) in enumerate(zip(Y, selections, strict=True))]


def _shares(y: Any, chosen: Any, weights: str, i: int) -> FloatArray:
    topics = subtopic_rows(y, Place("Y", i))
    counts = topics.frequencies().astype(float) if weights == "popularity" else np.ones(topics.size)
    covered, shares = np.zeros(topics.size, bool), np.full(len(chosen), np.nan)
    for r, j in enumerate(chosen):
        if not isinstance(j, numbers.Integral):
            raise error_at(Place("Y", i), f"expected chosen candidates as integers, found {j!r:.60}")
        if not 0 <= int(j) < topics.n_candidates:
            raise error_at(Place("Y", i), f"{topics.n_candidates} candidates, but candidate {j} was chosen")
        covered[topics.elements[slice(*topics.ptr[int(j) : int(j) + 2])]] = True
        if topics.size:
            shares[r] = counts[covered].sum() / counts.sum()
    return shares
