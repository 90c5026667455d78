"""Sentences with heads: lists of words, of tuples (word, tags …), of dicts, or token lists of the conllu package."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.input import position_of
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import IntArray

_COLUMNS = ("form", "upos", "xpos")
_EXPECTED = "a list of words, of tuples (form, upos) or (form, upos, xpos), or of dicts as the conllu package returns"


#: The tags of Universal Dependencies.
_UNIVERSAL = frozenset((
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM",
    "VERB", "X",
))  # fmt: skip


@dataclass(frozen=True)
class Sentence:
    """The words of a sentence.

    Attributes
    ----------
    columns : dict of str to list
        Values of each column, one per word; None if a word has no value.
    heads : list, optional
        What the rows give as heads; None if the sentence has none.
    """

    columns: dict[str, list[Any]]
    heads: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.columns["form"])


def read_sentence(x: Any, where: Where, columns: Sequence[str] = _COLUMNS[1:]) -> Sentence:
    """Return the words of a sentence; rows of multiword tokens (1-2) and empty nodes (8.1) are left out."""
    if not is_list(x):
        raise error_at(where, f"expected {_EXPECTED}, found {type(x).__name__} {x!r:.60}")
    if hasattr(x, "itertuples"):  # iteration would yield the names of its columns
        raise error_at(where, f"expected {_EXPECTED}, found {type(x).__name__}; pass its to_dict('records')")
    rows = [row for row in x if not (isinstance(row, Mapping) and _is_aside(row.get("id")))]
    if all(isinstance(row, str) for row in rows):
        return Sentence({"form": [str(row) for row in rows]})
    if all(isinstance(row, Mapping) for row in rows):
        return _from_mappings(rows, where, columns)
    if all(isinstance(row, tuple | list) for row in rows):
        return _from_tuples(rows, where)
    strange = next(row for row in rows if type(row) is not type(rows[0]) or not isinstance(row, str | tuple | Mapping))
    raise error_at(where, f"expected {_EXPECTED}, all of one kind, found {type(strange).__name__} {strange!r:.60}")


def _is_aside(number: Any) -> bool:
    """Return whether an ID of CoNLL-U belongs to a multiword token or to an empty node."""
    return isinstance(number, tuple) or (isinstance(number, str) and not number.isdecimal())


def _from_mappings(rows: list[Any], where: Where, columns: Sequence[str]) -> Sentence:
    for m, row in enumerate(rows, 1):
        if not isinstance(row.get("form"), str):
            raise error_at(inside(where, f"word {m}"), f"expected a form, a string, found {row.get('form')!r:.60}")
        if "id" in row and str(row["id"]) != str(m):
            raise error_at(inside(where, f"word {m}"), f"expected the id {m}, as words are numbered, found {row['id']}")
    values = {"form": [row["form"] for row in rows]}
    values |= {name: [row.get(name) for row in rows] for name in columns if name != "form"}
    heads = [row.get("head") for row in rows]
    return Sentence(values, heads if any(head is not None for head in heads) else None)


def _from_tuples(rows: list[Any], where: Where) -> Sentence:
    width = len(rows[0])
    for m, row in enumerate(rows, 1):
        if len(row) != width or not 1 <= width <= len(_COLUMNS) or not isinstance(row[0], str):
            raise error_at(
                inside(where, f"word {m}"), f"expected a tuple (form, upos) or (form, upos, xpos), found {row!r:.60}"
            )
    return Sentence({name: [row[c] for row in rows] for c, name in enumerate(_COLUMNS[:width])})


def is_one_sentence(X: Any, tagged: bool) -> bool:
    """Return whether X is a sentence, or a pair (words, heads), in the place of a list of them.

    Tuples of strings are words with their tags if those are universal tags; if all sentences must be `tagged`, a tuple
    of strings is not a sentence, so a list of them is one.
    """
    if is_pair(X):
        return True
    rows = list(X)
    if not rows or are_tokens(rows) or all(isinstance(row, Mapping) for row in rows):
        return bool(rows)
    if not all(isinstance(row, tuple | list) and all(isinstance(cell, str) for cell in row) for row in rows):
        return False
    widths = {len(row) for row in rows}
    if len(widths) > 1 or not widths <= {2, 3}:
        return False
    return (tagged and all(isinstance(row, tuple) for row in rows)) or {row[1] for row in rows} <= _UNIVERSAL


def are_tokens(rows: Sequence[Any]) -> bool:
    """Return whether all values are strings without blanks: words or tags, not texts."""
    return all(isinstance(row, str) and not any(map(str.isspace, row)) for row in rows)


def untagged(where: Where, words: Sequence[Any], tags: str, advice: str) -> ValueError:
    """Return the error for words without the tags that a parser needs."""
    shown = ", ".join(repr(str(word)) for word in words[:3]) + (", …" if len(words) > 3 else "")
    return error_at(where, f"words without {tags} ({shown}), which the training data had: {advice}")


def check_order(sentence: Sequence[tuple[Any, Any]], tags: Collection[str], where: Where) -> None:
    """Raise an error at `where` if all words of pairs (word, tag) are known tags, and their tags are not."""
    letters = [(word, tag) for word, tag in sentence if word is not None and word[:1].isalpha()]
    if letters and all(word in tags and tag not in tags for word, tag in letters):  # "." is a word and a tag
        raise error_at(where, f"expected pairs (word, tag), found pairs (tag, word): {letters[0]!r:.60}")


def warn_of_unknown_tags(sentences: Sequence[Sequence[tuple[Any, Any]]], tags: Collection[str]) -> None:
    """Warn of sentences of pairs (word, tag) none of whose tags the training data have."""
    unknown = [i for i, some in enumerate(sentences) if some and not any(tag in tags for _, tag in some)]
    if unknown:
        shown = ", ".join(f"X[{position_of(i)}]" for i in unknown[:5]) + (", …" if len(unknown) > 5 else "")
        example = ", ".join(repr(tag) for _, tag in sentences[unknown[0]][:3])
        warnings.warn(
            f"no training tree has any of the tags of {len(unknown)} of {len(sentences)} sentences ({shown}; for "
            f"example {example}), so their trees mean nothing: tag them as the training trees are tagged",
            UserWarning, stacklevel=4,
        )  # fmt: skip


def is_pair(x: Any) -> bool:
    """Return whether an example is a pair (words, heads) instead of a sentence."""
    if not isinstance(x, tuple) or len(x) != 2 or not is_list(x[0]) or not is_list(x[1]):
        return False
    return len(x[0]) == 0 or not all(isinstance(value, str | tuple | list | Mapping) for value in x[1])


def split_pair(x: Any) -> tuple[Any, Any]:
    """Return a sentence and its heads; the heads are None if they are not given."""
    return x if is_pair(x) else (x, None)


def heads_of(x: Any, i: int) -> Any:
    """Return the heads of the i-th sentence: those of a pair, or those of its rows; raise ExampleError if missing."""
    sentence, heads = split_pair(x)
    if heads is not None:
        return heads
    heads = read_sentence(sentence, Place("X", i), ()).heads
    if heads is None:
        raise error_at(
            Place("X", i),
            "no heads: give a pair (words, heads), rows with a head each, or the heads of all sentences as Y",
        )
    for m, head in enumerate(heads, 1):
        if head is None:
            raise error_at(Place("X", i, f", word {m}"), "no head, but other words of the sentence have one")
    return heads


@dataclass(frozen=True)
class Words:
    """The words of many sentences, concatenated.

    Attributes
    ----------
    columns : dict of str to list
        Values of each column; columns without a value in some sentence are left out.
    offsets : ndarray
        The words of sentence i are ``offsets[i]:offsets[i + 1]``.
    """

    columns: dict[str, list[Any]]
    offsets: IntArray


def concatenated(sentences: Sequence[Sentence], columns: Sequence[str], required: bool) -> Words:
    """Return the words of all sentences; raise ExampleError if a required column is absent from a sentence."""
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    kept = {"form": [form for sentence in sentences for form in sentence.columns["form"]]}
    for name in columns:
        without = next((i for i, sentence in enumerate(sentences) if len(sentence) and _lacks(sentence, name)), None)
        if without is None:
            kept[name] = [value for sentence in sentences for value in sentence.columns.get(name, ())]
        elif required:
            raise untagged(
                Place("X", without), sentences[without].columns["form"], name,
                f"give tuples (form, {name}, …) or a file with this column, as a tagger finds them, or train without "
                f"{name} (tags=, on the command line --tags)",
            )  # fmt: skip
    return Words(kept, offsets_of(lengths))


def _lacks(sentence: Sentence, name: str) -> bool:
    return all(value is None or value == "_" for value in sentence.columns.get(name, ()))
