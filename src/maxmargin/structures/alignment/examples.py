"""Encoded pairs of sequences and their true alignments."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.ragged import offsets_among, offsets_of
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.core.planes import Answers, Planes
from maxmargin.core.scores import Scores
from maxmargin.features.biology.aligned import N_ORDERS, strings_of_code
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.structures.alignment import _jit, _log_sums, _sums
from maxmargin.structures.alignment.cells import CellFeatures, Pairs
from maxmargin.structures.alignment.recursion import N_BUFFERS, n_words

_NOTHING = Scores(np.zeros(0), np.zeros(1, np.int64))


class AlignmentExamples(PartExamples):
    """Cells, positions opposite gaps and, in modes with free ends, unaligned positions of all pairs.

    Every position of both sequences has exactly one part in each output. The loss is a sum over parts whose costs
    follow from the truth, so they are never stored.

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
    cores : list of array of int32 or None
        The true alignments without the matches that the loss does not count; None if it counts all.
    """

    data: ClassVar[dict[str, str]] = {"cores": "code_offsets"}
    derived: ClassVar[dict[str, str]] = {"texts": ""}
    smallest_chunk = 8
    summable = True
    risky = (0,)

    def __init__(
        self,
        structure: Any,
        blocks: list[Block],
        truths: list[CodeArray] | None,
        settings: tuple[int, int, int],
        texts: list[tuple[str, str]],
        cores: list[CodeArray] | None = None,
    ) -> None:
        self.texts = texts
        cells = blocks[0]
        assert isinstance(cells, CellFeatures)
        code_offsets = offsets_of(cells.pairs.n_rows + N_ORDERS)
        super().__init__(structure, blocks, code_offsets, truths, [None] * len(blocks), settings)
        self.cores = self.truths if cores is None else np.concatenate([*cores, np.zeros(0, np.int32)])

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

    def pairs_of_strings(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the letters of each pair, and its true alignment."""
        truths = np.split(self.truths, self.code_offsets[1:-1])
        return self.texts, [strings_of_code(y, *x) for x, y in zip(self.texts, truths, strict=True)]

    def _most_parts(self) -> list[IntArray]:
        n, m = self.pairs.n_rows, self.pairs.n_cols
        return [np.minimum(n, m), n + m, n + m][: len(self.blocks)]

    # ------------------------------------------------------------------ argmax

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        cells, gaps = scores[:2]
        ends = scores[2] if len(scores) > 2 else _NOTHING
        gaps, ends = self._finite(cells, gaps, ends)
        n, m = (int(size[ids].max(initial=0)) for size in (self.pairs.n_rows, self.pairs.n_cols))
        _jit.best_alignments(
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
        low = -4.0 * (most + 1) * largest or -1.0  # relative: −1 would round small scores away
        return tuple(Scores(np.maximum(s.values, low), s.starts) for s in (gaps, ends))  # type: ignore[return-value]

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        cells, gaps = self.blocks[:2]
        assert isinstance(cells, CellFeatures)
        n, m = cells.largest(ids)
        mode, loss, tolerance = map(int, self.settings)
        gap_scores, match_weights = gaps.scores(w[cells.dim :], ids), cells.layout.spread(w)
        _jit.decode_pairs(
            ids, *self.pairs, *cells.templates, match_weights, *cells.layout.scratch(n, m), *gap_scores, gaps.n_outputs,
            mode, loss, tolerance, scales, self.truths, self.cores, self.known, self.code_offsets, np.empty(n * m),
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
        _jit.add_costs(
            ids, scales, self.cores, self.code_offsets, self.pairs.n_cols, loss, tolerance,
            self.blocks[1].n_outputs, *changed[0], *changed[1], *ends,
        )  # fmt: skip
        return changed

    def judge_losses(self, ids: IntArray, answers: Answers) -> None:
        losses = np.zeros(len(ids))
        _, loss, tolerance = map(int, self.settings)
        _jit.losses_of_codes(
            ids, answers.codes, self.cores, self.code_offsets, self.pairs.n_cols, loss, tolerance, losses
        )
        answers.losses[ids] = losses

    # ------------------------------------------------------------------ sums over alignments

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        cells, *others = [*scores, _NOTHING][:3]
        runs = self._batches(ids)
        most = max((int(cells.starts[run.stop] - cells.starts[run.start]) for run in runs), default=0)
        tables, buffers, exps = self._room(ids, most)
        totals = np.empty((_sums.N_TOTALS, buffers.shape[1]))
        for run in runs:  # few enough pairs for their exponentials to stay in the cache
            some = slice(cells.starts[run.start], cells.starts[run.stop])
            with np.errstate(over="ignore"):  # large scores are summed in logarithms
                np.exp(cells.values[some], out=exps[: some.stop - some.start])
            rest = [array for block in others for array in (block.values, block.starts[run.start : run.stop + 1])]
            _sums.sum_alignments(
                ids[run], self.pairs.n_rows, self.pairs.n_cols, cells.values[some],
                cells.starts[run.start : run.stop + 1] - some.start, exps, *rest, self.blocks[1].n_outputs, self.mode,
                coefficients[run], tables, buffers, totals, log_partitions[run], expected_scores[run],
                marginals[0][some], *[*marginals[1:], _NOTHING.values][:2],
            )  # fmt: skip

    def _room(self, ids: IntArray, n_exps: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return space for forward sums of the largest pair of ids, and for exponentials."""
        n, m = (int(size[ids].max(initial=0)) for size in (self.pairs.n_rows, self.pairs.n_cols))
        size = (n + 1) * (m + 1)
        room = self._scratch.room(3 * size + n_exps)
        return room[: 3 * size].reshape(3, size), np.empty((_sums.N_SUM_BUFFERS, max(n, m) + 5)), room[3 * size :]

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        ends = offsets_among(ids, self.code_offsets)
        codes = np.full((n, int(ends[-1])), -1, np.int32)
        for order in range(N_ORDERS):
            codes[:, ends[:-1] + order] = 0
        cells, gaps, free = [*scores, _NOTHING][:3]
        _log_sums.sample_alignments(
            ids, self.pairs.n_rows, self.pairs.n_cols, *cells, *gaps, *free, self.blocks[1].n_outputs, self.mode, seeds,
            *self._room(ids)[:2], ends, codes,
        )  # fmt: skip
        return codes

    # ------------------------------------------------------------------ parts

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        n, m = self.pairs.n_rows[ids], self.pairs.n_cols[ids]
        rooms = int(np.minimum(n, m).sum()), int((n + m).sum()), int((n + m).sum())
        lists = [(np.zeros(len(ids) + 1, np.int64), np.empty(room, np.int64)) for room in rooms]
        _jit.parts_of_codes(
            ids, self.code_offsets, self.pairs.n_cols, self.blocks[1].n_outputs, self.mode, codes, *lists[0],
            *lists[1], *lists[2],
        )  # fmt: skip
        return [counted_once(ptr, parts[: ptr[-1]]) for ptr, parts in lists[: len(self.blocks)]]

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

    def arranged(self, blocks: list[FloatArray]) -> dict[str, FloatArray]:
        """Return "matches" [row, column], "gaps" by position of both sequences (by kind if affine), and "ends"."""
        n, m = int(self.pairs.n_rows[0]), int(self.pairs.n_cols[0])
        gaps = blocks[1].reshape(n + m, self.blocks[1].n_outputs)
        named = {"matches": blocks[0].reshape(n, m), "gaps": gaps if gaps.shape[1] > 1 else gaps.ravel()}
        return named | dict(zip(["ends"], blocks[2:], strict=False))

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

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        texts = "\n".join(a + "\t" + b for a, b in self.texts).encode()
        return *super().digest_arrays(), np.frombuffer(texts, np.uint8)


def _largest(values: FloatArray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
