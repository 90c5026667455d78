"""Greedy choice of candidates by the worth of what they cover, with a proven upper bound, as compiled functions.

Candidate j covers the items `items[ptr[j]:ptr[j + 1]]`; an item has a worth of either sign, which counts once if a
chosen candidate covers it. Weights of elements may be negative, and with a loss the subtopics have negative worths, so
the value of a choice is the difference of two functions with decreasing gains:

    F(y) = P(y) − N(y),      P and N the sums over covered items of worth > 0 and < 0.

Common arguments: `first` is the first candidate of an example, `n` the number of its candidates; items are numbered
from 0 in each example.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, inlined, jit
from maxmargin.core.planes import HASH_START, hash_step


@inlined
def gains_of(j, ptr, items, worths, covered):
    """Return how much candidate j adds: to P, and to P − N."""
    positive, negative = 0.0, 0.0
    for p in range(ptr[j], ptr[j + 1]):
        v = items[p]
        if not covered[v]:
            if worths[v] > 0.0:
                positive += worths[v]
            else:
                negative += worths[v]
    return positive, positive + negative


@inlined
def next_candidate(first, n, ptr, items, worths, covered, chosen, most):
    """Return the candidate that adds most, and how much; ties go to the first.

    `most` holds gains to P found earlier, which only fall: a candidate is looked at again only if its old gain is not
    below the best found so far (lazy evaluation). The candidate of greatest old gain is looked at first.
    """
    start = -1
    for j in range(n):
        if not chosen[j] and (start < 0 or most[j] > most[start]):
            start = j
    best, best_gain = -1, -np.inf
    for step in range(n + 1):
        j = start if step == 0 else step - 1
        if chosen[j] or (step > 0 and j == start):
            continue
        if best >= 0 and (most[j] < best_gain or (most[j] == best_gain and j > best)):
            continue
        most[j], gain = gains_of(first + j, ptr, items, worths, covered)
        if best < 0 or gain > best_gain or (gain == best_gain and j < best):
            best, best_gain = j, gain
    return best, best_gain


@jit
def choose(first, n, m, ptr, items, worths, found):
    """Write m candidates in the order of a greedy choice; return the worth of what they cover."""
    covered, chosen = np.zeros(len(worths), np.bool_), np.zeros(n, np.bool_)
    most, total = np.full(n, np.inf), 0.0
    for step in range(m):
        j, gain = next_candidate(first, n, ptr, items, worths, covered, chosen, most)
        chosen[j], found[step] = True, np.int32(j)
        total += gain
        for p in range(ptr[first + j], ptr[first + j + 1]):
            covered[items[p]] = True
    return total


@inlined
def covered_worth(first, documents, at, m, ptr, items, worths, covered):
    """Return the worth of what documents[at : at + m] cover; `covered` is overwritten."""
    covered[:] = False
    total = 0.0
    for q in range(at, at + m):
        for p in range(ptr[first + documents[q]], ptr[first + documents[q] + 1]):
            v = items[p]
            if not covered[v]:
                covered[v] = True
                total += worths[v]
    return total


@jit
def charges(first, n, m, ptr, items, worths, counts, grouped, owner, charge):
    """Write charges that together are at least −N(y), for any choice y of m candidates; return how many are shared.

    Candidate j is charged the worth of the item `owner[j]`, which all its candidates share: the item of least worth
    that j covers, −1 if there is none or `grouped` is false. Any other negative worth is divided among the candidates
    that cover the item, of which at most m are chosen: `charge` has a number ≤ 0 for each entry of `items` from the
    first candidate on.
    """
    shared, n_shared = np.zeros(len(worths), np.bool_), 0
    for j in range(n):
        owner[j] = -1
        if grouped:
            for p in range(ptr[first + j], ptr[first + j + 1]):
                v = items[p]
                if worths[v] < 0.0 and (owner[j] < 0 or worths[v] < worths[owner[j]]):
                    owner[j] = v
            if owner[j] >= 0 and not shared[owner[j]]:
                shared[owner[j]] = True
                n_shared += 1
    begin = ptr[first]
    for p in range(begin, ptr[first + n]):
        v = items[p]
        charge[p - begin] = worths[v] / min(m, counts[v]) if worths[v] < 0.0 and not shared[v] else 0.0
    return n_shared


@jit
def limit_charges(own, worth, m):
    """Raise the charges `own` ≤ 0 of one item until those of any m candidates are together at least its worth."""
    c = len(own)
    if c <= m:  # the nearest such charges: the same number is added to all that are below 0
        for _ in range(c):
            total, used = 0.0, 0
            for q in range(c):
                if own[q] < 0.0:
                    total += own[q]
                    used += 1
            if total >= worth:
                return
            for q in range(c):
                own[q] = min(own[q] + (worth - total) / used, 0.0)
        total = own.sum()
    else:
        total, left = 0.0, own.copy()
        for _ in range(m):
            least = np.argmin(left)
            total += left[least]
            left[least] = 0.0
    if total < worth:
        own *= worth / total


@jit
def best_priced(values, m, owner, n_shared, worths, taken):
    """Return the greatest sum of m values plus the worths of their owners, each owner once; mark the candidates.

    Candidates of one owner are taken in the order of their values, so how many of each is a recursion over owners.
    """
    n = len(values)
    order, group = np.argsort(-values, kind="mergesort"), np.full(len(worths) + 1, -1, np.int64)
    n_groups, of = 0, np.empty(n, np.int64)
    for r in range(n):
        at = owner[order[r]] + 1
        if group[at] < 0:
            group[at] = n_groups
            n_groups += 1
        of[r] = group[at]
    sizes, charge = np.zeros(n_groups + 1, np.int64), np.zeros(n_groups)
    for r in range(n):
        sizes[of[r] + 1] += 1
        charge[of[r]] = worths[owner[order[r]]] if owner[order[r]] >= 0 else 0.0
    for g in range(n_groups):
        sizes[g + 1] += sizes[g]
    listed, used = np.empty(n, np.int64), sizes[:n_groups].copy()
    for r in range(n):
        listed[used[of[r]]] = order[r]
        used[of[r]] += 1
    best, choice = np.full(m + 1, -np.inf), np.zeros((n_groups, m + 1), np.int64)
    best[0] = 0.0
    for g in range(n_groups):
        new = best.copy()
        total = charge[g]
        for q in range(min(sizes[g + 1] - sizes[g], m)):
            total += values[listed[sizes[g] + q]]
            for c in range(m - q):
                if best[c] + total > new[c + q + 1]:
                    new[c + q + 1] = best[c] + total
                    choice[g, c + q + 1] = q + 1
        best = new
    taken[:] = False
    left = m
    for step in range(n_groups):
        g = n_groups - 1 - step
        for q in range(choice[g, left]):
            taken[listed[sizes[g] + q]] = True
        left -= choice[g, left]
    return best[m]


@jit
def entries_of_items(size, items):
    """Return where the entries of each item end, and the positions of the entries, item by item."""
    ends, entries = np.zeros(size + 2, np.int64), np.empty(len(items), np.int64)
    for p in range(len(items)):
        ends[items[p] + 2] += 1
    for v in range(size):
        ends[v + 2] += ends[v + 1]
    for p in range(len(items)):
        entries[ends[items[p] + 1]] = p
        ends[items[p] + 1] += 1
    return ends[: size + 1], entries


@jit
def improve(first, n, m, ptr, items, worths, counts, n_steps, found, value):
    """Improve a choice and bound all others; return the worth of the best choice found and a bound on F.

    For any prices 0 ≤ u_v ≤ worth_v of the items of positive worth,

        P(y) ≤ Σ_v (worth_v − u_v) + Σ_{j ∈ y} Σ_{v ∈ j} u_v

    and −N(y) is at most the charges of its candidates, so the best m candidates by prices and charges bound F. The
    first prices are all worths, and the worths of what `found` does not cover (the usual bound for a greedy choice);
    `n_steps` subgradient steps of prices and charges lower the better of the two. The best candidates of each step are
    a choice themselves.
    """
    size, owner, begin = len(worths), np.empty(n, np.int64), ptr[first]
    charge, own = np.empty(ptr[first + n] - begin), np.empty(n)
    ends, entries = entries_of_items(size, items[begin : ptr[first + n]])
    prices, start, slopes, sums = np.empty(size), np.empty(size), np.empty(size), np.empty(n)
    taken, covered, trial = np.zeros(n, np.bool_), np.zeros(size, np.bool_), np.empty(m, np.int32)
    n_shared, best, first_best = charges(first, n, m, ptr, items, worths, counts, False, owner, charge), np.inf, np.inf
    greedy = found.copy()
    for kind in range(4 + n_steps):
        if best - value <= 1e-12 * (1.0 + abs(value)):
            break
        if kind == 2:
            n_shared = charges(first, n, m, ptr, items, worths, counts, True, owner, charge)
        if kind < 4:
            for v in range(size):
                prices[v] = max(worths[v], 0.0)
            if kind % 2 == 1:
                for q in range(m):
                    for p in range(ptr[first + greedy[q]], ptr[first + greedy[q] + 1]):
                        prices[items[p]] = 0.0
        elif kind == 4:
            copy_into(prices, start)
        bound = 0.0
        for v in range(size):
            bound += max(worths[v], 0.0) - prices[v]
        for j in range(n):
            sums[j] = 0.0
            for p in range(ptr[first + j], ptr[first + j + 1]):
                sums[j] += prices[items[p]] + charge[p - begin]
        bound += best_priced(sums, m, owner, n_shared, worths, taken)
        best = min(best, bound)
        if kind in (2, 3) and bound < first_best:
            first_best = bound
            copy_into(start, prices)
        q = 0
        for j in range(n):
            if taken[j]:
                trial[q] = np.int32(j)
                q += 1
        other = covered_worth(first, trial, 0, m, ptr, items, worths, covered)
        if other > value:
            value = other
            copy_into(found, trial)
        if kind < 4:
            continue
        for v in range(size):
            slopes[v] = -1.0
        square = 0.0
        for q in range(m):
            for p in range(ptr[first + trial[q]], ptr[first + trial[q] + 1]):
                slopes[items[p]] += 1.0
                if charge[p - begin] < 0.0:
                    square += 1.0
        for v in range(size):
            inside = prices[v] > 0.0 or slopes[v] < 0.0
            if worths[v] > 0.0 and inside and (prices[v] < worths[v] or slopes[v] > 0.0):
                square += slopes[v] * slopes[v]
        if square == 0.0:
            break
        rate = (bound - value) / square
        for v in range(size):
            if worths[v] > 0.0:
                prices[v] = min(max(prices[v] - rate * slopes[v], 0.0), worths[v])
        for q in range(m):
            for p in range(ptr[first + trial[q]], ptr[first + trial[q] + 1]):
                if charge[p - begin] < 0.0:
                    charge[p - begin] -= rate
        for v in range(size):
            if worths[v] < 0.0 and slopes[v] >= 0.0:
                held = ends[v + 1] - ends[v]
                for q in range(held):
                    own[q] = charge[entries[ends[v] + q]]
                limit_charges(own[:held], worths[v], m)
                for q in range(held):
                    charge[entries[ends[v] + q]] = own[q]
    return value, max(best, value)


@jit
def decode(
    ids, offsets, item_offsets, ptr, items, counts, bins, shares, scores, extra, starts, units, missing, truths,
    known, scales, n_steps, code_offsets, codes, losses, rises, keys, upper,
):  # fmt: skip
    """Choose candidates for each example; items of bin ≥ 0 are elements, those below are subtopics with `shares`.

    `scores` are those of bins; `extra` are those of single items from starts[r] on, of length 0 if there are none.

    `missing` is how much more than the truth a choice might cover at most. Without truths the choice is greedy, and
    codes are in its order; with truths it is improved, and codes are ascending.
    """
    for r in range(len(ids)):
        i = ids[r]
        first, n, at = offsets[i], offsets[i + 1] - offsets[i], code_offsets[i]
        m, begin, size = code_offsets[i + 1] - at, item_offsets[i], item_offsets[i + 1] - item_offsets[i]
        worths, topics = np.zeros(size), np.zeros(size)
        for v in range(size):
            if bins[begin + v] >= 0:
                worths[v] = units[i] * scores[bins[begin + v]]
                if len(extra) > 0:
                    worths[v] += units[i] * extra[starts[r] + v]
            else:
                topics[v] = shares[begin + v]
        covered, chosen = np.zeros(size, np.bool_), codes[at : at + m]
        truth = covered_worth(first, truths, at, m, ptr, items, worths, covered) if known else 0.0
        truth_share = covered_worth(first, truths, at, m, ptr, items, topics, covered) if known else 0.0
        mixed = worths - scales[r] * topics if known else worths
        value = choose(first, n, m, ptr, items, mixed, chosen)
        if known:
            own = counts[begin : begin + size]
            value, bound = improve(first, n, m, ptr, items, mixed, own, n_steps, chosen, value)
            upper[i] = bound - truth + scales[r] * (truth_share + missing[i])
            chosen.sort()
        rises[i] = covered_worth(first, codes, at, m, ptr, items, worths, covered) - truth
        share = covered_worth(first, codes, at, m, ptr, items, topics, covered)
        losses[i] = max(truth_share - share, 0.0) if known else 0.0
        key, same = HASH_START, known
        for q in range(at, at + m):
            key = hash_step(key, codes[q])
            same = same and codes[q] == truths[q]
        keys[i] = 0 if same else key
        if same:
            rises[i], losses[i] = 0.0, 0.0


@jit
def cover_most(offsets, item_offsets, ptr, items, counts, shares, n_steps, code_offsets, codes, missing):
    """Write for each example a greedy choice by shares of subtopics, and how much more another might cover."""
    for i in range(len(offsets) - 1):
        first, n, at = offsets[i], offsets[i + 1] - offsets[i], code_offsets[i]
        m, begin, end = code_offsets[i + 1] - at, item_offsets[i], item_offsets[i + 1]
        chosen = codes[at : at + m]
        value = choose(first, n, m, ptr, items, shares[begin:end], chosen)
        other = chosen.copy()
        _, bound = improve(first, n, m, ptr, items, shares[begin:end], counts[begin:end], n_steps, other, value)
        missing[i] = bound - value
        chosen.sort()


@jit
def bin_counts(ids, offsets, item_offsets, ptr, items, bins, code_offsets, codes, out):
    """Count the covered elements of each bin, for each example of ids."""
    for r in range(len(ids)):
        i = ids[r]
        covered = np.zeros(item_offsets[i + 1] - item_offsets[i], np.bool_)
        for q in range(code_offsets[i], code_offsets[i + 1]):
            j = offsets[i] + codes[q]
            for p in range(ptr[j], ptr[j + 1]):
                v = items[p]
                if not covered[v]:
                    covered[v] = True
                    if bins[item_offsets[i] + v] >= 0:
                        out[r, bins[item_offsets[i] + v]] += 1.0
