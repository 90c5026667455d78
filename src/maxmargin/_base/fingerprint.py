"""Fingerprints of values of any type, with which checkpoints recognise data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Types whose `repr` determines the value.
_PLAIN = frozenset({int, float, complex, bool, str, bytes, type(None)})
#: Number of Python objects that are read; arrays count as one. Further ones do not enter the fingerprint.
MOST_OBJECTS = 20_000_000
#: Nesting beyond which a value counts as unknown.
_DEEPEST = 50


class Fingerprint:
    """Hash of values: arrays, sparse matrices, numbers, strings, and containers and dataclasses of them.

    Equal values have equal fingerprints in every process. Of an object of another type only the type is read, because
    its attributes may be caches.

    Attributes
    ----------
    complete : bool
        Whether everything was read; then other values have another fingerprint.
    """

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)
        self._left, self.complete = MOST_OBJECTS, True

    def add(self, *values: Any) -> Fingerprint:
        """Add values and return the fingerprint."""
        for value in values:
            self._add(value, 0)
        return self

    def hexdigest(self) -> str:
        """Return the fingerprint of all values added."""
        return self._hash.hexdigest()

    def _text(self, *words: Any) -> None:
        self._hash.update(repr(words).encode("utf-8", "surrogatepass"))

    def _add(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind in _PLAIN:
            self._left -= 1
            return self._text(kind.__name__, value)
        if self._left <= 0 or depth > _DEEPEST:
            self.complete = False
            return None
        if isinstance(value, np.ndarray | np.generic):
            return self._add_array(np.asarray(value), depth)
        if sp.issparse(value):
            return self._add_sparse(value, depth)
        if isinstance(value, list | tuple):
            return self._add_items(kind.__name__, value, depth)
        if isinstance(value, dict):
            self._add_items("keys", list(value), depth)
            return self._add_items("values", list(value.values()), depth)
        if isinstance(value, set | frozenset):
            return self._add_items("set", sorted(Fingerprint().add(item).hexdigest() for item in value), depth)
        return self._add_object(value, kind, depth)

    def _add_items(self, name: str, items: Iterable[Any], depth: int) -> None:
        items = items if isinstance(items, list | tuple) else list(items)
        if _PLAIN.issuperset(map(type, items)):
            self._left -= len(items)
            return self._text(name, list(items))
        self._text(name, len(items))
        for item in items:
            self._add(item, depth + 1)
        return None

    def _add_array(self, array: np.ndarray[Any, Any], depth: int) -> None:
        self._text("array", array.dtype.str, array.shape)
        if array.dtype.hasobject:
            return self._add_items("objects", array.ravel().tolist(), depth)
        self._left -= 1
        return self._hash.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _add_sparse(self, matrix: Any, depth: int) -> None:
        """Add a sparse matrix in its own format so that duplicates and stored zeros need not be resolved."""
        self._text("sparse", matrix.format, matrix.shape)
        if matrix.format in ("csr", "csc", "bsr"):
            return self._add_items("parts", [matrix.indptr, matrix.indices, matrix.data], depth)
        rows = matrix.tocoo()
        places = rows.coords if hasattr(rows, "coords") else (rows.row, rows.col)
        return self._add_items("parts", [*places, rows.data], depth)

    def _add_object(self, value: Any, kind: type, depth: int) -> None:
        self._text("object", kind.__module__, kind.__qualname__)
        if is_dataclass(value) and not isinstance(value, type):
            return self._add_items("fields", [getattr(value, f.name) for f in fields(value) if f.compare], depth)
        for method in ("to_numpy", "__array__"):
            if hasattr(kind, method):
                try:
                    return self._add_array(np.asarray(getattr(value, method)()), depth)
                except Exception:
                    break
        self.complete = False
        return None
