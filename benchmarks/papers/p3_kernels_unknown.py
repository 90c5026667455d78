"""Taskar et al. 2005, table 1, with a kernel if the bonding state is unknown: matchings that need not be perfect.

Data, folds and measures are those of `p3_disulfide` (425 chains, not those of the paper), features of pairs those of
`p3_kernels` without secondary structure. As in the paper, training uses at most 14 cysteines of a chain, the bonded
ones and a random choice of others, and testing uses all. A node without a partner has one weight. SVC classifies pairs,
its classes have the same total weight, and a bond needs a positive score. C (0.1, 1, 10) and σ (1, 2) of exp(−‖a − b‖²
/ 2σ²) have the best F1 of bonds on one of the three training folds of each test fold, learnt from the other two.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVC

import maxmargin as mm
from benchmarks.data.matchings import Chain, load_disulfide
from benchmarks.papers import publish
from benchmarks.papers.p3_disulfide import MOST, PAPER, REACH, SEPARATIONS, Example, figures, window
from benchmarks.papers.p3_disulfide import example as unscaled
from benchmarks.report import table

C_VALUES, SIGMAS = (0.1, 1.0, 10.0), (1.0, 2.0)
FEATURES = "windows + separation"

Learner = Callable[[list[Example], float, float], Any]


def example(chain: Chain, most: int | None, rng: np.random.Generator) -> Example:
    """Return (x, y, number of bonds) of a chain; windows have length 1, as in `p3_kernels`."""
    x, y, bonds = unscaled(chain, FEATURES, False, most, rng)
    width = 2 * (2 * REACH + 1) * window(chain.sequence, 0).shape[1]
    return sp.csr_array(x @ sp.diags_array(np.repeat([1.0 / 3.0, 1.0], [width, len(SEPARATIONS) + 1]))), y, bonds


def linear(train: list[Example], C: float, sigma: float) -> Any:
    """Return the predictions of a matching by linear scores."""
    X, Y, _ = zip(*train, strict=True)
    return mm.StructuralSVM(mm.Matching(perfect=False), C=C, tol=1e-2, n_jobs=1).fit(X, Y).predict


def by_planes(train: list[Example], C: float, sigma: float) -> Any:
    """Return the predictions of a matching learnt with the kernel."""
    X, Y, _ = zip(*train, strict=True)
    structure = mm.Matching(perfect=False)
    return (
        mm.StructuralSVM(structure, C=C, kernel=mm.Kernel("rbf", gamma=0.5 / sigma**2), tol=1e-2, n_jobs=1)
        .fit(X, Y)
        .predict
    )


def independent(train: list[Example], C: float, sigma: float) -> Any:
    """Return the predictions of the best matching by the scores of classified pairs."""
    rows, labels = [], []
    for x, y, _ in train:
        first, second = np.triu_indices(len(y), 1)
        rows.append(x[first * len(y) + second])
        labels.append(np.asarray(y)[first] == second)
    structure = mm.Matching(perfect=False).fit([np.ones((2, 2, 1))], [[1, 0]])
    svm = SVC(C=C, gamma=0.5 / sigma**2, class_weight="balanced")
    svm.fit(sp.csr_matrix(sp.vstack(rows)), np.concatenate(labels))

    def predict(inputs: list[Any]) -> list[list[int]]:
        scores = [svm.decision_function(sp.csr_matrix(x)) for x in inputs]
        return [structure.argmax(np.array([1.0, 0.0]), s.reshape(round(len(s) ** 0.5), -1, 1)) for s in scores]

    return predict


#: Models, and whether σ matters.
WAYS: dict[str, tuple[Learner, bool]] = {
    "linear, matching": (linear, False), "SVC": (independent, True), "RBF, matching by planes": (by_planes, True),
}  # fmt: skip


def chosen(train: list[Example], held: list[Example], learn: Learner, kernel: bool) -> tuple[float, float]:
    """Return C and σ with the best F1 of bonds on held-out chains."""

    def worth(choice: tuple[float, float]) -> float:
        precision, recall, _ = figures(held, learn(train, *choice)([x for x, _, _ in held]))["all"]
        return 2 * precision * recall / max(precision + recall, 1e-12)

    return max(product(C_VALUES, SIGMAS if kernel else SIGMAS[:1]), key=worth)


def evaluated(folds: list[list[Example]], tests: list[list[Example]], learn: Learner, kernel: bool) -> dict[str, Any]:
    """Return the figures of four-fold cross-validation, the choices, and the CPU seconds of the last fits."""
    predicted, choices, seconds = list[list[int]](), list[tuple[float, float]](), list[float]()
    for k in range(4):
        first, second, held = ((k + step) % 4 for step in (2, 3, 1))
        choices.append(chosen(folds[first] + folds[second], tests[held], learn, kernel))
        began = time.process_time()
        predict = learn([e for j, fold in enumerate(folds) if j != k for e in fold], *choices[-1])
        seconds.append(time.process_time() - began)
        predicted += predict([x for x, _, _ in tests[k]])
    everyone = [e for test in tests for e in test]
    return {"figures": figures(everyone, predicted), "chosen": choices, "cpu": float(np.mean(seconds))}


def run() -> dict[str, Any]:
    chains, rng, result = load_disulfide(), np.random.default_rng(0), dict[str, Any]()
    folds = [[example(c, MOST, rng) for c in chains if c.fold == k] for k in range(4)]
    tests = [[example(c, None, rng) for c in chains if c.fold == k] for k in range(4)]
    for name, (learn, kernel) in WAYS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result[name] = found = evaluated(folds, tests, learn, kernel)
        print(name, found, flush=True)
    return {"models": result}


def markdown(result: dict[str, Any]) -> str:
    rows: list[list[Any]] = []
    for name, paper in PAPER["unknown"].items():
        cells = [" / ".join(f"{v:.2f}" for v in paper[K]) for K in (2, 3, 4, 5)]
        rows.append([f"{name}, paper: profiles, RBF kernel, SP39", *cells, None, None, None])
    for name, found in result["models"].items():
        cells = [" / ".join(f"{v:.2f}" for v in found["figures"][K]) for K in ("2", "3", "4", "5", "all")]
        sigma = "" if name.startswith("linear") else "; {:g}"
        choices = ", ".join((f"{{:g}}{sigma}").format(*choice) for choice in found["chosen"])
        rows.append([name, *cells, choices, f"{found['cpu']:.1f}"])
    title = "# Disulfide connectivity with a kernel, bonding state unknown (Taskar et al. 2005, table 1)"
    about = (__doc__ or "").split("\n", 2)[2].strip()
    head = ["model", "2", "3", "4", "5", "all", "C; σ of the folds", "CPU s"]
    figures_of = "Precision / recall / accuracy by number of bonds; mean CPU seconds of the last fits.\n"
    return "\n\n".join([title, about, figures_of, table(head, rows)])


if __name__ == "__main__":
    publish("p3_kernels_unknown", run, markdown)
