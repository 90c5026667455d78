"""A tagger whose files are read by this process, or by two workers, each its own: memory of every process."""

from __future__ import annotations

import gzip
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated
from benchmarks.memory import Peak, resident
from benchmarks.python_argmaxes import cpu_of
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

#: Copies of the training sentences of CoNLL-2002, files, steps of the solver, and workers.
COPIES, FILES, STEPS, WORKERS = 4, 16, 3, 2


def memory_of(pid: int) -> float:
    """Return the largest resident memory of a process so far, MB."""
    lines = [line.split() for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return next(int(line[1]) / 1024 for line in lines if line and line[0] == "VmHWM:")


def tagged(folder: str, by_workers: bool) -> dict[str, Any]:
    """Train a tagger, and return memory, CPU seconds and a sum of the bits."""
    files, marks = mm.Files(Path(folder) / "*.conll", format="conll"), list[float]()
    with mm.engines.Processes(WORKERS) as engine:
        before, peak, clock = resident(), Peak(), Clock()
        model = mm.ColumnTagger(
            n_jobs=1, tol=1e-9, max_iter=STEPS, engine=engine if by_workers else None,
            callbacks=[lambda _: marks.append(resident()["RssAnon:"])],
        ).fit(files)  # fmt: skip
        workers = engine.worker_ids()
        return {
            "cpu": clock.cpu, "wall": clock.wall, "before": before["RssAnon:"], "most": peak.end()["RssAnon:"],
            "steps": marks,
            "workers": [{"cpu": cpu_of(pid), "most": memory_of(pid)} for pid in workers],
            "calls": model.certificate_.oracle_calls, "weights": len(model.coef_),
            "bits": f"{zlib.crc32(np.ascontiguousarray(model.coef_).tobytes()):08x}",
        }  # fmt: skip


def run() -> dict[str, Any]:
    import warnings

    warnings.simplefilter("ignore")
    text = gzip.decompress((data_folder("conll2002_esp") / "esp.train.gz").read_bytes()).decode("latin-1")
    sentences = [block for block in text.split("\n\n") if block.strip()] * COPIES
    with tempfile.TemporaryDirectory() as folder:
        for k, part in enumerate(np.array_split(np.arange(len(sentences)), FILES)):
            Path(folder, f"{k:02d}.conll").write_text("\n\n".join(sentences[i] for i in part) + "\n", "utf-8")
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
        fits = {name: isolated(partial(tagged, folder), name == "workers") for name in ("here", "workers")}
    tokens = sum(len(sentence.splitlines()) for sentence in sentences)
    return {"megabytes": size, "sentences": len(sentences), "tokens": tokens, **fits}


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for name, what in (("here", "this process"), ("workers", f"{WORKERS} workers")):
        found = result[name]
        workers = found["workers"]
        rows.append([
            what, f"{found['before']:.0f}", *(f"{mark:.0f}" for mark in found["steps"]), f"{found['most']:.0f}",
            f"{found['cpu']:.1f}",
            " + ".join(f"{one['most']:.0f}" for one in workers) or None,
            " + ".join(f"{one['cpu']:.1f}" for one in workers) or None, f"{found['wall']:.0f}", found["bits"],
        ])  # fmt: skip
    steps = [f"after step {k}" for k in range(1, STEPS + 1)]
    head = [
        "files are read by", "before, MB", *steps, "most, MB", "CPU s", "workers, MB", "workers, CPU s", "wall s",
        "checksum of the weights",
    ]  # fmt: skip
    return (
        f"# Files that workers read\n\nThe training sentences of CoNLL-2002 (Spanish), {COPIES} times, in {FILES} "
        f"files of {result['megabytes']:.0f} MB together: {result['sentences']:,} sentences, "
        f"{result['tokens']:,} tokens, {result['here']['weights']:,} weights; `ColumnTagger(max_iter={STEPS})` on "
        f"`Files`, by `engine=Processes({WORKERS})` or in threads. Anonymous memory of the fitting process, resident "
        "memory of workers (libraries are among it), and CPU seconds of each.\n\n" + table(head, rows)
    )
