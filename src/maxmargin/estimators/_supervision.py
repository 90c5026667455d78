"""What `CostLearner` learns from: true costs, known decisions, or both."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from maxmargin._callers import callers_level
from maxmargin._checked import is_list
from maxmargin._input import indexable
from maxmargin.structures.decisions.inputs import Inputs, Truth


def check_supervision(loss: Any, prior: Any, costs: Any, decisions: Any) -> None:
    """Raise ValueError if the supervision is missing, or if loss or prior need another kind."""
    if costs is None and decisions is None:
        raise ValueError("there is nothing to learn from: pass costs= or decisions=")
    if costs is None and loss == "regret":
        raise ValueError("loss='regret' needs the true costs: pass costs=")
    if costs is not None and (callable(loss) or loss == "hamming"):
        raise ValueError("with known costs the loss is the regret: set loss='auto', or pass decisions= only")
    if costs is None and isinstance(prior, str):
        raise ValueError(f"prior={prior!r} needs the true costs: pass costs=, or prior=None")


def warn_of_decisions(Y: Any) -> None:
    """Warn if all numbers of Y are 0 or 1: Y is read as costs, but these are probably decisions."""
    try:
        values = np.asarray(Y, float)
    except (TypeError, ValueError):
        return
    if values.ndim == 2 and values.any() and ((values == 0) | (values == 1)).all():
        warnings.warn(
            "Y has only 0 and 1 and is read as costs: set loss='hamming' (or pass decisions=) if these are decisions, "
            "loss='regret' (or pass costs=) if they are costs",
            UserWarning,
            stacklevel=callers_level(),
        )


def supervised(inputs: Inputs, costs: Any, decisions: Any) -> tuple[Inputs, list[Truth]]:
    """Return the inputs with what is known of each example; raise ValueError if lengths differ."""
    columns = []
    for name, values in (("costs", costs), ("decisions", decisions)):
        rows = [None] * len(inputs) if values is None else _listed(values, name)
        if len(rows) != len(inputs):
            raise ValueError(f"X has {len(inputs)} examples but {name} has {len(rows)}")
        columns.append(rows)
    return inputs, [Truth(decision, cost) for cost, decision in zip(*columns, strict=True)]


def _listed(values: Any, name: str) -> list[Any]:
    """Return the rows of an array, a data frame or a sequence."""
    rows = indexable(values, name)
    if not is_list(rows):
        raise ValueError(f"{name}: expected a row for each example, found {type(values).__name__}")
    return list(rows)
