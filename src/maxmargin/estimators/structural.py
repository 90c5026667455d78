"""`StructuralSVM`: any structure that is given as a parameter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from maxmargin.core.structure import Compiled, Structure
from maxmargin.estimators._warnings import callers_level
from maxmargin.estimators.base import MaxMarginEstimator


class GivenStructure:
    """Mixin in front of `MaxMarginEstimator`: the structure is a parameter, and has parameters of its own."""

    structure: Structure

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        if isinstance(self.structure, Compiled):
            self.structure.check_parameters()

    def _make_structure(self) -> Structure:
        if isinstance(self.structure, type):
            raise TypeError(f"give an object, not the class: {self.structure.__name__}()")
        return self.structure

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, also of the structure (``structure__name=…``) where it is a scikit-learn `BaseEstimator`."""
        nested = [name for name in parameters if name.startswith("structure__")]
        structure = parameters.get("structure", self.structure)
        if nested and not hasattr(structure, "set_params"):
            raise ValueError(
                f"{nested[0]}: {type(structure).__name__} has no set_params; derive it from sklearn.base.BaseEstimator "
                f"as well, so that its parameters can be set and searched over"
            )
        if nested and structure is getattr(self, "structure_", None):  # what was learnt with it stays as it is
            parameters["structure"] = copy(structure)
        changed: Self = super().set_params(**parameters)  # type: ignore[misc]
        return changed


class StructuralSVM(GivenStructure, MaxMarginEstimator):
    """Learns the weights of a structure with a maximal margin: ½‖w‖² + C Σ c_i ξ_i.

    Parameters
    ----------
    structure : a `Structure`: your own four methods, or `Chain`, `Multiclass`. Latent variables of others
        (`Motif`, `Forest`, `TopK`) stay as they are given or begun with: `LatentStructuralSVM` finds them.
    C : trade-off between margin and losses; ``inf`` asks for no losses at all (hard margin).
    bound : ``"margin"`` or ``"slack"`` re-scaling (paper 1), or the ramp of either, ``"ramp"`` or ``"ramp-slack"``
        (paper 4): tighter where labels are wrong, but not convex, so that a good point is found and not the best.
    slack : ``"linear"`` or ``"quadratic"`` (½ C Σ c_i ξ_i²).
    solver : ``"auto"`` (proximal working sets), ``"nslack"``, ``"oneslack"``, ``"bundle"``, ``"subgradient"``,
        ``"perceptron"``, or a solver object.
    tol : stop at this relative gap between objective and proven lower bound.
    max_iter, max_seconds : stop after so many steps of the solver, or so much time.
    n_jobs : threads for the argmaxes; None means all cores for compiled structures and one for your own (set it
        where your methods release the interpreter lock). Results do not depend on it.
    random_state : the seed of everything random.
    warm_start : begin from the weights of the last fit.
    verbose : 1 shows a progress line on a terminal.
    callbacks : functions (or one) called with a `Step` after every step; a true answer stops the fit.
    checkpoint : file to write the state to every `checkpoint_every` seconds, 0 for after every step; see `resume`.

    Attributes
    ----------
    coef_ : the weights.
    certificate_ : what is proven about them.
    history_ : a row per step: iteration, oracle_calls, seconds, primal, dual, gap; after `resume` only of new steps.
        For a ramp, a row per outer step: step, objective, convex, bound, loss, inner_gap, changes, oracle_calls,
        seconds.
    stop_reason_ : ``"tol"``, ``"converged"``, ``"max_iter"``, ``"max_seconds"``, ``"callback"``, ``"interrupted"``,
        and for a ramp ``"max_outer"``.
    support_ : the planes that hold the weights, with dual values, examples and outputs; None for solvers that keep
        only sums of planes.
    """

    def __init__(
        self,
        structure: Structure,
        *,
        C: float = 1.0,
        bound: str = "margin",
        slack: str = "linear",
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
        self.structure, self.C, self.bound, self.slack, self.solver = structure, C, bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        structure = super()._make_structure()
        if callable(getattr(structure, "complete", None)):
            warnings.warn(
                f"{type(structure).__name__} has latent variables, which StructuralSVM leaves as they are at first; "
                f"LatentStructuralSVM (or MotifFinder, ForestClustering, PrecisionAtK) finds them",
                UserWarning,
                stacklevel=callers_level(),
            )
        return structure
