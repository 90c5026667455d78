"""Calls of the argmaxes of a structure under trial weights, whose outputs are collected in a pool."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.bounds import Bound
from maxmargin.checking.probe import FAILED, Output, Probe, binds, bound_argmax
from maxmargin.core.structure import Bounded, plain_output
from maxmargin.custom.calls import shown

#: Tolerance relative to Σ |w_j Ψ_j|: the rounding errors, also in float32, that an argmax is allowed.
TOLERANCE = 1e-6
_BOUNDS = tuple(Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic"))
_SCALES = (0.0, 0.5, 1.0, 10.0)
_TOP = 5


@dataclass
class Answer:
    """The output of a method under the weights of a trial.

    Attributes
    ----------
    method : str
        Name of the method.
    trial : int
        Number of the trial.
    output : int
        Position of the output in the pool of its example.
    at : float or Bound, optional
        The scale or the bound passed to the method.
    turn : str, default=""
        Kind of a repeated call: ``"again"`` with the same weights, ``"doubled"`` with twice the weights,
        ``"further"`` for outputs of `topk` after the first.
    upper : float, default=inf
        The upper bound that the method proves (`Bounded`).
    """

    method: str
    trial: int
    output: int
    at: Any = None
    turn: str = ""
    upper: float = np.inf


class Questions:
    """Calls of the methods of a structure on one example after another.

    Parameters
    ----------
    probe : Probe
        Makes the calls.
    usable : list of str
        Methods that accept the arguments solvers pass.
    takes_scale : bool
        Whether `loss_augmented_argmax` accepts a scale.
    rng : numpy.random.Generator
        Draws one more scale per trial.
    """

    def __init__(self, probe: Probe, usable: list[str], takes_scale: bool, rng: np.random.Generator) -> None:
        self.probe, self.structure, self.findings = probe, probe.structure, probe.findings
        self.usable, self.takes_scale, self.rng = usable, takes_scale, rng

    def answers(self, i: int, weights: list[FloatArray], pool: list[Output]) -> list[Answer]:
        """Return the answers on example i under all weights; their outputs are appended to the pool."""
        answers: list[Answer] = []
        for trial, w in enumerate(weights):
            self._ask(i, trial, w, pool, answers)
        return answers

    def _ask(self, i: int, trial: int, w: FloatArray, pool: list[Output], answers: list[Answer]) -> None:
        x, y = self.probe.X[i], self.probe.Y[i]

        def ask(
            name: str, method: Callable[..., Any], w: FloatArray, *rest: Any, at: Any = None, turn: str = ""
        ) -> None:
            found = self.probe.call(i, name, method, w, *rest)
            if found is not FAILED:
                upper = float(found.upper) if isinstance(found, Bounded) else np.inf
                self._keep(i, Answer(name, trial, len(pool), at, turn, upper), plain_output(found), pool, answers)

        if self.probe.latent:
            for turn in ("", "again"):
                output = self.probe.complete(i, w)
                if output is not FAILED:
                    self._keep(i, Answer("complete", trial, len(pool), turn=turn), output, pool, answers)
        if "argmax" in self.usable:
            for turn, weights in (("", w), ("again", w), ("doubled", 2 * w)):
                ask("argmax", self.structure.argmax, weights, x, turn=turn)
        if "loss_augmented_argmax" in self.usable:
            scales = (*_SCALES, float(10 ** self.rng.uniform(-2, 2))) if self.takes_scale else (1.0,)
            for scale, turn in [*((scale, "") for scale in scales), (scales[-1], "again")]:
                rest = (x, y, scale) if self.takes_scale else (x, y)
                ask("loss_augmented_argmax", self.structure.loss_augmented_argmax, w, *rest, at=scale, turn=turn)
        for bound in () if self.probe.latent else _BOUNDS:  # with latent variables, solvers use the first bound only
            exact = bound_argmax(self.structure, x, y, bound)
            if exact is not None:
                ask("bound_argmax", exact, w, x, y, bound, at=bound)
        self._ask_for_scores(i, trial, w, pool, answers)

    def _keep(self, i: int, answer: Answer, output: Any, pool: list[Output], answers: list[Answer]) -> Output | None:
        trial = answer.trial
        measured = self.probe.measure(i, output, f"the output of {answer.method}", trial, repeat=trial == 0)
        if measured is not None:
            if answer.method == "complete":
                self.probe.check_completion(i, "complete", measured)
            pool.append(measured)
            answers.append(answer)
        return measured

    def _ask_for_scores(self, i: int, trial: int, w: FloatArray, pool: list[Output], answers: list[Answer]) -> None:
        """Compare the scores that `score` and `topk` return with w·Ψ."""
        structure, call = self.structure, self.probe.call
        if not self.probe.latent and hasattr(structure, "score") and binds(structure.score, 3):
            score = call(i, "score", structure.score, w, self.probe.X[i], self.probe.Y[i])
            if score is not FAILED:
                self._compare_score(i, "score", w, pool[0], score)
        if not hasattr(structure, "topk"):
            return
        ranked = call(i, "topk", structure.topk, w, self.probe.X[i], _TOP)
        if ranked is FAILED:
            return
        try:
            pairs = [(output, score) for output, score in ranked]
        except (TypeError, ValueError):
            message = f"X[{i}]: topk returned {shown(ranked)}, expected pairs (output, score)"
            return self.findings.add("topk", "type", message)
        for rank, (output, score) in enumerate(pairs):
            answer = Answer("topk", trial, len(pool), turn="" if rank == 0 else "further")
            measured = self._keep(i, answer, output, pool, answers)
            if measured is not None:
                self._compare_score(i, "topk", w, measured, score)
        scores = [score for _, score in pairs]
        if len(scores) > _TOP or any(b > a for a, b in pairwise(scores)):
            message = f"X[{i}]: topk returned the scores {shown(scores)}, expected at most {_TOP}, best first"
            self.findings.add("topk", "order", message)

    def _compare_score(self, i: int, name: str, w: FloatArray, output: Output, score: Any) -> None:
        at, values = w[output.indices], output.values
        expected, room = float(at @ values), TOLERANCE * (1 + float(abs(at) @ abs(values)))
        if not (isinstance(score, numbers.Real) and abs(float(score) - expected) <= room):
            what = f"returned the score {shown(score)} for {output.shown}, expected w·Ψ = {expected:g}"
            self.findings.add(name, "score", f"X[{i}]: {name} {what}")
