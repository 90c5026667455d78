"""Base of structures that give each node of a graph a label: inputs, labels, costs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._base.checks import check_flag
from maxmargin._base.errors import Place, Where, error_at, inside
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.features.graphs.graphs import (
    EdgeEncoder,
    Graphs,
    NodeEncoder,
    check_row_counts,
    read_allowed,
    read_edges,
)
from maxmargin.features.graphs.networkx_graphs import is_networkx, read_networkx
from maxmargin.features.rows.labels import Labels, check_costs, cost_matrix, distinct_labels, named_classes
from maxmargin.parts.blocks import Block
from maxmargin.parts.costs import PartCosts, part_costs
from maxmargin.parts.examples import PartExamples
from maxmargin.parts.formed import FormedStructure
from maxmargin.structures.chain.structure import label_sequence


class LabelledGraphs(NamedTuple):
    """Encoded graphs with the labels and costs of their nodes.

    Attributes
    ----------
    nodes : Block
        Features of nodes under each label, with forbidden labels.
    edge_matrix : array or sparse matrix
        Features of edges.
    graphs : Graphs
        The edges.
    truths : list of arrays or None
        The codes of the true labels.
    costs : ndarray or None
        The cost of each label of each node.
    names : list
        Names of the nodes of each graph, or None.
    """

    nodes: Block
    edge_matrix: Any
    graphs: Graphs
    truths: list[CodeArray] | None
    costs: FloatArray | None
    names: list[list[Any] | None]


class NodeLabelling(FormedStructure):
    """Base class of structures whose outputs are labels of the nodes of a graph.

    A subclass has the parameters `cost`, `fit_intercept`, `classes` and `decision`, and implements `_encoded` by
    `_read_graphs`.
    """

    output_name: ClassVar[str] = "labelling"
    learns: ClassVar[dict[str, type]] = {"nodes_": NodeEncoder, "edges_": EdgeEncoder}
    kernel_rows: ClassVar[dict[str, str]] = {"nodes_": "nodes"}
    #: Named costs.
    cost_names: ClassVar[tuple[str, ...]] = ("hamming", "hamming-share")
    forms: ClassVar[tuple[str, ...]] = ("labels", "dict")
    described: ClassVar[dict[str, str]] = {"labels": "lists of labels", "dict": "dicts of labels"}

    nodes_: NodeEncoder
    edges_: EdgeEncoder
    cost: Any
    fit_intercept: bool
    classes: Any

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag(self.fit_intercept, "fit_intercept")
        check_costs(self.cost, self.cost_names, "cost")

    # ------------------------------------------------------------------ data

    def fit_encode(self, X: Sequence[Any], Y: Sequence[Any]) -> PartExamples:
        fits = {
            "dict": lambda y, _: isinstance(y, Mapping),
            "labels": lambda y, _: not isinstance(y, Mapping),
        }
        self._recognise(Y, (), lambda form, y, i: None, fits)
        self._set_labels(Labels(self._distinct(Y)) if self.classes is None else named_classes(self.classes))
        return super().fit_encode(X, Y)

    def _set_labels(self, labels: Labels) -> None:
        if len(labels) < 2:
            shown = f"one class: {labels.values}" if len(labels) else "none: no node has a label"
            raise ValueError(f"expected at least two classes, found {shown}")
        self.labels_, self.costs_ = labels, cost_matrix(self.cost, labels)

    def _distinct(self, Y: Sequence[Any]) -> Iterator[Any]:
        """Yield the distinct labels of each output."""
        for i, y in enumerate(Y):
            place = Place("Y", i)
            given = y.output if isinstance(y, PartCosts) else y
            labels = label_sequence(list(given.values()) if isinstance(given, Mapping) else given, place)
            yield from distinct_labels(self._observed(labels), lambda v, place=place: inside(place, f"node {v}"))  # type: ignore[misc]

    def _observed(self, labels: list[Any]) -> list[Any]:
        """Return the labels that are known; by default all must be."""
        return labels

    def _read_graphs(self, X: Sequence[Any], Y: Sequence[Any] | None, learn: bool) -> LabelledGraphs:
        """Return graphs with labels and costs; the encoders learn from them if `learn` is true."""
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
        masks = None
        if any(x.allowed is not None for x in inputs):
            masks = [
                self._mask(x.allowed, n, Place("X", i)) for i, (x, n) in enumerate(zip(inputs, sizes, strict=True))
            ]
        truths, costs = None, None
        if Y is not None:
            given = zip(Y, sizes, inputs, strict=True)
            truths = [self._truth(y, n, x.names, Place("Y", i)) for i, (y, n, x) in enumerate(given)]
            if masks is not None:
                self._check_allowed(truths, masks)
            tables = [
                self._cost_table(y, code, Place("Y", i)) for i, (y, code) in enumerate(zip(Y, truths, strict=True))
            ]
            costs = np.concatenate([*(table.ravel() for table in tables), np.zeros(0)])
        forbidden = None if masks is None else np.concatenate([~mask.ravel() for mask in masks])
        node_block = Block(matrix, offsets, len(self.labels_), bool(self.fit_intercept), forbidden)
        return LabelledGraphs(node_block, edge_matrix, graphs, truths, costs, [x.names for x in inputs])

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
            wrong = np.flatnonzero(~mask[np.arange(len(code)), code] & (code >= 0))
            if len(wrong):
                label = self.labels_.values[code[wrong[0]]]
                raise error_at(Place("Y", i, f", node {wrong[0]}"), f"the label {label!r} is forbidden by X")

    def _truth(self, y: Any, n: int, names: list[Any] | None, where: Place) -> CodeArray:
        """Return the code of a true labelling; raise an error if it does not fit its graph."""
        labels = y.output if isinstance(y, PartCosts) else y
        if self.form_ == "dict":
            nodes = range(n) if names is None else names
            missing = [v for v in nodes if v not in labels] if isinstance(labels, Mapping) else list(nodes)
            if missing or len(labels) != n:
                shown = f"none for node {missing[0]!r:.40}" if missing else f"{len(labels)} labels for {n} nodes"
                raise error_at(where, f"expected a dict with a label for each node, found {shown}")
            labels = [labels[v] for v in nodes]
        code = self._codes(labels, where)
        if len(code) != n:
            raise error_at(Place("X", where.example), f"{n} rows of node features but {len(code)} labels")
        return code

    def _cost_table(self, y: Any, code: CodeArray, where: Where) -> FloatArray:
        """Return l of every node and label."""
        if not isinstance(y, PartCosts):
            share = isinstance(self.cost, str) and self.cost == "hamming-share"
            return self.costs_[code] / (max(len(code), 1) if share else 1)
        return part_costs(y, (len(code), len(self.labels_)), (np.arange(len(code)), code), where)

    # ------------------------------------------------------------------ outputs

    def _codes(self, labels: Any, where: Where) -> CodeArray:
        return self.labels_.encode(label_sequence(labels, where), lambda v: inside(where, f"node {v}"))

    def code_of(self, y: Any, where: Where) -> CodeArray:
        """Return the code of a labelling; the nodes of a dict are in its order."""
        labels = y.output if isinstance(y, PartCosts) else y
        return self._codes(list(labels.values()) if isinstance(labels, Mapping) else labels, where)

    def output_of(self, code: CodeArray) -> list[Any]:
        return self.labels_.decode(code)

    def pack_outputs(self, outputs: list[Any]) -> Any:
        return None if self.form_ == "dict" else super().pack_outputs(outputs)

    def loss(self, y: Any, y_hat: Any) -> float:
        """Return the cost of all wrong labels."""
        labels = y.output if isinstance(y, PartCosts) else y
        if isinstance(labels, Mapping) and isinstance(y_hat, Mapping) and labels.keys() == y_hat.keys():
            y_hat = {v: y_hat[v] for v in labels}
        true, predicted = self.code_of(y, "y"), self.code_of(y_hat, "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} labels but y_hat has {len(predicted)}")
        costs, nodes = self._cost_table(y, true, "y"), np.arange(len(true))
        return float((costs[nodes, predicted] - costs[nodes, true]).sum())

    def enumerate(self, x: Any) -> Iterator[Any]:
        """Yield all allowed labellings, up to Kⁿ of them, for tests."""
        examples = self.encode([x])
        n, size = int(examples.graphs.n_nodes[0]), len(self.labels_)
        forbidden = examples.blocks[0].forbidden
        mask = np.ones((n, size), bool) if forbidden is None else ~forbidden.reshape(n, size)
        codes = (np.array(code, np.int32) for code in product(*(np.flatnonzero(row) for row in mask)))
        return (examples.output(0, 0, code) for code in codes if self._pairs_allowed(code, examples.graphs.edges))

    def _pairs_allowed(self, code: CodeArray, edges: IntArray) -> bool:
        """Return whether a labelling has no forbidden pairs of labels; by default there are none."""
        return True

    def written(self, code: CodeArray, names: list[Any] | None) -> Any:
        """Return a labelling in the form of the training outputs."""
        labels = self.labels_.decode(code)
        if self.form_ == "labels":
            return labels
        return dict(zip(range(len(labels)) if names is None else names, labels, strict=True))

    # ------------------------------------------------------------------ weights and saving

    def _node_columns(self) -> list[str]:
        """Return the names of the features of nodes, with that of the constant."""
        return [*self.nodes_.column_names(), *["intercept"] * bool(self.fit_intercept)]

    def _learnt(self) -> dict[str, Any]:
        return {"labels": self.labels_.get_state(), **super()._learnt()}

    def _set_learnt(self, learnt: Any) -> None:
        self._set_labels(Labels.from_state(learnt["labels"]))
        super()._set_learnt(learnt)


class _Input(NamedTuple):
    """One input, as it was given."""

    nodes: Any
    edges: Any
    features: Any = None
    allowed: Any = None
    names: list[Any] | None = None


def _read(x: Any, where: Where) -> _Input:
    graph, *rest = x if isinstance(x, tuple | list) and len(x) else (x,)
    if is_networkx(graph):
        if len(rest) > 1:
            raise error_at(where, f"expected a graph or (graph, allowed), found a tuple of {len(rest) + 1}")
        read = read_networkx(graph, where)
        features = read.edge_rows if any(read.edge_rows) else None
        return _Input(read.node_rows, read.edges, features, rest[0] if rest else None, read.names)
    if not isinstance(x, tuple | list) or not 2 <= len(x) <= 4:
        shown = f"{type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else type(x).__name__
        raise error_at(where, f"expected (nodes, edges[, features[, allowed]]), found {shown}")
    return _Input(*x)
