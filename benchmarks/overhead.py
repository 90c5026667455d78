"""The time that the solver adds to that of user-defined methods.

The structures are chains in numpy, with Ψ as (indices, values), and in plain Python, with Ψ as a dict.
"""

from __future__ import annotations

import gc
import time
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.report import table

SIZES, RUNS, CLOCK_SWEEPS = (300, 1000), 3, 10
ACTIVE, N_FEATURES = 4, 3000  # of a token, in the sparse cases


class NumpyChain(mm.Structure):
    """First-order chain decoded in numpy. A token is `n_features` numbers, or the indices of its active features."""

    def __init__(self, n_features: int, n_labels: int, sparse: bool) -> None:
        self.d, self.K, self.sparse = n_features, n_labels, sparse
        self.size = n_features * n_labels + n_labels**2

    def joint_feature(self, x: Any, y: Any) -> Any:
        y = np.asarray(y)
        features = x if self.sparse else np.arange(self.d)
        unary = (features * self.K + y[:, None]).ravel()
        indices = np.concatenate([unary, self.d * self.K + y[:-1] * self.K + y[1:]])
        values = np.ones(len(unary)) if self.sparse else x.ravel()
        return indices, np.concatenate([values, np.ones(len(y) - 1)])

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(np.sum(np.asarray(y) != np.asarray(y_hat)))

    def argmax(self, w: Any, x: Any) -> Any:
        return self.loss_augmented_argmax(w, x, None, 0.0)

    def loss_augmented_argmax(self, w: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
        rows = w[: self.d * self.K].reshape(self.d, self.K)
        unary = rows[x].sum(axis=1) if self.sparse else x @ rows
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
        return path[::-1]


class PlainChain(mm.Structure):
    """The same in plain Python: a token is a list of its active features."""

    def __init__(self, n_features: int, n_labels: int) -> None:
        self.d, self.K = n_features, n_labels
        self.size = n_features * n_labels + n_labels**2

    def joint_feature(self, x: Any, y: Any) -> Any:
        psi: dict[int, float] = {}
        for t, (features, label) in enumerate(zip(x, y, strict=True)):
            for f in features:
                psi[f * self.K + label] = psi.get(f * self.K + label, 0.0) + 1.0
            if t > 0:
                pair = (self.d + y[t - 1]) * self.K + label
                psi[pair] = psi.get(pair, 0.0) + 1.0
        return psi

    def loss(self, y: Any, y_hat: Any) -> float:
        return sum(a != b for a, b in zip(y, y_hat, strict=True))

    def argmax(self, w: Any, x: Any) -> Any:
        return self.loss_augmented_argmax(w, x, [0] * len(x), 0.0)

    def loss_augmented_argmax(self, w: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
        back: list[list[int]] = []
        pairs = w[self.d * self.K :].reshape(self.K, self.K).T.tolist()  # by the later label
        value = [0.0] * self.K
        for t, features in enumerate(x):
            if t > 0:
                sums = [[v + p for v, p in zip(value, row, strict=True)] for row in pairs]
                value = [max(row) for row in sums]
                back.append([row.index(best) for row, best in zip(sums, value, strict=True)])
            value = [v + sum([w[f * self.K + k] for f in features]) + scale * (k != y[t]) for k, v in enumerate(value)]
        state = value.index(max(value))
        path = [state]
        for best in reversed(back):
            state = best[state]
            path.append(state)
        return path[::-1]


class Clocked(mm.Structure):
    """A structure with a clock around its methods."""

    def __init__(self, inner: mm.Structure) -> None:
        self.inner, self.size = inner, inner.size
        self.seconds, self.calls = 0.0, 0

    def _timed(self, method: Any, *arguments: Any) -> Any:
        began = time.perf_counter()
        result = method(*arguments)
        self.seconds += time.perf_counter() - began
        return result

    def joint_feature(self, x: Any, y: Any) -> Any:
        return self._timed(self.inner.joint_feature, x, y)

    def loss(self, y: Any, y_hat: Any) -> float:
        return float(self._timed(self.inner.loss, y, y_hat))

    def argmax(self, w: Any, x: Any) -> Any:
        return self._timed(self.inner.argmax, w, x)

    def loss_augmented_argmax(self, w: Any, x: Any, y: Any, scale: float = 1.0) -> Any:
        self.calls += 1
        return self._timed(self.inner.loss_augmented_argmax, w, x, y, scale)


def dense_tokens(n_examples: int, max_length: int, n_labels: int) -> tuple[mm.Structure, Any, Any]:
    X, Y = mm.datasets.make_chains(
        n_examples, n_features=8, n_labels=n_labels, min_length=max_length // 2, max_length=max_length
    )
    return NumpyChain(8, n_labels, sparse=False), X, Y


def sparse_tokens(n_examples: int, max_length: int, n_labels: int) -> tuple[mm.Structure, Any, Any]:
    """Return tokens whose active features belong to their label with probability 0.7, otherwise to a random label."""
    rng, of_label = np.random.default_rng(0), N_FEATURES // n_labels
    Y = [rng.integers(n_labels, size=rng.integers(max_length // 2, max_length + 1)) for _ in range(n_examples)]
    X = []
    for y in Y:
        labels = np.where(rng.random((len(y), ACTIVE)) < 0.7, y[:, None], rng.integers(n_labels, size=(len(y), ACTIVE)))
        X.append(rng.integers(of_label, size=labels.shape) + labels * of_label)
    return NumpyChain(N_FEATURES, n_labels, sparse=True), X, Y


def plain_tokens(n_examples: int, max_length: int, n_labels: int) -> tuple[mm.Structure, Any, Any]:
    _, X, Y = sparse_tokens(n_examples, max_length, n_labels)
    return PlainChain(N_FEATURES, n_labels), [x.tolist() for x in X], [y.tolist() for y in Y]


def letters(n_examples: int, max_length: int, n_labels: int) -> tuple[mm.Structure, Any, Any]:
    """Return words of OCR letters (fold 0), whose pixels are 0 or 1."""
    X, Y = mm.datasets.load_ocr_letters({0})
    Y = [np.array([ord(c) - ord("a") for c in y]) for y in Y]
    return Pixels(128, n_labels, sparse=False), X[:n_examples], Y[:n_examples]


class Pixels(NumpyChain):
    def joint_feature(self, x: Any, y: Any) -> Any:
        y, (tokens, pixels) = np.asarray(y), np.nonzero(x)
        indices = np.concatenate([pixels * self.K + y[tokens], self.d * self.K + y[:-1] * self.K + y[1:]])
        return indices, np.ones(len(indices))


def clock_seconds(structure: Clocked, w: Any, X: Any, Y: Any) -> float:
    """Return the seconds per argmax that the clocks and the loop over the methods take."""
    structure.seconds, began = 0.0, time.perf_counter()
    for _ in range(CLOCK_SWEEPS):
        for x, y in zip(X, Y, strict=True):
            y_hat = structure.loss_augmented_argmax(w, x, y, 1.0)
            structure.joint_feature(x, y_hat)
            structure.loss(y, y_hat)
    return (time.perf_counter() - began - structure.seconds) / (CLOCK_SWEEPS * len(X))


def measured(
    tokens: str, make: Any, n_examples: int, max_length: int, n_labels: int, tol: float, C: float = 0.3
) -> dict[str, Any]:
    inner, X, Y = make(n_examples, max_length, n_labels)
    structure = Clocked(inner)
    mm.StructuralSVM(structure, tol=0.5).fit(X[:30], Y[:30])
    inside, outside, clocks = [], [], []
    for _ in range(RUNS):
        gc.collect()
        structure.seconds, structure.calls, began = 0.0, 0, time.perf_counter()
        model = mm.StructuralSVM(structure, C=C, tol=tol).fit(X, Y)
        inside.append(structure.seconds / structure.calls)
        outside.append((time.perf_counter() - began) / structure.calls - inside[-1])
        clocks.append(clock_seconds(structure, model.coef_, X, Y))
    clock = float(np.median(clocks))
    return {
        "tokens": tokens,
        "examples": len(X),
        "T": f"{min(map(len, Y))} to {max(map(len, Y))}",
        "labels": n_labels,
        "us_per_example": 1e6 * float(np.median(inside)),
        "us_of_solver": 1e6 * (float(np.median(outside)) - clock),
        "us_of_clocks": 1e6 * clock,
        "overhead": float(np.median([(b - clock) / a for a, b in zip(inside, outside, strict=True)])),
        "sweeps": model.certificate_.oracle_calls / len(X),
        "tol": tol,
    }


def run() -> dict[str, Any]:
    sizes, features = ((8, 4), (20, 10), (40, 10)), f"{ACTIVE} of {N_FEATURES} features"
    return {
        "cases": [measured("8 numbers", dense_tokens, n, *size, 1e-4) for n in SIZES for size in sizes]
        + [measured(features, sparse_tokens, n, *size, 1e-3) for n in SIZES for size in sizes]
        + [measured(f"128 pixels of a letter, C = {C:g}", letters, 626, 14, 26, 1e-3, C) for C in (0.1, 1.0)]
        + [measured(f"{features}, in plain Python", plain_tokens, n, *size, 1e-3) for n in SIZES for size in sizes]
    }


def markdown(result: dict[str, Any]) -> str:
    rows = [
        [c["tokens"], c["examples"], c["T"], c["labels"], round(c["us_per_example"]), round(c["us_of_solver"], 1),
         round(c["us_of_clocks"], 1), f"{100 * c['overhead']:.1f} %", f"{c['sweeps']:.0f} to {100 * c['tol']:g} %"]
        for c in result["cases"]
    ]  # fmt: skip
    head = [
        "a token",
        "examples",
        "T",
        "labels",
        "µs in the user's methods per argmax",
        "µs of the solver",
        "µs of the clocks",
        "overhead",
        "sweeps",
    ]
    return (
        "# Overhead with a user-defined structure\n\nTime of a fit outside the user's methods, as a share of the time "
        f"inside (medians of {RUNS} runs; C = 0.3 unless stated otherwise). The time of the clocks and of a plain loop "
        "over the methods is measured without a solver and subtracted.\n\n" + table(head, rows)
    )
