"""Sums over all labellings and samples of a batch of graphs of small treewidth."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.structures.graph._decode import scope_ends
from maxmargin.structures.graph._elimination import add_marginals, draw_labels


@jit
def add_sums(
    ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, n_labels, orders, ends, scopes,
    scope_offsets, coefficients, log_partitions, expected, node_sums, pair_sums,
):  # fmt: skip
    """Write log-partitions and expected scores; add coefficient · marginals of labels and of label pairs."""
    for r in range(len(ids)):
        i = ids[r]
        n = offsets[i + 1] - offsets[i]
        nodes, edge_span = slice(offsets[i], offsets[i + 1]), slice(edge_starts[r], edge_starts[r + 1])
        log_partitions[r], expected[r] = add_marginals(
            values[starts[r] : starts[r + 1]].reshape(n, n_labels), pairs[edge_span],
            edges[edge_offsets[i] : edge_offsets[i + 1]], orders[nodes], scope_ends(ends[nodes]),
            scopes[scope_offsets[i] : scope_offsets[i + 1]], coefficients[r],
            node_sums[starts[r] : starts[r + 1]].reshape(n, n_labels), pair_sums[edge_span],
        )  # fmt: skip


@jit
def gather(pair_sums, classes, out):
    """Add the sums of label pairs to those of their classes."""
    for e in range(len(pair_sums)):
        for q in range(len(classes)):
            if classes[q] >= 0:
                out[e, classes[q]] += pair_sums[e, q]


@jit
def draw_all(
    ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, n_labels, orders, ends, scopes,
    scope_offsets, seeds, code_starts, codes,
):  # fmt: skip
    """Write samples of the labels of each example of ids to the rows of `codes`."""
    state = np.zeros(1, np.uint64)
    for r in range(len(ids)):
        i = ids[r]
        n = offsets[i + 1] - offsets[i]
        nodes = slice(offsets[i], offsets[i + 1])
        state[0] = seeds[r]
        draw_labels(
            values[starts[r] : starts[r + 1]].reshape(n, n_labels), pairs[edge_starts[r] : edge_starts[r + 1]],
            edges[edge_offsets[i] : edge_offsets[i + 1]], orders[nodes], scope_ends(ends[nodes]),
            scopes[scope_offsets[i] : scope_offsets[i + 1]], state, codes[:, code_starts[r] : code_starts[r + 1]],
        )  # fmt: skip
