"""Sentences to rows of features by `TokenTemplates`, without making the names of the features.

Facts about a token, such as its suffixes, are found once for each distinct token and numbered. Compiled code then
combines the numbers of a token and its neighbours, and looks up the columns. Columns are in the order in which features
first occur, as they would be with `Vocabulary` and the names that the templates return.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from maxmargin._base.checks import stored_array, whole_number
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.memory import check_memory
from maxmargin._base.ragged import PART, Numbered, offsets_of, renumbered
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.features.rows.rows import Rows
from maxmargin.features.text import _template_jit
from maxmargin.features.text.templates import Fields, TokenTemplates, quoted
from maxmargin.features.text.vocabulary import GrowingColumns, KnownColumns, names_from_state, names_state, numbered

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


#: Greatest share of the places of a hash table in use, and the smallest table.
FULLEST, SMALLEST_TABLE = 0.5, 1 << 10


class TemplateEncoder:
    """Encoder of sentences: lists of words, or of tuples of columns.

    Parameters
    ----------
    templates : TokenTemplates
        The features.
    constant : bool, default=True
        Whether rows have a constant last column.
    min_count : int, default=1
        Features of fewer tokens are left out.

    Attributes
    ----------
    width : int
        Number of feature columns, without the constant.
    n_columns : int
        Number of columns of each token.
    """

    named = True
    #: Names of columns of data frames, which sentences are not.
    names = None

    def __init__(self, templates: TokenTemplates, constant: bool = True, min_count: int = 1) -> None:
        self.templates, self.constant, self.min_count = templates, constant, min_count
        self.width, self.n_columns = 0, 1
        self._types: TokenTypes
        self._lock = Lock()

    @property
    def output_width(self) -> int:
        """Number of feature columns, without the constant."""
        return self.width

    def fit(self, X: Sequence[Any]) -> tuple[Rows, IntArray]:
        """Learn from these sentences, and return their rows and offsets."""
        offsets = sentence_offsets(X)
        if offsets[-1] == 0:
            raise ValueError("every sequence is empty: there is nothing to learn from")
        self._set_columns(n_columns_of(X))
        growing = [GrowingColumns() for _ in self.fields.value_names]
        for values in self.fields.joined:
            growing[values][""] = 0
        known = TokenTypes(self.fields, [values.__getitem__ for values in growing])
        types = types_of(X, int(offsets[-1]), known)
        self._set_values([KnownColumns(values) for values in growing])
        known.number = self._types.number
        self._types = known
        self._keys = np.full(SMALLEST_TABLE, _template_jit.EMPTY)
        self._columns = np.zeros(SMALLEST_TABLE, np.int32)
        indptr, indices = self._rows(offsets, types, known.facts(), True, getattr(X, "empty", np.empty))
        if self.min_count > 1:
            indices = self._drop_rare(indptr, indices)
        self._set_constants(indptr, indices)
        return self._as_rows(indptr, indices), offsets

    def encode(self, X: Sequence[Any]) -> tuple[Rows, IntArray]:
        """Return rows and offsets; features that did not occur in training are left out."""
        offsets = sentence_offsets(X)
        with self._lock:
            if len(self._types) > MOST_TYPES:
                self._types = self._no_types()
            known = self._types
            types = types_of(X, int(offsets[-1]), known)
            facts = known.facts()
        indptr, indices = self._rows(offsets, types, facts, False, getattr(X, "empty", np.empty))
        self._set_constants(indptr, indices)
        return self._as_rows(indptr, indices), offsets

    def merge(self, parts: Sequence[dict[str, Any]], counts: Sequence[IntArray] | None = None) -> list[CodeArray]:
        """Learn what encoders have learnt from the parts of the data, as if all parts were read in order.

        Parameters
        ----------
        parts : sequence of dict
            The states of the encoders (`get_state`), with ``min_count=1``.
        counts : sequence of ndarray, optional
            How often each column of each part occurs; needed if `min_count` is above 1.

        Returns
        -------
        list of ndarray of int32
            For each part, the column here of each of its columns; −1 if it is left out.
        """
        self._set_columns(int(parts[0]["n_columns"]))
        growing = [GrowingColumns() for _ in self.fields.value_names]
        for values in self.fields.joined:
            growing[values][""] = 0
        values_of = [
            [np.fromiter(map(new.__getitem__, names), np.int64, len(known["lengths"]))
             for new, known in zip(growing, part["values"], strict=True) for names in [names_from_state(known)]]
            for part in parts
        ]  # fmt: skip
        self._set_values([KnownColumns(values) for values in growing])
        self._set_table(np.zeros(0, np.int64), np.zeros(0, np.int32))
        n_singles, conjunctions = len(self.fields.singles), self.fields.conjunctions
        bases = np.concatenate([self._single_base[:-1], self._pair_base])
        of_columns = np.array([False] * n_singles + [c.of >= 0 for c in conjunctions])
        numbers: list[CodeArray] = []
        self.width = 0
        for part, new_values in zip(parts, values_of, strict=True):
            field, left, right = (part[name].astype(np.int64) for name in ("field", "left", "right"))
            for at, v, of in self._sides(field):
                if field[at[0]] >= n_singles:
                    right[at] = new_values[v][right[at]]
                if v >= 0 and not of:
                    left[at] = new_values[v][left[at]]
            if FULLEST * len(self._keys) < self._used() + len(field):
                self._enlarge(len(field))
            number = np.zeros(len(field), np.int32)
            self.width = _template_jit.merge_columns(
                field, left, right, bases, n_singles, of_columns, self._single, self._keys, self._columns, self.width,
                number,
            )  # fmt: skip
            numbers.append(number)
        if self.min_count > 1:
            assert counts is not None
            total: IntArray = np.zeros(self.width, np.int64)
            for number, count in zip(numbers, counts, strict=True):
                np.add.at(total, number, count)
            kept = self._keep(total >= self.min_count).astype(np.int32)
            numbers = [kept[number] for number in numbers]
        return numbers

    def _as_rows(self, indptr: IntArray, indices: AnyArray) -> Rows:
        return Rows.of_ones(indptr, indices, self.width + self.constant, self.constant)

    # ------------------------------------------------------------------ what is learnt

    def _set_columns(self, n_columns: int) -> None:
        highest = max(self.templates.word, *(self.templates.columns or (0,)))
        if highest >= n_columns:
            raise ValueError(f"the templates use column {highest}, but tokens have {n_columns} columns")
        self.n_columns, self.fields = n_columns, Fields(self.templates, n_columns)

    def _set_values(self, values: list[KnownColumns]) -> None:
        """Set the numbered values of every set, and where their features are in the tables."""
        self._values, fields = values, self.fields
        sizes = [1 if field.values < 0 else len(values[field.values]) for field in fields.singles]
        base = offsets_of(sizes)
        self._single_base, self._single = base, np.full(base[-1], -1, np.int32)
        # Columns of other conjunctions may be any number, so they get the last base.
        order = sorted(range(len(fields.conjunctions)), key=lambda c: fields.conjunctions[c].of >= 0)
        self._pair_base, at = np.zeros(len(order), np.int64), 0
        for c in order:
            self._pair_base[c] = at
            at += len(values[fields.conjunctions[c].values])
        self._types = self._no_types()
        self._layout = (
            base[fields.own], np.array(fields.shifts, np.int64), np.array(fields.seen_facts, np.int64),
            base[np.array(fields.seen, np.int64).reshape(-1, len(fields.seen_facts))],
            base[np.array(fields.outside, np.int64)],
            np.array([(c.fact, c.left, c.right, c.of) for c in fields.conjunctions], np.int64).reshape(-1, 4),
            self._pair_base,
        )  # fmt: skip

    def _no_types(self) -> TokenTypes:
        return TokenTypes(self.fields, [values.__getitem__ for values in self._values])

    def _rows(
        self, offsets: IntArray, types: AnyArray, facts: CodeArray, learn: bool, empty: Callable[[int, Any], AnyArray]
    ) -> tuple[IntArray, AnyArray]:
        """Return the CSR rows of all tokens, with an entry for the constant if there is one.

        The function `empty` makes the arrays, in memory or in a file.
        """
        room = int(offsets[-1]) * (self.fields.most_features + self.constant)
        if empty is np.empty:
            check_memory(4.0 * room, f"encoding {offsets[-1]} tokens with up to {self.fields.most_features} features")
        indptr, indices = empty(int(offsets[-1]) + 1, np.int64), empty(room, np.uint32)
        indptr[0] = 0
        sentence, conjunctions = 0, len(self.fields.conjunctions)
        while True:
            left = int(FULLEST * len(self._keys)) - self._used() if learn else 0
            sentence, self.width, _ = _template_jit.encode_sentences(
                sentence, offsets, types, facts, *self._layout, learn, self.constant, self._single, self._keys,
                self._columns, self.width, left, indptr, indices,
            )  # fmt: skip
            if sentence == len(offsets) - 1:
                return indptr, indices[: indptr[-1]]
            self._enlarge(int(offsets[sentence + 1] - offsets[sentence]) * conjunctions)

    def _set_constants(self, indptr: IntArray, indices: AnyArray) -> None:
        """Write the constant at the end of each row, if there is one."""
        for first in range(1, len(indptr) if self.constant else 0, PART):
            indices[indptr[first : first + PART] - 1] = self.width

    def _used(self) -> int:
        return int(np.count_nonzero(self._keys != _template_jit.EMPTY))

    def _enlarge(self, extra: int) -> None:
        """Double the table of conjunctions, and make room for some more."""
        used = self._keys != _template_jit.EMPTY
        self._set_table(self._keys[used], self._columns[used], extra + int(used.sum()))

    def _set_table(self, keys: IntArray, columns: AnyArray, extra: int = 0) -> None:
        size = SMALLEST_TABLE
        while FULLEST * size < len(keys) + extra:
            size *= 2
        self._keys, self._columns = np.full(size, _template_jit.EMPTY), np.zeros(size, np.int32)
        _template_jit.insert_keys(keys, columns, self._keys, self._columns)

    # ------------------------------------------------------------------ definitions of columns

    def _definitions(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return the field, the left and the right value of each column.

        Conjunctions are counted after the fields of one value, whose right value is −1.
        """
        field, left, right = np.zeros(self.width, np.int64), np.zeros(self.width, np.int64), np.full(self.width, -1)
        at = np.flatnonzero(self._single >= 0)
        owner = np.searchsorted(self._single_base, at, "right") - 1
        field[self._single[at]], left[self._single[at]] = owner, at - self._single_base[owner]
        places = self._keys != _template_jit.EMPTY
        keys, columns = self._keys[places], self._columns[places]
        order = np.argsort(self._pair_base, kind="stable")
        owner = order[np.searchsorted(self._pair_base[order], keys >> 32, "right") - 1] if len(keys) else keys
        field[columns] = len(self.fields.singles) + owner
        left[columns] = (keys >> 32) - self._pair_base[owner]
        right[columns] = keys & 0xFFFFFFFF
        return field, left, right

    def _define(self, field: IntArray, left: IntArray, right: IntArray) -> None:
        """Set the tables from the definitions of all columns."""
        self.width, n_singles = len(field), len(self.fields.singles)
        columns = np.arange(self.width, dtype=np.int32)
        one = field < n_singles
        self._single[:] = -1
        self._single[self._single_base[field[one]] + left[one]] = columns[one]
        base = self._pair_base[field[~one] - n_singles]
        self._set_table(((base + left[~one]) << 32) | right[~one], columns[~one])

    def _drop_rare(self, indptr: IntArray, indices: AnyArray) -> AnyArray:
        """Leave out columns of fewer than `min_count` entries; return new indices."""
        counted = np.ones(len(indices), bool)
        if self.constant:
            counted[indptr[1:] - 1] = False
        numbers = self._keep(np.bincount(indices[counted], minlength=self.width) >= self.min_count)
        return indices[: _template_jit.keep_columns(numbers, self.constant, indptr, indices)]

    def _keep(self, kept: AnyArray) -> IntArray:
        """Leave out columns, and values that no column uses; return the new number of each column, −1 if left out."""
        numbers = renumbered(kept)
        field, left, right = (part[kept] for part in self._definitions())
        n_singles, values = len(self.fields.singles), [list(known) for known in self._values]
        used = [np.zeros(len(known), bool) for known in values]
        for v in self.fields.joined:
            used[v][0] = True
        sides = list(self._sides(field))
        for at, v, of in sides:
            if v >= 0:
                used[v][right[at] if of else left[at]] = True
                if field[at[0]] >= n_singles and not of:
                    used[v][right[at]] = True
        values_left = [renumbered(mask) for mask in used]
        for at, v, of in sides:
            if field[at[0]] >= n_singles:
                right[at] = values_left[v][right[at]]
            if v >= 0:
                left[at] = numbers[left[at]] if of else values_left[v][left[at]]
        kept_values = [[name for name, use in zip(known, mask.tolist(), strict=True) if use]
                       for known, mask in zip(values, used, strict=True)]  # fmt: skip
        self._set_values([numbered(known) for known in kept_values])
        self._define(field, left, right)
        return numbers

    def _sides(self, field: IntArray) -> Any:
        """Yield for each field its columns, its set of values, and whether the left value is a column."""
        for number in range(len(self.fields.singles) + len(self.fields.conjunctions)):
            at = np.flatnonzero(field == number)
            if len(at) == 0:
                continue
            if number < len(self.fields.singles):
                yield at, self.fields.singles[number].values, False
            else:
                conjunction = self.fields.conjunctions[number - len(self.fields.singles)]
                yield at, conjunction.values, conjunction.of >= 0

    def column_names(self) -> list[str]:
        """Return the name of each column, as the templates return it."""
        return self.names_of(range(self.width))

    def names_of(self, columns: Sequence[int]) -> list[str]:
        """Return the names of these columns; there may be millions of others."""
        definitions = self._definitions()
        field, left, right = (part[np.asarray(columns, np.int64)].tolist() for part in definitions)
        singles, conjunctions = self.fields.singles, self.fields.conjunctions
        plain = [list(known) for known in self._values]

        def joined(f: int, a: int, b: int) -> str:
            """Return the values of a conjunction; the left one may be a conjunction too, an earlier column."""
            conjunction = conjunctions[f - len(singles)]
            values = plain[conjunction.values]
            if conjunction.of < 0:
                return f"{quoted(values[a])} {quoted(values[b])}"
            return f"{joined(*(int(part[a]) for part in definitions))} {quoted(values[b])}"

        names: list[str] = []
        for f, a, b in zip(field, left, right, strict=True):
            if f < len(singles):
                single = singles[f]
                names.append(single.name if single.values < 0 else single.name + plain[single.values][a])
            else:
                names.append(conjunctions[f - len(singles)].name + joined(f, a, b))
        return names

    # ------------------------------------------------------------------ saving

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state: the values of all sets, and the definitions of the columns."""
        field, left, right = self._definitions()
        return {
            "n_columns": self.n_columns,
            "values": [names_state(known) for known in self._values],
            "field": field.astype(np.uint16), "left": left.astype(np.int32), "right": right.astype(np.int32),
        }  # fmt: skip

    def set_state(self, state: Any) -> TemplateEncoder:
        """Restore the state of another encoder; raise ValueError if it is invalid."""
        n_columns = whole_number(state["n_columns"], "the number of columns")
        if self.templates.columns is None and n_columns > len(state["values"]):  # before a field is made for each
            raise ValueError(f"{n_columns} columns, but values of {len(state['values'])} sets")
        self._set_columns(n_columns)
        values = [numbered(names_from_state(known)) for known in state["values"]]
        if len(values) != len(self.fields.value_names) or any(next(iter(values[v]), None) for v in self.fields.joined):
            raise ValueError("values of features do not belong to these templates")
        self._set_values(values)
        kinds = {"field": np.uint16, "left": np.int32, "right": np.int32}
        field, left, right = (
            stored_array(state[name], name, kind, (len(state["field"]),)).astype(np.int64)
            for name, kind in kinds.items()
        )
        self._check_definitions(field, left, right)
        self._define(field, left, right)
        if int(np.count_nonzero(self._single >= 0)) + self._used() != self.width:  # a feature that occurs twice
            raise ValueError("the columns of a model must be distinct features of its templates")
        return self

    def _check_definitions(self, field: IntArray, left: IntArray, right: IntArray) -> None:
        """Raise ValueError unless every column is a feature of these templates."""
        n_singles, width = len(self.fields.singles), len(field)
        known = left.shape == right.shape == field.shape == (width,)
        known = known and bool((field < n_singles + len(self.fields.conjunctions)).all())
        for at, v, of in self._sides(field) if known else ():
            size = 1 if v < 0 else len(self._values[v])
            if field[at[0]] >= n_singles:
                known &= bool(((right[at] >= 0) & (right[at] < size)).all())
                if of:
                    conjunction = self.fields.conjunctions[int(field[at[0]]) - n_singles]
                    earlier = (left[at] >= 0) & (left[at] < at)
                    known &= bool(earlier.all() and (field[left[at]] == n_singles + conjunction.of).all())
                    continue
            known &= bool(((left[at] >= 0) & (left[at] < size)).all())
        if not known:
            raise ValueError("the columns of a model must be features of its templates")

    def __getstate__(self) -> dict[str, Any]:
        """Return copies and pickles without what can be derived."""
        learnt = self.get_state() if hasattr(self, "_values") else None
        return {"parameters": (self.templates, self.constant, self.min_count), "learnt": learnt}

    def __setstate__(self, state: dict[str, Any]) -> None:
        TemplateEncoder.__init__(self, *state["parameters"])
        if state["learnt"] is not None:
            self.set_state(state["learnt"])
