"""Moves that change any nodes to one label (Boykov, Veksler and Zabih 2001), for any scores of pairs.

A move is a problem of two labels, to keep or to change, which a cut or roof duality solves; nodes that the relaxation
leaves open keep their labels, which is never worse (Rother et al. 2007).
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import copy_into, jit
from maxmargin.structures.graph._pairs import pair_score, total_of
from maxmargin.structures.graph._two_labels import by_cuts

#: Most moves of each label.
MOST_ROUNDS = 20


@jit
def expand_all(scores, pairs, edges, hard, value, labels):
    """Improve labels of score `value` until no move of a single label does; return their score."""
    n, n_labels = scores.shape
    if value == -np.inf:
        return value
    choice, terms, moved = np.empty((n, 2)), np.empty((len(edges), 4)), np.empty(n, labels.dtype)
    unchanged, step = 0, 0
    while unchanged < n_labels and step < MOST_ROUNDS * n_labels:
        label = step % n_labels
        for v in range(n):
            choice[v, 0], choice[v, 1] = scores[v, labels[v]], scores[v, label]
        for e in range(len(edges)):
            a, b = labels[edges[e, 0]], labels[edges[e, 1]]
            terms[e, 0], terms[e, 1] = pair_score(pairs, e, a, b, n_labels), pair_score(pairs, e, a, label, n_labels)
            terms[e, 2] = pair_score(pairs, e, label, b, n_labels)
            terms[e, 3] = pair_score(pairs, e, label, label, n_labels)
        by_cuts(choice, terms, edges, hard, moved)
        for v in range(n):
            moved[v] = label if moved[v] == 1 else labels[v]
        total = total_of(moved, scores, pairs, edges)
        unchanged += 1
        if total > value + 1e-12 * abs(value):
            value, unchanged = total, 0
            copy_into(labels, moved)
        step += 1
    return value
