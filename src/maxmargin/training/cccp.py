"""Concave-convex procedure for bounds that are differences of convex functions.

The objective is

    J(w) = ½‖w‖² + C Σ c_i (max_ŷ (b − a·w) − max_ỹ (−ã·w))

with a ramp (Do et al. 2008) or completions of the truth (Yu and Joachims 2009) in the second part. An outer step finds
the best ỹ_i at the current weights. They become the references of a convex problem that is at least J everywhere and
equal to J at the current weights (`problem.References`), and its solution is the next point. J never increases,
regardless of the precision of the inner solutions, because each inner problem starts at the weights where the last one
ended (Yuille and Rangarajan 2003). This does not hold for the perceptron, which does not minimise an objective.

The inner precision is low at first and increases when the outer decrease becomes small compared with the inner gap.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._base.jit import working_seconds
from maxmargin._base.types import FloatArray
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import State
from maxmargin.training.run import Run

#: Inner gap of the first of several outer steps, if `tol` is smaller; divided by `TIGHTER` as outer steps shrink.
FIRST_GAP, TIGHTER = 0.01, 4.0
#: Relative loss of score, compared with an output found before, above which an argmax counts as inexact.
INEXACT = 1e-6


class InexactArgmaxWarning(UserWarning):
    """Warning that an argmax returned a worse output than one that is known.

    The argmax is then not exact, so a certificate proves nothing, and the objective may increase between outer
    steps. `check_structure` finds the reason; see `Structure.exact` for declaring an argmax approximate.

    Examples
    --------
    >>> import warnings
    >>> import maxmargin as mm
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mm.exceptions.InexactArgmaxWarning)  # stop at the first one
    ...     X, y = mm.datasets.toy.signs()
    ...     model = mm.StructuralSVM(mm.datasets.toy.Sign(), bound="ramp").fit(X, y)  # an exact argmax: no warning
    >>> model.certificate_.exact
    True
    """


@dataclass
class ConcaveConvex:
    """Settings of the procedure, and its result after `go`.

    After `go` the history of the run has one row for each outer step: ``step``, ``objective`` (J), ``convex``,
    ``bound`` and ``loss`` (weighted means over the examples: the convex bound, the bound in J and, for a ramp, the loss
    of the predictions), ``inner_gap``, ``changes`` (of references), ``oracle_calls``, ``seconds``.

    Attributes
    ----------
    run : Run
        How convex problems are solved; its `tol` limits the inner gap and the outer decrease, both relative.
    latent : bool
        Whether references are completions of the truth; otherwise they are outputs with the greatest β (a ramp).
    most_steps : int, default=100
        Maximum number of outer steps.
    """

    run: Run
    latent: bool
    most_steps: int = 100

    def go(self, problem: Problem, first: References, start: FloatArray | None = None) -> State:
        """Train from these references (and weights) and return the final state.

        The weights of the state are the best of all outer steps, and of the start.
        """
        began, tol = working_seconds(), self.run.limits.tol
        self._warned, inner_tol = False, tol if self.most_steps == 1 else max(tol, FIRST_GAP)
        problem.references, state, before, steps = first, None, np.inf, 0
        self.run.history.clear()
        self.run.solver = self.run.solver.for_problem(problem)
        if start is not None:
            state = self._begun(problem, start)
        while True:
            run = replace(self.run, limits=replace(self.run.limits, tol=inner_tol), history=[])
            state = run.go(problem, state=state)
            steps += state.iteration
            proposed, changed = self._references(problem, state.best_w)
            objective = self._record(problem, state, proposed, int(changed.sum()), began)
            self.run.outer_decrease = (
                (before - objective) / abs(objective) if np.isfinite(before) and objective else np.inf
            )
            self.run.stop_reason = self._stop(run, changed, state.certificate(problem).gap)
            if self.run.stop_reason:
                state.iteration, self.run.outer_steps = steps, len(self.run.history)
                return state
            if not changed.any() or self.run.outer_decrease < inner_tol:
                inner_tol = max(tol, inner_tol / TIGHTER)
            before, state = objective, self._rebased(problem, state, proposed, objective)

    def _begun(self, problem: Problem, start: FloatArray) -> State:
        """Return a state that knows the objective of its first weights."""
        self.run.solver.check(problem)
        state = self.run.solver.init(problem, self.run.seed, start)
        problem.decode(state.w, problem.everyone)
        state.offer(problem, state.w)
        return state

    def _stop(self, run: Run, changed: NDArray[np.bool_], inner_gap: float) -> str:
        """Return the reason to stop, or an empty string to continue."""
        tol = self.run.limits.tol
        if run.stop_reason in ("interrupted", "callback", "max_seconds"):
            return run.stop_reason
        if len(self.run.history) >= self.most_steps:
            return "max_outer"
        solved = inner_gap <= tol or run.stop_reason in ("max_iter", "converged", "estimated")
        if solved and (not changed.any() or self.run.outer_decrease <= tol):
            return "tol" if inner_gap <= tol and run.stop_reason != "estimated" else run.stop_reason
        return ""

    def _references(self, problem: Problem, w: FloatArray) -> tuple[References, NDArray[np.bool_]]:
        """Return the references at w and a mask of those that changed.

        A reference changes only if the new one is better.
        """
        present = problem.references
        assert present is not None
        proposed = problem.references_at(w, self.latent)
        if not self.latent:  # for margin re-scaling the output with the greatest β is the prediction
            margin = problem.bound.rescaling == "margin"
            self._losses = proposed.values if margin else problem.prediction_losses(w)
        gain = proposed.rises(w) - present.rises(w)
        sizes = INEXACT * (1.0 + np.abs(proposed.rises(w)))
        if problem.examples.exact:  # otherwise it is known
            self._watch(problem.positions[gain < -sizes], "complete" if self.latent else "argmax")
        take = (gain > 1e-3 * sizes) & (proposed.keys != present.keys)
        return present.replaced(proposed, take, problem.scratch), take

    def _watch(self, worse: NDArray[np.int64], what: str) -> None:
        if len(worse) and not self._warned:
            self._warned = True
            warnings.warn(
                f"X[{worse[0]}]: {what} found an output with a lower score than one found before, so {what} is not "
                f"exact and the objective may increase; the better output is kept",
                InexactArgmaxWarning,
                stacklevel=2,
            )

    def _record(self, problem: Problem, state: State, proposed: References, changes: int, began: float) -> float:
        """Append a row to the history and return J at the best weights."""
        w, budgets, present = state.best_w, problem.objective.budgets, problem.references
        assert present is not None
        regulariser, total = 0.5 * float(w @ w), float(budgets.sum())
        convex = state.best_primal - regulariser + float(budgets @ present.levels(w, problem.everyone))
        bound = convex - float(budgets @ proposed.rises(w))
        self.run.history.append(
            {
                "step": len(self.run.history),
                "objective": regulariser + bound,
                "convex": convex / total,
                "bound": bound / total,
                "loss": np.nan if self.latent else float(budgets @ self._losses) / total,
                "inner_gap": state.certificate(problem).gap,
                "changes": changes,
                "oracle_calls": problem.oracle_calls,
                "seconds": working_seconds() - began,
            }
        )
        return regulariser + bound

    def _rebased(self, problem: Problem, state: State, proposed: References, objective: float) -> State:
        """Return the state at the new references, with the objective of its initial weights."""
        before, problem.references = problem.references, proposed
        assert before is not None
        new = self.run.solver.rebase(problem, state, before, self.run.seed + len(self.run.history))
        new.best_w, new.best_primal = state.best_w.copy(), objective - problem.offset
        new.best_bound = new.best_primal + (state.best_bound - state.best_primal)
        new.oracle_calls, new.seconds, new.closing = problem.oracle_calls, state.seconds, state.closing
        return new
