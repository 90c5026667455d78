"""Interface of encoded data: flat arrays that are decoded in batches."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import TRUTH, Answers
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import CertificatePolytope, Polytope
from maxmargin.core.scores import Scores

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.engines import Local


#: Number of examples whose planes are in memory at the same time while planes are summed.
TOGETHER = 4096


class Examples(ABC):
    """Data encoded for a structure: flat arrays that are decoded in batches.

    Attributes
    ----------
    n_examples : int
        Number of examples.
    dim : int
        Number of weights.
    code_offsets : ndarray of int64
        The code of example i is ``codes[code_offsets[i]:code_offsets[i + 1]]``.
    operations : float
        Multiply-adds of decoding all examples once; solvers compare their own work with it.
    plane_entries : ndarray of int64
        Upper bound of the number of entries of a plane, per example.
    plane_share : float, default=1.0
        Share of `plane_entries` that planes are expected to have, for estimates of memory.
    float32_exact : bool, default=False
        Whether plane values are known to be exact in float32.
    parallel : bool, default=True
        Whether decoding gains from threads.
    smallest_chunk : int or None, default=None
        Smallest number of examples in a task. None means as many as make a call of a kernel worthwhile.
    exact : bool, default=True
        Whether the argmaxes are exact.
    bounded : bool, default=False
        Whether `decode` writes `Answers.upper`, so that argmaxes that are not exact still prove an upper bound.
    coded : bool, default=True
        Whether a code determines the output; if not, `Answers.outputs` holds the outputs.
    lower : ndarray of shape (dim,) or None, default=None
        Lower bounds of single weights that the structure requires, −∞ for weights without a bound; None if there are
        none.
    fixed_scores : bool, default=False
        Whether scores have a known part besides w·Ψ, which rises contain too. Keys must then differ wherever the known
        parts do.
    engine : Local or None, default=None
        Runs chunks of one large example in threads; None outside of a fit.
    shuffled : bool, default=False
        Whether neighbouring examples are known to be unrelated, so that solvers may visit them together.
    outputs_held : int
        Number of outputs kept in addition to their codes, which `forget` can release.
    latent : bool, default=False
        Whether outputs have parts that are not observed in the truth, so that `complete` is available.
    closes : bool, default=False
        Whether `close` is available.
    integral : bool, default=True
        Whether linear programs over the polytopes have the same maxima as argmaxes, for all weights within `lower`. If
        not, joint programs minimise an upper bound of the objective.
    one_part : bool, default=False
        Whether every output has exactly one part, so that any function of its loss is a sum over parts.
    """

    n_examples: int
    dim: int
    code_offsets: IntArray
    operations: float
    plane_entries: IntArray
    plane_share: float = 1.0
    float32_exact: bool = False
    parallel: bool = True
    smallest_chunk: int | None = None
    exact: bool = True
    bounded: bool = False
    coded: bool = True
    lower: FloatArray | None = None
    fixed_scores: bool = False
    engine: Local | None = None
    shuffled: bool = False
    latent: bool = False
    closes: bool = False
    integral: bool = True
    one_part: bool = False
    _digest: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows of features of all examples."""
        return int(self.code_offsets[-1])

    @property
    def value_type(self) -> type:
        """Data type of plane values."""
        return np.float32 if self.float32_exact else np.float64

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        """Return the bytes that argmaxes in this number of threads need besides the data, and a description.

        By default the memory is negligible.
        """
        return 0.0, "an argmax"

    def begin(self, ids: IntArray) -> None:
        """Prepare for a new decode of ids.

        What was kept for earlier decodes may be released; by default nothing is kept.
        """
        return None

    @abstractmethod
    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Write the loss-augmented argmax of each example in ids to `answers`.

        ``scales[r]`` is the scale of the loss for ``ids[r]``.
        """

    # ------------------------------------------------------------------ scores of parts

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return s_p = w·φ_p of all parts of the examples in ids, block by block."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Write what `decode` writes, for given scores of the parts."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        """Return c(y) − c(ŷ) of the current answers of ids, block by block, as rows over parts.

        The rows are minus the derivative of the rises by the scores, and their product with Φᵀ is the plane.
        """
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[Any]:
        """Return, for each example of ids, the best score of an output that has a part, for every part.

        The arrangement is that of the structure: tokens × labels for a chain.
        """
        raise TypeError(f"{type(self).__name__.removesuffix('Examples')} has no decision scores: use topk or explain")

    # ------------------------------------------------------------------ joint programs

    def polytope(self, example: int) -> Polytope:
        """Return the polytope whose vertices are the outputs of an example, for joint programs.

        Raise ValueError if an example is too large for it, or if the loss is not a sum over parts.
        """
        raise TypeError(f"{type(self).__name__} has no polytope")

    def certificate_polytope(self, example: int, form: str) -> CertificatePolytope:
        """Return the polytope of a certificate of optimality of the truth.

        Raise ValueError if the structure has no certificate of this form.
        """
        raise TypeError(f"{type(self).__name__} has no certificate")

    def part_features(self, example: int) -> Any:
        """Return φ of the parts of an example as rows of a sparse matrix, in the order of `scores`."""
        raise TypeError(f"{type(self).__name__} has no features of parts")

    def part_gains(self, w: FloatArray, example: int) -> tuple[FloatArray, FloatArray]:
        """Return s(w) of the parts of an example, −∞ for forbidden parts, and the costs l."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def true_counts(self, example: int) -> FloatArray:
        """Return c(y), how often the truth of an example has each part."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    # ------------------------------------------------------------------ bounds and latent variables

    def exact_for(self, bound: Bound) -> bool:
        """Return whether `decode_bound` is available for this bound."""
        return False

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers) -> None:
        """Write the exact argmax of ``bound.violation`` to `answers`.

        Called only if `exact_for` returns True for the bound.
        """
        raise TypeError(f"{type(self).__name__} has no exact argmax for {bound}")

    def close(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers, upper: FloatArray) -> FloatArray:
        """Improve the answers of a search by looking at further outputs.

        Parameters
        ----------
        w : ndarray of shape (dim,)
            Weights.
        ids : ndarray of int64
            The examples.
        bound : Bound
            The bound whose violation is maximised.
        answers : Answers
            Answers of all examples; those of ids are replaced by better ones.
        upper : ndarray of shape (len(ids),)
            Upper bounds of the violations.

        Returns
        -------
        ndarray of shape (len(ids),)
            Upper bounds of the violations, at most as large.
        """
        raise TypeError(f"{type(self).__name__} does not implement close()")

    def rounding_units(self) -> FloatArray:
        """Return u_i of each example: rises at weights w are computed with an error of at most u_i ‖w‖.

        By default the errors are not known, and 0 is returned.
        """
        return np.zeros(self.n_examples)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        """Write the best output consistent with the observed part of the truth (latent structures).

        The truth passed to `encode` is one of these outputs. Rises and planes are relative to the truth as in `decode`,
        and the loss of every completion is 0.
        """
        raise TypeError(f"{type(self).__name__} cannot complete outputs: it has no latent variables")

    def initial_completion(self, rng: np.random.Generator, answers: Answers) -> None:
        """Write the initial completion of every example (latent structures).

        By default it is the truth passed to `encode`: key `TRUTH`, loss and rise 0.
        """
        answers.keys[:], answers.losses[:], answers.rises[:] = TRUTH, 0.0, 0.0

    # ------------------------------------------------------------------ planes and outputs

    @abstractmethod
    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        """Return the rows Ψ(x_i, y_i) − Ψ(x_i, ŷ_i) for the outputs of ids in `answers`.

        The rows depend only on ids and on these outputs (their codes, or the objects themselves): answers may be older
        than the last decode, or come from another process.
        """

    def aggregate(self, ids: IntArray, answers: Answers, coefficients: FloatArray, out: FloatArray) -> None:
        """Add Σ_r coefficients[r] · plane of ids[r] to `out`."""
        for k in range(0, len(ids), TOGETHER):
            self.planes(ids[k : k + TOGETHER], answers).weighted_sum(coefficients[k : k + TOGETHER], out)

    def take(self, ids: IntArray) -> Examples:
        """Return the given examples, in this order, without encoding them again: for shards and folds."""
        raise TypeError(f"{type(self).__name__} does not implement take()")

    def empty_answers(self) -> Answers:
        """Return answers with space for all examples."""
        return Answers.empty(self.n_examples, int(self.code_offsets[-1]), 0 if self.coded else self.n_examples)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the engine, which belongs to this process."""
        return {name: value for name, value in vars(self).items() if name != "engine"}

    @abstractmethod
    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """Return the output that a code represents, as an object of the user."""

    def outputs_of(self, examples: IntArray, keys: IntArray, codes: list[CodeArray]) -> list[Any]:
        """Return `output` of many codes."""
        return [self.output(i, key, code) for i, key, code in zip(examples.tolist(), keys.tolist(), codes, strict=True)]

    def outputs(self, answers: Answers) -> list[Any]:
        """Return the outputs of all examples."""
        spans = zip(self.code_offsets[:-1].tolist(), self.code_offsets[1:].tolist(), strict=True)
        keys = answers.keys.tolist()
        return [self.output(i, keys[i], answers.codes[a:b]) for i, (a, b) in enumerate(spans)]

    def digest(self) -> str:
        """Return a short fingerprint of the data, with which a checkpoint recognises them."""
        if self._digest is None:
            crc = 0
            for array in self.digest_arrays():
                crc = zlib.crc32(np.ascontiguousarray(array).tobytes(), crc)
            self._digest = f"{crc:08x}"
        return self._digest

    @abstractmethod
    def digest_arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays that determine the data."""

    def hold(self, ids: IntArray, answers: Answers) -> None:
        """Keep what is needed to recover the outputs of the current answers of ids, which a solver stores.

        By default the codes are sufficient.
        """
        return None

    @property
    def outputs_held(self) -> int:
        return 0

    def forget(self, examples: IntArray, keys: IntArray) -> None:
        """Release all outputs except those of the given planes, which the solver still stores.

        By default there is nothing to release.
        """
        return None
