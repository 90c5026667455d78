"""Features of elements that users give, besides thresholds of frequencies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.features.text.candidates import Incidence


def check_features(features: Any) -> None:
    """Raise ValueError unless features of elements are None, a function, or a table of finite numbers."""
    if features is None or callable(features):
        return
    table = _numbers(features)
    if table is None or table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError(
            f"features must be None, a function of an element that returns numbers, or an array (elements, features) "
            f"of finite numbers, found {type(features).__name__} {features!r:.60}"
        )


def element_features(features: Any, inputs: list[Incidence]) -> list[FloatArray]:
    """Return the features (elements, d) of the elements of each input; a function is called once per element."""
    if not callable(features):
        table = np.asarray(features, float)
        return [_rows_of_table(table, x.names, Place("X", i)) for i, x in enumerate(inputs)]
    known: dict[Any, FloatArray] = {}
    width = None
    for i, x in enumerate(inputs):
        for element in x.names:
            if element in known:
                continue
            known[element] = _row(features, element, Place("X", i))
            width = len(known[element]) if width is None else width
            if len(known[element]) != width:
                raise error_at(
                    Place("X", i), f"features of {element!r:.60}: expected {width} numbers, found {len(known[element])}"
                )
    return [np.array([known[element] for element in x.names]).reshape(len(x.names), width or 0) for x in inputs]


def _rows_of_table(table: FloatArray, names: Any, where: Where) -> FloatArray:
    """Return the rows of a table for columns of a matrix of candidates."""
    if len(names) and not isinstance(names, np.ndarray):
        raise error_at(
            where, "an array of features belongs to the columns of a matrix (candidates, elements); pass a function"
        )
    if len(names) and names.max() >= len(table):
        raise error_at(where, f"features of {len(table)} elements, but the candidates contain element {names.max()}")
    return table[np.asarray(names, np.int64)]


def _row(function: Callable[[Any], Any], element: Any, where: Where) -> FloatArray:
    """Return the features of one element; a single number is one feature."""
    try:
        given = function(element)
    except Exception as error:
        raise error_at(where, f"features of {element!r:.60} raised {type(error).__name__}: {error}") from error
    numbers = _numbers(given)
    if numbers is None or numbers.ndim > 1 or not np.isfinite(numbers).all():
        raise error_at(where, f"features of {element!r:.60}: expected finite numbers, found {given!r:.60}")
    return np.atleast_1d(numbers)


def _numbers(values: Any) -> AnyArray | None:
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        return None
