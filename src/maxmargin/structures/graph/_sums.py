"""Sums over all labellings and samples of a batch of graphs of small treewidth; bounds on those of other graphs."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin.structures.graph._decode import ELIMINATION, scope_ends
from maxmargin.structures.graph._elimination import add_marginals, draw_labels
from maxmargin.structures.graph._pairs import incident_edges
from maxmargin.structures.graph._tree_reweighted import log_partition_bound

#: Steps that lower the bound on a log-partition, at most.
BOUND_STEPS = 200


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


@jit
def bound_all(
    ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, n_labels, methods, orders, ends, scopes,
    scope_offsets, bounds,
):  # fmt: skip
    """Write the log-partition of each example of ids that is solved by elimination, and upper bounds on the others."""
    for r in range(len(ids)):
        i = ids[r]
        n = offsets[i + 1] - offsets[i]
        scores = values[starts[r] : starts[r + 1]].reshape(n, n_labels)
        own, joined = pairs[edge_starts[r] : edge_starts[r + 1]], edges[edge_offsets[i] : edge_offsets[i + 1]]
        if methods[i] == ELIMINATION:
            nodes = slice(offsets[i], offsets[i + 1])
            bounds[r], _ = add_marginals(
                scores, own, joined, orders[nodes], scope_ends(ends[nodes]),
                scopes[scope_offsets[i] : scope_offsets[i + 1]], 0.0, np.zeros_like(scores), np.zeros_like(own),
            )  # fmt: skip
        else:
            first, incident = incident_edges(joined, n)
            bounds[r] = log_partition_bound(scores, own, joined, first, incident, BOUND_STEPS)
