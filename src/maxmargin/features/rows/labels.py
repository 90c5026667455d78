"""Codes 0 … K−1 of labels of any type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Where, error_at, inside
from maxmargin._base.types import AnyArray, CodeArray


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
