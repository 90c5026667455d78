"""Argmaxes in Python, in this process and in two others: CPU seconds on the critical path of a fit."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path
from typing import Any

import maxmargin as mm
from benchmarks.engines import Signs, data
from benchmarks.measure import Clock
from benchmarks.report import table

#: Seconds of pure Python in an argmax.
SECONDS = (0.0, 0.001, 0.005, 0.01)
WORKERS = 2
#: Seconds of a loop that shows how much of a core a process gets.
BUSY = 3.0


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def share(_: int = 0) -> float:
    """Return the share of a core that a busy loop gets."""
    clock = Clock()
    while clock.wall < BUSY:
        pass
    return clock.cpu / BUSY


def shares() -> list[float]:
    """Return the share of a core that one busy process gets, and those of two at the same time."""
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        return [share(), *pool.map(share, range(WORKERS), chunksize=1)]


def measured(seconds: float, engine: mm.engines.Processes) -> dict[str, Any]:
    X, y = data()
    found: dict[str, Any] = {"seconds": seconds}
    weights = []
    for name, where in (("threads", None), ("processes", engine)):
        mm.StructuralSVM(Signs(0.0), engine=where, tol=0.5).fit(X, y)  # compile, and start the workers
        before = {pid: cpu_of(pid) for pid in engine.worker_ids()}
        clock = Clock()
        model = mm.StructuralSVM(Signs(seconds), engine=where, tol=0.01).fit(X, y)
        found[name] = {"wall": clock.wall, "cpu": clock.cpu}
        found["argmaxes"] = model.certificate_.oracle_calls
        if where is not None:
            time.sleep(0.1)
            found["workers"] = [cpu_of(pid) - cpu for pid, cpu in before.items()]
        weights.append(model.coef_.tobytes())
    found["same"] = weights[0] == weights[1]
    return found


def run() -> dict[str, Any]:
    with mm.engines.Processes(WORKERS) as engine:
        before = shares()
        fits = [measured(seconds, engine) for seconds in SECONDS]
    return {"shares": before, "fits": fits}


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for fit in result["fits"]:
        path = fit["processes"]["cpu"] + max(fit["workers"])
        rows.append([
            f"{1000 * fit['seconds']:g}", fit["argmaxes"], f"{fit['threads']['cpu']:.2f}",
            f"{fit['processes']['cpu']:.2f}", " + ".join(f"{cpu:.2f}" for cpu in fit["workers"]),
            f"{fit['threads']['cpu'] / path:.2f}", f"{fit['threads']['wall']:.2f}", f"{fit['processes']['wall']:.2f}",
            "yes" if fit["same"] else "no",
        ])  # fmt: skip
    head = [
        "ms of Python per argmax", "argmaxes", "one process, CPU s", "fitting process, CPU s", "workers, CPU s",
        "ratio on the critical path", "one process, wall s", "with two workers, wall s", "same bits",
    ]  # fmt: skip
    alone, *both = result["shares"]
    return (
        "# Argmaxes in Python in two processes\n\nA fit of 160 examples of a user-defined structure whose argmax runs "
        f"Python for some time, in one thread of this process and by `engine=Processes({WORKERS})`, whose workers were "
        "started before. The critical path is the CPU time of the fitting process plus that of the slower worker: what "
        "the fit would take at best if each process had a core of its own.\n\n"
        + table(head, rows)
        + f"\n\nA busy loop got {alone:.2f} of a core alone, and two at the same time got "
        f"{' and '.join(f'{one:.2f}' for one in both)}: where that is much less than 1, wall seconds do not show "
        "what is gained."
    )
