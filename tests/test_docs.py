"""The documentation is correct: its Python blocks and the doctests of the package run, and its links have targets.

A block that begins with three backticks and ``python`` is run, all blocks of a page in one namespace. ``python no-run``
is not run; ``python requires:module`` is run if that module can be imported.
"""

import ast
import doctest
import importlib
import importlib.util
import inspect
import re
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import maxmargin
from maxmargin.engines.tasks import cloudpickle
from maxmargin.registry import public_estimators

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
SOURCE = ROOT / "src"
#: The modules whose docstrings have examples.
MODULES = [
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


def runs(words):
    """Return whether a block with these words after ``python`` is to be run."""
    needed = [word.removeprefix("requires:") for word in words if word.startswith("requires:")]
    return "no-run" not in words and all(importlib.util.find_spec(name) for name in needed)


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub writes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks(page, tmp_path, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"docs.{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where pickle looks for classes
    cloudpickle.register_pickle_by_value(module)  # as classes of a script, which workers cannot import
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if runs(block[1].split()):
            above = text[: block.start(2)].count("\n")  # so that errors name the line in the page
            exec(compile("\n" * above + block[2], str(page), "exec"), vars(module))
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}, which is not there"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {path}#{anchor}, which is not a heading"


def test_index_lists_every_page_and_example():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for path in [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]:
        assert path.name == "index.md" or f"{path.name})" in index, f"docs/index.md does not list {path.name}"


def test_blocks_are_found():
    """The pattern finds blocks, so that the tests above are not empty."""
    found = {page.name: len(BLOCK.findall(page.read_text(encoding="utf-8"))) for page in PAGES}
    for name in ("README.md", "add_your_own.md", "formulations.md", "solvers.md", "taggers.md", "your_structure.md"):
        assert found[name] >= 2, found


def script_of_docs(name):
    """Return a script of the folder docs as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def test_the_page_of_papers_is_up_to_date():
    make_papers = script_of_docs("make_papers")
    page = make_papers.PAGE.read_text(encoding="utf-8")
    assert page == make_papers.page(), "docs/papers.md is stale: run `python docs/make_papers.py`"
    shown = {name for paper in make_papers.PAPERS for name in paper.results}
    found = {path.stem for path in make_papers.RESULTS.glob("p[1-5]_*.md")}
    assert found - shown == {"p3_house", "p3_word_alignment"}  # experiments of other publications
    assert all(f"({make_papers.LINK}/{name}.md)" in page for name in shown)


def test_the_page_of_names_is_up_to_date():
    make_names = script_of_docs("make_names")
    page = make_names.PAGE.read_text(encoding="utf-8")
    assert page == make_names.page(), "docs/names.md is stale: run `python docs/make_names.py`"
    missing = [name for name in maxmargin.__all__ if f"| `{name}` |" not in page]
    assert not missing, f"docs/names.md lists no {missing}"


#: Packages of extras that the examples of a module need, by the beginning of its name.
EXTRAS = {"maxmargin.plots": "matplotlib", "maxmargin.estimators.biology.alignment_baselines": "Bio"}


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name, tmp_path, monkeypatch):
    for prefix, package in EXTRAS.items():
        if name.startswith(prefix):
            pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outcome = doctest.testmod(importlib.import_module(name))
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")
    assert outcome.attempted > 0
    assert outcome.failed == 0
    assert not list(tmp_path.iterdir()), "examples leave files behind"


def public_callables():
    """Return the public classes and functions by their dotted names."""
    modules = [maxmargin, *(getattr(maxmargin, name) for name in sorted(maxmargin.__all__))]
    return {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in modules
        if isinstance(module, ModuleType)
        for name in module.__all__
        if not isinstance(getattr(module, name), ModuleType)
    }


#: Public names whose examples need a download or a cluster: they are shown, and not run.
NOT_RUN = {
    "maxmargin.datasets.load_conll2002", "maxmargin.datasets.load_ocr_letters",
    "maxmargin.engines.Dask", "maxmargin.engines.Ray",
}  # fmt: skip


def test_every_public_name_has_an_example():
    found = public_callables()
    assert len(found) > 150
    docs = {name: inspect.cleandoc(found[name].__doc__ or "").partition("Examples\n--------\n")[2] for name in found}
    assert not [name for name in found if ">>> " not in docs[name]], "no section Examples"
    assert {name for name in found if "doctest: +SKIP" in docs[name]} == NOT_RUN


def test_estimators_name_the_page_to_read_on():
    titles = {page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in PAGES}
    for estimator in [*public_estimators(), maxmargin.LogOddsAligner, maxmargin.MatrixAligner]:
        last = " ".join(inspect.getdoc(estimator).splitlines()[-1].split())
        named = re.fullmatch(r'Read on: "(.+)" in the documentation\.', last)
        assert named, f"{estimator.__name__} ends with {last!r}"
        assert named[1] in titles, f"{estimator.__name__} names {named[1]!r}, which is not the title of a page"


def test_doctests_are_found():
    expected = {"core.structure", "custom.check", "structures.chain.constraints", "estimators.regularization_path"}
    assert {f"maxmargin.{name}" for name in expected} <= set(MODULES)


PACKAGE = SOURCE / "maxmargin"
CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
FILE = re.compile(r"(?:[\w.]+/)*(?:\w+\.pyi?|(?<=/))")
NAME = re.compile(r"([A-Za-z_][\w.]*)(?:\(.*\))?")
#: Rooms and what they hold, as first parts of dotted names of modules.
ROOMS = {path.stem for path in PACKAGE.iterdir()} - {"__init__", "py", "__pycache__"}


def file_exists(name, folder=PACKAGE):
    """Return whether a path is one of a folder, of the package, or of the repository."""
    return any((base / name).exists() for base in (folder, PACKAGE, ROOT))


def module_exists(name):
    """Return whether a dotted name is a module of the package, or a name in one."""
    parts = name.removeprefix("maxmargin").strip(".").split(".")
    for length in range(len(parts), -1, -1):
        path = PACKAGE.joinpath(*parts[:length])
        files = [path / "__init__.py", path / "__init__.pyi"] if path.is_dir() else [path.with_suffix(".py")]
        if length == len(parts) and any(file.is_file() for file in files):
            return True
        if texts := [file.read_text(encoding="utf-8") for file in files if file.is_file()]:
            return any(re.search(rf"\b{parts[length]}\b", text) for text in texts)
    return False


@cache
def identifiers():
    """All names in the source of the package, those of extras and of estimators' fitted attributes included."""
    found = set()
    for path in SOURCE.rglob("*.py*"):
        if path.suffix in (".py", ".pyi"):
            found.update(re.findall(r"[^\W\d]\w*", path.read_text(encoding="utf-8")))
    return found


def stale(text, folder=PACKAGE):
    """Yield what is written as code in a text, looks like a file or a module, and does not exist."""
    for code in CODE.findall(text):
        if FILE.fullmatch(code):
            if not file_exists(code, folder):
                yield code
        elif re.fullmatch(r"[a-z_]+(\.\w+)+", code):
            first = code.split(".")[0]
            if (first == "maxmargin" or first in ROOMS) and not module_exists(code):
                yield code


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/add_your_own.md", "docs/architecture.md"])
def test_files_and_modules_that_pages_name(page):
    assert not list(stale((ROOT / page).read_text(encoding="utf-8")))


def test_files_and_modules_that_docstrings_name():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef
        texts = [ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds)]
        if names := [name for text in texts for name in stale(text, path.parent)]:
            found[str(path.relative_to(SOURCE))] = names
    assert not found


def test_names_on_the_page_of_the_architecture():
    """Every identifier in backticks occurs in the source: a member that was renamed is found here."""
    codes = CODE.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    names = {match[1] for code in codes if (match := NAME.fullmatch(code)) and "/" not in code}
    assert len(names) > 100
    missing = [name for name in sorted(names) if not all(part in identifiers() for part in name.split("."))]
    assert not [name for name in missing if not file_exists(name)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("`core/planes.py`, `core/`, `tests/test_docs.py`, `solvers.base.Solver`, `maxmargin.metrics`, ``x.py``", []),
        ("`core/plains.py` and `encoding/`", ["core/plains.py", "encoding/"]),
        ("`core.plains`, `solvers.base.Zolver`, `graph.nodes`", ["core.plains", "solvers.base.Zolver"]),
        ("`maxmargin.load`, `maxmargin.loads`", ["maxmargin.loads"]),
    ],
)
def test_stale_references(text, found):
    assert list(stale(text)) == found
