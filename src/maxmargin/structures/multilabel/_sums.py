"""Sums over all sets of labels: log-partition, marginals and samples.

If pairs form a forest, sums run from the leaves up and probabilities from the roots down, in logarithms. Otherwise the
2^L sets are enumerated, as products of exponentials if these neither overflow nor vanish, and sums over all sets that
have some labels are taken together. Arguments are those of `structures.multilabel._jit`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import log_add, uniform
from maxmargin.structures.multilabel._jit import fill_pairs

#: Greatest logarithm of the weight of a set, up or down, for weights that are products of exponentials.
MOST_RANGE = 600.0


@inlined
def logistic(x):
    """Return eˣ / (1 + eˣ)."""
    if x >= 0.0:
        return 1.0 / (1.0 + np.exp(-x))
    share = np.exp(x)
    return share / (1.0 + share)


@inlined
def pair_score(pair_scores, start, pair):
    """Return the score of the pair of a label and its parent, 0 for roots."""
    return pair_scores[start + pair] if pair >= 0 else 0.0


@inlined
def sum_up(scores, start, pair_scores, pair_start, order, parent, pair_of, absent, present):
    """Write the logarithms of sums over the labels below and including each label; the last ones are the total."""
    n_labels = len(order)
    for k in range(n_labels):
        absent[k], present[k] = 0.0, scores[start + k]
    absent[n_labels], present[n_labels] = 0.0, -np.inf
    for k in order:
        p = parent[k]
        both = pair_score(pair_scores, pair_start, pair_of[k])
        without = log_add(absent[k], present[k])
        absent[p] += without
        present[p] += without if both == 0.0 else log_add(absent[k], present[k] + both)


@jit
def forest_sums(
    scores, starts, pair_scores, pair_starts, order, parent, pair_of, coefficients, log_partitions, expected_scores,
    labels, pairs,
):  # fmt: skip
    """Write log Z and E[score] of each example, whose pairs form a forest; add coefficient · marginals."""
    n_labels = len(order)
    absent, present, share = np.empty(n_labels + 1), np.empty(n_labels + 1), np.zeros(n_labels + 1)
    for r in range(len(starts) - 1):
        at, pair_at, expected = starts[r], pair_starts[r], 0.0
        sum_up(scores, at, pair_scores, pair_at, order, parent, pair_of, absent, present)
        for q in range(n_labels - 1, -1, -1):
            k = order[q]
            p, odds, pair = parent[k], present[k] - absent[k], pair_of[k]
            both = pair_score(pair_scores, pair_at, pair)
            together = share[p] * logistic(odds + both)
            share[k] = together + (1.0 - share[p]) * logistic(odds)
            if share[k] > 0.0:
                labels[at + k] += coefficients[r] * share[k]
                expected += share[k] * scores[at + k]
            if pair >= 0 and together > 0.0:
                pairs[pair_at + pair] += coefficients[r] * together
                expected += together * both
        log_partitions[r], expected_scores[r] = absent[n_labels], expected


@jit
def forest_samples(scores, starts, pair_scores, pair_starts, order, parent, pair_of, seeds, codes):
    """Write sets drawn from the distribution of each example, one row of `codes` for each sample."""
    n_labels = len(order)
    absent, present = np.empty(n_labels + 1), np.empty(n_labels + 1)
    state = np.zeros(1, np.uint64)
    for r in range(len(starts) - 1):
        sum_up(scores, starts[r], pair_scores, pair_starts[r], order, parent, pair_of, absent, present)
        state[0] = seeds[r]
        for m in range(codes.shape[0]):
            row = codes[m, r * n_labels : (r + 1) * n_labels]
            for q in range(n_labels - 1, -1, -1):
                k = order[q]
                p, odds = parent[k], present[k] - absent[k]
                if p < n_labels and row[p] > 0:
                    odds += pair_score(pair_scores, pair_starts[r], pair_of[k])
                row[k] = 1 if uniform(state) < logistic(odds) else 0


@inlined
def multiply_up(scores, start, first, n, products):
    """Write exp(Σ scores) of all sets of the n labels from `first` on."""
    products[0] = 1.0
    for k in range(n):
        factor, half = np.exp(scores[start + first + k]), 1 << k
        for rest in range(half):
            products[half + rest] = products[rest] * factor


@inlined
def weigh_sets(n_labels, scores, start, table, factors, spread, low, high, weights):
    """Write weights of all sets, proportional to exp(score), and return the logarithm of what they are divided by.

    `table` has the scores of the pairs of each set, `factors` their exponentials and `spread` the greatest size.
    """
    low_bits = n_labels // 2
    n_low, n_high = 1 << low_bits, 1 << (n_labels - low_bits)
    for k in range(n_labels):
        spread += abs(scores[start + k])
    if spread <= MOST_RANGE:
        multiply_up(scores, start, 0, low_bits, low)
        multiply_up(scores, start, low_bits, n_labels - low_bits, high)
        for h in range(n_high):
            first, factor = h * n_low, high[h]
            for q in range(n_low):
                weights[first + q] = factor * low[q] * factors[first + q]
        return 0.0
    weights[0] = 0.0
    for k in range(n_labels):
        half = 1 << k
        for rest in range(half):
            weights[half + rest] = weights[rest] + scores[start + k]
    top = -np.inf
    for s in range(len(weights)):
        weights[s] += table[s]
        top = max(top, weights[s])
    for s in range(len(weights)):
        weights[s] = np.exp(weights[s] - top)
    return top


@inlined
def exponentiate(table, factors):
    """Write the exponentials of scores of pairs if they are of moderate size; return the greatest size."""
    spread = 0.0
    for s in range(len(table)):
        spread = max(spread, abs(table[s]))
    if spread <= MOST_RANGE:
        for s in range(len(table)):
            factors[s] = np.exp(table[s])
    return spread


@jit
def set_sums(
    n_labels, scores, starts, pair_scores, pair_starts, coefficients, log_partitions, expected_scores, labels, pairs
):
    """Write log Z and E[score] of each example with all pairs; add coefficient · marginals."""
    size = 1 << n_labels
    table, factors, weights = np.empty(size), np.empty(size), np.empty(size)
    low, high = np.empty(1 << n_labels // 2), np.empty(1 << (n_labels - n_labels // 2))
    spread = 0.0
    for r in range(len(starts) - 1):
        at, pair_at = starts[r], pair_starts[r]
        if r == 0 or pair_at != pair_starts[r - 1]:
            fill_pairs(n_labels, pair_scores[pair_at:], table)
            spread = exponentiate(table, factors)
        log_z = weigh_sets(n_labels, scores, at, table, factors, spread, low, high, weights)
        # From the last label on: sets with it and one other label, then it is summed out.
        total = 0.0
        for s in range(size):
            total += weights[s]
        expected, pair = 0.0, 0
        for k in range(n_labels - 1, -1, -1):
            half = 1 << k
            for rest in range(half):
                weights[rest] += weights[half + rest]
            # What follows only sums the upper half, whose sets have label k, in place.
            for j in range(k - 1, -1, -1):
                quarter, both = 1 << j, 0.0
                for rest in range(quarter):
                    more = weights[half + quarter + rest]
                    both += more
                    weights[half + rest] += more
                share = both / total
                if share > 0.0:
                    pair = j * (2 * n_labels - j - 1) // 2 + k - j - 1
                    pairs[pair_at + pair] += coefficients[r] * share
                    expected += share * pair_scores[pair_at + pair]
            share = weights[half] / total
            if share > 0.0:
                labels[at + k] += coefficients[r] * share
                expected += share * scores[at + k]
        log_partitions[r], expected_scores[r] = log_z + np.log(total), expected


@jit
def set_samples(n_labels, scores, starts, pair_scores, pair_starts, seeds, codes):
    """Write sets drawn from the distribution of each example, one row of `codes` for each sample."""
    size = 1 << n_labels
    table, factors, weights = np.empty(size), np.empty(size), np.empty(size)
    low, high = np.empty(1 << n_labels // 2), np.empty(1 << (n_labels - n_labels // 2))
    state, spread = np.zeros(1, np.uint64), 0.0
    for r in range(len(starts) - 1):
        if r == 0 or pair_starts[r] != pair_starts[r - 1]:
            fill_pairs(n_labels, pair_scores[pair_starts[r] :], table)
            spread = exponentiate(table, factors)
        weigh_sets(n_labels, scores, starts[r], table, factors, spread, low, high, weights)
        last = 0
        for s in range(size):
            if weights[s] > 0.0:
                last = s
            if s > 0:
                weights[s] += weights[s - 1]
        state[0] = seeds[r]
        for m in range(codes.shape[0]):
            drawn, first, end = uniform(state) * weights[size - 1], 0, last
            while first < end:  # the first set whose running sum exceeds what is drawn
                middle = (first + end) // 2
                if weights[middle] > drawn:
                    end = middle
                else:
                    first = middle + 1
            for k in range(n_labels):
                codes[m, r * n_labels + k] = first >> k & 1
