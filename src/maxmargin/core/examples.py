"""The contract of encoded data: flat arrays that answer for many examples at once."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import TRUTH, Answers
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.engines import Local


#: Examples whose planes are held at once while they are summed.
TOGETHER = 4096


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
    bounded : whether `decode` writes `Answers.upper`, so that argmaxes that are not exact still prove something.
    coded : whether a code tells the output; if not, `Answers.outputs` holds outputs.
    lower : lower bounds of single weights that the structure needs, −∞ where there is none; None without any.
    engine : runs chunks of one large example in threads; None outside of a fit.
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
    bounded: bool = False
    coded: bool = True
    lower: FloatArray | None = None
    engine: Local | None = None
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

    # ------------------------------------------------------------------ scores of parts

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return s_p = w·φ_p of all parts of the examples in ids, block by block."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Write what `decode` writes, for scores from anywhere."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        """Return c(y) − c(ŷ) of the present answers of ids, block by block: rows over parts.

        It is minus the derivative of the rises by the scores, and Φᵀ of it is the plane.
        """
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    # ------------------------------------------------------------------ bounds and latent variables

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

    # ------------------------------------------------------------------ planes and outputs

    @abstractmethod
    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        """Return rows Ψ(x_i, y_i) − Ψ(x_i, ŷ_i) for the outputs of ids in `answers`.

        They depend on ids and on these outputs (their codes, or the objects themselves) and on nothing else: answers
        may be older than the last decode, or come from another process.
        """

    def aggregate(self, ids: IntArray, answers: Answers, coefficients: FloatArray, out: FloatArray) -> None:
        """Add Σ_r coefficients[r] · plane of ids[r] to `out`."""
        for k in range(0, len(ids), TOGETHER):
            self.planes(ids[k : k + TOGETHER], answers).weighted_sum(coefficients[k : k + TOGETHER], out)

    def take(self, ids: IntArray) -> Examples:
        """Return some of the examples, in this order, without encoding them again: for shards and folds."""
        raise TypeError(f"{type(self).__name__} cannot be split")

    def empty_answers(self) -> Answers:
        """Return answers with room for all examples."""
        return Answers.empty(self.n_examples, int(self.code_offsets[-1]), 0 if self.coded else self.n_examples)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "engine"}

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
