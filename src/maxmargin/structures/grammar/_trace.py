"""Derivations in a filled chart (`_chart.py`), which keeps only splits and chains; nodes are found again."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.structures.grammar._chart import corner
from maxmargin.structures.grammar._jit import (
    CHAIN_BASE,
    DONE_PTR,
    DONE_RULE,
    DONE_SYMBOL,
    GLUED,
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
    array_of,
    row_of,
)


@jit
def best_start(n, grammar, best):
    """Return the best symbol of a root, −1 if there is no derivation, and its score."""
    start, phrase = array_of(grammar, START), array_of(grammar, PHRASE)
    symbol, score = -1, -np.inf
    for p in range(len(phrase)):
        if start[phrase[p]] and best[p * n + n - 1] > score:
            symbol, score = int(phrase[p]), best[p * n + n - 1]
    return symbol, score


@inlined
def score_of(symbol, i, j, n, x, row_of_symbol, n_rows, best):
    """Return the score of a symbol on a span."""
    p = row_of_symbol[symbol]
    if p < 0:
        return 0.0 if j == i + 1 and x[i] == symbol else -np.inf
    return best[corner(n, i, n_rows) + p * (n - i) + j - i - 1]


@jit
def last_step(a, i, k, j, x, grammar, rules, chart, pool):
    """Return the entry of (i, k) and the child that end the best rule of symbol a on (i, j), and the rule."""
    kid_ptr, kid_symbol, kid_tags = (
        array_of(grammar, KID_PTR),
        array_of(grammar, KID_SYMBOL),
        array_of(grammar, KID_TAGS),
    )
    kid_node, done_ptr = array_of(grammar, KID_NODE), array_of(grammar, DONE_PTR)
    done_symbol, done_rule = array_of(grammar, DONE_SYMBOL), array_of(grammar, DONE_RULE)
    row_of_symbol, n = array_of(grammar, ROW), len(x)
    n_rows, s = len(array_of(grammar, PHRASE)), row_of(n, i) + k
    last_entry, child, best_rule, top = -1, -1, -1, -np.inf
    for e in range(chart[2][0][s], chart[2][1][s]):
        q = pool[1][e]
        for z in range(kid_ptr[q], kid_ptr[q + 1] if j == k + 1 else kid_tags[q]):
            node = kid_node[z]
            if done_ptr[node] == done_ptr[node + 1]:
                continue
            score = pool[0][e] + score_of(kid_symbol[z], k, j, n, x, row_of_symbol, n_rows, chart[0])
            if score == -np.inf:
                continue
            for d in range(done_ptr[node], done_ptr[node + 1]):
                v = score + rules[done_rule[d]]
                if done_symbol[d] == a and (v > top or (v == top and done_rule[d] < best_rule)):
                    last_entry, child, best_rule, top = e, int(z), int(done_rule[d]), v
    return last_entry, child, best_rule


@jit
def step_before(q, i, k, x, grammar, chart, pool):
    """Return where the last symbol of node q on (i, k) begins."""
    parent, last, row_of_symbol = array_of(grammar, PARENT), array_of(grammar, LAST), array_of(grammar, ROW)
    n, n_rows, top, best_begin = len(x), len(array_of(grammar, PHRASE)), -np.inf, -1
    for begin in range(i + 1, k):
        score = score_of(last[q], begin, k, n, x, row_of_symbol, n_rows, chart[0])
        if score == -np.inf:
            continue
        s = row_of(n, i) + begin
        for e in range(chart[2][0][s], chart[2][1][s]):
            if pool[1][e] == parent[q]:
                if pool[0][e] + score > top:
                    top, best_begin = pool[0][e] + score, begin
                break
    return best_begin


@jit
def write_derivation(symbol, begin, end, x, grammar, rules, chart, pool, code, m):
    """Write the best derivation of a symbol on a span to a code, from pair m on; return the pair after its last."""
    last, parent, chain_base = array_of(grammar, LAST), array_of(grammar, PARENT), array_of(grammar, CHAIN_BASE)
    kid_symbol, row_of_symbol = array_of(grammar, KID_SYMBOL), array_of(grammar, ROW)
    n, n_rows = len(x), len(array_of(grammar, PHRASE))
    stack, top = np.empty((2 * n + 2, 3), np.int64), 1
    stack[0, 0], stack[0, 1], stack[0, 2] = symbol, begin, end
    while top > 0:
        top -= 1
        a, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        cell, c = corner(n, i, n_rows) + j - i - 1, -1
        if row_of_symbol[a] >= 0:
            c = int(chart[1][0, cell + row_of_symbol[a] * (n - i)])
        if c >= 0:
            a = int(chain_base[c])
        code[2 * m + 1] = c
        if row_of_symbol[a] < 0:
            code[2 * m] = 0
            m += 1
            continue
        k = int(chart[1][1, cell + row_of_symbol[a] * (n - i)])
        e, z, rule = last_step(a, i, k, j, x, grammar, rules, chart, pool)
        code[2 * m] = 1 + rule
        m += 1
        stack[top, 0], stack[top, 1], stack[top, 2] = kid_symbol[z], k, j
        top += 1
        q = int(pool[1][e])
        while parent[q] > 0:
            before = step_before(q, i, k, x, grammar, chart, pool)
            stack[top, 0], stack[top, 1], stack[top, 2] = last[q], before, k
            q, k, top = int(parent[q]), before, top + 1
        stack[top, 0], stack[top, 1], stack[top, 2] = last[q], i, k
        top += 1
    return m


@jit
def glue(x, grammar, rules, chart, pool, code):
    """Write the code of a root over as few pieces as possible, and of these those of the greatest score.

    A piece is a constituent, or a tag.
    """
    label, phrase, best = array_of(grammar, LABEL), array_of(grammar, PHRASE), chart[0]
    n, n_rows, n_labels = len(x), len(phrase), len(chart[7]) - 1
    pieces, score = np.full(n + 1, n + 1), np.full(n + 1, -np.inf)
    begin, symbol = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    pieces[0], score[0] = 0, 0.0
    for j in range(1, n + 1):
        for i in range(j):
            at = corner(n, i, n_rows) + j - i - 1
            for p in range(n_rows + 1):
                if p == n_rows:
                    v, piece = 0.0 if j == i + 1 else -np.inf, -1
                else:
                    piece = int(phrase[p])
                    v = best[at + p * (n - i)] if label[piece] < n_labels else -np.inf
                if v > -np.inf and (
                    pieces[i] + 1 < pieces[j] or (pieces[i] + 1 == pieces[j] and score[i] + v > score[j])
                ):
                    pieces[j], score[j], begin[j], symbol[j] = pieces[i] + 1, score[i] + v, i, piece
    ends, j = np.empty(pieces[n], np.int64), n
    for t in range(pieces[n] - 1, -1, -1):
        ends[t] = j
        j = begin[j]
    code[0], code[1], m = GLUED + 1 - pieces[n], -1, 1
    for t in range(len(ends)):
        j = ends[t]
        if symbol[j] < 0:
            code[2 * m], code[2 * m + 1] = 0, -1
            m += 1
        else:
            m = write_derivation(symbol[j], begin[j], j, x, grammar, rules, chart, pool, code, m)
    return m
