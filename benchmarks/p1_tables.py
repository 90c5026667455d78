"""Tsochantaridis et al. 2004, tables 2 and 3: named entities in 300 Spanish sentences, five folds, all formulations.

The paper used a second-degree polynomial kernel (`papers.p1_kernels`) and its own selection of 300 sentences; here
features are linear (the strings of a plain tagger) and the sentences are the first 300, in fold i mod 5, so error rates
can be compared only qualitatively. The HMM reads words only, with 0.1 added to all counts.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from benchmarks.measure import tag_crfsuite, train_crfsuite
from benchmarks.report import table
from benchmarks.tokens import rich_features
from maxmargin.solvers import NSlack

#: Name, loss, bound, slack; all with C of the paper = 1, which is 1 / n here, and ε = 0.01.
FORMULATIONS = {
    "SVM1": ("zero-one", "margin", "linear"),
    "SVM2": ("zero-one", "margin", "quadratic"),
    "SVM1, slack re-scaling": ("hamming", "slack", "linear"),
    "SVM2, slack re-scaling": ("hamming", "slack", "quadratic"),
    "SVM1, margin re-scaling": ("hamming", "margin", "linear"),
    "SVM2, margin re-scaling": ("hamming", "margin", "quadratic"),
}
PAPER = {
    "HMM": 9.36, "CRF": 5.17, "CRF (CRFsuite)": 5.17, "perceptron": 5.94,
    "SVM2": 5.1, "SVM2, slack re-scaling": 5.1, "SVM2, margin re-scaling": 5.1,
}  # fmt: skip
C_VALUES = (1.0, 100.0)


def folds() -> list[tuple[Any, Any, Any, Any]]:
    sentences, Y = mm.datasets.load_conll2002("train.first300")
    X = [rich_features(sentence) for sentence in sentences]
    parts = []
    for fold in range(5):
        train = [i for i in range(len(X)) if i % 5 != fold]
        test = [i for i in range(len(X)) if i % 5 == fold]
        parts.append(([X[i] for i in train], [Y[i] for i in train], [X[i] for i in test], [Y[i] for i in test]))
    return parts


def error(Y: Any, Y_hat: Any) -> float:
    wrong = sum(a != b for y, z in zip(Y, Y_hat, strict=True) for a, b in zip(y, z, strict=True))
    return 100.0 * wrong / sum(map(len, Y))


def with_crfsuite(X: Any, Y: Any, test_X: Any) -> Any:
    with tempfile.NamedTemporaryFile() as file:
        train_crfsuite(X, Y, file.name)
        return tag_crfsuite(test_X, file.name)[0]


def words(X: Any) -> Any:
    """Return sentences with the word as the only feature of a token."""
    return [[[name for name in token if name.startswith("W=")] for token in x] for x in X]


def with_likelihood(bound: str, decode: str = "map") -> Any:
    """Return a function that trains with CRFsuite's default c2 = 1, which is C = 1/2, and tags."""
    return lambda X, Y, test: mm.SequenceTagger(bound=bound, C=0.5, decode=decode, tol=1e-3).fit(X, Y).predict(test)


BASELINES: dict[str, Any] = {
    "HMM": lambda X, Y, test: mm.SequenceTagger().fit_hmm(words(X), Y, smoothing=0.1).predict(words(test)),
    "perceptron": lambda X, Y, test: mm.SequenceTagger(solver="perceptron").fit(X, Y).predict(test),
    "CRF (CRFsuite)": with_crfsuite,
    "CRF": with_likelihood("likelihood"),
    "CRF, least risk": with_likelihood("likelihood", "risk"),
    "softmax-margin": with_likelihood("softmax-margin"),
    "softmax-margin, least risk": with_likelihood("softmax-margin", "risk"),
}


def fit(name: str, C: float, X: Any, Y: Any, **parameters: Any) -> tuple[Any, int, float]:
    """Return the model, the number of constraints in its working sets, and the mean Hamming loss of its support."""
    loss, bound, slack = FORMULATIONS[name]
    constraints = []
    model = mm.SequenceTagger(
        C=C / len(X), loss=loss, bound=bound, slack=slack, solver=NSlack(epsilon=0.01), tol=1e-9, **parameters
    )
    solver_run = NSlack.run

    def watched(solver: Any, problem: Any, state: Any, *rest: Any) -> str:
        reason = solver_run(solver, problem, state, *rest)
        constraints.append(state.n_constraints)
        return reason

    with patch.object(NSlack, "run", watched), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ε ends these fits, as in the paper
        model.fit(X, Y)
    assert model.support_ is not None
    hamming = [sum(a != b for a, b in zip(Y[p.example], p.output, strict=True)) for p in model.support_]
    return model, constraints[0], float(np.mean(hamming))


def measured(name: str, C: float, parts: list[Any], **parameters: Any) -> dict[str, Any]:
    """Return errors, constraints and losses of one formulation, means and deviations over the folds."""
    train, test, constraints, losses = [], [], [], []
    for X, Y, test_X, test_Y in parts:
        model, n_constraints, loss = fit(name, C, X, Y, **parameters)
        train.append(error(Y, model.predict(X)))
        test.append(error(test_Y, model.predict(test_X)))
        constraints.append(n_constraints)
        losses.append(loss)
    return {
        "train": summary(train), "test": summary(test), "constraints": summary(constraints), "loss": summary(losses),
    }  # fmt: skip


def run() -> dict[str, Any]:
    rows: dict[str, Any] = {}
    parts = folds()
    for name, tag in BASELINES.items():
        errors = [error(test_Y, tag(X, Y, test_X)) for X, Y, test_X, test_Y in parts]
        rows[name] = {"test": summary(errors)}
    for C in C_VALUES:
        for name in FORMULATIONS:
            rows[f"{name}, C = {C:g}"] = measured(name, C, parts)
    return {"rows": rows}


def summary(values: Sequence[float]) -> list[float]:
    return [float(np.mean(values)), float(np.std(values, ddof=1))]


def markdown(result: dict[str, Any]) -> str:
    def cell(value: list[float] | None, digits: int = 2) -> str | None:
        return None if value is None else f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}"

    rows = [
        [name, cell(row.get("train")), cell(row["test"]), cell(row.get("constraints"), 0), cell(row.get("loss")),
         PAPER.get(name.split(", C")[0])]
        for name, row in result["rows"].items()
    ]  # fmt: skip
    head = ["method", "train error %", "test error %", "constraints", "average loss", "paper's test error %"]
    title = "Tsochantaridis et al. 2004, tables 2 and 3"
    return f"# {title}\n\n{__doc__.split(chr(10), 2)[2].strip()}\n\n{table(head, rows)}"
