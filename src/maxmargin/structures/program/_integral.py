"""Whether the linear program of a program of integers has whole solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.algorithms.highs import Polyhedron


def has_whole_vertices(space: Polyhedron) -> bool:
    """Return whether all vertices are known to be whole where they must be.

    That is so if there are no integers, or if all limits are whole and the coefficients are totally unimodular by one
    of these tests: consecutive ones, or at most two entries in each column (or row) whose rows (columns) fall into two
    classes (Heller and Tompkins 1956), after rows and columns with a single entry have been removed.
    """
    if not space.integer.any():
        return True
    limits = np.concatenate([space.low, space.high, space.lower, space.upper])
    limits = limits[np.isfinite(limits)]
    A = sp.csr_array(space.A)
    A.eliminate_zeros()
    if (np.rint(limits) != limits).any() or not np.isin(A.data, (-1.0, 1.0)).all():
        return False
    A = _core(A)
    return A.nnz == 0 or any(_consecutive(M) or _two_classes(M) for M in (A, sp.csr_array(A.T)))


def _core(A: Any) -> Any:
    """Return the matrix without rows and columns that have at most one entry."""
    while A.nnz:
        rows, columns = np.diff(A.indptr) > 1, np.bincount(A.indices, minlength=A.shape[1]) > 1
        if rows.all() and columns.all():
            break
        A = sp.csr_array(A[np.flatnonzero(rows)][:, np.flatnonzero(columns)])
    return A


def _consecutive(A: Any) -> bool:
    """Return whether the entries of each row are ones, next to each other."""
    if (A.data != 1.0).any():
        return False
    first = np.minimum.reduceat(A.indices, A.indptr[:-1])
    last = np.maximum.reduceat(A.indices, A.indptr[:-1])
    return bool((last - first + 1 == np.diff(A.indptr)).all())


def _two_classes(A: Any) -> bool:
    """Return whether each row has two entries, and columns fall into two classes.

    Columns with equal signs in a row are in different classes, columns with different signs in the same class.
    """
    if (np.diff(A.indptr) != 2).any():
        return False
    ends, n = A.indices.reshape(-1, 2), A.shape[1]
    differ = A.data[::2] == A.data[1::2]
    a, b = ends.T
    other = np.where(differ, b + n, b)  # node v + n is node v in the other class
    rows, columns = np.concatenate([a, a + n]), np.concatenate([other, np.where(differ, b, b + n)])
    joined = sp.csr_array((np.ones(len(rows)), (rows, columns)), (2 * n, 2 * n))
    _, component = sp.csgraph.connected_components(joined, directed=False)
    return bool((component[:n] != component[n:]).all())
