"""`LatentStructuralSVM`: structures whose outputs have parts that are not observed (Yu and Joachims 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._checked import whole_number
from maxmargin._compile import working_seconds
from maxmargin._types import FloatArray
from maxmargin.bounds import BOUNDS
from maxmargin.bounds.references import References
from maxmargin.core.examples import Examples
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Structure
from maxmargin.custom.examples import CustomExamples
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.structural import GivenStructure
from maxmargin.solvers.base import Limits, State
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run


class LatentEstimator(MaxMarginEstimator):
    """Base class of estimators with latent variables: completions of the truth, outer steps, restarts.

    A subclass defines `_make_structure`, and may define `_first_weights`, the weights of the first completions.
    """

    _bounds: ClassVar[tuple[str, ...]] = tuple(name for name, bound in BOUNDS.items() if bound.rescaling == "margin")

    @property
    def _convex(self) -> bool:
        return False

    @property
    def _completes(self) -> bool:
        """Whether references are completions of the truth; otherwise they are predictions (a ramp)."""
        return BOUNDS[self.bound].convex

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole_number(self.n_restarts, "n_restarts", 1)
        whole_number(self.max_outer, "max_outer", 1)

    def _own_examples(self, structure: Structure, X: Any, Y: Any) -> Examples:
        if not callable(getattr(structure, "complete", None)):
            raise TypeError(
                f"{type(structure).__name__} has no complete(w, x, y), which latent variables require; without latent "
                f"variables, use StructuralSVM"
            )
        return CustomExamples(structure, X, Y, latent=True)

    def _first_weights(self, problem: Problem, restart: int) -> FloatArray | None:
        """Return the weights that a run starts with; None if the structure completes the truth itself."""
        return None

    def _train(
        self, problem: Problem, run: Run, start: FloatArray | None = None, resume: Any = None, state: Any = None
    ) -> State:
        """Return the best of `n_restarts` runs of the concave-convex procedure, by their objectives."""
        if not problem.examples.latent:
            raise TypeError("the structure has no latent variables: use StructuralSVM")
        given = start if state is None else state.best_w
        rng, best, best_run, began = np.random.default_rng(run.seed), None, run, working_seconds()
        for restart in range(self.n_restarts):
            start = self._relative_start(problem, restart) if restart or given is None else given
            this = run if restart == 0 else self._run(run.callbacks)
            this.seed, this.limits = run.seed + restart, self._limits_left(began)
            found = ConcaveConvex(this, self._completes, self.max_outer).go(
                problem, self._references(problem, rng, start), start
            )
            if best is None or this.history[-1]["objective"] < best_run.history[-1]["objective"]:
                best, best_run, references = found, this, problem.references
            if this.stop_reason in ("interrupted", "callback", "max_seconds"):
                break
        problem.references = references
        run.history, run.stop_reason = best_run.history, best_run.stop_reason
        run.outer_steps, run.outer_decrease = best_run.outer_steps, best_run.outer_decrease
        assert best is not None
        return best

    def _relative_start(self, problem: Problem, restart: int) -> FloatArray | None:
        first = self._first_weights(problem, restart)
        return None if first is None else problem.relative(first)

    def _limits_left(self, began: float) -> Limits:
        """Return the limits of a run; `max_seconds` counts from the first run on."""
        if self.max_seconds is None:
            return Limits(float(self.tol), self.max_iter)
        left = float(self.max_seconds) - (working_seconds() - began)
        return Limits(float(self.tol), self.max_iter, max(left, 1e-3))

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        """Return the first completions, also of a ramp: they are consistent with the observed part of the truth."""
        return problem.first_references(rng) if start is None else problem.references_at(start, latent=True)


class LatentStructuralSVM(GivenStructure, LatentEstimator):
    """Max-margin estimator of the weights of a structure with latent variables.

        ½‖w‖² + C Σ c_i (max_{ŷ,ĥ} [w·Ψ(x_i, ŷ, ĥ) + Δ(y_i, ŷ, ĥ)] − max_h w·Ψ(x_i, y_i, h))

    It is minimised by the concave-convex procedure (Yu and Joachims 2009): complete every y_i with its best h, solve
    the convex problem, repeat. The objective decreases in every step; the local optimum depends on the first
    completions, so that `n_restarts` may help.

    Parameters
    ----------
    structure : Structure
        A structure with latent variables: `Motif`, `Forest`, `TopK`, or a user-defined structure whose outputs are
        pairs (y, h) and that has ``complete(w, x, y)``, which returns the best h for a known y (or the pair). Its
        ``loss(y, (ŷ, ĥ))`` must be 0 for every completion of y. A user-defined structure starts with
        ``initial_completion(x, y, rng)``, which returns an h, random or not, if it has this method, otherwise with
        ``complete(0, x, y)``.
    C : float, default=1.0
        Trade-off between margin and losses.
    bound : {"margin", "ramp"}, default="margin"
        ``"ramp"`` compares with the best output of all instead of the best completion.
    n_restarts : int, default=1
        Number of runs, of which the one with the best objective is kept. They differ if the first completions of the
        structure are random.
    max_outer : int, default=100
        Maximum number of outer steps; 1 keeps the first completions, so that the problem is convex.
    tol : float, default=1e-3
        Tolerance of the inner gap and of the outer decrease, both relative.
    max_iter : int or None, default=None
        Maximum number of steps for each convex problem.
    slack, nonnegative, prior, kernel, degree, gamma, coef0, n_components, kernel_method, solver, max_seconds, n_jobs, \
    random_state, warm_start, verbose, callbacks, checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights.
    history_ : list of dict
        A row per outer step: step, objective, convex, bound, loss, inner_gap, changes (of completions), oracle_calls,
        seconds.
    certificate_, stop_reason_, support_ : object
        As in `StructuralSVM`.
    """

    def __init__(
        self,
        structure: Structure,
        *,
        C: float = 1.0,
        bound: str = "margin",
        n_restarts: int = 1,
        max_outer: int = 100,
        slack: str = "linear",
        nonnegative: Any = False,
        prior: Any = None,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        n_components: int | None = None,
        kernel_method: str = "auto",
        solver: Any = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.structure, self.C, self.bound, self.n_restarts, self.max_outer = structure, C, bound, n_restarts, max_outer
        self.slack, self.solver, self.tol, self.max_iter, self.max_seconds = slack, solver, tol, max_iter, max_seconds
        self.nonnegative, self.prior = nonnegative, prior
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every
