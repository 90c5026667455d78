"""Labels of the nodes of a graph, with any scores of pairs of labels (Markov random fields).

Ψ(x, y) = (Σ_v x_v ⊗ [y_v = k], Σ_{edges (i, j)} x_ij ⊗ [(y_i, y_j) in class c])        Δ(y, ŷ) = Σ_v cost(y_v, ŷ_v)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import choice, whole_number
from maxmargin._base.errors import Place, error_at
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.structure import WeightTable
from maxmargin.features.rows.labels import Labels
from maxmargin.parts.blocks import Block
from maxmargin.structures.graph.examples import INFERENCE, GraphExamples
from maxmargin.structures.graph.relaxed import RelaxedGraphExamples
from maxmargin.structures.node_labels import NodeLabelling

#: Kinds of pairs that have weights of their own.
PAIRS = ("full", "symmetric", "diagonal", "potts")


class Graph(NodeLabelling):
    """A label for each node of a graph, by features of nodes and of edges; any pairs of labels may be rewarded.

    Each x is a tuple (nodes, edges), (nodes, edges, features) or (nodes, edges, features, allowed):

    - nodes: a row of features for each node, as an array (n, d), a sparse matrix, or a list of dicts or lists of
      strings; each node has weights for each label;
    - edges: integers of shape (m, 2), the two nodes of each edge; parallel edges add up;
    - features: a row of features for each edge in the same forms; by default or if None, a single feature of value 1.
      Edges of several types have features of their own, as dicts or by columns that are 0 for other types;
    - allowed: an array of bool of shape (n, K), in the order of the labels; the score of other labels is −∞. Nodes of
      several types have labels of their own by it.

    Or x is a graph of networkx, whose attributes of nodes and edges are features; (graph, allowed) if some labels are
    forbidden. Nodes and edges have the order of ``graph.nodes`` and ``graph.edges``; without attributes of edges, there
    is a single feature of value 1.

    Each y lists a label for each node, or is a dict of labels by node (by name, in graphs of networkx); predictions
    have the form of the training outputs. If single nodes have different costs, y is a `PartCosts` with costs of shape
    (n, K) of giving a node a wrong label; a node whose costs are all 0 does not count.

    Argmaxes of forests and of graphs of small treewidth are exact, by elimination of nodes (Dechter 1999). For other
    graphs they may not be, and an upper bound on the maximum keeps certificates valid (`Certificate.primal_bound`): two
    labels have a minimum cut or roof duality (Hammer et al. 1984), more labels sequential tree-reweighted messages
    (Kolmogorov 2006), both closed by branch and bound as far as `branches` allows. `Cut` is for edges that only reward
    equal labels.

    Parameters
    ----------
    pairs : {"full", "symmetric", "diagonal", "potts"}, default="full"
        Which pairs of labels have weights for each feature of edges: all K² pairs, where the order of the nodes of an
        edge matters; pairs without an order; equal labels, with weights for each label; or equal labels with one
        weight.
    forbidden : sequence of pairs, optional
        Pairs of labels (first node, second node) that no edge may have; in both orders unless ``pairs="full"``.
    inference : {"auto", "exact", "trws", "expansion", "milp"}, default="auto"
        The argmax: chosen by the graph; elimination of nodes (an error for graphs whose tables would be too large);
        tree-reweighted messages; these, improved by expansions of single labels (Boykov, Veksler and Zabih 2001); or
        mixed-integer programs by HiGHS, which take long.
    sweeps : int, default=20
        Messages: maximum number of sweeps over a graph, each in both directions.
    branches : int, default=50
        Messages: maximum number of further sweeps for branch and bound, if the bound is not attained.
    relaxed : bool or "auto", default="auto"
        Whether to train on a relaxation of graphs whose argmaxes are not exact: answers may give a node two labels by
        half. The relaxation bounds the objective from above, so weights cannot drift to where argmaxes miss outputs
        (Finley and Joachims 2008); the certificate reports its lower bound as `relaxation`. "auto" relaxes two labels,
        where the relaxation is solved exactly. Predictions are labels in any case.
    cost : str, array of shape (K, K) or dict, default="hamming"
        The loss: ``"hamming"`` (number of wrong labels), ``"hamming-share"`` (fraction of wrong labels), a cost matrix
        per node (rows: true labels), or a dict of costs by true label (default 1).
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for every node.
    classes : sequence, optional
        All labels in order, in case some do not occur in the training data; by default the labels of the data, sorted.
    decision : {"auto", "labels", "dict"}, default="auto"
        The form of outputs; "auto" recognises it in `fit`.

    Examples
    --------
    Neighbours that differ, which a cut cannot learn:

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> x = np.array([[1.0], [0.0], [0.0], [0.0]]), [(0, 1), (1, 2), (2, 3), (3, 0)]
    >>> model = mm.StructuralSVM(mm.Graph(), C=10.0).fit([x], [["a", "b", "a", "b"]])
    >>> model.predict([(np.array([[0.0], [1.0], [0.0], [0.0]]), x[1])])
    [['b', 'a', 'b', 'a']]
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"topk", "max_marginals", "polytope", "sums"})

    def __init__(
        self,
        *,
        pairs: str = "full",
        forbidden: Any = None,
        inference: str = "auto",
        sweeps: int = 20,
        branches: int = 50,
        relaxed: bool | str = "auto",
        cost: Any = "hamming",
        fit_intercept: bool = True,
        classes: Any = None,
        decision: str = "auto",
    ) -> None:
        self.pairs, self.forbidden, self.inference = pairs, forbidden, inference
        self.sweeps, self.branches, self.relaxed = sweeps, branches, relaxed
        self.cost, self.fit_intercept, self.classes, self.decision = cost, fit_intercept, classes, decision

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether argmaxes of all graphs are exact; otherwise those of forests are."""
        return bool(self.inference == "exact")

    def check_parameters(self) -> None:
        super().check_parameters()
        choice(*PAIRS)(self.pairs, "pairs")
        choice(*INFERENCE)(self.inference, "inference")
        choice("auto", True, False)(self.relaxed, "relaxed")
        whole_number(self.sweeps, "sweeps")
        whole_number(self.branches, "branches", 0)

    # ------------------------------------------------------------------ data

    def _encoded(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> GraphExamples:
        examples = GraphExamples(self, *self._blocks(X, Y, learn))
        wanted = len(self.labels_) == 2 and self.inference == "auto" if self.relaxed == "auto" else self.relaxed
        return RelaxedGraphExamples(examples) if learn and wanted and not examples.exact else examples

    def _blocks(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> tuple[Any, ...]:
        """Return features of nodes and edges, graphs, true labels, costs and names of nodes."""
        read = self._read_graphs(X, Y, learn)
        if read.truths is not None and self.forbidden_.any():
            self._check_pairs(read.truths, read.graphs)
        edges = Block(read.edge_matrix, read.graphs.offsets, len(self._pair_names()))
        return read.nodes, edges, read.graphs, read.truths, read.costs, read.names

    def _set_labels(self, labels: Labels) -> None:
        super()._set_labels(labels)
        size = len(labels)
        self.classes_of_pairs_, self.forbidden_ = pair_classes(self.pairs, size), np.zeros((size, size), bool)
        for pair in [] if self.forbidden is None else list(self.forbidden):
            known = [labels.codes.get(label) for label in pair] if isinstance(pair, tuple | list) else []
            if len(known) != 2 or None in known:
                raise ValueError(
                    f"forbidden must list pairs of labels, found {pair!r:.60}; the labels are {labels.values!r:.100}"
                )
            a, b = known
            self.forbidden_[a, b] = True
            if self.pairs != "full":
                self.forbidden_[b, a] = True

    def _check_pairs(self, truths: list[CodeArray], graphs: Any) -> None:
        """Raise ValueError if a true labelling has a forbidden pair of labels."""
        for i, code in enumerate(truths):
            edges = graphs.edges[graphs.offsets[i] : graphs.offsets[i + 1]]
            known = (code[edges] >= 0).all(axis=1)
            wrong = np.flatnonzero(self.forbidden_[code[edges[:, 0]], code[edges[:, 1]]] & known)
            if len(wrong):
                a, b = edges[wrong[0]].tolist()
                labels = self.labels_.values[code[a]], self.labels_.values[code[b]]
                raise error_at(Place("Y", i), f"nodes {a} and {b} have the labels {labels}, a forbidden pair")

    def _pairs_allowed(self, code: CodeArray, edges: IntArray) -> bool:
        return not self.forbidden_[code[edges[:, 0]], code[edges[:, 1]]].any()

    def log_partition_bound(self, w: FloatArray, x: Any) -> float:
        """Return an upper bound on log Σ_ŷ exp(w·Ψ(x, ŷ)), the log-partition of one graph.

        It is the log-partition itself for graphs that elimination solves, and otherwise a tree-reweighted bound
        (Wainwright, Jaakkola and Willsky 2005); no probabilities follow from it.

        Parameters
        ----------
        w : ndarray of shape (n_weights,)
            The weights.
        x : tuple or networkx graph
            One input.

        Returns
        -------
        float
            The bound; −∞ if the graph has no labelling.
        """
        examples, ids, w = self.encode([x]), np.zeros(1, np.int64), np.asarray(w, float)
        if w.shape != (examples.dim,) or not np.isfinite(w).all():
            raise ValueError(f"w must be {examples.dim} finite numbers, found {w!r:.60}")
        return float(examples.log_partition_bounds(examples.scores(w, ids), ids)[0])

    # ------------------------------------------------------------------ weights

    def _pair_names(self) -> list[str]:
        """Return the name of each class of label pairs."""
        labels = [str(label) for label in self.labels_.values]
        if self.pairs == "potts":
            return ["equal"]
        names = [""] * (int(self.classes_of_pairs_.max()) + 1)
        for a in reversed(range(len(labels))):
            for b in reversed(range(len(labels))):
                if self.classes_of_pairs_[a, b] >= 0:
                    names[self.classes_of_pairs_[a, b]] = f"({labels[a]}, {labels[b]})"
        return names

    def tables(self) -> dict[str, WeightTable]:
        names = self._pair_names()
        columns = self.edges_.column_names()
        edges = WeightTable([f"equal: {c}" for c in columns]) if len(names) == 1 else WeightTable(columns, names)
        nodes = WeightTable(self._node_columns(), [str(label) for label in self.labels_.values])
        return {"nodes": nodes, "edges": edges}

    def arranged(self, blocks: list[FloatArray]) -> FloatArray:
        """Return numbers of labels of nodes as an array (n, K)."""
        return blocks[0].reshape(-1, len(self.labels_))


def pair_classes(pairs: str, n_labels: int) -> AnyArray:
    """Return the class of each pair of labels, −1 for pairs without weights."""
    a, b = np.indices((n_labels, n_labels))
    if pairs == "full":
        return a * n_labels + b
    if pairs == "symmetric":
        low, high = np.minimum(a, b), np.maximum(a, b)
        return low * n_labels - low * (low - 1) // 2 + high - low
    return np.where(a == b, a if pairs == "diagonal" else 0, -1)
