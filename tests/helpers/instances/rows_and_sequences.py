"""Random instances of rows, sequences, strings and queries, with joint features and losses in plain Python."""

from __future__ import annotations

import itertools
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from maxmargin.structures.chain.constraints import Constraints
from maxmargin.structures.chain.structure import Chain
from maxmargin.structures.motif.structure import Motif, MotifSite
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.ranking.outputs import TopDocuments
from maxmargin.structures.ranking.structure import Ranking
from maxmargin.testing.instance import Instance

CLASS_NAMES = ["a", "b", "c", "d"]


class LabelledRows(Instance):
    """Random rows and labels."""

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        n, n_labels, width = int(rng.integers(1, 9)), int(rng.integers(2, 5)), int(rng.integers(1, 4))
        cost, form, self.intercept = (
            self.choose("zero-one", "matrix", "dict"),
            self.choose("dense", "csr", "lists"),
            bool(rng.integers(2)),
        )
        self.dense = self.draw(n, width)
        self.names = [CLASS_NAMES[k] for k in rng.permutation(n_labels)]
        self.Y = [self.names[k] for k in rng.integers(0, n_labels, n)]
        costs = rng.integers(0, 4, (n_labels, n_labels)) * 0.5
        np.fill_diagonal(costs, 0.0)
        per_label = {name: float(rng.integers(0, 4)) for name in self.names[1:]}
        self.costs = {
            "zero-one": 1.0 - np.eye(n_labels),
            "matrix": costs,
            "dict": (1.0 - np.eye(n_labels)) * np.array([[per_label.get(name, 1.0)] for name in self.names]),
        }[cost]
        parameter = {"zero-one": "zero-one", "matrix": costs, "dict": per_label}[cost]
        self.structure = Multiclass(cost=parameter, fit_intercept=self.intercept, classes=self.names)
        self.X = {"dense": self.dense, "csr": sp.csr_array(self.dense), "lists": self.dense.tolist()}[form]
        self.encode()

    def encode(self):
        self.structure.fit(self.X, self.Y)
        super().encode()

    def inputs(self):
        return [self.X[[i]] if sp.issparse(self.X) else self.X[i] for i in range(self.n)]

    def outputs(self, i):
        return self.names

    def truth(self, i):
        return self.Y[i]

    def psi(self, i, output):
        """Feature f of class k is entry f K + k; the intercept comes last."""
        row = [*self.dense[i], 1.0] if self.intercept else list(self.dense[i])
        return np.outer(row, [name == output for name in self.names]).ravel()

    def cells(self, i, output):
        return [self.names.index(output)]

    def loss(self, i, output):
        return float(self.costs[self.names.index(self.Y[i]), self.names.index(output)])


LABEL_NAMES = ["w", "x", "y", "z"]


COSTS = ["hamming", "hamming-share", "zero-one", "dict", "matrix", "irregular"]


FORMS = ["dense", "csr", "mixed", "dicts", "strings"]


class Sequences(Instance):
    """Random sequences of length 0 to 4, random truths within random constraints."""

    def __init__(self, seed, seen_pairs=False):
        super().__init__(seed)
        rng = self.rng
        self.n_labels, self.cost, self.intercept = int(rng.integers(2, 5)), self.choose(*COSTS), bool(rng.integers(2))
        constrained, n_edges = bool(rng.integers(2)), self.choose(0, 0, 1, 2)
        self.names = [LABEL_NAMES[k] for k in rng.permutation(self.n_labels)]
        self.allowed, self.start, self.end = self._constraints(constrained)
        self.lengths = [int(t) for t in rng.integers(0, 5, 3)] + [2]
        self.lengths = [t for t in self.lengths if self.sequences(t)] or [0]
        if not any(self.lengths):
            self.allowed[:], self.start[:], self.end[:] = True, True, True
            self.lengths.append(1)
        self.truths = [self.choose(*self.sequences(t)) for t in self.lengths]
        self._losses()
        self.edges = [self.draw(max(t - 1, 0), n_edges) for t in self.lengths] if n_edges else None
        if n_edges and max(self.lengths) < 2:
            self.edges = None
        self._tokens(self.choose(*FORMS), int(rng.integers(1, 4)))
        forbidden = Constraints(
            tuple((self.names[a], self.names[b]) for a, b in np.argwhere(~self.allowed)),
            tuple(self.names[a] for a in np.flatnonzero(~self.start)),
            tuple(self.names[a] for a in np.flatnonzero(~self.end)),
        )
        self.structure = Chain(
            cost=self.parameter, constraints=forbidden if constrained else None, fit_intercept=self.intercept,
            transition_features=self.edges is not None, classes=self.names, seen_pairs=seen_pairs,
        )  # fmt: skip
        self.seen = self._seen() if seen_pairs else None
        self.Y = [self.labels(y) for y in self.truths]
        self.encode()

    def labels(self, codes):
        return [self.names[k] for k in codes]

    def encode(self):
        if self.seen is not None:
            self.structure.fit(self.X, self.Y)
        super().encode()

    def _seen(self):
        """Whether feature f and label k occur together in the data."""
        width = max(rows.shape[1] for rows in self.rows)
        seen = np.zeros((width + self.intercept, self.n_labels), bool)
        for rows, y in zip(self.rows, self.truths, strict=True):
            for row, k in zip(rows, y, strict=True):
                seen[:, k] |= np.array([*row, 1.0] if self.intercept else row) != 0
        return seen

    def outputs(self, i):
        return [self.labels(y) for y in self.sequences(self.lengths[i])]

    def truth(self, i):
        return self.Y[i]

    def cells(self, i, output):
        return [(t, self.names.index(label)) for t, label in enumerate(output)]

    def _constraints(self, constrained):
        K = self.n_labels
        if not constrained:
            return np.ones((K, K), bool), np.ones(K, bool), np.ones(K, bool)
        return self.rng.random((K, K)) < 0.6, self.rng.random(K) < 0.7, self.rng.random(K) < 0.7

    def sequences(self, length):
        """All allowed label sequences, as tuples of codes."""
        return [
            y
            for y in itertools.product(range(self.n_labels), repeat=length)
            if not y
            or (self.start[y[0]] and self.end[y[-1]] and all(self.allowed[a, b] for a, b in itertools.pairwise(y)))
        ]

    def _losses(self):
        K, rng = self.n_labels, self.rng
        table = rng.integers(0, 4, (K, K)) * 0.5 * (1 - np.eye(K))
        per_label = {name: float(rng.integers(0, 4)) for name in self.names[1:]}
        if self.cost == "irregular":  # not multiples of one number
            table = table * np.array([[1.0], *[[np.pi]] * (K - 1)])
            table[0, 1], table[1, 0] = 1.0, np.pi
        self.parameter = {"dict": per_label, "matrix": table, "irregular": table}.get(self.cost, self.cost)
        if self.cost == "dict":
            table = (1 - np.eye(K)) * np.array([[per_label.get(name, 1.0)] for name in self.names])
        self.table = table if self.cost in ("dict", "matrix", "irregular") else 1 - np.eye(K)

    def loss(self, i, output):
        y, y_hat = self.truths[i], tuple(map(self.names.index, output))
        total = sum(float(self.table[a, b]) for a, b in zip(y, y_hat, strict=True))
        if self.cost == "zero-one":
            return float(y != y_hat)
        return total / max(len(y), 1) if self.cost == "hamming-share" else total

    def _tokens(self, form, width):
        """X in the form asked for, and the dense rows (columns in order of first sight where they are named)."""
        rng = self.rng
        if form in ("dense", "csr", "mixed"):
            self.rows = [self.draw(t, width) for t in self.lengths]
            sparse = [form == "csr" or (form == "mixed" and rng.random() < 0.5) for _ in self.lengths]
            X = [sp.csr_array(rows) if s else rows for rows, s in zip(self.rows, sparse, strict=True)]
        else:
            pool = [f"f{j}" for j in range(width + 1)]
            if form == "strings":
                X = [[list(rng.choice(pool, rng.integers(0, 4))) for _ in range(t)] for t in self.lengths]
            else:
                X = [[self._dict(pool) for _ in range(t)] for t in self.lengths]
            columns = {}
            for name in (name for x in X for token in x for name in token):
                columns.setdefault(name, len(columns))
            self.rows = [np.zeros((t, len(columns))) for t in self.lengths]
            for i, x in enumerate(X):
                for t, token in enumerate(x):
                    for name in token:
                        self.rows[i][t, columns[name]] += token[name] if form == "dicts" else 1.0
        self.X = X if self.edges is None else list(zip(X, self.edges, strict=True))

    def _dict(self, pool):
        chosen = self.rng.permutation(len(pool))[: self.rng.integers(0, len(pool) + 1)]
        return {pool[j]: float(v) for j, v in zip(chosen, self.draw(len(chosen)), strict=True)}

    def psi(self, i, output):
        """Blocks: tokens (column by column, label by label), transitions, start, end, transition features."""
        K, y = self.n_labels, tuple(map(self.names.index, output))
        tokens = np.zeros((self.rows[i].shape[1] + self.intercept, K))
        pairs, start, end = np.zeros((K, K)), np.zeros(K), np.zeros(K)
        edges = np.zeros((self.edges[i].shape[1] if self.edges is not None else 0, K, K))
        for t, k in enumerate(y):
            tokens[:, k] += [*self.rows[i][t], 1.0] if self.intercept else self.rows[i][t]
            if t > 0:
                pairs[y[t - 1], k] += 1
                if self.edges is not None:
                    edges[:, y[t - 1], k] += self.edges[i][t - 1]
        if y:
            start[y[0]] += 1
            end[y[-1]] += 1
        tokens = tokens if self.seen is None else tokens[self.seen]
        return np.concatenate([tokens.ravel(), pairs.ravel(), start, end, edges.ravel()])


COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}


class Strings(Instance):
    """Random strings and labels."""

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        self.length, self.order = int(rng.integers(1, 14)), int(rng.integers(0, 4))
        self.alphabet = self.choose("ACGT", "TGCA", "01", "ACDEFGHIKLMN")
        nucleotides = set(self.alphabet) | {"N"} == set(COMPLEMENT)
        self.both, wildcards = bool(rng.integers(2)) and nucleotides, "N" if nucleotides and rng.integers(2) else ""
        n = int(rng.integers(2, 8))
        drawn = list(self.alphabet + wildcards)
        self.X = ["".join(rng.choice(drawn, size)) for size in self.length + rng.integers(0, 12, n)]
        self.Y = [-1, 1, *rng.choice([-1, 1], n - 2).tolist()]
        self.structure = Motif(
            length=self.length, background_order=self.order, alphabet=self.alphabet, both_strands=self.both
        )
        self.encode()

    def outputs(self, i):
        """All outputs, in the order of their codes."""
        windows = range(len(self.X[i]) - self.length + 1)
        return [MotifSite(-1), *(MotifSite(1, h, s) for h in windows for s in ("+-" if self.both else "+"))]

    def truth(self, i):
        return MotifSite(1, 0, "+") if self.Y[i] == 1 else MotifSite(-1)

    def loss(self, i, output):
        return float(output.label != self.Y[i])

    def cells(self, i, site):
        return [] if site.position is None else [(site.position, "+-".index(site.strand))]

    def no_parts(self, i):
        return MotifSite(-1)

    def psi(self, i, site):
        x, size = self.X[i], len(self.alphabet)
        out = np.zeros(self.length * size + size ** (self.order + 1))
        window = range(0)
        if site.position is not None:
            window = range(site.position, site.position + self.length)
            text = x[window.start : window.stop]
            if site.strand == "-":
                text = "".join(COMPLEMENT[c] for c in reversed(text))
            for j, c in enumerate(text):
                if c in self.alphabet:
                    out[j * size + self.alphabet.index(c)] += 1
        for p in range(self.order, len(x)):
            if p not in window and set(x[p - self.order : p + 1]) <= set(self.alphabet):
                context = 0
                for c in x[p - self.order : p + 1]:
                    context = context * size + self.alphabet.index(c)
                out[self.length * size + context] += 1
        return out


class Queries(Instance):
    """Random queries and relevance."""

    def __init__(self, seed):
        super().__init__(seed)
        rng = self.rng
        self.k, width, form = int(rng.integers(1, 6)), int(rng.integers(1, 5)), self.choose("dense", "csr")
        sizes = rng.integers(1, 8, rng.integers(1, 6))
        self.dense = [self.draw(size, width) * (rng.random((size, width)) < 0.7) for size in sizes]
        self.Y = [rng.integers(-1, 3, size) for size in sizes]
        for y in self.Y:
            y[rng.integers(len(y))] = 1
        self.X = {"dense": self.dense, "csr": [sp.csr_array(x) for x in self.dense]}[form]
        self.structure = Ranking(measure=f"precision@{self.k}")
        self.encode()

    def outputs(self, i):
        n = len(self.Y[i])
        return list(map(TopDocuments, combinations(range(n), min(self.k, n))))

    def truth(self, i):
        y = self.Y[i]
        order = [j for j, v in enumerate(y) if v > 0] + [j for j, v in enumerate(y) if v <= 0]
        return TopDocuments(sorted(order[: self.k]))

    def max_marginals(self, i, like):
        """Scores of single documents."""
        return self.dense[i] @ self.w

    def psi(self, i, documents):
        return np.mean([self.dense[i][j] for j in documents], axis=0)

    def loss(self, i, documents):
        k, y = len(documents), self.Y[i]
        return min(1.0, sum(y > 0) / k) - sum(y[j] > 0 for j in documents) / k

    def consistent(self, i, documents):
        return self.loss(i, documents) < 1e-12
