"""What is wrong with a structure, told before anything is trained with it."""

from __future__ import annotations

import copy
import inspect
import numbers
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin._types import AnyArray, FloatArray
from maxmargin.bounds import Bound
from maxmargin.planes import Answers
from maxmargin.structures.base import Compiled, Structure, StructureError
from maxmargin.structures.own import sparse_vector

#: How each method is called by solvers.
_SIGNATURES = {
    "joint_feature": ("x", "y"),
    "loss": ("y", "y_hat"),
    "argmax": ("w", "x"),
    "loss_augmented_argmax": ("w", "x", "y", "scale"),
}
_BOUNDS = tuple(Bound(rescaling, slack) for rescaling in ("margin", "slack") for slack in ("linear", "quadratic"))
_SCALES = (0.0, 0.5, 1.0, 10.0)
#: Relative to Σ |w_j Ψ_j|: what rounding, even in float32, may cost an argmax.
_TOLERANCE = 1e-6
_MOST_ENUMERATED = 2000
_TOP = 5


@dataclass
class Report:
    """What `check_structure` found.

    Attributes
    ----------
    problems : one sentence for each kind of problem, with its first example and how often it was met.
    notes : what is worth knowing but not wrong, such as argmaxes that are beaten where ``exact = False`` says they may be.
    subject : what was checked.
    """

    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    subject: str = "structure"

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def raise_if_bad(self) -> None:
        """Raise a `StructureError` that tells all problems, if there are any."""
        if self.problems:
            raise StructureError(str(self))

    def __str__(self) -> str:
        n = len(self.problems)
        lines = [f"{self.subject}: " + ("no problems found" if n == 0 else f"{n} problem{'s' if n > 1 else ''}")]
        lines += [f"  {k}. {sentence}" for k, sentence in enumerate(self.problems, 1)]
        lines += [f"  note: {sentence}" for sentence in self.notes]
        return "\n".join(lines)


def check_structure(
    structure: Structure, X: Sequence[Any], Y: Sequence[Any], *, n_trials: int = 20, random_state: int = 0
) -> Report:
    """Try a structure's methods on some examples under random weights, and tell all that is wrong.

    Checked are types, shapes and finite values of Ψ and Δ, Δ(y, y) = 0 ≤ Δ(y, ŷ), that no known output beats an argmax
    at what it maximises (w·Ψ; w·Ψ + scale · Δ at several scales; the violation of each bound where there is a
    `bound_argmax`), that scores are w·Ψ where they are told (`topk`, `score`), and that no method changes its arguments
    or answers differently when asked again. Known outputs are y, all that was answered, and those of ``enumerate(x)``.

    Parameters
    ----------
    structure : yours, or a built-in one, of which a clone is fitted.
    X, Y : a few small examples; small enough for `enumerate`, where the structure has it.
    n_trials : random weights tried on each example.
    random_state : seed of the weights.

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
    >>> report = mm.check_structure(Sign(), [[2.0, 0.0], [-1.0, 0.5]], [1, -1])
    >>> report.ok
    False
    >>> print(report.problems[0][:63])
    X[0]: loss_augmented_argmax at scale=0.5 is beaten by the outpu
    """
    if len(X) != len(Y):
        raise ValueError(f"X has {len(X)} examples but Y has {len(Y)}")
    if len(Y) == 0:
        raise ValueError("there are no examples to check with")
    subject = f"{type(structure).__name__} on {len(Y)} examples under {n_trials} random weights"
    if isinstance(structure, type):
        name = structure.__name__
        return Report([f"expected an instance, found the class {name}: write {name}() with its parameters"], [], name)
    if not isinstance(structure, Structure):
        return Report([f"expected a maxmargin.Structure, found {type(structure).__name__}"], [], subject)
    if isinstance(structure, Compiled):
        try:
            structure = clone(structure).fit(X, Y)
        except Exception as error:
            return Report([f"fit raised {type(error).__name__}: {error}"], [], subject)
    checker = _Checker(structure, _items(X), list(Y), n_trials, np.random.default_rng(random_state))
    checker.run()
    return Report(checker.found(False), checker.found(True), subject)


@dataclass
class _Output:
    """A known output of an example: where it came from, Ψ as sorted (indices, values), and Δ."""

    origin: str
    indices: AnyArray
    values: FloatArray
    loss: float


@dataclass
class _Answer:
    """An output that a method gave under the weights of a trial; `at` is the scale or the bound asked for."""

    method: str
    trial: int
    output: int
    at: Any = None


class _Checker:
    def __init__(
        self, structure: Structure, X: list[Any], Y: list[Any], n_trials: int, rng: np.random.Generator
    ) -> None:
        self.structure, self.X, self.Y, self.n_trials, self.rng = structure, X, Y, n_trials, rng
        self.size: int | None = structure.size
        self.size_from = "`size`"
        self.counts: dict[tuple[bool, str, str], list[Any]] = {}
        self.before: list[Any] = [_copied((x, y)) for x, y in zip(X, Y, strict=True)]
        self.takes_scale = True

    # ------------------------------------------------------------------ findings

    def say(self, method: str, kind: str, sentence: str, note: bool = False) -> None:
        """Count a finding of this kind; the first is the one that is told."""
        self.counts.setdefault((note, method, kind), [sentence, 0])[1] += 1

    def found(self, note: bool) -> list[str]:
        return [
            sentence if count == 1 else f"{sentence} ({count} such cases)"
            for (is_note, _, _), (sentence, count) in self.counts.items()
            if is_note == note
        ]

    # ------------------------------------------------------------------ the checks in order

    def run(self) -> None:
        usable = [name for name in _SIGNATURES if self._check_signature(name)]
        if "joint_feature" not in usable or "loss" not in usable:
            return
        pools = [self._known(i) for i in range(len(self.Y))]
        if self.size is None:
            return
        weights = self._weights(self.size)
        for i, pool in enumerate(pools):
            if pool:  # without Ψ and Δ of the truth there is nothing to compare with
                answers: list[_Answer] = []
                for trial, w in enumerate(weights):
                    self._ask_all(i, trial, w, pool, answers, usable)
                self._judge(i, weights, pool, answers)

    def _check_signature(self, name: str) -> bool:
        arguments = _SIGNATURES[name]
        signature = inspect.signature(getattr(self.structure, name))
        if _binds(signature, len(arguments)):
            return True
        expected = f"expected {name}({', '.join(arguments)}), found {name}{signature}"
        if name == "loss_augmented_argmax" and _binds(signature, 3):
            self.takes_scale = False
            self.say(name, "scale", f"loss_augmented_argmax takes no scale, which slack re-scaling needs: {expected}")
            return True
        self.say(name, "signature", f"{name} cannot be called as solvers do: {expected}")
        return False

    def _known(self, i: int) -> list[_Output]:
        """The truth, then what `enumerate` gives."""
        pool: list[_Output] = []
        if self._add(i, "y itself", self.Y[i], pool) is None:
            return []
        if pool[0].loss != 0:
            self.say("loss", "truth", f"X[{i}]: loss(y, y) must be 0, found {pool[0].loss:g}")
        if not hasattr(self.structure, "enumerate"):
            return pool
        try:
            outputs = list(islice(self.structure.enumerate(self.X[i]), _MOST_ENUMERATED + 1))
        except Exception as error:
            self.say("enumerate", "raises", f"X[{i}]: enumerate raised {_told(error)}")
            return pool
        self._compare_arguments(i, "enumerate")
        if len(outputs) > _MOST_ENUMERATED:
            sentence = f"X[{i}]: only the first {_MOST_ENUMERATED} outputs of enumerate were compared"
            self.say("enumerate", "many", sentence, note=True)
        for output in outputs[:_MOST_ENUMERATED]:
            self._add(i, f"{_shown(output)} of enumerate", output, pool)
        return pool

    def _weights(self, size: int) -> list[FloatArray]:
        """Zero, small whole numbers (which make ties) and normal ones of any magnitude, by turns."""
        rng, weights = self.rng, [np.zeros(size)]
        while len(weights) < self.n_trials:
            if len(weights) % 2:
                weights.append(rng.normal(size=size) * 10 ** rng.uniform(-1, 1))
            else:
                weights.append(rng.integers(-3, 4, size).astype(float))
        return weights[: self.n_trials]

    def _ask_all(
        self, i: int, trial: int, w: FloatArray, pool: list[_Output], answers: list[_Answer], usable: list[str]
    ) -> None:
        x, y = self.X[i], self.Y[i]

        def ask(method: str, at: Any, w: FloatArray, *rest: Any, call: Callable[..., Any] | None = None) -> None:
            name = method.partition(" ")[0]
            output = self._call(i, name, call or getattr(self.structure, name), w, *rest)
            if output is not _FAILED:
                k = self._add(i, f"the output of {name}", output, pool)
                if k is not None:
                    answers.append(_Answer(method, trial, k, at))

        if "argmax" in usable:
            ask("argmax", None, w, x)
            ask("argmax again", None, w, x)
            ask("argmax of 2w", None, 2 * w, x)
        if "loss_augmented_argmax" in usable:
            scales = (*_SCALES, float(10 ** self.rng.uniform(-2, 2))) if self.takes_scale else (1.0,)
            for scale in scales:
                ask("loss_augmented_argmax", scale, w, x, y, *((scale,) if self.takes_scale else ()))
            ask("loss_augmented_argmax again", scale, w, x, y, *((scale,) if self.takes_scale else ()))
        for bound in _BOUNDS:
            exact = _bound_argmax(self.structure, x, y, bound)
            if exact is not None:
                ask("bound_argmax", bound, w, x, y, bound, call=exact)
        self._check_scores(i, w, pool)

    # ------------------------------------------------------------------ calls

    def _call(self, i: int, name: str, method: Callable[..., Any], w: FloatArray, *rest: Any) -> Any:
        """method(w, …) as solvers call it, with w read-only; `_FAILED` where it raises."""
        held = w.copy()
        view = held.view()
        view.flags.writeable = False
        try:
            output = method(view, *rest)
        except Exception as error:
            output = self._retry(i, name, method, w, rest, error)
        if not np.array_equal(held, w):
            self.say(name, "w", f"X[{i}]: {name} changed w, expected it untouched: work on a copy")
        self._compare_arguments(i, name)
        return output

    def _retry(
        self, i: int, name: str, method: Callable[..., Any], w: FloatArray, rest: tuple[Any, ...], error: Exception
    ) -> Any:
        """Whether it was the read-only w that made a method raise."""
        if "read-only" in str(error) or "readonly" in str(error):
            mine = w.copy()
            try:
                output = method(mine, *rest)
            except Exception as second:
                error = second
            else:
                did = "changed w" if not np.array_equal(mine, w) else "cannot take a read-only w"
                self.say(name, "w", f"X[{i}]: {name} {did}, expected it untouched, as solvers pass it read-only: {error}")
                return output
        self.say(name, "raises", f"X[{i}]: {name} raised {_told(error)}")
        return _FAILED

    def _compare_arguments(self, i: int, name: str) -> None:
        if self.before[i] is _FAILED:
            return
        for argument, old, new in zip("xy", self.before[i], (self.X[i], self.Y[i]), strict=True):
            if not _same(old, new):
                sentence = f"X[{i}]: {name} changed its argument {argument}, expected {_shown(old)}, found {_shown(new)}"
                self.say(name, "arguments", sentence)
                self.before[i] = _copied((self.X[i], self.Y[i]))

    def _add(self, i: int, origin: str, output: Any, pool: list[_Output]) -> int | None:
        """Ψ and Δ of an output into the pool; its position there, or None where one of them fails."""
        read = []
        for name, first in (("joint_feature", self.X[i]), ("loss", self.Y[i])):
            of = f"for {origin}" if origin == "y itself" or "of enumerate" in origin else f"for {_shown(output)}, {origin}"
            method = getattr(self.structure, name)
            try:
                values = [method(first, output) for _ in range(2 if len(pool) < 3 else 1)]
            except Exception as error:
                self.say(name, "raises", f"X[{i}]: {name} raised {_told(error)} {of}")
                return None
            self._compare_arguments(i, name)
            results = [(self._vector if name == "joint_feature" else self._number)(i, value, of) for value in values]
            if results[0] is None:
                return None
            if not _same(results[0], results[-1]):
                self.say(name, "deterministic", f"X[{i}]: {name} gives another value when called again {of}")
            read.append(results[0])
        pool.append(_Output(origin, *read[0], read[1]))
        return len(pool) - 1

    def _vector(self, i: int, psi: Any, of: str) -> tuple[AnyArray, FloatArray] | None:
        def bad(kind: str, what: str) -> None:
            self.say("joint_feature", kind, f"X[{i}]: joint_feature {what} {of}")

        try:
            indices, values, length = sparse_vector(psi)
            values = np.asarray(values, float)
        except (TypeError, ValueError) as error:
            return bad("type", f"returned {type(psi).__name__}, expected a vector ({error})")
        if indices.ndim != 1 or values.ndim != 1 or len(indices) != len(values):
            return bad("shape", f"has indices of shape {indices.shape} but values of shape {values.shape}")
        if len(indices) and indices.dtype.kind not in "iu":
            return bad("indices", f"has indices of type {indices.dtype}, expected integers")
        if length is None and self.size is None:
            self.say(
                "joint_feature", "size",
                f"X[{i}]: joint_feature returned a {type(psi).__name__}, which does not tell how many weights there "
                f"are: set the attribute `size`",
            )  # fmt: skip
        elif self.size is None:
            self.size, self.size_from = length, f"X[{i}]"
        elif length is not None and length != self.size:
            return bad("length", f"has {length} entries, expected {self.size} as in {self.size_from},")
        elif len(indices) and not (0 <= indices.min() and indices.max() < self.size):
            wrong = indices.min() if indices.min() < 0 else indices.max()
            return bad("range", f"has index {wrong}, expected 0 to {self.size - 1},")
        if not np.isfinite(values).all():
            return bad("finite", f"has the value {values[~np.isfinite(values)][0]}, expected finite numbers,")
        distinct, place = np.unique(indices.astype(np.int64), return_inverse=True)
        return distinct, np.bincount(place, values, len(distinct))

    def _number(self, i: int, loss: Any, of: str) -> float | None:
        if not (np.ndim(loss) == 0 and isinstance(np.asarray(loss)[()], numbers.Real | np.bool_)):
            self.say("loss", "type", f"X[{i}]: loss returned {_shown(loss)}, expected a number, {of}")
            return None
        value = float(loss)
        if not 0 <= value < np.inf:
            self.say("loss", "range", f"X[{i}]: loss must be finite and not negative, found {value:g} {of}")
            return None
        return value

    # ------------------------------------------------------------------ comparisons

    def _check_scores(self, i: int, w: FloatArray, pool: list[_Output]) -> None:
        """Scores that the structure tells itself, by `topk` or `score`."""
        x, structure = self.X[i], self.structure

        def compare(name: str, output: Any, score: Any) -> None:
            k = self._add(i, f"the output of {name}", output, pool)
            if k is not None:
                at, values = w[pool[k].indices], pool[k].values
                expected, slack = float(at @ values), _TOLERANCE * (1 + float(abs(at) @ abs(values)))
                if not (isinstance(score, numbers.Real) and abs(score - expected) <= slack):
                    what = f"gives {_shown(output)} the score {_shown(score)}, expected w·Ψ = {expected:g}"
                    self.say(name, "score", f"X[{i}]: {name} {what}")

        if hasattr(structure, "score") and _binds(inspect.signature(structure.score), 3):
            score = self._call(i, "score", structure.score, w, x, self.Y[i])
            if score is not _FAILED:
                compare("score", self.Y[i], score)
        if not hasattr(structure, "topk"):
            return
        ranked = self._call(i, "topk", structure.topk, w, x, _TOP)
        if ranked is _FAILED:
            return
        try:
            ranked = [(output, score) for output, score in ranked]
        except (TypeError, ValueError):
            return self.say("topk", "type", f"X[{i}]: topk returned {_shown(ranked)}, expected pairs (output, score)")
        for output, score in ranked:
            compare("topk", output, score)
        scores = [score for _, score in ranked]
        if len(scores) > _TOP or any(b > a for a, b in zip(scores, scores[1:], strict=False)):
            self.say("topk", "order", f"X[{i}]: topk gives the scores {scores}, expected at most {_TOP}, best first")

    def _judge(self, i: int, weights: list[FloatArray], pool: list[_Output], answers: list[_Answer]) -> None:
        indptr = np.concatenate([[0], np.cumsum([len(output.indices) for output in pool])])
        entries = np.concatenate([output.values for output in pool]), np.concatenate([o.indices for o in pool])
        psi = sp.csr_array((*entries, indptr), shape=(len(pool), self.size))
        scores, slack = psi @ np.array(weights).T, _TOLERANCE * (1 + (abs(psi) @ abs(np.array(weights)).T).max(axis=0))
        losses = np.array([output.loss for output in pool])
        plain = {answer.trial: answer for answer in answers if answer.method == "argmax"}
        last: dict[str, _Answer] = {}
        for answer in answers:
            t, k, name = answer.trial, answer.output, answer.method.partition(" ")[0]
            score = scores[:, t]
            if answer.method.endswith("again"):
                before = pool[last[name].output]
                if not _same((before.indices, before.values, before.loss), _entries(pool[k])):
                    self.say(name, "deterministic", f"X[{i}]: {name} gives another output when asked the same again")
            elif answer.method == "argmax of 2w":
                if t in plain and abs(score[k] - score[plain[t].output]) > slack[t]:
                    found = f"the score {score[k]:g} at w, expected {score[plain[t].output]:g}, that of argmax at w"
                    sentence = f"X[{i}]: argmax at 2w has {found}: is what it maximises not w·Ψ?"
                    self.say(name, "doubled", sentence, note=not self.structure.exact)
            else:
                if name == "argmax":
                    value, what, at = score, "w·Ψ", ""
                elif name == "bound_argmax":
                    value = answer.at.violation(score - score[0], losses)
                    what, at = "violation", f" for {answer.at}"
                else:
                    value, what, at = score + answer.at * losses, "w·Ψ + scale·Δ", f" at scale={answer.at:.3g}"
                room = slack[t] * (1 + losses.max())
                rival = _rival(value, k, room, plain.get(t))
                if rival is not None:
                    sentence = (
                        f"X[{i}]: {name}{at} is beaten by {pool[rival].origin}: expected the greatest {what}, "
                        f"found {value[k]:g} against {value[rival]:g}"
                    )
                    self.say(name, "beaten", sentence, note=not self.structure.exact)
            last[name] = answer


_FAILED = object()


def _rival(value: FloatArray, k: int, room: float, plain: _Answer | None) -> int | None:
    """An output that beats the k-th: the truth if it does, else the plain argmax, else the best."""
    better = value > value[k] + room
    if not better.any():
        return None
    preferred = [0] if plain is None else [0, plain.output]
    return next((r for r in preferred if better[r]), int(np.argmax(value)))


def _entries(output: _Output) -> tuple[AnyArray, FloatArray, float]:
    return output.indices, output.values, output.loss


def _bound_argmax(structure: Any, x: Any, y: Any, bound: Bound) -> Callable[..., Any] | None:
    """The exact argmax for a bound, of a user's structure or of compiled examples; None where there is none."""
    if not isinstance(structure, Compiled):
        return getattr(structure, "bound_argmax", None)
    examples = structure.encode([x], [y])
    if not examples.exact_for(bound):
        return None

    def decode(w: FloatArray, *_: Any) -> Any:
        answers = Answers.empty(1, int(examples.code_offsets[-1]))
        examples.decode_bound(w, np.zeros(1, np.int64), bound, answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)

    return decode


def _items(X: Any) -> list[Any]:
    return [X[[i]] for i in range(X.shape[0])] if sp.issparse(X) else list(X)


def _binds(signature: inspect.Signature, n_arguments: int) -> bool:
    try:
        signature.bind(*[None] * n_arguments)
    except TypeError:
        return False
    return True


def _copied(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # what cannot be copied cannot be compared
        return _FAILED


def _same(a: Any, b: Any) -> bool:
    """Whether two values are equal all the way down; what cannot be compared counts as the same."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and _same(a.ravel().tolist(), b.ravel().tolist())
        return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
    if sp.issparse(a):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, dict):
        return len(a) == len(b) and all(key in b and _same(value, b[key]) for key, value in a.items())
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if hasattr(a, "equals"):  # data frames
        return bool(a.equals(b))
    if type(a).__eq__ is not object.__eq__:
        try:
            return bool(a == b) or bool(a != a)
        except Exception:
            return True
    # Attributes that are new were perhaps only cached.
    return all(_same(value, getattr(b, name, _FAILED)) for name, value in getattr(a, "__dict__", {}).items())


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"


__all__: Iterable[str] = ["Report", "check_structure"]
