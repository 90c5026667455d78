"""Sequences of varying length as one matrix of token rows with offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import is_list, whole_number
from maxmargin._base.errors import Place, error_at
from maxmargin._base.input import checked_csr
from maxmargin._base.memory import check_rows
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.mercer.on_rows import KernelRows
from maxmargin.features.rows.rows import check_finite, shared_columns
from maxmargin.features.text.vocabulary import Vocabulary, is_named

_EXPECTED = "an array (T, d), a sparse matrix, or a list of tokens (dicts, or lists of strings)"

#: Raised for values that are neither names nor numbers, or too large for a float.
_UNREADABLE = (TypeError, ValueError, OverflowError)


class NumberedNames(Sequence[str]):
    """The names ``x0``, ``x1``, …, each made when it is asked for.

    Parameters
    ----------
    size : int
        Number of names.
    """

    def __init__(self, size: int) -> None:
        self._numbers = range(size)

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, at: Any) -> Any:
        number = self._numbers[at]
        return f"x{number}" if isinstance(number, int) else [f"x{f}" for f in number]


class SequenceEncoder(KernelRows):
    """Encoder of sequences that learns whether tokens are numeric or named, and their width or vocabulary.

    Parameters
    ----------
    part : str, default=""
        The part of an example that holds the sequences, for error messages: ``"[1]"`` for ``X[3][1]``.
    may_be_empty : bool, default=False
        Whether all sequences may be empty in `fit`, as transitions are if no sequence has two tokens.
    min_count : int, default=1
        Named features that occur fewer times are left out.

    Attributes
    ----------
    kernel, features : optional
        As in `KernelRows`.
    vocabulary : Vocabulary or None
        Vocabulary of named features; None if tokens are rows of numbers.
    width : int
        Number of columns of the rows that are read.
    names : list of str or None
        Names of the columns if sequences were data frames.
    """

    #: Name of a row of a sequence in error messages.
    row: ClassVar[str] = "token"

    def __init__(self, part: str = "", may_be_empty: bool = False, min_count: int = 1) -> None:
        super().__init__()
        self.part, self.may_be_empty, self.min_count = part, may_be_empty, min_count
        self.vocabulary: Vocabulary | None = None
        self.names: list[str] | None = None

    def fit(self, X: Sequence[Any]) -> tuple[Any, IntArray]:
        """Learn from these sequences, and return their token matrix and offsets."""
        self.names = shared_columns(X, self._name)
        X = [_plain(x) for x in X]
        for i, x in enumerate(X):
            if not sp.issparse(x) and not isinstance(x, np.ndarray):
                tokens = self._tokens(i, x)
                if len(tokens) and is_named(tokens[0]):
                    self.vocabulary = Vocabulary()
                    break
        if self.vocabulary is None and self.min_count > 1:
            raise ValueError(f"min_count={self.min_count} leaves out rare named features, but these are numbers")
        matrix, offsets = self._encode(X, learn=True)
        return self._fit_kernel(matrix, offsets) if self.width > 0 else matrix, offsets

    def merge(self, parts: Sequence[SequenceEncoder]) -> list[IntArray]:
        """Learn what encoders without kernel and with ``min_count=1`` have learnt from the parts of the data in order.

        Return the column here of each column of each part, −1 if it is left out.
        """
        names = [part.vocabulary for part in parts if part.vocabulary is not None]
        if 0 < len(names) < len(parts):
            k = next(k for k, part in enumerate(parts) if part.named != parts[0].named)
            raise ValueError(f"part {k} of the data has {'names' if parts[k].named else 'numbers'} as features, part 0 "
                             f"has {'names' if parts[0].named else 'numbers'}")  # fmt: skip
        if names:
            self.vocabulary = Vocabulary()
            numbers = self.vocabulary.merge(names, self.min_count)
            self.width = len(self.vocabulary)
            return numbers
        self.width, self.names = parts[0].width, parts[0].names
        for k, part in enumerate(parts):
            if (part.width, part.names) != (self.width, self.names):
                raise ValueError(
                    f"part {k} of the data has {part.width} features per {self.row}, expected {self.width}"
                )
        return [np.arange(self.width)] * len(parts)

    @property
    def named(self) -> bool:
        """Whether features have names."""
        return self.vocabulary is not None

    def encode(self, X: Sequence[Any]) -> tuple[Any, IntArray]:
        """Return token matrix and offsets; names that did not occur in training are left out."""
        shared_columns(X, self._name, self.names)
        matrix, offsets = self._encode([_plain(x) for x in X], learn=False)
        return self._mapped(matrix), offsets

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state: a vocabulary or a width, and the features of the kernel if there is one."""
        if self.vocabulary is not None:
            return {"vocabulary": self.vocabulary.get_state(), **self._kernel_state()}
        names = {} if self.names is None else {"names": self.names}
        return {"width": self.width, **names, **self._kernel_state()}

    def set_state(self, state: Any) -> Self:
        """Restore the state of another encoder."""
        if "vocabulary" in state:
            self.vocabulary = Vocabulary.from_state(state["vocabulary"])
            self.width = len(self.vocabulary)
        else:
            self.vocabulary, self.width = None, whole_number(state["width"], "the number of features", 0)
            self.names = _checked_names(state.get("names"), self.width)
        self._set_kernel_state(state)
        return self

    def names_of(self, columns: Sequence[int]) -> list[str]:
        """Return the names of these columns."""
        names = self.column_names()
        return [names[column] for column in columns]

    def _input_names(self) -> Sequence[str]:
        if self.vocabulary is not None:
            return list(self.vocabulary.columns)
        return NumberedNames(self.width) if self.names is None else list(self.names)

    def _encode(self, X: Sequence[Any], learn: bool) -> tuple[Any, IntArray]:
        return self._named(X, learn) if self.vocabulary is not None else self._numeric(X, learn)

    def _named(self, X: Sequence[Any], learn: bool) -> tuple[Any, IntArray]:
        assert self.vocabulary is not None
        tokens: list[Any] = []
        offsets = np.zeros(len(X) + 1, np.int64)
        for i, x in enumerate(X):
            if sp.issparse(x) or (isinstance(x, np.ndarray) and x.dtype != object and x.size):
                raise error_at(
                    self._name(i), f"expected a list of {self.row}s as in the other {self._whole()}s, found numbers"
                )
            tokens.extend(self._tokens(i, x))
            offsets[i + 1] = len(tokens)
        try:
            matrix = self.vocabulary.encode(tokens, learn, self.min_count)
        except _UNREADABLE as error:
            self._explain(X, error)
            raise
        if matrix.data.dtype != np.int8:
            check_finite(
                matrix.data, lambda q: self._row_name(int(np.searchsorted(matrix.indptr, q, "right")) - 1, offsets)
            )
        if learn:
            self.width = len(self.vocabulary)
        return matrix, offsets

    def _explain(self, X: Sequence[Any], error: Exception) -> None:
        """Raise an error with the place of the token that could not be read."""
        for i, x in enumerate(X):
            for t, token in enumerate(x):
                try:
                    Vocabulary().encode([token], learn=True)
                except _UNREADABLE as reason:
                    raise error_at(self._name(i, f", {self.row} {t}"), str(reason)) from error

    def _numeric(self, X: Sequence[Any], learn: bool) -> tuple[Any, IntArray]:
        parts = [self._part(i, x) for i, x in enumerate(X)]
        filled = [part for part in parts if part.shape[0] > 0]
        if learn:
            if not filled and not self.may_be_empty:
                raise ValueError(f"every {self._whole()} is empty: there is nothing to learn from")
            self.width = filled[0].shape[1] if filled else max((part.shape[1] for part in parts), default=0)
        for i, part in enumerate(parts):
            if part.shape[0] > 0 and part.shape[1] != self.width:
                raise error_at(self._name(i), f"{part.shape[1]} features per {self.row}, expected {self.width}")
        offsets = offsets_of([part.shape[0] for part in parts])
        if not filled:
            return np.zeros((0, self.width)), offsets
        check_rows(filled, f"encoding {offsets[-1]} {self.row}s with {self.width} features")
        if any(sp.issparse(part) for part in filled):
            parts_of_rows = [sp.csr_array(part) for part in filled]
            matrix = parts_of_rows[0] if len(filled) == 1 else sp.csr_array(sp.vstack(parts_of_rows, format="csr"))
            check_finite(
                matrix.data, lambda q: self._row_name(int(np.searchsorted(matrix.indptr, q, "right")) - 1, offsets)
            )
            return matrix, offsets
        dense: FloatArray = filled[0] if len(filled) == 1 else np.concatenate(filled)
        check_finite(dense.ravel(), lambda q: self._row_name(q // self.width, offsets))
        return dense, offsets

    def _part(self, i: int, x: Any) -> Any:
        kind = getattr(x, "dtype", None)
        if kind is not None and kind.kind == "c":
            raise error_at(self._name(i), f"features must be real numbers, found {kind}")
        if sp.issparse(x):
            if x.ndim != 2:
                raise error_at(self._name(i), f"expected {self._expected()}, found a sparse array of shape {x.shape}")
            return checked_csr(x, lambda row: self._name(i, f", {self.row} {row}"), self._name(i))
        if not isinstance(x, np.ndarray):
            tokens = self._tokens(i, x)
            if len(tokens) and is_named(tokens[0]) and len(tokens[0]):
                raise error_at(self._name(i), f"expected rows of numbers as in the other {self._whole()}s, found names")
        try:
            array = np.asarray(x, float)
        except _UNREADABLE:
            self._explain_cells(i, x)
            raise error_at(self._name(i), f"expected {self._expected()}, found {_shown(x)}") from None
        if array.size == 0 and array.ndim < 2:
            return np.zeros((0, self.width))
        if array.ndim != 2:
            shown = f"an array of shape {array.shape}"
            if array.ndim == 1 and self.row != "token":
                shown += f"; if it is one feature of each {self.row}, use reshape(-1, 1)"
            raise error_at(self._name(i), f"expected {self._expected()}, found {shown}")
        return array

    def _explain_cells(self, i: int, x: Any) -> None:
        """Raise an error with the place of the first cell of a table of objects that is not a number."""
        for (row, column), value in np.ndenumerate(x) if getattr(x, "ndim", 0) == 2 else ():
            try:
                float(value)
            except _UNREADABLE:
                raise error_at(
                    self._name(i, f", {self.row} {row}"),
                    f"expected a number in column {column}, found {_shown(value)}; texts need dicts of features, as "
                    f"frame.to_dict('records') makes them",
                ) from None

    def _whole(self) -> str:
        """Return the name of an example in messages."""
        return "sequence" if self.row == "token" else "example"

    def _expected(self) -> str:
        if self.row == "token":
            return _EXPECTED
        forms = f"an array ({self.row}s, d), a sparse matrix, or a list of dicts or of lists of strings"
        return f"features of {self.row}s as {forms}"

    def _tokens(self, i: int, x: Any) -> Any:
        if not is_list(x):
            raise error_at(self._name(i), f"expected {self._expected()}, found {_shown(x)}")
        return x

    def _name(self, i: int, part: str = "") -> Place:
        return Place("X", i, self.part + part)

    def _row_name(self, row: int, offsets: IntArray) -> Place:
        i = int(np.searchsorted(offsets, row, "right")) - 1
        return self._name(i, f", {self.row} {row - int(offsets[i])}")


def _checked_names(names: Any, width: int) -> list[str] | None:
    """Return the names of columns in a model file; raise ValueError if they are damaged."""
    if names is not None and (len(names) != width or not all(isinstance(name, str) for name in names)):
        raise ValueError(f"expected the names of {width} columns")
    return names


def _plain(x: Any) -> Any:
    """Return the rows of a data frame, the values of a series, or the tokens of an array of objects.

    Anything else is returned unchanged.
    """
    if hasattr(x, "to_numpy"):
        values = x.to_numpy()
        return values.tolist() if values.ndim == 1 else values
    return x.tolist() if isinstance(x, np.ndarray) and x.dtype == object and x.ndim else x


def _shown(x: Any) -> str:
    text = repr(x)
    return f"{type(x).__name__} {text if len(text) <= 60 else text[:57] + '…'}"
