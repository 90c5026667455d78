"""`TaxonomyClassifier`: classes that are nodes of a tree or lattice."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, parameter
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.parameters import is_auto, positive_or_auto
from maxmargin.estimators.rows.multiclass import MulticlassSVM
from maxmargin.estimators.training_data import TrainingData
from maxmargin.features.rows.labels import check_class_weight, check_costs
from maxmargin.structures.taxonomy.structure import Taxonomy


@declared
class TaxonomyClassifier(MulticlassSVM):
    """Support vector machine for classes of a taxonomy (Tsochantaridis et al. 2004, section 5.2).

    Each node z of the hierarchy has weights w_z, and the score of a class is the sum over the nodes above it, itself
    included, so related classes share what they learn:

        ½ Σ_z ‖w_z‖² + C Σ c_i max_k [Δ(y_i, k) + Σ_{z above k} w_z·x_i − Σ_{z above y_i} w_z·x_i]

    With ``loss="tree"``, Δ(y, k) is the height h(y, k) of the first common ancestor of y and k: confusing siblings
    costs less than confusing distant classes. ``loss="mixed"`` is ¾ [y ≠ k] + ¼ h(y, k) / max h, so siblings keep
    nearly the margin of distant classes. Argmaxes are exact for all losses and bounds.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    coef_ : ndarray of shape (n_weights,)
        The weights of all pairs of features and nodes, as `feature_names_out` names them; `node_weights` has those of
        one node.
    C_ : float
        The trade-off.
    class_weight_ : dict
        The weight of each class.
    nodes_ : list
        The nodes that have weights: all nodes above classes but the root.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[2.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    >>> model = mm.TaxonomyClassifier(hierarchy={"dog": "animal", "cat": "animal", "animal": "life", "oak": "life"})
    >>> model.set_params(C=10.0).fit(X, ["dog", "cat", "oak"]).predict(X).tolist()
    ['dog', 'cat', 'oak']
    >>> model.nodes_
    ['animal', 'oak', 'dog', 'cat']

    Read on: "Taxonomies and label sets" in the documentation.
    """

    hierarchy: Any = parameter(
        "The tree or lattice of the classes, with one root: a dict of parents (a list of parents in a "
        "lattice), a list of (parent, child) pairs, a directed networkx graph with edges from parents to "
        'children, a list of paths such as ``"animal/mammal/dog"`` (labels are whole paths, or their last '
        'names), or a separator such as ``"/"`` if the labels are paths themselves. None means that no two '
        "classes have a node in common.",
        default=None,
        kind="dict, list, networkx graph, str or None",
    )
    loss: Any = changed(
        'The loss: ``"tree"`` is the height of the first common ancestor (in a lattice, of the lowest of them), '
        '``"mixed"`` ¾ of zero-one and ¼ of this height relative to its maximum; or zero-one, a cost matrix in '
        "the order of `classes_` (rows: true classes), or a dict of costs by true class (default 1).",
        default="mixed",
        kind='{"mixed", "tree", "zero-one"}, array-like of shape (K, K) or dict',
    )
    C: Any = changed(
        'Trade-off. ``"auto"`` is one over the (weighted) mean squared norm of the rows, so the model '
        "does not depend on their scale; 1 with a kernel.",
        positive_or_auto,
        default="auto",
        kind='float or "auto"',
    )
    inner_nodes: bool = parameter(
        "Whether all nodes are classes. By default the leaves are, also those that have no training examples.",
        check_flag,
        default=False,
    )
    fit_intercept: bool = parameter(
        "Whether to add a constant feature of value 1, whose weights are regularised like the others.",
        check_flag,
        default=True,
    )
    classes: Any = parameter(
        "The classes in order, if they are not all leaves (or nodes) of the hierarchy. Without a hierarchy, "
        "the labels of the data are the classes by default.",
        default=None,
        kind="list or None",
    )
    seen_pairs: Any = parameter(
        "Whether a pair of a feature and a node has a weight only if the feature occurs in a training example "
        "below the node, or below a parent of it (parents with more than 100 children do not count); all "
        "other weights are fixed at 0. The number of weights is then at most the nonzeros of X times the "
        'depth of the hierarchy and the number of siblings, instead of nodes × features. ``"auto"`` does so '
        "if there are more than 2^24 pairs.",
        default="auto",
        kind='bool or "auto"',
    )

    def _check_parameters(self) -> None:
        MaxMarginEstimator._check_parameters(self)
        check_costs(self.loss, Taxonomy.cost_names, "loss")
        check_class_weight(self.class_weight)
        self._make_structure().check_parameters()

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X, Y, weights, positions = super()._prepare(X, Y, sample_weight, groups)
        if is_auto(self.C):
            self.C_ = self._scale_free_C(X, weights)
        return X, Y, weights, positions

    def _scale_free_C(self, X: Any, weights: FloatArray) -> float:
        if self.kernel != "linear":
            return 1.0
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.square(X).sum(axis=1)
        total = float(weights @ np.asarray(squares).ravel())
        # rounded: the order of the rows, or a weight in place of repeated rows, must not matter
        return float(f"{weights.sum() / total:.6g}") if 0 < total < np.inf else 1.0

    def _trade_off(self) -> float:
        return self.C_ if is_auto(self.C) else float(self.C)

    def _finish(self, problem: Any, run: Any, state: Any, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        self.C_ = self._trade_off()

    def _make_structure(self) -> Taxonomy:
        return Taxonomy(
            hierarchy=self.hierarchy,
            cost=self.loss,
            inner_nodes=self.inner_nodes,
            fit_intercept=self.fit_intercept,
            classes=self.classes,
            seen_pairs=self.seen_pairs,
        )

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        structure, examples = MaxMarginEstimator._encode(self, X, Y)
        assert isinstance(structure, Taxonomy)
        labels = structure.labels_
        if self.hierarchy is not None and self.classes is None:
            self.classes_ = labels.array()
            self.class_weight_ = {label: self.class_weight_.get(label, 1.0) for label in labels.values}
        return structure, examples

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        return {"structure_": structure, "coef_": weights.copy(), "nodes_": structure.nodes_}

    def _flat_weights(self) -> FloatArray:
        return self.coef_

    def decision_scores(self, X: Any) -> FloatArray:
        """Return the score of every class, also for two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, K)
            Sums of w_z·x over the nodes above each class, in the order of `classes_`.
        """
        check_is_fitted(self, "coef_")
        parts: Any = self._encoded(self._checked(X))
        return np.concatenate([part.table(self.coef_, np.arange(part.n_examples)) for part in parts])

    def node_weights(self, node: Any) -> FloatArray:
        """Return the weights of one node.

        Parameters
        ----------
        node : object
            The label of a node of `nodes_`.

        Returns
        -------
        ndarray of shape (d,) or (d + 1,)
            The weight of each feature (with a kernel, of each of its points), and of the constant feature with
            `fit_intercept`; 0 for features that have no weight at this node.
        """
        check_is_fitted(self, "coef_")
        return self._taxonomy.node_weights(self.coef_, node)

    def losses(self, y: Any, y_hat: Any) -> FloatArray:
        """Return the loss of each prediction, for example to compute the mean tree loss.

        Parameters
        ----------
        y, y_hat : array-like of shape (n,)
            True and predicted classes.

        Returns
        -------
        ndarray of shape (n,)
            Losses ≥ 0, by the parameter `loss`.
        """
        check_is_fitted(self, "coef_")
        labels = self._taxonomy.labels_
        true, predicted = labels.encode(np.asarray(y), "y"), labels.encode(np.asarray(y_hat), "y_hat")
        if len(true) != len(predicted):
            raise ValueError(f"y has {len(true)} classes but y_hat has {len(predicted)}")
        return self._taxonomy.costs_[true, predicted]

    @property
    def _taxonomy(self) -> Taxonomy:
        structure = self.structure_
        assert isinstance(structure, Taxonomy)
        return structure
