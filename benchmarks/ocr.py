"""OCR letters: CPU seconds and sweeps to certified gaps, and to the primal values that SVM-hmm reached.

Train on folds 1–9 (6,251 words), test on fold 0. The gap table uses the share of wrong letters as loss and λ = 1/(nC);
the second table uses the number of wrong letters at SVM-hmm's C = 100 and 1000, which is C / n here. There are no
start and end weights, as in the reference figures.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import Clock, isolated, tag_crfsuite, train_crfsuite
from benchmarks.report import table

GAPS = (0.01, 0.001, 0.0001)
#: Sweeps of the reference prototype to 1 %, 0.1 %, 0.01 %; primal values and CPU seconds of SVM-hmm (CRFsuite: 32 s).
REFERENCE_SWEEPS = {0.01: (13, 18, 23), 0.001: (20, 26, 42), None: (26, 40, 76)}
SVM_HMM = {100: (397.66, 21.0), 1000: (2999.2, 25.0)}
CRFSUITE_WITH_SVM_HMM = 32.0


def words(train: bool) -> tuple[list[Any], list[Any]]:
    X, Y = mm.datasets.load_ocr_letters(set(range(1, 10)) if train else {0})
    order = np.random.default_rng(5).permutation(len(X))
    return [X[i] for i in order], [Y[i] for i in order]


def warm_up(X: list[Any], Y: list[Any]) -> None:
    """Load or compile the functions before a clock starts."""
    mm.SequenceTagger(loss="hamming-share", start_end=False, tol=0.5, n_jobs=1).fit(X[:300], Y[:300])


def to_gaps(lam: float | None, n_jobs: int) -> dict[str, Any]:
    X, Y = words(True)
    test = words(False)
    warm_up(X, Y)
    n = len(X)
    C = 1.0 / (n * (lam if lam is not None else 1.0 / n))
    reached: dict[str, Any] = {}
    clock = Clock()

    def watch(step: mm.outputs.Step) -> None:
        for gap in GAPS:
            if step.certificate.gap <= gap and str(gap) not in reached:
                sweeps = step.certificate.oracle_calls / n
                reached[str(gap)] = {"cpu": clock.cpu, "wall": clock.wall, "sweeps": sweeps}

    model = mm.SequenceTagger(
        C=C, loss="hamming-share", start_end=False, tol=GAPS[-1], n_jobs=n_jobs, callbacks=[watch]
    ).fit(X, Y)
    return {"reached": reached, "accuracy": model.score(*test), "primal": model.certificate_.primal / (n * C)}


def to_primal(C: float, target: float) -> dict[str, Any]:
    """Return CPU seconds (including encoding) until the objective, in SVM-hmm's scaling, is at most the target."""
    X, Y = words(True)
    test = words(False)
    warm_up(X, Y)
    n = len(X)
    clock = Clock()
    model = mm.SequenceTagger(
        C=C / n, start_end=False, tol=1e-6, n_jobs=1, callbacks=[lambda step: step.certificate.primal <= target]
    ).fit(X, Y)
    return {
        "cpu": clock.cpu,
        "primal": model.certificate_.primal,
        "gap": model.certificate_.gap,
        "accuracy": model.score(*test),
    }


def crfsuite() -> dict[str, Any]:
    X, Y = words(True)
    named = [[[f"p{j}" for j in np.flatnonzero(row)] + ["bias"] for row in x] for x in X]
    test_X, test_Y = words(False)
    test = [[[f"p{j}" for j in np.flatnonzero(row)] + ["bias"] for row in x] for x in test_X]
    with tempfile.NamedTemporaryFile() as file:
        clock = train_crfsuite(named, [y.tolist() for y in Y], file.name)
        tags, _ = tag_crfsuite(test, file.name)
    right = sum(a == b for y, t in zip(test_Y, tags, strict=True) for a, b in zip(y, t, strict=True))
    return {"cpu": clock.cpu_total, "accuracy": right / sum(map(len, test_Y))}  # type: ignore[attr-defined]


def run() -> dict[str, Any]:
    gaps = {str(lam): {str(jobs): isolated(to_gaps, lam, jobs) for jobs in (1, 2)} for lam in (0.01, 0.001, None)}
    peer = isolated(crfsuite)
    primal = {str(C): isolated(to_primal, float(C), target) for C, (target, _) in SVM_HMM.items()}
    return {"gaps": gaps, "crfsuite": peer, "primal": primal}


def markdown(result: dict[str, Any]) -> str:
    rows = []
    for lam, reference in REFERENCE_SWEEPS.items():
        for jobs, cell in result["gaps"][str(lam)].items():
            row: list[Any] = [lam or "1/n", jobs]
            for gap, sweeps in zip(GAPS, reference, strict=True):
                at = cell["reached"].get(str(gap))
                row.append(f"{at['cpu']:.2f} / {at['wall']:.2f} / {at['sweeps']:.0f} ({sweeps})" if at else None)
            rows.append([*row, round(cell["peak_mb"]), f"{cell['accuracy']:.4f}"])
    head = ["λ", "threads", "1 %", "0.1 %", "0.01 %", "peak MB", "test letters right"]
    first = table(head, rows)
    peer, rows = result["crfsuite"], []
    for C, (target, seconds) in SVM_HMM.items():
        ours = result["primal"][str(C)]
        theirs = seconds / CRFSUITE_WITH_SVM_HMM * peer["cpu"]
        rows.append([C, target, ours["primal"], ours["cpu"], theirs, theirs / ours["cpu"], f"{ours['accuracy']:.4f}"])
    head = ["C", "SVM-hmm's primal", "ours", "our CPU s", "SVM-hmm's CPU s, scaled", "ratio", "test letters right"]
    return (
        "# OCR letters\n\nCPU s / wall s / sweeps to a certified relative gap (sweeps of the reference prototype); "
        f"including encoding, without loading code.\n\n{first}\n\nCPU seconds to the primal value at which SVM-hmm "
        "stopped. SVM-hmm was not run on this machine: its time on another machine is scaled by CRFsuite's time on "
        f"both, {peer['cpu']:.1f} s in this run (test letters right {peer['accuracy']:.4f}) and "
        f"{CRFSUITE_WITH_SVM_HMM:.0f} s there."
        f"\n\n{table(head, rows)}"
    )
