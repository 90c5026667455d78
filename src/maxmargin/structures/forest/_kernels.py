"""Kernels for spanning forests over the pairs of some items.

The pairs i < j of n items are numbered in reading order: (0, 1), (0, 2), …, (0, n−1), (1, 2), … The code of a forest is
the sorted numbers of its links, padded with −1 to n − 1 entries, so equal forests have equal codes.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compile import inlined, kernel
from maxmargin.core._entries import add_entry, write_entries
from maxmargin.core.codes import HASH_START, hash_step
from maxmargin.core.planes import sparse_dot


@inlined
def pair_number(n, i, j):
    """Where the pair i < j stands among all pairs of n items."""
    return i * (2 * n - i - 1) // 2 + j - i - 1


@kernel
def sparse_pair_scores(ids, offsets, indptr, indices, data, w, intercept, starts, out):
    """w·x + intercept of all pairs of each of ids; those of ids[r] go to starts[r] …"""
    for r in range(len(ids)):
        shift = starts[r] - offsets[ids[r]]
        for p in range(offsets[ids[r]], offsets[ids[r] + 1]):
            out[shift + p] = sparse_dot(indices, data, indptr[p], indptr[p + 1], w) + intercept


@kernel
def dense_pair_scores(ids, offsets, rows, w, intercept, starts, out):
    """As `sparse_pair_scores`. All rows are summed in one order, so equal rows tie, which BLAS does not promise."""
    width = rows.shape[1]
    for r in range(len(ids)):
        shift = starts[r] - offsets[ids[r]]
        for p in range(offsets[ids[r]], offsets[ids[r] + 1]):
            score = intercept
            for f in range(width):
                score += rows[p, f] * w[f]
            out[shift + p] = score


@kernel
def spanning_forest(scores, clusters, inside, across, least, links):
    """The maximum spanning forest over links worth more than `least`, written to `links` as a code.

    A link is worth its score, plus `inside` where it joins items of one cluster and `across` where it does not. Of
    equals the lower pair number wins, so the forest is unique: the one that Kruskal's algorithm finds. It is found by
    Prim's (1957) in O(n²) steps, without sorting n(n − 1)/2 pairs. When no link that is worth it leaves the trees so
    far, a new tree begins. Returns the number of links, and how many of them are inside clusters.
    """
    n = len(clusters)
    best = np.full(n, -np.inf)
    link, partner = np.full(n, -1), np.full(n, -1)
    waiting = np.arange(n)
    links[:] = -1
    taken = within = at = 0
    for left in range(n - 1, 0, -1):
        item = waiting[at]
        waiting[at] = waiting[left]
        at = 0
        for k in range(left):
            other = waiting[k]
            p = pair_number(n, min(item, other), max(item, other))
            worth = scores[p] + (inside if clusters[item] == clusters[other] else across)
            if worth > best[other] or (worth == best[other] and p < link[other]):
                best[other], link[other], partner[other] = worth, p, item
            top = waiting[at]
            if best[other] > best[top] or (best[other] == best[top] and link[other] < link[top]):
                at = k
        top = waiting[at]
        if best[top] > least:
            links[taken] = link[top]
            within += clusters[top] == clusters[partner[top]]
            taken += 1
    links[:taken].sort()
    return taken, within


@kernel
def decode_forests(
    ids, starts, scores, items, clusters, known, code_offsets, truths, r, scales, complete, codes, losses, rises, keys
):
    """The best forest of each of ids: loss-augmented, or the best one that spans the true clusters (`complete`).

    Without known clusters it is the plain argmax.
    """
    for q in range(len(ids)):
        i = ids[q]
        own, pairs = clusters[items[i] : items[i + 1]], scores[starts[q] : starts[q + 1]]
        links = codes[code_offsets[i] : code_offsets[i + 1]]
        truth = truths[code_offsets[i] : code_offsets[i + 1]]
        inside, across, least = 0.0, 0.0, 0.0
        if known and complete:
            across, least = -np.inf, -np.inf
        elif known:
            inside, across = -scales[q], scales[q] * r
        taken, within = spanning_forest(pairs, own, inside, across, least, links)
        losses[i] = count_links(truth) - within + r * (taken - within) if known else 0.0
        rises[i] = total_score(pairs, links) - total_score(pairs, truth)
        keys[i] = 0 if known and (links == truth).all() else link_key(links)


@kernel
def count_links(code):
    count = 0
    while count < len(code) and code[count] >= 0:
        count += 1
    return count


@kernel
def total_score(scores, code):
    total = 0.0
    for k in range(count_links(code)):
        total += scores[code[k]]
    return total


@kernel
def link_key(code):
    key = HASH_START
    for k in range(count_links(code)):
        key = hash_step(key, code[k])
    return key


@kernel
def cluster_numbers(code, n, out):
    """The tree of each item, numbered from 0 in the order of first items."""
    root = np.arange(n)
    first, begin = 0, 0  # pairs of `first` begin at number `begin`
    for k in range(count_links(code)):
        while code[k] >= begin + n - 1 - first:
            begin += n - 1 - first
            first += 1
        a, b = find_root(root, first), find_root(root, first + 1 + code[k] - begin)
        root[max(a, b)] = min(a, b)
    found = 0
    for item in range(n):
        if root[item] == item:
            out[item] = found
            found += 1
        else:
            out[item] = out[find_root(root, item)]


@kernel
def find_root(root, item):
    while root[item] != item:
        root[item] = root[root[item]]
        item = root[item]
    return item


@kernel
def changed_links(ids, code_offsets, truths, codes, pair_offsets, ptr, rows, signs):
    """Rows of the links of the truth alone (+1) and of the coded forest alone (−1), for each of ids."""
    used = 0
    for q in range(len(ids)):
        i = ids[q]
        a, b, end = code_offsets[i], code_offsets[i], code_offsets[i + 1]
        while True:
            mine = truths[a] if a < end else -1
            other = codes[b] if b < end else -1
            if mine < 0 and other < 0:
                break
            a += mine >= 0 and (other < 0 or mine <= other)
            b += other >= 0 and (mine < 0 or other <= mine)
            if mine == other:
                continue
            plus = other < 0 or 0 <= mine < other
            rows[used] = pair_offsets[i] + (mine if plus else other)
            signs[used] = 1.0 if plus else -1.0
            used += 1
        ptr[q + 1] = used


@kernel
def sum_sparse_rows(ptr, rows, signs, indptr, indices, data, touched, intercept, total, out_ptr, out_index, out_value):
    """Σ signs · x over each group of rows, zeros left out.

    `total` is a vector of zeros, and `touched` has room for all entries of a group.
    """
    used = 0
    for q in range(len(ptr) - 1):
        count = 0
        for k in range(ptr[q], ptr[q + 1]):
            for p in range(indptr[rows[k]], indptr[rows[k] + 1]):
                count = add_entry(np.int64(indices[p]), signs[k] * data[p], total, touched, count)
            if intercept:
                count = add_entry(len(total) - 1, signs[k], total, touched, count)
        used = write_entries(total, touched, count, 1.0, out_index, out_value, used)
        out_ptr[q + 1] = used


@kernel
def sum_dense_rows(ptr, rows, signs, features, intercept, total, out_ptr, out_index, out_value):
    """As `sum_sparse_rows`, for rows that are mostly not zero."""
    used, width = 0, features.shape[1]
    for q in range(len(ptr) - 1):
        total[:] = 0.0
        for k in range(ptr[q], ptr[q + 1]):
            for f in range(width):
                total[f] += signs[k] * features[rows[k], f]
            if intercept:
                total[width] += signs[k]
        for f in range(len(total)):
            if total[f] != 0.0:
                out_index[used], out_value[used] = f, total[f]
                used += 1
        out_ptr[q + 1] = used
