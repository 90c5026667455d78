"""Tsochantaridis et al. 2004, tables 2 and 3, with the second-degree polynomial kernel of the paper.

Named entities in 300 Spanish sentences, five folds, as in the benchmark `p1_tables`, whose features are linear; the
paper's selection of sentences differs. The kernel is (gamma a·b + 1)² on the features of a token (strings of a plain
tagger), with gamma = "scale", about 1 / (number of features of a token); transitions stay linear. C of the paper is 1,
which is 1 / n here, and ε = 0.01.
All rows use the explicit products of features; fold 0 was also solved with the Gram matrix of all distinct tokens, to
compare objectives and time. Rows run in processes of their own; the machine was loaded.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any

import maxmargin as mm
from benchmarks.p1_tables import error, folds, measured, summary
from benchmarks.papers import publish
from benchmarks.report import table

POLY = mm.Kernel("poly", degree=2, coef0=1.0)
#: Test errors of the paper, in per cent.
PAPER = {
    "perceptron": 5.94, "SVM2": 5.1, "SVM2, slack re-scaling": 5.1, "SVM2, margin re-scaling": 5.1,
}  # fmt: skip
NAMES = ("SVM2", "SVM2, slack re-scaling", "SVM2, margin re-scaling")
#: C of the paper.
C = 1.0


EXPLICIT = replace(POLY, method="expansion")


def run() -> dict[str, Any]:
    with ProcessPoolExecutor(5) as pool:
        gram = pool.submit(compared, "Gram matrix", POLY)
        rows = {f"{name}, C = {C:g}": pool.submit(formulation, name) for name in NAMES}
        rows["perceptron"] = pool.submit(perceptron)
        products = pool.submit(compared, "products", EXPLICIT)
        found = {name: row.result() for name, row in rows.items()}
        return {"rows": found, "gram": {"Gram matrix": gram.result(), "products": products.result()}}


def formulation(name: str) -> dict[str, Any]:
    """Return the row of one formulation."""
    parts, began = folds(), time.process_time()
    found = measured(name, C, parts, n_jobs=1, kernel=EXPLICIT)
    found["cpu"] = (time.process_time() - began) / len(parts)
    print(name, found, flush=True)
    return found


def perceptron() -> dict[str, Any]:
    """Return the row of the averaged perceptron."""
    parts = folds()
    models = [mm.SequenceTagger(solver="perceptron", n_jobs=1, kernel=EXPLICIT).fit(X, Y) for X, Y, _, _ in parts]
    tests = [error(Y, model.predict(X)) for model, (_, _, X, Y) in zip(models, parts, strict=True)]
    print("perceptron", tests, flush=True)
    return {"test": summary(tests)}


def compared(name: str, kernel: mm.Kernel) -> dict[str, Any]:
    """Return objective, time and test error of one fold, by the Gram matrix or by explicit products."""
    X, Y, test_X, test_Y = folds()[0]
    began = time.process_time()
    model = mm.SequenceTagger(C=1.0, tol=1e-2, n_jobs=1, kernel=kernel).fit(X, Y)
    seconds, certificate, structure = time.process_time() - began, model.certificate_, model.structure_
    found = {
        "objective": certificate.primal, "lower bound": certificate.dual, "cpu": seconds,
        "test": error(test_Y, model.predict(test_X)), "points": getattr(structure, "n_points", 0),
    }  # fmt: skip
    print(name, found, flush=True)
    return found


def markdown(result: dict[str, Any]) -> str:
    def cell(value: list[float] | None, digits: int = 2) -> str | None:
        return None if value is None else f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}"

    rows = [
        [name, cell(row.get("train")), cell(row["test"]), cell(row.get("constraints"), 0), cell(row.get("loss")),
         f"{row['cpu']:.0f}" if "cpu" in row else None, PAPER.get(name.split(", C")[0])]
        for name, row in result["rows"].items()
    ]  # fmt: skip
    head = ["method", "train error %", "test error %", "constraints", "average loss", "CPU s per fit", "paper: test %"]
    other = [
        [name, row["objective"], row["lower bound"], f"{row['cpu']:.0f}", f"{row['test']:.2f}", row["points"] or None]
        for name, row in result["gram"].items()
    ]
    columns = ["fold 0, C = 1, default solver", "objective", "lower bound", "CPU s", "test error %", "points kept"]
    text = __doc__ or ""
    title = "# Tsochantaridis et al. 2004, tables 2 and 3, polynomial kernel"
    return "\n\n".join([title, text.split("\n", 2)[2].strip(), table(head, rows), table(columns, other)])


if __name__ == "__main__":
    publish("p1_kernels", run, markdown)
