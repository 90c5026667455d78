"""Write docs/names.md: every public name with its kind and the first line of its docstring.

Run ``python docs/make_names.py`` after changing a public name or its docstring; a test compares the page with the
result of `page`.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import maxmargin
from maxmargin.registry import public_estimators, public_structures
from maxmargin.solvers.base import Solver

PAGE = Path(__file__).with_name("names.md")
HEAD = """# Public names

Generated from the stub `src/maxmargin/__init__.pyi` by `python docs/make_names.py`; do not edit it by hand. Names that
are not listed here are private and may change.
"""


def page() -> str:
    """Return the content of the page."""
    return "\n".join([HEAD, *_section(maxmargin), *(line for module in _modules() for line in _section(module))])


def _modules() -> Iterator[ModuleType]:
    """Yield the public modules in the order of their names."""
    for name in sorted(maxmargin.__all__):
        found = getattr(maxmargin, name)
        if inspect.ismodule(found):
            yield found


def _section(module: ModuleType) -> Iterator[str]:
    yield f"## {module.__name__}\n"
    yield f"{_summary(module)}\n"
    yield "| name | kind | what it is |"
    yield "|---|---|---|"
    for name in sorted(module.__all__, key=str.lower):
        found = getattr(module, name)
        yield f"| `{name}` | {_kind(found)} | {_summary(found)} |"
    yield ""


def _kind(found: Any) -> str:
    """Return the kind of a public name."""
    if not isinstance(found, type):
        return "module" if inspect.ismodule(found) else "function"
    if found in public_estimators():
        return "estimator"
    if found in public_structures():
        return "structure"
    bases = {Warning: "warning", Exception: "exception", Solver: "solver"}
    return next((kind for base, kind in bases.items() if issubclass(found, base)), "class")


def _summary(found: Any) -> str:
    """Return the first line of the docstring, as a cell of a table."""
    return (inspect.getdoc(found) or "").partition("\n")[0].replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
