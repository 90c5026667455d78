"""The pairs of labels that tell most about each other, as a tree (Chow and Liu 1968)."""

from __future__ import annotations

import numpy as np

from maxmargin._base.types import CodeArray, FloatArray


def mutual_information(Y: CodeArray) -> FloatArray:
    """Return the mutual information of all pairs of labels, in nats.

    Parameters
    ----------
    Y : ndarray of shape (n, L)
        Rows of 0 and 1.
    """
    n = len(Y)
    present = Y.astype(float)
    both = present.T @ present / n
    one = np.diagonal(both)
    total = np.zeros_like(both)
    for with_j, with_k in ((True, True), (True, False), (False, True), (False, False)):
        p = one[:, None] if with_j else 1.0 - one[:, None]
        q = one[None, :] if with_k else 1.0 - one[None, :]
        cell = both if with_j else one[None, :] - both
        if not with_k:
            cell = p - cell
        expected = p * q
        held = (cell > 0.5 / n) & (expected > 0)  # counts of 0 are 0 up to rounding
        total += np.where(held, cell * np.log(np.where(held, cell, 1.0) / np.where(held, expected, 1.0)), 0.0)
    return total


def information_tree(Y: CodeArray) -> list[tuple[int, int]]:
    """Return the edges j < k of the tree of greatest mutual information, in ascending order (Prim 1957).

    Ties go to the first pair, up to rounding.
    """
    information = np.round(mutual_information(Y), 12)
    n_labels = len(information)
    best, link = information[0].copy(), np.zeros(n_labels, np.int64)
    outside = np.ones(n_labels, bool)
    outside[0] = False
    edges = []
    for _ in range(n_labels - 1):
        k = int(np.argmax(np.where(outside, best, -np.inf)))
        edges.append((min(k, int(link[k])), max(k, int(link[k]))))
        outside[k] = False
        closer = information[k] > best
        best[closer], link[closer] = information[k][closer], k
    return sorted(edges)
