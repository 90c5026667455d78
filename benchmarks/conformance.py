"""The conformance test of every structure, on many more random instances than the test suite has time for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.measure import Clock
from benchmarks.report import table

#: Instances per test and structure.
CASES = 200
_ROOT = Path(__file__).resolve().parents[1]


def run() -> dict[str, Any]:
    """Run the tests of each structure in turn; a failure is part of the result."""
    files = sorted((_ROOT / "tests" / "structures").glob("test_*.py"))
    rows = {}
    for file in files:
        if "StructureConformance" not in file.read_text():
            continue
        clock = Clock()
        outcome = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", "-k", "Test", str(file)],
            cwd=_ROOT, env={**os.environ, "MAXMARGIN_CASES": str(CASES)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        counts = {what: int(n) for n, what in re.findall(r"(\d+) (passed|failed|error)", outcome.stdout)}
        name, failures = file.stem.removeprefix("test_"), _failures(outcome.stdout)
        rows[name] = {**counts, "wall": clock.wall, "ok": outcome.returncode == 0, "failures": failures}
        if outcome.returncode:
            print(f"{name}: {failures or outcome.stdout[-2000:]}", flush=True)
    return {"cases": CASES, "structures": rows}


def _failures(output: str) -> list[str]:
    """Return the tests that failed, with the seeds of their instances."""
    return re.findall(r"^(?:FAILED|ERROR) .*::(\S+)", output, re.M) + re.findall(
        r"^E\s+(instance \d+ of \w+)", output, re.M
    )


def markdown(result: dict[str, Any]) -> str:
    """Return one row for each structure."""
    rows = [
        [name, row.get("passed", 0), row.get("failed", 0) + row.get("error", 0), row["wall"]]
        for name, row in result["structures"].items()
    ]
    return (
        f"# Conformance of structures\n\nEvery test runs on {result['cases']} random instances, each compared with an "
        f"enumeration of all outputs in plain Python.\n\n"
        + table(["structure", "tests passed", "failed", "wall s"], rows)
        + "".join(
            f"\n\nFailed in {name}: {', '.join(row['failures'])}."
            for name, row in result["structures"].items()
            if row["failures"]
        )
    )
