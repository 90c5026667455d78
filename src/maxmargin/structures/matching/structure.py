"""Matchings of general graphs: which nodes are partners (Taskar et al. 2005, sections 5 and 7).

Ψ(x, y) = Σ_{edges of y} x[edge]        Δ(y, ŷ) = half the number of edges that only one of y and ŷ has
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, is_list
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.ragged import ONLY, offsets_of
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.core.planes import NO_OUTPUT, Planes
from maxmargin.core.polytopes import CertificatePolytope, Polytope
from maxmargin.core.scores import Scores
from maxmargin.core.structure import WeightTable
from maxmargin.core.sums import PERTURB
from maxmargin.features.decision_forms import SET, VECTOR, indices_of, is_vector
from maxmargin.features.graphs.bipartite import NodeEncoder
from maxmargin.features.graphs.edges import EdgeRowEncoder, Edges, check_half, read_edge_features
from maxmargin.features.graphs.graphs import Graphs
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, costs_of, part_costs
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.formed import MATRIX, PAIRS, PARTNERS, MatchedStructure, is_pairs, is_table
from maxmargin.structures.matching import _jit
from maxmargin.structures.matching import _polytope as polytopes


class Matching(MatchedStructure):
    """A matching of each graph: pairs of nodes, each node in at most one of them.

    Each x holds a row of features for each pair of nodes i < j: an array (n, n, d) with x[i, j], a sparse matrix with
    row i n + j, or lists x[i][j] of dicts or lists of strings; only pairs with i < j are read. If some edges are
    forbidden, x is a pair (features, allowed) with an array of bool of shape (n, n); in lists, None means a forbidden
    edge. A graph with few edges is an `EdgeFeatures`, or a graph of networkx, whose attributes of edges are features (a
    feature of value 1 without attributes) and whose attributes of nodes are those of unmatched nodes. The score of all
    other edges is −∞.

    Each y lists the partner of each node, −1 for none; or it is a list or set of pairs of nodes (by name, in graphs of
    networkx), a symmetric table of 0 and 1 of shape (n, n), or a 0/1 vector over the edges in the order of their
    features. Predictions have the form of the training outputs.

    The loss is half the number of edges that only one of y and ŷ has: the number of wrong edges, if matchings are
    perfect. If single edges have different costs, y is a `PartCosts` with costs of shape (n, n).

    Argmaxes are exact up to the rounding of sums: by recursion over subsets in small graphs, by a weighted blossom
    algorithm in O(n³) steps in others (Edmonds 1965; Galil 1986).

    Parameters
    ----------
    perfect : bool, default=True
        Whether every node must have a partner. If not, the score of each node without one is learnt: a weight, and if x
        is a triple (features, allowed, features of nodes), where `allowed` may be None, also weights of these features.
    decision : {"auto", "partners", "pairs", "set", "matrix", "vector"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`, and raises an error if outputs have different forms or if
        several forms fit all of them.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.zeros((4, 4, 1))  # four nodes, one feature of each pair
    >>> x[0, 2] = x[1, 3] = 1.0
    >>> model = mm.StructuralSVM(mm.Matching(), C=10.0).fit([x], [[2, 3, 0, 1]])
    >>> model.predict([x])
    [[2, 3, 0, 1]]
    """

    output_name: ClassVar[str] = "matching"
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope"})
    learns: ClassVar[dict[str, type]] = {"edges_": EdgeRowEncoder, "unmatched_": NodeEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"edges_": "edges", "unmatched_": "unmatched"}

    def __init__(self, *, perfect: bool = True, decision: str = "auto") -> None:
        self.perfect, self.decision = perfect, decision

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag(self.perfect, "perfect")

    def tables(self) -> dict[str, WeightTable]:
        tables = {"edges": WeightTable(self.edges_.column_names())}
        if not self.perfect:
            names = [f"unmatched, {name}" for name in self.unmatched_.column_names()]
            tables["unmatched"] = WeightTable([*names, "unmatched"])
        return tables

    # ------------------------------------------------------------------ data

    def _read(self, x: Any, i: int) -> Edges:
        return read_edge_features(x, None if self.perfect else "features of unmatched nodes", i)

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> MatchingExamples:
        graphs = [self._read(x, i) for i, x in enumerate(X)]
        for i, graph in enumerate(graphs):
            self._check_feasible(graph, Place("X", i))
        if learn:
            check_half(X, graphs)
        self.edges_.edges = [graph.ends for graph in graphs]
        rows = [graph.rows for graph in graphs]
        matrix, offsets = self.edges_.fit(rows) if learn else self.edges_.encode(rows)
        forbidden = None
        if any(graph.mask is not None for graph in graphs):
            masks = [np.zeros(len(graph.ends), bool) if graph.mask is None else graph.mask for graph in graphs]
            forbidden = np.concatenate(masks)
        blocks = [Block(matrix, offsets, forbidden=forbidden)]
        if not self.perfect:
            alone = [graph.alone for graph in graphs]
            matrix, offsets = self.unmatched_.fit(alone) if learn else self.unmatched_.encode(alone)
            blocks.append(Block(matrix, offsets, constant=True))
        truths: list[CodeArray] | None = None
        costs: FloatArray | float = 1.0
        if Y is not None:
            if learn:
                self._recognise(
                    Y,
                    [len(graph.ends) for graph in graphs],
                    lambda form, y, i: self._truth(y, form, graphs[i], Place("Y", i)),
                    {
                        PARTNERS: lambda y, i: _is_partners(y, graphs[i].n_nodes),
                        PAIRS: lambda y, i: is_pairs(y) and not isinstance(y, Set) and graphs[i].n_nodes > 0,
                        SET: lambda y, i: isinstance(y, Set) and is_pairs(y),
                        MATRIX: lambda y, i: is_table(y, (graphs[i].n_nodes,) * 2) and graphs[i].n_nodes > 0,
                        VECTOR: lambda y, i: is_vector(y, len(graphs[i].ends)) and len(y) > 0,
                    },
                )
            pairs = enumerate(zip(Y, graphs, strict=True))
            truths = [self._truth(y, self.form_, graph, Place("Y", i)) for i, (y, graph) in pairs]
            costs = self._costs(Y, truths, graphs)
        joined = Graphs.joined([graph.ends for graph in graphs], [graph.n_nodes for graph in graphs])
        names = [graph.names for graph in graphs]
        return MatchingExamples(self, blocks, joined, truths, [costs, None][: len(blocks)], bool(self.perfect), names)

    def _check_feasible(self, graph: Edges, where: Where) -> None:
        """Raise an error if the graph has no matching."""
        if not self.perfect:
            return
        if graph.n_nodes % 2:
            raise error_at(
                where, f"{graph.n_nodes} nodes, but a perfect matching needs an even number; or set perfect=False"
            )
        if graph.complete or graph.n_nodes == 0:
            return
        scores, code = np.zeros(len(graph.ends)), np.zeros(graph.n_nodes, np.int32)
        if graph.mask is not None:
            scores[graph.mask] = -np.inf
        ends, offsets = np.array([0, len(scores)]), np.array([0, len(code)])
        _jit.best_matchings(ONLY, scores, ends, np.zeros(0), ONLY, graph.ends, ends, offsets, True, code)
        if code[0] == NO_OUTPUT:
            raise error_at(
                where, "the allowed edges contain no perfect matching; allow more edges or set perfect=False"
            )

    def _partners(self, y: Any, form: str, graph: Edges, where: Where) -> Any:
        """Return the partner of each node of an output in any form."""
        if form == PARTNERS:
            return costs_of(y).output
        pairs = self.pairs_in(y, where, form)
        if form == VECTOR:
            pairs = [tuple(pair) for pair in graph.ends[indices_of(costs_of(y).output, form, where, "edge")].tolist()]
        names = range(graph.n_nodes) if graph.names is None or form == MATRIX else graph.names
        names = range(graph.n_nodes) if form == VECTOR else names
        position, partners = {name: v for v, name in enumerate(names)}, [-1] * graph.n_nodes
        for pair in pairs:
            unknown = [name for name in pair if name not in position]
            if unknown:
                raise error_at(where, f"expected pairs of nodes of X, found the node {unknown[0]!r:.40}")
            a, b = (position[name] for name in pair)
            for v, other in ((a, b), (b, a)):
                if partners[v] not in (-1, other):
                    raise error_at(where, f"node {list(names)[v]!r:.40} has two partners")
                partners[v] = other
        return partners

    def _truth(self, y: Any, form: str, graph: Edges, where: Where) -> CodeArray:
        """Return the code of a true matching; raise an error if it does not fit its graph."""
        code = self._code(self._partners(y, form, graph, where), where)
        if len(code) != graph.n_nodes:
            raise error_at(where, f"{len(code)} partners, expected {graph.n_nodes} as X has {graph.n_nodes} nodes")
        usable = np.zeros((graph.n_nodes, graph.n_nodes), bool)
        allowed = graph.ends if graph.mask is None else graph.ends[~graph.mask]
        usable[allowed[:, 0], allowed[:, 1]] = True
        for a, b in _pairs(code).tolist():
            if not usable[a, b]:
                raise error_at(where, f"the edge ({a}, {b}) is not allowed by X")
        return code

    def _costs(self, Y: Sequence[Any], truths: list[CodeArray], graphs: list[Edges]) -> FloatArray | float:
        """Return 1, the cost of each wrong edge; the costs of all edges if any y has costs or need not be perfect."""
        if self.perfect and not any(isinstance(y, PartCosts) for y in Y):
            return 1.0
        tables = [
            graph.select(_cost_table(y, code, Place("Y", i)))
            for i, (y, code, graph) in enumerate(zip(Y, truths, graphs, strict=True))
        ]
        return np.concatenate([*tables, np.zeros(0)])

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        if self.form_ != PARTNERS:
            raise error_at(where, f"{self.described[self.form_]} have no code without their graph")
        return self._code(costs_of(y).output, where)

    def pairs_in(self, y: Any, where: Where, form: str | None = None) -> list[Any]:
        """Return the pairs of an output, each once, numbers in ascending order; of a vector, their numbers."""
        pairs = super().pairs_in(y, where, form)
        if (self.form_ if form is None else form) == VECTOR:
            return pairs
        once = {self.same(pair): pair for pair in pairs}
        numbers = all(isinstance(v, int | np.integer) for pair in once.values() for v in pair)
        return [tuple(sorted(pair)) if numbers else pair for pair in once.values()]

    def same(self, pair: Any) -> Any:
        """Return a pair without its order."""
        return pair if isinstance(pair, int) else frozenset(pair)

    def _code(self, y: Any, where: Where) -> CodeArray:
        partners = np.asarray(y) if is_list(y) else np.zeros(0, object)
        if not is_list(y) or partners.ndim != 1 or (len(partners) and partners.dtype.kind not in "iu"):
            raise error_at(where, f"expected the partner of each node, an integer, found {y!r:.60}")
        partners = partners.astype(np.int64)
        n, nodes = len(partners), np.arange(len(partners))
        for v in np.flatnonzero((partners < -1) | (partners >= n) | (partners == nodes))[:1].tolist():
            raise error_at(
                inside(where, f"node {v}"), f"expected another node from 0 to {n - 1}, or −1, found {partners[v]}"
            )
        for v in np.flatnonzero((partners >= 0) & (partners[partners] != nodes))[:1].tolist():
            other = int(partners[v])
            raise error_at(where, f"the partner of node {v} is {other}, but that of node {other} is {partners[other]}")
        if self.perfect and (partners < 0).any():
            v = int(np.argmin(partners))
            raise error_at(inside(where, f"node {v}"), "no partner, but every node has one if perfect=True")
        return partners.astype(np.int32)

    def output_of(self, code: CodeArray) -> list[int]:
        partners: list[int] = code.tolist()
        return partners

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return half the number of edges that only y or only ŷ has, or their costs if y has costs."""
        if self.form_ != PARTNERS:
            return self.pair_loss(y, y_hat)
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} nodes but y_hat has {len(predicted)}")
        costs = _cost_table(y, true, "y")
        return float(costs[tuple(_pairs(predicted).T)].sum() - costs[tuple(_pairs(true).T)].sum())

    def written_code(self, code: CodeArray, ends: IntArray, names: list[Any] | None) -> Any:
        """Return the output of a code of a graph with these edges."""
        if self.form_ == PARTNERS:
            return self.output_of(code)
        n, pairs = len(code), [tuple(pair) for pair in _pairs(code).tolist()]
        both = [*pairs, *((b, a) for a, b in pairs)] if self.form_ == MATRIX else pairs
        chosen = code[ends[:, 0]] == ends[:, 1]
        shown = None if names is None else (names, names)
        return self.written_pairs(both, (n, n), lambda: (np.flatnonzero(chosen), len(ends)), shown)

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all matchings that no forbidden edge excludes, for tests."""
        graph = self._read(x, 0)
        allowed = graph.ends if graph.mask is None else graph.ends[~graph.mask]
        pairs, n, partners = set(map(tuple, allowed.tolist())), graph.n_nodes, [-1] * graph.n_nodes

        def extended(a: int) -> Iterator[list[int]]:
            while a < n and partners[a] >= 0:
                a += 1
            if a == n:
                yield self.written_code(np.array(partners, np.int32), graph.ends, graph.names)
                return
            if not self.perfect:
                yield from extended(a + 1)
            for b in range(a + 1, n):
                if partners[b] < 0 and (a, b) in pairs:
                    partners[a], partners[b] = b, a
                    yield from extended(a + 1)
                    partners[a], partners[b] = -1, -1

        return extended(0)


def _is_partners(y: Any, n_nodes: int) -> bool:
    """Return whether an output may list the partner of each node."""
    if not is_list(y) or len(y) != n_nodes:
        return False
    return all(isinstance(entry, int | np.integer) and not isinstance(entry, bool) for entry in y)


def _pairs(code: CodeArray) -> IntArray:
    """Return the edges a < b of a matching."""
    first = np.flatnonzero(code > np.arange(len(code)))
    return np.stack([first, code[first].astype(np.int64)], axis=1)


def _cost_table(y: Any, code: CodeArray, where: Where) -> FloatArray:
    """Return l of all pairs of nodes: false costs, minus missed costs on the truth."""
    return part_costs(costs_of(y, 0.5, 0.5), (len(code), len(code)), tuple(_pairs(code).T), where)


class MatchingExamples(PartExamples):
    """Edges of all graphs; the code of a matching is the partner of each node.

    If matchings need not be perfect, the second block has one part for each node, which it has if it has no partner.
    """

    data: ClassVar[dict[str, str]] = {"graphs": ""}
    derived: ClassVar[dict[str, str]] = {"names": ""}
    why_not_summable = f"to count the matchings of a graph is #P-hard (Valiant 1979); {PERTURB}"

    def __init__(
        self,
        structure: Matching,
        blocks: list[Block],
        graphs: Graphs,
        truths: list[CodeArray] | None,
        costs: list[FloatArray | float | None],
        perfect: bool,
        names: list[list[Any] | None],
    ) -> None:
        self.graphs, self.names = graphs, names
        offsets = offsets_of(graphs.n_nodes)
        super().__init__(structure, blocks, offsets, truths, costs, (perfect,))
        if graphs.n_nodes.max(initial=0) > _jit.FEW:
            self.operations += float((0.5 * graphs.n_nodes**3).sum())

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        none = scores[1] if len(scores) > 1 else Scores(np.zeros(0), ONLY)
        edges, perfect = self.graphs, bool(self.settings[0])
        _jit.best_matchings(
            ids, *scores[0], *none, edges.edges, edges.offsets, self.code_offsets, perfect, codes
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        room = int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        edge_ptr, alone_ptr = np.zeros(len(ids) + 1, np.int64), np.zeros(len(ids) + 1, np.int64)
        edges, alone = np.empty(room, np.uint32), np.empty(room, np.uint32)
        graphs = self.graphs
        _jit.edges_of_codes(
            ids, graphs.edges, graphs.offsets, self.code_offsets, codes, edge_ptr, edges, alone_ptr, alone
        )
        counts = [counted_once(edge_ptr, edges[: edge_ptr[-1]]), counted_once(alone_ptr, alone[: alone_ptr[-1]])]
        return counts[: len(self.blocks)]

    def polytope(self, example: int) -> Polytope:
        """Return the polytope of matchings, with odd sets where they are needed; raise ValueError if they are many."""
        return self.certificate_polytope(example, "odd-sets").polytope

    def certificate_polytope(self, example: int, form: str) -> CertificatePolytope:
        """Return the polytope of a form in `_polytope.py`: ``"distances"``, ``"prices"`` or ``"odd-sets"``."""
        ends, usable = self._edges(example)
        n, perfect = int(self.graphs.n_nodes[example]), bool(self.settings[0])
        whole = polytopes.fractional_is_whole(ends[usable], n, perfect)
        if form == "distances":
            partners = self.truths[self.code_offsets[example] : self.code_offsets[example + 1]]
            return CertificatePolytope(polytopes.distance_polytope(ends, n, partners, perfect), whole, whole)
        if form == "prices" or whole:
            return CertificatePolytope(polytopes.price_polytope(ends, n, perfect), whole, whole)
        if n > polytopes.MOST_NODES:
            raise error_at(
                Place("X", example),
                f"{n} nodes, but the odd sets of a matching's polytope are listed for at most {polytopes.MOST_NODES}; "
                f"use solver='auto', or solver='certificate' for an upper bound on the objective",
            )
        return CertificatePolytope(polytopes.odd_set_polytope(ends, n, perfect, usable), True, True)

    def _edges(self, example: int) -> tuple[IntArray, IntArray]:
        """Return the edges of a graph, and the numbers of those that are allowed."""
        span, forbidden = slice(*self.graphs.offsets[example : example + 2]), self.blocks[0].forbidden
        ends = self.graphs.edges[span]
        return ends, np.arange(len(ends)) if forbidden is None else np.flatnonzero(~forbidden[span])

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        ends = self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])]
        return self.structure.written_code(code, ends, self.names[example])
