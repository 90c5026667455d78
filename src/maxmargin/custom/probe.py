"""Guarded calls of a user's methods: every fault becomes a message, and no exception is raised."""

from __future__ import annotations

import copy
import inspect
import numbers
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning

from maxmargin._base.ragged import ONLY
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.core.structure import Compiled, Structure
from maxmargin.custom.any_values import equal, same
from maxmargin.custom.arguments import completed, read_only, shown
from maxmargin.custom.comparison import Findings, Output
from maxmargin.custom.joint_features import sparse_vector, value_fault

#: Result of a call that raised.
FAILED = object()
#: Name of the argument by which a method receives an output.
_OUTPUT_ARGUMENT = {"joint_feature": "y", "loss": "y_hat"}


class Probe:
    """Calls the methods of a structure on its examples and checks results and arguments.

    Attributes
    ----------
    size : int or None
        Number of weights, once it is known.
    latent : bool
        Whether outputs are pairs (y, h) of which the truths hold only y.
    restricts : bool
        Whether the structure says with `feasible` which outputs an input has.
    """

    def __init__(
        self,
        structure: Structure,
        X: Mapping[int, Any],
        Y: Mapping[int, Any],
        findings: Findings,
        size: int | None = None,
        watches: bool = True,
    ) -> None:
        """Take examples by their numbers in messages; `watches` is whether changed arguments are faults."""
        self.structure, self.X, self.Y, self.findings, self.watches = structure, X, Y, findings, watches
        declared = getattr(structure, "size", None)
        self.size, self._size_from = size if declared is None else declared, "the attribute `size` says"
        self.latent = callable(getattr(structure, "complete", None)) and not isinstance(structure, Compiled)
        self.restricts = hasattr(structure, "feasible") and not isinstance(structure, Compiled)
        self._before: dict[int, Any] = {i: copied((X[i], Y[i])) for i in X} if watches else dict.fromkeys(X, FAILED)

    def call(self, i: int, name: str, method: Callable[..., Any], w: FloatArray, *rest: Any) -> Any:
        """Return method(w, …), called with a read-only w as solvers do; `FAILED` if it raises."""
        held = w.copy() if self.watches else w
        try:
            answer = method(read_only(held), *rest)
        except Exception as error:
            answer = self._call_again(i, name, method, w, rest, error)
        if self.watches and not np.array_equal(held, w):
            self.findings.add(name, "w", f"X[{i}]: {name} writes to w, expected w unchanged: work on a copy")
        self.compare_arguments(i, name)
        return answer

    def complete(self, i: int, w: FloatArray) -> Any:
        """Return the truth with the hidden part that is best at w; `FAILED` if the method raises."""

        def pair(w: FloatArray, x: Any, y: Any) -> tuple[Any, Any]:
            return completed(y, self.structure.complete(w, x, y))  # type: ignore[attr-defined]

        return self.call(i, "complete", pair, w, self.X[i], self.Y[i])

    def initial_completion(self, i: int, rng: np.random.Generator) -> Any:
        """Return the truth with the hidden part at the start of training; `FAILED` if the method raises."""

        def pair(_: FloatArray, x: Any, y: Any) -> tuple[Any, Any]:
            return completed(y, self.structure.initial_completion(x, y, rng))  # type: ignore[attr-defined]

        return self.call(i, "initial_completion", pair, np.zeros(0), self.X[i], self.Y[i])

    def _call_again(
        self, i: int, name: str, method: Callable[..., Any], w: FloatArray, rest: tuple[Any, ...], error: Exception
    ) -> Any:
        """Call a method again with a writable w if it failed because w is read-only; otherwise report the error."""
        if "read-only" in str(error) or "readonly" in str(error):
            mine = w.copy()
            try:
                answer = method(mine, *rest)
            except Exception as another:
                error = another
            else:
                fault = (
                    "writes to w, expected w unchanged" if "read-only" in str(error) else "needs a w that is writable"
                )
                self.findings.add(name, "w", f"X[{i}]: {name} {fault} (solvers pass it read-only): {error}")
                return answer
        self.findings.add(name, "raises", f"X[{i}]: {name} raised {described(error)}")
        return FAILED

    def compare_arguments(self, i: int, name: str) -> None:
        """Report a fault if x or y has changed."""
        before, now = self._before[i], (self.X[i], self.Y[i])
        if before is FAILED:
            return
        for argument, old, new in zip("xy", before, now, strict=True):
            if not same(old, new):
                change = f"expected {shown(old)}, found {shown(new)}"
                self.findings.add(name, "arguments", f"X[{i}]: {name} changed its argument {argument}: {change}")
                self._before[i] = copied(now)

    def _compare_output(self, i: int, name: str, before: Any, output: Any) -> Any:
        """Report a fault if a call changed an output; return the copy to compare with after the next call."""
        if before is FAILED or same(before, output):
            return before
        argument, change = _OUTPUT_ARGUMENT[name], f"expected {shown(before)}, found {shown(output)}"
        self.findings.add(name, "output", f"X[{i}]: {name} changed its argument {argument}: {change}")
        return copied(output)

    def measure(self, i: int, output: Any, origin: str, trial: int = -1, repeat: bool = False) -> Output | None:
        """Return Ψ and Δ of an output, or None if one of them is not valid; `repeat` calls each method twice."""
        of = f"for {origin}, {shown(output)}"
        if self.restricts and not self._feasible(i, output, origin, of):
            return None
        read: list[Any] = []
        before = FAILED if not self.watches else output if output is self.Y[i] else copied(output)
        for name, first, reader in (("joint_feature", self.X[i], self._vector), ("loss", self.Y[i], self._number)):
            readings: list[Any] = []
            for _ in range(1 + repeat):
                try:
                    answer = getattr(self.structure, name)(first, output)
                except Exception as error:
                    self.findings.add(name, "raises", f"X[{i}]: {name} raised {described(error)} {of}")
                    return None
                self.compare_arguments(i, name)
                before = self._compare_output(i, name, before, output)
                readings.append(reader(i, answer, of))  # at once: the next call may overwrite the same object
                if readings[0] is None:
                    return None
            if not same(readings[0], readings[-1]):
                self.findings.add(name, "again", f"X[{i}]: {name} returned another value when called again {of}")
            read.append(readings[0])
        (indices, values), loss = read
        completes = self.latent and loss == 0 and _agrees(output, self.Y[i])
        return Output(shown(output), origin, trial, indices, values, loss, completes)

    def _feasible(self, i: int, output: Any, origin: str, of: str) -> bool:
        """Return whether the structure accepts an output; report a fault if not."""
        try:
            feasible = bool(self.structure.feasible(self.X[i], output))  # type: ignore[attr-defined]
        except Exception as error:
            self.findings.add("feasible", "raises", f"X[{i}]: feasible raised {described(error)} {of}")
            return False
        self.compare_arguments(i, "feasible")
        if not feasible:
            message = f"X[{i}]: expected feasible outputs only, but feasible(x, y) is false {of}"
            self.findings.add("feasible", origin, message)
        return feasible

    def _vector(self, i: int, psi: Any, of: str) -> tuple[IntArray, FloatArray] | None:
        fault = self._vector_fault(psi, i)
        if fault is not None:
            self.findings.add("joint_feature", fault[0], f"X[{i}]: joint_feature {fault[1]}, {of}")
            return None
        indices, values, _ = sparse_vector(psi)
        distinct, place = np.unique(np.asarray(indices, np.int64), return_inverse=True)
        return distinct, np.bincount(place, np.asarray(values, float), len(distinct)).astype(float)

    def _vector_fault(self, psi: Any, i: int) -> tuple[str, str] | None:
        """Return the kind of fault and its message, or None; the first vector with a length sets `size`."""
        try:
            with warnings.catch_warnings():  # NumPy would drop imaginary parts
                warnings.simplefilter("error", ComplexWarning)
                indices, values, length = sparse_vector(psi)
                values = np.asarray(values, float)
        except ComplexWarning:
            return "complex", f"returned {shown(psi)}, expected real numbers, found complex ones"
        except (TypeError, ValueError) as error:
            return "type", f"returned {shown(psi)}, expected a vector ({error})"
        if indices.ndim != 1 or values.ndim != 1 or len(indices) != len(values):
            return (
                "shape",
                f"has indices of shape {indices.shape}, values of shape {values.shape}, expected equal shapes",
            )
        if len(indices) and indices.dtype.kind not in "iu":
            return "indices", f"has indices of type {indices.dtype}, expected integers"
        if self.size is None and length is None:
            return "size", f"returned a {type(psi).__name__}, expected the attribute `size` to be the number of weights"
        if self.size is None:
            self.size, self._size_from = length, f"X[{i}] has"
        if length is not None and length != self.size:
            return "length", f"has {length} entries, expected {self.size} as {self._size_from}"
        outside = (indices < 0) | (indices >= self.size)
        if outside.any():
            return "range", f"has index {indices[outside][0]}, expected 0 to {(self.size or 0) - 1}"
        fault = value_fault(values)
        return None if fault is None else ("values", fault)

    def _number(self, i: int, loss: Any, of: str) -> float | None:
        value = np.asarray(loss)[()] if isinstance(loss, np.ndarray) and loss.ndim == 0 else loss
        if not isinstance(value, numbers.Real | np.bool_):
            self.findings.add("loss", "type", f"X[{i}]: loss returned {shown(loss)}, expected a number, {of}")
            return None
        number = float(value)
        if not 0 <= number < np.inf:
            self.findings.add("loss", "range", f"X[{i}]: loss must be finite and not negative, found {number:g} {of}")
            return None
        return number

    def check_completion(self, i: int, name: str, completion: Output) -> None:
        """Report a fault if the loss of a completed truth is not 0."""
        if completion.loss != 0:
            message = (
                f"X[{i}]: loss must be 0 for y with any hidden part, found {completion.loss:g} for {completion.shown}"
            )
            self.findings.add("loss", "truth", f"{message}, the output of {name}")


def _agrees(output: Any, y: Any) -> bool:
    """Return whether an output is a pair (y, anything)."""
    try:
        known, _ = output
    except (TypeError, ValueError):
        return False
    return equal(known, y)


def bound_argmax(structure: Any, x: Any, y: Any, bound: Bound) -> Callable[..., Any] | None:
    """Return the exact argmax for a bound, of a user-defined or built-in structure; None if there is none."""
    if not isinstance(structure, Compiled):
        return getattr(structure, "bound_argmax", None)
    examples = structure.encode([x], [y])
    if not examples.exact_for(bound):
        return None

    def decode(w: FloatArray, *_: Any) -> Any:
        answers = examples.empty_answers()
        examples.decode_bound(w, ONLY, bound, answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)

    return decode


def binds(method: Callable[..., Any], n_arguments: int) -> bool:
    """Return whether a method accepts this number of positional arguments."""
    try:
        inspect.signature(method).bind(*[None] * n_arguments)
    except TypeError:
        return False
    return True


def copied(value: Any) -> Any:
    """Return a deep copy; `FAILED` if the value cannot be copied, and hence not compared later."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return FAILED


def described(error: Exception) -> str:
    """Return the type and the text of an exception, for a message."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
