"""The k best outputs of any structure over parts, by forbidding and forcing parts (Lawler 1972)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count, islice
from typing import NamedTuple

import numpy as np

from maxmargin._types import CodeArray, FloatArray
from maxmargin.core.codes import NO_OUTPUT
from maxmargin.core.scores import Scores
from maxmargin.parts import _kernels as kernels
from maxmargin.parts.examples import Part, PartExamples

Parts = frozenset[Part]
_ONLY = np.zeros(1, np.int64)


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
    return list(islice(examples.ranked(examples.scores(w, _ONLY), 0.0), k))


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
    examples.argmax(examples.restricted(scores, forced, forbidden), _ONLY, codes)
    if len(codes) and codes[0] == NO_OUTPUT:
        return None
    rows = examples.parts(_ONLY, codes)
    counts: dict[Part, float] = {}
    for b, row in enumerate(rows):
        for p, c in zip(row.indices.tolist(), row.values.tolist(), strict=True):
            counts[b, p] = counts.get((b, p), 0.0) + c
    if not forced.issubset(counts) or not forbidden.isdisjoint(counts):
        return None
    total = np.zeros(1)
    for row, s in zip(rows, scores, strict=True):
        kernels.count_dots(row.indptr, row.indices, row.values, s.starts, s.values, 1.0, total)
    return Candidate(float(total[0]), codes, counts, forced, forbidden)
