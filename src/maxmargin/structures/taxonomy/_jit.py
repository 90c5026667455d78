"""Compiled functions of taxonomies: sums along ancestors, and planes."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit


@jit
def class_scores(nodes, pointers, ancestors, out):
    """Compute out[r, k] = Σ_z nodes[r, z] over the ancestors z of class k, in ascending order."""
    for r in range(len(nodes)):
        row = nodes[r]
        for k in range(len(pointers) - 1):
            total = 0.0
            for a in range(pointers[k], pointers[k + 1]):
                total += row[ancestors[a]]
            out[r, k] = total


@inlined
def first_not_below(values, low, high, value):
    """Return the first index of low … high with a value that is not below the given one; branches are rare."""
    left = high - low
    while left > 1:
        half = left >> 1
        low += half if values[low + half - 1] < value else 0
        left -= half
    return low + 1 if left == 1 and values[low] < value else low


@jit
def node_changes(true, found, pointers, ancestors, out_ptr, out_node, out_sign):
    """Write the nodes above only one of two classes: +1 above the true class, −1 above the class found.

    A class of −1 has no ancestors.
    """
    p = 0
    for r in range(len(true)):
        a, a_stop, b, b_stop = 0, 0, 0, 0
        if true[r] >= 0:
            a, a_stop = pointers[true[r]], pointers[true[r] + 1]
        if found[r] >= 0:
            b, b_stop = pointers[found[r]], pointers[found[r] + 1]
        while a < a_stop or b < b_stop:
            if b >= b_stop or (a < a_stop and ancestors[a] < ancestors[b]):
                out_node[p], out_sign[p] = ancestors[a], 1.0
                a, p = a + 1, p + 1
            elif a >= a_stop or ancestors[b] < ancestors[a]:
                out_node[p], out_sign[p] = ancestors[b], -1.0
                b, p = b + 1, p + 1
            else:
                a, b = a + 1, b + 1
        out_ptr[r + 1] = p


@jit
def node_planes(
    ids, indptr, indices, data, change_ptr, nodes, signs, width, first, paired, out_ptr, out_index, out_value
):
    """Write sign · x for every node that changes, without the pairs that have no weight; return the number written.

    If `paired` is empty, all pairs have a weight; otherwise the nodes of a feature are at first[feature] … in ascending
    order, as the nodes that change are.
    """
    p = 0
    for r in range(len(ids)):
        i = ids[r]
        for q in range(indptr[i], indptr[i + 1]):
            feature = np.int64(indices[q])
            low, high = feature * width, (feature + 1) * width
            if len(paired) > 0:
                low, high = first[feature], first[feature + 1]
            if high - low == width:
                for c in range(change_ptr[r], change_ptr[r + 1]):
                    out_index[p], out_value[p] = low + nodes[c], signs[c] * data[q]
                    p += 1
                continue
            for c in range(change_ptr[r], change_ptr[r + 1]):
                low = first_not_below(paired, low, high, nodes[c])
                if low < high and paired[low] == nodes[c]:
                    out_index[p], out_value[p] = low, signs[c] * data[q]
                    p += 1
        out_ptr[r + 1] = p
    return p
