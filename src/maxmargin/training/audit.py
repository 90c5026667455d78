"""Audit of the argmaxes of a user-defined structure after a fit.

A wrong argmax can end a fit early with a certificate that looks proven: a loss-augmented argmax that returns y, or that
subtracts the loss, finds no violated margin at w = 0. So a few examples are asked again, and each answer is compared
with all outputs known for its example: the truth, the other answers, and outputs of planes that the solver holds. The
calls are not counted in `oracle_calls`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Bounded
from maxmargin.custom.calls import loss_values, read_only, shown
from maxmargin.custom.examples import CustomExamples
from maxmargin.custom.joint_features import sparse_vector, value_fault
from maxmargin.custom.sameness import own_copy

#: Number of examples that are asked: at most, and at least if there are as many.
MOST_EXAMPLES, FEWEST_EXAMPLES = 16, 4
#: Number of argmaxes of the fit for each example that is asked, which is three argmaxes (five if all weights are 0).
CALLS_PER_EXAMPLE = 30
#: Number of outputs of held planes that are compared, per example.
MOST_HELD = 8
#: Tolerance relative to Σ |w_j Ψ_j| and Δ: the rounding errors, also in float32, that an argmax is allowed.
TOLERANCE = 1e-6


@dataclass
class _Known:
    """An output of an example with its joint feature and loss."""

    shown: str
    origin: str
    indices: IntArray
    values: FloatArray
    loss: float

    def score(self, w: FloatArray) -> float:
        return float(self.values @ w[self.indices])

    def magnitude(self, w: FloatArray) -> float:
        return float(np.abs(self.values) @ np.abs(w[self.indices]))


@dataclass
class _Answer:
    """An output that a method returned, at weights that `at` describes; `scale` is None for `bound_argmax`."""

    method: str
    at: str
    w: FloatArray
    scale: float | None
    output: _Known
    upper: float


class _FaultError(Exception):
    """A contradiction, as a message about the example."""


def audit(problem: Problem, w: FloatArray, objective: float, seed: int, held: dict[int, list[Any]]) -> str | None:
    """Return a message about the first contradiction found on a sample of examples, or None.

    Parameters
    ----------
    problem : Problem
        The problem; there is nothing to audit unless its structure is user-defined.
    w : ndarray of shape (dim,)
        The weights learnt.
    objective : float
        The objective at these weights, by the argmaxes of the fit.
    seed : int
        Seed of the sample.
    held : dict of int to list
        Outputs that the solver holds, by example; None for outputs that were lost.

    Returns
    -------
    str or None
        The message, which begins with the example.
    """
    examples = problem.examples
    if not isinstance(examples, CustomExamples):
        return None
    rng, n = np.random.default_rng([seed, problem.n_examples]), problem.n_examples
    size = min(n, MOST_EXAMPLES, max(FEWEST_EXAMPLES, problem.oracle_calls // CALLS_PER_EXAMPLE))
    inquiry = _Inquiry(problem, examples, w, objective, rng)
    for i in np.sort(rng.choice(n, size, replace=False)).tolist():
        try:
            inquiry.examine(i, [output for output in held.get(i, ()) if output is not None][:MOST_HELD])
        except _FaultError as fault:
            return f"X[{problem.positions[i]}]: {fault}"
    return None


class _Inquiry:
    """Calls of the argmaxes on one example after another."""

    def __init__(
        self, problem: Problem, examples: CustomExamples, w: FloatArray, objective: float, rng: np.random.Generator
    ) -> None:
        self.examples, self.structure, self.bound = examples, examples.structure, problem.bound
        self.w, self.zero = w, problem.objective.raised(np.zeros(problem.dim))
        self.nothing_learnt = np.array_equal(w, self.zero)
        self.here = "the weights learnt" if w.any() else "weights of 0"
        self.judged = examples.exact or (self.nothing_learnt and objective == 0.0)
        self.trials: list[FloatArray] = []
        if self.nothing_learnt and objective == 0.0:  # argmaxes at other weights may find an output with a loss
            first = problem.objective.raised(rng.normal(size=problem.dim))
            second = -first if problem.objective.lower is None else first[::-1].copy()
            self.trials = [first, problem.objective.raised(second)]

    def examine(self, i: int, held: list[Any]) -> None:
        """Raise _FaultError if an answer for example i is contradicted."""
        pool = [self._truth(i)]
        for output in held:
            known = self._measured(i, output, "an output found during the fit")
            if known is not None:
                pool.append(known)
        answers: list[_Answer] = []
        x, y = self.examples.X[i], self.examples.Y[i]
        argmax, augmented = self.structure.argmax, self.structure.loss_augmented_argmax
        exact_for_bound = self.bound.form != 0 and self.examples.exact_for(self.bound)

        def ask(name: str, at: str, w: FloatArray, method: Callable[..., Any], scale: float | None, *rest: Any) -> None:
            answer = self._asked(i, name, at, w, method, scale, *rest)
            if answer is not None:
                answers.append(answer)
                pool.append(answer.output)

        ask("argmax", self.here, self.w, argmax, 0.0, x)
        if exact_for_bound:
            method = self.structure.bound_argmax  # type: ignore[attr-defined]
            ask("bound_argmax", self.here, self.w, method, None, x, y, self.bound)
        else:
            ask("loss_augmented_argmax", self.here, self.w, augmented, 1.0, x, y, 1.0)
            if not self.nothing_learnt:
                ask("loss_augmented_argmax", "weights of 0", self.zero, augmented, 1.0, x, y, 1.0)
        for w in self.trials:
            ask("argmax", "random weights", w, argmax, 0.0, x)
        for answer in answers:
            self._judge(answer, pool)

    def _truth(self, i: int) -> _Known:
        truths = self.examples.truths
        span = slice(int(truths.indptr[i]), int(truths.indptr[i + 1]))
        indices, values = truths.indices[span].astype(np.int64), truths.values[span].astype(float)
        return _Known(shown(self.examples.outputs_known[i]), "the true output", indices, values, 0.0)

    def _asked(
        self, i: int, name: str, at: str, w: FloatArray, method: Callable[..., Any], scale: float | None, *rest: Any
    ) -> _Answer | None:
        """Return the answer of a method; None if it fails, as it will again in `predict`, or at other weights."""
        try:
            found = method(read_only(w), *rest)
        except Exception:
            return None
        upper = float(found.upper) if isinstance(found, Bounded) else np.inf
        output = own_copy(found.output if isinstance(found, Bounded) else found)
        known = self._measured(i, output, f"the result of {name}", name if w is self.w else "")
        return None if known is None else _Answer(name, at, w, scale, known, upper)

    def _measured(self, i: int, output: Any, origin: str, name: str = "") -> _Known | None:
        """Return Ψ and Δ of an output; if they are not valid, None, or a fault of the method `name`."""
        try:
            indices, values, length = sparse_vector(self.structure.joint_feature(self.examples.X[i], output))
            indices, values = np.array(indices, np.int64), np.array(values, float)
            dim = self.examples.dim
            if length not in (None, dim) or (indices < 0).any() or (indices >= dim).any():
                raise ValueError(f"joint_feature returned {length or 'other'} weights, expected {dim}")
            if value_fault(values):
                raise ValueError(f"joint_feature {value_fault(values)}")
            loss = float(loss_values([self.structure.loss(self.examples.Y[i], output)], np.array([i]))[0])
            if not self.examples.feasible(i, output):
                raise ValueError("feasible rejects it")
        except Exception as error:
            if not name:
                return None
            what = f"{type(error).__name__}: {error}"
            raise _FaultError(f"{name} returned {shown(output)}, which is not a valid output ({what})") from None
        return _Known(shown(output), origin, indices, values, loss)

    def _judge(self, answer: _Answer, pool: list[_Known]) -> None:
        """Raise _FaultError if a known output beats the answer, or exceeds its upper bound."""
        w, scale, losses = answer.w, answer.scale, np.array([known.loss for known in pool])
        scores = np.array([known.score(w) for known in pool])
        room = TOLERANCE * (
            max(known.magnitude(w) for known in pool) + (1.0 if scale is None else scale) * losses.max()
        )
        if scale is None:
            value, what = self.bound.violation(scores - scores[0], losses), "the violation"
            room *= 1.0 + losses.max()
        else:
            value, what = scores + scale * losses, "w·Ψ + Δ" if scale else "w·Ψ"
        rival = int(value.argmax())
        best, own = pool[rival], float(value[next(k for k, known in enumerate(pool) if known is answer.output)])
        if value[rival] > answer.upper + room:
            raise _FaultError(
                f"{answer.method} returned the upper bound {answer.upper:g} of {what} at {answer.at}, but "
                f"{best.shown}, {best.origin}, has {value[rival]:g}"
            )
        if self.judged and value[rival] > own + room:
            if value[0] > own + room:
                rival, best = 0, pool[0]
            nothing = "; all weights are 0, so nothing was learnt" if self.nothing_learnt else ""
            raise _FaultError(
                f"{answer.method} returned {answer.output.shown} with {what} = {own:g} at {answer.at}, but "
                f"{best.shown}, {best.origin}, has {value[rival]:g}{nothing}"
            )
