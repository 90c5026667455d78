"""How a grammar derives a tree: symbols, right-hand sides of rules, and unary chains."""

from __future__ import annotations

from typing import Any, NamedTuple

from maxmargin.features.text.brackets import TreeTuple

TAG, PHRASE, INNER = range(3)
#: A symbol: its kind, its label, and what annotates it (the parent's label; the siblings before an inner symbol).
Symbol = tuple[int, str, str]


class Derivation(NamedTuple):
    """A derivation: bases in pre-order, each with the symbols of its chain, topmost first.

    A base is the left-hand side and the right-hand side of a rule with several symbols, or a tag and ().
    """

    bases: list[tuple[Symbol, tuple[Symbol, ...]]]
    chains: list[tuple[Symbol, ...]]


class Form(NamedTuple):
    """How rules are read off trees.

    Attributes
    ----------
    annotated : bool
        Whether symbols of phrases carry the label of their parent.
    horizontal : int or None
        Number of siblings that an inner symbol remembers; None for whole right-hand sides.
    """

    annotated: bool = False
    horizontal: int | None = None

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
        """Return the symbols to derive next, the leftmost last."""
        children = rest.node[1 + rest.taken :]
        if self.horizontal is None or len(children) <= 2:
            return [(child, rest.node[0]) for child in children[::-1]]
        return [(rest.next(), ""), (children[0], rest.node[0])]


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


def under(symbol: Symbol, parent: str) -> Symbol:
    """Return a symbol with another label of its parent; tags have none."""
    kind, label, note = symbol
    if kind == TAG:
        return symbol
    return (kind, label, parent if kind == PHRASE else f"{parent} …{note.partition('…')[2]}")


def symbol_name(symbol: Symbol) -> str:
    """Return a symbol as text: ``NP``, ``NP^VP`` under a parent, ``NP[… DT]`` after siblings."""
    kind, label, note = symbol
    if kind == INNER:
        return f"{label}[{note.replace(chr(39), '').strip()}]"
    return f"{label}^{note}" if note else label or "''"
