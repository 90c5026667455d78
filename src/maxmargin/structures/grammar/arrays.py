"""A grammar as arrays for compiled functions, with a prefix trie of right-hand sides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import CodeArray
from maxmargin.structures.grammar.derivations import PHRASE, TAG, Symbol

#: A rule: the number of its left-hand side and those of its right-hand side.
Rule = tuple[int, tuple[int, ...]]
#: Lists of pairs of numbers, one list for each row.
Rows = list[list[tuple[int, int]]]


class Arrays(NamedTuple):
    """The grammar as arrays of int32, for compiled functions.

    Attributes
    ----------
    kid_ptr, kid_symbol, kid_node : ndarray
        The children of node q of the trie are kid_ptr[q]:kid_ptr[q + 1], each reached by a symbol.
    first : ndarray
        The node of each symbol as the first of a right-hand side, −1 if there is none.
    last : ndarray
        The symbol of each node.
    done_ptr, done_symbol, done_rule : ndarray
        Left-hand sides and numbers of the rules that end in a node.
    up_ptr, up_top, up_chain : ndarray
        Tops and numbers of the chains above each symbol.
    chain_ptr, chain_rule, chain_symbol : ndarray
        Rules of each chain from its top down, and their left-hand sides.
    chain_base : ndarray
        The symbol below each chain.
    repeats : ndarray
        Whether a chain, with its base, has a label twice.
    label : ndarray
        The label of each symbol; the number of labels for symbols that are not constituents.
    start : ndarray
        Symbols of roots.
    left, size : ndarray
        Left-hand side and length of the right-hand side of each rule.
    node : ndarray
        The node in which each rule ends, −1 for unary rules.
    kid_tags : ndarray
        Where the children of each node by tags begin; those by phrases come first.
    parent : ndarray
        The parent of each node; −1 for the root.
    row, phrase : ndarray
        The row of each symbol in tables of phrases (−1 for tags), and the symbol of each row.
    step : ndarray
        Four numbers for each child of a node, side by side because they are read together: the row of its symbol, the
        child if it has children (otherwise −1), and the first and the last + 1 of the rules that end in it.
    done_row : ndarray
        The rows of `done_symbol`.
    """

    kid_ptr: CodeArray
    kid_symbol: CodeArray
    kid_node: CodeArray
    first: CodeArray
    last: CodeArray
    done_ptr: CodeArray
    done_symbol: CodeArray
    done_rule: CodeArray
    up_ptr: CodeArray
    up_top: CodeArray
    up_chain: CodeArray
    chain_ptr: CodeArray
    chain_rule: CodeArray
    chain_symbol: CodeArray
    chain_base: CodeArray
    repeats: CodeArray
    label: CodeArray
    start: CodeArray
    left: CodeArray
    size: CodeArray
    node: CodeArray
    kid_tags: CodeArray
    parent: CodeArray
    row: CodeArray
    phrase: CodeArray
    step: CodeArray
    done_row: CodeArray

    def packed(self) -> CodeArray:
        """Return all arrays as one: where each begins, where the last ends, and then their numbers.

        Compiled functions with one argument in the place of twenty-seven compile several times as fast.
        """
        ends = len(self) + 1 + offsets_of([*map(len, self)])
        return np.concatenate([ends.astype(np.int32), *self])


class Trie:
    """Right-hand sides of several symbols as a prefix trie; node 0 is its root.

    Attributes
    ----------
    kids : list of dict
        The children of each node by their symbols.
    last, parent : list of int
        The symbol and the parent of each node; −1 for the root.
    node : list of int
        The node in which each rule ends; −1 for unary rules.
    done : list of list of (int, int)
        Left-hand sides and numbers of the rules that end in each node.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.kids: list[dict[int, int]] = [{}]
        self.last, self.parent, self.node = [-1], [-1], [-1] * len(rules)
        self.done: Rows = [[]]
        for k, (left, right) in enumerate(rules):
            if len(right) < 2:
                continue
            at = 0
            for symbol in right:
                at = self.kids[at].get(symbol) or self._child(at, symbol)
            self.node[k] = at
            self.done[at].append((left, k))

    def _child(self, at: int, symbol: int) -> int:
        self.kids[at][symbol] = len(self.kids)
        self.kids.append({})
        self.done.append([])
        self.last.append(symbol)
        self.parent.append(at)
        return len(self.kids) - 1


def grammar_arrays(
    symbols: Sequence[Symbol], labels: Sequence[str], rules: Sequence[Rule], chains: Sequence[tuple[int, ...]],
    starts: Sequence[int],
) -> Arrays:  # fmt: skip
    """Return the arrays of a grammar; `labels` are those of constituents, `starts` the symbols of roots."""
    trie, numbers = Trie(rules), {rule: k for k, rule in enumerate(rules)}
    of_label = {name: k for k, name in enumerate(labels)}
    label = [of_label.get(name, len(labels)) if kind == PHRASE else len(labels) for kind, name, _ in symbols]
    counted = [[label[s] for s in chain if label[s] < len(labels)] for chain in chains]
    start = np.zeros(len(symbols), np.int32)
    start[list(starts)] = 1
    is_tag = [kind == TAG for kind, _, _ in symbols]
    phrase = _whole([s for s, tag in enumerate(is_tag) if not tag])
    row = np.full(len(symbols), -1, np.int32)
    row[phrase] = np.arange(len(phrase))
    # The children of the root are `first`: nothing is continued from there.
    kids = [{}, *trie.kids[1:]]
    kid_ptr, (kid_symbol, kid_node) = _rows(
        [sorted(some.items(), key=lambda kid: (is_tag[kid[0]], kid[0])) for some in kids]
    )
    kid_tags = kid_ptr[1:] - [sum(is_tag[s] for s in some) for some in kids]
    done_ptr, (done_symbol, done_rule) = _rows(trie.done)
    continued = np.where(np.diff(kid_ptr)[kid_node] > 0, kid_node, -1)
    step = np.stack([row[kid_symbol], continued, done_ptr[kid_node], done_ptr[kid_node + 1]], axis=1)
    up: Rows = [[] for _ in symbols]
    for c, chain in enumerate(chains):
        up[chain[-1]].append((chain[0], c))
    up_ptr, (up_top, up_chain) = _rows(up)
    chain_ptr, (chain_rule, chain_symbol) = _rows(
        [[(numbers[a, (b,)], a) for a, b in pairwise(chain)] for chain in chains]
    )
    return Arrays(
        kid_ptr=kid_ptr, kid_symbol=kid_symbol, kid_node=kid_node,
        first=_whole([trie.kids[0].get(s, -1) for s in range(len(symbols))]), last=_whole(trie.last),
        done_ptr=done_ptr, done_symbol=done_symbol, done_rule=done_rule, up_ptr=up_ptr, up_top=up_top,
        up_chain=up_chain, chain_ptr=chain_ptr, chain_rule=chain_rule, chain_symbol=chain_symbol,
        chain_base=_whole([chain[-1] for chain in chains]),
        repeats=_whole([len(set(some)) < len(some) for some in counted]), label=_whole(label), start=start,
        left=_whole([left for left, _ in rules]), size=_whole([len(right) for _, right in rules]),
        node=_whole(trie.node), kid_tags=_whole(kid_tags), parent=_whole(trie.parent), row=row, phrase=phrase,
        step=_whole(step.reshape(-1)), done_row=row[done_symbol],
    )  # fmt: skip


def _whole(values: Any) -> CodeArray:
    return np.array(values, np.int32).reshape(-1)


def _rows(pairs: Rows) -> tuple[CodeArray, tuple[CodeArray, CodeArray]]:
    """Return rows of pairs as offsets and two columns."""
    flat = [pair for row in pairs for pair in row]
    ends = offsets_of([*map(len, pairs)]).astype(np.int32)
    return ends, (_whole([a for a, _ in flat]), _whole([b for _, b in flat]))
