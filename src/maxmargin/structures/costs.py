"""Costs of taking one label for another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.structures.labels import Labels


def cost_matrix(loss: Any, labels: Labels) -> FloatArray:
    """(K, K) costs of predicting column where row is true.

    ``loss`` is a matrix in the order of the classes, or a dict of the cost of missing each true label (1 where it is
    silent), or a string, which stands for 0 on the diagonal and 1 elsewhere.
    """
    size = len(labels)
    costs = np.ones((size, size)) - np.eye(size)
    if isinstance(loss, str):
        return costs
    if isinstance(loss, Mapping):
        unknown = [label for label in loss if label not in labels.codes]
        if unknown:
            raise ValueError(f"loss: costs for labels that do not occur: {unknown}")
        per_label = np.array([float(loss.get(label, 1.0)) for label in labels.values])
        costs = costs * per_label[:, None]
    else:
        costs = np.array(loss, float)
    if costs.shape != (size, size):
        raise ValueError(f"loss: expected a {size} × {size} cost matrix (classes {labels.values}), found {costs.shape}")
    if not (np.isfinite(costs) & (costs >= 0)).all():
        raise ValueError("loss: costs must be finite and not negative")
    if np.diagonal(costs).any():
        raise ValueError("loss: the diagonal of a cost matrix must be 0 (a right label costs nothing)")
    return costs
