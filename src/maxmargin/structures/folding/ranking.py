"""All structures of a sequence in descending order of their scores."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray, CodeArray, FloatArray
from maxmargin.structures.folding import _jit
from maxmargin.structures.folding.terms import FoldingTerms

#: A node of a derivation (kind, i, j), and nodes that are yet to be derived, as a linked list.
Node = tuple[int, int, int]
Rest = tuple[Node, "Rest"] | None
#: Pairs that a derivation has, as a linked list.
Pairs = tuple[int, int, "Pairs"] | None


class Derivations:
    """The derivations of single nodes, best first, from tables that are filled once.

    Parameters
    ----------
    symbols, pairs : ndarray
        Bases, and what each pair adds to the score, packed.
    terms : FoldingTerms
        The weights.
    w : ndarray
        Their values.
    """

    def __init__(self, symbols: AnyArray, pairs: FloatArray, terms: FoldingTerms, w: FloatArray) -> None:
        n = len(symbols)
        packed = (np.empty(n * (n + 1) // 2) for _ in range(3))
        self.given: tuple[Any, ...] = (
            symbols,
            pairs,
            terms.min_hairpin,
            *terms.scores(w),
            *packed,
            np.empty(n + 1),
        )
        _jit.fill(*self.given)
        room = int(_jit.most_options(n, terms.max_loop))
        self._values, self._heads, self._nodes = np.empty(room), np.empty((room, 2), np.int64), np.empty((2, 3), int)
        self._known: dict[Node, tuple[list[float], list[list[int]]]] = {}
        self.best = float(self.given[-1][0])

    def of(self, node: Node) -> tuple[list[float], list[list[int]]]:
        """Return the scores of the derivations of a node, and what each leads to."""
        if node not in self._known:
            n_options = _jit.options(*node, *self.given, self._values, self._heads)
            order = np.argsort(-self._values[:n_options], kind="stable")
            self._known[node] = self._values[order].tolist(), self._heads[order].tolist()
        return self._known[node]

    def after(self, node: Node, head: list[int], rest: Rest) -> Rest:
        """Return the nodes that are yet to be derived after a derivation of a node."""
        for k in range(_jit.next_nodes(*node, *head, self._nodes)):
            rest = tuple(self._nodes[k].tolist()), rest
        return rest


def ranked_structures(
    symbols: AnyArray, pair_scores: FloatArray, terms: FoldingTerms, w: FloatArray
) -> Iterator[tuple[CodeArray, float]]:
    """Yield the codes of all structures with their scores, best first.

    A search over partial derivations whose priority is the score of their best completion, which the tables of the
    recursion have. When the first node that is yet to be derived takes its t-th best derivation, only the next one is
    added to those that wait, so a structure takes about as many steps as it has nodes.
    """
    n, derivations = len(symbols), Derivations(symbols, pair_scores, terms, w)
    start: tuple[Any, ...] = (-derivations.best, 0, ((_jit.AFTER, 0, 0), None), 0, None)
    waiting, number = [start], 0
    while waiting:
        worth, _, rest, t, pairs = heapq.heappop(waiting)
        node, others = rest
        if node[0] == _jit.AFTER and node[1] == n:
            yield _code(pairs, n), 0.0 - worth
            continue
        values, heads = derivations.of(node)
        number -= 1  # among equal ones, the last one added comes first: the search goes on where it is
        if t + 1 < len(values):
            later = (worth + values[t] - values[t + 1], number, rest, t + 1, pairs)
            heapq.heappush(waiting, later)
        if node[0] == _jit.CLOSED:
            pairs = (node[1], node[2], pairs)
        number -= 1
        heapq.heappush(waiting, (worth, number, derivations.after(node, heads[t], others), 0, pairs))


def _code(pairs: Pairs, n: int) -> CodeArray:
    code = np.full(n, -1, np.int32)
    while pairs is not None:
        i, j, pairs = pairs
        code[i], code[j] = j, i
    return code
