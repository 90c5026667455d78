"""`MaxMarginEstimator`: what every estimator of the library shares.

A fit reads `fit` → `_training_data` → `_learn` → `_finish`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from maxmargin._checked import is_list, whole_number
from maxmargin._input import (
    by_position,
    example_weights,
    indexable,
    kept_examples,
    n_examples,
    paired_examples,
)
from maxmargin._memory import check_memory
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.bounds import BOUNDS, Bound
from maxmargin.bounds.references import References
from maxmargin.core.codes import Answers
from maxmargin.core.errors import Place
from maxmargin.core.examples import Examples
from maxmargin.core.objective import Objective
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Compiled, Structure, StructureError, check_methods, plain_output
from maxmargin.custom.examples import OwnExamples, told_size
from maxmargin.custom.sameness import own_copy
from maxmargin.engines import Local
from maxmargin.engines.local import one_blas_thread
from maxmargin.estimators._callbacks import CallbackSupportMixin, FitCallbacks, with_callbacks
from maxmargin.estimators._html import CertificateInNotebooks
from maxmargin.estimators._parameters import check_files, check_parameters, seed_of
from maxmargin.estimators._refit import learning_anew
from maxmargin.estimators._warnings import warn_of_contradiction, warn_of_gap
from maxmargin.estimators.explain import Decision, Support, explain, weights_frame
from maxmargin.solvers.base import Limits, State
from maxmargin.solvers.registry import resolve
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run


@dataclass(frozen=True)
class TrainingData:
    """Checked and encoded examples, made once for a fit, and once for all fits of a path.

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
    """

    X: Any
    Y: Any
    structure: Structure
    examples: Examples
    weights: FloatArray
    positions: IntArray


class MaxMarginEstimator(CertificateInNotebooks, CallbackSupportMixin, BaseEstimator):
    """Common to all estimators: parameters of the fit, the fit itself, prediction, and ways to look inside.

    A subclass gives `_make_structure`.
    """

    structure_: Structure
    coef_: AnyArray
    #: What `bound` may be.
    _bounds: ClassVar[tuple[str, ...]] = tuple(BOUNDS)

    # ------------------------------------------------------------------ fit

    if TYPE_CHECKING:

        def set_params(self, **parameters: Any) -> Self: ...

    @property
    def _convex(self) -> bool:
        return BOUNDS[self.bound].convex

    def _make_structure(self) -> Structure:
        raise TypeError(f"{type(self).__name__} does not say which structure it learns")

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X, Y : as many inputs as outputs.
        sample_weight : c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        """
        return self._fit(X, Y, sample_weight)

    def resume(self, path: str | os.PathLike[str], X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Go on from a checkpoint of a fit with the same data and parameters, bit for bit as if it had never stopped.

        `tol`, `max_iter` and `max_seconds` may differ: they say when to stop, not how to go on.
        """
        return self._fit(X, Y, sample_weight, resume=path)

    def _fit(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None, resume: Any = None) -> Self:
        self._check_parameters()
        check_files(self.checkpoint, resume)
        if resume is not None and not self._convex:
            raise ValueError(f"bound={self.bound!r} has no checkpoints to resume from: they are for convex bounds")
        with learning_anew(self) as before, Local(self.n_jobs) as engine:
            data = self._training_data(X, Y, sample_weight, groups=groups)
            self._learn(data, engine, start=before._warm_weights(data.examples.dim), resume=resume)
        return self

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        """Return the data checked, encoded and merged."""
        X, Y, weights, positions = self._prepare(X, Y, sample_weight, groups)
        with by_position(positions):
            structure, examples = self._encode(X, Y)
        return TrainingData(X, Y, structure, *self._merged(examples, weights, positions))

    @with_callbacks
    def _learn(
        self,
        data: TrainingData,
        engine: Local,
        start: FloatArray | None = None,
        resume: Any = None,
        before: State | None = None,
    ) -> State:
        """Train and set the fitted attributes: from given weights, from a checkpoint, or from where the state of
        another C ended. The state at the end comes back."""
        callbacks = FitCallbacks(self, data.X, data.Y, data.structure)
        with by_position(data.positions):
            problem = self._problem(data.examples, data.weights, engine)
            problem.positions = data.positions
            run = self._run(callbacks)
            begin = None if before is None else run.solver.adapt(problem, before, run.seed)
            state = self._train(problem, run, start=start, resume=resume, state=begin)
        self._finish(problem, run, state, data.structure, data.positions)
        callbacks.finish(state.best_w)
        return state

    def _train(
        self, problem: Problem, run: Run, start: FloatArray | None = None, resume: Any = None, state: Any = None
    ) -> State:
        """Solve the problem; where the bound is not convex, from its convex form on (paper 4)."""
        if self._convex:
            return run.go(problem, start=start, resume=resume, state=state)
        start = start if state is None else state.best_w
        return ConcaveConvex(run, latent=False).go(problem, References.truths(problem.n_examples), start)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        """Return checked inputs and outputs, the sample weights, and the position of each example."""
        if groups is not None:
            raise TypeError(f"{type(self).__name__} takes no groups")
        return kept_examples(X, Y, sample_weight)

    def _merged(self, examples: Any, weights: FloatArray, positions: IntArray) -> tuple[Any, FloatArray, IntArray]:
        """Equal examples made one, where a structure knows how to tell; by default nothing changes."""
        return examples, weights, positions

    def _check_parameters(self) -> None:
        """One sentence for the first parameter that cannot be used."""
        check_parameters(self)

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        """The structure, its sizes learnt, and the data in its arrays."""
        structure = self._make_structure()
        if isinstance(structure, Compiled):
            structure = clone(structure)
            return structure, structure.fit_encode(X, Y)
        check_methods(structure)
        size = told_size(structure)
        if size is not None:
            check_memory(6.0 * 8 * size, f"{size} weights")
        examples = self._own_examples(structure, X, Y)
        examples.parallel = self.n_jobs not in (None, 1)
        return structure, examples

    def _own_examples(self, structure: Structure, X: Any, Y: Any) -> Examples:
        return OwnExamples(structure, X, Y)

    def _bound(self) -> Bound:
        return Bound(BOUNDS[self.bound].rescaling, self.slack)

    def _problem(self, examples: Examples, weights: FloatArray, engine: Local) -> Problem:
        """What the solver is given; memory for its argmaxes is planned."""
        bound = self._bound()
        planned, what = examples.planned_decoding(bound, engine.n_jobs if examples.parallel else 1)
        check_memory(planned, what, "use shorter inputs or fewer threads (n_jobs), or another bound or loss")
        return Problem(examples, bound, Objective(float(self.C), weights, self.slack), engine)

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
        self.certificate_ = replace(
            state.certificate(problem).reconsidered(), outer_steps=run.outer_steps, outer_decrease=run.outer_decrease
        )
        self.history_, self.stop_reason_, self.n_iter_ = run.history, run.stop_reason, state.iteration
        self.support_ = Support.of(problem, state, positions)
        warn_of_contradiction(self.certificate_)
        warn_of_gap(self, run, state)

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
        X = indexable(X, "X")
        if isinstance(self.structure_, Compiled):
            examples, answers = self._decode(X)
            return examples.outputs(answers)
        return self._own_predictions(X)

    def _own_predictions(self, X: Any) -> list[Any]:
        """What the argmax of an own structure says of each input, in as many threads as a fit has."""
        w, outputs = self._flat_weights(), [None] * n_examples(X)

        def ask(ids: IntArray, _: slice) -> None:
            for i in ids.tolist():
                found = _called(Place("X", i), "argmax", self.structure_.argmax, w, X[i])
                outputs[i] = own_copy(plain_output(found))  # at once: the next call may fill the same object anew

        with Local(self.n_jobs or 1) as engine, one_blas_thread():
            engine.map(ask, np.arange(len(outputs)), OwnExamples.smallest_chunk)
        return outputs

    def _features(self, X: Any) -> Any:
        """Inputs as the structure takes them; by default as they are."""
        return X

    def _decode(self, X: Any) -> tuple[Examples, Answers]:
        assert isinstance(self.structure_, Compiled)
        examples, w = self.structure_.encode(self._features(X)), self._flat_weights()
        answers = examples.empty_answers()
        zeros = np.zeros(examples.n_examples)
        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(
                lambda ids, chunk: examples.decode(w, ids, zeros[chunk], answers), np.arange(examples.n_examples)
            )
        return examples, answers

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss of the predictions: higher is better, 0 is perfect."""
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, Y)
        weights = example_weights(sample_weight, len(Y))
        pairs = enumerate(zip(Y, self.predict(X), strict=True))
        losses = [_called(Place("Y", i), "loss", self._loss, y, y_hat) for i, (y, y_hat) in pairs]
        return -float(np.average(losses, weights=weights))

    def _loss(self, y: Any, y_hat: Any) -> float:
        return float(self.structure_.loss(y, y_hat))

    def topk(self, x: Any, k: int) -> list[tuple[Any, float]]:
        """The k best outputs of one input, with their scores."""
        check_is_fitted(self, "coef_")
        if not hasattr(self.structure_, "topk"):
            raise TypeError(f"{type(self.structure_).__name__} offers no topk(w, x, k)")
        k = whole_number(k, "k")
        with _one_input(self, x, "topk"):
            return own_copy(self.structure_.topk(self._flat_weights(), self._features([x])[0], k))

    def explain(self, x: Any, n_features: int = 10) -> Decision:
        """The decision on one input: the runner-up, the margin to it, and which features decided."""
        check_is_fitted(self, "coef_")
        with _one_input(self, x, "explain"):
            found = self._features([x])[0]
            return explain(self.structure_, self._flat_weights(), found, self.feature_names_out, n_features)

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
        from maxmargin.io.models import save

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


def _called(place: Place, name: str, method: Callable[..., Any], *arguments: Any) -> Any:
    """What a method of a structure says of the example that stands at this place."""
    try:
        return method(*arguments)
    except Exception as error:
        raise StructureError.at(place, f"{name} raised {type(error).__name__}: {error}") from error


@contextmanager
def _one_input(estimator: MaxMarginEstimator, x: Any, method: str) -> Iterator[None]:
    """Raise an error of its own if a method fails because x is a list of inputs."""
    try:
        yield
    except ValueError:
        n = _n_inputs(estimator, x)
        if n:
            raise ValueError(f"{method} takes one input x, found a list of {n} of them") from None
        raise


def _n_inputs(estimator: MaxMarginEstimator, x: Any) -> int:
    """Return the number of inputs in x; 0 if x is not a list of inputs, or if that is not known."""
    if not isinstance(estimator.structure_, Compiled) or not is_list(x):
        return 0
    try:
        return estimator.structure_.encode(estimator._features(x)).n_examples
    except (TypeError, ValueError):
        return 0
