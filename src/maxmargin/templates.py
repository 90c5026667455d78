"""Feature templates: what a tagger looks at around each word, from the columns of a file or from plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any

Token = str | tuple[str, ...]
Features = tuple[str, ...]

#: Distinct tokens whose features are kept; beyond, the cache starts anew.
_CACHE_SIZE = 200_000


@dataclass(frozen=True)
class TokenTemplates:
    """Makes feature strings for every token of a sentence.

    Call it on a sentence: a list of words, or of tuples of columns such as ``("Oslo", "NP")``. Each token gets

    - its own word, lower-cased word, prefixes and suffixes, shape (``"Xxxx"``, ``"dddd"``) and short shape (``"Xx"``,
      ``"d"``), and its other columns;
    - of each neighbour in the window the lower-cased word, short affixes if it stands next to the token, short shape
      and other columns, or that it lies outside;
    - pairs and triples: of short shapes and of other columns from the token before to the one behind, and of the two
      words before and the two behind.

    A constant feature is not among them: the model has an intercept.

    Parameters
    ----------
    window : neighbours looked at on each side.
    affixes : longest prefix and suffix of the token, in characters; 0 for none.
    shape : use shapes.
    pairs : use pairs and triples of neighbours.
    columns : the other columns to use, by number; None for all.
    word : the column of the word.

    Examples
    --------
    >>> templates = TokenTemplates(window=1, affixes=2, pairs=False)
    >>> templates(["In", "Oslo"])[1]
    ['word=Oslo', 'lower=oslo', 'prefix=o', 'suffix=o', 'prefix=os', 'suffix=lo', 'shape=Xxxx', 'short=Xx', \
'-1:lower=in', '-1:prefix=i', '-1:suffix=n', '-1:prefix=in', '-1:suffix=in', '-1:short=Xx', '+1:outside']
    """

    window: int = 2
    affixes: int = 4
    shape: bool = True
    pairs: bool = True
    columns: tuple[int, ...] | None = None
    word: int = 0

    def __post_init__(self) -> None:
        for name, least in (("window", 0), ("affixes", 0), ("word", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{name} must be a whole number ≥ {least}, found {value!r}")
        if self.columns is not None:
            columns = tuple(self.columns)
            if not all(isinstance(column, int) and column >= 0 for column in columns):
                raise ValueError(f"columns must be column numbers ≥ 0, found {self.columns!r}")
            object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "_cache", {})
        object.__setattr__(self, "_triples", {})

    def __reduce__(self) -> Any:
        """Copies and pickles begin with an empty cache."""
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def __call__(self, sentence: Sequence[Any]) -> list[list[str]]:
        """The features of each token of one sentence."""
        if isinstance(sentence, str):
            raise TypeError(f"expected a list of words or of tuples of columns, found the string {sentence[:40]!r}")
        facts = self._cache
        if len(facts) > _CACHE_SIZE:
            facts.clear()
        pad = max(self.window, 1)
        outside = [self._outside] * pad
        try:
            tokens = [facts[token] for token in sentence]
        except (KeyError, TypeError):
            tokens = [self._remembered(token) for token in sentence]
        padded = [*outside, *tokens, *outside]
        shifts = [(pad + shift, at) for at, shift in enumerate(_shifts(self.window))]
        rows: list[list[str]] = []
        for t, token in enumerate(tokens):
            row = [*token.own]
            for shift, at in shifts:
                row += padded[t + shift].seen[at]
            rows.append(tuple(row))
        if False:
            self._add_pairs(rows, padded, pad)
        return rows

    def _add_pairs(self, rows: list[list[str]], padded: list[_Facts], pad: int) -> None:
        triples = self._triples
        if len(triples) > _CACHE_SIZE:
            triples.clear()
        for t, row in enumerate(rows, pad):
            before, behind = padded[t - 1], padded[t + 1]
            key = before.kinds, padded[t].kinds, behind.kinds
            found = triples.get(key)
            if found is None:
                found = triples[key] = tuple(_triple_features(*key))
            row += found
            if self.window > 1:
                row.append(f"-2-1:lower={padded[t - 2].lower} {before.lower}")
                row.append(f"+1+2:lower={behind.lower} {padded[t + 2].lower}")

    def _remembered(self, token: Any) -> _Facts:
        key = token if isinstance(token, str) else tuple(token)
        facts = self._cache.get(key)
        if facts is None:
            facts = self._cache[key] = self._facts_of(key)
        return facts

    def _facts_of(self, token: Token) -> _Facts:
        cells = (token,) if isinstance(token, str) else token
        if self.word >= len(cells) or max(self.columns or (0,)) >= len(cells):
            wanted = max(self.word, *(self.columns or (0,)))
            raise ValueError(f"the templates use column {wanted}, but the token {cells!r} has {len(cells)} columns")
        if not all(isinstance(cell, str) for cell in cells):
            raise TypeError(f"expected words or tuples of strings, found {token!r}")
        word = cells[self.word]
        lower, form = word.lower(), word_shape(word)
        short = short_shape(form)
        others = range(len(cells)) if self.columns is None else self.columns
        columns = [(f"column{at}", cells[at]) for at in others if at != self.word]
        own = [("word", word), ("lower", lower), *_affixes(lower, self.affixes)]
        own += [("shape", form), ("short", short)] if self.shape else []
        far = [("lower", lower), *([("short", short)] if self.shape else []), *columns]
        near = [*far, *_affixes(lower, min(self.affixes, 3))]
        seen = [
            tuple(f"{shift:+d}:{name}={value}" for name, value in (near if abs(shift) == 1 else far))
            for shift in _shifts(self.window)
        ]
        kinds = ((("short", short),) if self.shape else ()) + tuple(columns)
        return _Facts(tuple(f"{name}={value}" for name, value in own + columns), seen, lower, kinds)

    @property
    def _outside(self) -> _Facts:
        return _Facts((), [(f"{shift:+d}:outside",) for shift in _shifts(self.window)], "", ())


class _Facts:
    """What templates know of a token: its own features, those its neighbours see, and what enters pairs."""

    __slots__ = ("kinds", "lower", "own", "seen")

    def __init__(self, own: Features, seen: list[Features], lower: str, kinds: tuple[tuple[str, str], ...]) -> None:
        self.own, self.seen, self.lower, self.kinds = own, seen, lower, kinds


def _shifts(window: int) -> list[int]:
    return [shift for distance in range(1, window + 1) for shift in (-distance, distance)]


def _affixes(word: str, longest: int) -> list[tuple[str, str]]:
    lengths = range(1, min(longest, len(word)) + 1)
    return [affix for k in lengths for affix in (("prefix", word[:k]), ("suffix", word[-k:]))]


def _triple_features(before: Any, token: Any, behind: Any) -> Iterator[str]:
    for at, (name, value) in enumerate(token):
        left, right = (side[at][1] if side else "" for side in (before, behind))
        yield f"-1+0:{name}={left} {value}"
        yield f"+0+1:{name}={value} {right}"
        yield f"-1+0+1:{name}={left} {value} {right}"


def word_shape(word: str) -> str:
    """The word with X for upper case, x for lower case, d for digits, and other characters as they are.

    >>> word_shape("Ab-12")
    'Xx-dd'
    """
    return "".join("X" if c.isupper() else "x" if c.islower() else "d" if c.isdigit() else c for c in word)


def short_shape(shape: str) -> str:
    """A shape with repetitions made one: ``"Xxxx-dd"`` is ``"Xx-d"``."""
    return "".join(character for character, _ in groupby(shape))
