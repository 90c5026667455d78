"""Encoded pairs of sequences and their true alignments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.core.codes import Answers
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.encoding.aligned import N_ORDERS, strings_of_code
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.structures.alignment import _kernels as kernels
from maxmargin.structures.alignment._recursion import N_BUFFERS, n_words
from maxmargin.structures.alignment.cells import CellFeatures, Pairs

_NOTHING = Scores(np.zeros(0), np.zeros(1, np.int64))


class AlignmentExamples(PartExamples):
    """Cells, positions opposite gaps and, in modes with free ends, unaligned positions of all pairs.

    Every position of both sequences has exactly one part in each output. The loss is a sum over parts whose costs
    follow from the truth, so that they are never stored.

    Parameters
    ----------
    structure : Alignment
        The structure.
    blocks : list of Block
        Cells, gaps, and free ends, which have no weights.
    truths : list of array of int32 or None
        Codes of the true alignments.
    settings : tuple of int
        Mode, loss and tolerance.
    texts : list of (str, str)
        The letters of each pair.
    """

    smallest_chunk = 8

    def __init__(
        self,
        structure: Any,
        blocks: list[Block],
        truths: list[CodeArray] | None,
        settings: tuple[int, int, int],
        texts: list[tuple[str, str]],
    ) -> None:
        self.texts = texts
        cells = blocks[0]
        assert isinstance(cells, CellFeatures)
        code_offsets = np.concatenate([[0], np.cumsum(cells.pairs.n_rows + N_ORDERS)])
        super().__init__(structure, blocks, code_offsets, truths, [None] * len(blocks), settings)

    @property
    def pairs(self) -> Pairs:
        """The sequences of each example."""
        cells = self.blocks[0]
        assert isinstance(cells, CellFeatures)
        return cells.pairs

    @property
    def mode(self) -> int:
        """GLOBAL, LOCAL or SEMIGLOBAL."""
        return int(self.settings[0])

    def _most_parts(self) -> list[IntArray]:
        n, m = self.pairs.n_rows, self.pairs.n_cols
        return [np.minimum(n, m), n + m, n + m][: len(self.blocks)]

    # ------------------------------------------------------------------ argmax

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        cells, gaps = scores[:2]
        ends = scores[2] if len(scores) > 2 else _NOTHING
        gaps, ends = self._finite(cells, gaps, ends)
        n, m = (int(size[ids].max(initial=0)) for size in (self.pairs.n_rows, self.pairs.n_cols))
        kernels.best_alignments(
            ids, self.pairs.n_rows, self.pairs.n_cols, *cells, *gaps, *ends, self.blocks[1].n_outputs, self.mode,
            self.code_offsets, np.empty((n_words(n), m + 1), np.int64), np.empty((N_BUFFERS, max(n, m) + 2)), codes,
        )  # fmt: skip

    def _finite(self, cells: Scores, gaps: Scores, ends: Scores) -> tuple[Scores, Scores]:
        """Return scores of gaps and ends with −∞ replaced by numbers below what any alignment can gain.

        Running sums of these scores are subtracted from each other, which −∞ would make invalid.
        """
        if np.isfinite(gaps.values).all() and np.isfinite(ends.values).all():
            return gaps, ends
        largest = max(_largest(some.values) for some in (cells, gaps, ends))
        most = int((self.pairs.n_rows + self.pairs.n_cols).max(initial=0))
        low = -1.0 - 2.0 * (most + 1) * largest
        return tuple(Scores(np.maximum(s.values, low), s.starts) for s in (gaps, ends))  # type: ignore[return-value]

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        cells, gaps = self.blocks[:2]
        assert isinstance(cells, CellFeatures)
        n, m = cells.largest(ids)
        mode, loss, tolerance = map(int, self.settings)
        gap_scores = gaps.scores(w[cells.dim :], ids)
        kernels.decode_pairs(
            ids, *self.pairs, *cells.templates, w, *cells.layout.scratch(n, m), *gap_scores, gaps.n_outputs, mode,
            loss, tolerance, scales, self.truths, self.known, self.code_offsets, np.empty(n * m),
            np.empty((n_words(n), m + 1), np.int64), np.empty((N_BUFFERS, max(n, m) + 2)),
            np.empty((3, n + m), np.int64), np.empty(n * min(2 * tolerance + 1, m)), answers.codes, answers.losses,
            answers.rises, answers.keys,
        )  # fmt: skip

    def augmented(self, scores: list[Scores], ids: IntArray, scales: FloatArray) -> list[Scores]:
        if not self.known or not scales.any():
            return scores
        changed = [Scores(s.values.copy(), s.starts) for s in scores]
        ends = changed[2] if len(changed) > 2 else _NOTHING
        _, loss, tolerance = map(int, self.settings)
        kernels.add_costs(
            ids, scales, self.truths, self.code_offsets, self.pairs.n_cols, loss, tolerance,
            self.blocks[1].n_outputs, *changed[0], *changed[1], *ends,
        )  # fmt: skip
        return changed

    def judge(self, scores: list[Scores], ids: IntArray, answers: Answers) -> None:
        super().judge(scores, ids, answers)
        if self.known:
            losses = np.zeros(len(ids))
            _, loss, tolerance = map(int, self.settings)
            kernels.losses_of_codes(
                ids, answers.codes, self.truths, self.code_offsets, self.pairs.n_cols, loss, tolerance, losses
            )
            answers.losses[ids] = losses

    # ------------------------------------------------------------------ parts

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        n, m = self.pairs.n_rows[ids], self.pairs.n_cols[ids]
        rooms = int(np.minimum(n, m).sum()), int((n + m).sum()), int((n + m).sum())
        found = [(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.int64)) for room in rooms]
        kernels.parts_of_codes(
            ids, self.code_offsets, self.pairs.n_cols, self.blocks[1].n_outputs, self.mode, codes, *found[0],
            *found[1], *found[2],
        )  # fmt: skip
        return [counted_once(ptr, parts[: ptr[-1]]) for ptr, parts in found[: len(self.blocks)]]

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Forbid parts; a part is forced by forbidding all other parts of its positions."""
        changed = [Scores(s.values.copy(), s.starts) for s in scores]
        n, m = int(self.pairs.n_rows[0]), int(self.pairs.n_cols[0])
        table, kept = changed[0].values.reshape(n, m), {}
        for block, part in forced:
            positions = [part // m, n + part % m] if block == 0 else [part // self.blocks[block].n_outputs]
            kept[block, part] = scores[block].values[part]
            for p in positions:
                (table[p] if p < n else table[:, p - n])[:] = -np.inf
                for b in range(1, len(changed)):
                    changed[b].values.reshape(n + m, -1)[p] = -np.inf
        for (block, part), value in kept.items():
            changed[block].values[part] = value
        for block, part in forbidden:
            changed[block].values[part] = -np.inf
        return changed

    def planned_decoding(self, bound: Bound, threads: int) -> tuple[float, str]:
        planned, _ = super().planned_decoding(bound, threads)
        cells = self.blocks[0]
        assert isinstance(cells, CellFeatures)
        n, m = cells.largest(np.arange(self.n_examples))
        rows = cells.layout.most_rows(n)
        return planned + 8.0 * threads * (rows * m + n_words(n) * m), f"scores of up to {n} × {m} cells of one example,"

    # ------------------------------------------------------------------ outputs and data

    def output(self, example: int, key: int, code: CodeArray) -> tuple[str, str]:
        return strings_of_code(code, *self.texts[example])

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {"texts": [self.texts[i] for i in ids.tolist()]}

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), np.frombuffer(
            "\n".join(a + "\t" + b for a, b in self.texts).encode(), np.uint8
        )


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
