"""Sweeps, CPU seconds and memory of the sharded solver beside those of the default solver.

Sweeps and CPU seconds to three gaps on CoNLL-2002 (Spanish) and OCR letters, with shards as threads of one process; and
memory and CPU seconds of all processes where two workers read files, each its own.
"""

from __future__ import annotations

import gzip
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated
from benchmarks.memory import Peak, resident
from benchmarks.ocr import words
from benchmarks.python_argmaxes import cpu_of
from benchmarks.report import table
from benchmarks.shards import COPIES, FILES, WORKERS, memory_of
from benchmarks.tokens import plain_features
from maxmargin.datasets.real import data_folder

#: Numbers of shards; 0 is the default solver.
SHARDS = {"conll": (0, 2, 4, 8), "ocr": (0, 2, 4)}
GAPS = {"conll": (0.1, 0.03, 0.01), "ocr": (0.01, 0.001, 0.0001)}
#: Steps of the fits whose memory is measured.
STEPS = 6


def solver_of(n_shards: int) -> Any:
    return mm.solvers.Sharded(n_shards=n_shards) if n_shards else "auto"


def to_gaps(data: str, n_shards: int, n_jobs: int) -> dict[str, Any]:
    """Return sweeps, CPU and wall seconds to each gap, without encoding."""
    warnings.simplefilter("ignore")
    solver, gaps = solver_of(n_shards), GAPS[data]
    if data == "ocr":
        X, Y = words(True)
        model = mm.SequenceTagger(C=1000.0 / len(X), loss="hamming-share", start_end=False)
    else:
        sentences, Y = mm.datasets.load_conll2002("train")
        X = [plain_features(sentence) for sentence in sentences]
        model = mm.SequenceTagger(C=0.3)
    model.set_params(n_jobs=n_jobs, solver=solver, tol=0.5).fit(X[:400], Y[:400])  # load or compile functions
    reached: dict[str, Any] = {}
    clocks: list[Clock] = []

    class Begun(type(solver) if n_shards else mm.solvers.ProximalWorkingSets):  # type: ignore[misc]
        """The solver, with a clock that starts when the data are encoded."""

        def init(self, *arguments: Any, **others: Any) -> Any:
            clocks[:] = [Clock()]
            return super().init(*arguments, **others)

    def watch(step: mm.outputs.Step) -> None:
        for gap in gaps:
            if step.certificate.gap <= gap and str(gap) not in reached:
                sweeps = step.certificate.oracle_calls / len(X)
                reached[str(gap)] = {"sweeps": sweeps, "cpu": clocks[0].cpu, "wall": clocks[0].wall}

    made = Begun(n_shards=n_shards) if n_shards else Begun()
    model.set_params(solver=made, tol=gaps[-1], callbacks=[watch], max_iter=200).fit(X, Y)
    return {"reached": reached, "weights": len(model.coef_)}


def in_workers(folder: str, n_shards: int) -> dict[str, Any]:
    """Train a tagger on files that workers read, and return memory and CPU seconds of all processes."""
    warnings.simplefilter("ignore")
    files, marks = mm.Files(Path(folder) / "*.conll", format="conll"), list[float]()
    with mm.engines.Processes(WORKERS) as engine:
        before, peak, clock = resident(), Peak(), Clock()
        model = mm.ColumnTagger(
            n_jobs=1, tol=1e-9, max_iter=STEPS, engine=engine, solver=solver_of(n_shards),
            callbacks=[lambda _: marks.append(resident()["RssAnon:"])],
        ).fit(files)  # fmt: skip
        workers = engine.worker_ids()
        return {
            "cpu": clock.cpu, "before": before["RssAnon:"], "most": peak.end()["RssAnon:"],
            "last": marks[-1], "gap": model.certificate_.gap, "weights": len(model.coef_),
            "workers": [{"cpu": cpu_of(pid), "most": memory_of(pid)} for pid in workers],
        }  # fmt: skip


def fits(data: str) -> dict[str, Any]:
    """Return `to_gaps` of the default solver with one and two threads, and with each number of shards."""
    return {
        f"{n_shards} {n_jobs}": isolated(to_gaps, data, n_shards, n_jobs)
        for n_shards in SHARDS[data]
        for n_jobs in (1, 2)
        if n_jobs == 2 or n_shards == 0
    }


def of_workers(*numbers: int) -> dict[str, Any]:
    """Return `in_workers` with each number of shards, and the number of tokens."""
    text = gzip.decompress((data_folder("conll2002_esp") / "esp.train.gz").read_bytes()).decode("latin-1")
    sentences = [block for block in text.split("\n\n") if block.strip()] * COPIES
    with tempfile.TemporaryDirectory() as folder:
        for k, part in enumerate(np.array_split(np.arange(len(sentences)), FILES)):
            Path(folder, f"{k:02d}.conll").write_text("\n\n".join(sentences[i] for i in part) + "\n", "utf-8")
        found = {str(n): isolated(partial(in_workers, folder), n) for n in numbers}
    return {"workers": found, "tokens": sum(len(sentence.splitlines()) for sentence in sentences)}


def run() -> dict[str, Any]:
    return {"fits": {data: fits(data) for data in SHARDS}, **of_workers(0, 2)}


def markdown(result: dict[str, Any]) -> str:
    parts = ["# Block steps in shards", __doc__.split("\n\n", 1)[1].strip().replace("\n", " ")]
    names = {"conll": "CoNLL-2002 (Spanish), `SequenceTagger(C=0.3)` on plain strings",
             "ocr": "OCR letters, folds 1–9, `SequenceTagger(loss='hamming-share', C=1000/n)`"}  # fmt: skip
    for data, found in result["fits"].items():
        rows = []
        for key, fit in found.items():
            n_shards, n_jobs = key.split()
            cells = [
                f"{one['sweeps']:.0f} / {one['cpu']:.1f} / {one['wall']:.1f}" if one else None
                for one in (fit["reached"].get(str(gap)) for gap in GAPS[data])
            ]
            rows.append(["default" if n_shards == "0" else f"{n_shards} shards", n_jobs, *cells])
        weights = next(iter(found.values()))["weights"]
        parts.append(f"{names[data]}, {weights:,} weights: sweeps / CPU s / wall s to a gap, without encoding.")
        parts.append(table(["solver", "threads", *(f"{100 * gap:g} %" for gap in GAPS[data])], rows))
    rows = []
    for n_shards, found in result["workers"].items():
        rows.append([
            "default" if n_shards == "0" else f"{n_shards} shards", f"{found['before']:.0f}", f"{found['last']:.0f}",
            f"{found['most']:.0f}", f"{found['cpu']:.1f}",
            " + ".join(f"{one['most']:.0f}" for one in found["workers"]),
            " + ".join(f"{one['cpu']:.1f}" for one in found["workers"]),
            f"{100 * found['gap']:.1f} %",
        ])  # fmt: skip
    weights = next(iter(result["workers"].values()))["weights"]
    parts.append(
        f"The training sentences {COPIES} times, {result['tokens']:,} tokens in {FILES} files that {WORKERS} workers "
        f"read, {weights:,} weights, {STEPS} steps of `ColumnTagger`: anonymous memory of the fitting process, "
        "resident memory of workers (libraries are among it), and CPU seconds of each."
    )
    head = [
        "solver", "before, MB", f"after step {STEPS}", "most, MB", "CPU s", "workers, MB", "workers, CPU s", "gap",
    ]  # fmt: skip
    parts.append(table(head, rows))
    return "\n\n".join(parts)
