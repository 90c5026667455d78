"""`MaxMarginEstimator`: the base class of all estimators.

A fit calls `fit` → `_training_data` → `_learn` → `_finish`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import get_tags

from maxmargin._base.ahead import compile_kind
from maxmargin._base.checks import (
    check_declared,
    declared,
)
from maxmargin._base.fingerprint import Fingerprint
from maxmargin._base.input import (
    by_position,
    kept_examples,
)
from maxmargin._base.jit import messages, working_seconds
from maxmargin._base.memory import check_memory
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.bounds import BOUNDS, Bound
from maxmargin.core.examples import Examples
from maxmargin.core.objective import Objective
from maxmargin.core.structure import Compiled, Structure, check_methods, has_joint_kernel
from maxmargin.custom.arguments import declared_size
from maxmargin.custom.examples import CustomExamples
from maxmargin.custom.joint_kernel import KernelCoordinates, coordinates_for
from maxmargin.engines.engine import Engine, engine_of
from maxmargin.engines.tasks import Tasks
from maxmargin.estimators.explain import Support
from maxmargin.estimators.html import CertificateInNotebooks
from maxmargin.estimators.kernelised import check_kernel, check_no_weights, part_kernel, prefer_support
from maxmargin.estimators.parameters import (
    FitParameters,
    check_files,
    check_together,
    joined,
    lower_bounds,
)
from maxmargin.estimators.predictor import Predictor
from maxmargin.estimators.probabilities import Probabilistic, best_temperature
from maxmargin.estimators.starts import (
    CONVEX,
    NamedStart,
    Start,
    best_start,
    centre,
    check_start_names,
    no_weights,
    perceptron_weights,
    starts_of,
)
from maxmargin.estimators.training_data import FromFiles, TrainingData, data_in_shards
from maxmargin.estimators.warnings import (
    warn_of_contradiction,
    warn_of_degenerate,
    warn_of_estimate,
    warn_of_gap,
)
from maxmargin.formats.partitions import Parted
from maxmargin.likelihood import SmoothBound, SmoothProblem
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import Limits, Solver, State
from maxmargin.solvers.registry import resolve
from maxmargin.training.audit import Audit, audit
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import CallbackSupportMixin, Checkpoint, FitCallbacks, Run, seed_of, with_callbacks

#: Methods of other estimators that these do not have, with an answer that says what to use.
ABSENT = ("predict_proba", "predict_log_proba", "partial_fit", "resume")


@declared
class MaxMarginEstimator(
    FitParameters, FromFiles, CertificateInNotebooks, CallbackSupportMixin, Predictor, BaseEstimator
):
    """Base class of all estimators: the fit; a fitted estimator is a `Predictor`.

    A subclass names its `_structure` or defines `_make_structure`, and declares its own parameters (`declared`). It may
    extend `named_starts`: methods (data, problem, restart) that return first weights, by the name that `start` takes.
    """

    named_starts: ClassVar[Mapping[str, NamedStart]] = {CONVEX: no_weights, "perceptron": perceptron_weights}
    #: The class of the structure, made with the parameters of the same names; its `cost` is the parameter `loss`.
    _structure: ClassVar[type[Compiled] | None] = None

    if TYPE_CHECKING:

        def set_params(self, **parameters: Any) -> Self:
            """Set parameters by name."""
            ...

    if not TYPE_CHECKING:  # type checkers would take any attribute to exist

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with what to use in place of methods that scikit-learn's users may expect."""
            if name in ABSENT:
                raise AttributeError(f"{type(self).__name__} has no {name}: {self._in_place_of(name)}")
            return super().__getattribute__(name)  # again, since the error of a property would be lost

    def _in_place_of(self, name: str) -> str:
        """Return what to use in place of a method that is absent."""
        if name == "resume":
            return "fit(X, y, resume=path) continues from a checkpoint"
        if name == "partial_fit":
            return (
                "a fit is the optimum for all its examples; set warm_start=True and call fit on all examples, old and "
                "new: it starts from the last weights"
            )
        if isinstance(self, ClassifierMixin) and get_tags(self).target_tags.single_output:
            return (
                "margins are not probabilities; sklearn.calibration.CalibratedClassifierCV(model) learns them from "
                "decision_function"
            )
        if isinstance(self, Probabilistic):
            return "an output has several parts; predict_marginals returns their probabilities"
        others = [other for other in ("decision_scores", "decision_margins", "topk") if hasattr(self, other)]
        return f"scores are not probabilities; use {' or '.join(others) or 'predict'}"

    @property
    def _convex(self) -> bool:
        return BOUNDS[self.bound].convex

    @property
    def _plain_features(self) -> bool:
        """Whether features are used as they are, without a kernel."""
        return isinstance(kernel := getattr(self, "kernel", "linear"), str) and kernel == "linear"

    @property
    def _max_outer(self) -> int:
        """Maximum number of outer steps of a bound that is not convex."""
        return 100

    @property
    def _n_runs(self) -> int:
        """Number of runs from a named start, of which the best one is kept."""
        return 1

    @property
    def _completes(self) -> bool:
        """Whether references are completions of the truth; otherwise they are predictions (a ramp)."""
        return False

    @property
    def _auto_start(self) -> str:
        """The name of the start that ``"auto"`` stands for."""
        return CONVEX

    def _make_structure(self) -> Structure:
        if self._structure is None:
            raise TypeError(f"{type(self).__name__} does not define _make_structure")
        own, names = self._get_param_names(), {name: name for name in self._structure._get_param_names()}
        names |= {"cost": "loss"} if "cost" in names else {}
        return self._structure(**{name: getattr(self, mine) for name, mine in names.items() if mine in own})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, resume: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X, y : sequence
            Inputs, and the true output of each; or `Files` or `Partitions` alone.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each example in the objective; 1 by default. Examples of weight 0 are left out.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, resume=resume)

    def _fit(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None, resume: Any = None) -> Self:
        self._check_parameters()
        check_files(self.checkpoint, resume)
        if resume is not None and not self._convex:
            raise ValueError(
                f"bound={self.bound!r} has no checkpoints to resume from: only convex bounds have checkpoints"
            )
        with refitting(self) as before, engine_of(self.engine, self.n_jobs) as engine, ExitStack() as stack:
            if isinstance(X, Parted):
                stack.enter_context(X.naming())
            if isinstance(X, Parted) and isinstance(engine, Tasks):
                data = stack.enter_context(data_in_shards(self, X, Y, sample_weight, groups, engine))
            else:
                X, Y = self._read(X, Y) if isinstance(X, Parted) else (X, Y)
                data = self._training_data(X, Y, sample_weight, groups=groups)
            self._learn(data, engine, last=before._warm_weights(data.examples.dim), resume=resume)
            learn_rest = self._second_stage(data)
            del data  # its examples may take much memory
            learn_rest()
        return self

    def _second_stage(self, data: TrainingData) -> Callable[[], None]:
        """Return a function that learns what is learnt without the examples; by default it does nothing."""
        return lambda: None

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        """Return the data checked, encoded and merged."""
        X, Y, weights, positions = self._prepare(X, Y, sample_weight, groups)
        with by_position(positions):
            structure, examples = self._encode(X, Y)
            if isinstance(self, Probabilistic):
                self._check_decisions(structure, examples)
        return TrainingData(X, Y, structure, *self._merged(examples, weights, positions), positions)

    @with_callbacks
    def _learn(
        self,
        data: TrainingData,
        engine: Engine,
        last: FloatArray | None = None,
        resume: Any = None,
        before: State | None = None,
    ) -> State:
        """Train, set the fitted attributes, and return the last state.

        Training begins with the weights of the last fit, with those of `start`, with a checkpoint, or with the last
        state of another C.
        """
        callbacks = FitCallbacks(self, data.X, data.Y, data.structure)
        with by_position(data.positions):
            problem = self._problem(data, engine)
            run = self._run(callbacks, cache(partial(self._identity, data.structure)))
            compile_kind(kind_of_fit(data.structure, problem, run.solver, self.bound))
            begin = None if before is None else run.solver.adapt(problem, before, run.seed)
            state = self._train(problem, run, starts_of(self, data, problem, last), resume=resume, state=begin)
        self._finish(problem, run, state, data)
        callbacks.finish(problem.weights(state.best_w))
        messages.finish()
        return state

    def _train(
        self, problem: Problem, run: Run, starts: Iterable[Start], resume: Any = None, state: State | None = None
    ) -> State:
        """Solve the problem from the best of the starts; a state or a checkpoint takes the place of a start."""
        if problem.examples.latent and resume is not None:
            raise ValueError("latent variables have no checkpoints to resume from: only convex bounds have checkpoints")
        if problem.examples.latent or not self._convex:
            return self._train_from_each(problem, run, starts, state)
        if resume is not None or state is not None:
            return run.go(problem, resume=resume, state=state)
        start = best_start(problem, starts)
        run.start = "" if start.weights is None else start.name
        return run.go(problem, start=start.relative(problem))

    def _train_from_each(self, problem: Problem, run: Run, starts: Iterable[Start], state: State | None) -> State:
        """Run the concave-convex procedure from each start, and return the state of the lowest objective.

        A state of another C gives a first point, where the start has none.
        """
        rng, best, began = np.random.default_rng(run.seed), None, working_seconds()
        for number, start in enumerate(starts):
            this = replace(run, seed=run.seed + number, limits=self._limits_left(began), history=[], start=start.name)
            first, given = start.relative(problem), state is not None and number == 0
            if given and (first is not None or problem.examples.latent):
                first = state.best_w  # type: ignore[union-attr]
            references = self._references(problem, rng, first)
            if given:
                first = state.best_w  # type: ignore[union-attr]
            reached = ConcaveConvex(this, self._completes, self._max_outer).go(problem, references, first)
            objective = this.history[-1]["objective"]
            if best is None or objective < best[0]:
                best = objective, reached, this, problem.references
            if this.stop_reason in ("interrupted", "callback", "max_seconds"):
                break
        assert best is not None
        _, reached, this, problem.references = best
        vars(run).update(vars(this))
        return reached

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        """Return the first references: the predictions at the start, or the truths for the convex form."""
        problem.references = References.truths(problem.n_examples)
        return problem.references if start is None else problem.references_at(start, latent=False)

    def _limits_left(self, began: float) -> Limits:
        """Return the limits of a run; `max_seconds` counts from the first run on."""
        if self.max_seconds is None:
            return Limits(float(self.tol), self.max_iter)
        left = float(self.max_seconds) - (working_seconds() - began)
        return Limits(float(self.tol), self.max_iter, max(left, 1e-3))

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
        check_declared(self)
        if not self._plain_features:
            check_kernel(self)
        check_together(self)
        if self._structure is None:
            with suppress(AttributeError):  # a structure that needs labels is made when these are known
                check_start_names(self, self._make_structure())
            return
        structure: Any = self._make_structure()
        check_start_names(self, structure)
        try:
            structure.check_parameters()
        except ValueError as error:
            raise ValueError(re.sub(r"^cost\b", "loss", str(error))) from None

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        """Return the structure with the sizes it learnt, and the encoded examples."""
        structure = self._make_structure()
        if isinstance(structure, Compiled):
            if structure is getattr(self, "structure", None):  # the object of the user stays as it is
                structure = clone(structure)
            kernel = None if self._plain_features else part_kernel(self)
            if kernel is not None:
                structure.use_kernel(kernel)
            return structure, structure.fit_encode(X, Y)
        check_methods(structure)
        if not self._plain_features and part_kernel(self) is not None:
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
            examples.parallel = examples.portable = False  # the basis grows in the order of the calls
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

    def _problem(self, data: TrainingData, engine: Engine) -> Problem:
        """Return the problem to solve; raise MemoryError if its argmaxes need too much memory."""
        examples, bound = data.examples, self._bound()
        planned, what = examples.planned_decoding(bound, engine.n_jobs if examples.parallel else 1)
        check_memory(planned, what, "use shorter inputs or fewer threads (n_jobs), or another bound or loss")
        names = partial(self._weight_names, data.structure, examples.dim)
        lower = joined(examples.lower, lower_bounds(self.nonnegative, examples.dim, names))
        objective = Objective(self._trade_off(), data.weights, self.slack, lower)
        if self.bound in BOUNDS and BOUNDS[self.bound].smooth:
            smooth = SmoothBound(margin=self.bound == "softmax-margin")
            return SmoothProblem(examples, smooth, objective, engine, self._centre(data), data.positions)
        return Problem(examples, bound, objective, engine, self._centre(data), data.positions)

    def _trade_off(self) -> float:
        """Return C of the objective."""
        return float(self.C)

    def _centre(self, data: TrainingData) -> FloatArray | None:
        """Return w₀ of the regulariser ½‖w − w₀‖²; None means 0."""
        return centre(getattr(self, "prior", None), data.examples.dim)

    def _run(self, callbacks: Iterable[Any], identity: Callable[[], Mapping[str, Any]] = dict) -> Run:
        return Run(
            resolve(self.solver),
            Limits(float(self.tol), self.max_iter, self.max_seconds),
            seed_of(self.random_state),
            list(callbacks),
            Checkpoint.of(self.checkpoint),
            self.verbose,
            identity=identity,
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

    def _weights_of(self, other: Any) -> FloatArray:
        """Return the weights of another fitted estimator as those of this one."""
        if isinstance(other, MaxMarginEstimator):
            return np.array(other._flat_weights())
        return np.array(other.coef_, float).ravel()

    def __sklearn_clone__(self) -> Self:
        """Return an estimator with the same parameters; a fitted start stays fitted."""
        twin: Self = super().__sklearn_clone__()
        twin.start = self.start
        return twin

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
        if isinstance(self, Probabilistic):
            self.temperature_ = self._temperature(problem, run, data)
        self.history_, self.stop_reason_, self.n_iter_ = run.history, run.stop_reason, state.iteration
        self.support_ = Support.of(problem, state, data.positions)
        audited = self._audit(problem, run, state)
        fault = audited.fault
        state.best_bound = problem.bound_with_planes_found(state.best_w, state.best_bound)
        certificate = state.certificate(problem)
        if problem.examples.relaxed:
            certificate = certificate.about_objective(*self._objective_of_outputs(problem, state))
        self.certificate_ = replace(
            certificate, outer_steps=run.outer_steps, outer_decrease=run.outer_decrease,
            beaten=fault is not None, start=run.start, assumed=certificate.assumed and not audited.complete,
        ).reconsidered()  # fmt: skip
        proven = self.certificate_.proven or self.certificate_.proven_gap <= self.tol
        if self.stop_reason_ == "tol" and not proven and not problem.examples.relaxed:
            self.stop_reason_ = "estimated"
        warn_of_contradiction(self.certificate_, fault)
        warn_of_estimate(self, problem)
        warn_of_gap(self, run, state, problem)
        if fault is None:
            self._warn_if_degenerate(problem, state)

    def _warn_if_degenerate(self, problem: Problem, state: State) -> None:
        """Warn if nothing was learnt."""
        warn_of_degenerate(self, problem, state, self._convex)

    @staticmethod
    def _objective_of_outputs(problem: Problem, state: State) -> tuple[float, float]:
        """Return the objective of the best weights by outputs, where answers are relaxed, and an upper bound on it."""
        plain = Problem(
            problem.examples.unrelaxed(), problem.bound, problem.objective, problem.engine, problem.centre,
            problem.positions,
        )  # fmt: skip
        plain.references = problem.references
        plain.decode(state.best_w, plain.everyone)
        primal, bound = plain.primal(state.best_w)
        return float(primal + plain.offset), float(bound + plain.offset)

    def _temperature(self, problem: Problem, run: Run, data: TrainingData) -> float:
        """Return the temperature: the parameter, or the best one for models of the two halves of the data."""
        assert isinstance(self, Probabilistic)
        if not isinstance(self.temperature, str):
            return float(self.temperature)
        if data.examples.n_examples < 2:
            return 1.0
        order = np.random.default_rng(run.seed).permutation(data.examples.n_examples)
        halves, held_out = np.array_split(order, 2), []
        for mine, other in (halves, halves[::-1]):
            half = replace(
                data, examples=data.examples.take(np.sort(mine)), weights=data.weights[np.sort(mine)],
                positions=data.positions[np.sort(mine)],
            )  # fmt: skip
            part = self._problem(half, problem.engine)
            quiet = replace(self._run([]), checkpoint=None, verbose=0)
            state = self._train(part, quiet, starts_of(self, half, part))
            held_out.append((data.examples.take(np.sort(other)), part.weights(state.best_w)))
        return best_temperature(held_out)

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

    def _audit(self, problem: Problem, run: Run, state: State) -> Audit:
        """Return what contradicts argmaxes that are user code; nothing is asked after Ctrl-C."""
        examples = problem.examples
        if state.cut_short or (examples.fault is None and not examples.user_code):
            return Audit()
        held = {} if self.support_ is None else self.support_.outputs_by_example(problem.positions)
        return audit(problem, state, run.seed, held, sweep=run.stop_reason != "max_seconds")

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        """Return the attributes that make an estimator fitted, by name."""
        return {"structure_": structure, "coef_": weights.copy()}

    def _check_loaded(self, structure: Any) -> None:
        """Raise ValueError if the structure or attributes of a model file do not belong to this estimator.

        The attributes are set already, except for those of `_fitted_attributes`.
        """
        if "structure" not in self._get_param_names():
            expected = type(self._make_structure())
            if type(structure) is not expected:
                raise ValueError(f"its structure is of type {type(structure).__name__}, expected {expected.__name__}")

    def save(self, path: str | os.PathLike[str], support: bool = False) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: JSON and plain arrays, no pickle.

        The file is written under another name and renamed, so an existing file stays intact until the new one is
        complete. It contains the parameters (except `callbacks` and `checkpoint`, which belong to the run), the weights
        and everything else that prediction needs, certificate and history. Functions and user-defined
        classes are saved by name only; `maxmargin.load` takes them as arguments, as the page "Model files" of the
        documentation describes.

        Parameters
        ----------
        path : str or path-like
            Name of the file; the suffix ``.mm`` is recommended.
        support : bool, default=False
            Whether to save `support_`, which can be many times the size of the weights. If False, `support_` is None
            in the loaded model. Its outputs are kept for compiled structures, and None for user-defined structures.
        """
        from maxmargin.models import save

        save(self, path, support)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def kind_of_fit(structure: Any, problem: Problem, solver: Solver, bound: str) -> str:
    """Return what decides which functions a fit calls, as a text."""
    settings = ""
    if isinstance(structure, Compiled):
        parameters = structure.get_params(deep=False).items()
        settings = " ".join(f"{name}={value}" for name, value in parameters if isinstance(value, str | bool))
    name = type(structure).__name__ if isinstance(structure, Compiled) else "own"
    exact = "float32" if problem.examples.float32_exact else "float64"
    return f"{name}; {bound} {problem.objective.slack}; {solver.for_problem(problem).name}; {exact}; {settings}"


@contextmanager
def refitting(estimator: Any) -> Iterator[Any]:
    """Remove the attributes that the last fit set, and yield a copy of the estimator with them.

    No attribute of an earlier fit remains next to new ones, and a fit that fails leaves the estimator unchanged.
    Attributes that a derived estimator sets before it calls the fit of its base class are kept.
    """
    before = copy(estimator)
    for name in names_learnt(estimator):
        vars(estimator).pop(name, None)
    own = _fitted(estimator)
    try:
        yield before
    except BaseException:
        for name in _fitted(estimator) - own:
            delattr(estimator, name)
        take_over(estimator, before)
        raise
    remember(estimator, _fitted(estimator) - own)


def names_learnt(estimator: Any) -> list[str]:
    """Return the names of the attributes that the last fit set, without those of a derived class."""
    return sorted(vars(estimator).get("_names_learnt", ()))


def remember(estimator: Any, names: Iterable[str]) -> None:
    """Store the names of the attributes that the last fit set."""
    estimator._names_learnt = frozenset(names)


def take_over(estimator: Any, other: Any) -> None:
    """Copy the fitted attributes of another estimator."""
    vars(estimator).update({name: vars(other)[name] for name in _fitted(other)})


def _fitted(estimator: Any) -> set[str]:
    """Return the names of fitted attributes, by scikit-learn's convention."""
    parameters = estimator.get_params(deep=False)
    return {name for name in vars(estimator) if name.endswith("_") and name[0] != "_" and name not in parameters}
