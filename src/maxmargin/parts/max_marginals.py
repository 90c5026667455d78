"""Max-marginals of any structure over parts: the best score of an output that has a given part."""

from __future__ import annotations

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.core.errors import Place
from maxmargin.core.structure import StructureError
from maxmargin.parts.examples import PartExamples
from maxmargin.parts.topk import Parts, best_within

_ONLY = np.zeros(1, np.int64)


def forced_part_scores(examples: PartExamples, w: FloatArray, ids: IntArray) -> list[list[FloatArray]]:
    """Return m_p = max_{ŷ: c_p(ŷ) > 0} w·Ψ(x, ŷ) of each example of ids, an array over the parts of each block.

    Each part is forced in turn by a bonus that outweighs all other scores, so that an example of P parts takes at most
    P + 1 argmaxes. Parts that no output has get −∞. If argmaxes are not exact, the scores are lower bounds. Parts that
    an output may have several times are an error, since a bonus counts as often as its part.
    """
    return [_of_one(examples.take(ids[r : r + 1]), w, int(i)) for r, i in enumerate(ids.tolist())]


def _of_one(example: PartExamples, w: FloatArray, position: int) -> list[FloatArray]:
    scores = example.scores(w, _ONLY)
    found = [np.full(int(n_parts[0]), -np.inf) for n_parts in example.n_parts]
    best = best_within(example, scores, Parts(), Parts())
    if best is None:
        raise StructureError.at(Place("X", position), "the allowed parts form no output")
    for b, p in best.parts:
        found[b][p] = best.score
    settled = set(best.parts)
    for b, block in enumerate(scores):
        for p in range(len(found[b])):
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
            found[b][p] = candidate.score
    return found
