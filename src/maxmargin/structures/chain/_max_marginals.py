"""Max-marginals of linear chains: the best score of a labelling that has a given label at a given token.

    m[t, k] = max_{ŷ: ŷ_t = k} w·Ψ(x, ŷ)

Arguments are those of `structures.chain._jit`.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.structures.chain._jit import FORBIDDEN, GROUP, MERGED, add_best_predecessors, padded_pairs


@inlined
def transposed(pairs):
    """Return the pairs with rows and columns exchanged."""
    out = np.empty((pairs.shape[1], pairs.shape[0]))
    for j in range(pairs.shape[0]):
        for k in range(pairs.shape[1]):
            out[k, j] = pairs[j, k]
    return out


@jit
def max_marginals(spans, scores, pairs, start, end, edges, out):
    """Write m[t, k] of every token: a sweep from the front, then one from the back that adds what follows.

    A label that no allowed labelling has at a token gets −∞. Time O(T K²).
    """
    size = pairs.shape[0]
    ahead, back = padded_pairs(pairs), padded_pairs(transposed(pairs))
    other, best = np.zeros(ahead.shape[0]), np.full((ahead.shape[0] // GROUP + MERGED, size), FORBIDDEN)
    after = np.empty(size)
    for r in range(len(spans) - 1):
        first, last = spans[r], spans[r + 1] - 1
        for t in range(first, last + 1):
            row = out[t]
            for k in range(size):
                row[k] = scores[t, k]
            if t == first:
                for k in range(size):
                    row[k] += start[k]
                continue
            if len(edges) > 0:
                for j in range(size):
                    for k in range(size):
                        ahead[j, k] = pairs[j, k] + edges[t, j * size + k]
            for j in range(size):
                other[j] = out[t - 1, j]
            add_best_predecessors(other, ahead, best, row)
        for t in range(last, first - 1, -1):
            if t == last:
                for k in range(size):
                    after[k] = end[k]
            else:
                if len(edges) > 0:
                    for j in range(size):
                        for k in range(size):
                            back[k, j] = pairs[j, k] + edges[t + 1, j * size + k]
                for k in range(size):
                    other[k] = scores[t + 1, k] + after[k]
                for k in range(size):
                    after[k] = 0.0
                add_best_predecessors(other, back, best, after)
            for k in range(size):
                out[t, k] += after[k]
