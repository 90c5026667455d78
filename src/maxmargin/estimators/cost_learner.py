"""`CostLearner`: costs of an optimiser, learnt from good decisions or from known costs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin._checked import check_flag, finite_number
from maxmargin._input import either
from maxmargin._types import FloatArray
from maxmargin.core.examples import Examples
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Structure
from maxmargin.engines.local import one_blas_thread
from maxmargin.estimators._nonnegative import joined, lower_bounds
from maxmargin.estimators._prior import check_prior
from maxmargin.estimators._supervision import warn_of_decisions
from maxmargin.estimators._two_stage import least_squares
from maxmargin.estimators.base import TrainingData
from maxmargin.estimators.cost_predictor import CostPredictor
from maxmargin.metrics.decisions import total_regret
from maxmargin.optimizers.optimizer import Optimizer, as_optimizer
from maxmargin.solvers.base import State
from maxmargin.structures.decisions.inputs import WEIGHTS, Inputs
from maxmargin.structures.decisions.structure import Decisions
from maxmargin.training.run import Run

LEAST_SQUARES = "least-squares"


class CostLearner(CostPredictor):
    """Linear costs for an optimiser, such that its decisions are good.

    Predicted costs are ĉ_j = w·φ_j. Two kinds of supervision:

    **Decisions known** (inverse optimisation): known decisions z win by a margin, ½‖w − w₀‖² + C Σ c_i max_ẑ [Δ(z_i, ẑ)
    − ĉ_i·ẑ + ĉ_i·z_i], for a linear loss Δ. Experts who are not always optimal have slack. For experts without noise,
    start with ``C=inf`` (hard margin).

    **Costs known** (predict, then optimise): the loss is the regret of a decision under the true costs c, and the
    objective is ½‖w − w₀‖² + C Σ c_i max_ẑ [c_i·ẑ − c_i·z*_i − 2ĉ_i·ẑ + 2ĉ_i·z*_i]: the SPO+ loss of Elmachtoub and
    Grigas 2022, solved to a certified gap. Least squares costs, the two-stage baseline, are always fitted as well:
    compare `score` with `two_stage_score` on held-out data, because least squares wins where costs are linear in the
    features.

    Parameters
    ----------
    optimizer : Optimizer
        The optimiser, or an object with ``solve(costs, instance)``.
    weights : {"per-variable", "shared", "both"}, default="per-variable"
        Weights for each variable, applied to the features of the example, X of shape (n, d); weights that all variables
        share, applied to features of variables, X of shape (n, m, d) or a list of arrays (m_i, d); or both, with X a
        pair of these. Data frames, sparse matrices and lists of dicts are fine as well.
    loss : {"auto", "regret", "hamming"} or callable, default="auto"
        "regret" for known costs, "hamming" (number of wrong variables) for known decisions, or ``loss(decision)`` that
        returns the coefficients l of a linear loss l·(ẑ − z) ≥ 0 for known decisions. "auto" is "regret" if costs are
        given and "hamming" if decisions are. It tells what Y is in `fit(X, Y)`: decisions for "hamming" or a function,
        otherwise costs.
    prior : None, "least-squares" or array-like of shape (n_weights,), default=None
        w₀: 0, the least squares costs (costs known), or given weights in the order and units of `coef_`.
    nonnegative : bool or list of int or str, default=False
        Weights that must not be negative, as in `StructuralSVM`; features are then scaled but not centred.
    standardize : bool, default=True
        Whether features are centred and divided by their standard deviation, and true costs divided by their mean
        absolute value, so that C has the same meaning for all units.
    fit_intercept : bool, default=True
        Whether the cost of each variable has a constant part (``weights="shared"``: the same for all variables).
    intercept_scaling : float, default=1.0
        Value of the constant feature. Large values, such as 100, make intercepts practically unregularised.
    C : float, default=1.0
        Trade-off between the regulariser and the losses; ``inf`` allows no losses at all (hard margin).
    bound, slack, solver, tol, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`. With a user's function, `n_jobs` other than None or 1 calls it in threads.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights of standardised features, in units of standardised costs; `feature_names_out` has their names.
    cost_coef_, cost_intercept_ : ndarray
        The weights of the original features in the units of the costs, of shape (m, d) and (m,), or (d,) and a number
        for shared weights; lists of both for ``weights="both"``.
    two_stage_coef_ : ndarray of shape (n_weights,) or None
        The least squares weights; None if decisions are known.
    train_score_, two_stage_score_ : float
        Minus the normalised regret of the fitted and of the least squares costs on the training data; NaN if decisions
        are known.
    certificate_, history_, support_, stop_reason_, n_iter_ : object
        As in `StructuralSVM`.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> costs = 5.0 + X @ rng.normal(size=(3, 9))
    >>> model = mm.CostLearner(mm.Optimizer.assignment(3), C=10.0).fit(X[:40], costs=costs[:40])
    >>> model.score(X[40:], costs=costs[40:]) > -0.02
    True
    """

    _losses: ClassVar[tuple[str, ...]] = ("auto", "regret", "hamming")

    def __init__(
        self,
        optimizer: Any,
        *,
        weights: str = "per-variable",
        loss: Any = "auto",
        prior: Any = None,
        nonnegative: Any = False,
        standardize: bool = True,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
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
        self.optimizer, self.weights, self.loss, self.prior, self.nonnegative = (
            optimizer, weights, loss, prior, nonnegative,
        )  # fmt: skip
        self.standardize, self.fit_intercept, self.intercept_scaling = standardize, fit_intercept, intercept_scaling
        self.C, self.bound, self.slack, self.solver, self.tol = C, bound, slack, solver, tol
        self.max_iter, self.max_seconds, self.n_jobs, self.random_state = max_iter, max_seconds, n_jobs, random_state
        self.warm_start, self.verbose, self.callbacks = warm_start, verbose, callbacks
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_optimizer(self.optimizer)
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be {' or '.join(map(repr, WEIGHTS))}, found {self.weights!r}")
        if not callable(self.loss) and self.loss not in self._losses:
            raise ValueError(f"loss must be 'auto', 'regret', 'hamming' or a function, found {self.loss!r}")
        check_flag(self.standardize, "standardize")
        finite_number(self.intercept_scaling, "intercept_scaling", 1e-6)

    def _check_prior(self) -> None:
        if isinstance(self.prior, str):
            if self.prior != LEAST_SQUARES:
                raise ValueError(f"prior must be None, {LEAST_SQUARES!r} or a vector of weights, found {self.prior!r}")
        else:
            check_prior(self.prior)

    def _make_structure(self) -> Structure:
        return Decisions(
            self.optimizer,
            weights=self.weights,
            cost=self.loss if callable(self.loss) else "hamming",
            standardize=self.standardize,
            centre=self.nonnegative is False,
            intercept=float(self.intercept_scaling) if self.fit_intercept else 0.0,
        )

    def fit(
        self,
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        y: Any = None,
        costs: Any = None,
        decisions: Any = None,
        known_costs: Any = None,
        instances: Any = None,
    ) -> Self:
        """Learn from known costs or from known decisions.

        Parameters
        ----------
        X : array-like of shape (n, d) or (n, m, d), or a pair of them
            Features, see the parameter `weights`.
        Y : sequence of length n, default=None
            Costs or decisions, see the parameter `loss`; for scikit-learn's tools. `y` is another name of it.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        costs : array-like of shape (n, m), or sequence of vectors, default=None
            True costs of each example.
        decisions : array-like of shape (n, m), or sequence of decisions, default=None
            Known decisions, as the optimiser returns them. With costs they replace the optimal decisions.
        known_costs : array-like of shape (n, m), or sequence of vectors, default=None
            Costs that are known when a decision is taken; they are added to the predicted ones, and true costs contain
            them.
        instances : sequence of length n, default=None
            What the optimiser gets besides costs.

        Returns
        -------
        self
            The fitted estimator.
        """
        Y = either(Y, y, "Y", "y")
        given = self._given(X, Y, costs, decisions, known_costs, instances)
        if self.loss == "auto":
            warn_of_decisions(Y)
        return self._fit(*given, sample_weight)

    def resume(
        self,
        path: str | os.PathLike[str],
        X: Any,
        Y: Any = None,
        sample_weight: Any = None,
        *,
        y: Any = None,
        costs: Any = None,
        decisions: Any = None,
        known_costs: Any = None,
        instances: Any = None,
    ) -> Self:
        """Resume a fit from a checkpoint; the result is bit for bit that of an uninterrupted fit.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X, Y, sample_weight, y, costs, decisions, known_costs, instances : optional
            As in `fit`.

        Returns
        -------
        self
            The fitted estimator.
        """
        given = self._given(X, either(Y, y, "Y", "y"), costs, decisions, known_costs, instances)
        return self._fit(*given, sample_weight, resume=path)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        inputs, truths = (X, Y) if isinstance(X, Inputs) else self._given(X, Y, None, None, None, None)
        data = super()._training_data(inputs, truths, sample_weight, groups=groups)
        return replace(data, X=X.features if isinstance(X, Inputs) else X)

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        structure, examples = super()._encode(X, Y)
        if type(as_optimizer(self.optimizer)) is Optimizer:
            examples.parallel = self.n_jobs not in (None, 1)
        return structure, examples

    def _centre(self, data: TrainingData) -> FloatArray | None:
        """Fit the two-stage baseline, and return w₀."""
        examples: Any = data.examples
        self.two_stage_coef_ = None
        if examples.structure.regret_:
            names = partial(self._weight_names, data.structure, examples.dim)
            lower = joined(examples.lower, lower_bounds(self.nonnegative, examples.dim, names))
            with one_blas_thread():
                self.two_stage_coef_ = least_squares(examples, data.weights, lower)
        return self.two_stage_coef_ if isinstance(self.prior, str) else super()._centre(data)

    def _finish(self, problem: Problem, run: Run, state: State, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        examples: Any = problem.examples
        self.train_score_, self.two_stage_score_ = np.nan, np.nan
        if self.two_stage_coef_ is not None:
            totals = np.bincount(
                np.repeat(np.arange(examples.n_examples), examples.widths), examples.linear * examples.true,
                examples.n_examples,
            )  # fmt: skip
            weights = problem.objective.weights
            for name, w in (
                ("train_score_", state.best_w),
                ("two_stage_score_", problem.relative(self.two_stage_coef_)),
            ):
                regrets = problem.prediction_losses(w)
                setattr(self, name, -total_regret(weights * regrets, weights * totals, True))

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        coefficients, intercepts = _original_units(structure, weights)
        return {
            **super()._fitted_attributes(weights, structure), "cost_coef_": coefficients, "cost_intercept_": intercepts,
        }  # fmt: skip


def _original_units(structure: Any, w: FloatArray) -> tuple[Any, Any]:
    """Return weights and intercepts in the units of the original features and costs."""
    found, shift = [], 0
    for encoder, shared in zip(structure.encoders_, structure._kinds(), strict=True):
        k = 1 if shared else structure.n_variables_
        size = len(encoder.column_names()) * k
        slopes, constants = encoder.original(structure.cost_scale_ * w[shift : shift + size].reshape(-1, k))
        found.append((slopes[:, 0], float(constants[0])) if shared else (slopes.T, constants))
        shift += size
    if len(found) == 1:
        return found[0]
    return [slopes for slopes, _ in found], [constants for _, constants in found]
