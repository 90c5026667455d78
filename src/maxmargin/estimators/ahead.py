"""The functions that a fit will call, compiled before it starts.

``compiled.json`` lists them for the fits of `warmup`, by structure, bound, solver and type of features. It is a list of
what to compile early: a function that is missing there is compiled when it is called. ``python -m
benchmarks.record_compiled`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from maxmargin._base.ahead import Signature, compile_ahead
from maxmargin.core.structure import Compiled
from maxmargin.problem import Problem
from maxmargin.solvers.base import Solver

#: Kinds of fits whose functions were looked for in this process.
_looked: set[str] = set()


def kind_of_fit(structure: Any, problem: Problem, solver: Solver, bound: str) -> str:
    """Return what decides which functions a fit calls, as a text."""
    settings = ""
    if isinstance(structure, Compiled):
        parameters = structure.get_params(deep=False).items()
        settings = " ".join(f"{name}={value}" for name, value in parameters if isinstance(value, str | bool))
    name = type(structure).__name__ if isinstance(structure, Compiled) else "own"
    exact = "float32" if problem.examples.float32_exact else "float64"
    return f"{name}; {bound} {problem.objective.slack}; {solver.for_problem(problem).name}; {exact}; {settings}"


def compile_for(structure: Any, problem: Problem, solver: Solver, bound: str) -> None:
    """Compile the functions of a fit that are not in the cache, if there are several cores."""
    kind = kind_of_fit(structure, problem, solver, bound)
    if kind not in _looked:
        _looked.add(kind)
        compile_ahead(functions_of(kind))


def functions_of(kind: str) -> list[Signature]:
    """Return the functions of a kind of fit, or those of all fits that differ from it only in settings."""
    kinds = _listed()
    if kind in kinds:
        return list(kinds[kind])
    general = kind.rpartition("; ")[0]
    similar = [found for name, found in kinds.items() if name.rpartition("; ")[0] == general]
    if not similar:
        return []
    everywhere = set(similar[0]).intersection(*similar)
    return [signature for signature in similar[0] if signature in everywhere]


@cache
def _listed() -> dict[str, list[Signature]]:
    content = json.loads(files("maxmargin.estimators").joinpath("compiled.json").read_text(encoding="utf-8"))
    types: Sequence[str] = content["types"]
    found = [Signature(module, name, tuple(types[t] for t in kinds)) for module, name, kinds in content["functions"]]
    return {kind: [found[f] for f in functions] for kind, functions in content["fits"].items()}


def all_functions(kinds: Sequence[str] | None = None) -> list[Signature]:
    """Return the functions of these kinds of fits, or of all that are listed, each once."""
    listed = _listed()
    return list(dict.fromkeys(s for kind in (listed if kinds is None else kinds) for s in listed.get(kind, [])))
