"""Joint features in every form that a structure may return (dense, sparse, pairs, dicts), as CSR rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import Place

try:
    from numpy.lib.array_utils import byte_bounds
except ImportError:  # before numpy 2
    from numpy import byte_bounds  # type: ignore[attr-defined, no-redef, unused-ignore]

from maxmargin._base.input import checked_csr
from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.structure import StructureError

#: Largest absolute value in joint features: solvers could not add up the squares of larger values.
LARGEST = 1e150


def sparse_vector(psi: Any) -> tuple[AnyArray, AnyArray, int | None]:
    """Return (indices, values, length or None) of a joint feature vector of any form."""
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
        if psi.format == "coo":
            return psi.coords[-1] if psi.ndim == 1 else psi.col, psi.data, psi.shape[-1]
        row = checked_csr(psi, lambda _: "joint_feature", "joint_feature")
        return row.indices, row.data, row.shape[-1]
    if isinstance(psi, dict):
        rows = stack_dicts([psi])
        return rows.indices, rows.values, None
    dense = np.asarray(psi, float)
    if dense.ndim != 1:
        raise TypeError(f"joint_feature must be a vector, found an array of shape {dense.shape}")
    return sparse_vector(dense)


def value_fault(values: FloatArray) -> str | None:
    """Return the fault of the first value that solvers cannot use; None if all are valid."""
    fine = np.abs(values) <= LARGEST  # NaN is not
    if fine.all():
        return None
    value = values[~fine][0]
    expected = f"numbers within ±{LARGEST:g}, whose squares can be added up" if np.isfinite(value) else "finite numbers"
    return f"has the value {value}, expected {expected}"


def may_share_memory(psis: list[Any]) -> bool:
    """Return whether two joint features share memory, so the second has overwritten the first."""
    held = (getattr(psi, "data", psi) if sp.issparse(psi) else psi for psi in psis)
    parts = list(chain.from_iterable(psi if type(psi) is tuple else (psi,) for psi in held))
    others = [id(part) for part in parts if not isinstance(part, np.ndarray)]
    spans = sorted(byte_bounds(part) for part in parts if isinstance(part, np.ndarray) and part.size)
    return len(set(others)) < len(others) or any(before[1] > after[0] for before, after in pairwise(spans))


def stack(ids: IntArray, indices: Sequence[Any], values: Sequence[Any], lengths: list[int]) -> Planes:
    """Return pairs (indices, values) as rows; `lengths` holds the number of entries of each pair."""
    indptr = offsets_of(lengths)
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
    """Return dicts as rows."""
    for kind in set(map(type, chain.from_iterable(psis))):
        if not issubclass(kind, Integral):  # NumPy would truncate a float to an int
            raise TypeError(f"keys must be integers, found {kind.__name__}")
    indptr = offsets_of(list(map(len, psis)))
    indices = np.fromiter(chain.from_iterable(psis), np.int64, indptr[-1])
    return Planes(indptr, indices, np.fromiter(chain.from_iterable(map(dict.values, psis)), float, indptr[-1]))


def _entries(indices: Sequence[Any], values: Sequence[Any], size: int) -> tuple[IntArray, FloatArray]:
    """Return the concatenated indices and values of all rows."""
    if size == 0:
        return np.zeros(0, np.int64), np.zeros(0)
    at, value = np.concatenate(indices), np.concatenate(values)
    if at.ndim > 1 or value.ndim > 1:
        raise ValueError("indices and values must be one-dimensional")
    if value.dtype.kind not in "iufbO":
        raise ValueError(f"values must be real numbers, found {value.dtype}")
    if at.dtype.kind not in "iufO":
        raise ValueError(f"indices must be integers, found {at.dtype}")
    whole = at.astype(np.int64, copy=False)
    if at.dtype.kind not in "iu" and (at != whole).any():
        raise ValueError("indices must be integers")
    return whole, value.astype(float, copy=False)


def joint_feature_rows(ids: IntArray, psis: list[Any], size: int | None) -> tuple[Planes, int | None]:
    """Return joint features of any form as CSR rows, and the number of weights if it is known by now.

    Parameters
    ----------
    ids : array of int
        Examples that the joint features belong to, for error messages.
    psis : list
        Joint features.
    size : int or None
        Number of weights; None if it is to be taken from the first dense or sparse vector.
    """
    kinds = set(map(type, psis))
    if kinds == {dict}:
        with suppress(TypeError, ValueError, OverflowError):  # the checks below name the example
            return stack_dicts(psis), size
    if kinds == {tuple} and set(map(len, psis)) == {2}:
        with suppress(TypeError):  # the checks below name the example whose indices or values have no length
            rows, numbers = zip(*psis, strict=True)
            lengths = list(map(len, rows))
            if lengths == list(map(len, numbers)):
                return stack(ids, rows, numbers, lengths), size
    pairs: list[tuple[Any, Any]] = []
    for i, psi in zip(ids.tolist(), psis, strict=True):
        indices, values, length = _checked_pair(i, psi)
        if length is not None and length != size:
            if size is not None:
                raise StructureError.at(Place("X", i), f"joint_feature has {length} entries, expected {size}")
            size = length
        pairs.append((indices, values))
    columns = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return stack(ids, *columns, list(map(len, columns[0]))), size


def _checked_pair(i: int, psi: Any) -> tuple[Any, Any, int | None]:
    """Return (indices, values, length or None) of example i; raise StructureError if they do not match."""
    if type(psi) is tuple and len(psi) == 2:
        indices, values, length = psi[0], psi[1], None
    else:
        try:
            indices, values, length = sparse_vector(psi)
        except (TypeError, ValueError, OverflowError) as error:
            raise StructureError.at(Place("X", i), f"joint_feature returned {type(psi).__name__}: {error}") from None
    try:
        n_indices, n_values = len(indices), len(values)
    except TypeError as error:
        raise StructureError.at(Place("X", i), f"joint_feature returned {psi!r}: {error}") from None
    if n_indices != n_values:
        raise StructureError.at(Place("X", i), f"joint_feature has {n_indices} indices but {n_values} values")
    return indices, values, length


def check_rows(ids: IntArray, planes: Planes, size: int) -> None:
    """Raise StructureError if an index is out of range or a value is too large."""
    bad = ~(np.abs(planes.values) <= LARGEST) | (planes.indices < 0) | (planes.indices >= size)
    if not bad.any():
        return
    q = int(np.flatnonzero(bad)[0])
    r = int(np.searchsorted(planes.indptr, q, "right")) - 1
    index = f"has index {planes.indices[q]}, expected 0 to {size - 1}"
    raise StructureError.at(Place("X", ids[r]), f"joint_feature {value_fault(planes.values[q : q + 1]) or index}")
