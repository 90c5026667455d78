"""Taskar et al. 2005, table 1, by the certificate of the paper: which bonded cysteines form disulfide bonds.

Data, folds and features are those of `p3_disulfide` (bonding state known, linear scores; the paper has an RBF kernel).
Three ways to learn the same matchings: single pairs (SVM), planes (the objective itself), and the certificate of Eq. 13
(an upper bound on the objective, minimised by node prices). C is chosen by three-fold cross-validation; the certificate
has the C of planes.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.data.matchings import load_disulfide
from benchmarks.papers import publish
from benchmarks.papers.p3_disulfide import (
    FEATURES,
    PAPER,
    Example,
    chosen,
    example,
    figures,
    independent_svm,
    learnt_matching,
)
from benchmarks.report import table


def certified_matching(train: list[Example], C: float, known: bool) -> Callable[[list[Any]], list[list[int]]]:
    """Learn by the certificate of the paper."""
    X, Y, _ = zip(*train, strict=True)
    solver = mm.solvers.CertificateProgram(accuracy=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it minimises an upper bound, so the gap of the objective stays open
        model = mm.StructuralSVM(mm.Matching(perfect=known), C=C, solver=solver, tol=1e-2, n_jobs=1).fit(X, Y)
    return lambda inputs: model.predict(inputs)


LEARNERS = {"SVM": independent_svm, "matching": learnt_matching, "certificate": certified_matching}


def run() -> dict[str, Any]:
    chains, result = load_disulfide(), dict[str, Any]()
    rng = np.random.default_rng(0)
    examples = [example(chain, FEATURES[2], True, None, rng) for chain in chains]
    folds = np.array([chain.fold for chain in chains])
    trains = [[examples[i] for i in np.flatnonzero(folds != fold)] for fold in range(4)]
    tests = [[examples[i] for i in np.flatnonzero(folds == fold)] for fold in range(4)]
    everything = [e for test in tests for e in test]
    Cs: list[float] = []
    for name, learn in LEARNERS.items():
        if name != "certificate":
            Cs = [chosen(train, learn, True) for train in trains]
        predicted, began = [], time.process_time()
        for train, test, C in zip(trains, tests, Cs, strict=True):
            predicted += learn(train, C, True)([x for x, _, _ in test])
        result[f"{name}: {FEATURES[2]}"] = {
            "figures": figures(everything, predicted), "C": Cs, "cpu": (time.process_time() - began) / 4,
        }  # fmt: skip
        print(name, result[f"{name}: {FEATURES[2]}"], flush=True)
    return {"models": result}


def markdown(result: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    for name, paper in PAPER["known"].items():
        shown = "certificate" if name == "matching" else name
        cells = [" / ".join(f"{v:.2f}" for v in paper[K]) for K in (2, 3, 4, 5)]
        rows.append([f"{shown}, paper: profiles, RBF kernel, SP39", *cells, None, None])
    for key, found in result["models"].items():
        cells = [" / ".join(f"{found['figures'][K][v]:.2f}" for v in (0, 2)) for K in ("2", "3", "4", "5", "all")]
        rows.append([key, *cells, round(found["cpu"], 2)])
    return "\n\n".join(
        [
            "# Disulfide connectivity by the certificate (Taskar et al. 2005, table 1)",
            "Precision / accuracy by the number of bonds, bonding state known; CPU seconds of a fit on three folds "
            "and the prediction of the fourth.",
            table(["model", "2", "3", "4", "5", "all", "CPU s"], rows),
        ]
    )


if __name__ == "__main__":
    publish("p3_certificate", run, markdown)
