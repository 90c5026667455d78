"""Bipartite matchings: which right nodes each left node is assigned to (Taskar et al. 2005, section 2).

Ψ(x, y) = Σ_{pairs of y} x[pair]        Δ(y, ŷ) = half the number of pairs that only one of y and ŷ has
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from maxmargin._checked import check_flag, is_list, whole_number
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import NO_OUTPUT
from maxmargin.core.errors import Place, Where, error_at, inside
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import Polytope, entries
from maxmargin.core.scores import Scores
from maxmargin.encoding.bipartite import NodeEncoder, PairEncoder, Sides, read_sides
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, cost_table, costs_of
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.structure import PartStructure, WeightTable
from maxmargin.structures.bipartite_matching import _kernels as kernels

_NO_STARTS = np.zeros(1, np.int64)


class BipartiteMatching(PartStructure):
    """An assignment of left nodes to right nodes, by features of pairs.

    Each left node is assigned to `per_left` different right nodes, each right node receives at most `per_right` left
    nodes. Each x holds a row of features for each pair of left node i and right node k: an array (n_left, n_right, d)
    with x[i, k], a list of n_left sparse matrices (n_right, d), or lists x[i][k] of dicts or lists of strings. Each y
    lists the right node of each left node, −1 for none; with ``per_left > 1`` it lists the right nodes of each left
    node.

    If some pairs are forbidden, x is a pair (features, allowed) with an array of bool of shape (n_left, n_right); in
    lists, None means a forbidden pair. The score of forbidden pairs is −∞.

    The loss is half the number of pairs that only one of y and ŷ has: the number of wrong pairs, if all left nodes are
    assigned. If single pairs have different costs, y is a `PartCosts` with costs of shape (n_left, n_right).

    Parameters
    ----------
    per_left : int, default=1
        Number of right nodes of each left node (R).
    per_right : int, default=1
        Maximum number of left nodes of each right node (P).
    unassigned : bool, default=False
        Whether a left node may have fewer than `per_left` right nodes. The score of each missing one is learnt: a
        weight, and if x is a triple (features, allowed, features of left nodes), where `allowed` may be None, also
        weights of these features.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.zeros((2, 3, 1))  # two left nodes, three right nodes, one feature of each pair
    >>> x[0, 2] = x[1, 0] = 1.0
    >>> model = mm.StructuralSVM(mm.BipartiteMatching(), C=10.0).fit([x], [[2, 0]])
    >>> model.predict([x])
    [[2, 0]]
    """

    output_name: ClassVar[str] = "matching"
    learns: ClassVar[dict[str, type]] = {"pairs_": PairEncoder, "unassigned_": NodeEncoder}
    kernel_rows: ClassVar[tuple[str, ...]] = ("pairs_", "unassigned_")

    def __init__(self, *, per_left: int = 1, per_right: int = 1, unassigned: bool = False) -> None:
        self.per_left, self.per_right, self.unassigned = per_left, per_right, unassigned

    def check_parameters(self) -> None:
        whole_number(self.per_left, "per_left")
        whole_number(self.per_right, "per_right")
        check_flag(self.unassigned, "unassigned")

    def tables(self) -> dict[str, WeightTable]:
        tables = {"pairs": WeightTable(self.pairs_.column_names())}
        if self.unassigned:
            names = [f"unassigned, {name}" for name in self.unassigned_.column_names()]
            tables["unassigned"] = WeightTable([*names, "unassigned"])
        return tables

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> BipartiteMatchingExamples:
        graphs = [read_sides(x, bool(self.unassigned), i) for i, x in enumerate(X)]
        n_left, n_right = (np.array([graph.shape[side] for graph in graphs], np.int64) for side in (0, 1))
        self.pairs_.n_rights = n_right.tolist()
        forbidden = None
        if any(graph.forbidden is not None for graph in graphs):
            forbidden = np.concatenate([graph.mask() for graph in graphs])
        for i, graph in enumerate(graphs):
            self._check_feasible(graph, Place("X", i))
        rows = [graph.rows for graph in graphs]
        matrix, offsets = self.pairs_.fit(rows) if learn else self.pairs_.encode(rows)
        blocks = [Block(matrix, offsets, forbidden=forbidden)]
        if self.unassigned:
            alone = [graph.alone for graph in graphs]
            matrix, offsets = self.unassigned_.fit(alone) if learn else self.unassigned_.encode(alone)
            blocks.append(Block(matrix, offsets, constant=True))
        truths: list[CodeArray] | None = None
        costs: FloatArray | float = 1.0
        if Y is not None:
            truths = [self._truth(y, graph, Place("Y", i)) for i, (y, graph) in enumerate(zip(Y, graphs, strict=True))]
            costs = self._costs(Y, truths, graphs)
        return BipartiteMatchingExamples(
            self,
            blocks,
            np.concatenate([[0], np.cumsum(n_left * int(self.per_left))]),
            truths,
            [costs, None][: len(blocks)],
            (int(self.per_left), int(self.per_right), bool(self.unassigned)),
            n_right,
        )

    def _check_feasible(self, graph: Sides, where: Where) -> None:
        """Raise an error if the graph has no matching."""
        if self.unassigned or graph.n_left == 0:
            return
        (n_left, n_right), R, P = graph.shape, int(self.per_left), int(self.per_right)
        remedy = "or set unassigned=True"
        if n_right < R:
            raise error_at(where, f"per_left={R} needs {R} right nodes, found {n_right}; lower per_left {remedy}")
        if n_left * R > n_right * P:
            raise error_at(
                where,
                f"{n_left} left nodes with per_left={R} need {n_left * R} places, but {n_right} right nodes with "
                f"per_right={P} have {n_right * P}; raise per_right {remedy}",
            )
        if graph.forbidden is None:
            return
        scores, code = np.where(graph.mask(), -np.inf, 0.0), np.zeros(n_left * R, np.int32)
        first, ends = np.zeros(1, np.int64), np.array([0, len(scores)])
        kernels.best_matchings(first, scores, ends, np.zeros(0), _NO_STARTS, np.array([0, len(code)]), R, P, code)
        if code[0] == NO_OUTPUT:
            raise error_at(
                where,
                f"the allowed pairs contain no matching with per_left={R} and per_right={P}; allow more pairs {remedy}",
            )

    def _truth(self, y: Any, graph: Sides, where: Where) -> CodeArray:
        """Return the code of a true matching; raise an error if it does not fit its graph."""
        code, R = self.code_of(y, where), int(self.per_left)
        if len(code) != graph.n_left * R:
            raise error_at(where, f"{len(code) // R} left nodes, expected {graph.n_left} as in X")
        if len(code) and code.max() >= graph.n_right:
            at = int(np.flatnonzero(code >= graph.n_right)[0])
            raise error_at(
                inside(where, f"left node {at // R}"),
                f"expected right nodes from 0 to {graph.n_right - 1}, found {code[at]}",
            )
        parts = self._parts_of(code, graph.n_right)
        blocked = parts[graph.mask()[parts]]
        if len(blocked):
            left, right = divmod(int(blocked[0]), graph.n_right)
            raise error_at(where, f"the pair ({left}, {right}) is forbidden by X")
        return code

    def _parts_of(self, code: CodeArray, n_right: int) -> IntArray:
        """Return the pairs of a matching, by their numbers."""
        at = np.flatnonzero(code >= 0)
        return at // int(self.per_left) * n_right + code[at]

    def _costs(self, Y: Sequence[Any], truths: list[CodeArray], graphs: list[Sides]) -> FloatArray | float:
        """Return 1, the cost of each wrong pair; the costs of all pairs if any y has costs or may have fewer pairs."""
        if not self.unassigned and not any(isinstance(y, PartCosts) for y in Y):
            return 1.0
        tables = [
            self._cost_row(y, code, graph.shape, Place("Y", i))
            for i, (y, code, graph) in enumerate(zip(Y, truths, graphs, strict=True))
        ]
        return np.concatenate([*tables, np.zeros(0)])

    def _cost_row(self, y: Any, code: CodeArray, shape: tuple[int, int], where: Where) -> FloatArray:
        """Return l of every pair of an example: false costs, minus missed costs on the truth."""
        given, true = y if isinstance(y, PartCosts) else PartCosts(y, 0.5, 0.5), self._parts_of(code, shape[1])
        costs = cost_table(given.false, shape, "false", where).ravel().copy()
        costs[true] = -cost_table(given.missed, shape, "missed", where).ravel()[true]
        return costs

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        y, R = costs_of(y).output, int(self.per_left)
        if not is_list(y):
            raise error_at(where, f"expected the right node of each left node, found {y!r:.60}")
        code = np.full((len(y), R), -1, np.int32)
        for i, given in enumerate(y.tolist() if isinstance(y, np.ndarray) else y):
            rights = self._rights(given, inside(where, f"left node {i}"))
            code[i, : len(rights)] = rights
        taken, counts = np.unique(code[code >= 0], return_counts=True)
        if (counts > self.per_right).any():
            k = int(np.argmax(counts > self.per_right))
            raise error_at(where, f"right node {taken[k]} has {counts[k]} left nodes, but per_right={self.per_right}")
        return code.ravel()

    def _rights(self, given: Any, where: Where) -> list[int]:
        """Return the right nodes of a left node, in ascending order."""
        R = int(self.per_left)
        if R == 1 and not is_list(given):
            given = [given]
        whole = is_list(given) and all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in given)
        if not whole or min(given, default=0) < -1:
            what = "a right node, a whole number, or −1" if R == 1 else "a list of right nodes, whole numbers"
            raise error_at(where, f"expected {what}, found {given!r:.60}")
        rights = sorted(int(k) for k in given if k >= 0)
        if len(set(rights)) < len(rights):
            raise error_at(where, f"the same right node twice: {rights!r:.60}")
        if len(rights) > R or (len(rights) < R and not self.unassigned):
            exactly = "at most" if self.unassigned else "exactly"
            hint = "" if self.unassigned or len(rights) > R else "; fewer need unassigned=True"
            raise error_at(where, f"expected {exactly} {R} right nodes, found {len(rights)}{hint}")
        return rights

    def output_of(self, code: CodeArray) -> list[Any]:
        if int(self.per_left) == 1:
            rights: list[int] = code.tolist()
            return rights
        return [[k for k in row if k >= 0] for row in code.reshape(-1, int(self.per_left)).tolist()]

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return half the number of pairs that only y or only ŷ has, or their costs if y has costs."""
        true, found = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(found):
            R = int(self.per_left)
            raise ValueError(f"y has {len(true) // R} left nodes but y_hat has {len(found) // R}")
        given = costs_of(y)
        shapes = [np.shape(costs) for costs in (given.false, given.missed) if np.ndim(costs) == 2]
        n_right = shapes[0][1] if shapes else max(true.max(initial=0), found.max(initial=0)) + 1
        shape = len(true) // int(self.per_left), int(n_right)
        costs = self._cost_row(y, true, shape, "y")
        return float(costs[self._parts_of(found, shape[1])].sum() - costs[self._parts_of(true, shape[1])].sum())

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Yield all matchings that no forbidden pair excludes, for tests."""
        graph, R = read_sides(x, bool(self.unassigned), 0), int(self.per_left)
        mask, load = graph.mask().reshape(graph.shape), np.zeros(graph.n_right, np.int64)

        def extended(begun: list[tuple[int, ...]]) -> Iterator[list[Any]]:
            i = len(begun)
            if i == graph.n_left:
                yield [(chosen[0] if chosen else -1) if R == 1 else list(chosen) for chosen in begun]
                return
            free = np.flatnonzero((load < self.per_right) & ~mask[i]).tolist()
            for size in range(0 if self.unassigned else R, R + 1):
                for chosen in combinations(free, size):
                    load[list(chosen)] += 1
                    yield from extended([*begun, chosen])
                    load[list(chosen)] -= 1

        return extended([])


class BipartiteMatchingExamples(PartExamples):
    """Pairs of all graphs; the code of a matching is the right nodes of each left node, ascending, then −1.

    With non-assignment, the second block has one part for each left node, counted once for each missing right node.
    """

    def __init__(
        self,
        structure: BipartiteMatching,
        blocks: list[Block],
        code_offsets: IntArray,
        truths: list[CodeArray] | None,
        costs: list[FloatArray | float | None],
        settings: tuple[int, int, bool],
        n_right: IntArray,
    ) -> None:
        self.n_right = n_right
        per_left, _, unassigned = settings
        if unassigned and per_left > 1:  # parts that count more than once cannot be forced
            self.nested, self.deciding = True, (0,)
        super().__init__(structure, blocks, code_offsets, truths, costs, settings)

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        per_left, per_right, _ = map(int, self.settings)
        none = scores[1] if len(scores) > 1 else Scores(np.zeros(0), _NO_STARTS)
        kernels.best_matchings(ids, *scores[0], *none, self.code_offsets, per_left, per_right, codes)

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        room = int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        pair_ptr, none_ptr = np.zeros(len(ids) + 1, np.int64), np.zeros(len(ids) + 1, np.int64)
        pairs, nones, counts = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room)
        kernels.pairs_of_codes(
            ids, self.code_offsets, self.n_right, int(self.settings[0]), codes, pair_ptr, pairs, none_ptr, nones, counts
        )
        found = [counted_once(pair_ptr, pairs[: pair_ptr[-1]])]
        if len(self.blocks) > 1:
            found.append(Planes(none_ptr, nones[: none_ptr[-1]], counts[: none_ptr[-1]]))
        return found

    def polytope(self, example: int) -> Polytope:
        """Return R = Σ_k z_ik (+ missing ones) and Σ_i z_ik ≤ P: its vertices are whole, as graphs are bipartite."""
        per_left, per_right, unassigned = map(int, self.settings)
        n_left = int(self.code_offsets[example + 1] - self.code_offsets[example]) // per_left
        n_right = int(self.n_right[example])
        n_pairs, width = n_left * n_right, n_left * (n_right + unassigned)
        left, right = (side.ravel() for side in np.indices((n_left, n_right)))
        rows, columns = [left, n_left + right, np.arange(n_left * unassigned)], np.arange(width)
        A = entries(np.concatenate(rows), np.concatenate([columns[:n_pairs], columns]), 1.0, (n_left + n_right, width))
        upper = np.full(width, np.inf)
        if min(per_left, per_right) > 1:
            upper[:n_pairs] = 1.0
        low = np.concatenate([np.full(n_left, float(per_left)), np.full(n_right, -np.inf)])
        high = np.concatenate([np.full(n_left, float(per_left)), np.full(n_right, float(per_right))])
        return Polytope(A, low, high, 0.0, upper)

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {"n_right": self.n_right[ids]}

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), self.n_right
