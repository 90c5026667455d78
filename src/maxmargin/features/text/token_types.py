"""Distinct tokens of sentences, and the facts about each of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.ragged import Numbered, offsets_of
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.features.text.template_fields import Fields

#: Number of distinct tokens that are kept between calls.
MOST_TYPES = 300_000


class TokenTypes(dict[Any, int]):
    """Numbers of distinct tokens; the facts about a token are found when it first occurs.

    Parameters
    ----------
    fields : Fields
        The facts to find.
    number : list of callable
        Functions that number the values of each set (`Fields.facts_of`).
    """

    def __init__(self, fields: Fields, number: list[Callable[[str], int]]) -> None:
        super().__init__()
        self.fields, self.number = fields, number
        self._facts = np.zeros((64, len(fields.fact_values)), np.int32)
        self._new: list[list[int]] = []

    def __missing__(self, token: Any) -> int:
        cells = (token,) if isinstance(token, str) else token
        if len(cells) != self.fields.n_columns:
            raise ValueError(f"{len(cells)} columns, expected {self.fields.n_columns}")
        if not all(isinstance(cell, str) for cell in cells):
            raise TypeError(f"expected words or tuples of strings, found {token!r:.200}")
        self._new.append(self.fields.facts_of(cells, self.number))
        self[token] = number = len(self)
        return number

    def facts(self) -> CodeArray:
        """Return the facts about all tokens so far, one row each."""
        if self._new:
            used = len(self) - len(self._new)
            if len(self) > len(self._facts):
                larger = np.zeros((2 * len(self), self._facts.shape[1]), np.int32)
                larger[:used] = self._facts[:used]
                self._facts = larger
            self._facts[used : len(self)] = self._new
            self._new = []
        return self._facts


def sentence_offsets(X: Sequence[Any]) -> IntArray:
    """Return the offsets of sentences among all tokens; raise ExampleError if one is not a list."""
    if isinstance(X, Numbered):
        return X.offsets
    for i, sentence in enumerate(X):
        if isinstance(sentence, str) or not hasattr(sentence, "__len__"):
            raise ExampleError.at(
                Place("X", i), f"expected a list of words or of tuples of columns, found {sentence!r:.60}"
            )
        if hasattr(sentence, "itertuples"):  # iteration would yield the names of its columns
            raise ExampleError.at(
                Place("X", i),
                f"expected a list of words or of tuples of columns, found {type(sentence).__name__}; pass one of its "
                f"columns, or list(frame.itertuples(index=False, name=None))",
            )
    return offsets_of(np.fromiter(map(len, X), np.int64, len(X)))


def n_columns_of(X: Sequence[Any]) -> int:
    """Return the number of columns of the first token; 1 if there is none."""
    for i, sentence in enumerate(X):
        for token in sentence:
            return len(_cells(token, Place("X", i, ", token 0")))
    return 1


def check_tokens(X: Sequence[Any], expected: int | None = None) -> int:
    """Return the number of columns, the same for all tokens; raise ExampleError with the first other token."""
    sentence_offsets(X)
    expected = n_columns_of(X) if expected is None else expected
    for i, sentence in enumerate(X):
        for t, token in enumerate(sentence):
            place = Place("X", i, f", token {t}")
            n_columns = 1 if type(token) is str else len(_cells(token, place))
            if n_columns != expected:
                raise ExampleError.at(place, f"{n_columns} columns, expected {expected}")
    return expected


def types_of(X: Sequence[Any], total: int, known: TokenTypes) -> AnyArray:
    """Return the number of each token of all sentences, new ones included."""
    with suppress(TypeError, ValueError):  # a list or an array cannot be a key; other errors are found below
        if isinstance(X, Numbered):
            return X.translated(np.fromiter(map(known.__getitem__, X.values), np.int32, len(X.values)))
        return np.fromiter(map(known.__getitem__, chain.from_iterable(X)), np.int32, total)
    types = np.empty(total, np.int32)
    at = 0
    for i, sentence in enumerate(X):
        tokens = list(sentence)
        if len(tokens) != len(sentence):  # the compiled encoder reads as many types as there are tokens
            raise ExampleError.at(Place("X", i), f"{len(sentence)} tokens, but iteration yields {len(tokens)}")
        for t, token in enumerate(tokens):
            place = Place("X", i, f", token {t}")
            try:
                types[at] = known[token if isinstance(token, str) else tuple(_cells(token, place))]
            except ExampleError:
                raise
            except (TypeError, ValueError) as error:
                raise ExampleError.at(place, str(error)) from error
            at += 1
    return types


def _cells(token: Any, place: Place) -> Any:
    """Return the columns of a token; raise ExampleError if it is not a word, a tuple, a list or an array."""
    if isinstance(token, str):
        return (token,)
    if isinstance(token, list | tuple | np.ndarray):
        return token
    raise ExampleError.at(place, f"expected a word or a tuple of columns, found {token!r:.60}")
