"""Compiled argmaxes of a batch of graphs, each by its own method."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, jit
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.graph._elimination import maximise
from maxmargin.structures.graph._expansion import expand_all
from maxmargin.structures.graph._messages import by_messages
from maxmargin.structures.graph._pairs import incident_edges, total_of
from maxmargin.structures.graph._two_labels import HALF, by_cuts, relaxed_total

#: Methods: elimination of nodes, cuts for two labels, messages, and expansions of single labels.
ELIMINATION, CUTS, MESSAGES, EXPANSION = 0, 1, 2, 3


@jit
def scope_ends(ends):
    """Return offsets of scopes, given where each ends."""
    offsets = np.zeros(len(ends) + 1, np.int64)
    copy_into(offsets[1:], ends)
    return offsets


@jit
def by_cuts_and_messages(scores, pairs, edges, hard, sweeps, branches, value, labels):
    """Write labels 0 and 1; return their score and an upper bound: one cut, and messages for what it leaves open."""
    cut, n_open = labels.copy(), 0
    exact = by_cuts(scores, pairs, edges, hard, cut)
    for v in range(len(cut)):
        n_open += cut[v] == HALF
    if n_open == 0:
        total = total_of(cut, scores, pairs, edges)
        if total > -np.inf:
            copy_into(labels, cut)
            return total, total
        if exact:
            return -np.inf, -np.inf
        cut[:] = HALF  # the penalty of a forbidden pair was paid, which proves nothing
    upper = np.inf if hard else relaxed_total(cut, scores, pairs, edges)
    # A best labelling has all labels found; the others are open.
    rest = scores.copy()
    for v in range(len(cut)):
        if cut[v] != HALF:
            rest[v, 1 - cut[v]] = -np.inf
    first, incident = incident_edges(edges, len(scores))
    value, bound = by_messages(
        rest, pairs, edges, first, incident, np.zeros((len(edges), 2, 2)), hard, sweeps, branches, value, labels
    )
    return value, max(value, min(upper, bound))


@jit
def best_labels(
    ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, n_labels, hard, methods, orders, ends,
    scopes, scope_offsets, sweeps, branches, truths, known, codes, code_offsets, upper,
):  # fmt: skip
    """Write the best labels of each example of ids, and upper bounds on their scores; `pairs` are those of the batch.

    True labels, if known, are where searches start. Labels that are not found are `NO_OUTPUT`: there are none if the
    upper bound is −∞.
    """
    for r in range(len(ids)):
        i = ids[r]
        n = offsets[i + 1] - offsets[i]
        scores = values[starts[r] : starts[r + 1]].reshape(n, n_labels)
        own, joined = pairs[edge_starts[r] : edge_starts[r + 1]], edges[edge_offsets[i] : edge_offsets[i + 1]]
        labels, value = codes[code_offsets[i] : code_offsets[i] + n], -np.inf
        method = methods[i]
        if method == ELIMINATION:
            value = maximise(
                scores, own, joined, orders[offsets[i] : offsets[i + 1]],
                scope_ends(ends[offsets[i] : offsets[i + 1]]), scopes[scope_offsets[i] : scope_offsets[i + 1]], labels,
            )  # fmt: skip
            upper[r] = value
        else:
            if known:
                copy_into(labels, truths[code_offsets[i] : code_offsets[i] + n])
                value = total_of(labels, scores, own, joined)
            if method == CUTS:
                value, upper[r] = by_cuts_and_messages(scores, own, joined, hard, sweeps, branches, value, labels)
            else:
                first, incident = incident_edges(joined, n)
                messages = np.zeros((len(joined), 2, n_labels))
                value, upper[r] = by_messages(
                    scores.copy(), own, joined, first, incident, messages, hard, sweeps, branches, value, labels
                )
                if method == EXPANSION and value < upper[r]:
                    value = expand_all(scores, own, joined, hard, value, labels)
                    upper[r] = max(upper[r], value)
        if value == -np.inf:
            labels[0] = NO_OUTPUT
