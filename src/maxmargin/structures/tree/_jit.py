"""Compiled functions for spanning trees of directed graphs (Chu and Liu 1965; Edmonds 1967; dense as in Tarjan 1977).

Nodes are 0, the root, and 1 … n. Row m − 1 of the table of scores holds the arcs into node m, by their heads 0 … n. A
graph shrinks as cycles become single nodes; a node keeps the row of one of its members. Common arguments:

    worth[v, u]           the best arc from node u into node v, minus the score of the arcs it replaces
    crossing[v, u]        the same number of root arcs, which are compared first (only if a single root is required)
    head[v, u], tail[v, u]   that arc in the original graph: from head to tail
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import inlined, jit
from maxmargin.algorithms.spanning_forest import spanning_forest
from maxmargin.core.planes import NO_OUTPUT

#: States of a node: not visited, on the path, connected to the root, part of another node.
FRESH, ON_PATH, DONE, MERGED = 0, 1, 2, 3


@inlined
def beats(crossing, worth, other_crossing, other_worth):
    """Return whether an arc is better: fewer root arcs, then a greater score. Minus infinity is never better."""
    if worth == -np.inf:
        return False
    if other_worth == -np.inf or crossing < other_crossing:
        return True
    return crossing == other_crossing and worth > other_worth


@inlined
def best_head(v, state, worth, crossing, lean):
    """Return the node from which the best arc into v comes, −1 if there is none; ties go to the first node."""
    best, score = -1, -np.inf
    if lean:
        for u in range(len(state)):
            if worth[v, u] > score and state[u] != MERGED and u != v:
                best, score = u, worth[v, u]
        return best
    fewest = 0
    for u in range(len(state)):
        if state[u] != MERGED and u != v and beats(crossing[v, u], worth[v, u], fewest, score):
            best, score, fewest = u, worth[v, u], crossing[v, u]
    return best


@inlined
def contract(cycle, chosen, chosen_crossing, state, worth, crossing, head, tail, lean):
    """Merge the nodes of a cycle into the row and column of the first; arcs into it replace one of its arcs."""
    n_nodes, into = len(state), cycle[0]
    for k in range(len(cycle)):
        c = cycle[k]
        for u in range(n_nodes):
            worth[c, u] -= chosen[k]
        if not lean:
            for u in range(n_nodes):
                crossing[c, u] -= chosen_crossing[k]
    for k in range(1, len(cycle)):
        c = cycle[k]
        state[c] = MERGED
        for u in range(n_nodes):
            better_in = worth[c, u] > worth[into, u] if lean else beats(
                crossing[c, u], worth[c, u], crossing[into, u], worth[into, u]
            )  # fmt: skip
            if better_in:
                worth[into, u], head[into, u], tail[into, u] = worth[c, u], head[c, u], tail[c, u]
                if not lean:
                    crossing[into, u] = crossing[c, u]
            better_out = worth[u, c] > worth[u, into] if lean else beats(
                crossing[u, c], worth[u, c], crossing[u, into], worth[u, into]
            )  # fmt: skip
            if better_out:
                worth[u, into], head[u, into], tail[u, into] = worth[u, c], head[u, c], tail[u, c]
                if not lean:
                    crossing[u, into] = crossing[u, c]
    worth[into, into] = -np.inf


@jit
def best_arborescence(scores, lean, heads):
    """Write the heads of the spanning tree with the greatest total in O(n²) steps; return False if there is none.

    Without `lean`, trees with fewer arcs from the root are better than all others. The tree depends on the scores
    alone: ties go to the first head found.
    """
    n = len(scores)
    worth, crossing = np.empty((n + 1, n + 1)), np.zeros((0, 0) if lean else (n + 1, n + 1), np.int64)
    head, tail = np.empty((n + 1, n + 1), np.int32), np.empty((n + 1, n + 1), np.int32)
    worth[0] = -np.inf
    for m in range(1, n + 1):
        for h in range(n + 1):
            worth[m, h], head[m, h], tail[m, h] = scores[m - 1, h], h, m
        worth[m, m] = -np.inf
        if not lean:
            crossing[m, 0] = 1
    # Nodes are renamed n + 1 … when cycles become nodes; `outer` is the node that a node became part of.
    name, outer = np.arange(n + 1), np.full(2 * n + 1, -1)
    arc_head, arc_tail = np.empty(2 * n + 1, np.int32), np.empty(2 * n + 1, np.int32)
    state = np.full(n + 1, FRESH, np.int8)
    path, chosen, chosen_crossing = np.empty(n + 1, np.int64), np.empty(n + 1), np.zeros(n + 1, np.int64)
    state[0], made = DONE, n + 1
    for start in range(1, n + 1):
        v, depth = start, 0
        while state[v] == FRESH or state[v] == ON_PATH:
            u = best_head(v, state, worth, crossing, lean)
            if u < 0:
                return False
            state[v], path[depth], chosen[depth] = ON_PATH, v, worth[v, u]
            if not lean:
                chosen_crossing[depth] = crossing[v, u]
            arc_head[name[v]], arc_tail[name[v]] = head[v, u], tail[v, u]
            depth += 1
            if state[u] == ON_PATH:
                begin = depth - 1
                while path[begin] != u:
                    begin -= 1
                for k in range(begin, depth):
                    outer[name[path[k]]] = made
                part = slice(begin, depth)
                contract(path[part], chosen[part], chosen_crossing[part], state, worth, crossing, head, tail, lean)
                name[u] = made
                made, depth = made + 1, begin
            v = u
        for k in range(depth):
            state[path[k]] = DONE
    expand(outer, arc_head, arc_tail, made, heads)
    return True


@inlined
def expand(outer, arc_head, arc_tail, made, heads):
    """Undo contractions, the last first: the arc into a node replaces one arc of each cycle within."""
    settled = np.zeros(made, np.bool_)
    for node in range(made - 1, 0, -1):
        if settled[node]:
            continue
        inner = arc_tail[node]
        heads[inner - 1] = arc_head[node]
        while inner != node:
            settled[inner] = True
            inner = outer[inner]


@jit
def best_rooted_trees(ids, scores, starts, offsets, single_root, codes):
    """Find the best tree of each example of ids, rooted at node 0; with `single_root`, the root has one child.

    If the best of all trees has one root arc, it is also the best of those with one, so a second search is needed
    only if it has more.
    """
    for r in range(len(ids)):
        a, b = offsets[ids[r]], offsets[ids[r] + 1]
        table, heads = scores[starts[r] : starts[r + 1]].reshape(b - a, b - a + 1), codes[a:b]
        exists = best_arborescence(table, True, heads)
        if exists and single_root and (heads == 0).sum() > 1:
            exists = best_arborescence(table, False, heads) and (heads == 0).sum() == 1
        if not exists and b > a:
            heads[0] = NO_OUTPUT


@jit
def best_free_trees(ids, scores, starts, offsets, codes):
    """Find the best tree of each example of ids without a root: the numbers of its edges, in ascending order."""
    for r in range(len(ids)):
        a, b = offsets[ids[r]], offsets[ids[r] + 1]
        if spanning_forest(scores[starts[r] : starts[r + 1]], b - a + 1, -np.inf, codes[a:b]) < b - a:
            codes[a] = NO_OUTPUT
