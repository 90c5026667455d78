"""The progress of a fit: a line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import logging
import math
import sys
from time import monotonic
from typing import Any

from maxmargin.core.certificate import Certificate

logger = logging.getLogger("maxmargin")


#: Seconds between plain lines, at first and at most; the time doubles from line to line.
_SOON, _LATE = 1.0, 30.0


class ProgressLine:
    """Display of gap and time during a fit.

    On a terminal, one line is rewritten after every step. Otherwise (logs, notebooks) plain lines are printed to
    standard error, fewer and fewer of them, and one at the end. Every step is also logged to the logger ``maxmargin``
    at level INFO.

    Parameters
    ----------
    verbose : int
        Whether progress is displayed.
    tol : float
        Relative gap at which the fit stops.
    """

    def __init__(self, verbose: int, tol: float) -> None:
        self.tol = tol
        self.shown = bool(verbose) and sys.stderr is not None
        self.terminal = self.shown and sys.stderr.isatty()
        self._live: Any = None
        self._last, self._pause, self._next = "", _SOON, monotonic() + _SOON

    def __enter__(self) -> ProgressLine:
        if self.terminal:
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
        text = self._text(iteration, certificate)
        logger.info(text)
        if self._live is not None:
            self._live.update(text)
        elif self.terminal:
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
        elif self.shown:
            self._last = text
            if monotonic() >= self._next:
                self._print()

    def _text(self, iteration: int, certificate: Certificate) -> str:
        """Return the line of a step, without a gap or an objective that is not known yet."""
        parts = [f"step {iteration}"]
        if math.isfinite(certificate.gap):
            parts.append(f"gap {certificate.gap:.2e} (stop at {self.tol:.0e})")
        if math.isfinite(certificate.primal):
            parts.append(f"objective {certificate.primal:.6g}")
        return "  ".join([*parts, f"{certificate.oracle_calls} argmaxes", f"{certificate.seconds:.1f} s"])

    def _print(self) -> None:
        print(f"maxmargin: {self._last}", file=sys.stderr, flush=True)
        self._last, self._pause = "", min(2.0 * self._pause, _LATE)
        self._next = monotonic() + self._pause

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)
        elif self.terminal:
            print(file=sys.stderr)
        elif self._last:
            self._print()
