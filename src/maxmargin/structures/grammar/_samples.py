"""Random trees of a grammar: a chart of inside sums (`_sums.py`) is traced from the root down."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import uniform
from maxmargin.algorithms.sum_products import LOGS, NUMBERS, one, product, zero
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.grammar._chart import corner
from maxmargin.structures.grammar._jit import (
    CHAIN_BASE,
    DONE_PTR,
    DONE_RULE,
    DONE_SYMBOL,
    KID_NODE,
    KID_PTR,
    KID_SYMBOL,
    KID_TAGS,
    LABEL,
    LAST,
    PARENT,
    PHRASE,
    ROW,
    START,
    UP_CHAIN,
    UP_PTR,
    UP_TOP,
    array_of,
    row_of,
)
from maxmargin.structures.grammar._search import chain_scores, example_spans
from maxmargin.structures.grammar._sums import chain_weight, fill, label_weights, new_sums, split_weight


@inlined
def share(value, whole, logs):
    """Return value / whole as a number."""
    return value / whole if logs is None else np.exp(value - whole)


@inlined
def sum_on(symbol, i, j, n, x, row_of_symbol, n_rows, best, tag_weights, none):
    """Return the sum of a symbol on a span."""
    p = row_of_symbol[symbol]
    if p < 0:
        return tag_weights[i] if j == i + 1 and x[i] == symbol else none
    return best[corner(n, i, n_rows) + p * (n - i) + j - i - 1]


@jit
def draw_chain(a, i, j, x, grammar, weights, spans, by_label, chart, u, logs):
    """Return a random chain above a base on (i, j) whose top is symbol a, −1 for none."""
    up_ptr, up_top, up_chain = array_of(grammar, UP_PTR), array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN)
    row_of_symbol, label, phrase = array_of(grammar, ROW), array_of(grammar, LABEL), array_of(grammar, PHRASE)
    n, n_rows, none = len(x), len(phrase), zero(logs)
    cell, length = corner(n, i, n_rows) + j - i - 1, n - i
    whole, left, drawn = chart[0][cell + row_of_symbol[a] * length], u, -1
    nothing = np.zeros(len(by_label), np.int32)
    for p in range(-1 if j == i + 1 and x[i] >= 0 else 0, n_rows):
        base, score = int(x[i]), weights[1][i]
        if p >= 0:
            base, score = int(phrase[p]), chart[1][cell + p * length]
            if score == none:
                continue
            score = product(score, by_label[label[base]], logs)
            if base == a:
                drawn = -1
                left -= share(score, whole, logs)
                if left < 0.0:
                    return drawn
        for z in range(up_ptr[base], up_ptr[base + 1]):
            if up_top[z] != a:
                continue
            v = chain_weight(up_chain[z], i, j, n, grammar, weights, by_label, spans, nothing, logs)
            v = share(product(score, v, logs), whole, logs)
            if v > 0.0:
                drawn = int(up_chain[z])
                left -= v
                if left < 0.0:
                    return drawn
    return drawn


@jit
def draw_rule(a, i, j, x, grammar, weights, n_labels, chart, pool, u, logs):
    """Return where the last child of a random rule of symbol a on (i, j) begins, its entry, the child and the rule."""
    kid_ptr, kid_symbol, kid_node = (
        array_of(grammar, KID_PTR),
        array_of(grammar, KID_SYMBOL),
        array_of(grammar, KID_NODE),
    )
    kid_tags, done_ptr, done_symbol = (
        array_of(grammar, KID_TAGS),
        array_of(grammar, DONE_PTR),
        array_of(grammar, DONE_SYMBOL),
    )
    done_rule, row_of_symbol, label = array_of(grammar, DONE_RULE), array_of(grammar, ROW), array_of(grammar, LABEL)
    n, n_rows, none, left = len(x), len(array_of(grammar, PHRASE)), zero(logs), u
    whole = chart[1][corner(n, i, n_rows) + row_of_symbol[a] * (n - i) + j - i - 1]
    splitting, drawn = len(weights[2]) > 0 and label[a] < n_labels, (-1, -1, -1, -1)
    for k in range(i + 1, j):
        s = row_of(n, i) + k
        gain = split_weight(i, k, j, label[a], n_labels, weights, logs) if splitting else one(logs)
        for e in range(chart[3][0, s], chart[3][1, s]):
            q = pool[1][e]
            for z in range(kid_ptr[q], kid_ptr[q + 1] if j == k + 1 else kid_tags[q]):
                node = kid_node[z]
                if done_ptr[node] == done_ptr[node + 1]:
                    continue
                score = sum_on(kid_symbol[z], k, j, n, x, row_of_symbol, n_rows, chart[0], weights[1], none)
                if score == none:
                    continue
                score = product(product(pool[0][e], score, logs), gain, logs)
                for d in range(done_ptr[node], done_ptr[node + 1]):
                    if done_symbol[d] == a:
                        v = share(product(score, weights[0][done_rule[d]], logs), whole, logs)
                        if v > 0.0:
                            drawn = (k, e, int(z), int(done_rule[d]))
                            left -= v
                            if left < 0.0:
                                return drawn
    return drawn


@jit
def draw_before(q, i, k, x, grammar, weights, chart, pool, whole, u, logs):
    """Return where the last symbol of node q on (i, k) begins, at random, and the sum of its parent up to there."""
    parent, last, row_of_symbol = array_of(grammar, PARENT), array_of(grammar, LAST), array_of(grammar, ROW)
    n, n_rows, none, left = len(x), len(array_of(grammar, PHRASE)), zero(logs), u
    drawn = (-1, none)
    for begin in range(i + 1, k):
        score = sum_on(last[q], begin, k, n, x, row_of_symbol, n_rows, chart[0], weights[1], none)
        if score == none:
            continue
        s = row_of(n, i) + begin
        for e in range(chart[3][0, s], chart[3][1, s]):
            if pool[1][e] == parent[q]:
                v = share(product(pool[0][e], score, logs), whole, logs)
                if v > 0.0:
                    drawn = (begin, pool[0][e])
                    left -= v
                    if left < 0.0:
                        return drawn
                break
    return drawn


@jit
def draw_tree(x, grammar, weights, spans, n_labels, chart, pool, z, state, code, logs):
    """Write the code of a random tree, from the root down."""
    last, parent, chain_base = array_of(grammar, LAST), array_of(grammar, PARENT), array_of(grammar, CHAIN_BASE)
    kid_symbol, row_of_symbol = array_of(grammar, KID_SYMBOL), array_of(grammar, ROW)
    start, phrase, n, m = array_of(grammar, START), array_of(grammar, PHRASE), len(x), 0
    stack, top, left, symbol = np.empty((2 * n + 2, 3), np.int64), 1, uniform(state), -1
    gains, by_label = np.zeros(n_labels + 1), np.full(n_labels + 1, one(logs))
    for p in range(len(phrase)):
        v = share(chart[0][p * n + n - 1], z, logs) if start[phrase[p]] else 0.0
        if v > 0.0:
            symbol = int(phrase[p])
            left -= v
            if left < 0.0:
                break
    stack[0, 0], stack[0, 1], stack[0, 2] = symbol, 0, n
    while top > 0:
        top -= 1
        a, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        c = -1
        if row_of_symbol[a] >= 0:
            label_weights(i, j, n, n_labels, spans, gains, by_label, logs)
            c = draw_chain(a, i, j, x, grammar, weights, spans, by_label, chart, uniform(state), logs)
        if c >= 0:
            a = int(chain_base[c])
        code[2 * m], code[2 * m + 1] = 0, c
        if row_of_symbol[a] >= 0:
            k, e, child, rule = draw_rule(a, i, j, x, grammar, weights, n_labels, chart, pool, uniform(state), logs)
            code[2 * m] = 1 + rule
            stack[top, 0], stack[top, 1], stack[top, 2] = kid_symbol[child], k, j
            top += 1
            q, whole = int(pool[1][e]), pool[0][e]
            while parent[q] > 0:
                before, whole = draw_before(q, i, k, x, grammar, weights, chart, pool, whole, uniform(state), logs)
                stack[top, 0], stack[top, 1], stack[top, 2] = last[q], before, k
                q, k, top = int(parent[q]), before, top + 1
            stack[top, 0], stack[top, 1], stack[top, 2] = last[q], i, k
            top += 1
        m += 1


@jit
def grammar_samples(
    ids, offsets, tokens, grammar, rules, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts,
    n_labels, seeds, codes,
):  # fmt: skip
    """Write random trees of each sentence of ids, one row of `codes` for each sample; codes of ids are concatenated.

    The first symbol is NO_OUTPUT if the grammar does not derive a sentence.
    """
    longest, scores, state, to = 0, (rules, chain_scores(grammar, rules)), np.zeros(1, np.uint64), 0
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
    chart, pool = new_sums(longest, len(array_of(grammar, PHRASE)))
    for r in range(len(ids)):
        i = ids[r]
        x = tokens[offsets[i] : offsets[i + 1]]
        if len(x) == 0:
            continue
        spans = example_spans(r, i, offsets, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts)
        log_z, z, weights, right, pool = fill(x, grammar, scores, spans, n_labels, chart, pool, NUMBERS)
        if not right:
            log_z, z, weights, _, pool = fill(x, grammar, scores, spans, n_labels, chart, pool, LOGS)
        state[0] = seeds[r]
        for m in range(len(codes)):
            code = codes[m, to : to + 4 * len(x)]
            for t in range(len(code)):
                code[t] = -1
            if log_z == -np.inf:
                code[0] = NO_OUTPUT
            elif right:
                draw_tree(x, grammar, weights, spans, n_labels, chart, pool, z, state, code, NUMBERS)
            else:
                draw_tree(x, grammar, weights, spans, n_labels, chart, pool, z, state, code, LOGS)
        to += 4 * len(x)
