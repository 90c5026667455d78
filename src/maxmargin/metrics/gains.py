"""Gains of relevance labels and discounts of positions, for (normalised) discounted cumulative gains.

DCG@k = Σ_{p ≤ k} gain(r_p) · discount(p)        NDCG@k = DCG@k / (the greatest DCG@k of any order)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._base.errors import Where, error_at, inside
from maxmargin._base.types import FloatArray

GAINS = ("exponential", "linear")
DISCOUNTS = ("log2", "letor")


def check_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, found {value!r:.60}")


def document_of(where: Where) -> Callable[[int], Where]:
    """Return a function that returns the place of a document of `where`."""
    return lambda document: inside(where, f"document {document}")


def gains(labels: FloatArray, gain: str, place: Callable[[int], Where]) -> FloatArray:
    """Return 2^r − 1 or r of each label r; raise an error at the place of the first that is negative or too large."""
    negative = np.flatnonzero(labels < 0)
    if len(negative):
        raise error_at(
            place(int(negative[0])),
            f"relevance must be at least 0 for NDCG, because gains are not negative; found {labels[negative[0]]:g}: "
            f"shift the labels, or use measure='pairwise'",
        )
    with np.errstate(over="ignore"):
        values = np.exp2(labels) - 1.0 if gain == "exponential" else labels.astype(float)
        total = values.sum()
    if not np.isfinite(total):
        largest = int(np.argmax(labels))
        raise error_at(
            place(largest),
            f"the gains of relevance {labels[largest]:g} are too large for a float: use gain='linear' or smaller "
            f"labels",
        )
    return values


def discounts(n: int, discount: str = "log2") -> FloatArray:
    """Return the discounts of positions 1 to n: 1/log2(p + 1), or LETOR's 1, 1, 1/log2(3), and so on."""
    positions = np.arange(1.0, n + 1)
    return 1.0 / np.log2(positions + 1.0 if discount == "log2" else np.maximum(positions, 2.0))
