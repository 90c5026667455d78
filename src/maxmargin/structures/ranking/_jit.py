"""Orders of the documents of each query, as compiled functions over a batch.

Common arguments: `ids` are the queries of a batch; `offsets` are the offsets of their documents; `starts` are the first
scores of each query of the batch in `scores`; `code_offsets` are the offsets of their codes.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.algorithms.average_precision import average_precision_loss, insert_others, write_swaps
from maxmargin.algorithms.pairs import order_pairs


@jit
def sort_documents(ids, offsets, code_offsets, starts, scores, gains, scales, complete, codes):
    """Write the documents with the greatest score − scale · gain, best first; ties go to the greater score.

    Scores may be too small to change scale · gain. If `complete` is true, documents of greater gain come first, and the
    score decides among equal gains. Of documents that are equal in both, the first one in x comes first.
    """
    for r in range(len(ids)):
        i = ids[r]
        first, at = offsets[i], code_offsets[i]
        n, m = offsets[i + 1] - first, code_offsets[i + 1] - at
        own = -scores[starts[r] : starts[r] + n]
        order = np.argsort(own, kind="mergesort")
        if len(gains) > 0 and (complete or scales[r] != 0.0):
            values = np.empty(n)
            for p in range(n):
                gain = gains[first + order[p]]
                values[p] = -gain if complete else own[order[p]] + scales[r] * gain
            order = order[np.argsort(values, kind="mergesort")]
        for p in range(m):
            codes[at + p] = np.int32(order[p])


@jit
def judge_positions(
    ids, offsets, code_offsets, starts, scores, gains, weights, discounts, truths, codes, losses, rises
):
    """Write losses and rises of rankings, term by term so that equal gains and scores cancel exactly."""
    for r in range(len(ids)):
        i = ids[r]
        first, at, loss, rise = offsets[i], code_offsets[i], 0.0, 0.0
        for p in range(code_offsets[i + 1] - at):
            true, predicted = truths[at + p], codes[at + p]
            loss += discounts[p] * (gains[first + true] - gains[first + predicted])
            rise += weights[p] * (scores[starts[r] + predicted] - scores[starts[r] + true])
        losses[i], rises[i] = max(loss, 0.0), rise


@jit
def order_queries(
    ids, offsets, code_offsets, starts, scores, grades, n_grades, units, precision, scales, codes, losses, rises
):
    """Write how many pairs of each document are swapped in the best order: lower, then higher documents.

    The loss of a query is 1 − AP if `precision` is true (grade 1 is relevant), otherwise the share of swapped pairs.
    """
    for r in range(len(ids)):
        i = ids[r]
        first, at = offsets[i], code_offsets[i]
        n = offsets[i + 1] - first
        lower, higher = np.zeros(n, np.int64), np.zeros(n, np.int64)
        own, own_grades = scores[starts[r] : starts[r] + n], grades[first : first + n]
        if precision:
            loss, rise = order_by_precision(own, own_grades, units[i], scales[r], lower, higher)
        else:
            loss, rise = order_pairs(own, own_grades, n_grades[i], scales[r], lower, higher)
            loss, rise = loss * units[i], rise * units[i]
        losses[i], rises[i] = loss, rise
        for j in range(n):
            codes[at + 2 * j], codes[at + 2 * j + 1] = np.int32(lower[j]), np.int32(higher[j])


@jit
def order_by_precision(scores, grades, unit, scale, lower, higher):
    """Write with how many items of the other grade each item is swapped; return 1 − AP and the rise."""
    order = np.argsort(-scores, kind="mergesort")
    n_relevant = grades.sum()
    relevant, others = np.empty(n_relevant, np.int64), np.empty(len(scores) - n_relevant, np.int64)
    p, q = 0, 0
    for j in order:
        if grades[j] > 0:
            relevant[p] = j
            p += 1
        else:
            others[q] = j
            q += 1
    ahead, swaps = np.empty(q, np.int64), np.zeros(len(scores), np.int64)
    insert_others(scores[relevant], scores[others], unit, scale, ahead)
    write_swaps(relevant, others, ahead, swaps)
    rise = 0.0
    for j in range(len(scores)):
        if grades[j] > 0:
            lower[j] = swaps[j]
            rise -= swaps[j] * scores[j]
        else:
            higher[j] = swaps[j]
            rise += swaps[j] * scores[j]
    return average_precision_loss(ahead, n_relevant), unit * rise
