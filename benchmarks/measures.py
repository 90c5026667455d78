"""Time of F1 and ROC area: on Reuters and on 10³ to 10⁶ sparse rows, against LinearSVC with a tuned threshold."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks.data.reuters import load_reuters
from benchmarks.report import FOLDER, table
from maxmargin.estimators.rows.one_versus_rest import tuned_threshold
from maxmargin.structures.measures.measures import f_beta

SIZES = (1_000, 10_000, 100_000, 1_000_000)
#: Rows up to which the threshold of LinearSVC is tuned by cross-validation.
MOST_TUNED = 100_000
FEATURES, NONZEROS = 100_000, 20
CS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
MEASURES = ("f1", "roc_auc")


def rows(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Return n sparse rows, frequent features first, of which 5 % are positive."""
    rng = np.random.default_rng(seed)
    columns = (FEATURES * rng.random(n * NONZEROS) ** 3).astype(np.int32)
    values = (rng.random(n * NONZEROS) + 0.5) / np.sqrt(NONZEROS)
    X = sp.csr_matrix((values, columns, np.arange(0, n * NONZEROS + 1, NONZEROS)), shape=(n, FEATURES))
    X.sum_duplicates()
    scores = X @ rng.normal(size=FEATURES) + 0.5 * rng.normal(size=n)
    return X, (scores > np.quantile(scores, 0.95)).astype(int)


def cpu(task: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of a task and its CPU seconds."""
    began = time.process_time()
    return task(), time.process_time() - began


def tuned(X: Any, y: Any) -> tuple[float, float | None]:
    """Return the CPU seconds of LinearSVC, and those of the threshold that is best for F1 on 3-fold scores.

    The threshold of many rows is not tuned, and its time is None.
    """
    _, alone = cpu(lambda: LinearSVC().fit(X, y))

    def threshold() -> float:
        cv = StratifiedKFold(3, shuffle=True, random_state=0)
        scores = cross_val_predict(LinearSVC(), X, y, cv=cv, method="decision_function")
        return tuned_threshold(f_beta(1.0), scores, y, None)

    return alone, cpu(threshold)[1] if X.shape[0] <= MOST_TUNED else None


def timed(X: Any, y: Any) -> dict[str, Any]:
    """Return the CPU seconds of all methods on one set of rows."""
    found: dict[str, Any] = {}
    for measure in MEASURES:
        model, seconds = cpu(lambda measure=measure: mm.MeasureSVC(measure=measure).fit(X, y))  # type: ignore[misc]
        found[measure] = {
            "seconds": seconds, "planes": model.certificate_.oracle_calls, "gap": model.certificate_.gap,
            "standing": model.certificate_.standing,
        }  # fmt: skip
    found["linear"], found["threshold"] = tuned(X, y)
    return found


def reuters() -> dict[str, Any]:
    """Return the seconds of eight categories, from frequent to rare."""
    data = load_reuters()
    chosen = [k for k in range(0, 90, 8) if data.train_labels[:, k].sum() >= 3][:8]
    each = [timed(data.train, data.train_labels[:, k]) for k in chosen]
    seconds = {m: sum(found[m]["seconds"] for found in each) for m in MEASURES}
    linear, threshold = (sum(found[name] for found in each) for name in ("linear", "threshold"))
    return {"categories": [data.names[k] for k in chosen], **seconds, "linear": linear, "threshold": threshold}


def path(n: int) -> dict[str, Any]:
    """Return argmaxes and seconds of a path over C with planes kept, and of separate fits."""
    X, y = rows(n)
    found: dict[str, Any] = {}
    for measure in MEASURES:
        model = mm.MeasureSVC(measure=measure)
        kept, together = cpu(lambda model=model: mm.regularization_path(model, X, y, CS))  # type: ignore[misc]
        single, apart = cpu(lambda m=measure: [mm.MeasureSVC(measure=m, C=C).fit(X, y) for C in CS])  # type: ignore[misc]
        calls = [sum(m.certificate_.oracle_calls for m in models) for models in (kept, single)]
        found[measure] = {"argmaxes": calls, "seconds": [together, apart]}
    return found


def run() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = rows(500)
        timed(*small)  # compile
        scaling = {}
        for n in SIZES:
            scaling[str(n)] = timed(*rows(n))
            scaling[str(n)]["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            print(n, scaling[str(n)], flush=True)
        result = {"scaling": scaling, "reuters": reuters(), "path": path(100_000)}
    result["exponents"] = {
        name: slope([seconds_of(scaling[str(n)], name) for n in SIZES]) for name in (*MEASURES, *PLANES, "linear")
    }
    draw(result)
    return result


PLANES = ("f1, one plane", "roc_auc, one plane")


def seconds_of(found: dict[str, Any], name: str) -> float:
    """Return the seconds of a fit, or of one plane."""
    if name in PLANES:
        fit = found[name.split(",")[0]]
        return float(fit["seconds"] / fit["planes"])
    return float(found[name]["seconds"] if name in MEASURES else found[name])


def slope(seconds: list[float]) -> float:
    """Return the exponent of the number of rows, by least squares of logarithms."""
    return float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0])


def draw(result: dict[str, Any]) -> None:
    """Draw CPU seconds against rows, both logarithmic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    marks = dict(zip(result["exponents"], ("o-", "s-", "o:", "s:", "^--"), strict=True))
    for name, exponent in result["exponents"].items():
        shown = "LinearSVC" if name == "linear" else f"MeasureSVC: {name}"
        values = [seconds_of(result["scaling"][str(n)], name) for n in SIZES]
        axes.loglog(SIZES, values, marks[name], label=f"{shown}, n^{exponent:.2f}")
    axes.set(xlabel=f"rows ({NONZEROS} non-zeros of {FEATURES:,} features each)", ylabel="CPU seconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.savefig(FOLDER / "measures.png", dpi=120)
    plt.close(figure)


def markdown(result: dict[str, Any]) -> str:
    lines = []
    for n in SIZES:
        found = result["scaling"][str(n)]
        both = None if found["threshold"] is None else found["linear"] + found["threshold"]
        reference = both or found["linear"]
        cells = [
            c for m in MEASURES for c in (found[m]["seconds"], found[m]["planes"], found[m]["seconds"] / reference)
        ]
        lines.append([f"{n:,}", *cells, found["linear"], both, f"{found['gigabytes']:.2f}"])
    head = ["rows", "F1: CPU s", "planes", "ratio", "ROC area: CPU s", "planes", "ratio", "LinearSVC: CPU s",
            "with tuned threshold", "peak GB"]  # fmt: skip
    exponents = ", ".join(f"{name} {value:.2f}" for name, value in result["exponents"].items())
    decade = np.log(SIZES[-1] / SIZES[-2])
    ends = {n: [seconds_of(result["scaling"][str(size)], n) for size in SIZES[-2:]] for n in result["exponents"]}
    last = ", ".join(f"{name} {np.log(b / a) / decade:.2f}" for name, (a, b) in ends.items())
    text, kept = result["reuters"], result["path"]
    whole = text["linear"] + text["threshold"]
    return "\n\n".join([
        "# Measures of whole sets: time",
        f"Synthetic rows: {NONZEROS} non-zeros of {FEATURES:,} features, frequent ones first, 5 % positive; "
        f"`MeasureSVC` with its defaults (C = 1, a gap of 0.01) against `LinearSVC()`, with a threshold tuned for F1 "
        f"on 3-fold scores up to {MOST_TUNED:,} rows. Ratios are to LinearSVC with the threshold, in the last row to "
        f"LinearSVC alone. Seconds are CPU seconds of all threads, on a machine that was busy with other work.",
        table(head, lines),
        f"Exponents of n over all sizes: {exponents}; from {SIZES[-2]:,} to {SIZES[-1]:,} rows: {last}. With few rows "
        f"the cost of a step is that of its {FEATURES:,} weights; the number of planes grows with the rows, which "
        f"determine more and more of the weights.",
        "![seconds by rows](measures.png)",
        "## Reuters", f"{len(text['categories'])} categories ({', '.join(text['categories'])}), CPU seconds in all: F1 "
        f"{text['f1']:.2f}, ROC area {text['roc_auc']:.2f}, LinearSVC {text['linear']:.2f}, with the threshold "
        f"{whole:.2f}. Ratios: {text['f1'] / whole:.2f} and {text['roc_auc'] / whole:.2f}.",
        "## Planes kept along a path", f"Six values of C from {CS[0]:g} to {CS[-1]:g} on 100,000 of these rows, with "
        f"`regularization_path`, whose fits keep the planes of the last C, and as separate fits:",
        table(["measure", "argmaxes: path", "separate", "CPU s: path", "separate"],
              [[m, *kept[m]["argmaxes"], *kept[m]["seconds"]] for m in MEASURES]),
    ])  # fmt: skip
