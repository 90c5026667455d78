"""Which weights minimise the objective: one file per solver, all with the same certificate."""

from importlib import import_module
from typing import Any

#: Where each solver lives; imported when it is first asked for.
_HOMES = {
    "AveragedPerceptron": "perceptron",
    "NSlack": "nslack",
    "OneSlack": "oneslack",
    "ProximalBundle": "bundle",
    "ProximalWorkingSets": "proximal",
    "Subgradient": "subgradient",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin.solvers' has no attribute {name!r}")
    return getattr(import_module(f"maxmargin.solvers.{_HOMES[name]}"), name)
