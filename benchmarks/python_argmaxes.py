"""Argmaxes in Python, in this process and in two others: CPU seconds on the critical path of a fit, a lost worker."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import maxmargin as mm
from benchmarks.engines import Signs, data
from benchmarks.measure import Clock
from benchmarks.report import FOLDER, table

#: Seconds of pure Python in an argmax.
SECONDS = (0.0, 0.001, 0.005, 0.01)
WORKERS = 2
#: Seconds of a loop that shows how much of a core a process gets.
BUSY = 3.0
#: Seconds of an argmax of the fit that loses a worker, and the step after which it does.
LOST_SECONDS, LOST_AFTER = 0.01, 3


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


class Recorded(Signs):
    """The same, which writes when each argmax began and ended, and in which process."""

    def __init__(self, seconds: float, path: str) -> None:
        super().__init__(seconds)
        self.path = path

    def _signs(self, gains: Any) -> list[int]:
        began = time.time()
        found = super()._signs(gains)
        with open(self.path, "a") as file:
            file.write(f"{os.getpid()} {began} {time.time()}\n")
        return found


def lost_worker() -> dict[str, Any]:
    """Fit once, kill a worker in a sweep, and return the seconds in which each process ran argmaxes."""
    (X, y), killed = data(), []
    plain = mm.StructuralSVM(Signs(0.0), tol=0.01).fit(X, y)
    with tempfile.TemporaryDirectory() as folder, mm.engines.Processes(WORKERS) as engine:
        path = str(Path(folder) / "argmaxes")
        mm.StructuralSVM(Signs(0.0), engine=engine, tol=0.5).fit(X, y)  # starts the workers
        first = engine.worker_ids()

        def kill() -> None:
            pid = min(engine.worker_ids())
            killed.append((time.time(), pid))
            os.kill(pid, signal.SIGKILL)

        def soon(step: Any) -> None:
            if step.iteration == LOST_AFTER:
                threading.Timer(0.2, kill).start()

        began = time.time()
        model = mm.StructuralSVM(Recorded(LOST_SECONDS, path), engine=engine, tol=0.01, callbacks=[soon]).fit(X, y)
        calls = [line.split() for line in Path(path).read_text().splitlines()]
    lanes = {pid: k for k, pid in enumerate(dict.fromkeys([*map(str, first), *(call[0] for call in calls)]))}
    return {
        "argmaxes": joined([(lanes[pid], *(float(t) - began for t in times)) for pid, *times in calls]),
        "killed": [[t - began, lanes[str(pid)]] for t, pid in killed],
        "same": model.coef_.tobytes() == plain.coef_.tobytes(),
    }


def joined(calls: list[Any]) -> list[list[Any]]:
    """Return calls (process, start, end) as longer ones: those that follow each other in the same process as one."""
    found: list[list[Any]] = []
    for lane, start, end in sorted(calls):
        if found and found[-1][0] == lane and start - found[-1][2] < LOST_SECONDS:
            found[-1][2] = round(end, 3)
        else:
            found.append([lane, round(start, 3), round(end, 3)])
    return found


def run() -> dict[str, Any]:
    with mm.engines.Processes(WORKERS) as engine:
        before = shares()
        fits = [measured(seconds, engine) for seconds in SECONDS]
    result = {"shares": before, "fits": fits, "lost": lost_worker()}
    plot(result, FOLDER / "python_argmaxes.png")
    return result


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw the speed-up by the duration of an argmax, and the argmaxes of each process around the loss of a worker."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 2.8), width_ratios=[1, 2.2], layout="constrained")
    slow = [fit for fit in result["fits"] if fit["seconds"]]
    ratios = [fit["threads"]["wall"] / fit["processes"]["wall"] for fit in slow]
    left.bar([f"{1000 * fit['seconds']:g} ms" for fit in slow], ratios, color="#0072B2")
    for at, ratio in enumerate(ratios):
        left.text(at, ratio, f"{ratio:.2f}", ha="center", va="bottom", fontsize=8)
    left.axhline(WORKERS, color="#999999", linestyle=":")
    left.set_ylim(0, 1.15 * WORKERS)
    left.set_xlabel("Python in an argmax")
    left.set_ylabel(f"wall time, 1 ÷ {WORKERS} processes")
    lost = result["lost"]
    lanes = max(lane for lane, *_ in lost["argmaxes"]) + 1
    for lane in range(lanes):
        spans = [(first, last - first) for at, first, last in lost["argmaxes"] if at == lane]
        right.broken_barh(spans, (lane - 0.35, 0.7), color="#0072B2")
    for when, lane in lost["killed"]:
        right.plot([when], [lane], "x", color="#D55E00", markersize=12, markeredgewidth=3)
        right.annotate("killed", (when, lane), (12, 0), textcoords="offset points", va="center", color="#D55E00")
    right.set_yticks(range(lanes), [f"worker {lane + 1}" for lane in range(lanes)])
    right.set_ylim(lanes - 0.5, -0.5)
    right.set_xlabel("seconds of a fit (bars: argmaxes)")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


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
        "what is gained.\n\n![Speed-up, and the argmaxes of each process around the loss of a worker]"
        f"(python_argmaxes.png)\n\nOn the right a fit with {1000 * LOST_SECONDS:g} ms per argmax, of which a worker "
        "was killed by SIGKILL in a sweep: the engine started new ones, and the weights have "
        + ("the same bits as in one process." if result["lost"]["same"] else "OTHER BITS than in one process.")
    )
