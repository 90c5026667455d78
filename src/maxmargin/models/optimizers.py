"""Optimisers in model files: ready ones by their arguments, others by their functions, which the caller gives."""

from __future__ import annotations

from typing import Any

from maxmargin._base.archive import BadFileError
from maxmargin.models.values import expect
from maxmargin.optimizers.optimizer import Optimizer
from maxmargin.optimizers.ready import KINDS, Ready

_OPTIONS = ("n_variables", "sense", "batch", "exact", "integral", "costs", "decision")


def optimizer_content(writer: Any, optimizer: Optimizer, where: str) -> dict[str, Any]:
    """Return an optimiser as JSON."""
    if type(optimizer) not in (Optimizer, *KINDS.values()):
        raise ValueError(
            f"{where} cannot be saved: it is of the user-defined class {type(optimizer).__name__}; pass "
            f"maxmargin.Optimizer(solve) with a function of your own, which load(path, functions=…) takes again"
        )
    if isinstance(optimizer, Ready):
        return {"$optimizer": optimizer.kind, "arguments": writer.names(optimizer.arguments(), where)}
    options: dict[str, Any] = {name: getattr(optimizer, name) for name in _OPTIONS}
    content = {"$optimizer": "", "options": writer.names(options, where)}
    for name, function in (("solve", optimizer.function), ("feasible", optimizer.feasible)):
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
