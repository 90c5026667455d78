"""Yu and Joachims 2009, figure 3: steps of the concave-convex procedure by C, for three applications.

Motif: yeast origins, l = 11, one run from the best word, with one of the first three of ten folds left out.
Coreference: three sets of ten of GUM's training documents, r = 1. Precision@5: the five training sets of OHSUMED.
Figures are means over these sets. A run ends when the relative decrease of the objective in a step is below 0.001, for
coreference 0.01 (in the paper, when the absolute decrease is below 0.001, for coreference 0.05). Steps that only solve
the inner problem more accurately are counted too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from benchmarks.data import load_coref_gum, load_ohsumed, load_yeast_ars, ohsumed_fold
from benchmarks.papers import publish
from benchmarks.report import FOLDER, table

C_VALUES = tuple(10.0**power for power in range(-3, 3))
#: With larger C, coreference takes minutes per fit.
MOST_FOR_COREFERENCE = 1.0
SECONDS_AT_MOST = 300.0


def motif() -> Iterator[tuple[Any, Any]]:
    data = load_yeast_ars()
    for fold in range(3):
        kept = np.flatnonzero(data.folds != fold)
        sequences, labels = [data.sequences[i] for i in kept], data.labels[kept]
        yield (
            lambda C: mm.MotifFinder(length=11, both_strands=True, n_restarts=1, C=C, tol=1e-3, **common()),
            lambda model, sequences=sequences, labels=labels: model.fit(sequences, labels),
        )


def coreference() -> Iterator[tuple[Any, Any]]:
    X, Y, *_ = load_coref_gum("train")
    for part in range(3):
        yield (
            lambda C: mm.ForestClustering(C=C, tol=1e-2, **common()),
            lambda model, part=part: model.fit(X[part::3], Y[part::3]),
        )


def precision() -> Iterator[tuple[Any, Any]]:
    for fold in range(1, 6):
        X, relevance, groups = load_ohsumed(*ohsumed_fold(fold)["train"])
        data = X, (relevance > 0).astype(int), groups
        yield (
            lambda C: mm.StructuredRanker(measure="precision@5", C=C, tol=1e-3, drop_empty=True, **common()),
            lambda model, data=data: model.fit(*data),
        )


TASKS = {"motif": motif, "coreference": coreference, "precision@5": precision}


def common() -> dict[str, Any]:
    return {"n_jobs": 1, "max_seconds": SECONDS_AT_MOST}


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    found: dict[str, Any] = {}
    for task, sets in TASKS.items():
        found[task] = {}
        for make, fit in sets():
            for C in C_VALUES:
                if task == "coreference" and C > MOST_FOR_COREFERENCE:
                    break
                model = fit(make(C))
                row = {
                    "steps": len(model.history_),
                    "with_changes": sum(step["changes"] > 0 for step in model.history_),
                    "stop": model.stop_reason_,
                    "seconds": model.history_[-1]["seconds"],
                }
                found[task].setdefault(f"{C:g}", []).append(row)
                print(task, C, row, file=sys.stderr, flush=True)
    draw(found)
    return {"protocol": __doc__, "tasks": found}


def draw(found: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from maxmargin.plots._matplotlib import BLUE, GREEN, ORANGE

    figure, ax = plt.subplots(figsize=(5, 3.6), layout="constrained")
    for (task, by_C), colour in zip(found.items(), (BLUE, ORANGE, GREEN), strict=True):
        steps = [np.mean([row["steps"] for row in rows]) for rows in by_C.values()]
        ax.semilogx(list(map(float, by_C)), steps, color=colour, marker="o", markersize=3, label=task)
    ax.set(xlabel="C", ylabel="outer steps")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / "p5_iterations.png", dpi=120)


def markdown(result: dict[str, Any]) -> str:
    rows = [[f"{C:g}", *(cell(by_C.get(f"{C:g}")) for by_C in result["tasks"].values())] for C in C_VALUES]
    every = [row["steps"] for by_C in result["tasks"].values() for rows in by_C.values() for row in rows]
    return (
        f"# Yu and Joachims 2009, figure 3: outer steps by C\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n"
        f"![outer steps by C](p5_iterations.png)\n\n{table(['C', *result['tasks']], rows)}\n\nMean number of "
        f"steps (seconds of a fit). Of {len(every)} runs, {sum(n <= 50 for n in every)} needed at most 50 steps, the "
        f"longest {max(every)}; the paper says that most finish within 50, and that the number grows mildly with C."
    )


def cell(rows: list[dict[str, Any]] | None) -> str | None:
    if rows is None:
        return None
    late = sum(row["stop"] == "max_seconds" for row in rows)
    note = f"; {late} of {len(rows)} stopped after {SECONDS_AT_MOST:.0f} s" if late else ""
    return f"{np.mean([r['steps'] for r in rows]):.1f} ({np.mean([r['seconds'] for r in rows]):.1f} s{note})"


if __name__ == "__main__":
    publish("p5_iterations", run, markdown)
