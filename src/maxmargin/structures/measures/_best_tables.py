"""The contingency table of greatest rise + loss, and the rows that belong to it.

For a true positives and b false positives, the best labels are the a positive and the b negative rows of the highest
scores. So all that counts is the table (a, b), and

    worth(a, b) = A[a] + B[b] + loss(a, b),

where A and B are sums of the first scores of `positive` and `negative`, both in descending order. Ties go to the first
table in the order of a, then b.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit


@jit
def best_fraction(first, stop, positive_sums, negative, negative_sums, unit, miss, hit, base):
    """Return worth, a and b of the best table with a in [first, stop), for a loss that is a fraction.

    loss(a, b) = unit · (b + miss · (p − a)) / (b + hit · a + base) is concave in b, so bisection finds the best b of
    each a.
    """
    p, q = len(positive_sums) - 1, len(negative)
    best, best_a, best_b = -np.inf, 0, 0
    for a in range(first, stop):
        above, below = miss * (p - a), hit * a + base
        low, high = 0, q
        while low < high:
            middle = (low + high) // 2
            gain = unit * (below - above) / ((middle + below) * (middle + 1.0 + below))
            if negative[middle] + gain > 0.0:
                low = middle + 1
            else:
                high = middle
        worth = positive_sums[a] + negative_sums[low] + unit * (low + above) / (low + below)
        if worth > best:
            best, best_a, best_b = worth, a, low
    return best, best_a, best_b


@jit
def best_correlation(first, stop, positive_sums, negative_sums, peak, roots, unit):
    """Return worth, a and b of the best table with a in [first, stop), for Matthews' correlation.

    loss(a, b) = unit · (1 − (a q − b p) · roots[a + b]). It is between 0 and 2 unit, and B rises up to b = peak and
    falls then, so only tables near the peak can be better than the best one so far.
    """
    p, q = len(positive_sums) - 1, len(negative_sums) - 1
    best, best_a, best_b = -np.inf, 0, 0
    for a in range(first, stop):
        need = best - positive_sums[a] - 2.0 * unit
        if negative_sums[peak] < need:
            continue
        low, high = 0, peak
        while low < high:
            middle = (low + high) // 2
            if negative_sums[middle] >= need:
                high = middle
            else:
                low = middle + 1
        begin, end, last = low, q, peak
        while last < end:
            middle = (last + end + 1) // 2
            if negative_sums[middle] >= need:
                last = middle
            else:
                end = middle - 1
        here, at = -np.inf, begin
        for step in range(last - begin + 1):
            b = begin + step
            worth = negative_sums[b] + unit * (1.0 - (a * float(q) - b * float(p)) * roots[a + b])
            if worth > here:
                here, at = worth, b
        if positive_sums[a] + here > best:
            best, best_a, best_b = positive_sums[a] + here, a, at
    return best, best_a, best_b


@jit
def mark_best(scores, labels, limits, at_limits, code):
    """Write 1 for rows above the limit of their label (0 or 1), and for the first `at_limits` rows at it, else 0."""
    left = at_limits.copy()
    for i in range(len(scores)):
        label = labels[i]
        code[i] = 0
        if scores[i] > limits[label]:
            code[i] = 1
        elif scores[i] == limits[label] and left[label] > 0:
            code[i] = 1
            left[label] -= 1
