"""`StructuralSVM`: any structure, and what every estimator of the library shares."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.engines import Local
from maxmargin.estimators._callbacks import CallbackSupportMixin, FitCallbacks, with_callbacks
from maxmargin.estimators._html import CertificateInNotebooks
from maxmargin.estimators.explain import Decision, Support, explain, weights_frame
from maxmargin.memory import check_memory
from maxmargin.objective import Objective
from maxmargin.planes import Answers
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits, State
from maxmargin.solvers.registry import resolve
from maxmargin.structures.base import Compiled, Examples, Structure
from maxmargin.structures.own import OwnExamples
from maxmargin.training import Run


class MaxMarginEstimator(CertificateInNotebooks, CallbackSupportMixin, BaseEstimator):
    """Common to all estimators: parameters of the fit, the fit itself, prediction, and ways to look inside.

    A subclass gives `_make_structure`.
    """

    structure_: Structure
    coef_: AnyArray

    # ------------------------------------------------------------------ fit

    def _make_structure(self) -> Structure:
        raise TypeError(f"{type(self).__name__} does not say which structure it learns")

    @with_callbacks
    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Any:
        """Learn weights.

        Parameters
        ----------
        X, Y : as many inputs as outputs.
        sample_weight : c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        """
        return self._fit(X, Y, sample_weight)

    @with_callbacks
    def resume(self, path: str | os.PathLike[str], X: Any, Y: Any, sample_weight: Any = None) -> Any:
        """Go on from a checkpoint of a fit with the same data and parameters, bit for bit as if it had never stopped.

        `tol`, `max_iter` and `max_seconds` may differ: they say when to stop, not how to go on.
        """
        return self._fit(X, Y, sample_weight, resume=path)

    def _fit(self, X: Any, Y: Any, sample_weight: Any, resume: Any = None) -> Any:
        self._check_parameters()
        X, Y, weights, positions = self._prepare(X, Y, sample_weight)
        structure, examples = self._encode(X, Y)
        examples, weights, positions = self._merged(examples, weights, positions)
        callbacks = FitCallbacks(self, X, Y, structure)
        with Local(self.n_jobs) as engine:
            problem = Problem(examples, self._bound(), Objective(float(self.C), weights, self.slack), engine)
            run = self._run(callbacks)
            state = run.go(problem, start=self._warm_weights(problem.dim), resume=resume)
        self._finish(problem, run, state, structure, positions)
        callbacks.finish(state.best_w)
        return self

    def _prepare(self, X: Any, Y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray, IntArray]:
        """Checked inputs and outputs, the sample weights, and where each example stood."""
        return _checked_examples(X, Y, sample_weight)

    def _merged(self, examples: Any, weights: FloatArray, positions: IntArray) -> tuple[Any, FloatArray, IntArray]:
        """Equal examples made one, where a structure knows how to tell; by default nothing changes."""
        return examples, weights, positions

    def _inherit(self, other: Any) -> None:
        """Take over what `other` learnt in `_prepare`, for a copy that is fitted to the same data."""
        return None

    def _check_parameters(self) -> None:
        if self.bound not in ("margin", "slack"):
            raise ValueError(f"bound must be 'margin' or 'slack', found {self.bound!r}")
        if self.slack not in ("linear", "quadratic"):
            raise ValueError(f"slack must be 'linear' or 'quadratic', found {self.slack!r}")
        for name, lowest in (("C", 0.0), ("tol", 0.0), ("max_seconds", 0.0), ("max_iter", 0.0)):
            value = getattr(self, name)
            if value is None and name in ("max_seconds", "max_iter"):
                continue
            try:
                fine = float(value) > lowest
            except (TypeError, ValueError):
                fine = False
            if not fine:
                raise ValueError(f"{name} must be a number > {lowest:g}, found {value!r}")
        resolve(self.solver)
        if self.n_jobs is not None and (self.n_jobs == 0 or int(self.n_jobs) < -1):
            raise ValueError(f"n_jobs must be None, -1 (all cores) or a positive number, found {self.n_jobs!r}")

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        """The structure, its sizes learnt, and the data in its arrays."""
        structure = self._make_structure()
        if isinstance(structure, Compiled):
            structure = clone(structure)
            return structure, structure.fit_encode(X, Y)
        missing = [name for name in ("joint_feature", "loss", "argmax", "loss_augmented_argmax")
                   if not callable(getattr(structure, name, None))]  # fmt: skip
        if missing:
            raise TypeError(f"{type(structure).__name__} is no structure: it lacks {', '.join(missing)}")
        if structure.size is not None:
            check_memory(6.0 * 8 * structure.size, f"{structure.size} weights")
        examples = OwnExamples(structure, X, Y)
        examples.parallel = self.n_jobs not in (None, 1)
        return structure, examples

    def _bound(self) -> Bound:
        return Bound(self.bound, self.slack)

    def _run(self, callbacks: Iterable[Any]) -> Run:
        seed = self.random_state
        if not isinstance(seed, int | np.integer):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        return Run(
            resolve(self.solver),
            Limits(float(self.tol), self.max_iter, self.max_seconds),
            int(seed),
            list(callbacks),
            self.checkpoint,
            float(self.checkpoint_every),
            self.verbose,
        )

    def _warm_weights(self, dim: int) -> FloatArray | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        weights = self._flat_weights()
        if len(weights) != dim:
            raise ValueError(
                f"warm_start: the weights of the last fit have {len(weights)} entries, these data need {dim}; "
                f"name all labels with classes= or set warm_start=False"
            )
        return weights

    def _finish(self, problem: Problem, run: Run, state: State, structure: Structure, positions: IntArray) -> None:
        """Fitted attributes, and a warning when no proof was reached."""
        for name, value in self._fitted_attributes(state.best_w, structure).items():
            setattr(self, name, value)
        self.certificate_ = state.certificate(problem)
        self.history_, self.stop_reason_, self.n_iter_ = run.history, run.stop_reason, state.iteration
        self.support_ = Support.of(problem, state, positions)
        if run.stop_reason == "max_iter" and run.solver.certifies:
            warnings.warn(
                f"stopped after {state.iteration} steps with a relative gap of {self.certificate_.gap:.2g}, above "
                f"tol={self.tol:g}; raise max_iter, or accept the gap by raising tol",
                ConvergenceWarning,
                stacklevel=5,  # past scikit-learn's wrapper, to the caller of fit
            )

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        """What makes an estimator fitted, by name."""
        return {"structure_": structure, "coef_": weights.copy()}

    def _flat_weights(self) -> FloatArray:
        """The weights as one vector, in the order of the structure."""
        return self.coef_

    # ------------------------------------------------------------------ use

    def predict(self, X: Any) -> Any:
        """The best output of each input."""
        check_is_fitted(self, "coef_")
        if isinstance(self.structure_, Compiled):
            examples, answers = self._decode(X)
            return examples.outputs(answers)
        w = self._flat_weights()
        return [self.structure_.argmax(w, x) for x in X]

    def _decode(self, X: Any) -> tuple[Examples, Answers]:
        assert isinstance(self.structure_, Compiled)
        examples, w = self.structure_.encode(X), self._flat_weights()
        answers = Answers.empty(examples.n_examples, int(examples.code_offsets[-1]))
        zeros = np.zeros(examples.n_examples)
        with Local(self.n_jobs) as engine:
            engine.map(
                lambda ids, chunk: examples.decode(w, ids, zeros[chunk], answers), np.arange(examples.n_examples)
            )
        return examples, answers

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss of the predictions: higher is better, 0 is perfect."""
        losses = [self.structure_.loss(y, y_hat) for y, y_hat in zip(Y, self.predict(X), strict=True)]
        return -float(np.average(losses, weights=sample_weight))

    def topk(self, x: Any, k: int) -> list[tuple[Any, float]]:
        """The k best outputs of one input, with their scores."""
        check_is_fitted(self, "coef_")
        if not hasattr(self.structure_, "topk"):
            raise TypeError(f"{type(self.structure_).__name__} offers no topk(w, x, k)")
        return self.structure_.topk(self._flat_weights(), x, k)

    def explain(self, x: Any, n_features: int = 10) -> Decision:
        """The decision on one input: the runner-up, the margin to it, and which features decided."""
        check_is_fitted(self, "coef_")
        return explain(self.structure_, self._flat_weights(), x, self.feature_names_out, n_features)

    def save(self, path: str | os.PathLike[str], support: bool = False) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: JSON and plain arrays, no pickle.

        The file is written aside and renamed, so that an old one stays whole until the new one is. Saved are the
        parameters (all but `callbacks` and `checkpoint`, which belong to the run), the weights and everything that
        prediction needs, certificate and history. A structure of your own is saved by its import path and attributes;
        see docs/model_files.md.

        Parameters
        ----------
        path : of the file; ``.mm`` is a good ending.
        support : save `support_` too, which can be many times the size of the weights. Without it, `support_` is None
            in the loaded model. Outputs in it are kept for `Chain` and `Multiclass`, None for structures of your own.
        """
        from maxmargin.model_files import save

        save(self, path, support)

    # ------------------------------------------------------------------ look

    @property
    def feature_names_out(self) -> AnyArray:
        """The name of each weight, in the order of the structure's weights."""
        check_is_fitted(self, "coef_")
        if hasattr(self.structure_, "feature_names"):
            return np.asarray(self.structure_.feature_names(), object)
        return np.array([f"w{j}" for j in range(len(self._flat_weights()))], object)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """The name of each weight (scikit-learn's way to ask)."""
        return self.feature_names_out

    def weights_frame(self) -> Any:
        """The weights as a data frame, largest first (pandas: extra ``data``)."""
        check_is_fitted(self, "coef_")
        return weights_frame(self.feature_names_out, self._flat_weights())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class StructuralSVM(MaxMarginEstimator):
    """Learns the weights of a structure with a maximal margin: ½‖w‖² + C Σ c_i ξ_i.

    Parameters
    ----------
    structure : a `Structure`: your own four methods, or `Chain`, `Multiclass`.
    C : trade-off between margin and losses; ``inf`` asks for no losses at all (hard margin).
    bound : ``"margin"`` or ``"slack"`` re-scaling (paper 1).
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
    callbacks : functions called with a `Step` after every step; a true answer stops the fit.
    checkpoint : file to write the state to every `checkpoint_every` seconds; see `resume`.

    Attributes
    ----------
    coef_ : the weights.
    certificate_ : what is proven about them.
    history_ : a row per step: iteration, oracle_calls, seconds, primal, dual, gap.
    stop_reason_ : ``"tol"``, ``"converged"``, ``"max_iter"``, ``"max_seconds"``, ``"callback"``, ``"interrupted"``.
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
        if isinstance(self.structure, type):
            raise TypeError(f"give an object, not the class: {self.structure.__name__}()")
        return self.structure


def _checked_examples(X: Any, Y: Any, sample_weight: Any) -> tuple[Any, Any, FloatArray, IntArray]:
    """Inputs and outputs of equal number, without examples of weight 0; the weights, and the positions kept."""
    X, Y = _indexable(X, "X"), _indexable(Y, "Y")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n != len(Y):
        raise ValueError(f"X has {n} examples but Y has {len(Y)}")
    if n == 0:
        raise ValueError("X is empty: there are no examples to learn from")
    if sample_weight is None:
        return X, Y, np.ones(n), np.arange(n)
    weights = np.asarray(sample_weight, float)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected one number for each of {n} examples")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(f"sample_weight[{bad[0]}] is {weights[bad[0]]}, expected a finite number ≥ 0")
    kept = np.flatnonzero(weights > 0)
    if len(kept) == 0:
        raise ValueError("every sample_weight is 0: there are no examples to learn from")
    if len(kept) < n:
        X = X[kept] if hasattr(X, "shape") else [X[i] for i in kept]
        Y = Y[kept] if isinstance(Y, np.ndarray) else [Y[i] for i in kept]
    return X, Y, weights[kept], kept


def _indexable(values: Any, name: str) -> Any:
    if isinstance(values, str | bytes) or values is None or np.isscalar(values):
        raise ValueError(f"{name}: expected a sequence of examples, found {type(values).__name__}")
    if hasattr(values, "shape") or isinstance(values, list | tuple):
        return values.to_numpy() if hasattr(values, "to_numpy") else values
    return list(values)
