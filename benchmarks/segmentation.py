"""Labels of pixels and superpixels by `Cut`, beside the same features without edges: horses, MSRC-21, snakes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from benchmarks.data.labelled_graphs import horses, msrc, snakes
from benchmarks.measure import isolated
from benchmarks.report import table

#: Values of C, chosen on the last fifth of the training examples.
CS = (0.01, 0.1, 1.0)


def without_edges(X: list[Any]) -> list[Any]:
    """Return the graphs with their nodes only."""
    return [(x[0], np.zeros((0, 2), int), np.zeros((0, x[2].shape[1]))) for x in X]


def chosen(X: list[Any], Y: list[Any], tol: float, steps: int) -> tuple[Any, float, float]:
    """Return the model of the C that is best on the last fifth, the C, and the CPU seconds of the last fit."""
    n = len(X) * 4 // 5
    labels = np.unique(np.concatenate(Y)).tolist()

    def model(C: float) -> Any:
        return mm.StructuralSVM(mm.Cut(classes=labels, bound_steps=steps), C=C, tol=tol, max_iter=60, n_jobs=1)

    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        C = max(CS, key=lambda C: model(C).fit(X[:n], Y[:n]).score(X[n:], Y[n:]))
        began = time.process_time()
        best = model(C).fit(X, Y)
    return best, C, time.process_time() - began


def compared(X: list[Any], Y: list[Any], X_test: list[Any], tol: float, steps: int) -> dict[str, Any]:
    """Return what both ways predict for the test data, with C, time and certificate."""
    found: dict[str, Any] = {}
    for name, change in (("nodes alone", without_edges), ("cut", list)):
        model, C, seconds = chosen(change(X), Y, tol, steps)
        certificate = model.certificate_
        found[name] = {
            "predicted": [np.array(y) for y in model.predict(change(X_test))], "C": C, "cpu": seconds,
            "gap": certificate.gap, "bound": certificate.primal_bound / certificate.primal,
            "argmaxes per example": certificate.oracle_calls / len(X),
        }  # fmt: skip
    return found


def summary(found: dict[str, Any], **measures: Any) -> dict[str, Any]:
    """Return the figures of each way, without predictions."""
    return {
        name: {**{key: value for key, value in row.items() if key != "predicted"},
               **{key: measure(row["predicted"]) for key, measure in measures.items()}}
        for name, row in found.items()
    }  # fmt: skip


def accuracy(Y: list[Any]) -> Any:
    return lambda predicted: float(np.mean(np.concatenate(predicted) == np.concatenate(Y)))


def run_horses() -> dict[str, Any]:
    data = horses()
    graphs, test = ([mm.image_graph(x, neighbours=8) for x in X] for X in (data.X, data.X_test))
    Y, truth = ([y.ravel() for y in Y] for Y in (data.Y, data.Y_test))
    found = compared(graphs[::2], Y[::2], test, 0.05, 0)
    return summary(
        found, accuracy=accuracy(truth), iou=lambda p: mm.metrics.intersection_over_union(truth, p, 1)
    )  # fmt: skip


def run_msrc() -> dict[str, Any]:
    data, pixels = msrc()
    scaler = StandardScaler().fit(np.concatenate([x[0] for x in data.X]))
    kernel = Nystroem(gamma=0.02, n_components=150, random_state=0).fit(
        scaler.transform(np.concatenate([x[0] for x in data.X]))
    )
    spread = float(np.mean(np.concatenate([x[2] for x in data.X])))

    def graph(x: Any) -> Any:
        rows = scaler.transform(x[0])
        similar = np.exp(-x[2] / spread)
        return np.hstack([rows / np.sqrt(rows.shape[1]), kernel.transform(rows)]), x[1], np.stack(
            [np.ones(len(similar)), similar, similar * x[3] / 20.0], axis=1
        )  # fmt: skip

    graphs, test = ([graph(x) for x in X] for X in (data.X, data.X_test))
    found = compared(graphs, data.Y, test, 0.1, 2)

    def pixel_accuracy(predicted: list[Any]) -> float:
        right = total = 0.0
        for labels, rows in zip(predicted, pixels, strict=True):
            known = rows[:, 0] >= 0
            total += float(rows[:, 2].sum())
            right += float(rows[known, 2][labels[rows[known, 0]] == rows[known, 1]].sum())
        return right / total

    return summary(found, accuracy=pixel_accuracy, nodes=accuracy(data.Y_test))


def run_snakes() -> dict[str, Any]:
    data = snakes()

    def graph(x: Any) -> Any:
        padded = np.pad(x, ((2, 2), (2, 2), (0, 0)))
        height, width, _ = x.shape
        around = [padded[r : r + height, c : c + width] for r in range(5) for c in range(5)]
        return mm.image_graph(x, np.concatenate(around, axis=2))

    graphs, test = ([graph(x) for x in X] for X in (data.X, data.X_test))
    Y, truth = ([y.ravel() for y in Y] for Y in (data.Y, data.Y_test))
    found = compared(graphs, Y, test, 0.05, 2)
    body = np.concatenate(truth) > 0
    return summary(
        found, accuracy=accuracy(truth),
        snake=lambda p: float(np.mean(np.concatenate(p)[body] == np.concatenate(truth)[body])),
    )  # fmt: skip


def run() -> dict[str, Any]:
    """Measure each data set in a process of its own."""
    return {task.__name__.removeprefix("run_"): isolated(task) for task in (run_horses, run_msrc, run_snakes)}


def markdown(result: dict[str, Any]) -> str:
    """Return one table."""
    measured = {
        "horses": ("accuracy", "iou"), "msrc": ("accuracy", "nodes"), "snakes": ("accuracy", "snake"),
    }  # fmt: skip
    rows = [
        [data, name, *(f"{cell[key]:.3f}" for key in keys), cell["C"], cell["cpu"],
         round(cell["argmaxes per example"]), f"{cell['gap']:.3f}", f"{cell['bound']:.3f}"]
        for data, keys in measured.items() for name, cell in result[data].items() if isinstance(cell, dict)
    ]  # fmt: skip
    head = ["data", "model", "pixel accuracy", "second measure", "C", "CPU s", "sweeps", "gap", "bound / objective"]
    return (
        "# Labels of pixels and superpixels\n\n"
        "`Cut` with and without edges, the same features of nodes, C from (0.01, 0.1, 1) by the last fifth of the "
        "training data, one thread. Horses: 64-pixel images, half of the even numbers for training, odd ones for the "
        "test; second measure: intersection over union of the horse. MSRC-21: superpixels with our own simple features "
        "and a Nyström approximation, Shotton's split, void, horse and mountain left out; second measure: accuracy of "
        "superpixels. Snakes: colours of 5 × 5 pixels; second measure: accuracy on the snake. More than two labels: "
        "α-expansion, whose bound on the objective is proven.\n\n" + table(head, rows)
    )
