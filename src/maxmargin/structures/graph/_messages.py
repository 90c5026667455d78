"""Labels of any graph by sequential tree-reweighted messages (Kolmogorov 2006), closed by branch and bound.

    max_y Σ_v s_v(y_v) + Σ_e t_e(y_i, y_j)      e = (i, j)

``messages[e, 0]`` go into the first end of an edge, ``messages[e, 1]`` into the second. For any finite messages, one
pass over the nodes in either direction proves an upper bound: the scores of a node plus all messages into it, of which
the maximum is taken out, are divided among its edges to later nodes; what is left at an edge is maximised, and taken
out, when the message is sent.

Forbidden labels have scores of −∞, and messages stay finite: a label without an allowed partner at some edge becomes
forbidden (`scores` is overwritten).
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, copy_table, inlined, jit
from maxmargin.structures.graph._pairs import total_of

#: Gap relative to the scores below which a labelling is taken for the best one.
CLOSED = 1e-9
#: Sweeps between two looks at whether bounds still fall, and the share of the gap that they must have closed.
LOOK, FALL = 5, 0.02
#: Sweeps for each subproblem of branch and bound.
SWEEPS_OF_BRANCH = 8


@jit
def sweep(scores, pairs, edges, first, incident, messages, forward, hard, labels, own, part):
    """Send messages to later nodes (forward) or earlier ones; return an upper bound, −∞ if there is no labelling.

    The message of node i to label b of node j is max_a s_i(a) + t_e(a, b) for the share s_i of its scores and messages;
    in O(K) if only equal labels have scores. Write labels, each the best one given those of the nodes before and the
    messages of the others. `hard` says whether some pairs are forbidden.
    """
    # No views of rows and no calls with arrays, for which Numba would count references in the innermost loops.
    n, n_labels = scores.shape
    width, bound = pairs.shape[1], 0.0
    for r in range(n):
        v = r if forward else n - 1 - r
        n_before, n_after = 0, 0
        for k in range(n_labels):
            own[k] = part[k] = scores[v, k]
        for q in range(first[v], first[v + 1]):
            e, side = incident[q] >> 1, incident[q] & 1
            u = edges[e, 1 - side]
            if (u > v) == forward:
                n_after += 1
                for k in range(n_labels):
                    own[k] += messages[e, side, k]
                    part[k] += messages[e, side, k]
                continue
            n_before += 1
            other = labels[u]
            for k in range(n_labels):
                own[k] += messages[e, side, k]
            if width != n_labels * n_labels:
                part[other] += pairs[e, 0 if width == 1 else other]
            elif side == 0:
                for k in range(n_labels):
                    part[k] += pairs[e, k * n_labels + other]
            else:
                for k in range(n_labels):
                    part[k] += pairs[e, other * n_labels + k]
        chosen, top = 0, own[0]
        for k in range(1, n_labels):
            top = max(top, own[k])
            if part[k] > part[chosen]:
                chosen = k
        if top == -np.inf:
            return top
        labels[v] = chosen
        bound += top
        share = 1.0 / max(n_before, n_after, 1)
        for k in range(n_labels):
            own[k] = share * (own[k] - top)
        for q in range(first[v], first[v + 1]):
            e, side = incident[q] >> 1, incident[q] & 1
            u = edges[e, 1 - side]
            if (u > v) != forward:
                continue
            to = 1 - side
            for k in range(n_labels):
                part[k] = own[k] - messages[e, side, k]
            if width != n_labels * n_labels:
                best, second, at = -np.inf, -np.inf, 0
                for k in range(n_labels):
                    if part[k] > best:
                        best, second, at = part[k], best, k
                    elif part[k] > second:
                        second = part[k]
                for k in range(n_labels):
                    messages[e, to, k] = max(best, part[k] + pairs[e, 0 if width == 1 else k])
                messages[e, to, at] = max(second, part[at] + pairs[e, 0 if width == 1 else at])
            elif side == 0:
                for j in range(n_labels):
                    messages[e, to, j] = part[0] + pairs[e, j]
                for k in range(1, n_labels):
                    a = part[k]
                    for j in range(n_labels):
                        messages[e, to, j] = max(messages[e, to, j], a + pairs[e, k * n_labels + j])
            else:
                for j in range(n_labels):
                    best = -np.inf
                    for k in range(n_labels):
                        best = max(best, part[k] + pairs[e, j * n_labels + k])
                    messages[e, to, j] = best
            top = messages[e, to, 0]
            for j in range(1, n_labels):
                top = max(top, messages[e, to, j])
            bound += top
            if hard:
                for k in range(n_labels):
                    if messages[e, to, k] == -np.inf:
                        messages[e, to, k] = top
                        scores[u, k] = -np.inf
            for k in range(n_labels):
                messages[e, to, k] -= top
    return bound


@jit
def improve(scores, pairs, edges, first, incident, labels, own):
    """Change single labels while this improves a labelling (Besag 1986); return its score."""
    n, n_labels = scores.shape
    width = pairs.shape[1]
    for _ in range(100):
        changed = False
        for v in range(n):
            for k in range(n_labels):
                own[k] = scores[v, k]
            for q in range(first[v], first[v + 1]):
                e, side = incident[q] >> 1, incident[q] & 1
                other = labels[edges[e, 1 - side]]
                if width != n_labels * n_labels:
                    own[other] += pairs[e, 0 if width == 1 else other]
                    continue
                for k in range(n_labels):
                    own[k] += pairs[e, k * n_labels + other] if side == 0 else pairs[e, other * n_labels + k]
            best = labels[v]
            for k in range(n_labels):
                if own[k] > own[best] + 1e-12 * (abs(own[k]) if own[best] == -np.inf else abs(own[best])):
                    best = k
            if best != labels[v]:
                labels[v], changed = best, True
        if not changed:
            break
    return total_of(labels, scores, pairs, edges)


@inlined
def clearly_above(bound, value):
    """Return whether a bound exceeds a score by more than rounding; a score of −∞ is that of no labelling."""
    if value == -np.inf:
        return bound > value
    return bound > value + CLOSED * (abs(bound) + abs(value))


@jit
def by_messages(
    scores, pairs, edges, first, incident, messages, hard, most_sweeps, most_branches, value, labels
):  # fmt: skip
    """Improve labels of score `value` (−∞: none are known); return their score and an upper bound on the best.

    At most `most_sweeps` pairs of passes, fewer if the bound is attained or falls slowly, and then at most
    `most_branches` more for branch and bound.
    """
    n, n_labels = scores.shape
    own, part, decoded = np.empty(n_labels), np.empty(n_labels), np.zeros(n, labels.dtype)
    original, upper, last = scores.copy(), np.inf, np.inf
    for count in range(most_sweeps):
        for forward in (True, False):
            bound = sweep(scores, pairs, edges, first, incident, messages, forward, hard, decoded, own, part)
            upper = min(upper, bound)
            if bound == -np.inf:
                return value, value
            total = total_of(decoded, original, pairs, edges)
            if total > value:
                value = total
                copy_into(labels, decoded)
        if not clearly_above(upper, value):
            return value, max(value, upper)
        if count % LOOK == LOOK - 1:
            if last - upper < FALL * (upper - value):
                break
            last = upper
    if value > -np.inf:
        copy_into(decoded, labels)
        total = improve(original, pairs, edges, first, incident, decoded, own)
        if total > value:
            value = total
            copy_into(labels, decoded)
    if most_branches > 0 and clearly_above(upper, value):
        value, upper = branch_and_bound(
            scores, original, pairs, edges, first, incident, messages, hard, most_branches, value, upper, labels
        )
    return value, max(upper, value)


@jit
def branch_and_bound(
    scores, original, pairs, edges, first, incident, messages, hard, most_sweeps, value, upper, labels
):  # fmt: skip
    """Fix and forbid labels of single nodes, depth first; return the score of the best labels and an upper bound.

    A subproblem is left when its bound is not above the best score. What is left open when all sweeps are used counts
    with its bound.
    """
    n, n_labels = scores.shape
    deepest, base = min(n * n_labels, most_sweeps) + 1, scores.copy()
    decisions = np.empty((deepest, 2), np.int64)  # node and label
    limits, fixed = np.empty(deepest), np.zeros(deepest, np.bool_)
    own, part, decoded = np.empty(n_labels), np.empty(n_labels), np.zeros(n, labels.dtype)
    depth, used, left_open = 0, 0, -np.inf
    while True:
        bound, last = np.inf if depth == 0 else limits[depth - 1], np.inf
        if used < most_sweeps:
            for count in range(SWEEPS_OF_BRANCH):
                used += 1
                for forward in (True, False):
                    now = sweep(scores, pairs, edges, first, incident, messages, forward, hard, decoded, own, part)
                    bound = min(bound, now)
                    if now == -np.inf:
                        break
                    total = total_of(decoded, original, pairs, edges)
                    if total > value:
                        value = total
                        copy_into(labels, decoded)
                if not clearly_above(bound, value):
                    break
                if count % 4 == 3:
                    if last - bound < 0.03 * (bound - value):
                        break
                    last = bound
        down = clearly_above(bound, value)
        if down and (used >= most_sweeps or depth >= deepest):
            left_open, down = max(left_open, bound), False
        if down:
            node, label = least_clear(scores, edges, first, incident, messages, own)
            if node < 0:  # a single labelling is left
                for v in range(n):
                    for k in range(n_labels):
                        if scores[v, k] > -np.inf:
                            decoded[v] = k
                total = total_of(decoded, original, pairs, edges)
                if total > value:
                    value = total
                    copy_into(labels, decoded)
            else:
                decisions[depth, 0], decisions[depth, 1], limits[depth], fixed[depth] = node, label, bound, True
                for k in range(n_labels):
                    if k != label:
                        scores[node, k] = -np.inf
                depth += 1
                continue
        # Back to the last decision whose other side may be better.
        while depth > 0:
            limit = limits[depth - 1]
            if fixed[depth - 1] and clearly_above(limit, value):
                if used >= most_sweeps:
                    left_open = max(left_open, limit)
                else:
                    fixed[depth - 1] = False
                    break
            depth -= 1
        restore(base, decisions, fixed, depth, scores)
        if depth == 0:
            break
    return value, max(value, min(upper, left_open))


@jit
def restore(base, decisions, fixed, depth, scores):
    """Set the scores to those that the first decisions leave: a label fixed, or forbidden."""
    copy_table(scores, base)
    for d in range(depth):
        node, label = decisions[d, 0], decisions[d, 1]
        for k in range(scores.shape[1]):
            if (k != label) == fixed[d]:
                scores[node, k] = -np.inf


@jit
def least_clear(scores, edges, first, incident, messages, own):
    """Return the node whose two best labels differ least, and its best label; −1 if all nodes have one label left."""
    n, n_labels = scores.shape
    node, label, least = -1, 0, np.inf
    for v in range(n):
        for k in range(n_labels):
            own[k] = scores[v, k]
        for q in range(first[v], first[v + 1]):
            into = messages[incident[q] >> 1, incident[q] & 1]
            for k in range(n_labels):
                own[k] += into[k]
        best, second, at = -np.inf, -np.inf, 0
        for k in range(n_labels):
            if own[k] > best:
                best, second, at = own[k], best, k
            elif own[k] > second:
                second = own[k]
        if second > -np.inf and best - second < least:
            node, label, least = v, at, best - second
    return node, label
