"""The command line ``maxmargin`` (extra ``cli``)."""

from __future__ import annotations

import os
import sys

from maxmargin._base.extras import missing_package


def main() -> None:
    """Run the command line; without Typer, say what to install."""
    try:
        from maxmargin.cli.app import app
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("typer", "rich"):
            raise
        sys.exit(f"maxmargin: {missing_package('the command line needs', package, 'cli')}")
    _reserve_standard_streams()
    app(prog_name="maxmargin")


def _reserve_standard_streams() -> None:
    """Open the null device for standard streams that are closed so that no file of ours takes their place."""
    while True:
        number = os.open(os.devnull, os.O_RDWR)
        if number > 2:
            os.close(number)
            return
