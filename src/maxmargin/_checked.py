"""Checks of values passed by users; errors state what was expected and what was found."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from maxmargin.core.errors import Where, error_at


def is_list(values: Any) -> bool:
    """Return whether a value has ordered members, as a list or an array does; strings, sets and dicts do not."""
    if isinstance(values, str | bytes | bytearray | Set | Mapping):
        return False
    return hasattr(values, "__len__") and getattr(values, "ndim", 1) > 0


def whole_number(value: Any, name: str, lowest: int = 1) -> int:
    """Return the value as an int ≥ lowest; raise ValueError if it is not."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} must be a whole number ≥ {lowest}, found {value!r}")
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
