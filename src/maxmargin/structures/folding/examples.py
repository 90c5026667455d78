"""Encoded examples of `Folding`: bases, true structures, and costs of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import Answers, spans
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples
from maxmargin.structures.folding import _counts as counts
from maxmargin.structures.folding import _kernels as kernels
from maxmargin.structures.folding.ranking import ranked_structures
from maxmargin.structures.folding.terms import FoldingTerms

if TYPE_CHECKING:
    from maxmargin.bounds import Bound
    from maxmargin.structures.folding.structure import Folding

#: Most terms that a structure has per base: a pair and its loop have up to 16, an unpaired base up to 2.
_TERMS_PER_BASE = 10


class FoldingExamples(PartExamples):
    """Sequences; the code of a structure is the partner of each base, −1 for an unpaired base.

    The parts are the terms of the model, which all examples share, counted as often as a structure has them. The loss
    is a sum over pairs, which are not parts: kernels add it to the scores of pairs.

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
    """

    smallest_chunk = 1

    def __init__(self, structure: Folding, symbols: AnyArray, offsets: IntArray, truths: list[CodeArray] | None):
        self.symbols, self.terms = symbols, structure.terms
        self.missed, self.false = structure.pair_costs(truths, len(offsets) - 1)
        super().__init__(structure, [Block.table(self.terms.size)], offsets, truths, [None], structure.settings())
        self.operations = self._operations()

    def _operations(self) -> float:
        lengths = np.diff(self.code_offsets).astype(float)
        return float((60.0 * lengths**2 + lengths**3 / 12.0).sum())

    def _most_parts(self) -> list[IntArray]:
        return [_TERMS_PER_BASE * np.diff(self.code_offsets)]

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        longest = int(np.diff(self.code_offsets).max(initial=0))
        planned = threads * decoding_bytes(longest, self.terms.max_loop)
        return planned, f"folding sequences of up to {longest} bases in {threads} threads"

    def _batches(self, ids: IntArray) -> list[slice]:
        return [slice(0, len(ids))]

    # ------------------------------------------------------------------ argmaxes

    def decode_scores(self, scores: list[Scores], ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        kernels.best_structures(
            ids, self.symbols, self.code_offsets, self.truths, -scales * self.missed[ids], scales * self.false[ids],
            self.terms.min_hairpin, *self.terms.scores(scores[0].values), answers.codes,
        )  # fmt: skip
        self.judge(scores, ids, answers)

    def judge(self, scores: list[Scores], ids: IntArray, answers: Answers) -> None:
        super().judge(scores, ids, answers)
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
        return [Planes(rows.indptr, rows.indices[:used], rows.values[:used])]

    @property
    def closes(self) -> bool:  # type: ignore[override]
        """Whether structures can be ranked by rise + scale · loss."""
        return self.known

    def ranked(self, scores: list[Scores], scale: float) -> Iterator[tuple[CodeArray, float]]:
        """Yield all structures of a single example by derivations of the recursion, best first."""
        costs = -scale * float(self.missed[0]), scale * float(self.false[0])
        return ranked_structures(self.symbols, self.truths, costs, self.terms, scores[0].values)

    # ------------------------------------------------------------------ data

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {
            "symbols": self.symbols[spans(ids, self.code_offsets)],
            "missed": self.missed[ids],
            "false": self.false[ids],
        }

    def take(self, ids: IntArray) -> Self:
        part = super().take(ids)
        part.operations = part._operations()
        return part

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.symbols, self.missed, self.false


def decoding_bytes(n: int, max_loop: int) -> float:
    """Return the memory of folding n bases: three tables over pairs i ≤ j, and rows of loops."""
    return 12.0 * n * (n + 1) + 8.0 * (n + 8) * 4 * (min(max_loop, n) + 8)


def best_subset(x: AnyArray, code: CodeArray, terms: FoldingTerms) -> CodeArray:
    """Return the most of the pairs of a structure that a model can have together."""
    found, n = np.empty(len(code), np.int32), len(code)
    kernels.best_structures(
        np.zeros(1, np.int64), x, np.array([0, n]), code, np.ones(1), np.full(1, -np.inf), terms.min_hairpin,
        *terms.scores(np.zeros(terms.size)), found,
    )  # fmt: skip
    return found
