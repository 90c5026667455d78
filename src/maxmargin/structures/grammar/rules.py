"""Rules, unary chains and the trie of right-hand sides of a grammar read off trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from maxmargin._types import CodeArray
from maxmargin.core.errors import Where, error_at
from maxmargin.encoding.brackets import TreeTuple
from maxmargin.encoding.treebank import ROOTS

TAG, PHRASE, INNER = range(3)
_KINDS = (TAG, PHRASE, INNER)
#: A symbol: its kind, its label, and what annotates it (the parent's label; the siblings before an inner symbol).
Symbol = tuple[int, str, str]
#: A rule: the number of its left-hand side and those of its right-hand side.
Rule = tuple[int, tuple[int, ...]]


class Arrays(NamedTuple):
    """The grammar as arrays of int32, for kernels.

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

        Kernels with one argument in the place of twenty-seven compile several times as fast.
        """
        ends = len(self) + 1 + np.cumsum([0, *map(len, self)])
        return np.concatenate([ends.astype(np.int32), *self])


class Derivation(NamedTuple):
    """A derivation: bases in pre-order, each with the symbols of its chain, topmost first.

    A base is the left-hand side and the right-hand side of a rule with several symbols, or a tag and ().
    """

    bases: list[tuple[Symbol, tuple[Symbol, ...]]]
    chains: list[tuple[Symbol, ...]]


class GrammarRules:
    """All rules and unary chains that occur in trees, with numbers for symbols, rules, chains and labels.

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
        symbols: dict[Symbol, int] = {}
        rules: dict[Rule, int] = {}
        chains: dict[tuple[int, ...], int] = {}
        starts: dict[int, None] = {}

        def number(symbol: Symbol) -> int:
            return symbols.setdefault(symbol, len(symbols))

        for tree in trees:
            derivation = self.derivation(tree)
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
        self._index()

    def derivation(self, tree: TreeTuple) -> Derivation:
        """Return how a grammar of this form derives a tree."""
        bases: list[tuple[Symbol, tuple[Symbol, ...]]] = []
        chains: list[tuple[Symbol, ...]] = []
        waiting: list[tuple[Any, str]] = [(tree, "")]
        while waiting:
            node, above = waiting.pop()
            if type(node) is _Rest:
                bases.append((node.symbol(self.horizontal), self._right(node)))
                chains.append(())
                waiting.extend(self._below(node))
                continue
            chain: list[Symbol] = []
            while not isinstance(node, str) and len(node) == 2:
                chain.append(self._phrase(node[0], above))
                node, above = node[1], node[0]
            chains.append(tuple(chain))
            if isinstance(node, str):
                bases.append(((TAG, node, ""), ()))
                continue
            symbol = self._phrase(node[0], above)
            whole = _Rest(symbol, node, 0)
            bases.append((symbol, self._right(whole)))
            waiting.extend(self._below(whole))
        return Derivation(bases, chains)

    def _phrase(self, label: str, parent: str) -> Symbol:
        return (PHRASE, label, parent if self.annotated else "")

    def _child(self, child: Any, parent: str) -> Symbol:
        return (TAG, child, "") if isinstance(child, str) else self._phrase(child[0], parent)

    def _right(self, rest: _Rest) -> tuple[Symbol, ...]:
        """Return the right-hand side of the rule for the children that are left."""
        children = rest.node[1 + rest.taken :]
        if self.horizontal is None or len(children) <= 2:
            return tuple(self._child(child, rest.node[0]) for child in children)
        return self._child(children[0], rest.node[0]), rest.next().symbol(self.horizontal)

    def _below(self, rest: _Rest) -> list[tuple[Any, str]]:
        """Return what is to be derived next, the leftmost last."""
        children = rest.node[1 + rest.taken :]
        if self.horizontal is None or len(children) <= 2:
            return [(child, rest.node[0]) for child in children[::-1]]
        return [(rest.next(), ""), (children[0], rest.node[0])]

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
        self.arrays = self._arrays()
        self.packed = self.arrays.packed()

    def _arrays(self) -> Arrays:
        kids: list[dict[int, int]] = [{}]
        last, parent, node = [-1], [-1], [-1] * len(self.rules)
        for k, (_, right) in enumerate(self.rules):
            at = 0
            for symbol in right if len(right) > 1 else ():
                if symbol not in kids[at]:
                    kids[at][symbol] = len(kids)
                    kids.append({})
                    last.append(symbol)
                    parent.append(at)
                at = kids[at][symbol]
            node[k] = at if len(right) > 1 else -1
        done: list[list[tuple[int, int]]] = [[] for _ in kids]
        for k, (left, _) in enumerate(self.rules):
            if node[k] >= 0:
                done[node[k]].append((left, k))
        up: list[list[tuple[int, int]]] = [[] for _ in self.symbols]
        for c, chain in enumerate(self.chains):
            up[chain[-1]].append((chain[0], c))
        of_label = {label: k for k, label in enumerate(self.labels)}
        label = [of_label.get(name, len(of_label)) if kind == PHRASE else len(of_label)
                 for kind, name, _ in self.symbols]  # fmt: skip
        counted = [[label[s] for s in chain if label[s] < len(of_label)] for chain in self.chains]
        start = np.zeros(len(self.symbols), np.int32)
        start[self.starts] = 1
        tag = [kind == TAG for kind, _, _ in self.symbols]
        phrases = [s for s in range(len(tag)) if not tag[s]]
        row = np.full(len(tag), -1, np.int32)
        row[phrases] = np.arange(len(phrases))
        kid_ptr, kid_pairs = _rows(
            [sorted(some.items(), key=lambda kid: (tag[kid[0]], kid[0])) if q else [] for q, some in enumerate(kids)]
        )
        kid_tags = kid_ptr[1:] - [sum(tag[s] for s in some) if q else 0 for q, some in enumerate(kids)]
        done_ptr, done_pairs = _rows(done)
        up_ptr, up_pairs = _rows(up)
        symbol, child = kid_pairs
        goes_on = np.where(np.diff(kid_ptr)[child] > 0, child, -1)
        step = np.stack([row[symbol], goes_on, done_ptr[child], done_ptr[child + 1]], axis=1).reshape(-1)
        chain_pairs = [[(self.rule_numbers[a, (b,)], a) for a, b in pairwise(chain)] for chain in self.chains]
        chain_ptr, chain_pairs_flat = _rows(chain_pairs)
        return Arrays(
            kid_ptr, *kid_pairs, _whole([kids[0].get(s, -1) for s in range(len(self.symbols))]), _whole(last),
            done_ptr, *done_pairs, up_ptr, *up_pairs, chain_ptr, *chain_pairs_flat,
            _whole([chain[-1] for chain in self.chains]), _whole([len(set(some)) < len(some) for some in counted]),
            _whole(label), start, _whole([left for left, _ in self.rules]),
            _whole([len(right) for _, right in self.rules]), _whole(node), _whole(kid_tags), _whole(parent), row,
            _whole(phrases), _whole(step), row[done_pairs[0]],
        )  # fmt: skip

    # ------------------------------------------------------------------ codes

    def code(self, tree: TreeTuple, length: int, where: Where) -> CodeArray:
        """Return the code of a tree: pairs (base, chain) in pre-order, −1 after the last.

        A base is 1 + the number of a rule, or 0 for a tag; a chain is its number, or −1.
        """
        derivation = self.derivation(tree)
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
        """Label of the root that glues pieces: that of the first training tree."""
        return self.symbols[self.starts[0]][1]

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
        """Return what was learnt as plain values and arrays."""
        rules, chains = [(left, *right) for left, right in self.rules], self.chains
        return {
            "annotated": bool(self.annotated),
            "horizontal": self.horizontal,
            "kinds": _whole([kind for kind, _, _ in self.symbols]),
            "names": [name for _, name, _ in self.symbols],
            "notes": [note for _, _, note in self.symbols],
            "starts": _whole(self.starts),
            "rules": _whole([s for rule in rules for s in rule]),
            "rule_lengths": _whole([len(rule) for rule in rules]),
            "chains": _whole([s for chain in chains for s in chain]),
            "chain_lengths": _whole([len(chain) for chain in chains]),
        }

    def set_state(self, state: Any) -> GrammarRules:
        """Set what `get_state` returned; raise ValueError if it is damaged."""
        self.annotated = bool(state["annotated"])
        self.horizontal = None if state["horizontal"] is None else int(state["horizontal"])
        kinds, names, notes = np.asarray(state["kinds"]).tolist(), list(state["names"]), list(state["notes"])
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
        self._index()
        return self


#: The base of a glued root of k pieces is GLUED + 1 − k.
GLUED = -2


class _Rest(NamedTuple):
    """A node of which some children are taken; a symbol of its own if some are."""

    whole: Symbol
    node: TreeTuple
    taken: int

    def next(self) -> _Rest:
        return self._replace(taken=self.taken + 1)

    def symbol(self, horizontal: int | None) -> Symbol:
        if self.taken == 0:
            return self.whole
        before = self.node[1 : 1 + self.taken]
        before = before[len(before) - min(horizontal or 0, len(before)) :]
        names = ["'" + child if isinstance(child, str) else child[0] for child in before]
        return (INNER, self.whole[1], " ".join([self.whole[2], "…", *names]))


def symbol_name(symbol: Symbol) -> str:
    """Return a symbol as text: ``NP``, ``NP^VP`` under a parent, ``NP[… DT]`` after siblings."""
    kind, label, note = symbol
    if kind == INNER:
        return f"{label}[{note.replace(chr(39), '').strip()}]"
    return f"{label}^{note}" if note else label or "''"


def _whole(values: Sequence[int]) -> CodeArray:
    return np.array(values, np.int32).reshape(-1)


def _rows(pairs: list[list[tuple[int, int]]]) -> tuple[CodeArray, tuple[CodeArray, CodeArray]]:
    """Return rows of pairs as offsets and two columns."""
    flat = [pair for row in pairs for pair in row]
    ends = np.cumsum([0, *map(len, pairs)]).astype(np.int32)
    return ends, (_whole([a for a, _ in flat]), _whole([b for _, b in flat]))


def _split(values: Any, lengths: Any, n: int, shortest: int = 2) -> list[tuple[int, ...]]:
    """Return runs of numbers below n; raise ValueError if there are others."""
    values, lengths = np.asarray(values), np.asarray(lengths)
    if lengths.sum() != len(values) or (lengths < shortest).any() or not ((values >= 0) & (values < n)).all():
        raise ValueError(f"expected rules over symbols 0 to {n - 1}, found others")
    ends = np.cumsum([0, *lengths.tolist()]).tolist()
    flat = values.tolist()
    return [tuple(flat[a:b]) for a, b in pairwise(ends)]
