"""Optimisers and functions in model files: ready optimisers by their arguments, functions by their import path."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from maxmargin.io.models.archive import BadFileError
from maxmargin.io.models.values import expect
from maxmargin.optimizers.optimizer import Optimizer
from maxmargin.optimizers.ready import KINDS, Ready

_OPTIONS = ("n_variables", "sense", "batch", "exact", "integral")


def optimizer_content(writer: Any, optimizer: Optimizer, where: str) -> dict[str, Any]:
    """Return an optimiser as JSON."""
    if isinstance(optimizer, Ready):
        return {"$optimizer": optimizer.kind, "arguments": writer.names(optimizer.arguments(), where)}
    options: dict[str, Any] = {name: getattr(optimizer, name) for name in _OPTIONS}
    content = {"$optimizer": "", "options": writer.names(options, where)}
    for name, function in (("solve", optimizer.function), ("feasible", optimizer.feasible)):
        if function is not None and (not isinstance(function, FunctionType) or "<" in function.__qualname__):
            raise ValueError(
                f"{where}.{name} cannot be saved: {function!r:.60} is not a function at the top level of a module, "
                f"where other processes can find it"
            )
        content[name] = writer.encode(function, f"{where}.{name}")
    return content


def optimizer_from(reader: Any, content: dict[str, Any], where: str) -> Optimizer:
    """Return the optimiser encoded in JSON."""
    kind = expect(content["$optimizer"], str, where)
    if kind in KINDS:
        return KINDS[kind](**reader.names(content["arguments"], where))
    if kind:
        raise BadFileError(f"is damaged, or of another version: there is no optimizer {kind!r}")
    functions = {name: reader.decode(content[name], f"{where}.{name}") for name in ("solve", "feasible")}
    return Optimizer(**functions, **reader.names(content["options"], where))
