"""Interfaces of structures: `Structure` for user-defined ones, `Compiled` for those with kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.errors import ExampleError
from maxmargin.core.examples import Examples

if TYPE_CHECKING:
    from maxmargin.kernel_features.kernel import PartKernel
    from maxmargin.kernel_features.points import PointFeatures


class StructureError(ExampleError):
    """Error in a method of a structure.

    The method raised an exception or returned an invalid value. The message names the example, and contains what was
    expected and what was found.
    """


class Bounded(NamedTuple):
    """Output of an approximate argmax, with an upper bound of the maximum.

    A structure with ``exact = False`` may return it from `loss_augmented_argmax` (and from `argmax`, where `upper` is
    ignored). Certificates then have a finite `primal_bound`.

    Parameters
    ----------
    output : object
        The output found.
    upper : float
        Upper bound of w·Ψ(x, ŷ) + scale · Δ(y, ŷ) over all outputs ŷ, for example the best bound of a mixed-integer
        solver that reached its time limit.
    """

    output: Any
    upper: float


def plain_output(found: Any) -> Any:
    """Return the output without the bound it may have been returned with."""
    return found.output if type(found) is Bounded else found


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
    # The default is that of a fast argmax in Python. It is a count and not a time, so that runs are reproducible.
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
        found = len(names) if names.ndim == 1 else f"an array of shape {names.shape}"
        raise StructureError(f"feature_names must return one name for each of {size} weights, found {found}")


class Compiled(Structure, BaseEstimator):
    """Structure that learns its sizes from data and decodes whole batches.

    Its parameters are those of its constructor (by scikit-learn's conventions, so that it can be cloned and tuned).
    `fit` stores classes and vocabulary in attributes that end with an underscore, and `encode` returns `Examples`. The
    four methods of `Structure` apply the same kernels to single examples.
    """

    #: Name of a single output in messages.
    output_name: ClassVar[str] = "output"
    #: Why the structure takes no kernel, for a message.
    no_kernel: ClassVar[str] = "its parts have no rows of features"
    #: Kernel on the features of parts, set by `use_kernel`.
    kernel_: PartKernel | None = None

    def check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid, before any data are read; by default all are valid."""
        return None

    def use_kernel(self, kernel: PartKernel) -> None:
        """Use a kernel on the features of parts in the next `fit`; raise ValueError if there are no such features."""
        raise ValueError(
            f"{type(self).__name__} takes no kernel: {self.no_kernel}; use kernel='linear', found {kernel.kernel!r:.60}"
        )

    @property
    def n_points(self) -> int:
        """Greatest number of points whose kernel values with a part are computed to encode it; 0 without kernels."""
        return 0

    def kernel_weights(self, w: FloatArray) -> list[tuple[PointFeatures, FloatArray]]:
        """Return features by points and their weights, as views of shape (features, K)."""
        return []

    def expanded(self, w: FloatArray, positions: IntArray) -> tuple[Compiled, FloatArray]:
        """Return the structure and weights of a fitted model.

        If kernels are used, weights in the coordinates of a fit become coefficients of kernel values.

        Parameters
        ----------
        w : ndarray
            The weights found by a fit.
        positions : ndarray of int
            Index of each example that was encoded in the user's data.
        """
        return self, w

    @abstractmethod
    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Compiled:
        """Check the parameters and every example, and learn classes and sizes."""

    @abstractmethod
    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Examples:
        """Return these examples as flat arrays; without Y they can only be used for prediction."""

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> Examples:
        """Call `fit` and `encode` in one pass over the data.

        The caller has already checked the parameters.
        """
        return self.fit(X, Y).encode(X, Y)

    @abstractmethod
    def feature_names(self) -> AnyArray:
        """Return the name of each weight."""

    def weight_columns(self) -> dict[str, AnyArray]:
        """Return columns that describe the weights, for `weights_frame`; by default their names."""
        return {"feature": self.feature_names()}

    def score_loss(self, y: Any, y_hat: Any) -> float:
        """Return the loss of a prediction; y may have labels that are not classes, which are wrong predictions.

        A part of a cross-validation may lack a label, so that its models cannot predict it.
        """
        return self.loss(y, y_hat)

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Return Ψ(x, y) as a dense vector, for inspection and tests; training never computes it."""
        examples = self.encode([x], [y])
        return self._joint_features(examples)

    @abstractmethod
    def _joint_features(self, examples: Any) -> FloatArray:
        """Return Ψ of a single encoded example at its truth."""

    def argmax(self, w: FloatArray, x: Any) -> Any:
        examples = self.encode([x])
        return self._single(examples, w, 0.0)

    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self._single(self.encode([x], [y]), w, scale)

    # ------------------------------------------------------------------ saving

    def get_state(self) -> dict[str, Any]:
        """Return the parameters and, if fitted, the learnt state as plain values and arrays."""
        state: dict[str, Any] = {"parameters": self.get_params(deep=False)}
        return state if self.size is None else {**state, "learnt": self._learnt()}

    @classmethod
    def from_state(cls, state: Any) -> Compiled:
        """Return the structure with the state that `get_state` returned."""
        structure = cls(**state["parameters"])
        if "learnt" in state:
            structure._set_learnt(state["learnt"])
        return structure

    def _learnt(self) -> Any:
        """Return what `fit` learnt, without values that can be derived from it."""
        raise TypeError(f"{type(self).__name__} cannot be saved: it does not implement _learnt()")

    def _set_learnt(self, learnt: Any) -> None:
        """Set what `_learnt` returned; raise an error if it is invalid, as in a damaged file."""
        raise TypeError(f"{type(self).__name__} cannot be loaded: it does not implement _set_learnt()")

    def pack_outputs(self, outputs: list[Any]) -> Any:
        """Return outputs as plain values and arrays, or None if that is not possible."""
        return None

    def unpack_outputs(self, packed: Any) -> list[Any]:
        """Return the outputs that `pack_outputs` packed."""
        raise TypeError(f"{type(self).__name__} does not implement unpack_outputs()")

    @staticmethod
    def _single(examples: Examples, w: FloatArray, scale: float) -> Any:
        answers = examples.empty_answers()
        examples.decode(np.asarray(w, float), np.zeros(1, np.int64), np.full(1, float(scale)), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)


class LatentCompiled(Compiled):
    """Compiled structure with latent variables, whose examples implement `complete`."""

    def complete(self, w: FloatArray, x: Any, y: Any) -> Any:
        """Return the output (y, h*) with the best latent part h* = argmax_h w·Ψ(x, y, h)."""
        examples = self.encode([x], [y])
        answers = examples.empty_answers()
        examples.complete(np.asarray(w, float), np.zeros(1, np.int64), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)
