"""Cold start: seconds that a new process takes to import and to fit, with a warm and with a cold kernel cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.report import table

CLOCKS = "import time; t, c = time.perf_counter(), time.process_time(); {}; print({})"
PASSED = "time.perf_counter() - t, time.process_time() - c"
IMPORT = "import maxmargin"
FIT = "import maxmargin as mm; X, Y = mm.datasets.make_chains(50); mm.SequenceTagger().fit(X, Y).predict(X)"
PEERS = "import numba, scipy.sparse, sklearn.base"


def timed(code: str, repeats: int = 5, **environment: str) -> dict[str, float]:
    """Return the fewest wall and CPU seconds of several new processes."""
    command = [sys.executable, "-c", CLOCKS.format(code, PASSED)]
    times = []
    for _ in range(repeats):
        out = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
        times.append([float(number) for number in out.stdout.split()])
    wall, cpu = map(min, zip(*times, strict=True))
    return {"wall": wall, "cpu": cpu}


def run() -> dict[str, Any]:
    timed(FIT, 1)
    with tempfile.TemporaryDirectory() as cache:
        cold = timed(FIT, 1, NUMBA_CACHE_DIR=cache)
    return {
        "import maxmargin": timed(IMPORT),
        "import of numba, scipy.sparse and scikit-learn alone": timed(PEERS),
        "import and first small fit, warm cache": timed(FIT),
        "import and first small fit, cold cache": cold,
    }


def markdown(result: dict[str, Any]) -> str:
    rows = [[name, seconds["wall"], seconds["cpu"]] for name, seconds in result.items()]
    return "# Cold start\n\nSeconds in a new process.\n\n" + table(["what", "wall", "CPU"], rows)
