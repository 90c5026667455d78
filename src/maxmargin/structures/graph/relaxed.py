"""Examples whose answers are half-integral points of the local polytope, for training on the relaxation.

An approximate argmax that misses outputs may be trained to miss more of them; one that finds too many outputs cannot
(Finley and Joachims 2008). Predictions are labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.ragged import offsets_of
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.core.scores import Scores
from maxmargin.parts.examples import PartExamples
from maxmargin.structures.graph import _relaxed
from maxmargin.structures.graph.examples import GraphExamples


class RelaxedGraphExamples(GraphExamples):
    """Graphs whose codes are symbols of nodes and edges (`_relaxed.py`).

    Attributes
    ----------
    plain : GraphExamples
        The same graphs, whose answers are labels.
    """

    whole_counts = False
    relaxed = True
    closes = False
    plain: GraphExamples

    def __init__(self, plain: GraphExamples) -> None:
        vars(self).update(vars(plain) | {"plain": plain, "_digest": None})
        size, n_nodes, n_edges = plain.n_labels, np.diff(plain.node_offsets), np.diff(plain.graphs.offsets)
        truths = [
            np.concatenate([plain.truths[a:b] * (size + 1), np.zeros(m, np.int32)])
            for a, b, m in zip(plain.node_offsets[:-1], plain.node_offsets[1:], n_edges.tolist(), strict=True)
        ]
        operations = self.operations
        PartExamples.__init__(
            self, plain.structure, plain.blocks, offsets_of(n_nodes + n_edges), truths, plain.costs, plain.settings
        )
        self.operations = operations
        self.exact = size == 2 and not self.hard
        self.bounded = not self.exact
        self.summable = False

    def _most_parts(self) -> list[IntArray]:
        return [2 * np.diff(self.node_offsets), 2 * np.diff(self.graphs.offsets)]

    def argmax(self, scores: list[Scores], ids: IntArray, codes: CodeArray) -> FloatArray | None:
        upper, graphs = np.zeros(len(ids)), self.graphs
        pairs, edge_starts = self._pair_scores(scores[1], ids)
        _relaxed.best_symbols(
            ids, *scores[0], pairs, edge_starts, graphs.edges, graphs.offsets, self.node_offsets, self.n_labels,
            self.hard, self.methods, *self._plans(), self.structure.sweeps, self.truths, codes, self.code_offsets,
            upper,
        )  # fmt: skip
        return None if self.exact else upper

    def parts(self, ids: IntArray, codes: CodeArray) -> list[Planes]:
        sizes = [2 * int(n[ids].sum()) for n in (np.diff(self.node_offsets), np.diff(self.graphs.offsets))]
        nodes, edges = (
            Planes(np.zeros(len(ids) + 1, np.int64), np.empty(size, np.uint32), np.empty(size)) for size in sizes
        )
        ends = _relaxed.half_parts(
            ids, self.graphs.edges, self.graphs.offsets, self.node_offsets, self.code_offsets, codes, self.n_labels,
            self.classes, self.blocks[1].n_outputs, nodes.indptr, nodes.indices, nodes.values,
            edges.indptr, edges.indices, edges.values,
        )  # fmt: skip
        return [
            Planes(counts.indptr, counts.indices[:end], counts.values[:end])
            for counts, end in zip((nodes, edges), ends, strict=True)
        ]

    def unrelaxed(self) -> GraphExamples:
        return self.plain

    def take(self, ids: IntArray) -> RelaxedGraphExamples:
        return RelaxedGraphExamples(self.plain.take(ids))

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        """Return labels; a node with two labels by half has the pair of them."""
        n, labels, size = int(self.graphs.n_nodes[example]), self.structure.labels_.values, self.n_labels
        pairs = [divmod(symbol, size) for symbol in code[:n].tolist()]
        written = [labels[a] if a == b else (labels[a], labels[b]) for a, b in pairs]
        if self.structure.form_ == "labels":
            return written
        names = self.names[example]
        return dict(zip(range(n) if names is None else names, written, strict=True))
