"""Sequences of RNA as arrays of bases, and secondary structures in dot-bracket notation as partners of bases."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.errors import ExampleError, Place, Where, error_at, inside
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.features.biology.alphabet import check_strings, plain_texts

#: Symbol of a base that is not known.
UNKNOWN_BASE = 4
#: Letters of nucleic acids that stand for several bases.
_AMBIGUOUS = "NRYSWKMBDHVX"
_SYMBOL_OF = dict(zip("ACGUT", (0, 1, 2, 3, 3), strict=True)) | dict.fromkeys(_AMBIGUOUS, UNKNOWN_BASE)
_NO_BASE = 255
_SYMBOLS = np.full(128, _NO_BASE, np.uint8)
for _letter, _symbol in _SYMBOL_OF.items():
    _SYMBOLS[[ord(_letter), ord(_letter.lower())]] = _symbol

#: Brackets by their opening and by their closing character; letters are those of pseudoknots, "A" closed by "a".
_OPENING = "([{<" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_CLOSING = dict(zip(")]}>" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ".lower(), _OPENING, strict=True))
_CLOSED_BY = {opening: closing for closing, opening in _CLOSING.items()}
#: Unpaired bases: the dot, and the characters of WUSS notation, which names the loop that a base is in.
_UNPAIRED = frozenset(".,:_-~")


def encode_bases(X: Any) -> tuple[AnyArray, IntArray]:
    """Return the concatenated bases of all sequences, A C G U as 0 … 3 and unknown ones as 4, and their offsets.

    T is read as U, lower case as upper case, and the letters that stand for several bases (N, R, Y, …) as unknown.
    Sequences are strings, or sequences and records of Biopython.
    """
    X = plain_texts(X)
    check_strings(X)
    for i, x in enumerate(X):
        if len(x) < 2:
            raise ExampleError.at(Place("X", i), f"expected at least 2 bases, found {len(x)}; leave such sequences out")
    points = np.frombuffer("".join(X).encode("utf-32-le", "surrogatepass"), np.uint32)
    symbols = _SYMBOLS[np.minimum(points, len(_SYMBOLS) - 1)]
    offsets = offsets_of([len(x) for x in X])
    if (symbols == _NO_BASE).any():
        at = int(np.flatnonzero(symbols == _NO_BASE)[0])
        i = int(np.searchsorted(offsets, at, "right")) - 1
        hint = "remove gaps and spaces" if chr(points[at]) in "-.~ \t\n" else "use N for an unknown base"
        raise ExampleError.at(
            Place("X", i, f", position {at - offsets[i]}"),
            f"{chr(points[at])!r} is not a base, expected A, C, G, U (or T), or {_AMBIGUOUS} for unknown bases; {hint}",
        )
    return symbols, offsets


def partners(structure: Any, where: Where) -> CodeArray:
    """Return the position of the partner of each base, −1 for none; pairs may cross.

    Brackets are ``()``, ``[]``, ``{}``, ``<>`` and letters ``Aa`` … ``Zz``; each kind is matched on its own.
    """
    if not isinstance(structure, str):
        raise error_at(
            where, f"expected a structure in dot-bracket notation, found {type(structure).__name__} {structure!r:.60}"
        )
    partner = np.full(len(structure), -1, np.int32)
    waiting: dict[str, list[int]] = {opening: [] for opening in _OPENING}
    for j, symbol in enumerate(structure):
        if symbol in _UNPAIRED:
            continue
        if symbol in waiting:
            waiting[symbol].append(j)
        elif symbol not in _CLOSING:
            raise error_at(inside(where, f"position {j}"), f"expected '.' or a bracket, found {symbol!r}")
        elif not waiting[_CLOSING[symbol]]:
            raise error_at(
                inside(where, f"position {j}"), f"unbalanced brackets: {symbol!r} without {_CLOSING[symbol]!r} before"
            )
        else:
            i = waiting[_CLOSING[symbol]].pop()
            partner[i], partner[j] = j, i
    left = [(positions[0], opening) for opening, positions in waiting.items() if positions]
    if left:
        i, opening = min(left)
        raise error_at(inside(where, f"position {i}"), f"unbalanced brackets: {opening!r} is never closed")
    return partner


def dot_bracket(code: CodeArray) -> str:
    """Return partners in dot-bracket notation; pairs that cross others have brackets of another kind.

    Each pair, from the left, has the first of ``()``, ``[]``, ``{}``, ``<>``, ``Aa``, … in which it crosses none.
    """
    symbols = ["."] * len(code)
    kinds: list[list[int]] = []
    for i, j in enumerate(code.tolist()):
        if j < i:
            continue
        for kind in kinds:
            while kind and kind[-1] < i:
                kind.pop()
            if not kind or j < kind[-1]:
                break
        else:
            kind = []
            kinds.append(kind)
        kind.append(j)
        opening = _OPENING[next(k for k, other in enumerate(kinds) if other is kind)]
        symbols[i], symbols[j] = opening, _CLOSED_BY[opening]
    return "".join(symbols)


def base_pairs(structure: Any, where: Where) -> set[tuple[int, int]]:
    """Return the pairs i < j of a structure in dot-bracket notation; they may cross."""
    code = partners(structure, where)
    opening = np.flatnonzero(code > np.arange(len(code)))
    return set(zip(opening.tolist(), code[opening].tolist(), strict=True))


def compared_pairs(
    sequence: str, structure: str, predicted: str | None
) -> tuple[set[tuple[int, int]], set[tuple[int, int]] | None]:
    """Return the pairs of a structure and of a predicted one; raise ValueError if their lengths differ."""
    for name, given in (("structure", structure), ("predicted", predicted)):
        if given is not None and len(given) != len(sequence):
            raise ValueError(f"{name}: {len(given)} positions, expected one for each of {len(sequence)} bases")
    return base_pairs(structure, "structure"), None if predicted is None else base_pairs(predicted, "predicted")
