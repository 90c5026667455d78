"""Put the sources of the site together: pages, examples, benchmark results and a page for each public module.

Pages stay as they are in the repository, where links are relative to their folders; here links between files of the
repository become links between pages of the site. A link to a file that is not on the site becomes its name.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from figures import figures

import maxmargin
from maxmargin.registry import public_estimators, public_structures

ROOT = Path(__file__).parents[2]
DOCS, EXAMPLES, RESULTS = ROOT / "docs", ROOT / "examples", ROOT / "benchmarks" / "results"
#: Pages that are not in docs/, and their names on the site.
OTHER_PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "benchmarks/README.md": "benchmarks_how.md",
}
#: Entries of the bar at the top.
SECTIONS = ["guide.md", "gallery/index.rst", "reference/index.md", "results/index.md", "project.md"]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?!https?:|mailto:|#)([^)#\s]*)(#[^)\s]+)?\)")
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


def stage(target: Path) -> None:
    """Write the sources of the site into a folder, which is replaced."""
    shutil.rmtree(target, ignore_errors=True)
    places = dict(_places())
    for source, place in places.items():
        page = target / place
        page.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            page.write_text(_page(source, places), encoding="utf-8")
        elif source.suffix == ".py":
            page.write_text(_example(source), encoding="utf-8")
        else:
            shutil.copy(source, page)
    (target / "examples" / "GALLERY_HEADER.rst").write_text(
        "Examples\n========\n\nEvery script runs by itself, on data that it makes.\n", encoding="utf-8"
    )
    for name, text in _reference():
        (target / "reference").mkdir(exist_ok=True)
        (target / "reference" / name).write_text(text, encoding="utf-8")
    drawn = figures(RESULTS, target / "results")
    (target / "results" / "index.md").write_text(_results_page(drawn), encoding="utf-8")
    index = (target / "index.md").read_text(encoding="utf-8")
    for name, text in _contents(index):
        (target / name).write_text(text, encoding="utf-8")
    (target / "index.md").write_text(f"{index}\n{_tree(SECTIONS, hidden='')}", encoding="utf-8")


def _places() -> Iterator[tuple[Path, Path]]:
    """Yield files of the repository, and their places on the site."""
    for path in [*DOCS.glob("*.md"), *DOCS.glob("*.png")]:
        yield path, Path(path.name)
    for name, place in OTHER_PAGES.items():
        if (ROOT / name).exists():
            yield ROOT / name, Path(place)
    for path in [*RESULTS.glob("*.md"), *RESULTS.glob("*.png")]:
        yield path, Path("results", path.name)
    for path in EXAMPLES.glob("*.py"):
        yield path, Path("examples", path.name)


# ---------------------------------------------------------------------- pages


def _page(source: Path, places: dict[Path, Path]) -> str:
    """Return a page with links of the site."""
    text = source.read_text(encoding="utf-8")
    if source.parent == RESULTS and not text.startswith("# "):
        text = f"# {_title(source.stem)}\n\n{text}"
    pieces, at = [], 0
    for fence in FENCE.finditer(text):
        pieces += [_linked(text[at : fence.start()], source, places), _fence(fence[0])]
        at = fence.end()
    return "".join([*pieces, _linked(text[at:], source, places)])


def _fence(block: str) -> str:
    """Return a block of code, whose first line has only a language."""
    return re.sub(r"\A(`{3,}\w*)[^\n]*", r"\1", block)


def _linked(text: str, source: Path, places: dict[Path, Path]) -> str:
    here = places[source].parent

    def replaced(link: re.Match[str]) -> str:
        picture, shown, path, anchor = link[1], link[2], link[3], link[4] or ""
        if not path:
            return link[0]
        place = places.get((source.parent / path).resolve())
        if place is None:
            return shown
        if place.suffix == ".py":
            place = Path("gallery", f"{place.stem}.rst")
        up = "../" * len(here.parts)
        shown = _title(place.stem) if re.fullmatch(r"[\w/.]+\.(md|py)", shown) else shown
        return f"{picture}[{shown}]({up}{place.as_posix()}{anchor})"

    return LINK.sub(replaced, text)


def _title(stem: str) -> str:
    """Return the title of a page, from its first heading, or from its name."""
    for folder in (DOCS, RESULTS):
        path = folder / f"{stem}.md"
        if path.exists() and (heading := re.match(r"# (.+)", path.read_text(encoding="utf-8"))):
            return heading[1].replace("`", "")
    return stem.replace("_", " ").capitalize()


def _contents(index: str) -> Iterator[tuple[str, str]]:
    """Yield the pages that lists of pages are: the guide has the sections of the landing page."""
    guide, listed = "# Guide\n", set()
    headings = [*SECTION.finditer(index)]
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        section = index[heading.end() : following.start() if following else len(index)]
        pages = [path for _, _, path, _ in LINK.findall(section) if path.endswith(".md") and path not in listed]
        listed.update(pages)
        if pages:
            guide += f"\n## {heading[1]}\n\n{_tree(pages, caption=heading[1])}"
    yield "guide.md", guide
    others = [page for name, page in OTHER_PAGES.items() if (ROOT / name).exists()]
    yield "project.md", f"# Project\n\n{_tree(others)}"


def _tree(pages: list[str], **options: str) -> str:
    lines = "".join(f":{key}: {value}\n" for key, value in {"maxdepth": "1", **options}.items())
    return f"```{{toctree}}\n{lines}\n" + "\n".join(dict.fromkeys(pages)) + "\n```\n"


# ---------------------------------------------------------------------- examples


def _example(source: Path) -> str:
    """Return a script whose docstring begins with a title, as sphinx-gallery reads it."""
    text = source.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    first = docstring.split("\n\n")[0].replace("\n", " ")
    title = re.split(r"[:.](?:\s|$)", first)[0]
    body = re.sub(r"(?<!`)`([^`\n]+)`(?!`)", r"``\1``", docstring)
    tree = ast.parse(text)
    end = tree.body[0].end_lineno or 0
    code = "\n".join(text.splitlines()[end:])
    code = re.sub(r'^import matplotlib\n\nmatplotlib\.use\("Agg"\)\n', "", code, flags=re.MULTILINE)
    return f'r"""\n{title}\n{"=" * len(title)}\n\n{body}\n"""\n{code}\n'


# ---------------------------------------------------------------------- reference


def _reference() -> Iterator[tuple[str, str]]:
    """Yield the pages of the reference: one for each module, by kind for the package."""
    modules = sorted(name for name in maxmargin.__all__ if inspect.ismodule(getattr(maxmargin, name)))
    groups: dict[str, Callable[[Any], bool]] = {
        "Estimators": lambda found: found in public_estimators(),
        "Structures": lambda found: found in public_structures(),
        "Other classes": lambda found: isinstance(found, type),
        "Functions": lambda found: True,
    }
    left = [name for name in maxmargin.__all__ if name not in modules]
    text = "# Reference\n\nAll public names. What is not listed here is private and may change.\n"
    for group, belongs in groups.items():
        chosen = [name for name in left if belongs(getattr(maxmargin, name))]
        left = [name for name in left if name not in chosen]
        text += f"\n## {group}\n" + _summary_table("maxmargin", chosen)
    text += f"\n## Modules\n\n{_tree(modules)}"
    yield "index.md", text
    for name in modules:
        module: ModuleType = getattr(maxmargin, name)
        lines = (inspect.getdoc(module) or "").split("\n")
        yield (
            f"{name}.md",
            f"# maxmargin.{name}\n\n{lines[0]}\n"
            + _summary_table(
                f"maxmargin.{name}", [one for one in module.__all__ if not inspect.ismodule(getattr(module, one))]
            ),
        )


def _summary_table(module: str, names: list[str]) -> str:
    lines = "\n".join(f"   {name}" for name in sorted(names, key=str.lower))
    directive = f".. currentmodule:: {module}\n\n.. autosummary::\n   :toctree: generated\n"
    return f"\n```{{eval-rst}}\n{directive}\n{lines}\n```\n"


# ---------------------------------------------------------------------- benchmarks


def _results_page(drawn: list[tuple[str, str]]) -> str:
    pages = sorted(path.stem for path in RESULTS.glob("*.md"))
    pictures = "".join(f"\n## {title}\n\n![{title}]({name})\n" for name, title in drawn)
    return (
        "# Benchmark results\n\nEvery page ends with the date and the command that wrote it. The pictures below are "
        f"drawn from the same files.\n{pictures}\n## All results\n\n{_tree(pages)}"
    )
