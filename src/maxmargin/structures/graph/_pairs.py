"""Compiled scores of the label pairs of edges, and of labellings.

`pairs` has a row for each edge: all K² pairs of labels (first end, second end), K scores of equal labels, or one score
of equal labels. The form follows from the length of the rows; with K = 1 all of them are the same.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit


@inlined
def pair_score(pairs, e, a, b, n_labels):
    """Return the score of the labels a and b of the two ends of an edge."""
    width = pairs.shape[1]
    if width == n_labels * n_labels:
        return pairs[e, a * n_labels + b]
    if a != b:
        return 0.0
    return pairs[e, 0] if width == 1 else pairs[e, a]


@jit
def incident_edges(edges, n_nodes):
    """Return the edges of each node: 2e + side for edge e, side 0 if the node is its first end; and their offsets."""
    first = np.zeros(n_nodes + 1, np.int64)
    for e in range(len(edges)):
        first[edges[e, 0] + 1] += 1
        first[edges[e, 1] + 1] += 1
    for v in range(n_nodes):
        first[v + 1] += first[v]
    place, incident = first[:n_nodes].copy(), np.empty(2 * len(edges), np.int64)
    for e in range(len(edges)):
        for side in range(2):
            v = edges[e, side]
            incident[place[v]] = 2 * e + side
            place[v] += 1
    return first, incident


@jit
def total_of(labels, scores, pairs, edges):
    """Return the score of a labelling."""
    total, n_labels = 0.0, scores.shape[1]
    for v in range(len(scores)):
        total += scores[v, labels[v]]
    for e in range(len(edges)):
        total += pair_score(pairs, e, labels[edges[e, 0]], labels[edges[e, 1]], n_labels)
    return total


@jit
def spread(values, starts, edge_starts, classes, forbidden, pairs):
    """Write the scores of all K² pairs of labels of each edge, −∞ for forbidden ones.

    `values` has a score for each edge and class of label pairs; ``classes[a K + b]`` is the class of a pair of labels,
    −1 if it has none and scores 0.
    """
    n_pairs = len(classes)
    for r in range(len(edge_starts) - 1):
        n_edges = edge_starts[r + 1] - edge_starts[r]
        if n_edges == 0:
            continue
        n_classes = (starts[r + 1] - starts[r]) // n_edges
        for e in range(n_edges):
            row, at = pairs[edge_starts[r] + e], starts[r] + e * n_classes
            for q in range(n_pairs):
                row[q] = -np.inf if forbidden[q] else values[at + classes[q]] if classes[q] >= 0 else 0.0
