"""Paths in graphs: the shortest or the longest path between two nodes.

Ψ(x, y) = ± Σ_{edges of y} x[edge]        Δ(y, ŷ) = number of edges that only one of y and ŷ has
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._checked import check_flag, is_list
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import NO_OUTPUT, spans
from maxmargin.core.errors import Place, Where, error_at
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import Polytope, flow
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.encoding.graphs import EdgeEncoder, Graphs, check_row_counts, read_allowed, read_edges
from maxmargin.kernel_features.kernel import PartKernel
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, cost_table
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.path import _kernels as kernels


class Path(PartStructure):
    """A path from a source to a target in each graph, by features of its edges.

    Each x is a tuple (edges, features), (edges, features, source, target), or one of the two with `allowed` added:

    - edges: whole numbers of shape (m, 2), the tail and head of each edge; nodes are 0, 1, …;
    - features: a row for each edge, as an array (m, d), a sparse matrix, or a list of dicts or lists of strings;
    - source, target: the ends of the path; by default node 0 and the greatest node of `edges`;
    - allowed: an array of m bools; the score of other edges is −∞.

    Each y lists the edges of the path by their numbers, in any order; predictions are in order from the source on. If
    single edges have different costs, y is a `PartCosts` with costs of shape (m,).

    Graphs without cycles may have any scores. With ``cycles=True``, graphs may have cycles; then costs must not be
    negative, which requires features ≥ 0 and weights ≥ 0, and the loss counts only missed edges: a loss that rewards
    false edges would make costs negative, and paths without repeated nodes hard to find. An edge that can be used in
    both directions is two edges.

    Parameters
    ----------
    sense : {"min", "max"}, default="min"
        Whether w·x is the cost of an edge and the path is the shortest one, or its gain and the path is the longest.
    cycles : bool, default=False
        Whether graphs may have cycles (with ``sense="min"``).

    Examples
    --------
    >>> import maxmargin as mm
    >>> x = [(0, 1), (1, 3), (0, 2), (2, 3)], [[1.0, 0.0], [1.0, 0.0], [0.5, 2.0], [1.0, 0.0]]
    >>> model = mm.StructuralSVM(mm.Path(), C=10.0).fit([x], [[0, 1]])
    >>> model.predict([x])
    [[0, 1]]
    """

    output_name: ClassVar[str] = "path"
    learns: ClassVar[dict[str, type]] = {"edges_": EdgeEncoder}
    kernel_rows: ClassVar[tuple[str, ...]] = ("edges_",)

    def __init__(self, *, sense: str = "min", cycles: bool = False) -> None:
        self.sense, self.cycles = sense, cycles

    def check_parameters(self) -> None:
        check_flag(self.cycles, "cycles")
        if self.sense not in ("min", "max"):
            raise ValueError(f"sense must be 'min' or 'max', found {self.sense!r}")
        if self.cycles and self.sense == "max":
            raise ValueError("cycles=True needs sense='min': longest paths in graphs with cycles are hard to find")

    def use_kernel(self, kernel: PartKernel) -> None:
        if self.cycles:
            raise ValueError("Path(cycles=True) takes no kernel: costs of edges must not be negative; kernel='linear'")
        super().use_kernel(kernel)

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> PathExamples:
        inputs = [_read(x, Place("X", i)) for i, x in enumerate(X)]
        features = [x.features for x in inputs]
        matrix, offsets = self.edges_.fit(features) if learn else self.edges_.encode(features)
        graphs = Graphs.joined([x.edges for x in inputs], [x.n_nodes for x in inputs])
        check_row_counts(offsets, np.diff(graphs.offsets), "edge", "edges")
        if self.cycles:
            self._check_not_negative(matrix, offsets)
        forbidden = None
        if any(x.allowed is not None for x in inputs):
            masks = [np.zeros(len(x.edges), bool) if x.allowed is None else ~x.allowed for x in inputs]
            forbidden = np.concatenate(masks)
        ends = np.array([[x.source, x.target] for x in inputs], np.int64).reshape(-1, 2)
        truths, costs = None, None
        if Y is not None:
            truths = [self._truth(y, x, Place("Y", i)) for i, (y, x) in enumerate(zip(Y, inputs, strict=True))]
            rows = [self._cost_row(y, code, len(x.edges), Place("Y", i))
                    for i, (y, code, x) in enumerate(zip(Y, truths, inputs, strict=True))]  # fmt: skip
            costs = np.concatenate([*rows, np.zeros(0)])
        block = Block(-matrix if self.sense == "min" else matrix, offsets, forbidden=forbidden)
        return PathExamples(self, block, graphs, ends, truths, costs)

    def _check_not_negative(self, matrix: Any, offsets: IntArray) -> None:
        """Raise ValueError if a feature is negative."""
        values = getattr(matrix, "data", matrix) if hasattr(matrix, "indptr") else matrix
        if values.size and values.min() < 0:
            dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
            row = int(np.flatnonzero((dense < 0).any(axis=1))[0])
            raise error_at(
                self.edges_._row_name(row, offsets),
                f"a feature is {dense[row].min():g}, but cycles=True needs features ≥ 0, as costs must not be negative",
            )

    def _truth(self, y: Any, x: _Input, where: Where) -> CodeArray:
        """Return the code of a true path, without padding; raise an error if it is not a path of its graph."""
        numbers = self.code_of(y, where)
        if len(numbers) and numbers.max() >= len(x.edges):
            raise error_at(where, f"edge {numbers.max()} does not exist: X has edges 0 to {len(x.edges) - 1}")
        blocked = [int(e) for e in numbers if x.allowed is not None and not x.allowed[e]]
        if blocked:
            raise error_at(where, f"edge {blocked[0]} is forbidden by X")
        leaving: dict[int, int] = {}
        for e in numbers.tolist():
            tail = int(x.edges[e, 0])
            if tail in leaving:
                raise error_at(where, f"not a path: edges {leaving[tail]} and {e} both leave node {tail}")
            leaving[tail] = e
        node, path = x.source, list[int]()
        while node in leaving and node != x.target:
            path.append(leaving.pop(node))
            node = int(x.edges[path[-1], 1])
        if node != x.target or leaving:
            rest = f"edges {sorted(leaving.values())} are not on it" if node == x.target else f"it ends at node {node}"
            raise error_at(where, f"not a path from node {x.source} to node {x.target}: {rest}")
        return np.array(path, np.int32)

    def _costs_of(self, y: Any) -> PartCosts:
        if not isinstance(y, PartCosts):
            return PartCosts(y, 0.0 if self.cycles else 1.0, 1.0)
        if isinstance(y.output, PartCosts):
            raise ValueError("PartCosts of PartCosts: expected an output with one set of costs")
        return y

    def _cost_row(self, y: Any, code: CodeArray, n_edges: int, where: Where) -> FloatArray:
        """Return l of every edge of a graph: false costs, minus missed costs on the truth."""
        given = self._costs_of(y)
        costs = cost_table(given.false, (n_edges,), "false", where).copy()
        missed = cost_table(given.missed, (n_edges,), "missed", where)
        if self.cycles and costs.any():
            raise error_at(where, "false costs must be 0 with cycles=True: they would make costs of edges negative")
        costs[code] = -missed[code]
        return costs

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        edges = self._costs_of(y).output
        numbers = np.asarray(edges)
        if not is_list(edges) or numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
            raise error_at(where, f"expected the numbers of the edges of a path, found {edges!r:.60}")
        if len(numbers) and (numbers.min() < 0 or len(np.unique(numbers)) < len(numbers)):
            raise error_at(where, f"expected distinct numbers of edges from 0 on, found {numbers.tolist()!r:.60}")
        return numbers.astype(np.int32)

    def output_of(self, code: CodeArray) -> list[int]:
        edges: list[int] = code[code >= 0].tolist()
        return edges

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the number of edges that only one path has (``cycles=True``: only y), or their costs."""
        true, found = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        given = self._costs_of(y)
        n_edges = max([1 + int(max(true.max(initial=-1), found.max(initial=-1))),
                       *(np.size(c) for c in (given.false, given.missed) if np.ndim(c))])  # fmt: skip
        costs = self._cost_row(y, true, n_edges, "y")
        return float(costs[found].sum() - costs[true].sum())

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """Yield all paths that repeat no node and use allowed edges only, for tests."""
        read = _read(x, "x")
        leaving: dict[int, list[int]] = {}
        for e, (tail, _) in enumerate(read.edges.tolist()):
            if read.allowed is None or read.allowed[e]:
                leaving.setdefault(tail, []).append(e)

        def paths(node: int, seen: frozenset[int]) -> Iterator[list[int]]:
            if node == read.target:
                yield []
                return
            for e in leaving.get(node, []):
                head = int(read.edges[e, 1])
                if head not in seen:
                    yield from ([e, *rest] for rest in paths(head, seen | {head}))

        return paths(read.source, frozenset([read.source]))


class _Input(NamedTuple):
    """One input, read."""

    edges: IntArray
    features: Any
    source: int
    target: int
    allowed: AnyArray | None
    n_nodes: int


def _read(x: Any, where: Where) -> _Input:
    if not isinstance(x, tuple | list) or not 2 <= len(x) <= 5:
        found = f"{type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else type(x).__name__
        raise error_at(where, f"expected (edges, features[, source, target][, allowed]), found {found}")
    edges, features, *rest = x
    table = read_edges(edges, where)
    if len(table) == 0:
        raise error_at(where, "expected at least one edge, found none")
    allowed = None
    if len(rest) % 2:
        allowed = read_allowed(rest.pop(), (len(table),), "edges", where)
    last = int(table.max())
    for name, node in zip(("source", "target"), rest, strict=False):
        if not isinstance(node, int | np.integer) or isinstance(node, bool) or not 0 <= node <= last:
            raise error_at(where, f"the {name} must be a node from 0 to {last}, found {node!r}")
    source, target = (int(rest[0]), int(rest[1])) if rest else (0, last)
    if source == target:
        raise error_at(where, f"source and target are the same node, {source}")
    return _Input(table, features, source, target, allowed, last + 1)


class PathExamples(PartExamples):
    """Edges of all graphs; the code of a path is its edges from the source on, then −1."""

    def __init__(
        self, structure: Path, block: Block, graphs: Graphs, ends: IntArray, truths: Any, costs: FloatArray | None
    ) -> None:
        self.graphs, self.ends = graphs, ends
        self._set_order(structure.cycles)
        lengths = np.minimum(graphs.n_nodes - 1, np.diff(graphs.offsets))
        code_offsets = np.concatenate([[0], np.cumsum(lengths)])
        if truths is not None:
            truths = [_padded(code, int(n)) for code, n in zip(truths, lengths, strict=True)]
        super().__init__(structure, [block], code_offsets, truths, [costs], (bool(structure.cycles),))
        self.operations += 4.0 * len(graphs.edges)
        if structure.cycles:
            self.lower = np.zeros(self.dim)
        self._check_reachable()

    def _set_order(self, cycles: bool) -> None:
        """Sort the edges by their tails; raise ValueError if a graph has a cycle that is not expected."""
        graphs = self.graphs
        self.node_offsets = np.concatenate([[0], np.cumsum(graphs.n_nodes)])
        self.order = np.empty(len(graphs.edges), np.int64)
        self.leaving = np.empty((int(self.node_offsets[-1]), 2), np.int64)
        cyclic = kernels.order_edges(graphs.edges, graphs.offsets, self.node_offsets, self.order, self.leaving)
        if cyclic >= 0 and not cycles:
            raise error_at(Place("X", cyclic), "the graph has a cycle; use Path(cycles=True), or give a graph without")

    def _check_reachable(self) -> None:
        """Raise ValueError if there is no path."""
        ids, codes = np.arange(self.n_examples), np.zeros(int(self.code_offsets[-1]), np.int32)
        values = np.zeros(len(self.graphs.edges))
        if self.blocks[0].forbidden is not None:
            values[self.blocks[0].forbidden] = -np.inf
        self.argmax([Scores(values, self.graphs.offsets)], ids, codes)
        without = np.flatnonzero(codes[self.code_offsets[:-1]] == NO_OUTPUT)
        if len(without):
            source, target = self.ends[without[0]].tolist()
            raise error_at(Place("X", int(without[0])), f"no path of allowed edges from node {source} to node {target}")

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        graphs, (sources, targets) = self.graphs, self.ends.T
        found = ids, *scores[0], graphs.edges, graphs.offsets, self.order
        into = self.node_offsets, sources, targets, self.code_offsets, codes
        if not self.settings[0]:
            kernels.best_acyclic_paths(*found, *into)
            return
        wrong = kernels.shortest_paths(*found, self.leaving, *into)
        if wrong >= 0:
            raise StructureError.at(
                Place("X", ids[wrong]), "an edge has a negative cost; cycles=True needs weights ≥ 0 and features ≥ 0"
            )

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        found = codes[spans(ids, self.code_offsets)]
        used = np.concatenate([[0], np.cumsum(found >= 0)])
        ends = np.concatenate([[0], np.cumsum(self.code_offsets[ids + 1] - self.code_offsets[ids])])
        return [counted_once(used[ends], found[found >= 0])]

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Forbid the other edges that leave the tails of forced edges.

        Forced edges are the beginning of a path, so that every path has them all; a bonus would make costs negative.
        """
        changed = scores[0].values.copy()
        tails = self.graphs.edges[:, 0]
        for _, p in forced:
            others = tails == tails[p]
            others[p] = False
            changed[others] = -np.inf
        changed[[p for _, p in forbidden]] = -np.inf
        return [Scores(changed, scores[0].starts)]

    def polytope(self, example: int) -> Polytope:
        """Return the flows of one unit from the source to the target; cycles gain nothing, as their costs are ≥ 0."""
        arcs, n_nodes = self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])], self.graphs.n_nodes
        sent = np.zeros(int(n_nodes[example]))
        sent[self.ends[example]] = 1.0, -1.0
        return Polytope(flow(arcs, len(sent)), sent, sent, 0.0, 1.0 if self.settings[0] else np.inf)

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        graphs = self.graphs.take(ids)
        nodes = np.concatenate([[0], np.cumsum(graphs.n_nodes)])
        order = self.order[spans(ids, self.graphs.offsets)]
        shift = np.repeat(graphs.offsets[:-1] - self.graphs.offsets[ids], graphs.n_nodes)
        leaving = self.leaving[spans(ids, self.node_offsets)] + shift[:, None]
        return {
            "graphs": graphs, "ends": self.ends[ids], "order": order, "leaving": leaving, "node_offsets": nodes,
        }  # fmt: skip

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), *self.graphs.arrays(), self.ends


def _padded(code: CodeArray, length: int) -> CodeArray:
    """Return a code with −1 after its edges."""
    return np.concatenate([code, np.full(length - len(code), -1, np.int32)])
