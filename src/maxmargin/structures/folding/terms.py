"""Terms of a folding model: which weights the loops of a structure have, and their names.

The terms are those of the nearest-neighbour models of folding energies (Mathews et al. 1999), as in Do et al. (2006).
Terms of equal meaning share a weight: a stack of two pairs read from either strand, an interior loop read from either
side. Weights of lengths are cumulative, "at least 5 bases", so lengths that are rare in the data are scored as
shorter ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.structure import WeightTable
from maxmargin.structures.folding import _scores as tables
from maxmargin.structures.folding._scores import LONGEST_HAIRPIN, SMALL, SYMBOLS

BASES = "ACGU"
#: Pairs of Watson and Crick, and the wobble pair.
CANONICAL = ("AU", "CG", "GC", "GU", "UA", "UG")


class FoldingScores(NamedTuple):
    """The scores of all terms in the form that compiled functions read."""

    letters: FloatArray
    hairpin: FloatArray
    bulge: FloatArray
    size: FloatArray
    skew: FloatArray
    small: FloatArray
    loops: FloatArray


class FoldingTerms:
    """The weights of a folding model.

    Parameters
    ----------
    canonical : bool
        Whether only A–U, C–G and G–U pair.
    min_hairpin : int
        Least number of bases in a hairpin.
    max_loop : int
        Maximum number of unpaired bases in a bulge or an interior loop.

    Attributes
    ----------
    tables : dict of str to WeightTable
        Names of the weights, by kind of term.
    firsts : dict of str to int
        Number of the first weight of each kind.
    letter_weights : ndarray of int64 of shape (N_LETTERS,)
        The weight of each entry of `FoldingScores.letters`; −1 for none: an unknown base is in it.
    shape_weights : ndarray of int64 of shape (SMALL + 1, SMALL + 1)
        The weight of interior loops by the lengths of their sides; −1 for none.
    size : int
        Number of weights.
    """

    def __init__(self, canonical: bool, min_hairpin: int, max_loop: int) -> None:
        self.min_hairpin, self.max_loop = min_hairpin, max_loop
        self.pairs = CANONICAL if canonical else tuple(a + b for a, b in product(BASES, repeat=2))
        self.allowed = np.full((SYMBOLS, SYMBOLS), not canonical)
        for pair in self.pairs:
            self.allowed[BASES.index(pair[0]), BASES.index(pair[1])] = True
        self.tables: dict[str, WeightTable] = {}
        self.firsts: dict[str, int] = {}
        self.size = 0
        self.letter_weights = np.full(tables.N_LETTERS, -1, np.int64)
        self._add_weights()
        self.shape_weights = np.full((SMALL + 1, SMALL + 1), -1, np.int64)
        for number, (left, right) in enumerate(self._shapes(), self.firsts["interior shape"]):
            self.shape_weights[left, right] = self.shape_weights[right, left] = number

    def _add_weights(self) -> None:
        most, pairs, both = self.max_loop, self.pairs, tuple(a + b for a, b in product(BASES, repeat=2))
        self._add_letters("base pair", tables.BP, pairs, _either_way)
        self._add_letters("stacking", tables.ST, product(pairs, pairs), _either_way)
        self._add_letters("closing pair", tables.CL, pairs)
        self._add("hairpin length", [f"≥ {length}" for length in range(self.min_hairpin, LONGEST_HAIRPIN + 1)])
        self._add_letters("hairpin mismatch", tables.HM, product(pairs, both))
        self._add("bulge length", [f"≥ {length}" for length in range(1, most + 1)])
        self._add_letters("bulged base", tables.B1, BASES)
        self._add("interior length", [f"≥ {length}" for length in range(2, most + 1)])
        self._add("interior asymmetry", [f"≥ {length}" for length in range(1, most - 1)])
        self._add("interior shape", [f"{a} × {b}" for a, b in self._shapes()])
        self._add_letters("interior mismatch", tables.IM, product(pairs, both))
        self._add_letters("1 × 1 interior loop", tables.I11, both, _either_way)
        self._add("multi-loop", ["loop", "unpaired base", "branch"])
        self._add_letters("3' dangle", tables.D3, product(pairs, BASES))
        self._add_letters("5' dangle", tables.D5, product(pairs, BASES))
        self._add("exterior", ["unpaired base", "branch"])

    def _shapes(self) -> list[tuple[int, int]]:
        """Return the sides of interior loops that have a weight of their own, the shorter side first."""
        return [(a, b) for a in range(1, SMALL + 1) for b in range(a, SMALL + 1) if a + b <= self.max_loop]

    def _add(self, kind: str, names: list[str]) -> None:
        self.tables[kind], self.firsts[kind] = WeightTable(names), self.size
        self.size += len(names)

    def _add_letters(
        self, kind: str, table: int, entries: Iterable[Any], same: Callable[[str], str] = lambda letters: letters
    ) -> None:
        """Add a weight for each class of entries that are the same, and where `letters` has it."""
        numbers: dict[str, int] = {}
        for entry in entries:
            letters = "".join(entry)
            at = 0
            for base in letters:
                at = at * SYMBOLS + BASES.index(base)
            number = numbers.setdefault(same(letters), len(numbers))
            self.letter_weights[table + at] = self.size + number
        self._add(kind, [" ".join(filter(None, (name[:2], name[2:]))) for name in numbers])

    # ------------------------------------------------------------------ scores

    def scores(self, w: FloatArray) -> FoldingScores:
        """Return the scores of all terms at these weights; pairs that are not allowed have −∞."""
        letters = np.append(w, 0.0)[self.letter_weights]
        letters[: SYMBOLS**2][~self.allowed.ravel()] = -np.inf
        hairpin = np.concatenate([np.full(self.min_hairpin, -np.inf), np.cumsum(self._of("hairpin length", w))])
        bulge = np.concatenate([[-np.inf], np.cumsum(self._of("bulge length", w))])
        size = np.concatenate([np.full(2, -np.inf), np.cumsum(self._of("interior length", w))])
        skew = np.concatenate([[0.0], np.cumsum(self._of("interior asymmetry", w))])
        small = np.full((SMALL + 1, SMALL + 1), -np.inf)
        for (a, b), score in zip(self._shapes(), self._of("interior shape", w), strict=True):
            small[a, b] = small[b, a] = size[a + b] + skew[b - a] + score
        loops = np.concatenate([self._of("multi-loop", w), self._of("exterior", w)])
        return FoldingScores(letters, hairpin, bulge, size, skew, small, loops)

    def flat_scores(self, w: FloatArray) -> FloatArray:
        """Return the tables of `scores` concatenated, for sums over structures."""
        return np.concatenate([table.ravel() for table in self.scores(w)])

    def weight_counts(self, flat: FloatArray) -> FloatArray:
        """Return how often each weight occurs, given how often each entry of `flat_scores` does: its transpose."""
        ends = np.cumsum([table.size for table in self.scores(np.zeros(self.size))])
        letters, hairpin, bulge, size, skew, small, loops = np.split(flat, ends[:-1])
        out = np.zeros(self.size + 1)
        np.add.at(out, self.letter_weights, letters)
        size, skew = size.copy(), skew.copy()
        for number, (a, b) in enumerate(self._shapes(), self.firsts["interior shape"]):
            out[number] = small[a * (SMALL + 1) + b] + (small[b * (SMALL + 1) + a] if a < b else 0.0)
            size[a + b] += out[number]
            skew[b - a] += out[number]
        lengths = {
            "hairpin length": hairpin[self.min_hairpin :],
            "bulge length": bulge[1:],
            "interior length": size[2:],
            "interior asymmetry": skew[1:],
        }
        for kind, values in lengths.items():
            self._of(kind, out)[:] = np.cumsum(values[::-1])[::-1]
        self._of("multi-loop", out)[:], self._of("exterior", out)[:] = loops[:3], loops[3:]
        return out[:-1]

    def _of(self, kind: str, w: FloatArray) -> FloatArray:
        first = self.firsts[kind]
        return w[first : first + len(self.tables[kind].columns)]

    @cached_property
    def loop_weights(self) -> IntArray:
        """The first weights of the kinds without letters, in the order in which compiled functions read them."""
        kinds = "hairpin length", "bulge length", "interior length", "interior asymmetry", "multi-loop", "exterior"
        return np.array([self.firsts[kind] for kind in kinds], np.int64)


def _either_way(letters: str) -> str:
    """Return one name for a pair, two stacked pairs or two bases, from whichever strand they are read."""
    return min(letters, letters[::-1])
