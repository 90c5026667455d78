"""Polytopes of matchings in general graphs, by node prices, odd-set prices or distances of alternating paths.

    prices      Σ_{edges at v} z (+ z_v without a partner) = 1: fractional matchings
    odd sets    besides, Σ_{edges within B} z ≤ (|B| − 1) / 2 for all odd sets B of nodes: matchings (Edmonds 1965)
    distances   the multipliers of the distance constraints of Taskar et al. 2005, Eq. 13

In the dual the constraints are prices. The distance constraints rule out alternating walks of negative length, which is
more than the alternating cycles that a better matching consists of: their polytope is that of the fractional matchings.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import AnyArray, CodeArray, IntArray
from maxmargin.core.polytopes import Polytope, entries

#: Largest number of nodes for which odd sets are listed.
MOST_NODES = 10


def fractional_is_whole(ends: IntArray, n_nodes: int, perfect: bool) -> bool:
    """Return whether fractional matchings of the graph are combinations of matchings, as far as that is easy to see.

    A vertex that is not a matching has odd cycles of halves: one of three nodes, or two of them if it is perfect.
    """
    return n_nodes <= (4 if perfect else 2) or _two_sided(ends, n_nodes)


def _two_sided(ends: IntArray, n_nodes: int) -> bool:
    """Return whether no cycle has an odd length: in the double cover of the graph, no node is joined with its copy."""
    twice = np.concatenate([ends, ends[:, ::-1]])
    rows = np.concatenate([twice[:, 0], twice[:, 1] + n_nodes])
    columns = np.concatenate([twice[:, 1] + n_nodes, twice[:, 0]])
    cover = entries(rows, columns, 1.0, (2 * n_nodes, 2 * n_nodes))
    _, component = sp.csgraph.connected_components(cover, directed=False)
    return bool((component[:n_nodes] != component[n_nodes:]).all())


def price_polytope(ends: IntArray, n_nodes: int, perfect: bool) -> Polytope:
    """Return the polytope of fractional matchings: one equation for each node."""
    n_edges = len(ends)
    A = np.zeros((n_nodes, n_edges if perfect else n_edges + n_nodes))
    A[ends.T, np.arange(n_edges)] = 1.0
    if not perfect:
        A[:, n_edges:] = np.eye(n_nodes)
    return Polytope(A, 1.0, 1.0)


def odd_set_polytope(ends: IntArray, n_nodes: int, perfect: bool, usable: IntArray) -> Polytope:
    """Return the polytope of matchings, with a constraint for each odd set that `usable` edges can violate."""
    nodes = price_polytope(ends, n_nodes, perfect)
    sets = _odd_sets(n_nodes, perfect)
    inside, most = sets[:, ends[:, 0]] & sets[:, ends[:, 1]], (sets.sum(axis=1) - 1) // 2
    needed = inside[:, usable].sum(axis=1) > most
    rows = np.zeros((int(needed.sum()), nodes.A.shape[1]))
    rows[:, : len(ends)] = inside[needed]
    equal, most = np.ones(n_nodes), most[needed]
    low = np.concatenate([equal, np.full(len(most), -np.inf)])
    return Polytope(np.vstack([nodes.A, rows]), low, np.concatenate([equal, most]))


def _odd_sets(n_nodes: int, perfect: bool) -> AnyArray:
    """Return [odd set, node], whether the node is in the set.

    For perfect matchings the complement of an odd set has the same constraint.
    """
    sets = (np.arange(1 << n_nodes)[:, None] >> np.arange(n_nodes)) & 1
    sizes = sets.sum(axis=1)
    kept = (sizes % 2 == 1) & (sizes >= 3)
    if perfect:
        kept &= (2 * sizes < n_nodes) | ((2 * sizes == n_nodes) & (sets[:, 0] == 1))
    return sets[kept].astype(bool)


def distance_polytope(ends: IntArray, n_nodes: int, partners: CodeArray, perfect: bool) -> Polytope:
    """Return the multipliers of the distance constraints of Taskar et al. 2005, Eq. 13, for the true matching.

    Each edge has two arcs. In the dual, d_k^e is the length of an alternating path from a root to node k, e = 1 if its
    last edge is in the matching; an arc off the matching goes from (j, 1) to (k, 0), an arc on it from (j, 0) to (k,
    1). The multipliers are a circulation a, with a slack variable for each arc on the matching, so a ≤ ½ there; an
    edge has z = a + a' off the matching and z = 1 − a − a' on it. Matchings that need not be perfect are perfect in a
    graph with a copy, in which each node is joined with its copy (Schrijver 2003).
    """
    n_edges, copies = len(ends), 1 if perfect else 2
    n_parts, joined, share = n_edges, ends, np.ones(n_edges)
    part, on = np.arange(n_edges), partners[ends[:, 0]] == ends[:, 1]
    if not perfect:
        nodes = np.arange(n_nodes)
        n_parts = n_edges + n_nodes
        joined = np.concatenate([ends, ends + n_nodes, np.stack([nodes, nodes + n_nodes], axis=1)])
        share = np.concatenate([np.full(2 * n_edges, 0.5), np.ones(n_nodes)])
        part, on = np.concatenate([part, part, n_edges + nodes]), np.concatenate([on, on, partners < 0])
    total, size = copies * n_nodes, len(joined)
    tails, heads = joined.T.ravel(), joined[:, ::-1].T.ravel()  # both arcs of each edge
    matched = np.tile(on, 2)
    arcs = n_parts + np.arange(2 * size)
    leaves, arrives = np.where(matched, tails, total + tails), np.where(matched, total + heads, heads)
    circulation = entries(
        np.concatenate([arrives, leaves]), np.tile(arcs, 2), np.repeat([1.0, -1.0], 2 * size),
        (2 * total, n_parts + 2 * size),
    )  # fmt: skip
    sign = np.tile(np.where(on, share, -share), 2)
    counts = entries(
        np.concatenate([np.arange(n_parts), np.tile(part, 2)]), np.concatenate([np.arange(n_parts), arcs]),
        np.concatenate([np.ones(n_parts), sign]), (n_parts, n_parts + 2 * size),
    )  # fmt: skip
    right = np.concatenate([np.bincount(part, np.where(on, share, 0.0), n_parts), np.zeros(2 * total)])
    upper = np.concatenate([np.full(n_parts, np.inf), np.where(matched, 0.5, np.inf)])
    return Polytope(sp.csr_array(sp.vstack([counts, circulation])), right, right, 0.0, upper)
