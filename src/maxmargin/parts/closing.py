"""Further outputs of a search over scale, for structures over parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.bounds.closing import Ranked, best_ranked, tangent_scale
from maxmargin.core.codes import Answers
from maxmargin.parts.examples import PartExamples

#: Maximum number of further outputs of an example.
MOST_RANKED = 64
_ONLY = np.zeros(1, np.int64)


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
    scores, found = one.scores(w, _ONLY), one.empty_answers()
    for code, _ in islice(one.ranked(scores, scale), MOST_RANKED):
        found.codes[:] = code
        one.judge(scores, _ONLY, found)
        yield Ranked(float(found.rises[0]), float(found.losses[0]), code)
