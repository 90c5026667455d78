"""Cold start: seconds of a new process to import and to a first small fit, with a warm and with a cold kernel cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.report import table

IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
FIT = (
    "import time; t = time.perf_counter(); import maxmargin as mm; X, Y = mm.datasets.make_chains(50); "
    "mm.SequenceTagger().fit(X, Y).predict(X); print(time.perf_counter() - t)"
)
PEERS = "import time; t = time.perf_counter(); import numba, scipy.sparse, sklearn.base; print(time.perf_counter() - t)"


def timed(code: str, repeats: int = 5, **environment: str) -> float:
    """The least of several new processes."""
    times = []
    for _ in range(repeats):
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
        )
        times.append(float(out.stdout))
    return min(times)


def run() -> dict[str, Any]:
    timed(FIT, 1)
    with tempfile.TemporaryDirectory() as cache:
        cold = timed(FIT, 1, NUMBA_CACHE_DIR=cache)
    return {
        "import maxmargin": timed(IMPORT.format("maxmargin")),
        "import of numba, scipy.sparse and scikit-learn alone": timed(PEERS),
        "import and first small fit, warm cache": timed(FIT),
        "import and first small fit, cold cache": cold,
    }


def markdown(result: dict[str, Any]) -> str:
    rows = [[name, seconds] for name, seconds in result.items()]
    return "# Cold start\n\nWall seconds in a new process.\n\n" + table(["what", "seconds"], rows)
