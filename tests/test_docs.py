"""The documentation is correct: its Python blocks and the doctests of the package run, and its links have targets.

A block that begins with three backticks and ``python`` is run, all blocks of a page in one namespace. ``python no-run``
is not run; ``python requires:module`` is run if that module can be imported.
"""

import doctest
import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
MODULES = sorted(module.name for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."))


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
    text, namespace = page.read_text(encoding="utf-8"), {"__name__": f"docs.{page.stem}"}
    for block in BLOCK.finditer(text):
        if runs(block[1].split()):
            above = text[: block.start(2)].count("\n")  # so that errors name the line in the page
            exec(compile("\n" * above + block[2], str(page), "exec"), namespace)


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


def test_the_page_of_names_is_up_to_date():
    spec = importlib.util.spec_from_file_location("make_names", ROOT / "docs" / "make_names.py")
    make_names = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_names)
    page = make_names.PAGE.read_text(encoding="utf-8")
    assert page == make_names.page(), "docs/names.md is stale: run `python docs/make_names.py`"
    missing = [name for name in maxmargin.__all__ if f"| `{name}` |" not in page]
    assert not missing, f"docs/names.md lists no {missing}"


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name):
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0


@pytest.mark.parametrize(
    "name", ["core.structure", "checking.check", "structures.chain.constraints", "estimators.path"]
)
def test_there_are_doctests(name):
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert any(test.examples for test in finder.find(importlib.import_module(f"maxmargin.{name}")))
