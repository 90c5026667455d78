"""`check_structure`: the faults of a structure, found before anything is trained with it."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin._checked import whole_number
from maxmargin._input import paired_examples
from maxmargin._memory import check_memory
from maxmargin._types import FloatArray
from maxmargin.bounds import Bound
from maxmargin.checking.probe import (
    FAILED,
    Findings,
    Output,
    Probe,
    binds,
    bound_argmax,
    described,
    joint_features,
    shown,
)
from maxmargin.core.structure import (
    Bounded,
    Compiled,
    Structure,
    StructureError,
    check_methods,
    check_names,
    plain_output,
)
from maxmargin.custom.sameness import own_copy

#: How solvers call each method.
_ARGUMENTS = {
    "joint_feature": ("x", "y"),
    "loss": ("y", "y_hat"),
    "argmax": ("w", "x"),
    "loss_augmented_argmax": ("w", "x", "y", "scale"),
}
#: The same of those that structures with latent variables have besides.
_LATENT_ARGUMENTS = {"complete": ("w", "x", "y"), "initial_completion": ("x", "y", "rng")}
_BOUNDS = tuple(Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic"))
_SCALES = (0.0, 0.5, 1.0, 10.0)
#: Relative to Σ |w_j Ψ_j|: what rounding, even in float32, may cost an argmax.
_TOLERANCE = 1e-6
_MOST_ENUMERATED, _TOP = 2000, 5
#: Bytes that a weight of a trial takes while scores are made of it: it is there four times.
_WEIGHT_BYTES = 4 * 8.0


@dataclass
class Report:
    """Result of `check_structure`.

    Attributes
    ----------
    problems : list of str
        A message for each kind of problem, with its first example and the number of cases.
    notes : list of str
        Facts that are not faults, such as argmaxes that are not optimal in a structure with ``exact = False``.
    subject : str
        What was checked.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    subject: str = "structure"

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def raise_if_bad(self) -> None:
        """Raise a `StructureError` with all problems, if there are any."""
        if self.problems:
            raise StructureError(str(self))

    def __str__(self) -> str:
        n = len(self.problems)
        lines = [f"{self.subject}: {'no problems found' if n == 0 else f'{n} problems' if n > 1 else '1 problem'}"]
        lines += [f"  {k}. {sentence}" for k, sentence in enumerate(self.problems, 1)]
        return "\n".join(lines + [f"  note: {sentence}" for sentence in self.notes])


def check_structure(structure: Structure, X: Any, Y: Any, *, n_trials: int = 20, random_state: int = 0) -> Report:
    """Call a structure's methods on some examples with random weights, and report all faults.

    Checked are types, shapes and finite values of Ψ and Δ, Δ(y, y) = 0 ≤ Δ(y, ŷ), that no known output is better than
    an argmax (by w·Ψ; by w·Ψ + scale · Δ at several scales; by the violation of each bound if there is a
    `bound_argmax`), that the scores of `topk` and `score` are w·Ψ, that `feature_names` names each weight, and that no
    method changes its arguments or returns another value when it is called again. Known outputs are y, all that the
    methods returned, and those of ``enumerate(x)``.

    A structure of your own with latent variables, one with `complete`, is checked with the pair that `complete` returns
    as the truth: that y is unchanged, that its loss is 0, and that no known pair (y, h) is better by w·Ψ.

    Parameters
    ----------
    structure : Structure
        Your own, derived from `Structure` or with the same methods; or a built-in one, of which a clone is fitted.
    X, Y : sequence
        A few examples in any form that `fit` takes, small enough for `enumerate` if the structure has it.
    n_trials : int, default=20
        Number of random weights tried on each example.
    random_state : int, default=0
        Seed of the weights.

    Returns
    -------
    Report
        The problems found.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> class Sign(mm.Structure):
    ...     def joint_feature(self, x, y):
    ...         return y * np.asarray(x)
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...     def argmax(self, w, x):
    ...         return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))
    ...     def loss_augmented_argmax(self, w, x, y, scale=1.0):
    ...         return self.argmax(w, x)  # forgets the loss
    >>> report = mm.check_structure(Sign(), [[2.0, 0.0]], [-1])
    >>> report.ok
    False
    >>> report.problems[0]  # doctest: +ELLIPSIS
    'X[0]: loss_augmented_argmax gives -1 but is beaten by 1, ... found 0 against 0.5 (26 such cases)'
    """
    n_trials = whole_number(n_trials, "n_trials")
    X, Y = paired_examples(X, Y)
    rows: list[Any] = [X[[i]] for i in range(X.shape[0])] if sp.issparse(X) else list(X)
    subject = f"{type(structure).__name__} on {len(Y)} example{'s' * (len(Y) > 1)} under {n_trials} random weights"
    if isinstance(structure, type):
        name = structure.__name__
        return Report([f"expected an instance, found the class {name}: write {name}() with its parameters"], [], name)
    try:
        check_methods(structure)
    except TypeError as error:
        return Report([str(error)], [], subject)
    if isinstance(structure, Compiled):
        try:
            structure = clone(structure).fit(X, Y)
        except Exception as error:
            return Report([f"fit raised {described(error)}"], [], subject)
    findings = Findings()
    _Checker(Probe(structure, rows, list(Y), findings), n_trials, np.random.default_rng(random_state)).run()
    return Report(findings.sentences(), findings.sentences(note=True), subject)


@dataclass
class _Answer:
    """What a method gave under the weights of a trial, as a position in the pool of outputs of its example.

    `turn` tells repeated questions apart: ``"again"`` with the same weights, ``"doubled"`` with twice the weights; `at`
    is the scale or the bound asked for; `upper` what the method proves (`Bounded`).
    """

    method: str
    trial: int
    output: int
    at: Any = None
    turn: str = ""
    upper: float = np.inf


class _Checker:
    """Asks for outputs, gathers them in a pool for each example, then compares each answer with the whole pool."""

    def __init__(self, probe: Probe, n_trials: int, rng: np.random.Generator) -> None:
        self.probe, self.structure, self.findings = probe, probe.structure, probe.findings
        self.n_trials, self.rng = n_trials, rng
        self.exact = bool(getattr(self.structure, "exact", True))
        self.takes_scale = True

    def run(self) -> None:
        usable = [name for name in _ARGUMENTS if self._check_signature(name, _ARGUMENTS[name])]
        if "joint_feature" not in usable or "loss" not in usable or not self._size_is_whole():
            return
        if self.probe.latent and not self._can_be_completed():
            return
        pools = [self._known_outputs(i) for i in range(len(self.probe.Y))]
        if self.probe.size is None or not self._weights_fit(self.probe.size):
            return
        self._check_names(self.probe.size)
        weights = self._weights(self.probe.size)
        for i, pool in enumerate(pools):
            if pool:  # without Ψ and Δ of the truth there is nothing to compare with
                answers: list[_Answer] = []
                for trial, w in enumerate(weights):
                    self._ask(i, trial, w, pool, answers, usable)
                self._judge(i, weights, pool, answers)

    def _check_signature(self, name: str, arguments: tuple[str, ...]) -> bool:
        method = getattr(self.structure, name)
        if binds(method, len(arguments)):
            return True
        expected = f"expected {name}({', '.join(arguments)}), found {name}{inspect.signature(method)}"
        if name == "loss_augmented_argmax" and binds(method, 3):
            self.takes_scale = False
            self.findings.add(name, "signature", f"loss_augmented_argmax lacks `scale`, which solvers pass: {expected}")
            return True
        self.findings.add(name, "signature", f"{name} cannot be called as solvers call it: {expected}")
        return False

    def _size_is_whole(self) -> bool:
        """Whether `size`, where the structure tells it, can be a number of weights."""
        size = self.probe.size
        return size is None or self._passes("size", "type", whole_number, size, "the attribute `size`")

    def _can_be_completed(self) -> bool:
        """Whether truths can be given a hidden part: `size` is known, and the methods for it take their arguments."""
        if self.probe.size is None:
            sentence = "a structure with latent variables must say how many weights there are: set `size`"
            self.findings.add("size", "latent", sentence)
            return False
        offered = [name for name in _LATENT_ARGUMENTS if hasattr(self.structure, name)]
        fitting = [self._check_signature(name, _LATENT_ARGUMENTS[name]) for name in offered]
        return all(fitting) and self._weights_fit(self.probe.size)

    def _weights_fit(self, size: int) -> bool:
        """Whether there is memory for the weights of all trials."""
        planned, what = _WEIGHT_BYTES * size * self.n_trials, f"checking {size} weights in {self.n_trials} trials"
        return self._passes("size", "memory", check_memory, planned, what, "use fewer weights or a lower n_trials")

    def _check_names(self, size: int) -> None:
        """Whether `feature_names`, where it is there, names every weight."""
        if not hasattr(self.structure, "feature_names"):
            return
        try:
            names = np.asarray(self.structure.feature_names(), object)
        except Exception as error:
            self.findings.add("feature_names", "raises", f"feature_names raised {described(error)}")
        else:
            self._passes("feature_names", "shape", check_names, names, size)

    def _passes(self, name: str, kind: str, check: Callable[..., Any], *arguments: Any) -> bool:
        """Whether a check raises nothing; what it raises is a finding."""
        try:
            check(*arguments)
        except (ValueError, MemoryError) as error:
            self.findings.add(name, kind, str(error))
            return False
        return True

    def _weights(self, size: int) -> list[FloatArray]:
        """Zero, then by turns normal ones of any magnitude and small whole numbers, which make ties."""
        rng, weights = self.rng, [np.zeros(size)]
        for trial in range(1, self.n_trials):
            whole = rng.integers(-3, 4, size).astype(float)
            weights.append(rng.normal(size=size) * 10 ** rng.uniform(-1, 1) if trial % 2 else whole)
        return weights

    def _known_outputs(self, i: int) -> list[Output]:
        """The truth, then what `enumerate` gives."""
        truth = self._completed_truth(i) if self.probe.latent else self._truth(i)
        if truth is None or not hasattr(self.structure, "enumerate"):
            return [] if truth is None else [truth]
        try:
            outputs = list(map(own_copy, islice(self.structure.enumerate(self.probe.X[i]), _MOST_ENUMERATED + 1)))
        except Exception as error:
            self.findings.add("enumerate", "raises", f"X[{i}]: enumerate raised {described(error)}")
            return [truth]
        self.probe.compare_arguments(i, "enumerate")
        if len(outputs) > _MOST_ENUMERATED:
            sentence = f"X[{i}]: only the first {_MOST_ENUMERATED} outputs of enumerate were compared"
            self.findings.add("enumerate", "many", sentence, note=True)
        measured = [self.probe.measure(i, output, "one of enumerate") for output in outputs[:_MOST_ENUMERATED]]
        return [truth, *(output for output in measured if output is not None)]

    def _truth(self, i: int) -> Output | None:
        truth = self.probe.measure(i, self.probe.Y[i], "y itself", repeat=True)
        if truth is not None and truth.loss != 0:
            self.findings.add("loss", "truth", f"X[{i}]: loss(y, y) must be 0, found {truth.loss:g}")
        return truth

    def _completed_truth(self, i: int) -> Output | None:
        """The truth as `complete` makes a pair of it at weights of 0; the pair to begin with is looked at as well."""
        if hasattr(self.structure, "initial_completion"):
            self._completion(i, "initial_completion", self.probe.initial_completion(i, self.rng))
        return self._completion(i, "complete", self.probe.complete(i, np.zeros(self.probe.size or 0)))

    def _completion(self, i: int, name: str, output: Any) -> Output | None:
        found = None if output is FAILED else self.probe.measure(i, output, f"the output of {name}", repeat=True)
        if found is not None:
            self._check_completion(i, name, found)
        return found

    def _check_completion(self, i: int, name: str, found: Output) -> None:
        if found.loss != 0:
            sentence = f"X[{i}]: loss must be 0 for y with any hidden part, found {found.loss:g} for {found.shown}"
            self.findings.add("loss", "truth", f"{sentence}, the output of {name}")

    # ------------------------------------------------------------------ questions

    def _ask(
        self, i: int, trial: int, w: FloatArray, pool: list[Output], answers: list[_Answer], usable: list[str]
    ) -> None:
        x, y = self.probe.X[i], self.probe.Y[i]

        def ask(
            name: str, method: Callable[..., Any], w: FloatArray, *rest: Any, at: Any = None, turn: str = ""
        ) -> None:
            found = self.probe.call(i, name, method, w, *rest)
            if found is not FAILED:
                upper = float(found.upper) if isinstance(found, Bounded) else np.inf
                self._keep(i, _Answer(name, trial, len(pool), at, turn, upper), plain_output(found), pool, answers)

        if self.probe.latent:
            for turn in ("", "again"):
                output = self.probe.complete(i, w)
                if output is not FAILED:
                    self._keep(i, _Answer("complete", trial, len(pool), turn=turn), output, pool, answers)
        if "argmax" in usable:
            for turn, weights in (("", w), ("again", w), ("doubled", 2 * w)):
                ask("argmax", self.structure.argmax, weights, x, turn=turn)
        if "loss_augmented_argmax" in usable:
            scales = (*_SCALES, float(10 ** self.rng.uniform(-2, 2))) if self.takes_scale else (1.0,)
            for scale, turn in [*((scale, "") for scale in scales), (scales[-1], "again")]:
                rest = (x, y, scale) if self.takes_scale else (x, y)
                ask("loss_augmented_argmax", self.structure.loss_augmented_argmax, w, *rest, at=scale, turn=turn)
        for bound in () if self.probe.latent else _BOUNDS:  # with latent variables, solvers ask for none but the first
            exact = bound_argmax(self.structure, x, y, bound)
            if exact is not None:
                ask("bound_argmax", exact, w, x, y, bound, at=bound)
        self._ask_for_scores(i, trial, w, pool, answers)

    def _keep(self, i: int, answer: _Answer, output: Any, pool: list[Output], answers: list[_Answer]) -> Output | None:
        trial = answer.trial
        measured = self.probe.measure(i, output, f"the output of {answer.method}", trial, repeat=trial == 0)
        if measured is not None:
            if answer.method == "complete":
                self._check_completion(i, "complete", measured)
            pool.append(measured)
            answers.append(answer)
        return measured

    def _ask_for_scores(self, i: int, trial: int, w: FloatArray, pool: list[Output], answers: list[_Answer]) -> None:
        """Scores that the structure tells itself, by `score` or `topk`."""
        structure, call = self.structure, self.probe.call

        def compare(name: str, output: Output, score: Any) -> None:
            at, values = w[output.indices], output.values
            expected, room = float(at @ values), _TOLERANCE * (1 + float(abs(at) @ abs(values)))
            if not (isinstance(score, numbers.Real) and abs(float(score) - expected) <= room):
                what = f"gives {output.shown} the score {shown(score)}, expected w·Ψ = {expected:g}"
                self.findings.add(name, "score", f"X[{i}]: {name} {what}")

        if not self.probe.latent and hasattr(structure, "score") and binds(structure.score, 3):
            score = call(i, "score", structure.score, w, self.probe.X[i], self.probe.Y[i])
            if score is not FAILED:
                compare("score", pool[0], score)
        if not hasattr(structure, "topk"):
            return
        ranked = call(i, "topk", structure.topk, w, self.probe.X[i], _TOP)
        if ranked is FAILED:
            return
        try:
            pairs = [(output, score) for output, score in ranked]
        except (TypeError, ValueError):
            sentence = f"X[{i}]: topk returned {shown(ranked)}, expected pairs (output, score)"
            return self.findings.add("topk", "type", sentence)
        for rank, (output, score) in enumerate(pairs):
            answer = _Answer("topk", trial, len(pool), turn="" if rank == 0 else "further")
            measured = self._keep(i, answer, output, pool, answers)
            if measured is not None:
                compare("topk", measured, score)
        scores = [score for _, score in pairs]
        if len(scores) > _TOP or any(b > a for a, b in pairwise(scores)):
            sentence = f"X[{i}]: topk gives the scores {shown(scores)}, expected at most {_TOP}, best first"
            self.findings.add("topk", "order", sentence)

    # ------------------------------------------------------------------ comparisons

    def _judge(self, i: int, weights: list[FloatArray], pool: list[Output], answers: list[_Answer]) -> None:
        """Each answer against all known outputs."""
        W, psi = np.array(weights).T, joint_features(pool, len(weights[0]))
        scores, rooms = psi @ W, _TOLERANCE * (1 + (abs(psi) @ abs(W)).max(axis=0))
        losses = np.array([output.loss for output in pool])
        completions = np.array([output.completes for output in pool])
        asked: dict[tuple[str, int], int] = {}
        for answer in answers:
            name, t, k = answer.method, answer.trial, answer.output
            score, room = scores[:, t], rooms[t]
            before = asked.get((name, t))
            if name == "complete" and not completions[k]:
                continue  # reported already
            if answer.turn == "again" and before is not None:
                if not pool[before].same(pool[k]):
                    found = f"expected {pool[before].shown}, found {pool[k].shown}"
                    sentence = f"X[{i}]: {name} gives another output when asked the same again: {found}"
                    self.findings.add(name, "again", sentence)
            elif answer.turn == "doubled" and before is not None:
                first = asked["argmax", t]
                if abs(score[k] - score[first]) > room:
                    found = f"expected the score {score[first]:g} at w, found {score[k]:g}"
                    sentence = f"X[{i}]: argmax gives an output of another score for 2w than for w: {found}"
                    self.findings.add(name, "doubled", f"{sentence}; is what it maximises not w·Ψ?", not self.exact)
            elif answer.turn == "":
                asked[name, t] = k
                value, what = score, "w·Ψ"
                if name == "loss_augmented_argmax":
                    value, what = score + answer.at * losses, f"w·Ψ + scale·Δ at scale={answer.at:.3g}"
                elif name == "complete":
                    value, what = np.where(completions, score, -np.inf), "w·Ψ of outputs with this y"
                elif name == "bound_argmax":
                    value, what = answer.at.violation(score - score[0], losses), f"violation in {answer.at}"
                if value.max() > answer.upper + room * (1 + losses.max()):
                    other = pool[int(value.argmax())]
                    found = f"{other.shown} has {value.max():g}"
                    sentence = f"X[{i}]: {name} gives the upper bound {answer.upper:g} of {what}, but {found}"
                    self.findings.add(name, "upper", sentence)
                rival = _rival(value, k, room * (1 + losses.max()), asked.get(("argmax", t)))
                if rival is not None:
                    other = pool[rival]
                    who = other.origin + (" under other weights" if other.trial not in (-1, t) else "")
                    sentence = (
                        f"X[{i}]: {name} gives {pool[k].shown} but is beaten by {other.shown}, {who}: expected the "
                        f"greatest {what}, found {value[k]:g} against {value[rival]:g}"
                    )
                    self.findings.add(name, "beaten", sentence, note=not self.exact)


def _rival(value: FloatArray, k: int, room: float, plain: int | None) -> int | None:
    """An output that beats the k-th: the truth if it does, else the plain argmax, else the best."""
    better = value > value[k] + room
    if not better.any():
        return None
    return next((r for r in (0, plain) if r is not None and better[r]), int(np.argmax(value)))
