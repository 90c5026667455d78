"""Labels of the nodes of a graph, where edges reward equal labels: associative Markov networks (Taskar et al. 2004).

Ψ(x, y) = (Σ_v x_v ⊗ [y_v = k], Σ_{edges (i, j)} x_ij [y_i = y_j])        Δ(y, ŷ) = Σ_v cost(y_v, ŷ_v)
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from maxmargin._checked import check_flag, whole_number
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.codes import spans
from maxmargin.core.errors import Place, Where, error_at, inside
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import Polytope, entries
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError
from maxmargin.encoding.costs import check_costs, cost_matrix
from maxmargin.encoding.graphs import EdgeEncoder, Graphs, NodeEncoder, check_row_counts, read_allowed, read_edges
from maxmargin.encoding.labels import Labels, distinct_labels, named_classes
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, cost_table
from maxmargin.parts.examples import Part, PartExamples, counted_once
from maxmargin.parts.structure import PartStructure, WeightTable
from maxmargin.structures.chain.structure import label_sequence
from maxmargin.structures.cut import _kernels as kernels


class Cut(PartStructure):
    """A label for each node of a graph, by features of nodes and of edges; edges reward equal labels.

    Each x is a tuple (nodes, edges), (nodes, edges, features) or (nodes, edges, features, allowed):

    - nodes: a row of features for each node, as an array (n, d), a sparse matrix, or a list of dicts or lists of
      strings; each node has weights for each label;
    - edges: whole numbers of shape (m, 2), the two nodes of each edge;
    - features: a row of features ≥ 0 for each edge in the same forms, such as the similarity of two pixels; by default
      or if None, a single feature of value 1;
    - allowed: an array of bool of shape (n, K), in the order of the labels; the score of other labels is −∞.

    Each y lists a label for each node. If single nodes have different costs, y is a `PartCosts` with costs of shape (n,
    K) of giving a node a wrong label; a node whose costs are all 0 does not count.

    Two labels: argmaxes are exact, by a minimum cut (Boykov and Kolmogorov 2004). This requires that edges never reward
    different labels, so that edges have features ≥ 0 and weights ≥ 0. More labels: argmaxes are found by α-expansion
    (Boykov, Veksler and Zabih 2001) and are not exact; an upper bound of the maximum keeps certificates valid
    (`Certificate.primal_bound`).

    Parameters
    ----------
    cost : str, array of shape (K, K) or dict, default="hamming"
        The loss: ``"hamming"`` (number of wrong labels), ``"hamming-share"`` (fraction of wrong labels), a cost matrix
        per node (rows: true labels), or a dict of costs by true label (default 1).
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for every node.
    classes : sequence, optional
        All labels in order, in case some do not occur in the training data; by default the labels of the data, sorted.
    bound_steps : int, default=10
        More than two labels: number of steps that lower the upper bound; each takes K cuts.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.array([[1.0], [0.2], [-0.1], [-1.0]]), [(0, 1), (1, 2), (2, 3)]
    >>> model = mm.StructuralSVM(mm.Cut(), C=10.0).fit([x], [["in", "in", "out", "out"]])
    >>> model.predict([x])
    [['in', 'in', 'out', 'out']]
    """

    output_name: ClassVar[str] = "labelling"
    learns: ClassVar[dict[str, type]] = {"nodes_": NodeEncoder, "edges_": EdgeEncoder}
    kernel_rows: ClassVar[tuple[str, ...]] = ("nodes_",)
    #: Named costs.
    cost_names: ClassVar[tuple[str, ...]] = ("hamming", "hamming-share")

    def __init__(
        self, *, cost: Any = "hamming", fit_intercept: bool = True, classes: Any = None, bound_steps: int = 10
    ) -> None:
        self.cost, self.fit_intercept, self.classes, self.bound_steps = cost, fit_intercept, classes, bound_steps

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether argmaxes are exact: with two labels."""
        return not hasattr(self, "labels_") or len(self.labels_) == 2

    def check_parameters(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        check_costs(self.cost, self.cost_names, "cost")
        whole_number(self.bound_steps, "bound_steps", 0)

    # ------------------------------------------------------------------ data

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> PartExamples:
        self._set_labels(Labels(_distinct(Y)) if self.classes is None else named_classes(self.classes))
        return super().fit_encode(X, Y)

    def _set_labels(self, labels: Labels) -> None:
        if len(labels) < 2:
            raise ValueError(f"expected at least two classes, found one class: {labels.values}")
        self.labels_, self.costs_ = labels, cost_matrix(self.cost, labels)

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> CutExamples:
        inputs = [_read(x, Place("X", i)) for i, x in enumerate(X)]
        nodes = [x.nodes for x in inputs]
        matrix, offsets = self.nodes_.fit(nodes) if learn else self.nodes_.encode(nodes)
        sizes = np.diff(offsets).tolist()
        if 0 in sizes:
            raise error_at(Place("X", sizes.index(0)), "expected at least one node, found none")
        edges = [read_edges(x.edges, Place("X", i), n) for i, (x, n) in enumerate(zip(inputs, sizes, strict=True))]
        rows = [np.ones((len(e), 1)) if x.features is None else x.features for x, e in zip(inputs, edges, strict=True)]
        edge_matrix, edge_offsets = self.edges_.fit(rows) if learn else self.edges_.encode(rows)
        graphs = Graphs.joined(edges, sizes)
        check_row_counts(edge_offsets, np.diff(graphs.offsets), "edge", "edges")
        self._check_not_negative(edge_matrix, edge_offsets)
        masks = None
        if any(x.allowed is not None for x in inputs):
            masks = [
                self._mask(x.allowed, n, Place("X", i)) for i, (x, n) in enumerate(zip(inputs, sizes, strict=True))
            ]
        truths, costs = None, None
        if Y is not None:
            truths = [self._truth(y, n, Place("Y", i)) for i, (y, n) in enumerate(zip(Y, sizes, strict=True))]
            if masks is not None:
                self._check_allowed(truths, masks)
            tables = [
                self._cost_table(y, code, Place("Y", i)) for i, (y, code) in enumerate(zip(Y, truths, strict=True))
            ]
            costs = np.concatenate([*(table.ravel() for table in tables), np.zeros(0)])
        forbidden = None if masks is None else np.concatenate([~mask.ravel() for mask in masks])
        node_block = Block(matrix, offsets, len(self.labels_), bool(self.fit_intercept), forbidden)
        return CutExamples(self, node_block, Block(edge_matrix, edge_offsets), graphs, truths, costs)

    def _check_not_negative(self, matrix: Any, offsets: IntArray) -> None:
        """Raise ValueError if a feature of an edge is negative."""
        values = matrix.data if hasattr(matrix, "indptr") else matrix
        if values.size and values.min() < 0:
            dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
            row = int(np.flatnonzero((dense < 0).any(axis=1))[0])
            raise error_at(
                self.edges_._row_name(row, offsets),
                f"a feature is {dense[row].min():g}, but features of edges must be ≥ 0, as edges reward equal labels",
            )

    def _mask(self, allowed: Any, n: int, where: Where) -> AnyArray:
        shape = (n, len(self.labels_))
        if allowed is None:
            return np.ones(shape, bool)
        mask = read_allowed(allowed, shape, "labels", where)
        without = np.flatnonzero(~mask.any(axis=1))
        if len(without):
            raise error_at(where, f"node {without[0]} has no allowed label")
        return mask

    def _check_allowed(self, truths: list[CodeArray], masks: list[AnyArray]) -> None:
        for i, (code, mask) in enumerate(zip(truths, masks, strict=True)):
            wrong = np.flatnonzero(~mask[np.arange(len(code)), code])
            if len(wrong):
                label = self.labels_.values[code[wrong[0]]]
                raise error_at(Place("Y", i, f", node {wrong[0]}"), f"the label {label!r} is forbidden by X")

    def _truth(self, y: Any, n: int, where: Place) -> CodeArray:
        code = self.code_of(y, where)
        if len(code) != n:
            raise error_at(Place("X", where.example), f"{n} rows of node features but {len(code)} labels")
        return code

    def _cost_table(self, y: Any, code: CodeArray, where: Where) -> FloatArray:
        """Return l of every node and label."""
        if not isinstance(y, PartCosts):
            share = isinstance(self.cost, str) and self.cost == "hamming-share"
            return self.costs_[code] / (max(len(code), 1) if share else 1)
        shape, nodes = (len(code), len(self.labels_)), np.arange(len(code))
        costs = cost_table(y.false, shape, "false", where).copy()
        costs[nodes, code] = -cost_table(y.missed, shape, "missed", where)[nodes, code]
        return costs

    # ------------------------------------------------------------------ outputs

    def code_of(self, y: Any, where: Where) -> CodeArray:
        labels = y.output if isinstance(y, PartCosts) else y
        return self.labels_.encode(label_sequence(labels, where), lambda v: inside(where, f"node {v}"))

    def output_of(self, code: CodeArray) -> list[Any]:
        return self.labels_.decode(code)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the cost of all wrong labels."""
        true, found = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(found):
            raise ValueError(f"y has {len(true)} labels but y_hat has {len(found)}")
        costs, nodes = self._cost_table(y, true, "y"), np.arange(len(true))
        return float((costs[nodes, found] - costs[nodes, true]).sum())

    def enumerate(self, x: Any) -> Iterator[list[Any]]:
        """Yield all allowed labellings, up to Kⁿ of them, for tests."""
        examples = self.encode([x])
        n, size = int(examples.code_offsets[-1]), len(self.labels_)
        forbidden = examples.blocks[0].forbidden
        mask = np.ones((n, size), bool) if forbidden is None else ~forbidden.reshape(n, size)
        values = self.labels_.values
        return map(list, product(*([values[k] for k in np.flatnonzero(row)] for row in mask)))

    # ------------------------------------------------------------------ weights and saving

    def tables(self) -> dict[str, WeightTable]:
        columns = [*self.nodes_.column_names(), *["intercept"] * bool(self.fit_intercept)]
        return {
            "nodes": WeightTable(columns, [str(label) for label in self.labels_.values]),
            "edges": WeightTable([f"agree: {name}" for name in self.edges_.column_names()]),
        }

    def _learnt(self) -> dict[str, Any]:
        return {"labels": self.labels_.get_state(), **super()._learnt()}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_labels(Labels.from_state(learnt["labels"]))
        super()._set_learnt(learnt)


def _distinct(Y: Sequence[Any]) -> Iterator[Any]:
    """Yield the distinct labels of each output."""
    for i, y in enumerate(Y):
        place = Place("Y", i)
        labels = label_sequence(y.output if isinstance(y, PartCosts) else y, place)
        yield from distinct_labels(labels, lambda v, place=place: inside(place, f"node {v}"))  # type: ignore[misc]


class _Input(NamedTuple):
    """One input, as it was given."""

    nodes: Any
    edges: Any
    features: Any = None
    allowed: Any = None


def _read(x: Any, where: Where) -> _Input:
    if not isinstance(x, tuple | list) or not 2 <= len(x) <= 4:
        found = f"{type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else type(x).__name__
        raise error_at(where, f"expected (nodes, edges[, features[, allowed]]), found {found}")
    return _Input(*x)


class CutExamples(PartExamples):
    """Nodes and edges of all graphs; the code of a labelling is the label of each node.

    Parts are nodes with labels, and edges that join equal labels.
    """

    deciding = (0,)

    def __init__(
        self, structure: Cut, nodes: Block, edges: Block, graphs: Graphs, truths: Any, costs: FloatArray | None
    ) -> None:
        self.graphs = graphs
        n_labels = nodes.n_outputs
        self.exact, self.bounded = n_labels == 2, n_labels > 2
        steps = float(structure.bound_steps) if n_labels > 2 else 0.0
        assert nodes.offsets is not None
        super().__init__(structure, [nodes, edges], nodes.offsets, truths, [costs, None], (float(n_labels), steps))
        self.lower = np.concatenate([np.full(nodes.dim, -np.inf), np.zeros(edges.dim)])
        cuts = 1.0 if n_labels == 2 else n_labels * (3.0 + steps)
        self.operations += 100.0 * cuts * (len(graphs.edges) + float(self.code_offsets[-1]))
        self.smallest_chunk = None if len(graphs.edges) < 1000 * self.n_examples else 1
        self.integral = n_labels == 2 or all(self._is_forest(i) for i in range(self.n_examples))

    def _is_forest(self, example: int) -> bool:
        """Return whether the graph of an example has no cycles."""
        edges = self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])]
        n = int(self.graphs.n_nodes[example])
        joined = entries(edges[:, 0], edges[:, 1], 1.0, (n, n))
        n_trees, _ = sp.csgraph.connected_components(joined, directed=False)
        return bool(len(edges) == n - n_trees)

    def polytope(self, example: int) -> Polytope:
        """Return one label for each node, and agreements z_e ≤ Σ_k q_ek, q_ek ≤ z_ik, q_ek ≤ z_jk of edges.

        As edges only reward agreement, its linear programs have the same maxima as cuts with two labels, and with more
        labels if graphs have no cycles (Taskar et al. 2004); otherwise they are upper bounds.
        """
        edges = self.graphs.edges[slice(*self.graphs.offsets[example : example + 2])]
        K, n, m = int(self.settings[0]), int(self.graphs.n_nodes[example]), len(edges)
        nodes, width = n * K, n * K + m + m * K
        one, agree = np.repeat(np.arange(n), K), nodes + np.arange(m)
        both = nodes + m + np.arange(m * K)
        labels = entries(one, np.arange(nodes), 1.0, (n, width))
        rewards = entries(
            np.concatenate([np.arange(m), np.repeat(np.arange(m), K)]), np.concatenate([agree, both]),
            np.repeat([1.0, -1.0], [m, m * K]), (m, width),
        )  # fmt: skip
        within = [
            entries(
                np.tile(np.arange(m * K), 2), np.concatenate([both, (end[:, None] * K + np.arange(K)).ravel()]),
                np.repeat([1.0, -1.0], m * K), (m * K, width),
            )
            for end in edges.T
        ]  # fmt: skip
        high = np.concatenate([np.ones(n), np.zeros(m + 2 * m * K)])
        low = np.concatenate([np.ones(n), np.zeros(m), np.full(2 * m * K, -np.inf)])
        return Polytope(sp.csr_array(sp.vstack([labels, rewards, *within])), low, high)

    def _most_parts(self) -> list[IntArray]:
        return [np.diff(self.code_offsets), np.diff(self.graphs.offsets)]

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> FloatArray | None:
        n_labels, steps = (int(number) for number in self.settings)
        upper, graphs = np.zeros(len(ids)), self.graphs
        wrong = kernels.best_labels(
            ids, *scores[0], *scores[1], graphs.edges, graphs.offsets, self.code_offsets, n_labels,
            steps if self.known else 0, codes, upper,
        )  # fmt: skip
        if wrong >= 0:
            raise StructureError.at(
                Place("X", ids[wrong]), "an edge rewards different labels, which a cut cannot do; keep its weights ≥ 0"
            )
        return upper if self.bounded else None

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        lengths, joins = (offsets[ids + 1] - offsets[ids] for offsets in (self.code_offsets, self.graphs.offsets))
        indptr, starts = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (lengths, joins))
        node = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
        labelled = node * int(self.settings[0]) + codes[spans(ids, self.code_offsets)]
        agree = np.empty(starts[-1], bool)
        kernels.mark_agreements(
            ids, self.graphs.edges, self.graphs.offsets, self.code_offsets, codes, starts, agree
        )  # fmt: skip
        edge, used = np.arange(starts[-1]) - np.repeat(starts[:-1], joins), np.concatenate([[0], np.cumsum(agree)])
        return [counted_once(indptr, labelled), counted_once(used[starts], edge[agree])]

    def restricted(self, scores: list[Scores], forced: Collection[Part], forbidden: Collection[Part]) -> list[Scores]:
        """Forbid the other labels of nodes with a forced label."""
        n_labels = int(self.settings[0])
        changed = scores[0].values.copy().reshape(-1, n_labels)
        for _, p in forced:
            kept = changed[p // n_labels, p % n_labels]
            changed[p // n_labels] = -np.inf
            changed[p // n_labels, p % n_labels] = kept
        changed.reshape(-1)[[p for _, p in forbidden]] = -np.inf
        return [Scores(changed.reshape(-1), scores[0].starts), scores[1]]

    def _taken(self, ids: IntArray) -> dict[str, Any]:
        return {"graphs": self.graphs.take(ids)}

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return *super().digest_arrays(), *self.graphs.arrays()
