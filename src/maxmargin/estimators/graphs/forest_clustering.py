"""`ForestClustering`: clusters of items, by the features of their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, finite_number, is_list, parameter
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import example_weights, paired_examples
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.structure import Structure
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.latent import LatentEstimator
from maxmargin.metrics.clusters import ClusterScores, muc
from maxmargin.structures.forest.structure import Forest, numbered_clusters


@declared
class ForestClustering(Kernelised, LatentEstimator):
    """Clustering of items by learnt weights of the features of their pairs (Yu and Joachims 2009).

    A link between items i and j scores w·x_ij + b. The trees of the best forest, which has only links that score above
    0, are the clusters; the links within the true clusters are latent:

        ½‖w‖² + C Σ c_i (max_ĥ [w·Ψ(x_i, ĥ) + Δ(y_i, ĥ)] − max_{h spans y_i} w·Ψ(x_i, h)),    Ψ(x, h) = Σ_{(i,j)∈h} x_ij

    Each x holds the features of the pairs i < j of its items: an array (n, n, d), or the pairs condensed to
    (n(n − 1)/2, d) in the order of `numpy.triu_indices(n, 1)`, dense or sparse. Each y holds the cluster of each item,
    by any labels; `predict` numbers clusters 0, 1, … in the order of their first items. Training starts with chains:
    each item linked to the one before it in its cluster, in the order in which items are given (reading order).

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        Weights of the features; with a kernel, coefficients of the kernel values with its points.
    intercept_ : float
        The weight b; 0 without `fit_intercept`.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> places = [[0.0, 1.0, 5.0, 5.5], [3.0, 9.0, 3.5]]
    >>> X = [np.abs(np.subtract.outer(p, p))[:, :, None] for p in places]
    >>> model = mm.ForestClustering(C=10.0).fit(X, [["a", "a", "b", "b"], ["a", "b", "a"]])
    >>> model.predict([np.abs(np.subtract.outer([1.0, 7.0, 8.0], [1.0, 7.0, 8.0]))[:, :, None]])
    [[0, 1, 1]]

    Read on: "Latent variables and ramps" in the documentation.
    """

    r: float = parameter(
        "Cost of a link between two clusters, relative to a missing link (see `Forest`); smaller values join more.",
        finite_number,
        default=1.0,
    )
    fit_intercept: bool = parameter(
        "Whether links have a constant feature; its weight b is minus the threshold for linking.",
        check_flag,
        default=True,
    )
    feature_names: Sequence[str] | None = parameter(
        "Names of the d features, for `feature_names_out`.", default=None, kind="list of str or None"
    )
    C: float = changed(
        "Trade-off. Losses count links, so an example of many items weighs more than one of few.", default=0.1
    )
    kernel: Any = changed("Kernel on the features of pairs, as in `StructuralSVM`.", default="linear")
    tol: float = changed("Tolerance of the inner gap and of the outer decrease.", default=0.01)

    _structure = Forest

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Any]:
        structure, examples = super()._encode(X, Y)
        self._check_names(structure)
        return structure, examples

    def _check_names(self, structure: Any) -> None:
        names, width = self.feature_names, structure.n_features_
        if names is None:
            return
        if not is_list(names):
            raise ValueError(f"feature_names must be a list of names, found {names!r:.60}")
        if len(names) != width:
            raise ValueError(f"feature_names has {len(names)} names, but pairs have {width} features")

    def _check_loaded(self, structure: Any) -> None:
        super()._check_loaded(structure)
        self._check_names(structure)

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        width = len(weights) - bool(structure.fit_intercept)
        intercept = float(weights[width]) if structure.fit_intercept else 0.0
        return {
            "structure_": structure,
            "coef_": weights[:width].copy(),
            "intercept_": intercept,
            "n_features_in_": structure.n_features_,
        }

    def _flat_weights(self) -> FloatArray:
        structure: Any = self.structure_
        return np.append(self.coef_, self.intercept_) if structure.fit_intercept else self.coef_

    def links(self, x: Any) -> list[tuple[int, int, float]]:
        """Return the links that join the predicted clusters of one input.

        Parameters
        ----------
        x : array-like
            Features of the pairs of one input.

        Returns
        -------
        list of (int, int, float)
            Items i and j, and the score of their link, best first.
        """
        check_is_fitted(self, "coef_")
        links: list[tuple[int, int, float]] = self.structure_.links(self._flat_weights(), x)  # type: ignore[attr-defined]
        return links

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return F1 of MUC (`maxmargin.metrics.muc`), pooled over the examples.

        MUC is a standard metric of coreference and counts links as the loss does; unlike the loss it does not depend on
        `r`, so a search may compare values of `r`.

        Parameters
        ----------
        X, y : sequence
            Inputs and their true clusters.
        sample_weight : array-like of shape (n,), default=None
            Factor of the counts of each example.

        Returns
        -------
        float
            F1, between 0 and 1.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, y)
        weights = example_weights(sample_weight, len(Y))
        total = ClusterScores(0, 0, 0, 0)
        for i, (clusters, y_hat) in enumerate(zip(Y, self.predict(X), strict=True)):
            true = numbered_clusters(clusters, Place("Y", i))
            if len(true) != len(y_hat):
                raise ExampleError.at(
                    Place("X", i),
                    f"features for the pairs of {len(y_hat)} items, but Y[{i}] has the clusters of {len(true)}",
                )
            total += _weighted(muc([true], [y_hat]), float(weights[i]))
        return total.f1

    def _weight_names(self, structure: Any, size: int) -> AnyArray:
        names: AnyArray = structure.feature_names(self.feature_names)
        return names


def _weighted(scores: ClusterScores, weight: float) -> ClusterScores:
    return ClusterScores(
        weight * scores.right_of_predicted, weight * scores.n_predicted,
        weight * scores.right_of_true, weight * scores.n_true,
    )  # fmt: skip
