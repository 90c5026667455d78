"""Comparison and copies of values of any type."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

_ABSENT = object()

#: Immutable types whose values refer to nothing mutable.
_IMMUTABLE = frozenset({int, float, complex, bool, str, bytes, type(None)})
#: Mutable containers.
_CONTAINERS = (np.ndarray, list, dict, set, bytearray, array)


def same(a: Any, b: Any) -> bool:
    """Return whether two values are equal, members included; values that cannot be compared count as equal."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and same(a.ravel().tolist(), b.ravel().tolist())
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if sp.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "equals"):  # data frames
        return bool(a.equals(b))
    if any("__eq__" in vars(kind) for kind in type(a).__mro__[:-1]):
        try:
            return bool(a == b) or bool(a != a)
        except Exception:
            return True
    # Attributes that only b has are ignored, since they may be cached results.
    return all(same(value, getattr(b, name, _ABSENT)) for name, value in getattr(a, "__dict__", {}).items())


def equal(a: Any, b: Any) -> bool:
    """Return whether two values are the same or equal by ==, whatever their types: 1 and np.int64(1), [1] and (1,)."""
    if same(a, b):
        return True
    try:
        return bool(np.all(np.asarray(a) == np.asarray(b))) and np.shape(a) == np.shape(b)
    except Exception:
        return False


def own_copy(value: Any) -> Any:
    """Return a copy of a value that does not change when the original is overwritten.

    Arrays, lists, dicts and sets are copied, nested ones included. Other objects are not copied, since they may be
    compared by identity.
    """
    kind = type(value)
    if kind in _IMMUTABLE:  # the most frequent cases first, since every argmax calls this function
        return value
    if kind is np.ndarray and value.dtype.kind != "O":
        return value.copy()
    try:
        return _own_copy(value, {})
    except RecursionError:  # nested deeper than Python can follow
        return value


def is_flat(value: Any) -> bool:
    """Return whether a value is a list of immutable elements."""
    return type(value) is list and _all_immutable(value)


def flat_copy(value: Any) -> Any:
    """Return a copy as `own_copy` does, faster, if all lists are known to be flat."""
    return value.copy() if type(value) is list else own_copy(value)


def _own_copy(value: Any, copies: dict[int, Any]) -> Any:
    """Return a copy of a value; `copies` holds, by id, copies of the containers around it."""
    kind = type(value)
    if kind in _IMMUTABLE or (kind is tuple and _all_immutable(value)):
        return value
    if is_flat(value) or (kind is dict and _all_immutable(value.values())):
        return value.copy()
    if id(value) in copies:
        return copies[id(value)]
    if kind is list:
        members = copies[id(value)] = []
        members.extend(_own_copies(value, copies))
        return members
    if kind is dict:
        entries = copies[id(value)] = {}
        entries.update(zip(value, _own_copies(value.values(), copies), strict=True))
        return entries
    if isinstance(value, tuple):
        return _rebuilt(value, _own_copies(value, copies))
    if kind is np.ndarray and value.dtype == object:
        cells = copies[id(value)] = np.empty(value.shape, object)
        for place, cell in np.ndenumerate(value):
            cells[place] = _own_copy(cell, copies)
        return cells
    if kind is np.ndarray or sp.issparse(value) or hasattr(value, "to_numpy"):
        return value.copy()
    return copy(value) if isinstance(value, _CONTAINERS) else value


def _all_immutable(values: Iterable[Any]) -> bool:
    """Return whether all values are of immutable types."""
    return _IMMUTABLE.issuperset(map(type, values))


def _own_copies(values: Iterable[Any], copies: dict[int, Any]) -> list[Any]:
    return [_own_copy(value, copies) for value in values]


def _rebuilt(value: tuple[Any, ...], members: list[Any]) -> Any:
    """Return the tuple with these members; the tuple itself if they are its own or its type cannot be rebuilt."""
    if all(map(operator.is_, value, members)):
        return value
    if type(value) is tuple:
        return tuple(members)
    return value._make(members) if hasattr(value, "_make") else value
