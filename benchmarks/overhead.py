"""What the solver adds to the time spent in a user's own methods: a chain in plain numpy, Ψ as (indices, values)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.report import table


class NumpyChain(mm.Structure):
    """First-order chain decoded in numpy, with a clock around every method."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.d, self.K = n_features, n_labels
        self.size = n_features * n_labels + n_labels**2
        self.seconds, self.calls = 0.0, 0

    def joint_feature(self, x: Any, y: Any) -> Any:
        began = time.perf_counter()
        y = np.asarray(y)
        unary = (np.arange(self.d) * self.K + y[:, None]).ravel()
        indices = np.concatenate([unary, self.d * self.K + y[:-1] * self.K + y[1:]])
        result = indices, np.concatenate([x.ravel(), np.ones(len(y) - 1)])
        self.seconds += time.perf_counter() - began
        return result

    def loss(self, y: Any, y_hat: Any) -> float:
        began = time.perf_counter()
        result = float(np.sum(np.asarray(y) != np.asarray(y_hat)))
        self.seconds += time.perf_counter() - began
        return result

    def argmax(self, w: Any, x: Any) -> Any:
        return self.loss_augmented_argmax(w, x, None, 0.0)

    def loss_augmented_argmax(self, w: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
        began = time.perf_counter()
        unary = x @ w[: self.d * self.K].reshape(self.d, self.K)
        pairs = w[self.d * self.K :].reshape(self.K, self.K)
        if y is not None:
            unary = unary + scale
            unary[np.arange(len(y)), y] -= scale
        value, back = unary[0], []
        for row in unary[1:]:
            table = value[:, None] + pairs
            best = table.argmax(axis=0)
            back.append(best)
            value = table[best, np.arange(self.K)] + row
        state = int(value.argmax())
        path = [state]
        for best in reversed(back):
            state = int(best[state])
            path.append(state)
        self.seconds += time.perf_counter() - began
        self.calls += 1
        return path[::-1]


def measured(max_length: int, n_labels: int, n_features: int) -> dict[str, Any]:
    X, Y = mm.datasets.make_chains(
        300, n_features=n_features, n_labels=n_labels, min_length=max_length // 2, max_length=max_length
    )
    structure = NumpyChain(n_features, n_labels)
    mm.StructuralSVM(structure, tol=0.5).fit(X[:30], Y[:30])
    structure.seconds, structure.calls = 0.0, 0
    began = time.perf_counter()
    model = mm.StructuralSVM(structure, C=0.3, tol=1e-4).fit(X, Y)
    total = time.perf_counter() - began
    return {
        "T": f"{max_length // 2} to {max_length}",
        "labels": n_labels,
        "us_per_example": 1e6 * structure.seconds / structure.calls,
        "overhead": (total - structure.seconds) / structure.seconds,
        "sweeps": model.certificate_.oracle_calls / len(X),
    }


def run() -> dict[str, Any]:
    return {"cases": [measured(8, 4, 8), measured(20, 10, 8), measured(40, 10, 8)]}


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [c["T"], c["labels"], round(c["us_per_example"]), f"{100 * c['overhead']:.1f} %", round(c["sweeps"])]
        for c in result["cases"]
    ]
    head = ["T", "labels", "µs in the user's methods per example", "solver's overhead", "sweeps to 0.01 %"]
    return (
        "# Overhead on your own structure\n\nCPU time outside the user's methods, as a share of that inside.\n\n"
        + table(head, rows)
    )
