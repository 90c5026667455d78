"""Spanning trees: dependency parses, or the best tree over all nodes of a graph (Taskar et al. 2005, section 5).

Ψ(x, y) = Σ_{arcs of y} x[arc]        Δ(y, ŷ) = number of arcs that only ŷ has, or the costs of single arcs
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, is_list
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.ragged import offsets_among, offsets_of, places, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import CertificatePolytope, Polytope
from maxmargin.core.scores import Scores
from maxmargin.features.graphs.arcs import ArcEncoder, Arcs, pairs_of, read_arcs
from maxmargin.features.graphs.pairs import symmetric_table
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, costs_of, part_costs
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.structure import PartStructure
from maxmargin.structures.tree import _jit, _projective, _sums
from maxmargin.structures.tree import _polytope as polytopes


class Tree(PartStructure):
    """A spanning tree of each graph, by features of its arcs.

    Directed trees have the root 0. Each x holds a row of features for the arc from head h = 0 … n to node m = 1 … n: an
    array (n + 1, n + 1, d) with x[h, m], a sparse matrix with row h (n + 1) + m, or lists x[h][m] of dicts or lists of
    strings. Each y lists the head of each of the nodes 1 … n. Arcs into the root and x[m, m] are not read.

    Undirected trees join nodes 0 … n − 1. Each x holds a row for each pair i < j: an array (n, n, d) with x[i, j], a
    sparse matrix with row i n + j, or lists x[i][j]; only pairs with i < j are read. Each y lists n − 1 pairs (i, j).

    Or x is a graph of networkx, whose attributes of edges are features; nodes are numbered in the order of
    ``graph.nodes``, the first one is the root of a directed tree, and arcs that the graph does not have are forbidden.

    If some arcs are forbidden, x is a pair (features, allowed) with an array of bool in the shape of the arcs; in
    lists, None means a forbidden arc. The score of forbidden arcs is −∞. If single arcs have different costs, y is a
    `PartCosts` with costs of the shape of the arcs.

    Parameters
    ----------
    directed : bool, default=True
        Whether arcs have a direction and the tree has a root.
    single_root : bool, default=False
        Whether the root has exactly one child (directed trees).
    projective : bool, default=False
        Whether trees are projective (directed trees): nodes are in a row, the root first, and no two arcs cross. The
        argmax is that of Eisner (1996), in O(n³) steps.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.zeros((4, 4, 1))  # three words and the root; one feature of each arc
    >>> x[0, 2] = x[2, 1] = x[2, 3] = 1.0
    >>> model = mm.StructuralSVM(mm.Tree(), C=10.0).fit([x], [[2, 0, 2]])
    >>> model.predict([x])
    [[2, 0, 2]]
    """

    output_name: ClassVar[str] = "tree"
    learns: ClassVar[dict[str, type]] = {"arcs_": ArcEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"arcs_": "arcs"}

    @property
    def capabilities(self) -> frozenset[str]:  # type: ignore[override]
        """Projective trees have no polytope."""
        every = frozenset({"topk", "max_marginals", "sums"})
        return every if self.projective else every | {"polytope"}

    def __init__(self, *, directed: bool = True, single_root: bool = False, projective: bool = False) -> None:
        self.directed, self.single_root, self.projective = directed, single_root, projective

    def check_parameters(self) -> None:
        check_flag(self.directed, "directed")
        check_flag(self.single_root, "single_root")
        if self.single_root and not self.directed:
            raise ValueError("single_root=True needs directed=True: an undirected tree has no root")
        check_flag(self.projective, "projective")
        if self.projective and not self.directed:
            raise ValueError("projective=True needs directed=True: arcs of a dependency tree have a direction")

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> TreeExamples:
        arcs = [read_arcs(x, bool(self.directed), i) for i, x in enumerate(X)]
        rows = [arc.rows for arc in arcs]
        self.arcs_.directed = bool(self.directed)
        matrix, offsets = self.arcs_.fit(rows) if learn else self.arcs_.encode(rows)
        lengths = np.array([arc.n_nodes - 1 for arc in arcs], np.int64)
        forbidden = None
        if self.directed or any(arc.forbidden is not None for arc in arcs):
            forbidden = np.concatenate([arc.mask() for arc in arcs] or [np.zeros(0, bool)])
        truths: list[CodeArray] | None = None
        costs: FloatArray | float = 1.0
        if Y is not None:
            truths = [self._truth(y, arc, Place("Y", i)) for i, (y, arc) in enumerate(zip(Y, arcs, strict=True))]
            costs = self._costs(Y, truths, arcs)
        return TreeExamples(
            self,
            [Block(matrix, offsets, forbidden=forbidden)],
            offsets_of(lengths),
            truths,
            [costs],
            self._settings(),
        )

    def _settings(self) -> tuple[float, ...]:
        return bool(self.directed), bool(self.single_root), bool(self.projective)

    def _truth(self, y: Any, arcs: Arcs, where: Where) -> CodeArray:
        """Return the code of a true tree; raise an error if it does not fit its graph."""
        code = self.code_of(y, where)
        if len(code) != arcs.n_nodes - 1:
            what = "heads" if self.directed else "edges"
            raise error_at(where, f"{len(code)} {what}, expected {arcs.n_nodes - 1} as X has {self._size_of(arcs)}")
        blocked = np.flatnonzero(arcs.mask()[self._parts_of(code)])
        if len(blocked):
            raise error_at(where, f"the arc {self._arc_name(code, int(blocked[0]))} is forbidden by X")
        return code

    def _size_of(self, arcs: Arcs) -> str:
        """Return the size of a graph, as error messages give it."""
        return f"{arcs.n_nodes} nodes"

    def _parts_of(self, code: CodeArray) -> IntArray:
        """Return the arcs of a tree, by their numbers."""
        return np.arange(len(code)) * (len(code) + 1) + code if self.directed else code.astype(np.int64)

    def _arc_name(self, code: CodeArray, at: int) -> str:
        if self.directed:
            return f"{code[at]} → {at + 1}"
        return "{} – {}".format(*self.output_of(code)[at])

    def _costs(self, Y: Sequence[Any], truths: list[CodeArray], arcs: list[Arcs]) -> FloatArray | float:
        """Return 1, the cost of each wrong arc; the costs of all arcs if any y has costs."""
        if not any(isinstance(y, PartCosts) for y in Y):
            return 1.0
        tables = [
            self._cost_row(costs_of(y), code, arc, Place("Y", i))
            for i, (y, code, arc) in enumerate(zip(Y, truths, arcs, strict=True))
        ]
        return np.concatenate(tables)

    def _cost_row(self, y: PartCosts, code: CodeArray, arcs: Arcs, where: Where) -> FloatArray:
        """Return l of every arc of an example: false costs, minus missed costs on the truth."""
        return part_costs(y, (arcs.n_nodes, arcs.n_nodes), self._parts_of(code), where, arcs.select)

    def arranged(self, blocks: list[FloatArray]) -> FloatArray:
        """Return the numbers of arcs as a table: [h, m] if directed, else symmetric; −∞ for pairs without an arc."""
        arcs = blocks[0]
        if self.directed:
            n = math.isqrt(len(arcs))
            table = np.full((n + 1, n + 1), -np.inf)
            table[:, 1:] = arcs.reshape(n, n + 1).T if n else 0.0
            return table
        return symmetric_table(arcs)

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        y = costs_of(y).output
        if not self.directed:
            return _edge_code(y, where)
        heads = np.asarray(y)
        if not is_list(y) or heads.ndim != 1 or (len(heads) and heads.dtype.kind not in "iu"):
            raise error_at(where, f"expected the head of each node, an integer, found {y!r:.60}")
        outside = np.flatnonzero((heads < 0) | (heads > len(heads)))
        if len(outside):
            m = int(outside[0])
            raise error_at(inside(where, f"node {m + 1}"), f"expected a head from 0 to {len(heads)}, found {heads[m]}")
        if not _reaches_root(heads):
            raise error_at(where, f"not a tree, the heads form a cycle: {heads.tolist()!r:.60}")
        roots = int((heads == 0).sum())
        if self.single_root and roots > 1:
            raise error_at(where, f"{roots} children of the root, but single_root=True allows one")
        self._check_projective(heads, where)
        return heads.astype(np.int32)

    def _check_projective(self, heads: IntArray, where: Where) -> None:
        m = _projective.crossed_arc(heads.astype(np.int64)) if self.projective else 0
        if m:
            raise error_at(
                where,
                f"not projective, as projective=True requires: another arc crosses that from {heads[m - 1]} to {m}",
            )

    def output_of(self, code: CodeArray) -> list[Any]:
        if self.directed:
            heads: list[int] = code.tolist()
            return heads
        return [pair for pair in map(tuple, pairs_of(len(code) + 1)[code].tolist())]

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the number of arcs that only ŷ has, or the costs of false and missed arcs if y has costs."""
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} arcs but y_hat has {len(predicted)}")
        arcs = Arcs(None, len(true) + 1, bool(self.directed), None)
        costs = self._cost_row(costs_of(y), true, arcs, "y")
        true_parts, found_parts = self._parts_of(true), self._parts_of(predicted)
        return float(costs[found_parts].sum() - costs[true_parts].sum())

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Yield all trees that no forbidden arc excludes, for tests: there may be (n + 1)ⁿ⁻¹ of them."""
        arcs = read_arcs(x, bool(self.directed), 0)
        n, mask = arcs.n_nodes - 1, arcs.mask()
        codes = product(range(n + 1), repeat=n) if self.directed else combinations(range(n * (n + 1) // 2), n)
        for candidate in codes:
            code = np.array(candidate, np.int32)
            whole = _reaches_root(code) if self.directed else _joins_all(pairs_of(n + 1)[code], n + 1)
            whole = whole and not (self.projective and _projective.crossed_arc(code.astype(np.int64)))
            if whole and not mask[self._parts_of(code)].any() and not (self.single_root and (code == 0).sum() > 1):
                yield self.output_of(code)


def _edge_code(y: Any, where: Where) -> CodeArray:
    """Return the numbers of the edges of an undirected tree, in ascending order."""
    edges = np.asarray(y)
    if not is_list(y) or (edges.size and (edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu")):
        raise error_at(where, f"expected a list of edges (i, j), found {y!r:.60}")
    n = len(edges) + 1
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        outside = int(edges[(edges < 0) | (edges >= n)][0])
        raise error_at(where, f"a tree of {n - 1} edges joins nodes 0 to {n - 1}, found node {outside}")
    if not _joins_all(edges.reshape(-1, 2), n):
        raise error_at(where, f"not a tree, the {n - 1} edges do not join {n} nodes: {edges.tolist()!r:.60}")
    low, high = edges.reshape(-1, 2).min(axis=1), edges.reshape(-1, 2).max(axis=1)
    return np.sort(low * (2 * n - low - 1) // 2 + high - low - 1).astype(np.int32)


def _reaches_root(heads: IntArray | CodeArray) -> bool:
    """Return whether every node reaches the root, by repeatedly doubling the number of steps."""
    above = np.concatenate([[0], heads])
    for _ in range(len(heads).bit_length()):
        above = above[above]
    return not above.any()


def _joins_all(edges: IntArray, n: int) -> bool:
    """Return whether the edges join all of n nodes."""
    part = list(range(n))
    for i, j in edges.tolist():
        a, b = part[i], part[j]
        if a == b:
            return False
        part = [a if p == b else p for p in part]
    return len(set(part)) <= 1


class TreeExamples(PartExamples):
    """Arcs of all graphs; the code of a tree is the heads of its nodes, or the sorted numbers of its edges."""

    summable = True

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        directed, single_root, projective = self.settings
        if projective:
            _projective.best_projective_trees(ids, *scores[0], self.code_offsets, bool(single_root), codes)
        elif directed:
            _jit.best_rooted_trees(ids, *scores[0], self.code_offsets, bool(single_root), codes)
        else:
            _jit.best_free_trees(ids, *scores[0], self.code_offsets, codes)

    def part_sums(
        self,
        scores: list[Scores],
        ids: IntArray,
        coefficients: FloatArray,
        log_partitions: FloatArray,
        expected_scores: FloatArray,
        marginals: list[FloatArray],
    ) -> None:
        directed, single_root, projective = map(bool, self.settings)
        data, sums = (ids, *scores[0], self.code_offsets), (coefficients, log_partitions, expected_scores, *marginals)
        if directed:
            _sums.rooted_sums(*data, single_root, projective, *sums)
        else:
            _sums.free_sums(*data, *sums)

    def plain_samples(self, scores: list[Scores], ids: IntArray, n: int, seeds: AnyArray) -> CodeArray:
        codes = np.empty((n, int(offsets_among(ids, self.code_offsets)[-1])), np.int32)
        _sums.tree_samples(ids, *scores[0], self.code_offsets, *map(bool, self.settings), seeds, codes)
        return codes

    def arranged_marginals(self, marginals: list[FloatArray], example: int) -> FloatArray:
        """Return the probabilities of arcs in the arrangement of `Tree.arranged`; 0 for pairs without an arc."""
        return np.maximum(super().arranged_marginals(marginals, example), 0.0)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        offsets = offsets_among(ids, self.code_offsets)
        arcs = codes[spans(ids, self.code_offsets)].astype(np.int64)
        if self.settings[0]:
            lengths = np.diff(offsets)
            arcs += places(offsets) * np.repeat(lengths + 1, lengths)
        return [counted_once(offsets, arcs)]

    def polytope(self, example: int) -> Polytope:
        """Return the polytope of trees; raise ValueError if trees are projective or graphs are too large for it."""
        directed, single_root, projective = map(bool, self.settings)
        if projective:
            raise ValueError("projective trees have no polytope here; use solver='auto', or projective=False")
        arcs, allowed, n_nodes = self._arcs(example)
        try:
            return polytopes.tree_polytope(arcs, allowed, n_nodes, directed, single_root)
        except ValueError as error:
            raise error_at(Place("X", example), str(error)) from None

    def certificate_polytope(self, example: int, form: str) -> CertificatePolytope:
        """Return the polytope of exchanges with the true tree; raise ValueError if trees are directed."""
        if self.settings[0]:
            raise ValueError(
                "solver='certificate' needs undirected trees: a directed tree may have to be exchanged as a whole; "
                "use solver='minmax' or solver='auto', or Tree(directed=False)"
            )
        arcs, allowed, n_nodes = self._arcs(example)
        true = self.truths[self.code_offsets[example] : self.code_offsets[example + 1]].astype(np.int64)
        return CertificatePolytope(polytopes.exchange_polytope(arcs, n_nodes, true, allowed), False, True)

    def _arcs(self, example: int) -> tuple[IntArray, IntArray, int]:
        """Return tails and heads of all arcs, the numbers of those that are allowed, and the number of nodes."""
        n = int(self.code_offsets[example + 1] - self.code_offsets[example]) + 1
        if self.settings[0]:
            heads, nodes = np.meshgrid(np.arange(n), np.arange(1, n))
            arcs = np.stack([heads.ravel(), nodes.ravel()], axis=1)
        else:
            arcs = pairs_of(n)
        forbidden = self.blocks[0].forbidden
        span = slice(*self.part_offsets[0][example : example + 2])
        return arcs, np.arange(len(arcs)) if forbidden is None else np.flatnonzero(~forbidden[span]), n
