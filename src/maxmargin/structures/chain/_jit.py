"""Decoders and planes of linear chains.

Common arguments: `ids` are the examples of a batch; `spans` (len(ids) + 1) are the offsets of their tokens in the
batch's `scores` (tokens × labels), `offsets` those among all tokens; `pairs` (K, K), `start` and `end` are the
transitions, minus infinity if forbidden; `edges` (tokens, K · K) are scores of the transition into each token, or of
length 0; `costs` (K, K) is the loss of a token, `most_loss` the maximum of the sum over the tokens of an example (1 for
zero-one loss), and `units` (per example) the factor of this sum. A true label of −1 means that only the best sequence
is needed.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, inlined, jit
from maxmargin.bounds.rescaling import violation
from maxmargin.core.planes import HASH_START, hash_step

FORBIDDEN = -np.inf


GROUP = 9  # predecessors whose maximum is found in one step
MERGED = 5  # groups that are merged in one step


@inlined
def padded_pairs(pairs):
    """Return the pairs with rows of minus infinity appended so that predecessors form whole groups."""
    size = pairs.shape[0]
    padded = np.full((-(-size // GROUP) * GROUP, size), FORBIDDEN)
    for j in range(size):
        copy_into(padded[j], pairs[j])
    return padded


@inlined
def add_best_predecessors(previous, padded, best, row):
    """Compute row[k] += max_j previous[j] + padded[j, k]; the argmax is only computed along the backtrace.

    `previous` has as many entries as `padded` has rows. Each group of predecessors writes its maxima to a separate row
    of `best`: a maximum that is read, compared and written back becomes a masked store, which takes four times as long.
    """
    size, groups = len(row), padded.shape[0] // GROUP
    for g in range(groups):
        j, out = g * GROUP, best[g]
        p0, p1, p2, p3, p4 = previous[j], previous[j + 1], previous[j + 2], previous[j + 3], previous[j + 4]
        p5, p6, p7, p8 = previous[j + 5], previous[j + 6], previous[j + 7], previous[j + 8]
        t0, t1, t2, t3, t4 = padded[j], padded[j + 1], padded[j + 2], padded[j + 3], padded[j + 4]
        t5, t6, t7, t8 = padded[j + 5], padded[j + 6], padded[j + 7], padded[j + 8]
        for k in range(size):
            m0 = max(max(p0 + t0[k], p1 + t1[k]), max(p2 + t2[k], p3 + t3[k]))
            m1 = max(max(p4 + t4[k], p5 + t5[k]), max(p6 + t6[k], p7 + t7[k]))
            out[k] = max(max(m0, m1), p8 + t8[k])
    for g in range(MERGED, groups, MERGED - 1):  # rows after the groups contain minus infinity
        b0, b1, b2, b3, b4 = best[0], best[g], best[g + 1], best[g + 2], best[g + 3]
        for k in range(size):
            b0[k] = max(max(max(b0[k], b1[k]), max(b2[k], b3[k])), b4[k])
    b0, b1, b2, b3, b4 = best[0], best[1], best[2], best[3], best[4]
    for k in range(size):
        row[k] += max(max(max(b0[k], b1[k]), max(b2[k], b3[k])), b4[k])


@inlined
def transition(pairs, edges, token, j, k):
    """Return the score of the transition from label j to label k into a token."""
    if len(edges) > 0:
        return pairs[j, k] + edges[token, j * pairs.shape[1] + k]
    return pairs[j, k]


@inlined
def path_score(path, first, length, scores, at, pairs, start, end, edges):
    """Return the score of the labels path[first : first + length], whose tokens begin at `at` in the batch."""
    total = 0.0
    if length > 0:
        total = start[path[first]] + end[path[first + length - 1]]
    for t in range(length):
        total += scores[at + t, path[first + t]]
        if t > 0:
            total += transition(pairs, edges, at + t, path[first + t - 1], path[first + t])
    return total


@inlined
def finish(
    i, first, length, at, labels, scores, pairs, start, end, edges, costs, most_loss, unit, truth, codes, losses, rises,
    keys,
):  # fmt: skip
    """Write loss, rise and key of the code just written for example i."""
    loss, key, known, same = 0.0, HASH_START, length > 0 and labels[first] >= 0, True
    for t in range(first, first + length):
        key = hash_step(key, codes[t])
        if known:
            loss += costs[labels[t], codes[t]]
            same &= labels[t] == codes[t]
    losses[i] = min(loss, most_loss) * unit
    rises[i] = path_score(codes, first, length, scores, at, pairs, start, end, edges) - truth
    keys[i] = key
    if length == 0 or (known and same):
        keys[i], rises[i] = 0, 0.0


@jit
def decode_chains(
    ids, spans, offsets, labels, scores, pairs, start, end, edges, costs, most_loss, units, scales, codes, losses,
    rises, keys,
):  # fmt: skip
    """Find the labels of greatest score + scale · loss, by loss-augmented Viterbi."""
    size, longest = pairs.shape[0], 0
    for r in range(len(ids)):
        longest = max(longest, spans[r + 1] - spans[r])
    table, step = np.empty((longest, size)), padded_pairs(pairs)
    previous, best = np.zeros(step.shape[0]), np.full((step.shape[0] // GROUP + MERGED, size), FORBIDDEN)
    for r in range(len(ids)):
        i, at = ids[r], spans[r]
        first, length, price = offsets[i], spans[r + 1] - at, scales[r] * units[i]
        if length == 0:
            losses[i], rises[i], keys[i] = 0.0, 0.0, 0
            continue
        known = labels[first] >= 0
        truth = path_score(labels, first, length, scores, at, pairs, start, end, edges) if known else 0.0
        for t in range(length):
            row = table[t]
            for k in range(size):
                row[k] = scores[at + t, k]
            if known:
                cost = costs[labels[first + t]]
                for k in range(size):
                    row[k] += price * cost[k]
            if t == 0:
                for k in range(size):
                    row[k] += start[k]
            else:
                if len(edges) > 0:
                    for j in range(size):
                        for k in range(size):
                            step[j, k] = pairs[j, k] + edges[at + t, j * size + k]
                for j in range(size):
                    previous[j] = table[t - 1, j]
                add_best_predecessors(previous, step, best, row)
        for k in range(size):
            table[length - 1, k] += end[k]
        state = 0
        for k in range(1, size):
            if table[length - 1, k] > table[length - 1, state]:
                state = k
        codes[first + length - 1] = state
        for t in range(length - 2, -1, -1):
            following, value = state, FORBIDDEN
            state = 0
            for j in range(size):
                v = table[t, j] + transition(pairs, edges, at + t + 1, j, following)
                if v > value:
                    state, value = j, v
            codes[first + t] = state
        finish(
            i, first, length, at, labels, scores, pairs, start, end, edges, costs, most_loss, units[i], truth, codes,
            losses, rises, keys,
        )  # fmt: skip


@inlined
def backtrack(table, level, state, first, length, at, labels, steps, pairs, edges, codes):
    """Write the labels that lead to table[length − 1, state, level] of `decode_by_levels`."""
    most = table.shape[2] - 1
    codes[first + length - 1] = state
    for t in range(length - 1, 0, -1):
        step = steps[labels[first + t], state]
        value, previous, left, highest = FORBIDDEN, 0, level - step, level - step
        if level == most:
            highest = most
        for source in range(max(level - step, 0), highest + 1):
            for j in range(table.shape[1]):
                v = table[t - 1, j, source] + transition(pairs, edges, at + t, j, state)
                if v > value:
                    value, previous, left = v, j, source
        state, level = previous, left
        codes[first + t - 1] = state


@jit
def decode_by_levels(
    ids, spans, offsets, labels, scores, pairs, start, end, edges, costs, steps, level_loss, most_loss, units, form,
    scales, codes, losses, rises, keys,
):  # fmt: skip
    """Find the labels of greatest violation, exactly, if costs are multiples of one number.

    The cost of a token is steps · level_loss with integer `steps` (K, K), so the loss of a sequence depends only
    on its level, the sum of the steps. table[t, k, l] is the best score of the first t + 1 labels at level l that end
    in k; levels are capped at most_loss / level_loss (1 for zero-one loss). Every level then yields one candidate, its
    best sequence. The form −1 means rise + scale · loss. Time O(T · levels · K²), memory O(T · levels · K).
    """
    size = pairs.shape[0]
    for r in range(len(ids)):
        i, at = ids[r], spans[r]
        first, length = offsets[i], spans[r + 1] - at
        if length == 0:
            losses[i], rises[i], keys[i] = 0.0, 0.0, 0
            continue
        truth = path_score(labels, first, length, scores, at, pairs, start, end, edges)
        highest = 0
        for t in range(first, first + length):
            highest += steps[labels[t]].max()
        most = int(min(most_loss / level_loss, highest))
        table = np.full((length, size, most + 1), FORBIDDEN)
        before, reached = 0, 0
        for t in range(length):
            y = labels[first + t]
            before, reached = reached, min(reached + steps[y].max(), most)
            for k in range(size):
                step = steps[y, k]
                if t == 0:
                    table[0, k, min(step, most)] = start[k] + scores[at, k]
                    continue
                row = table[t, k]
                shifted, within = row[min(step, most) :], min(before, most - step) + 1
                for j in range(size):
                    gain, previous = transition(pairs, edges, at + t, j, k) + scores[at + t, k], table[t - 1, j]
                    for level in range(within):
                        shifted[level] = max(shifted[level], previous[level] + gain)
                    for level in range(max(within, 0), before + 1):  # beyond the cap
                        row[most] = max(row[most], previous[level] + gain)
        chosen, state, top = -1, 0, 0.0  # the truth
        for level in range(most + 1):
            loss = level * level_loss * units[i]
            for k in range(size):
                rise = table[length - 1, k, level] + end[k] - truth
                if rise > FORBIDDEN:
                    v = rise + scales[r] * loss if form < 0 else violation(form, rise, loss)
                    if v > top:
                        top, chosen, state = v, level, k
        if chosen < 0:
            copy_into(codes[first:], labels[first : first + length])
        else:
            backtrack(table, chosen, state, first, length, at, labels, steps, pairs, edges, codes)
        finish(
            i, first, length, at, labels, scores, pairs, start, end, edges, costs, most_loss, units[i], truth, codes,
            losses, rises, keys,
        )  # fmt: skip


@jit
def chain_planes(
    ids, offsets, labels, codes, indptr, indices, data, pair_base, pointers, pair_labels, n_labels, start_end, edge_ptr,
    edge_index, edge_data, out_ptr, out_index, out_value,
):  # fmt: skip
    """Write Ψ(x, y) − Ψ(x, code): unary rows, pairs, start, end, transition features; equal parts are left out.

    Features have the value 1 if `data` (`edge_data`) is empty. Unless `pointers` is empty, tokens have weights only for
    the pairs that it lists (`seen_pairs`). `pair_base` is the number of weights of tokens.
    """
    K, p = n_labels, 0
    start_base = pair_base + K * K
    end_base = start_base + K
    edge_base = end_base + K if start_end else start_base
    for r in range(len(ids)):
        first, stop = offsets[ids[r]], offsets[ids[r] + 1]
        for t in range(first, stop):
            y, c = labels[t], codes[t]
            if y != c:
                for q in range(indptr[t], indptr[t + 1]) if len(pointers) == 0 else range(0):
                    at, value = np.int64(indices[q]) * K, data[q] if len(data) > 0 else 1.0
                    out_index[p], out_value[p] = at + y, value
                    out_index[p + 1], out_value[p + 1] = at + c, -value
                    p += 2
                for q in range(indptr[t], indptr[t + 1]) if len(pointers) > 0 else range(0):
                    f, value = indices[q], data[q] if len(data) > 0 else 1.0
                    at, stop_at = pointers[f], pointers[f + 1]
                    if stop_at - at == K:
                        out_index[p], out_value[p] = at + y, value
                        out_index[p + 1], out_value[p + 1] = at + c, -value
                        p += 2
                        continue
                    for s in range(at, stop_at):
                        if pair_labels[s] == y or pair_labels[s] == c:
                            out_index[p], out_value[p] = s, value if pair_labels[s] == y else -value
                            p += 1
            if start_end and t == first and y != c:
                out_index[p], out_value[p] = start_base + y, 1.0
                out_index[p + 1], out_value[p + 1] = start_base + c, -1.0
                p += 2
            if start_end and t == stop - 1 and y != c:
                out_index[p], out_value[p] = end_base + y, 1.0
                out_index[p + 1], out_value[p + 1] = end_base + c, -1.0
                p += 2
            if t > first and (y != c or labels[t - 1] != codes[t - 1]):
                pair, other = labels[t - 1] * K + y, codes[t - 1] * K + c
                out_index[p], out_value[p] = pair_base + pair, 1.0
                out_index[p + 1], out_value[p + 1] = pair_base + other, -1.0
                p += 2
                if len(edge_ptr) > 1:
                    for q in range(edge_ptr[t], edge_ptr[t + 1]):
                        at = edge_base + np.int64(edge_index[q]) * K * K
                        value = edge_data[q] if len(edge_data) > 0 else 1.0
                        out_index[p], out_value[p] = at + pair, value
                        out_index[p + 1], out_value[p + 1] = at + other, -value
                        p += 2
        out_ptr[r + 1] = p
    return p


@jit
def path_scores(spans, labels, scores, pairs, start, end, edges, out):
    """Write the scores of one label sequence of each example; `labels` has one label for each row of `scores`."""
    for r in range(len(spans) - 1):
        length = spans[r + 1] - spans[r]
        out[r] = path_score(labels, spans[r], length, scores, spans[r], pairs, start, end, edges) if length > 0 else 0.0


@jit
def score_paths(paths, scores, pairs, start, end, edges):
    """Return the scores of label sequences of one example."""
    out = np.empty(len(paths))
    for r in range(len(paths)):
        out[r] = path_score(paths[r], 0, paths.shape[1], scores, 0, pairs, start, end, edges)
    return out


@jit
def best_paths(scores, pairs, start, end, edges, k_best):
    """Return the k best label sequences of one example, best first, and their values (−inf if there are fewer)."""
    length, size = scores.shape
    value = np.full((length, size, k_best), FORBIDDEN)
    back = np.zeros((length, size, k_best), np.int64)
    for k in range(size):
        value[0, k, 0] = scores[0, k] + start[k]
    for t in range(1, length):
        for k in range(size):
            for j in range(size):
                step = transition(pairs, edges, t, j, k) + scores[t, k]
                for m in range(k_best):
                    insert_sorted(value[t, k], back[t, k], value[t - 1, j, m] + step, j * k_best + m)
    top, last = np.full(k_best, FORBIDDEN), np.zeros(k_best, np.int64)
    for k in range(size):
        for m in range(k_best):
            insert_sorted(top, last, value[length - 1, k, m] + end[k], k * k_best + m)
    paths = np.zeros((k_best, length), np.int32)
    for m in range(k_best):
        at = last[m]
        for t in range(length - 1, -1, -1):
            paths[m, t] = at // k_best
            at = back[t, at // k_best, at % k_best]
    return paths, top


@inlined
def insert_sorted(values, sources, value, source):
    """Insert a value into a list in descending order, after equal values, if it is large enough."""
    m = len(values)
    if value > values[m - 1]:
        m -= 1
        while m > 0 and value > values[m - 1]:
            values[m], sources[m] = values[m - 1], sources[m - 1]
            m -= 1
        values[m], sources[m] = value, source
