"""Queries of documents: the query of each row, checked, and the rows of each query."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.types import IntArray


def checked_groups(groups: Any) -> Any:
    """Return the query of each row; raise ValueError unless all are hashable and none is missing."""
    groups = groups.to_numpy() if hasattr(groups, "to_numpy") else groups
    shape = getattr(groups, "shape", None)
    if not is_list(groups) or (shape is not None and len(shape) != 1):
        shown = type(groups).__name__ if shape is None else f"an array of shape {shape}"
        raise ValueError(f"groups: expected a sequence with the query of each row, found {shown}")
    if isinstance(groups, np.ndarray) and groups.dtype != object:
        missing = np.flatnonzero(groups != groups)
        if len(missing):
            raise _missing(int(missing[0]), groups[missing[0]])
        return groups
    for row, query in enumerate(groups):
        _check_name(query, row)
    return groups


def _check_name(query: Any, row: int) -> None:
    """Raise ValueError if a query is not hashable, or missing: None, or not equal to itself, as NaN."""
    try:
        hash(query)
    except TypeError:
        raise ValueError(
            f"groups[{row}]: a query must be hashable (a string, a number), found {type(query).__name__} {query!r:.60}"
        ) from None
    try:
        same = query is not None and bool(query == query)
    except TypeError:  # pandas.NA
        same = False
    if not same:
        raise _missing(row, query)


def _missing(row: int, query: Any) -> ValueError:
    return ValueError(f"groups[{row}]: expected the query of the row, found {query}; leave out rows without a query")


def rows_by_query(groups: Iterable[Any]) -> tuple[list[Any], list[IntArray]]:
    """Return the queries in the order of their first rows, and the rows of each."""
    members: dict[Any, list[int]] = {}
    for row, query in enumerate(groups.tolist() if isinstance(groups, np.ndarray) else groups):
        members.setdefault(query, []).append(row)
    return list(members), [np.array(rows, np.int64) for rows in members.values()]


def sizes_hint(groups: Any, n: int) -> str:
    """Return advice for the error message if queries of rows are sizes of queries instead."""
    values = np.asarray(groups)
    if values.dtype.kind not in "iu" or values.sum() != n:
        return ""
    return "; these look like the sizes of queries: pass groups=np.repeat(np.arange(len(sizes)), sizes)"
