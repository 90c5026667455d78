"""Random instances of taxonomies and label sets, with joint features and losses computed in plain Python."""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.testing.instance import Instance


def ancestors(parents, node):
    """A node and all nodes above it."""
    found = {node}
    for parent in parents[node]:
        found |= ancestors(parents, parent)
    return found


def height(parents, node):
    """The number of edges on the longest way down."""
    below = [child for child, above in parents.items() if node in above]
    return max((1 + height(parents, child) for child in below), default=0)


class ClassesInATree(Instance):
    """Random rows, and classes that are nodes of a random tree or lattice."""

    def __init__(self, seed, seen_pairs=False):
        super().__init__(seed)
        rng = self.rng
        n, width = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        self.parents = self._lattice(int(rng.integers(3, 9)), bool(rng.integers(2)))
        inner, cost = bool(rng.integers(2)), self.choose("tree", "zero-one", "matrix")
        above = {parent for parents in self.parents.values() for parent in parents}
        nodes = list(self.parents) if inner else [node for node in self.parents if node not in above]
        self.names = sorted(nodes)
        if len(self.names) > 2 and rng.integers(3) == 0:
            self.names = [self.names[k] for k in rng.permutation(len(self.names))[:-1]]
        self.given = self.names != sorted(nodes)
        self.intercept, self.cost = bool(rng.integers(2)), cost
        self.dense = self.draw(n, width) * rng.integers(0, 2, (n, width))
        self.Y = [self.names[k] for k in rng.integers(0, len(self.names), n)]
        self.costs = rng.integers(0, 4, (len(self.names),) * 2) * (1.0 - np.eye(len(self.names)))
        self.structure = mm.Taxonomy(
            hierarchy=self._form(), cost=self.costs if cost == "matrix" else cost, inner_nodes=inner,
            fit_intercept=self.intercept, classes=self.names if self.given else None, seen_pairs=seen_pairs,
        )  # fmt: skip
        self.X = sp.csr_array(self.dense) if rng.integers(2) else self.dense
        self.structure.fit(self.X, self.Y)
        self.weighted = self.structure.nodes_
        self.pairs = self._pairs(seen_pairs)
        self.encode()

    def _lattice(self, size, tree):
        """Parents of each node; node 0 is the root, and at least two nodes are leaves."""
        names = [f"n{k}" for k in self.rng.permutation(size)]
        parents = {names[0]: [], names[1]: [names[0]], names[2]: [names[0]]}
        for k in range(3, size):
            several = 1 if tree else int(self.rng.integers(1, 3))
            parents[names[k]] = [names[p] for p in self.rng.choice(k, several, replace=False)]
        leaves = [z for z in names if not any(z in above for above in parents.values())]
        if len(leaves) < 2:
            parents["extra"] = [names[0]]
        return parents

    def _form(self):
        """The hierarchy as users may have it."""
        edges = [(parent, child) for child, above in self.parents.items() for parent in above]
        if self.rng.integers(2):
            return [edges[e] for e in self.rng.permutation(len(edges))]
        return {child: above[0] if len(above) == 1 else above for child, above in self.parents.items() if above}

    def _pairs(self, seen):
        """The (feature, node) pairs that have weights, in order."""
        rows = np.hstack([self.dense, np.ones((len(self.dense), int(self.intercept)))])
        pairs = list(product(range(rows.shape[1]), self.weighted))
        if not seen or not rows.any():
            return pairs
        near = {z: {z, *self.parents[z]} for z in self.weighted}
        examples = [(row, ancestors(self.parents, y)) for row, y in zip(rows, self.Y, strict=True)]
        return [(f, z) for f, z in pairs if any(row[f] != 0 and near[z] & above for row, above in examples)]

    def inputs(self):
        return [self.X[[i]] if sp.issparse(self.X) else self.X[i] for i in range(len(self.Y))]

    def outputs(self, i):
        return self.names

    def truth(self, i):
        return self.Y[i]

    def psi(self, i, output):
        row, above = [*self.dense[i], 1.0], ancestors(self.parents, output)
        return np.array([row[f] * (z in above) for f, z in self.pairs])

    def cells(self, i, output):
        return [self.names.index(output)]

    def loss(self, i, output):
        true = self.Y[i]
        if self.cost == "matrix":
            return float(self.costs[self.names.index(true), self.names.index(output)])
        if self.cost == "zero-one" or true == output:
            return float(true != output)
        common = ancestors(self.parents, true) & ancestors(self.parents, output)
        return float(min(height(self.parents, z) for z in common))


class LabelSets(Instance):
    """Random rows and sets of up to four labels."""

    def __init__(self, seed, pairs):
        super().__init__(seed)
        rng = self.rng
        n, width, self.n_labels = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 5))
        self.cost, self.intercept = self.choose("hamming", "f1"), bool(rng.integers(2))
        self.dense = self.draw(n, width)
        self.Y = rng.integers(0, 2, (n, self.n_labels))
        if rng.integers(4) == 0:
            self.Y[0] = 0
        self.structure = mm.Multilabel(cost=self.cost, pairs=pairs, fit_intercept=self.intercept)
        self.X = sp.csr_array(self.dense) if rng.integers(2) else self.dense
        self.structure.fit(self.X, self.Y)
        self.edges = self.structure.edges_.tolist()
        self.encode()

    def inputs(self):
        return [self.X[[i]] if sp.issparse(self.X) else self.X[i] for i in range(len(self.Y))]

    def outputs(self, i):
        return [list(labels) for labels in product((0, 1), repeat=self.n_labels)]

    def truth(self, i):
        return self.Y[i].tolist()

    def psi(self, i, output):
        row = [*self.dense[i], 1.0] if self.intercept else list(self.dense[i])
        return np.concatenate([np.outer(row, output).ravel(), [output[j] * output[k] for j, k in self.edges]])

    def cells(self, i, output):
        return [k for k, present in enumerate(output) if present]

    def loss(self, i, output):
        true = set(np.flatnonzero(self.Y[i]).tolist())
        found = {k for k, present in enumerate(output) if present}
        if self.cost == "hamming":
            return float(len(true ^ found))
        return 1.0 - 2.0 * len(true & found) / (len(true) + len(found)) if true or found else 0.0
