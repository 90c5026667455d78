"""Checks of values passed by users; errors state what was expected and what was found."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.errors import Where, error_at


def is_list(values: Any) -> bool:
    """Return whether a value has ordered members, as a list or an array does; strings, sets and dicts do not."""
    if isinstance(values, str | bytes | bytearray | Set | Mapping):
        return False
    return hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0


def whole_number(value: Any, name: str, lowest: int = 1) -> int:
    """Return the value as an int ≥ lowest; raise ValueError if it is not."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be an integer ≥ {lowest}, found {value!r}")
    return int(value)


def finite_number(value: Any, name: str, lowest: float = 0.0) -> float:
    """Return the value as a finite float ≥ lowest; raise ValueError if it is not."""
    if not lowest <= _float(value, name) < math.inf:
        raise ValueError(f"{name} must be a number ≥ {lowest:g}, found {value!r}")
    return float(value)


def positive_number(value: Any, name: str) -> float:
    """Return the value as a float > 0, infinity included; raise ValueError if it is not."""
    if not _float(value, name) > 0:
        raise ValueError(f"{name} must be a number > 0, found {value!r}")
    return float(value)


def check_flag(value: Any, name: str) -> None:
    """Raise ValueError unless the value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, found {value!r}")


def stored_array(
    value: Any,
    name: str,
    dtype: Any,
    shape: tuple[int | None, ...],
    lowest: float = -math.inf,
    largest: float | None = None,
) -> NDArray[Any]:
    """Return an array of a file; raise ValueError unless it has this type and shape, and finite values ≥ lowest.

    None in a shape means any length. If `largest` is given, it is the greatest absolute value: infinity allows any
    number that is not NaN.
    """
    wanted = f"{name} must be an array of {np.dtype(dtype)} of shape {tuple('any' if n is None else n for n in shape)}"
    if not isinstance(value, np.ndarray) or value.dtype != dtype:
        raise ValueError(f"{wanted}, found {getattr(value, 'dtype', type(value).__name__)}")
    if value.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        raise ValueError(f"{wanted}, found shape {value.shape}")
    fine = value.dtype.kind != "f" or (
        _is_finite(value) if largest is None else float(np.abs(value).max(initial=0.0)) <= largest  # as a double
    )
    if not fine or (lowest > -math.inf and (value < lowest).any()):
        limits = ("" if lowest == -math.inf else f" ≥ {lowest:g}") + ("" if largest is None else f" up to {largest:g}")
        raise ValueError(f"{wanted} with finite values{limits}")
    return value


def _is_finite(values: NDArray[Any]) -> bool:
    """Return whether all values are finite; their sum, if it is, takes a tenth of the time of a look at each."""
    with np.errstate(all="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def stored_names(value: Any, name: str) -> list[str]:
    """Return a list of names of a model file; raise ValueError unless it is a list of distinct strings."""
    strings = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not strings or len(set(value)) != len(value):
        raise ValueError(f"{name} must be a list of distinct strings, found {value!r:.60}")
    return list(value)


def _float(value: Any, name: str) -> float:
    """Return the value as a float; NaN if it is not a number."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        raise beyond_floats(f"{name} must be a number") from None


def beyond_floats(expected: str, where: Where | None = None) -> ValueError:
    """Return the error for an integer that is too large for a float."""
    message = f"{expected} between ±1.8e308, found a larger one"
    return ValueError(message) if where is None else error_at(where, message)
