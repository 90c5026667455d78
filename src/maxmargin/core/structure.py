"""The contract of a structure: what a user writes (`Structure`) and what compiled structures add (`Compiled`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._types import AnyArray, FloatArray
from maxmargin.core.errors import ExampleError
from maxmargin.core.examples import Examples


class StructureError(ExampleError):
    """A method of a structure raised an error, or returned an invalid value, for the example in the message."""


class Bounded(NamedTuple):
    """An output of an approximate argmax, with a proof of how good it is.

    A structure that says ``exact = False`` may return it from `loss_augmented_argmax` (and from `argmax`, where the
    bound is not read). Certificates then have a finite `primal_bound`.

    Parameters
    ----------
    output : Any
        The output found.
    upper : float
        A number that w·Ψ(x, ŷ) + scale · Δ(y, ŷ) exceeds for no output ŷ, for example the best bound of a mixed-integer
        solver that met its time limit.
    """

    output: Any
    upper: float


def plain_output(found: Any) -> Any:
    """Return the output, without the bound it may have been returned with."""
    return found.output if type(found) is Bounded else found


class Structure(ABC):
    """An output space with joint features Ψ, a loss Δ and two argmaxes. Subclass it for a problem of your own.

    Four methods over plain Python objects are all that is needed. Ψ may be a dense vector, a scipy sparse row, a pair
    ``(indices, values)`` or a dict ``{index: value}``; the last two need `size`, the number of weights. Sparse is
    faster: training costs what the nonzeros cost.

    Optional, each used where it is there:

    ``enumerate(x)``
        All outputs of x, for checks on small inputs.
    ``topk(w, x, k)``
        The k best outputs with their scores, best first: ``[(y, score), ...]``.
    ``bound_argmax(w, x, y, bound)``
        The output that maximises ``bound.violation(w·Ψ(x, ŷ) − w·Ψ(x, y), Δ(y, ŷ))``; with it slack re-scaling and
        quadratic slack are exact. Without it they search over ``scale``.
    ``exact = False``
        Says that the argmaxes are approximate, so that certificates say so too. Where they can prove how good an output
        is, they return it as `Bounded`.
    ``argmax_operations = 1e6``
        What an argmax costs, in multiply-adds. The dearer it is, the longer the default solver works on the planes it
        holds before it asks for more.

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

    #: Number of weights; needed when Ψ is given as a pair or a dict.
    size: int | None = None
    #: Whether both argmaxes are exact.
    exact: bool = True
    #: Multiply-adds of an argmax, about: of a fast one in Python here. A count and not a clock, so that runs repeat.
    argmax_operations: float = 20000.0

    @abstractmethod
    def joint_feature(self, x: Any, y: Any) -> Any:
        """Ψ(x, y)."""

    @abstractmethod
    def loss(self, y: Any, y_hat: Any) -> float:
        """Δ(y, ŷ) ≥ 0, with Δ(y, y) = 0."""

    @abstractmethod
    def argmax(self, w: FloatArray, x: Any) -> Any:
        """The output of best score w·Ψ(x, y)."""

    @abstractmethod
    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        """The output that maximises w·Ψ(x, ŷ) + scale · Δ(y, ŷ)."""


def check_methods(structure: Any) -> None:
    """A sentence for what lacks one of the four methods; the base class itself is not asked for."""
    methods = ("joint_feature", "loss", "argmax", "loss_augmented_argmax")
    missing = [name for name in methods if not callable(getattr(structure, name, None))]
    if missing:
        raise TypeError(f"{type(structure).__name__} is no structure: it lacks {', '.join(missing)}")


def check_names(names: AnyArray, size: int) -> None:
    """One name for each weight, else a sentence."""
    if names.shape != (size,):
        found = len(names) if names.ndim == 1 else f"an array of shape {names.shape}"
        raise StructureError(f"feature_names must give one name for each of {size} weights, found {found}")


class Compiled(Structure, BaseEstimator):
    """A structure that learns its sizes from data and answers for whole batches at once.

    Its parameters are those of its constructor (scikit-learn's conventions, so it can be cloned and searched over);
    `fit` learns classes and vocabulary into attributes that end in an underscore; `encode` makes `Examples`. The four
    methods of `Structure` work on single examples, through the same kernels.
    """

    #: What a single output is called in messages.
    output_name: ClassVar[str] = "output"

    def check_parameters(self) -> None:
        """Raise ValueError if a parameter is invalid, before data are looked at; by default all are valid."""
        return None

    @abstractmethod
    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Compiled:
        """Learn classes and sizes; checks the parameters and every example."""

    @abstractmethod
    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Examples:
        """Flat arrays for these examples. Without Y they can only be predicted."""

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> Examples:
        """`fit` and `encode` in one reading of the data, for callers that have checked the parameters."""
        return self.fit(X, Y).encode(X, Y)

    @abstractmethod
    def feature_names(self) -> AnyArray:
        """The name of each weight."""

    def joint_feature(self, x: Any, y: Any) -> FloatArray:
        """Ψ(x, y) as a dense vector: for reading and for tests; training never forms it."""
        examples = self.encode([x], [y])
        return self._joint_features(examples)

    @abstractmethod
    def _joint_features(self, examples: Any) -> FloatArray:
        """Ψ of a single encoded example at its truth."""

    def argmax(self, w: FloatArray, x: Any) -> Any:
        examples = self.encode([x])
        return self._single(examples, w, 0.0)

    def loss_augmented_argmax(self, w: FloatArray, x: Any, y: Any, scale: float = 1.0) -> Any:
        return self._single(self.encode([x], [y]), w, scale)

    # ------------------------------------------------------------------ saving

    def get_state(self) -> dict[str, Any]:
        """What it is made of, in plain values and arrays: its parameters and, once it is fitted, what it learnt."""
        state: dict[str, Any] = {"parameters": self.get_params(deep=False)}
        return state if self.size is None else {**state, "learnt": self._learnt()}

    @classmethod
    def from_state(cls, state: Any) -> Compiled:
        """The structure that `get_state` tells of."""
        structure = cls(**state["parameters"])
        if "learnt" in state:
            structure._set_learnt(state["learnt"])
        return structure

    def _learnt(self) -> Any:
        """What `fit` learnt, without what follows from it."""
        raise TypeError(f"{type(self).__name__} cannot be saved: it does not say what it learnt")

    def _set_learnt(self, learnt: Any) -> None:
        """The inverse of `_learnt`, checked: it may come from a damaged file."""
        raise TypeError(f"{type(self).__name__} cannot be loaded: it does not say what it learnt")

    def pack_outputs(self, outputs: list[Any]) -> Any:
        """Outputs as plain values and arrays; None where there is no way."""
        return None

    def unpack_outputs(self, packed: Any) -> list[Any]:
        """The inverse of `pack_outputs`."""
        raise TypeError(f"{type(self).__name__} packs no outputs")

    @staticmethod
    def _single(examples: Examples, w: FloatArray, scale: float) -> Any:
        answers = examples.empty_answers()
        examples.decode(np.asarray(w, float), np.zeros(1, np.int64), np.full(1, float(scale)), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)


class LatentCompiled(Compiled):
    """A compiled structure whose examples offer `complete`."""

    def complete(self, w: FloatArray, x: Any, y: Any) -> Any:
        """The output (y, h*) of best score among those that agree with y: h* = argmax_h w·Ψ(x, y, h)."""
        examples = self.encode([x], [y])
        answers = examples.empty_answers()
        examples.complete(np.asarray(w, float), np.zeros(1, np.int64), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)
