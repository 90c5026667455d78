"""Feature matrices with one row for each example, and matrices of labels."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array

from maxmargin._base.checks import is_list
from maxmargin._base.errors import ExampleError, Place, Where, error_at
from maxmargin._base.input import checked_csr, checked_rows, naming_rows
from maxmargin._base.types import CodeArray


def feature_matrix(X: Any) -> Any:
    """Return rows of features as a checked array of float64 or a CSR matrix; X may be a list of sparse rows."""
    if isinstance(X, list) and X and all(sp.issparse(row) for row in X):
        for i, row in enumerate(X):
            if row.ndim == 2 and row.shape[0] != 1:
                raise ExampleError.at(Place("X", i), f"expected one row, found {row.shape[0]}")
        X = sp.vstack([_checked_row(row, Place("X", i)) for i, row in enumerate(X)])
    with naming_rows(X):
        return check_array(checked_rows(X), accept_sparse="csr", dtype=np.float64, input_name="X")


def _checked_row(row: Any, place: Place) -> Any:
    return checked_csr(row, lambda _: place, place)


def label_matrix(Y: Any) -> CodeArray:
    """Return 0 or 1 for each example and label; raise ValueError with the first row that has something else.

    Parameters
    ----------
    Y : array-like, sparse matrix or data frame of shape (n_examples, n_labels)
        Zeros and ones, or bools.
    """
    Y = Y.to_numpy() if hasattr(Y, "to_numpy") else Y
    if sp.issparse(Y):
        Y = checked_rows(Y, "Y").toarray()
    if not is_list(Y) or getattr(Y, "ndim", 2) != 2:
        shape = f" of shape {Y.shape}" if hasattr(Y, "shape") else ""
        raise ValueError(
            f"Y: expected a matrix of 0 and 1 with a row for each example and a column for each label, found "
            f"{type(Y).__name__}{shape}"
        )
    rows = [label_row(y, Place("Y", i)) for i, y in enumerate(Y)] if not _are_bits(Y) else Y
    lengths = [len(row) for row in rows]
    if len(set(lengths)) > 1:
        i = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise error_at(Place("Y", i), f"{lengths[i]} labels, but Y[0] has {lengths[0]}")
    if not lengths or not lengths[0]:
        raise ValueError("Y: expected at least one example and one label, found none")
    return np.ascontiguousarray(rows, np.int32)


def _are_bits(Y: Any) -> bool:
    return isinstance(Y, np.ndarray) and Y.dtype.kind in "iufb" and bool(((Y == 0) | (Y == 1)).all())


def label_row(y: Any, where: Where) -> CodeArray:
    """Return 0 or 1 for each label of one example; raise an error at `where` if there is anything else."""
    row = np.asarray(y) if is_list(y) else np.zeros((0, 0))
    if row.dtype.kind == "O" and all(isinstance(value, Number | np.bool_) for value in row.flat):
        row = row.astype(float)  # a row of a data frame whose columns differ in type
    if row.ndim != 1 or (len(row) and (row.dtype.kind not in "iufb" or not np.isin(row, (0, 1)).all())):
        raise error_at(
            where,
            f"expected 0 or 1 for each label, found {y!r:.60}; scikit-learn's MultiLabelBinarizer makes such a matrix "
            f"of sets of labels",
        )
    return row.astype(np.int32)
