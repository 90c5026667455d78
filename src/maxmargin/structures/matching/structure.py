"""Matchings of general graphs: which nodes are partners (Taskar et al. 2005, sections 5 and 7).

Ψ(x, y) = Σ_{edges of y} x[edge]        Δ(y, ŷ) = half the number of edges that only one of y and ŷ has
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._checked import check_flag, is_list
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import NO_OUTPUT
from maxmargin.core.errors import Place, Where, error_at, inside
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import CertificatePolytope, Polytope
from maxmargin.core.scores import Scores
from maxmargin.encoding.bipartite import NodeEncoder
from maxmargin.encoding.edges import EdgeRowEncoder, Edges, check_half, read_edge_features
from maxmargin.encoding.graphs import Graphs
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, cost_table, costs_of
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.structure import PartStructure, WeightTable
from maxmargin.structures.matching import _kernels as kernels
from maxmargin.structures.matching import _polytope as polytopes

_ONLY = np.zeros(1, np.int64)


class Matching(PartStructure):
    """A matching of each graph: pairs of nodes, each node in at most one of them.

    Each x holds a row of features for each pair of nodes i < j: an array (n, n, d) with x[i, j], a sparse matrix with
    row i n + j, or lists x[i][j] of dicts or lists of strings; only pairs with i < j are read. If some edges are
    forbidden, x is a pair (features, allowed) with an array of bool of shape (n, n); in lists, None means a forbidden
    edge. A graph with few edges is an `EdgeFeatures`. The score of all other edges is −∞. Each y lists the partner of
    each node, −1 for none.

    The loss is half the number of edges that only one of y and ŷ has: the number of wrong edges, if matchings are
    perfect. If single edges have different costs, y is a `PartCosts` with costs of shape (n, n).

    Argmaxes are exact up to the rounding of sums: by recursion over subsets in small graphs, by a weighted blossom
    algorithm in O(n³) steps in others (Edmonds 1965; Galil 1986).

    Parameters
    ----------
    perfect : bool, default=True
        Whether every node must have a partner. If not, the score of each node without one is learnt: a weight, and if x
        is a triple (features, allowed, features of nodes), where `allowed` may be None, also weights of these features.

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
    learns: ClassVar[dict[str, type]] = {"edges_": EdgeRowEncoder, "unmatched_": NodeEncoder}
    kernel_rows: ClassVar[tuple[str, ...]] = ("edges_", "unmatched_")

    def __init__(self, *, perfect: bool = True) -> None:
        self.perfect = perfect

    def check_parameters(self) -> None:
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
            truths = [self._truth(y, graph, Place("Y", i)) for i, (y, graph) in enumerate(zip(Y, graphs, strict=True))]
            costs = self._costs(Y, truths, graphs)
        joined = Graphs.joined([graph.ends for graph in graphs], [graph.n_nodes for graph in graphs])
        return MatchingExamples(self, blocks, joined, truths, [costs, None][: len(blocks)], bool(self.perfect))

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
        kernels.best_matchings(_ONLY, scores, ends, np.zeros(0), _ONLY, graph.ends, ends, offsets, True, code)
        if code[0] == NO_OUTPUT:
            raise error_at(
                where, "the allowed edges contain no perfect matching; allow more edges or set perfect=False"
            )

    def _truth(self, y: Any, graph: Edges, where: Where) -> CodeArray:
        """Return the code of a true matching; raise an error if it does not fit its graph."""
        code = self.code_of(y, where)
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
        y = costs_of(y).output
        partners = np.asarray(y) if is_list(y) else np.zeros(0, object)
        if not is_list(y) or partners.ndim != 1 or (len(partners) and partners.dtype.kind not in "iu"):
            raise error_at(where, f"expected the partner of each node, a whole number, found {y!r:.60}")
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
        true, found = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(found):
            raise ValueError(f"y has {len(true)} nodes but y_hat has {len(found)}")
        costs = _cost_table(y, true, "y")
        return float(costs[tuple(_pairs(found).T)].sum() - costs[tuple(_pairs(true).T)].sum())

    def enumerate(self, x: Any) -> Iterator[list[int]]:
        """Yield all matchings that no forbidden edge excludes, for tests."""
        graph = self._read(x, 0)
        allowed = graph.ends if graph.mask is None else graph.ends[~graph.mask]
        pairs, n, partners = set(map(tuple, allowed.tolist())), graph.n_nodes, [-1] * graph.n_nodes

        def extended(a: int) -> Iterator[list[int]]:
            while a < n and partners[a] >= 0:
                a += 1
            if a == n:
                yield list(partners)
                return
            if not self.perfect:
                yield from extended(a + 1)
            for b in range(a + 1, n):
                if partners[b] < 0 and (a, b) in pairs:
                    partners[a], partners[b] = b, a
                    yield from extended(a + 1)
                    partners[a], partners[b] = -1, -1

        return extended(0)


def _pairs(code: CodeArray) -> IntArray:
    """Return the edges a < b of a matching."""
    first = np.flatnonzero(code > np.arange(len(code)))
    return np.stack([first, code[first].astype(np.int64)], axis=1)


def _cost_table(y: Any, code: CodeArray, where: Where) -> FloatArray:
    """Return l of all pairs of nodes: false costs, minus missed costs on the truth."""
    given, shape = y if isinstance(y, PartCosts) else PartCosts(y, 0.5, 0.5), (len(code), len(code))
    costs, true = cost_table(given.false, shape, "false", where).copy(), tuple(_pairs(code).T)
    costs[true] = -cost_table(given.missed, shape, "missed", where)[true]
    return costs


class MatchingExamples(PartExamples):
    """Edges of all graphs; the code of a matching is the partner of each node.

    If matchings need not be perfect, the second block has one part for each node, which it has if it has no partner.
    """

    def __init__(
        self,
        structure: Matching,
        blocks: list[Block],
        graphs: Graphs,
        truths: list[CodeArray] | None,
        costs: list[FloatArray | float | None],
        perfect: bool,
    ) -> None:
        self.graphs = graphs
        offsets = np.concatenate([[0], np.cumsum(graphs.n_nodes)])
        super().__init__(structure, blocks, offsets, truths, costs, (perfect,))
        if graphs.n_nodes.max(initial=0) > kernels.FEW:
            self.operations += float((0.5 * graphs.n_nodes**3).sum())

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        none = scores[1] if len(scores) > 1 else Scores(np.zeros(0), _ONLY)
        edges, perfect = self.graphs, bool(self.settings[0])
        kernels.best_matchings(
            ids, *scores[0], *none, edges.edges, edges.offsets, self.code_offsets, perfect, codes
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        room = int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        edge_ptr, alone_ptr = np.zeros(len(ids) + 1, np.int64), np.zeros(len(ids) + 1, np.int64)
        edges, alone = np.empty(room, np.uint32), np.empty(room, np.uint32)
        graphs = self.graphs
        kernels.edges_of_codes(
            ids, graphs.edges, graphs.offsets, self.code_offsets, codes, edge_ptr, edges, alone_ptr, alone
        )
        found = [counted_once(edge_ptr, edges[: edge_ptr[-1]]), counted_once(alone_ptr, alone[: alone_ptr[-1]])]
        return found[: len(self.blocks)]

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
                f"use solver='auto', or solver='certificate' for an upper bound of the objective",
            )
        return CertificatePolytope(polytopes.odd_set_polytope(ends, n, perfect, usable), True, True)

    def _edges(self, example: int) -> tuple[IntArray, IntArray]:
        """Return the edges of a graph, and the numbers of those that are allowed."""
        span, forbidden = slice(*self.graphs.offsets[example : example + 2]), self.blocks[0].forbidden
        ends = self.graphs.edges[span]
        return ends, np.arange(len(ends)) if forbidden is None else np.flatnonzero(~forbidden[span])

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {"graphs": self.graphs.take(ids)}

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), *self.graphs.arrays()
