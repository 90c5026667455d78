"""Names of the columns of data frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin._base.errors import Where, error_at
from maxmargin._base.types import AnyArray


@dataclass(frozen=True)
class NamedColumns:
    """Rows of numbers with the names of their columns, read as data frames are.

    Parameters
    ----------
    values : ndarray of shape (n, d)
        The rows.
    columns : list of str
        The names.
    """

    values: AnyArray
    columns: list[str]

    def to_numpy(self) -> AnyArray:
        """Return the rows."""
        return self.values


def column_names(x: Any) -> list[str] | None:
    """Return the names of the columns of a data frame; None if x is not a frame, or if a name is not a string."""
    if not hasattr(x, "to_numpy") or not hasattr(x, "columns"):
        return None
    names = list(x.columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def shared_columns(X: Sequence[Any], where: Callable[[int], Where], known: list[str] | None = None) -> list[str] | None:
    """Return the column names of the frames in X; raise an error for a frame with others, or in another order."""
    for i, x in enumerate(X):
        names = column_names(x)
        if names is None:
            continue
        if known is None:
            known = names
        elif names != known:
            raise error_at(where(i), f"columns {names!r:.80}, expected {known!r:.80} in this order, as in other frames")
    return known
