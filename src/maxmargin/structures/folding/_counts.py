"""Known structures, compiled: the terms of their loops, losses, and pairs that a model cannot have."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.structures.folding._scores import (
    B1,
    BP,
    CL,
    D3,
    D5,
    HM,
    I11,
    IM,
    LONGEST_HAIRPIN,
    SMALL,
    ST,
    SYMBOLS,
    row,
    view,
)  # fmt: skip

#: What may be wrong with a pair.
FINE, NOT_A_PAIR, SHORT_HAIRPIN, LONG_LOOP, CROSSING = 0, 1, 2, 3, 4


@inlined
def add(counts, weight):
    if weight >= 0:
        counts[weight] += 1.0


@inlined
def add_lengths(counts, first, length):
    for t in range(length):
        counts[first + t] += 1.0


@jit
def loop_inside(code, i):
    """Return the branches of the loop that the pair of base i closes, its unpaired bases, and its last branch."""
    branches, unpaired, last, k = 0, 0, -1, i + 1
    while k < code[i]:
        if code[k] > k:
            branches, last, k = branches + 1, k, code[k] + 1
        else:
            unpaired, k = unpaired + 1, k + 1
    return branches, unpaired, last


@jit
def count_outer_end(x, i, j, letters, counts):
    """Count the terms of the pair (i, j) as a branch."""
    pair = x[j] * SYMBOLS + x[i]
    add(counts, letters[CL + pair])
    if j + 1 < len(x):
        add(counts, letters[D3 + pair * SYMBOLS + x[j + 1]])
    if i > 0:
        add(counts, letters[D5 + pair * SYMBOLS + x[i - 1]])


@jit
def count_loop(x, code, i, least, letters, shapes, firsts, counts):
    """Count the terms of the pair of base i and of the loop that it closes."""
    j = code[i]
    pair, seen = x[i] * SYMBOLS + x[j], view(x, i, j, i + 1, j - 1)
    branches, unpaired, last = loop_inside(code, i)
    add(counts, letters[BP + pair])
    if branches == 0:
        add_lengths(counts, firsts[0], min(unpaired, LONGEST_HAIRPIN) - least + 1)
        add(counts, letters[CL + pair])
        if unpaired > 0:
            add(counts, letters[HM + seen])
        return
    if branches == 1 and unpaired == 0:
        add(counts, letters[ST + seen])
        return
    add(counts, letters[CL + pair])
    if branches == 1:
        p, q = last, code[last]
        left, right = p - i - 1, j - q - 1
        add(counts, letters[CL + x[q] * SYMBOLS + x[p]])
        if left == 0 or right == 0:
            add_lengths(counts, firsts[1], unpaired)
            if unpaired == 1:
                add(counts, letters[B1 + (x[i + 1] if left == 1 else x[j - 1])])
            return
        add_lengths(counts, firsts[2], unpaired - 1)
        add_lengths(counts, firsts[3], abs(left - right))
        if left <= SMALL and right <= SMALL:
            add(counts, shapes[left, right])
        if left == 1 and right == 1:
            add(counts, letters[I11 + x[i + 1] * SYMBOLS + x[j - 1]])
        add(counts, letters[IM + seen])
        add(counts, letters[IM + view(x, q, p, q + 1, p - 1)])
        return
    counts[firsts[4]] += 1.0
    counts[firsts[4] + 1] += unpaired
    counts[firsts[4] + 2] += branches + 1
    add(counts, letters[D3 + pair * SYMBOLS + x[i + 1]])
    add(counts, letters[D5 + pair * SYMBOLS + x[j - 1]])
    k = i + 1
    while k < j:
        if code[k] > k:
            count_outer_end(x, k, code[k], letters, counts)
            k = code[k]
        k += 1


@jit
def count_terms(ids, symbols, offsets, codes, least, letters, shapes, firsts, counts, ptr, indices, values):
    """Write the counts of the terms of each structure as CSR rows, and return the number of entries.

    `counts` has zeros, one per weight, also on return.
    """
    used = 0
    for r in range(len(ids)):
        first, stop = offsets[ids[r]], offsets[ids[r] + 1]
        x, code = symbols[first:stop], codes[first:stop]
        k = 0
        while k < len(x):
            if code[k] > k:
                counts[firsts[5] + 1] += 1.0
                count_outer_end(x, k, code[k], letters, counts)
                k = code[k]
            else:
                counts[firsts[5]] += 1.0
            k += 1
        for i in range(len(x)):
            if code[i] > i:
                count_loop(x, code, i, least, letters, shapes, firsts, counts)
        for weight in range(len(counts)):
            if counts[weight] != 0.0:
                indices[used], values[used] = weight, counts[weight]
                counts[weight] = 0.0
                used += 1
        ptr[r + 1] = used
    return used


@jit
def pair_parts(ids, offsets, codes, ptr, parts):
    """Write the pairs of each structure as positions in packed tables."""
    used = 0
    for r in range(len(ids)):
        first, n = offsets[ids[r]], offsets[ids[r] + 1] - offsets[ids[r]]
        for i in range(n):
            if codes[first + i] > i:
                parts[used] = row(n, i) + codes[first + i]
                used += 1
        ptr[r + 1] = used


@jit
def add_pair_costs(ids, offsets, truths, on_true, on_false, starts, pairs):
    """Add what a pair of the true structure, and any other pair, costs to the scores of pairs."""
    for r in range(len(ids)):
        first, n = offsets[ids[r]], offsets[ids[r] + 1] - offsets[ids[r]]
        if on_false[r] != 0.0:
            for at in range(starts[r], starts[r + 1]):
                pairs[at] += on_false[r]
        for i in range(n):
            j = truths[first + i]
            if j > i:
                pairs[starts[r] + row(n, i) + j] += on_true[r] - on_false[r]


@jit
def pair_losses(ids, offsets, truths, codes, missed, false, losses):
    """Write the cost of missed and false pairs of each structure."""
    for r in range(len(ids)):
        i = ids[r]
        n_missed, n_false = 0, 0
        for k in range(offsets[i], offsets[i + 1]):
            if truths[k] != codes[k]:
                n_missed += truths[k] + offsets[i] > k
                n_false += codes[k] + offsets[i] > k
        losses[i] = missed[i] * n_missed + false[i] * n_false


@jit
def first_crossing(code):
    """Return a base whose pair crosses another one; −1 if there is none."""
    open_pairs, top = np.empty(len(code) + 1, np.int64), 0
    for k in range(len(code)):
        if code[k] > k:
            open_pairs[top] = k
            top += 1
        elif code[k] >= 0:
            top -= 1
            if open_pairs[top] != code[k]:
                return open_pairs[top]
    return -1


@jit
def first_fault(x, code, allowed, least, most):
    """Return a base whose pair, or the loop that it closes, a model cannot have, and why; −1 if there is none."""
    crossing = first_crossing(code)
    if crossing >= 0:
        return crossing, CROSSING
    for i in range(len(x)):
        if code[i] <= i:
            continue
        if not allowed[x[i], x[code[i]]]:
            return i, NOT_A_PAIR
        branches, unpaired, _ = loop_inside(code, i)
        if branches == 0 and unpaired < least:
            return i, SHORT_HAIRPIN
        if branches == 1 and unpaired > most:
            return i, LONG_LOOP
    return -1, FINE
