"""The contract of a structure: what a user writes (`Structure`) and what compiled structures add (`Compiled`)."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.planes import TRUTH, Answers, Planes

if TYPE_CHECKING:
    from maxmargin.bounds import Bound


class StructureError(ValueError):
    """A structure failed or answered what it must not, for the example named in the message."""


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
        Says that the argmaxes are approximate, so that certificates say so too.
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


class Examples(ABC):
    """Data encoded for a structure: flat arrays that answer for many examples at once.

    Attributes
    ----------
    n_examples : how many.
    dim : number of weights.
    code_offsets : the code of example i is ``codes[code_offsets[i]:code_offsets[i + 1]]``.
    operations : multiply-adds of decoding all examples once, so that solvers can weigh their own work against it.
    plane_entries : the most entries a plane of each example can have.
    float32_exact : whether plane values lose nothing as float32, as far as is known.
    parallel, smallest_chunk : whether decoding gains from threads, and with how many examples to a task (None: as many
        as make a call of a kernel worth it).
    exact : whether the argmaxes are exact.
    shuffled : whether neighbours are known to have nothing in common, so that they may be visited together.
    outputs_held : outputs kept beside their codes, so that `forget` has something to do.
    latent : whether outputs have parts that are not known of the truth, so that `complete` is offered.
    """

    n_examples: int
    dim: int
    code_offsets: IntArray
    operations: float
    plane_entries: IntArray
    float32_exact: bool = False
    parallel: bool = True
    smallest_chunk: int | None = None
    exact: bool = True
    shuffled: bool = False
    latent: bool = False
    _digest: str | None = None

    @property
    def value_type(self) -> type:
        """What planes are made of."""
        return np.float32 if self.float32_exact else np.float64

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        """Memory that argmaxes of so many threads take beside the data, and what for; by default none to speak of."""
        return 0.0, "an argmax"

    def begin(self, ids: IntArray) -> None:
        """A new decode of ids begins: what was kept of earlier ones may go. By default nothing is."""
        return None

    @abstractmethod
    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Loss-augmented argmax of the examples in ids, at ``scales[r]`` for the r-th of them."""

    def exact_for(self, bound: Bound) -> bool:
        """Whether `decode_bound` is offered for this bound."""
        return False

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        """The argmax of ``bound.violation``, exactly. Called only where `exact_for` says so."""
        raise TypeError(f"{type(self).__name__} offers no exact argmax for {bound}")

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Latent structures: the output of best score among those that agree with the truth in what is known of it.

        The truth that `encode` took is one of them, and rises and planes are relative to it as ever; the loss of any
        completion is 0.
        """
        raise TypeError(f"{type(self).__name__} has nothing to complete: it offers no latent variables")

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Latent structures: a completion of every example to begin with, as `decode` would leave it in `answers`.

        By default it is the truth that `encode` took: key `TRUTH`, loss and rise 0.
        """
        answers.keys[:], answers.losses[:], answers.rises[:] = TRUTH, 0.0, 0.0

    @abstractmethod
    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        """Rows Ψ(x_i, y_i) − Ψ(x_i, ŷ_i) of the present answers of ids."""

    @abstractmethod
    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """The output that a code stands for, as the user knows outputs."""

    def outputs_of(self, examples: IntArray, keys: IntArray, codes: list[CodeArray]) -> list[Any]:
        """`output` of many."""
        return [self.output(i, key, code) for i, key, code in zip(examples.tolist(), keys.tolist(), codes, strict=True)]

    def outputs(self, answers: Answers) -> list[Any]:
        """The outputs of all examples."""
        spans = zip(self.code_offsets[:-1].tolist(), self.code_offsets[1:].tolist(), strict=True)
        keys = answers.keys.tolist()
        return [self.output(i, keys[i], answers.codes[a:b]) for i, (a, b) in enumerate(spans)]

    def digest(self) -> str:
        """A short fingerprint of the data, by which a checkpoint knows its own."""
        if self._digest is None:
            crc = 0
            for array in self.digest_arrays():
                crc = zlib.crc32(np.ascontiguousarray(array).tobytes(), crc)
            self._digest = f"{crc:08x}"
        return self._digest

    @abstractmethod
    def digest_arrays(self) -> tuple[AnyArray, ...]:
        """The arrays that make the data what they are."""

    def hold(self, ids: IntArray, answers: Answers) -> None:
        """A solver keeps the present answers of ids; by default their codes are enough to know the outputs by."""
        return None

    @property
    def outputs_held(self) -> int:
        return 0

    def forget(self, examples: IntArray, keys: IntArray) -> None:
        """Only these answers are still held by the solver; by default codes need no upkeep."""
        return None


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

    @abstractmethod
    def fit(self, X: Sequence[Any], Y: Sequence[Any]) -> Compiled:
        """Learn classes and sizes; checks every example."""

    @abstractmethod
    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Examples:
        """Flat arrays for these examples. Without Y they can only be predicted."""

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> Examples:
        """`fit` and `encode` in one."""
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
        answers = Answers.empty(1, int(examples.code_offsets[-1]))
        examples.decode(np.asarray(w, float), np.zeros(1, np.int64), np.full(1, float(scale)), answers)
        return examples.output(0, int(answers.keys[0]), answers.codes)
