"""Settings of Sphinx. `build.py` writes the sources, then calls Sphinx with this file."""

import importlib.util
import sys
from pathlib import Path

import maxmargin

project, author = "maxmargin", "The maxmargin developers"
copyright = author
version = release = maxmargin.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = ["examples/*.rst"]
html_theme = "pydata_sphinx_theme"
html_title = f"maxmargin {release}"
html_static_path = [str(Path(__file__).with_name("static"))]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navbar_align": "left", "header_links_before_dropdown": 6, "show_nav_level": 1}

myst_heading_anchors = 4
suppress_warnings = ["config.cache", "myst.header", "ref.python"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "obj"  # a link where the name is public, code otherwise
smartquotes = False
templates_path = [str(Path(__file__).with_name("templates"))]


def _can_run(path: Path) -> bool:
    """Return whether everything that a script imports is installed."""
    import ast

    names = {
        (node.module if isinstance(node, ast.ImportFrom) else alias.name).split(".")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return all(name in sys.stdlib_module_names or importlib.util.find_spec(name) for name in names)


_scripts = Path(__file__).parents[2] / "examples"
_runnable = "|".join(path.stem for path in sorted(_scripts.glob("*.py")) if _can_run(path))
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/({_runnable})\.py$",
    "download_all_examples": False,
    "show_memory": False,
    "abort_on_example_error": True,
    "min_reported_time": 10**6,
    "remove_config_comments": True,
    "nested_sections": False,
    "within_subsection_order": "FileNameSortKey",
    "write_computation_times": False,
    "show_signature": False,
}
