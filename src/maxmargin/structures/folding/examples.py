"""Encoded examples of `Folding`: bases, true structures, and costs of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from maxmargin._base.ragged import ONLY, offsets_among, offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.structures.folding import _counts as counts
from maxmargin.structures.folding import _jit
from maxmargin.structures.folding._log_sums import sum_in_logs
from maxmargin.structures.folding._sums import sample_structures, sum_structures
from maxmargin.structures.folding.ranking import ranked_structures
from maxmargin.structures.folding.terms import FoldingTerms

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.structures.folding.structure import Folding

#: Most terms that a structure has per base: a pair and its loop have up to 16, an unpaired base up to 2.
_TERMS_PER_BASE = 10


class FoldingExamples(PartExamples):
    """Sequences; the code of a structure is the partner of each base, −1 for an unpaired base.

    The parts of the first block are the terms of the model, which all examples share, counted as often as a structure
    has them. Those of the second block are the pairs i ≤ j, packed as the tables of the recursion are: they have no
    weights, but the loss is a sum over them.

    Parameters
    ----------
    structure : Folding
        The structure.
    symbols : ndarray of uint8
        Concatenated bases.
    offsets : ndarray of int64
        Offset of each sequence.
    truths : list of ndarray or None
        The code of each true structure; None if they are not known.
    added : ndarray or None, default=None
        What constraints add to the pairs of all sequences: −∞, or the number of bases that must be paired.
    """

    data: ClassVar[dict[str, str]] = {"symbols": "code_offsets", "missed": "", "false": ""}
    smallest_chunk = 1
    summable = True
    risky = (1,)

    def __init__(
        self,
        structure: Folding,
        symbols: AnyArray,
        offsets: IntArray,
        truths: list[CodeArray] | None,
        added: FloatArray | None = None,
    ) -> None:
        self.added = added
        self.symbols, self.terms = symbols, structure.terms
        self.missed, self.false = structure.pair_costs(truths, len(offsets) - 1)
        lengths = np.diff(offsets)
        pairs = offsets_of(lengths * (lengths + 1) // 2)
        blocks = [Block.table(self.terms.size), Block(np.zeros((int(pairs[-1]), 0)), pairs)]
        super().__init__(structure, blocks, offsets, truths, [None, None], structure.settings())
        self.operations = self._operations()

    def _operations(self) -> float:
        lengths = np.diff(self.code_offsets).astype(float)
        return float((60.0 * lengths**2 + lengths**3 / 12.0).sum())

    def _most_parts(self) -> list[IntArray]:
        lengths = np.diff(self.code_offsets)
        return [_TERMS_PER_BASE * lengths, lengths // 2]

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        longest = int(np.diff(self.code_offsets).max(initial=0))
        planned = threads * decoding_bytes(longest, self.terms.max_loop)
        return planned, f"folding sequences of up to {longest} bases in {threads} threads"

    # ------------------------------------------------------------------ scores

    def scores(self, w: FloatArray, ids: IntArray) -> list[Scores]:
        terms, pairs = super().scores(w, ids)
        return [terms, self._constrained(pairs, ids, self._enough(terms))]

    def _enough(self, terms: Scores) -> float:
        """Return more than the scores of two structures can differ by."""
        longest = int(np.diff(self.code_offsets).max(initial=0))
        return 1.0 + 2.0 * _TERMS_PER_BASE * longest * float(np.abs(terms.values).max(initial=0.0))

    def _constrained(self, pairs: Scores, ids: IntArray, force: float) -> Scores:
        """Return scores of pairs with constraints: −∞ for forbidden ones, `force` for each base that must be paired."""
        if self.added is None:
            return pairs
        return Scores(pairs.values + force * self.added[spans(ids, self.part_offsets[1])], pairs.starts)

    def risk_scores(
        self, marginals: list[FloatArray], scores: list[Scores], ids: IntArray, gamma: float = 1.0
    ) -> list[Scores]:
        terms, pairs = super().risk_scores(marginals, scores, ids, gamma)
        longest = int(np.diff(self.code_offsets).max(initial=0))
        return [terms, self._constrained(pairs, ids, (1.0 + gamma) * longest)]

    # ------------------------------------------------------------------ argmaxes

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        terms, pairs = self.augmented(scores, ids, scales)
        _jit.best_structures(
            ids, self.symbols, self.code_offsets, *pairs, self.terms.min_hairpin, *self.terms.scores(terms.values),
            answers.codes,
        )  # fmt: skip
        self.judge(scores, ids, answers)

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        if not self.known or not scales.any():
            return scores
        terms, pairs = scores
        costly = Scores(pairs.values.copy(), pairs.starts)
        counts.add_pair_costs(
            ids, self.code_offsets, self.truths, -scales * self.missed[ids], scales * self.false[ids], costly.starts,
            costly.values,
        )  # fmt: skip
        return [terms, costly]

    def judge_losses(self, ids: IntArray, answers: Answers) -> None:
        counts.pair_losses(
            ids, self.code_offsets, self.truths, answers.codes, self.missed, self.false, answers.losses
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        lengths, terms = self.code_offsets[ids + 1] - self.code_offsets[ids], self.terms
        room = int(np.minimum(_TERMS_PER_BASE * lengths, terms.size).sum())
        rows = Planes(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.uint32), np.empty(room))
        used = counts.count_terms(
            ids, self.symbols, self.code_offsets, codes, terms.min_hairpin, terms.letter_weights, terms.shape_weights,
            terms.loop_weights, np.zeros(terms.size), rows.indptr, rows.indices, rows.values,
        )  # fmt: skip
        ends, pairs = np.zeros(len(ids) + 1, np.int64), np.empty(int((lengths // 2).sum()), np.int64)
        counts.pair_parts(ids, self.code_offsets, codes, ends, pairs)
        return [Planes(rows.indptr, rows.indices[:used], rows.values[:used]), counted_once(ends, pairs[: ends[-1]])]

    @property
    def closes(self) -> bool:  # type: ignore[override]
        """Whether structures can be ranked by rise + scale · loss."""
        return self.known

    def ranked(self, scores: list[Scores], scale: float) -> Iterator[tuple[CodeArray, float]]:
        """Yield all structures of a single example by derivations of the recursion, best first."""
        terms, pairs = self.augmented(scores, ONLY, np.full(1, scale))
        ranked = ranked_structures(self.symbols, pairs.values, self.terms, terms.values)
        return ranked if self.added is None else self._meeting(ranked, self._enough(terms))

    def _meeting(self, ranked: Iterator[tuple[CodeArray, float]], force: float) -> Iterator[tuple[CodeArray, float]]:
        """Yield the structures that meet the constraints, which come first, with their scores."""
        most = None
        for code, score in ranked:
            opening = np.flatnonzero(code > np.arange(len(code)))
            met = float(self.added[(opening * len(code) - opening * (opening + 1) // 2) + code[opening]].sum())  # type: ignore[index]
            most = met if most is None else most
            if met < most:
                return
            yield code, score - force * met

    # ------------------------------------------------------------------ sums over structures

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        terms, pairs = scores
        given = self.terms.flat_scores(terms.values)
        counts = np.zeros_like(given)
        arrays = (
            ids, self.symbols, self.code_offsets, *pairs, self.terms.min_hairpin, self.terms.max_loop, given,
            coefficients, log_partitions, expected_scores, counts, marginals[1],
        )  # fmt: skip
        r = 0
        while (r := sum_structures(r, *arrays)) < len(ids):
            sum_in_logs(r, *arrays)
            r += 1
        marginals[0] += self.terms.weight_counts(counts)

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        terms, pairs = scores
        ends = offsets_among(ids, self.code_offsets)
        codes = np.full((n, int(ends[-1])), -1, np.int32)
        sample_structures(
            ids, ends, self.symbols, self.code_offsets, *pairs, self.terms.min_hairpin, self.terms.max_loop,
            self.terms.flat_scores(terms.values), seeds, codes,
        )  # fmt: skip
        return codes

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        """Return the probabilities of all pairs of an example, a symmetric table (n, n)."""
        n = int(self.code_offsets[example + 1] - self.code_offsets[example])
        table = np.zeros((n, n))
        table[np.triu_indices(n)] = marginals[1]
        return table + table.T

    # ------------------------------------------------------------------ data

    def take(self, ids: IntArray) -> Self:
        part = super().take(ids)
        part.added = None if self.added is None else self.added[spans(ids, self.part_offsets[1])]
        part.operations = part._operations()
        return part


def decoding_bytes(n: int, max_loop: int) -> float:
    """Return the memory of folding n bases: three tables over pairs i ≤ j, scores of pairs twice, and rows of loops."""
    return 20.0 * n * (n + 1) + 8.0 * (n + 8) * 4 * (min(max_loop, n) + 8)


def best_subset(x: AnyArray, code: CodeArray, terms: FoldingTerms) -> CodeArray:
    """Return the most of the pairs of a structure that a model can have together."""
    partners, n = np.empty(len(code), np.int32), len(code)
    pairs = np.full((n, n), -np.inf)
    opening = np.flatnonzero(code > np.arange(n))
    pairs[opening, code[opening]] = 1.0
    _jit.best_structures(
        ONLY, x, np.array([0, n]), pairs[np.triu_indices(n)], np.array([0, n * (n + 1) // 2]), terms.min_hairpin,
        *terms.scores(np.zeros(terms.size)), partners,
    )  # fmt: skip
    return partners
