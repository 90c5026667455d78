"""Codes 0 … K−1 of labels of any type."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin._base.checks import finite_number, is_list
from maxmargin._base.errors import Where, error_at, inside
from maxmargin._base.memory import check_memory
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray


class Labels:
    """The classes in order, with look-up by value.

    Parameters
    ----------
    values : iterable
        Strings, numbers or any hashable values.
    given : bool, default=False
        Whether to keep their order. By default they are sorted by value or, if they cannot be compared, by type and
        text.
    """

    def __init__(self, values: Iterable[Any], given: bool = False) -> None:
        distinct = list(dict.fromkeys(hashable_label(plain_label(v)) for v in values))
        if not given:
            try:
                distinct.sort()
            except TypeError:
                distinct.sort(key=lambda v: (type(v).__name__, repr(v)))
        self.values: list[Any] = distinct
        self.codes = {value: code for code, value in enumerate(distinct)}

    def __len__(self) -> int:
        return len(self.values)

    def encode(self, labels: Iterable[Any], where: Where | Callable[[int], Where]) -> CodeArray:
        """Return the codes of labels; raise ValueError with the place of the first unknown label.

        Parameters
        ----------
        labels : iterable
            Labels.
        where : Place, str or callable
            The place of all labels, or a function from the position of a label to its place, for error messages.
        """
        flat = labels.tolist() if isinstance(labels, np.ndarray) else labels
        try:
            return np.fromiter((self.codes[v] for v in flat), np.int32)
        except (KeyError, TypeError):
            pass
        codes = []
        for position, label in enumerate(flat):
            try:
                codes.append(self.codes[plain_label(label)])
            except (KeyError, TypeError):
                shown = ", ".join(map(repr, self.values[:10])) + (", …" if len(self) > 10 else "")
                place = where(position) if callable(where) else inside(where, f"position {position}")
                raise error_at(
                    place,
                    f"unknown label {label!r}; the classes are {shown}. "
                    f"Pass classes= to include labels that do not occur in the training data",
                ) from None
        return np.array(codes, np.int32)

    def find(self, labels: Iterable[Any]) -> CodeArray:
        """Return the codes of labels, −1 for those that are not classes."""
        flat = labels.tolist() if isinstance(labels, np.ndarray) else labels
        return np.fromiter(map(self._code, flat), np.int32)

    def _code(self, label: Any) -> int:
        try:
            return self.codes.get(plain_label(label), -1)
        except TypeError:  # not hashable
            return -1

    def decode(self, codes: AnyArray) -> list[Any]:
        """Return the labels of codes; raise ValueError if a code is out of range."""
        if codes.dtype.kind not in "iu" or (len(codes) and not 0 <= codes.min() <= codes.max() < len(self)):
            raise ValueError(f"codes must be integers from 0 to {len(self) - 1}")
        return [self.values[code] for code in codes.tolist()]

    def get_state(self) -> list[Any]:
        """Return the classes in order, as `from_state` expects them."""
        return self.values

    @classmethod
    def from_state(cls, state: Any) -> Labels:
        labels = cls(state, given=True) if isinstance(state, list) else None
        if labels is None or len(labels) != len(state):
            raise ValueError("labels must be a list of distinct values")
        return labels

    def array(self) -> AnyArray:
        """Return the classes as an array, of dtype object if NumPy would convert them."""
        try:
            array = np.array(self.values) if self.values else np.zeros(0)
        except ValueError:  # tuples of different lengths
            array = np.zeros(0)
        if array.ndim != 1 or array.tolist() != self.values:
            array = np.empty(len(self.values), object)
            for code, value in enumerate(self.values):
                array[code] = value
        return array


def named_classes(classes: Any) -> Labels:
    """Return the labels of the parameter `classes`; raise ValueError if one occurs twice."""
    if not is_list(classes) or getattr(classes, "ndim", 1) > 1:
        raise ValueError(f"classes must be a list of labels in order, found {type(classes).__name__} {classes!r:.60}")
    values = [plain_label(value) for value in classes]
    labels = distinct_labels(values, lambda i: f"classes[{i}]")
    if len(labels) < len(values):
        twice = next(i for i, value in enumerate(values) if value in values[:i])
        raise ValueError(
            f"classes[{twice}]: expected each label once, found {values[twice]!r}, "
            f"which is classes[{values.index(values[twice])}] as well"
        )
    return Labels(labels, given=True)


def with_positive_last(classes: AnyArray, positive_label: Any) -> AnyArray:
    """Return the classes with the positive label last; raise ValueError if it is none of them, unless it is None."""
    if positive_label is None:
        return classes
    positive = np.array([value == positive_label for value in classes.tolist()], bool)
    if not positive.any():
        shown = ", ".join(map(repr, classes.tolist()[:5]))
        raise ValueError(f"positive_label must be one of the labels {shown}, found {positive_label!r}")
    return np.concatenate([classes[~positive], classes[positive]])


def distinct_labels(labels: Iterable[Any], where: Callable[[int], Where]) -> list[Any]:
    """Return each label once, in order of appearance; raise ValueError with the place of an invalid one."""
    labels = list(labels)
    try:
        distinct = list(dict.fromkeys(labels))
        if not any(is_missing(label) for label in distinct):
            return distinct
    except TypeError:
        pass
    for position, label in enumerate(labels):
        try:
            hashable_label(label)
        except ValueError as error:
            raise error_at(where(position), str(error)) from None
        if is_missing(label):
            raise error_at(where(position), f"expected a label, found {label!r}")
    raise AssertionError("one of the labels is not valid")


def is_missing(label: Any) -> bool:
    """Return whether a label is None, NaN or another value that cannot be compared with itself."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):
        return True


def hashable_label(value: Any) -> Any:
    """Return a label that can be the key of a dict; raise ValueError if it cannot."""
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            f"labels must be hashable (strings, numbers, tuples), found {type(value).__name__} {value!r}"
        ) from None
    return value


def plain_label(value: Any) -> Any:
    """Return a NumPy scalar as the equal Python value."""
    return value.item() if isinstance(value, np.generic) else value


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
