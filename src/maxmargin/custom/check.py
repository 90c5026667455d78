"""`check_structure`: find the faults of a structure before training."""

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

from maxmargin._base.checks import whole_number
from maxmargin._base.input import paired_examples
from maxmargin._base.memory import check_memory
from maxmargin._base.types import FloatArray
from maxmargin.bounds import Bound
from maxmargin.core.structure import (
    Compiled,
    Structure,
    StructureError,
    check_methods,
    check_names,
    has_joint_kernel,
    has_topk,
    plain_output,
    proven_bound,
)
from maxmargin.custom.any_values import own_copy
from maxmargin.custom.arguments import shown
from maxmargin.custom.comparison import TOLERANCE, Answer, Comparison, Findings, Output, Sense
from maxmargin.custom.joint_kernel import KernelCoordinates, check_joint_kernel
from maxmargin.custom.probe import FAILED, Probe, binds, bound_argmax, described

#: How solvers call each method.
_ARGUMENTS = {
    "joint_feature": ("x", "y"),
    "loss": ("y", "y_hat"),
    "argmax": ("w", "x"),
    "loss_augmented_argmax": ("w", "x", "y", "scale"),
}
#: How solvers call the further methods of structures with latent variables.
_LATENT_ARGUMENTS = {"complete": ("w", "x", "y"), "initial_completion": ("x", "y", "rng")}
_MOST_ENUMERATED = 2000
#: Number of pairs (x, y) whose span the weights of a structure with a joint kernel are drawn from.
MOST_PAIRS = 500
#: Bytes per weight and trial: four copies are held while scores are computed.
_WEIGHT_BYTES = 4 * 8.0
#: What the argmaxes are asked under the weights of each trial.
_BOUNDS = tuple(Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic"))
_SCALES = (0.0, 0.5, 1.0, 10.0)
_TOP = 5


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

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.toy.signs()
    >>> report = mm.check_structure(mm.datasets.toy.Sign(), X[:4], y[:4])
    >>> report.problems
    []
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
        lines += [f"  {k}. {message}" for k, message in enumerate(self.problems, 1)]
        return "\n".join(lines + [f"  note: {message}" for message in self.notes])


def check_structure(
    structure: Structure, X: Any, Y: Any, *, n_trials: int = 20, weights: Any = None, random_state: int = 0
) -> Report:
    """Call a structure's methods on some examples with random weights, and report all faults.

    The following is checked:

    - Ψ and Δ have the right types and shapes and finite values, and Δ(y, y) = 0 ≤ Δ(y, ŷ);
    - no known output is better than the result of an argmax: by w·Ψ, by w·Ψ + scale · Δ at several scales, and by the
      violation of each bound if there is a `bound_argmax`;
    - the scores of `topk` and `score` are w·Ψ, and `feature_names` has one name per weight;
    - y and all outputs that the methods return are feasible, if the structure has ``feasible(x, y)``;
    - no method changes its arguments or returns another value when it is called again.

    A structure with `joint_kernel` is checked with weights in the span of the first pairs (x, y) it is asked about; its
    kernel must be symmetric and positive semi-definite on the examples.

    Known outputs are y, all outputs that the methods returned, and those of ``enumerate(x)``.

    For a user-defined structure with latent variables (one with `complete`), the truth is the pair that `complete`
    returns; y must be unchanged, the loss of the pair must be 0, and no known pair (y, h) may have a greater w·Ψ.

    Parameters
    ----------
    structure : Structure
        A user-defined structure, derived from `Structure` or with the same methods; or a built-in structure, of which
        a clone is fitted.
    X, Y : sequence
        A few examples in any form that `fit` accepts, small enough for `enumerate` if the structure has it.
    n_trials : int, default=20
        Number of random weight vectors tried on each example.
    weights : array-like of shape (k, n_weights) or (n_weights,), default=None
        Weight vectors tried besides the random ones, such as `coef_` of a fit.
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
    'X[0]: loss_augmented_argmax returned -1, which is beaten by 1, ... found 0 against 0.5 (26 such cases)'
    """
    n_trials, given = whole_number(n_trials, "n_trials"), _given_weights(weights)
    X, Y = paired_examples(X, Y)
    rows: list[Any] = [X[[i]] for i in range(X.shape[0])] if sp.issparse(X) else list(X)
    subject = f"{type(structure).__name__} on {len(Y)} example{'s' * (len(Y) > 1)} under {n_trials} random weights"
    subject += f" and {len(given)} given" if len(given) else ""
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
    elif has_joint_kernel(structure):
        try:
            check_joint_kernel(structure, rows, Y)
        except Exception as error:
            return Report([f"joint_kernel: {described(error)}"], [], subject)
        structure = KernelCoordinates(structure, rows, MOST_PAIRS, freezes=True)
    findings = Findings()
    probe = Probe(structure, dict(enumerate(rows)), dict(enumerate(Y)), findings)
    _Checker(probe, n_trials, given, np.random.default_rng(random_state)).run()
    return Report(findings.messages(), findings.messages(note=True), subject)


def _given_weights(weights: Any) -> FloatArray:
    """Return the weights to try besides the random ones, one vector per row."""
    if weights is None:
        return np.zeros((0, 0))
    try:
        given = np.array(weights, float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be vectors of numbers of equal length ({error})") from None
    given = given[None] if given.ndim == 1 else given
    if given.ndim != 2 or not np.isfinite(given).all():
        raise ValueError(f"weights must be vectors of finite numbers, found an array of shape {given.shape}")
    return given


class _Checker:
    """Collects known outputs per example and compares the answers of the structure with them."""

    def __init__(self, probe: Probe, n_trials: int, given: FloatArray, rng: np.random.Generator) -> None:
        self.probe, self.structure, self.findings = probe, probe.structure, probe.findings
        self.n_trials, self.given, self.rng = n_trials, given, rng
        self.exact = bool(getattr(self.structure, "exact", True))
        self.takes_scale = True

    def run(self) -> None:
        usable = [name for name in _ARGUMENTS if self._check_signature(name, _ARGUMENTS[name])]
        self.probe.restricts = self.probe.restricts and self._check_signature("feasible", ("x", "y"))
        if "joint_feature" not in usable or "loss" not in usable or not self._size_is_whole():
            return
        if self.probe.latent and not self._can_be_completed():
            return
        pools = [self._known_outputs(i) for i in range(len(self.probe.Y))]
        if self.probe.size is None or not self._weights_fit(self.probe.size):
            return
        self._check_names(self.probe.size)
        weights = self._weights(self.probe.size)
        senses: dict[str, Sense] = {}
        questions = _Questions(self.probe, usable, self.takes_scale, self.rng)
        for i, pool in enumerate(pools):
            if pool:  # empty if Ψ or Δ of the truth is not valid
                answers = questions.answers(i, weights, pool)
                Comparison(i, pool, self.exact, self.findings, senses).judge(weights, answers)
        for name, sense in senses.items():
            if sense.minimises:
                words = f"does your {name} minimise? negate Ψ (joint_feature), or maximise"
                self.findings.explain(name, "beaten", words)

    def _check_signature(self, name: str, arguments: tuple[str, ...]) -> bool:
        method = getattr(self.structure, name)
        if binds(method, len(arguments)):
            return True
        expected = f"expected {name}({', '.join(arguments)}), found {name}{inspect.signature(method)}"
        if name == "loss_augmented_argmax" and binds(method, 3):
            self.takes_scale = False
            self.findings.add(
                name, "signature", f"loss_augmented_argmax has no argument `scale`, which solvers pass: {expected}"
            )
            return True
        self.findings.add(name, "signature", f"{name} cannot be called as solvers call it: {expected}")
        return False

    def _size_is_whole(self) -> bool:
        """Return whether `size`, if the structure has it, is a valid number of weights."""
        size = self.probe.size
        return size is None or self._passes("size", "type", whole_number, size, "the attribute `size`")

    def _can_be_completed(self) -> bool:
        """Return whether truths can be completed: `size` is known and the methods accept their arguments."""
        if self.probe.size is None:
            message = "a structure with latent variables must declare the number of weights: set the attribute `size`"
            self.findings.add("size", "latent", message)
            return False
        offered = [name for name in _LATENT_ARGUMENTS if hasattr(self.structure, name)]
        fitting = [self._check_signature(name, _LATENT_ARGUMENTS[name]) for name in offered]
        return all(fitting) and self._weights_fit(self.probe.size)

    def _weights_fit(self, size: int) -> bool:
        """Return whether there is enough memory for the weights of all trials."""
        trials = self.n_trials + len(self.given)
        planned, what = _WEIGHT_BYTES * size * trials, f"checking {size} weights in {trials} trials"
        return self._passes("size", "memory", check_memory, planned, what, "use fewer weights or a lower n_trials")

    def _check_names(self, size: int) -> None:
        """Report a fault if `feature_names` exists and does not name every weight."""
        if not hasattr(self.structure, "feature_names"):
            return
        try:
            names = np.asarray(self.structure.feature_names(), object)
        except Exception as error:
            self.findings.add("feature_names", "raises", f"feature_names raised {described(error)}")
        else:
            self._passes("feature_names", "shape", check_names, names, size)

    def _passes(self, name: str, kind: str, check: Callable[..., Any], *arguments: Any) -> bool:
        """Return whether a check passes; the error that it raises is reported."""
        try:
            check(*arguments)
        except (ValueError, MemoryError) as error:
            self.findings.add(name, kind, str(error))
            return False
        return True

    def _weights(self, size: int) -> list[FloatArray]:
        """Return zeros, normal weights of varying magnitude in turn with small integers (for ties), and those given."""
        if len(self.given) and self.given.shape[1] != size:
            raise ValueError(f"weights must have {size} numbers each, found {self.given.shape[1]}")
        rng, weights = self.rng, [np.zeros(size)]
        for trial in range(1, self.n_trials):
            whole = rng.integers(-3, 4, size).astype(float)
            weights.append(rng.normal(size=size) * 10 ** rng.uniform(-1, 1) if trial % 2 else whole)
        lower = self._lower()
        return [*(weights if lower is None else [np.maximum(w, lower) for w in weights]), *self.given]

    def _lower(self) -> FloatArray | None:
        """Return the lower bounds on weights that a built-in structure requires."""
        if not isinstance(self.structure, Compiled):
            return None
        return self.structure.encode([self.probe.X[0]]).lower

    def _known_outputs(self, i: int) -> list[Output]:
        """Return the truth and the outputs of `enumerate`; nothing if the truth is not valid."""
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
            message = f"X[{i}]: only the first {_MOST_ENUMERATED} outputs of enumerate were compared"
            self.findings.add("enumerate", "many", message, note=True)
        measured = [self.probe.measure(i, output, "one of enumerate") for output in outputs[:_MOST_ENUMERATED]]
        return [truth, *(output for output in measured if output is not None)]

    def _truth(self, i: int) -> Output | None:
        truth = self.probe.measure(i, self.probe.Y[i], "y itself", repeat=True)
        if truth is not None and truth.loss != 0:
            self.findings.add("loss", "truth", f"X[{i}]: loss(y, y) must be 0, found {truth.loss:g}")
        return truth

    def _completed_truth(self, i: int) -> Output | None:
        """Return the pair of `complete` at weights of 0; the pair of `initial_completion` is checked as well."""
        if hasattr(self.structure, "initial_completion"):
            self._completion(i, "initial_completion", self.probe.initial_completion(i, self.rng))
        return self._completion(i, "complete", self.probe.complete(i, np.zeros(self.probe.size or 0)))

    def _completion(self, i: int, name: str, output: Any) -> Output | None:
        completion = None if output is FAILED else self.probe.measure(i, output, f"the output of {name}", repeat=True)
        if completion is not None:
            self.probe.check_completion(i, name, completion)
        return completion


class _Questions:
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
            returned = self.probe.call(i, name, method, w, *rest)
            if returned is not FAILED:
                answer = Answer(name, trial, len(pool), at, turn, proven_bound(returned))
                self._keep(i, answer, plain_output(returned), pool, answers)

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
        if not has_topk(structure):
            return
        ranked = call(i, "topk", structure.topk, w, self.probe.X[i], _TOP)  # type: ignore[attr-defined]
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
