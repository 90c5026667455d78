"""Vocabulary of named features: names to columns."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.jit import jit
from maxmargin._base.ragged import kept_offsets, offsets_of, renumbered
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray

#: Types of feature values, the most frequent first, and types allowed in a list of names.
_NUMBERS = (float, int, numbers.Real, np.bool_)
_NAMES = (str, bytes, *_NUMBERS)


class Vocabulary:
    """Map from feature names to columns, in the order in which names first occur.

    A token is a list of names (of value 1 each) or a dict: ``{"bias": 1.0, "word": "casa", "caps": True, "suffixes":
    ["sa", "asa"], "vector": array}``. Numbers and booleans are values; a string, or each string of a list, is a feature
    ``name:string``; an array or a list of numbers is ``name:0``, ``name:1``, …; a dict is ``name:inner``. Bytes are
    decoded as UTF-8, as in CRF packages.
    """

    def __init__(self) -> None:
        self.columns: dict[str, int] = KnownColumns()
        self.counts: IntArray = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self.columns)

    def encode(self, tokens: list[Any], learn: bool, min_count: int = 1) -> sp.csr_array:
        """Return the CSR rows of tokens; new names are added if `learn` is true, otherwise left out.

        If `learn` is true, names that occur fewer than `min_count` times are left out too, and `counts` is set to the
        number of times that each of the others occurs. Rows of which all values are 1 are of type int8. The values of a
        name that occurs twice in a row are added, at its first place.
        """
        names, lengths, values = _named_values(tokens)
        indptr = offsets_of(lengths)
        try:
            indices = (self._learn if learn else self._look_up)(names, int(indptr[-1]))
        except TypeError:
            list(map(_name, _named_values(tokens)[0]))  # raises a clearer error if a name is not even hashable
            raise
        if learn:
            self.counts = np.bincount(indices, minlength=len(self))
            if min_count > 1:
                indices = self._keep(self.counts >= min_count)[indices]
        known = indices >= 0
        if not known.all():
            indptr = kept_offsets(known, indptr)
            indices, values = indices[known], None if values is None else values[known]
        if repeats(indptr, indices):
            values = np.ones(len(indices)) if values is None else values
            used = add_repeated(indptr, indices, values)
            indices, values = indices[:used], values[:used]
        elif values is None or (values == 1.0).all():
            values = np.ones(len(indices), np.int8)
        return sp.csr_array((values, indices, indptr), shape=(len(tokens), len(self.columns)))

    def _keep(self, kept: AnyArray) -> CodeArray:
        """Leave out the other names; return the new column of each, −1 for those that are left out."""
        numbers = renumbered(kept).astype(np.int32)
        names = [name for name, is_kept in zip(self.columns, kept.tolist(), strict=True) if is_kept]
        self.columns, self.counts = numbered(names), self.counts[kept]
        return numbers

    def merge(self, parts: Sequence[Vocabulary], min_count: int = 1) -> list[IntArray]:
        """Learn the names of the parts of the data, as if all parts were read in order.

        Return the column here of each column of each part, −1 for names that occur fewer than `min_count` times.
        """
        growing = GrowingColumns()
        numbers = [np.fromiter(map(growing.__getitem__, part.columns), np.int64, len(part)) for part in parts]
        self.columns, self.counts = numbered(list(growing)), np.zeros(len(growing), np.int64)
        for number, part in zip(numbers, parts, strict=True):
            self.counts[number] += part.counts
        if min_count > 1:
            kept = self._keep(self.counts >= min_count).astype(np.int64)
            numbers = [kept[number] for number in numbers]
        self.forget_counts()
        return numbers

    def forget_counts(self) -> None:
        """Release the counts, which only `merge` needs."""
        self.counts = np.zeros(0, np.int64)

    def _look_up(self, names: Iterable[str], total: int) -> CodeArray:
        """Return the column of each name, −1 for unknown names."""
        return np.fromiter(map(self.columns.__getitem__, names), np.int32, total)

    def _learn(self, names: Iterable[str], total: int) -> CodeArray:
        """Return the column of each name, new names included.

        The names kept are copies that are close together in memory: the names of the training data are scattered among
        millions of others, which makes look-ups slower and would keep the memory of all of them in use.
        """
        growing = GrowingColumns(self.columns)
        indices = np.fromiter(map(growing.__getitem__, names), np.int32, total)
        names = _split("".join(growing), np.fromiter(map(len, growing), np.int64, len(growing)))
        self.columns = numbered(names)
        return indices

    def get_state(self) -> dict[str, AnyArray]:
        """Return the concatenated names in UTF-8, and the number of characters of each name."""
        return names_state(self.columns)

    @classmethod
    def from_state(cls, state: Any) -> Vocabulary:
        """Return the vocabulary of a state, the inverse of `get_state`."""
        vocabulary = cls()
        vocabulary.columns = numbered(names_from_state(state))
        return vocabulary


def names_state(names: Collection[str]) -> dict[str, AnyArray]:
    """Return the concatenated names in UTF-8, and the number of characters of each name."""
    lengths = np.fromiter(map(len, names), np.uint32, len(names))
    text = "".join(names).encode("utf-8", "surrogatepass")  # lone surrogates are allowed in names
    return {"text": np.frombuffer(text, np.uint8), "lengths": lengths}


def names_from_state(state: Any) -> list[str]:
    """Return the names of a state, the inverse of `names_state`; raise ValueError if they are not distinct."""
    content, lengths = np.asarray(state["text"]), np.asarray(state["lengths"])
    if content.dtype != np.uint8 or lengths.dtype != np.uint32 or content.ndim != 1 or lengths.ndim != 1:
        raise ValueError("names of features must be bytes of UTF-8 and their lengths")
    text = content.tobytes().decode("utf-8", "surrogatepass")
    names = _split(text, lengths)
    if len(set(names)) != len(lengths) or lengths.sum(dtype=np.int64) != len(text):
        raise ValueError("names of features must be distinct, and their lengths must add up")
    return names


#: Longest row whose entries are compared pair by pair.
FEW = 48


@jit
def repeats(indptr, indices):
    """Return whether a column occurs twice in a row."""
    for r in range(len(indptr) - 1):
        first, stop = indptr[r], indptr[r + 1]
        if stop - first <= FEW:
            for q in range(first + 1, stop):
                for p in range(first, q):
                    if indices[p] == indices[q]:
                        return True
        else:
            row = np.sort(indices[first:stop])
            for q in range(1, len(row)):
                if row[q] == row[q - 1]:
                    return True
    return False


@jit
def add_repeated(indptr, indices, values):
    """Add the values of a column that occurs twice in a row, at its first place, and return the number of entries.

    A row does not depend on the others.
    """
    used, first = 0, indptr[0]
    for r in range(len(indptr) - 1):
        stop = indptr[r + 1]
        order = np.argsort(indices[first:stop], kind="mergesort")
        at = np.arange(stop - first)  # the first place of each entry's column
        for k in range(1, len(order)):
            if indices[first + order[k]] == indices[first + order[k - 1]]:
                at[order[k]] = at[order[k - 1]]
        for q in range(stop - first):
            if at[q] == q:
                indices[used], values[used] = indices[first + q], values[first + q]
                at[q] = used
                used += 1
            else:
                values[at[at[q]]] += values[first + q]
        first = stop
        indptr[r + 1] = used
    return used


class KnownColumns(dict[str, int]):
    """Columns by name; −1 for any other name."""

    def __missing__(self, name: Any) -> int:
        return -1 if isinstance(name, str) else self[_name(name)]


class GrowingColumns(dict[str, int]):
    """Columns by name; the next column for a new name."""

    def __missing__(self, name: Any) -> int:
        if not isinstance(name, str):
            return self[_name(name)]
        column = self[name] = len(self)
        return column


def numbered(names: Sequence[str]) -> KnownColumns:
    """Return the columns of names in order."""
    return KnownColumns(zip(names, range(len(names)), strict=True))


def _split(text: str, lengths: AnyArray) -> list[str]:
    """Return the names that are concatenated in a text."""
    return [text[a:b] for a, b in pairwise(offsets_of(lengths).tolist())]


def _named_values(tokens: list[Any]) -> tuple[Iterable[str], IntArray, FloatArray | None]:
    """Return the names of all tokens, the number of names per token, and their values (None if all are 1)."""
    kinds = set(map(type, tokens))
    if kinds <= {list, tuple}:
        return chain.from_iterable(tokens), _lengths(tokens), None
    if all(issubclass(kind, list | tuple | set | frozenset) for kind in kinds):
        return chain.from_iterable(map(_in_order, tokens)), _lengths(tokens), None
    pairs = [_flatten(token) for token in tokens]
    values = np.array([value for row in pairs for _, value in row], float)
    return [name for row in pairs for name, _ in row], _lengths(pairs), values


def _lengths(rows: list[Any]) -> IntArray:
    return np.array(list(map(len, rows)), np.int64)


def _flatten(token: Any, prefix: str = "") -> list[tuple[str, float]]:
    """Return the names and values of a token."""
    if not isinstance(token, Mapping):
        if isinstance(token, Iterable) and not isinstance(token, str | bytes | bytearray):
            return [(_name(name), 1.0) for name in _in_order(token)]
        raise TypeError(f"expected a dict or a list of strings, found {type(token).__name__}")
    pairs: list[tuple[str, float]] = []
    for key, value in token.items():
        name = prefix + (key if isinstance(key, str) else _text(key))
        if isinstance(value, str):
            pairs.append((f"{name}:{value}", 1.0))
        elif isinstance(value, _NUMBERS):
            pairs.append((name, float(value)))
        else:
            pairs.extend(_features(name, value))
    return pairs


def _features(name: str, value: Any) -> list[tuple[str, float]]:
    """Return the names and values of an entry of a dict that is neither a string nor a number."""
    if isinstance(value, Mapping):
        return _flatten(value, f"{name}:")
    if isinstance(value, bytes | bytearray):
        return [(f"{name}:{_text(value)}", 1.0)]
    if isinstance(value, Iterable):
        return _listed_features(name, value)
    raise TypeError(
        f"feature {name!r} has a value of type {type(value).__name__}, expected a number, a text, or a list or dict of "
        f"them; leave out features without a value"
    )


def _listed_features(name: str, values: Iterable[Any]) -> list[tuple[str, float]]:
    """Return features of a list: a name per string, or a column per position for numbers."""
    items = values.ravel().tolist() if isinstance(values, np.ndarray) else list(_in_order(values))
    if isinstance(values, np.ndarray | list | tuple) and all(isinstance(item, _NUMBERS) for item in items):
        return [(f"{name}:{j}", float(item)) for j, item in enumerate(items)]
    for item in items:
        if not isinstance(item, _NAMES):
            raise TypeError(f"feature {name!r} is a list with {type(item).__name__} {item!r:.60}, expected strings")
    return [(f"{name}:{item if isinstance(item, str) else _text(item)}", 1.0) for item in items]


def _in_order(names: Iterable[Any]) -> Iterable[Any]:
    """Return sets sorted, since their order differs between processes and columns must not."""
    return sorted(names, key=_text) if isinstance(names, set | frozenset) else names


def _name(name: Any) -> str:
    """Return the name of a feature in a list of names."""
    if not isinstance(name, str | bytes):
        raise TypeError(f"expected names of features (strings), found {type(name).__name__} {name!r}")
    return _text(name)


def _text(value: Any) -> str:
    """Return any value as text; bytes are decoded as UTF-8."""
    if not isinstance(value, bytes | bytearray):
        return str(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise ValueError(f"expected text, or bytes in UTF-8, found {value!r:.60}") from None


def is_named(token: Any) -> bool:
    """Return whether a token names its features (a dict or a list of strings) instead of listing numbers."""
    if isinstance(token, Mapping | set | frozenset):
        return True
    if not isinstance(token, Sequence) or isinstance(token, str | bytes | bytearray):
        return False
    return all(isinstance(name, str | bytes) for name in token)
