"""`GraphLabeler`: a label for each node of a graph, cell of a grid or superpixel, with any pairs of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, choice, declared, parameter, whole_number
from maxmargin._base.errors import ExampleError, Place, Where
from maxmargin._base.input import example_weights, indexable, paired_examples
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.bounds import BOUNDS
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.explain import Explanation
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.latent import Restarted
from maxmargin.estimators.predictor import label_margins
from maxmargin.estimators.warnings import warn_of_unknown_labels
from maxmargin.features.graphs.images import grid_edges
from maxmargin.features.graphs.networkx_graphs import is_networkx
from maxmargin.features.graphs.superpixels import (
    Superpixels,
    majority_labels,
    read_regions,
    superpixel_graph,
)
from maxmargin.features.rows.labels import check_costs, is_missing, plain_label
from maxmargin.features.rows.rows import NamedColumns
from maxmargin.parts.costs import PartCosts
from maxmargin.structures.graph.examples import INFERENCE
from maxmargin.structures.graph.latent import LatentGraph
from maxmargin.structures.graph.structure import PAIRS, Graph

#: Directions of the edges of a grid, as features of edges.
DIRECTIONS = ("right", "down", "down right", "down left")


@declared
class GraphLabeler(Kernelised, Restarted):
    """Labels of the nodes of graphs, of the cells of grids or of superpixels, learnt from labelled ones.

    Nodes have a score for each label, edges a score for each pair of labels, which may reward any pairs; the labels of
    greatest total score are found together (see `Graph`).

    Each x is one of

    - a graph as `Graph` takes it, (nodes, edges[, features[, allowed]]) or a graph of networkx; y has a label for each
      node;
    - a grid: an array (height, width) or (height, width, d) of features of its cells, of which neighbours are joined,
      with a feature for each direction; y is an array (height, width) of labels;
    - `Superpixels`: an image and the region of each pixel. Regions that touch are joined, the upper one first, with
      features of likeness and position. y is a mask (height, width); a region has the label of most of its pixels, and
      predictions are masks.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights.
    classes_ : ndarray of shape (K,)
        The labels.
    node_weights_ : ndarray of shape (d + 1, K)
        Weights of the features of nodes; those of the constant come last. With a kernel, the coefficients of the kernel
        values with its points.
    edge_weights_ : ndarray of shape (e, P) or (e,)
        Weights of the features of edges, for each of P classes of label pairs if there are several.

    Examples
    --------
    Stripes that alternate from row to row:

    >>> import numpy as np
    >>> import maxmargin as mm
    >>> stripes = np.indices((6, 5))[0] % 2
    >>> noise = np.random.default_rng(0).normal(size=stripes.shape)
    >>> model = mm.GraphLabeler(C=1.0).fit([stripes + noise], [stripes])
    >>> bool((model.predict([stripes + noise[::-1]])[0] == stripes).all())
    True

    Read on: "Graphs" in the documentation.
    """

    pairs: str = parameter(
        "Which pairs of labels have weights for each feature of edges: all pairs, in the order of the nodes of an "
        "edge; pairs without an order; equal labels, each with its own weight; equal labels with one weight.",
        choice(*PAIRS),
        default="full",
        kind='{"full", "symmetric", "diagonal", "potts"}',
    )
    forbidden: Any = parameter(
        "Pairs of labels that no edge may have.", default=None, kind="sequence of pairs, optional"
    )
    neighbours: int = parameter(
        "Grids: whether diagonal neighbours are joined.", choice(4, 8), default=4, kind="{4, 8}"
    )
    inference: str = parameter(
        "How labels are found (see `Graph`).",
        choice(*INFERENCE),
        default="auto",
        kind='{"auto", "exact", "trws", "expansion", "milp"}',
    )
    sweeps: int = parameter("Maximum number of sweeps of messages over a graph.", whole_number, default=20)
    branches: int = parameter(
        "Maximum number of further sweeps for branch and bound.",
        lambda value, name: whole_number(value, name, 0),
        default=50,
    )
    relaxed: bool | str = parameter(
        "Whether to train on a relaxation where argmaxes are not exact (see `Graph`).",
        choice("auto", True, False),
        default="auto",
        kind='bool or "auto"',
    )
    latent: bool = parameter(
        "Whether y may have labels that are not known, which are then estimated (see `LatentGraph`): None, NaN or the "
        "value of `unknown`.",
        check_flag,
        default=False,
    )
    unknown: Any = parameter("A label that marks unknown ones, such as −1.", default=None, kind="object")
    loss: Any = parameter(
        'The loss: ``"hamming"`` (number of wrong labels), ``"hamming-share"`` (fraction of wrong labels), a cost '
        "matrix per node (rows: true labels), or a dict of costs by true label (default 1).",
        default="hamming",
        kind="str, array of shape (K, K) or dict",
    )
    classes: Any = parameter(
        "All labels in order, in case some do not occur in the training data.", default=None, kind="sequence, optional"
    )
    C: float = changed("Trade-off. The loss counts nodes, so a large graph weighs more than a small one.", default=0.1)
    kernel: Any = changed(
        "Kernel on the features of nodes, as in `StructuralSVM`; edges stay linear.", default="linear"
    )
    tol: float = changed(default=0.01)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_costs(self.loss, Graph.cost_names, "loss")

    @property
    def _convex(self) -> bool:
        return bool(BOUNDS[self.bound].convex)

    def _make_structure(self) -> Structure:
        given: dict[str, Any] = {
            name: getattr(self, name) for name in ("pairs", "forbidden", "inference", "sweeps", "branches", "classes")
        }
        if self.latent:
            return LatentGraph(unknown=self.unknown, cost=self.loss, **given)
        return Graph(relaxed=self.relaxed, cost=self.loss, **given)

    # ------------------------------------------------------------------ grids and graphs

    def _features(self, X: Any) -> list[Any]:
        return [self._graph(x, Place("X", i)) for i, x in enumerate(X)]

    def _graph(self, x: Any, where: Where) -> Any:
        """Return the graph of a grid or of superpixels; graphs as they are."""
        if isinstance(x, Superpixels):
            return superpixel_graph(x, where)
        if not is_grid(x):
            return x
        cells = np.asarray(x)
        if cells.dtype.kind not in "biuf":
            return x
        height, width = cells.shape[:2]
        edges = grid_edges(height, width, self.neighbours)
        counts = [height * (width - 1), (height - 1) * width, *[(height - 1) * (width - 1)] * 2][: self.neighbours // 2]
        ways = np.repeat(np.eye(len(counts)), counts, axis=0)
        nodes = cells.reshape(height * width, -1).astype(float)
        return nodes, edges, NamedColumns(ways, list(DIRECTIONS[: len(counts)]))

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        labels = [self._flat(x, y, Place("Y", i)) for i, (x, y) in enumerate(zip(X, Y, strict=True))]
        if not self.latent:
            for i, y in enumerate(labels):
                if self.unknown is not None or getattr(y, "dtype", np.dtype(object)).kind in "Of":
                    self._check_known(y, Place("Y", i))
        return super()._encode(self._features(X), labels)

    def _check_known(self, labels: Any, where: Place) -> None:
        """Raise ExampleError if a label marks an unknown one, although these are not to be estimated."""
        values = labels.output if isinstance(labels, PartCosts) else labels
        for v, label in values.items() if isinstance(values, Mapping) else enumerate(values):
            if self._is_unknown(label):
                raise ExampleError.at(
                    where, f"the label of node {v!r} is unknown ({label!r}); pass latent=True to estimate such labels"
                )

    def _is_unknown(self, label: Any) -> bool:
        return is_missing(label) or bool(self.unknown is not None and plain_label(label) == self.unknown)

    def _flat(self, x: Any, y: Any, where: Place) -> Any:
        """Return the labels of a grid row by row, and of superpixels by majority; those of graphs as they are."""
        if not is_picture(x):
            return y
        labels = _pixels(x, y, where)
        if is_grid(x):
            return labels
        regions, n = read_regions(x, Place("X", where.example))
        return majority_labels([None if self._is_unknown(label) else label for label in labels.tolist()], regions, n)

    def _shaped(self, x: Any, labels: Any) -> Any:
        """Return labels in the shape of a grid or an image; those of graphs as they are."""
        if not is_picture(x):
            return labels
        codes = self.structure_.labels_.encode(labels, "labels")  # type: ignore[attr-defined]
        return _painted(x, self.classes_[codes])

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        attributes = super()._fitted_attributes(weights, structure)
        tables = structure.split_weights(attributes["coef_"])
        return attributes | {
            "classes_": structure.labels_.array(),
            "node_weights_": tables["nodes"].copy(),
            "edge_weights_": tables["edges"].copy(),
        }

    # ------------------------------------------------------------------ use

    def predict(self, X: Any, given: Sequence[Any] | None = None) -> list[Any]:
        """Return the labels of each graph or grid.

        Parameters
        ----------
        X : sequence
            Graphs, grids and superpixels.
        given : sequence, optional
            Known labels of each input, in the form of y, with None, NaN or `unknown` where they are not known; a dict
            has only those of known nodes. Predictions have these labels, and others follow from them.

        Returns
        -------
        list
            Labels in the form of the training outputs; arrays (height, width) for grids and superpixels.
        """
        check_is_fitted(self, "coef_")
        X = indexable(X, "X")
        if given is None:
            return [self._shaped(x, y) for x, y in zip(X, super().predict(X), strict=True)]
        if len(given) != len(X):
            raise ValueError(f"given has {len(given)} entries, but X has {len(X)} graphs")
        inputs = [self._clamped(x, known, Place("given", i)) for i, (x, known) in enumerate(zip(X, given, strict=True))]
        examples = self.structure_.encode(inputs)  # type: ignore[attr-defined]
        outputs = examples.outputs(self._answers(examples))
        return [self._shaped(x, y) for x, y in zip(X, outputs, strict=True)]

    def _clamped(self, x: Any, known: Any, where: Place) -> Any:
        """Return an input that allows known nodes their labels only."""
        given: Any = (x,) if is_networkx(x) else self._graph(x, Place("X", where.example))
        graph, *rest = given
        networkx = is_networkx(graph)
        names = list(graph.nodes) if networkx else range(_length(graph))
        flat = known if isinstance(known, Mapping) else self._flat(x, known, where)
        if isinstance(flat, Mapping):
            unknown = [v for v in flat if v not in set(names)]
            if unknown:
                raise ExampleError.at(where, f"{unknown[0]!r:.40} is not a node")
            flat = [flat.get(v) for v in names]
        labels = flat.tolist() if isinstance(flat, np.ndarray) else list(flat)
        if len(labels) != len(names):
            raise ExampleError.at(where, f"{len(labels)} labels, but X has {len(names)} nodes")
        size, at = len(self.classes_), (1 if networkx else 3) - 1
        allowed = np.ones((len(names), size), bool)
        if len(rest) > at and rest[at] is not None:
            allowed = np.array(rest[at], bool)
        fixed = [v for v, label in enumerate(labels) if not self._is_unknown(label)]
        labels_of = self.structure_.labels_  # type: ignore[attr-defined]
        codes = labels_of.encode([labels[v] for v in fixed], lambda k: f"{where}, node {fixed[k]}")
        allowed[fixed] = np.arange(size) == codes[:, None]
        features = () if networkx else (rest[0], rest[1] if len(rest) > 1 else None)
        return graph, *features, allowed

    def topk(self, x: Any, k: int) -> list[tuple[Any, float]]:
        """Return the k best labellings of one graph or grid, with their scores.

        Each takes an argmax for each node, so graphs should be small; the order is exact where argmaxes are.

        Parameters
        ----------
        x : graph or array
            One input.
        k : int
            Number of labellings.

        Returns
        -------
        list of (labels, float)
            At most k pairs, best first.
        """
        return [(self._shaped(x, labels), score) for labels, score in super().topk(x, k)]

    def decision_scores(self, X: Any) -> list[FloatArray]:
        """Return the best score of a labelling that gives a node a label, for all nodes and labels.

        Parameters
        ----------
        X : sequence
            Graphs and grids.

        Returns
        -------
        list of ndarray of shape (n, K) or (height, width, K)
            One array for each input, in the order of `classes_`; lower bounds where argmaxes are not exact.
        """
        X, tables = indexable(X, "X"), super().decision_scores(X)
        return [_painted(x, scores) if is_picture(x) else scores for x, scores in zip(X, tables, strict=True)]

    def decision_margins(self, X: Any) -> list[FloatArray]:
        """Return how clear the label of each node is: the best minus the second best decision score.

        Parameters
        ----------
        X : sequence
            Graphs and grids.

        Returns
        -------
        list of ndarray of shape (n,) or (height, width)
            One array for each input.
        """
        tables = self.decision_scores(X)
        return [label_margins(t.reshape(-1, t.shape[-1])).reshape(t.shape[:-1]) for t in tables]

    def explain(self, x: Any, n_features: int = 10) -> Explanation:
        """Return why a labelling won: the next best one, the margin, and the features that decide between them.

        Parameters
        ----------
        x : graph or array
            One input.
        n_features : int, default=10
            Number of features listed.

        Returns
        -------
        Explanation
            The explanation; the labels of a grid are in the order of its rows.
        """
        return super().explain(x, n_features)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the fraction of nodes or pixels with the correct label, pooled over all inputs.

        Unknown labels do not count.

        Parameters
        ----------
        X, y : sequence
            Graphs or grids and their true labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each graph, for all of its nodes.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, y)
        weights = example_weights(sample_weight, len(Y))
        right, total = np.zeros(len(Y)), np.zeros(len(Y))
        labels, recognised = self.structure_.labels_, False  # type: ignore[attr-defined]
        for i, (x, true, predicted) in enumerate(zip(X, Y, self.predict(X), strict=True)):
            pairs = _paired(_pixels(x, true, Place("Y", i)) if is_picture(x) else true, predicted, i)
            known = [p for p in pairs if not self._is_unknown(p[0])]
            right[i], total[i] = sum(a == b for a, b in known), len(known)
            recognised = recognised or bool((labels.find([a for a, _ in known]) >= 0).any())
        if not weights @ total:
            raise ValueError("no node has a known label")
        if not recognised:
            warn_of_unknown_labels(labels)
        return float(weights @ right / (weights @ total))


def is_grid(x: Any) -> bool:
    """Return whether an input is a grid: an array of two or three dimensions."""
    return isinstance(x, np.ndarray) and x.ndim in (2, 3)


def is_picture(x: Any) -> bool:
    """Return whether labels of an input are an array (height, width)."""
    return is_grid(x) or isinstance(x, Superpixels)


def _pixels(x: Any, y: Any, where: Place) -> AnyArray:
    """Return the labels of the cells of a grid or the pixels of an image, row by row."""
    labels, shape = np.asarray(y), np.shape(x.image if isinstance(x, Superpixels) else x)[:2]
    if labels.shape != shape:
        shown = f"shape {labels.shape}" if labels.ndim else f"{type(y).__name__} {y!r:.60}"
        what = "grid" if is_grid(x) else "image"
        raise ExampleError.at(where, f"expected labels of shape {shape} as the {what} has, found {shown}")
    return labels.ravel()


def _painted(x: Any, values: AnyArray) -> AnyArray:
    """Return a value for each node as values of cells or of pixels (height, width, …)."""
    if isinstance(x, Superpixels):
        return np.asarray(values[read_regions(x, "X")[0]])
    return values.reshape(*np.shape(x)[:2], *values.shape[1:])


def _length(rows: Any) -> int:
    """Return the number of rows of features."""
    if isinstance(rows, NamedColumns):
        return len(rows.values)
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _paired(true: Any, predicted: Any, i: int) -> list[tuple[Any, Any]]:
    """Return the true and the predicted label of each node."""
    if isinstance(true, Mapping) and isinstance(predicted, Mapping):
        if true.keys() != predicted.keys():
            raise ExampleError.at(Place("Y", i), "expected a label for each node")
        return [(true[v], predicted[v]) for v in predicted]
    first, second = (
        y.ravel().tolist() if isinstance(y, np.ndarray) else list(y.values()) if isinstance(y, Mapping) else list(y)
        for y in (true, predicted)
    )
    if len(first) != len(second):
        raise ExampleError.at(Place("Y", i), f"{len(first)} labels for {len(second)} nodes")
    return list(zip(first, second, strict=True))
