"""`CostLearner`: costs of an optimiser, learnt from good decisions or from known costs."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import lsq_linear
from scipy.sparse.linalg import lsqr
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, finite_number, is_list, parameter
from maxmargin._base.errors import callers_level
from maxmargin._base.input import example_weights, indexable, outputs_called
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.engines.engine import Question, engine_of, one_blas_thread
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.explain import Explanation, explain
from maxmargin.estimators.parameters import joined, lower_bounds
from maxmargin.estimators.starts import check_prior
from maxmargin.estimators.training_data import TrainingData
from maxmargin.estimators.warnings import DegenerateWarning
from maxmargin.metrics.decisions import total_regret
from maxmargin.optimizers.optimizer import as_optimizer
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures.decisions.examples import DecisionExamples
from maxmargin.structures.decisions.inputs import Inputs, Truth
from maxmargin.structures.decisions.structure import LOSSES, Decisions, one_sided
from maxmargin.training.run import Run


class CostPredictor(MaxMarginEstimator):
    """Base of `CostLearner`: decisions under predicted costs, their scores and explanations."""

    weights: str
    loss: Any
    prior: Any
    two_stage_coef_: FloatArray | None

    def _given(
        self, X: Any, Y: Any, costs: Any, decisions: Any, known_costs: Any, instances: Any
    ) -> tuple[Inputs, list[Truth]]:
        self._check_parameters()
        if Y is not None:
            if costs is not None or decisions is not None:
                raise ValueError("pass y, or costs= and decisions=, not both")
            costs, decisions = (None, Y) if callable(self.loss) or self.loss in LOSSES else (Y, None)
        check_supervision(self.loss, self.prior, costs, decisions)
        return supervised(Inputs.of(X, self.weights, known_costs, instances), costs, decisions)

    def _examples(self, X: Any, known_costs: Any, instances: Any) -> DecisionExamples:
        check_is_fitted(self, "coef_")
        examples = self.structure_.encode(Inputs.of(X, self.weights, known_costs, instances))  # type: ignore[attr-defined]
        assert isinstance(examples, DecisionExamples)
        return examples

    def predict(self, X: Any, *, known_costs: Any = None, instances: Any = None) -> Any:
        """Return the decision for each input: the optimiser's under the predicted costs.

        Parameters
        ----------
        X : array-like
            Features, as in `fit`.
        known_costs, instances : sequence of length n, default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, m), or list of ndarray, list or set
            Decisions; a list if the number of variables differs. If the known decisions were lists or sets of indices,
            so are these.
        """
        decisions = self._decided(self._examples(X, known_costs, instances), self.coef_)
        written = self.structure_.written  # type: ignore[attr-defined]
        return _stacked([written(decision) for decision in decisions])

    def _decided(self, examples: DecisionExamples, w: FloatArray) -> list[Any]:
        answers, everyone = examples.empty_answers(), np.arange(examples.n_examples)
        threads = self.n_jobs if examples.parallel or self.n_jobs is not None else 1
        question = Question("decode", w, np.zeros(examples.n_examples))
        python = examples.optimizer.checked
        with engine_of(self.engine if python else None, threads) as engine, one_blas_thread():
            if engine.n_jobs == 1:
                question.ask(examples, everyone, slice(None), answers)
            else:
                engine.ask(examples, question, everyone, answers)
        return examples.outputs(answers)

    def predict_costs(self, X: Any, *, known_costs: Any = None) -> Any:
        """Return the predicted costs, known ones included.

        They are such that decisions are good, and may be far from the true costs; `two_stage_coef_` are weights for
        costs that are close to the true ones. If decisions were known in the fit, costs are in arbitrary units.

        Parameters
        ----------
        X : array-like
            Features, as in `fit`.
        known_costs : sequence of length n, default=None
            As in `fit`.

        Returns
        -------
        ndarray of shape (n, m), or list of ndarray
            Costs.
        """
        examples = self._examples(X, known_costs, None)
        return _stacked(self.structure_.predicted_costs(self.coef_, examples))  # type: ignore[attr-defined]

    def score(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        decisions: Any = None,
        known_costs: Any = None,
        instances: Any = None,
    ) -> float:
        """Return minus the normalised regret (`metrics.regret`), or minus the mean loss if decisions are given.

        Parameters
        ----------
        X, y, sample_weight, costs, decisions, known_costs, instances : optional
            As in `fit`.

        Returns
        -------
        float
            The score: higher is better, 0 is perfect.
        """
        check_is_fitted(self, "coef_")
        with outputs_called(_name_of_outputs(costs, decisions)):
            return self._score(self.coef_, X, y, costs, decisions, known_costs, instances, sample_weight)

    def two_stage_score(
        self,
        X: Any,
        costs: Any,
        sample_weight: Any = None,
        *,
        known_costs: Any = None,
        instances: Any = None,
    ) -> float:
        """Return the `score` of the least squares costs, the baseline to compare with.

        Parameters
        ----------
        X, costs, sample_weight, known_costs, instances : optional
            As in `fit`.

        Returns
        -------
        float
            Minus the normalised regret.
        """
        check_is_fitted(self, "coef_")
        if self.two_stage_coef_ is None:
            raise ValueError("the least squares baseline needs a fit with costs=; this fit had decisions")
        with outputs_called("costs"):
            return self._score(self.two_stage_coef_, X, None, costs, None, known_costs, instances, sample_weight)

    def _score(
        self, w: FloatArray, X: Any, Y: Any, costs: Any, decisions: Any, known: Any, instances: Any, sample_weight: Any
    ) -> float:  # fmt: skip
        inputs, truths = self._given(X, Y, costs, decisions, known, instances)
        weights = example_weights(sample_weight, len(truths))
        structure: Any = self.structure_
        examples = self._examples(inputs, None, None)
        optimizer, decided = examples.optimizer, self._decided(examples, w)
        if truths[0].costs is None:
            losses = [structure.loss(truth, z) for truth, z in zip(truths, decided, strict=True)]
            return -float(np.average(losses, weights=weights))
        exact = structure.judged(inputs, truths)
        regrets = np.array([optimizer.sign * c @ (z - best) for (c, best), z in zip(exact, decided, strict=True)])
        totals = np.array([c @ best for c, best in exact])
        return -total_regret(weights * np.maximum(regrets, 0.0), weights * totals, True)

    def topk(self, x: Any, k: int, *, known_costs: Any = None, instance: Any = None) -> list[tuple[Any, float]]:
        """Return the k best decisions of one input with their scores, best first (0/1 decisions).

        Parameters
        ----------
        x : array-like
            One input.
        k : int
            Number of decisions.
        known_costs, instance : object, default=None
            What belongs to this input, as in `fit`.

        Returns
        -------
        list of (decision, float)
            Decisions in the form of `predict`, and minus their predicted totals (minus twice, in units of standardised
            costs, if costs were known).
        """
        check_is_fitted(self, "coef_")
        structure: Any = self.structure_
        decisions = structure.topk(self.coef_, self._one(x, known_costs, instance), k)
        return [(structure.written(decision), score) for decision, score in decisions]

    def explain(self, x: Any, n_features: int = 10, *, known_costs: Any = None, instance: Any = None) -> Explanation:
        """Return why a decision won: the runner-up, the margin, and the features that contribute most.

        Parameters
        ----------
        x : array-like
            One input.
        n_features : int, default=10
            Number of features listed, those of greatest effect first.
        known_costs, instance : object, default=None
            What belongs to this input, as in `fit`.

        Returns
        -------
        Explanation
            The decision and its runner-up, for 0/1 decisions.
        """
        check_is_fitted(self, "coef_")
        one = self._one(x, known_costs, instance)
        return explain(self.structure_, self.coef_, one, self.feature_names_out, n_features)

    def _one(self, x: Any, known_costs: Any, instance: Any) -> Inputs:
        single = ([x[0]], [x[1]]) if self.weights == "both" else [x]
        return Inputs.of(
            single,
            self.weights,
            None if known_costs is None else [known_costs],
            None if instance is None else [instance],
        )


def _stacked(rows: list[Any]) -> AnyArray | list[Any]:
    plain = all(isinstance(row, np.ndarray) for row in rows)
    return np.stack(rows) if plain and len({len(row) for row in rows}) == 1 else rows


def check_supervision(loss: Any, prior: Any, costs: Any, decisions: Any) -> None:
    """Raise ValueError if the supervision is missing, or if loss or prior need another kind."""
    if costs is None and decisions is None:
        raise ValueError("there is nothing to learn from: pass costs= or decisions=")
    if costs is None and loss == "regret":
        raise ValueError("loss='regret' needs the true costs: pass costs=")
    if costs is not None and (callable(loss) or loss not in ("auto", "regret")):
        raise ValueError("with known costs the loss is the regret: set loss='auto', or pass decisions= only")
    if costs is None and isinstance(prior, str):
        raise ValueError(f"prior={prior!r} needs the true costs: pass costs=, or prior=None")


def warn_of_decisions(Y: Any) -> None:
    """Warn if all numbers of y are 0 or 1: y is read as costs, but these are probably decisions."""
    try:
        values = np.asarray(Y, float)
    except (TypeError, ValueError):
        return
    if values.ndim == 2 and values.any() and ((values == 0) | (values == 1)).all():
        warnings.warn(
            "y has only 0 and 1 and is read as costs: set loss='hamming' (or pass decisions=) if these are decisions, "
            "loss='regret' (or pass costs=) if they are costs",
            UserWarning,
            stacklevel=callers_level(),
        )


def warn_of_one_decision(examples: DecisionExamples) -> None:
    """Warn if the same decision is best for the true costs of all examples."""
    if examples.n_examples < 2 or not examples.even or examples.true is None:
        return
    decisions = examples.true.reshape(examples.n_examples, -1)
    if (decisions == decisions[0]).all():
        few = "; no variable is chosen in it" if not decisions.any() else ""
        warnings.warn(
            f"the same decision is best for the costs of all {len(decisions)} examples{few}: there is nothing to "
            f"learn; do the costs have the sign that sense={examples.optimizer.sense!r} means?",
            DegenerateWarning,
            stacklevel=callers_level(),
        )


def supervised(inputs: Inputs, costs: Any, decisions: Any) -> tuple[Inputs, list[Truth]]:
    """Return the inputs with what is known of each example; raise ValueError if lengths differ."""
    columns = []
    for name, values in (("costs", costs), ("decisions", decisions)):
        rows = [None] * len(inputs) if values is None else _listed(values, name)
        if len(rows) != len(inputs):
            raise ValueError(f"X has {len(inputs)} examples but {name} has {len(rows)}")
        columns.append(rows)
    return inputs, [Truth(decision, cost) for cost, decision in zip(*columns, strict=True)]


def _name_of_outputs(costs: Any, decisions: Any) -> str:
    """Return the argument whose examples errors about outputs name."""
    if decisions is not None:
        return "decisions"
    return "Y" if costs is None else "costs"


def _listed(values: Any, name: str) -> list[Any]:
    """Return the rows of an array, a data frame or a sequence."""
    rows = indexable(values, name)
    if not is_list(rows):
        raise ValueError(f"{name}: expected a row for each example, found {type(values).__name__}")
    return list(rows)


LEAST_SQUARES = "least-squares"


def check_prior_of_costs(prior: Any, name: str) -> None:
    """Raise ValueError unless the prior is None, the name of the two-stage baseline or a vector of finite numbers."""
    if not isinstance(prior, str):
        check_prior(prior, name)
    elif prior != LEAST_SQUARES:
        raise ValueError(f"{name} must be None, {LEAST_SQUARES!r} or a vector of weights, found {prior!r}")


@declared
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

    Read on: "Costs of optimisers" in the documentation.
    """

    optimizer: Any = parameter(
        "The optimiser, or an object with ``solve(costs, instance)``.", kind="Optimizer", kw_only=False
    )
    weights: str = parameter(
        "Weights for each variable, applied to the features of the example, X of shape (n, d); weights that "
        "all variables share, applied to features of variables, X of shape (n, m, d) or a list of arrays "
        "(m_i, d); or both, with X a pair of these. Data frames, sparse matrices and lists of dicts are fine "
        "as well.",
        default="per-variable",
        kind='{"per-variable", "shared", "both"}',
    )
    loss: Any = parameter(
        '"regret" for known costs. For known decisions z: "hamming" (number of wrong variables), "missed" '
        '(variables that are 1 in z only), "false" (variables that are 0 in z only), or ``loss(decision)`` '
        'that returns the coefficients l of a linear loss l·(ẑ − z) ≥ 0. "auto" is "regret" if costs are '
        'given, and "hamming" if decisions are; if the optimiser needs costs ≥ 0, it is "missed" ("false" if '
        'it maximises). It says what y is in `fit(X, y)`: costs for "auto" and "regret", otherwise decisions.',
        default="auto",
        kind='{"auto", "regret", "hamming", "missed", "false"} or callable',
    )
    prior: Any = parameter(
        "w₀: 0, the least squares costs (costs known), or given weights in the order and units of `coef_`.",
        check_prior_of_costs,
        default=None,
        kind='None, "least-squares" or array-like of shape (n_weights,)',
    )
    nonnegative: Any = changed(
        "Weights that must not be negative, as in `StructuralSVM`; features are then scaled but not centred.",
        default=False,
        kind="bool or list of int or str",
    )
    standardize: bool = parameter(
        "Whether features are centred and divided by their standard deviation, and true costs divided by "
        "their mean absolute value, so C has the same meaning for all units.",
        check_flag,
        default=True,
    )
    fit_intercept: bool = parameter(
        'Whether the cost of each variable has a constant part (``weights="shared"``: the same for all variables).',
        check_flag,
        default=True,
    )
    intercept_scaling: float = parameter(
        "Value of the constant feature. Large values, such as 100, make intercepts practically unregularised.",
        default=1.0,
    )
    C: float = changed(
        "Trade-off between the regulariser and the losses; ``inf`` allows no losses at all (hard margin).", default=1.0
    )

    _losses: ClassVar[tuple[str, ...]] = ("auto", "regret", *LOSSES)

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_optimizer(self.optimizer)
        if not callable(self.loss) and self.loss not in self._losses:
            raise ValueError(f"loss must be {', '.join(map(repr, self._losses))} or a function, found {self.loss!r}")
        finite_number(self.intercept_scaling, "intercept_scaling", 1e-6)
        self._make_structure().check_parameters()

    def _make_structure(self) -> Decisions:
        optimizer = as_optimizer(self.optimizer)
        usual = one_sided(optimizer) if optimizer.costs == "nonnegative" else "hamming"
        return Decisions(
            self.optimizer,
            weights=self.weights,
            cost=self.loss if callable(self.loss) or self.loss in LOSSES else usual,
            standardize=self.standardize,
            centre=self.nonnegative is False,
            intercept=float(self.intercept_scaling) if self.fit_intercept else 0.0,
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        costs: Any = None,
        decisions: Any = None,
        known_costs: Any = None,
        instances: Any = None,
        resume: Any = None,
    ) -> Self:
        """Learn from known costs or from known decisions.

        Parameters
        ----------
        X : array-like of shape (n, d) or (n, m, d), or a pair of them
            Features, see the parameter `weights`.
        y : sequence of length n, default=None
            Costs or decisions, see the parameter `loss`; for scikit-learn's tools.
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
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted estimator.
        """
        given = self._given(X, y, costs, decisions, known_costs, instances)
        if self.loss == "auto":
            warn_of_decisions(y)
        with outputs_called(_name_of_outputs(costs, decisions)):
            return self._fit(*given, sample_weight, resume=resume)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        inputs, truths = (X, Y) if isinstance(X, Inputs) else self._given(X, Y, None, None, None, None)
        data = super()._training_data(inputs, truths, sample_weight, groups=groups)
        return replace(data, X=X.features if isinstance(X, Inputs) else X)

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        structure, examples = super()._encode(X, Y)
        if as_optimizer(self.optimizer).checked:
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
            warn_of_one_decision(examples)
        super()._finish(problem, run, state, data)  # last: predictions may show that a known decision is not optimal

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        coefficients, intercepts = _original_units(structure, weights)
        return {
            **super()._fitted_attributes(weights, structure), "cost_coef_": coefficients, "cost_intercept_": intercepts,
        }  # fmt: skip


def _original_units(structure: Any, w: FloatArray) -> tuple[Any, Any]:
    """Return weights and intercepts in the units of the original features and costs."""
    blocks, shift = [], 0
    for encoder, shared in zip(structure.encoders_, structure._kinds(), strict=True):
        k = 1 if shared else structure.n_variables_
        size = len(encoder.column_names()) * k
        slopes, constants = encoder.original(structure.cost_scale_ * w[shift : shift + size].reshape(-1, k))
        blocks.append((slopes[:, 0], float(constants[0])) if shared else (slopes.T, constants))
        shift += size
    if len(blocks) == 1:
        return blocks[0]
    return [slopes for slopes, _ in blocks], [constants for _, constants in blocks]


def least_squares(examples: DecisionExamples, weights: FloatArray, lower: FloatArray | None) -> FloatArray:
    """Return the weights of least Σ_i c_i ‖ĉ_i − c_i‖², of least length among equal ones, with w ≥ lower.

    Weights and costs are those of the encoded examples, whose losses are the true costs.
    """
    costs = examples.optimizer.sign * examples.linear
    target = costs if examples.known is None else costs - examples.known
    roots = np.sqrt(weights)
    if len(examples.blocks) == 1 and lower is None and examples.blocks[0].dense is not None:
        block = examples.blocks[0]
        per_row = np.repeat(roots, examples.widths) if block.n_outputs == 1 else roots
        table = (target.reshape(-1, block.n_outputs)) * per_row[:, None]
        solution: FloatArray = np.linalg.lstsq(block.dense * per_row[:, None], table, rcond=None)[0].ravel()
        return solution
    design = sp.hstack([_design(block) for block in examples.blocks], format="csr")
    scaled = sp.diags_array(np.repeat(roots, examples.widths)) @ design
    right = target * np.repeat(roots, examples.widths)
    if lower is None:
        return np.asarray(lsqr(scaled, right, atol=1e-12, btol=1e-12)[0])
    bounded = lsq_linear(scaled, right, (lower, np.full(len(lower), np.inf)), lsq_solver="lsmr")
    return np.maximum(bounded.x, lower)


def _design(block: Any) -> Any:
    """Return a row for each variable: its features at the positions of its weights."""
    rows = sp.csr_array(block.matrix())
    return rows if block.n_outputs == 1 else sp.kron(rows, sp.eye_array(block.n_outputs), format="csr")
