"""Problems with a sum over outputs in the place of the maximum: likelihood and softmax-margin, as solvers see them.

With a temperature T, the hinge of example i becomes

    H_i(w) = T log Σ_ŷ exp((w·Ψ(x, ŷ) + Δ(y, ŷ)) / T) − w·Ψ(x, y),

the negative log-likelihood of a conditional random field if T = 1 and Δ = 0 (Lafferty et al. 2001), the softmax-margin
of Gimpel and Smith 2010 with the loss Δ, and the hinge of margin re-scaling for T → 0. It is smooth and convex; its
tangent at w is a plane (a, b) with a = Ψ(x, y) − E[Ψ(x, ŷ)] and b = T · entropy + E[Δ] ≥ 0. So expectations over the
probabilities at any weights are dual points, and certificates are as true as those of hinges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.objective import Objective
from maxmargin.core.sums import size_of_scores, tempered
from maxmargin.engines.engine import Engine
from maxmargin.engines.tasks import Tasks
from maxmargin.problem import Problem

#: Most numbers that the partial gradients of all chunks may take together; otherwise chunks run one after the other.
MOST_PARTIAL = 1 << 26
#: Rounding error of a sum of exponentials, relative to the logarithm of the sum.
ROUNDING = 1e-13
#: Rounding error of an entropy, relative to the square of log Z and of the greatest score: errors of probabilities are
#: relative to scores, and multiply them.
ENTROPY_ROUNDING = 4e-15


@dataclass(frozen=True)
class SmoothBound:
    """A sum over outputs in the place of the maximum.

    Parameters
    ----------
    margin : bool
        Whether the loss is added to the scores (softmax-margin) or not (likelihood).
    temperature : float, default=1.0
        T.
    """

    margin: bool
    temperature: float = 1.0

    rescaling = "margin"
    slack = "linear"
    form = 0

    def value(self, loss: FloatArray) -> FloatArray:
        """Return b of a plane with this loss."""
        return loss

    def factor(self, loss: FloatArray | float) -> FloatArray:
        """Return the factor by which a is multiplied."""
        return np.ones_like(np.asarray(loss, float))


class SmoothProblem(Problem):
    """Examples under a smooth bound and an objective.

    Parameters
    ----------
    examples : Examples
        The encoded data, with sums over their outputs.
    bound : SmoothBound
        The bound.
    objective : Objective
        The objective to minimise; its slack is linear.
    engine : Engine or None, default=None
        Runs the sums; None means one thread.
    centre : ndarray of shape (dim,) or None, default=None
        w₀ of the regulariser, as in `Problem`.
    positions : ndarray of int64 of shape (n_examples,) or None, default=None
        Index of each example in the user's data, for messages.
    """

    smooth = True

    def __init__(
        self,
        examples: Examples,
        bound: SmoothBound,
        objective: Objective,
        engine: Engine | None = None,
        centre: FloatArray | None = None,
        positions: IntArray | None = None,
    ) -> None:
        if not examples.summable:
            raise examples.not_summable()
        if examples.latent:
            raise TypeError("the truth has latent variables, so it has no likelihood; use bound='margin'")
        super().__init__(examples, bound, objective, engine, centre, positions)  # type: ignore[arg-type]
        self.smooth_bound = bound
        self.exact, self.searches, self.bounded = True, False, False
        self.upper_hinges = self.hinges
        self._errors, self._rooms = np.zeros(self.n_examples), np.zeros(self.n_examples)
        self._row = np.zeros(self.dim)  # Σ C c_i a_i at the weights of the last decode

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """Compute hinges and the aggregate plane at w; `ids` must be all examples."""
        if len(ids) != self.n_examples:
            raise ValueError(f"sums are computed for all {self.n_examples} examples at once, not for {len(ids)}")
        self._row = -self._swept(w, evaluate)

    def curvatures(self, w: FloatArray) -> FloatArray:
        """Return an estimate of the second derivatives of the objective at w, as if parts were independent.

        A part of probability p has the variance p (1 − p), whose sum with the squares of features is the diagonal of
        the Hessian; of a table that examples share half the expected counts are taken.
        """
        return 1.0 + np.maximum(self._swept(w, add_curvatures), 0.0)

    def _swept(self, w: FloatArray, function: Sum) -> FloatArray:
        """Return the sum of what a function adds for each chunk of examples, which does not depend on threads.

        It does not depend on workers either, but on the shards, if examples are in some.
        """
        self.oracle_calls += self.n_examples
        at, budgets, examples = self.weights(w), self.objective.budgets, self.examples
        if examples.elsewhere:
            asked = examples.evaluate(at, partial(packed_sum, function, self.smooth_bound), budgets, self._check_time)  # type: ignore[attr-defined]
            return self._added(asked)
        size = -(-self.n_examples // self.engine.most_chunks)
        chunks = [np.arange(k, min(k + size, self.n_examples)) for k in range(0, self.n_examples, size)]
        if isinstance(self.engine, Tasks) and examples.portable:
            arguments = [(ids, budgets[ids]) for ids in chunks]
            task = partial(packed_sum, function, self.smooth_bound)
            results = self.engine.evaluate(examples, at, task, arguments, self._check_time)
            return self._added(zip(chunks, results, strict=True))
        apart = self.dim * len(chunks) <= MOST_PARTIAL
        total: FloatArray = np.zeros(self.dim)
        sums = [np.zeros(self.dim) if apart else total for _ in chunks]

        def one(some: IntArray, chunk: slice) -> None:
            self._check_time()
            computed = function(examples, self.smooth_bound, at, some, budgets[some], sums[chunk.start // size])
            self._take(some, computed)

        if apart and examples.parallel:
            self.engine.map(one, self.everyone, size)
        else:
            for ids in chunks:
                one(ids, slice(int(ids[0]), int(ids[-1]) + 1))
        if apart:
            for part in sums:  # in a fixed order, so sums do not depend on the number of threads
                total += part
        return total

    def _take(self, ids: IntArray, computed: Computed | None) -> None:
        """Set hinges, values and rounding errors of ids, if they were computed."""
        if computed is not None:
            self.hinges[ids], self._errors[ids], self._rooms[ids] = computed[0], computed[2], computed[3]
            self.values[ids] = 0.0 if self.shifted else computed[1]
            self.answers.keys[ids] = 1  # no single output

    def _added(self, parts: Iterable[tuple[IntArray, tuple[Computed | None, Any]]]) -> FloatArray:
        """Take over what workers have computed for examples, and return the sum, added up in order."""
        total: FloatArray = np.zeros(self.dim)
        for ids, (computed, packed) in parts:
            self._take(ids, computed)
            if isinstance(packed, tuple):
                total[packed[0]] += packed[1]
            else:
                total += packed
        return total

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Return Σ C c_i a_i at the weights of the last decode; penalties are linear, so slopes are C c_i."""
        return self._row.copy()

    def gradient(self, w: FloatArray) -> FloatArray:
        """Return the gradient of the objective at the weights of the last decode."""
        return w - self._row

    @property
    def sum_errors(self) -> float:
        return float(self.objective.budgets @ (self._rooms + self._errors))

    def rounding_errors(self, w: FloatArray) -> FloatArray:
        return super().rounding_errors(w) + self._errors

    def bound_with_planes_found(self, w: FloatArray, bound: float) -> float:
        return bound


#: Hinges, values and rounding errors of both of some examples.
Computed = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
#: Called as (examples, bound, w, ids, budgets, out): adds to `out`.
Sum = Callable[[Examples, SmoothBound, FloatArray, IntArray, FloatArray, FloatArray], "Computed | None"]


def evaluate(
    examples: Examples, bound: SmoothBound, w: FloatArray, ids: IntArray, budgets: FloatArray, out: FloatArray
) -> Computed:
    """Return hinges, values b and rounding errors of ids, and add Σ C c_i (E[Ψ] − Ψ(y)) to `out`."""
    T = bound.temperature
    scores = examples.scores(w, ids)
    true = examples.true_totals(scores, ids)
    full = examples.augmented(scores, ids, np.ones(len(ids))) if bound.margin else scores
    # a constant of the loss may be missing in the augmented scores, of the truth as of every other output
    level = examples.true_totals(full, ids) if bound.margin else true
    sums = examples.sums(tempered(full, T), ids, budgets)
    logs = T * sums.log_partitions
    examples.subtract_truths(sums.marginals, scores, ids, budgets)
    examples.add_features(sums.marginals, ids, out)
    hinges, errors = np.maximum(logs - level, 0.0), ROUNDING * (np.abs(logs) + np.abs(level))
    size = np.abs(logs) + T * size_of_scores(full)
    with np.errstate(over="ignore"):
        room = ENTROPY_ROUNDING * size**2 / T
    return hinges, np.maximum(T * sums.entropies - room, 0.0), errors, room


def add_curvatures(
    examples: Examples, bound: SmoothBound, w: FloatArray, ids: IntArray, budgets: FloatArray, out: FloatArray
) -> None:
    """Add estimates of second derivatives to `out`."""
    T = bound.temperature
    scores = tempered(examples.scores(w, ids), T)
    marginals, shared = examples.sums(scores, ids, budgets).marginals, [not b.starts[-1] for b in scores]
    for values, block, table in zip(marginals, scores, shared, strict=True):
        if table:
            values *= 0.5 / T
        else:
            each = np.repeat(budgets, np.diff(block.starts))
            values *= (1.0 - values / np.maximum(each, 1e-300)) / T
    examples.add_features(marginals, ids, out, squared=True)


def packed_sum(
    function: Sum, bound: SmoothBound, examples: Examples, w: FloatArray, ids: IntArray, budgets: FloatArray
) -> tuple[Computed | None, Any]:
    """Return the result of a function and the sum that it adds: the nonzero entries, if that is shorter."""
    out: FloatArray = np.zeros(len(w))
    computed = function(examples, bound, w, ids, budgets, out)
    where = np.flatnonzero(out)
    if 12 * len(where) < out.nbytes:
        return computed, (where.astype(np.uint32), out[where])
    return computed, out
