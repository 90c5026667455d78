"""Interface of encoded data: flat arrays that are decoded in batches."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._base.ragged import ONLY
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import TRUTH, Answers, Planes
from maxmargin.core.polytopes import CertificatePolytope, Polytope
from maxmargin.core.scores import Scores
from maxmargin.core.sums import Sums, of_example, reduced, size_of_scores

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.engines.engine import Engine


#: What a structure may declare in its `capabilities`, with the words of its errors: "… has no decision scores".
CAPABILITIES = {
    "topk": "k best outputs",
    "max_marginals": "decision scores",
    "latent": "latent variables",
    "polytope": "polytope",
    "sums": "probabilities",
}

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
        Multiply-adds of decoding all examples once; solvers compare their own work with it. A number that floats
        represent exactly: those of parts of the data add up to it.
    shared_operations : float, default=0.0
        Those of `operations` that do not depend on the number of examples, as for tables that they share.
    plane_entries : ndarray of int64
        Upper bound on the number of entries of a plane, per example.
    plane_share : float, default=1.0
        Share of `plane_entries` that planes are expected to have, for estimates of memory.
    float32_exact : bool, default=False
        Whether plane values are known to be exact in float32.
    parallel : bool, default=True
        Whether decoding gains from threads.
    smallest_chunk : int or None, default=None
        Smallest number of examples in a task. None means as many as make a call of a compiled function worthwhile.
    portable : bool, default=True
        Whether argmaxes can run in another process; False if they change something that all examples share.
    elsewhere : bool, default=False
        Whether the data are in other processes, to which a method `ask` sends questions (`engines.shards`).
    exact : bool, default=True
        Whether the argmaxes are exact.
    bounded : bool, default=False
        Whether `decode` writes `Answers.upper`, so argmaxes that are not exact still prove an upper bound.
    coded : bool, default=True
        Whether a code determines the output; if not, `Answers.outputs` holds the outputs.
    lower : ndarray of shape (dim,) or None, default=None
        Lower bounds on single weights that the structure requires, −∞ for weights without a bound; None if there are
        none.
    fixed_scores : bool, default=False
        Whether scores have a known part besides w·Ψ, which rises contain too. Keys must then differ wherever the known
        parts do.
    engine : Engine or None, default=None
        Runs chunks of one large example in threads; None outside of a fit.
    shuffled : bool, default=False
        Whether neighbouring examples are known to be unrelated; then solvers may visit them together.
    outputs_held : int
        Number of outputs kept in addition to their codes, which `forget` can release.
    latent : bool, default=False
        Whether outputs have parts that are not observed in the truth; then `complete` is available.
    user_code : bool, default=False
        Whether argmaxes are a user's functions, which may be wrong; `training/audit.py` compares some of their answers.
    closes : bool, default=False
        Whether `close` is available.
    integral : bool, default=True
        Whether linear programs over the polytopes have the same maxima as argmaxes, for all weights within `lower`. If
        not, min-max programs minimise an upper bound on the objective.
    one_part : bool, default=False
        Whether every output has exactly one part; then any function of its loss is a sum over parts.
    summable : bool, default=False
        Whether `sums` and `samples` are available.
    most_score : float, default=2**34
        Greatest size of scores for `plain_sums`: with larger ones, sums in logarithms drown in rounding errors.
    marginals_apart : bool, default=False
        Whether `risk_scores` and `arranged_marginals` need sums of single examples, because they use tables of parts
        that examples share.
    why_not_summable : str
        Why `sums` and `samples` are not available, and what to use in their place, for messages.
    optional_parts : bool, default=False
        Whether parts are present or absent one by one, without a part that stands for absence.
    relaxed : bool, default=False
        Whether answers are points of a relaxation, not outputs. Then certificates of solvers are about the relaxation,
        and `unrelaxed` has the examples whose answers are outputs.
    perturbable : tuple of int or None, default=None
        Blocks whose scores may have any values, so noise can be added to them; None for all.
    truths : ndarray of int32
        Codes of the true outputs, if they are known and outputs have codes.
    """

    n_examples: int
    dim: int
    code_offsets: IntArray
    operations: float
    shared_operations: float = 0.0
    plane_entries: IntArray
    plane_share: float = 1.0
    float32_exact: bool = False
    parallel: bool = True
    smallest_chunk: int | None = None
    portable: bool = True
    elsewhere: bool = False
    exact: bool = True
    bounded: bool = False
    coded: bool = True
    lower: FloatArray | None = None
    fixed_scores: bool = False
    engine: Engine | None = None
    shuffled: bool = False
    latent: bool = False
    user_code: bool = False
    closes: bool = False
    integral: bool = True
    one_part: bool = False
    summable: bool = False
    most_score: float = 2.0**34
    marginals_apart: bool = False
    why_not_summable: str = "sums over all its outputs are not implemented"
    optional_parts: bool = False
    relaxed: bool = False
    perturbable: tuple[int, ...] | None = None
    truths: CodeArray
    _digest: str | None = None

    @property
    def n_rows(self) -> int:
        """Number of feature rows in all examples."""
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

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Write the loss-augmented argmax of each example in ids to `answers`.

        ``scales[r]`` is the scale of the loss for ``ids[r]``.
        """
        self.decode_scores(self.scores(w, ids), ids, scales, answers)

    # ------------------------------------------------------------------ scores of parts

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        """Return s_p = w·φ_p of all parts of the examples in ids, block by block."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        """Write the outputs that maximise score + scale · Δ, for given scores of the parts."""
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        """Return c(y) − c(ŷ) of the current answers of ids, block by block, as rows over parts.

        The rows are minus the derivative of the rises by the scores, and their product with Φᵀ is the plane.
        """
        everyone, differences = np.arange(len(ids)), list[Planes]()
        for true, counts in zip(self.true_counts(ids), self.parts(ids, answers.codes), strict=True):
            n_parts = 1 + max(int(both.indices.max(initial=0)) for both in (true, counts))
            differences.append(true.minus(counts, everyone, everyone, np.zeros(n_parts)).trimmed())
        return differences

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        """Return c(ŷ) of each example of ids, block by block, for the outputs ŷ of codes of all examples.

        Parts are numbered from 0 in each example, in the order of `scores`.
        """
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def true_counts(self, ids: IntArray) -> list[Planes]:
        """Return c(y) of each example of ids, block by block: how often the truth has each part."""
        return self.parts(ids, self.truths)

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[Any]:
        """Return, for each example of ids, the best score of an output that has a part, for every part.

        The arrangement is that of the structure: tokens × labels for a chain.
        """
        raise TypeError(f"{type(self).__name__.removesuffix('Examples')} has no decision scores: use topk or explain")

    # ------------------------------------------------------------------ sums over outputs

    def sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        """Return log-partition functions, expected scores and marginals for given scores of the parts of ids.

        Marginals are multiplied by the coefficient of their example, 1 by default. The result does not depend on how
        examples are divided into batches, except for rounding errors in tables that all examples share. Scores so large
        that rounding errors exceed their differences are reduced first (`reduced`). Raise ValueError if scores are NaN
        or +∞.
        """
        if size_of_scores(scores) <= self.most_score:
            return self.plain_sums(scores, ids, coefficients)
        total = Sums(np.zeros(len(ids)), np.zeros(len(ids)), [np.zeros_like(block.values) for block in scores])
        for r in range(len(ids)):
            alone, factor = reduced(of_example(scores, r), self.most_score)
            some = None if coefficients is None else coefficients[r : r + 1]
            sums = self.plain_sums(alone, ids[r : r + 1], some)
            total.log_partitions[r] = sums.log_partitions[0] / factor  # log Σ exp(s) ≤ log Σ exp(factor · s) / factor
            total.expected_scores[r] = min(sums.expected_scores[0] / factor, total.log_partitions[r])
            for values, own, block in zip(total.marginals, sums.marginals, scores, strict=True):
                values[slice(*block.starts[r : r + 2]) if block.starts[-1] else slice(None)] += own
        return total

    def samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        """Return the codes of n independent outputs of each example of ids, an array of n rows.

        ``seeds[r]`` is a uint64 from which all random numbers of ``ids[r]`` follow. The codes of ids are concatenated.
        Scores are reduced as in `sums`.
        """
        if size_of_scores(scores) <= self.most_score:
            return self.plain_samples(scores, ids, n, seeds)
        parts = [
            self.plain_samples(reduced(of_example(scores, r), self.most_score)[0], ids[r : r + 1], n, seeds[r : r + 1])
            for r in range(len(ids))
        ]
        return np.concatenate(parts, axis=1)

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        """Return `sums` of finite scores of at most `most_score`; scores of −∞ exclude parts."""
        raise self.not_summable()

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        """Return `samples` of finite scores of at most `most_score`; scores of −∞ exclude parts."""
        raise self.not_summable()

    def not_summable(self) -> TypeError:
        """Return the error of structures without sums over their outputs."""
        return TypeError(
            f"{type(self).__name__.removesuffix('Examples')} has no probabilities: {self.why_not_summable}"
        )

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Return s_p + scale · l_p, the scores with which sums and argmaxes are those of score + scale · loss.

        A constant of the example may be missing. Raise ValueError if the loss is not a sum over parts.
        """
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def true_totals(self, scores: list[Scores], ids: IntArray) -> FloatArray:
        """Return Σ_p c_p(y) s_p of the truth of each example of ids; 0 if it is not known."""
        totals = np.zeros(len(ids))
        for true, block in zip(self.true_counts(ids), scores, strict=False):
            block.add_totals(true, totals)
        return totals

    def subtract_truths(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, coefficients: FloatArray
    ) -> None:
        """Subtract coefficient · c_p(y) from the marginals of `sums`: then they are gradients of log Z − score of y."""
        for values, true, block in zip(marginals, self.true_counts(ids), scores, strict=True):
            block.subtract(true, coefficients, values)

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        """Add Σ_p values_p φ_p to `out`, for values in the order of `scores`: marginals become the expectation of Ψ.

        If `squared`, the squares of the features are added, for estimates of second derivatives.
        """
        raise TypeError(f"{type(self).__name__} has no scores of parts")

    def add_joint_features(
        self, counts: list[Planes], ids: IntArray, coefficients: FloatArray, out: FloatArray
    ) -> None:
        """Add Σ_r coefficients[r] Σ_p c_p φ_p of ids to `out`, for counts of parts as `parts` returns them."""
        scores = self.scores(np.zeros(self.dim), ids)
        values = [np.zeros_like(block.values) for block in scores]
        for block, own, to in zip(scores, counts, values, strict=True):
            block.subtract(own, -coefficients, to)
        self.add_features(values, ids, out)

    def joint_features(self) -> FloatArray:
        """Return Ψ(x, y) of a single example as a dense vector."""
        psi = np.zeros(self.dim)
        self.add_joint_features(self.true_counts(ONLY), ONLY, np.ones(1), psi)
        return psi

    def expected_losses(self, scores: list[Scores], ids: IntArray) -> FloatArray:
        """Return E[Δ(y, ŷ)] of each example of ids, for random outputs ŷ with these scores of parts.

            E[Δ(y, ŷ)] = Σ_p (E[c_p(ŷ)] − c_p(y)) l_p

        Raise ValueError if the loss is not a sum over parts.
        """
        if self.marginals_apart and len(ids) > 1:
            raise ValueError("examples share tables of parts: pass one example at a time")
        augmented = self.augmented(scores, ids, np.ones(len(ids)))
        costs = [
            np.subtract(full.values, plain.values, out=np.zeros(len(plain.values)), where=plain.values > -np.inf)
            for full, plain in zip(augmented, scores, strict=True)
        ]
        expected = np.zeros(len(ids))
        for marginals, cost, block in zip(self.sums(scores, ids).marginals, costs, scores, strict=True):
            if block.starts[-1]:
                expected += np.diff(np.append(0.0, np.cumsum(marginals * cost))[block.starts])
            else:  # a table of the only example
                expected += marginals @ cost
        own = [Scores(cost, block.starts) for cost, block in zip(costs, scores, strict=True)]
        return np.maximum(expected - self.true_totals(own, ids), 0.0)

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        """Return scores whose argmax is the output of least expected loss (minimum-risk decoding).

        If false parts cost f and missed ones m, the expected loss of ŷ is a constant minus Σ_p c_p(ŷ) ((f + m) E[c_p] −
        f). `gamma` is the cost of a missed part relative to that of a false one, where the loss leaves it open. Parts
        of score −∞ stay forbidden. Raise ValueError if the loss is not a sum over parts.
        """
        raise self.not_summable()

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> Any:
        """Return the marginals of a single example in the arrangement of `max_marginals`."""
        raise self.not_summable()

    # ------------------------------------------------------------------ min-max programs

    def polytope(self, example: int) -> Polytope:
        """Return the polytope whose vertices are the outputs of an example, for min-max programs.

        Raise ValueError if an example is too large for it, or if the loss is not a sum over parts.
        """
        raise TypeError(f"{type(self).__name__} has no polytope")

    def certificate_polytope(self, example: int, form: str) -> CertificatePolytope:
        """Return the polytope whose points certify that the truth is optimal.

        Raise ValueError if the structure has no certificate of this form.
        """
        raise TypeError(f"{type(self).__name__} has no certificate")

    def part_features(self, example: int) -> Any:
        """Return φ of the parts of an example as rows of a sparse matrix, in the order of `scores`."""
        raise TypeError(f"{type(self).__name__} has no features of parts")

    def part_gains(self, w: FloatArray, example: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return s(w) of the parts of an example, −∞ for forbidden parts, the costs l, and the counts c(y)."""
        ids, one = np.array([example]), np.ones(1)
        scores = self.scores(w, ids)
        zeros = [Scores(np.zeros_like(block.values), block.starts) for block in scores]
        counts = [np.zeros_like(block.values) for block in scores]
        self.subtract_truths(counts, scores, ids, -one)
        blocks = scores, self.augmented(zeros, ids, one)
        gains, costs = (np.concatenate([block.values for block in some]) for some in blocks)
        return gains, costs, np.concatenate(counts)

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
            Upper bounds on the violations.

        Returns
        -------
        ndarray of shape (len(ids),)
            Upper bounds on the violations, at most as large.
        """
        raise TypeError(f"{type(self).__name__} does not implement close()")

    #: An example whose answer contradicts that argmaxes are exact, and a message about it; None if none is known.
    fault: tuple[int, str] | None = None

    def rounding_units(self) -> FloatArray:
        """Return u_i of each example: rises at weights w are computed with an error of at most u_i ‖w‖.

        By default the errors are not known, and 0 is returned.
        """
        return np.zeros(self.n_examples)

    def noted(self, ids: IntArray) -> Any:
        """Return what argmaxes of ids have shown besides their answers, picklable, for `note` in another process."""
        return None

    def note(self, ids: IntArray, noted: Any) -> None:
        """Take over what argmaxes of ids have shown in another process."""
        return None

    def rounding_units_found(self) -> FloatArray | None:
        """Return `rounding_units` that consider all outputs found so far; None if they are the same."""
        return None

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

    def unrelaxed(self) -> Examples:
        """Return the same examples with outputs as answers, if `relaxed`; by default themselves."""
        return self

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
