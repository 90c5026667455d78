"""Memory of a tagger whose features are in memory or in a mapped file, and of a dependency parser."""

from __future__ import annotations

import gzip
import tempfile
import threading
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.dependency import load
from benchmarks.measure import Clock, isolated
from benchmarks.report import table
from maxmargin.datasets.real import data_folder

#: How many times the training sentences of CoNLL-2002 are repeated, and steps of the solver.
REPEATS, STEPS = 10, 3
#: Seconds between two looks at the memory of the process.
PATIENCE = 0.02


def resident() -> dict[str, float]:
    """Return the memory of this process, MB: anonymous, and of mapped files, which the system can drop at any time."""
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    return {line[0]: int(line[1]) / 1024 for line in lines if line and line[0] in ("RssAnon:", "RssFile:")}


class Peak:
    """Greatest memory of this process from the beginning to `end`."""

    def __init__(self) -> None:
        self.found, self._ended = resident(), threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(PATIENCE):
            now = resident()
            self.found = {kind: max(self.found[kind], now[kind]) for kind in now}

    def end(self) -> dict[str, float]:
        self._ended.set()
        self._thread.join()
        return self.found


def tagged(path: str, memory: str | None) -> dict[str, Any]:
    """Train a tagger, and return its memory after encoding and at most, CPU seconds and a sum of the bits."""
    files, marks = mm.Files([path], format="conll", memory=memory), []
    model = mm.ColumnTagger(
        n_jobs=1, tol=1e-9, max_iter=STEPS, random_state=0, callbacks=[lambda _: marks.append(resident())]
    )
    before, peak, clock = resident(), Peak(), Clock()
    X, Y = files.read()
    read, read_cpu = resident(), clock.cpu
    examples = model._encode(X, Y)[1]  # once more than the fit does
    encoded = resident()
    tokens = int(examples.code_offsets[-1])
    del examples, X, Y
    model.fit(files)
    return {
        "tokens": tokens, "weights": len(model.coef_), "cpu": clock.cpu, "read_cpu": read_cpu, "before": before,
        "read": read, "encoded": encoded, "steps": marks, "most": peak.end(),
        "bits": f"{zlib.crc32(np.ascontiguousarray(model.coef_).tobytes()):08x}",
    }  # fmt: skip


def parsed(seen_pairs: bool) -> dict[str, Any]:
    """Train a dependency parser with relations for a few steps, and return its memory."""
    train = load("train")
    before, peak, clock = resident(), Peak(), Clock()
    mm.DependencyParser(labelled=True, seen_pairs=seen_pairs, n_jobs=1, max_iter=STEPS, tol=1e-9).fit(train)
    return {"sentences": len(train), "cpu": clock.cpu, "before": before, "most": peak.end()}


def run() -> dict[str, Any]:
    import warnings

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conll"
        text = gzip.decompress((data_folder("conll2002_esp") / "esp.train.gz").read_bytes())
        text = text.decode("latin-1").encode() if not _is_utf8(text) else text
        path.write_bytes((text.rstrip(b"\n") + b"\n\n") * REPEATS)
        size = path.stat().st_size / 1e6
        tagger = {
            name: isolated(partial(tagged, str(path)), memory) for name, memory in (("memory", None), ("map", folder))
        }
    return {"megabytes": size, "tagger": tagger, "parser": isolated(parsed, True)}


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for name, what in (("memory", "in memory"), ("map", "memory=folder")):
        found = result["tagger"][name]
        rows.append([
            what, f"{found['cpu']:.0f}", *(f"{found[part]['RssAnon:']:.0f}" for part in ("before", "read", "encoded")),
            f"{found['steps'][-1]['RssAnon:']:.0f}", f"{found['most']['RssAnon:']:.0f}",
            f"{found['most']['RssFile:']:.0f}", found["bits"],
        ])  # fmt: skip
    head = [
        "features", "CPU s", "before, MB", "read", "encoded", f"after {STEPS} steps", "most", "most of mapped files",
        "checksum of the weights",
    ]  # fmt: skip
    tagger, parser = result["tagger"]["map"], result["parser"]
    return (
        f"# Memory of large training data\n\nThe training sentences of CoNLL-2002 (Spanish), {REPEATS} times in one "
        f"file of {result['megabytes']:.0f} MB: {tagger['tokens']:,} tokens, {tagger['weights']:,} weights, "
        f"`ColumnTagger(max_iter={STEPS})` by `Files(…, memory=…)`, one thread. Anonymous memory of the process in MB, "
        "which cannot be dropped; that of mapped files can (libraries are among them). CPU seconds contain one "
        "encoding more than a fit has.\n\n"
        + table(head, rows)
        + f"\n\n`DependencyParser(labelled=True, seen_pairs=True, max_iter={STEPS})` on {parser['sentences']:,} "
        f"sentences of UD English EWT, one thread: {parser['most']['RssAnon:']:.0f} MB of anonymous memory at most, "
        f"{parser['before']['RssAnon:']:.0f} MB of it the sentences and libraries before; {parser['cpu']:.0f} CPU s."
    )
