"""All trees of a short sentence, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from maxmargin.features.text.brackets import TreeTuple
from maxmargin.structures.grammar.derivations import INNER
from maxmargin.structures.grammar.rules import GrammarRules


def all_trees(grammar: GrammarRules, tags: list[str]) -> Iterator[TreeTuple]:
    """Yield all trees over these tags, with the tags as leaves."""
    by_left: dict[int, list[tuple[int, ...]]] = {}
    for left, right in grammar.rules:
        if len(right) > 1:
            by_left.setdefault(left, []).append(right)
    by_top: dict[int, list[tuple[int, ...]]] = {}
    for chain in grammar.chains:
        by_top.setdefault(chain[0], []).append(chain)

    @cache
    def below(symbol: int, i: int, j: int) -> tuple[tuple[object, ...], ...]:
        """Return all derivations of a symbol without a chain: lists of trees, one tree unless it is inner."""
        kind, label, _ = grammar.symbols[symbol]
        derivations: list[tuple[object, ...]] = []
        if j == i + 1 and grammar.tags.get(tags[i], -1) == symbol:
            derivations.append((tags[i],))
        for right in by_left.get(symbol, ()):
            for children in rows(right, i, j):
                derivations.append(children if kind == INNER else ((label, *children),))
        return tuple(derivations)

    @cache
    def whole(symbol: int, i: int, j: int) -> tuple[tuple[object, ...], ...]:
        derivations = list(below(symbol, i, j))
        for chain in by_top.get(symbol, ()):
            for (tree,) in below(chain[-1], i, j):
                for upper in chain[-2::-1]:
                    tree = (grammar.symbols[upper][1], tree)
                derivations.append((tree,))
        return tuple(derivations)

    @cache
    def rows(right: tuple[int, ...], i: int, j: int) -> tuple[tuple[object, ...], ...]:
        if len(right) == 1:
            return whole(right[0], i, j)
        lists = []
        for k in range(i + 1, j - len(right) + 2):
            rest = rows(right[1:], k, j)
            lists += [head + tail for head in (whole(right[0], i, k) if rest else ()) for tail in rest]
        return tuple(lists)

    for start in grammar.starts:
        for (tree,) in whole(start, 0, len(tags)):
            yield tree  # type: ignore[misc]
