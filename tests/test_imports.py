"""Imports point downwards: no cycle of modules, an order of rooms, and nothing private of another room.

A room is a folder or a module of the package. The
exceptions below must only become fewer: the tests fail if one of them is no longer needed.
"""

from __future__ import annotations

import ast
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src" / "maxmargin"

#: Rooms from below to above: a room imports only those before it.
ORDER = [
    "_base", "core", "algorithms", "bounds", "engines", "features", "parts", "custom", "optimizers", "metrics",
    "formats", "datasets", "plots", "structures", "problem", "likelihood", "solvers", "training", "estimators",
    "exceptions", "outputs", "testing", "maxmargin", "registry", "models", "cli", "__main__",
]  # fmt: skip
#: (room, room above that it imports) where the order does not hold, imports in functions and for types included.
UPWARDS = {
    ("core", "bounds"),
    ("core", "engines"),
    ("core", "features"),
    ("estimators", "models"),
}
#: (module, what it imports though it is private: a module of another folder, or a name of another module).
PRIVATE: set[tuple[str, str]] = set()


class Import(NamedTuple):
    """An import of a module, or of a name of a module, by another module; names without ``maxmargin.``."""

    importer: str
    module: str
    name: str | None
    line: int
    at_top: bool

    def __str__(self):
        what = f"{self.module}.{self.name}" if self.name else self.module
        return f"{self.importer} (line {self.line}) imports {what}"


@cache
def modules():
    """The parsed modules by name, which is empty for the package itself."""
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts).removesuffix("__init__").removesuffix(".")] = ast.parse(path.read_text(encoding="utf-8"))
    return found


def statements(node, at_top=True):
    """All import statements below a node, and whether they run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, at_top
        typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
        function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from statements(child, at_top and not (typing or function))


@cache
def imports():
    """All imports of modules of the package by others."""
    found, known = [], modules()
    for importer, tree in known.items():
        for node, at_top in statements(tree):
            if isinstance(node, ast.Import):
                targets = [(alias.name, None) for alias in node.names]
            else:
                assert node.level == 0, f"{importer}, line {node.lineno}: imports are absolute"
                targets = [(node.module, alias.name) for alias in node.names]
            for target, name in targets:
                if target.split(".")[0] == "maxmargin":
                    module = target.removeprefix("maxmargin").removeprefix(".")
                    inner = f"{module}.{name}".removeprefix(".")
                    where = (inner, None) if name and inner in known else (module, name)
                    found.append(Import(importer, *where, node.lineno, at_top))
    return found


def room(module):
    """The first part of a module's name; the package itself is a room too."""
    return module.split(".")[0] or "maxmargin"


def private(entry):
    """What an import takes though it is private: a module of another folder or a name of another module, or None."""
    parts = [*entry.module.split("."), *filter(None, [entry.name])]
    for at, part in enumerate(parts):
        owner = ".".join(parts[:at])
        inside = not owner or f"{entry.importer}.".startswith(f"{owner}.")
        if part.startswith("_") and not part.startswith("__") and not inside:
            return ".".join(parts[: at + 1])
    return None


def test_imports_are_found():
    """So that the tests below are not empty."""
    found = {(entry.importer, entry.module, entry.name, entry.at_top) for entry in imports()}
    assert ("problem", "core.objective", "Objective", True) in found
    assert ("core.examples", "bounds", "Bound", False) in found  # for types
    assert ("cli.inspect", "estimators.text.relations", "readable_feature", False) in found  # in a function
    assert len(found) > len(modules()) > 300


def test_modules_have_no_cycle():
    """Of imports at the top of files; an import in a function or for types cannot fail for that reason."""
    below = {name: set() for name in modules()}
    for entry in imports():
        if entry.at_top:
            below[entry.importer].add(entry.module)
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        raise AssertionError(f"modules import each other: {' → '.join(error.args[1][::-1])}") from None


def test_every_room_has_a_place():
    assert len(set(ORDER)) == len(ORDER)
    assert {room(name) for name in modules()} == set(ORDER)


def test_rooms_import_rooms_below():
    found = {}
    for entry in imports():
        pair = room(entry.importer), room(entry.module)
        if ORDER.index(pair[0]) < ORDER.index(pair[1]):
            found.setdefault(pair, []).append(str(entry))
    wrong = [line for pair in sorted(found.keys() - UPWARDS) for line in found[pair]]
    assert not wrong, "imports of rooms above:\n" + "\n".join(wrong)
    assert found.keys() == UPWARDS, f"no longer needed in UPWARDS: {sorted(UPWARDS - found.keys())}"


def test_what_is_private_is_not_imported_from_elsewhere():
    found = {}
    for entry in imports():
        if (what := private(entry)) is not None:
            found.setdefault((entry.importer, what), []).append(str(entry))
    wrong = [line for pair in sorted(found.keys() - PRIVATE) for line in found[pair]]
    assert not wrong, "private to other folders or modules:\n" + "\n".join(wrong)
    assert found.keys() == PRIVATE, f"no longer needed in PRIVATE: {sorted(PRIVATE - found.keys())}"
