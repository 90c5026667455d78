"""Interfaces of structures: `Structure` for user-defined ones, `Compiled` for those with compiled functions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._base.errors import ExampleError
from maxmargin._base.ragged import ONLY, Ragged, offsets_of
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.examples import CAPABILITIES, Examples

if TYPE_CHECKING:
    from maxmargin.features.mercer.kernel import KernelFeatures, PartKernel
    from maxmargin.features.mercer.points import PointFeatures


class StructureError(ExampleError):
    """Error in a method of a structure.

    The method raised an exception or returned an invalid value. The message names the example, and contains what was
    expected and what was found.

    Examples
    --------
    >>> import maxmargin as mm
    >>> class Unfinished(mm.datasets.toy.Sign):
    ...     def argmax(self, w, x):
    ...         return None
    ...     def loss_augmented_argmax(self, w, x, y, scale=1.0):
    ...         return None
    >>> X, y = mm.datasets.toy.signs()
    >>> try:
    ...     mm.StructuralSVM(Unfinished()).fit(X[:1], y[:1])
    ... except mm.exceptions.StructureError as error:
    ...     print(error)
    X[0]: loss_augmented_argmax returned None, expected an output
    """


class Bounded(NamedTuple):
    """Output of an approximate argmax, with an upper bound on the maximum.

    A structure with ``exact = False`` may return it from `loss_augmented_argmax` (and from `argmax`, where `upper` is
    ignored). Certificates then have a finite `primal_bound`.

    Parameters
    ----------
    output : object
        The output found.
    upper : float
        Upper bound on w·Ψ(x, ŷ) + scale · Δ(y, ŷ) over all outputs ŷ, for example the bound that a mixed-integer solver
        had proved at its time limit.

    Examples
    --------
    An argmax that stops at a limit returns what it found and what it proved:

    >>> import maxmargin as mm
    >>> answer = mm.Bounded(output=[1, 0, 2], upper=7.25)
    >>> answer.output, answer.upper
    ([1, 0, 2], 7.25)
    """

    output: Any
    upper: float


def plain_output(answer: Any) -> Any:
    """Return the output without the bound it may have been returned with."""
    return answer.output if type(answer) is Bounded else answer


def proven_bound(answer: Any) -> float:
    """Return the upper bound that an output was returned with; infinity without one."""
    return float(answer.upper) if type(answer) is Bounded else np.inf


class Structure(ABC):
    """Base of user-defined structures: joint features, a loss and two argmaxes.

    A subclass implements four methods over plain Python objects: `joint_feature`, `loss`, `argmax` and
    `loss_augmented_argmax`. Ψ may be a dense vector, a scipy sparse row, a pair ``(indices, values)`` or a dict
    ``{index: value}``; the last two require `size`. Sparse features are faster, because the cost of training is
    proportional to the number of nonzeros.

    Attributes
    ----------
    size : int or None, default=None
        Number of weights; required if Ψ is a pair or a dict.
    exact : bool, default=True
        Whether both argmaxes are exact. If False, certificates say that the gap is an estimate; argmaxes that can prove
        how good an output is return it as `Bounded`.
    argmax_operations : float, default=20000.0
        Approximate cost of an argmax in multiply-adds. The more expensive the argmax, the longer the default solver
        works on the planes it has stored before it calls the argmax again.
    named_starts : dict of str to callable, default={}
        First weights by name, for `start` of estimators: methods ``(self, examples, sample_weight)`` that return
        weights. ``examples.X`` and ``examples.Y`` are the training data of a user-defined structure.

    Notes
    -----
    A subclass may define ``joint_kernel(x, y, x2, y2)``, the inner product Ψ(x, y)·Ψ(x2, y2), in place of
    `joint_feature`; its argmaxes then receive w as `KernelWeights`.

    A subclass may also implement these optional methods:

    ``enumerate(x)``
        Return all outputs of x, for checks on small inputs.
    ``topk(w, x, k)``
        Return the k best outputs with their scores, best first: ``[(y, score), ...]``.
    ``bound_argmax(w, x, y, bound)``
        Return the output that maximises ``bound.violation(w·Ψ(x, ŷ) − w·Ψ(x, y), Δ(y, ŷ))``. With this method slack
        re-scaling and quadratic slack are exact; without it they search over ``scale``.
    ``feature_names()``
        Return one name for each weight.
    ``feasible(x, y)``
        Return whether y is an output of x. Checks call it for all outputs, and a fit for all true outputs.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> class Sign(mm.Structure):
    ...     def joint_feature(self, x, y):
    ...         return y * np.asarray(x)
    ...     def loss(self, y, y_hat):
    ...         return float(y != y_hat)
    ...     def argmax(self, w, x):
    ...         return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))
    ...     def loss_augmented_argmax(self, w, x, y, scale=1.0):
    ...         return max((-1, 1), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))
    >>> model = mm.StructuralSVM(Sign()).fit([[2.0, 0.0], [-1.0, 0.5]], [1, -1])
    >>> model.predict([[3.0, 1.0]])
    [1]
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Let a class define `joint_kernel` in place of `joint_feature`."""
        super().__init_subclass__(**arguments)
        if hasattr(cls, "joint_kernel") and getattr(cls.joint_feature, "__isabstractmethod__", False):
            cls.joint_feature = _no_joint_feature  # type: ignore[assignment, method-assign]

    size: int | None = None
    exact: bool = True
    #: Methods (self, examples, sample_weight) that return first weights, by the name that `start` of estimators takes.
    named_starts: ClassVar[Mapping[str, Callable[[Any, Any, FloatArray], FloatArray]]] = {}
    # The default is that of a fast argmax in Python. It is a count and not a time so that runs are reproducible.
    argmax_operations: float = 20000.0

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Any:
        """Return Ψ(x, y)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Return Δ(y, ŷ) ≥ 0, with Δ(y, y) = 0."""

    @abstractmethod
    def argmax(self, w: FloatArray, x: Any) -> Any:
        """Return the output with the greatest score w·Ψ(x, y)."""

    @abstractmethod
    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        """Return the output that maximises w·Ψ(x, ŷ) + scale · Δ(y, ŷ)."""


def _no_joint_feature(structure: Any, x: Any, y: Any) -> Any:
    """Raise TypeError: the structure has a joint kernel."""
    raise TypeError(f"{type(structure).__name__} has joint_kernel in place of joint_feature")


def has_joint_kernel(structure: Any) -> bool:
    """Return whether a structure has `joint_kernel` in place of `joint_feature`."""
    if not callable(getattr(structure, "joint_kernel", None)):
        return False
    method = getattr(structure, "joint_feature", None)
    return method is None or getattr(method, "__func__", None) is _no_joint_feature


def has_topk(structure: Any) -> bool:
    """Return whether a structure has k best outputs: declared if it is compiled, otherwise a method."""
    return "topk" in structure.capabilities if isinstance(structure, Compiled) else hasattr(structure, "topk")


def check_methods(structure: Any) -> None:
    """Raise TypeError if one of the four methods of a structure is missing.

    The object need not be an instance of `Structure`.
    """
    first = "joint_kernel" if has_joint_kernel(structure) else "joint_feature"
    if first == "joint_feature" and callable(getattr(structure, "joint_kernel", None)):
        raise TypeError(
            f"{type(structure).__name__} has both joint_feature and joint_kernel: define joint_kernel in place of "
            f"joint_feature, or remove it"
        )
    required = (first, "loss", "argmax", "loss_augmented_argmax")
    missing = [name for name in required if not callable(getattr(structure, name, None))]
    if missing:
        methods = ", ".join(f"{name}()" for name in missing)
        raise TypeError(f"{type(structure).__name__} is not a valid structure: it has no {methods}")


def check_names(names: AnyArray, size: int) -> None:
    """Raise StructureError unless there is one name for each weight."""
    if names.shape != (size,):
        shown = len(names) if names.ndim == 1 else f"an array of shape {names.shape}"
        raise StructureError(f"feature_names must return one name for each of {size} weights, found {shown}")


class WeightTable(NamedTuple):
    """The names of a table of weights.

    Attributes
    ----------
    columns : sequence of str
        The name of each feature.
    outputs : list of str, optional
        The name of each of the K outputs; None if there is one weight per feature.
    """

    columns: Sequence[str]
    outputs: list[str] | None = None

    def names(self) -> list[str]:
        """Return the name of each weight."""
        if self.outputs is None:
            return list(self.columns)
        return [f"{column} → {output}" for column in self.columns for output in self.outputs]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the table: (columns,) or (columns, K)."""
        return (len(self.columns),) if self.outputs is None else (len(self.columns), len(self.outputs))


class Compiled(Structure, BaseEstimator):
    """Structure that learns its sizes from data and decodes whole batches.

    Its parameters are those of its constructor (by scikit-learn's conventions so that it can be cloned and tuned).
    `fit` stores classes and vocabulary in attributes that end with an underscore, and `encode` returns `Examples`. The
    four methods of `Structure` apply the same compiled functions to single examples.

    A subclass lists its encoders in `learns` and implements `_encoded` and `loss`. If its weights are not one for each
    column of each encoder, it describes them in `tables`, or in `weight_shapes` and `feature_names` if names are many.
    Saving, names and sizes of weights, and kernels on the rows of encoders follow.
    """

    #: Encoders that `fit` creates: attribute → class with `get_state`, `set_state` and `column_names`.
    learns: ClassVar[dict[str, type]] = {}
    #: Keys of encoders in saved state, by default their attributes; the keys of an encoder named "" are not nested.
    state_keys: ClassVar[dict[str, str]] = {}
    #: Encoders of `learns` on whose rows kernels may be used (`kernel_features.on_rows.KernelRows`), with the names of
    #: their tables of weights; a block with lower bounds on weights stays linear.
    kernel_rows: ClassVar[dict[str, str]] = {}
    #: Name of a single output in messages.
    output_name: ClassVar[str] = "output"
    #: Name of several inputs in messages.
    inputs_name: ClassVar[str] = "examples"
    #: Why the structure takes no kernel, for a message.
    no_kernel: ClassVar[str] = "its parts have no rows of features"
    #: What it offers of `CAPABILITIES`; a structure whose parameters decide about one overrides it with a property.
    capabilities: ClassVar[frozenset[str]] = frozenset()
    #: Kernel on the features of parts, set by `use_kernel`.
    kernel_: PartKernel | None = None

    # ------------------------------------------------------------------ what a structure writes

    @abstractmethod
    def _encoded(self, X: Any, Y: Any, learn: bool) -> Any:
        """Return the examples; if `learn` is true, the encoders of `learns` must learn from X."""

    def check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid, before any data are read; by default all are valid."""
        return None

    def _new_encoder(self, name: str) -> Any:
        """Return an encoder that has not learnt anything; None if the parameters do not require it."""
        return self.learns[name]()

    def tables(self) -> dict[str, WeightTable]:
        """Return the weights of each block by name; by default one weight per column of each encoder."""
        return {name.rstrip("_"): WeightTable(getattr(self, name).column_names()) for name in self.learns}

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each table of weights; the weights of a table follow those of the previous one."""
        return {name: table.shape for name, table in self.tables().items()}

    # ------------------------------------------------------------------ data

    def fit(self, X: Any, Y: Any) -> Self:
        """Check the parameters and every example, and learn classes and sizes."""
        self.check_parameters()
        self.fit_encode(X, Y)
        return self

    def fit_encode(self, X: Any, Y: Any) -> Any:
        """Call `fit` and `encode` in one pass over the data.

        The caller has already checked the parameters.
        """
        for name in self.learns:
            setattr(self, name, self._new_encoder(name))
        for name in self.kernel_rows if self.kernel_ is not None else ():
            getattr(self, name).kernel = self.kernel_
        examples = self._paired(X, Y, True)
        self._set_size()
        self._check_tables(examples.dim)
        return examples

    def survey(self, X: Any, Y: Any) -> Any:
        """Return what a part of the data contributes to what is learnt: a picklable object, for `learn_from`."""
        raise self._not_surveyed("")

    def learn_from(self, surveys: Sequence[Any]) -> None:
        """Learn from the surveys of all parts of the data, in order, what `fit` learns from all data at once.

        Then `encode` returns the examples of each part as they are among those of `fit_encode`.
        """
        raise self._not_surveyed("")

    def _not_surveyed(self, parameter: str) -> TypeError:
        """Return the error of a structure, or of one with this parameter, that cannot learn from parts of the data."""
        what = f"{type(self).__name__} with {parameter}" if parameter else type(self).__name__
        return TypeError(f"{what} learns from all data in one process; use engine='threads'")

    def encode(self, X: Any, Y: Any = None) -> Any:
        """Return these examples as flat arrays; without Y they can only be used for prediction."""
        return self._paired(X, Y, False)

    def _paired(self, X: Any, Y: Any, learn: bool) -> Any:
        """Return the examples; raise ValueError if there is not one output for each input."""
        if Y is not None and _count(X) != _count(Y):
            raise ValueError(f"X has {_count(X)} {self.inputs_name} but Y has {_count(Y)}")
        return self._encoded(X, Y, learn)

    def _set_size(self) -> None:
        """Set the number of weights."""
        self.size = sum(map(prod, self.weight_shapes().values()))

    def _check_tables(self, dim: int) -> None:
        """Raise TypeError if `tables` does not describe the weights of examples."""
        if dim != self.size:
            raise TypeError(
                f"{type(self).__name__}.tables() describes {self.size} weights, but its blocks have {dim}; override "
                f"tables() to return a WeightTable for each block (constant features and outputs included)"
            )

    # ------------------------------------------------------------------ weights

    def feature_names(self) -> AnyArray:
        """Return the name of each weight."""
        return np.array([name for table in self.tables().values() for name in table.names()], object)

    def weight_columns(self) -> dict[str, AnyArray]:
        """Return columns that describe the weights, for `weights_frame`; by default their names."""
        return {"feature": self.feature_names()}

    def split_weights(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the weights of each table by its name, in their shapes."""
        return self._tables_of(w)

    def _tables_of(self, w: FloatArray) -> dict[str, FloatArray]:
        """Return the tables of `weight_shapes` as views of weights."""
        shapes = self.weight_shapes()
        parts = Ragged(w, offsets_of([prod(shape) for shape in shapes.values()]))
        return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}

    # ------------------------------------------------------------------ kernels

    def use_kernel(self, kernel: PartKernel) -> None:
        """Use a kernel on the features of parts in the next `fit`; raise ValueError if there are no such features."""
        if not self.kernel_rows:
            raise ValueError(
                f"{type(self).__name__} takes no kernel: {self.no_kernel}; use kernel='linear', found "
                f"{kernel.kernel!r:.60}"
            )
        self.kernel_ = kernel

    @property
    def features_(self) -> KernelFeatures | None:
        """Features of the kernel, if there is one, on the rows of the first encoder."""
        return next(iter(self._kernel_features().values()), None)

    def _kernel_features(self) -> dict[str, KernelFeatures]:
        """Return the features of kernels by the name of their table of weights."""
        by_table = {table: getattr(getattr(self, name), "features", None) for name, table in self.kernel_rows.items()}
        return {table: features for table, features in by_table.items() if features is not None}

    @property
    def n_points(self) -> int:
        """Maximum number of points whose kernel values with a part are computed to encode it; 0 without kernels."""
        return max((features.n_points for features in self._kernel_features().values()), default=0)

    def kernel_weights(self, w: FloatArray) -> list[tuple[PointFeatures, FloatArray]]:
        """Return features by points and their weights, as views of shape (features, K)."""
        features = {name: of for name, of in self._kernel_features().items() if of.by_points}
        tables = self._tables_of(w) if features else {}
        return [
            (of, _rows_of(tables[name])[: of.width])  # type: ignore[misc]
            for name, of in features.items()
            if name in tables
        ]

    def expanded(self, w: FloatArray, positions: IntArray) -> tuple[Self, FloatArray]:
        """Return the structure and weights of a fitted model.

        If kernels are used, weights in the coordinates of a fit become coefficients of kernel values.

        Parameters
        ----------
        w : ndarray
            The weights found by a fit.
        positions : ndarray of int
            Index of each example that was encoded in the user's data.
        """
        if not self._kernel_features():
            return self, w
        model, tables = copy(self), self._tables_of(w)
        for name, table in self.kernel_rows.items():
            if table in tables:
                encoder, tables[table] = getattr(self, name).expanded(_rows_of(tables[table]), positions)
                setattr(model, name, encoder)
        weights = np.concatenate([table.ravel() for table in tables.values()])
        model.size = len(weights)
        return model, weights

    # ------------------------------------------------------------------ one example

    def score_loss(self, y: Any, y_hat: Any) -> float:
        """Return the loss of a prediction; y may have labels that are not classes, which are wrong predictions.

        A part of a cross-validation may lack a label, so its models cannot predict it.
        """
        return self.loss(y, y_hat)

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y) as a dense vector, for inspection and tests; training never computes it."""
        dense: FloatArray = self.encode([x], [y]).joint_features()
        return dense

    def argmax(self, w: FloatArray, x: Any) -> Any:
        examples = self.encode([x])
        return self._single(examples, w, 0.0)

    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self._single(self.encode([x], [y]), w, scale)

    def topk(self, w: FloatArray, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best outputs with their scores, best first; raise TypeError if it is not a capability."""
        raise self._lacks("topk")

    def complete(self, w: FloatArray, x: Any, y: Any) -> Any:
        """Return the output (y, h*) with the best latent part h* = argmax_h w·Ψ(x, y, h); else raise TypeError."""
        if "latent" not in self.capabilities:
            raise self._lacks("latent")
        examples = self.encode([x], [y])
        answers = examples.empty_answers()
        examples.complete(np.asarray(w, float), ONLY, answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)

    def _lacks(self, capability: str) -> TypeError:
        """Return the error for a capability that is not declared."""
        declared = ", ".join(sorted(self.capabilities)) or "none"
        return TypeError(f"{type(self).__name__} has no {CAPABILITIES[capability]} (its capabilities: {declared})")

    # ------------------------------------------------------------------ saving

    def get_state(self) -> dict[str, Any]:
        """Return the parameters and, if fitted, the learnt state as plain values and arrays."""
        state: dict[str, Any] = {"parameters": self.get_params(deep=False)}
        return state if self.size is None else {**state, "learnt": self._learnt()}

    @classmethod
    def from_state(cls, state: Any) -> Compiled:
        """Return the structure with the state that `get_state` returned."""
        structure = cls(**state["parameters"])
        structure.check_parameters()
        if "learnt" in state:
            structure._set_learnt(state["learnt"])
        return structure

    def _learnt(self) -> dict[str, Any]:
        """Return the learnt state, without values that follow from it; by default that of the encoders."""
        state = dict[str, Any]()
        for name in self.learns:
            encoder, key = getattr(self, name), self.state_keys.get(name, name)
            own: Any = None if encoder is None else encoder.get_state()
            state |= {key: own} if key else own
        return state

    def _set_learnt(self, learnt: Any) -> None:
        """Restore the learnt state, given valid parameters; raise an error if it is damaged."""
        self._set_encoders(learnt)
        self._set_size()

    def _set_encoders(self, learnt: Any) -> None:
        """Restore the state of the encoders."""
        for name in self.learns:
            encoder, key = self._new_encoder(name), self.state_keys.get(name, name)
            setattr(self, name, None if encoder is None else encoder.set_state(learnt[key] if key else learnt))

    def check_weights(self, w: FloatArray) -> None:
        """Raise ValueError if weights of a model file are such that there is no argmax; by default there always is."""
        return None

    def pack_outputs(self, outputs: list[Any]) -> Any:
        """Return outputs as plain values and arrays, or None if that is not possible."""
        return None

    def unpack_outputs(self, packed: Any) -> list[Any]:
        """Return the outputs that `pack_outputs` packed."""
        raise TypeError(f"{type(self).__name__} does not implement unpack_outputs()")

    @staticmethod
    def _single(examples: Examples, w: FloatArray, scale: float) -> Any:
        answers = examples.empty_answers()
        examples.decode(np.asarray(w, float), ONLY, np.full(1, float(scale)), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)


def _rows_of(table: FloatArray) -> FloatArray:
    """Return a table of weights as a view with one row per feature."""
    return table.reshape(len(table), prod(table.shape[1:]))


def _count(values: Any) -> int:
    """Return the number of examples: of a list, an array, a frame or a sparse matrix, which has no length."""
    return int(values.shape[0]) if hasattr(values, "shape") else len(values)
