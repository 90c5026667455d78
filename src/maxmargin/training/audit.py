"""Audit of the argmaxes of user code after a fit: of user-defined structures and of optimisers.

A wrong argmax can end a fit early with a certificate that looks proven: a loss-augmented argmax that returns y, or that
subtracts the loss, finds no violated margin at w = 0. So all examples are decoded once more at the weights learnt, and
each answer is compared with the planes that the solver holds, and with all outputs where a user-defined structure lists
few (`enumerate`); only then the certificate is proven. Otherwise plain argmaxes at other weights find another output of
each example, or of as many as half of the argmaxes of the fit; outputs that are better than the answers make their
examples suspect. Suspects, and a sample of examples, are asked several questions each, and
each answer is compared with all outputs known for its example: the truth, the other answers, and outputs of planes that
the solver holds. The calls are not counted in `oracle_calls`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._base.types import IntArray
from maxmargin.core.structure import StructureError, plain_output, proven_bound
from maxmargin.custom.any_values import own_copy
from maxmargin.custom.arguments import shown
from maxmargin.custom.comparison import TOLERANCE, Answer, Comparison, Findings, Output
from maxmargin.custom.examples import MOST_LISTED, CustomExamples
from maxmargin.custom.probe import FAILED, Probe
from maxmargin.optimizers.optimizer import Optimizer
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures.decisions.examples import DecisionExamples

#: Number of questions per argmax of the fit and per example.
SHARE, QUESTIONS = 0.1, 3
#: Number of examples that are asked: of 200, one of the 2 % whose argmax is wrong is among them in 98 % of all audits.
FEWEST_EXAMPLES, MOST_EXAMPLES = 4, 200
#: Number of plain argmaxes at other weights per argmax of the fit, one for each example at most.
PLAIN_SHARE = 0.5
#: Number of outputs of held planes that are compared, per example.
MOST_HELD = 4


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    fault : str or None, default=None
        A message about the first contradiction found, which begins with the example.
    complete : bool, default=False
        Whether the answers at the weights learnt were compared with all outputs of all examples.
    """

    fault: str | None = None
    complete: bool = False


def audit(problem: Problem, state: State, seed: int, held: dict[int, list[Any]], sweep: bool = True) -> Audit:
    """Return the first contradiction found, if any.

    Parameters
    ----------
    problem : Problem
        The problem, whose argmaxes are user code.
    state : State
        The last state of the solver.
    seed : int
        Seed of the sample.
    held : dict of int to list
        Outputs that the solver holds, by example; None for outputs that were lost.
    sweep : bool, default=True
        Whether there is time to decode all examples once more.
    """
    examples = problem.examples
    rng, n, complete = np.random.default_rng([seed, problem.n_examples]), problem.n_examples, False
    fault = examples.fault
    if fault is not None and examples.user_code:  # opposite costs may show why
        fault = _Decisions(problem, examples, state, rng, swept=False).first_fault(np.array([fault[0]]), held) or fault
    if fault is None and sweep:
        fault = _compared_with_planes(problem, state) or examples.fault
    own = examples if sweep and isinstance(examples, CustomExamples) and problem.references is None else None
    if fault is None and own is not None and own.exact and own.closes:
        fault, complete = _compared_with_all(problem, own, state)
    if fault is None and not complete:
        suspects = dict[int, Any]()
        inquiry: type[_Inquiry] = _Decisions if isinstance(examples, DecisionExamples) else _Outputs
        if own is not None and problem.exact:
            suspects = _suspects(problem, own, state, rng, min(n, int(PLAIN_SHARE * state.oracle_calls)))
        size = min(max(FEWEST_EXAMPLES, int(SHARE * state.oracle_calls) // QUESTIONS), MOST_EXAMPLES, n)
        sample = np.sort(rng.choice(n, size, replace=False))
        asked = np.concatenate([np.array(list(suspects), np.int64), sample])
        known = held | {i: [output, *held.get(i, ())] for i, output in suspects.items()}
        fault = inquiry(problem, examples, state, rng, sweep).first_fault(asked, known)
    message = None if fault is None else f"X[{problem.positions[fault[0]]}]: {fault[1]}"
    return Audit(message, complete)


def _compared_with_all(problem: Problem, examples: CustomExamples, state: State) -> tuple[tuple[int, str] | None, bool]:
    """Compare answers with all outputs that `enumerate` lists, while they are no more than the argmaxes of the fit.

    Return an example whose answer is beaten, and whether all outputs of all examples were compared.
    """
    w, left, ids = problem.weights(state.best_w), state.oracle_calls, problem.everyone
    for n_compared, i in enumerate(ids.tolist()):
        try:
            n_outputs = examples.number_listed(i)
        except StructureError:  # a fault of `enumerate`, which the fit does not need
            return None, False
        left -= n_outputs
        if left < 0 or n_outputs > MOST_LISTED:
            ids = ids[:n_compared]
            break
    if len(ids) == 0:
        return None, problem.n_examples == 0
    try:
        best, answers = examples.best_listed(w, ids, problem.bound)
    except StructureError:
        return None, False
    known = problem.upper_hinges[ids]
    excess = best - known - TOLERANCE * (1.0 + np.abs(answers.rises[ids]) + answers.losses[ids] + known)
    worst = int(np.argmax(excess))
    if excess[worst] <= 0.0:
        return None, len(ids) == problem.n_examples
    i = int(ids[worst])
    return (
        i,
        f"the argmax violates its margin by {known[worst]:.6g} at the weights learnt, but "
        f"{shown(answers.outputs[i])}, an output that enumerate lists, violates its own by {best[worst]:.6g}",
    ), False


def _compared_with_planes(problem: Problem, state: State) -> tuple[int, str] | None:
    """Decode all examples at the best weights, and return an example whose answer is worse than a plane held."""
    w = state.best_w
    problem.decode(w, problem.everyone)
    if problem.exact and not problem.objective.hard:
        primal = problem.primal(w)[0]
        if primal > state.best_primal * (1.0 + TOLERANCE) + TOLERANCE:
            changed = int(np.argmax(problem.hinges))
            return changed, (
                f"the objective at the weights learnt is {primal:.6g} by the argmaxes, and was {state.best_primal:.6g} "
                f"before: an argmax must return the same output for the same weights"
            )
    support = state.support(problem)
    if support is None or not problem.exact or len(support["example"]) == 0:
        return None
    planes, values, ids = support["planes"], support["value"], support["example"]
    sizes = np.abs(values) + type(planes)(planes.indptr, planes.indices, np.abs(planes.values)).dot(np.abs(w))
    worth = values - planes.dot(w)
    excess = worth - problem.hinges[ids] - TOLERANCE * (1.0 + sizes + problem.hinges[ids])
    worst = int(np.argmax(excess))
    if excess[worst] <= 0.0:
        return None
    method = "solve" if isinstance(problem.examples, DecisionExamples) else "loss_augmented_argmax"
    return int(ids[worst]), (
        f"{method} returned an output that violates its margin by {problem.hinges[ids[worst]]:.6g} at the weights "
        f"learnt, but an output that it returned before violates its own by {worth[worst]:.6g}"
    )


def _suspects(
    problem: Problem, examples: CustomExamples, state: State, rng: np.random.Generator, size: int
) -> dict[int, Any]:
    """Return examples with an output that seems better than the answer of the last sweep, the worst ones first.

    The outputs are plain argmaxes at other weights, whose violations at the best weights are compared with the hinges.
    """
    w, noise = problem.weights(state.best_w), rng.normal(size=problem.dim)
    ids = np.sort(rng.choice(problem.n_examples, size, replace=False))
    trial = problem.objective.raised(w + np.abs(w) * noise if w.any() else noise)
    answers = examples.empty_answers()
    try:
        problem.decode_plain(w, ids, trial, answers)
    except StructureError:  # the fit may never need such weights
        return {}
    violations, hinges = problem.bound.violation(answers.rises[ids], answers.losses[ids]), problem.hinges[ids]
    excess = violations - hinges - TOLERANCE * (1.0 + np.abs(answers.rises[ids]) + answers.losses[ids] + hinges)
    worst = np.argsort(-excess, kind="stable")[:FEWEST_EXAMPLES]
    return {i: answers.outputs[i] for i in ids[worst[excess[worst] > 0.0]].tolist()}


class _Inquiry(ABC):
    """Questions about one example after another."""

    def __init__(self, problem: Problem, examples: Any, state: State, rng: np.random.Generator, swept: bool) -> None:
        self.swept = problem.answers if swept and not problem.searches and examples.exact else None
        self.examples, self.bound, self.objective, self.rng = examples, problem.bound, problem.objective, rng
        self.w, self.zero = problem.weights(state.best_w), problem.objective.raised(np.zeros(problem.dim))
        self.nothing_learnt = np.array_equal(self.w, self.zero)
        self.useless = self.nothing_learnt and state.best_primal == 0.0
        self.judged = examples.exact or self.useless

    def first_fault(self, ids: IntArray, held: dict[int, list[Any]]) -> tuple[int, str] | None:
        """Return the first of the examples with a contradiction, and a message about it."""
        for i in ids.tolist():
            fault = self.fault_of(i, [output for output in held.get(i, ()) if output is not None][:MOST_HELD])
            if fault is not None:
                return i, fault
        return None

    @abstractmethod
    def fault_of(self, i: int, held: list[Any]) -> str | None:
        """Return a message if an answer for example i is contradicted."""


class _Decisions(_Inquiry):
    """Questions to an optimiser: opposite costs must give opposite decisions."""

    def fault_of(self, i: int, held: list[Any]) -> str | None:
        examples, ids = self.examples, np.array([i])
        optimizer: Optimizer = examples.optimizer
        true = examples.true[examples.offsets[i] : examples.offsets[i + 1]]
        at_weights = examples.asked_costs(self.w, ids)
        size = float(np.abs(at_weights).mean()) or 1.0
        trials = [size * self.rng.normal(size=len(true)) for _ in range(2)]
        trials += [-trial for trial in trials]
        if optimizer.costs == "nonnegative":
            trials = [optimizer.sign * np.abs(trial) for trial in trials[:2]]
            trials += [optimizer.sign * (np.abs(trial).max() - np.abs(trial)) for trial in trials]
        asked, answers = [], [np.asarray(true, float)]
        for costs in [*at_weights, *trials]:
            instances = None if examples.instances is None else [examples.instances[i]]
            try:
                answers.append(optimizer.decide(costs[None], instances, ids).decisions[0])
            except Exception:  # the fit may never need such costs
                continue
            asked.append((len(answers) - 1, costs))
        if not self.judged or not asked:
            return None
        rows, costs = np.array([k for k, _ in asked]), np.array([costs for _, costs in asked])
        totals = costs @ np.array(answers).T
        own, room = totals[np.arange(len(rows)), rows], TOLERANCE * np.abs(costs).sum(axis=1)
        beaten = np.flatnonzero(own > totals.min(axis=1) + room)
        if len(beaten) == 0:
            return None
        r, sign, why = beaten[0], optimizer.sign, ""
        if (own >= totals.max(axis=1) - room).all():
            why = f"; is its sense {'max' if optimizer.sense == 'min' else 'min'!r}?"
        elif (sign * costs[beaten] < 0.0).any(axis=1).all():
            why = "; if it cannot handle negative costs, pass costs='nonnegative' to the Optimizer"
        return (
            f"solve returned a decision with total {sign * own[r]:.6g}, but another one that is known, or that it "
            f"returned for other costs, has {sign * totals[r].min():.6g}{why}"
        )


class _Outputs(_Inquiry):
    """Questions to the argmaxes of a user-defined structure, whose answers are compared as in `check_structure`."""

    def __init__(
        self, problem: Problem, examples: CustomExamples, state: State, rng: np.random.Generator, swept: bool
    ) -> None:
        super().__init__(problem, examples, state, rng, swept)
        raised, noise = problem.objective.raised, rng.normal(size=problem.dim)
        if self.useless:  # argmaxes at other weights may find an output with a loss
            first = raised(noise)
            trials = [first, raised(-first if problem.objective.lower is None else first[::-1].copy())]
        else:
            trials = [raised(self.w + np.abs(self.w) * noise)]
        here = "the weights learnt" if self.w.any() else "weights of 0"
        self.weights = [self.w, self.zero, *trials]
        self.places = [f" under {words}" for words in (here, "weights of 0", *["random weights"] * len(trials))]

    def fault_of(self, i: int, held: list[Any]) -> str | None:
        examples, x, y, pool, answers = self.examples, self.examples.X[i], self.examples.Y[i], [self._truth(i)], []
        structure, kept = examples.structure, Findings()
        # A method that fails will do so again in `predict`, or at weights that do not matter.
        probe, silent = (
            Probe(structure, {i: x}, {i: y}, findings, examples.dim, watches=False) for findings in (kept, Findings())
        )

        def ask(name: str, trial: int, method: Callable[..., Any], at: Any, *rest: Any) -> None:
            answer = silent.call(i, name, method, self.weights[trial], *rest)
            if answer is FAILED:
                return
            output = own_copy(plain_output(answer))
            known = (silent if trial else probe).measure(i, output, f"the output of {name}", trial)
            if known is not None:
                answers.append(Answer(name, trial, len(pool), at, upper=proven_bound(answer)))
                pool.append(known)

        measured = [silent.measure(i, output, "an output found during the fit") for output in held]
        pool += [known for known in measured if known is not None]
        ask("argmax", 0, structure.argmax, None, x)
        exact_for_bound = self.bound.form != 0 and examples.exact_for(self.bound)
        name, at = ("bound_argmax", self.bound) if exact_for_bound else ("loss_augmented_argmax", 1.0)
        if self.swept is None:
            ask(name, 0, getattr(structure, name), at, x, y, at)
        else:  # the method has just answered
            answered = self.swept.outputs[i]
            ask(name, 0, lambda _: answered, at)
        if not exact_for_bound and not self.nothing_learnt:
            ask("loss_augmented_argmax", 1, structure.loss_augmented_argmax, 1.0, x, y, 1.0)
        n_judged = len(answers)
        for trial in range(2, len(self.weights)):
            ask("argmax", trial, structure.argmax, None, x)
        comparison = Comparison(i, pool, self.judged, kept, places=self.places)
        comparison.judge(self.weights, answers if self.useless else answers[:n_judged])
        faults = kept.messages()
        nothing = "; all weights are 0, so nothing was learnt" if self.nothing_learnt else ""
        return faults[0].removeprefix(f"X[{i}]: ") + nothing if faults else None

    def _truth(self, i: int) -> Output:
        truths = self.examples.true_rows
        span = slice(int(truths.indptr[i]), int(truths.indptr[i + 1]))
        indices, values = truths.indices[span].astype(np.int64), truths.values[span].astype(float)
        return Output(shown(self.examples.outputs_known[i]), "y itself", -1, indices, values, 0.0, True)
