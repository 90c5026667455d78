"""Base classes of solvers: states, limits, steps and certificates."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from maxmargin._base.checks import finite_number, whole_number
from maxmargin._base.jit import working_seconds
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.certificate import Certificate
from maxmargin.core.objective import Objective
from maxmargin.problem import OutOfTime, Problem, References
from maxmargin.solvers.saved_states import check_array, check_counters, check_generator, check_names, check_within


class Decodable(Protocol):
    """Convex problem whose planes can be found and summed.

    `Problem` implements it over the outputs of a structure, `held_planes.HeldProblem` over the held planes. Solvers
    with working sets need a `Problem`, because they store planes one by one.
    """

    oracle_calls: int

    @property
    def objective(self) -> Objective: ...

    @property
    def dim(self) -> int: ...

    @property
    def n_examples(self) -> int: ...

    @property
    def everyone(self) -> IntArray:
        """Ids of all examples."""
        ...

    @property
    def hinges(self) -> FloatArray:
        """Hinges b − w·a of the planes found last, at least 0."""
        ...

    def decode(self, w: FloatArray, ids: IntArray) -> None:
        """Find the most violated plane of each example in ids, at w."""
        ...

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Return Σ slopes[i] a of the planes found last."""
        ...

    @property
    def sum_errors(self) -> float:
        """Bound on what rounding errors of sums over outputs add to Σ C c_i b of the planes found last."""
        ...

    def primal(self, w: FloatArray) -> tuple[float, float]:
        """Return P(w) from the hinges found last, and a proven upper bound."""
        ...


#: Relative tolerance of the test whether a search proved its argmaxes exact.
EXACT_WITHIN = 1e-6
#: Share of `tol` to which the gap is closed if the rest of `tol` is not enough for what cannot be proven.
CLOSE_ENOUGH = 0.1


@dataclass(frozen=True)
class Limits:
    """Stopping criteria of a run, which ends at the first one met.

    Attributes
    ----------
    tol : float, default=1e-3
        Relative gap.
    max_iter : int or None, default=None
        Number of steps; None means the default of the solver.
    max_seconds : float or None, default=None
        Wall-clock time.
    """

    tol: float = 1e-3
    max_iter: int | None = None
    max_seconds: float | None = None


class State:
    """State of a solver.

    Subclasses add arrays and list their names in `_saved`, and plain numbers in `_counters`.

    Attributes
    ----------
    w : ndarray of shape (dim,)
        Current weights.
    best_w : ndarray of shape (dim,)
        Best weights so far.
    best_primal : float
        Objective at the best weights.
    best_bound : float
        Proven upper bound on the objective at the best weights.
    best_dual : float
        Best lower bound so far; α = 0 proves 0.
    iteration : int
        Number of steps so far.
    finished : bool
        Whether the solver has nothing left to do.
    round : str
        Name of what the last step did, for solvers with several kinds of steps.
    closing : bool
        Whether searches for argmaxes look at further outputs (`Problem.closing`).
    cut_short : bool
        Whether the last step was interrupted; then the run cannot be resumed from this state bit for bit.
    """

    _saved: ClassVar[tuple[str, ...]] = ()
    _counters: ClassVar[tuple[str, ...]] = ()
    _common_counters: ClassVar[tuple[str, ...]] = (
        "best_primal", "best_bound", "best_dual", "iteration", "oracle_calls", "seconds", "finished", "round",
        "closing",
    )  # fmt: skip

    def __init__(self, problem: Decodable, seed: int, start: FloatArray | None = None) -> None:
        self.w = problem.objective.raised(np.zeros(problem.dim) if start is None else np.array(start, float))
        self.best_w = self.w.copy()
        self.best_primal, self.best_bound, self.best_dual = np.inf, np.inf, 0.0
        self.iteration, self.oracle_calls, self.seconds = 0, 0, 0.0
        self.finished, self.round, self.cut_short, self.closing = False, "", False, False
        self.rng = np.random.default_rng(seed)

    def offer(self, problem: Decodable, w: FloatArray) -> float:
        """Keep w if it is the best so far, and return its primal value.

        The primal value is computed from the hinges that were just found at w.
        """
        primal, bound = problem.primal(w)
        self.keep(primal, bound, w)
        return primal

    def keep(self, primal: float, bound: float, w: FloatArray) -> None:
        """Keep w, with this primal value and proven upper bound on it, if it is the best so far."""
        if primal < self.best_primal:
            self.best_primal, self.best_bound = primal, bound
            np.copyto(self.best_w, w)

    def offer_again(self, problem: Problem) -> None:
        """Compute the primal value of the best weights again, with argmaxes that may find more than before."""
        problem.decode(self.best_w, problem.everyone)
        if problem.objective.hard:
            self.best_primal, self.best_bound = np.inf, np.inf
        else:
            self.best_primal, self.best_bound = problem.primal(self.best_w)
        problem.decode(self.w, problem.everyone)

    def least_at_zero(self, problem: Problem, zero: FloatArray) -> float:
        """Return a lower bound on the objective at weights of 0 (or the lower bounds above 0), from known planes."""
        values = problem.values
        if hasattr(self, "sets"):
            values = np.maximum(values, self.sets.largest_values())
        return problem.objective.primal(zero, values)

    def raise_dual(self, value: float) -> None:
        """Keep a proven lower bound on the optimum if it is the best so far."""
        self.best_dual = max(self.best_dual, value)

    def certificate(self, problem: Problem) -> Certificate:
        """Return the certificate of the best weights so far."""
        exact = problem.exact
        if problem.proves_bounds:
            exact = bool(np.isfinite(self.best_bound)) and self.best_bound <= self.best_primal * (1 + EXACT_WITHIN)
        primal = (
            self.best_primal if exact else max(self.best_primal, self.best_dual)
        )  # an estimate is never below the lower bound
        offset = problem.offset
        return Certificate(
            float(primal + offset), float(self.best_dual + offset), self.oracle_calls, self.seconds, exact,
            float(self.best_bound + offset), assumed=problem.examples.user_code,
        )  # fmt: skip

    def arrays(self) -> dict[str, AnyArray]:
        """Return the complete state as plain arrays."""
        counters = {name: getattr(self, name) for name in (*self._common_counters, *self._counters)}
        meta = json.dumps({"counters": counters, "rng": self.rng.bit_generator.state})
        arrays = {name: getattr(self, name) for name in ("w", "best_w", *self._saved)}
        return {**arrays, "meta": np.frombuffer(meta.encode(), np.uint8)}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays; the message begins with what is wrong with them."""
        check_names(arrays, self.arrays())
        meta = json.loads(bytes(arrays["meta"]).decode())
        names = (*self._common_counters, *self._counters)
        check_counters(meta["counters"], {name: getattr(self, name) for name in names})
        check_generator(meta["rng"])
        for name in ("w", "best_w", *self._saved):
            check_array(name, arrays[name], getattr(self, name))

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Restore the saved arrays."""
        meta = json.loads(bytes(arrays["meta"]).decode())
        for name, value in meta["counters"].items():
            setattr(self, name, value)
        self.rng.bit_generator.state = meta["rng"]
        for name in ("w", "best_w", *self._saved):
            setattr(self, name, np.array(arrays[name]))

    def support(self, problem: Problem) -> dict[str, Any] | None:
        """Return the planes with dual values, if the solver keeps them per example, otherwise None."""
        return None


@dataclass(frozen=True)
class Solver(ABC):
    """Hyper-parameters of a solver.

    The working memory of a solver is a `State`, which can be saved, resumed and used for a warm start.
    """

    #: Name of the solver in estimators.
    name: ClassVar[str]
    #: Whether the solver supports a hard margin (C = inf).
    hard_margin: ClassVar[bool] = False
    #: Whether the solver supports lower bounds on weights.
    lower_bounds: ClassVar[bool] = False
    #: Whether the gap converges to 0; then stopping above ``tol`` causes a warning.
    certifies: ClassVar[bool] = True
    #: Whether the solver minimises sums over outputs (True), maxima over outputs (False), or both (None).
    smooth: ClassVar[bool | None] = False
    #: Maximum number of steps if the user sets none.
    default_max_iter: ClassVar[int] = 1000
    #: Lower limits of hyper-parameters, if they differ from 1 for integers and 0 for floats.
    lowest: ClassVar[Mapping[str, int | float]] = {}
    #: Advice if the solver's own criterion ends a fit above ``tol``.
    stricter: ClassVar[str] = "make the solver's own stopping criterion stricter"

    def check_parameters(self) -> None:
        """Raise ValueError if a hyper-parameter is invalid, before any data are read."""
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
        """Raise ValueError if the solver does not support this C, before any data are read."""
        if np.isinf(C) and not self.hard_margin:
            raise ValueError(f"solver={self.name!r} needs a finite C; use 'auto' or 'nslack' for C=inf (hard margin)")

    def check(self, problem: Problem) -> None:
        """Raise ValueError, before any work, if the solver cannot solve the problem."""
        if self.smooth is not None and self.smooth != problem.smooth:
            raise ValueError(
                f"solver={self.name!r} is for the bounds 'likelihood' and 'softmax-margin'; use 'auto'"
                if self.smooth
                else f"solver={self.name!r} needs planes of single outputs, which the bounds 'likelihood' and "
                f"'softmax-margin' do not have; use 'auto', 'lbfgs', 'bundle' or 'oneslack'"
            )
        lower = problem.objective.lower
        if lower is not None and not self.lower_bounds:
            raise ValueError(
                f"solver={self.name!r} does not support lower bounds on weights (nonnegative); use 'auto' or 'bundle'"
            )
        if lower is not None and lower.shape != (problem.dim,):
            raise ValueError(f"lower must have one number per weight, {problem.dim}, found shape {lower.shape}")

    def for_problem(self, problem: Problem) -> Solver:
        """Return the solver to use for this problem: itself, unless the choice was left to the library."""
        return self

    @abstractmethod
    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> State:
        """Return a state before the first step, from the given weights if there are any."""

    @abstractmethod
    def step(self, problem: Problem, state: Any) -> None:
        """Improve the state and update what its certificate needs."""

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> State:
        """Return a state for the same examples under another objective, starting from `state`.

        By default only the best weights are used.
        """
        return self.init(problem, seed, state.best_w)

    def rebase(self, problem: Problem, state: Any, before: References, seed: int = 0) -> State:
        """Return a state for the problem with new references, starting from `state` with the references `before`.

        By default only the best weights are used.
        """
        return self.init(problem, seed, state.best_w)

    def resume(self, problem: Problem, state: Any) -> None:
        """Prepare a restored or warm-started state for its next step."""
        return None

    def planned_bytes(self, problem: Problem) -> float:
        """Return the memory that the solver is expected to need besides the data.

        A fit warns if it is large.
        """
        return 6.0 * 8 * problem.dim

    def run(
        self,
        problem: Problem,
        state: State,
        limits: Limits,
        monitor: Callable[[State, Certificate], bool] | None = None,
    ) -> str:
        """Run until a stopping criterion is met and return the reason.

        A time limit also ends a step before its end. The gap is within `tol` if that is proven; if argmaxes are found
        by search and leave a gap, they look at further outputs before the run gives up.

        Parameters
        ----------
        problem : Problem
            The problem to solve.
        state : State
            The state, which is changed in place.
        limits : Limits
            Stopping criteria.
        monitor : callable or None, default=None
            Called with the state and its certificate after every step; the run stops if it returns True.

        Returns
        -------
        str
            ``"tol"``, ``"estimated"`` (the gap is within `tol`, but that is not proven), ``"converged"`` (the solver's
            own criterion), ``"max_iter"``, ``"max_seconds"``, ``"callback"`` or ``"interrupted"``.
        """
        began, before = working_seconds(), state.seconds
        max_iter = self.default_max_iter if limits.max_iter is None else limits.max_iter
        problem.oracle_calls, problem.closing = state.oracle_calls, state.closing
        problem.deadline = np.inf if limits.max_seconds is None else began + limits.max_seconds - before
        try:
            if state.iteration > 0:
                self.resume(problem, state)
            while True:
                reason = self._reason_to_stop(problem, state, limits, max_iter)
                if reason == "estimated" and problem.close_searches():
                    state.offer_again(problem)
                    state.finished, state.closing = False, True
                elif reason:
                    return reason
                state.cut_short = True
                self.step(problem, state)
                state.cut_short = False
                state.iteration += 1
                state.oracle_calls = problem.oracle_calls
                state.seconds = before + working_seconds() - began
                if monitor is not None and monitor(state, state.certificate(problem)):
                    return "callback"
        except (KeyboardInterrupt, OutOfTime) as error:
            state.seconds = before + working_seconds() - began
            state.oracle_calls = problem.oracle_calls
            return "max_seconds" if isinstance(error, OutOfTime) else "interrupted"
        finally:
            problem.deadline = np.inf

    @staticmethod
    def _reason_to_stop(problem: Problem, state: State, limits: Limits, max_iter: int) -> str:
        """Return the reason to stop before the next step, or an empty string to continue."""
        certificate = state.certificate(problem)
        if certificate.gap <= limits.tol:
            if certificate.proven_gap <= limits.tol and not _may_be_zero(state, certificate, limits.tol):
                return "tol"
            if certificate.primal <= 0.0:  # nothing left to gain; rounding errors are not relative to 0
                return "tol" if problem.examples.exact else "estimated"
            if certificate.unproven > limits.tol or certificate.gap <= CLOSE_ENOUGH * limits.tol:
                return "estimated"
        elif certificate.exact and np.inf > certificate.unproven > max(limits.tol, certificate.gap):
            return "estimated"  # rounding errors exceed what is left to gain
        if state.finished:
            return "converged"
        if state.iteration >= max_iter:
            return "max_iter"
        if limits.max_seconds is not None and state.seconds >= limits.max_seconds:
            return "max_seconds"
        return ""


def _may_be_zero(state: State, certificate: Certificate, tol: float) -> bool:
    """Return whether the gap should become smaller, since better weights than 0 may be near.

    P is strongly convex, so the optimum w* satisfies ½‖w − w*‖² ≤ P(w) − D. Weights with ½‖w‖² below that difference
    are no better known than w = 0, which a gap relative to a large P(0) does not show.
    """
    left = state.best_primal - state.best_dual
    return certificate.gap > CLOSE_ENOUGH * tol and 0.5 * float(state.best_w @ state.best_w) < left


def _check_interval(value: Any, name: str) -> None:
    """Raise ValueError unless the value is a pair of numbers in ascending order."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"{name} must be a pair of numbers, found {value!r}")
    low = finite_number(value[0], f"{name}[0]")
    finite_number(value[1], f"{name}[1]", low)


def offer_zero(problem: Problem, state: State) -> bool:
    """Offer weights of 0 (or the lower bounds above 0), unless planes prove that they are not better.

    Solvers that begin with mini-batches never decode all examples at w = 0, and a fit that stops early could end above
    the objective there. The hinge of a plane at w = 0 is its value b, so the planes found so far bound the objective at
    w = 0 from below, and a sweep is rarely needed.

    Return whether a sweep was needed. Argmaxes that are not exact may miss losses at w = 0, so they get no sweep.
    """
    objective = problem.objective
    if objective.hard or not problem.examples.exact:
        return False
    zero = objective.raised(np.zeros(problem.dim))
    if not zero.any() and state.best_primal <= state.least_at_zero(problem, zero):
        return False
    problem.decode(zero, problem.everyone)
    state.offer(problem, zero)
    state.oracle_calls = problem.oracle_calls
    return True


@dataclass
class Part:
    """Numbers and arrays of a state that belong together; every field is saved."""

    #: Range of saved numbers that are not valid everywhere, by field.
    _ranges: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def arrays(self) -> dict[str, AnyArray]:
        """Return the fields as plain arrays."""
        return {field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        like = self.arrays()
        check_names(arrays, like)
        for name, array in arrays.items():
            check_array(name, array, like[name], finite=array.ndim > 0)
            check_within(name, array, *self._ranges.get(name, (-np.inf, np.inf)))

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Set the fields to what `arrays` returned."""
        for field in fields(self):
            value = np.array(arrays[field.name])
            setattr(self, field.name, value if value.ndim else value.item())


class ComposedState(State):
    """State that also saves the parts named in `_parts`.

    Their arrays are saved as ``part.array``.
    """

    _parts: ClassVar[tuple[str, ...]] = ()

    def arrays(self) -> dict[str, AnyArray]:
        saved = super().arrays()
        for part in self._parts:
            saved.update({f"{part}.{name}": array for name, array in getattr(self, part).arrays().items()})
        return saved

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        super().check_saved(arrays)
        for part in self._parts:
            try:
                getattr(self, part).check_saved(arrays_of_part(part, arrays))
            except ValueError as error:
                raise ValueError(f"in its part {part}, {error}") from None

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        super().restore(arrays)
        for part in self._parts:
            getattr(self, part).restore(arrays_of_part(part, arrays))


def arrays_of_part(part: str, arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the arrays of a part, by their names within it."""
    mine = f"{part}."
    return {name.removeprefix(mine): array for name, array in arrays.items() if name.startswith(mine)}
