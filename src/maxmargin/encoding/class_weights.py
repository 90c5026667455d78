"""Weights of classes, by scikit-learn's conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maxmargin._checked import finite_number


def check_class_weight(class_weight: Any) -> None:
    """Raise ValueError unless the weights are None, "balanced" or a dict of numbers ≥ 0."""
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, 'balanced' or a dict by label, found {class_weight!r:.60}")
    for label, weight in class_weight.items():
        finite_number(weight, f"class_weight[{label!r}]")


def class_weights(class_weight: Any, counts: Mapping[Any, float]) -> dict[Any, float]:
    """Return the weight of each label that occurs, with the number of its occurrences in `counts`.

    ``"balanced"`` is Σ counts / (K · count), as in scikit-learn. Labels that a dict does not name have weight 1. A
    label of the dict that does not occur, as in a fold, is ignored, unless another label has no weight: one of the two
    is then misspelt.
    """
    if class_weight is None:
        return dict.fromkeys(counts, 1.0)
    if isinstance(class_weight, str):
        return {label: sum(counts.values()) / (len(counts) * count) for label, count in counts.items()}
    strange = [label for label in class_weight if label not in counts]
    missing = [label for label in counts if label not in class_weight]
    if strange and missing:
        raise ValueError(
            f"class_weight has the label {strange[0]!r}, which does not occur in Y, and none for {missing[0]!r}, which "
            f"does"
        )
    return {label: float(class_weight.get(label, 1.0)) for label in counts}
