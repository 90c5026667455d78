"""Secondary structures of RNA (Do et al. 2008, section 5.3).

Ψ(x, y) counts the terms of the loops of y         Δ(y, ŷ) = 1 − recall, or the cost of missed and false pairs
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, finite_number, whole_number
from maxmargin._base.errors import ExampleError, Place, Where, callers_level, error_at, inside
from maxmargin._base.input import position_of
from maxmargin._base.memory import check_memory
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import WeightTable
from maxmargin.features.biology.rna import dot_bracket, encode_bases, partners
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.folding import _counts as counts
from maxmargin.structures.folding._scores import LONGEST_HAIRPIN
from maxmargin.structures.folding.constraints import packed_constraint, split_constraints
from maxmargin.structures.folding.examples import FoldingExamples, best_subset, decoding_bytes
from maxmargin.structures.folding.terms import FoldingTerms

#: Bases from which on the memory of folding one sequence is checked before.
_LONG = 2000
#: Structures with dropped pairs that a warning names.
_NAMED = 5


class Folding(PartStructure):
    """Secondary structure of RNA without pseudoknots: pairs of bases, nested in one another.

    Each x is a sequence, a string of A, C, G and U (or a sequence or record of Biopython). T is read as U and lower
    case as upper case; N and the other letters that stand for several bases are unknown bases: no weight belongs to
    them, and they pair only if ``canonical=False``. To predict, an x may also be a tuple of a sequence and a
    constraint, a string such as ``"(((...)))x|"`` or a dict (`RNAFolder.predict`). Each y is a structure in dot-bracket
    notation, such as ``"((...))."``; brackets are ``()``, ``[]``, ``{}``, ``<>`` and letters ``Aa``, and predictions
    have round brackets.

    The score of a structure is the sum of the weights of its terms, which are those of nearest-neighbour energy models
    (Mathews et al. 1999; Do et al. 2006): base pairs, stacked pairs, pairs that close a loop, lengths of hairpins,
    bulges and interior loops, the asymmetry and the small shapes of interior loops, mismatches in hairpins and interior
    loops, multi-loops, bases beside branches (dangles), unpaired bases. The argmax is exact, in O(n³) steps and
    20 n² bytes for n bases.

    Parameters
    ----------
    cost : "recall" or dict, default="recall"
        The loss: 1 − recall, the fraction of true pairs that are missed (0 for a true structure without pairs), or
        costs of each missed pair and of each false pair, ``{"missed": a, "false": b}``.
    canonical : bool, default=True
        Whether only A–U, C–G and G–U pair; otherwise all bases do.
    min_hairpin : int, default=3
        Least number of bases in a hairpin, 0 to 30.
    max_loop : int, default=30
        Maximum number of unpaired bases in a bulge or an interior loop, at least 2. Hairpins and multi-loops have
        any length.
    impossible : {"error", "drop"}, default="error"
        What to do with true structures that no prediction can have: with crossing pairs (pseudoknots), with pairs or
        loops that the other parameters exclude. ``"drop"`` keeps the largest number of pairs that are possible
        together, and warns; dropped pairs are neither missed nor false.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = ["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."]
    >>> model = mm.StructuralSVM(mm.Folding(), C=10.0).fit(X, Y)
    >>> model.predict(["GGCAAAAGCC"])
    ['(((....)))']
    """

    output_name: ClassVar[str] = "structure"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "sums"})
    learns: ClassVar[dict[str, type]] = {}

    def __init__(
        self,
        *,
        cost: Any = "recall",
        canonical: bool = True,
        min_hairpin: int = 3,
        max_loop: int = 30,
        impossible: str = "error",
    ) -> None:
        self.cost, self.canonical, self.min_hairpin = cost, canonical, min_hairpin
        self.max_loop, self.impossible = max_loop, impossible

    def check_parameters(self) -> None:
        check_cost(self.cost, "cost")
        check_flag(self.canonical, "canonical")
        if whole_number(self.min_hairpin, "min_hairpin", 0) > LONGEST_HAIRPIN:
            raise ValueError(f"min_hairpin must be at most {LONGEST_HAIRPIN}, found {self.min_hairpin!r}")
        whole_number(self.max_loop, "max_loop", 2)
        if self.impossible not in ("error", "drop"):
            raise ValueError(f"impossible must be 'error' or 'drop', found {self.impossible!r:.60}")

    @property
    def terms(self) -> FoldingTerms:
        """The weights of the model, which the parameters determine."""
        key = bool(self.canonical), int(self.min_hairpin), int(self.max_loop)
        if vars(self).get("_terms_of") != key:
            self._terms_of, self._terms = key, FoldingTerms(*key)
        return self._terms

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in ("_terms_of", "_terms")}

    def tables(self) -> dict[str, WeightTable]:
        return self.terms.tables

    def feature_names(self) -> AnyArray:
        return np.array([f"{kind}, {name}" for kind, table in self.tables().items() for name in table.names()], object)

    def settings(self) -> tuple[float, ...]:
        """Return the parameters that change the argmax."""
        return bool(self.canonical), self.min_hairpin, self.max_loop

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> FoldingExamples:
        X, constraints = split_constraints(X)
        symbols, offsets = encode_bases(X)
        lengths = np.diff(offsets)
        longest = int(lengths.max(initial=0))
        if longest > _LONG:
            what = f"folding X[{position_of(int(lengths.argmax()))}] with {longest} bases"
            check_memory(decoding_bytes(longest, self.terms.max_loop), what, "use shorter sequences")
        truths: list[CodeArray] | None = None
        if Y is not None:
            truths, dropped = [], list[tuple[int, int]]()
            for i, y in enumerate(Y):
                code = self._truth(y, symbols[offsets[i] : offsets[i + 1]], Place("Y", i))
                truths.append(code)
                if self.impossible == "drop":
                    lost = int((partners(y, Place("Y", i)) >= 0).sum() - (code >= 0).sum()) // 2
                    dropped += [(i, lost)] if lost else []
            if learn and dropped:
                _warn_of_dropped(dropped)
        return FoldingExamples(
            self, symbols, offsets, truths, self._added(symbols, offsets, constraints, Y is not None)
        )

    def _added(self, symbols: AnyArray, offsets: IntArray, constraints: list[Any], known: bool) -> FloatArray | None:
        """Return the summands of all pairs by constraints; None if there are none."""
        given = next((i for i, constraint in enumerate(constraints) if constraint is not None), None)
        if given is None:
            return None
        if known:
            raise ExampleError.at(Place("X", given), "constraints are for predictions: pass the sequence alone")
        added = list[FloatArray]()
        for i, constraint in enumerate(constraints):
            x = symbols[offsets[i] : offsets[i + 1]]
            free = np.zeros(len(x) * (len(x) + 1) // 2)
            place = Place("X", i, ", constraint")
            added.append(free if constraint is None else packed_constraint(constraint, x, self.terms, place))
        return np.concatenate(added)

    def _truth(self, y: Any, x: AnyArray, where: Where) -> CodeArray:
        """Return the code of a true structure; raise an error if it is not one of x, or drop pairs."""
        code = partners(y, where)
        if len(code) != len(x):
            raise error_at(where, f"{len(code)} positions, expected {len(x)} as its sequence has {len(x)} bases")
        terms = self.terms
        at, fault = counts.first_fault(x, code, terms.allowed, terms.min_hairpin, terms.max_loop)
        if fault == counts.FINE:
            return code
        if self.impossible == "drop":
            return best_subset(x, code, terms)
        raise error_at(inside(where, f"position {at}"), f"{self._fault(x, code, at, fault)}; or impossible='drop'")

    def _fault(self, x: AnyArray, code: CodeArray, i: int, fault: int) -> str:
        """Return the fault of the pair of base i, and a remedy."""
        j = int(code[i])
        if fault == counts.CROSSING:
            return _crossing(i, j)
        if fault == counts.NOT_A_PAIR:
            bases = "ACGUN"[x[i]], "ACGUN"[x[j]]
            return (
                f"the bases {bases[0]} and {bases[1]} ({i} and {j}) do not pair if canonical=True; use canonical=False"
            )
        _, unpaired, _ = counts.loop_inside(code, i)
        if fault == counts.SHORT_HAIRPIN:
            return (
                f"the pair {i}, {j} closes a hairpin of {unpaired} bases, less than min_hairpin={self.min_hairpin}; "
                f"use a smaller min_hairpin"
            )
        return (
            f"the pair {i}, {j} closes a bulge or an interior loop of {unpaired} bases, more than "
            f"max_loop={self.max_loop}; use a greater max_loop"
        )

    def pair_costs(self, truths: list[CodeArray] | None, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the cost of a missed and of a false pair, for each of n examples."""
        if truths is None:
            return np.zeros(n), np.zeros(n)
        if isinstance(self.cost, str):
            pairs = np.array([int((code >= 0).sum()) // 2 for code in truths], float)
            return 1.0 / np.maximum(pairs, 1.0), np.zeros(n)
        return np.full(n, float(self.cost["missed"])), np.full(n, float(self.cost["false"]))

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        code = partners(y, where)
        at = counts.first_crossing(code) if self.impossible == "error" else -1
        if at >= 0:
            raise error_at(inside(where, f"position {at}"), f"{_crossing(at, int(code[at]))}; or impossible='drop'")
        return code

    def output_of(self, code: CodeArray) -> str:
        return dot_bracket(code)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return 1 − recall, or the costs of missed and false pairs; pairs of y that a fit would drop count too."""
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} positions but y_hat has {len(predicted)}")
        (missed,), (false,) = self.pair_costs([true], 1)
        opening = np.arange(len(true))
        differ = true != predicted
        return float(missed * (differ & (true > opening)).sum() + false * (differ & (predicted > opening)).sum())

    def enumerate(self, x: Any) -> Iterator[str]:
        """Yield all structures of a short sequence, for tests."""
        symbols, _ = encode_bases([x])
        terms = self.terms
        for code in _nested(symbols, 0, len(symbols), terms):
            whole = np.array(code, np.int32)
            if counts.first_fault(symbols, whole, terms.allowed, terms.min_hairpin, terms.max_loop)[0] < 0:
                yield dot_bracket(whole)


def check_cost(cost: Any, name: str) -> None:
    """Raise ValueError unless the loss is 1 − recall or has costs of missed and false pairs."""
    if isinstance(cost, str) and cost == "recall":
        return
    if not isinstance(cost, dict) or set(cost) != {"missed", "false"}:
        raise ValueError(f"{name} must be 'recall' or {{'missed': a, 'false': b}}, found {cost!r:.60}")
    for kind in ("missed", "false"):
        finite_number(cost[kind], f"{name}[{kind!r}]")


def _crossing(i: int, j: int) -> str:
    return f"crossing brackets: the pair {i}, {j} crosses another one, and structures have no pseudoknots; remove it"


def _warn_of_dropped(dropped: list[tuple[int, int]]) -> None:
    """Warn that true structures were changed; say which, and how many pairs each lost."""
    named = ", ".join(f"Y[{position_of(i)}] ({lost})" for i, lost in dropped[:_NAMED])
    others = f" and {len(dropped) - _NAMED} more structures" if len(dropped) > _NAMED else ""
    warnings.warn(
        f"dropped pairs that cannot be predicted (crossing, not canonical, in short hairpins or long loops), "
        f"{sum(lost for _, lost in dropped)} in all: {named}{others}",
        UserWarning,
        stacklevel=callers_level(),
    )


def _nested(x: AnyArray, i: int, stop: int, terms: FoldingTerms) -> Iterator[list[int]]:
    """Yield the partners of bases i … stop − 1 in all nested structures."""
    if i == stop:
        yield []
        return
    for rest in _nested(x, i + 1, stop, terms):
        yield [-1, *rest]
    for j in range(i + terms.min_hairpin + 1, stop):
        if terms.allowed[x[i], x[j]]:
            for within in _nested(x, i + 1, j, terms):
                for rest in _nested(x, j + 1, stop, terms):
                    yield [j, *within, i, *rest]
