"""Constraints of single sequences: bases that must be paired or unpaired, pairs that are forced or forbidden.

A constraint is a string of the length of the sequence in the notation of ViennaRNA,

    .  no constraint        x  unpaired        |  paired
    <  paired with a later base        >  with an earlier one        ( )  this pair

or a dict with lists: "forced" and "forbidden" pairs (i, j), "paired" and "unpaired" positions, from 0. As scores of
pairs, forbidden ones are −∞. What is forced becomes a number for each pair: how many of its bases must be paired.
Multiplied by more than all other scores can add up to, it is met by every structure that counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Where, error_at, inside
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.features.biology.rna import partners
from maxmargin.structures.folding import _jit
from maxmargin.structures.folding.terms import FoldingTerms

_SYMBOLS = frozenset(".x|<>()")
_ENTRIES = ("forced", "forbidden", "paired", "unpaired")
_ONLY = np.zeros(1, np.int64)


def split_constraints(X: Any) -> tuple[Any, list[Any]]:
    """Return sequences, and the constraint of each or None: inputs are sequences or pairs (sequence, constraint)."""
    if not any(_is_constrained(x) for x in X):
        return X, []
    pairs = [x if _is_constrained(x) else (x, None) for x in X]
    return [x for x, _ in pairs], [constraint for _, constraint in pairs]


def _is_constrained(x: Any) -> bool:
    return type(x) is tuple and len(x) == 2


def packed_constraint(constraint: Any, x: AnyArray, terms: FoldingTerms, where: Where) -> FloatArray:
    """Return the summand of each pair i ≤ j by a constraint: −∞, or the number of its bases that must be paired.

    Raise an error if the constraint is not valid, or if no structure meets it.
    """
    n = len(x)
    later, earlier, forced = np.ones(n, bool), np.ones(n, bool), np.zeros(n)
    allowed = np.ones((n, n), bool)
    for kind, at in _read(constraint, n, where):
        if kind == "forbidden":
            allowed[at] = False
        elif kind == "forced":
            i, j = at
            allowed[[i, j]] = allowed[:, [i, j]] = False
            forced[[i, j]], allowed[i, j] = 1.0, True
        else:
            later[at] &= kind in ("paired", "<")
            earlier[at] &= kind in ("paired", ">")
            forced[at] = float(kind != "unpaired")
    allowed &= later[:, None] & earlier[None, :]
    packed = np.where(allowed, forced[:, None] + forced[None, :], -np.inf)[np.triu_indices(n)]
    code = np.empty(n, np.int32)
    _jit.best_structures(
        _ONLY, x, np.array([0, n]), packed, np.array([0, len(packed)]), terms.min_hairpin,
        *terms.scores(np.zeros(terms.size)), code,
    )  # fmt: skip
    unmet = np.flatnonzero((forced > 0.0) & (code < 0))
    if len(unmet):
        raise error_at(
            inside(where, f"position {unmet[0]}"),
            "no structure meets the constraint: this base cannot be paired as it must be, together with the others; "
            "pairs are limited by canonical, min_hairpin and max_loop",
        )
    return packed


def _read(constraint: Any, n: int, where: Where) -> list[tuple[str, Any]]:
    """Return the entries of a constraint: their kind and a position, or a pair i < j."""
    if isinstance(constraint, str):
        if len(constraint) != n:
            raise error_at(where, f"a constraint of {len(constraint)} positions for {n} bases")
        wrong = next((k for k, symbol in enumerate(constraint) if symbol not in _SYMBOLS), None)
        if wrong is not None:
            raise error_at(
                inside(where, f"position {wrong}"), f"expected one of . x | < > ( ), found {constraint[wrong]!r}"
            )
        code = partners("".join(symbol if symbol in "()" else "." for symbol in constraint), where)
        kinds = {"x": "unpaired", "|": "paired", "<": "<", ">": ">"}
        single = [(kinds[symbol], i) for i, symbol in enumerate(constraint) if symbol in kinds]
        return [("forced", (i, int(j))) for i, j in enumerate(code) if j > i] + single
    if not isinstance(constraint, Mapping) or not set(constraint) <= set(_ENTRIES):
        raise error_at(
            where, f"expected a constraint, a string or a dict of {', '.join(_ENTRIES)}, found {constraint!r:.60}"
        )
    entries = list[tuple[str, Any]]()
    for kind in _ENTRIES:
        for entry in constraint.get(kind, ()):
            pair = kind in ("forced", "forbidden")
            positions = list(entry) if pair and is_list(entry) else [entry]
            whole = all(isinstance(p, int | np.integer) and 0 <= p < n for p in positions)
            if not whole or len(set(positions)) != (2 if pair else 1):
                expected = "a pair of positions" if pair else "a position"
                raise error_at(where, f"{kind}: expected {expected} from 0 to {n - 1}, found {entry!r:.60}")
            entries.append((kind, (int(min(positions)), int(max(positions))) if pair else int(positions[0])))
    return entries
