"""Rows of features as kernels take them: canonical, and distinct ones found."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import AnyArray, FloatArray, IntArray


def canonical(matrix: Any) -> Any:
    """Return rows as a float64 array or a CSR matrix whose entries are sorted, distinct and not 0."""
    if not sp.issparse(matrix):
        return np.ascontiguousarray(matrix, float) + 0.0  # no negative zero: equal rows have equal bytes
    rows = sp.csr_array(matrix, dtype=float, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def distinct_rows(rows: Any) -> tuple[IntArray, IntArray]:
    """Return the first position of each distinct row, in order, and which of them each row is."""
    numbers: dict[bytes, int] = {}
    n = rows.shape[0]
    group, first = np.empty(n, np.int64), list[int]()
    for i in range(n):
        if sp.issparse(rows):
            span = slice(rows.indptr[i], rows.indptr[i + 1])
            content = rows.indices[span].tobytes() + rows.data[span].tobytes()
        else:
            content = rows[i].tobytes()
        group[i] = numbers.setdefault(content, len(first))
        if group[i] == len(first):
            first.append(i)
    return np.array(first, np.int64), group


def rows_state(rows: Any) -> dict[str, AnyArray]:
    """Return rows as plain arrays."""
    if not sp.issparse(rows):
        return {"dense": rows}
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape, np.int64)}


def rows_from_state(state: Any) -> Any:
    """Return the rows of a state, the inverse of `rows_state`; raise ValueError if they are damaged."""
    if "dense" in state:
        dense = np.asarray(state["dense"])
        if dense.ndim != 2 or dense.dtype != np.float64 or not np.isfinite(dense).all():
            raise ValueError("expected rows of finite numbers")
        return dense
    shape = tuple(int(size) for size in np.asarray(state["shape"]))
    rows = sp.csr_array((np.asarray(state["data"]), np.asarray(state["indices"]), np.asarray(state["indptr"])), shape)
    rows.check_format(full_check=True)
    if rows.data.dtype != np.float64 or not np.isfinite(rows.data).all():
        raise ValueError("expected rows of finite numbers")
    return rows


def squared_norms(rows: Any) -> FloatArray:
    """Return the squared norm of each row."""
    if sp.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1), float).ravel()
    norms: FloatArray = np.einsum("ij,ij->i", rows, rows)
    return norms
