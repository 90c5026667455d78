"""Checks of inputs, outputs and sample weights, before any work."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import beyond_floats, is_list
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.ragged import Numbered
from maxmargin._base.sparse import checked_rows
from maxmargin._base.types import FloatArray, IntArray


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
