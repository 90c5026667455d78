"""The parameter `nonnegative`: which weights must not be negative."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np

from maxmargin._checked import is_list
from maxmargin._types import AnyArray, FloatArray, IntArray

#: Separator of feature and output in the names of weights.
_ARROW = " → "


def check_nonnegative(nonnegative: Any) -> None:
    """Raise ValueError unless it is True, False, or a list of indices or names of weights."""
    if isinstance(nonnegative, bool | np.bool_):
        return
    fine = is_list(nonnegative) and all(_is_index(member) or isinstance(member, str) for member in nonnegative)
    if not fine:
        raise ValueError(
            f"nonnegative must be True, False, or a list of indices or feature names, found {nonnegative!r:.60}"
        )


def lower_bounds(nonnegative: Any, size: int, names: Callable[[], AnyArray]) -> FloatArray | None:
    """Return 0 for the weights that must not be negative and −∞ for the others; None if there are none."""
    if isinstance(nonnegative, bool | np.bool_):
        return np.zeros(size) if nonnegative else None
    lower = np.full(size, -np.inf)
    lower[_indices([m for m in nonnegative if _is_index(m)], size)] = 0.0
    wanted = [member for member in nonnegative if isinstance(member, str)]
    if wanted:
        lower[_named(wanted, names())] = 0.0
    return lower if np.isfinite(lower).any() else None


def joined(lower: FloatArray | None, other: FloatArray | None) -> FloatArray | None:
    """Return the greater of two lower bounds of each weight."""
    if lower is None or other is None:
        return other if lower is None else lower
    return np.maximum(lower, other)


def _is_index(member: Any) -> bool:
    return isinstance(member, Integral) and not isinstance(member, bool | np.bool_)


def _indices(members: Iterable[Any], size: int) -> IntArray:
    found = np.array([int(member) for member in members], np.int64)
    outside = found[(found < -size) | (found >= size)]
    if len(outside):
        raise ValueError(f"nonnegative: there are {size} weights, found index {outside[0]}")
    return found


def _named(wanted: list[str], names: AnyArray) -> IntArray:
    """Return the weights of these names: one weight, or all weights of a feature."""
    found: list[int] = []
    listed = [str(name) for name in names]
    for name in wanted:
        matches = [j for j, other in enumerate(listed) if other == name]
        matches = matches or [j for j, other in enumerate(listed) if other.startswith(name + _ARROW)]
        if not matches:
            raise ValueError(f"nonnegative: unknown weight or feature {name!r}; names are like {', '.join(listed[:3])}")
        found += matches
    return np.array(found, np.int64)
