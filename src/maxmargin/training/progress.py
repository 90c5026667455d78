"""A line on the terminal with the progress of a fit."""

from __future__ import annotations

import logging
import sys
from typing import Any

from maxmargin.core.certificate import Certificate

logger = logging.getLogger("maxmargin")


class ProgressLine:
    """Display of gap and time during a fit.

    The line is displayed if requested and if standard error is a terminal. Every step is also logged to the logger
    ``maxmargin`` at level INFO.

    Parameters
    ----------
    verbose : int
        Whether the line is displayed.
    tol : float
        Relative gap at which the fit stops.
    """

    def __init__(self, verbose: int, tol: float) -> None:
        self.tol = tol
        self.shown = bool(verbose) and sys.stderr is not None and sys.stderr.isatty()
        self._live: Any = None

    def __enter__(self) -> ProgressLine:
        if self.shown:
            try:
                from rich.console import Console
                from rich.live import Live
            except ImportError:  # without rich, the line is rewritten after a carriage return
                return self
            self._live = Live(console=Console(stderr=True), refresh_per_second=8, transient=False)
            self._live.__enter__()
        return self

    def update(self, iteration: int, certificate: Certificate) -> None:
        """Display and log the certificate after a step."""
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
