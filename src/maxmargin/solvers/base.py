"""What all solvers share: a state of plain arrays, steps, limits and a certificate after every step."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from maxmargin._checked import finite_number, whole_number
from maxmargin._compile import working_seconds
from maxmargin._types import AnyArray, FloatArray
from maxmargin.bounds.references import References
from maxmargin.core.certificate import Certificate
from maxmargin.core.problem import Problem
from maxmargin.solvers.protocol import Decodable

#: Slack of the test whether a search proved its argmaxes exact.
EXACT_WITHIN = 1e-6


@dataclass(frozen=True)
class Limits:
    """When to stop: relative gap, steps, wall-clock seconds; whichever comes first."""

    tol: float = 1e-3
    max_iter: int | None = None
    max_seconds: float | None = None


class State:
    """Where a solver is. Subclasses add arrays and name them in `_saved`, plain numbers in `_counters`.

    Attributes
    ----------
    w : present weights.
    best_w, best_primal, best_bound : best weights so far, their objective, and its proven upper bound.
    best_dual : best lower bound so far; α = 0 proves 0.
    finished : set by a solver that has nothing left to do.
    round : what the last step did, where a solver has several kinds of steps.
    """

    _saved: ClassVar[tuple[str, ...]] = ()
    _counters: ClassVar[tuple[str, ...]] = ()
    _common_counters: ClassVar[tuple[str, ...]] = (
        "best_primal", "best_bound", "best_dual", "iteration", "oracle_calls", "seconds", "finished", "round",
    )  # fmt: skip

    def __init__(self, problem: Decodable, seed: int, start: FloatArray | None = None) -> None:
        self.w = problem.objective.raised(np.zeros(problem.dim) if start is None else np.array(start, float))
        self.best_w = self.w.copy()
        self.best_primal, self.best_bound, self.best_dual = np.inf, np.inf, 0.0
        self.iteration, self.oracle_calls, self.seconds = 0, 0, 0.0
        self.finished, self.round = False, ""
        self.rng = np.random.default_rng(seed)

    def offer(self, problem: Decodable, w: FloatArray) -> float:
        """Keep w if it is the best so far, judged by the hinges just found at it; its primal value."""
        primal, bound = problem.primal(w)
        if primal < self.best_primal:
            self.best_primal, self.best_bound, self.best_w = primal, bound, w.copy()
        return primal

    def raise_dual(self, value: float) -> None:
        """A proven lower bound of the optimum."""
        self.best_dual = max(self.best_dual, value)

    def certificate(self, problem: Problem) -> Certificate:
        exact = problem.exact
        if problem.proves_bounds:
            exact = bool(np.isfinite(self.best_bound)) and self.best_bound <= self.best_primal * (1 + EXACT_WITHIN)
        primal = self.best_primal if exact else max(self.best_primal, self.best_dual)  # an estimate, never below proof
        offset = problem.offset
        return Certificate(
            float(primal + offset), float(self.best_dual + offset), self.oracle_calls, self.seconds, exact,
            float((self.best_primal if exact else self.best_bound) + offset),
        )  # fmt: skip

    def arrays(self) -> dict[str, AnyArray]:
        """The whole state as plain arrays."""
        counters = {name: getattr(self, name) for name in (*self._common_counters, *self._counters)}
        meta = json.dumps({"counters": counters, "rng": self.rng.bit_generator.state})
        arrays = {name: getattr(self, name) for name in ("w", "best_w", *self._saved)}
        return {**arrays, "meta": np.frombuffer(meta.encode(), np.uint8)}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """The inverse of `arrays`."""
        meta = json.loads(bytes(arrays["meta"]).decode())
        for name, value in meta["counters"].items():
            setattr(self, name, value)
        self.rng.bit_generator.state = meta["rng"]
        for name in ("w", "best_w", *self._saved):
            setattr(self, name, np.array(arrays[name]))

    def support(self, problem: Problem) -> dict[str, Any] | None:
        """Planes with dual values, where the solver keeps them example by example."""
        return None


@dataclass(frozen=True)
class Solver(ABC):
    """Hyper-parameters of a solver. Its working memory is a `State`, which can be saved, resumed and warm-started."""

    #: Name by which estimators know it.
    name: ClassVar[str]
    #: Whether a hard margin (C = inf) can be asked of it.
    hard_margin: ClassVar[bool] = False
    #: Whether it keeps weights above the lower bounds of an objective.
    lower_bounds: ClassVar[bool] = False
    #: Whether the certificate's gap closes, so that stopping above ``tol`` deserves a warning.
    certifies: ClassVar[bool] = True
    #: Steps taken when the user sets no limit.
    default_max_iter: ClassVar[int] = 1000
    #: The lowest value of a hyper-parameter, where it is not 1 for a whole number and 0 for another one.
    lowest: ClassVar[Mapping[str, int | float]] = {}
    #: What to do where its own rule ends a fit above ``tol``.
    stricter: ClassVar[str] = "make the solver's own rule stricter"

    def check_parameters(self) -> None:
        """One sentence, before data are looked at, when a hyper-parameter can be of no use."""
        for field in fields(self):
            name, value = f"{type(self).__name__}: {field.name}", getattr(self, field.name)
            if isinstance(field.default, bool):
                continue
            if isinstance(field.default, int):
                whole_number(value, name, int(self.lowest.get(field.name, 1)))
            elif isinstance(field.default, float):
                finite_number(value, name, self.lowest.get(field.name, 0.0))
            elif isinstance(field.default, tuple):
                _check_interval(value, name)

    def check_trade_off(self, C: float) -> None:
        """One sentence, before data are looked at, when this solver does not know such a C."""
        if np.isinf(C) and not self.hard_margin:
            raise ValueError(f"solver={self.name!r} needs a finite C; C=inf (hard margin) is for 'auto' and 'nslack'")

    def check(self, problem: Problem) -> None:
        """Raise ValueError, before any work, if this solver cannot solve the problem."""
        lower = problem.objective.lower
        if lower is not None and not self.lower_bounds:
            raise ValueError(
                f"solver={self.name!r} cannot keep weights above lower bounds (nonnegative); 'auto' and 'bundle' can"
            )
        if lower is not None and lower.shape != (problem.dim,):
            raise ValueError(f"lower must have one number per weight, {problem.dim}, found shape {lower.shape}")

    def for_problem(self, problem: Problem) -> Solver:
        """Return the solver to use for this problem; itself, unless the choice was left to the library."""
        return self

    @abstractmethod
    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> State:
        """A state before the first step, from given weights if there are any."""

    @abstractmethod
    def step(self, problem: Problem, state: Any) -> None:
        """Change the state for the better; ends with what is needed for a certificate."""

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> State:
        """A state for the same examples under another objective, from where `state` ended; by default its weights."""
        return self.init(problem, seed, state.best_w)

    def rebase(self, problem: Problem, state: Any, before: References, seed: int = 0) -> State:
        """A state for the problem with new references, from where `state` ended with those before; by default its
        weights."""
        return self.init(problem, seed, state.best_w)

    def resume(self, problem: Problem, state: Any) -> None:
        """Called once before the first step of a restored or warm-started state."""
        return None

    def planned_bytes(self, problem: Problem) -> float:
        """Memory the solver expects to need beside the data, told before the fit when it is large."""
        return 6.0 * 8 * problem.dim

    def run(
        self,
        problem: Problem,
        state: State,
        limits: Limits,
        monitor: Callable[[State, Certificate], bool] | None = None,
    ) -> str:
        """Step until a limit is met; why it stopped comes back.

        The reasons are ``"tol"``, ``"converged"`` (the solver's own rule), ``"max_iter"``, ``"max_seconds"``,
        ``"callback"`` and ``"interrupted"``.
        """
        began, before = working_seconds(), state.seconds
        max_iter = self.default_max_iter if limits.max_iter is None else limits.max_iter
        problem.oracle_calls = state.oracle_calls
        try:
            if state.iteration > 0:
                self.resume(problem, state)
            while True:
                certificate = state.certificate(problem)
                if certificate.gap <= limits.tol:
                    return "tol"
                if state.finished:
                    return "converged"
                if state.iteration >= max_iter:
                    return "max_iter"
                if limits.max_seconds is not None and state.seconds >= limits.max_seconds:
                    return "max_seconds"
                self.step(problem, state)
                state.iteration += 1
                state.oracle_calls = problem.oracle_calls
                state.seconds = before + working_seconds() - began
                if monitor is not None and monitor(state, state.certificate(problem)):
                    return "callback"
        except KeyboardInterrupt:
            state.seconds = before + working_seconds() - began
            state.oracle_calls = problem.oracle_calls
            return "interrupted"


def _check_interval(value: Any, name: str) -> None:
    """Two numbers in ascending order."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{name} must be a pair of numbers, found {value!r}")
    low = finite_number(value[0], f"{name}[0]")
    finite_number(value[1], f"{name}[1]", low)
