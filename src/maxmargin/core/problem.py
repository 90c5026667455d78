"""What a solver sees: planes and hinges under one bound, counted; never an x or a y."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.bounds import Bound, search_over_scale
from maxmargin.bounds.references import References
from maxmargin.bounds.rescaling import MARGIN, RISE
from maxmargin.core.codes import TRUTH, Answers
from maxmargin.core.errors import Place
from maxmargin.core.examples import TOGETHER, Examples
from maxmargin.core.objective import Objective
from maxmargin.core.planes import Planes
from maxmargin.core.structure import StructureError
from maxmargin.engines import Local


class Problem:
    """Examples under a bound and an objective.

    After `decode(w, ids)` the arrays below hold, for each example of ids, the most violated plane at w.

    Attributes
    ----------
    values : b of the plane (after the bound).
    hinges : b − w·a, at least 0.
    upper_hinges : proven upper bounds of the hinges; the same array where nothing but the hinges is known of them.
    searches : whether the most violated plane is searched for, because no argmax finds it directly.
    bounded : whether argmaxes that are not exact prove upper bounds.
    keys : hash of the output; 0 is the truth.
    positions : where the user has each example, for messages.
    oracle_calls : loss-augmented argmaxes so far.
    """

    def __init__(self, examples: Examples, bound: Bound, objective: Objective, engine: Local | None = None) -> None:
        self.examples, self.bound, self.objective = examples, bound, objective
        self.engine = engine or Local(1)
        self.n_examples, self.dim = examples.n_examples, examples.dim
        self.answers = examples.empty_answers()
        self.searches = not (bound.form == 0 or examples.exact_for(bound))
        self.exact = examples.exact and not self.searches
        self.bounded = examples.bounded and not examples.exact and not self.searches
        examples.engine = self.engine
        n = self.n_examples
        self.values, self.hinges = np.zeros(n), np.zeros(n)
        self.upper_hinges = np.zeros(n) if self.searches or self.bounded else self.hinges
        self.oracle_calls = 0
        self.references: References | None = None
        self.positions: IntArray = self.everyone  # where the user has each example
        self._keys = np.zeros(n, np.int64)  # with references
        self._scratch = np.zeros(0)

    @property
    def keys(self) -> IntArray:
        return self.answers.keys if self.references is None else self._keys

    @property
    def offset(self) -> float:
        """What the objective has beside ½‖w‖² and the penalties of hinges: Σ C c_i b̃_i of the references."""
        return 0.0 if self.references is None else float(self.objective.budgets @ self.references.values)

    @property
    def scratch(self) -> FloatArray:
        """An array of zeros, one for each weight, to be left so."""
        if len(self._scratch) == 0:
            self._scratch = np.zeros(self.dim)
        return self._scratch

    @property
    def everyone(self) -> IntArray:
        """The ids of all examples."""
        return np.arange(self.n_examples)

    @property
    def entry_type(self) -> type:
        """What plane values are stored as: float32 only where it loses nothing."""
        plain = self.bound.rescaling == "margin" and self.references is None
        return self.examples.value_type if plain else np.float64

    @property
    def operations(self) -> float:
        """Multiply-adds of one sweep over all examples."""
        return self.examples.operations

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """The most violated plane of each of ids, at w."""
        upper = self._argmax(w, ids, self.bound, self.answers)
        if upper is not None:
            self.upper_hinges[ids] = upper
        self._apply_bound(ids)
        if self.references is not None:
            self._apply_references(w, ids, self.references)

    def _argmax(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> FloatArray | None:
        """Leave in `answers` the outputs of greatest violation; where they are searched for, upper bounds come back."""
        self.examples.begin(ids)
        if bound.form in (MARGIN, RISE):
            self._decode_scaled(w, ids, np.full(len(ids), float(bound.valued)), answers)
            if self.bounded:
                return answers.upper[ids]
        elif self.examples.exact_for(bound):
            self.oracle_calls += len(ids)
            self._map(lambda some, _: self.examples.decode_bound(w, some, bound, answers), ids)
            self._check_answers(ids, answers)
        else:
            return search_over_scale(
                bound, ids, self.examples.code_offsets, answers,
                lambda some, scales: self._decode_scaled(w, some, scales, answers),
            )  # fmt: skip
        return None

    def _decode_scaled(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self.oracle_calls += len(ids)
        self._map(lambda some, chunk: self.examples.decode(w, some, scales[chunk], answers), ids)
        self._check_answers(ids, answers)

    def _map(self, task, ids: IntArray) -> None:  # type: ignore[no-untyped-def]
        if self.examples.parallel:
            self.engine.map(task, ids, self.examples.smallest_chunk)
        else:
            task(ids, slice(0, len(ids)))

    @staticmethod
    def _check_answers(ids: IntArray, answers: Answers) -> None:
        losses, rises = answers.losses[ids], answers.rises[ids]
        bad = ~(np.isfinite(rises) & (losses >= 0) & (losses < np.inf))
        if bad.any():
            r = int(np.flatnonzero(bad)[0])
            raise StructureError.at(
                Place("X", ids[r]),
                f"expected a finite score and a loss ≥ 0, found score difference {rises[r]} and loss {losses[r]}",
            )

    def _apply_bound(self, ids: IntArray) -> None:
        answers = self.answers
        losses, rises = answers.losses[ids], answers.rises[ids]
        hinges = self.bound.violation(rises, losses)
        worse = (hinges <= 0) | (answers.keys[ids] == TRUTH)  # the truth itself is among the outputs
        answers.keys[ids[worse]] = TRUTH
        self.hinges[ids] = np.where(worse, 0.0, hinges)
        self.values[ids] = np.where(worse, 0.0, self.bound.value(losses))
        if self.upper_hinges is not self.hinges:
            self.upper_hinges[ids] = np.maximum(self.upper_hinges[ids], self.hinges[ids])

    def _apply_references(self, w: FloatArray, ids: IntArray, references: References) -> None:
        """Planes, values and hinges relative to the references, of which none is better than itself."""
        levels = references.levels(w, ids)
        hinges, keys = self.hinges[ids] - levels, references.swapped(self.answers.keys[ids], ids)
        itself = (hinges <= 0) | (keys == TRUTH)
        self._keys[ids] = np.where(itself, TRUTH, keys)
        self.hinges[ids] = np.where(itself, 0.0, hinges)
        self.values[ids] = np.where(itself, 0.0, self.values[ids] - references.values[ids])
        if self.upper_hinges is not self.hinges:
            self.upper_hinges[ids] = np.maximum(self.upper_hinges[ids] - levels, self.hinges[ids])

    def planes(self, ids: IntArray) -> Planes:
        """The planes found for ids, as the bound has them."""
        if self.references is None:
            return self._bound_planes(ids, self.answers)
        other = self.answers.keys[ids] != TRUTH
        found = self._bound_planes(ids[other], self.answers)
        return found.minus(self.references.planes, np.where(other, np.cumsum(other) - 1, -1), ids, self.scratch)

    def _bound_planes(self, ids: IntArray, answers: Answers) -> Planes:
        planes = self.examples.planes(ids, answers)
        if self.bound.rescaling == "slack":
            planes = planes.scaled(self.bound.factor(answers.losses[ids]))
        return planes

    # ------------------------------------------------------------------ references

    def references_at(self, w: FloatArray, latent: bool) -> References:
        """What the second argmax of a difference finds at w: completions of the truths, or β's greatest (a ramp)."""
        everyone, answers = self.everyone, self._empty_answers()
        if latent:
            self.oracle_calls += self.n_examples
            self.examples.begin(everyone)
            self._map(lambda some, _: self.examples.complete(w, some, answers), everyone)
            self._check_completions(answers)
        else:
            self._argmax(w, everyone, replace(self.bound, valued=False), answers)
        return self._as_references(answers)

    def prediction_losses(self, w: FloatArray) -> FloatArray:
        """Δ(y_i, argmax) of every example."""
        answers = self._empty_answers()
        self.examples.begin(self.everyone)
        self._decode_scaled(w, self.everyone, np.zeros(self.n_examples), answers)
        return answers.losses

    def first_references(self, rng: np.random.Generator) -> References:
        """The completions that a latent structure begins with."""
        answers = self._empty_answers()
        self.examples.begin(self.everyone)
        self.examples.initial_completion(rng, answers)
        self._check_completions(answers)
        return self._as_references(answers)

    def _empty_answers(self) -> Answers:
        return self.examples.empty_answers()

    def _as_references(self, answers: Answers) -> References:
        other = answers.keys != TRUTH
        rows = self._bound_planes(np.flatnonzero(other), answers)
        nothing = References.truths(self.n_examples)
        planes = rows.minus(nothing.planes, np.where(other, np.cumsum(other) - 1, -1), self.everyone, self.scratch)
        return References(answers.keys.copy(), np.where(other, self.bound.value(answers.losses), 0.0), planes)

    @staticmethod
    def _check_completions(answers: Answers) -> None:
        bad = np.flatnonzero(answers.losses != 0.0)
        if len(bad):
            raise StructureError.at(
                Place("X", bad[0]),
                f"complete must keep y, but the loss between y and its completion is "
                f"{answers.losses[bad[0]]}, expected 0",
            )

    def hold(self, ids: IntArray) -> None:
        """A solver keeps the planes found for ids."""
        self.examples.hold(ids[self.answers.keys[ids] != TRUTH], self.answers)

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Σ slopes[i] a of the planes found last, one per example."""
        ids, out = np.flatnonzero(slopes), np.zeros(self.dim)
        if self.references is None and self.bound.rescaling == "margin":
            self.examples.aggregate(ids, self.answers, slopes[ids], out)
            return out
        for k in range(0, len(ids), TOGETHER):
            some = ids[k : k + TOGETHER]
            self.planes(some).weighted_sum(slopes[some], out)
        return out

    def primal(self, w: FloatArray) -> tuple[float, float]:
        """P(w) by the hinges found for all examples at w, and a proven upper bound of it."""
        found = self.objective.primal(w, self.hinges)
        if self.exact:
            return found, found
        return found, self.objective.primal(w, self.upper_hinges) if self.proves_bounds else np.inf

    @property
    def proves_bounds(self) -> bool:
        """Whether `upper_hinges` are proven although argmaxes are searched for, or are not exact."""
        return self.bounded or (self.searches and self.examples.exact)
