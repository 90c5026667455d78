"""The polytope of label sequences: flows of one unit through tokens × labels."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray
from maxmargin.core.polytopes import Polytope, entries


def chain_polytope(length: int, allowed: AnyArray, with_edges: bool) -> Polytope:
    """Return the polytope of the labellings of a sequence.

    The parts are tokens × labels, pairs of labels, first labels, last labels and, with transition features, pairs of
    labels at each token. The flow from label k to label k' at a token is the latter, or an auxiliary variable.
    """
    K, T = len(allowed), length
    sizes = [T * K, K * K, K, K, T * K * K * with_edges]
    ends = offsets_of(sizes)
    pairs, first, last, n_parts = int(ends[1]), int(ends[2]), int(ends[3]), int(ends[5])
    if T == 0:
        return Polytope(np.zeros((0, n_parts)), 0.0, 0.0, 0.0, 0.0)
    moved = max(T - 1, 0)
    flows = int(ends[4]) + K * K if with_edges else n_parts  # nothing moves into the first token
    width = n_parts if with_edges else n_parts + moved * K * K
    labels, pair = np.arange(K), np.arange(K * K)
    rows = [
        entries(np.zeros(K, int), first + labels, 1.0, (1, width)),
        _equal(labels, first + labels, width),
        _equal((T - 1) * K + labels, last + labels, width),
    ]
    right = np.concatenate([[1.0], np.zeros(2 * K)])
    token, before, after = (grid.ravel() for grid in np.meshgrid(np.arange(moved), labels, labels, indexing="ij"))
    moves = flows + token * K * K + before * K + after
    for place, label in ((token, before), (token + 1, after)):  # what leaves a label, what arrives at one
        row = token * K + label
        out = entries(
            np.concatenate([row, np.arange(moved * K)]),
            np.concatenate([moves, (np.unique(place)[:, None] * K + labels).ravel()]),
            np.concatenate([np.ones(len(row)), -np.ones(moved * K)]),
            (moved * K, width),
        )
        rows.append(out)
    total = entries(
        np.concatenate([pair, before * K + after]), np.concatenate([pairs + pair, moves]),
        np.concatenate([np.ones(K * K), -np.ones(len(moves))]), (K * K, width),
    )  # fmt: skip
    A = sp.csr_array(sp.vstack([*rows, total]))
    upper = np.full(width, np.inf)
    upper[moves] = np.where(allowed[before, after], np.inf, 0.0)
    if with_edges:
        upper[int(ends[4]) : flows] = 0.0
    right = np.concatenate([right, np.zeros(A.shape[0] - len(right))])
    return Polytope(A, right, right, 0.0, upper)


def _equal(some: AnyArray, others: AnyArray, width: int) -> sp.csr_array:
    """Return the rows that say z_some = z_others."""
    count = np.arange(len(some))
    values = np.repeat([1.0, -1.0], len(some))
    return entries(np.tile(count, 2), np.concatenate([some, others]), values, (len(some), width))
