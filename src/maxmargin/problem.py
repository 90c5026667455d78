"""Planes and hinges under one bound, as solvers see them.

Solvers never see an x or a y. Nor do they see a centre w₀ of the regulariser ½‖w − w₀‖² (the parameter `prior` of
estimators) or a known part of scores besides w·Ψ (`Examples.fixed_scores`, as known costs): they see v = w − w₀, the
same rows a, and the values b + r⁰, where r⁰ is the part of the rise that does not depend on v. `Problem` decodes at w₀
+ v and sets the value of a plane to its hinge + a·v, which is b + r⁰ for either reason; values may be negative. Lower
bounds become l − w₀, references carry their share of r⁰ (`References.fixed`), and callbacks and estimators get
`Problem.weights`. The perceptron has no regulariser and refuses both.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.errors import Place
from maxmargin._base.jit import working_seconds
from maxmargin._base.memory import Scratch
from maxmargin._base.ragged import batches, renumbered
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.bounds import Bound, search_over_scale
from maxmargin.bounds.remaining_outputs import CLOSED
from maxmargin.bounds.rescaling import MARGIN, RISE
from maxmargin.core.examples import TOGETHER, Examples
from maxmargin.core.objective import Objective
from maxmargin.core.planes import TRUTH, Answers, Planes
from maxmargin.core.structure import StructureError
from maxmargin.engines.engine import Engine, Local, Question


@dataclass(frozen=True)
class References:
    """A reference plane (ã, b̃) and its key for each example, which replaces the truth.

    A ramp (Do et al. 2008) or latent variables (Yu and Joachims 2009) subtract the result of a second argmax,

        Σ c_i (max_ŷ (b − a·w) − max_ỹ (−ã·w)),

    where (a, b) are the planes of the bound, and ỹ ranges over all outputs (ramp; ã is scaled as the bound scales it)
    or over the completions of the truth (latent variables). With ỹ_i fixed, the second part is linear. The rest is a
    hinge again, because the difference of two planes is a plane: (a − ã_i, b − b̃_i), with the reference itself as the
    plane (0, 0) and the additional constant Σ C c_i b̃_i. Structures are not aware of references; of the solvers, only
    those are that keep their planes when references change.

    The planes are relative to the encoded truth.

    Attributes
    ----------
    keys : ndarray of int64 of shape (n_examples,)
        Keys of the outputs ỹ_i.
    values : ndarray of shape (n_examples,)
        b̃_i.
    planes : Planes
        Rows ã_i.
    fixed : ndarray of shape (n_examples,)
        The part of the rises of ỹ_i, scaled as the bound scales them, that does not depend on the weights of solvers
        (a centre or fixed scores, see `problem`); otherwise 0.
    """

    keys: IntArray
    values: FloatArray
    planes: Planes
    fixed: FloatArray

    @classmethod
    def truths(cls, n_examples: int) -> References:
        """Return the truths as references."""
        nothing = Planes(np.zeros(n_examples + 1, np.int64), np.zeros(0, np.uint32), np.zeros(0))
        return cls(np.full(n_examples, TRUTH, np.int64), np.zeros(n_examples), nothing, np.zeros(n_examples))

    def rises(self, w: FloatArray) -> FloatArray:
        """Return −ã·w of every example, the amount that the bound subtracts at w."""
        return self.fixed - self.planes.dot(w)

    def levels(self, w: FloatArray, ids: IntArray) -> FloatArray:
        """Return b̃ − ã·w of the examples in ids."""
        return self.values[ids] + self.fixed[ids] - self.planes.dot_of(ids, w)

    def swapped(self, keys: IntArray, ids: IntArray) -> IntArray:
        """Return keys of the structure as keys of solvers, or the reverse.

        For solvers the reference has the key of the truth, and the truth has the key of the reference.
        """
        mine = self.keys[ids]
        return np.where(keys == mine, TRUTH, np.where(keys == TRUTH, mine, keys))

    def replaced(self, other: References, take: NDArray[np.bool_], scratch: FloatArray) -> References:
        """Return the other references for the examples in `take`, and these references for all others."""
        everyone, nobody = np.arange(len(self.keys)), np.full(len(self.keys), -1)
        rows = self.planes.minus(other.planes, np.where(take, -1, everyone), nobody, scratch)
        negative = Planes(other.planes.indptr, other.planes.indices, -other.planes.values)
        planes = rows.minus(negative, everyone, np.where(take, everyone, -1), scratch)
        keys, values = np.where(take, other.keys, self.keys), np.where(take, other.values, self.values)
        return References(keys, values, planes, np.where(take, other.fixed, self.fixed))


#: Number of argmaxes of one thread between two looks at the clock, if there is a time limit.
INTERRUPTIBLE = 16
#: Entries of planes that are computed at once, at least: for fewer, the call takes longer than the work.
CHUNK_ENTRIES = 1 << 16
#: Runs tasks that must not run side by side.
_IN_ORDER = Local(1, most_chunks=sys.maxsize)


class OutOfTime(Exception):
    """The time limit of a run has passed in the middle of a step."""


class Problem:
    """Examples under a bound and an objective.

    After `decode(w, ids)` the arrays `values`, `hinges`, `upper_hinges` and `keys` describe, for each example in ids,
    the most violated plane at w.

    Parameters
    ----------
    examples : Examples
        The encoded data.
    bound : Bound
        The bound that is applied to the planes.
    objective : Objective
        The objective to minimise.
    engine : Engine or None, default=None
        Runs the argmaxes; None means one thread.
    centre : ndarray of shape (dim,) or None, default=None
        w₀ of the regulariser ½‖w − w₀‖². Solvers see v = w − w₀ wherever this class says w: with r⁰ = −w₀·a, the
        hinge b − w·a is (b + r⁰) − v·a, and lower bounds l of w are l − w₀ for v. None means 0.
    positions : ndarray of int64 of shape (n_examples,) or None, default=None
        Index of each example in the user's data, for messages; None if they are the data.

    Attributes
    ----------
    values : ndarray of shape (n_examples,)
        b of the plane, after the bound is applied; with a centre or fixed scores b + r⁰, which may be negative.
    hinges : ndarray of shape (n_examples,)
        b − w·a, at least 0.
    upper_hinges : ndarray of shape (n_examples,)
        Proven upper bounds on the hinges; the same array as `hinges` if nothing else is known.
    searches : bool
        Whether the most violated plane is found by search, because no argmax finds it directly.
    bounded : bool
        Whether argmaxes that are not exact prove upper bounds.
    keys : ndarray of int64 of shape (n_examples,)
        Hash of the output; 0 is the truth.
    oracle_calls : int
        Number of loss-augmented argmaxes so far.
    deadline : float
        Time of the clock `working_seconds` after which argmaxes raise `OutOfTime`.
    closing : bool
        Whether searches that leave a gap look at further outputs, which takes longer.
    """

    #: Whether hinges are sums over outputs (`maxmargin.likelihood`), so no single plane has their value.
    smooth = False

    def __init__(
        self,
        examples: Examples,
        bound: Bound,
        objective: Objective,
        engine: Engine | None = None,
        centre: FloatArray | None = None,
        positions: IntArray | None = None,
    ) -> None:
        if centre is not None and objective.lower is not None:
            objective = replace(objective, lower=objective.lower - centre)
        self.examples, self.bound, self.objective, self.centre = examples, bound, objective, centre
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
        self.deadline, self.closing = np.inf, False
        self._rounding: FloatArray | None = None
        self.references: References | None = None
        self.positions: IntArray = self.everyone if positions is None else positions
        self._keys = np.zeros(n, np.int64)  # keys relative to the references
        self._scratch = Scratch()

    @property
    def keys(self) -> IntArray:
        """Keys of the outputs found, relative to the references if there are some; 0 is the truth or the reference."""
        return self.answers.keys if self.references is None else self._keys

    def weights(self, v: FloatArray) -> FloatArray:
        """Return the weights w = w₀ + v of the structure for the weights v of a solver."""
        return v if self.centre is None else self.centre + v

    def relative(self, w: FloatArray) -> FloatArray:
        """Return the weights v = w − w₀ of a solver for the weights w of the structure."""
        return w if self.centre is None else w - self.centre

    @property
    def shifted(self) -> bool:
        """Whether scores have a part that does not depend on the weights of solvers."""
        return self.centre is not None or self.examples.fixed_scores

    @property
    def offset(self) -> float:
        """Constant term of the objective: Σ C c_i b̃_i of the references."""
        return 0.0 if self.references is None else float(self.objective.budgets @ self.references.values)

    @property
    def scratch(self) -> FloatArray:
        """Array of zeros of this thread, one for each weight; its users leave it zero."""
        return self._scratch.zeros(self.dim)

    @property
    def everyone(self) -> IntArray:
        """Ids of all examples."""
        return np.arange(self.n_examples)

    @property
    def entry_type(self) -> type:
        """Data type of stored plane values: float32 only if that is exact."""
        plain = self.bound.rescaling == "margin" and self.references is None
        return self.examples.value_type if plain else np.float64

    @property
    def operations(self) -> float:
        """Multiply-adds of one sweep over all examples."""
        return self.examples.operations

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """Find the most violated plane of each example in ids, at w."""
        question = self._question(w, ids, self.bound)
        if question is None:
            self.upper_hinges[ids] = self._search(w, ids, self.bound, self.answers)
        else:
            self._ask(question, ids, self.answers)
            if self.bounded and question.method == "decode":
                self.upper_hinges[ids] = self.answers.upper[ids]
        self._apply_bound(ids)
        if self.shifted:
            self._shift_values(w, ids)
        if self.references is not None:
            self._apply_references(w, ids, self.references)

    def _question(self, w: FloatArray, ids: IntArray, bound: Bound) -> Question | None:
        """Return the question for the outputs of greatest violation; None if they are found by search over scale."""
        self.examples.begin(ids)
        if bound.form in (MARGIN, RISE):
            return Question("decode", self.weights(w), np.full(len(ids), float(bound.valued)))
        return Question("decode_bound", self.weights(w), bound) if self.examples.exact_for(bound) else None

    def _search(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> FloatArray:
        """Write the outputs of greatest violation, found by search, and return upper bounds on the violations."""
        w = self.weights(w)
        if not self.examples.fixed_scores and not w.any():  # no output rises: the greatest loss is the argmax
            self._ask(Question("decode", w, np.ones(len(ids))), ids, answers)
            return np.maximum(bound.violation(answers.rises[ids], answers.losses[ids]), 0.0)
        upper = search_over_scale(
            bound, ids, self.examples.code_offsets, answers,
            lambda some, scales: self._ask(Question("decode", w, scales), some, answers),
        )  # fmt: skip
        return self._closed(w, ids, bound, answers, upper) if self.closing else upper

    def _closed(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers, upper: FloatArray) -> FloatArray:
        """Look at further outputs of the examples whose search left a gap, and return the new upper bounds."""
        violations = bound.violation(answers.rises[ids], answers.losses[ids])
        left = np.flatnonzero(upper > np.maximum(violations, 0.0) + CLOSED * (1.0 + np.abs(violations)))

        def close(some: IntArray, chunk: slice) -> None:
            upper[left[chunk]] = self.examples.close(w, some, bound, answers, upper[left[chunk]])

        self._mapper(len(left))(close, ids[left])
        self._check_answers(ids[left], answers)
        return upper

    def close_searches(self) -> bool:
        """Look at further outputs from now on where searches leave a gap; return whether that is a change."""
        possible = self.searches and not self.closing and self.examples.closes
        self.closing = self.closing or possible
        return possible

    @property
    def out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        return working_seconds() > self.deadline

    def _ask(self, question: Question, ids: IntArray, answers: Answers) -> None:
        """Write the answers of ids, in threads or in other processes."""
        self.oracle_calls += len(ids)
        if self.examples.elsewhere:
            self.examples.ask(question, ids, answers, self._check_time)  # type: ignore[attr-defined]
        elif self.engine.remote and self.examples.portable:
            self.engine.ask(self.examples, question, ids, answers, self._check_time)
        else:
            self._mapper(len(ids))(partial(question.ask, self.examples, answers=answers), ids)
        self._check_answers(ids, answers)

    def decode_plain(self, w: FloatArray, ids: IntArray, trial: FloatArray, answers: Answers) -> None:
        """Write plain argmaxes of a user-defined structure at other weights, with losses and rises at w."""
        question = Question("decode_plain", w, [trial])
        if self.engine.remote and self.examples.portable:
            self.engine.ask(self.examples, question, ids, answers)
        else:
            question.ask(self.examples, ids, slice(0, len(ids)), answers)

    def _mapper(self, n: int) -> Callable[[Callable[[IntArray, slice], None], IntArray], None]:
        """Return the function that runs a task for chunks of n examples.

        With a time limit, also argmaxes in one thread are interruptible.
        """
        if self.examples.parallel:
            return partial(self.engine.map, smallest=self.examples.smallest_chunk, before=self._check_time)
        smallest = n if np.isinf(self.deadline) else INTERRUPTIBLE
        return partial(_IN_ORDER.map, smallest=smallest, before=self._check_time)

    def _check_time(self) -> None:
        """Raise OutOfTime if the time limit has passed."""
        if self.out_of_time:
            raise OutOfTime

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
        worse = (hinges <= 0) | (answers.keys[ids] == TRUTH)  # the truth itself is one of the outputs
        answers.keys[ids[worse]] = TRUTH
        self.hinges[ids] = np.where(worse, 0.0, hinges)
        self.values[ids] = np.where(worse, 0.0, self.bound.value(losses))
        if self.upper_hinges is not self.hinges:
            self.upper_hinges[ids] = np.maximum(self.upper_hinges[ids], self.hinges[ids])

    def _shift_values(self, w: FloatArray, ids: IntArray) -> None:
        """Set the values to hinge + w·a, with the part of the rise that does not depend on w."""
        ids = ids[self.answers.keys[ids] != TRUTH]
        for k in range(0, len(ids), TOGETHER):
            some = ids[k : k + TOGETHER]
            self.values[some] = self.hinges[some] + self._bound_planes(some, self.answers).dot(w)

    def _apply_references(self, w: FloatArray, ids: IntArray, references: References) -> None:
        """Make planes, values and hinges relative to the references.

        The reference itself has hinge 0, so hinges below 0 are replaced by the reference.
        """
        levels = references.levels(w, ids)
        hinges, keys = self.hinges[ids] - levels, references.swapped(self.answers.keys[ids], ids)
        itself = (hinges <= 0) | (keys == TRUTH)
        self._keys[ids] = np.where(itself, TRUTH, keys)
        self.hinges[ids] = np.where(itself, 0.0, hinges)
        self.values[ids] = np.where(itself, 0.0, self.values[ids] - references.values[ids] - references.fixed[ids])
        if self.upper_hinges is not self.hinges:
            self.upper_hinges[ids] = np.maximum(self.upper_hinges[ids] - levels, self.hinges[ids])

    def planes(self, ids: IntArray) -> Planes:
        """Return the planes found for ids, with the bound applied."""
        if self.references is None:
            return self._bound_planes(ids, self.answers)
        other = self.answers.keys[ids] != TRUTH
        planes = self._bound_planes(ids[other], self.answers)
        return planes.minus(self.references.planes, renumbered(other), ids, self.scratch)

    def plane_chunks(self, ids: IntArray) -> list[slice]:
        """Return chunks of ids whose planes may be computed in several threads: one unless that is compiled code."""
        if len(ids) == 0 or not (self.examples.parallel and self.examples.coded):
            return [slice(0, len(ids))]
        entries = self.examples.plane_entries[ids]
        return batches(entries, max(CHUNK_ENTRIES, int(entries.sum()) // self.engine.most_chunks))

    def _bound_planes(self, ids: IntArray, answers: Answers) -> Planes:
        planes = self.examples.planes(ids, answers)
        if self.bound.rescaling == "slack":
            planes = planes.scaled(self.bound.factor(answers.losses[ids]))
        return planes

    # ------------------------------------------------------------------ references

    def references_at(self, w: FloatArray, latent: bool) -> References:
        """Return the references at w: the results of the second argmax of a bound that is not convex.

        They are the completions of the truths (latent variables) or the outputs with the greatest β (a ramp).
        """
        everyone, answers = self.everyone, self._empty_answers()
        if latent:
            self.examples.begin(everyone)
            self._ask(Question("complete", self.weights(w)), everyone, answers)
            self._check_completions(answers)
            return self._as_references(answers, w)
        bound = replace(self.bound, valued=False)
        question = self._question(w, everyone, bound)
        if question is None:
            self._search(w, everyone, bound, answers)
        else:
            self._ask(question, everyone, answers)
        return self._as_references(answers, w)

    def prediction_losses(self, w: FloatArray) -> FloatArray:
        """Return the loss Δ(y_i, argmax) of every example."""
        answers = self._empty_answers()
        self.examples.begin(self.everyone)
        self._ask(Question("decode", self.weights(w), np.zeros(self.n_examples)), self.everyone, answers)
        return answers.losses

    def first_references(self, rng: np.random.Generator) -> References:
        """Return the initial completions of a latent structure as references."""
        answers = self._empty_answers()
        self.examples.begin(self.everyone)
        self.examples.initial_completion(rng, answers)
        self._check_completions(answers)
        return self._as_references(answers)

    def _empty_answers(self) -> Answers:
        return self.examples.empty_answers()

    def _as_references(self, answers: Answers, w: FloatArray | None = None) -> References:
        """Return answers as references; their rises are those at w, or unknown without w (first completions)."""
        other = answers.keys != TRUTH
        rows = self._bound_planes(np.flatnonzero(other), answers)
        nothing = References.truths(self.n_examples)
        planes = rows.minus(nothing.planes, renumbered(other), self.everyone, self.scratch)
        values, fixed = np.where(other, self.bound.value(answers.losses), 0.0), nothing.fixed
        if self.shifted and w is not None:
            fixed = np.where(other, self.bound.factor(answers.losses) * answers.rises, 0.0) + planes.dot(w)
        elif self.centre is not None:
            fixed = -planes.dot(self.centre)
        return References(answers.keys.copy(), values, planes, fixed)

    @staticmethod
    def _check_completions(answers: Answers) -> None:
        bad = np.flatnonzero(answers.losses != 0.0)
        if len(bad):
            raise StructureError.at(
                Place("X", bad[0]),
                f"complete must return an output consistent with y, but the loss between y and the completion is "
                f"{answers.losses[bad[0]]}, expected 0",
            )

    def hold(self, ids: IntArray) -> None:
        """Tell the examples that a solver stores the planes found for ids."""
        self.examples.hold(ids[self.answers.keys[ids] != TRUTH], self.answers)

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Return Σ slopes[i] a of the planes found last, one per example."""
        ids, out = np.flatnonzero(slopes), np.zeros(self.dim)
        if self.references is None and self.bound.rescaling == "margin":
            self.examples.aggregate(ids, self.answers, slopes[ids], out)
            return out
        for k in range(0, len(ids), TOGETHER):
            some = ids[k : k + TOGETHER]
            self.planes(some).weighted_sum(slopes[some], out)
        return out

    def primal(self, w: FloatArray) -> tuple[float, float]:
        """Return P(w) from the hinges found for all examples at w, and a proven upper bound on P(w)."""
        value = self.objective.primal(w, self.hinges)
        if self.objective.hard:
            return value, value if self.exact else np.inf
        upper = self.proven_hinges(w)
        with np.errstate(over="ignore"):
            return value, np.inf if upper is None else self.objective.primal(w, upper)

    def proven_hinges(self, w: FloatArray) -> FloatArray | None:
        """Return upper bounds on the hinges at w, rounding errors included; None if nothing is proven."""
        return self.upper_hinges + self.rounding_errors(w) if self.exact or self.proves_bounds else None

    @property
    def sum_errors(self) -> float:
        """Bound on what rounding errors of sums over outputs add to Σ C c_i b; planes of single outputs have none."""
        return 0.0

    def rounding_errors(self, w: FloatArray) -> FloatArray:
        """Return bounds on the rounding errors of the hinges at w."""
        if self._rounding is None:
            self._rounding = self.examples.rounding_units()
        return self._rounding * self._rounding_scale(w)

    def _rounding_scale(self, w: FloatArray) -> float:
        factor = float(self.bound.factor(max(float(self.answers.losses.max(initial=0.0)), 1.0)))
        return float(np.linalg.norm(self.weights(w))) * factor

    def bound_with_planes_found(self, w: FloatArray, bound: float) -> float:
        """Return a bound on P(w) that considers the rounding errors of all planes found so far.

        Outputs of user-defined structures are not known before they are found, so `rounding_errors` knows the size
        of true outputs only.
        """
        units = self.examples.rounding_units_found()
        if units is None or not np.isfinite(bound) or self.objective.hard:
            return bound
        with np.errstate(over="ignore"):
            return max(bound, self.objective.primal_at_most(w, bound, units * self._rounding_scale(w)))

    @property
    def proves_bounds(self) -> bool:
        """Whether `upper_hinges` are proven although argmaxes are found by search or are not exact."""
        return self.bounded or (self.searches and self.examples.exact)
