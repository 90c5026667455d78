"""The command line ``maxmargin`` (extra ``cli``)."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; without Typer, say what to install."""
    try:
        from maxmargin.cli.app import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.exit(f"maxmargin: the command line needs {error.name}: pip install 'maxmargin[cli]'")
    app(prog_name="maxmargin")
