"""A pool of known outputs of an example, and answers of a structure compared with it.

`check_structure` compares the answers under random weights, and the audit after a fit those at the weights learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.custom.any_values import same

#: Tolerance relative to Σ |w_j Ψ_j| and Δ: the rounding errors, also in float32, that an argmax is allowed.
TOLERANCE = 1e-6
#: Share of the trials in which a method must return the worst known output to count as minimising, and fewest trials.
_MOSTLY, _FEWEST_TRIALS = 0.9, 3


class Findings:
    """Messages by kind: the first of each kind, with the number of cases."""

    def __init__(self) -> None:
        self._kinds: dict[tuple[bool, str, str], tuple[str, int]] = {}

    def add(self, method: str, kind: str, message: str, note: bool = False) -> None:
        """Add a message about a method, as a fault or as a note."""
        first, count = self._kinds.get((note, method, kind), (message, 0))
        self._kinds[note, method, kind] = first, count + 1

    def explain(self, method: str, kind: str, words: str) -> None:
        """Append words to the message about a method, if there is one of this kind."""
        for key, (first, count) in self._kinds.items():
            if key[1:] == (method, kind):
                self._kinds[key] = f"{first}; {words}", count

    def messages(self, note: bool = False) -> list[str]:
        """Return the messages of all faults, or of all notes."""
        entries = [entry for (is_note, _, _), entry in self._kinds.items() if is_note == note]
        return [first if count == 1 else f"{first} ({count} such cases)" for first, count in entries]


@dataclass
class Output:
    """An output with its joint feature and loss.

    Attributes
    ----------
    shown : str
        The output as text.
    origin : str
        Where the output comes from.
    trial : int
        Number of the trial under whose weights it was found, or −1.
    indices, values : array
        Ψ, sorted by index.
    loss : float
        Δ.
    completes : bool
        For structures with latent variables: whether it is the truth with a hidden part, and its loss is 0.
    """

    shown: str
    origin: str
    trial: int
    indices: IntArray
    values: FloatArray
    loss: float
    completes: bool

    def same(self, other: Output) -> bool:
        """Return whether both outputs have the same plane."""
        return same((self.indices, self.values, self.loss), (other.indices, other.values, other.loss))


def joint_features(pool: list[Output], size: int) -> sp.csr_array:
    """Return the matrix whose rows are Ψ of each output."""
    indptr = offsets_of([len(output.indices) for output in pool])
    values, indices = np.concatenate([o.values for o in pool]), np.concatenate([o.indices for o in pool])
    return sp.csr_array((values, indices, indptr), shape=(len(pool), size))


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
    places : sequence of str
        Words for the weights of each trial in messages, such as ``" under the weights learnt"``; empty for none.
    """

    i: int
    pool: list[Output]
    exact: bool
    findings: Findings
    senses: dict[str, Sense] = field(default_factory=dict)
    places: Sequence[str] = ()

    def judge(self, weights: list[FloatArray], answers: list[Answer]) -> None:
        """Compare each answer with all known outputs, and with the answer to the same question before."""
        W, psi = np.array(weights).T, joint_features(self.pool, len(weights[0]))
        scores, sizes = psi @ W, (abs(psi) @ abs(W)).max(axis=0)
        self._losses = np.array([output.loss for output in self.pool])
        self._completions = np.array([output.completes for output in self.pool])
        asked: dict[tuple[str, int], int] = {}
        for answer in answers:
            name, t = answer.method, answer.trial
            score, size = scores[:, t], float(sizes[t])
            before = asked.get((name, t))
            if name == "complete" and not self._completions[answer.output]:
                continue  # reported already
            if answer.turn == "again" and before is not None:
                self._compare_repeated(answer, before)
            elif answer.turn == "doubled" and before is not None:
                self._compare_doubled(answer, before, score, TOLERANCE * size)
            elif answer.turn == "":
                asked[name, t] = answer.output
                self._compare_values(answer, score, size, asked.get(("argmax", t)))

    def _compare_repeated(self, answer: Answer, before: int) -> None:
        first, second = self.pool[before], self.pool[answer.output]
        if not first.same(second):
            difference = f"expected {first.shown}, found {second.shown}"
            message = f"X[{self.i}]: {answer.method} returned another output when called again: {difference}"
            self.findings.add(answer.method, "again", message)

    def _compare_doubled(self, answer: Answer, before: int, score: FloatArray, room: float) -> None:
        if abs(score[answer.output] - score[before]) > room:
            difference = f"expected the score {score[before]:g} at w, found {score[answer.output]:g}"
            message = f"X[{self.i}]: argmax returned an output of another score for 2w than for w: {difference}"
            self.findings.add(answer.method, "doubled", f"{message}; does it not maximise w·Ψ?", not self.exact)

    def _compare_values(self, answer: Answer, score: FloatArray, size: float, plain: int | None) -> None:
        """Compare the value that a method maximises with its values at all other known outputs."""
        name, k, most = answer.method, answer.output, float(self._losses.max())
        value, what = self._maximised(answer, score)
        what += self.places[answer.trial] if self.places else ""
        room = (
            TOLERANCE * (size + most) * (1 + most)
            if name == "bound_argmax"
            else TOLERANCE * (size + (answer.at or 0.0) * most)
        )
        if value.max() > answer.upper + room:
            other = self.pool[int(value.argmax())]
            counterexample = f"{other.shown} has {value.max():g}"
            message = f"X[{self.i}]: {name} returned the upper bound {answer.upper:g} of {what}, but {counterexample}"
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
