"""Labels of the nodes of a graph, where edges reward equal labels: associative Markov networks (Taskar et al. 2004).

Ψ(x, y) = (Σ_v x_v ⊗ [y_v = k], Σ_{edges (i, j)} x_ij [y_i = y_j])        Δ(y, ŷ) = Σ_v cost(y_v, ŷ_v)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from maxmargin._base.checks import whole_number
from maxmargin._base.errors import Place, error_at
from maxmargin._base.ragged import ONLY, kept_offsets, offsets_among, places, spans
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.polytopes import Polytope, entries
from maxmargin.core.scores import Scores
from maxmargin.core.structure import StructureError, WeightTable
from maxmargin.core.sums import PERTURB
from maxmargin.features.graphs.graphs import Graphs
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.structures.cut import _jit
from maxmargin.structures.cut.ranking import LabelledGraph
from maxmargin.structures.node_labels import NodeLabelling


class Cut(NodeLabelling):
    """A label for each node of a graph, by features of nodes and of edges; edges reward equal labels.

    Each x is a tuple (nodes, edges), (nodes, edges, features) or (nodes, edges, features, allowed):

    - nodes: a row of features for each node, as an array (n, d), a sparse matrix, or a list of dicts or lists of
      strings; each node has weights for each label;
    - edges: integers of shape (m, 2), the two nodes of each edge;
    - features: a row of features ≥ 0 for each edge in the same forms, such as the similarity of two pixels; by default
      or if None, a single feature of value 1;
    - allowed: an array of bool of shape (n, K), in the order of the labels; the score of other labels is −∞.

    Or x is a graph of networkx, whose attributes of nodes and edges are features; (graph, allowed) if some labels are
    forbidden. Nodes and edges have the order of ``graph.nodes`` and ``graph.edges``; without attributes of edges, there
    is a single feature of value 1.

    Each y lists a label for each node, or is a dict of labels by node (by name, in graphs of networkx); predictions
    have the form of the training outputs. If single nodes have different costs, y is a `PartCosts` with costs of shape
    (n, K) of giving a node a wrong label; a node whose costs are all 0 does not count.

    Two labels: argmaxes are exact, by a minimum cut (Boykov and Kolmogorov 2004). This requires that edges never reward
    different labels: their features and weights must be ≥ 0. More labels: argmaxes are found by α-expansion (Boykov,
    Veksler and Zabih 2001) and are not exact; an upper bound on the maximum keeps certificates valid
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
    decision : {"auto", "labels", "dict"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.array([[1.0], [0.2], [-0.1], [-1.0]]), [(0, 1), (1, 2), (2, 3)]
    >>> model = mm.StructuralSVM(mm.Cut(), C=10.0).fit([x], [["in", "in", "out", "out"]])
    >>> model.predict([x])
    [['in', 'in', 'out', 'out']]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope"})

    def __init__(
        self,
        *,
        cost: Any = "hamming",
        fit_intercept: bool = True,
        classes: Any = None,
        bound_steps: int = 10,
        decision: str = "auto",
    ) -> None:
        self.cost, self.fit_intercept, self.classes, self.bound_steps = cost, fit_intercept, classes, bound_steps
        self.decision = decision

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether argmaxes are exact: with two labels."""
        return not hasattr(self, "labels_") or len(self.labels_) == 2

    def check_parameters(self) -> None:
        super().check_parameters()
        whole_number(self.bound_steps, "bound_steps", 0)

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> CutExamples:
        read = self._read_graphs(X, Y, learn)
        self._check_not_negative(read.edge_matrix, read.graphs.offsets)
        edges = Block(read.edge_matrix, read.graphs.offsets)
        return CutExamples(self, read.nodes, edges, read.graphs, read.truths, read.costs, read.names)

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

    # ------------------------------------------------------------------ weights and saving

    def tables(self) -> dict[str, WeightTable]:
        return {
            "nodes": WeightTable(self._node_columns(), [str(label) for label in self.labels_.values]),
            "edges": WeightTable([f"agree: {name}" for name in self.edges_.column_names()]),
        }

    def check_weights(self, w: FloatArray) -> None:
        lowest = self.split_weights(w)["edges"].min(initial=0.0)
        if lowest < 0:
            raise ValueError(f"a weight of edges is {lowest:g}, but rewards of agreement must be ≥ 0")


class CutExamples(PartExamples):
    """Nodes and edges of all graphs; the code of a labelling is the label of each node.

    Parts are nodes with labels, and edges that join equal labels.
    """

    data: ClassVar[dict[str, str]] = {"graphs": ""}
    derived: ClassVar[dict[str, str]] = {"names": ""}

    deciding = (0,)
    why_not_summable = (
        "the sum over all labellings of a graph is the partition function of an Ising or Potts model, which is #P-hard "
        f"(Jerrum and Sinclair 1993); use Chain for sequences; for other graphs {PERTURB}"
    )
    perturbable = (0,)  # edges must reward agreement

    def __init__(
        self,
        structure: Cut,
        nodes: Block,
        edges: Block,
        graphs: Graphs,
        truths: Any,
        costs: FloatArray | None,
        names: list[list[Any] | None],
    ) -> None:
        self.graphs, self.names = graphs, names
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
        wrong = _jit.best_labels(
            ids, *scores[0], *scores[1], graphs.edges, graphs.offsets, self.code_offsets, n_labels,
            steps if self.known else 0, codes, upper,
        )  # fmt: skip
        if wrong >= 0:
            raise StructureError.at(
                Place("X", ids[wrong]), "an edge rewards different labels, which a cut cannot do; keep its weights ≥ 0"
            )
        return upper if self.bounded else None

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        nodes, starts = (offsets_among(ids, offsets) for offsets in (self.code_offsets, self.graphs.offsets))
        labelled = places(nodes) * int(self.settings[0]) + codes[spans(ids, self.code_offsets)]
        agree = np.empty(starts[-1], bool)
        _jit.mark_agreements(
            ids, self.graphs.edges, self.graphs.offsets, self.code_offsets, codes, starts, agree
        )  # fmt: skip
        agreeing = counted_once(kept_offsets(agree, starts), places(starts)[agree])
        return [counted_once(nodes, labelled), agreeing]

    def forced_scores(self, scores: list[Scores]) -> list[FloatArray] | None:
        """Return the best totals with each label of each node, and with each edge that joins equal labels.

        With more than two labels they are lower bounds.
        """
        graph, own = self._single_graph(scores)
        region = graph.best_region(own)
        return None if region is None else [region.nodes.ravel(), region.edges]

    def ranked(self, scores: list[Scores], scale: float) -> Iterator[tuple[CodeArray, float]]:
        """Yield the codes of all labellings, by max-marginals instead of one cut for each node."""
        graph, own = self._single_graph(self.augmented(scores, ONLY, np.full(1, scale)))
        return graph.ranked(own)

    def _single_graph(self, scores: list[Scores]) -> tuple[LabelledGraph, FloatArray]:
        """Return the graph of a single example, and the scores of the labels of its nodes."""
        n_labels = int(self.settings[0])
        return LabelledGraph(self.graphs.edges, scores[1].values, n_labels), scores[0].values.reshape(-1, n_labels)

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        return self.structure.written(code, self.names[example])
