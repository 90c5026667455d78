"""Random instances of paths, cuts and programs, with joint features and losses computed in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp
from conformance import Instance

import maxmargin as mm


def formed(rng, table, form):
    """Rows of features in the form asked for."""
    if form == "csr":
        return sp.csr_array(table)
    if form == "dicts":
        return [{f"f{j}": float(v) for j, v in enumerate(row)} for row in table]
    return table


def columns(names):
    """The feature behind each weight: names are x0, x1, … or f0, f1, … in the order of first sight."""
    return [int(name[1:]) for name in names]


class PathGraphs(Instance):
    """Random graphs with two ends, forbidden edges and costs of single edges."""

    def __init__(self, seed, cycles, sense="min"):
        super().__init__(seed)
        self.cycles, self.sense = cycles, sense
        width, form = int(self.rng.integers(1, 4)), self.choose("dense", "csr", "dicts")
        masked, given_ends = bool(self.rng.integers(2)), bool(self.rng.integers(2))
        self.graphs = [self._graph(int(n)) for n in [3, *self.rng.integers(2, 6, 3)]]
        self.tables = [self.draw(len(edges), width) for edges in self.graphs]
        if cycles:
            self.tables = [np.abs(table) for table in self.tables]
        self.ends, self.allowed, self.X = [], [], []
        for edges, table in zip(self.graphs, self.tables, strict=True):
            nodes = edges.max() + 1
            self.ends.append((0, nodes - 1))
            allowed = self.rng.random(len(edges)) < 0.8 if masked else np.ones(len(edges), bool)
            allowed[: nodes - 1] = True  # the first edges are a path
            self.allowed.append(allowed)
            x = (edges, formed(self.rng, table, form))
            x = (*x, 0, nodes - 1) if given_ends else x
            self.X.append((*x, allowed) if masked else x)
        self._outputs = [self._paths(i) for i in range(len(self.X))]
        self.truths = [self.choose(*outputs) for outputs in self._outputs]
        self.costs = [None] * len(self.X)
        if self.rng.integers(2):
            false = 0.0 if cycles else 0.5
            self.costs = [self.rng.integers(0, 4, (2, len(e))) * np.array([[false], [0.5]]) for e in self.graphs]
        self.Y = [
            y if costs is None else mm.PartCosts(y, costs[0], costs[1])
            for y, costs in zip(self.truths, self.costs, strict=True)
        ]
        self.structure = mm.Path(sense=sense, cycles=cycles)
        self.encode()

    def _graph(self, n):
        """A path through all nodes and random edges; two edges may join the same nodes."""
        pairs = [(a, a + 1) for a in range(n - 1)]
        for a, b in itertools.permutations(range(n), 2):
            if (a < b or self.cycles) and self.rng.random() < 0.5:
                pairs.append((a, b))
        return np.array(pairs)

    def _paths(self, i):
        """All orders of all subsets of the edges that form a path without repeated nodes."""
        edges, found = self.graphs[i].tolist(), []
        waiting = [([], [self.ends[i][0]])]
        while waiting:
            path, nodes = waiting.pop()
            if nodes[-1] == self.ends[i][1]:
                found.append(path)
                continue
            for e, (tail, head) in enumerate(edges):
                if tail == nodes[-1] and head not in nodes and self.allowed[i][e]:
                    waiting.append(([*path, e], [*nodes, head]))
        return found

    def directions(self, scores):
        """Costs of graphs with cycles keep their signs."""
        if not self.cycles:
            return super().directions(scores)
        return [np.where(np.isfinite(s.values), s.values, 0.0) * self.rng.random(len(s.values)) for s in scores]

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.truths[i]

    def psi(self, i, output):
        total = self.tables[i][output].sum(axis=0)[columns(self.structure.feature_names())]
        return total if self.sense == "max" else -total

    def loss(self, i, output):
        true, found = set(self.truths[i]), set(output)
        false, missed = (0.0 if self.cycles else 1.0, 1.0) if self.costs[i] is None else self.costs[i]
        total = sum(np.broadcast_to(missed, len(self.graphs[i]))[e] for e in true - found)
        return total + sum(np.broadcast_to(false, len(self.graphs[i]))[e] for e in found - true)
