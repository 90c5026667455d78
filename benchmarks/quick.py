"""``python -m benchmarks.quick``: the speed of the library in two minutes, as ratios, appended to a history.

Each measurement is CPU time divided by that of something that does not change with this library, measured just before
and after it in the same process: another package, or a fixed amount of work with numpy. So lines of other machines and
of busy ones can be compared, if not closely. The history is ``results/history.jsonl``, one line for each run.
"""

from __future__ import annotations

import datetime
import json
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import maxmargin as mm
from benchmarks.report import FOLDER, processor, table, version
from benchmarks.startup import FIT, IMPORT, PEERS, timed

HISTORY = FOLDER / "history.jsonl"
#: Runs of each pair, of which the median ratio counts, and CPU seconds that all may take.
REPEATS, LIMIT = 7, 90.0

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(300, 300))


def unit() -> None:
    """Do a fixed amount of work: a product of matrices, sorting, and loops of Python, about 10 ms."""
    (TABLE @ TABLE).sort(axis=1)
    total = 0
    for k in range(60_000):
        total += k & 7


def cpu(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def ratio(work: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Return the median of several ratios of the CPU times of two works, and half the range of the middle ones."""
    with threadpool_limits(1):  # threads of BLAS that wait for work take CPU time, more on a busy machine
        return _ratio(work, other)


def _ratio(work: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    work(), other()
    found = []
    for _ in range(REPEATS):
        before, ours, after = cpu(other), cpu(work), cpu(other)
        found.append(2.0 * ours / max(before + after, 1e-9))
    low, middle, high = statistics.quantiles(found, n=4)
    return middle, (high - low) / 2.0


def measurements() -> dict[str, tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Return works by name: what they are divided by, the work of the library and the other one."""
    X, y = mm.datasets.make_multiclass(3000, n_features=40, n_classes=8, random_state=0)
    sequences, labels = mm.datasets.make_chains(400, n_labels=8, random_state=0)
    tagger = mm.SequenceTagger(C=1.0, n_jobs=1).fit(sequences, labels)
    words = [[[f"w={abs(v):.1f}", f"s={v > 0}"] for v in x[:, 0]] for x in sequences]
    costs = RNG.normal(size=(300, 12, 12, 1))
    pairs = mm.StructuralSVM(mm.BipartiteMatching(), C=1.0, n_jobs=1).fit(list(costs[:40]), [list(range(12))] * 40)
    molecules, structures = mm.datasets.make_rna(10, random_state=0)
    folder = mm.RNAFolder(bound="margin", prior=None, decode="map", temperature=None, n_jobs=1, C=1.0)
    folder.fit(molecules, structures)
    strings = [("".join(RNG.choice(list("ACGT"), 120)), "".join(RNG.choice(list("ACGT"), 120))) for _ in range(20)]
    aligner = mm.PairwiseAligner(alphabet="ACGT", features="simple", prior=None, n_jobs=1)
    aligner.fit(*mm.datasets.toy.alignments())
    rows, signs = mm.datasets.toy.signs()
    liblinear = LinearSVC(multi_class="crammer_singer", C=1.0, fit_intercept=False, tol=1e-3)
    flat = costs[:, :, :, 0]
    return {
        "classifier: fit": (
            "LIBLINEAR (Crammer–Singer)", lambda: mm.MulticlassSVM(n_jobs=1).fit(X, y), lambda: liblinear.fit(X, y)
        ),
        "tagger: fit": (
            "unit", lambda: mm.SequenceTagger(C=1.0, n_jobs=1).fit(sequences, labels), unit
        ),
        "tagger: fit of strings": (
            "unit", lambda: mm.SequenceTagger(C=1.0, n_jobs=1).fit(words, labels), unit
        ),
        "tagger: prediction": ("unit", lambda: tagger.predict(sequences * 10), unit),
        "assignments: prediction": (
            "scipy's linear_sum_assignment", lambda: pairs.predict(list(costs)),
            lambda: [linear_sum_assignment(-c) for c in flat],
        ),
        "RNA: prediction": ("unit", lambda: folder.predict(molecules * 4), unit),
        "alignments: prediction": ("unit", lambda: aligner.predict(strings * 10), unit),
        "own structure: fit": (
            "unit", lambda: mm.StructuralSVM(mm.datasets.toy.Sign(), C=1.0).fit(rows * 4, signs * 4), unit
        ),
    }  # fmt: skip


def startups() -> dict[str, tuple[str, float]]:
    """Return import, first fit with a warm cache, and first fit with an empty one, divided by the import of numba."""
    import tempfile

    timed(FIT, 1)
    peers = timed(PEERS, 3)["cpu"]
    with tempfile.TemporaryDirectory() as cache:
        cold = timed(FIT, 1, NUMBA_CACHE_DIR=cache, MAXMARGIN_COMPILE_PROCESSES="1")["cpu"]
    what = "import of numba, scipy and scikit-learn"
    return {
        "import maxmargin": (what, timed(IMPORT, 3)["cpu"] / peers),
        "first small fit, warm cache": (what, timed(FIT, 3)["cpu"] / peers),
        "first small fit, empty cache": (what, cold / peers),
    }


def run() -> dict[str, Any]:
    began, found = time.perf_counter(), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (by, value) in startups().items():
            found[name] = {"by": by, "ratio": round(value, 4)}
        for name, (by, work, other) in measurements().items():
            if time.process_time() > LIMIT:
                break
            value, spread = ratio(work, other)
            found[name] = {"by": by, "ratio": round(value, 4), "spread": round(spread, 4)}
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": commit(), "version": version("maxmargin"), "processor": processor(),
        "seconds": round(time.perf_counter() - began), "ratios": found,
    }  # fmt: skip


def commit() -> str:
    """Return the commit that is measured, with ``+`` if files have been changed since; empty without git."""
    root = Path(__file__).parents[1]
    try:
        head = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=root, check=True
        )
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no", "src"], capture_output=True, text=True, cwd=root,
            check=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")


def lines(path: Path = HISTORY) -> list[dict[str, Any]]:
    """Return all runs, the oldest first."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def shown(result: dict[str, Any], before: dict[str, Any] | None) -> str:
    """Return a table of a run, beside the run before it."""
    rows = []
    for name, one in result["ratios"].items():
        last = before["ratios"].get(name, {}).get("ratio") if before else None
        change = None if last is None else f"{100.0 * (one['ratio'] / last - 1.0):+.0f} %"
        rows.append([name, one["by"], one["ratio"], one.get("spread"), last, change])
    head = ["CPU time of", "divided by that of", "ratio", "± of runs", "run before", "change"]
    return f"{table(head, rows)}\n\n{result['seconds']} s, commit {result['commit']}, {result['processor']}"


def main() -> None:
    earlier = lines()
    result = run()
    with HISTORY.open("a", encoding="utf-8") as file:
        file.write(json.dumps(result, ensure_ascii=False) + "\n")
    print(shown(result, earlier[-1] if earlier else None))


if __name__ == "__main__":
    main()
