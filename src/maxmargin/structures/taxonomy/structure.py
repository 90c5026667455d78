"""Classification with a taxonomy of the classes (Tsochantaridis et al. 2004, section 5.2).

Ψ(x, y) = x ⊗ Λ(y),    Λ_z(y) = 1 if node z is y or above y
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import check_flag
from maxmargin._base.errors import Place, error_at
from maxmargin._base.memory import check_memory
from maxmargin._base.ragged import kept_offsets
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.features.mercer.kernel import PartKernel
from maxmargin.features.rows.hierarchy import (
    Hierarchy,
    check_hierarchy,
    check_separator,
    plain_hierarchy,
    read_hierarchy,
    tree_losses,
)
from maxmargin.features.rows.labels import Labels, check_costs, cost_matrix, distinct_labels, named_classes
from maxmargin.features.rows.matrices import feature_matrix
from maxmargin.structures.chain.seen_pairs import SeenPairs
from maxmargin.structures.multiclass import Multiclass, labels_of, place_of_label
from maxmargin.structures.taxonomy.examples import TaxonomyExamples
from maxmargin.structures.taxonomy.pairs import seen_node_pairs

#: Numbers of weights above which only pairs of features and nodes that occur together have one, by default.
MANY_WEIGHTS = 1 << 24
#: Share of the tree loss in ``cost="mixed"``; chosen on development data.
TREE_SHARE = 0.25


class Taxonomy(Multiclass):
    """One class for each row of features; classes share the weights of the nodes above them.

    The score of a class is the sum of the scores w_z·x of all nodes z above it, itself included, so classes below
    the same nodes learn from each other's examples. The root is above all classes and has no weights: they would cancel
    in every difference of scores.

    Argmaxes are exact for all losses and bounds: all nodes are scored by one sparse product, and their scores are
    summed along the ancestors of each class.

    Parameters
    ----------
    hierarchy : dict, list, networkx graph, str or None, default=None
        The tree of the classes, or a directed graph without cycles (lattice) in which a node may have several parents;
        in either case with one root.

        - a dict of parents: ``{"dog": "mammal", "mammal": "animal", "owl": ["bird", "hunter"], …}``;
        - a list of (parent, child) pairs, a data frame with these two columns, or a directed networkx graph with edges
          from parents to children;
        - a list of paths: ``["animal/mammal/dog", …]``. Labels are whole paths, or their last names if
          these are unique;
        - a separator, such as ``"/"``, if the labels are paths themselves;
        - None for classes without a hierarchy, which makes it a `Multiclass`.

        Paths may begin with different names: they are joined under a root.
    cost : "tree", "mixed", "zero-one", array of shape (K, K) or dict, default="tree"
        The loss: the height of the first common ancestor of the two classes (the number of edges on the longest way
        down from it; if there are several in a lattice, of the lowest), ¾ of zero-one and ¼ of this height relative to
        its maximum, zero-one, a cost matrix in the order of the classes (rows: true classes), or a dict of costs by
        true class (default 1).
    inner_nodes : bool, default=False
        Whether all nodes are classes. By default the leaves are, also those without examples.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1 for each node (regularised).
    classes : sequence, optional
        The classes in order, if they are not all leaves (or nodes) of the hierarchy, sorted.
    seen_pairs : bool or "auto", default="auto"
        Whether a pair of a feature and a node has a weight only if the feature occurs in an example below the node, or
        below a parent of it (parents with more than 100 children do not count). All other weights are fixed at 0, which
        takes much less memory, but is another model. ``"auto"`` does so if there are more than 2^24 pairs.

    Attributes
    ----------
    labels_ : Labels
        The classes.
    hierarchy_ : Hierarchy
        The hierarchy.
    nodes_ : list
        Labels of the nodes that have weights: all nodes above classes but the root.
    pairs_ : SeenPairs or None
        The pairs that have a weight; None if all have one. Weights are stored feature by feature.
    costs_ : ndarray of shape (K, K)
        The loss of predicting the column's class if the row's class is true.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[2.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> taxonomy = mm.Taxonomy(hierarchy=["animal/dog", "animal/cat", "plant/oak"])
    >>> model = mm.StructuralSVM(taxonomy, C=10.0).fit(X, ["dog", "cat", "oak"])
    >>> model.predict(X)
    ['dog', 'cat', 'oak']
    >>> model.structure_.loss("dog", "cat"), model.structure_.loss("dog", "oak")
    (1.0, 2.0)
    """

    output_name: ClassVar[str] = "class"
    cost_names: ClassVar[tuple[str, ...]] = ("tree", "mixed", "zero-one")

    def __init__(
        self,
        *,
        hierarchy: Any = None,
        cost: Any = "tree",
        inner_nodes: bool = False,
        fit_intercept: bool = True,
        classes: Any = None,
        seen_pairs: Any = "auto",
    ) -> None:
        super().__init__(cost=cost, fit_intercept=fit_intercept, classes=classes)
        self.hierarchy, self.inner_nodes, self.seen_pairs = hierarchy, inner_nodes, seen_pairs

    def check_parameters(self) -> None:
        check_flag(self.fit_intercept, "fit_intercept")
        check_flag(self.inner_nodes, "inner_nodes")
        if self.seen_pairs != "auto" or not isinstance(self.seen_pairs, str):
            check_flag(self.seen_pairs, "seen_pairs")
        check_costs(self.cost, self.cost_names, "cost")
        check_hierarchy(self.hierarchy)

    # ------------------------------------------------------------------ fitting

    def _encoded(self, X: Any, Y: Any, learn: bool) -> TaxonomyExamples:
        matrix = feature_matrix(X)
        if not learn:
            return TaxonomyExamples(self, self._compiled_rows(self.rows_.encode(matrix)), self._codes(Y))
        labels = labels_of(Y)
        distinct = distinct_labels(labels, place_of_label)
        hierarchy = read_hierarchy(self.hierarchy, Labels(distinct).values)
        if isinstance(self.hierarchy, str):
            check_separator(self.hierarchy, distinct)
        classes = self._classes(hierarchy, distinct)
        codes = classes.find(labels)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            i = int(unknown[0])
            raise error_at(Place("Y", i), self._not_a_class(labels[i], hierarchy))
        self._set_nodes(classes, hierarchy)
        rows = self._compiled_rows(self.rows_.fit(matrix))
        compact = self._compact() and len(rows.indices) > 0  # without any feature there are no pairs
        above = self._above()
        self.pairs_ = seen_node_pairs(rows, codes, *above, self.nodes_, self.hierarchy_) if compact else None
        return TaxonomyExamples(self, rows, codes)

    def _classes(self, hierarchy: Hierarchy, occurring: list[Any]) -> Labels:
        """Return the classes; raise ValueError if one that the user lists is not a class of the hierarchy."""
        if self.hierarchy is None:
            return Labels(occurring) if self.classes is None else named_classes(self.classes)
        if self.classes is None:
            return Labels(hierarchy.named() if self.inner_nodes else hierarchy.leaves())
        listed = named_classes(self.classes)
        for i, label in enumerate(listed.values):
            z = hierarchy.codes.get(label, -1)
            if z < 0 or (hierarchy.n_children[z] and not self.inner_nodes):
                raise ValueError(f"classes[{i}]: {self._not_a_class(label, hierarchy)}")
        return listed

    def _not_a_class(self, label: Any, hierarchy: Hierarchy) -> str:
        """Return why a label is not a class."""
        if label in hierarchy.codes and self.hierarchy is not None:
            below = hierarchy.children(label)
            if below and not self.inner_nodes:
                return (
                    f"class {label!r} is not a leaf of the hierarchy, its children are {_some(below)}; pass "
                    f"inner_nodes=True if inner nodes are classes too"
                )
            return f"class {label!r} is not one of classes="
        if self.hierarchy is None:
            return f"unknown class {label!r}; classes= has {_some(self.classes)}"
        return f"class {label!r} is not in the hierarchy, whose leaves are {_some(hierarchy.leaves())}"

    def _set_nodes(self, labels: Labels, hierarchy: Hierarchy) -> None:
        """Set all attributes that follow from classes and hierarchy."""
        if len(labels) < 2:
            raise ValueError(f"expected at least two classes, found one class: {labels.values}")
        self.labels_ = labels
        self.hierarchy_ = Hierarchy.flat(labels.values) if self.hierarchy is None else hierarchy
        pointers, ancestors = self.hierarchy_.ancestors(labels.values)
        self.costs_ = self._cost_table(pointers, ancestors)
        kept = np.unique(ancestors[ancestors > 0])
        self.nodes_ = [self.hierarchy_.nodes[z] for z in kept.tolist()]
        above = ancestors > 0
        self._pointers, self._ancestors = kept_offsets(above, pointers), np.searchsorted(kept, ancestors[above])

    def _cost_table(self, pointers: IntArray, ancestors: IntArray) -> FloatArray:
        if not isinstance(self.cost, str) or self.cost == "zero-one":
            return cost_matrix(self.cost, self.labels_)
        n = len(self.labels_)
        check_memory(12.0 * n * n, f"a table of losses between {n} classes", "use fewer classes")
        heights = tree_losses(self.hierarchy_, pointers, ancestors).astype(float)
        if self.cost == "tree":
            return heights
        return (1.0 - TREE_SHARE) * (heights > 0.0) + TREE_SHARE * heights / heights.max()

    def _above(self) -> tuple[IntArray, IntArray]:
        """Return the ancestors of each class as pointers and numbers of `nodes_`."""
        return self._pointers, self._ancestors

    def _own_nodes(self) -> IntArray:
        """Return the number in `nodes_` of each class; −1 for the root."""
        numbers = {node: z for z, node in enumerate(self.nodes_)}
        return np.array([numbers.get(label, -1) for label in self.labels_.values], np.int64)

    def _compact(self) -> bool:
        """Return whether only pairs that occur together have weights."""
        if self.features_ is not None:
            return False
        if isinstance(self.seen_pairs, str):
            return len(self.nodes_) * self._n_columns > MANY_WEIGHTS
        return bool(self.seen_pairs)

    def weight_shapes(self) -> dict[str, tuple[int, ...]]:
        return {"rows": (self._n_columns, len(self.nodes_)) if self.pairs_ is None else (len(self.pairs_),)}

    # ------------------------------------------------------------------ kernels

    def use_kernel(self, kernel: PartKernel) -> None:
        if self.seen_pairs is True or self.seen_pairs is np.True_:
            raise ValueError(
                f"seen_pairs=True is for sparse features, which a kernel replaces: kernel={kernel.kernel!r:.60} needs "
                f"seen_pairs='auto' or False"
            )
        super().use_kernel(kernel)

    def score_loss(self, y: Any, y_hat: Any) -> float:
        if isinstance(self.cost, str) and self.labels_.find([y])[0] < 0:
            return float(self.costs_.max())
        return super().score_loss(y, y_hat)

    # ------------------------------------------------------------------ weights and saving

    def feature_names(self, columns: Sequence[str] | None = None) -> AnyArray:
        described = self.weight_columns(columns)
        names = zip(described["feature"], described["node"], strict=True)
        return np.array([f"{feature} → {node}" for feature, node in names], object)

    def weight_columns(self, columns: Sequence[str] | None = None) -> dict[str, AnyArray]:
        features, nodes = np.array(self._column_names(columns), object), Labels(self.nodes_, given=True).array()
        if self.pairs_ is None:
            return {
                "feature": np.repeat(features, len(nodes)),
                "node": np.tile(nodes.astype(object), len(features)),
            }
        return {"feature": features[self.pairs_.columns()], "node": nodes.astype(object)[self.pairs_.labels]}

    def node_weights(self, w: FloatArray, node: Any) -> FloatArray:
        """Return the weights of one node for all features, the intercept last."""
        z = self.nodes_.index(node) if node in self.nodes_ else -1
        if z < 0:
            raise ValueError(f"node {node!r} has no weights; expected a node above a class, not the root")
        columns = self._n_columns
        if self.pairs_ is None:
            return np.asarray(w).reshape(columns, -1)[:, z].copy()
        dense, held = np.zeros(columns), self.pairs_.labels == z
        dense[self.pairs_.columns()[held]] = w[held]
        return dense

    def get_state(self) -> dict[str, Any]:
        state = super().get_state()
        state["parameters"]["hierarchy"] = plain_hierarchy(self.hierarchy)
        return state

    def _learnt(self) -> dict[str, Any]:
        pairs = None if self.pairs_ is None else self.pairs_.get_state()
        return {**super()._learnt(), "hierarchy": self.hierarchy_.get_state(), "pairs": pairs}

    def _set_learnt(self, learnt: Any) -> None:
        labels, hierarchy = Labels.from_state(learnt["labels"]), Hierarchy.from_state(learnt["hierarchy"])
        if any(label not in hierarchy.codes for label in labels.values):
            raise ValueError("the classes of a taxonomy must be nodes of its hierarchy")
        self._set_encoders(learnt)
        self._set_nodes(labels, hierarchy)
        pairs = learnt["pairs"]
        self.pairs_ = None if pairs is None else SeenPairs.from_state(pairs, self._n_columns, len(self.nodes_))
        self._set_size()


def _some(labels: Sequence[Any]) -> str:
    """Return the first labels as text."""
    return ", ".join(map(repr, labels[:5])) + (", …" if len(labels) > 5 else "")
