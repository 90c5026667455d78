"""What a solver sees: planes and hinges under one bound, counted; never an x or a y."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.bounds import Bound, search_over_scale
from maxmargin.engines import Local
from maxmargin.objective import Objective
from maxmargin.planes import TRUTH, Answers, Planes
from maxmargin.structures.base import Examples, StructureError

#: Examples whose planes are held at once while they are summed.
CHUNK = 4096


class Problem:
    """Examples under a bound and an objective.

    After `decode(w, ids)` the arrays below hold, for each example of ids, the most violated plane at w.

    Attributes
    ----------
    values : b of the plane (after the bound).
    hinges : b − w·a, at least 0.
    upper_hinges : proven upper bounds of the hinges; the same array where the argmax is exact.
    keys : hash of the output; 0 is the truth.
    oracle_calls : loss-augmented argmaxes so far.
    """

    def __init__(self, examples: Examples, bound: Bound, objective: Objective, engine: Local | None = None) -> None:
        self.examples, self.bound, self.objective = examples, bound, objective
        self.engine = engine or Local(1)
        self.n_examples, self.dim = examples.n_examples, examples.dim
        self.answers = Answers.empty(self.n_examples, int(examples.code_offsets[-1]))
        self.searches = not (bound.form == 0 or examples.exact_for(bound))
        self.exact = examples.exact and not self.searches
        n = self.n_examples
        self.values, self.hinges = np.zeros(n), np.zeros(n)
        self.upper_hinges = np.zeros(n) if self.searches else self.hinges
        self.oracle_calls = 0

    @property
    def keys(self) -> IntArray:
        return self.answers.keys

    @property
    def everyone(self) -> IntArray:
        """The ids of all examples."""
        return np.arange(self.n_examples)

    @property
    def entry_type(self) -> type:
        """What plane values are stored as: float32 only where it loses nothing."""
        return self.examples.value_type if self.bound.rescaling == "margin" else np.float64

    @property
    def operations(self) -> float:
        """Multiply-adds of one sweep over all examples."""
        return self.examples.operations

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """The most violated plane of each of ids, at w."""
        examples, bound, answers = self.examples, self.bound, self.answers
        examples.begin(ids)
        if self.searches:
            offsets = examples.code_offsets
            self.upper_hinges[ids] = search_over_scale(
                bound, ids, offsets, answers, lambda some, scales: self._decode_scaled(w, some, scales)
            )
        elif bound.form == 0:
            self._decode_scaled(w, ids, np.ones(len(ids)))
        else:
            self.oracle_calls += len(ids)
            self._map(lambda some, _: examples.decode_bound(w, some, bound, answers), ids)
            self._check_answers(ids)
        self._apply_bound(ids)

    def _decode_scaled(self, w: FloatArray, ids: IntArray, scales: FloatArray) -> None:
        self.oracle_calls += len(ids)
        self._map(lambda some, chunk: self.examples.decode(w, some, scales[chunk], self.answers), ids)
        self._check_answers(ids)

    def _map(self, task, ids: IntArray) -> None:  # type: ignore[no-untyped-def]
        if self.examples.parallel:
            self.engine.map(task, ids)
        else:
            task(ids, slice(0, len(ids)))

    def _check_answers(self, ids: IntArray) -> None:
        losses, rises = self.answers.losses[ids], self.answers.rises[ids]
        bad = ~(np.isfinite(rises) & (losses >= 0) & (losses < np.inf))
        if bad.any():
            r = int(np.flatnonzero(bad)[0])
            raise StructureError(
                f"X[{ids[r]}]: expected a finite score and a loss ≥ 0, found score difference {rises[r]} "
                f"and loss {losses[r]}"
            )

    def _apply_bound(self, ids: IntArray) -> None:
        answers = self.answers
        losses, rises = answers.losses[ids], answers.rises[ids]
        hinges = self.bound.violation(rises, losses)
        worse = (hinges <= 0) | (answers.keys[ids] == TRUTH)  # the truth itself is among the outputs
        answers.keys[ids[worse]] = TRUTH
        self.hinges[ids] = np.where(worse, 0.0, hinges)
        self.values[ids] = np.where(worse, 0.0, self.bound.value(losses))
        if self.searches:
            self.upper_hinges[ids] = np.maximum(self.upper_hinges[ids], self.hinges[ids])

    def planes(self, ids: IntArray) -> Planes:
        """The planes found for ids, as the bound has them."""
        planes = self.examples.planes(ids, self.answers)
        if self.bound.rescaling == "slack":
            planes = planes.scaled(self.bound.factor(self.answers.losses[ids]))
        return planes

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Σ slopes[i] a of the planes found last, one per example; they are not kept."""
        ids, out = np.flatnonzero(slopes), np.zeros(self.dim)
        for k in range(0, len(ids), CHUNK):
            some = ids[k : k + CHUNK]
            self.planes(some).weighted_sum(slopes[some], out)
            self.examples.forget(())
        return out

    def primal(self, w: FloatArray) -> tuple[float, float]:
        """P(w) by the hinges found for all examples at w, and a proven upper bound of it."""
        found = self.objective.primal(w, self.hinges)
        if not self.searches:
            return found, found if self.exact else np.inf
        return found, self.objective.primal(w, self.upper_hinges) if self.examples.exact else np.inf
