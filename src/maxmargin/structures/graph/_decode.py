"""Compiled argmaxes of a batch of graphs, each by its own method."""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, inlined, jit
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


@inlined
def example(r, i, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, n_labels):
    """Return scores of nodes and of pairs, edges and labels of an example, the r-th of a batch."""
    n = offsets[i + 1] - offsets[i]
    scores = values[starts[r] : starts[r + 1]].reshape(n, n_labels)
    own, joined = pairs[edge_starts[r] : edge_starts[r + 1]], edges[edge_offsets[i] : edge_offsets[i + 1]]
    return scores, own, joined, codes[code_offsets[i] : code_offsets[i] + n]


@inlined
def begin(i, scores, pairs, edges, truths, known, code_offsets, labels):
    """Write the true labels, if they are known, and return their score."""
    if not known:
        return -np.inf
    copy_into(labels, truths[code_offsets[i] : code_offsets[i] + len(labels)])
    return total_of(labels, scores, pairs, edges)


# Each of the following functions writes the best labels of some examples of a batch, those of `rows`, and upper bounds
# on their scores. True labels, if known, are where searches start. Labels that are not found are `NO_OUTPUT`: there are
# none if the upper bound is −∞. A fit compiles only those of the methods that its graphs need.


@jit
def eliminate(
    rows, ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, upper, n_labels,
    orders, ends, scopes, scope_offsets,
):  # fmt: skip
    """Write the best labels by elimination of nodes."""
    for r in rows:
        i = ids[r]
        scores, own, joined, labels = example(
            r, i, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, n_labels
        )
        upper[r] = maximise(
            scores, own, joined, orders[offsets[i] : offsets[i + 1]], scope_ends(ends[offsets[i] : offsets[i + 1]]),
            scopes[scope_offsets[i] : scope_offsets[i + 1]], labels,
        )  # fmt: skip
        if upper[r] == -np.inf:
            labels[0] = NO_OUTPUT


@jit
def cut(
    rows, ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, upper, truths,
    known, hard, sweeps, branches,
):  # fmt: skip
    """Write the best of two labels by cuts, and by messages where they leave labels open."""
    for r in rows:
        i = ids[r]
        scores, own, joined, labels = example(
            r, i, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, 2
        )
        value = begin(i, scores, own, joined, truths, known, code_offsets, labels)
        value, upper[r] = by_cuts_and_messages(scores, own, joined, hard, sweeps, branches, value, labels)
        if value == -np.inf:
            labels[0] = NO_OUTPUT


@jit
def send(
    rows, ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, upper, n_labels,
    truths, known, hard, sweeps, branches,
):  # fmt: skip
    """Write labels that messages find."""
    for r in rows:
        i = ids[r]
        scores, own, joined, labels = example(
            r, i, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, n_labels
        )
        value = begin(i, scores, own, joined, truths, known, code_offsets, labels)
        first, incident = incident_edges(joined, len(labels))
        messages = np.zeros((len(joined), 2, n_labels))
        value, upper[r] = by_messages(
            scores.copy(), own, joined, first, incident, messages, hard, sweeps, branches, value, labels
        )
        if value == -np.inf:
            labels[0] = NO_OUTPUT


@jit
def expand(
    rows, ids, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, upper, n_labels,
    hard,
):  # fmt: skip
    """Improve labels that messages have found by expansions of single labels."""
    for r in rows:
        i = ids[r]
        scores, own, joined, labels = example(
            r, i, values, starts, pairs, edge_starts, edges, edge_offsets, offsets, codes, code_offsets, n_labels
        )
        value = -np.inf if labels[0] == NO_OUTPUT else total_of(labels, scores, own, joined)
        if value < upper[r]:
            value = expand_all(scores, own, joined, hard, value, labels)
            upper[r] = max(upper[r], value)
