"""Experiments of the papers, each one command: ``python -m benchmarks.papers.NAME``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.report import write


def publish(name: str, run: Callable[[], dict[str, Any]], markdown: Callable[[dict[str, Any]], str]) -> None:
    """Run an experiment and write its result, as JSON and as Markdown, to the folder of results."""
    began = time.time()
    result = run()
    command = f"python -m benchmarks.papers.{name}"
    print(write(name, result, markdown(result), time.time() - began, command), flush=True)
