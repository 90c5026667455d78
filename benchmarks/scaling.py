"""Growth of the cost with n, T, K and d, each multiplied by up to 32; what two threads gain in whole fits.

Exponents are by least squares on a log–log scale.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import maxmargin as mm
from benchmarks.dependency import load as sentences
from benchmarks.report import FOLDER, shown, table
from maxmargin.core.planes import Answers
from maxmargin.engines import Local

BASE = {"n": 500, "T": 20, "K": 10, "d": 32}
FACTORS = (1, 2, 4, 8, 16, 32)
ROUNDS, REPEATS = 8, 3
#: Sentences of UD English for the parser, and runs of each whole fit.
SENTENCES, RUNS = 2000, 2


def problem(n: int, T: int, K: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    means = rng.normal(size=(K, d))
    Y = [rng.integers(K, size=T) for _ in range(n)]
    return [means[y] + 1.5 * rng.normal(size=(T, d)) for y in Y], Y


def tagger(n_jobs: int) -> Any:
    """Return a tagger that stops after a fixed number of rounds."""
    return mm.SequenceTagger(C=0.1, tol=1e-9, n_jobs=n_jobs, callbacks=[lambda step: step.iteration >= ROUNDS])


def seconds(sizes: dict[str, int]) -> float:
    """Return the fewest CPU seconds of several fits in one thread, including encoding."""
    X, Y = problem(**sizes)
    return min(elapsed(time.process_time, lambda: tagger(1).fit(X, Y)) for _ in range(REPEATS))


def elapsed(clock: Callable[[], float], task: Callable[[], Any]) -> float:
    began = clock()
    task()
    return clock() - began


def whole_fits() -> dict[str, tuple[Callable[[int], Any], tuple[Any, ...]]]:
    """Return, for each workload, a function from the number of threads to an estimator, and its training data."""
    return {
        "OCR letters, `SequenceTagger`": (
            lambda jobs: mm.SequenceTagger(C=0.1, tol=1e-2, n_jobs=jobs),
            mm.datasets.load_ocr_letters(set(range(1, 10))),
        ),
        "CoNLL-2002 Spanish, `ColumnTagger`": (
            lambda jobs: mm.ColumnTagger(n_jobs=jobs),
            mm.datasets.load_conll2002("train"),
        ),
        f"UD English, {SENTENCES} sentences, `DependencyParser`": (
            lambda jobs: mm.DependencyParser(n_jobs=jobs),
            (sentences("train")[:SENTENCES],),
        ),
    }


def threads() -> dict[str, dict[str, float]]:
    """Return the fewest wall seconds of decoding and of whole fits, with one and two threads in alternating runs."""
    X, Y = problem(n=2000, T=20, K=26, d=40)
    model = tagger(1).fit(X, Y)
    examples, w = model.structure_.encode(X), model.coef_
    answers = Answers.empty(examples.n_examples, int(examples.code_offsets[-1]))
    ids, zeros = np.arange(examples.n_examples), np.zeros(examples.n_examples)

    def sweep(jobs: int) -> float:
        with Local(jobs) as engine, threadpool_limits(1):  # as in a fit
            task = partial(engine.map, lambda ids, part: examples.decode(w, ids, zeros[part], answers), ids)
            task()  # starts the threads
            return elapsed(time.perf_counter, task)

    best = {"decoding alone, dense features": fewest(sweep, 15)}
    for name, (estimator, data) in whole_fits().items():
        estimator(1).set_params(tol=0.5, max_iter=2).fit(*data)  # loads compiled functions
        best[name] = fewest(lambda jobs: elapsed(time.perf_counter, partial(estimator(jobs).fit, *data)), RUNS)  # noqa: B023
    return best


def fewest(seconds: Callable[[int], float], runs: int) -> dict[str, float]:
    """Return the fewest seconds with one and with two threads."""
    times = [{str(jobs): seconds(jobs) for jobs in (1, 2)} for _ in range(runs)]
    return {jobs: min(run[jobs] for run in times) for jobs in ("1", "2")}


def run() -> dict[str, Any]:
    seconds(BASE)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    times: dict[str, list[float]] = {}
    for name in BASE:
        times[name] = [seconds({**BASE, name: BASE[name] * factor}) for factor in FACTORS]
    slopes = {name: float(np.polyfit(np.log(FACTORS[2:]), np.log(values[2:]), 1)[0]) for name, values in times.items()}
    plot(times, slopes, FOLDER / "scaling.png")
    return {"base": BASE, "seconds": times, "exponents": slopes, "threads": threads(), "load": load}


def plot(times: dict[str, list[float]], slopes: dict[str, float], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(5.5, 4), layout="constrained")
    for (name, values), colour in zip(times.items(), ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), strict=True):
        ax.loglog(FACTORS, values, marker="o", color=colour, label=f"{name}: exponent {slopes[name]:.2f}")
    ax.loglog(FACTORS, [times["n"][0] * f for f in FACTORS], color="#999999", linestyle=":", label="linear")
    ax.set_xlabel("factor on the size")
    ax.set_ylabel(f"CPU seconds of {ROUNDS} rounds")
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
    threads = [[name, round(t["1"], 3), round(t["2"], 3), t["1"] / t["2"]] for name, t in result["threads"].items()]
    return (
        f"# Growth of the cost\n\nCPU seconds of {ROUNDS} rounds of a tagger, with one size at a time multiplied "
        "(exponents fitted from × 4 on). n: sequences, T: length, K: labels, d: features (dense).\n\n"
        + table(["size", "base", *(f"× {f}" for f in FACTORS), "exponent"], rows)
        + "\n\n![log-log plot](scaling.png)\n\n## Two threads\n\nWall seconds, the fewest of several alternating runs; "
        "whole fits include encoding. The results have the same bits.\n\n"
        + table(["", "1 thread", "2 threads", "×"], threads)
        + "\n\nBlock steps on one example after the other, and Python code, stay in one thread. "
        f"The load average at the start was {shown(result['load'])}; above 1, two threads do not get two cores."
    )
