"""Measures of a contingency table: values, losses and best tables.

A table is (a, b): a of the p positive rows and b of the q negative rows are predicted positive. A loss is p times the
difference to the perfect value, so it counts in rows: with Ψ = ½ Σ ±x_i, C then has the scale it has in a linear
SVM. The error rate is multiplied by n instead, for the same reason. The balanced error is the error rate of rows with
weights n/2p and n/2q: as a loss of tables it would ask rows of the rare class for larger margins.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.engines.engine import Engine
from maxmargin.structures.measures import _best_tables as _tables

#: Number of positive rows above which their numbers are divided among threads.
MANY_POSITIVE = 1 << 13


class Sorted(NamedTuple):
    """Scores of positive and negative rows in descending order, and the sums of the first 0, 1, … of them."""

    positive: FloatArray
    negative: FloatArray
    positive_sums: FloatArray
    negative_sums: FloatArray
    engine: Engine | None = None

    @property
    def p(self) -> int:
        return len(self.positive)

    @property
    def q(self) -> int:
        return len(self.negative)

    @property
    def peak(self) -> int:
        """Number of negative rows whose score is above 0."""
        return int(np.searchsorted(-self.negative, 0.0))

    def best_of(self, search: Callable[[int, int], tuple[float, int, int]]) -> tuple[int, int]:
        """Return the best of the tables that search(first, stop) finds for chunks of a, in threads if a is large."""
        if self.engine is None or self.p < MANY_POSITIVE:
            return search(0, self.p + 1)[1:]
        best_of_chunk: dict[int, tuple[float, int, int]] = {}
        self.engine.map_range(lambda a, b: best_of_chunk.update({a: search(a, b)}), 0, self.p + 1)
        best = max(sorted(best_of_chunk), key=lambda a: best_of_chunk[a][0])
        return best_of_chunk[best][1:]


class Measure(ABC):
    """A measure of contingency tables."""

    @abstractmethod
    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        """Return the measure of tables, of which greater is better."""

    @abstractmethod
    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        """Return the loss of tables, 0 for the best table."""

    def check(self, p: int, q: int) -> None:
        """Raise ValueError if the measure cannot be used with these numbers of rows."""
        return None


class TableMeasure(Measure):
    """A measure that joins all rows, so an argmax looks for the best table."""

    @abstractmethod
    def best(self, scores: Sorted, scale: float) -> tuple[int, int]:
        """Return the table of greatest rise + scale · loss."""


@dataclass(frozen=True)
class Fraction(TableMeasure):
    """F_β, and the Jaccard index: 1 − (b + miss (p − a)) / (b + hit a + base p)."""

    miss: float
    hit: float
    base: float

    def _lost(self, a: Any, b: Any, p: Any) -> Any:
        return _ratio(b + self.miss * (p - a), b + self.hit * a + self.base * p, 1.0)

    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return 1.0 - self._lost(a, b, p)

    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return p * self._lost(a, b, p)

    def best(self, scores: Sorted, scale: float) -> tuple[int, int]:
        sums, negative, negative_sums = scores.positive_sums, scores.negative, scores.negative_sums
        given = sums, negative, negative_sums, scale * scores.p, self.miss, self.hit, self.base * scores.p
        return scores.best_of(lambda first, stop: _tables.best_fraction(first, stop, *given))


def f_beta(beta: float) -> Fraction:
    """Return F_β = (1 + β²) a / (a + b + β² p)."""
    return Fraction(beta * beta, 1.0, beta * beta)


@dataclass(frozen=True)
class Matthews(TableMeasure):
    """Matthews' correlation (a q − b p) / √(p q m (n − m)) with m = a + b; 0 if m is 0 or n."""

    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        m = a + b
        return _ratio(a * float(q) - b * float(p), np.sqrt(float(p) * q * (m * (float(p) + q - m))), 0.0)

    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        perfect = (np.asarray(a) == p) & (np.asarray(b) == 0)
        return p * np.where(perfect, 0.0, np.maximum(1.0 - self.value(a, b, p, q), 0.0))

    def best(self, scores: Sorted, scale: float) -> tuple[int, int]:
        p, q, m = scores.p, scores.q, np.arange(scores.p + scores.q + 1.0)
        roots = _ratio(np.ones(len(m)), np.sqrt(float(p) * q * (m * (float(p) + q - m))), 0.0)
        given = scores.positive_sums, scores.negative_sums, scores.peak, roots, scale * p
        return scores.best_of(lambda first, stop: _tables.best_correlation(first, stop, *given))


@dataclass(frozen=True)
class RecallAtPrecision(TableMeasure):
    """The recall a / p of tables whose precision a / (a + b) is at least the given one, and 0 for others."""

    precision: float

    def _allowed(self, a: Any, b: Any) -> Any:
        return a >= self.precision * (a + b)

    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return np.where(self._allowed(a, b), _ratio(a, p, 0.0), 0.0)

    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return np.where(self._allowed(a, b), p - a, p) * 1.0

    def best(self, scores: Sorted, scale: float) -> tuple[int, int]:
        a, sums = np.arange(scores.p + 1), scores.negative_sums
        most = np.clip(np.floor(a / self.precision - a).astype(np.int64) + 1, 0, scores.q)
        for _ in range(3):  # the greatest b that is allowed, whatever the rounding
            most -= (~self._allowed(a, most)) & (most > 0)
        inside = np.minimum(scores.peak, most)
        outside = np.maximum(scores.peak, most + 1)
        within = sums[inside] + scale * (scores.p - a)
        beyond = np.where(outside <= scores.q, sums[np.minimum(outside, scores.q)] + scale * scores.p, -np.inf)
        best = int(np.argmax(scores.positive_sums + np.maximum(within, beyond)))
        return best, int(inside[best] if within[best] >= beyond[best] else outside[best])


@dataclass(frozen=True)
class Linear(Measure):
    """The error rate, or the mean of the error rates of both classes (`balanced`).

    Costs of false positives and false negatives are constant, so rows decide independently.
    """

    balanced: bool = False

    def row_weights(self, labels: AnyArray, weights: FloatArray | None) -> FloatArray | None:
        """Return the weights of rows for which the loss is the number of errors.

        Those of the balanced error are multiplied by n/2p and n/2q, as ``class_weight="balanced"`` of scikit-learn is.
        """
        if not self.balanced:
            return weights
        given = np.ones(len(labels)) if weights is None else weights
        sums = np.bincount(labels, given, 2)
        return given * (sums.sum() / (2.0 * sums))[labels]

    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        if self.balanced:
            return 0.5 * (_ratio(a, p, 0.0) + _ratio(q - b, q, 0.0))
        return _ratio(a + (q - b), p + q, 0.0)

    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return b + (p - a) * 1.0


@dataclass(frozen=True)
class AtSize(TableMeasure):
    """Precision or recall of the k rows of the highest scores; k = p if k is None.

    Both losses are min(k, p) − a, because a loss is multiplied so that it counts rows.
    """

    k: int | None = None
    recall: bool = False

    def size(self, p: int, n: int) -> int:
        """Return the number of rows predicted positive among n, p of which are positive."""
        return p if self.k is None else self.k

    def check(self, p: int, q: int) -> None:
        if self.k is not None and self.k > p + q:
            raise ValueError(f"k={self.k} rows are to be predicted positive, but there are only {p + q}; lower k")

    def value(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return _ratio(a, p if self.recall or self.k is None else self.k, 0.0)

    def loss(self, a: Any, b: Any, p: Any, q: Any) -> Any:
        return np.minimum(self.size(p, p + q), p) - a * 1.0

    def best(self, scores: Sorted, scale: float) -> tuple[int, int]:
        k = self.size(scores.p, scores.p + scores.q)
        a = np.arange(max(0, k - scores.q), min(k, scores.p) + 1)
        worth = scores.positive_sums[a] + scores.negative_sums[k - a] - scale * a
        best = int(a[np.argmax(worth)])
        return best, k - best


def _ratio(above: Any, below: Any, otherwise: float) -> Any:
    """Return above / below, and another value where below is 0."""
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    return np.divide(above, below, out=np.full(above.shape, otherwise), where=below != 0)[()]


def counts(labels: AnyArray, predicted: AnyArray) -> tuple[int, int, int, int]:
    """Return a, b, p and q of true and predicted labels 0 and 1."""
    p = int(np.count_nonzero(labels))
    a = int(np.count_nonzero(predicted[labels == 1]))
    return a, int(np.count_nonzero(predicted)) - a, p, len(labels) - p
