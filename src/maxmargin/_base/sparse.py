"""Sparse matrices from users, checked before compiled code follows their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.types import AnyArray

_REMEDY = "build the matrix from valid entries; its check_format(full_check=True) finds such faults"


def checked_csr(matrix: Any, row_place: Callable[[int], Where], name: Where = "X") -> Any:
    """Return a sparse matrix in CSR; raise ValueError if its indices do not fit its shape.

    SciPy does not check indices when a matrix is built from arrays; neither its products nor compiled functions check
    them when they read memory there. One pass over the indices is made, and no copy of a valid CSR matrix.

    Parameters
    ----------
    matrix : sparse matrix or array
        The matrix, of any format.
    row_place : callable
        Returns the place of a row, for error messages.
    name : Place or str, default="X"
        The place of the whole matrix, for error messages.
    """
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, row_place, name)
    elif matrix.format == "coo":
        _check_coordinates(matrix, row_place, name)
    if matrix.format == "csr":
        return _without_surplus(matrix)
    rows = matrix.tocsr()
    if matrix.format == "lil":  # lists of columns, which SciPy does not check either
        _check_compressed(rows, row_place, name)
    return rows


def checked_rows(X: Any, name: str = "X") -> Any:
    """Return X; if it is sparse, in CSR, with indices that fit its shape."""
    return checked_csr(X, lambda row: Place(name, row), name) if sp.issparse(X) else X


def _check_compressed(matrix: Any, row_place: Callable[[int], Where], name: Where) -> None:
    """Raise ValueError if `indptr` or `indices` of a CSR, CSC or BSR matrix are out of range."""
    rows, columns = (1, *matrix.shape)[-2:]
    if matrix.format == "bsr":
        height, width = matrix.blocksize
        rows, columns, matrix_rows = rows // height, columns // width, lambda row: row_place(row * height)
    else:
        matrix_rows = row_place
    by_rows = matrix.format != "csc"
    n_spans, n_indices = (rows, columns) if by_rows else (columns, rows)
    indptr, indices = matrix.indptr, matrix.indices
    _check_integers(indptr, "indptr", name)
    _check_integers(indices, "indices", name)
    fault = _pointer_fault(indptr, n_spans, min(len(indices), len(matrix.data)))
    if fault is not None:
        span, message = fault
        place = matrix_rows(span) if by_rows and span < n_spans else name
        raise error_at(place, f"a sparse matrix with {message}; {_REMEDY}")
    used = indices[: int(indptr[-1])]
    if len(used) and not 0 <= used.min() <= used.max() < n_indices:
        q = int(np.flatnonzero((used < 0) | (used >= n_indices))[0])
        span = int(np.searchsorted(indptr, q, "right")) - 1
        what = "column" if by_rows else "row"
        place = matrix_rows(span) if by_rows else name
        raise error_at(place, _out_of_range(what, int(used[q]), n_indices))


def _pointer_fault(indptr: AnyArray, n_spans: int, n_entries: int) -> tuple[int, str] | None:
    """Return the first row with an invalid span of entries and what is wrong; None if all are valid."""
    if len(indptr) != n_spans + 1:
        return n_spans, f"{len(indptr)} entries in indptr, expected {n_spans + 1}"
    if indptr[0] != 0:
        return 0, f"indptr[0] = {indptr[0]}, expected 0"
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        row = int(np.flatnonzero(falls)[0])
        return row, f"indptr[{row + 1}] = {indptr[row + 1]} below indptr[{row}] = {indptr[row]}"
    if indptr[-1] > n_entries:
        row = int(np.flatnonzero(indptr[1:] > n_entries)[0])
        return row, f"indptr[{row + 1}] = {indptr[row + 1]}, but only {n_entries} entries"
    return None


def _check_coordinates(matrix: Any, row_place: Callable[[int], Where], name: Where) -> None:
    """Raise ValueError if a row or a column of a COO matrix is out of range."""
    rows, columns = (1, *matrix.shape)[-2:]
    column = matrix.coords[-1] if hasattr(matrix, "coords") else matrix.col
    row = (matrix.coords[0] if hasattr(matrix, "coords") else matrix.row) if matrix.ndim > 1 else np.zeros_like(column)
    _check_integers(row, "row", name)
    _check_integers(column, "col", name)
    if not len(row) == len(column) == len(matrix.data):
        raise error_at(name, f"a sparse matrix with {len(column)} columns for {len(matrix.data)} values; {_REMEDY}")
    if len(row) and not 0 <= row.min() <= row.max() < rows:
        raise error_at(name, _out_of_range("row", int(row[(row < 0) | (row >= rows)][0]), rows))
    if len(column) and not 0 <= column.min() <= column.max() < columns:
        q = int(np.flatnonzero((column < 0) | (column >= columns))[0])
        raise error_at(row_place(int(row[q])), _out_of_range("column", int(column[q]), columns))


def _out_of_range(what: str, found: int, count: int) -> str:
    return f"a sparse matrix with {what} index {found}, expected 0 to {count - 1} ({count} {what}s); {_REMEDY}"


def _check_integers(values: AnyArray, what: str, name: Where) -> None:
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise error_at(name, f"a sparse matrix with {what} of {values.dtype} {values.shape}, expected integers")


def _without_surplus(matrix: Any) -> Any:
    """Return a CSR matrix without the entries behind its last row, which are not part of it."""
    size = int(matrix.indptr[-1])
    if size == len(matrix.indices) == len(matrix.data):
        return matrix
    return type(matrix)((matrix.data[:size], matrix.indices[:size], matrix.indptr), shape=matrix.shape)


def with_int32(rows: Any) -> Any:
    """Return rows whose indices, if they are sparse and few enough, have the type that scikit-learn's solvers take."""
    if not sp.issparse(rows) or rows.nnz > np.iinfo(np.int32).max:
        return rows
    return sp.csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), rows.shape)
