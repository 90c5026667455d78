"""Forms of decisions over parts: a 0/1 vector, the indices of the chosen parts, or the form of a field.

A form is recognised once, over all training outputs, or declared by the parameter `decision`; a model returns the form
that it was trained on. ``[0, 1]`` may be a vector or a list of indices, so a form is never guessed from one output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from maxmargin._base.checks import is_list
from maxmargin._base.errors import Place, Where, error_at
from maxmargin._base.types import IntArray

#: A 0/1 number for each part, the indices of the chosen parts as a list, and the same as a set.
VECTOR, INDICES, SET = "vector", "indices", "set"
#: How forms are called in messages.
DESCRIBED = {VECTOR: "0/1 vectors", INDICES: "lists of indices", SET: "sets of indices"}


def check_decision(decision: Any, forms: Sequence[str]) -> None:
    """Raise ValueError unless the parameter `decision` is "auto" or one of the forms."""
    if not isinstance(decision, str) or decision not in ("auto", *forms):
        names = ", ".join(map(repr, ("auto", *forms)))
        raise ValueError(f"decision must be one of {names}, found {decision!r:.60}")


def is_vector(y: Any, size: int) -> bool:
    """Return whether an output may be a 0/1 vector over this number of parts."""
    numbers = _numbers(y)
    return numbers is not None and numbers.shape == (size,) and bool(np.isin(numbers, (0, 1)).all())


def is_indices(y: Any, size: int) -> bool:
    """Return whether an output may be a list of distinct indices below the number of parts."""
    numbers = _numbers(y)
    if numbers is None or isinstance(y, Set):
        return False
    return _are_indices(numbers, size)


def is_index_set(y: Any, size: int) -> bool:
    """Return whether an output may be a set of indices below the number of parts."""
    return isinstance(y, Set) and _are_indices(np.array(list(y)), size)


def _are_indices(numbers: Any, size: int) -> bool:
    if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
        return False
    within = not len(numbers) or (numbers.min() >= 0 and numbers.max() < size)
    return bool(within and len(np.unique(numbers)) == len(numbers))


def _numbers(y: Any) -> Any:
    """Return an output as an array of numbers; None if it is not a list of numbers."""
    if not is_list(y):
        return None
    try:
        numbers = np.asarray(y)
    except ValueError:
        return None
    return numbers if numbers.ndim == 1 and (numbers.size == 0 or numbers.dtype.kind in "biuf") else None


def recognised(
    Y: Sequence[Any],
    fits: Mapping[str, Callable[[Any, int], bool]],
    declared: str,
    default: str,
    read: Callable[[str, Any, int], Any],
    described: Mapping[str, str] | None = None,
) -> str:
    """Return the form of all outputs.

    Parameters
    ----------
    Y : sequence
        The outputs, without costs.
    fits : dict of functions
        ``fits[form](y, i)`` returns whether y, the output of example i, may have this form.
    declared : str
        The parameter `decision`; "auto" to recognise the form.
    default : str
        The form to read if no form fits, for its error message.
    read : callable
        ``read(form, y, i)`` raises ValueError if y is not a decision of example i. Called only if several forms fit all
        outputs.
    described : dict, optional
        What the outputs of further forms are called in messages.

    Returns
    -------
    str
        The form; an error if outputs have different forms, or if several forms fit all of them.
    """
    if declared != "auto":
        return declared
    names, possible = {**DESCRIBED, **(described or {})}, set(fits)
    for i, y in enumerate(Y):
        own = {name for name, test in fits.items() if test(y, i)}
        if not own:
            return default if default in possible else sorted(possible)[0]
        if not own & possible:
            before = sorted(possible)[0]
            raise error_at(
                Place("Y", i),
                f"outputs have different forms: this is one of {names[sorted(own)[0]]}, but outputs before it are "
                f"{names[before]}; use one form for all",
            )
        possible &= own
    if len(possible) > 1:
        valid = {name for name in possible if _all_read(Y, name, read)}
        possible = valid or {default if default in possible else sorted(possible)[0]}
    if len(possible) > 1:
        listed = sorted(possible)
        raise ValueError(
            f"Y can be read as {' and as '.join(names[name] for name in listed)}: pass decision="
            f"{' or decision='.join(map(repr, listed))}"
        )
    return possible.pop() if possible else default


def _all_read(Y: Sequence[Any], form: str, read: Callable[[str, Any, int], Any]) -> bool:
    try:
        for i, y in enumerate(Y):
            read(form, y, i)
    except ValueError:
        return False
    return True


def indices_of(y: Any, form: str, where: Where, what: str, size: int | None = None) -> IntArray:
    """Return the indices of the chosen parts of a vector, list or set; raise an error if it does not have the form.

    Parameters
    ----------
    y : object
        The output.
    form : {"vector", "indices", "set"}
        Its form; a list may stand for a set, and a set for a list.
    where : Place or str
        Where the output is, for messages.
    what : str
        A part, in messages.
    size : int, optional
        Number of parts, if it is known.
    """
    if form == VECTOR:
        numbers = _numbers(y)
        if numbers is None or not np.isin(numbers, (0, 1)).all():
            raise error_at(where, f"expected 0 or 1 for each {what}, found {y!r:.60}")
        if size is not None and len(numbers) != size:
            raise error_at(where, f"{len(numbers)} numbers, but X has {size} {what}s")
        return np.flatnonzero(numbers)
    numbers = np.array(sorted(y)) if isinstance(y, Set) else _numbers(y)
    if numbers is None or (len(numbers) and numbers.dtype.kind not in "iu"):
        raise error_at(where, f"expected the indices of the chosen {what}s, found {y!r:.60}")
    if len(numbers) and (numbers.min() < 0 or len(np.unique(numbers)) < len(numbers)):
        raise error_at(where, f"expected distinct indices from 0 on, found {numbers.tolist()!r:.60}")
    if size is not None and len(numbers) and numbers.max() >= size:
        raise error_at(where, f"{what} {numbers.max()} does not exist: X has {what}s 0 to {size - 1}")
    return numbers.astype(np.int64)


def written(indices: IntArray, form: str, size: int) -> Any:
    """Return chosen parts in a form: a list of 0 and 1, a list of indices in the given order, or a set."""
    if form == VECTOR:
        vector = np.zeros(size, np.int64)
        vector[indices] = 1
        return vector.tolist()
    return set(indices.tolist()) if form == SET else indices.tolist()


def saved_lists(packed: Any, depth: int) -> list[list[Any]]:
    """Return outputs of a file, lists of numbers (depth 1) or of lists of numbers (depth 2); else raise ValueError."""

    def is_whole(value: Any, below: int) -> bool:
        if below == 0:
            return isinstance(value, int) and not isinstance(value, bool)
        return isinstance(value, list) and all(is_whole(entry, below - 1) for entry in value)

    lists = packed["lists"] if isinstance(packed, dict) and "lists" in packed else None
    if not is_whole(lists, depth + 1):
        raise ValueError(f"expected outputs as lists of integers, found {lists!r:.60}")
    outputs: list[list[Any]] = lists  # type: ignore[assignment]
    return outputs
