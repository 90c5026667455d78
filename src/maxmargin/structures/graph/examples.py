"""Encoded graphs whose nodes get labels: the argmax of each graph, its parts, sums over labellings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.errors import Place, error_at
from maxmargin._base.ragged import ONLY, kept_offsets, offsets_among, offsets_of, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.algorithms import highs
from maxmargin.core.planes import NO_OUTPUT, Planes
from maxmargin.core.polytopes import Polytope, entries
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.core.sums import PERTURB
from maxmargin.features.graphs.graphs import Graphs
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.structures.graph import _decode, _elimination, _pairs, _sums

if TYPE_CHECKING:
    from collections.abc import Collection

    from maxmargin.structures.graph.structure import Graph

#: Ways to find labels.
INFERENCE = ("auto", "exact", "trws", "expansion", "milp")
#: Numbers in the largest table of an elimination, at most.
LARGEST_TABLE = 1 << 24
#: Elimination is used where it takes at most this number of operations, or of sweeps of messages.
FEW_OPERATIONS, FEW_SWEEPS = 1 << 15, 20


class GraphExamples(PartExamples):
    """Nodes and edges of all graphs; the code of a labelling is the label of each node.

    Parts are nodes with labels, and edges with classes of label pairs.
    """

    data: ClassVar[dict[str, str]] = {"graphs": ""}
    derived: ClassVar[dict[str, str]] = {
        "names": "", "methods": "", "node_offsets": "node_offsets", "orders": "node_offsets", "ends": "node_offsets",
        "scope_offsets": "scope_offsets", "scopes": "scope_offsets",
    }  # fmt: skip

    deciding = (0,)
    why_not_summable = (
        "a graph has a treewidth too large for sums over all its labellings, which are #P-hard (Jerrum and Sinclair "
        f"1993), but Graph.log_partition_bound bounds their logarithm; {PERTURB}"
    )

    def __init__(
        self,
        structure: Graph,
        nodes: Block,
        edges: Block,
        graphs: Graphs,
        truths: Any,
        costs: FloatArray | None,
        names: list[list[Any] | None],
    ) -> None:
        self.graphs, self.names, self.n_labels = graphs, names, nodes.n_outputs
        assert nodes.offsets is not None
        self.node_offsets = nodes.offsets
        self.classes, self.forbidden_pairs = structure.classes_of_pairs_.ravel(), structure.forbidden_.ravel()
        self.hard = bool(self.forbidden_pairs.any())
        self._plan(structure)
        settings = self.n_labels, edges.n_outputs, INFERENCE.index(structure.inference), structure.sweeps
        super().__init__(
            structure, [nodes, edges], nodes.offsets, truths, [costs, None],
            (*map(float, settings), float(structure.branches), *self.forbidden_pairs.astype(float)),
        )  # fmt: skip
        self.operations += self._argmax_operations(edges.n_outputs, structure)
        self._set_exactness()

    def _plan(self, structure: Graph) -> None:
        """Choose the method of each graph, and find orders of elimination."""
        n_examples, size = len(self.graphs.n_nodes), self.n_labels
        self.orders, self.ends = (np.zeros(int(self.node_offsets[-1]), np.int64) for _ in range(2))
        self.methods, scopes = np.zeros(n_examples, np.int64), list[IntArray]()
        others = {"auto": _decode.CUTS if size == 2 else _decode.MESSAGES, "expansion": _decode.EXPANSION}
        for i in range(n_examples):
            span = slice(*self.node_offsets[i : i + 2].tolist())
            edges, n = self._edges(i), int(self.graphs.n_nodes[i])
            scope, narrow = np.zeros(0, np.int64), False
            if structure.inference in ("auto", "exact"):
                few = max(FEW_OPERATIONS, 2 * FEW_SWEEPS * (len(edges) * size**2 + n * size))
                most = LARGEST_TABLE if structure.inference == "exact" else min(few, LARGEST_TABLE)
                offsets = np.zeros(n + 1, np.int64)
                widest = int(np.log(most) / np.log(size) + 1e-9) - 1
                scope, narrow = _elimination.elimination_order(edges, n, widest, self.orders[span], offsets)
                self.ends[span] = offsets[1:]
                if structure.inference == "exact" and not narrow:
                    self._too_wide(i, edges, n, widest)
                if structure.inference == "auto" and narrow:
                    narrow = bool((float(size) ** (np.diff(offsets) + 1)).sum() <= few)
            self.methods[i] = _decode.ELIMINATION if narrow else others.get(structure.inference, _decode.MESSAGES)
            scopes.append(scope if narrow else scope[:0])
        self.scope_offsets = offsets_of([len(scope) for scope in scopes])
        self.scopes = np.concatenate([*scopes, np.zeros(0, np.int64)])

    def _too_wide(self, i: int, edges: IntArray, n: int, widest: int) -> None:
        """Raise ValueError: the tables of an elimination would be too large."""
        width, narrow, offsets = widest, False, np.zeros(n + 1, np.int64)
        while not narrow and width < 60:
            width += 1
            _, narrow = _elimination.elimination_order(edges, n, width, np.zeros(n, np.int64), offsets)
        size = self.n_labels
        table = f"about {width}: tables of {size}^{width + 1} = {float(size) ** (width + 1):.2g} numbers, more than"
        raise error_at(
            Place("X", i),
            f"the graph of {n} nodes and {len(edges)} edges has a treewidth of "
            f"{table if narrow else 'more than 60, and tables with more numbers than'} {LARGEST_TABLE:.2g}, so "
            f"inference='exact' is not possible; use 'auto'",
        )

    def _edges(self, example: int) -> IntArray:
        return self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])]

    def _argmax_operations(self, n_classes: int, structure: Graph) -> float:
        """Return the operations of one argmax of all graphs."""
        size, total = float(self.n_labels), 0.0
        by_elimination = np.repeat(self.methods == _decode.ELIMINATION, np.diff(self.node_offsets))
        before = np.concatenate([[0], self.ends[:-1]])
        before[self.node_offsets[:-1]] = 0
        total += 4.0 * float((size ** ((self.ends - before)[by_elimination] + 1)).sum())
        by_messages = np.diff(self.graphs.offsets)[self.methods != _decode.ELIMINATION].sum()
        per_edge = size**2 if self._wide(n_classes) else 4.0 * size
        return total + 2.0 * (structure.sweeps + 0.5 * structure.branches) * per_edge * float(by_messages)

    def _set_exactness(self) -> None:
        """Set what depends on the methods of the graphs: exact argmaxes, sums, chunks."""
        exact = bool((self.methods == _decode.ELIMINATION).all())
        self.exact, self.bounded = exact, not exact
        self.summable = exact
        self.smallest_chunk = None if len(self.graphs.edges) < 1000 * self.n_examples else 1
        self.integral = all(self._is_forest(i) for i in range(self.n_examples))

    def _is_forest(self, example: int) -> bool:
        """Return whether the graph of an example has no cycles."""
        edges, n = self._edges(example), int(self.graphs.n_nodes[example])
        joined = entries(edges[:, 0], edges[:, 1], 1.0, (n, n))
        n_trees, _ = sp.csgraph.connected_components(joined, directed=False)
        return bool(len(edges) == n - n_trees)

    def _wide(self, n_classes: int) -> bool:
        """Return whether argmaxes get all K² scores of an edge, not only those of equal labels."""
        return self.hard or n_classes not in (1, self.n_labels)

    def take(self, ids: IntArray) -> GraphExamples:
        part = super().take(ids)
        part.operations += (
            self._argmax_operations(self.blocks[1].n_outputs, self.structure) * len(ids) / max(self.n_examples, 1)
        )
        part._set_exactness()
        return part

    def _most_parts(self) -> list[IntArray]:
        return [np.diff(self.node_offsets), np.diff(self.graphs.offsets)]

    # ------------------------------------------------------------------ argmaxes

    def _pair_scores(self, scores: Scores, ids: IntArray) -> tuple[FloatArray, IntArray]:
        """Return rows of the scores of label pairs, one for each edge of ids, and where those of each example begin."""
        starts, n_classes, size = offsets_among(ids, self.graphs.offsets), self.blocks[1].n_outputs, self.n_labels
        if not self.hard and (not self._wide(n_classes) or n_classes == size**2):
            return scores.values.reshape(-1, n_classes), starts
        pairs = np.empty((int(starts[-1]), size**2))
        _pairs.spread(scores.values, scores.starts, starts, self.classes, self.forbidden_pairs, pairs)
        return pairs, starts

    def _plans(self) -> tuple[AnyArray, ...]:
        return self.orders, self.ends, self.scopes, self.scope_offsets

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> FloatArray | None:
        upper, graphs = np.zeros(len(ids)), self.graphs
        if self.structure.inference == "milp":
            for r, i in enumerate(ids.tolist()):
                upper[r] = self._by_program(scores, r, i, codes[slice(*self.code_offsets[i : i + 2])])
            return upper
        pairs, edge_starts = self._pair_scores(scores[1], ids)
        batch = (
            ids, *scores[0], pairs, edge_starts, graphs.edges, graphs.offsets, self.node_offsets, codes,
            self.code_offsets, upper,
        )  # fmt: skip
        limits = self.structure.sweeps, self.structure.branches
        start = self.truths, self.known, self.hard
        for method in np.unique(self.methods[ids]).tolist():
            rows = np.flatnonzero(self.methods[ids] == method)
            if method == _decode.ELIMINATION:
                _decode.eliminate(rows, *batch, self.n_labels, *self._plans())
            elif method == _decode.CUTS:
                _decode.cut(rows, *batch, *start, *limits)
            else:
                _decode.send(rows, *batch, self.n_labels, *start, *limits)
                if method == _decode.EXPANSION:
                    _decode.expand(rows, *batch, self.n_labels, self.hard)
        missed = np.flatnonzero((codes[self.code_offsets[ids]] == NO_OUTPUT) & (upper > -np.inf))
        if len(missed):
            raise StructureError.at(
                Place("X", ids[missed[0]]),
                "no labelling without forbidden pairs was found, though there may be some; raise branches",
            )
        return None if self.exact else upper

    def _by_program(self, scores: list[Scores], r: int, example: int, code: CodeArray) -> float:
        """Write the best labels of the r-th example of a batch by a mixed-integer program; return an upper bound."""
        polytope, n_nodes = self.polytope(example), int(self.graphs.n_nodes[example]) * self.n_labels
        low, high, lower, upper = polytope.limits()
        gains = np.zeros(len(lower))
        parts = np.concatenate([s.values[s.starts[r] : s.starts[r + 1]] for s in scores])
        gains[: len(parts)] = parts
        space = highs.Polyhedron(
            sp.csr_array(polytope.A), low, high, lower, np.minimum(upper, 1.0), np.arange(len(lower)) < n_nodes
        )
        solution = highs.solve(gains, space, None, 0.0)
        if solution.z is None:
            code[0] = NO_OUTPUT
            return -np.inf
        code[:] = solution.z[:n_nodes].reshape(-1, self.n_labels).argmax(axis=1)
        return solution.upper

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        nodes, starts = (offsets_among(ids, offsets) for offsets in (self.node_offsets, self.graphs.offsets))
        labels, edges = codes[spans(ids, self.code_offsets)], self.graphs.edges[spans(ids, self.graphs.offsets)]
        firsts = np.repeat(nodes[:-1], np.diff(starts))
        pairs = labels[firsts + edges[:, 0]].astype(np.int64) * self.n_labels + labels[firsts + edges[:, 1]]
        classes = self.classes[pairs]
        weighted = classes >= 0
        joined = (places(starts) * self.blocks[1].n_outputs + classes)[weighted]
        return [
            counted_once(nodes, places(nodes) * self.n_labels + labels),
            counted_once(kept_offsets(weighted, starts), joined),
        ]

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Return scores that forbid the other labels of nodes whose labels are forced."""
        values, size = scores[0].values.copy(), self.n_labels
        for _, p in forced:
            others = np.delete(np.arange(size), p % size)
            values[p // size * size + others] = -np.inf
        values[[p for _, p in forbidden]] = -np.inf
        return [Scores(values, scores[0].starts), scores[1]]

    def forced_scores(self, scores: list[Scores]) -> list[FloatArray] | None:
        """Return the best totals with each label of each node; those of edges are not computed.

        They are lower bounds if argmaxes are not exact.
        """
        totals, size = np.full(len(scores[0].values), -np.inf), self.n_labels
        pairs, _ = self._pair_scores(scores[1], ONLY)
        if self.methods[0] == _decode.ELIMINATION:
            offsets = np.concatenate([[0], self.ends])
            _elimination.max_marginals(
                scores[0].values.reshape(-1, size), pairs, self.graphs.edges, self.orders, offsets, self.scopes,
                totals.reshape(-1, size),
            )  # fmt: skip
        else:
            codes = np.zeros(len(self.node_offsets) and int(self.node_offsets[-1]), np.int32)
            for p in np.flatnonzero(scores[0].values > -np.inf).tolist():
                self.argmax(self.restricted(scores, [(0, p)], []), ONLY, codes)
                if codes[0] != NO_OUTPUT:
                    total = _pairs.total_of(codes, scores[0].values.reshape(-1, size), pairs, self.graphs.edges)
                    totals[p] = max(totals[p], total)
        if not (totals > -np.inf).any():
            return None
        return [totals, np.full(len(scores[1].values), np.nan)]

    # ------------------------------------------------------------------ polytope

    def polytope(self, example: int) -> Polytope:
        """Return the local polytope: one label for each node, and pairs of labels of edges that agree with both ends.

        Its vertices are the labellings if the graph has no cycles; otherwise there are others, and linear programs are
        upper bounds (Wainwright and Jordan 2008).
        """
        edges, K, n = self._edges(example), self.n_labels, int(self.graphs.n_nodes[example])
        m, n_classes, full = len(edges), self.blocks[1].n_outputs, self.structure.pairs == "full"
        parts = n * K + m * n_classes
        width = parts if full else parts + m * K * K
        pair = (n * K if full else parts) + np.arange(m * K * K)  # edge, first label, second label
        rows = [entries(np.repeat(np.arange(n), K), np.arange(n * K), 1.0, (n, width))]
        for side, label in enumerate((np.repeat(np.arange(K), K), np.tile(np.arange(K), K))):
            ends = (edges[:, side, None] * K + np.arange(K)).ravel()
            own = (np.arange(m)[:, None] * K + label).ravel()
            rows.append(
                entries(
                    np.concatenate([own, np.arange(m * K)]), np.concatenate([pair, ends]),
                    np.repeat([1.0, -1.0], [len(own), m * K]), (m * K, width),
                )
            )  # fmt: skip
        if not full:
            counted = np.tile(self.classes >= 0, m)
            own = (np.arange(m)[:, None] * n_classes + self.classes).ravel()[counted]
            rows.append(
                entries(
                    np.concatenate([own, np.arange(m * n_classes)]),
                    np.concatenate([pair[counted], n * K + np.arange(m * n_classes)]),
                    np.repeat([1.0, -1.0], [len(own), m * n_classes]), (m * n_classes, width),
                )
            )  # fmt: skip
        A = sp.csr_array(sp.vstack(rows))
        limits = np.concatenate([np.ones(n), np.zeros(A.shape[0] - n)])
        upper = np.full(width, np.inf)
        upper[pair[np.tile(self.forbidden_pairs, m)]] = 0.0
        return Polytope(A, limits, limits, 0.0, upper)

    # ------------------------------------------------------------------ sums over labellings

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        if not self.summable:
            raise self.not_summable()
        pairs, edge_starts = self._pair_scores(scores[1], ids)
        pair_sums = np.zeros_like(pairs)
        _sums.add_sums(
            ids, *scores[0], pairs, edge_starts, self.graphs.edges, self.graphs.offsets, self.node_offsets,
            self.n_labels, *self._plans(), coefficients, log_partitions, expected_scores, marginals[0], pair_sums,
        )  # fmt: skip
        n_classes = self.blocks[1].n_outputs
        if pairs.shape[1] == n_classes:
            marginals[1] += pair_sums.ravel()
        else:
            _sums.gather(pair_sums, self.classes, marginals[1].reshape(-1, n_classes))

    def log_partition_bounds(self, scores: list[Scores], ids: IntArray) -> FloatArray:
        """Return upper bounds on the log-partitions of some graphs; for small treewidth the log-partitions."""
        bounds = np.empty(len(ids))
        pairs, edge_starts = self._pair_scores(scores[1], ids)
        _sums.bound_all(
            ids, *scores[0], pairs, edge_starts, self.graphs.edges, self.graphs.offsets, self.node_offsets,
            self.n_labels, self.methods, *self._plans(), bounds,
        )  # fmt: skip
        return bounds

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        if not self.summable:
            raise self.not_summable()
        pairs, edge_starts = self._pair_scores(scores[1], ids)
        starts = offsets_among(ids, self.node_offsets)
        codes = np.zeros((n, int(starts[-1])), np.int32)
        _sums.draw_all(
            ids, *scores[0], pairs, edge_starts, self.graphs.edges, self.graphs.offsets, self.node_offsets,
            self.n_labels, *self._plans(), seeds, starts, codes,
        )  # fmt: skip
        return codes

    def _gain(self, b: int, marginals: FloatArray, gamma: float) -> FloatArray:
        """Return minus the expected cost of each label of a node."""
        return (marginals.reshape(-1, self.n_labels) @ -self.structure.costs_).ravel()

    risky = (0,)

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        return self.structure.written(code, self.names[example])
