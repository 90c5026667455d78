"""Max-marginals of a grammar: the best score of a tree that has a constituent, by an inside and an outside sweep.

Inside scores are those of the best derivation below a symbol on a span, or of a partial right-hand side, a node of the
trie; outside scores are those of the best rest of a tree around it. Partial right-hand sides are entries of a list for
each span, which both sweeps go through in the same way.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.structures.grammar._jit import (
    CHAIN_PTR,
    CHAIN_SYMBOL,
    DONE_PTR,
    DONE_RULE,
    DONE_SYMBOL,
    FIRST,
    KID_NODE,
    KID_PTR,
    KID_SYMBOL,
    LABEL,
    LAST,
    PARENT,
    START,
    UP_CHAIN,
    UP_PTR,
    UP_TOP,
    array_of,
    chain_gain,
    row_of,
    set_gains,
    split_gain,
    with_room,
)


@jit
def inside(x, grammar, rules, chains, spans, n_labels):
    """Return inside scores: of symbols below and with chains, and the entries of spans (starts, nodes, scores)."""
    kid_ptr, kid_symbol = array_of(grammar, KID_PTR), array_of(grammar, KID_SYMBOL)
    kid_node, first = array_of(grammar, KID_NODE), array_of(grammar, FIRST)
    done_ptr, done_symbol = array_of(grammar, DONE_PTR), array_of(grammar, DONE_SYMBOL)
    done_rule, up_ptr = array_of(grammar, DONE_RULE), array_of(grammar, UP_PTR)
    up_top, up_chain, label = array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN), array_of(grammar, LABEL)
    n, n_symbols, n_nodes = len(x), len(first), len(kid_ptr) - 1
    cells, splitting, gains = n * (n + 1) // 2, len(spans[4]) > 0, np.zeros(n_labels + 1)
    nothing = np.zeros(n_labels + 1, np.int32)
    below, top = np.full((cells, n_symbols), -np.inf), np.full((cells, n_symbols), -np.inf)
    starts, used = np.zeros((cells, 2), np.int64), 0
    nodes, scores = np.empty(256, np.int64), np.empty(256)
    value, touched = np.full(n_nodes, -np.inf), np.empty(n_nodes, np.int64)
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j, n_touched = i + length, 0
            cell = row_of(n, i) + j
            set_gains(i, j, n, n_labels, spans, 0.0, gains)
            if length == 1 and x[i] >= 0:
                below[cell, x[i]] = 0.0
            for k in range(i + 1, j):
                left, right = row_of(n, i) + k, row_of(n, k) + j
                for e in range(starts[left, 0], starts[left, 1]):
                    for z in range(kid_ptr[nodes[e]], kid_ptr[nodes[e] + 1]):
                        score = scores[e] + top[right, kid_symbol[z]]
                        if score == -np.inf:
                            continue
                        node = kid_node[z]
                        if kid_ptr[node + 1] > kid_ptr[node]:
                            if value[node] == -np.inf:
                                touched[n_touched] = node
                                n_touched += 1
                            value[node] = max(value[node], score)
                        for d in range(done_ptr[node], done_ptr[node + 1]):
                            a = done_symbol[d]
                            v = score + rules[done_rule[d]] + gains[label[a]]
                            if splitting and label[a] < n_labels:
                                v += split_gain(i, k, j, label[a], n_labels, spans)
                            below[cell, a] = max(below[cell, a], v)
            for base in range(n_symbols):
                if below[cell, base] == -np.inf:
                    continue
                top[cell, base] = max(top[cell, base], below[cell, base])
                for z in range(up_ptr[base], up_ptr[base + 1]):
                    v = below[cell, base] + chain_gain(up_chain[z], i, j, n, grammar, chains, gains, spans, nothing)
                    top[cell, up_top[z]] = max(top[cell, up_top[z]], v)
            nodes = with_room(nodes, used + n_symbols + n_touched)
            scores = with_room(scores, len(nodes))
            starts[cell, 0] = used
            for s in range(n_symbols if j < n else 0):
                if top[cell, s] > -np.inf and first[s] >= 0:
                    nodes[used], scores[used], used = first[s], top[cell, s], used + 1
            for t in range(n_touched):
                if j < n:
                    nodes[used], scores[used], used = touched[t], value[touched[t]], used + 1
                value[touched[t]] = -np.inf
            starts[cell, 1] = used
    return below, top, starts, nodes, scores


@jit
def max_marginals(x, grammar, rules, chains, spans, found):
    """Write the best score of a tree with a constituent on tokens i … j − 1 to found[i, j, label]; −∞ for none."""
    kid_ptr, kid_symbol = array_of(grammar, KID_PTR), array_of(grammar, KID_SYMBOL)
    kid_node, last, parent = array_of(grammar, KID_NODE), array_of(grammar, LAST), array_of(grammar, PARENT)
    done_ptr, done_symbol = array_of(grammar, DONE_PTR), array_of(grammar, DONE_SYMBOL)
    done_rule, up_ptr = array_of(grammar, DONE_RULE), array_of(grammar, UP_PTR)
    up_top, up_chain, label = array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN), array_of(grammar, LABEL)
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    start, n, n_labels = array_of(grammar, START), len(x), found.shape[2]
    n_symbols, splitting, gains = len(label), len(spans[4]) > 0, np.zeros(n_labels + 1)
    nothing = np.zeros(n_labels + 1, np.int32)
    below, top, starts, nodes, scores = inside(x, grammar, rules, chains, spans, n_labels)
    found[:] = -np.inf
    around, rest = np.full(top.shape, -np.inf), np.full(len(scores), -np.inf)
    around_below, slot_of = np.empty(n_symbols), np.full(len(kid_ptr) - 1, -1, np.int64)
    for a in range(n_symbols):
        if start[a]:
            around[row_of(n, 0) + n, a] = 0.0
    for length in range(n, 0, -1):
        for i in range(n - length + 1):
            j = i + length
            cell = row_of(n, i) + j
            set_gains(i, j, n, n_labels, spans, 0.0, gains)
            for e in range(starts[cell, 0], starts[cell, 1]):
                slot_of[nodes[e]] = e
                if parent[nodes[e]] == 0:  # a right-hand side that begins here
                    around[cell, last[nodes[e]]] = max(around[cell, last[nodes[e]]], rest[e])
            for base in range(n_symbols):
                around_below[base] = around[cell, base]
                if below[cell, base] == -np.inf:
                    continue
                for z in range(up_ptr[base] - 1, up_ptr[base + 1]):
                    v = around[cell, base]
                    if z >= up_ptr[base]:
                        c = up_chain[z]
                        v = around[cell, up_top[z]] + chain_gain(c, i, j, n, grammar, chains, gains, spans, nothing)
                        for r in range(chain_ptr[c], chain_ptr[c + 1]):
                            b = label[chain_symbol[r]]
                            if b < n_labels:
                                found[i, j, b] = max(found[i, j, b], v + below[cell, base])
                    if label[base] < n_labels:
                        found[i, j, label[base]] = max(found[i, j, label[base]], v + below[cell, base])
                    around_below[base] = max(around_below[base], v)
            for k in range(i + 1, j):
                left, right = row_of(n, i) + k, row_of(n, k) + j
                for e in range(starts[left, 0], starts[left, 1]):
                    for z in range(kid_ptr[nodes[e]], kid_ptr[nodes[e] + 1]):
                        s, node = kid_symbol[z], kid_node[z]
                        if top[right, s] == -np.inf:
                            continue
                        best = rest[slot_of[node]] if slot_of[node] >= 0 else -np.inf
                        for d in range(done_ptr[node], done_ptr[node + 1]):
                            a = done_symbol[d]
                            v = around_below[a] + rules[done_rule[d]] + gains[label[a]]
                            if splitting and label[a] < n_labels:
                                v += split_gain(i, k, j, label[a], n_labels, spans)
                            best = max(best, v)
                        rest[e] = max(rest[e], best + top[right, s])
                        around[right, s] = max(around[right, s], best + scores[e])
            for e in range(starts[cell, 0], starts[cell, 1]):
                slot_of[nodes[e]] = -1
