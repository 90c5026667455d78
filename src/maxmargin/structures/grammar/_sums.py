"""Sums over all trees of a grammar: log-partition and marginals, by inside and outside sums.

The inside sums are those of the chart of the best derivations (`_chart.py`) with sums in the place of maxima, by the
same starts, ends and partial right-hand sides; each tree has one derivation. The outside sums are their derivatives, by
the same steps backwards.

Numbers are used first. Each token has a scale that makes the sums of its longest phrase about 1. If a number leaves the
range in which no product underflows or overflows (`SMALL`, `LARGE`, `NEAR`), the sums are repeated in logarithms.

    best, below     sums of a phrase on a span with and without a chain above it; `below` is without the score of its
                    own constituent
    weights         of rules, tokens, labels at a split, labels by the lengths at a split, chains
    scores          of rules and of chains
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.sum_products import (
    LOGS,
    NUMBERS,
    add_multiple,
    dot,
    logarithm,
    number,
    one,
    product,
    quotient,
    sum_of,
    weight,
    zero,
)
from maxmargin.structures.grammar._chart import corner, tag_kid
from maxmargin.structures.grammar._jit import (
    CHAIN_PTR,
    CHAIN_RULE,
    CHAIN_SYMBOL,
    DONE_ROW,
    DONE_RULE,
    FIRST,
    KID_PTR,
    KID_SYMBOL,
    KID_TAGS,
    LABEL,
    LAST,
    N_LENGTHS,
    PARENT,
    PHRASE,
    REPEATS,
    ROW,
    START,
    STEP,
    UP_CHAIN,
    UP_PTR,
    UP_TOP,
    array_of,
    length_bucket,
    n_repeats,
    repeated_gain,
    row_of,
    set_gains,
    with_room,
)
from maxmargin.structures.grammar._search import chain_scores, example_spans

#: Least and greatest sum of a phrase or of a partial right-hand side, if they are not logarithms.
SMALL, LARGE = 1e-100, 1e100
#: Greatest absolute values of scores whose exponentials are numbers: of rules, chains, splits and scales, and of
#: constituents, several of which may be in a chain.
NEAR, NEAR_GAIN = 115.0, 30.0


@inlined
def clear(row, at, m, logs):
    """Set m sums to 0, from `at` on."""
    none, first = zero(logs), np.uint64(at)
    for t in range(np.uint64(m)):
        row[first + t] = none


@inlined
def lost(value, logs):
    """Return whether a sum that is not a logarithm may be wrong, or makes others wrong."""
    return logs is None and value > 0.0 and not SMALL <= value <= LARGE


@inlined
def far(score, near, logs):
    """Return whether the exponential of a score may not be used as a number."""
    return logs is None and score > -np.inf and abs(score) > near


@jit
def as_weights(scores, first, stop, logs):
    """Return the weights of scores, and whether all of them can be numbers; −∞ becomes 0."""
    out, right = np.empty(stop - first), True
    for t in range(stop - first):
        s = scores[first + t]
        out[t] = weight(s, logs)
        right = right and not far(s, NEAR, logs)
    return out, right


@jit
def label_weights(i, j, n, n_labels, spans, gains, out, logs):
    """Write the scores of labels on (i, j) and their weights; return whether these can be numbers.

    Without any scores both stay as they are: 0 and 1.
    """
    right = True
    if len(spans[5]) > 0 or len(spans[7]) > 0:
        set_gains(i, j, n, n_labels, spans, 0.0, gains)
        for a in range(n_labels):
            out[a] = weight(gains[a], logs)
            right = right and not far(gains[a], NEAR_GAIN, logs)
        depth = n_repeats(n, n_labels, spans[7])
        cell = (row_of(n, i) + j) * n_labels * depth
        for t in range(n_labels, n_labels * depth):  # scores of repeated labels
            right = right and not far(spans[7][cell + t], NEAR_GAIN, logs)
    return right


@inlined
def chain_weight(c, i, j, n, grammar, weights, by_label, spans, nothing, logs):
    """Return the weight of the rules and constituents of a chain on (i, j), without those of its base."""
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    label, total = array_of(grammar, LABEL), weights[4][c]
    for r in range(chain_ptr[c], chain_ptr[c + 1]):
        total = product(total, by_label[label[chain_symbol[r]]], logs)
    if len(spans[7]) > 0 and array_of(grammar, REPEATS)[c]:
        total = product(total, weight(repeated_gain(c, i, j, n, grammar, spans[7], 0.0, nothing), logs), logs)
    return total


@inlined
def split_weight(i, k, j, label, n_labels, weights, logs):
    """Return the weight of a label on (i, j) whose last child begins at k."""
    total = weights[2][k * n_labels + label]
    if len(weights[3]) > 0:
        pair = length_bucket(k - i) * N_LENGTHS + length_bucket(j - k)
        total = product(total, weights[3][pair * n_labels + label], logs)
    return total


@inlined
def fresh_row(p, k, n, s, stamp, rows, n_fresh, fresh, logs):
    """Clear the row of a left-hand side if it is the first time for this span s; return the number of rows in use."""
    if stamp[p] != s:
        stamp[p], rows[n_fresh] = s, p
        clear(fresh, p * n + k, n - k, logs)
        return n_fresh + 1
    return n_fresh


@jit
def sum_rules(s, k, n, tag, grammar, weights, n_rows, best, live, marks, pool, stamp, rows, fresh, logs):
    """Write the sums of rules whose last child begins where span s ends, by left-hand side; return their number."""
    kid_ptr, kid_symbol, kid_tags = (
        array_of(grammar, KID_PTR),
        array_of(grammar, KID_SYMBOL),
        array_of(grammar, KID_TAGS),
    )
    step, done_row, done_rule = array_of(grammar, STEP), array_of(grammar, DONE_ROW), array_of(grammar, DONE_RULE)
    right, after, m, n_fresh = corner(n, k, n_rows), n - k, k * n_rows, 0
    for t in range(marks[2][s], marks[3][s]):
        p, b = pool[3][t] // n_rows, pool[3][t] % n_rows
        n_fresh = fresh_row(p, k, n, s, stamp, rows, n_fresh, fresh, logs)
        low, high = int(live[0][m + b]), int(live[1][m + b])
        add_multiple(fresh, p * n + k + low, pool[2][t], best, right + b * after + low, high - low, logs)
    for e in range(marks[0][s], marks[1][s] if tag >= 0 else marks[0][s]):
        z = tag_kid(pool[1][e], tag, kid_ptr, kid_tags, kid_symbol)
        for d in range(step[4 * z + 2] if z >= 0 else 0, step[4 * z + 3] if z >= 0 else 0):
            p = int(done_row[d])
            n_fresh = fresh_row(p, k, n, s, stamp, rows, n_fresh, fresh, logs)
            v = product(product(pool[0][e], weights[0][done_rule[d]], logs), weights[1][k], logs)
            fresh[p * n + k] = sum_of(fresh[p * n + k], v, logs)
    return n_fresh


@inlined
def next_scale(n, i, n_rows, best, scales, scaled):
    """Return the scale of token i − 1: growth per token so far, corrected by the longest phrase of token i."""
    at, length = corner(n, i, n_rows), n - i
    for j in range(length - 1, -1, -1):
        top = 0.0
        for p in range(n_rows):
            top = max(top, best[at + p * length + j])
        if top > 0.0:
            return (scaled + np.log(top)) / length + np.log(top)
    return scales[i]


@jit
def inside(x, grammar, weights, spans, n_labels, chart, pool, logs):
    """Fill the chart; return whether its sums are right, and the pool, which may have grown.

    Where they are not right, logarithms are needed. The pool holds the sums and nodes of partial right-hand sides, the
    entries of spans, and sums of entries with the rules that they end, by left-hand side and last phrase.
    """
    kid_ptr, kid_symbol, kid_tags = (
        array_of(grammar, KID_PTR),
        array_of(grammar, KID_SYMBOL),
        array_of(grammar, KID_TAGS),
    )
    step, first, done_row = array_of(grammar, STEP), array_of(grammar, FIRST), array_of(grammar, DONE_ROW)
    done_rule = array_of(grammar, DONE_RULE)
    up_ptr, up_top, up_chain = array_of(grammar, UP_PTR), array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN)
    label, row_of_symbol, phrase = array_of(grammar, LABEL), array_of(grammar, ROW), array_of(grammar, PHRASE)
    n, n_rows, n_nodes = len(x), len(phrase), len(kid_ptr) - 1
    none, splitting, used, scaled = zero(logs), len(spans[4]) > 0, 0, 0.0
    gains, total, fresh = np.zeros(n_labels + 1), np.empty(n_rows * n), np.empty(n_rows * n)
    by_label = np.full(n_labels + 1, one(logs))
    nothing = np.zeros(n_labels + 1, np.int32)
    values, slot_of, opened = np.empty(n * n_nodes), np.full(n_nodes, -1, np.int32), np.empty(n_nodes, np.int32)
    ends, pairs = np.full(n_rows * n_rows, none), np.empty(n_rows * n_rows, np.int32)
    stamp, fresh_rows, n_ended = np.full(n_rows, -1, np.int32), np.empty(n_rows, np.int32), 0
    best, below, live, marks, scales = chart
    starts, stops, (held, entries, ended, ended_pairs) = marks[0], marks[1], pool
    rule_weights, tag_weights = weights[0], weights[1]
    scales[n - 1] = 0.0
    for i in range(n - 1, -1, -1):
        at, n_open, length = corner(n, i, n_rows), 0, n - i
        if far(scales[i], NEAR, logs):
            return False, (held, entries, ended, ended_pairs)
        tag_weights[i] = weight(-scales[i], logs)
        clear(total, 0, n_rows * n, logs)
        clear(best, at, n_rows * length, logs)
        clear(below, at, n_rows * length, logs)
        for p in range(n_rows):
            live[0][i * n_rows + p], live[1][i * n_rows + p] = n, 0
        for k in range(i + 1, n + 1):
            s = row_of(n, i) + k
            cell, tag = at + k - i - 1, x[i] if k == i + 1 else -1
            if not label_weights(i, k, n, n_labels, spans, gains, by_label, logs):
                return False, (held, entries, ended, ended_pairs)
            for p in range(-1, n_rows):
                if p < 0:
                    if tag < 0:
                        continue
                    a, score = int(tag), tag_weights[i]
                else:
                    score = total[p * n + k - 1]
                    if score == none:
                        continue
                    if lost(score, logs):
                        return False, (held, entries, ended, ended_pairs)
                    a = int(phrase[p])
                    below[cell + p * length] = score
                    score = product(score, by_label[label[a]], logs)
                    best[cell + p * length] = sum_of(best[cell + p * length], score, logs)
                for z in range(up_ptr[a], up_ptr[a + 1]):
                    v = chain_weight(up_chain[z], i, k, n, grammar, weights, by_label, spans, nothing, logs)
                    top = cell + row_of_symbol[up_top[z]] * length
                    best[top] = sum_of(best[top], product(score, v, logs), logs)
            starts[s] = used
            if used + n_rows + 1 + n_open > len(held):
                held = with_room(held, used + n_rows + 1 + n_open)
                entries = with_room(entries, len(held))
            for p in range(n_rows):
                score = best[cell + p * length]
                if score > none:
                    if lost(score, logs):
                        return False, (held, entries, ended, ended_pairs)
                    live[0][i * n_rows + p] = min(live[0][i * n_rows + p], k - i - 1)
                    live[1][i * n_rows + p] = k - i
                    if k < n and first[phrase[p]] >= 0:
                        held[used], entries[used] = score, first[phrase[p]]
                        used += 1
            stops[s] = used
            if k == n:
                continue
            if tag >= 0 and first[tag] >= 0:
                held[used], entries[used] = tag_weights[i], first[tag]
                used += 1
            for t in range(n_open):
                score = values[t * n + k - 1]
                if score > none:
                    if lost(score, logs):
                        return False, (held, entries, ended, ended_pairs)
                    held[used], entries[used] = score, opened[t]
                    used += 1
            stops[s] = used
            right, after, m, tag, n_pairs, n_fresh = corner(n, k, n_rows), n - k, k * n_rows, x[k], 0, 0
            for e in range(starts[s], used):
                q, score = entries[e], held[e]
                for z in range(kid_ptr[q], kid_tags[q]):
                    p, node = int(step[4 * z]), int(step[4 * z + 1])
                    low, high = int(live[0][m + p]), int(live[1][m + p])
                    if low >= high:
                        continue
                    if node >= 0:
                        if slot_of[node] < 0:
                            slot_of[node], opened[n_open] = n_open, node
                            clear(values, n_open * n + k, after, logs)
                            n_open += 1
                        to = slot_of[node] * n + k + low
                        add_multiple(values, to, score, best, right + p * after + low, high - low, logs)
                    for d in range(step[4 * z + 2], step[4 * z + 3]):
                        pair, v = int(done_row[d]) * n_rows + p, product(score, rule_weights[done_rule[d]], logs)
                        if ends[pair] == none:
                            if v == none:
                                continue
                            pairs[n_pairs] = pair
                            n_pairs += 1
                        ends[pair] = sum_of(ends[pair], v, logs)
                z = tag_kid(q, tag, kid_ptr, kid_tags, kid_symbol) if tag >= 0 else -1
                if z < 0:
                    continue
                node, score = int(step[4 * z + 1]), product(score, tag_weights[k], logs)
                if node >= 0:
                    if slot_of[node] < 0:
                        slot_of[node], opened[n_open] = n_open, node
                        clear(values, n_open * n + k, after, logs)
                        n_open += 1
                    to = slot_of[node] * n + k
                    values[to] = sum_of(values[to], score, logs)
                for d in range(step[4 * z + 2], step[4 * z + 3]):
                    p = int(done_row[d])
                    n_fresh = fresh_row(p, k, n, s, stamp, fresh_rows, n_fresh, fresh, logs)
                    fresh[p * n + k] = sum_of(fresh[p * n + k], product(score, rule_weights[done_rule[d]], logs), logs)
            marks[2][s] = n_ended
            if n_ended + n_pairs > len(ended):
                ended = with_room(ended, n_ended + n_pairs)
                ended_pairs = with_room(ended_pairs, len(ended))
            for t in range(n_pairs):
                pair = int(pairs[t])
                p, b = pair // n_rows, pair % n_rows
                n_fresh = fresh_row(p, k, n, s, stamp, fresh_rows, n_fresh, fresh, logs)
                low, high = int(live[0][m + b]), int(live[1][m + b])
                add_multiple(fresh, p * n + k + low, ends[pair], best, right + b * after + low, high - low, logs)
                ended[n_ended], ended_pairs[n_ended], ends[pair] = ends[pair], pair, none
                n_ended += 1
            marks[3][s] = n_ended
            for t in range(n_fresh):
                p = fresh_rows[t]
                a, to = label[phrase[p]], p * n - 1
                if splitting and a < n_labels:
                    for j in range(k + 1, n + 1):
                        v = product(fresh[to + j], split_weight(i, k, j, a, n_labels, weights, logs), logs)
                        total[to + j] = sum_of(total[to + j], v, logs)
                else:
                    add_multiple(total, to + k + 1, one(logs), fresh, to + k + 1, n - k, logs)
        for t in range(n_open):
            slot_of[opened[t]] = -1
        scaled += scales[i]
        if i > 0:
            scales[i - 1] = next_scale(n, i, n_rows, best, scales, scaled) if logs is None else 0.0
    return True, (held, entries, ended, ended_pairs)


@jit
def add_gains(i, j, n, n_labels, spans, counts, out):
    """Add the expected numbers of the labels on (i, j) to those of the parts that `set_gains` reads."""
    at, tags, n_tags = spans[1], spans[5], spans[6]
    shapes, begin, end = out[0], out[1], out[2]
    if len(tags) == 0:
        return
    tables = (
        at[0] + length_bucket(j - i) * n_labels,
        at[1] + (tags[i + 1] * n_tags + tags[j]) * n_labels,
        at[2] + (tags[i] * n_tags + tags[j + 1]) * n_labels,
    )
    for label in range(n_labels):
        p = counts[label]
        if p != 0.0:
            begin[i * n_labels + label] += p
            end[(j - 1) * n_labels + label] += p
            for t in range(3):
                if at[t + 1] > at[t]:
                    shapes[tables[t] + label] += p


@jit
def outside(x, grammar, scores, weights, spans, n_labels, chart, pool, z, coefficient, rule_sums, out, logs):
    """Add coefficient · marginals of all parts, for a chart whose sum over all trees is z; return E[score].

    `rule_sums` are those of rules; `out` are those of shapes, begins, ends, splits and constituents.
    """
    kid_ptr, kid_symbol, kid_tags = (
        array_of(grammar, KID_PTR),
        array_of(grammar, KID_SYMBOL),
        array_of(grammar, KID_TAGS),
    )
    step, start, repeats = array_of(grammar, STEP), array_of(grammar, START), array_of(grammar, REPEATS)
    up_ptr, up_top, up_chain = array_of(grammar, UP_PTR), array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN)
    label, row_of_symbol, phrase = array_of(grammar, LABEL), array_of(grammar, ROW), array_of(grammar, PHRASE)
    done_row, done_rule = array_of(grammar, DONE_ROW), array_of(grammar, DONE_RULE)
    last, parent = array_of(grammar, LAST), array_of(grammar, PARENT)
    chain_ptr, chain_rule = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_RULE)
    chain_symbol = array_of(grammar, CHAIN_SYMBOL)
    rule_scores, tag_weights, (held, entries, ended, ended_pairs) = scores[0], weights[1], pool
    best, below, live, marks, _ = chart
    starts, stops = marks[0], marks[1]
    n, n_rows, n_nodes, expected = len(x), len(phrase), len(kid_ptr) - 1, 0.0
    none, splitting = zero(logs), len(spans[4]) > 0
    depth, own = n_repeats(n, n_labels, out[4]), out[4]
    by_label = np.full(n_labels + 1, one(logs))
    gains, counts, n_here = np.zeros(n_labels + 1), np.zeros(n_labels + 1), np.zeros(n_labels + 1, np.int64)
    nothing = np.zeros(n_labels + 1, np.int32)
    around, total, fresh = np.full(len(best), none), np.empty(n_rows * n), np.empty(n_rows * n)
    around_fresh = np.empty(n_rows * n if splitting else 0)
    values, slot_of, opened = np.empty(n * n_nodes), np.full(n_nodes, -1, np.int32), np.empty(n_nodes, np.int32)
    around_ends = np.full(n_rows * n_rows, none)
    stamp, fresh_rows = np.full(n_rows, -1, np.int32), np.empty(n_rows, np.int32)
    for p in range(n_rows):
        if start[phrase[p]]:
            around[p * n + n - 1] = quotient(one(logs), z, logs)
    for i in range(n):
        at, n_open, length = corner(n, i, n_rows), 0, n - i
        clear(total, 0, n_rows * n, logs)
        for k in range(n, i, -1):
            s = row_of(n, i) + k
            cell = at + k - i - 1
            if k < n and stops[s] > starts[s]:
                right, after, m, tag = corner(n, k, n_rows), n - k, k * n_rows, x[k]
                rest = total
                if splitting:
                    n_fresh = sum_rules(
                        s, k, n, tag, grammar, weights, n_rows, best, live, marks, pool, stamp, fresh_rows, fresh, logs
                    )
                    rest = around_fresh
                    for t in range(n_fresh):
                        p = fresh_rows[t]
                        a, to = label[phrase[p]], p * n - 1
                        for j in range(k + 1, n + 1):
                            around_fresh[to + j] = total[to + j]
                            if a == n_labels or total[to + j] == none:
                                continue
                            v = product(total[to + j], split_weight(i, k, j, a, n_labels, weights, logs), logs)
                            around_fresh[to + j] = v
                            v = product(v, fresh[to + j], logs)
                            v = number(v, logs)
                            if v > 0.0:
                                out[3][k * n_labels + a] += coefficient * v
                                expected += v * spans[4][k * n_labels + a]
                                if len(weights[3]) > 0:
                                    pair = length_bucket(k - i) * N_LENGTHS + length_bucket(j - k)
                                    to_pair = spans[1][3] + pair * n_labels + a
                                    out[0][to_pair] += coefficient * v
                                    expected += v * spans[0][to_pair]
                for t in range(marks[2][s], marks[3][s]):
                    pair = int(ended_pairs[t])
                    p, b = pair // n_rows, pair % n_rows
                    low, high = int(live[0][m + b]), int(live[1][m + b])
                    left, to = p * n + k + low, right + b * after + low
                    around_ends[pair] = dot(rest, left, best, to, high - low, logs)
                    add_multiple(around, to, ended[t], rest, left, high - low, logs)
                for e in range(starts[s], stops[s]):
                    q, score, left = entries[e], held[e], none
                    for child in range(kid_ptr[q], kid_tags[q]):
                        p, node = int(step[4 * child]), int(step[4 * child + 1])
                        low, high = int(live[0][m + p]), int(live[1][m + p])
                        if low >= high:
                            continue
                        if node >= 0 and slot_of[node] >= 0:
                            row, to = slot_of[node] * n + k + low, right + p * after + low
                            left = sum_of(left, dot(values, row, best, to, high - low, logs), logs)
                            add_multiple(around, to, score, values, row, high - low, logs)
                        for d in range(step[4 * child + 2], step[4 * child + 3]):
                            rule, pair = done_rule[d], int(done_row[d]) * n_rows + p
                            v = product(weights[0][rule], around_ends[pair], logs)
                            left = sum_of(left, v, logs)
                            v = product(score, v, logs)
                            v = number(v, logs)
                            if v > 0.0:
                                rule_sums[rule] += coefficient * v
                                expected += v * rule_scores[rule]
                    child = tag_kid(q, tag, kid_ptr, kid_tags, kid_symbol) if tag >= 0 else -1
                    if child >= 0:
                        node = int(step[4 * child + 1])
                        if node >= 0 and slot_of[node] >= 0:
                            left = sum_of(left, product(values[slot_of[node] * n + k], tag_weights[k], logs), logs)
                        for d in range(step[4 * child + 2], step[4 * child + 3]):
                            rule = done_rule[d]
                            v = product(weights[0][rule], rest[done_row[d] * n + k], logs)
                            v = product(v, tag_weights[k], logs)
                            left = sum_of(left, v, logs)
                            v = product(score, v, logs)
                            v = number(v, logs)
                            if v > 0.0:
                                rule_sums[rule] += coefficient * v
                                expected += v * rule_scores[rule]
                    if parent[q] > 0:
                        if slot_of[q] < 0:
                            slot_of[q], opened[n_open] = n_open, q
                            clear(values, n_open * n, n, logs)
                            n_open += 1
                        values[slot_of[q] * n + k - 1] = left
                    elif row_of_symbol[last[q]] >= 0:
                        to = cell + row_of_symbol[last[q]] * length
                        around[to] = sum_of(around[to], left, logs)
                for t in range(marks[2][s], marks[3][s]):
                    around_ends[ended_pairs[t]] = none
            label_weights(i, k, n, n_labels, spans, gains, by_label, logs)
            for a in range(n_labels + 1):
                counts[a] = 0.0
            cell_own = (row_of(n, i) + k) * n_labels * depth
            for p in range(-1 if k == i + 1 and x[i] >= 0 else 0, n_rows):
                a, score = int(x[i]), tag_weights[i]
                if p >= 0:
                    a, score = int(phrase[p]), below[cell + p * length]
                    if score == none:
                        continue
                    score = product(score, by_label[label[a]], logs)
                left = around[cell + p * length] if p >= 0 else none
                for c in range(up_ptr[a], up_ptr[a + 1]):
                    v = around[cell + row_of_symbol[up_top[c]] * length]
                    if v == none:
                        continue
                    chain = up_chain[c]
                    w = chain_weight(chain, i, k, n, grammar, weights, by_label, spans, nothing, logs)
                    v = product(v, w, logs)
                    left = sum_of(left, v, logs)
                    v = product(v, score, logs)
                    v = number(v, logs)
                    if not v > 0.0:
                        continue
                    expected += v * scores[1][chain]
                    if repeats[chain] and len(spans[7]) > 0:
                        expected += v * repeated_gain(chain, i, k, n, grammar, spans[7], 0.0, nothing)
                    n_here[label[a]] += 1
                    for r in range(chain_ptr[chain + 1] - 1, chain_ptr[chain] - 1, -1):
                        b = label[chain_symbol[r]]
                        rule_sums[chain_rule[r]] += coefficient * v
                        counts[b] += v
                        if repeats[chain] and b < n_labels and n_here[b] > 0:  # counted as the first one below
                            own[cell_own + n_here[b] * n_labels + b] += coefficient * v
                            own[cell_own + b] -= coefficient * v
                        n_here[b] += 1
                    n_here[label[a]] = 0
                    for r in range(chain_ptr[chain], chain_ptr[chain + 1]):
                        n_here[label[chain_symbol[r]]] = 0
                if p >= 0:
                    v = product(left, score, logs)
                    v = number(v, logs)
                    if v > 0.0:
                        counts[label[a]] += v
                    total[p * n + k - 1] = product(left, by_label[label[a]], logs)
            for a in range(n_labels):
                if counts[a] > 0.0:
                    expected += counts[a] * gains[a]
                    counts[a] *= coefficient
                    own[cell_own + a] += counts[a]
            add_gains(i, k, n, n_labels, spans, counts, out)
        for t in range(n_open):
            slot_of[opened[t]] = -1
    return expected


@jit
def new_sums(n, n_rows):
    """Return buffers for sentences of up to n tokens: a chart, and the pool of `inside`.

    The chart has sums with and without chains, the first and the last + 1 length of phrases at each start, where the
    entries and the ended rules of each span are in the pool, and scales of tokens.
    """
    cells = n * (n + 1) // 2
    chart = (
        np.empty(cells * n_rows), np.empty(cells * n_rows), np.empty((2, (n + 1) * n_rows), np.int32),
        np.zeros((4, cells), np.int64), np.empty(n),
    )  # fmt: skip
    return chart, (np.empty(1024), np.empty(1024, np.int32), np.empty(1024), np.empty(1024, np.int32))


@jit
def fill(x, grammar, scores, spans, n_labels, chart, pool, logs):
    """Fill the chart; return log Z, the sum over all trees, weights, whether all of this is right, and the pool."""
    phrase, start, n, at = array_of(grammar, PHRASE), array_of(grammar, START), len(x), spans[1]
    rules, near = as_weights(scores[0], 0, len(scores[0]), logs)
    split, split_near = as_weights(spans[4], 0, len(spans[4]), logs)
    pairs, pairs_near = as_weights(spans[0], at[3], at[4] if len(split) > 0 else at[3], logs)
    chains, chains_near = as_weights(scores[1], 0, len(scores[1]), logs)
    weights, right, z, log_scale = (rules, np.empty(n), split, pairs, chains), False, zero(logs), 0.0
    if near and split_near and pairs_near and chains_near:
        right, pool = inside(x, grammar, weights, spans, n_labels, chart, pool, logs)
    for p in range(len(phrase) if right else 0):
        if start[phrase[p]]:
            z = sum_of(z, chart[0][p * n + n - 1], logs)
    for i in range(n if right else 0):
        log_scale += chart[4][i]
    return logarithm(z, logs) + log_scale, z, weights, right, pool


@jit
def grammar_sums(
    ids, offsets, tokens, grammar, rules, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts,
    n_labels, coefficients, log_partitions, expected_scores, rule_sums, shape_sums, begin_sums, end_sums, split_sums,
    own_sums,
):  # fmt: skip
    """Write log Z and E[score] of each sentence of ids; add coefficient · marginals of all parts."""
    longest, scores = 0, (rules, chain_scores(grammar, rules))
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
    chart, pool = new_sums(longest, len(array_of(grammar, PHRASE)))
    for r in range(len(ids)):
        i, c = ids[r], coefficients[r]
        x = tokens[offsets[i] : offsets[i + 1]]
        log_partitions[r], expected_scores[r] = -np.inf, 0.0
        if len(x) == 0:
            continue
        spans = example_spans(r, i, offsets, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts)
        first, stop = starts[r], starts[r + 1]
        out = (
            shape_sums, begin_sums[first:stop], end_sums[first:stop],
            split_sums[first : stop if len(split) > 0 else first], own_sums[own_starts[r] : own_starts[r + 1]],
        )  # fmt: skip
        log_z, z, weights, right, pool = fill(x, grammar, scores, spans, n_labels, chart, pool, NUMBERS)
        if right and log_z > -np.inf:
            expected_scores[r] = outside(
                x, grammar, scores, weights, spans, n_labels, chart, pool, z, c, rule_sums, out, NUMBERS
            )
        elif not right:
            log_z, z, weights, right, pool = fill(x, grammar, scores, spans, n_labels, chart, pool, LOGS)
            if log_z > -np.inf:
                expected_scores[r] = outside(
                    x, grammar, scores, weights, spans, n_labels, chart, pool, z, c, rule_sums, out, LOGS
                )
        log_partitions[r] = log_z
