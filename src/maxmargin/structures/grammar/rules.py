"""Rules and unary chains of a grammar read off trees, and codes of trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._base.checks import stored_array
from maxmargin._base.errors import Where, error_at
from maxmargin._base.ragged import split_rows
from maxmargin._base.types import CodeArray, IntArray
from maxmargin.features.text.brackets import TreeTuple
from maxmargin.features.text.treebank import ROOTS
from maxmargin.structures.grammar._jit import GLUED
from maxmargin.structures.grammar.arrays import Rule, grammar_arrays
from maxmargin.structures.grammar.derivations import INNER, PHRASE, TAG, Form, Symbol, symbol_name, under

_KINDS = (TAG, PHRASE, INNER)


class GrammarRules:
    """All rules and unary chains that occur in trees, with numbers for symbols, rules, chains and labels.

    With annotations, a rule or a chain that occurs under one parent belongs to the grammar under all parents that its
    left-hand side has in the trees: the trees that are derived are those of the grammar without annotations.

    Attributes
    ----------
    annotated : bool
        Whether symbols of phrases carry the label of their parent, set before `fit`.
    horizontal : int or None
        Number of siblings that an inner symbol remembers; None for whole right-hand sides. Set before `fit`.
    symbols, rules, chains, labels : list
        What was found, by number. A chain lists its symbols from the top to the base.
    starts : list of int
        Symbols of roots.
    depth : int
        How often a label may occur on the same span, in a chain and its base.
    """

    def __init__(self) -> None:
        self.annotated, self.horizontal = False, None  # type: tuple[bool, int | None]
        self.symbols: list[Symbol] = []
        self.rules: list[Rule] = []
        self.chains: list[tuple[int, ...]] = []
        self.starts: list[int] = []

    # ------------------------------------------------------------------ learning

    def fit(self, trees: Sequence[TreeTuple]) -> None:
        """Learn from trees whose leaves are tags."""
        self.read(trees)
        self.finish()

    def merge(self, parts: Sequence[GrammarRules]) -> None:
        """Learn what others have read from the parts of the data (`read`), as if all trees were read in order."""
        symbols: dict[Symbol, int] = {}
        rules: dict[Rule, None] = {}
        chains: dict[tuple[int, ...], None] = {}
        starts: dict[int, None] = {}
        for part in parts:
            here = [symbols.setdefault(symbol, len(symbols)) for symbol in part.symbols]
            rules |= dict.fromkeys((here[left], tuple(here[s] for s in right)) for left, right in part.rules)
            chains |= dict.fromkeys(tuple(here[s] for s in chain) for chain in part.chains)
            starts |= dict.fromkeys(here[s] for s in part.starts)
        self.symbols, self.rules, self.chains, self.starts = list(symbols), list(rules), list(chains), list(starts)
        self.finish()

    def read(self, trees: Sequence[TreeTuple]) -> None:
        """Set symbols, rules and chains to those that occur in trees."""
        symbols: dict[Symbol, int] = {}
        rules: dict[Rule, int] = {}
        chains: dict[tuple[int, ...], int] = {}
        starts: dict[int, None] = {}

        def number(symbol: Symbol) -> int:
            return symbols.setdefault(symbol, len(symbols))

        for tree in trees:
            derivation = Form(self.annotated, self.horizontal).derivation(tree)
            top = derivation.chains[0][0] if derivation.chains[0] else derivation.bases[0][0]
            starts[number(top)] = None
            for (left, right), chain in zip(*derivation, strict=True):
                path = tuple(map(number, (*chain, left)))
                for upper, lower in pairwise(path):
                    rules.setdefault((upper, (lower,)), len(rules))
                for k in range(len(chain)):
                    chains.setdefault(path[k:], len(chains))
                if right:
                    rules.setdefault((path[-1], tuple(map(number, right))), len(rules))
        self.symbols, self.rules, self.starts = list(symbols), list(rules), list(starts)
        self.chains = list(chains)

    def finish(self) -> None:
        """Add what belongs to the grammar although no tree has it, and set what follows."""
        if self.annotated:
            symbols, rules, chains = (
                {value: k for k, value in enumerate(known)} for known in (self.symbols, self.rules, self.chains)
            )
            _share_between_parents(symbols, rules, chains)  # type: ignore[arg-type]
            self.symbols, self.rules, self.chains = list(symbols), list(rules), list(chains)  # type: ignore[arg-type]
        self._index()

    # ------------------------------------------------------------------ numbers

    def _index(self) -> None:
        """Set all that follows from symbols, rules and chains."""
        self.symbol_numbers = {symbol: k for k, symbol in enumerate(self.symbols)}
        self.rule_numbers = {rule: k for k, rule in enumerate(self.rules)}
        self.chain_numbers = {chain: k for k, chain in enumerate(self.chains)}
        self.tags = {label: k for k, (kind, label, _) in enumerate(self.symbols) if kind == TAG}
        phrases = (label for kind, label, _ in self.symbols if kind == PHRASE and label not in ROOTS)
        self.labels = list(dict.fromkeys(phrases))
        self.longest = max((len(chain) - 1 for chain in self.chains), default=0)
        # How often a label may occur on one span.
        of = [[self.symbols[s][1] for s in chain if self.symbols[s][0] == PHRASE] for chain in self.chains]
        self.depth = max((some.count(name) for some in of for name in some), default=1)
        self.arrays = grammar_arrays(self.symbols, self.labels, self.rules, self.chains, self.starts)
        self.packed = self.arrays.packed()

    def without_annotations(self) -> tuple[IntArray, IntArray]:
        """Return for each rule the number of the rule, and of its left-hand side, without labels of parents."""
        bare = [under(symbol, "") for symbol in self.symbols]
        rules: dict[Any, int] = {}
        lefts: dict[Symbol, int] = {}
        same_rule = [rules.setdefault((bare[s], *(bare[t] for t in right)), len(rules)) for s, right in self.rules]
        same_left = [lefts.setdefault(bare[s], len(lefts)) for s, _ in self.rules]
        return np.array(same_rule, np.int64), np.array(same_left, np.int64)

    # ------------------------------------------------------------------ codes

    def code(self, tree: TreeTuple, length: int, where: Where) -> CodeArray:
        """Return the code of a tree: pairs (base, chain) in pre-order, −1 after the last.

        A base is 1 + the number of a rule, or 0 for a tag; a chain is its number, or −1.
        """
        derivation = Form(self.annotated, self.horizontal).derivation(tree)
        code = np.full(length, -1, np.int32)
        for k, ((left, right), chain) in enumerate(zip(*derivation, strict=True)):
            path = tuple(self._number(symbol, where) for symbol in (*chain, left))
            if chain:
                if path not in self.chain_numbers:
                    raise error_at(
                        where, f"the chain {' → '.join(map(symbol_name, (*chain, left)))} is not in the grammar: no "
                        f"training tree has it",
                    )  # fmt: skip
                code[2 * k + 1] = self.chain_numbers[path]
            if right:
                rule = path[-1], tuple(self._number(symbol, where) for symbol in right)
                if rule not in self.rule_numbers:
                    shown = f"{symbol_name(left)} → {' '.join(map(symbol_name, right))}"
                    raise error_at(where, f"the rule {shown} is not in the grammar: no training tree has it")
                code[2 * k] = 1 + self.rule_numbers[rule]
            else:
                code[2 * k] = 0
        top = derivation.chains[0][0] if derivation.chains[0] else derivation.bases[0][0]
        if self.symbol_numbers[top] not in self.starts:
            roots = ", ".join(sorted({self.symbols[s][1] or "''" for s in self.starts}))
            raise error_at(where, f"a tree with the root {symbol_name(top)}, expected one of {roots}")
        return code

    def _number(self, symbol: Symbol, where: Where) -> int:
        if symbol not in self.symbol_numbers:
            what = "tag" if symbol[0] == TAG else "symbol"
            raise error_at(where, f"a rule with the unseen {what} {symbol_name(symbol)}: no training tree has it")
        return self.symbol_numbers[symbol]

    def tree(self, code: CodeArray, leaves: Sequence[Any], root: str) -> TreeTuple:
        """Return the tree of a code over these leaves; `root` is the label of a glued root."""
        bases, chains = code[::2], code[1::2]
        waiting: list[list[Any]] = []  # what each pair stands for, the leftmost last: several trees if it is inner
        at = len(leaves)
        for base, chain in zip(bases[::-1].tolist(), chains[::-1].tolist(), strict=True):
            if base == -1:
                continue
            if base == 0:
                at -= 1
                node = leaves[at]
            else:
                size = GLUED + 1 - base if base <= GLUED else len(self.rules[base - 1][1])
                children = [child for _ in range(size) for child in waiting.pop()]
                left = self.symbols[self.rules[base - 1][0]] if base > 0 else (PHRASE, root, "")
                if left[0] == INNER:
                    waiting.append(children)
                    continue
                node = (left[1], *children)
            for symbol in self.chains[chain][-2::-1] if chain >= 0 else ():
                node = (self.symbols[symbol][1], node)
            waiting.append([node])
        return waiting[0][0]

    def leaf_tags(self, code: CodeArray) -> list[str]:
        """Return the tags of the tokens of a code; unknown tags, which only glued trees have, are ``"?"``."""
        tags: list[str] = []
        expected: list[int] = [-1]
        for base, chain in zip(code[::2].tolist(), code[1::2].tolist(), strict=True):
            if base == -1 or not expected:
                break
            symbol = self.chains[chain][-1] if chain >= 0 else expected[-1]
            expected.pop()
            if base == 0:
                tags.append(self.symbols[symbol][1] if symbol >= 0 else "?")
            elif base > 0:
                expected.extend(self.rules[base - 1][1][::-1])
            else:
                expected.extend([-1] * (GLUED + 1 - base))
        return tags

    @property
    def root(self) -> str:
        """Label of the root that glues pieces: that of the first training tree, or TOP if that has none.

        A root without a label above a tag cannot be written in brackets.
        """
        return self.symbols[self.starts[0]][1] or "TOP"

    # ------------------------------------------------------------------ names and saving

    def column_names(self) -> list[str]:
        """Return the rules as text."""
        names = [symbol_name(symbol) for symbol in self.symbols]
        return [f"{names[left]} → {' '.join(names[s] for s in right)}" for left, right in self.rules]

    def __getstate__(self) -> dict[str, Any]:
        return self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.set_state(state)

    def get_state(self) -> dict[str, Any]:
        """Return the learnt state as plain values and arrays."""
        rules, chains = [(left, *right) for left, right in self.rules], self.chains
        return {
            "annotated": bool(self.annotated),
            "horizontal": self.horizontal,
            "kinds": _int32([kind for kind, _, _ in self.symbols]),
            "names": [name for _, name, _ in self.symbols],
            "notes": [note for _, _, note in self.symbols],
            "starts": _int32(self.starts),
            "rules": _int32([s for rule in rules for s in rule]),
            "rule_lengths": _int32([len(rule) for rule in rules]),
            "chains": _int32([s for chain in chains for s in chain]),
            "chain_lengths": _int32([len(chain) for chain in chains]),
        }

    def set_state(self, state: Any) -> GrammarRules:
        """Restore a state of `get_state`; raise ValueError if it is damaged."""
        self.annotated = bool(state["annotated"])
        self.horizontal = None if state["horizontal"] is None else int(state["horizontal"])
        kinds = stored_array(state["kinds"], "kinds of symbols", np.int32, (None,)).tolist()
        names, notes = list(state["names"]), list(state["notes"])
        if len(kinds) != len(names) or len(kinds) != len(notes) or not set(kinds) <= set(_KINDS):
            raise ValueError(f"expected a kind and a name of each of {len(kinds)} symbols")
        self.symbols = [(kind, str(name), str(note)) for kind, name, note in zip(kinds, names, notes, strict=True)]
        n = len(self.symbols)
        rules = _split(state["rules"], state["rule_lengths"], n)
        self.rules = [(rule[0], rule[1:]) for rule in rules]
        self.chains = _split(state["chains"], state["chain_lengths"], n)
        (self.starts,) = (list(some) for some in _split(state["starts"], [len(state["starts"])], n, 1))
        known = set(self.rules)
        steps = {(a, (b,)) for chain in self.chains for a, b in pairwise(chain)}
        if len(set(self.symbols)) < n or len(known) < len(self.rules) or not steps <= known:
            raise ValueError("symbols and rules of a grammar must be distinct, with a rule for each step of a chain")
        if any(kinds[left] == TAG for left, _ in self.rules) or any(kinds[start] == TAG for start in self.starts):
            raise ValueError("tags of a grammar must not have rules")
        self._index()
        return self


def _share_between_parents(
    symbols: dict[Symbol, int], rules: dict[Rule, int], chains: dict[tuple[int, ...], int]
) -> None:
    """Add all rules and chains under all parents that their left-hand sides have."""
    known, parents = list(symbols), dict[str, list[str]]()
    for kind, label, parent in known:
        if kind == PHRASE:
            parents.setdefault(label, []).append(parent)

    def number(symbol: int, parent: str) -> int:
        return symbols.setdefault(under(known[symbol], parent), len(symbols))

    for left, right in list(rules):
        for parent in parents[known[left][1]]:
            below = tuple(number(s, parent) if known[s][0] == INNER else s for s in right)
            rules.setdefault((number(left, parent), below), len(rules))
    for top, *lower in list(chains):
        for parent in parents[known[top][1]]:
            chains.setdefault((number(top, parent), *lower), len(chains))


def _int32(values: Sequence[int]) -> CodeArray:
    return np.array(values, np.int32).reshape(-1)


def _split(values: Any, lengths: Any, n: int, shortest: int = 2) -> list[tuple[int, ...]]:
    """Return runs of numbers below n; raise ValueError if there are others."""
    values = stored_array(values, "symbols of rules", np.int32, (None,))
    lengths = stored_array(np.asarray(lengths, np.int32), "lengths of rules", np.int32, (None,))
    if lengths.sum() != len(values) or (lengths < shortest).any() or not ((values >= 0) & (values < n)).all():
        raise ValueError(f"expected rules over symbols 0 to {n - 1}, found others")
    return [tuple(row) for row in split_rows(values.tolist(), lengths)]
