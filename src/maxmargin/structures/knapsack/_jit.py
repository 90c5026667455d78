"""Compiled function for knapsacks with integer weights: a table over capacities (Bellman 1957)."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.core.planes import NO_OUTPUT


@jit
def best_choices(ids, scores, starts, weights, offsets, capacities, codes):
    """Find the items of greatest total score within the capacity for each example of ids; ties go to the fewest items.

    Items of score −∞ are forbidden, items of score +∞ required.
    """
    for r in range(len(ids)):
        i = ids[r]
        a, n = offsets[i], offsets[i + 1] - offsets[i]
        code, room = codes[a : a + n], capacities[i]
        worth, left = np.empty(n, np.bool_), 0
        for j in range(n):
            score = scores[starts[r] + j]
            code[j], worth[j] = 0, score > 0.0
            if score == np.inf:
                code[j], worth[j] = 1, False
                room -= weights[a + j]
            elif worth[j]:
                left += weights[a + j]
        if room < 0:
            code[0] = NO_OUTPUT
            continue
        room = min(room, left)
        best, taken = np.zeros(room + 1), np.zeros((n, room + 1), np.bool_)
        for j in range(n):
            if worth[j]:
                score, weight = scores[starts[r] + j], weights[a + j]
                for c in range(room, weight - 1, -1):
                    total = best[c - weight] + score
                    if total > best[c]:
                        best[c], taken[j, c] = total, True
        c = room
        for j in range(n - 1, -1, -1):
            if worth[j] and taken[j, c]:
                code[j] = 1
                c -= weights[a + j]
