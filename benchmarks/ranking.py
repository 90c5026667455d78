"""CPU seconds of rankers: all pairs of a query at once, explicit differences of documents, and LightGBM's trees.

OHSUMED, training parts of the five folds (about 9,700 documents of 63 queries, 45 features), C = 1 for each query.
`all pairs` is ``StructuredRanker(measure="pairwise")``; the explicit problem is the same one with a row for each pair
and weights 1 / (number of pairs of the query), solved by LIBLINEAR: by the dual of the same hinge, and by the primal
of the squared hinge, which is how people usually do it. The seconds of explicit problems include making the
differences. Objective values are those of the hinge. LightGBM has 100 trees and default parameters, without a search.
NDCG@10 is that of the test parts, without any choice of C.

Growth: 20 queries of n documents each with 45 dense features, relevance 0 to 2 in equal shares, tol = 0.01. The
exponent is that of the last step.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import LinearSVC

import maxmargin as mm
from benchmarks.data import load_ohsumed, ohsumed_fold
from benchmarks.measure import Clock
from benchmarks.report import table
from maxmargin.metrics.queries import rows_by_query

SIZES, MOST_EXPLICIT = (100, 316, 1000, 3162, 10000), 316
Subset = tuple[np.ndarray, np.ndarray, np.ndarray]


def differences(X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x_i − x_j of all pairs of a query, i more relevant than j, and 1 / (number of its pairs)."""
    rows, weights = [], []
    for own in rows_by_query(groups)[1]:
        better, worse = np.nonzero(y[own][:, None] > y[own])
        rows.append(X[own[better]] - X[own[worse]])
        weights.append(np.full(len(better), 1 / max(len(better), 1)))
    return np.concatenate(rows), np.concatenate(weights)


def explicit(train: Subset, **parameters: Any) -> np.ndarray:
    rows, weights = differences(*train)
    signs = np.where(np.arange(len(rows)) % 2, 1, -1)  # a classifier needs two classes: every second pair is reversed
    rows *= signs[:, None]
    model = LinearSVC(C=1.0, fit_intercept=False, **parameters)
    return model.fit(rows, signs, sample_weight=weights).coef_[0]


def all_pairs(train: Subset, tol: float, n_jobs: int = 1) -> np.ndarray:
    ranker = mm.StructuredRanker(measure="pairwise", tol=tol, drop_empty=True, n_jobs=n_jobs)
    return ranker.fit(*train[:2], groups=train[2]).coef_


def other(measure: str, train: Subset) -> np.ndarray:
    return mm.StructuredRanker(measure=measure, drop_empty=True, n_jobs=1).fit(*train[:2], groups=train[2]).coef_


def trees(train: Subset) -> Any:
    import lightgbm

    X, y, groups = train
    sizes = [len(rows) for rows in rows_by_query(groups)[1]]
    return lightgbm.LGBMRanker(n_jobs=1, verbose=-1, random_state=0).fit(X, y, group=sizes)


METHODS: dict[str, Callable[[Subset], Any]] = {
    "all pairs, tol 0.01": lambda train: all_pairs(train, 1e-2),
    "all pairs, tol 0.001": lambda train: all_pairs(train, 1e-3),
    "explicit, LIBLINEAR, hinge": lambda train: explicit(train, loss="hinge", tol=1e-3, max_iter=3000),
    "explicit, LIBLINEAR, squared hinge": lambda train: explicit(train, dual=False, tol=1e-3),
    "ndcg@10, ramp": lambda train: other("ndcg@10", train),
    "ap": lambda train: other("ap", train),
    "LightGBM, 100 trees": trees,
}


def fold_rows(fold: int) -> dict[str, Any]:
    parts = ohsumed_fold(fold)
    train, test = (load_ohsumed(*parts[part]) for part in ("train", "test"))
    rows, weights = differences(*train)
    found: dict[str, Any] = {"pairs": len(rows)}
    for name, method in METHODS.items():
        clock = Clock()
        model = method(train)
        row = {"cpu": clock.cpu}
        if isinstance(model, np.ndarray):
            row["objective"] = float(0.5 * model @ model + weights @ np.maximum(0.0, 1.0 - rows @ model))
            scores = test[0] @ model
        else:
            scores = model.predict(test[0])
        row["ndcg"] = mm.metrics.ndcg_at_k(test[1], scores, test[2], 10)
        row["pairs"] = mm.metrics.pair_accuracy(test[1], scores, test[2])
        found[name] = row
    print(fold, {name: round(row["cpu"], 3) for name, row in found.items() if name != "pairs"}, flush=True)
    return found


def generated(n: int) -> Subset:
    rng = np.random.default_rng(0)
    X = rng.random((20 * n, 45))
    hidden = X @ rng.normal(size=45) + rng.normal(size=len(X))
    return X, np.digitize(hidden, np.quantile(hidden, [1 / 3, 2 / 3])), np.repeat(np.arange(20), n)


def growth() -> list[dict[str, Any]]:
    rows = []
    for n in SIZES:
        data = generated(n)
        row: dict[str, Any] = {"n": n}
        clock = Clock()
        all_pairs(data, 1e-2)
        row["all pairs"] = clock.cpu
        if n <= MOST_EXPLICIT:
            clock = Clock()
            explicit(data, dual=False, tol=1e-3)
            row["explicit"] = clock.cpu
        rows.append(row)
        print(row, flush=True)
    return rows


def run() -> dict[str, Any]:
    warnings.simplefilter("ignore")
    small = generated(20)
    for name, method in METHODS.items():
        if not name.startswith("explicit"):
            method(small)  # compiled, or loaded, before times are taken
    folds = [fold_rows(fold) for fold in (1, 2, 3, 4, 5)]
    return {"folds": folds, "growth": growth()}


def markdown(result: dict[str, Any]) -> str:
    folds = result["folds"]
    base = np.mean([fold["all pairs, tol 0.01"]["cpu"] for fold in folds])
    rows = []
    for name in METHODS:
        cpu = [fold[name]["cpu"] for fold in folds]
        objective = [fold[name].get("objective") for fold in folds]
        rows.append(
            [name, f"{np.mean(cpu):.3f}", f"{np.max(cpu):.3f}", f"{np.mean(cpu) / base:.1f}",
             None if objective[0] is None else f"{np.mean(objective):.3f}",
             f"{np.mean([fold[name]['ndcg'] for fold in folds]):.4f}",
             f"{np.mean([fold[name]['pairs'] for fold in folds]):.4f}"]
        )  # fmt: skip
    sizes = [[row["n"], 20 * row["n"], row["all pairs"], row.get("explicit")] for row in result["growth"]]
    last, before = result["growth"][-1], result["growth"][-2]
    exponent = np.log(last["all pairs"] / before["all pairs"]) / np.log(last["n"] / before["n"])
    pairs = np.mean([fold["pairs"] for fold in folds])
    return "\n\n".join(
        [
            f"# Ranking: CPU seconds\n\n{__doc__.split(chr(10), 2)[2].strip()}",
            f"OHSUMED, five folds, {pairs:,.0f} pairs each on average:",
            table(["method", "CPU s", "largest", "ratio", "objective", "NDCG@10", "pairs in order"], rows),
            "Growth with the number of documents of a query:",
            table(["n", "documents", "all pairs, CPU s", "explicit, CPU s"], sizes),
            f"Exponent of the last step: {exponent:.2f}.",
        ]
    )
