"""Features of the arcs of sentences by templates over words and tags (McDonald et al. 2005)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.checks import stored_array, stored_names
from maxmargin._base.memory import check_memory
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.engines.engine import running_engine
from maxmargin.features.text import _arc_jit
from maxmargin.features.text.sentences import Words
from maxmargin.features.text.vocabulary import Vocabulary

#: Values before those of the vocabularies: unknown ones, the root, and what precedes and follows a sentence.
_SPECIAL = ("<unknown>", "<root>", "<before>", "<after>")
_UNKNOWN, _ROOT, _BEFORE, _AFTER = range(4)
#: Arcs whose features are computed at a time.
_ARCS_TOGETHER = 1 << 14
#: Space for features of further arcs, as a multiple of what the arcs so far suggest.
SPACE = 1.5
_WORD_ATOMS = ("head", "child")
_TAG_ATOMS = ("head", "child", "before head", "after head", "before child", "after child")
#: Templates over words alone, as atoms: 0 is the word of the head, 1 that of the child.
_OF_WORDS: tuple[tuple[int, ...], ...] = ((), (0,), (1,), (0, 1))
#: Templates for each column of tags: w and v are the words of head and child, 0 … 5 the atoms of the column.
_OF_TAGS: tuple[tuple[Any, ...], ...] = (
    (0,), (1,), ("w", 0), ("v", 1), (0, 1), ("w", 1), (0, "v"), ("w", 0, 1), (0, "v", 1), ("w", 0, "v"),
    ("w", "v", 1), ("w", 0, "v", 1), (0, 3, 1), (2, 0, 1), (0, 4, 1), (0, 1, 5), (0, 3, 4, 1), (2, 0, 4, 1),
    (0, 3, 1, 5), (2, 0, 1, 5),
)  # fmt: skip


class ArcRows(NamedTuple):
    """Columns of the features of all arcs, in CSR form without values, and the arcs of each sentence."""

    indptr: IntArray
    indices: NDArray[np.uint32]
    offsets: IntArray


class ArcSurvey(NamedTuple):
    """What a part of the data contributes to the features of arcs.

    Attributes
    ----------
    columns : list of str
        Columns of tags that all of its sentences have.
    values : list of Counter
        How often each word, and each tag of a column, occurs.
    keys, counts : ndarray of int64
        The features of its true arcs, with its own numbers of words and tags, and how often each occurs.
    """

    columns: list[str]
    values: list[Counter[str]]
    keys: IntArray
    counts: IntArray


class ArcTemplates:
    """Encoder of the arcs of sentences: the features that occur in the arcs of the training trees.

    A feature is a template with its values, such as the tags of head and child, and occurs twice: for all arcs, and for
    arcs of one direction and distance (1, 2, 3, 4, 5 – 9, 10 or more). Besides, there is a feature for each tag between
    head and child. Features are integers from the start: no string is made for an arc.

    Attributes
    ----------
    tags : tuple of str
        Columns of tags to use, set before `fit`; the first is also used for the words between head and child.
    min_count : int
        Features that occur less often in true arcs are left out, set before `fit`.
    columns : list of str
        Columns of tags in use: those that the training data have.
    """

    def __init__(self) -> None:
        self.tags: tuple[str, ...] = ()
        self.min_count = 1
        self.columns: list[str] = []
        self.values: list[Vocabulary] = []
        self.keys: IntArray = np.zeros(0, np.int64)

    # ------------------------------------------------------------------ learning

    def fit(self, words: Words, heads: CodeArray) -> None:
        """Learn words, tags and features from sentences and the heads of all their words."""
        self.columns = [name for name in self.tags if name in words.columns]
        self._set_values(self._value_counts(words))
        self._set_most_frequent(*self._true_keys(words, heads))

    def survey(self, words: Words, heads: CodeArray) -> ArcSurvey:
        """Return what a part of the data contributes, for `learn_from`."""
        self.columns = [name for name in self.tags if name in words.columns]
        counts = self._value_counts(words)
        self._set_values(counts)
        if any(len(known) < len(count) for known, count in zip(self.values, counts, strict=True)):
            raise ValueError("too many different words in one file: divide it into several")
        return ArcSurvey(self.columns, counts, *self._true_keys(words, heads))

    def learn_from(self, surveys: Sequence[ArcSurvey]) -> None:
        """Learn what `fit` learns from all sentences, from the surveys of their parts."""
        self.columns = surveys[0].columns
        for k, survey in enumerate(surveys):
            if survey.columns != self.columns:
                raise ValueError(
                    f"part {k} of the data has the tags {survey.columns}, part 0 has {self.columns}; leave out those "
                    f"that some sentences lack (tags=)"
                )
        counts = [Counter[str]() for _ in surveys[0].values]
        for survey in surveys:
            for total, count in zip(counts, survey.values, strict=True):
                total.update(count)
        self._set_values(counts)
        parts = [self._renumbered(survey) for survey in surveys]
        keys, inverse = np.unique(np.concatenate(parts), return_inverse=True)
        totals: IntArray = np.zeros(len(keys), np.int64)
        np.add.at(totals, inverse, np.concatenate([survey.counts for survey in surveys]))
        self._set_most_frequent(keys, totals)

    def _renumbered(self, survey: ArcSurvey) -> IntArray:
        """Return the features of a part with the numbers that values have here."""
        special = np.arange(len(_SPECIAL))
        numbers = []
        for known, count in zip(self.values, survey.values, strict=True):
            translated = np.fromiter(map(known.columns.__getitem__, _ordered(count)), np.int64, len(count))
            numbers.append(np.append(special, np.where(translated < 0, _UNKNOWN, translated + len(_SPECIAL))))
        templates, out = self._templates()[0], np.zeros_like(survey.keys)
        code, value = survey.keys >> _arc_jit.CODE_SHIFT, survey.keys & ((1 << _arc_jit.CODE_SHIFT) - 1)
        for t in range(len(templates) + 1):
            of = code // _arc_jit.N_PLACES == t
            if not of.any():
                continue
            between = t == len(templates)  # three tags of the first column
            columns = [1, 1, 1] if between else [_column_of(int(a)) for a in templates[t] if a >= 0]
            shift, rest = 0, value[of]
            packed = np.zeros_like(rest)
            for c in reversed(columns):
                bits = _arc_jit.TAG_BITS if c else _arc_jit.WORD_BITS
                packed |= numbers[c][rest & ((1 << bits) - 1)] << shift
                rest, shift = rest >> bits, shift + bits
            out[of] = (code[of] << _arc_jit.CODE_SHIFT) | packed
        return out

    def _value_counts(self, words: Words) -> list[Counter[str]]:
        """Return how often each word, and each tag of a column, occurs."""
        return [Counter(map(_text, words.columns[name])) for name in ("form", *self.columns)]

    def _set_values(self, counts: Sequence[Counter[str]]) -> None:
        """Set the vocabularies: as many values as fit into the bits of a number, the others are unknown."""
        self.values = []
        for column, count in enumerate(counts):
            bits = _arc_jit.TAG_BITS if column else _arc_jit.WORD_BITS
            vocabulary = Vocabulary()
            vocabulary.encode([_ordered(count)[: (1 << bits) - len(_SPECIAL)]], True)
            self.values.append(vocabulary)

    def _true_keys(self, words: Words, heads: CodeArray) -> tuple[IntArray, IntArray]:
        """Return the features of true arcs, ascending, and how often each occurs."""
        templates = self._templates()[0]
        n_words, coded = len(heads), self._coded(words)
        position = np.arange(n_words) - np.repeat(words.offsets[:-1], np.diff(words.offsets)) + 1
        between = np.minimum(np.abs(heads - position), 1 << _arc_jit.TAG_BITS).sum() if self.columns else 0
        room = 2 * len(templates) * n_words + int(between)
        check_memory(3.0 * 8 * room, f"the features of {n_words} true arcs")
        keys_of_arcs = np.empty(room, np.int64)
        used = _arc_jit.true_arc_keys(words.offsets, *coded, heads, templates, keys_of_arcs)
        keys, counts = np.unique(keys_of_arcs[:used], return_counts=True)
        return keys, counts

    def _set_most_frequent(self, keys: IntArray, counts: IntArray) -> None:
        """Set the features that occur often enough."""
        kept = counts >= self.min_count
        keys, counts = keys[kept], counts[kept]
        self._set_keys(keys[np.argsort(-counts, kind="stable")])  # frequent features close together in memory

    def _set_keys(self, keys: IntArray) -> None:
        """Set the features, in the order of their columns, and the table that finds them."""
        self._atoms, self._parents = self._templates()
        self.keys, bits = keys, max(4, int(2 * len(keys)).bit_length())
        self._shift = 64 - bits
        self._slots, self._columns = np.full(1 << bits, -1, np.int64), np.empty(1 << bits, np.int32)
        if not _arc_jit.fill_table(keys, self._slots, self._columns, self._shift):
            raise ValueError("features of arcs must be distinct")

    def _templates(self) -> tuple[CodeArray, CodeArray]:
        """Return the atoms of each template, and for each template another one that has some of its atoms, or −1."""
        listed = list(_OF_WORDS)
        for c in range(len(self.columns)):
            first = 2 + c * _arc_jit.TAG_ATOMS
            listed += [tuple("wv".index(a) if isinstance(a, str) else first + a for a in atoms) for atoms in _OF_TAGS]
        templates = np.full((len(listed), 4), -1, np.int32)
        for t, atoms in enumerate(listed):
            templates[t, : len(atoms)] = atoms
        parents = [
            max((s for s in range(t) if set(listed[s]) < set(atoms)), key=lambda s: len(listed[s]), default=-1)
            for t, atoms in enumerate(listed)
        ]
        return templates, np.array(parents, np.int32)

    # ------------------------------------------------------------------ encoding

    def _coded(self, words: Words) -> tuple[CodeArray, CodeArray]:
        """Return words and tags as numbers, each sentence with the root before it and one position at either end."""
        lengths = np.diff(words.offsets)
        starts = words.offsets[:-1] + 3 * np.arange(len(lengths))
        inner = np.arange(int(words.offsets[-1])) + np.repeat(3 * np.arange(len(lengths)) + 2, lengths)
        coded = np.full((len(self.values), int(words.offsets[-1]) + 3 * len(lengths)), _AFTER, np.int32)
        coded[:, starts], coded[:, starts + 1] = _BEFORE, _ROOT
        for row, vocabulary, name in zip(coded, self.values, ("form", *self.columns), strict=True):
            texts = map(_text, words.columns[name])
            numbers = np.fromiter(map(vocabulary.columns.__getitem__, texts), np.int64, len(inner))
            row[inner] = np.where(numbers < 0, _UNKNOWN, numbers + len(_SPECIAL))
        return coded[0], coded[1:]

    def encode(self, words: Words) -> ArcRows:
        """Return the features of all arcs, ordered by child and then by head; arcs from a word to itself have none."""
        coded, templates = self._coded(words), self._atoms
        lengths = np.diff(words.offsets)
        offsets = offsets_of(lengths * (lengths + 1))
        indptr = np.zeros(int(offsets[-1]) + 1, np.int64)
        most = 2 * len(templates) + (min(int(lengths.max(initial=0)), 1 << _arc_jit.TAG_BITS) if self.columns else 0)
        table = self._slots, self._columns, self._shift

        def rows(first: int, stop: int) -> tuple[NDArray[np.uint32], IntArray]:
            """Return the columns of all arcs in the sentences first … stop, and where those of each arc end."""
            n_arcs = int(offsets[stop] - offsets[first])
            columns, ends = np.empty(n_arcs * most, np.uint32), np.zeros(n_arcs + 1, np.int64)
            used = _arc_jit.arc_rows(
                first, stop, words.offsets, *coded, templates, self._parents, *table, ends, columns
            )
            return columns[:used], ends

        indices, at = np.empty(0, np.uint32), 0
        runs = list(_runs(offsets))
        encoded = running_engine().ahead([partial(rows, first, stop) for first, stop in runs])
        for (first, stop), (columns, ends) in zip(runs, encoded, strict=True):
            a, b, used = int(offsets[first]), int(offsets[stop]), len(columns)
            indptr[a + 1 : b + 1] = indptr[a] + ends[1:]
            if at + used > len(indices):
                planned = used * float(offsets[-1] - a) / max(b - a, 1)
                check_memory(
                    4.0 * (at + planned), f"the features of {offsets[-1]} arcs",
                    "use fewer or shorter sentences, or min_count",
                )  # fmt: skip
                # The system provides memory only when it is written to, so space for more arcs costs nothing.
                larger = np.empty(at + max(int(SPACE * planned), used), np.uint32)
                larger[:at] = indices[:at]
                indices = larger
            indices[at : at + used] = columns
            at += used
        return ArcRows(indptr, indices[:at], offsets)

    # ------------------------------------------------------------------ names

    def column_names(self) -> FeatureNames:
        """Return the names of the features, each made when it is read."""
        return FeatureNames(self)

    def name_of(self, key: int) -> str:
        """Return a feature as text."""
        code, value = divmod(int(key), 1 << _arc_jit.CODE_SHIFT)
        t, place = divmod(code, _arc_jit.N_PLACES)
        if t == len(self._atoms):
            tags = [self._value(1, value >> (_arc_jit.TAG_BITS * k)) for k in (2, 1, 0)]
            return f"{self.columns[0]}: {tags[0]} … {tags[1]} … {tags[2]}, {'right' if place > 6 else 'left'}"
        texts = []
        for a in [int(a) for a in self._atoms[t] if a >= 0][::-1]:
            c = _column_of(a)
            atom = _WORD_ATOMS[a] if a < 2 else _TAG_ATOMS[(a - 2) % _arc_jit.TAG_ATOMS]
            texts.append(f"{atom} {('form', *self.columns)[c]}={self._value(c, value)}")
            value >>= _arc_jit.TAG_BITS if c else _arc_jit.WORD_BITS
        texts = texts[::-1] or ["any arc"]
        return ", ".join([*texts, _place_name(place)] if place else texts)

    def _value(self, column: int, value: int) -> str:
        value &= (1 << (_arc_jit.TAG_BITS if column else _arc_jit.WORD_BITS)) - 1
        if value < len(_SPECIAL):
            return _SPECIAL[value]
        if not hasattr(self, "_texts"):
            self._texts = [list(vocabulary.columns) for vocabulary in self.values]
        return self._texts[column][value - len(_SPECIAL)]

    # ------------------------------------------------------------------ saving

    def __getstate__(self) -> dict[str, Any]:
        return self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.set_state(state)

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state as plain values and arrays."""
        values = [vocabulary.get_state() for vocabulary in self.values]
        return {"columns": list(self.columns), "values": values, "keys": self.keys}

    def set_state(self, state: Any) -> ArcTemplates:
        """Restore a state of `get_state`; raise ValueError if it is damaged."""
        self.columns = stored_names(state["columns"], "columns of tags")
        self.values = [Vocabulary.from_state(values) for values in state["values"]]
        keys = stored_array(state["keys"], "features of arcs", np.int64, (None,), 0)
        if len(self.values) != 1 + len(self.columns):
            raise ValueError(f"expected a vocabulary for each of {1 + len(self.columns)} columns")
        self._set_keys(keys)
        if (keys >> _arc_jit.CODE_SHIFT > len(self._atoms) * _arc_jit.N_PLACES + 12).any():
            raise ValueError("features of arcs must be of templates that exist")
        return self


class FeatureNames(Sequence[str]):
    """Names of features, made when they are read: there may be millions of them.

    Parameters
    ----------
    templates : ArcTemplates
        The fitted encoder.
    """

    def __init__(self, templates: ArcTemplates) -> None:
        self.templates, self.shape = templates, (len(templates.keys),)

    def __len__(self) -> int:
        return len(self.templates.keys)

    def __getitem__(self, column: Any) -> Any:
        if isinstance(column, slice):
            return [self.templates.name_of(key) for key in self.templates.keys[column]]
        return self.templates.name_of(self.templates.keys[column])

    def __iter__(self) -> Iterator[str]:
        return map(self.templates.name_of, self.templates.keys.tolist())


def _place_name(place: int) -> str:
    side, bucket = divmod(place - 1, _arc_jit.N_BUCKETS)
    return f"{('left', 'right')[side]} {('1', '2', '3', '4', '5–9', '10+')[bucket]}"


def _text(value: Any) -> str:
    return "_" if value is None else str(value)


def _ordered(counts: Counter[str]) -> list[str]:
    """Return values, the most frequent first."""
    return sorted(counts, key=lambda name: (-counts[name], name))


def _column_of(atom: int) -> int:
    """Return the column of an atom: 0 for words, then those of tags."""
    return 0 if atom < 2 else 1 + (atom - 2) // _arc_jit.TAG_ATOMS


def _runs(offsets: AnyArray) -> Iterator[tuple[int, int]]:
    """Yield runs of sentences with about `_ARCS_TOGETHER` arcs, the last of them whole."""
    first, n = 0, len(offsets) - 1
    while first < n:
        stop = int(np.searchsorted(offsets, offsets[first] + _ARCS_TOGETHER))
        stop = min(max(stop, first + 1), n)
        yield first, stop
        first = stop
