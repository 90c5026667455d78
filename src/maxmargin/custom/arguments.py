"""Arguments and results of the methods of user-defined structures, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.errors import Place
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.structure import StructureError
from maxmargin.custom.any_values import equal


def declared_size(structure: Any) -> int | None:
    """Return the attribute `size` of a structure, the number of weights; None if it has none."""
    size = getattr(structure, "size", None)
    return None if size is None else whole_number(size, "the attribute `size`")


def completed(y: Any, answer: Any) -> tuple[Any, Any]:
    """Return the pair (y, h), given the result of `complete`: either h or the pair."""
    if isinstance(answer, tuple) and len(answer) == 2:
        if not equal(answer[0], y):
            raise ValueError(f"it changed y: expected {y!r:.60}, found {answer[0]!r:.60}")
        return answer
    return y, answer


def shown(value: Any) -> str:
    """Return a value for a message: on one line and not too long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "…"


def read_only(w: FloatArray) -> FloatArray:
    """Return a view of the weights that cannot be written to."""
    view = w.view()
    view.flags.writeable = False
    return view


def raised_by(method: str, error: Exception, example: int) -> StructureError:
    """Return the error to raise when a method has raised on an example."""
    return StructureError.at(Place("X", example), f"{method} raised {type(error).__name__}: {error}")


def loss_values(losses: list[Any], ids: IntArray) -> FloatArray:
    """Return the losses of ids as an array; raise StructureError if one is not a number."""
    try:
        values = np.array(losses)
        if values.ndim == 1 and values.dtype.kind in "fiub":
            return values.astype(float) + 0.0  # no negative zero: the hash reads bits
    except ValueError:
        pass
    for r, loss in enumerate(losses):
        try:
            fine = np.ndim(loss) == 0 and not isinstance(loss, str) and float(loss) is not None
        except (TypeError, ValueError):
            fine = False
        if not fine:
            raise StructureError.at(Place("X", ids[r]), f"loss returned {loss!r}, expected a number")
    return np.array([float(loss) for loss in losses]) + 0.0
