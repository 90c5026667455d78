"""Kernels for bipartite matchings: shortest augmenting paths (Jonker and Volgenant 1987; Ahuja et al. 1993, ch. 9).

Left node i receives R right nodes, one after the other, and each right node at most P left nodes. With prices u of left
nodes and v ≥ 0 of right nodes, the reduced cost of the pair (i, k) is u_i + v_k − s_ik: at least 0 for pairs that are
not used, at most 0 for those that are, and v_k = 0 while k has room. Along a path with the least reduced cost, from a
left node to a right node with room or to "unassigned", every left node moves one of its pairs; then the prices are
changed so that the pairs of the path cost 0. Common arguments:

    scores[i, k]   score of a pair, −∞ if it is forbidden
    none[i]        score of each right node that i does without, −∞ if it may not
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import inlined, kernel
from maxmargin.core.codes import NO_OUTPUT


@kernel
def best_assignment(scores, none, match):
    """Write the right node of each left node, −1 if unassigned; return False if there is no assignment (R = P = 1)."""
    n_left, n_right = scores.shape
    u, v, owner = np.empty(n_left), np.zeros(n_right), np.full(n_right, -1)
    distance, before, done = np.empty(n_right), np.empty(n_right, np.int64), np.empty(n_right, np.bool_)
    for source in range(n_left):
        distance[:], done[:] = np.inf, False
        i, walked, u[source] = source, 0.0, 0.0
        end, none_at, none_walked = -1, -1, np.inf
        while True:
            row, shift = scores[i], walked + u[i]
            if shift - none[i] < none_walked:
                none_at, none_walked = i, shift - none[i]
            nearest, least = -1, np.inf
            for k in range(n_right):
                if done[k]:
                    continue
                if shift + v[k] - row[k] < distance[k]:
                    distance[k], before[k] = shift + v[k] - row[k], i
                if distance[k] < least or (distance[k] == least and nearest >= 0 and owner[k] < 0 <= owner[nearest]):
                    nearest, least = k, distance[k]
            if none_walked <= least:
                if none_at < 0:
                    return False
                walked = none_walked
                break
            walked = least
            if owner[nearest] < 0:
                end, none_at = nearest, -1
                break
            done[nearest], i = True, owner[nearest]
        u[source] -= walked
        for k in range(n_right):
            if done[k]:
                v[k] += walked - distance[k]
                u[owner[k]] -= walked - distance[k]
        if none_at >= 0:
            end, match[none_at] = (match[none_at] if none_at != source else -1), -1
            if none_at == source:
                continue
        while True:
            i = before[end]
            owner[end] = i
            if i == source:
                match[i] = end
                break
            match[i], end = end, match[i]
    return True


@inlined
def nearest_node(distance, done):
    """Return the nearest node that is not done, −1 if none can be reached."""
    nearest, least = -1, np.inf
    for k in range(len(distance)):
        if distance[k] < least and not done[k]:
            nearest, least = k, distance[k]
    return nearest


@kernel
def best_flow(scores, none, per_left, per_right, used):
    """Write which pairs are used, as a table of bool; return False if there is no matching."""
    n_left, n_right = scores.shape
    used[:] = False
    u, v, load = none.copy(), np.zeros(n_right), np.zeros(n_right, np.int64)
    for i in range(n_left):
        for k in range(n_right):
            u[i] = max(u[i], scores[i, k])
        if u[i] == -np.inf:  # prices of −∞ would make reduced costs NaN
            return False
    left, left_before, left_done = np.empty(n_left), np.empty(n_left, np.int64), np.empty(n_left, np.bool_)
    right, right_before, right_done = np.empty(n_right), np.empty(n_right, np.int64), np.empty(n_right, np.bool_)
    for unit in range(n_left * per_left):
        source = unit // per_left
        left[:], left_done[:], right[:], right_done[:] = np.inf, False, np.inf, False
        left[source], end, none_at, walked = 0.0, -1, -1, np.inf
        while True:
            i, k = nearest_node(left, left_done), nearest_node(right, right_done)
            at = min(left[i] if i >= 0 else np.inf, right[k] if k >= 0 else np.inf)
            if at >= walked:
                break
            if i >= 0 and left[i] == at:
                left_done[i] = True
                rest = at + max(0.0, u[i] - none[i])
                if rest < walked:
                    none_at, walked = i, rest
                for t in range(n_right):
                    if not right_done[t] and not used[i, t] and scores[i, t] > -np.inf:
                        there = at + max(0.0, u[i] + v[t] - scores[i, t])
                        if there < right[t]:
                            right[t], right_before[t] = there, i
            else:
                right_done[k] = True
                if load[k] < per_right:
                    end, none_at, walked = k, -1, at
                    break
                for t in range(n_left):
                    if used[t, k] and not left_done[t]:
                        there = at + max(0.0, scores[t, k] - u[t] - v[k])
                        if there < left[t]:
                            left[t], left_before[t] = there, k
        if walked == np.inf:
            return False
        for t in range(n_left):
            u[t] -= walked - min(left[t], walked)
        for t in range(n_right):
            v[t] += walked - min(right[t], walked)
        if end >= 0:
            load[end] += 1
        i = none_at
        while end >= 0 or i != source:
            if end < 0:
                end = left_before[i]
                used[i, end] = False
            i = right_before[end]
            used[i, end], end = True, -1
    return True


@kernel
def best_matchings(ids, scores, starts, none, none_starts, offsets, per_left, per_right, codes):
    """Find the best matching of each example of ids: R right nodes of each left node, ascending, then −1.

    `none` is empty if every left node needs R right nodes.
    """
    for r in range(len(ids)):
        code = codes[offsets[ids[r]] : offsets[ids[r] + 1]]
        n_left = len(code) // per_left
        if n_left == 0:
            continue
        table = scores[starts[r] : starts[r + 1]].reshape(n_left, (starts[r + 1] - starts[r]) // n_left)
        rest = none[none_starts[r] : none_starts[r + 1]] if len(none) > 0 else np.full(n_left, -np.inf)
        if per_left == 1 and per_right == 1:
            if not best_assignment(table, rest, code):
                code[0] = NO_OUTPUT
            continue
        used = np.empty(table.shape, np.bool_)
        if not best_flow(table, rest, per_left, per_right, used):
            code[0] = NO_OUTPUT
            continue
        code[:] = -1
        for i in range(n_left):
            at = i * per_left
            for k in range(table.shape[1]):
                if used[i, k]:
                    code[at] = k
                    at += 1


@kernel
def pairs_of_codes(ids, offsets, n_rights, per_left, codes, pair_ptr, pairs, none_ptr, nones, none_counts):
    """Write the pairs of each example of ids, and how often each left node is unassigned, without zeros."""
    n_pairs, n_nones = 0, 0
    for r in range(len(ids)):
        first, stop = offsets[ids[r]], offsets[ids[r] + 1]
        for i in range((stop - first) // per_left):
            rest = per_left
            for p in range(first + i * per_left, first + (i + 1) * per_left):
                if codes[p] >= 0:
                    pairs[n_pairs] = i * n_rights[ids[r]] + codes[p]
                    n_pairs += 1
                    rest -= 1
            if rest > 0:
                nones[n_nones], none_counts[n_nones] = i, rest
                n_nones += 1
        pair_ptr[r + 1], none_ptr[r + 1] = n_pairs, n_nones
