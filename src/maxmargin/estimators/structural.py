"""`StructuralSVM`: an estimator of any structure."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

from maxmargin._callers import callers_level
from maxmargin.core.structure import Compiled, Structure
from maxmargin.estimators.base import MaxMarginEstimator


class GivenStructure:
    """Mixin before `MaxMarginEstimator`: the structure is a parameter with parameters of its own."""

    structure: Structure

    def _check_parameters(self) -> None:
        super()._check_parameters()  # type: ignore[misc]
        if isinstance(self.structure, Compiled):
            self.structure.check_parameters()

    def _make_structure(self) -> Structure:
        if isinstance(self.structure, type):
            raise TypeError(f"structure must be an object, not the class: pass {self.structure.__name__}()")
        return self.structure

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, also of the structure (``structure__name=…``) if it is a scikit-learn `BaseEstimator`.

        Parameters
        ----------
        **parameters : dict
            Parameters by name.

        Returns
        -------
        self
            The estimator.
        """
        nested = [name for name in parameters if name.startswith("structure__")]
        structure = parameters.get("structure", self.structure)
        if nested and not hasattr(structure, "set_params"):
            raise ValueError(
                f"{nested[0]}: {type(structure).__name__} has no set_params; derive it from sklearn.base.BaseEstimator "
                f"as well, so that its parameters can be set and searched over"
            )
        if nested and structure is getattr(self, "structure_", None):  # a fitted structure stays unchanged
            parameters["structure"] = copy(structure)
        changed: Self = super().set_params(**parameters)  # type: ignore[misc]
        return changed


class StructuralSVM(GivenStructure, MaxMarginEstimator):
    """Max-margin estimator of the weights of any structure: ½‖w‖² + C Σ c_i ξ_i.

    Parameters
    ----------
    structure : Structure
        A user-defined structure with four methods, or a built-in one such as `Chain` or `Multiclass`. Latent variables
        (of `Motif`, `Forest`, `TopK`) keep the given or initial values;
        `LatentStructuralSVM` estimates them.
    C : float, default=1.0
        Trade-off between margin and losses; ``inf`` allows no losses at all (hard margin).
    bound : {"margin", "slack", "ramp", "ramp-slack"}, default="margin"
        Margin or slack re-scaling (Tsochantaridis et al. 2004), or the ramp of either (Do et al. 2008): tighter if
        labels are wrong, but not convex, so that a local optimum is found.
    slack : {"linear", "quadratic"}, default="linear"
        Penalty of slacks: C Σ c_i ξ_i, or ½ C Σ c_i ξ_i².
    nonnegative : bool or list of int or str, default=False
        Weights that must not be negative: all (True), or those with these indices or names. The name of a feature
        means all its weights.
    prior : array-like of shape (n_weights,) or None, default=None
        Weights w₀ that the regulariser ½‖w − w₀‖² prefers, for example `coef_` of a model of other data. None means
        0.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        Kernel on the features of parts (tokens, arcs, edges, rows …): ``"poly"`` is (gamma a·b + coef0)^degree,
        ``"rbf"`` is exp(−gamma ‖a − b‖²). A callable takes two matrices of rows and returns their kernel values. With
        ``"precomputed"``, the features of a part are its kernel values with all parts of the training data, in the
        order of examples and parts. Weights that do not belong to features of parts (transitions, constants) stay as
        they are. A user-defined structure has `joint_kernel` instead.
    degree : int, default=3
        Degree of ``"poly"``.
    gamma : {"scale", "auto"} or float, default="scale"
        ``"scale"`` is 1 / (d · variance of all features), ``"auto"`` is 1 / d, as in scikit-learn.
    coef0 : float, default=0.0
        Constant of ``"poly"``, at least 0.
    n_components : int or None, default=None
        None: exact, by a factor of the Gram matrix of all distinct parts, which may have up to 2 GB (15,811 parts). A
        number: the Nyström method with this number of landmarks; a warning states what it loses.
    kernel_method : str, default="auto"
        How the features of the kernel are computed: ``"auto"`` is ``"gram"`` without and ``"k-means"`` with
        `n_components`. ``"gram"``: exact; ``"k-means"``, ``"leverage"``: landmarks are means, or parts drawn by
        leverage; ``"expansion"``: all products of two features, for ``"poly"`` of degree 2 on sparse features, exact;
        ``"sketch"``: a tensor sketch of `n_components`, for ``"poly"``.
    solver : str or Solver, default="auto"
        ``"auto"`` (proximal working sets), ``"nslack"``, ``"oneslack"``, ``"bundle"``, ``"subgradient"``,
        ``"perceptron"``, ``"minmax"``, ``"certificate"`` (one joint program, for some structures), or a solver object.
    tol : float, default=1e-3
        Relative gap between the objective and its proven lower bound at which training stops.
    max_iter : int or None, default=None
        Maximum number of steps of the solver; None for the solver's default.
    max_seconds : float or None, default=None
        Time limit of the fit; None for no limit.
    n_jobs : int or None, default=None
        Threads for the argmaxes. None means all cores for compiled structures and one for user-defined structures,
        whose methods should release the interpreter lock if `n_jobs` is set; -1 means all cores. Results do not depend
        on `n_jobs`.
    random_state : int, RandomState instance or None, default=0
        Seed of everything random.
    warm_start : bool, default=False
        Whether to start from the weights of the last fit.
    verbose : int, default=0
        1 shows progress on standard error: a line on a terminal, plain lines at growing intervals elsewhere.
    callbacks : callable, list of callables or None, default=None
        Functions called with a `Step` after every step; a true return value stops the fit.
    checkpoint : str, path-like or None, default=None
        File to which the state is written while the fit runs; see `resume`.
    checkpoint_every : float, default=60.0
        Seconds between checkpoints; 0 for one after every step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights; with a kernel, the coefficients β of scores Σ_p β_p k(p, ·), with points p as named by
        `feature_names_out`.
    structure_ : Structure
        The structure, with the sizes that it learnt.
    certificate_ : Certificate
        What is proven about the weights.
    history_ : list of dict
        A row per step: iteration, round (of the solver), oracle_calls, seconds, primal, dual, gap; after `resume` only
        of new steps. Primal value and gap are NaN before the first certificate. For a ramp, a row per outer step:
        step, objective, convex, bound, loss, inner_gap, changes, oracle_calls, seconds.
    n_iter_ : int
        Number of steps of the solver.
    stop_reason_ : str
        ``"tol"``, ``"converged"``, ``"max_iter"``, ``"max_seconds"``, ``"callback"``, ``"interrupted"``, and for a ramp
        ``"max_outer"``.
    support_ : Support or None
        The planes with dual values, examples and outputs; None for solvers that keep only sums of planes.
    """

    def __init__(
        self,
        structure: Structure,
        *,
        C: float = 1.0,
        bound: str = "margin",
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
        self.structure, self.C, self.bound, self.slack, self.solver = structure, C, bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative, self.prior = nonnegative, prior
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        structure = super()._make_structure()
        if self._convex and callable(getattr(structure, "complete", None)):
            warnings.warn(
                f"{type(structure).__name__} has latent variables, which StructuralSVM keeps at their initial values; "
                f"LatentStructuralSVM (or MotifFinder, ForestClustering, StructuredRanker) estimates them",
                UserWarning,
                stacklevel=callers_level(),
            )
        return structure
