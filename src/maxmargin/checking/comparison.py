"""Comparison of the answers of a structure with all known outputs of the same example."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from maxmargin._types import AnyArray, FloatArray
from maxmargin.checking.probe import Findings, Output, joint_features
from maxmargin.checking.questions import TOLERANCE, Answer

#: Share of the trials in which a method must return the worst known output to count as minimising, and fewest trials.
_MOSTLY, _FEWEST_TRIALS = 0.9, 3


@dataclass
class Sense:
    """How often a method returned the worst known output, of all trials in which the known outputs differ."""

    worst: int = 0
    trials: int = 0

    @property
    def minimises(self) -> bool:
        """Whether the method seems to minimise what it should maximise."""
        return self.trials >= _FEWEST_TRIALS and self.worst >= _MOSTLY * self.trials


@dataclass
class Comparison:
    """The known outputs of example i, with their scores under the weights of all trials.

    Attributes
    ----------
    i : int
        Index of the example.
    pool : list of Output
        Known outputs, the truth first.
    exact : bool
        Whether the structure declares its argmaxes exact; if not, better outputs are reported as notes.
    findings : Findings
        Receives the messages.
    senses : dict of str to Sense
        How often each argmax returned the worst known output, over all examples.
    """

    i: int
    pool: list[Output]
    exact: bool
    findings: Findings
    senses: dict[str, Sense] = field(default_factory=dict)

    def judge(self, weights: list[FloatArray], answers: list[Answer]) -> None:
        """Compare each answer with all known outputs, and with the answer to the same question before."""
        W, psi = np.array(weights).T, joint_features(self.pool, len(weights[0]))
        scores, rooms = psi @ W, TOLERANCE * (1 + (abs(psi) @ abs(W)).max(axis=0))
        self._losses = np.array([output.loss for output in self.pool])
        self._completions = np.array([output.completes for output in self.pool])
        asked: dict[tuple[str, int], int] = {}
        for answer in answers:
            name, t = answer.method, answer.trial
            score, room = scores[:, t], float(rooms[t])
            before = asked.get((name, t))
            if name == "complete" and not self._completions[answer.output]:
                continue  # reported already
            if answer.turn == "again" and before is not None:
                self._compare_repeated(answer, before)
            elif answer.turn == "doubled" and before is not None:
                self._compare_doubled(answer, before, score, room)
            elif answer.turn == "":
                asked[name, t] = answer.output
                self._compare_values(answer, score, room, asked.get(("argmax", t)))

    def _compare_repeated(self, answer: Answer, before: int) -> None:
        first, second = self.pool[before], self.pool[answer.output]
        if not first.same(second):
            found = f"expected {first.shown}, found {second.shown}"
            message = f"X[{self.i}]: {answer.method} returned another output when called again: {found}"
            self.findings.add(answer.method, "again", message)

    def _compare_doubled(self, answer: Answer, before: int, score: FloatArray, room: float) -> None:
        if abs(score[answer.output] - score[before]) > room:
            found = f"expected the score {score[before]:g} at w, found {score[answer.output]:g}"
            message = f"X[{self.i}]: argmax returned an output of another score for 2w than for w: {found}"
            self.findings.add(answer.method, "doubled", f"{message}; does it not maximise w·Ψ?", not self.exact)

    def _compare_values(self, answer: Answer, score: FloatArray, room: float, plain: int | None) -> None:
        """Compare the value that a method maximises with its values at all other known outputs."""
        name, k = answer.method, answer.output
        value, what = self._maximised(answer, score)
        room *= 1 + self._losses.max()
        if value.max() > answer.upper + room:
            other = self.pool[int(value.argmax())]
            found = f"{other.shown} has {value.max():g}"
            message = f"X[{self.i}]: {name} returned the upper bound {answer.upper:g} of {what}, but {found}"
            self.findings.add(name, "upper", message)
        if value.max() - value.min() > room and name != "complete":  # which has no value at other outputs
            sense = self.senses.setdefault(name, Sense())
            sense.trials, sense.worst = sense.trials + 1, sense.worst + bool(value[k] <= value.min() + room)
        rival = _rival(value, k, room, plain)
        if rival is not None:
            other = self.pool[rival]
            who = other.origin + (" under other weights" if other.trial not in (-1, answer.trial) else "")
            message = (
                f"X[{self.i}]: {name} returned {self.pool[k].shown}, which is beaten by {other.shown}, {who}: expected "
                f"the greatest {what}, found {value[k]:g} against {value[rival]:g}"
            )
            self.findings.add(name, "beaten", message, note=not self.exact)

    def _maximised(self, answer: Answer, score: FloatArray) -> tuple[AnyArray, str]:
        """Return the value of each known output that a method maximises, and the formula of the value."""
        if answer.method == "loss_augmented_argmax":
            return score + answer.at * self._losses, f"w·Ψ + scale·Δ at scale={answer.at:.3g}"
        if answer.method == "complete":
            return np.where(self._completions, score, -np.inf), "w·Ψ of outputs with this y"
        if answer.method == "bound_argmax":
            return answer.at.violation(score - score[0], self._losses), f"violation in {answer.at}"
        return score, "w·Ψ"


def _rival(value: FloatArray, k: int, room: float, plain: int | None) -> int | None:
    """Return an output that beats output k: the truth if it does, else the plain argmax, else the best; or None."""
    better = value > value[k] + room
    if not better.any():
        return None
    return next((r for r in (0, plain) if r is not None and better[r]), int(np.argmax(value)))
