"""A user's measure of contingency tables, checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.structures.measures.measures import Sorted, TableMeasure

#: Tables of a user's measure that are kept, and those that are computed at once.
MOST_KEPT, AT_ONCE = 1 << 24, 1 << 20
#: Entries of each side of the grid on which a user's measure is checked.
CHECKED = 65


@dataclass(frozen=True)
class Given(TableMeasure):
    """A user's measure f(tp, fp, fn, tn) of any scale.

    The loss is p · (f(p, 0, 0, q) − f) / (f(p, 0, 0, q) − f(0, 0, p, q)): predicting no positive row costs p.
    """

    function: Callable[..., Any]
    _kept: dict[tuple[int, int], FloatArray] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def _takes_arrays(self) -> bool:
        """Whether the function accepts arrays and then returns what it returns for single tables."""
        a, b = np.array([[0.0], [2.0]]), np.array([[0.0, 1.0, 3.0]])
        try:
            together = np.asarray(self.function(a + 0 * b, b + 0 * a, 2.0 - a + 0 * b, 3.0 - b + 0 * a), float)
            alone = [[self._single(i, j, 2, 3) for j in b[0]] for i in a[:, 0]]
        except Exception:
            return False
        return together.shape == (2, 3) and bool(np.array_equal(together, alone, equal_nan=True))

    def _single(self, a: Any, b: Any, p: int, q: int) -> float:
        a, b = int(a), int(b)
        try:
            value = self.function(a, b, p - a, q - b)
        except ZeroDivisionError:
            return math.nan
        except Exception as error:
            raise ValueError(
                f"measure {self._name} raised {type(error).__name__} for {_shown(a, b, p, q)}: {error}"
            ) from error
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"measure {self._name} returned {value!r:.60} for {_shown(a, b, p, q)}, expected a number"
            ) from None

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", repr(self.function)))

    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        a, b = np.broadcast_arrays(np.asarray(a, float), np.asarray(b, float))
        if self._takes_arrays:
            with np.errstate(all="ignore"):
                return np.asarray(self.function(a, b, p - a, q - b), float)
        flat = [self._single(i, j, p, q) for i, j in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)]
        return np.array(flat).reshape(a.shape)

    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        perfect, nothing, worst = self.value(np.array([p, 0, 0]), np.array([0, 0, q]), p, q).tolist()
        whole = perfect - nothing if perfect > nothing else perfect - worst
        return p * np.maximum(perfect - self.value(a, b, p, q), 0.0) / (whole if whole > 0.0 else 1.0)

    def check(self, p: int, q: int) -> None:
        """Raise ValueError if the measure is not finite, or greater for a table with more errors."""
        if (p + 1) * (q + 1) > MOST_KEPT and not self._takes_arrays:
            raise ValueError(
                f"measure {self._name} does not accept arrays, so {(p + 1) * (q + 1)} tables would take that many "
                f"calls in every step; write it with operations of NumPy (np.where instead of if), or use fewer rows"
            )
        a, b = (np.unique(np.linspace(0, n, min(n + 1, CHECKED)).astype(np.int64)) for n in (p, q))
        values = self.value(a[:, None], b[None, :], p, q)
        wrong = np.argwhere(~np.isfinite(values))
        if len(wrong):
            i, j = wrong[0]
            raise ValueError(
                f"measure {self._name} returned {values[i, j]} for {_shown(a[i], b[j], p, q)}, expected a finite "
                f"number for every table"
            )
        slack = 1e-9 * (1.0 + np.abs(values).max())
        for axis, what in ((0, "fewer true positives"), (1, "more false positives")):
            steps = np.diff(values, axis=axis) * (1 if axis else -1)
            rises = np.argwhere(steps > slack)
            if len(rises):
                i, j = rises[0]
                fewer, more = ((i, j), (i, j + 1)) if axis else ((i + 1, j), (i, j))
                both = [f"{values[r, s]:.6g} for {_shown(a[r], b[s], p, q)}" for r, s in (fewer, more)]
                raise ValueError(
                    f"measure {self._name} rises with errors: {both[0]} but {both[1]}, with {what}; a measure must "
                    f"be greater for better tables (return minus a loss)"
                )

        if values.max() - values.min() <= slack:
            raise ValueError(
                f"measure {self._name} returned {values.flat[0]:.6g} for every table, so there is nothing to learn"
            )

    def _rows(self, first: int, stop: int, p: int, q: int) -> FloatArray:
        """Return the losses of the tables with a in [first, stop)."""
        losses = np.asarray(self.loss(np.arange(first, stop)[:, None], np.arange(q + 1)[None, :], p, q))
        if not np.isfinite(losses).all():
            i, j = np.argwhere(~np.isfinite(losses))[0]
            raise ValueError(
                f"measure is not finite for {_shown(first + i, j, p, q)}, expected a number for every table"
            )
        return losses

    def _table(self, p: int, q: int) -> FloatArray | None:
        """Return the losses of all tables, computed once; None if they are too many to keep."""
        if (p, q) not in self._kept:
            if (p + 1) * (q + 1) + sum(table.size for table in self._kept.copy().values()) > MOST_KEPT:
                return None
            self._kept[p, q] = np.concatenate([self._rows(*rows, p, q) for rows in _blocks(p, q)])
        return self._kept[p, q]

    def best(self, scores: Sorted, scale: float) -> tuple[int, int]:
        p, q = scores.p, scores.q
        kept, best, table = self._table(p, q), -np.inf, (0, 0)
        for first, stop in _blocks(p, q):
            losses = self._rows(first, stop, p, q) if kept is None else kept[first:stop]
            worth = scale * losses + scores.negative_sums + scores.positive_sums[first:stop, None]
            at = int(np.argmax(worth))
            if worth.flat[at] > best:
                best, table = worth.flat[at], (first + at // (q + 1), at % (q + 1))
        return table


def _blocks(p: int, q: int) -> list[tuple[int, int]]:
    """Return ranges of a whose tables are computed at once."""
    rows = max(1, AT_ONCE // (q + 1))
    return [(first, min(first + rows, p + 1)) for first in range(0, p + 1, rows)]


def _shown(a: Any, b: Any, p: int, q: int) -> str:
    return f"tp={a}, fp={b}, fn={p - a}, tn={q - b}"
