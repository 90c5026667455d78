"""Feature templates: features of each word and of its neighbours, as strings or as numbers of fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from threading import Lock
from typing import Any, ClassVar

from maxmargin._base.checks import check_flag

Token = str | tuple[str, ...]
Features = tuple[str, ...]

#: Number of tokens and triples whose features are cached; a larger cache is cleared.
_CACHE_SIZE = 300_000

#: Greatest window, length of affixes and number of a column.
MOST = 1000

#: Beginnings of the names of features.
WORD, LOWER, PREFIX, SUFFIX, SHAPE, SHORT = "word=", "lower=", "prefix=", "suffix=", "shape=", "short="


@dataclass(frozen=True)
class TokenTemplates:
    """Templates that turn each token of a sentence into feature strings.

    Call the templates on a sentence: a list of words, or of tuples of columns such as ``("Oslo", "NP")``. The features
    of a token are

    - its word, lower-cased word, prefixes and suffixes, shape (``"Xxxx"``, ``"dddd"``), short shape (``"Xx"``, ``"d"``)
      and other columns;
    - the lower-cased word, short shape and other columns of each neighbour in the window, or the fact that the
      neighbour is outside the sentence;
    - pairs of short shapes and of other columns of the token with the previous and with the next token, triples of
      short shapes, and the pairs of the two previous and of the two next words.

    A constant feature is not included, since the model has an intercept.

    Parameters
    ----------
    window : int, default=2
        Number of neighbours on each side.
    affixes : int, default=4
        Length of the longest prefix and suffix, in characters; 0 for none.
    shape : bool, default=True
        Whether to use shapes.
    pairs : bool, default=True
        Whether to use pairs and triples.
    columns : sequence of int, optional
        Numbers of the other columns to use; None for all.
    word : int, default=0
        Number of the word's column.

    Examples
    --------
    >>> templates = TokenTemplates(window=1, affixes=2, pairs=False)
    >>> templates(["In", "Oslo"])[1]
    ('word=Oslo', 'lower=oslo', 'prefix=o', 'suffix=o', 'prefix=os', 'suffix=lo', 'shape=Xxxx', 'short=Xx', \
'-1:lower=in', '-1:short=Xx', '+1:outside')
    """

    window: int = 2
    affixes: int = 4
    shape: bool = True
    pairs: bool = True
    columns: tuple[int, ...] | None = None
    word: int = 0
    _cache: ClassVar[_Cache]

    def __post_init__(self) -> None:
        for name, least in (("window", 0), ("affixes", 0), ("word", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
                raise ValueError(f"{name} must be an integer from {least} to {MOST}, found {value!r}")
        check_flag(self.shape, "shape")
        check_flag(self.pairs, "pairs")
        if self.columns is not None:
            columns = tuple(dict.fromkeys(self.columns))
            if not all(isinstance(column, int) and column >= 0 for column in columns):
                raise ValueError(f"columns must be column numbers ≥ 0, found {self.columns!r}")
            object.__setattr__(self, "columns", columns)
        self._forget()

    def _forget(self) -> None:
        """Create an empty cache; it is not a field, so it is neither compared nor shown nor saved."""
        object.__setattr__(self, "_cache", _Cache())

    def __reduce__(self) -> Any:
        """Return copies and pickles without the cache."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __call__(self, sentence: Sequence[Any]) -> list[Features]:
        """Return the features of each token of a sentence."""
        if isinstance(sentence, str):
            raise TypeError(f"expected a list of words or of tuples of columns, found the string {sentence[:40]!r}")
        if self._cache.size > _CACHE_SIZE:
            self._forget()
        cache = self._cache  # the same object throughout, whatever other threads do
        pad = max(self.window, 1)
        outside = [self._outside()] * pad
        tokens = [*outside, *(self._facts(cache, token) for token in sentence), *outside]
        places = [(pad + shift, at) for at, shift in enumerate(shifts(self.window))]
        rows: list[Features] = []
        # Tuples, since the garbage collector soon stops tracking tuples of strings: half the time on a large file.
        for t in range(len(sentence)):
            row = [*tokens[t + pad].own]
            for shift, at in places:
                row += tokens[t + shift].seen[at]
            if self.pairs and self.window:
                row += self._pairs(cache, tokens, t + pad)
            rows.append(tuple(row))
        return rows

    def _pairs(self, cache: _Cache, tokens: list[_Facts], t: int) -> list[str]:
        before, behind = tokens[t - 1], tokens[t + 1]
        key = before.kind, tokens[t].kind, behind.kind
        pairs = cache.triples.get(key)
        if pairs is None:
            pairs = cache.add_triples(key)
        if self.window == 1:
            return pairs
        return [
            *pairs,
            f"-2-1:{LOWER}{tokens[t - 2].lower} {before.lower}",
            f"+1+2:{LOWER}{behind.lower} {tokens[t + 2].lower}",
        ]

    def _facts(self, cache: _Cache, token: Any) -> _Facts:
        """Return the facts about a token, from the cache if they are there."""
        key = token if isinstance(token, str) else tuple(token)
        facts = cache.facts.get(key)
        if facts is None:
            facts = cache.facts[key] = self._make_facts(cache, key)
        return facts

    def _make_facts(self, cache: _Cache, token: Token) -> _Facts:
        cells = (token,) if isinstance(token, str) else token
        if not all(isinstance(cell, str) for cell in cells):
            raise TypeError(f"expected words or tuples of strings, found {token!r}")
        highest = max(self.word, *(self.columns or (0,)))
        if highest >= len(cells):
            raise ValueError(f"the templates use column {highest}, but the token {cells!r} has {len(cells)} columns")
        word = cells[self.word]
        lower, form = word.lower(), word_shape(word)
        others = range(len(cells)) if self.columns is None else self.columns
        kinds = [(f"column{at}=", cells[at]) for at in others if at != self.word]
        if self.shape:
            kinds.insert(0, (SHORT, short_shape(form)))
        own = [WORD + word, LOWER + lower, *_affixes(lower, self.affixes)]
        own += [SHAPE + form] if self.shape else []
        own += [name + value for name, value in kinds]
        shared = [LOWER + lower, *(name + value for name, value in kinds)]
        seen = [tuple([f"{shift:+d}:{feature}" for feature in shared]) for shift in shifts(self.window)]
        kind = tuple((name, quoted(value)) for name, value in kinds)
        return _Facts(tuple(own), seen, quoted(lower), cache.number(kind))

    def _outside(self) -> _Facts:
        seen: list[Features] = [(f"{shift:+d}:outside",) for shift in shifts(self.window)]
        return _Facts((), seen, "", _Cache.OUTSIDE)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What templates know about a token.

    Attributes
    ----------
    own : features of the token itself.
    seen : features that the token contributes to its neighbours, one tuple per shift.
    lower : the word in lower case, as in the names of pairs.
    kind : number of the parts that enter pairs and triples: short shape and other columns.
    """

    own: Features
    seen: list[Features]
    lower: str
    kind: int


class _Cache:
    """Cache of the features of all tokens and of all triples of kinds; a text repeats a few thousand words."""

    OUTSIDE = 0

    def __init__(self) -> None:
        self.facts: dict[Token, _Facts] = {}
        self.triples: dict[tuple[int, int, int], list[str]] = {}
        self.kinds: list[tuple[tuple[str, str], ...]] = [()]
        self.numbers: dict[tuple[tuple[str, str], ...], int] = {}
        self.lock = Lock()

    @property
    def size(self) -> int:
        return len(self.facts) + len(self.triples)

    def number(self, kind: tuple[tuple[str, str], ...]) -> int:
        """Return a number for this kind; triples are looked up faster by numbers than by strings."""
        with self.lock:
            number = self.numbers.setdefault(kind, len(self.kinds))
            if number == len(self.kinds):
                self.kinds.append(kind)
        return number

    def add_triples(self, key: tuple[int, int, int]) -> list[str]:
        """Return pairs of each part of the kinds, and triples of short shapes, and cache them."""
        before, token, behind = (self.kinds[number] for number in key)
        features: list[str] = []
        for at, (name, value) in enumerate(token):
            left, right = (side[at][1] if at < len(side) else "" for side in (before, behind))
            features += [f"-1+0:{name}{left} {value}", f"+0+1:{name}{value} {right}"]
            if name == SHORT:
                features.append(f"-1+0+1:{name}{left} {value} {right}")
        self.triples[key] = features
        return features


def shifts(window: int) -> list[int]:
    """Return the positions of the neighbours in a window, the nearest first."""
    return [shift for distance in range(1, window + 1) for shift in (-distance, distance)]


def _affixes(word: str, longest: int) -> list[str]:
    lengths = range(1, min(longest, len(word)) + 1)
    return [affix for k in lengths for affix in (PREFIX + word[:k], SUFFIX + word[-k:])]


class _Shapes(dict[int, str]):
    """Table for `str.translate` from characters to their classes, filled as characters occur."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        self[code] = shape = "X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c
        return shape


_SHAPES = _Shapes()
_REPEATED = re.compile(r"(.)\1+", re.DOTALL)


def word_shape(word: str) -> str:
    """Return the word with X for upper case, x for lower case, d for digits, and other characters unchanged.

    >>> word_shape("Ab-12")
    'Xx-dd'
    """
    return word.translate(_SHAPES)


@lru_cache(1 << 14)
def short_shape(shape: str) -> str:
    """Return a shape without repetitions: ``"Xx-d"`` for ``"Xxxx-dd"``."""
    return _REPEATED.sub(r"\1", shape)


def quoted(value: str) -> str:
    r"""Return a value as it is written in the names of pairs: blanks and backslashes follow a backslash.

    Otherwise ``"a b"`` before ``"c"`` and ``"a"`` before ``"b c"`` would be the same feature.
    """
    return value.replace("\\", "\\\\").replace(" ", "\\ ") if " " in value or "\\" in value else value


# ---------------------------------------------------------------------- fields


@dataclass(frozen=True)
class Field:
    """One kind of feature, such as ``"-1:lower="``.

    Attributes
    ----------
    name : str
        Beginning of the names of its features.
    values : int
        Number of the set of values that ends the name; −1 if the name is complete.
    """

    name: str
    values: int


@dataclass(frozen=True)
class Conjunction:
    """Feature of two values: of one fact at two shifts, or of an earlier conjunction and a third shift.

    Attributes
    ----------
    name : str
        Beginning of its names.
    fact : int
        Number of the fact.
    values : int
        Number of the set of values.
    left, right : int
        Shifts of the two tokens.
    of : int
        Number of the conjunction that takes the place of the left value; −1 if there is none.
    """

    name: str
    fact: int
    values: int
    left: int
    right: int
    of: int = -1


class Fields:
    """Facts, fields and conjunctions of templates over tokens with a number of columns.

    Attributes
    ----------
    value_names : list of str
        Names of the sets of values: word, lower, prefix, suffix, shape, short, and each further column.
    fact_values : list of int
        Set of values of each fact, in the order of the features of a token itself.
    joined : list of int
        Sets of values that occur in conjunctions; their value 0 is the empty string, that of tokens outside.
    own : list of int
        Field of each fact of the token itself.
    shifts : list of int
        Positions of the neighbours.
    seen_facts : list of int
        Facts that a neighbour contributes.
    seen : list of list of int
        Field of each of these facts, per shift.
    outside : list of int
        Field of a neighbour outside the sentence, per shift.
    singles : list of Field
        Fields of one value.
    conjunctions : list of Conjunction
        Features of two or three values.
    """

    def __init__(self, templates: TokenTemplates, n_columns: int) -> None:
        self.templates, self.n_columns = templates, n_columns
        others = range(n_columns) if templates.columns is None else templates.columns
        self.columns = [column for column in others if column != templates.word]
        kinds = [SHORT] * templates.shape + [f"column{column}=" for column in self.columns]
        own = [WORD, LOWER, *[PREFIX, SUFFIX] * templates.affixes, *[SHAPE] * templates.shape, *kinds]
        self.value_names = list(dict.fromkeys(own))
        self.fact_values = [self.value_names.index(name) for name in own]
        self.singles = [Field(name, values) for values, name in enumerate(self.value_names)]
        self.own = list(self.fact_values)
        self.shifts = shifts(templates.window)
        seen = [LOWER, *kinds]
        self.seen_facts = [1, *range(len(own) - len(kinds), len(own))]
        self.seen, self.outside = [], []
        for shift in self.shifts:
            self.outside.append(self._add(f"{shift:+d}:outside", -1))
            self.seen.append([self._add(f"{shift:+d}:{name}", self.value_names.index(name)) for name in seen])
        self.conjunctions: list[Conjunction] = []
        if templates.pairs and templates.window:
            self._add_conjunctions(kinds)
        self.joined = sorted({conjunction.values for conjunction in self.conjunctions})

    def _add(self, name: str, values: int) -> int:
        self.singles.append(Field(name, values))
        return len(self.singles) - 1

    def _add_conjunctions(self, kinds: list[str]) -> None:
        for fact, name in zip(self.seen_facts[1:], kinds, strict=True):
            values, before = self.value_names.index(name), len(self.conjunctions)
            self.conjunctions.append(Conjunction(f"-1+0:{name}", fact, values, -1, 0))
            self.conjunctions.append(Conjunction(f"+0+1:{name}", fact, values, 0, 1))
            if name == SHORT:
                self.conjunctions.append(Conjunction(f"-1+0+1:{name}", fact, values, -1, 1, before))
        if self.templates.window > 1:
            lower = self.value_names.index(LOWER)
            self.conjunctions.append(Conjunction(f"-2-1:{LOWER}", 1, lower, -2, -1))
            self.conjunctions.append(Conjunction(f"+1+2:{LOWER}", 1, lower, 1, 2))

    @property
    def most_features(self) -> int:
        """Maximum number of features of a token."""
        return len(self.own) + len(self.shifts) * len(self.seen_facts) + len(self.conjunctions)

    def facts_of(self, cells: tuple[str, ...], number: list[Callable[[str], int]]) -> list[int]:
        """Return the numbers of the values of all facts about a token; −1 for affixes longer than the word.

        ``number[v]`` numbers the values of the v-th set.
        """
        templates, word = self.templates, cells[self.templates.word]
        lower = word.lower()
        facts = [number[0](word), number[1](lower)]
        at = 2
        if templates.affixes:
            prefix, suffix, length = number[2], number[3], len(lower)
            for k in range(1, templates.affixes + 1):
                facts += (prefix(lower[:k]), suffix(lower[length - k :])) if k <= length else (-1, -1)
            at = 4
        if templates.shape:
            shape = word_shape(word)
            facts += (number[at](shape), number[at + 1](short_shape(shape)))
        facts += [number[v](cells[c]) for v, c in zip(self.fact_values[len(facts) :], self.columns, strict=True)]
        return facts
