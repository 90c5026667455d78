"""Costs of confusing labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin._base.checks import finite_number
from maxmargin._base.memory import check_memory
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.features.rows.labels import Labels

#: Bytes per pair of labels while costs are computed: two copies of the table.
_PAIR_BYTES = 2 * 8.0
#: Largest denominator of costs, and the largest multiple of their common divisor, for losses to be counted in levels.
_LARGEST_DENOMINATOR, _MOST_STEPS = 1000, 64


def check_costs(costs: Any, names: Sequence[str], parameter: str) -> None:
    """Raise ValueError if the costs are not one of the names, a matrix or a dict."""
    if isinstance(costs, str):
        fine = costs in names
    elif isinstance(costs, Mapping):
        for label, cost in costs.items():
            if not _are_numbers(cost, 0):
                raise ValueError(f"{parameter}: the cost of label {label!r} must be a number, found {cost!r:.60}")
        fine = True
    else:
        fine = _are_numbers(costs, 2)
    if not fine:
        raise ValueError(f"{parameter} must be {', '.join(map(repr, names))}, a matrix or a dict, found {costs!r:.60}")


def _are_numbers(values: Any, ndim: int) -> bool:
    """Return whether the values can be converted to an array of floats with `ndim` dimensions."""
    try:
        return np.asarray(values, float).ndim == ndim and not isinstance(values, str | None)
    except (TypeError, ValueError, OverflowError):
        return False


def cost_matrix(costs: Any, labels: Labels) -> FloatArray:
    """Return the (K, K) costs of predicting the column's label when the row's label is true.

    Parameters
    ----------
    costs : matrix, dict or str
        A matrix in the order of the classes; a dict of costs by true class (default 1); or a name, for a cost of 1 of
        every wrong label.
    labels : Labels
        The classes.
    """
    size = len(labels)
    check_memory(_PAIR_BYTES * size * size, f"a table of costs between {size} labels", "use fewer labels")
    if isinstance(costs, str | Mapping):
        table = np.ones((size, size)) if isinstance(costs, str) else _per_label(costs, labels)
        np.fill_diagonal(table, 0.0)
    else:
        table = np.array(costs, float)
    _check_table(table, labels)
    return table


def _per_label(costs: Mapping[Any, Any], labels: Labels) -> FloatArray:
    """Return a matrix whose rows are constant: the cost of each true label."""
    unknown = [label for label in costs if label not in labels.codes]
    if unknown:
        raise ValueError(f"costs for labels that do not occur: {unknown!r:.60}")
    per_label = np.array([float(costs.get(label, 1.0)) for label in labels.values])
    return np.repeat(per_label[:, None], len(labels), axis=1)


def _check_table(table: FloatArray, labels: Labels) -> None:
    size = len(labels)
    if table.shape != (size, size):
        classes = f"classes {labels.values!r:.60}"
        raise ValueError(f"expected a {size} × {size} cost matrix ({classes}), found one of shape {table.shape}")
    bad = np.argwhere(~((table >= 0) & (table < np.inf)))
    if len(bad):
        true, predicted = (labels.values[code] for code in bad[0])
        raise ValueError(
            f"costs must be finite and not negative, found {table[tuple(bad[0])]} for {predicted!r} if {true!r} is true"
        )
    if np.diagonal(table).any():
        raise ValueError("the diagonal of a cost matrix must be 0 (a correct label costs nothing)")


def cost_levels(costs: FloatArray) -> tuple[IntArray, float] | None:
    """Return costs as integer multiples of one number, or None if they are not small multiples of any.

    Parameters
    ----------
    costs : ndarray
        Costs ≥ 0.

    Returns
    -------
    steps : ndarray of int64
        Multiples, at most 64.
    unit : float
        The number: ``costs == steps * unit`` up to rounding.
    """
    values = np.unique(costs)
    fractions = [Fraction(value).limit_denominator(_LARGEST_DENOMINATOR) for value in values.tolist()]
    if (np.abs(np.array(fractions, float) - values) > 1e-12 * values).any():
        return None
    denominator = math.lcm(*(f.denominator for f in fractions))
    unit = Fraction(math.gcd(*(int(f * denominator) for f in fractions)), denominator)
    if unit == 0:
        return np.zeros(costs.shape, np.int64), 1.0
    if max(fractions) / unit > _MOST_STEPS:
        return None
    return np.rint(costs / float(unit)).astype(np.int64), float(unit)


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
