"""`MaxMarginEstimator`: the base class of all estimators.

A fit calls `fit` → `_training_data` → `_learn` → `_finish`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from maxmargin._compile_messages import messages
from maxmargin._input import (
    by_position,
    either,
    kept_examples,
)
from maxmargin._memory import check_memory
from maxmargin._types import FloatArray, IntArray
from maxmargin.bounds import BOUNDS, Bound
from maxmargin.bounds.references import References
from maxmargin.core.examples import Examples
from maxmargin.core.fingerprint import Fingerprint
from maxmargin.core.objective import Objective
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Compiled, Structure, check_methods, has_joint_kernel
from maxmargin.custom.calls import declared_size
from maxmargin.custom.examples import CustomExamples
from maxmargin.custom.joint_kernel import KernelCoordinates, coordinates_for
from maxmargin.engines import Local
from maxmargin.estimators._callbacks import CallbackSupportMixin, FitCallbacks, with_callbacks
from maxmargin.estimators._html import CertificateInNotebooks
from maxmargin.estimators._kernel import check_kernel, check_no_weights, part_kernel, prefer_support
from maxmargin.estimators._nonnegative import joined, lower_bounds
from maxmargin.estimators._parameters import check_files, check_parameters, seed_of
from maxmargin.estimators._prior import centre, check_prior
from maxmargin.estimators._refit import refitting
from maxmargin.estimators._warnings import warn_of_contradiction, warn_of_estimate, warn_of_gap
from maxmargin.estimators.explain import Support
from maxmargin.estimators.predictor import Predictor
from maxmargin.solvers.base import Limits, State
from maxmargin.solvers.registry import resolve
from maxmargin.training.audit import audit
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run


@dataclass(frozen=True)
class TrainingData:
    """Checked and encoded examples, created once per fit, or once for all fits of a path.

    Attributes
    ----------
    X, Y : sequence
        Inputs and outputs as `predict` and `score` take them, for callbacks.
    structure : Structure
        The structure, with the sizes that it learnt from the data.
    examples : Examples
        The encoded examples; equal ones may have been merged.
    weights : ndarray of shape (n_examples,)
        c_i of each encoded example.
    positions : ndarray of shape (n_examples,)
        Index of each encoded example in the user's data.
    encoded : ndarray of int
        The same before equal examples were merged.
    """

    X: Any
    Y: Any
    structure: Structure
    examples: Examples
    weights: FloatArray
    positions: IntArray
    encoded: IntArray


class MaxMarginEstimator(CertificateInNotebooks, CallbackSupportMixin, Predictor, BaseEstimator):
    """Base class of all estimators: the fit; a fitted estimator is a `Predictor`.

    A subclass defines `_make_structure`.
    """

    #: Allowed values of `bound`.
    _bounds: ClassVar[tuple[str, ...]] = tuple(BOUNDS)

    if TYPE_CHECKING:

        def set_params(self, **parameters: Any) -> Self:
            """Set parameters by name."""
            ...

    @property
    def _convex(self) -> bool:
        return BOUNDS[self.bound].convex

    def _make_structure(self) -> Structure:
        raise TypeError(f"{type(self).__name__} does not define _make_structure")

    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X, Y : sequence
            Inputs, and the true output of each.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        y : sequence, default=None
            Another name of Y, as in scikit-learn.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight)

    def resume(
        self, path: str | os.PathLike[str], X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None
    ) -> Self:
        """Resume a fit from a checkpoint; the result is bit for bit that of an uninterrupted fit.

        Data and parameters must be those of the fit that wrote the checkpoint, except the stopping criteria `tol`,
        `max_iter` and `max_seconds`.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X, Y : sequence
            Inputs, and the true output of each.
        sample_weight : array-like of shape (n,), default=None
            As in `fit`.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight, resume=path)

    def _fit(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None, resume: Any = None) -> Self:
        self._check_parameters()
        check_files(self.checkpoint, resume)
        if resume is not None and not self._convex:
            raise ValueError(
                f"bound={self.bound!r} has no checkpoints to resume from: only convex bounds have checkpoints"
            )
        with refitting(self) as before, Local(self.n_jobs) as engine:
            data = self._training_data(X, Y, sample_weight, groups=groups)
            self._learn(data, engine, start=before._warm_weights(data.examples.dim), resume=resume)
        return self

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        """Return the data checked, encoded and merged."""
        X, Y, weights, positions = self._prepare(X, Y, sample_weight, groups)
        with by_position(positions):
            structure, examples = self._encode(X, Y)
        return TrainingData(X, Y, structure, *self._merged(examples, weights, positions), positions)

    @with_callbacks
    def _learn(
        self,
        data: TrainingData,
        engine: Local,
        start: FloatArray | None = None,
        resume: Any = None,
        before: State | None = None,
    ) -> State:
        """Train, set the fitted attributes, and return the last state.

        Training starts from given weights, from a checkpoint, or from the last state of another C.
        """
        callbacks = FitCallbacks(self, data.X, data.Y, data.structure)
        with by_position(data.positions):
            problem = self._problem(data, engine)
            problem.positions = data.positions
            run = self._run(callbacks)
            run.identity = cache(partial(self._identity, data.structure))
            start = None if start is None else problem.relative(start)
            begin = None if before is None else run.solver.adapt(problem, before, run.seed)
            state = self._train(problem, run, start=start, resume=resume, state=begin)
        self._finish(problem, run, state, data)
        callbacks.finish(problem.weights(state.best_w))
        messages.finish()
        return state

    def _train(
        self, problem: Problem, run: Run, start: FloatArray | None = None, resume: Any = None, state: Any = None
    ) -> State:
        """Solve the problem.

        If the bound is not convex, start from given weights, or from its convex form (Do et al. 2008).
        """
        if self._convex:
            return run.go(problem, start=start, resume=resume, state=state)
        first = References.truths(problem.n_examples)
        if start is not None:  # of the last fit: the convex form would forget them
            problem.references = first
            first = problem.references_at(start, latent=False)
        return ConcaveConvex(run, latent=False).go(problem, first, start if state is None else state.best_w)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        """Return checked inputs and outputs, the sample weights, and the position of each example."""
        if groups is not None:
            raise TypeError(f"{type(self).__name__} takes no groups")
        return kept_examples(X, Y, sample_weight)

    def _merged(self, examples: Any, weights: FloatArray, positions: IntArray) -> tuple[Any, FloatArray, IntArray]:
        """Return the examples with equal ones merged; by default unchanged."""
        return examples, weights, positions

    def _check_parameters(self) -> None:
        """Raise ValueError for the first invalid parameter."""
        check_parameters(self)

    def _check_kernel(self) -> None:
        """Raise ValueError if the estimator has parameters of a kernel and one is invalid."""
        check_kernel(self)

    def _check_prior(self) -> None:
        """Raise ValueError if the estimator has a parameter `prior` and it is invalid."""
        check_prior(getattr(self, "prior", None))

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        """Return the structure with the sizes it learnt, and the encoded examples."""
        structure = self._make_structure()
        if isinstance(structure, Compiled):
            structure = clone(structure)
            kernel = part_kernel(self)
            if kernel is not None:
                structure.use_kernel(kernel)
            return structure, structure.fit_encode(X, Y)
        check_methods(structure)
        if part_kernel(self) is not None:
            raise TypeError(
                f"{type(structure).__name__} is user-defined: kernel={self.kernel!r:.60} is for features of parts; "
                f"define joint_kernel(x, y, x2, y2) in place of joint_feature, and use kernel='linear'"
            )
        if has_joint_kernel(structure):
            check_no_weights(self, "joint_kernel")
            if self.checkpoint is not None:
                raise ValueError("joint_kernel has no checkpoints: a model is a sum over pairs; set checkpoint=None")
            X = [X[i] for i in range(len(Y))]  # the same object for each call
            structure = coordinates_for(structure, X, Y)
            examples = self._own_examples(structure, X, Y)
            examples.parallel = False  # the basis grows in the order of the calls
            return structure, examples
        size = declared_size(structure)
        if size is not None:
            check_memory(6.0 * 8 * size, f"{size} weights")
        examples = self._own_examples(structure, X, Y)
        examples.parallel = self.n_jobs not in (None, 1)
        return structure, examples

    def _own_examples(self, structure: Structure, X: Any, Y: Any) -> Examples:
        return CustomExamples(structure, X, Y)

    def _bound(self) -> Bound:
        return Bound(BOUNDS[self.bound].rescaling, self.slack)

    def _problem(self, data: TrainingData, engine: Local) -> Problem:
        """Return the problem to solve; raise MemoryError if its argmaxes need too much memory."""
        examples, bound = data.examples, self._bound()
        planned, what = examples.planned_decoding(bound, engine.n_jobs if examples.parallel else 1)
        check_memory(planned, what, "use shorter inputs or fewer threads (n_jobs), or another bound or loss")
        names = partial(self._weight_names, data.structure, examples.dim)
        lower = joined(examples.lower, lower_bounds(self.nonnegative, examples.dim, names))
        objective = Objective(float(self.C), data.weights, self.slack, lower)
        return Problem(examples, bound, objective, engine, self._centre(data))

    def _centre(self, data: TrainingData) -> FloatArray | None:
        """Return w₀ of the regulariser ½‖w − w₀‖²; None means 0."""
        return centre(getattr(self, "prior", None), data.examples.dim)

    def _run(self, callbacks: Iterable[Any]) -> Run:
        return Run(
            resolve(self.solver),
            Limits(float(self.tol), self.max_iter, self.max_seconds),
            seed_of(self.random_state),
            list(callbacks),
            self.checkpoint,
            float(self.checkpoint_every),
            self.verbose,
        )

    def _identity(self, structure: Structure) -> dict[str, Any]:
        """Return what a checkpoint must know besides data, objective and solver: the seed, and names and labels."""
        names: Any = None
        try:
            names = structure._learnt()  # type: ignore[attr-defined]
        except (AttributeError, TypeError):  # a user-defined structure, or one that cannot be saved
            if hasattr(structure, "feature_names"):
                names = list(structure.feature_names())
        seed = self.random_state
        return {
            "random_state": int(seed) if isinstance(seed, int | np.integer) else None,
            "feature names or labels": Fingerprint().add(names, getattr(self, "feature_names_in_", None)).hexdigest(),
        }

    def _warm_weights(self, dim: int) -> FloatArray | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        weights = self._flat_weights()
        if len(weights) != dim:
            raise ValueError(
                f"warm_start: the weights of the last fit have {len(weights)} entries, these data need {dim}; "
                f"pass all labels as classes= or set warm_start=False"
            )
        return weights

    def _finish(self, problem: Problem, run: Run, state: State, data: TrainingData) -> None:
        """Set the fitted attributes, and warn if the gap is above `tol`."""
        structure, weights = self._model(problem, state, data)
        for name, value in self._fitted_attributes(weights, structure).items():
            setattr(self, name, value)
        self.history_, self.stop_reason_, self.n_iter_ = run.history, run.stop_reason, state.iteration
        self.support_ = Support.of(problem, state, data.positions)
        fault = self._audit(problem, run, state)
        self.certificate_ = replace(
            state.certificate(problem), outer_steps=run.outer_steps, outer_decrease=run.outer_decrease,
            beaten=fault is not None,
        ).reconsidered()  # fmt: skip
        warn_of_contradiction(self.certificate_, fault)
        warn_of_estimate(self, problem)
        warn_of_gap(self, run, state, problem)

    def _model(self, problem: Problem, state: State, data: TrainingData) -> tuple[Structure, FloatArray]:
        """Return the structure and weights of the fitted model: with a kernel, those of its expansion."""
        structure = data.structure
        if isinstance(structure, KernelCoordinates):
            coefficients, self.terms_ = structure.expanded(state.best_w)
            return structure.structure, coefficients
        if not isinstance(structure, Compiled) or structure.kernel_ is None:
            return structure, problem.weights(state.best_w)
        prefer_support(structure, problem, state, float(self.tol))
        return structure.expanded(state.best_w, data.encoded)

    def _audit(self, problem: Problem, run: Run, state: State) -> str | None:
        """Return what contradicts the argmaxes of a user-defined structure, or None; nothing is asked after Ctrl-C."""
        if state.cut_short:
            return None
        held = {} if self.support_ is None else self.support_.outputs_by_example(problem.positions)
        return audit(problem, problem.weights(state.best_w), state.best_primal, run.seed, held)

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        """Return the attributes that make an estimator fitted, by name."""
        return {"structure_": structure, "coef_": weights.copy()}

    def save(self, path: str | os.PathLike[str], support: bool = False) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: JSON and plain arrays, no pickle.

        The file is written under another name and renamed, so that an existing file stays intact until the new one is
        complete. It contains the parameters (except `callbacks` and `checkpoint`, which belong to the run), the weights
        and everything else that prediction needs, certificate and history. A user-defined structure is saved by its
        import path and attributes, as the page "Model files" of the documentation describes.

        Parameters
        ----------
        path : str or path-like
            Name of the file; the suffix ``.mm`` is recommended.
        support : bool, default=False
            Whether to save `support_`, which can be many times the size of the weights. If False, `support_` is None
            in the loaded model. Its outputs are kept for compiled structures, and None for user-defined structures.
        """
        from maxmargin.io.models import save

        save(self, path, support)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
