"""Random instances of trees and forests, with joint features and losses computed in plain Python."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.structures.forest.structure import Forest
from maxmargin.testing.instance import Instance

CLASS_NAMES = ["a", "b", "c", "d"]


def trees(n, links):
    """The component of each item, numbered by first items; None where the links have a cycle."""
    tree = list(range(n))
    for i, j in links:
        if tree[i] == tree[j]:
            return None
        tree = [tree[i] if t == tree[j] else t for t in tree]
    first = {t: k for k, t in enumerate(dict.fromkeys(tree))}
    return [first[t] for t in tree]


@cache
def all_forests(n):
    """(links, partition) of every forest over n items."""
    pairs = list(combinations(range(n), 2))
    subsets = (links for size in range(max(n, 1)) for links in combinations(pairs, size))
    return [(links, parts) for links in subsets if (parts := trees(n, links)) is not None]


class Documents(Instance):
    """Random items with features of pairs; outputs are forests, of which users see the partition."""

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        self.width, self.r, self.intercept = (
            int(rng.integers(1, 4)), self.choose(0.01, 0.5, 1.0, 2.5), bool(rng.integers(2))
        )  # fmt: skip
        form = self.choose("square", "condensed", "csr", "mixed")
        self.sizes = [2, *rng.integers(0, 6, 3).tolist()]
        self.square = [self.draw(n, n, self.width) for n in self.sizes]
        self.square[0][0, 1, 0] = 1.0  # all zeros there would look like the wrong half
        self.Y = [[f"c{k}" for k in rng.integers(0, max(n, 1), n)] for n in self.sizes]
        self.X = [self.formed(x, form) for x in self.square]
        self.structure = Forest(r=self.r, fit_intercept=self.intercept)
        self.encode()

    def inputs(self):
        return self.square

    def unlabelled(self):
        """Without outputs, no rows of pairs may mean one item or none."""
        return self.square

    def formed(self, x, form):
        condensed = x[np.triu_indices(len(x), 1)]
        kind = form if form != "mixed" else self.rng.choice(["square", "condensed", "csr"])
        return {"square": x, "condensed": condensed, "csr": sp.csr_array(condensed)}[str(kind)]

    def outputs(self, i):
        return [links for links, _ in all_forests(self.sizes[i])]

    def shown(self, i, links):
        return trees(self.sizes[i], links)

    def truth(self, i):
        """The chain through each true cluster."""
        y = self.Y[i]
        return tuple((a, b) for a, b in combinations(range(len(y)), 2) if y[a] == y[b] and y[a] not in y[a + 1 : b])

    def cells(self, i, links):
        return [cell for a, b in links for cell in ((a, b), (b, a))]

    def psi(self, i, links):
        total = sum((self.square[i][a, b] for a, b in links), np.zeros(self.width))
        return np.append(total, len(links)) if self.intercept else total

    def loss(self, i, links):
        y = self.Y[i]
        return len(y) - len(set(y)) - sum(1 if y[a] == y[b] else -self.r for a, b in links)

    def consistent(self, i, links):
        return self.shown(i, links) == self.shown(i, self.truth(i))

    def found(self, answers, i, examples=None):
        examples = self.examples if examples is None else examples
        a, b = examples.code_offsets[i : i + 2]
        pairs = list(combinations(range(self.sizes[i]), 2))
        code = [c for c in answers.codes[a:b].tolist() if c >= 0]
        assert code == sorted(set(code))
        assert answers.codes[a : a + len(code)].tolist() == code
        return tuple(pairs[c] for c in code)

    def worth(self, i, scale):
        y = self.Y[i]
        scores = {(a, b): float(self.w @ self.psi(i, [(a, b)])) for a, b in combinations(range(self.sizes[i]), 2)}
        return {(a, b): s - scale * (1 if y[a] == y[b] else -self.r) for (a, b), s in scores.items()}


def reaches_root(heads):
    """Whether every node 1 … n reaches 0 by its heads."""
    for node in range(1, len(heads) + 1):
        steps = 0
        while node != 0 and steps <= len(heads):
            node, steps = heads[node - 1], steps + 1
        if node != 0:
            return False
    return True


def crosses(heads):
    """Whether two arcs cross when they are drawn above the nodes 0 … n in a row."""
    spans = [tuple(sorted((h, m))) for m, h in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in spans for c, d in spans)


def joins_all(edges, n):
    """Whether n − 1 edges join n nodes."""
    part = list(range(n))
    for i, j in edges:
        part = [part[i] if p == part[j] else p for p in part]
    return len(set(part)) <= 1


def named_row(row, kind):
    """The features of a part as a dict, or the names of those that are not 0."""
    if kind == "strings":
        return [f"f{j}" for j in np.flatnonzero(row)]
    return {f"f{j}": float(v) for j, v in enumerate(row)}


class Graphs(Instance):
    """Random graphs with features of arcs, forbidden arcs and costs of single arcs."""

    def __init__(self, seed, directed, single_root, projective=False):
        super().__init__(seed)
        self.directed, self.single_root, self.projective = directed, single_root, projective
        self.width, form = int(self.rng.integers(1, 4)), self.choose("dense", "csr", "dicts", "strings", "mixed")
        sizes = [3, *self.rng.integers(1, 5 if directed else 6, 3).tolist()]
        self.tables = [self.draw(n, n, self.width) for n in sizes]
        if form == "strings":
            self.tables = [np.abs(np.sign(table)) for table in self.tables]
        masked = bool(self.rng.integers(2))
        self.allowed = [self._allowed(n) if masked else np.ones((n, n), bool) for n in sizes]
        self.structure = mm.Tree(directed=directed, single_root=single_root, projective=projective)
        self.X = [self._formed(i, form, masked) for i in range(len(sizes))]
        self._outputs = [self._trees(i) for i in range(len(sizes))]
        self.truths = [self.choose(*outputs) for outputs in self._outputs]
        self.costs = [None] * len(sizes)
        if self.rng.integers(2):
            self.costs = [self.rng.integers(0, 4, (2, n, n)) * 0.5 for n in sizes]
        self.Y = [
            y if costs is None else mm.PartCosts(y, costs[0], costs[1])
            for y, costs in zip(self.truths, self.costs, strict=True)
        ]
        self.encode()

    def _allowed(self, n):
        """Random arcs, and those of a random tree, so that there is one at least."""
        allowed = self.rng.random((n, n)) < 0.6
        order = [0, *(1 + self.rng.permutation(n - 1)).tolist()]
        for place in range(1, n):
            i = order[self.rng.integers(1 if self.single_root and place > 1 else 0, place)]
            if self.projective:  # a chain has no crossing arcs
                i, order = place - 1, list(range(n))
            allowed[i, order[place]] = allowed[order[place], i] = True
        return allowed

    def _formed(self, i, form, masked):
        table, allowed = self.tables[i], self.allowed[i]
        n = len(table)
        kind = form if form != "mixed" else self.choose("dense", "csr")
        if kind in ("dicts", "strings"):
            cells = [[named_row(table[a, b], kind) for b in range(n)] for a in range(n)]
            return [[cells[a][b] if allowed[a, b] or a == b else None for b in range(n)] for a in range(n)]
        x = sp.csr_array(table.reshape(n * n, -1)) if kind == "csr" else table
        return (x, allowed) if masked else x

    def arcs(self, output):
        return [(h, m + 1) for m, h in enumerate(output)] if self.directed else output

    def _trees(self, i):
        n, allowed = len(self.tables[i]), self.allowed[i]
        if self.directed:
            trees = [list(heads) for heads in product(range(n), repeat=n - 1) if reaches_root(heads)]
            trees = [heads for heads in trees if not (self.single_root and heads.count(0) > 1)]
            trees = [heads for heads in trees if not (self.projective and crosses(heads))]
        else:
            edges = combinations(combinations(range(n), 2), n - 1)
            trees = [list(chosen) for chosen in edges if joins_all(chosen, n)]
        return [tree for tree in trees if all(allowed[arc] for arc in self.arcs(tree))]

    def outputs(self, i):
        return self._outputs[i]

    def cells(self, i, output):
        return [cell for a, b in self.arcs(output) for cell in (((a, b),) if self.directed else ((a, b), (b, a)))]

    def truth(self, i):
        return self.truths[i]

    @property
    def columns(self):
        """The feature behind each weight: columns of named features are in the order of first sight."""
        names = self.structure.feature_names().tolist()
        return [int(name[1:]) for name in names]

    def psi(self, i, output):
        total = sum((self.tables[i][arc] for arc in self.arcs(output)), np.zeros(self.width))
        return total[self.columns]

    def loss(self, i, output):
        true, found = set(self.arcs(self.truths[i])), set(self.arcs(output))
        if self.costs[i] is None:
            return float(len(found - true))
        false, missed = self.costs[i]
        return sum(false[arc] for arc in found - true) + sum(missed[arc] for arc in true - found)
