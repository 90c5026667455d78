"""A training run: a problem, a solver, limits, callbacks, checkpoints and progress."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin._base.memory import check_memory
from maxmargin._base.types import FloatArray
from maxmargin.core.certificate import Certificate
from maxmargin.engines.local import one_blas_thread
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits, Solver, State, offer_zero
from maxmargin.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from maxmargin.training.progress import ProgressLine

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
                self._saved_at = time.monotonic()
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
        return time.monotonic() - self._saved_at >= (every if limit is None else min(every, SAVED_SHARE * limit))

    def _complete(self, problem: Problem, state: State) -> None:
        """Offer the last weights if there are no best ones, and weights of 0 if they may be better than the best.

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
        """Use the last weights if there are no best ones.

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
            self._saved_at = time.monotonic()
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
