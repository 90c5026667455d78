"""Constraints on transitions: forbidden ones score minus infinity, in training and in prediction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.encoding.labels import Labels

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Constraints:
    """Forbidden transitions, first labels and last labels; everything else is allowed.

    Attributes
    ----------
    transitions : sequence of pairs, default=()
        Forbidden pairs (label, next label).
    start, end : sequence of labels, default=()
        Labels that no sequence may begin or end with.
    """

    transitions: tuple[tuple[Any, Any], ...] = ()
    start: tuple[Any, ...] = ()
    end: tuple[Any, ...] = ()

    def tables(self, labels: Labels) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Return (K, K), (K,) and (K,) arrays of bool: what is allowed."""
        size, codes = len(labels), labels.codes
        allowed, start, end = np.ones((size, size), bool), np.ones(size, bool), np.ones(size, bool)
        known = set(codes)
        named = {label for pair in self.transitions for label in pair} | set(self.start) | set(self.end)
        if named - known:
            raise ValueError(f"constraints refer to labels that are not classes: {sorted(map(str, named - known))}")
        for a, b in self.transitions:
            allowed[codes[a], codes[b]] = False
        start[[codes[a] for a in self.start]] = False
        end[[codes[a] for a in self.end]] = False
        return allowed, start, end


def _split(label: str) -> tuple[str, str]:
    """Return ('B', 'PER') for 'B-PER' and ('O', '') for 'O'."""
    prefix, _, kind = str(label).partition("-")
    return prefix, kind


def bio_constraints(labels: Iterable[str]) -> Constraints:
    """Return the constraints of BIO (IOB2): I-X only after B-X or I-X.

    >>> bio_constraints(["O", "B-PER", "I-PER"])
    Constraints(transitions=(('O', 'I-PER'),), start=('I-PER',), end=())
    """
    labels = list(labels)
    inside = [label for label in labels if _split(label)[0] == "I"]
    pairs = tuple(
        (before, label)
        for before in labels
        for label in inside
        if not (_split(before)[0] in ("B", "I") and _split(before)[1] == _split(label)[1])
    )
    return Constraints(pairs, tuple(inside), ())


def bioes_constraints(labels: Iterable[str]) -> Constraints:
    """Return the constraints of BIOES.

    B-X and I-X are followed by I-X or E-X; O, E and S by O, B or S; a sequence ends with O, E or S.

    >>> bioes_constraints(["O", "S-X"]).transitions
    ()
    """
    labels = list(labels)

    def open_kind(label: str) -> str | None:
        prefix, kind = _split(label)
        return kind if prefix in ("B", "I") else None

    def continues(label: str) -> str | None:
        prefix, kind = _split(label)
        return kind if prefix in ("I", "E") else None

    pairs = tuple((a, b) for a in labels for b in labels if open_kind(a) != continues(b))
    start = tuple(label for label in labels if continues(label) is not None)
    end = tuple(label for label in labels if open_kind(label) is not None)
    return Constraints(pairs, start, end)


def repair_bio(labels: Sequence[str]) -> list[str]:
    """Return the sequence with every I-X that continues no entity replaced by B-X, and every such I by B.

    >>> repair_bio(["O", "I-PER", "I-PER", "I-LOC"])
    ['O', 'B-PER', 'I-PER', 'B-LOC']
    """
    repaired: list[str] = []
    before = ("O", "")
    for label in labels:
        prefix, kind = _split(label)
        if prefix == "I" and not (before[0] in ("B", "I") and before[1] == kind):
            prefix = "B"
            label = "B" + str(label)[1:]
        repaired.append(label)
        before = (prefix, kind)
    return repaired


def resolve_constraints(constraints: Any, labels: Labels) -> Constraints:
    """Return `Constraints` given None, "bio", "bioes", `Constraints`, or a list of forbidden pairs."""
    if constraints is None:
        return Constraints()
    if isinstance(constraints, Constraints):
        return constraints
    if isinstance(constraints, str):
        builders = {"bio": bio_constraints, "bioes": bioes_constraints}
        if constraints not in builders:
            raise ValueError(f"constraints must be 'bio', 'bioes', Constraints or pairs, found {constraints!r}")
        return builders[constraints](labels.values)
    return Constraints(tuple(_pairs(constraints)))


def _pairs(constraints: Any) -> Iterator[tuple[Any, Any]]:
    """Return the forbidden pairs; raise ValueError if one is not a pair."""
    if not isinstance(constraints, Iterable):
        raise ValueError(f"constraints must be 'bio', 'bioes', Constraints or pairs, found {constraints!r}")
    for i, pair in enumerate(constraints):
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ValueError(f"constraints[{i}]: expected a pair (label, next label), found {pair!r}")
        before, after = pair
        yield before, after


def feasible_lengths(allowed: BoolArray, start: BoolArray, end: BoolArray, longest: int) -> BoolArray:
    """Return, for each length 0 … longest, whether an allowed sequence of this length exists."""
    out = np.ones(longest + 1, bool)
    reach = start.copy()
    for length in range(1, longest + 1):
        out[length] = bool((reach & end).any())
        reach = np.asarray(allowed[reach].any(axis=0))
    return out
