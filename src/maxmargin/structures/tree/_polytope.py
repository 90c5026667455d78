"""Polytopes of spanning trees: by subsets of nodes, by flows, and by exchanges of edges with a given tree.

    subsets     Σ_{arcs within S} z ≤ |S| − 1 for all sets S of nodes (without the root, if there is one; Edmonds 1967)
    flows       each node receives one unit of a flow of its own from the root, through arcs up to z (Wong 1984)
    exchanges   a tree edge f and an edge e across the cut that it makes are exchanged to an extent m_fe ≥ 0, each edge
                once at most; its dual is the certificate of Taskar et al. 2005, section 5, with slacks

The first two have trees as their vertices. Exchanges are more than trees: two edges that close the same cycle can be
exchanged for two edges of it. But they leave the given tree whenever a better tree exists.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import IntArray
from maxmargin.core.polytopes import Polytope, entries, flow

#: Largest number of nodes (without the root) whose subsets are listed.
MOST_NODES = 8
#: Largest number of flow variables.
MOST_FLOWS = 1000


def tree_polytope(arcs: IntArray, allowed: IntArray, n_nodes: int, directed: bool, single_root: bool) -> Polytope:
    """Return the polytope of the trees with these arcs; raise ValueError if the graph is too large for it.

    Parameters
    ----------
    arcs : ndarray of int64 of shape (m, 2)
        Tail and head of each arc; if not directed, the two ends.
    allowed : ndarray of int64
        The arcs that a tree may have.
    n_nodes : int
        Number of nodes, the root 0 included.
    directed : bool
        Whether the tree has the root 0, and arcs lead away from it.
    single_root : bool
        Whether the root has exactly one child.
    """
    size = n_nodes - directed
    if size <= MOST_NODES:
        return _subset_polytope(arcs, n_nodes, directed, single_root)
    flows = (n_nodes - 1) * len(allowed) * (1 if directed else 2)
    if flows > MOST_FLOWS:
        raise ValueError(
            f"a tree over {n_nodes} nodes with {len(allowed)} arcs has no small polytope: expected at most "
            f"{MOST_NODES} nodes, or {MOST_FLOWS} products of nodes and arcs, found {flows}; use solver='auto'"
        )
    return _flow_polytope(arcs, allowed, n_nodes, directed, single_root)


def _degrees(arcs: IntArray, n_nodes: int, directed: bool, single_root: bool) -> tuple[list[sp.csr_array], list[float]]:
    """Return equations that all trees satisfy: one head for each node, or n − 1 edges."""
    if not directed:
        return [sp.csr_array(np.ones((1, len(arcs))))], [n_nodes - 1.0]
    rows = entries(arcs[:, 1] - 1, np.arange(len(arcs)), 1.0, (n_nodes - 1, len(arcs)))
    left, right = [rows], [1.0] * (n_nodes - 1)
    if single_root and n_nodes > 1:
        left.append(sp.csr_array((arcs[:, 0] == 0).astype(float)[None]))
        right.append(1.0)
    return left, right


def _subset_polytope(arcs: IntArray, n_nodes: int, directed: bool, single_root: bool) -> Polytope:
    rows, right = _degrees(arcs, n_nodes, directed, single_root)
    nodes = np.arange(directed, n_nodes)
    bits = (np.arange(1 << len(nodes))[:, None] >> np.arange(len(nodes))) & 1
    sizes = bits.sum(axis=1)
    bits = bits[(sizes >= 2) & (sizes < len(nodes) + directed)]
    member = np.zeros((len(bits), n_nodes), bool)
    member[:, nodes] = bits.astype(bool)
    inside = member[:, arcs[:, 0]] & member[:, arcs[:, 1]]
    low = np.concatenate([right, np.full(len(bits), -np.inf)])
    high = np.concatenate([right, member.sum(axis=1) - 1.0])
    return Polytope(sp.csr_array(sp.vstack([*rows, sp.csr_array(inside.astype(float))])), low, high)


def _flow_polytope(arcs: IntArray, allowed: IntArray, n_nodes: int, directed: bool, single_root: bool) -> Polytope:
    """Return the polytope with the flows of all nodes but the root as auxiliary variables, 0 for other arcs."""
    n_parts, used = len(arcs), arcs[allowed]
    rows, right = _degrees(arcs, n_nodes, directed, single_root)
    capacity = entries(np.arange(len(used)), allowed, 1.0, (len(used), n_parts))
    low, high, oriented, extra = list(right), list(right), used, 0
    if not directed:  # each edge is used in one of its two directions
        oriented, extra = np.concatenate([used, used[:, ::-1]]), 2 * len(used)
        rows = [sp.csr_array(sp.hstack([row, sp.csr_array((row.shape[0], extra))])) for row in rows]
        both = sp.hstack([-capacity, sp.eye_array(len(used)), sp.eye_array(len(used))])
        rows, low, high = [*rows, sp.csr_array(both)], [*low, *[0.0] * len(used)], [*high, *[0.0] * len(used)]
        capacity = sp.csr_array(sp.hstack([sp.csr_array((extra, n_parts)), sp.eye_array(extra)]))
    n_arcs, n_flows = len(oriented), n_nodes - 1
    through = sp.kron(sp.eye_array(n_flows), flow(oriented, n_nodes))
    limits = sp.hstack([-sp.kron(np.ones((n_flows, 1)), capacity), sp.eye_array(n_flows * n_arcs)])
    sent = np.zeros((n_flows, n_nodes))
    sent[:, 0] = 1.0
    sent[np.arange(n_flows), np.arange(1, n_nodes)] = -1.0
    wide = n_flows * n_arcs
    rows = [sp.csr_array(sp.hstack([row, sp.csr_array((row.shape[0], wide))])) for row in rows]
    conserved = sp.hstack([sp.csr_array((n_flows * n_nodes, n_parts + extra)), through])
    A = sp.csr_array(sp.vstack([*rows, conserved, limits]))
    return Polytope(A, np.concatenate([low, sent.ravel(), np.full(wide, -np.inf)]),
                    np.concatenate([high, sent.ravel(), np.zeros(wide)]))  # fmt: skip


def exchange_polytope(edges: IntArray, n_nodes: int, true: IntArray, allowed: IntArray) -> Polytope:
    """Return the polytope of exchanges with the tree whose edges are `true`, for undirected trees."""
    n_parts = len(edges)
    others = np.setdiff1d(allowed, true)
    leaves, arrives = [], []
    for f in true.tolist():
        kept = edges[true[true != f]]
        joined = entries(kept[:, 0], kept[:, 1], 1.0, (n_nodes, n_nodes))
        _, side = sp.csgraph.connected_components(joined, directed=False)
        across = others[side[edges[others, 0]] != side[edges[others, 1]]]
        leaves.append(np.full(len(across), f))
        arrives.append(across)
    gone, come = np.concatenate([*leaves, np.zeros(0, int)]), np.concatenate([*arrives, np.zeros(0, int)])
    pairs = n_parts + np.arange(len(gone))
    A = entries(
        np.concatenate([np.arange(n_parts), gone, come]), np.concatenate([np.arange(n_parts), pairs, pairs]),
        np.concatenate([np.ones(n_parts + len(gone)), -np.ones(len(come))]), (n_parts, n_parts + len(pairs)),
    )  # fmt: skip
    right = np.zeros(n_parts)
    right[true] = 1.0
    upper = np.full(n_parts + len(pairs), np.inf)
    upper[:n_parts] = 1.0
    upper[true] = np.inf
    return Polytope(A, right, right, 0.0, upper)
