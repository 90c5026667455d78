"""Encoded examples of structures whose scores are sums over parts.

    Ψ(x, y) = Σ_p c_p(y) φ_p(x)      s_p = w·φ_p(x)      w·Ψ(x, y) = Σ_p c_p(y) s_p
    Δ(y, ŷ) = Σ_p (c_p(ŷ) − c_p(y)) l_p                  if the loss is a sum over parts too

An argmax needs the scores s of the parts but no features, and a plane is Φᵀ(c(y) − c(ŷ)). So a fit is ``scores → argmax
→ c(y) − c(ŷ) → planes``, of which a structure implements the argmax; the scores may come from any source: weights, a
kernel expansion, a network.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import Place, error_at
from maxmargin._base.memory import Scratch
from maxmargin._base.ragged import ONLY, batches, offsets_among, offsets_of, spans, taken
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import NO_OUTPUT, Answers, Planes, rounding_units
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.core.sums import Sums
from maxmargin.parts import row_sums
from maxmargin.parts.blocks import Block

if TYPE_CHECKING:
    from maxmargin.bounds import Bound

#: A part: its block and its number within the block.
Part = tuple[int, int]
#: Integers up to this size are exact in float32.
FLOAT32_WHOLE = 2.0**24
_NO_COSTS = np.zeros(0)
#: Parts that are scored before their argmax runs: few enough to stay in the cache.
PARTS_TOGETHER = 1 << 17


class PartExamples(Examples):
    """Examples of a structure whose scores, and here losses too, are sums over parts.

    A subclass implements `argmax` and `parts`; everything else is derived. A subclass whose loss is not a sum over
    parts implements `decode_scores` instead of `argmax`.

    Parameters
    ----------
    structure : PartStructure
        A structure with `output_of`.
    blocks : sequence of Block
        Features of the parts. The weights of a block follow those of the previous block.
    code_offsets : array of int
        As in `Examples`.
    truths : list of array of int, optional
        The code of each true output; None if they are not known.
    costs : sequence
        The costs l of each block: an array over the parts of all examples (at most 0 for parts of the truth: minus the
        cost of missing them), or a number for all parts that the truth does not have (parts of the truth cost 0;
        counts must then be 0 or 1), or None. Blocks that all examples share have no costs.
    settings : tuple of float
        Numbers that change the argmax, for the fingerprint.
    """

    #: Whether counts c_p are integers; then sums of integer features are exact in float32.
    whole_counts: bool = True
    #: Whether an output may have all parts of another output and more.
    nested: bool = False
    #: Blocks whose parts determine the output, for k best outputs; None for all.
    deciding: tuple[int, ...] | None = None
    #: Greatest count of a part in an output.
    most_count: float = 1.0
    #: Attributes that a subclass adds to the data, each with the name of the offsets of examples among its entries, or
    #: "" if each example has one entry. They may be arrays, lists, or objects with `take` and `arrays`; offsets are
    #: declared with their own name. `take` follows, and the fingerprint of all but lists.
    data: ClassVar[dict[str, str]] = {}
    #: Likewise attributes that follow from the data, and are not part of the fingerprint.
    derived: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        structure: Any,
        blocks: Sequence[Block],
        code_offsets: IntArray,
        truths: Sequence[CodeArray] | None,
        costs: Sequence[FloatArray | float | None] = (),
        settings: tuple[float, ...] = (),
    ) -> None:
        self.structure, self.blocks, self.settings = structure, tuple(blocks), settings
        self.code_offsets, self.n_examples = code_offsets, len(code_offsets) - 1
        self.dim = sum(block.dim for block in blocks)
        self.known = truths is not None
        self.truths = np.full(int(code_offsets[-1]), -1, np.int32) if truths is None else self._joined_codes(truths)
        self.costs = tuple(costs) if self.known else (None,) * len(self.blocks)
        self._check_blocks()
        self.n_parts = [block.n_parts(self.n_examples) for block in self.blocks]
        self.largest = [int(n_parts.max(initial=0)) for n_parts in self.n_parts]
        self.part_offsets = [block.part_offsets(self.n_examples) for block in self.blocks]
        self.operations = sum(block.operations for block in blocks) + 8.0 * float(code_offsets[-1])
        self.shared_operations = sum(block.operations for block in blocks if block.offsets is None)
        self.plane_entries = np.zeros(self.n_examples, np.int64)
        self._scratch, self.most_parts = Scratch(), self._most_parts()
        if self.known:
            self.true_parts = self._checked_parts(np.arange(self.n_examples), self.truths)
            self._check_true_costs()
            self._set_sizes()

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    def _joined_codes(self, truths: Sequence[CodeArray]) -> CodeArray:
        """Return the codes concatenated; raise ExampleError if one does not have the length of its example."""
        if len(truths) != self.n_examples:
            raise StructureError(f"expected the codes of {self.n_examples} true outputs, found {len(truths)}")
        for i, (code, expected) in enumerate(zip(truths, np.diff(self.code_offsets), strict=True)):
            if len(code) != expected:
                raise error_at(Place("Y", i), f"an output with {len(code)} symbols in its code, expected {expected}")
        return np.concatenate([*truths, np.zeros(0, np.int32)]).astype(np.int32, copy=False)

    def _check_blocks(self) -> None:
        """Raise StructureError if blocks or costs do not have the sizes that compiled functions rely on."""
        if len(self.costs) != len(self.blocks):
            raise StructureError(f"expected costs for each of {len(self.blocks)} blocks, found {len(self.costs)}")
        for b, (block, costs) in enumerate(zip(self.blocks, self.costs, strict=True)):
            n_parts = int(block.n_parts(self.n_examples).sum())
            if block.offsets is not None and len(block.offsets) != self.n_examples + 1:
                raise StructureError(f"block {b} has rows for {len(block.offsets) - 1} examples, not {self.n_examples}")
            if costs is None:
                continue
            if block.offsets is None:
                raise StructureError(f"block {b} is shared by all examples, so it cannot have costs; expected None")
            if isinstance(costs, np.ndarray):
                if costs.shape != (n_parts,) or costs.dtype != np.float64 or not np.isfinite(costs).all():
                    raise StructureError(f"the costs of block {b} must be {n_parts} finite floats, one for each part")
            elif not isinstance(costs, float | int) or not 0 <= costs < np.inf:
                raise StructureError(
                    f"the costs of block {b} must be an array, a number ≥ 0 or None, found {costs!r:.60}"
                )

    def _check_true_costs(self) -> None:
        """Raise StructureError if a part of the truth has a positive cost: its loss would not be 0 less than others."""
        for b, (true, costs) in enumerate(zip(self.true_parts, self.costs, strict=True)):
            if isinstance(costs, np.ndarray):
                example = np.repeat(np.arange(self.n_examples), np.diff(true.indptr))
                wrong = np.flatnonzero(costs[self.part_offsets[b][example] + true.indices] > 0.0)
                if len(wrong):
                    raise StructureError.at(
                        Place("X", example[wrong[0]]),
                        f"a part of the true output has a positive cost in block {b}; expected minus the cost of "
                        f"missing it, or 0",
                    )

    def _set_sizes(self) -> None:
        """Set bounds on the entries of planes: those of the true parts and of the most parts of another output."""
        largest = 0.0
        for block, counts, most in zip(self.blocks, self.true_parts, self.most_parts, strict=True):
            together = np.diff(counts.indptr) + most
            self.plane_entries += np.minimum(together * block.fullest(self.n_examples), block.dim)
            if together.max(initial=0) > 0:
                largest = max(largest, block.largest_whole() * float(together.max()))
        self.float32_exact = self.whole_counts and largest < FLOAT32_WHOLE

    # ------------------------------------------------------------------ what a structure writes

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> FloatArray | None:
        """Write the code of the output with the greatest Σ c_p s_p, for each example of ids.

        If scores of −∞ exclude all outputs, the first symbol of the code is `NO_OUTPUT`. An argmax that is not exact
        returns proven upper bounds on the greatest sums (in a class with ``exact = False`` and ``bounded = True``).
        """
        raise TypeError(f"{type(self).__name__} has no argmax over scores of parts")

    @abstractmethod
    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        """Return c(ŷ) of each example of ids, one matrix per block; parts are numbered from 0 in each example."""

    def _most_parts(self) -> list[IntArray]:
        """Return the maximum number of parts of an output, per block and example; by default one per code symbol.

        The number is checked, since the sizes and the precision of planes depend on it.
        """
        return [np.diff(self.code_offsets)] * len(self.blocks)

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Return scores with which the argmax of a single example has all parts of `forced` and none of `forbidden`.

        By default forbidden parts have the score −∞, and forced parts a bonus that outweighs all other scores. Forced
        parts come from one output, in the order in which `parts` lists them; `forced_scores` forces a single one.
        """
        changed = [Scores(s.values.copy(), s.starts) for s in scores]
        bonus = self.most_count * forcing_bonus(*(s.values for s in scores))
        for b, p in forced:
            changed[b].values[p] += bonus
        for b, p in forbidden:
            changed[b].values[p] = -np.inf
        return changed

    def forced_scores(self, scores: list[Scores]) -> list[FloatArray] | None:
        """Return the best score of an output of a single example that has a part, for all parts, block by block.

        None if there is no output. By default each part is forced in turn by `restricted`.
        """
        from maxmargin.parts.ranking import scores_by_forcing

        return scores_by_forcing(self, scores)

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        """Return the attributes of a subclass that differ in `take`, for the given examples."""
        own, declared = vars(self), self.data | self.derived
        return {
            name: offsets_among(ids, own[name]) if name == by else taken(own[name], ids, own[by] if by else None)
            for name, by in declared.items()
            if name in own
        }

    # ------------------------------------------------------------------ what follows

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        ends = offsets_of([block.dim for block in self.blocks])
        blocks = list[Scores]()
        for block, a, b in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            blocks.append(block.scores(w[a:b], ids, self.engine))
        return blocks

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        for some in self._batches(ids):
            self.decode_scores(self.scores(w, ids[some]), ids[some], scales[some], answers)

    def max_marginals(self, w: FloatArray, ids: IntArray) -> list[Any]:
        """Return the best score of an output that has a part, for every part, as the structure arranges parts."""
        if type(self).argmax is PartExamples.argmax:
            return super().max_marginals(w, ids)
        marginals = list[Any]()
        for i in ids.tolist():
            one = self.take(np.array([i]))
            blocks = one.forced_scores(one.scores(w, ONLY))
            if blocks is None:
                raise StructureError.at(Place("X", i), "the allowed parts form no output")
            marginals.append(one.arranged(blocks))
        return marginals

    def arranged(self, blocks: list[FloatArray]) -> Any:
        """Return numbers of all parts of a single example in the arrangement of its input."""
        arranged = getattr(self.structure, "arranged", None)
        if arranged is None:
            return blocks[0] if len(blocks) == 1 else blocks
        return arranged(blocks)

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        """Return the memory of scores, with and without costs, of one batch in each thread."""
        largest = max((int(n.max(initial=0)) for n in self.n_parts), default=0)
        parts = min(PARTS_TOGETHER + largest, sum(int(n.sum()) for n in self.n_parts))
        return 3.0 * 8 * threads * parts, f"scores of up to {largest} parts of one example, in {threads} threads,"

    def _batches(self, ids: IntArray) -> list[slice]:
        """Return runs of ids whose scores are small enough to stay in the cache."""
        sizes = np.zeros(len(ids), np.int64)
        for block, n_parts in zip(self.blocks, self.n_parts, strict=True):
            if block.offsets is not None:  # the scores of others are one table
                sizes += n_parts[ids]
        return batches(sizes, PARTS_TOGETHER)

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        augmented = self.augmented(scores, ids, scales)
        upper = self.argmax(augmented, ids, answers.codes)
        self._check_found(ids, answers.codes)
        self.judge(scores, ids, answers)
        if upper is not None:
            answers.upper[ids] = upper - self.true_totals(augmented, ids)

    @property
    def closes(self) -> bool:  # type: ignore[override]
        """Whether outputs can be ranked: the loss is a sum over parts, so the argmax ranks by any scale."""
        return self.known and type(self).decode_scores is PartExamples.decode_scores

    def close(self, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers, upper: FloatArray) -> FloatArray:
        from maxmargin.parts.ranking import close_by_ranking

        return close_by_ranking(self, w, ids, bound, answers, upper)

    def ranked(self, scores: list[Scores], scale: float) -> Iterator[tuple[CodeArray, float]]:
        """Yield the codes of all outputs of a single example with their scores + scale · loss, best first.

        By default parts are forbidden and forced in turn (`parts.ranking`). A constant may be missing in all scores if
        the scale is not 0.
        """
        from maxmargin.parts.ranking import ranked_outputs

        return ranked_outputs(self, self.augmented(scores, ONLY, np.full(1, scale)))

    def rounding_units(self) -> FloatArray:
        """Return the errors of sums of part scores: each is at most the norm of its features times ‖w‖."""
        terms, norms = np.zeros(self.n_examples), np.zeros(self.n_examples)
        for block, most in zip(self.blocks, self.most_parts, strict=True):
            terms += block.fullest(self.n_examples) + most
            norms += most * block.largest_norms(self.n_examples)
        return rounding_units(terms, norms)

    def _check_found(self, ids: IntArray, codes: CodeArray) -> None:
        """Raise StructureError if an example has no output."""
        filled = ids[self.code_offsets[ids + 1] > self.code_offsets[ids]]
        without = filled[codes[self.code_offsets[filled]] == NO_OUTPUT]
        if len(without):
            raise StructureError.at(Place("X", without[0]), "the allowed parts form no output")

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        """Return s_p + scale · l_p, the scores for which an argmax maximises rise + scale · loss."""
        if not self.known or not scales.any():
            return scores
        return [
            block if costs is None else Scores(self._augmented(b, block, costs, ids, scales), block.starts)
            for b, (block, costs) in enumerate(zip(scores, self.costs, strict=True))
        ]

    def _augmented(
        self, b: int, scores: Scores, costs: FloatArray | float, ids: IntArray, scales: FloatArray
    ) -> FloatArray:
        out = np.empty_like(scores.values)
        if isinstance(costs, np.ndarray):
            row_sums.add_costs(ids, self.part_offsets[b], costs, scales, scores.starts, scores.values, out)
        else:
            true = self.true_parts[b]
            row_sums.add_even_costs(ids, costs, scales, true.indptr, true.indices, scores.starts, scores.values, out)
        return out

    def judge(self, scores: list[Scores], ids: IntArray, answers: Answers) -> None:
        """Write losses, rises and keys of the codes in `answers`."""
        row_sums.code_keys(ids, self.code_offsets, answers.codes, self.truths, self.known, answers.keys)
        rises, losses = np.zeros(len(ids)), np.zeros(len(ids))
        chosen = self.parts(ids, answers.codes)
        self._check_parts(ids, chosen)
        for b, (predicted, block) in enumerate(zip(chosen, scores, strict=True)):
            counts = predicted.indptr, predicted.indices, predicted.values
            if not self.known:
                block.add_totals(predicted, rises)
                continue
            true, costs = self.true_parts[b], self.costs[b]
            each, even = (costs, 0.0) if isinstance(costs, np.ndarray) else (_NO_COSTS, costs or 0.0)
            row_sums.judge(
                ids, true.indptr, true.indices, true.values, *counts, np.zeros(self.largest[b]), block.starts,
                block.values, self.part_offsets[b], each, float(even), rises, losses,
            )  # fmt: skip
        answers.rises[ids], answers.losses[ids] = rises, losses
        if self.known:
            self.judge_losses(ids, answers)

    def true_counts(self, ids: IntArray) -> list[Planes]:
        """Return c(y) of each example of ids, block by block; nothing if the truth is not known."""
        return [true.rows(ids) for true in self.true_parts] if self.known else []

    def judge_losses(self, ids: IntArray, answers: Answers) -> None:
        """Replace the losses in `answers`, where they are not sums of costs of parts; by default they are."""
        return None

    # ------------------------------------------------------------------ sums over outputs

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        """Write log Z and E[Σ c_p s_p] of each example of ids; add coefficient · E[c_p] to the marginals.

        A structure implements it, and sets `summable`. The arrays of marginals have the layout of ``scores[b].values``
        and begin as zeros.
        """
        raise self.not_summable()

    def plain_sums(self, scores: list[Scores], ids: IntArray, coefficients: FloatArray | None = None) -> Sums:
        n = len(ids)
        sums = Sums(np.zeros(n), np.zeros(n), [np.zeros_like(block.values) for block in scores])
        self.part_sums(scores, ids, np.ones(n) if coefficients is None else coefficients, *sums)
        return sums

    def add_features(self, values: list[FloatArray], ids: IntArray, out: FloatArray, squared: bool = False) -> None:
        shift = 0
        for block, some in zip(self.blocks, values, strict=True):
            block.add_weighted(ids, some, out[shift : shift + block.dim], squared)
            shift += block.dim

    #: Blocks whose parts the loss counts, for minimum-risk decoding; None for those with costs.
    risky: tuple[int, ...] | None = None

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        counted = self.risky if self.risky is not None else tuple(range(len(self.blocks)))
        if not counted:
            raise ValueError(self.no_risk())
        gains = [np.zeros_like(values) for values in marginals]
        for b in counted:
            gains[b] = self._gain(b, marginals[b], gamma)
        return [
            Scores(np.where(block.values > -np.inf, gain, -np.inf), block.starts)
            for gain, block in zip(gains, scores, strict=True)
        ]

    def _gain(self, b: int, marginals: FloatArray, gamma: float) -> FloatArray:
        """Return the decrease of the expected loss by each part of a block: missed parts cost γ, false ones 1."""
        return (1.0 + gamma) * marginals - 1.0

    def no_risk(self) -> str:
        """Return why there is no minimum-risk decoding for the loss of this structure, and what is possible."""
        return f"{type(self.structure).__name__} has no loss that is a sum over parts, so decode='risk' is not possible"

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> Any:
        return self.take(np.array([example])).arranged(marginals)

    # ------------------------------------------------------------------ planes

    def changes(self, ids: IntArray, answers: Answers) -> list[Planes]:
        predicted = self._checked_parts(ids, answers.codes)
        return [
            count_changes(ids, true, counts, largest)
            for true, counts, largest in zip(self.true_parts, predicted, self.largest, strict=True)
        ]

    def _checked_parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        """Return `parts`; raise StructureError if there are too many or one is out of range."""
        parts = self.parts(ids, codes)
        self._check_parts(ids, parts)
        return parts

    def _check_parts(self, ids: IntArray, parts: list[Planes]) -> None:
        for b, (counts, n_parts, most) in enumerate(zip(parts, self.n_parts, self.most_parts, strict=True)):
            r = row_sums.first_wrong(ids, n_parts, most, counts.indptr, counts.indices)
            if r >= 0:
                place, n_found = Place("X", ids[r]), int(counts.indptr[r + 1] - counts.indptr[r])
                if n_found > most[ids[r]]:
                    what = f"an output has {n_found} parts of block {b}, expected at most {most[ids[r]]}"
                else:
                    what = f"an output has a part of block {b} out of range, expected 0 to {n_parts[ids[r]] - 1}"
                raise StructureError.at(place, what)

    def part_features(self, example: int) -> Any:
        return sp.csr_array(sp.block_diag([block.features(example) for block in self.blocks]))

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        return self._sums(ids, self.changes(ids, answers), self.value_type)

    def _sums(self, ids: IntArray, counts: list[Planes], kind: type) -> Planes:
        scratch = self._scratch.zeros(max(block.dim for block in self.blocks))
        out, shift = None, 0
        for block, some in zip(self.blocks, counts, strict=True):
            rows = block.sums(ids, some, self.n_examples, scratch, kind)
            out = rows if out is None else joined(out, rows, shift)
            shift += block.dim
        assert out is not None
        return out

    def aggregate(self, ids: IntArray, answers: Answers, coefficients: FloatArray, out: FloatArray) -> None:
        shift = 0
        for block, counts in zip(self.blocks, self.changes(ids, answers), strict=True):
            block.add_sums(
                ids, counts.scaled(coefficients), self.n_examples, out[shift : shift + block.dim], self.engine
            )
            shift += block.dim

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        return self.structure.output_of(code)

    def take(self, ids: IntArray) -> Self:
        part = object.__new__(type(self))
        vars(part).update(vars(self) | {"_digest": None} | self._taken(ids))
        offsets = offsets_among(ids, self.code_offsets)
        spans_of_codes = [slice(*self.code_offsets[i : i + 2]) for i in ids.tolist()]
        truths = [self.truths[span] for span in spans_of_codes] if self.known else None
        costs = [self._some_costs(b, ids) for b in range(len(self.costs))]
        blocks = [block.take(ids) for block in self.blocks]
        PartExamples.__init__(part, self.structure, blocks, offsets, truths, costs, self.settings)
        return part

    def _some_costs(self, b: int, ids: IntArray) -> FloatArray | float | None:
        costs, block = self.costs[b], self.blocks[b]
        if not isinstance(costs, np.ndarray) or block.offsets is None:
            return costs
        return costs[spans(ids, self.part_offsets[b])]

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        features = [array for block in self.blocks for array in block.arrays()]
        costs = [np.asarray(costs, float) for costs in self.costs if costs is not None]
        added = [array for name in self.data for array in _arrays(getattr(self, name))]
        return *features, self.code_offsets, self.truths, *costs, np.array(self.settings, float), *added


def _arrays(value: Any) -> tuple[AnyArray, ...]:
    """Return the arrays of an attribute that is part of the data, for fingerprints."""
    if isinstance(value, np.ndarray):
        return (value,)
    return () if value is None or isinstance(value, list) else value.arrays()


def count_changes(ids: IntArray, true: Planes, predicted: Planes, n_parts: int) -> Planes:
    """Return the counts of the truths of ids minus those found, without entries that cancel."""
    room = int((true.indptr[ids + 1] - true.indptr[ids]).sum() + predicted.indptr[-1]) + 1
    out = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
    row_sums.count_changes(
        ids, true.indptr, true.indices, true.values, predicted.indptr, predicted.indices, predicted.values,
        np.zeros(n_parts), out.indptr, out.indices, out.values,
    )  # fmt: skip
    used = out.indptr[-1]
    return Planes(out.indptr, out.indices[:used], out.values[:used])


def forcing_bonus(*scores: FloatArray) -> float:
    """Return a bonus for a part that outweighs any difference of sums of these scores.

    It is a multiple of their size: a bonus of 1 would round scores of 1e-150 away.
    """
    return 4.0 * sum(float(np.abs(values[np.isfinite(values)]).sum()) for values in scores) or 1.0


def counted_once(indptr: IntArray, parts: AnyArray) -> Planes:
    """Return rows of parts that each occur once in an output."""
    return Planes(indptr, parts.astype(np.uint32), np.ones(len(parts)))


def joined(rows: Planes, others: Planes, shift: int) -> Planes:
    """Return each row followed by the same row of the others, with indices shifted."""
    size = len(rows.indices) + len(others.indices)
    out = Planes(np.zeros(len(rows) + 1, np.int64), np.empty(size, np.uint32), np.empty(size, rows.values.dtype))
    row_sums.join(
        rows.indptr, rows.indices, rows.values, others.indptr, others.indices, others.values, shift,
        out.indptr, out.indices, out.values,
    )  # fmt: skip
    return out
