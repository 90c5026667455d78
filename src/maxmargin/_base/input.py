"""Checks of inputs, outputs and sample weights, before any work and before compiled code follows their indices."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import beyond_floats, is_list
from maxmargin._base.errors import ExampleError, Place, Where, error_at
from maxmargin._base.ragged import Numbered
from maxmargin._base.types import AnyArray, FloatArray, IntArray


def indexable(values: Any, name: str) -> Any:
    """Return a list or an array of examples: the rows of a data frame or of a sparse matrix."""
    if isinstance(values, Numbered):
        return values
    if sp.issparse(values):
        return checked_rows(values, name)  # in CSR: other formats may not support row indexing
    if hasattr(values, "nodes") and hasattr(values, "edges"):  # of networkx: its members are nodes
        raise one_example(name, "graph")
    passing = isinstance(values, Iterable) and not hasattr(values, "__len__")
    one = type(values).__module__ in ("Bio.Seq", "Bio.SeqRecord")  # its members are letters
    if one or (not is_list(values) and not passing):
        raise ValueError(f"{name}: expected a sequence of examples, found {type(values).__name__}")
    if hasattr(values, "shape") or isinstance(values, list | tuple):
        return values.to_numpy() if hasattr(values, "to_numpy") else values
    return list(values)


def one_example(name: str, what: str) -> ValueError:
    """Return the error for one example in the place of a list of examples."""
    return ValueError(f"{name}: expected a list of {what}s, found one {what}; pass [{what}]")


def n_examples(values: Any) -> int:
    """Return the number of examples, also of a sparse matrix, which has no length."""
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)


def paired_examples(X: Any, Y: Any) -> tuple[Any, Any]:
    """Return inputs and outputs; raise ValueError if their numbers differ or are 0."""
    X, Y = indexable(X, "X"), indexable(Y, "Y")
    n = n_examples(X)
    if n != len(Y):
        raise ValueError(f"X has {n} examples but Y has {len(Y)}")
    if n == 0:
        raise ValueError("X is empty: there are no examples")
    return X, Y


def check_labels_of_one_kind(y: Any) -> None:
    """Raise ExampleError unless all labels are strings or all are numbers, as sorting requires."""
    y = y.to_numpy() if hasattr(y, "to_numpy") else y
    labels = y.ravel().tolist() if isinstance(y, np.ndarray) and y.dtype.kind in "Of" else y
    if not isinstance(labels, list | tuple) or not labels:
        return
    for i, label in enumerate(labels):
        if isinstance(label, float) and label != label:
            raise ExampleError.at(Place("Y", i), f"expected a label, found {label!r}")
    kinds = {kind: _kind_of_label(kind) for kind in set(map(type, labels))}
    if len(set(kinds.values())) == 1 and type(None) not in kinds:
        return
    first = kinds[type(labels[0])]
    for i, label in enumerate(labels):
        if label is None or kinds[type(label)] != first:
            expected = f"{first} as Y[0] is" if i else "a string or a number"
            raise ExampleError.at(Place("Y", i), f"expected {expected}, found {type(label).__name__} {label!r:.60}")


def _kind_of_label(kind: type) -> str:
    if issubclass(kind, str):
        return "text"
    return "a number" if issubclass(kind, numbers.Number | np.bool_) else kind.__name__


def example_weights(sample_weight: Any, n: int) -> FloatArray:
    """Return a finite weight ≥ 0 for each of n examples, 1 by default; raise ValueError if all are 0."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weights = np.asarray(sample_weight, float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"sample_weight must be numbers, found {sample_weight!r:.60}") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected one number for each of {n} examples")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}, expected a finite number ≥ 0")
    if not weights.any():
        raise ValueError("every sample_weight is 0: there are no examples")
    return weights


def kept_examples(X: Any, Y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray, IntArray]:
    """Return inputs and outputs without examples of weight 0, their weights, and their positions."""
    X, Y = paired_examples(X, Y)
    weights = example_weights(sample_weight, len(Y))
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        X, Y = _kept(X, kept), _kept(Y, kept)
    return X, Y, weights[kept], kept


def _kept(values: Any, kept: IntArray) -> Any:
    if isinstance(values, Numbered):
        return values.take(kept)
    return values[kept] if hasattr(values, "shape") else [values[i] for i in kept]


_POSITIONS: ContextVar[IntArray | None] = ContextVar("positions", default=None)


@contextmanager
def by_position(positions: IntArray) -> Iterator[None]:
    """Set the position in the user's data on errors about an encoded example.

    Examples of weight 0 are left out and equal ones merged before they are encoded.
    """
    outside = _POSITIONS.set(positions)
    try:
        yield
    except ExampleError as error:
        if error.example is not None and error.example < len(positions):
            error.move_to(int(positions[error.example]))
        raise
    finally:
        _POSITIONS.reset(outside)


def position_of(example: int) -> int:
    """Return the position in the user's data of an encoded example, for warnings."""
    positions = _POSITIONS.get()
    return example if positions is None or example >= len(positions) else int(positions[example])


@contextmanager
def outputs_called(name: str) -> Iterator[None]:
    """Name the argument that contains the outputs in errors about them: X, Y or a keyword of the caller."""
    try:
        yield
    except ExampleError as error:
        if error.name == "Y" and error.example is not None:
            error.name = name
            error.move_to(error.example)
        raise


@contextmanager
def naming_rows(X: Any, faults: Any = (TypeError, OverflowError)) -> Iterator[None]:
    """Raise an error that names the first invalid row, instead of NumPy's, if X cannot be converted to floats."""
    try:
        yield
    except faults:
        rows = X.to_numpy() if hasattr(X, "to_numpy") else X
        for i, row in enumerate(rows if is_list(rows) and not sp.issparse(rows) else ()):
            _check_readable(row, Place("X", i))
        raise


def _check_readable(row: Any, where: Place) -> None:
    """Raise ExampleError if NumPy cannot convert a row to floats."""
    try:
        np.asarray(row, float)
    except OverflowError:
        raise beyond_floats("features must be numbers", where) from None
    except TypeError:
        raise ExampleError.at(where, f"features must be real numbers, found {row!r:.60}") from None


# ---------------------------------------------------------------------- sparse matrices


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


def _out_of_range(what: str, index: int, count: int) -> str:
    return f"a sparse matrix with {what} index {index}, expected 0 to {count - 1} ({count} {what}s); {_REMEDY}"


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
