"""A line on the terminal that says how far a fit is."""

from __future__ import annotations

import logging
import sys
from typing import Any

from maxmargin.core.certificate import Certificate

logger = logging.getLogger("maxmargin")


class ProgressLine:
    """Shows gap and time while a fit runs; silent unless asked for and written to a terminal.

    Every step is also logged to the logger ``maxmargin`` at level INFO, for those who want lines in a file.
    """

    def __init__(self, verbose: int, tol: float) -> None:
        self.tol = tol
        self.shown = bool(verbose) and sys.stderr.isatty()
        self._live: Any = None

    def __enter__(self) -> ProgressLine:
        if self.shown:
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # plain carriage returns do as well
                return self
            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=False)
            self._live.__enter__()
        return self

    def update(self, iteration: int, certificate: Certificate) -> None:
        text = (
            f"step {iteration}  gap {certificate.gap:.2e} (stop at {self.tol:.0e})  "
            f"objective {certificate.primal:.6g}  {certificate.oracle_calls} argmaxes  {certificate.seconds:.1f} s"
        )
        logger.info(text)
        if self._live is not None:
            self._live.update(text)
        elif self.shown:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)
        elif self.shown:
            print(file=sys.stderr)
