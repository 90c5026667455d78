"""Which facts about tokens `TokenTemplates` combine into features, in the order of the features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from maxmargin.features.text.templates import (
    LOWER,
    PREFIX,
    SHAPE,
    SHORT,
    SUFFIX,
    WORD,
    TokenTemplates,
    shifts,
    short_shape,
    word_shape,
)


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
