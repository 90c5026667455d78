"""Bipartite matchings: which right nodes each left node is assigned to (Taskar et al. 2005, section 2).

Ψ(x, y) = Σ_{pairs of y} x[pair]        Δ(y, ŷ) = half the number of pairs that only one of y and ŷ has
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag, is_list, whole_number
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.ragged import Ragged
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import Polytope, entries
from maxmargin.core.scores import Scores
from maxmargin.core.structure import WeightTable
from maxmargin.core.sums import PERTURB
from maxmargin.features.decision_forms import SET, VECTOR, is_vector
from maxmargin.features.graphs.bipartite import NodeEncoder, PairEncoder, Sides, read_capacity, read_sides
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, costs_of, part_costs
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.parts.formed import MATRIX, PAIRS, PARTNERS, MatchedStructure, is_pairs, is_table
from maxmargin.structures.bipartite_matching import _jit

_NO_STARTS = np.zeros(1, np.int64)


class BipartiteMatching(MatchedStructure):
    """An assignment of left nodes to right nodes, by features of pairs.

    Each left node is assigned to `per_left` different right nodes, each right node receives at most `per_right` left
    nodes; both may differ from node to node. Each x holds a row of features for each pair of left node i and right node
    k: an array (n_left, n_right, d) with x[i, k], a list of n_left sparse matrices (n_right, d), or lists x[i][k] of
    dicts or lists of strings; or it is a `PairFeatures`, which may also have capacities of its nodes. Each y lists the
    right node of each left node, −1 for none; with ``per_left > 1`` it lists the right nodes of each left node. Or it
    is a list or set of pairs (left, right), a table of 0 and 1 of shape (n_left, n_right), or the same as a vector;
    predictions have the form of the training outputs.

    Or x is a graph of networkx whose nodes have the attribute ``bipartite`` (0: left, 1: right). Attributes of edges
    are features, other pairs are forbidden, other attributes of left nodes are features of unassigned nodes; pairs are
    named by their nodes.

    If some pairs are forbidden, x is a pair (features, allowed) with an array of bool of shape (n_left, n_right); in
    lists, None means a forbidden pair. The score of forbidden pairs is −∞.

    The loss is half the number of pairs that only one of y and ŷ has: the number of wrong pairs, if all left nodes are
    assigned. If single pairs have different costs, y is a `PartCosts` with costs of shape (n_left, n_right).

    Parameters
    ----------
    per_left : int or array of int of shape (n_left,), default=1
        Number of right nodes of each left node (R), the same for all or one number for each left node. In examples that
        have their own numbers (`PairFeatures`), the greatest one that is possible.
    per_right : int or array of int of shape (n_right,), default=1
        Maximum number of left nodes of each right node (P), the same for all or one number for each right node.
    unassigned : bool, default=False
        Whether a left node may have fewer than `per_left` right nodes. The score of each missing one is learnt: a
        weight, and if x is a triple (features, allowed, features of left nodes), where `allowed` may be None, also
        weights of these features.
    decision : {"auto", "partners", "pairs", "set", "matrix", "vector"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`, and raises an error if outputs have different forms or if
        several forms fit all of them.

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
    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope"})
    learns: ClassVar[dict[str, type]] = {"pairs_": PairEncoder, "unassigned_": NodeEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"pairs_": "pairs", "unassigned_": "unassigned"}

    def __init__(
        self, *, per_left: Any = 1, per_right: Any = 1, unassigned: bool = False, decision: str = "auto"
    ) -> None:
        self.per_left, self.per_right, self.unassigned, self.decision = per_left, per_right, unassigned, decision

    def check_parameters(self) -> None:
        super().check_parameters()
        for name in ("per_left", "per_right"):
            capacity = getattr(self, name)
            if not is_list(capacity):
                whole_number(capacity, name)
                continue
            numbers = np.asarray(capacity)
            if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.max(initial=0) < 1 or numbers.min() < 0:
                raise ValueError(
                    f"{name} must be an integer ≥ 1, or an array of integers ≥ 0 that are not all 0, found "
                    f"{capacity!r:.60}"
                )
        check_flag(self.unassigned, "unassigned")

    @property
    def _width(self) -> int:
        """Maximum number of right nodes of a left node."""
        return int(np.max(self.per_left))

    def _capacities(self, graph: Sides, where: Where) -> tuple[IntArray, IntArray]:
        """Return the capacities of the left and of the right nodes of a graph."""
        lefts, rights = (
            read_capacity(own if given is None else given, n_nodes, name, where)
            for name, own, given, n_nodes in (
                ("per_left", self.per_left, graph.per_left, graph.n_left),
                ("per_right", self.per_right, graph.per_right, graph.n_right),
            )
        )
        if lefts.max(initial=0) > self._width:
            raise error_at(
                where,
                f"per_left of left node {int(lefts.argmax())} is {lefts.max()}, but the structure has at most "
                f"per_left={self._width}; raise per_left of BipartiteMatching",
            )
        return lefts, rights

    def tables(self) -> dict[str, WeightTable]:
        tables = {"pairs": WeightTable(self.pairs_.column_names())}
        if self.unassigned:
            names = [f"unassigned, {name}" for name in self.unassigned_.column_names()]
            tables["unassigned"] = WeightTable([*names, "unassigned"])
        return tables

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> BipartiteMatchingExamples:
        graphs = [read_sides(x, bool(self.unassigned), i) for i, x in enumerate(X)]
        self.pairs_.n_rights = [int(graph.shape[1]) for graph in graphs]
        forbidden = None
        if any(graph.forbidden is not None for graph in graphs):
            forbidden = np.concatenate([graph.mask() for graph in graphs])
        capacities = [self._capacities(graph, Place("X", i)) for i, graph in enumerate(graphs)]
        for i, graph in enumerate(graphs):
            self._check_feasible(graph, *capacities[i], Place("X", i))
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
            if learn:
                self._recognise(
                    Y,
                    [graph.n_left * graph.n_right for graph in graphs],
                    lambda form, y, i: self._truth(y, form, graphs[i], *capacities[i], Place("Y", i)),
                    {
                        PARTNERS: lambda y, i: _is_partners(y, graphs[i].n_left),
                        PAIRS: lambda y, i: is_pairs(y) and not isinstance(y, Set) and graphs[i].n_left > 0,
                        SET: lambda y, i: isinstance(y, Set) and is_pairs(y),
                        MATRIX: lambda y, i: is_table(y, graphs[i].shape) and graphs[i].n_left > 0,
                        VECTOR: lambda y, i: is_vector(y, graphs[i].n_left * graphs[i].n_right) and len(y) > 0,
                    },
                )
            truths = [
                self._truth(y, self.form_, graph, *capacities[i], Place("Y", i))
                for i, (y, graph) in enumerate(zip(Y, graphs, strict=True))
            ]
            costs = self._costs(Y, truths, graphs)
        lefts, rights = (Ragged.of([own[side] for own in capacities], np.int64) for side in (0, 1))
        return BipartiteMatchingExamples(
            self,
            blocks,
            lefts.offsets * self._width,
            truths,
            [costs, None][: len(blocks)],
            (self._width, bool(self.unassigned)),
            Capacities(lefts, rights),
            [graph.names for graph in graphs],
        )

    def _check_feasible(self, graph: Sides, lefts: IntArray, rights: IntArray, where: Where) -> None:
        """Raise an error if the graph has no matching."""
        if self.unassigned or graph.n_left == 0:
            return
        n_left, n_right = graph.shape
        R, P, remedy = _shown(lefts), _shown(rights), "or set unassigned=True"
        if n_right < lefts.max():
            raise error_at(
                where, f"per_left={R} needs {lefts.max()} right nodes, found {n_right}; lower per_left {remedy}"
            )
        if lefts.sum() > rights.sum():
            raise error_at(
                where,
                f"{n_left} left nodes with per_left={R} need {lefts.sum()} places, but {n_right} right nodes with "
                f"per_right={P} have {rights.sum()}; raise per_right {remedy}",
            )
        if graph.forbidden is None and len(set(lefts.tolist())) == len(set(rights.tolist())) == 1:
            return
        scores = np.where(graph.mask(), -np.inf, 0.0).reshape(graph.shape)
        if not _jit.best_pairs(scores, np.full(n_left, -np.inf), lefts, rights, np.empty(graph.shape, bool)):
            raise error_at(
                where,
                f"the allowed pairs contain no matching with per_left={R} and per_right={P}; allow more pairs {remedy}",
            )

    def _truth(self, y: Any, form: str, graph: Sides, lefts: IntArray, rights: IntArray, where: Where) -> CodeArray:
        """Return the code of a true matching; raise an error if it does not fit its graph."""
        code, R = self._code(self._partners(y, form, graph, where), where), self._width
        if len(code) != graph.n_left * R:
            raise error_at(where, f"{len(code) // R} left nodes, expected {graph.n_left} as in X")
        if len(code) and code.max() >= graph.n_right:
            at = int(np.flatnonzero(code >= graph.n_right)[0])
            raise error_at(
                inside(where, f"left node {at // R}"),
                f"expected right nodes from 0 to {graph.n_right - 1}, found {code[at]}",
            )
        n_partners = np.count_nonzero(code.reshape(-1, R) >= 0, axis=1)
        wrong = np.flatnonzero((n_partners > lefts) | ((n_partners < lefts) & (not self.unassigned)))
        if len(wrong):
            v = int(wrong[0])
            exactly = "at most" if self.unassigned else "exactly"
            hint = "" if self.unassigned or n_partners[v] > lefts[v] else "; fewer need unassigned=True"
            raise error_at(
                inside(where, f"left node {v}"),
                f"expected {exactly} {lefts[v]} right nodes, found {n_partners[v]}{hint}",
            )
        load = np.bincount(code[code >= 0], minlength=graph.n_right)
        full = np.flatnonzero(load > rights)
        if len(full):
            k = int(full[0])
            raise error_at(where, f"right node {k} has {load[k]} left nodes, but per_right={rights[k]}")
        parts = self._parts_of(code, graph.n_right)
        blocked = parts[graph.mask()[parts]]
        if len(blocked):
            left, right = divmod(int(blocked[0]), graph.n_right)
            raise error_at(where, f"the pair ({left}, {right}) is forbidden by X")
        return code

    def _parts_of(self, code: CodeArray, n_right: int) -> IntArray:
        """Return the pairs of a matching, by their numbers."""
        at = np.flatnonzero(code >= 0)
        return at // self._width * n_right + code[at]

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
        return part_costs(costs_of(y, 0.5, 0.5), shape, self._parts_of(code, shape[1]), where, np.ravel)

    # ------------------------------------------------------------------ outputs

    def _partners(self, y: Any, form: str, graph: Sides, where: Where) -> Any:
        """Return the right nodes of each left node of an output in any form."""
        if form == PARTNERS:
            return costs_of(y).output
        pairs, shape = self.pairs_in(y, where, form), graph.shape
        if graph.names is not None and form in (PAIRS, SET):
            sides = [{name: v for v, name in enumerate(names)} for names in graph.names]
            for side, what, names in zip((0, 1), ("left", "right"), sides, strict=True):
                unknown = [pair[side] for pair in pairs if pair[side] not in names]
                if unknown:
                    raise error_at(where, f"expected pairs (left, right), found {unknown[0]!r:.40} as {what} node")
            pairs = [(sides[0][a], sides[1][b]) for a, b in pairs]
        if form == VECTOR:
            pairs = [divmod(p, max(shape[1], 1)) for p in pairs]
        partners: list[Any] = [[] for _ in range(shape[0])]
        for left, right in pairs:
            if not (isinstance(left, int | np.integer) and 0 <= left < shape[0]):
                raise error_at(where, f"expected left nodes from 0 to {shape[0] - 1}, found {left!r:.40}")
            partners[left].append(right)
        return partners

    def code_of(self, y: Any, where: Where) -> CodeArray:
        if self.form_ != PARTNERS:
            raise error_at(where, f"{self.described[self.form_]} have no code without their graph")
        return self._code(costs_of(y).output, where)

    def _code(self, y: Any, where: Where) -> CodeArray:
        if not is_list(y):
            raise error_at(where, f"expected the right node of each left node, found {y!r:.60}")
        code = np.full((len(y), self._width), -1, np.int32)
        for i, given in enumerate(y.tolist() if isinstance(y, np.ndarray) else y):
            rights = self._rights(given, inside(where, f"left node {i}"))
            code[i, : len(rights)] = rights
        return code.ravel()

    def _rights(self, given: Any, where: Where) -> list[int]:
        """Return the right nodes of a left node, in ascending order."""
        R = self._width
        if R == 1 and not is_list(given):
            given = [given]
        whole = is_list(given) and all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in given)
        if not whole or min(given, default=0) < -1:
            what = "a right node, an integer, or −1" if R == 1 else "a list of right nodes, integers"
            raise error_at(where, f"expected {what}, found {given!r:.60}")
        rights = sorted(int(k) for k in given if k >= 0)
        if len(set(rights)) < len(rights):
            raise error_at(where, f"the same right node twice: {rights!r:.60}")
        if len(rights) > R:
            exactly = "at most" if self.unassigned else "exactly"
            listed = (
                "; y has one for each left node, as the second array of scipy's linear_sum_assignment" if R == 1 else ""
            )
            raise error_at(where, f"expected {exactly} {R} right node{'s' * (R > 1)}, found {len(rights)}{listed}")
        return rights

    def output_of(self, code: CodeArray) -> list[Any]:
        if self._width == 1:
            rights: list[int] = code.tolist()
            return rights
        return [[k for k in row if k >= 0] for row in code.reshape(-1, self._width).tolist()]

    def written_code(self, code: CodeArray, shape: tuple[int, int], names: Any = None) -> Any:
        """Return the output that a code means in a graph of this shape."""
        if self.form_ == PARTNERS:
            return self.output_of(code)
        numbers = self._parts_of(code, shape[1])
        pairs = [divmod(p, shape[1]) for p in numbers.tolist()]
        return self.written_pairs(pairs, shape, lambda: (numbers, shape[0] * shape[1]), names)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return half the number of pairs that only y or only ŷ has, or their costs if y has costs."""
        if self.form_ != PARTNERS:
            return self.pair_loss(y, y_hat)
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(predicted):
            R = self._width
            raise ValueError(f"y has {len(true) // R} left nodes but y_hat has {len(predicted) // R}")
        given = costs_of(y)
        shapes = [np.shape(costs) for costs in (given.false, given.missed) if np.ndim(costs) == 2]
        n_right = shapes[0][1] if shapes else max(true.max(initial=0), predicted.max(initial=0)) + 1
        shape = len(true) // self._width, int(n_right)
        costs = self._cost_row(y, true, shape, "y")
        return float(costs[self._parts_of(predicted, shape[1])].sum() - costs[self._parts_of(true, shape[1])].sum())

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Yield all matchings that no forbidden pair excludes, for tests."""
        graph = read_sides(x, bool(self.unassigned), 0)
        (lefts, rights), R = self._capacities(graph, "x"), self._width
        mask, load = graph.mask().reshape(graph.shape), np.zeros(graph.n_right, np.int64)

        def extended(begun: list[tuple[int, ...]]) -> Iterator[list[Any]]:
            i = len(begun)
            if i == graph.n_left:
                code = np.full((graph.n_left, R), -1, np.int32)
                for left, chosen in enumerate(begun):
                    code[left, : len(chosen)] = chosen
                yield self.written_code(code.ravel(), graph.shape, graph.names)
                return
            free = np.flatnonzero((load < rights) & ~mask[i]).tolist()
            for size in range(0 if self.unassigned else lefts[i], lefts[i] + 1):
                for chosen in combinations(free, size):
                    load[list(chosen)] += 1
                    yield from extended([*begun, chosen])
                    load[list(chosen)] -= 1

        return extended([])


def _is_partners(y: Any, n_left: int) -> bool:
    """Return whether an output may list the right nodes of each left node."""
    if not is_list(y) or len(y) != n_left:
        return False
    return all(is_list(entry) or (isinstance(entry, int | np.integer) and not isinstance(entry, bool)) for entry in y)


def _shown(capacities: IntArray) -> str:
    """Return capacities in a message: one number if all are equal."""
    few = sorted(set(capacities.tolist()))
    return str(few[0]) if len(few) == 1 else f"{capacities.tolist()!r:.60}"


@dataclass(frozen=True)
class Capacities:
    """Capacities of the left and of the right nodes of all graphs."""

    lefts: Ragged
    rights: Ragged

    def take(self, ids: IntArray) -> Capacities:
        """Return the capacities of some graphs."""
        return Capacities(self.lefts.take(ids), self.rights.take(ids))

    def arrays(self) -> tuple[AnyArray, ...]:
        """Return the arrays, for fingerprints; left nodes follow from codes."""
        return self.lefts.values, self.rights.values, self.rights.lengths

    def of(self, example: int) -> tuple[IntArray, IntArray]:
        """Return the capacities of the left and of the right nodes of one graph."""
        return self.lefts[example], self.rights[example]


class BipartiteMatchingExamples(PartExamples):
    """Pairs of all graphs; the code of a matching is the right nodes of each left node, ascending, then −1.

    With non-assignment, the second block has one part for each left node, counted once for each missing right node.
    """

    data: ClassVar[dict[str, str]] = {"capacities": ""}
    derived: ClassVar[dict[str, str]] = {"names": ""}
    why_not_summable = f"the sum over all matchings is a permanent, which is #P-hard (Valiant 1979); {PERTURB}"

    def __init__(
        self,
        structure: BipartiteMatching,
        blocks: list[Block],
        code_offsets: IntArray,
        truths: list[CodeArray] | None,
        costs: list[FloatArray | float | None],
        settings: tuple[int, bool],
        capacities: Capacities,
        names: list[Any],
    ) -> None:
        self.capacities, self.names = capacities, names
        width, unassigned = settings
        if unassigned and width > 1:  # parts that count more than once cannot be forced
            self.nested, self.deciding, self.most_count = True, (0,), float(width)
        super().__init__(structure, blocks, code_offsets, truths, costs, settings)

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> None:
        none = scores[1] if len(scores) > 1 else Scores(np.zeros(0), _NO_STARTS)
        own = self.capacities
        _jit.best_matchings(
            ids, *scores[0], *none, self.code_offsets, int(self.settings[0]), own.lefts.values, own.lefts.offsets,
            own.rights.values, own.rights.offsets, codes,
        )  # fmt: skip

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        room = int((self.code_offsets[ids + 1] - self.code_offsets[ids]).sum())
        pair_ptr, none_ptr = np.zeros(len(ids) + 1, np.int64), np.zeros(len(ids) + 1, np.int64)
        pairs, nones, counts = np.empty(room, np.uint32), np.empty(room, np.uint32), np.empty(room)
        own = self.capacities
        _jit.pairs_of_codes(
            ids, self.code_offsets, own.lefts.values, own.lefts.offsets, own.rights.lengths, int(self.settings[0]),
            codes, pair_ptr, pairs, none_ptr, nones, counts,
        )  # fmt: skip
        counted = [counted_once(pair_ptr, pairs[: pair_ptr[-1]])]
        if len(self.blocks) > 1:
            counted.append(Planes(none_ptr, nones[: none_ptr[-1]], counts[: none_ptr[-1]]))
        return counted

    def forced_scores(self, scores: list[Scores]) -> list[FloatArray] | None:
        """Return the best totals of matchings with each pair, and with a missing right node of each left node."""
        lefts, rights = self.capacities.of(0)
        table = scores[0].values.reshape(len(lefts), len(rights))
        none = scores[1].values if len(scores) > 1 else np.full(len(lefts), -np.inf)
        pairs, nones = np.empty(table.shape), np.empty(len(lefts))
        if not _jit.best_with_pairs(table, none, lefts, rights, pairs, nones):
            return None
        return [pairs.ravel(), nones][: len(self.blocks)]

    def arranged(self, blocks: list[FloatArray]) -> Any:
        """Return "pairs" [left, right] and "unassigned", or the first alone if all left nodes are assigned."""
        pairs = blocks[0].reshape([len(side) for side in self.capacities.of(0)])
        return pairs if len(blocks) == 1 else {"pairs": pairs, "unassigned": blocks[1]}

    def polytope(self, example: int) -> Polytope:
        """Return R_i = Σ_k z_ik (+ missing ones) and Σ_i z_ik ≤ P_k; vertices are whole, as graphs are bipartite."""
        lefts, rights = self.capacities.of(example)
        n_left, n_right, unassigned = len(lefts), len(rights), int(self.settings[1])
        n_pairs, width = n_left * n_right, n_left * (n_right + unassigned)
        left, right = (side.ravel() for side in np.indices((n_left, n_right)))
        rows, columns = [left, n_left + right, np.arange(n_left * unassigned)], np.arange(width)
        A = entries(np.concatenate(rows), np.concatenate([columns[:n_pairs], columns]), 1.0, (n_left + n_right, width))
        upper = np.full(width, np.inf)
        if min(lefts.max(initial=0), rights.max(initial=0)) > 1:
            upper[:n_pairs] = 1.0
        low = np.concatenate([lefts.astype(float), np.full(n_right, -np.inf)])
        return Polytope(A, low, np.concatenate([lefts, rights]).astype(float), 0.0, upper)

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        lefts, rights = self.capacities.of(example)
        shape = len(lefts), len(rights)
        return self.structure.written_code(code, shape, self.names[example])
