"""Random matchings of bipartite and general graphs."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.testing.instance import Instance
from tests.helpers.instances.trees import named_row


def differing(costs, true, found):
    """The loss by single parts: half of each that only one has, or the costs of false and missed ones."""
    if costs is None:
        return 0.5 * len(true ^ found)
    false, missed = costs
    return sum(false[part] for part in found - true) + sum(missed[part] for part in true - found)


class Assignments(Instance):
    """Random bipartite graphs with forbidden pairs, costs of single pairs and features of unassigned nodes."""

    def __init__(self, seed, per_left, per_right, unassigned, own=False):
        super().__init__(seed)
        rng = self.rng
        self.R, self.P, self.unassigned = per_left, per_right, unassigned
        self.width, form = int(rng.integers(1, 4)), self.choose("dense", "csr", "dicts", "strings", "coo")
        most = 4 if per_left == 1 else 3
        sizes = [(2, 2), *((int(rng.integers(0, most)), int(rng.integers(1, 4))) for _ in range(3))]
        if not unassigned:
            sizes = [(n, max(m, per_left, -(-n * per_left // per_right))) for n, m in sizes]
        sizes = [(n, m if n else 0) for n, m in sizes]
        self.tables = [self.draw(n, m, self.width) for n, m in sizes]
        if form == "strings":
            self.tables = [np.abs(np.sign(table)) for table in self.tables]
        self.extra = int(rng.integers(0, 3)) if unassigned else 0
        self.alone = [self.draw(n, self.extra) for n, _ in sizes]
        masked = bool(rng.integers(2)) or form == "coo"
        self.capacities = [(np.full(n, per_left), np.full(m, per_right)) for n, m in sizes]
        if own:
            self.capacities = [self._capacities(n, m) for n, m in sizes]
        self.allowed = [self._allowed(n, m, i) if masked else np.ones((n, m), bool) for i, (n, m) in enumerate(sizes)]
        self.structure = mm.BipartiteMatching(per_left=per_left, per_right=per_right, unassigned=unassigned)
        self.X = [self._formed(i, form, masked) for i in range(len(sizes))]
        if own:
            given = [x if isinstance(x, tuple) else (x,) for x in self.X]
            pairs = zip(given, self.capacities, strict=True)
            self.X = [mm.PairFeatures(*x, per_left=left, per_right=right) for x, (left, right) in pairs]
        self._outputs = [self._matchings(i) for i in range(len(sizes))]
        self.truths = [self.choose(*outputs) for outputs in self._outputs]
        self.costs = [None] * len(sizes)
        if rng.integers(2):
            self.costs = [rng.integers(0, 4, (2, n, m)) * 0.5 for n, m in sizes]
        self.Y = [
            y if costs is None else mm.PartCosts(y, *costs) for y, costs in zip(self.truths, self.costs, strict=True)
        ]
        self.encode()

    def choose(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def _capacities(self, n, m):
        """Random capacities, drawn until there is a matching."""
        while True:
            found = self.rng.integers(0, self.R + 1, n), self.rng.integers(0, self.P + 1, m)
            if self._all_matchings(np.ones((n, m), bool), *found):
                return found

    def _allowed(self, n, m, i):
        """Random pairs, drawn until there is a matching."""
        while True:
            allowed = self.rng.random((n, m)) < 0.75
            if self._all_matchings(allowed, *self.capacities[i]):
                return allowed

    def _formed(self, i, form, masked):
        table, allowed = self.tables[i], self.allowed[i]
        n, m, d = table.shape
        if form in ("dicts", "strings") and n:
            x = [[named_row(table[a, b], form) if allowed[a, b] else None for b in range(m)] for a in range(n)]
            allowed = None
        elif form in ("dicts", "strings"):
            x, allowed = [], None
        elif form == "csr" and n:
            x = [sp.csr_array(rows) for rows in table]
        else:
            x = sp.coo_array(table.reshape(n * m, d)) if form in ("coo", "csr") else table
            masked = masked or form == "csr"
        given = allowed if masked else None
        if self.extra:
            return x, given, self.alone[i]
        return (x, given) if given is not None else x

    def _all_matchings(self, allowed, lefts, rights):
        choices = []
        for row, most in zip(allowed, lefts.tolist(), strict=True):
            sizes = range(0 if self.unassigned else most, most + 1)
            choices.append([c for size in sizes for c in combinations(np.flatnonzero(row).tolist(), size)])
        return [
            chosen
            for chosen in product(*choices)
            if all(sum(k in some for some in chosen) <= most for k, most in enumerate(rights.tolist()))
        ]

    def _matchings(self, i):
        found = self._all_matchings(self.allowed[i], *self.capacities[i])
        if self.R == 1:
            return [[rights[0] if rights else -1 for rights in chosen] for chosen in found]
        return [[list(rights) for rights in chosen] for chosen in found]

    def pairs(self, output):
        rights = ([[k] if k >= 0 else [] for k in output]) if self.R == 1 else output
        return {(left, k) for left, some in enumerate(rights) for k in some}

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.truths[i]

    def cells(self, i, output):
        pairs = self.pairs(output)
        if not self.unassigned:
            return list(pairs)
        missing = [v for v, most in enumerate(self.capacities[i][0]) if sum(left == v for left, _ in pairs) < most]
        return [("pairs", pair) for pair in pairs] + [("unassigned", v) for v in missing]

    def psi(self, i, output):
        columns = [int(name[1:]) for name in self.structure.feature_names() if not name.startswith("unassigned")]
        pairs = self.pairs(output)
        total = sum((self.tables[i][pair] for pair in pairs), np.zeros(self.width))[columns]
        if not self.unassigned:
            return total
        missing = [most - sum(left == a for a, _ in pairs) for left, most in enumerate(self.capacities[i][0].tolist())]
        alone = sum((c * row for c, row in zip(missing, self.alone[i], strict=True)), np.zeros(self.extra))
        return np.concatenate([total, alone, [sum(missing)]])

    def loss(self, i, output):
        return differing(self.costs[i], self.pairs(self.truths[i]), self.pairs(output))


class Partners(Instance):
    """Random graphs, complete or given by their edges, with costs of single edges and features of unmatched nodes."""

    def __init__(self, seed, perfect, most=6):
        super().__init__(seed)
        rng = self.rng
        self.perfect, self.width = perfect, int(rng.integers(1, 4))
        form = self.choose("dense", "csr", "dicts", "strings", "edges", "sparse edges")
        sizes = [4, *rng.integers(0 if form.endswith("edges") else 1, most + 1, 3).tolist()]
        if perfect:
            sizes = [n + n % 2 for n in sizes]
        self.tables = [self.draw(n, n, self.width) for n in sizes]
        if form == "strings":
            self.tables = [np.abs(np.sign(table)) for table in self.tables]
        self.extra = 0 if perfect else int(rng.integers(0, 3))
        self.alone = [self.draw(n, self.extra) for n in sizes]
        masked = bool(rng.integers(2)) or form.endswith("edges")
        self.allowed = [self._allowed(n) if masked else np.ones((n, n), bool) for n in sizes]
        self.structure = mm.Matching(perfect=perfect)
        self.X = [self._formed(i, form, masked) for i in range(len(sizes))]
        self._outputs = [self._matchings(self.allowed[i]) for i in range(len(sizes))]
        self.truths = [self._outputs[i][int(rng.integers(len(self._outputs[i])))] for i in range(len(sizes))]
        self.costs = [None] * len(sizes)
        if rng.integers(2):
            self.costs = [rng.integers(0, 4, (2, n, n)) * 0.5 for n in sizes]
        self.Y = [
            y if costs is None else mm.PartCosts(y, *costs) for y, costs in zip(self.truths, self.costs, strict=True)
        ]
        self.encode()

    def _allowed(self, n):
        """Random edges, drawn until there is a matching."""
        while True:
            allowed = self.rng.random((n, n)) < 0.7
            if self._matchings(allowed):
                return allowed

    def _formed(self, i, form, masked):
        table, allowed = self.tables[i], self.allowed[i]
        n, given = len(table), allowed if masked else None
        if form.endswith("edges"):
            edges = [(a, b) for a, b in combinations(range(n), 2) if allowed[a, b]]
            rows = np.array([table[edge] for edge in edges]).reshape(-1, self.width)
            edges = [edge[::-1] if self.rng.random() < 0.5 else edge for edge in edges]
            x = mm.EdgeFeatures(edges, sp.csr_array(rows) if form == "sparse edges" else rows, n)
            given = None
        elif form in ("dicts", "strings"):
            cells = [[named_row(table[a, b], form) for b in range(n)] for a in range(n)]
            x = [[cells[a][b] if allowed[a, b] else None for b in range(n)] for a in range(n)]
            given = None
        else:
            x = sp.csr_array(table.reshape(n * n, -1)) if form == "csr" else table
        if self.extra:
            return x, given, self.alone[i]
        return (x, given) if given is not None else x

    def _matchings(self, allowed):
        """All matchings, each extended by its first free node."""
        n, found = len(allowed), []

        def extend(partners, a):
            if a == n:
                found.append(partners)
                return
            if partners[a] >= 0:
                return extend(partners, a + 1)
            if not self.perfect:
                extend(partners, a + 1)
            for b in range(a + 1, n):
                if partners[b] < 0 and allowed[a, b]:
                    joined = list(partners)
                    joined[a], joined[b] = b, a
                    extend(joined, a + 1)

        extend([-1] * n, 0)
        return found

    @staticmethod
    def pairs(output):
        return {(a, b) for a, b in enumerate(output) if a < b}

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.truths[i]

    def cells(self, i, output):
        graph = self.structure._read(self.X[i], i)
        number = {tuple(edge): e for e, edge in enumerate(graph.ends.tolist())}
        pairs = [number[pair] for pair in self.pairs(output)]
        if self.perfect:
            return pairs
        return [("edges", e) for e in pairs] + [("unmatched", v) for v, w in enumerate(output) if w < 0]

    def psi(self, i, output):
        columns = [int(name[1:]) for name in self.structure.feature_names() if not name.startswith("unmatched")]
        total = sum((self.tables[i][pair] for pair in self.pairs(output)), np.zeros(self.width))[columns]
        if self.perfect:
            return total
        single = [v for v, partner in enumerate(output) if partner < 0]
        return np.concatenate([total, self.alone[i][single].sum(axis=0), [len(single)]])

    def loss(self, i, output):
        return differing(self.costs[i], self.pairs(self.truths[i]), self.pairs(output))
