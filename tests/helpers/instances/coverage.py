"""Random candidates with elements and subtopics, covered in plain Python."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import scipy.sparse as sp

from maxmargin.structures.coverage.structure import Coverage
from maxmargin.structures.ranking.outputs import SelectedDocuments
from maxmargin.testing.instance import Instance


class Candidates(Instance):
    """Few candidates of few elements, given as lists, texts or matrices.

    Parameters
    ----------
    k : int or None
        Number of candidates to choose; None for a random number.
    """

    def __init__(self, seed, k=None):
        super().__init__(seed)
        rng = self.rng
        self.k = int(rng.integers(1, 5)) if k is None else k
        self.thresholds = self.choose([0.0], [0.0, 0.3, 0.6], [0.4, 0.9])
        self.levels = self.choose([1.0], [1.0, 2.0])
        self.cost = self.choose("popularity", "uniform")
        form = self.choose("lists", "texts", "csr", "dense")
        sizes = rng.integers(1, 6, rng.integers(1, 5))
        self.tables = [rng.poisson(0.6, (n, 5)).astype(float) for n in sizes]
        self.Y = [self.subtopics(n) for n in sizes]
        self.X = [self.shaped(table, form) for table in self.tables]
        self.features = np.array([[v, 1.0 - v * v / 3.0] for v in range(5)])[:, : self.choose(0, 0, 1, 2)]
        features = self.choose(self.of_element, self.features) if form in ("csr", "dense") else self.of_element
        self.structure = Coverage(
            k=self.k, thresholds=self.thresholds, levels=self.levels, cost=self.cost,
            features=features if self.features.size else None,
        )  # fmt: skip
        self.encode()

    def of_element(self, element):
        """Features of a word or of the number of a column."""
        return self.features[int(str(element).removeprefix("w"))]

    def subtopics(self, n):
        sets = [{str(t) for t in range(4) if self.rng.random() < 0.4} for _ in range(n)]
        sets[0].add("0")
        return sets

    @staticmethod
    def shaped(table, form):
        names = [[f"w{v}" for v, count in enumerate(row) for _ in range(int(count))] for row in table]
        return {
            "lists": names,
            "texts": [" ".join(row) for row in names],
            "csr": sp.csr_array(table),
            "dense": table,
        }[form]

    # ------------------------------------------------------------------ by hand

    def outputs(self, i):
        n = len(self.Y[i])
        return list(map(SelectedDocuments, combinations(range(n), min(self.k, n))))

    @staticmethod
    def name(output):
        """The order of the choice does not count."""
        return repr(sorted(output))

    def psi(self, i, chosen):
        table, out = self.tables[i], []
        unit = len(table) / max((table > 0).sum(), 1)
        for level in self.levels:
            covered = (table[list(chosen)] >= level).any(axis=0)
            share = (table >= level).mean(axis=0)
            out += [unit * float((covered & (share > 0) & (share >= t)).sum()) for t in self.thresholds]
        first = self.levels[0]
        share = (table >= first).mean(axis=0)
        covered = (table[list(chosen)] >= first).any(axis=0) & (share >= self.thresholds[0])
        return np.concatenate([out, unit * self.features[covered].sum(axis=0)])

    def share(self, i, chosen):
        weights = {}
        for topics in self.Y[i]:
            for topic in topics:
                weights[topic] = weights.get(topic, 0) + 1 if self.cost == "popularity" else 1
        covered = set().union(*(self.Y[i][j] for j in chosen))
        return sum(weights[topic] for topic in covered) / sum(weights.values())

    def truth(self, i):
        """The greedy choice by subtopics; of equals the first."""
        chosen = []
        for _ in range(min(self.k, len(self.Y[i]))):
            left = [j for j in range(len(self.Y[i])) if j not in chosen]
            worth = [round(self.share(i, [*chosen, j]), 12) for j in left]
            chosen.append(left[int(np.argmax(worth))])
        return SelectedDocuments(sorted(chosen))

    def loss(self, i, chosen):
        return max(0.0, self.share(i, self.truth(i)) - self.share(i, chosen))
