"""Kernels of a grammar: the chart of the best derivation of each symbol on each span, and codes of derivations.

Spans (i, j) of a sentence of n tokens are numbered row by row, i (2 n − i + 1) / 2 + j − i − 1. A span has partial
right-hand sides, the entries of a pool: a node of the trie of right-hand sides with the best score of its symbols on
the span. The chart has two scores for each symbol: `below`, of derivations that begin with a rule of several symbols or
with a tag, and `best`, with a unary chain above or without.

`grammar` is `rules.Arrays`, packed. `gains` are scores of constituents, of a label on a span; label L belongs to
symbols that are not constituents, whose gain is 0. `spans` holds the scores from which gains are computed
(`set_gains`). The true constituents are `true_label`, with lists of those of each span (`first_true`, `next_true`). A
constituent adds `mu`, and takes away `eta` if it is a true one, so that all losses that are linear in the numbers of
constituents and of true constituents are covered.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import inlined, kernel

#: Positions of arrays in `rules.Arrays`, of which `packed` is a concatenation.
(
    KID_PTR, KID_SYMBOL, KID_NODE, FIRST, LAST, DONE_PTR, DONE_SYMBOL, DONE_RULE, UP_PTR, UP_TOP, UP_CHAIN, CHAIN_PTR,
    CHAIN_RULE, CHAIN_SYMBOL, CHAIN_BASE, REPEATS, LABEL, START, LEFT, SIZE, NODE,
) = range(21)  # fmt: skip
#: Lengths 1, 2, 3, 4, 5 – 7, 8 – 12, 13 – 20 and 21 or more.
N_LENGTHS = 8
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


@kernel
def set_gains(i, j, n, n_labels, spans, mu, gains):
    """Write the score of each label on the span (i, j), and `mu`; the last gain, of no label, stays 0."""
    shapes, at, begin, end, _, tags, n_tags = spans
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
    shapes, at, _, _, split, _, _ = spans
    gain = split[k * n_labels + label]
    if at[4] > at[3]:
        pair = length_bucket(k - i) * N_LENGTHS + length_bucket(j - k)
        gain += shapes[at[3] + pair * n_labels + label]
    return gain


@kernel
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


@kernel
def repeated_matches(c, grammar, n_labels, present):
    """Return how many fewer constituents of a chain and its base are true ones than have a true label."""
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    chain_base, label = array_of(grammar, CHAIN_BASE), array_of(grammar, LABEL)
    fewer = 0
    for r in range(chain_ptr[c], chain_ptr[c + 1] + 1):
        symbol = chain_symbol[r] if r < chain_ptr[c + 1] else chain_base[c]
        if label[symbol] < n_labels:
            before = 0
            for q in range(chain_ptr[c], r):
                before += label[chain_symbol[q]] == label[symbol]
            fewer += 0 < present[label[symbol]] <= before
    return fewer


@kernel
def with_room(array, used):
    """Return the array, with twice its length if it has no room for this number of entries."""
    if used <= len(array):
        return array
    larger = np.empty(2 * max(len(array), used), array.dtype)
    for k in range(len(array)):
        larger[k] = array[k]
    return larger


@kernel
def new_chart(n, n_symbols, n_nodes, n_labels):
    """Return buffers for sentences of up to n tokens."""
    cells = n * (n + 1) // 2
    scores = np.empty((2, cells * n_symbols))
    back = np.empty((4, cells * n_symbols), np.int32)
    lists = np.empty((3, cells), np.int32)
    open_nodes = np.full(n_nodes, -np.inf)
    return scores, back, lists, open_nodes, np.empty((3, n_nodes), np.int32), np.zeros(n_labels + 1), np.zeros(
        n_labels + 1, np.int32
    )  # fmt: skip


@kernel
def fill_chart(x, grammar, rules, chains, spans, true_label, next_true, mu, eta, chart, pool):
    """Fill the chart of a sentence with tags x, −1 for unknown ones; return the pool, which may have grown."""
    kid_ptr, kid_symbol = array_of(grammar, KID_PTR), array_of(grammar, KID_SYMBOL)
    kid_node, first = array_of(grammar, KID_NODE), array_of(grammar, FIRST)
    done_ptr, done_symbol = array_of(grammar, DONE_PTR), array_of(grammar, DONE_SYMBOL)
    done_rule, up_ptr = array_of(grammar, DONE_RULE), array_of(grammar, UP_PTR)
    up_top, up_chain = array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN)
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    repeats, label = array_of(grammar, REPEATS), array_of(grammar, LABEL)
    scores, back, lists, value, origin, gains, present = chart
    best, below = scores[0], scores[1]
    rule_at, split_at, entry_at, chain_at = back[0], back[1], back[2], back[3]
    starts, stops, first_true = lists[0], lists[1], lists[2]
    split_of, entry_of, touched = origin[0], origin[1], origin[2]
    held, entries = pool
    n, n_symbols, n_labels, used = len(x), len(first), len(gains) - 1, 0
    splitting = len(spans[4]) > 0
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            s = row_of(n, i) + j
            at, n_touched = s * n_symbols, 0
            for a in range(n_symbols):
                best[at + a] = -np.inf
                below[at + a] = -np.inf
            set_gains(i, j, n, n_labels, spans, mu, gains)
            true = first_true[s] if eta != 0.0 else -1
            if true >= 0:
                add_present(true, next_true, true_label, 1, present)
                for a in range(n_labels):
                    gains[a] -= eta * (present[a] > 0)
            if width == 1 and x[i] >= 0:
                below[at + x[i]] = 0.0
            for k in range(i + 1, j):
                left, right = row_of(n, i) + k, (row_of(n, k) + j) * n_symbols
                for e in range(starts[left], stops[left]):
                    q, score = entries[3 * e], held[e]
                    for z in range(kid_ptr[q], kid_ptr[q + 1]):
                        v = score + best[right + kid_symbol[z]]
                        node = kid_node[z]
                        if v > value[node]:
                            if value[node] == -np.inf:
                                touched[n_touched] = node
                                n_touched += 1
                            value[node], split_of[node], entry_of[node] = v, k, e
                        if splitting and v > -np.inf:
                            for d in range(done_ptr[node], done_ptr[node + 1]):
                                a = done_symbol[d]
                                u = v + rules[done_rule[d]] + gains[label[a]]
                                if label[a] < n_labels:
                                    u += split_gain(i, k, j, label[a], n_labels, spans)
                                if u > below[at + a]:
                                    below[at + a], rule_at[at + a], split_at[at + a] = u, done_rule[d], k
                                    entry_at[at + a] = e
            if not splitting:
                for t in range(n_touched):
                    node = touched[t]
                    for d in range(done_ptr[node], done_ptr[node + 1]):
                        a = done_symbol[d]
                        v = value[node] + rules[done_rule[d]] + gains[label[a]]
                        if v > below[at + a]:
                            below[at + a], rule_at[at + a], split_at[at + a] = v, done_rule[d], split_of[node]
                            entry_at[at + a] = entry_of[node]
            for a in range(n_symbols):
                score = below[at + a]
                if score == -np.inf:
                    continue
                if score > best[at + a]:
                    best[at + a], chain_at[at + a] = score, -1
                for z in range(up_ptr[a], up_ptr[a + 1]):
                    c = up_chain[z]
                    v = score + chains[c]
                    for r in range(chain_ptr[c], chain_ptr[c + 1]):
                        v += gains[label[chain_symbol[r]]]
                    if true >= 0 and repeats[c]:
                        v += eta * repeated_matches(c, grammar, n_labels, present)
                    if v > best[at + up_top[z]]:
                        best[at + up_top[z]], chain_at[at + up_top[z]] = v, c
            if true >= 0:
                add_present(true, next_true, true_label, -1, present)
            starts[s] = used
            if used + n_symbols + n_touched > len(held):
                held = with_room(held, used + n_symbols + n_touched)
                entries = with_room(entries, 3 * len(held))
            if j < n:
                for a in range(n_symbols):
                    q = first[a]
                    if q >= 0 and best[at + a] > -np.inf:
                        held[used] = best[at + a]
                        entries[3 * used], entries[3 * used + 1], entries[3 * used + 2] = q, -1, -1
                        used += 1
            for t in range(n_touched):
                node = touched[t]
                if j < n and kid_ptr[node + 1] > kid_ptr[node]:
                    held[used] = value[node]
                    entries[3 * used], entries[3 * used + 1] = node, split_of[node]
                    entries[3 * used + 2] = entry_of[node]
                    used += 1
                value[node] = -np.inf
            stops[s] = used
    return held, entries


@kernel
def best_start(n, start, best):
    """Return the best symbol of a root, −1 if there is no derivation, and its score."""
    at, found, score = (row_of(n, 0) + n) * len(start), -1, -np.inf
    for a in range(len(start)):
        if start[a] and best[at + a] > score:
            found, score = a, best[at + a]
    return found, score


@kernel
def write_derivation(symbol, begin, end, n, grammar, chart, pool, code, m):
    """Write the best derivation of a symbol on a span to a code, from pair m on; return the pair after its last."""
    last, node_of_rule, chain_base = array_of(grammar, LAST), array_of(grammar, NODE), array_of(grammar, CHAIN_BASE)
    back, entries, n_symbols = chart[1], pool[1], len(array_of(grammar, FIRST))
    stack, top = np.empty((2 * n + 2, 3), np.int64), 1
    stack[0, 0], stack[0, 1], stack[0, 2] = symbol, begin, end
    while top > 0:
        top -= 1
        a, i, j = stack[top, 0], stack[top, 1], stack[top, 2]
        at = (row_of(n, i) + j) * n_symbols
        c = back[3, at + a]
        if c >= 0:
            a = np.int64(chain_base[c])
        code[2 * m + 1] = c
        if j == i + 1:
            code[2 * m] = 0
            m += 1
            continue
        rule, k, e = back[0, at + a], np.int64(back[1, at + a]), np.int64(back[2, at + a])
        code[2 * m] = 1 + rule
        m += 1
        node, right = np.int64(node_of_rule[rule]), j
        while True:
            stack[top, 0], stack[top, 1], stack[top, 2] = last[node], k, right
            top += 1
            node, right = np.int64(entries[3 * e]), k
            if entries[3 * e + 2] < 0:
                break
            k, e = np.int64(entries[3 * e + 1]), np.int64(entries[3 * e + 2])
        stack[top, 0], stack[top, 1], stack[top, 2] = last[node], i, right
        top += 1
    return m


@kernel
def glue(x, grammar, chart, pool, code):
    """Write the code of a root over as few pieces as possible, and of these those of the greatest score.

    A piece is a constituent, or a tag.
    """
    n, n_symbols, label, best = len(x), len(array_of(grammar, FIRST)), array_of(grammar, LABEL), chart[0][0]
    n_labels = len(chart[5]) - 1
    pieces, score = np.full(n + 1, n + 1), np.full(n + 1, -np.inf)
    begin, symbol = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    pieces[0], score[0] = 0, 0.0
    for j in range(1, n + 1):
        for i in range(j):
            at = (row_of(n, i) + j) * n_symbols
            for a in range(n_symbols + 1):
                if a == n_symbols:
                    v, piece = 0.0 if j == i + 1 else -np.inf, -1
                else:
                    v, piece = best[at + a] if label[a] < n_labels else -np.inf, a
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
            m = write_derivation(symbol[j], begin[j], j, n, grammar, chart, pool, code, m)
    return m


@kernel
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
