"""The chart of the best derivation of each phrase on each span.

Starts i are taken from the last to the first, and ends k of a start in ascending order. What begins at i and ends at k
is final when all earlier ends are; each of its partial right-hand sides, a node of the trie, is then continued by all
phrases that begin at k at once, in a loop over their ends j without branches:

    value[node, j] = max(value[node, j], held + best[symbol, k, j])

Of the nodes whose rules end with the same symbol and have the same left-hand side, only the best one counts (`ends`).
Rules end in `fresh`, a row for each left-hand side, which is merged into `total` after all nodes of (i, k); so scores
of the split k are added once for each label and end. Tags are symbols of one token alone and need no rows. No origins
of nodes are kept: the trace, which visits few of them, finds them again.

The score of phrase p on (i, j) is at ``corner(n, i, P) + p (n − i) + j − i − 1`` for P phrases.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.structures.grammar._jit import (
    CHAIN_PTR,
    CHAIN_SYMBOL,
    DONE_ROW,
    DONE_RULE,
    FIRST,
    KID_PTR,
    KID_SYMBOL,
    KID_TAGS,
    LABEL,
    PHRASE,
    REPEATS,
    ROW,
    STEP,
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


@inlined
def corner(n, i, n_rows):
    """Return the number of scores of phrases that begin before token i."""
    return n_rows * (i * n - i * (i - 1) // 2)


@jit
def new_chart(n, n_rows, n_nodes, n_labels):
    """Return buffers for sentences of up to n tokens: scores, origins, spans, rows of a start, nodes, gains, labels."""
    cells = n * (n + 1) // 2
    scores, back = np.empty(cells * n_rows), np.empty((2, cells * n_rows), np.int32)
    lists, rows = np.empty((3, cells), np.int32), np.empty((2, n_rows * n))
    live, nodes = np.empty((2, (n + 1) * n_rows), np.int32), np.full((2, n_nodes), -1, np.int32)
    work = np.full((2, n_rows), -1, np.int32)
    return (
        scores, back, lists, rows, live, nodes, work, np.zeros(n_labels + 1), np.zeros(n_labels + 1, np.int32),
        np.full(n_rows * n_rows, -np.inf), np.empty(n_rows * n_rows, np.int32), np.empty(n * n_nodes),
    )  # fmt: skip


@inlined
def raise_row(held, right, at, row, to, m):
    """Raise m scores of a row, from `to` on, to those of phrases, from `at` on, after `held`."""
    source, target = np.uint64(at), np.uint64(to)
    for t in range(np.uint64(m)):
        row[target + t] = max(row[target + t], held + right[source + t])


@inlined
def clear_row(row, at, m):
    """Set m scores of a row to −∞, from `at` on."""
    target = np.uint64(at)
    for t in range(np.uint64(m)):
        row[target + t] = -np.inf


@inlined
def tag_kid(q, tag, kid_ptr, kid_tags, kid_symbol):
    """Return the child of a node by a tag, as a position in the lists of children; −1 if there is none."""
    low, high = kid_tags[q], kid_ptr[q + 1]
    while low < high:
        middle = (low + high) // 2
        if kid_symbol[middle] < tag:
            low = middle + 1
        else:
            high = middle
    return low if low < kid_ptr[q + 1] and kid_symbol[low] == tag else -1


@jit
def fill_chart(x, grammar, rules, chains, spans, true_label, next_true, mu, eta, chart, pool):
    """Fill the chart of a sentence with tags x, −1 for unknown ones; return the pool, which may have grown.

    The pool holds the scores and nodes of partial right-hand sides.
    """
    kid_ptr, kid_symbol, kid_tags = (
        array_of(grammar, KID_PTR),
        array_of(grammar, KID_SYMBOL),
        array_of(grammar, KID_TAGS),
    )
    step, first = array_of(grammar, STEP), array_of(grammar, FIRST)
    done_row, done_rule, up_ptr = array_of(grammar, DONE_ROW), array_of(grammar, DONE_RULE), array_of(grammar, UP_PTR)
    up_top, up_chain = array_of(grammar, UP_TOP), array_of(grammar, UP_CHAIN)
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    repeats, label = array_of(grammar, REPEATS), array_of(grammar, LABEL)
    row_of_symbol, phrase = array_of(grammar, ROW), array_of(grammar, PHRASE)
    best, back, lists, rows, live, nodes, work, gains, present = chart[:9]
    chain_at, split_at = back[0], back[1]
    starts, stops, first_true = lists[0], lists[1], lists[2]
    total, fresh = rows[0], rows[1]
    live_from, live_to = live[0], live[1]
    slot_of, opened = nodes[0], nodes[1]
    stamp, fresh_rows, ends, pairs, values = work[0], work[1], chart[9], chart[10], chart[11]
    held, entries = pool
    n, n_rows, n_labels, used = len(x), len(phrase), len(gains) - 1, 0
    splitting = len(spans[4]) > 0
    for p in range(n_rows):
        stamp[p] = -1
    for i in range(n - 1, -1, -1):
        at, n_open, length = corner(n, i, n_rows), 0, n - i
        clear_row(total, 0, n_rows * n)
        clear_row(best, at, n_rows * length)
        for p in range(n_rows):
            live_from[i * n_rows + p], live_to[i * n_rows + p] = n, 0
        for k in range(i + 1, n + 1):
            s = row_of(n, i) + k
            cell = at + k - i - 1
            set_gains(i, k, n, n_labels, spans, mu, gains)
            true = first_true[s] if eta != 0.0 else -1
            if true >= 0:
                add_present(true, next_true, true_label, 1, present)
                for a in range(n_labels):
                    gains[a] -= eta * (present[a] > 0)
            tag, repeating = x[i] if k == i + 1 else -1, true >= 0 or len(spans[7]) > 0
            for p in range(-1, n_rows):
                if p < 0:
                    if tag < 0:
                        continue
                    a, score = int(tag), 0.0
                else:
                    score = total[p * n + k - 1]
                    if score == -np.inf:
                        continue
                    a = int(phrase[p])
                    score += gains[label[a]]
                    if score > best[cell + p * length]:
                        best[cell + p * length], chain_at[cell + p * length] = score, -1
                for z in range(up_ptr[a], up_ptr[a + 1]):
                    c = up_chain[z]
                    v = score + chains[c]
                    for r in range(chain_ptr[c], chain_ptr[c + 1]):
                        v += gains[label[chain_symbol[r]]]
                    if repeating and repeats[c]:
                        v += repeated_gain(c, i, k, n, grammar, spans[7], eta, present)
                    top = cell + row_of_symbol[up_top[z]] * length
                    if v > best[top]:
                        best[top], chain_at[top] = v, c
            if true >= 0:
                add_present(true, next_true, true_label, -1, present)
            starts[s] = used
            stops[s] = used
            if used + n_rows + 1 + n_open > len(held):
                held = with_room(held, used + n_rows + 1 + n_open)
                entries = with_room(entries, len(held))
            for p in range(n_rows):
                score = best[cell + p * length]
                if score > -np.inf:
                    live_from[i * n_rows + p] = min(live_from[i * n_rows + p], k - i - 1)
                    live_to[i * n_rows + p] = k - i
                    if k < n and first[phrase[p]] >= 0:
                        held[used], entries[used] = score, first[phrase[p]]
                        used += 1
            if k == n:
                continue
            if tag >= 0 and first[tag] >= 0:
                held[used], entries[used] = 0.0, first[tag]
                used += 1
            for t in range(n_open):
                score = values[t * n + k - 1]
                if score > -np.inf:
                    held[used], entries[used] = score, opened[t]
                    used += 1
            stops[s] = used
            right, after, m = corner(n, k, n_rows), n - k, k * n_rows
            tag, n_fresh, n_pairs = x[k], 0, 0
            for e in range(starts[s], used):
                q, score = entries[e], held[e]
                for z in range(kid_ptr[q], kid_tags[q]):
                    p, node = int(step[4 * z]), int(step[4 * z + 1])
                    low, high = int(live_from[m + p]), int(live_to[m + p])
                    if low >= high:
                        continue
                    if node >= 0:
                        if slot_of[node] < 0:
                            slot_of[node], opened[n_open] = n_open, node
                            clear_row(values, n_open * n + k, after)
                            n_open += 1
                        raise_row(score, best, right + p * after + low, values, slot_of[node] * n + k + low, high - low)
                    for d in range(step[4 * z + 2], step[4 * z + 3]):
                        pair, v = int(done_row[d]) * n_rows + p, score + rules[done_rule[d]]
                        if v > ends[pair]:
                            if ends[pair] == -np.inf:
                                pairs[n_pairs] = pair
                                n_pairs += 1
                            ends[pair] = v
                z = tag_kid(q, tag, kid_ptr, kid_tags, kid_symbol) if tag >= 0 else -1
                if z < 0:
                    continue
                node = int(step[4 * z + 1])
                if node >= 0:
                    if slot_of[node] < 0:
                        slot_of[node], opened[n_open] = n_open, node
                        clear_row(values, n_open * n + k, after)
                        n_open += 1
                    to = int(slot_of[node]) * n + k
                    values[to] = max(values[to], score)
                for d in range(step[4 * z + 2], step[4 * z + 3]):
                    p = int(done_row[d])
                    if stamp[p] != s:
                        stamp[p], fresh_rows[n_fresh] = s, p
                        n_fresh += 1
                        clear_row(fresh, p * n + k, after)
                    fresh[p * n + k] = max(fresh[p * n + k], score + rules[done_rule[d]])
            for t in range(n_pairs):
                p, b = int(pairs[t]) // n_rows, int(pairs[t]) % n_rows
                if stamp[p] != s:
                    stamp[p], fresh_rows[n_fresh] = s, p
                    n_fresh += 1
                    clear_row(fresh, p * n + k, after)
                low, high = int(live_from[m + b]), int(live_to[m + b])
                raise_row(ends[pairs[t]], best, right + b * after + low, fresh, p * n + k + low, high - low)
                ends[pairs[t]] = -np.inf
            for t in range(n_fresh):
                p = fresh_rows[t]
                a = label[phrase[p]]
                for j in range(k + 1, n + 1):
                    v = fresh[p * n + j - 1]
                    if v > -np.inf and splitting and a < n_labels:
                        v += split_gain(i, k, j, a, n_labels, spans)
                    if v > total[p * n + j - 1]:
                        total[p * n + j - 1], split_at[at + p * length + j - i - 1] = v, k
        for t in range(n_open):
            slot_of[opened[t]] = -1
    return held, entries
