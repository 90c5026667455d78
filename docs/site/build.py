"""Build the site: `python docs/site/build.py` writes build/site/html/index.html, with warnings as errors.

Without network: nothing is fetched, and pages work from files.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from stage import ROOT, stage

HERE = Path(__file__).parent


def build(*arguments: str, target: Path = ROOT / "build" / "site") -> int:
    """Write the sources and the pages, and return the exit code of Sphinx."""
    os.environ["MPLBACKEND"] = "Agg"
    stage(target / "source")
    return sphinx(["-b", "html", "-W", "--keep-going", "-q", "-c", str(HERE), *arguments, str(target / "source"),
                   str(target / "html")])  # fmt: skip


if __name__ == "__main__":
    sys.exit(build(*sys.argv[1:]))
