"""A training run: a problem, a solver, limits, callbacks, checkpoints and progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin._memory import check_memory
from maxmargin._types import FloatArray
from maxmargin.core.certificate import Certificate
from maxmargin.core.problem import Problem
from maxmargin.engines.local import one_blas_thread
from maxmargin.solvers.base import Limits, Solver, State
from maxmargin.training.checkpoint import load_checkpoint, save_checkpoint
from maxmargin.training.progress import ProgressLine


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
    """

    iteration: int
    certificate: Certificate
    weights: FloatArray


Callback = Callable[[Step], Any]


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
    checkpoint : path or None, default=None
        File for checkpoints.
    checkpoint_every : float, default=60.0
        Seconds between checkpoints.
    verbose : int, default=0
        Whether progress is displayed.
    history : list of dict
        One row for each step.
    stop_reason : str
        The reason why the run stopped, see `Solver.run`.
    outer_steps : int
        Number of outer steps, for bounds that are not convex.
    outer_decrease : float
        Relative decrease of the objective in the last outer step.
    """

    solver: Solver
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    callbacks: Sequence[Callback] = ()
    checkpoint: str | os.PathLike[str] | None = None
    checkpoint_every: float = 60.0
    verbose: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)
    stop_reason: str = ""
    outer_steps: int = 0
    outer_decrease: float = float("nan")

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
                load_checkpoint(resume, problem, self.solver, state)
            with ProgressLine(self.verbose, self.limits.tol) as line:
                self._saved_at = time.monotonic()
                self.stop_reason = self.solver.run(
                    problem, state, self.limits, lambda s, c: self._after_step(problem, s, c, line)
                )
            if self.checkpoint is not None and self.stop_reason != "interrupted":
                save_checkpoint(self.checkpoint, problem, self.solver, state)
            if np.isinf(state.best_primal):
                self._use_last_weights(problem, state)
        return state

    @staticmethod
    def _use_last_weights(problem: Problem, state: State) -> None:
        """Use the last weights if there are no best ones.

        That is the case if the run stopped before the first certificate, or before a hard margin was satisfied.
        """
        state.best_w = state.w.copy()
        if not problem.objective.hard:
            problem.decode(state.w, problem.everyone)
            state.offer(problem, state.w)
            state.oracle_calls = problem.oracle_calls

    def _after_step(self, problem: Problem, state: State, certificate: Certificate, line: ProgressLine) -> bool:
        certificate = certificate.reconsidered()
        self.history.append(
            {
                "iteration": state.iteration,
                "oracle_calls": certificate.oracle_calls,
                "seconds": certificate.seconds,
                "primal": certificate.primal,
                "dual": certificate.dual,
                "gap": certificate.gap,
                "round": state.round or self.solver.name,
            }
        )
        line.update(state.iteration, certificate)
        if self.checkpoint is not None and time.monotonic() - self._saved_at >= self.checkpoint_every:
            save_checkpoint(self.checkpoint, problem, self.solver, state)
            self._saved_at = time.monotonic()
        if not self.callbacks:
            return False
        weights = state.best_w.copy()  # a callback may keep them, and the next step overwrites the others
        weights.flags.writeable = False
        step = Step(state.iteration, certificate, weights)
        return any([bool(callback(step)) for callback in self.callbacks])
