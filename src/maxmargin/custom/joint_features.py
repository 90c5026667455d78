"""Joint features as a structure may give them: dense, sparse, pairs or dicts; all become rows of (indices, values)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin.core.errors import Place

try:
    from numpy.lib.array_utils import byte_bounds
except ImportError:  # before numpy 2
    from numpy import byte_bounds  # type: ignore[attr-defined, no-redef, unused-ignore]

from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.structure import StructureError

#: Joint features beyond have squares that solvers cannot add up.
LARGEST = 1e150


def sparse_vector(psi: Any) -> tuple[AnyArray, AnyArray, int | None]:
    """(indices, values, length or None) of a joint feature vector in any of the forms a structure may give."""
    if isinstance(psi, np.ndarray) and psi.ndim == 1:
        indices = np.flatnonzero(psi)
        return indices, psi[indices], len(psi)
    if isinstance(psi, tuple) and len(psi) == 2:
        return np.asarray(psi[0]), np.asarray(psi[1]), None
    if sp.issparse(psi):
        if psi.ndim == 2 and psi.shape[0] != 1:
            raise TypeError(f"joint_feature must be one row, found a sparse matrix of shape {psi.shape}")
        if psi.format == "csr":
            return psi.indices, psi.data, psi.shape[-1]
        psi = psi.tocoo()
        return psi.coords[-1] if psi.ndim == 1 else psi.col, psi.data, psi.shape[-1]
    if isinstance(psi, dict):
        rows = stack_dicts([psi])
        return rows.indices, rows.values, None
    dense = np.asarray(psi, float)
    if dense.ndim != 1:
        raise TypeError(f"joint_feature must be a vector, found an array of shape {dense.shape}")
    return sparse_vector(dense)


def value_fault(values: FloatArray) -> str | None:
    """What is wrong with the first of these values that solvers cannot work with; None where they are all fine."""
    fine = np.abs(values) <= LARGEST  # NaN is not
    if fine.all():
        return None
    value = values[~fine][0]
    expected = f"numbers within ±{LARGEST:g}, whose squares can be added up" if np.isfinite(value) else "finite numbers"
    return f"has the value {value}, expected {expected}"


def may_share_memory(psis: list[Any]) -> bool:
    """Whether two of these are one object, or lie in the same memory: then the second was written over the first."""
    held = (getattr(psi, "data", psi) if sp.issparse(psi) else psi for psi in psis)
    parts = list(chain.from_iterable(psi if type(psi) is tuple else (psi,) for psi in held))
    others = [id(part) for part in parts if not isinstance(part, np.ndarray)]
    spans = sorted(byte_bounds(part) for part in parts if isinstance(part, np.ndarray) and part.size)
    return len(set(others)) < len(others) or any(before[1] > after[0] for before, after in pairwise(spans))


def stack(ids: IntArray, indices: Sequence[Any], values: Sequence[Any], lengths: list[int]) -> Planes:
    """Pairs as rows; `lengths` are those of indices and of values."""
    indptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    try:
        return Planes(indptr, *_entries(indices, values, int(indptr[-1])))
    except (TypeError, ValueError, OverflowError):
        for i, *pair, length in zip(ids.tolist(), indices, values, lengths, strict=True):
            try:
                _entries([pair[0]], [pair[1]], length)
            except (TypeError, ValueError, OverflowError) as error:
                raise StructureError.at(Place("X", i), f"joint_feature cannot be read: {error}") from None
        raise


def stack_dicts(psis: list[dict[int, float]]) -> Planes:
    """Dicts as rows."""
    for kind in set(map(type, chain.from_iterable(psis))):
        if not issubclass(kind, Integral):  # numpy would cut a float down to an int
            raise TypeError(f"keys must be whole numbers, found {kind.__name__}")
    indptr = np.zeros(len(psis) + 1, np.int64)
    np.cumsum(list(map(len, psis)), out=indptr[1:])
    indices = np.fromiter(chain.from_iterable(psis), np.int64, indptr[-1])
    return Planes(indptr, indices, np.fromiter(chain.from_iterable(map(dict.values, psis)), float, indptr[-1]))


def _entries(indices: Sequence[Any], values: Sequence[Any], size: int) -> tuple[IntArray, FloatArray]:
    """Indices and values of all rows, one behind the other."""
    if size == 0:
        return np.zeros(0, np.int64), np.zeros(0)
    at, value = np.concatenate(indices), np.concatenate(values)
    if at.ndim > 1 or value.ndim > 1:
        raise ValueError("indices and values must be flat")
    if value.dtype.kind not in "iufbO":
        raise ValueError(f"values must be real numbers, found {value.dtype}")
    if at.dtype.kind not in "iufO":
        raise ValueError(f"indices must be whole numbers, found {at.dtype}")
    whole = at.astype(np.int64, copy=False)
    if at.dtype.kind not in "iu" and (at != whole).any():
        raise ValueError("indices must be whole numbers")
    return whole, value.astype(float, copy=False)
