"""Feature templates: features of each word and of its neighbours."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
