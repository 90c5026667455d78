"""The pairs of one list that are most violated in their order, counted in O(n log n), as compiled functions.

- `swapped_pairs(scores, order, grades, n_grades, margin, lower, higher)`: any number of grades.
- `swapped_two_grades(relevant, others, margin, relevant_swaps, other_swaps)`: relevant and other items, sorted, O(n).
- `order_pairs(scores, grades, n_grades, margin, lower, higher)`: the same for the items of one list as they come.

A pair (i, j) with grade_i > grade_j is in the right order if i comes before j. Swapping it raises the score by
s_j − s_i and the loss by 1, so with the loss multiplied by `margin` it is swapped if s_i − margin < s_j; each pair
decides for itself, and the decisions form an order. Sums over pairs become sums over items:

    loss = Σ_i lower_i = Σ_i higher_i    rise = Σ_i (higher_i − lower_i) s_i    plane = Σ_i (lower_i − higher_i) x_i

where item i is swapped with lower_i items of lower and higher_i items of higher grades. All of these are to be
multiplied by the weight of a pair, for example 1 / (number of pairs), if pairs have one.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit


@inlined
def add_grade(counts, grade):
    """Count one more item of this grade in a Fenwick tree (from 0)."""
    at = grade + 1
    while at < len(counts):
        counts[at] += 1
        at += at & -at


@inlined
def count_below(counts, grade):
    """Return how many counted items have a lower grade."""
    total, at = 0, grade
    while at > 0:
        total += counts[at]
        at -= at & -at
    return total


@jit
def swapped_pairs(scores, order, grades, n_grades, margin, lower, higher):
    """Write with how many items of lower and of higher grades each item is swapped; return loss and rise.

    `order` sorts the scores in ascending order; `grades` are integers from 0 to n_grades − 1.
    """
    n, counts = len(order), np.zeros(n_grades + 1, np.int64)
    reached = n
    for r in range(n):
        i = order[n - 1 - r]
        while reached > 0 and scores[i] - margin < scores[order[reached - 1]]:
            reached -= 1
            add_grade(counts, grades[order[reached]])
        lower[i] = count_below(counts, grades[i])
    counts[:] = 0
    reached = 0
    for r in range(n):
        j = order[r]
        while reached < n and scores[order[reached]] - margin < scores[j]:
            add_grade(counts, grades[order[reached]])
            reached += 1
        higher[j] = reached - count_below(counts, grades[j] + 1)
    loss, rise = 0, 0.0
    for i in range(n):
        loss += lower[i]
        rise += (higher[i] - lower[i]) * scores[i]
    return float(loss), rise


@jit
def swapped_two_grades(relevant, others, margin, relevant_swaps, other_swaps):
    """Write with how many items of the other kind each item is swapped; both lists of scores are descending."""
    q = 0
    for k in range(len(relevant)):
        while q < len(others) and relevant[k] - margin < others[q]:
            q += 1
        relevant_swaps[k] = q
    p = len(relevant)
    for r in range(len(others)):
        j = len(others) - 1 - r
        while p > 0 and relevant[p - 1] - margin < others[j]:
            p -= 1
        other_swaps[j] = len(relevant) - p


@jit
def order_pairs(scores, grades, n_grades, margin, lower, higher):
    """Sort the items of one list and count their swapped pairs (`swapped_pairs`); return loss and rise."""
    order = np.argsort(scores, kind="mergesort")
    return swapped_pairs(scores, order, grades, n_grades, margin, lower, higher)
