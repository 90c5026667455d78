"""Metrics of classes in a hierarchy."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.errors import Place, error_at
from maxmargin._base.input import example_weights
from maxmargin.features.rows.hierarchy import read_hierarchy, tree_losses
from maxmargin.features.rows.labels import Labels


def tree_loss(y_true: Any, y_pred: Any, *, hierarchy: Any, sample_weight: Any = None) -> float:
    """Return the mean height of the first common ancestor of true and predicted classes.

    The height of a node is the number of edges on the longest way down from it, and the loss of a correct class is 0.
    This is the tree loss of Tsochantaridis et al. (2004), section 5.2.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted classes: nodes of the hierarchy.
    hierarchy : dict, list, networkx graph, str or None
        As in `TaxonomyClassifier`.
    sample_weight : array-like of shape (n,), default=None
        Weight of each example; 1 by default.

    Returns
    -------
    float
        The mean loss; 0 is perfect.

    Examples
    --------
    >>> from maxmargin.metrics import tree_loss
    >>> tree_loss(["a/b", "a/b", "a/c"], ["a/b", "a/c", "d/e"], hierarchy="/")
    1.0
    """
    true, predicted = np.asarray(y_true).tolist(), np.asarray(y_pred).tolist()
    if len(true) != len(predicted):
        raise ValueError(f"y_true has {len(true)} classes but y_pred has {len(predicted)}")
    weights = example_weights(sample_weight, len(true))
    labels = Labels([*true, *predicted])
    tree = read_hierarchy(hierarchy, labels.values)
    for name, values in (("y_true", true), ("y_pred", predicted)):
        for i, label in enumerate(values):
            if label not in tree.codes:
                raise error_at(Place(name, i), f"class {label!r} is not in the hierarchy")
    losses = tree_losses(tree, *tree.ancestors(labels.values))
    return float(np.average(losses[labels.encode(true, "y_true"), labels.encode(predicted, "y_pred")], weights=weights))
