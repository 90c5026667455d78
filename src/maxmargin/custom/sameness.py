"""Values of any kind: whether two are the same, and copies that stay what they are."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable
from copy import copy
from typing import Any

import numpy as np
import scipy.sparse as sp

_ABSENT = object()

#: Kinds that never change and hold nothing that does.
_LASTING = frozenset({int, float, complex, bool, str, bytes, type(None)})
#: Kinds that may be filled anew.
_REFILLED = (np.ndarray, list, dict, set, bytearray, array)


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal all the way down; what cannot be compared counts as the same."""
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
    # Attributes that are new were perhaps only cached.
    return all(same(value, getattr(b, name, _ABSENT)) for name, value in getattr(a, "__dict__", {}).items())


def equal(a: Any, b: Any) -> bool:
    """`same`, or equal by ==, whatever the types: 1 and numpy's 1, a list and a tuple of the same."""
    if same(a, b):
        return True
    try:
        return bool(np.all(np.asarray(a) == np.asarray(b))) and np.shape(a) == np.shape(b)
    except Exception:
        return False


def own_copy(value: Any) -> Any:
    """The value with arrays, lists, dicts and sets of its own, also inside of each other, so that it stays what it is
    when they are filled anew. Other objects stay the same ones: they may be known by identity."""
    kind = type(value)
    if kind in _LASTING:  # the usual cases first: this is done for every argmax
        return value
    if kind is np.ndarray and value.dtype.kind != "O":
        return value.copy()
    try:
        return _own_copy(value, {})
    except RecursionError:  # nested deeper than Python can follow
        return value


def is_flat(value: Any) -> bool:
    """Whether it is a list of which nothing can be filled anew but itself."""
    return type(value) is list and _last(value)


def flat_copy(value: Any) -> Any:
    """`own_copy`, faster, where lists are known to be flat."""
    return value.copy() if type(value) is list else own_copy(value)


def _own_copy(value: Any, copies: dict[int, Any]) -> Any:
    """`own_copy`; `copies` are those of the lists and dicts around it, which it may hold again."""
    kind = type(value)
    if kind in _LASTING or (kind is tuple and _last(value)):
        return value
    if is_flat(value) or (kind is dict and _last(value.values())):
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
        return _remade(value, _own_copies(value, copies))
    if kind is np.ndarray and value.dtype == object:
        cells = copies[id(value)] = np.empty(value.shape, object)
        for place, cell in np.ndenumerate(value):
            cells[place] = _own_copy(cell, copies)
        return cells
    if kind is np.ndarray or sp.issparse(value) or hasattr(value, "to_numpy"):
        return value.copy()
    return copy(value) if isinstance(value, _REFILLED) else value


def _last(values: Iterable[Any]) -> bool:
    """Whether all are of kinds that never change."""
    return _LASTING.issuperset(map(type, values))


def _own_copies(values: Iterable[Any], copies: dict[int, Any]) -> list[Any]:
    return [_own_copy(value, copies) for value in values]


def _remade(value: tuple[Any, ...], members: list[Any]) -> Any:
    """The tuple with these members; itself where they are its own, or where its kind cannot be made of members."""
    if all(map(operator.is_, value, members)):
        return value
    if type(value) is tuple:
        return tuple(members)
    return value._make(members) if hasattr(value, "_make") else value
