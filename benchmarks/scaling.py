"""How cost grows: n, T, K and d each doubled up to × 32, one at a time; exponents by least squares on log–log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.report import FOLDER, table

BASE = {"n": 200, "T": 8, "K": 6, "d": 10}
FACTORS = (1, 2, 4, 8, 16, 32)
SWEEPS = 8


def problem(n: int, T: int, K: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(K, d))
    Y = [rng.integers(K, size=T) for _ in range(n)]
    return [means[y] + 1.5 * rng.normal(size=(T, d)) for y in Y], Y


def seconds(sizes: dict[str, int], n_jobs: int) -> float:
    """CPU seconds of a fit of a fixed number of rounds, encoding included; wall seconds where threads are compared."""
    X, Y = problem(**sizes)
    clock = time.process_time if n_jobs == 1 else time.perf_counter
    began = clock()
    mm.SequenceTagger(
        C=0.1, tol=1e-9, max_iter=10_000, n_jobs=n_jobs, callbacks=[lambda step: step.iteration >= SWEEPS]
    ).fit(X, Y)
    return clock() - began


def threads() -> dict[str, float]:
    """Wall seconds of decoding alone, and of a whole fit, with one and two threads."""
    X, Y = problem(n=3000, T=20, K=26, d=40)
    result = {}
    for jobs in (1, 2):
        model = mm.SequenceTagger(C=0.1, tol=1e-9, n_jobs=jobs, callbacks=[lambda step: step.iteration >= SWEEPS])
        began = time.perf_counter()
        model.fit(X, Y)
        result[f"fit, {jobs}"] = time.perf_counter() - began
        w = model.coef_
        best = np.inf
        for _ in range(5):
            began = time.perf_counter()
            model.predict(X)
            best = min(best, time.perf_counter() - began)
        result[f"predict, {jobs}"] = best
        assert len(w) == len(model.coef_)
    return result


def run() -> dict[str, Any]:
    seconds(BASE, 1)
    times: dict[str, list[float]] = {}
    for name in BASE:
        times[name] = [seconds({**BASE, name: BASE[name] * factor}, 1) for factor in FACTORS]
    slopes = {name: float(np.polyfit(np.log(FACTORS[2:]), np.log(values[2:]), 1)[0]) for name, values in times.items()}
    plot(times, slopes, FOLDER / "scaling.png")
    return {"base": BASE, "seconds": times, "exponents": slopes, "threads": threads()}


def plot(times: dict[str, list[float]], slopes: dict[str, float], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
    for (name, values), colour in zip(times.items(), ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True):
        ax.loglog(FACTORS, values, marker="o", color=colour, label=f"{name}: exponent {slopes[name]:.2f}")
    ax.loglog(FACTORS, [times["n"][0] * f for f in FACTORS], color="#999999", linestyle=":", label="linear")
    ax.set_xlabel("factor on the size")
    ax.set_ylabel(f"CPU seconds of {SWEEPS} rounds")
    ax.set_xticks(FACTORS, [str(f) for f in FACTORS])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [name, result["base"][name], *(round(v, 3) for v in values), round(result["exponents"][name], 2)]
        for name, values in result["seconds"].items()
    ]
    t = result["threads"]
    return (
        f"# How cost grows\n\nCPU seconds of {SWEEPS} rounds of a tagger, one size at a time multiplied from the base "
        "(exponent fitted from × 4 on). n: sequences, T: length, K: labels, d: features (dense).\n\n"
        + table(["size", "base", *(f"× {f}" for f in FACTORS), "exponent"], rows)
        + "\n\n![log-log plot](scaling.png)\n\nTwo threads against one (wall): decoding "
        f"{t['predict, 1'] / t['predict, 2']:.2f} ×, a whole fit {t['fit, 1'] / t['fit, 2']:.2f} ×."
    )
