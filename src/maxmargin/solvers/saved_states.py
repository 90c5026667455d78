"""Checks of saved states before they are restored.

Compiled functions read the arrays of a state without checking indices, so an array of another run, or a damaged
one, could end the process. Everything that a compiled function uses as an index or a size is checked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from maxmargin._base.checks import stored_array
from maxmargin._base.memory import available_bytes
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.planes import gathered

#: Largest counter, and largest number whose square can be added up.
_MOST, _LARGEST = 2**31, 1e150
#: Excess of dual values over budgets that rounding can cause.
_ROUNDING = 1e-6


def check_names(saved: Iterable[str], expected: Iterable[str]) -> None:
    """Raise ValueError unless exactly the expected arrays are there."""
    saved, expected = set(saved), set(expected)
    if saved != expected:
        what = [f"no array {name}" for name in sorted(expected - saved)]
        what += [f"an unknown array {name}" for name in sorted(saved - expected)]
        raise ValueError(f"it has {what[0]}")


def check_array(
    name: str, array: Any, like: AnyArray, shape: tuple[int | None, ...] | None = None, finite: bool = True
) -> None:
    """Raise ValueError unless an array has the data type of `like`, its shape (or the given one), and no NaN.

    None in a shape means any length. `finite` excludes infinity as well, and numbers whose squares overflow.
    """
    limit = _LARGEST if finite else math.inf
    stored_array(array, name, like.dtype, like.shape if shape is None else shape, largest=limit)


def check_within(name: str, values: Any, least: Any, most: Any) -> None:
    """Raise ValueError unless least ≤ values ≤ most."""
    if not bool(np.all((values >= least) & (values <= most))):
        raise ValueError(f"{name} has a value out of range")


def check_counters(counters: Any, like: Mapping[str, Any]) -> None:
    """Raise ValueError unless there is exactly one number of the right kind for each counter."""
    if not isinstance(counters, dict):
        raise ValueError("its counters are not readable")
    check_names(counters, like)
    for name, expected in like.items():
        value, kind = counters[name], type(expected)
        fits = type(value) is kind or (isinstance(expected, float) and type(value) in (int, float))
        if not fits or (isinstance(value, float) and math.isnan(value)) or (kind is int and not 0 <= value < _MOST):
            raise ValueError(f"its counter {name} is {value!r}, expected a value like {expected!r}")


def check_generator(state: Any) -> None:
    """Raise ValueError unless this is a state of the random generator."""
    try:
        np.random.default_rng(0).bit_generator.state = state
    except Exception as error:
        raise ValueError(f"its random generator cannot be restored ({error})") from None


def check_model(model: Any, arrays: Mapping[str, AnyArray]) -> None:
    """Raise ValueError unless an `AggregateModel` can restore these arrays."""
    like = model.arrays()
    check_names(arrays, like)
    for name, array in arrays.items():
        check_array(name, array, like[name], (None, like[name].shape[1]) if name == "row" else None)
    check_within("row", len(arrays["row"]), 1, len(model.row))
    check_within("rounds", arrays["rounds"], 0, _MOST)
    check_within("weight", arrays["weight"], 0.0, np.inf)
    check_within("weight", arrays["weight"][: len(arrays["row"])].sum(), 1e-12, np.inf)


def check_working_sets(sets: Any, arrays: Mapping[str, AnyArray]) -> None:
    """Raise ValueError unless `WorkingSets` can restore these arrays."""
    like = sets.arrays()
    check_names(arrays, like)
    per_example = ("first", "room", "count", "gram_first", "gap", "budget", "ends", "refused")
    for name, array in arrays.items():
        expected = like[name]
        if name == "entry" and getattr(array, "dtype", None) == np.float64:
            expected = expected.astype(np.float64)  # entries that are not exact in float32
        check_array(name, array, expected, None if name in per_example else (None,), finite=False)
    first, room, count = arrays["first"], arrays["room"].astype(np.int64), arrays["count"]
    slots_end, gram_end, end, size = (int(v) for v in arrays["ends"])
    check_within("refused", arrays.get("refused", 0), 0, np.iinfo(np.int64).max)
    slots = [arrays[name] for name in ("alpha", "value", "start", "stop", "age", "key")]
    check_within("ends", slots_end, 0, min(map(len, slots)))
    check_within("ends", gram_end, 0, len(arrays["gram"]))
    if len({len(array) for array in slots}) > 1 or not len(arrays["index"]) == len(arrays["entry"]) == end <= size:
        raise ValueError("its arrays of planes have different lengths")
    check_within("ends", 16.0 * size, 0.0, max(available_bytes(), 16.0 * end))
    check_within("room", room, 2, max(2, min(sets.most_slots, slots_end)))
    check_within("count", count, 1, room)
    check_blocks("first", first, room, slots_end)
    check_blocks("gram_first", arrays["gram_first"], room * room, gram_end)
    _check_planes(sets, arrays, end)
    _check_masses(sets, arrays)


def check_blocks(name: str, first: IntArray, room: IntArray, end: int) -> None:
    """Raise ValueError unless first[i] … first[i] + room[i] are disjoint and end at `end`."""
    order = np.argsort(first, kind="stable")
    stops = np.append(first[order][1:], end)
    check_within(name, first, 0, end)
    check_within(name, first[order] + room[order], 0, stops)


def _check_planes(sets: Any, arrays: Mapping[str, AnyArray], end: int) -> None:
    """Raise ValueError unless planes lie in the pool, with indices of weights and finite entries."""
    examples, slots = sets.planes_in_use(arrays["first"], arrays["count"])
    start, stop = arrays["start"], arrays["stop"]
    truths = arrays["first"]
    check_within("start", start[truths], 0, end)
    check_within("stop", stop[truths], start[truths], end)
    starts, stops, codes = start[slots], stop[slots], sets.code_length[examples]
    check_within("start", starts, codes, end)
    check_within("stop", stops, starts, end)
    if int((stops - starts + codes).sum()) > end:
        raise ValueError("its planes overlap")
    planes = gathered(starts, stops, arrays["index"], arrays["entry"])
    if len(planes.indices):
        check_within("index", int(planes.indices.max()), 0, sets.dim - 1)
    for values in (planes.values, arrays["value"][slots]):
        check_array("a plane", values, values)


def _check_masses(sets: Any, arrays: Mapping[str, AnyArray]) -> None:
    """Raise ValueError unless dual values are feasible, since lower bounds are computed from them."""
    examples, slots = sets.planes_in_use(arrays["first"], arrays["count"])
    alpha: FloatArray = arrays["alpha"][slots]
    budget: FloatArray = arrays["budget"]
    check_within("alpha", arrays["alpha"][arrays["first"]], 0.0, np.inf)
    check_within("alpha", alpha, 0.0, _LARGEST)
    check_within("budget", budget, 0.0, np.inf if sets.most_budget is None else (1 + _ROUNDING) * sets.most_budget)
    masses = np.bincount(examples, alpha, len(budget))
    check_within("alpha", masses, 0.0, (1 + _ROUNDING) * budget)
