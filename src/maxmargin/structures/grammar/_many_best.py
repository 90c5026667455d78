"""The chart with several derivations of each symbol on a span: the k best, or the best for each number of constituents.

A record is a symbol on a span without a chain (below) or with one (top), or a partial right-hand side. It has `width`
slots: ranks 0, 1, … if `ranked`, else numbers of constituents. Each slot has a score and four numbers from which its
derivation follows:

    below     1 + rule (0 for a tag), the record of the partial right-hand side, its slot, the slot of the last symbol
    top       chain (−1 for none), the record below, its slot, –
    partial   −1, the record of the first symbol, its slot, –     or     0, the record that it continues, its slot, the
              slot of the last symbol
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.core.planes import NO_OUTPUT
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
    NODE,
    REPEATS,
    START,
    UP_CHAIN,
    UP_PTR,
    UP_TOP,
    add_present,
    array_of,
    repeated_gain,
    row_of,
    set_gains,
    split_gain,
    with_room,
)


@jit
def keep(values, origins, record, width, ranked, slot, value, a, b, c, d):
    """Put a derivation into a slot of a record if it is better, or into its rank if it is among the best."""
    first = record * width
    if ranked:
        t = first + width - 1
        if value <= values[t]:
            return
        while t > first and values[t - 1] < value:
            values[t] = values[t - 1]
            for f in range(4):
                origins[4 * t + f] = origins[4 * t + f - 4]
            t -= 1
    else:
        t = first + slot
        if value <= values[t]:
            return
    values[t] = value
    origins[4 * t], origins[4 * t + 1], origins[4 * t + 2], origins[4 * t + 3] = a, b, c, d


@jit
def many_best(x, grammar, rules, chains, spans, true_i, true_j, true_label, mu, eta, width, ranked):
    """Return the records (scores, origins, nodes and ends of partial ones), those of tops, and that of the root."""
    kid_ptr, kid_symbol = array_of(grammar, KID_PTR), array_of(grammar, KID_SYMBOL)
    kid_node, first = array_of(grammar, KID_NODE), array_of(grammar, FIRST)
    done_ptr, done_symbol = array_of(grammar, DONE_PTR), array_of(grammar, DONE_SYMBOL)
    done_rule, up_ptr = array_of(grammar, DONE_RULE), array_of(grammar, UP_PTR)
    up_top, up_chain = array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN)
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    repeats, label = array_of(grammar, REPEATS), array_of(grammar, LABEL)
    start = array_of(grammar, START)
    n, n_symbols, n_nodes = len(x), len(first), len(kid_ptr) - 1
    n_labels, cells = 0, n * (n + 1) // 2
    for a in range(n_symbols):
        n_labels = max(n_labels, int(label[a]))
    splitting = len(spans[4]) > 0
    gains, present = np.zeros(n_labels + 1), np.zeros(n_labels + 1, np.int32)
    first_true, next_true = np.full(cells, -1, np.int32), np.empty(len(true_i), np.int32)
    for t in range(len(true_i)):
        s = row_of(n, np.int64(true_i[t])) + true_j[t]
        next_true[t] = first_true[s]
        first_true[s] = t
    value, origin = np.full(n_nodes * width, -np.inf), np.empty(4 * n_nodes * width, np.int32)
    open_node, touched = np.zeros(n_nodes, np.bool_), np.empty(n_nodes, np.int64)
    tops, belows = np.full(cells * n_symbols, -1, np.int64), np.full(n_symbols, -1, np.int64)
    starts, stops = np.empty(cells, np.int64), np.empty(cells, np.int64)
    values, origins, about, used = np.empty(256 * width), np.empty(1024 * width, np.int32), np.empty(512, np.int64), 0
    for length in range(1, n + 1):
        for i in range(n - length + 1):
            j = i + length
            s = row_of(n, i) + j
            at, n_touched = s * n_symbols, 0
            for a in range(n_symbols):
                belows[a] = -1
            set_gains(i, j, n, n_labels, spans, mu, gains)
            add_present(first_true[s], next_true, true_label, 1, present)
            for a in range(n_labels):
                gains[a] -= eta * (present[a] > 0)
            # Room for all records that this span may need: one below and one above each symbol, one for each node.
            most = used + 3 * n_symbols + n_nodes
            values, about = with_room(values, most * width), with_room(about, 2 * most)
            origins = with_room(origins, 4 * most * width)
            for t in range(used * width, most * width):
                values[t] = -np.inf
            if length == 1 and x[i] >= 0:
                belows[x[i]] = used
                keep(values, origins, used, width, ranked, 0, 0.0, 0, 0, 0, 0)
                used += 1
            for k in range(i + 1, j):
                left, right = row_of(n, i) + k, (row_of(n, k) + j) * n_symbols
                for e in range(starts[left], stops[left]):
                    q = about[2 * e]
                    for z in range(kid_ptr[q], kid_ptr[q + 1]):
                        other, node = tops[right + kid_symbol[z]], np.int64(kid_node[z])
                        if other < 0:
                            continue
                        if not open_node[node]:
                            open_node[node], touched[n_touched] = True, node
                            n_touched += 1
                        for t in range(width):
                            for u in range(width // (t + 1) if ranked else width - t):
                                v = values[e * width + t] + values[other * width + u]
                                if v == -np.inf:
                                    continue
                                keep(value, origin, node, width, ranked, t + u, v, 0, e, t, u)
                                if not splitting:
                                    continue
                                # scores of a split depend on the label, so they are added before the best is kept
                                for d in range(done_ptr[node], done_ptr[node + 1]):
                                    a = done_symbol[d]
                                    shift = np.int64(label[a] < n_labels)
                                    g = v + rules[done_rule[d]] + gains[label[a]]
                                    if shift:
                                        g += split_gain(i, k, j, label[a], n_labels, spans)
                                    if belows[a] < 0:
                                        belows[a], used = used, used + 1
                                    if ranked or t + u + shift < width:
                                        keep(
                                            values, origins, belows[a], width, ranked, t + u + shift, g,
                                            1 + done_rule[d], e, t, u,
                                        )  # fmt: skip
            for t in range(0 if splitting else n_touched):
                node = touched[t]
                for d in range(done_ptr[node], done_ptr[node + 1]):
                    a = done_symbol[d]
                    if belows[a] < 0:
                        belows[a], used = used, used + 1
                    shift, gain = np.int64(label[a] < n_labels), rules[done_rule[d]] + gains[label[a]]
                    for u in range(width if ranked else width - shift):
                        v, o = value[node * width + u] + gain, 4 * (node * width + u)
                        keep(
                            values, origins, belows[a], width, ranked, u + shift, v, 1 + done_rule[d], origin[o + 1],
                            origin[o + 2], origin[o + 3],
                        )  # fmt: skip
            for base in range(n_symbols):
                below = belows[base]
                for z in range(up_ptr[base] - 1 if below >= 0 else up_ptr[base + 1], up_ptr[base + 1]):
                    c, top, gain, n_above = -1, base, 0.0, 0
                    if z >= up_ptr[base]:
                        c, top = int(up_chain[z]), int(up_top[z])
                        gain = chains[c]
                        for r in range(chain_ptr[c], chain_ptr[c + 1]):
                            gain += gains[label[chain_symbol[r]]]
                            n_above += label[chain_symbol[r]] < n_labels
                        if repeats[c]:
                            gain += repeated_gain(c, i, j, n, grammar, spans[7], eta, present)
                    if tops[at + top] < 0:
                        tops[at + top], used = used, used + 1
                    for u in range(width if ranked else width - n_above):
                        v = values[below * width + u] + gain
                        keep(values, origins, tops[at + top], width, ranked, u + n_above, v, c, below, u, 0)
            add_present(first_true[s], next_true, true_label, -1, present)
            starts[s] = used
            for t in range(n_symbols + n_touched if j < n else 0):
                single = t < n_symbols
                node = np.int64(first[t]) if single else touched[t - n_symbols]
                if node < 0 or kid_ptr[node + 1] == kid_ptr[node] or (single and tops[at + t] < 0):
                    continue
                about[2 * used], about[2 * used + 1] = node, j
                for u in range(width):
                    o, f = 4 * (used * width + u), 4 * (node * width + u)
                    if single:
                        values[used * width + u] = values[tops[at + t] * width + u]
                        origins[o], origins[o + 1], origins[o + 2] = -1, tops[at + t], u
                    else:
                        values[used * width + u] = value[node * width + u]
                        origins[o], origins[o + 1], origins[o + 2] = 0, origin[f + 1], origin[f + 2]
                        origins[o + 3] = origin[f + 3]
                used += 1
            stops[s] = used
            for t in range(n_touched):
                open_node[touched[t]] = False
                for u in range(width):
                    value[touched[t] * width + u] = -np.inf
    values, origins = with_room(values, (used + 1) * width), with_room(origins, 4 * (used + 1) * width)
    for u in range(width):
        values[used * width + u] = -np.inf
    for a in range(n_symbols):
        r = tops[(row_of(n, 0) + n) * n_symbols + a]
        for u in range(width if start[a] and r >= 0 else 0):
            keep(values, origins, used, width, ranked, u, values[r * width + u], a, r, u, 0)
    return values, origins, about, tops, used


@jit
def write_slot(slot, width, n, grammar, values, origins, about, tops, root, code):
    """Write the derivation in a slot of the root to a code."""
    last, node_of_rule = array_of(grammar, LAST), array_of(grammar, NODE)
    for t in range(len(code)):
        code[t] = -1
    at = root * width + slot
    if values[at] == -np.inf:
        code[0] = NO_OUTPUT
        return
    n_symbols, m, top = len(array_of(grammar, FIRST)), 0, 1
    stack = np.empty((2 * n + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = np.int64(origins[4 * at + 1]) * width + origins[4 * at + 2], n
    while top > 0:
        top -= 1
        at, right = 4 * stack[top, 0], stack[top, 1]
        code[2 * m + 1] = origins[at]
        at = 4 * (np.int64(origins[at + 1]) * width + origins[at + 2])
        base, e, t, u = origins[at], int(origins[at + 1]), int(origins[at + 2]), int(origins[at + 3])
        code[2 * m] = base
        m += 1
        node = int(node_of_rule[base - 1]) if base > 0 else -1
        while node >= 0:
            k = about[2 * e + 1]
            stack[top, 0] = tops[(row_of(n, k) + right) * n_symbols + last[node]] * width + u
            stack[top, 1] = right
            at, node, right, top = 4 * (e * width + t), int(about[2 * e]), k, top + 1
            e, t, u = int(origins[at + 1]), int(origins[at + 2]), int(origins[at + 3])
            if origins[at] < 0:
                stack[top, 0], stack[top, 1] = e * width + t, right
                node, top = -1, top + 1


@jit
def slot_trees(
    x, grammar, rules, chains, spans, true_i, true_j, true_label, mu, eta, width, ranked, slot, codes, scores
):
    """Write the codes and scores of the slots `slot` … of the root; NO_OUTPUT and −∞ for empty slots."""
    values, origins, about, tops, root = many_best(
        x, grammar, rules, chains, spans, true_i, true_j, true_label, mu, eta, width, ranked
    )
    for t in range(len(codes)):
        scores[t] = values[root * width + slot + t]
        write_slot(slot + t, width, len(x), grammar, values, origins, about, tops, root, codes[t])
