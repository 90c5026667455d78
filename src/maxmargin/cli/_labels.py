"""Constraints and costs that follow from the labels of training data."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from maxmargin.structures.chain.constraints import SCHEMES, repair_bio

TAGGER_LOSSES = ("hamming", "hamming-share", "zero-one")

#: Maximum fraction of entities that begin with I- in labels that count as BIO with a few errors.
_SLIPS = 0.05

#: Prefixes of schemes that mark the last token of an entity.
_CLOSED = {"bioes": {"O", "B", "I", "E", "S"}, "bilou": {"O", "B", "I", "L", "U"}}


def constrain(wanted: str, Y: list[list[Any]]) -> tuple[str | None, list[list[Any]], str]:
    """Return the constraints, labels that satisfy them, and a message about both."""
    labels = {label for y in Y for label in y}
    if wanted == "none":
        return None, Y, ""
    if wanted in ("bio", "iob2"):
        return _bio(Y)
    if wanted in SCHEMES:
        return wanted, Y, f"constraints: {wanted}"
    if not all(isinstance(label, str) for label in labels):
        return None, Y, ""
    if _prefixes(labels) <= {"O", "B", "I"} and {"O", "B"} <= _prefixes(labels):
        begins = sum(label.startswith("B-") for y in Y for label in y)
        scheme, repaired, note = _bio(Y)
        if _changes(Y, repaired) <= _SLIPS * (begins + _changes(Y, repaired)):
            return scheme, repaired, note
    for scheme, prefixes in _CLOSED.items():
        if not _prefixes(labels) <= {"O", "B", "I"} and _prefixes(labels) <= prefixes and _obeys(scheme, labels, Y):
            return scheme, Y, f"constraints: {scheme}"
    return None, Y, ""


def _prefixes(labels: Iterable[Any]) -> set[str]:
    """Return the prefixes of labels, before the hyphens."""
    return {label.partition("-")[0] for label in labels if label == "O" or "-" in label} | {
        f"{label} as a whole" for label in labels if label != "O" and "-" not in label
    }


def _bio(Y: list[list[Any]]) -> tuple[str, list[list[Any]], str]:
    repaired = repair_bio(Y)
    n = _changes(Y, repaired)
    note = f"; {n} I- that continued no entity changed to B-" if n else ""
    return "bio", repaired, f"constraints: bio{note}"


def _changes(Y: list[list[Any]], repaired: list[list[Any]]) -> int:
    return sum(a != b for y, z in zip(Y, repaired, strict=True) for a, b in zip(y, z, strict=True))


def _obeys(scheme: str, labels: set[Any], Y: list[list[Any]]) -> bool:
    rules = SCHEMES[scheme](sorted(labels))
    forbidden, start, end = set(rules.transitions), set(rules.start), set(rules.end)
    return not any(y and (y[0] in start or y[-1] in end or any(pair in forbidden for pair in pairwise(y))) for y in Y)


def costs(text: str, labels: set[Any], names: tuple[str, ...]) -> Any:
    """Return a loss by its name, or the costs in ``B-PER=2,I-PER=2`` by label."""
    if text in names:
        return text
    by_name = {str(label): label for label in labels}
    by_label = {}
    for part in text.split(","):
        name, equals, cost = part.rpartition("=")
        try:
            value = float(cost)
        except ValueError:
            equals = ""
            value = 0.0
        if not equals:
            raise ValueError(f"--loss: expected {', '.join(names)} or LABEL=COST,LABEL=COST, found {text!r}")
        if name not in by_name:
            raise ValueError(f"--loss: unknown label {name!r}; the labels are {', '.join(sorted(by_name))}")
        by_label[by_name[name]] = value
    return by_label
