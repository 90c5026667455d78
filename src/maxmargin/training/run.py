"""A training run: a problem, a solver, limits, callbacks, checkpoints and progress.

A checkpoint is the complete state of a run, in an archive as model files are. Callbacks are functions of a `Step`, or
those of scikit-learn's callback API (``set_callbacks``), if the installed scikit-learn has it.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any, TypeVar

import numpy as np
from sklearn.utils import check_random_state

from maxmargin._base.archive import CHECKPOINT, CHECKPOINT_3, Archive, BadFileError, replacing, write_archive
from maxmargin._base.checks import Value, check_declared, declared, finite_number, parameter
from maxmargin._base.fingerprint import Fingerprint
from maxmargin._base.memory import check_memory
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.certificate import Certificate
from maxmargin.engines.engine import one_blas_thread
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits, Solver, State, offer_zero

#: The format that is written, and those that are read.
FORMAT, READ = 4, (3, 4)
#: Parameter of a solver in earlier checkpoints → what it is called today.
RENAMED = ("joint_share=", "held_share=")
#: Solver with a parameter that earlier checkpoints do not have, and the value that it had.
ADDED = ("ProximalWorkingSets(", "most_bytes=0")


def _check_path(path: Any, name: str) -> None:
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"checkpoint must be the path of a file or a Checkpoint, found {path!r}")


def _check_interval(seconds: Any, name: str) -> None:
    """Raise ValueError unless it is a number ≥ 0, infinity included."""
    if seconds != float("inf"):
        finite_number(seconds, name)


@declared(frozen=True)
class Checkpoint(Value):
    """File to which the state of a fit is written while it runs.

    It is the value of the parameter `checkpoint` of estimators; a path alone means one checkpoint per minute.

    Examples
    --------
    >>> import maxmargin as mm
    >>> mm.MulticlassSVM(checkpoint=mm.Checkpoint("fit.npz", every=600.0))
    MulticlassSVM(checkpoint=Checkpoint('fit.npz', every=600.0))
    """

    path: str | os.PathLike[str] = parameter("The file.", _check_path, kind="str or path-like", kw_only=False)
    every: float = parameter("Seconds between checkpoints; 0 for one after every step.", _check_interval, default=60.0)

    @classmethod
    def of(cls, checkpoint: Any) -> Checkpoint | None:
        """Return a checkpoint, or that of a path; None for None."""
        return checkpoint if checkpoint is None or isinstance(checkpoint, Checkpoint) else cls(checkpoint)

    def check(self) -> None:
        """Raise ValueError for the first parameter that is invalid."""
        check_declared(self, "Checkpoint: ")


def _solver_today(text: str) -> str:
    """Return a solver of an earlier checkpoint as `repr` shows it today."""
    text = text.replace(*RENAMED)
    name, added = ADDED
    lacks = text.startswith(name) and added.split("=")[0] not in text
    return f"{text[:-1]}, {added})" if lacks else text


def fingerprint(problem: Problem, solver: Solver, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what must be equal for a run to be resumed; `identity` is what the caller knows besides."""
    objective = problem.objective
    return {
        "examples": problem.n_examples,
        "weights": problem.dim,
        "C": str(objective.C),
        "bound": str(problem.bound),
        "solver": repr(solver),
        "sample_weight": zlib.crc32(objective.weights.tobytes()),
        "lower": 0 if objective.lower is None else zlib.crc32(objective.lower.tobytes()),
        "prior": 0 if problem.centre is None else zlib.crc32(problem.centre.tobytes()),
        "data": problem.examples.digest(),
        **identity,
    }


def save_checkpoint(
    path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State, identity: Mapping[str, Any]
) -> None:
    """Write the state; an existing file stays intact until the new one is complete."""
    arrays = state.arrays()
    header = {"format": FORMAT, "fingerprint": fingerprint(problem, solver, identity), "arrays": checksum(arrays)}
    with replacing(path) as file:
        write_archive(file, CHECKPOINT, header, arrays, compressed=False)


def load_checkpoint(
    path: str | os.PathLike[str], problem: Problem, solver: Solver, state: State, identity: Mapping[str, Any]
) -> None:
    """Restore the state of a run on the same data with the same settings.

    Arrays are checked before they are used; a ValueError names the file and what is wrong with it.
    """
    with open(path, "rb") as file:
        try:
            header, arrays = _read(Archive(file, CHECKPOINT, CHECKPOINT_3))
        except BadFileError as error:
            raise ValueError(f"{os.fspath(path)} {error}") from None
    saved = header["fingerprint"]
    saved["solver"] = _solver_today(str(saved.get("solver")))
    for name, value in fingerprint(problem, solver, identity).items():
        if saved.get(name) != value:
            raise ValueError(f"{path} belongs to another run: its {name} is {saved.get(name)!r}, expected {value!r}")
    if header.get("arrays") != checksum(arrays):
        raise ValueError(f"{path} is damaged: its arrays are not those that were written")
    try:
        state.check_saved(arrays)
        state.restore(arrays)
        if hasattr(state, "sets"):
            state.sets.check_outputs(problem)
    except Exception as error:
        raise ValueError(f"{path} is damaged: {error}") from None


def checksum(arrays: Mapping[str, AnyArray]) -> str:
    """Return a fingerprint of names and arrays."""
    return Fingerprint().add(dict(sorted(arrays.items()))).hexdigest()


def _read(archive: Archive) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Return the header and the arrays of a checkpoint."""
    header = archive.document()
    if not isinstance(header, dict) or not isinstance(header.get("fingerprint"), dict):
        raise BadFileError("is damaged: its header is not readable")
    if header.get("format") not in READ:
        raise BadFileError(
            f"has checkpoint format {header.get('format')!r}, and this version reads {READ[0]} to {READ[-1]}: fit from "
            f"the beginning, without resume"
        )
    return header, archive.arrays()


logger = logging.getLogger("maxmargin")


#: Seconds between plain lines, at first and at most; the time doubles from line to line.
_SOON, _LATE = 1.0, 30.0


class ProgressLine:
    """Display of gap and time during a fit.

    On a terminal, one line is rewritten after every step. Otherwise (logs, notebooks) plain lines are printed to
    standard error, fewer and fewer of them, and one at the end. Every step is also logged to the logger ``maxmargin``
    at level INFO.

    Parameters
    ----------
    verbose : int
        Whether progress is displayed.
    tol : float
        Relative gap at which the fit stops.
    """

    def __init__(self, verbose: int, tol: float) -> None:
        self.tol = tol
        self.shown = bool(verbose) and sys.stderr is not None
        self.terminal = self.shown and sys.stderr.isatty()
        self._live: Any = None
        self._last, self._pause, self._next = "", _SOON, monotonic() + _SOON

    def __enter__(self) -> ProgressLine:
        if self.terminal:
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # without rich, the line is rewritten after a carriage return
                return self
            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=False)
            self._live.__enter__()
        return self

    def update(self, iteration: int, certificate: Certificate) -> None:
        """Display and log the certificate after a step."""
        text = self._text(iteration, certificate)
        logger.info(text)
        if self._live is not None:
            self._live.update(text)
        elif self.terminal:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
        elif self.shown:
            self._last = text
            if monotonic() >= self._next:
                self._print()

    def _text(self, iteration: int, certificate: Certificate) -> str:
        """Return the line of a step, without a gap or an objective that is not known yet."""
        parts = [f"step {iteration}"]
        if math.isfinite(certificate.gap):
            parts.append(f"gap {certificate.gap:.2e} (stop at {self.tol:.0e})")
        if math.isfinite(certificate.primal):
            parts.append(f"objective {certificate.primal:.6g}")
        return "  ".join([*parts, f"{certificate.oracle_calls} argmaxes", f"{certificate.seconds:.1f} s"])

    def _print(self) -> None:
        print(f"maxmargin: {self._last}", file=sys.stderr, flush=True)
        self._last, self._pause = "", min(2.0 * self._pause, _LATE)
        self._next = monotonic() + self._pause

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)
        elif self.terminal:
            print(file=sys.stderr)
        elif self._last:
            self._print()


#: Share of a time limit after which another checkpoint is written.
SAVED_SHARE = 0.05


@dataclass(frozen=True)
class Step:
    """State of a fit that is passed to callbacks after every step.

    Attributes
    ----------
    iteration : int
        Number of steps so far.
    certificate : Certificate
        Certificate of the best weights so far.
    weights : ndarray of shape (dim,)
        The best weights so far; read-only.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> seen = []
    >>> model = mm.SequenceTagger(callbacks=lambda step: seen.append((step.iteration, step.certificate.gap))).fit(X, Y)
    >>> len(seen) == model.n_iter_, seen[-1][1] <= model.tol
    (True, True)
    """

    iteration: int
    certificate: Certificate
    weights: FloatArray


Callback = Callable[[Step], Any]


def seed_of(random_state: Any) -> int:
    """Return a seed for NumPy's generators from any `random_state` that scikit-learn accepts."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass
class Run:
    """Settings of a run, and its result after `go`.

    Attributes
    ----------
    solver : Solver
        The solver; `go` replaces it by the one for the problem if the choice was left to the library.
    limits : Limits
        Stopping criteria.
    seed : int, default=0
        Seed of the random generator.
    callbacks : sequence of callable, default=()
        Called with a `Step` after every step; the run stops if one of them returns a true value.
    checkpoint : Checkpoint or None, default=None
        File for checkpoints, and how often it is written.
    verbose : int, default=0
        Whether progress is displayed.
    history : list of dict
        One row for each step; primal value and gap are NaN as long as no weights have a certificate.
    stop_reason : str
        The reason why the run stopped, see `Solver.run`.
    outer_steps : int
        Number of outer steps, for bounds that are not convex.
    outer_decrease : float
        Relative decrease of the objective in the last outer step.
    start : str
        Name of the weights that the run started with; empty for the solver's own.
    identity : callable
        Returns what a checkpoint knows of the run besides the problem and the solver.
    """

    solver: Solver
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    callbacks: Sequence[Callback] = ()
    checkpoint: Checkpoint | None = None
    verbose: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    outer_steps: int = 0
    outer_decrease: float = float("nan")
    start: str = ""
    identity: Callable[[], Mapping[str, Any]] = dict

    def go(
        self,
        problem: Problem,
        start: FloatArray | None = None,
        resume: str | os.PathLike[str] | None = None,
        state: State | None = None,
    ) -> State:
        """Train and return the final state."""
        self.solver = self.solver.for_problem(problem)
        self.solver.check(problem)
        check_memory(self.solver.planned_bytes(problem), f"training {problem.dim} weights",
                     "use fewer features (for taggers also min_count or seen_pairs), labels or examples")  # fmt: skip
        with one_blas_thread():
            if state is None:
                state = self.solver.init(problem, self.seed, start)
            if resume is not None:
                load_checkpoint(resume, problem, self.solver, state, self.identity())
            elif self.checkpoint is not None:
                problem.examples.digest()  # before a structure can write into its inputs
            with ProgressLine(self.verbose, self.limits.tol) as line:
                self._saved_at = monotonic()
                self.stop_reason = self.solver.run(
                    problem, state, self.limits, lambda s, c: self._after_step(problem, s, c, line)
                )
            if self.checkpoint is not None and not state.cut_short:
                save_checkpoint(self.checkpoint.path, problem, self.solver, state, self.identity())
            self._complete(problem, state)
        return state

    def _is_due(self, checkpoint: Checkpoint) -> bool:
        """Return whether to write a checkpoint: sooner with a time limit, which may cut the last step short."""
        every, limit = float(checkpoint.every), self.limits.max_seconds
        return monotonic() - self._saved_at >= (every if limit is None else min(every, SAVED_SHARE * limit))

    def _complete(self, problem: Problem, state: State) -> None:
        """Offer the last weights if the state has no best ones, and weights of 0 if they may be better than the best.

        This comes after the last checkpoint, so a resumed fit continues as if it had not stopped.
        """
        swept = False
        if np.isinf(state.best_primal):
            swept = self._use_last_weights(problem, state)
        if not state.cut_short and self.stop_reason != "interrupted" and self.solver.certifies:
            swept = offer_zero(problem, state) or swept
        if swept and self.history:
            certificate = state.certificate(problem).reconsidered()
            self.history[-1] |= {"oracle_calls": certificate.oracle_calls, **_values(certificate)}

    @staticmethod
    def _use_last_weights(problem: Problem, state: State) -> bool:
        """Use the last weights if the state has no best ones.

        That is the case if the run stopped before the first certificate, or before a hard margin was satisfied. Return
        whether they were decoded; after a first step that took too long, they are not.
        """
        state.best_w = state.w.copy()
        if problem.objective.hard or state.cut_short:
            return False
        problem.decode(state.w, problem.everyone)
        state.offer(problem, state.w)
        state.oracle_calls = problem.oracle_calls
        return True

    def _after_step(self, problem: Problem, state: State, certificate: Certificate, line: ProgressLine) -> bool:
        certificate = certificate.reconsidered()
        self.history.append(
            {
                "iteration": state.iteration,
                "oracle_calls": certificate.oracle_calls,
                "seconds": certificate.seconds,
                **_values(certificate),
                "round": state.round or self.solver.name,
            }
        )
        line.update(state.iteration, certificate)
        if self.checkpoint is not None and self._is_due(self.checkpoint):
            save_checkpoint(self.checkpoint.path, problem, self.solver, state, self.identity())
            self._saved_at = monotonic()
        if not self.callbacks:
            return False
        weights = problem.weights(
            state.best_w
        ).copy()  # a callback may keep them, and the next step overwrites the others
        weights.flags.writeable = False
        step = Step(state.iteration, certificate, weights)
        return any([bool(callback(step)) for callback in self.callbacks])


def _values(certificate: Certificate) -> dict[str, float]:
    """Return primal and dual value and gap for the history; NaN where no weights have a certificate yet."""
    known = np.isfinite(certificate.primal)
    return {
        "primal": certificate.primal if known else np.nan,
        "dual": certificate.dual,
        "gap": certificate.gap if known else np.nan,
    }


Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:  # scikit-learn before 1.9: only the estimators' parameter `callbacks` is available

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replacement of scikit-learn's mixin."""

    def _with_callbacks(method: Method) -> Method:
        return method


def with_callbacks(method: Method) -> Method:
    """Return the method with the same type; scikit-learn's callbacks are ended when it ends or fails."""
    managed: Method = _with_callbacks(method)
    return managed


def callback_list(callbacks: Any) -> list[Callback]:
    """Return None, one function or several as a list."""
    if callbacks is None:
        return []
    listed = [callbacks] if callable(callbacks) or not isinstance(callbacks, Iterable) else list(callbacks)
    for callback in listed:
        if not callable(callback):
            raise ValueError(f"callbacks must be functions of a Step, found {callback!r}")
    return listed


class FitCallbacks:
    """The callbacks of the estimator and of scikit-learn, called after every step.

    In scikit-learn's terms a step is a task named "step" below the task "fit"; the fitted estimator passed to callbacks
    has the best weights so far.
    """

    def __init__(self, estimator: Any, X: Any, Y: Any, structure: Any) -> None:
        self.estimator, self.data, self.structure = estimator, {"X": X, "y": Y}, structure
        self.context = None
        if hasattr(estimator, "_init_callback_context"):
            self.context = estimator._init_callback_context(max_subtasks=estimator.max_iter)
            self.context.call_on_fit_task_begin(estimator=estimator, **self.data)

    def __iter__(self) -> Iterator[Callback]:
        yield from callback_list(self.estimator.callbacks)
        if getattr(self.estimator, "_skl_callbacks", None):
            yield self._tell

    def _tell(self, step: Step) -> bool:
        inner = self.context.subcontext(task_name="step")  # type: ignore[union-attr]
        inner.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return self._end(inner, step.weights)

    def _end(self, context: Any, weights: FloatArray) -> bool:
        fitted = partial(self.estimator._fitted_attributes, weights, self.structure)
        return bool(
            context.call_on_fit_task_end(estimator=self.estimator, **self.data, reconstruction_attributes=fitted)
        )

    def finish(self, weights: FloatArray) -> None:
        """End the callbacks of a fit that has found these weights."""
        if self.context is not None:
            self._end(self.context, weights)
