"""Random instances of paths, cuts and programs, with joint features and losses computed in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.testing.instance import Instance


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

    def cells(self, i, output):
        return output

    def psi(self, i, output):
        total = self.tables[i][output].sum(axis=0)[columns(self.structure.feature_names())]
        return total if self.sense == "max" else -total

    def loss(self, i, output):
        true, found = set(self.truths[i]), set(output)
        false, missed = (0.0 if self.cycles else 1.0, 1.0) if self.costs[i] is None else self.costs[i]
        total = sum(np.broadcast_to(missed, len(self.graphs[i]))[e] for e in true - found)
        return total + sum(np.broadcast_to(false, len(self.graphs[i]))[e] for e in found - true)


class Items(Instance):
    """Random items with weights, a capacity, forbidden items and costs of single items."""

    def __init__(self, seed, fractional=False):
        super().__init__(seed)
        width, form = int(self.rng.integers(1, 4)), self.choose("dense", "csr", "dicts")
        masked = bool(self.rng.integers(2))
        sizes = [3, *self.rng.integers(1, 6, 3).tolist()]
        self.tables = [self.draw(m, width) for m in sizes]
        self.loads = [self.rng.integers(0, 6, m) + (0.25 if fractional else 0) for m in sizes]
        self.capacities = [int(self.rng.integers(0, 12)) for _ in sizes]
        self.allowed = [self.rng.random(m) < 0.7 if masked else np.ones(m, bool) for m in sizes]
        self.X = []
        for table, weights, room, allowed in zip(self.tables, self.loads, self.capacities, self.allowed, strict=True):
            x = (formed(self.rng, table, form), weights, room)
            self.X.append((*x, allowed) if masked else x)
        self._outputs = [self._choices(i) for i in range(len(sizes))]
        self.truths = [self.choose(*outputs) for outputs in self._outputs]
        self.costs = [None] * len(sizes)
        if self.rng.integers(2):
            self.costs = [self.rng.integers(0, 4, (2, m)) * 0.5 for m in sizes]
        self.Y = [
            y if costs is None else mm.PartCosts(y, costs[0], costs[1])
            for y, costs in zip(self.truths, self.costs, strict=True)
        ]
        self.structure = mm.Knapsack()
        self.encode()

    def _choices(self, i):
        choices = map(list, itertools.product((0, 1), repeat=len(self.loads[i])))
        fits = [z for z in choices if sum(w for w, v in zip(self.loads[i], z, strict=True) if v) <= self.capacities[i]]
        return [z for z in fits if all(a or not v for a, v in zip(self.allowed[i], z, strict=True))]

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.truths[i]

    def cells(self, i, output):
        return np.flatnonzero(output).tolist()

    def psi(self, i, output):
        return (np.array(output) @ self.tables[i])[columns(self.structure.feature_names())]

    def loss(self, i, output):
        false, missed = np.ones((2, len(output))) if self.costs[i] is None else self.costs[i]
        pairs = list(zip(self.truths[i], output, strict=True))
        return float(sum(false[j] * (v > y) + missed[j] * (v < y) for j, (y, v) in enumerate(pairs)))


class Programs(Instance):
    """Random programs of integers with a few constraints, some made by a function."""

    def __init__(self, seed, binary=True):
        super().__init__(seed)
        self.binary, self.sense = binary, self.choose("min", "max")
        width, form, built = int(self.rng.integers(1, 4)), self.choose("dense", "csr", "dicts"), bool(seed % 2)
        inputs, self.spaces, self.tables = [], [], []
        for m in [3, *self.rng.integers(1, 5, 2).tolist()]:
            upper = np.ones(m) if binary else self.rng.integers(1, 4, m).astype(float)
            A, z = self.rng.integers(-2, 3, (2, m)), upper * self.rng.integers(0, 2, m)
            low, high = A @ z - self.rng.integers(0, 3, 2), A @ z + self.rng.integers(0, 2, 2)
            self.spaces.append((A, low, high, upper.astype(int)))
            self.tables.append(self.draw(m, width))
            rows = formed(self.rng, self.tables[-1], form)
            matrix = sp.csr_array(A) if self.rng.integers(2) else A
            inputs.append(mm.ProgramInput(rows, matrix, low, high, 0.0, upper))
        self._outputs = [self._decisions(*space) for space in self.spaces]
        self.truths = [self.choose(*self._with_bounds(i)) for i in range(len(inputs))]
        self.costs = [None] * len(inputs)
        if self.rng.integers(2):
            self.costs = [self.rng.integers(0, 4, (2, len(t))) * 0.5 for t in self.tables]
        self.Y = [
            y if costs is None else mm.PartCosts(y, costs[0], costs[1])
            for y, costs in zip(self.truths, self.costs, strict=True)
        ]
        self.X = [tuple(x) for x in inputs] if built else inputs
        self.structure = mm.Program(made_of_tuple if built else None, sense=self.sense)
        self.encode()

    def _decisions(self, A, low, high, upper):
        decisions = map(list, itertools.product(*(range(u + 1) for u in upper)))
        return [z for z in decisions if ((low <= A @ z) & (A @ z <= high)).all()]

    def _with_bounds(self, i):
        """Decisions whose variables are all at a bound, where the loss is the distance."""
        upper = self.spaces[i][3]
        return [z for z in self._outputs[i] if all(v in (0, u) for v, u in zip(z, upper, strict=True))]

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.truths[i]

    def cells(self, i, output):
        return np.flatnonzero(np.array(output) > 0).tolist()

    def psi(self, i, output):
        total = (np.array(output) @ self.tables[i])[columns(self.structure.feature_names())]
        return total if self.sense == "max" else -total

    def loss(self, i, output):
        false, missed = np.ones((2, len(output))) if self.costs[i] is None else self.costs[i]
        pairs = list(zip(self.truths[i], output, strict=True))
        return float(sum(false[j] * max(v - y, 0) + missed[j] * max(y - v, 0) for j, (y, v) in enumerate(pairs)))


def made_of_tuple(x):
    return mm.ProgramInput(*x)


class LabelledGraphs(Instance):
    """Random graphs with features of nodes and edges, forbidden labels and costs."""

    forbids_pairs = False

    def __init__(self, seed, n_labels=2):
        super().__init__(seed)
        rng = self.rng
        width, form, masked = int(rng.integers(1, 4)), self.choose("dense", "csr", "dicts"), bool(rng.integers(2))
        self.intercept, edge_width = bool(rng.integers(2)), int(rng.integers(0, 3))
        self.names = ["c", "a", "b", "d"][:n_labels]
        sizes = [3, *rng.integers(1, 6 if n_labels == 2 else 5, 3).tolist()]
        self.rows = [self.draw(n, width) for n in sizes]
        self.edges = [self._edges(n) for n in sizes]
        self.edge_rows = [
            self._edge_rows(len(e), edge_width) if edge_width else np.ones((len(e), 1)) for e in self.edges
        ]
        self.allowed = [rng.random((n, n_labels)) < 0.7 if masked else np.ones((n, n_labels), bool) for n in sizes]
        for mask in self.allowed:
            mask[np.arange(len(mask)), rng.integers(0, n_labels, len(mask))] = True
            mask[:, -1] |= self.forbids_pairs  # some labelling is left
        self.X = []
        for i in range(len(sizes)):
            x = (formed(rng, self.rows[i], form), self.edges[i])
            if edge_width or masked:
                x = (*x, formed(rng, self.edge_rows[i], self.choose("dense", "csr")) if edge_width else None)
            self.X.append((*x, self.allowed[i]) if masked else x)
        self._outputs = [
            [
                list(y)
                for y in itertools.product(*([self.names[k] for k in np.flatnonzero(row)] for row in mask))
                if self._feasible(i, y)
            ]
            for i, mask in enumerate(self.allowed)
        ]
        self.truths = [self.choose(*outputs) for outputs in self._outputs]
        self.cost = self.choose("hamming", "hamming-share", "dict", "matrix", "parts")
        table = rng.integers(0, 4, (n_labels, n_labels)) * 0.5 * (1 - np.eye(n_labels))
        per_label = {name: float(rng.integers(0, 4)) for name in self.names[1:]}
        by_label = (1 - np.eye(n_labels)) * np.array([[per_label.get(name, 1.0)] for name in self.names])
        self.table = {"dict": by_label, "matrix": table}.get(self.cost, 1 - np.eye(n_labels))
        self.costs = [rng.integers(0, 4, (2, n, n_labels)) * 0.5 for n in sizes]
        self.Y = list(self.truths)
        if self.cost == "parts":
            self.Y = [mm.PartCosts(y, c[0], c[1]) for y, c in zip(self.truths, self.costs, strict=True)]
        parameter = {"dict": per_label, "matrix": table, "parts": "hamming"}.get(self.cost, self.cost)
        self.structure = self._structure(cost=parameter, fit_intercept=self.intercept, classes=self.names)
        self.encode()

    def _structure(self, **parameters):
        return mm.Cut(**parameters)

    def _edge_rows(self, n_edges, width):
        return np.abs(self.draw(n_edges, width))

    def _feasible(self, i, output):
        return True

    def counts(self, i, v):
        """Whether the label of a node has a cost."""
        return True

    def _edges(self, n):
        pairs = [pair for pair in itertools.permutations(range(n), 2) if self.rng.random() < 0.3]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def directions(self, scores):
        """The rewards of edges keep their signs."""
        nodes, edges = scores
        return [self.rng.normal(size=len(nodes.values)), edges.values * self.rng.random(len(edges.values))]

    def outputs(self, i):
        return self._outputs[i]

    def truth(self, i):
        return self.truths[i]

    def cells(self, i, output):
        nodes = [("nodes", (v, self.names.index(label))) for v, label in enumerate(output)]
        return nodes + [("edges", e) for e, (a, b) in enumerate(self.edges[i]) if output[a] == output[b]]

    def psi(self, i, output):
        names = self.structure.split_weights(np.zeros(self.examples.dim))
        order = columns([n.split(" → ")[0] for n in self.structure.feature_names()[: names["nodes"].size]
                         if n.startswith(("x", "f"))][:: len(self.names)])  # fmt: skip
        nodes = np.zeros((len(order) + self.intercept, len(self.names)))
        for v, label in enumerate(output):
            row = list(self.rows[i][v][order])
            nodes[:, self.names.index(label)] += [*row, 1.0] if self.intercept else row
        return np.concatenate([nodes.ravel(), self._edge_features(i, output, names["edges"].size)])

    def _edge_features(self, i, output, size):
        agree = [output[a] == output[b] for a, b in self.edges[i]]
        return self.edge_rows[i][agree].sum(axis=0)[:size]

    def loss(self, i, output):
        total = 0.0
        for v, (y, y_hat) in enumerate(zip(self.truths[i], output, strict=True)):
            a, b = self.names.index(y), self.names.index(y_hat)
            if not self.counts(i, v):
                continue
            if self.cost != "parts":
                total += self.table[a, b]
            elif a != b:
                total += self.costs[i][0][v, b] + self.costs[i][1][v, a]
        return float(total / len(output)) if self.cost == "hamming-share" else float(total)


class PairwiseGraphs(LabelledGraphs):
    """Random graphs with any features of edges under pairs of labels, and forbidden pairs."""

    def __init__(self, seed, n_labels=3, cycles=True, **parameters):
        self.cycles = cycles
        rng = np.random.default_rng([seed, 1])
        self.parameters = {"pairs": ["full", "symmetric", "diagonal", "potts"][rng.integers(4)]} | parameters
        self.forbidden, self.density = [], float(rng.choice([0.2, 0.35]))
        if rng.integers(3) == 0:
            self.forbidden = [("c", "a")] if self.parameters["pairs"] == "full" else [("c", "a"), ("a", "c")]
        self.forbids_pairs = bool(self.forbidden)
        super().__init__(seed, n_labels)

    def _structure(self, **parameters):
        return mm.Graph(forbidden=self.forbidden[:1] or None, **parameters, **self.parameters)

    def _edge_rows(self, n_edges, width):
        return self.draw(n_edges, width)

    def _edges(self, n):
        """With cycles not all of them are forests, and some are parallel."""
        if not self.cycles:
            pairs = [(self.rng.integers(v), v)[:: self.choose(1, -1)] for v in range(1, n) if self.rng.random() < 0.8]
            return np.array(pairs, np.int64).reshape(-1, 2)
        pairs = [pair for pair in itertools.permutations(range(n), 2) if self.rng.random() < self.density]
        return np.array(pairs, np.int64).reshape(-1, 2)

    def _feasible(self, i, output):
        return all((output[a], output[b]) not in self.forbidden for a, b in self.edges[i])

    def directions(self, scores):
        return [self.rng.normal(size=len(s.values)) for s in scores]

    def cells(self, i, output):
        return [(v, self.names.index(label)) for v, label in enumerate(output)]

    def _edge_features(self, i, output, size):
        labels, kind = len(self.names), self.parameters["pairs"]
        table = np.zeros((self.edge_rows[i].shape[1], labels, labels))
        for (a, b), row in zip(self.edges[i], self.edge_rows[i], strict=True):
            first, second = self.names.index(output[a]), self.names.index(output[b])
            if kind != "full" and first > second:
                first, second = second, first
            table[:, first, second] += row
        width = table.shape[0] if size else 0
        if kind == "symmetric":
            upper = np.triu_indices(labels)
            table = table[:, upper[0], upper[1]]
        elif kind == "diagonal":
            table = np.stack([table[:, k, k] for k in range(labels)], axis=1)
        elif kind == "potts":
            table = sum(table[:, k, k] for k in range(labels))
        return table.reshape(width, -1).ravel()[:size] if size else np.zeros(0)


class HiddenLabels(PairwiseGraphs):
    """The same, where some labels are not known."""

    def _structure(self, **parameters):
        self.mark = self.choose(None, "?")
        self.hidden = [self.rng.random(len(y)) < 0.4 for y in self.truths]
        self.Y = [self._hide(y, hidden) for y, hidden in zip(self.Y, self.hidden, strict=True)]
        return mm.LatentGraph(
            unknown=self.mark, forbidden=self.forbidden[:1] or None, **parameters, **self.parameters
        )  # fmt: skip

    def _hide(self, y, hidden):
        if isinstance(y, mm.PartCosts):
            return y._replace(output=self._hide(y.output, hidden))
        return [self.mark if h else label for label, h in zip(y, hidden, strict=True)]

    def truth(self, i):
        a, b = self.examples.code_offsets[i : i + 2]
        return [self.names[k] for k in self.examples.truths[a:b]]

    def consistent(self, i, output):
        return all(h or a == b for a, b, h in zip(self.truths[i], output, self.hidden[i], strict=True))

    def counts(self, i, v):
        return not self.hidden[i][v]
