"""Memory and CPU of a tagger that learns from one large file of columns.

``python -m benchmarks.large_file 100MB 400MB`` makes a file of each size in a temporary folder and trains on it; it
is not among those of ``python -m benchmarks``, since large files take long.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated
from benchmarks.memory import Peak, resident
from benchmarks.report import table, write
from maxmargin.datasets.real import data_folder
from maxmargin.formats.pieces import checked_size

#: Steps of the solver, and bytes of planes.
STEPS, PLANES = 3, 250_000_000
#: The number of distinct words of n copies of the text is n to this power times that of one.
GROWTH = 0.5
#: Words of at least this length get letters in the middle, and keep this number of letters on both sides.
SHORTEST, KEPT = 6, 3


def copies(text: str) -> Iterator[str]:
    """Yield the text of sentences, and then copies of it, each with new words in the place of some.

    A new word is one of the text with a number, in letters, in its middle: prefixes, suffixes, tag and label stay.
    """
    lines = text.rstrip("\n").split("\n")
    words = [line.partition(" ")[0] for line in lines]
    long = np.array([n for n, word in enumerate(words) if len(word) >= SHORTEST and word.isalpha()])
    distinct, rng, made = len(set(words)), np.random.default_rng(0), 0
    yield "\n".join(lines) + "\n\n"
    for copy in range(1, sys.maxsize):
        changed = list(lines)
        for n in rng.choice(long, round(distinct * ((copy + 1) ** GROWTH - copy**GROWTH)), replace=False).tolist():
            made += 1
            at = words[n][KEPT:-KEPT] + "".join("bcdfghklmnprstvz"[int(digit, 16)] for digit in f"{made:x}")
            changed[n] = words[n][:KEPT] + at + words[n][-KEPT:] + lines[n][len(words[n]) :]
        yield "\n".join(changed) + "\n\n"


def write_file(path: Path, size: int) -> None:
    """Write a file of at least this size, up to the end of a copy."""
    text = gzip.decompress((data_folder("conll2002_esp") / "esp.train.gz").read_bytes()).decode("latin-1")
    with path.open("w", encoding="utf-8") as file:
        for copy in copies(text):
            file.write(copy)
            if file.tell() >= size:
                return


def trained(size: int) -> dict[str, Any]:
    """Make a file, train on it and remove it; return memory, CPU seconds and a checksum of the weights."""
    warnings.simplefilter("ignore")  # three steps do not close the gap
    marks: list[dict[str, float]] = []
    solver = mm.solvers.ProximalWorkingSets(most_bytes=PLANES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.conll"
        write_file(path, size)
        files = mm.Files(path, format="conll", memory=folder)
        before, peak, clock = resident(), Peak(), Clock()
        model = mm.ColumnTagger(
            seen_pairs=True, n_jobs=1, tol=1e-9, max_iter=STEPS, random_state=0, solver=solver,
            callbacks=[lambda _: marks.append({"cpu": clock.cpu, **resident()})],
        ).fit(files)  # fmt: skip
        cpu, most = clock.cpu, peak.end()
        with path.open(encoding="utf-8") as lines:
            tokens = sum(bool(line.strip()) for line in lines)
        return {
            "megabytes": path.stat().st_size / 1e6, "tokens": tokens, "sentences": files.n_examples,
            "weights": len(model.coef_), "cpu": cpu, "before": before, "steps": marks, "most": most,
            "gap": model.certificate_.gap, "bits": f"{zlib.crc32(np.ascontiguousarray(model.coef_).tobytes()):08x}",
        }  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [
            f"{found['megabytes']:.0f}", f"{found['tokens']:,}", f"{found['sentences']:,}", f"{found['weights']:,}",
            f"{found['cpu']:.0f}", *(f"{step['RssAnon:']:.0f}" for step in found["steps"]),
            f"{found['most']['RssAnon:']:.0f}", f"{found['most']['RssFile:']:.0f}", found["bits"],
        ]
        for found in result["sizes"]
    ]  # fmt: skip
    head = [
        "file, MB", "tokens", "sentences", "weights", "CPU s", *(f"after step {k}, MB" for k in range(1, STEPS + 1)),
        "most, MB", "most of mapped files", "checksum of the weights",
    ]  # fmt: skip
    return (
        "# One large file\n\nCopies of the training sentences of CoNLL-2002 (Spanish) in one file. In each copy but "
        f"the first, some words of {SHORTEST} letters or more get a number, in letters, in their middle, and n copies "
        f"have n^{GROWTH:g} times as many different words as one. `ColumnTagger(seen_pairs=True, max_iter={STEPS}, "
        f"solver=ProximalWorkingSets(most_bytes={PLANES:,}))` on `Files(…, memory=folder)`, one thread. Anonymous "
        "memory of the process, which cannot be dropped, and that of mapped files, which the system drops when it "
        "needs memory. Steps are those of the solver; the first contains sweeps in mini-batches. CPU seconds of the "
        "whole fit.\n\n" + table(head, rows)
    )


def main(sizes: list[str]) -> None:
    if not sizes:
        sys.exit("expected the sizes of files, such as: python -m benchmarks.large_file 100MB 400MB")
    found: list[dict[str, Any]] = []
    began = time.time()
    for size in sizes:
        found.append(isolated(trained, checked_size(size)))
        command = f"python -m benchmarks.large_file {' '.join(sizes[: len(found)])}"
        result = {"sizes": found}
        print(write("large_file", result, markdown(result), time.time() - began, command), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
