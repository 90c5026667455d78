"""Features of constituents: a label with the words and tags at its ends and around them, its length and its split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.features.text.treebank import Token
from maxmargin.structures.grammar._jit import N_LENGTHS

TEMPLATES = ("first", "last", "length", "split", "context", "words")
_SPECIAL = ("<unknown>", "<before>", "<after>")
_BEFORE, _AFTER = 1, 2
_LENGTHS = ("1", "2", "3", "4", "5–7", "8–12", "13–20", "21+")
_VALUE_BITS = 28
#: What a column of each block says: (text, values of one or two positions), positions relative to the token.
_COLUMNS: dict[str, tuple[tuple[str, str, tuple[tuple[str, int], ...]], ...]] = {
    "begin": (
        ("first", "first tag={}", (("tag", 0),)),
        ("first words", "first word={}", (("word", 0),)),
        ("context", "tag before={}", (("tag", -1),)),
        ("context", "tag before={}, first tag={}", (("tag", -1), ("tag", 0))),
        ("context words", "word before={}", (("word", -1),)),
    ),
    "end": (
        ("last", "last tag={}", (("tag", 0),)),
        ("last words", "last word={}", (("word", 0),)),
        ("context", "tag after={}", (("tag", 1),)),
        ("context", "last tag={}, tag after={}", (("tag", 0), ("tag", 1))),
        ("context words", "word after={}", (("word", 1),)),
    ),
    "split": (
        ("split", "tag before split={}", (("tag", -1),)),
        ("split", "tag after split={}", (("tag", 0),)),
        ("split", "tags at split={} {}", (("tag", -1), ("tag", 0))),
        ("split words", "word before split={}", (("word", -1),)),
        ("split words", "word after split={}", (("word", 0),)),
    ),
}


class SpanRows(NamedTuple):
    """Encoded sentences.

    Attributes
    ----------
    tags : ndarray of int32
        Numbers of the tags, one before and one after each sentence besides.
    rows : dict of str to CSR matrix
        Features of each token as the first, as the last, and as the first of the last child of a constituent.
    """

    tags: CodeArray
    rows: dict[str, sp.csr_array]


class SpanSurvey(NamedTuple):
    """What a part of the data contributes to the features of constituents.

    Attributes
    ----------
    tags : list of str
        Its tags, sorted.
    words : Counter
        How often each word occurs.
    keys : dict of str to (ndarray, ndarray)
        For each block the keys of its columns, with its own numbers of tags and words, and how often each occurs.
    """

    tags: list[str]
    words: Counter[str]
    keys: dict[str, tuple[IntArray, IntArray]]


class SpanFeatures:
    """Encoder of what surrounds constituents, by integers; tables that depend on tags alone have no rows.

    Attributes
    ----------
    templates : tuple of str
        Which of `TEMPLATES` to use, set before `fit`.
    min_count : int
        Columns of words and tags that occur less often are left out, set before `fit`.
    """

    def __init__(self) -> None:
        self.templates: tuple[str, ...] = ()
        self.min_count = 1
        self.tags: list[str] = []
        self.words: list[str] = []
        self.keys: dict[str, IntArray] = {}

    @property
    def blocks(self) -> list[str]:
        """Names of the blocks with a row for each token."""
        return [] if not self.templates else ["begin", "end", *(["split"] if "split" in self.templates else [])]

    @property
    def n_tags(self) -> int:
        """Number of tags, those of unknown tags and of the ends of sentences included."""
        return len(self.tags) + len(_SPECIAL)

    def table_ends(self, n_labels: int) -> IntArray:
        """Return where the tables begin and end: lengths, outer tags, tags around, and lengths at a split."""
        pairs = self.n_tags**2 * n_labels
        used = self.templates
        sizes = [
            N_LENGTHS * n_labels if "length" in used else 0,
            pairs if {"first", "last"} <= set(used) else 0,
            pairs if "context" in used else 0,
            N_LENGTHS**2 * n_labels if {"split", "length"} <= set(used) else 0,
        ]
        return offsets_of(sizes)

    # ------------------------------------------------------------------ learning and encoding

    def fit(self, sentences: Sequence[Sequence[Token]]) -> None:
        """Learn tags, words and columns."""
        self.learn_from([self.survey(sentences)])

    def survey(self, sentences: Sequence[Sequence[Token]]) -> SpanSurvey:
        """Return what a part of the data contributes, for `learn_from`."""
        self.tags = sorted({tag for sentence in sentences for _, tag in sentence})
        words = Counter(word for sentence in sentences for word, _ in sentence if word is not None)
        self.words = sorted(words)
        self._index()
        values, keys = self._values(sentences), dict[str, tuple[IntArray, IntArray]]()
        for block in self.blocks:
            block_keys = [self._block_keys(values, t, block) for t in self._used(block)]
            keys[block] = np.unique(np.concatenate([*block_keys, np.zeros(0, np.int64)]), return_counts=True)
        return SpanSurvey(self.tags, words, keys)

    def learn_from(self, surveys: Sequence[SpanSurvey]) -> None:
        """Learn what the parts of the data have, and what occurs often enough in all of them."""
        self.tags = sorted({tag for survey in surveys for tag in survey.tags})
        counts = Counter[str]()
        for survey in surveys:
            counts.update(survey.words)
        self.words = sorted(word for word, count in counts.items() if count >= self.min_count)
        self._index()
        parts = [self._numbers_of(survey) for survey in surveys]
        self.keys = {}
        for block in self.blocks:
            keys, inverse = np.unique(
                np.concatenate([_renumbered(survey.keys[block][0], block, numbers)
                                for survey, numbers in zip(surveys, parts, strict=True)]), return_inverse=True
            )  # fmt: skip
            totals: IntArray = np.zeros(len(keys), np.int64)
            np.add.at(totals, inverse, np.concatenate([survey.keys[block][1] for survey in surveys]))
            self.keys[block] = keys[totals >= self.min_count]

    def _numbers_of(self, survey: SpanSurvey) -> dict[str, IntArray]:
        """Return the number here of each tag and each word of a survey, by the number there; 0 for rare words."""
        special = list(range(len(_SPECIAL)))
        return {
            "tag": np.array(special + [self._tag_numbers[tag] for tag in survey.tags], np.int64),
            "word": np.array(special + [self._word_numbers.get(word, 0) for word in sorted(survey.words)], np.int64),
        }

    def _index(self) -> None:
        self._tag_numbers = {tag: k for k, tag in enumerate(self.tags, len(_SPECIAL))}
        self._word_numbers = {word: k for k, word in enumerate(self.words, len(_SPECIAL))}

    def _used(self, block: str) -> list[int]:
        """Return the numbers of the columns of a block that the templates select."""
        words = "words" in self.templates
        return [
            t for t, (name, _, _) in enumerate(_COLUMNS[block])
            if name.removesuffix(" words") in self.templates and (words or not name.endswith(" words"))
        ]  # fmt: skip

    def _values(self, sentences: Sequence[Sequence[Token]]) -> dict[str, IntArray]:
        """Return the numbers of words and tags, with one value before and one after each sentence."""
        by_column: dict[str, IntArray] = {}
        for name, numbers, part in (("tag", self._tag_numbers, 1), ("word", self._word_numbers, 0)):
            flat = [
                value for sentence in sentences
                for value in (_BEFORE, *(numbers.get(token[part] or "", 0) for token in sentence), _AFTER)
            ]  # fmt: skip
            by_column[name] = np.array(flat, np.int64)
        lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
        by_column["at"] = np.arange(lengths.sum()) + np.repeat(2 * np.arange(len(lengths)) + 1, lengths)
        return by_column

    @staticmethod
    def _block_keys(values: dict[str, IntArray], t: int, block: str) -> IntArray:
        """Return the key of column template t for each token."""
        key = np.zeros(len(values["at"]), np.int64)
        for name, shift in _COLUMNS[block][t][2]:
            key = (key << _VALUE_BITS) | values[name][values["at"] + shift]
        return key | (t << 2 * _VALUE_BITS)

    def encode(self, sentences: Sequence[Sequence[Token]]) -> SpanRows:
        """Return the numbers of tags and the rows of each block."""
        values = self._values(sentences)
        n = len(values["at"])
        rows = {}
        for block in self.blocks:
            keys, used = self.keys[block], self._used(block)
            columns = np.full((n, len(used)), -1, np.int64)
            for c, t in enumerate(used):
                key = self._block_keys(values, t, block)
                at = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
                if len(keys):
                    columns[:, c] = np.where(keys[at] == key, at, -1)
            known = columns >= 0
            indptr = offsets_of(known.sum(axis=1))
            data = np.ones(int(indptr[-1]), np.float32)
            rows[block] = sp.csr_array((data, columns[known].astype(np.int32), indptr), (n, len(keys)))
        return SpanRows(values["tag"].astype(np.int32), rows)

    # ------------------------------------------------------------------ names

    def shape_names(self, labels: Sequence[str]) -> ShapeNames:
        """Return the names of the weights of the tables, each made when it is read."""
        return ShapeNames(self, labels)

    def block_names(self, block: str) -> list[str]:
        """Return the names of the columns of a block."""
        return [self._column_name(block, int(key)) for key in self.keys[block]]

    def _column_name(self, block: str, key: int) -> str:
        _, text, places = _COLUMNS[block][key >> 2 * _VALUE_BITS]
        values = [(key >> _VALUE_BITS * k) % (1 << _VALUE_BITS) for k in range(len(places))][::-1]
        return text.format(*(self.value_name(name, value) for (name, _), value in zip(places, values, strict=True)))

    def value_name(self, name: str, value: int) -> str:
        """Return a tag or a word as text."""
        if value < len(_SPECIAL):
            return _SPECIAL[value]
        return (self.tags if name == "tag" else self.words)[value - len(_SPECIAL)]

    def column_names(self) -> list[str]:
        """Return the names of the columns of all blocks."""
        return [name for block in self.blocks for name in self.block_names(block)]

    # ------------------------------------------------------------------ saving

    def __getstate__(self) -> dict[str, Any]:
        return self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.set_state(state)

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state as plain values and arrays."""
        return {
            "templates": list(self.templates), "tags": list(self.tags), "words": list(self.words),
            "keys": {block: self.keys[block] for block in self.blocks},
        }  # fmt: skip

    def set_state(self, state: Any) -> SpanFeatures:
        """Restore a state of `get_state`; raise ValueError if it is damaged."""
        self.templates = tuple(str(name) for name in state["templates"])
        self.tags, self.words = [str(tag) for tag in state["tags"]], [str(word) for word in state["words"]]
        self._index()
        self.keys = {block: np.asarray(state["keys"][block]) for block in self.blocks}
        for block, keys in self.keys.items():
            if keys.dtype != np.int64 or keys.ndim != 1 or (np.diff(keys) <= 0).any():
                raise ValueError(f"features of spans must be ascending numbers, those of {block} are not")
            try:
                self.block_names(block)
            except (IndexError, ValueError):
                raise ValueError(
                    f"features of spans must be of templates that exist, those of {block} are not"
                ) from None
        return self


def _renumbered(keys: IntArray, block: str, numbers: dict[str, IntArray]) -> IntArray:
    """Return the keys of columns with other numbers of tags and words."""
    out, templates = np.zeros_like(keys), keys >> 2 * _VALUE_BITS
    for t, (_, _, places) in enumerate(_COLUMNS[block]):
        of = templates == t
        packed: IntArray = np.zeros(int(of.sum()), np.int64)
        for k, (name, _) in enumerate(places):
            value = (keys[of] >> _VALUE_BITS * (len(places) - 1 - k)) & ((1 << _VALUE_BITS) - 1)
            packed = (packed << _VALUE_BITS) | numbers[name][value]
        out[of] = packed | (t << 2 * _VALUE_BITS)
    return out


class ShapeNames(Sequence[str]):
    """Names of the weights of tables, made when they are read.

    Parameters
    ----------
    features : SpanFeatures
        The fitted encoder.
    labels : sequence of str
        The labels of constituents.
    """

    def __init__(self, features: SpanFeatures, labels: Sequence[str]) -> None:
        self.features, self.labels = features, labels
        self.ends = features.table_ends(len(labels))

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[k] for k in range(*at.indices(len(self)))]
        table = int(np.searchsorted(self.ends, at, side="right")) - 1
        value, label = divmod(int(at) - int(self.ends[table]), len(self.labels))
        name = self.features.value_name
        if table == 0:
            what = f"length {_LENGTHS[value]}"
        elif table == 3:
            what = f"lengths at split {_LENGTHS[value // N_LENGTHS]}, {_LENGTHS[value % N_LENGTHS]}"
        else:
            tags = tuple(name("tag", v) for v in divmod(value, self.features.n_tags))
            what = ("first tag={}, last tag={}" if table == 1 else "tag before={}, tag after={}").format(*tags)
        return f"{what} → {self.labels[label]}"

    def __iter__(self) -> Iterator[str]:
        return (self[k] for k in range(len(self)))


def constituent_parts(
    n_tags: int, ends: IntArray, n_labels: int, tags: CodeArray, first: IntArray, label: AnyArray, begin: AnyArray,
    end: AnyArray, split: AnyArray,
) -> tuple[list[AnyArray], list[AnyArray]]:  # fmt: skip
    """Return the parts of constituents in the table of shapes, and to which constituent each belongs.

    `first` is the position in `tags` of the value before the sentence of each constituent.
    """
    everyone, parts, owners = np.arange(len(label)), list[AnyArray](), list[AnyArray]()
    if ends[1] > ends[0]:
        parts.append(ends[0] + _buckets(end - begin) * n_labels + label)
        owners.append(everyone)
    for table, left, right in ((1, begin + 1, end), (2, begin, end + 1)):
        if ends[table + 1] > ends[table]:
            pair = tags[first + left].astype(np.int64) * n_tags + tags[first + right]
            parts.append(ends[table] + pair * n_labels + label)
            owners.append(everyone)
    if ends[4] > ends[3]:
        some = np.flatnonzero(split >= 0)
        pair = _buckets(split[some] - begin[some]) * N_LENGTHS + _buckets(end[some] - split[some])
        parts.append(ends[3] + pair * n_labels + label[some])
        owners.append(some)
    return parts, owners


def _buckets(lengths: AnyArray) -> AnyArray:
    return np.searchsorted([2, 3, 4, 5, 8, 13, 21], lengths, side="right")
