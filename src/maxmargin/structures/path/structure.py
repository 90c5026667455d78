"""Paths in graphs: the shortest or the longest path between two nodes.

Ψ(x, y) = ± Σ_{edges of y} x[edge]        Δ(y, ŷ) = number of edges that only one of y and ŷ has
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._base.checks import check_flag, is_list
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.ragged import kept_offsets, offsets_among, offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import NO_OUTPUT, Planes
from maxmargin.core.polytopes import Polytope, flow
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.features.decision_forms import INDICES, SET, VECTOR, indices_of, saved_lists, written
from maxmargin.features.graphs.graphs import EdgeEncoder, Graphs, check_row_counts, read_allowed, read_edges
from maxmargin.features.graphs.networkx_graphs import is_networkx, read_networkx
from maxmargin.features.mercer.kernel import PartKernel
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, costs_of, part_costs
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.parts.formed import FormedStructure
from maxmargin.structures.path import _jit, _sums

#: A path by its nodes.
NODES = "nodes"


class Path(FormedStructure):
    """A path from a source to a target in each graph, by features of its edges.

    Each x is a tuple (edges, features), (edges, features, source, target), or one of the two with `allowed` added:

    - edges: integers of shape (m, 2), the tail and head of each edge; nodes are 0, 1, …;
    - features: a row for each edge, as an array (m, d), a sparse matrix, or a list of dicts or lists of strings;
    - source, target: the ends of the path; by default node 0 and the greatest node of `edges`;
    - allowed: an array of m bools; the score of other edges is −∞.

    Or x is (graph, source, target) with a directed graph of networkx, whose attributes of edges are features; edges
    have the order of ``graph.edges``. An undirected graph has two edges for each of its own, there and back.

    Each y lists the edges of the path by their numbers, in any order (predictions are in order from the source on), or
    is a set of them, or has 0 or 1 for each edge, or lists the nodes of the path; predictions have the form of the
    training outputs. If single edges have different costs, y is a `PartCosts` with costs of shape (m,).

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
    decision : {"auto", "indices", "set", "vector", "nodes"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`, and raises an error if outputs have different forms or if
        several forms fit all of them.

    Examples
    --------
    >>> import maxmargin as mm
    >>> x = [(0, 1), (1, 3), (0, 2), (2, 3)], [[1.0, 0.0], [1.0, 0.0], [0.5, 2.0], [1.0, 0.0]]
    >>> model = mm.StructuralSVM(mm.Path(), C=10.0).fit([x], [[0, 1]])
    >>> model.predict([x])
    [[0, 1]]
    """

    output_name: ClassVar[str] = "path"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope", "sums"})
    learns: ClassVar[dict[str, type]] = {"edges_": EdgeEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"edges_": "edges"}
    forms: ClassVar[tuple[str, ...]] = (INDICES, SET, VECTOR, NODES)
    described: ClassVar[dict[str, str]] = {NODES: "lists of nodes"}

    def __init__(self, *, sense: str = "min", cycles: bool = False, decision: str = "auto") -> None:
        self.sense, self.cycles, self.decision = sense, cycles, decision

    def check_parameters(self) -> None:
        super().check_parameters()
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

    def check_weights(self, w: FloatArray) -> None:
        if self.cycles and w.min(initial=0.0) < 0:
            raise ValueError(f"a weight is {w.min():g}, but cycles=True needs weights ≥ 0")

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
            if learn:
                self._recognise(
                    Y,
                    [len(x.edges) for x in inputs],
                    lambda form, y, i: _path(y, form, inputs[i], Place("Y", i)),
                    {NODES: lambda y, i: _is_node_list(y, inputs[i])},
                )
            truths = [
                _path(self._costs_of(y).output, self.form_, x, Place("Y", i))
                for i, (y, x) in enumerate(zip(Y, inputs, strict=True))
            ]
            rows = [self._cost_row(y, code, len(x.edges), Place("Y", i))
                    for i, (y, code, x) in enumerate(zip(Y, truths, inputs, strict=True))]  # fmt: skip
            costs = np.concatenate([*rows, np.zeros(0)])
        block = Block(-matrix if self.sense == "min" else matrix, offsets, forbidden=forbidden)
        return PathExamples(self, block, graphs, ends, truths, costs, [x.names for x in inputs])

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

    def _costs_of(self, y: Any) -> PartCosts:
        return costs_of(y, 0.0 if self.cycles else 1.0, 1.0)

    def _cost_row(self, y: Any, code: CodeArray, n_edges: int, where: Where) -> FloatArray:
        """Return l of every edge of a graph: false costs, minus missed costs on the truth."""
        given = self._costs_of(y)
        costs = part_costs(given, (n_edges,), code, where)
        if self.cycles and np.any(given.false):
            raise error_at(where, "false costs must be 0 with cycles=True: they would make costs of edges negative")
        return costs

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        if self.form_ == NODES:
            raise error_at(where, "a list of nodes does not tell the numbers of edges without its graph")
        return indices_of(self._costs_of(y).output, self.form_, where, "edge").astype(np.int32)

    def output_of(self, code: CodeArray) -> Any:
        edges = code[code >= 0].astype(np.int64)
        return written(edges, SET if self.form_ == SET else INDICES, len(edges))

    def pack_outputs(self, outputs: list[Any]) -> Any:
        if self.form_ not in (VECTOR, NODES):
            return super().pack_outputs(outputs)
        if not all(isinstance(entry, int) for output in outputs for entry in output):
            return None
        return {"lists": [list(output) for output in outputs]}

    def unpack_outputs(self, packed: Any) -> list[Any]:
        return saved_lists(packed, 1) if self.form_ in (VECTOR, NODES) else super().unpack_outputs(packed)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the number of edges that only one path has (``cycles=True``: only y), or their costs.

        Edges between the same nodes are equal if paths are lists of nodes.
        """
        given = self._costs_of(y)
        if self.form_ == NODES:
            if np.ndim(given.false) or np.ndim(given.missed):
                raise ValueError("costs of single edges need paths by edges: decision='indices', 'set' or 'vector'")
            pairs, found_pairs = set(pairwise(given.output)), set(pairwise(y_hat))
            return float(given.missed * len(pairs - found_pairs) + given.false * len(found_pairs - pairs))
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        n_edges = max([1 + int(max(true.max(initial=-1), predicted.max(initial=-1))),
                       *(np.size(c) for c in (given.false, given.missed) if np.ndim(c))])  # fmt: skip
        costs = self._cost_row(y, true, n_edges, "y")
        return float(costs[predicted].sum() - costs[true].sum())

    def enumerate(self, x: Any) -> Iterator[Any]:
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

        every = paths(read.source, frozenset([read.source]))
        return (_written(np.array(path, np.int64), self.form_, read.edges, read.names) for path in every)


class _Input(NamedTuple):
    """One input, read."""

    edges: IntArray
    features: Any
    source: int
    target: int
    allowed: AnyArray | None
    n_nodes: int
    names: list[Any] | None = None

    def name(self, node: int) -> Any:
        """Return a node as users see it."""
        return node if self.names is None else self.names[node]


def _read_named(x: Any, where: Where) -> _Input:
    """Return an input with a graph of networkx."""
    graph, *ends = x if isinstance(x, tuple | list) else (x,)
    ends = ends or [graph.graph[name] for name in ("source", "target") if name in graph.graph]
    if len(ends) != 2:
        raise error_at(where, "expected (graph, source, target), or a graph with attributes 'source' and 'target'")
    read = read_networkx(graph, where)
    edges, rows = read.edges, read.edge_rows
    if not graph.is_directed():
        edges = np.stack([edges, edges[:, ::-1]], axis=1).reshape(-1, 2)
        rows = [row for row in rows for _ in range(2)]
    for name, node in zip(("source", "target"), ends, strict=True):
        if node not in graph:
            raise error_at(where, f"the {name} must be a node of the graph, found {node!r:.60}")
    source, target = (read.names.index(node) for node in ends)
    if source == target:
        raise error_at(where, f"source and target are the same node, {ends[0]!r}")
    if len(edges) == 0:
        raise error_at(where, "expected at least one edge, found none")
    return _Input(edges, rows, source, target, None, len(read.names), read.names)


def _path(y: Any, form: str, x: _Input, where: Where) -> CodeArray:
    """Return the code of a path, without padding; raise an error if it is not a path of its graph."""
    by_nodes = form == NODES
    numbers = _edges_of_nodes(y, x, where) if by_nodes else indices_of(y, form, where, "edge", len(x.edges))
    blocked = [int(e) for e in numbers if x.allowed is not None and not x.allowed[e]]
    if blocked:
        raise error_at(where, f"edge {blocked[0]} is forbidden by X")
    leaving: dict[int, int] = {}
    for e in numbers.tolist():
        tail = int(x.edges[e, 0])
        if tail in leaving:
            raise error_at(where, f"not a path: edges {leaving[tail]} and {e} both leave node {x.name(tail)}")
        leaving[tail] = e
    node, path = x.source, list[int]()
    while node in leaving and node != x.target:
        path.append(leaving.pop(node))
        node = int(x.edges[path[-1], 1])
    if node != x.target or leaving:
        ends = f"it ends at node {x.name(node)}"
        rest = f"edges {sorted(leaving.values())} are not on it" if node == x.target else ends
        raise error_at(where, f"not a path from node {x.name(x.source)} to node {x.name(x.target)}: {rest}")
    return np.array(path, np.int32)


def _edges_of_nodes(y: Any, x: _Input, where: Where) -> IntArray:
    """Return the edges of a path that is given by its nodes; of several edges between two nodes the first allowed."""
    if not is_list(y):
        raise error_at(where, f"expected the nodes of a path, found {y!r:.60}")
    position = {x.name(v): v for v in range(x.n_nodes)}
    number: dict[tuple[int, int], int] = {}
    for e, (tail, head) in enumerate(x.edges.tolist()):
        if x.allowed is None or x.allowed[e]:
            number.setdefault((tail, head), e)
    edges = []
    for a, b in pairwise(y.tolist() if isinstance(y, np.ndarray) else y):
        between = number.get((position.get(a, -1), position.get(b, -1)))
        if between is None:
            raise error_at(where, f"no allowed edge leads from node {a!r:.40} to node {b!r:.40}")
        edges.append(between)
    return np.array(edges, np.int64)


def _is_node_list(y: Any, x: _Input) -> bool:
    """Return whether an output may list the nodes of a path."""
    if not is_list(y) or len(y) < 2 or y[0] != x.name(x.source) or y[-1] != x.name(x.target):
        return False
    try:
        _edges_of_nodes(y, x, "y")
    except (TypeError, ValueError):
        return False
    return True


def _written(edges: IntArray, form: str, ends: IntArray, names: list[Any] | None) -> Any:
    """Return a path, given by its edges in order, in a form."""
    if form != NODES:
        return written(edges, form, len(ends))
    nodes = [*ends[edges[:1], 0].tolist(), *ends[edges, 1].tolist()]
    return nodes if names is None else [names[v] for v in nodes]


def _read(x: Any, where: Where) -> _Input:
    if is_networkx(x) or (isinstance(x, tuple | list) and len(x) and is_networkx(x[0])):
        return _read_named(x, where)
    if not isinstance(x, tuple | list) or not 2 <= len(x) <= 5:
        shown = f"{type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else type(x).__name__
        raise error_at(where, f"expected (edges, features[, source, target][, allowed]), found {shown}")
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

    data: ClassVar[dict[str, str]] = {"graphs": "", "ends": ""}
    derived: ClassVar[dict[str, str]] = {"names": "", "node_offsets": "node_offsets", "leaving": "node_offsets"}

    def __init__(
        self,
        structure: Path,
        block: Block,
        graphs: Graphs,
        ends: IntArray,
        truths: Any,
        costs: FloatArray | None,
        names: list[list[Any] | None],
    ) -> None:
        self.graphs, self.ends, self.names = graphs, ends, names
        self._set_order(structure.cycles)
        self.perturbable = () if structure.cycles else None
        lengths = np.minimum(graphs.n_nodes - 1, np.diff(graphs.offsets))
        code_offsets = offsets_of(lengths)
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
        self.node_offsets = offsets_of(graphs.n_nodes)
        self.order = np.empty(len(graphs.edges), np.int64)
        self.leaving = np.empty((int(self.node_offsets[-1]), 2), np.int64)
        cyclic = _jit.order_edges(graphs.edges, graphs.offsets, self.node_offsets, self.order, self.leaving)
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
        graphs = self.graphs
        common = ids, *scores[0], graphs.edges, graphs.offsets, self.order
        into = self.node_offsets, *self._sources_and_targets(), self.code_offsets, codes
        if not self.settings[0]:
            _jit.best_acyclic_paths(*common, *into)
            return
        wrong = _jit.shortest_paths(*common, self.leaving, *into)
        if wrong >= 0:
            raise StructureError.at(
                Place("X", ids[wrong]), "an edge has a negative cost; cycles=True needs weights ≥ 0 and features ≥ 0"
            )

    # ------------------------------------------------------------------ sums over outputs

    why_not_summable = (
        "to count the paths of a graph with cycles that repeat no node is #P-hard (Valiant 1979), and random changes "
        "of scores would make costs negative; use Path(cycles=False) with graphs without cycles"
    )

    @property
    def summable(self) -> bool:  # type: ignore[override]
        """Whether graphs have no cycles."""
        return not self.settings[0]

    def _given(self, scores: list[Scores], ids: IntArray) -> tuple[Any, ...]:
        """Return the arguments of sums over paths."""
        if not self.summable:
            raise self.not_summable()
        (values, starts), graphs = scores[0], self.graphs
        common = starts, values, ids, graphs.edges, graphs.offsets, self.order, self.node_offsets
        return *common, *self._sources_and_targets()

    def _sources_and_targets(self) -> IntArray:
        """Return both ends of all paths, contiguous: for another layout, functions are compiled once more."""
        return np.ascontiguousarray(self.ends.T)

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        into = coefficients, log_partitions, expected_scores, marginals[0]
        _sums.path_sums(*self._given(scores, ids), *into)

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        starts = offsets_among(ids, self.code_offsets)
        codes = np.empty((n, int(starts[-1])), np.int32)
        _sums.path_samples(*self._given(scores, ids), starts, seeds, codes)
        return codes

    # ------------------------------------------------------------------ parts

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        edges = codes[spans(ids, self.code_offsets)]
        used = edges >= 0
        return [counted_once(kept_offsets(used, offsets_among(ids, self.code_offsets)), edges[used])]

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Forbid the other edges that leave the tails of forced edges.

        Forced edges are the beginning of a path, so every path has them all; a bonus would make costs negative.
        """
        changed = scores[0].values.copy()
        tails = self.graphs.edges[:, 0]
        for _, p in forced:
            others = tails == tails[p]
            others[p] = False
            changed[others] = -np.inf
        changed[[p for _, p in forbidden]] = -np.inf
        return [Scores(changed, scores[0].starts)]

    def forced_scores(self, scores: list[Scores]) -> list[FloatArray] | None:
        """Return the scores of the best paths through each edge, from best paths to it and from it.

        In graphs with cycles the two may share nodes; then a search follows, and NaN if it is long.
        """
        (values, _), (source, target), n = scores[0], self.ends[0].tolist(), int(self.graphs.n_nodes[0])
        best = np.empty(len(values))
        if self.settings[0]:
            _jit.shortest_paths_through(values, self.graphs.edges, n, source, target, best)
        else:
            _jit.acyclic_paths_through(values, self.graphs.edges, self.order, n, source, target, best)
        return [best] if (best > -np.inf).any() else None

    def polytope(self, example: int) -> Polytope:
        """Return the flows of one unit from the source to the target; cycles gain nothing, as their costs are ≥ 0."""
        arcs, n_nodes = self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])], self.graphs.n_nodes
        sent = np.zeros(int(n_nodes[example]))
        sent[self.ends[example]] = 1.0, -1.0
        return Polytope(flow(arcs, len(sent)), sent, sent, 0.0, 1.0 if self.settings[0] else np.inf)

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        edges = self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])]
        return _written(code[code >= 0].astype(np.int64), self.structure.form_, edges, self.names[example])

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        some = super()._taken(ids)
        graphs, order = some["graphs"], self.order[spans(ids, self.graphs.offsets)]
        shift = np.repeat(graphs.offsets[:-1] - self.graphs.offsets[ids], graphs.n_nodes)
        return some | {"order": order, "leaving": some["leaving"] + shift[:, None]}


def _padded(code: CodeArray, length: int) -> CodeArray:
    """Return a code with −1 after its edges."""
    return np.concatenate([code, np.full(length - len(code), -1, np.int32)])
