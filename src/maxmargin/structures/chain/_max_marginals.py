"""Max-marginals of linear chains: the best score of a labelling that has a given label at a given token.

    m[t, k] = max_{ŷ: ŷ_t = k} w·Ψ(x, ŷ)

Arguments are those of `structures.chain._kernels`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import kernel
from maxmargin.structures.chain._kernels import FORBIDDEN, transition


@kernel
def max_marginals(spans, scores, pairs, start, end, edges, out):
    """Write m[t, k] of every token: a sweep from the front, then one from the back that adds what follows.

    A label that no allowed labelling has at a token gets −∞. Time O(T K²).
    """
    size = pairs.shape[0]
    behind, before = np.empty(size), np.empty(size)
    for r in range(len(spans) - 1):
        first, last = spans[r], spans[r + 1] - 1
        for t in range(first, last + 1):
            for k in range(size):
                best = start[k]
                if t > first:
                    best = FORBIDDEN
                    for j in range(size):
                        best = max(best, out[t - 1, j] + transition(pairs, edges, t, j, k))
                out[t, k] = best + scores[t, k]
        for t in range(last, first - 1, -1):
            for k in range(size):
                best = end[k]
                if t < last:
                    best = FORBIDDEN
                    for j in range(size):
                        best = max(best, transition(pairs, edges, t + 1, k, j) + scores[t + 1, j] + behind[j])
                before[k] = best
            for k in range(size):
                behind[k] = before[k]
                out[t, k] += before[k]
