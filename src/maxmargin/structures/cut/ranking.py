"""Labellings of one graph in descending order of their totals, by max-marginals (Yanover and Weiss 2003)."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from maxmargin._base.ragged import ONLY
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.structures.cut import _jit


@dataclass(frozen=True)
class Region:
    """The labellings that scores of −∞ leave, by their best one.

    Attributes
    ----------
    scores : ndarray of shape (n, K)
        Scores of the labels of nodes.
    labels : ndarray of int32 of shape (n,)
        The best labels.
    total : float
        Their total.
    nodes : ndarray of shape (n, K)
        The best total of a labelling that gives a node a label.
    edges : ndarray of shape (m,)
        The best total of a labelling that gives equal labels to the ends of an edge.
    """

    scores: FloatArray
    labels: CodeArray
    total: float
    nodes: FloatArray
    edges: FloatArray

    def doubtful_node(self) -> int | None:
        """Return the node where another label costs least; None if no node can have another one."""
        others = self.nodes.copy()
        others[np.arange(len(self.labels)), self.labels] = -np.inf
        best = others.max(axis=1)
        node = int(best.argmax())
        return node if best[node] > -np.inf else None


@dataclass(frozen=True)
class LabelledGraph:
    """The edges of one graph, their rewards of equal labels, and the number of labels."""

    edges: IntArray
    rewards: FloatArray
    n_labels: int

    def best_region(self, scores: FloatArray) -> Region | None:
        """Return the region of all labellings with finite scores; None if there is none."""
        n, labels = len(scores), np.zeros(len(scores), np.int32)
        _jit.best_labels(
            ONLY, scores.ravel(), np.array([0, scores.size]), self.rewards, np.array([0, len(self.edges)]), self.edges,
            np.array([0, len(self.edges)]), np.array([0, n]), self.n_labels, 0, labels, np.zeros(1),
        )  # fmt: skip
        return None if labels[0] == NO_OUTPUT else self.region(scores, labels)

    def region(self, scores: FloatArray, labels: CodeArray) -> Region:
        """Return the region of which these labels are the best."""
        nodes, joined = np.empty(scores.shape), np.empty(len(self.edges))
        _jit.best_with_parts(scores, self.edges, self.rewards, labels, nodes, joined)
        total = float(_jit.total_of(labels, scores, self.edges, self.rewards))
        return Region(scores, labels, total, nodes, joined)

    def ranked(self, scores: FloatArray) -> Iterator[tuple[CodeArray, float]]:
        """Yield all labellings with their totals, best first.

        The second best labelling of a region has another label at the node where this costs least. It splits the region
        into the labellings with the first label of this node and those without, so each labelling takes a few
        cuts, not one for each node. With more than two labels the order is approximate, as argmaxes are.
        """
        waiting: list[tuple[float, int, int, Region, Region]] = []
        number, regions = count(), [self.best_region(scores)]
        if regions[0] is not None:
            yield regions[0].labels, regions[0].total
        while True:
            for region in regions:
                node = None if region is None else region.doubtful_node()
                if region is not None and node is not None:
                    second = self.best_region(_without(region.scores, node, region.labels[node : node + 1]))
                    assert second is not None, "doubtful nodes have another allowed label"
                    heapq.heappush(waiting, (-second.total, next(number), node, region, second))
            if not waiting:
                return
            _, _, node, region, second = heapq.heappop(waiting)
            yield second.labels, second.total
            others = np.delete(np.arange(self.n_labels), region.labels[node])
            regions = [second, self.region(_without(region.scores, node, others), region.labels)]


def _without(scores: FloatArray, node: int, labels: IntArray | CodeArray) -> FloatArray:
    """Return scores that forbid some labels of a node."""
    changed = scores.copy()
    changed[node, labels] = -np.inf
    return changed
