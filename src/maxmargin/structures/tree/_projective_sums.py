"""Sums over all projective trees by inside and outside sums over the spans of Eisner (1996).

Each tree has one derivation. Spans and tables are those of `_projective` and `_sums`. Charts are flat arrays of rows of
n + 1 numbers; complete spans are also kept by their other end (`turned`), so all sums run over rows.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.log_sums import uniform
from maxmargin.algorithms.sum_products import (
    LEAST_LOG,
    LOGS,
    add_multiple,
    dot,
    drawn,
    logarithm,
    number,
    one,
    product,
    quotient,
    sum_of,
    total,
    weight,
    zero,
)
from maxmargin.structures.tree._projective import ARC_LEFT, ARC_RIGHT, COMPLETE_LEFT, COMPLETE_RIGHT

#: Complete spans by their other end: row j of `TURNED_RIGHT` has the spans from i to j, row i of `TURNED_LEFT` those
#: from j to i.
TURNED_RIGHT, TURNED_LEFT = 4, 5


@jit
def inside(n, lowest, weights, chart, logs):
    """Fill the chart with the sums of all spans within lowest … n."""
    size, none = n + 1, zero(logs)
    right, left, arc_right, arc_left = chart[COMPLETE_RIGHT], chart[COMPLETE_LEFT], chart[ARC_RIGHT], chart[ARC_LEFT]
    right_turned, left_turned = chart[TURNED_RIGHT], chart[TURNED_LEFT]
    for i in range(lowest, size):
        for kind in (COMPLETE_RIGHT, COMPLETE_LEFT, TURNED_RIGHT, TURNED_LEFT):
            chart[kind, i * size + i] = one(logs)
    for width in range(1, size - lowest):
        for i in range(lowest, size - width):
            j = i + width
            a, b = i * size, j * size
            below = dot(right, a + i, left, b + i + 1, width, logs)
            arc_right[a + j] = product(below, weights[(j - 1) * size + i], logs)
            arc_left[b + i] = none if i == 0 else product(below, weights[(i - 1) * size + j], logs)
            left[b + i] = left_turned[a + j] = dot(left_turned, a + i, arc_left, b + i, width, logs)
            right[a + j] = right_turned[b + i] = dot(arc_right, a + i + 1, right_turned, b + i + 1, width, logs)


@inlined
def roots(n, weights, chart, out, logs):
    """Write the sums of the trees whose only child of the root is r, to out[r − 1]; return their sum."""
    size = n + 1
    for r in range(1, size):
        sides = product(chart[COMPLETE_LEFT, r * size + 1], chart[COMPLETE_RIGHT, r * size + n], logs)
        out[r - 1] = product(sides, weights[(r - 1) * size], logs)
    return total(out, 0, n, logs)


@inlined
def prepared(n, scaled, single_root, weights, chart, by_root, logs):
    """Fill the chart for logarithms of scaled weights, of which `weights` are the numbers; return the sum of trees.

    `by_root` are the sums of trees by their single root.
    """
    size = n + 1
    for t in range(n * size):
        weights[t] = weight(scaled[t], logs)
    inside(n, 1 if single_root else 0, weights, chart, logs)
    return roots(n, weights, chart, by_root, logs) if single_root else chart[COMPLETE_RIGHT, n]


@jit
def projective_sums(n, scaled, weights, single_root, logs, found):
    """Write the marginals of all arcs of one sentence with logarithms of scaled weights; return log Z of these.

    With numbers, −∞ means that logarithms are needed. `weights` is a buffer.
    """
    if n == 0:
        return 0.0
    size, none = n + 1, zero(logs)
    chart, by_root, lowest = np.full((6, size * size), none), np.empty(n), 1 if single_root else 0
    z = prepared(n, scaled, single_root, weights, chart, by_root, logs)
    log_z = logarithm(z, logs)
    if log_z == -np.inf or (logs is None and log_z < LEAST_LOG):
        return -np.inf
    for t in range(n * size):
        found[t] = 0.0
    right, left, arc_right, arc_left = chart[COMPLETE_RIGHT], chart[COMPLETE_LEFT], chart[ARC_RIGHT], chart[ARC_LEFT]
    right_turned, left_turned = chart[TURNED_RIGHT], chart[TURNED_LEFT]
    out = np.full((6, size * size), none)
    out_right, out_left, out_arc_right, out_arc_left = (
        out[COMPLETE_RIGHT],
        out[COMPLETE_LEFT],
        out[ARC_RIGHT],
        out[ARC_LEFT],
    )
    out_right_turned, out_left_turned = out[TURNED_RIGHT], out[TURNED_LEFT]
    if single_root:
        for r in range(1, size):
            at, w = r * size, weights[(r - 1) * size]
            out_left[at + 1] = quotient(product(right[at + n], w, logs), z, logs)
            out_right[at + n] = quotient(product(left[at + 1], w, logs), z, logs)
            found[(r - 1) * size] = number(quotient(by_root[r - 1], z, logs), logs)
    else:
        out_right[n] = quotient(one(logs), z, logs)
    for width in range(n - lowest, 0, -1):
        for i in range(lowest, size - width):
            j = i + width
            a, b = i * size, j * size
            rest = sum_of(out_left[b + i], out_left_turned[a + j], logs)
            add_multiple(out_left_turned, a + i, rest, arc_left, b + i, width, logs)
            add_multiple(out_arc_left, b + i, rest, left_turned, a + i, width, logs)
            rest = sum_of(out_right[a + j], out_right_turned[b + i], logs)
            add_multiple(out_arc_right, a + i + 1, rest, right_turned, b + i + 1, width, logs)
            add_multiple(out_right_turned, b + i + 1, rest, arc_right, a + i + 1, width, logs)
            to_right, to_left = (j - 1) * size + i, (i - 1) * size + j
            rest = product(out_arc_right[a + j], weights[to_right], logs)
            p = product(out_arc_right[a + j], arc_right[a + j], logs)
            found[to_right] = min(number(p, logs), 1.0)
            if i > 0:
                rest = sum_of(rest, product(out_arc_left[b + i], weights[to_left], logs), logs)
                p = product(out_arc_left[b + i], arc_left[b + i], logs)
                found[to_left] = min(number(p, logs), 1.0)
            add_multiple(out_right, a + i, rest, left, b + i + 1, width, logs)
            add_multiple(out_left, b + i + 1, rest, right, a + i, width, logs)
    return log_z


@jit
def projective_samples(n, scaled, single_root, state, heads):
    """Write random trees of one sentence, a row of `heads` for each, from the root down; return False for none."""
    size = n + 1
    weights, by_root, stack = np.empty(n * size), np.empty(n), np.empty((2 * n + 4, 3), np.int64)
    ones = np.zeros(n)
    chart = np.full((6, size * size), -np.inf)
    z = prepared(n, scaled, single_root, weights, chart, by_root, LOGS)
    if z == -np.inf:
        return False
    for m in range(len(heads)):
        depth = 1
        if single_root:
            root = 1 + drawn(by_root, 0, ones, 0, n, z, uniform(state))
            heads[m, root] = 0
            stack[0, 0], stack[0, 1], stack[0, 2] = COMPLETE_LEFT, root, 1
            stack[1, 0], stack[1, 1], stack[1, 2] = COMPLETE_RIGHT, root, n
            depth = 2
        else:
            stack[0, 0], stack[0, 1], stack[0, 2] = COMPLETE_RIGHT, 0, n
        while depth > 0:
            depth -= 1
            kind, a, b = stack[depth, 0], stack[depth, 1], stack[depth, 2]
            if a == b:
                continue
            i, j, whole = min(a, b), max(a, b), chart[kind, a * size + b]
            row, at, other, at_other = chart[ARC_RIGHT], i * size + i + 1, chart[TURNED_RIGHT], j * size + i + 1
            if kind == COMPLETE_LEFT:
                row, at, other, at_other = chart[ARC_LEFT], j * size + i, chart[TURNED_LEFT], i * size + i
            elif kind >= ARC_RIGHT:
                row, at, other, at_other = chart[COMPLETE_RIGHT], i * size + i, chart[COMPLETE_LEFT], j * size + i + 1
                whole -= weights[(b - 1) * size + a]
            k = i + drawn(row, at, other, at_other, j - i, whole, uniform(state))
            if kind >= ARC_RIGHT:
                heads[m, b] = a
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = COMPLETE_RIGHT, i, k
                stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = COMPLETE_LEFT, j, k + 1
            else:
                k += kind == COMPLETE_RIGHT
                first = ARC_RIGHT if kind == COMPLETE_RIGHT else ARC_LEFT
                stack[depth, 0], stack[depth, 1], stack[depth, 2] = first, a, k
                stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = kind, k, b
            depth += 2
    return True
