"""Sums over no motif and all sites: log-partition, marginals, samples, and sums of features over sites.

Scores are relative to no motif, whose score is 0. Arguments are those of `structures.motif._jit`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.algorithms.log_sums import uniform
from maxmargin.structures.motif._jit import ABSENT


@jit
def site_sums(starts, scores, coefficients, log_partitions, expected_scores, marginals):
    """Write log Z, E[score] and coefficient · P(site) of each example."""
    for r in range(len(starts) - 1):
        top, total, expected = 0.0, 0.0, 0.0
        for p in range(starts[r], starts[r + 1]):
            top = max(top, scores[p])
        for p in range(starts[r], starts[r + 1]):
            marginals[p] = np.exp(scores[p] - top)
            total += marginals[p]
        total += np.exp(-top)
        for p in range(starts[r], starts[r + 1]):
            if marginals[p] > 0.0:
                expected += marginals[p] / total * scores[p]
                marginals[p] *= coefficients[r] / total
        log_partitions[r], expected_scores[r] = top + np.log(total), expected


@jit
def site_samples(starts, scores, seeds, codes):
    """Write the codes of outputs drawn from the distribution of each example, one row for each sample."""
    longest = 0
    for r in range(len(starts) - 1):
        longest = max(longest, starts[r + 1] - starts[r])
    sums, state = np.empty(longest + 1), np.zeros(1, np.uint64)
    for r in range(len(starts) - 1):
        first, n, top = starts[r], starts[r + 1] - starts[r], 0.0
        for p in range(n):
            top = max(top, scores[first + p])
        sums[0], last = np.exp(-top), 0
        for p in range(n):
            weight = np.exp(scores[first + p] - top)
            sums[p + 1] = sums[p] + weight
            if weight > 0.0:
                last = p + 1
        state[0] = seeds[r]
        for m in range(codes.shape[0]):
            drawn, low, high = uniform(state) * sums[n], 0, last
            while low < high:  # the first output whose running sum exceeds what is drawn
                middle = (low + high) // 2
                if sums[middle] > drawn:
                    high = middle
                else:
                    low = middle + 1
            codes[m, r] = low + ABSENT


@jit
def add_sites(ids, starts, values, offsets, length, contexts, blocks, width, tables, background):
    """Add values of sites to the words of their windows, and subtract them from the contexts in their windows.

    `tables` (strands × blocks × words) and `background` are those that scans take.
    """
    strands, n_blocks, longest = tables.shape[0], tables.shape[1], 0
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
    row, covering = np.empty((strands, longest)), np.empty(longest + 1)
    for r in range(len(ids)):
        first, windows = offsets[ids[r]], (starts[r + 1] - starts[r]) // strands
        for p in range(windows + length):
            covering[p] = 0.0
        for h in range(windows):
            for s in range(strands):
                value = values[starts[r] + strands * h + s]
                row[s, h] = value
                covering[h] += value
                covering[h + length] -= value
        for s in range(strands):
            for b in range(n_blocks):
                table, begin = tables[s, b], first + b * width
                for h in range(windows):
                    table[blocks[begin + h]] += row[s, h]
        total = 0.0
        for p in range(windows + length - 1):
            total += covering[p]
            background[contexts[first + p]] -= total
