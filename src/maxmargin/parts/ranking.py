"""Outputs of structures over parts in descending order of their scores, and the best output that has a given part."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from maxmargin._base.ragged import ONLY
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.bounds.remaining_outputs import Ranked, best_ranked, tangent_scale
from maxmargin.core.planes import NO_OUTPUT, Answers
from maxmargin.core.scores import Scores
from maxmargin.parts.examples import Part, PartExamples

Parts = frozenset[Part]


class Candidate(NamedTuple):
    """The best output with all forced parts and no forbidden part."""

    score: float
    code: CodeArray
    counts: dict[Part, float]
    forced: Parts
    forbidden: Parts

    @property
    def parts(self) -> list[Part]:
        """The parts of the output, each once."""
        return list(self.counts)


def best_outputs(examples: PartExamples, w: FloatArray, k: int) -> list[tuple[CodeArray, float]]:
    """Return the codes of the k best outputs of a single example with their scores, best first.

    Fewer are returned if there are fewer.
    """
    return list(islice(examples.ranked(examples.scores(w, ONLY), 0.0), k))


def ranked_outputs(examples: PartExamples, scores: list[Scores]) -> Iterator[tuple[CodeArray, float]]:
    """Yield the codes of all outputs of a single example with their scores, best first.

    After an output is found, the remaining outputs are partitioned by its parts: outputs without its first part,
    outputs with the first but without the second, and so on. The best output of each class is one argmax of
    `PartExamples.restricted` scores.
    """
    waiting: list[tuple[float, int, Candidate]] = []
    number, classes = count(), iter([(Parts(), Parts())])
    while True:
        for forced, forbidden in classes:
            candidate = best_within(examples, scores, forced, forbidden)
            if candidate is not None:
                heapq.heappush(waiting, (-candidate.score, next(number), candidate))
        if not waiting:
            return
        best = heapq.heappop(waiting)[2]
        yield best.code, best.score
        classes = _without(examples, best)


def _without(examples: PartExamples, best: Candidate) -> Iterator[tuple[Parts, Parts]]:
    """Yield classes (forced, forbidden) that partition the class of `best` without `best` itself."""
    forced, forbidden = best.forced, best.forbidden
    blocks = range(len(examples.blocks)) if examples.deciding is None else examples.deciding
    for part in best.parts:
        if part[0] in blocks and part not in forced:
            yield forced, forbidden | {part}
            forced = forced | {part}
    if examples.nested:
        every = ((b, p) for b in blocks for p in range(int(examples.n_parts[b][0])))
        for part in every:
            if part not in forced and part not in forbidden:
                yield forced | {part}, forbidden
                forbidden = forbidden | {part}


def best_within(examples: PartExamples, scores: list[Scores], forced: Parts, forbidden: Parts) -> Candidate | None:
    """Return the best output with all parts of `forced` and none of `forbidden`; None if there is none."""
    codes = np.zeros(int(examples.code_offsets[-1]), np.int32)
    examples.argmax(examples.restricted(scores, forced, forbidden), ONLY, codes)
    if len(codes) and codes[0] == NO_OUTPUT:
        return None
    rows = examples.parts(ONLY, codes)
    counts: dict[Part, float] = {}
    for b, row in enumerate(rows):
        for p, c in zip(row.indices.tolist(), row.values.tolist(), strict=True):
            counts[b, p] = counts.get((b, p), 0.0) + c
    if not forced.issubset(counts) or not forbidden.isdisjoint(counts):
        return None
    total = np.zeros(1)
    for row, s in zip(rows, scores, strict=True):
        s.add_totals(row, total)
    return Candidate(float(total[0]), codes, counts, forced, forbidden)


def scores_by_forcing(example: PartExamples, scores: list[Scores]) -> list[FloatArray] | None:
    """Return m_p = max_{ŷ: c_p(ŷ) > 0} Σ c(ŷ) s of a single example, an array over the parts of each block.

    Each part is forced in turn (`PartExamples.restricted`), so an example of P parts takes at most P + 1 argmaxes.
    Parts that no output has get −∞. If argmaxes are not exact, the scores are lower bounds. Parts that an output may
    have several times are an error, since a bonus counts as often as its part. None if there is no output.
    """
    forced = [np.full(int(n_parts[0]), -np.inf) for n_parts in example.n_parts]
    best = best_within(example, scores, Parts(), Parts())
    if best is None:
        return None
    for b, p in best.parts:
        forced[b][p] = best.score
    settled = set(best.parts)
    for b, block in enumerate(scores):
        for p in range(len(forced[b])):
            if (b, p) in settled or block.values[p] == -np.inf:
                continue
            candidate = best_within(example, scores, Parts([(b, p)]), Parts())
            if candidate is None:
                continue
            if candidate.counts.get((b, p), 1.0) > 1.0:
                raise TypeError(
                    f"{type(example.structure).__name__} has no decision scores: an output may have part {p} of block "
                    f"{b} several times"
                )
            forced[b][p] = candidate.score
    return forced


#: Maximum number of further outputs of an example.
MOST_RANKED = 64


def close_by_ranking(
    examples: PartExamples, w: FloatArray, ids: IntArray, bound: Bound, answers: Answers, upper: FloatArray
) -> FloatArray:
    """Improve answers and upper bounds as `Examples.close` does, with outputs ranked by rise + scale · loss."""
    closed = upper.copy()
    for r, i in enumerate(ids.tolist()):
        rise, loss = float(answers.rises[i]), float(answers.losses[i])
        scale, one = tangent_scale(bound, rise, loss), examples.take(ids[r : r + 1])
        known = max(float(bound.violation(rise, loss)), 0.0)
        best, closed[r] = best_ranked(bound, _ranking(one, w, scale), scale, known, upper[r], complete=False)
        if best is not None:
            answers.codes[examples.code_offsets[i] : examples.code_offsets[i + 1]] = best.code
            examples.judge(examples.scores(w, ids[r : r + 1]), ids[r : r + 1], answers)
    return closed


def _ranking(one: PartExamples, w: FloatArray, scale: float) -> Iterator[Ranked]:
    """Yield the outputs of a single example in descending order of rise + scale · loss."""
    scores, answers = one.scores(w, ONLY), one.empty_answers()
    for code, _ in islice(one.ranked(scores, scale), MOST_RANKED):
        answers.codes[:] = code
        one.judge(scores, ONLY, answers)
        yield Ranked(float(answers.rises[0]), float(answers.losses[0]), code)
