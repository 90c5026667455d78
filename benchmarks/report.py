"""Results as small JSON and Markdown files, with the date, the command and the machine."""

from __future__ import annotations

import datetime
import json
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
PACKAGES = (
    "maxmargin", "numpy", "scipy", "scikit-learn", "numba", "python-crfsuite", "hmmlearn", "dlib",
    "networkx", "rustworkx", "ortools", "PyMaxflow", "pytoulbar2", "clarabel", "cvxpy", "lightgbm", "nltk",
    "torch-struct", "biopython", "parasail", "ViennaRNA",
)  # fmt: skip


def write(name: str, result: dict[str, Any], text: str, seconds: float, command: str | None = None) -> str:
    """Write NAME.json and NAME.md; return the Markdown."""
    about: dict[str, Any] = {
        "date": datetime.date.today().isoformat(),
        "command": command or f"python -m benchmarks {name}",
        "seconds": round(seconds),
        "python": platform.python_version(),
        "processor": processor(),
        "versions": {package: version(package) for package in PACKAGES},
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps({"about": about, **result}, indent=1) + "\n")
    versions = ", ".join(f"{package} {number}" for package, number in about["versions"].items() if number)
    head = (
        f"{text}\n\n{about['date']}, `{about['command']}`, {about['seconds']} s in all; Python {about['python']}, "
        f"{versions}; {about['processor']}, 2 cores, shared: compare within a table, not between machines.\n"
    )
    (FOLDER / f"{name}.md").write_text(head)
    return head


def version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def table(head: list[str], rows: list[list[Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def shown(cell: Any) -> str:
    if cell is None:
        return "–"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
