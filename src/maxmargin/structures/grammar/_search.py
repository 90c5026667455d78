"""Argmaxes of a grammar over batches of sentences: additive losses, and 1 − F1.

1 − F1 = 1 − 2 t / (m + p), with m true and p predicted constituents, of which t agree. For a fixed p it is linear in t.
For p ≤ b it is at most 1 − 2 t / (m + b), so one decode with an additive loss bounds all derivations of a to b
constituents; a multiplier of p tightens the bound. The search splits the interval of the best bound until no bound
exceeds the best derivation found. If a gap remains for a single p, the chart with a slot for each number of
constituents must close it (`slot_trees`).

Every function is compiled with all those that it calls, so the chart is filled at a single place, in a loop whose
stage says what the decode was for.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, jit
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.grammar._chart import fill_chart, new_chart
from maxmargin.structures.grammar._jit import (
    CHAIN_PTR,
    CHAIN_RULE,
    CHAIN_SYMBOL,
    KID_PTR,
    LABEL,
    LEFT,
    PHRASE,
    SIZE,
    add_present,
    array_of,
    index_truth,
    row_of,
    unfold,
)
from maxmargin.structures.grammar._trace import best_start, glue, write_derivation

#: Relative accuracy of the search over numbers of constituents.
CLOSE = 1e-12
#: Decodes that tighten the bound on an interval.
MOST_CUTS = 60
PLAIN, HALF, INTERVAL, CUT = range(4)


@jit
def chain_scores(grammar, rules):
    """Return the sum of the scores of each chain's rules."""
    chain_ptr, chain_rule = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_RULE)
    out = np.zeros(len(chain_ptr) - 1)
    for c in range(len(out)):
        for r in range(chain_ptr[c], chain_ptr[c + 1]):
            out[c] += rules[chain_rule[r]]
    return out


@jit
def example_spans(r, i, offsets, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts):
    """Return the scores of spans of the r-th example of a batch: its own, and tables that all examples share."""
    used, stop = own_starts[r], own_starts[r + 1]
    while used < stop and own[used] == 0.0:
        used += 1
    own_scores = own[own_starts[r] if used < stop else stop : stop]  # scores that are all 0 need not be read
    if len(tags) == 0:
        return shapes, at, shapes, shapes, shapes, tags, n_tags, own_scores
    first, stop = starts[r], starts[r + 1]
    return (
        shapes, at, begin[first:stop], end[first:stop], split[first : stop if len(split) > 0 else first],
        tags[offsets[i] + 2 * i : offsets[i + 1] + 2 * i + 2], n_tags, own_scores,
    )  # fmt: skip


@jit
def count_matches(code, n, grammar, n_labels, first_true, next_true, true_label):
    """Return the number of constituents of a code, and how many of them are true ones."""
    chain_ptr, chain_symbol = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_SYMBOL)
    label, left, size = array_of(grammar, LABEL), array_of(grammar, LEFT), array_of(grammar, SIZE)
    length = len(code) // 2
    begin, end, split = np.empty(length, np.int64), np.empty(length, np.int64), np.empty(length, np.int64)
    present, predicted, matched = np.zeros(n_labels + 1, np.int32), 0, 0
    for m in range(unfold(code, size, begin, end, split)):
        true = first_true[row_of(n, begin[m]) + end[m]]
        add_present(true, next_true, true_label, 1, present)
        base, c = code[2 * m], code[2 * m + 1]
        last = chain_ptr[c + 1] if c >= 0 else 0
        for r in range(chain_ptr[c] if c >= 0 else 0, last + 1):
            if r == last and base <= 0:
                continue
            a = label[left[base - 1]] if r == last else label[chain_symbol[r]]
            if a < n_labels:
                predicted += 1
                if present[a] > 0:
                    present[a] -= 1
                    matched += 1
        while true >= 0:
            present[true_label[true]] = 0
            true = next_true[true]
    return predicted, matched


@jit
def f1_loss(n_true, found, matched):
    """Return 1 − F1 of labelled constituents; 0 if there are none in either tree."""
    return 1.0 - 2.0 * matched / (n_true + found) if n_true + found > 0 else 0.0


@jit
def best_trees(
    ids, offsets, tokens, grammar, rules, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts,
    n_labels, true_ptr, true_i, true_j, true_label, code_offsets, glued, mus, etas, scales, ranges, codes, open_ptr,
    open_counts, open_bounds, totals,
):  # fmt: skip
    """Write the code of the best tree of each sentence, by score + mu · constituents − eta · true constituents.

    Where scales[r] > 0, the tree maximises score + scale · (1 − F1), except that a gap may remain for single numbers of
    constituents: they are written to `open_counts`, from open_ptr[r] on, −1 after the last, with upper bounds; `totals`
    has the value reached. `ranges` holds the minimum and the maximum number of constituents of each sentence. If there
    is no derivation, pieces are glued if `glued` is true, otherwise the code begins with NO_OUTPUT.
    """
    longest, widest = 0, 0
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
        widest = max(widest, ranges[ids[r], 1] - ranges[ids[r], 0])
    chart = new_chart(longest, len(array_of(grammar, PHRASE)), len(array_of(grammar, KID_PTR)) - 1, n_labels)
    pool, chains = (np.empty(1024), np.empty(1024, np.int32)), chain_scores(grammar, rules)
    trials, room = np.empty(4 * longest, np.int32), widest + 2
    lows, highs, cuts = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    bounds = np.empty(room)
    for r in range(len(ids)):
        i = ids[r]
        x, code = tokens[offsets[i] : offsets[i + 1]], codes[code_offsets[i] : code_offsets[i + 1]]
        n, scale, trial = len(x), scales[r], trials[: 4 * (offsets[i + 1] - offsets[i])]
        if n == 0:
            continue
        spans = example_spans(r, i, offsets, shapes, at, begin, end, split, starts, tags, n_tags, own, own_starts)
        some = slice(true_ptr[i], true_ptr[i + 1])
        true, next_true = true_label[some], np.empty(true_ptr[i + 1] - true_ptr[i], np.int32)
        index_truth(n, true_i[some], true_j[some], chart[2][2], next_true)
        n_true, best, mu, eta = len(true), -np.inf, mus[r], etas[r]
        stage, n_open, now, later, n_left, close = PLAIN, 0, 0, -1, 0, 0.0
        low, high, level, sign, anchor = ranges[i, 0], ranges[i, 1], 0.0, 0.0, 0
        c0 = d0 = c1 = d1 = step = multiplier = expected = bound = 0.0
        n_cuts = 0
        while True:
            pool = fill_chart(x, grammar, rules, chains, spans, true, next_true, mu, eta, chart, pool)
            symbol, score = best_start(n, grammar, chart[0])
            trial[:] = -1
            if symbol >= 0:
                write_derivation(symbol, 0, n, x, grammar, rules, chart, pool, trial, 0)
            elif glued:
                glue(x, grammar, rules, chart, pool, trial)
            else:
                trial[0] = NO_OUTPUT
            if not scale > 0.0 or symbol < 0:
                copy_into(code, trial)
                break
            predicted, matched = count_matches(trial, n, grammar, n_labels, chart[2][2], next_true, true)
            total = score - mu * predicted + eta * matched + scale * f1_loss(n_true, predicted, matched)
            if total > best:
                best = total
                copy_into(code, trial)
            opening = False
            if stage == PLAIN:
                close = CLOSE * (1.0 + scale + abs(score))
                lows[0], highs[0], n_open, now = low, high, 1, 0
                if n_true > 0:
                    stage, eta = HALF, scale / n_true
                    continue
                opening = True
            elif stage == HALF:
                opening = True
            else:
                done = False
                if stage == INTERVAL:
                    bound = score + level
                    done = low <= predicted <= high or bound <= best + close
                    # The bound as a function of a multiplier ≥ 0 is convex: each decode is a line c + d l below it.
                    sign, anchor = (1.0, low) if predicted < low else (-1.0, high)
                    c0, d0, step, c1, n_cuts = bound, sign * (predicted - anchor), max(scale, 1e-3), np.inf, 0
                else:
                    here = score + level - sign * multiplier * anchor
                    bound = min(bound, here)
                    d = sign * (predicted - anchor)
                    done = bound <= best + close or d == 0.0 or here <= expected + close or n_cuts == MOST_CUTS
                    if d < 0.0:
                        c0, d0 = here - d * multiplier, d
                    else:
                        c1, d1 = here - d * multiplier, d
                if not done:
                    if c1 == np.inf:
                        multiplier, expected, step = step, -np.inf, 4.0 * step
                    else:
                        multiplier = (c0 - c1) / (d1 - d0)
                        expected = c0 + d0 * multiplier
                    stage, mu, n_cuts = CUT, sign * multiplier, n_cuts + 1
                    continue
                bounds[now], cuts[now] = bound, predicted
                if later >= 0:
                    now, later, opening = later, -1, True
            while not opening:
                now = int(np.argmax(bounds[:n_open]))
                if bounds[now] <= best + close:
                    break
                if lows[now] == highs[now]:
                    open_counts[open_ptr[r] + n_left], open_bounds[open_ptr[r] + n_left] = lows[now], bounds[now]
                    n_left, bounds[now] = n_left + 1, -np.inf
                    continue
                middle = cuts[now] if lows[now] <= cuts[now] < highs[now] else (lows[now] + highs[now]) // 2
                lows[n_open], highs[n_open], highs[now] = middle + 1, highs[now], middle
                later, n_open, opening = n_open, n_open + 1, True
            if not opening:
                break
            stage, low, high, mu = INTERVAL, lows[now], highs[now], 0.0
            eta, level = (scale * 2.0 / (n_true + high), scale) if n_true + high > 0 else (0.0, 0.0)
        totals[r] = best
        if scale > 0.0:
            open_counts[open_ptr[r] + n_left] = -1


@jit
def list_parts(ids, code_offsets, codes, grammar, n_labels, rule_ptr, rule, part_ptr, begin, end, label, split, again):
    """Write the rules of each code and its constituents: span, label, where the last child begins, repetitions.

    The last child of a constituent of a unary rule begins at −1. A repetition is how often the label occurs before on
    the same span.
    """
    chain_ptr, chain_rule = array_of(grammar, CHAIN_PTR), array_of(grammar, CHAIN_RULE)
    chain_symbol = array_of(grammar, CHAIN_SYMBOL)
    label_of, left, size = array_of(grammar, LABEL), array_of(grammar, LEFT), array_of(grammar, SIZE)
    n_rules = n_parts = longest = 0
    for r in range(len(ids)):
        longest = max(longest, (code_offsets[ids[r] + 1] - code_offsets[ids[r]]) // 2)
    i, j, k = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    for r in range(len(ids)):
        code = codes[code_offsets[ids[r]] : code_offsets[ids[r] + 1]]
        for m in range(unfold(code, size, i, j, k)):
            base, c, first = code[2 * m], code[2 * m + 1], n_parts
            for q in range(chain_ptr[c] if c >= 0 else 0, chain_ptr[c + 1] if c >= 0 else 0):
                rule[n_rules] = chain_rule[q]
                n_rules += 1
                if label_of[chain_symbol[q]] < n_labels:
                    begin[n_parts], end[n_parts], split[n_parts] = i[m], j[m], -1
                    label[n_parts] = label_of[chain_symbol[q]]
                    n_parts += 1
            if base > 0:
                rule[n_rules] = base - 1
                n_rules += 1
                if label_of[left[base - 1]] < n_labels:
                    begin[n_parts], end[n_parts], split[n_parts] = i[m], j[m], k[m]
                    label[n_parts] = label_of[left[base - 1]]
                    n_parts += 1
            for t in range(first, n_parts):
                again[t] = 0
                for u in range(first, t):
                    again[t] += label[u] == label[t]
        rule_ptr[r + 1], part_ptr[r + 1] = n_rules, n_parts


@jit
def match_answers(
    ids, offsets, code_offsets, codes, grammar, n_labels, true_ptr, true_i, true_j, true_label, found, matched
):
    """Write the number of constituents of each code, and how many of them are true ones."""
    longest = 0
    for r in range(len(ids)):
        longest = max(longest, offsets[ids[r] + 1] - offsets[ids[r]])
    first_true = np.empty(longest * (longest + 1) // 2, np.int32)
    for r in range(len(ids)):
        i = ids[r]
        n, some = offsets[i + 1] - offsets[i], slice(true_ptr[i], true_ptr[i + 1])
        next_true = np.empty(true_ptr[i + 1] - true_ptr[i], np.int32)
        index_truth(n, true_i[some], true_j[some], first_true, next_true)
        code = codes[code_offsets[i] : code_offsets[i + 1]]
        found[r], matched[r] = count_matches(code, n, grammar, n_labels, first_true, next_true, true_label[some])
