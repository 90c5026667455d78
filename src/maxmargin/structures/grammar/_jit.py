"""Compiled functions of a grammar that all charts share: arrays, scores of constituents, true constituents, codes.

Spans (i, j) of a sentence of n tokens are numbered row by row, i (2 n − i + 1) / 2 + j − i − 1.

`grammar` is `arrays.Arrays`, packed. `gains` are scores of constituents, of a label on a span; label L belongs to
symbols that are not constituents, whose gain is 0. `spans` holds the scores from which gains are computed
(`set_gains`): tables that all sentences share, those of tokens, and those of single constituents, of the first of a
label on its span, the second, …. The true constituents are `true_label`, with lists of those of each span
(`first_true`, `next_true`). A constituent adds `mu`, and takes away `eta` if it is a true one, so all losses that
are linear in the numbers of constituents and of true constituents are covered.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit

#: Positions of arrays in `arrays.Arrays`, of which `packed` is a concatenation.
(
    KID_PTR, KID_SYMBOL, KID_NODE, FIRST, LAST, DONE_PTR, DONE_SYMBOL, DONE_RULE, UP_PTR, UP_TOP, UP_CHAIN, CHAIN_PTR,
    CHAIN_RULE, CHAIN_SYMBOL, CHAIN_BASE, REPEATS, LABEL, START, LEFT, SIZE, NODE, KID_TAGS, PARENT, ROW, PHRASE, STEP,
    DONE_ROW,
) = range(27)  # fmt: skip
#: Lengths 1, 2, 3, 4, 5 – 7, 8 – 12, 13 – 20 and 21 or more.
N_LENGTHS = 8
#: The base of a glued root of k pieces is GLUED + 1 − k.
GLUED = -2


@inlined
def array_of(grammar, k):
    """Return the array at position k of a packed grammar."""
    return grammar[grammar[k] : grammar[k + 1]]


@inlined
def row_of(n, i):
    """Return the number that is added to j for the number of the span (i, j)."""
    return i * (2 * n - i + 1) // 2 - i - 1


@inlined
def length_bucket(length):
    """Return the bucket of a length ≥ 1."""
    if length < 5:
        return length - 1
    return 4 if length < 8 else 5 if length < 13 else 6 if length < 21 else 7


@inlined
def n_repeats(n, n_labels, own):
    """Return how often a label has a score on the same span; 0 if constituents have no scores of their own."""
    return 2 * len(own) // (n * (n + 1) * n_labels) if len(own) > 0 else 0


@jit
def set_gains(i, j, n, n_labels, spans, mu, gains):
    """Write the score of each label on the span (i, j), and `mu`; the last gain, of no label, stays 0."""
    shapes, at, begin, end, _, tags, n_tags, own = spans
    depth = n_repeats(n, n_labels, own)
    cell = np.uint64((row_of(n, i) + j) * n_labels * depth)
    if depth > 0:
        for label in range(np.uint64(n_labels)):
            gains[label] = mu + own[cell + label]
    else:
        for label in range(n_labels):
            gains[label] = mu
    if len(tags) == 0:
        return
    bucket = length_bucket(j - i)
    outer = at[1] + (tags[i + 1] * n_tags + tags[j]) * n_labels
    around = at[2] + (tags[i] * n_tags + tags[j + 1]) * n_labels
    for label in range(n_labels):
        gain = begin[i * n_labels + label] + end[(j - 1) * n_labels + label]
        if at[1] > at[0]:
            gain += shapes[at[0] + bucket * n_labels + label]
        if at[2] > at[1]:
            gain += shapes[outer + label]
        if at[3] > at[2]:
            gain += shapes[around + label]
        gains[label] += gain


@inlined
def split_gain(i, k, j, label, n_labels, spans):
    """Return the score of a label on (i, j) whose last child begins at k."""
    shapes, at, split = spans[0], spans[1], spans[4]
    gain = split[k * n_labels + label]
    if at[4] > at[3]:
        pair = length_bucket(k - i) * N_LENGTHS + length_bucket(j - k)
        gain += shapes[at[3] + pair * n_labels + label]
    return gain


@jit
def index_truth(n, true_i, true_j, first_true, next_true):
    """Write lists of the true constituents of each span; −1 ends a list."""
    for s in range(n * (n + 1) // 2):
        first_true[s] = -1
    for t in range(len(true_i) - 1, -1, -1):
        s = row_of(n, np.int64(true_i[t])) + true_j[t]
        next_true[t] = first_true[s]
        first_true[s] = t


@inlined
def add_present(t, next_true, true_label, change, present):
    """Add `change` to the number of true constituents of each label in the list that begins with t."""
    while t >= 0:
        present[true_label[t]] += change
        t = next_true[t]


@jit
def repeated_gain(c, i, j, n, grammar, own, eta, present):
    """Return what a chain and its base on (i, j) gain as their labels are not all the first ones of their span.

    First ones have their own scores, and fewer of the constituents may be true ones than have a true label.
    """
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    chain_base, label, n_labels = array_of(grammar, CHAIN_BASE), array_of(grammar, LABEL), len(present) - 1
    depth, gain = n_repeats(n, n_labels, own), 0.0
    for r in range(chain_ptr[c], chain_ptr[c + 1] + 1):
        a, before = label[chain_symbol[r] if r < chain_ptr[c + 1] else chain_base[c]], 0
        if a == n_labels:
            continue
        for q in range(chain_ptr[c], r):
            before += label[chain_symbol[q]] == a
        gain += eta * (0 < present[a] <= before)
        cell = (row_of(n, i) + j) * n_labels * depth + a
        if depth > 0 and own[cell] > -np.inf:
            gain += own[cell + before * n_labels] - own[cell]
    return gain


@jit
def chain_gain(c, i, j, n, grammar, chains, gains, spans, present):
    """Return the score of the rules and constituents of a chain on (i, j), without those of its base.

    `present` are no true constituents.
    """
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    label, gain = array_of(grammar, LABEL), chains[c]
    for r in range(chain_ptr[c], chain_ptr[c + 1]):
        gain += gains[label[chain_symbol[r]]]
    if array_of(grammar, REPEATS)[c]:
        gain += repeated_gain(c, i, j, n, grammar, spans[7], 0.0, present)
    return gain


@jit
def with_room(array, used):
    """Return the array, with twice its length if it has no room for this number of entries."""
    if used <= len(array):
        return array
    larger = np.empty(2 * max(len(array), used), array.dtype)
    for k in range(len(array)):
        larger[k] = array[k]
    return larger


@jit
def unfold(code, size, begin, end, split):
    """Write the span of each pair of a code and the beginning of its last child; return the number of pairs."""
    length, position, top = len(code) // 2, 0, 0
    left, parent = np.empty(length + 1, np.int64), np.empty(length + 1, np.int64)
    for m in range(length):
        base = np.int64(code[2 * m])
        if base == -1 or base < -length - 2:
            return m
        begin[m], split[m] = position, position
        if top > 0:
            left[top - 1] -= 1
            if left[top - 1] == 0:
                split[parent[top - 1]] = position
        if base != 0:
            parent[top], left[top] = m, size[base - 1] if base > 0 else GLUED + 1 - base
            top += 1
            continue
        position += 1
        end[m] = position
        while top > 0 and left[top - 1] == 0:
            top -= 1
            end[parent[top]] = position
    return length
