"""Random queries for every measure of rankings, with features and losses computed in plain Python."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import scipy.sparse as sp

from maxmargin.structures.ranking.outputs import RankedDocuments, SwappedPairs
from maxmargin.structures.ranking.structure import Ranking
from maxmargin.testing.instance import Instance


class RankedQueries(Instance):
    """Random queries of few documents, many of equal relevance and, with whole features, of equal scores."""

    most_documents = 5

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        width, form = int(rng.integers(1, 5)), self.choose("dense", "csr")
        sizes = rng.integers(1, self.most_documents + 1, rng.integers(1, 5))
        self.dense = [self.draw(size, width) * (rng.random((size, width)) < 0.8) for size in sizes]
        self.Y = [self.labels(size) for size in sizes]
        self.X = {"dense": self.dense, "csr": [sp.csr_array(x) for x in self.dense]}[form]
        self.structure = self.make()
        self.encode()

    def max_marginals(self, i, like):
        """Scores of single documents."""
        return self.dense[i] @ self.w

    def labels(self, size):
        """Relevance 0 to 2, at least one of them above 0."""
        y = self.rng.integers(0, 3, size)
        y[self.rng.integers(size)] = self.rng.integers(1, 3)
        return y


class Positions(RankedQueries):
    """Documents in the first positions, judged by NDCG."""

    def make(self):
        self.k = self.choose(None, 1, 2, 3, 9)
        self.gain, self.discount = self.choose("exponential", "linear"), self.choose("log2", "letor")
        weights = self.choose("discount", "discount", [1.0], [3.0, 1.0, 1.0], [1.0, 0.9, 0.8, 0.7, 0.6], [2.0, 0.0])
        self.given = weights
        measure = "ndcg" if self.k is None else f"ndcg@{self.k}"
        return Ranking(measure=measure, gain=self.gain, discount=self.discount, position_weights=weights)

    def positions(self, n):
        if self.k is None:
            return n
        return min(n, self.k if isinstance(self.given, str) else max(self.k, len(self.given)))

    def discounts(self, m):
        shift = {"log2": 2, "letor": 1}[self.discount]
        return [1 / np.log2(max(p + shift, 2)) if self.k is None or p < self.k else 0.0 for p in range(m)]

    def outputs(self, i):
        n = len(self.Y[i])
        return list(map(RankedDocuments, permutations(range(n), self.positions(n))))

    def truth(self, i):
        y = self.Y[i]
        return RankedDocuments(sorted(range(len(y)), key=lambda j: (-y[j], j))[: self.positions(len(y))])

    def psi(self, i, ranking):
        weights = self.discounts(len(ranking)) if isinstance(self.given, str) else self.given
        return sum((weights[p] if p < len(weights) else 0.0) * self.dense[i][j] for p, j in enumerate(ranking))

    def dcg(self, i, ranking):
        gains = [2.0 ** self.Y[i][j] - 1 if self.gain == "exponential" else self.Y[i][j] for j in ranking]
        return float(np.dot(gains, self.discounts(len(ranking))))

    def loss(self, i, ranking):
        return 1.0 - self.dcg(i, ranking) / self.dcg(i, self.truth(i))

    def consistent(self, i, ranking):
        """Labels in the order of the truth; without loss alone, positions of discount 0 would not count."""
        y = self.Y[i]
        return [y[j] for j in ranking] == [y[j] for j in self.truth(i)]


class PairOrders(RankedQueries):
    """Base of pairs of documents in the right or the wrong order; features are relative to the truth."""

    def pairs(self, i):
        grades = self.graded(i)
        n = len(grades)
        return [(a, b) for a in range(n) for b in range(n) if grades[a] > grades[b]]

    def graded(self, i):
        raise NotImplementedError

    def swapped(self, i, pairs):
        n = len(self.Y[i])
        lower, higher = [0] * n, [0] * n
        for a, b in pairs:
            lower[a] += 1
            higher[b] += 1
        return SwappedPairs(tuple(zip(lower, higher, strict=True)), max(len(self.pairs(i)), 1))

    def truth(self, i):
        return self.swapped(i, [])

    def psi(self, i, output):
        counts = np.array([b - a for a, b in output.counts]) / output.n_pairs
        return counts @ self.dense[i]


class AllPairs(PairOrders):
    """The share of swapped pairs; every set of pairs is an output."""

    most_documents = 3

    def labels(self, size):
        y = np.append(self.rng.integers(-1, 3, size) * 0.5, 7.0)
        return y[self.rng.permutation(len(y))] if y.min() < y.max() else np.array([0.5, 1.0])

    def make(self):
        self.dense = [self.draw(len(y), self.dense[0].shape[1]) for y in self.Y]
        self.X = self.dense
        return Ranking(measure="pairwise")

    def graded(self, i):
        return self.Y[i]

    def outputs(self, i):
        pairs = self.pairs(i)
        chosen = ([pair for k, pair in enumerate(pairs) if bits >> k & 1] for bits in range(2 ** len(pairs)))
        return list({repr(output): output for output in (self.swapped(i, some) for some in chosen)}.values())

    def loss(self, i, output):
        return sum(a for a, _ in output.counts) / output.n_pairs


class AveragePrecisionOrders(PairOrders):
    """Average precision; every order of the documents is an output."""

    most_documents = 4

    def labels(self, size):
        return self.rng.integers(0, 2, size) if size == 1 else super().labels(size) - self.rng.integers(0, 2)

    def make(self):
        for y in self.Y:
            y[0] = 1
        return Ranking(measure="ap")

    def graded(self, i):
        return [int(label > 0) for label in self.Y[i]]

    def outputs(self, i):
        found = {}
        for order in permutations(range(len(self.Y[i]))):
            place = {j: p for p, j in enumerate(order)}
            output = self.swapped(i, [(a, b) for a, b in self.pairs(i) if place[a] > place[b]])
            relevant = [p for p, j in enumerate(order) if self.Y[i][j] > 0]
            precision = np.mean([(k + 1) / (p + 1) for k, p in enumerate(relevant)])
            found[repr(output)] = output, 1.0 - float(precision)
        self.losses = getattr(self, "losses", {}) | {(i, name): loss for name, (_, loss) in found.items()}
        return [output for output, _ in found.values()]

    def loss(self, i, output):
        if (i, repr(output)) not in getattr(self, "losses", {}):
            self.outputs(i)
        return self.losses[i, repr(output)]
