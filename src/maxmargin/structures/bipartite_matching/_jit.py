"""Bipartite matchings, compiled: shortest augmenting paths (Jonker and Volgenant 1987; Ahuja et al. 1993, ch. 9).

Left node i receives R_i right nodes, one after the other, right node k at most P_k left nodes. With prices u of left
nodes and v ≥ 0 of right nodes, the reduced cost of the pair (i, k) is u_i + v_k − s_ik: at least 0 for pairs that are
not used, at most 0 for those that are, and v_k = 0 while k has room. Along a path with the least reduced cost, from a
left node to a right node with room or to "unassigned", every left node moves one of its pairs; then the prices are
changed so that the pairs of the path cost 0. Common arguments:

    scores[i, k]   score of a pair, −∞ if it is forbidden
    none[i]        score of each right node that i does without, −∞ if it may not
    lefts[i]       R_i, and rights[k] P_k
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.core.planes import NO_OUTPUT


@jit
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


@jit
def best_flow(scores, none, lefts, rights, used):
    """Write which pairs are used, as a table of bool; return False if there is no matching."""
    n_left, n_right = scores.shape
    used[:] = False
    u, v, load = none.copy(), np.zeros(n_right), np.zeros(n_right, np.int64)
    for i in range(n_left):
        for k in range(n_right):
            u[i] = max(u[i], scores[i, k])
        if u[i] == -np.inf:  # prices of −∞ would make reduced costs NaN
            if lefts[i] > 0:
                return False
            u[i] = 0.0
    left, left_before, left_done = np.empty(n_left), np.empty(n_left, np.int64), np.empty(n_left, np.bool_)
    right, right_before, right_done = np.empty(n_right), np.empty(n_right, np.int64), np.empty(n_right, np.bool_)
    for source in np.repeat(np.arange(n_left), lefts):
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
                if load[k] < rights[k]:
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


@jit
def best_pairs(scores, none, lefts, rights, used):
    """Write which pairs are used, as a table of bool; return False if there is no matching."""
    if (lefts != 1).any() or (rights != 1).any():
        return best_flow(scores, none, lefts, rights, used)
    match = np.empty(len(lefts), np.int64)
    if not best_assignment(scores, none, match):
        return False
    used[:] = False
    for i in range(len(match)):
        if match[i] >= 0:
            used[i, match[i]] = True
    return True


@jit
def best_matchings(
    ids, scores, starts, none, none_starts, offsets, width, lefts, left_offsets, rights, right_offsets, codes
):
    """Find the best matching of each example of ids: the right nodes of each left node, ascending, then −1.

    `none` is empty if every left node needs all its right nodes. The code of a left node has `width` symbols.
    """
    for r in range(len(ids)):
        i = ids[r]
        code = codes[offsets[i] : offsets[i + 1]]
        own_lefts = lefts[left_offsets[i] : left_offsets[i + 1]]
        own_rights = rights[right_offsets[i] : right_offsets[i + 1]]
        n_left, n_right = len(own_lefts), len(own_rights)
        if n_left == 0:
            continue
        table = scores[starts[r] : starts[r + 1]].reshape(n_left, n_right)
        rest = none[none_starts[r] : none_starts[r + 1]] if len(none) > 0 else np.full(n_left, -np.inf)
        used = np.empty(table.shape, np.bool_)
        if not best_pairs(table, rest, own_lefts, own_rights, used):
            code[0] = NO_OUTPUT
            continue
        code[:] = -1
        for left in range(n_left):
            at = left * width
            for k in range(n_right):
                if used[left, k]:
                    code[at] = k
                    at += 1


@jit
def best_with_pairs(scores, none, lefts, rights, pairs, nones):
    """Write the best total of a matching that has each pair, and of one in which each left node misses a right node.

    A part is forced by taking it out: its nodes have room for one less, and its score is added. Return False if there
    is no matching.
    """
    n_left, n_right = scores.shape
    used, allowed = np.empty(scores.shape, np.bool_), scores.copy()
    if not best_pairs(scores, none, lefts, rights, used):
        return False
    total = total_of_pairs(scores, none, lefts, used)
    known = used.copy()
    less_left, less_right = lefts.copy(), rights.copy()
    pairs[:], nones[:] = -np.inf, -np.inf
    for i in range(n_left):
        missing = lefts[i] - known[i].sum()
        if lefts[i] == 0:
            continue
        less_left[i] -= 1
        if missing > 0:
            nones[i] = total
        elif none[i] > -np.inf and best_pairs(scores, none, less_left, rights, used):
            nones[i] = total_of_pairs(scores, none, less_left, used) + none[i]
        for k in range(n_right):
            if known[i, k]:
                pairs[i, k] = total
            elif scores[i, k] > -np.inf and rights[k] > 0:
                less_right[k] -= 1
                allowed[i, k] = -np.inf
                if best_pairs(allowed, none, less_left, less_right, used):
                    pairs[i, k] = total_of_pairs(allowed, none, less_left, used) + scores[i, k]
                less_right[k] += 1
                allowed[i, k] = scores[i, k]
        less_left[i] += 1
    return True


@inlined
def total_of_pairs(scores, none, lefts, used):
    """Return the total score of a matching."""
    total = 0.0
    for i in range(len(lefts)):
        missing = lefts[i]
        for k in range(scores.shape[1]):
            if used[i, k]:
                total += scores[i, k]
                missing -= 1
        if missing > 0:
            total += missing * none[i]
    return total


@jit
def pairs_of_codes(
    ids, offsets, lefts, left_offsets, n_rights, width, codes, pair_ptr, pairs, none_ptr, nones, none_counts
):
    """Write the pairs of each example of ids, and how often each left node is unassigned, without zeros."""
    n_pairs, n_nones = 0, 0
    for r in range(len(ids)):
        first = offsets[ids[r]]
        for i in range(left_offsets[ids[r] + 1] - left_offsets[ids[r]]):
            rest = lefts[left_offsets[ids[r]] + i]
            for p in range(first + i * width, first + (i + 1) * width):
                if codes[p] >= 0:
                    pairs[n_pairs] = i * n_rights[ids[r]] + codes[p]
                    n_pairs += 1
                    rest -= 1
            if rest > 0:
                nones[n_nones], none_counts[n_nones] = i, rest
                n_nones += 1
        pair_ptr[r + 1], none_ptr[r + 1] = n_pairs, n_nones
