"""Labels of graphs: time and tightness of bounds on grids, beside PyMaxflow; and many small graphs by enumeration."""

from __future__ import annotations

import time
from functools import cache
from itertools import product
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import isolated
from benchmarks.report import table
from maxmargin.core.scores import Scores
from maxmargin.features.graphs.images import grid_edges

#: Number of small graphs, and of those encoded together.
MANY, TOGETHER = 100_000, 1000
#: Side of the grids.
SIDE = 100


def decoded(structure: Any, X: list[Any], Y: list[Any], nodes: Any, pairs: Any) -> tuple[Any, Any, float]:
    """Return the scores of the labels found, upper bounds on the best, and CPU seconds, for given scores of parts."""
    examples = structure.fit_encode(X, Y)
    scores = [Scores(nodes, examples.part_offsets[0]), Scores(pairs, examples.part_offsets[1])]
    ids, answers, known = np.arange(len(X)), examples.empty_answers(), examples.known
    examples.known = False  # truths must not help
    examples.argmax([Scores(part.values, part.starts[:2]) for part in scores], ids[:1], answers.codes)  # compiles
    began = time.process_time()
    upper = examples.argmax(scores, ids, answers.codes)
    seconds = time.process_time() - began
    examples.judge(scores, ids, answers)
    examples.known = known
    return answers.rises, answers.rises if upper is None else upper, seconds


def grid(kind: str, n_labels: int, sweeps: int, branches: int) -> dict[str, Any]:
    """Return time and bound for one large grid: equal labels rewarded (Potts), or random scores of all pairs."""
    rng, edges = np.random.default_rng(0), grid_edges(SIDE, SIDE)
    nodes = rng.normal(size=(SIDE * SIDE, n_labels))
    pairs = rng.random((len(edges), 1)) if kind == "potts" else rng.normal(size=(len(edges), n_labels**2))
    structure = mm.Graph(pairs=kind, classes=list(range(n_labels)), sweeps=sweeps, branches=branches, relaxed=False)
    X, Y = [(np.ones((SIDE * SIDE, 1)), edges)], [np.arange(SIDE * SIDE) % n_labels]
    value, upper, seconds = decoded(structure, X, Y, nodes.ravel(), pairs.ravel())
    row = {"cpu": seconds, "value": float(value[0]), "gap": float((upper[0] - value[0]) / abs(upper[0]))}
    if kind == "potts" and n_labels == 2:
        row |= pymaxflow(nodes, pairs[:, 0], edges)
    return row


def pymaxflow(nodes: Any, rewards: Any, edges: Any) -> dict[str, float]:
    """Return the time and the value of PyMaxflow's minimum cut."""
    import maxflow

    field, best = nodes[:, 1] - nodes[:, 0], np.inf
    for _ in range(5):
        began = time.process_time()
        graph = maxflow.GraphFloat(len(nodes), len(edges))
        ids = graph.add_nodes(len(nodes))
        graph.add_edges(edges[:, 0], edges[:, 1], rewards, rewards)
        graph.add_grid_tedges(ids, np.maximum(field, 0), np.maximum(-field, 0))
        graph.maxflow()
        sink = graph.get_grid_segments(ids)
        best = min(best, time.process_time() - began)
    labels = np.where(sink, 0, 1)
    value = nodes[np.arange(len(nodes)), labels].sum() + rewards[labels[edges[:, 0]] == labels[edges[:, 1]]].sum()
    return {"peer": best, "peer value": float(value)}


@cache
def labellings(n: int, n_labels: int) -> Any:
    return np.array(list(product(range(n_labels), repeat=n)))


def small_graphs(inference: str) -> dict[str, Any]:
    """Compare random small graphs with enumeration: scores found, and upper bounds."""
    rng = np.random.default_rng(1)
    counts = dict.fromkeys(("graphs", "optimal", "proven", "bounds too low", "scores too high"), 0)
    while counts["graphs"] < MANY:
        n_labels, kind = int(rng.integers(2, 5)), str(rng.choice(["full", "symmetric", "diagonal", "potts"]))
        sizes = rng.integers(1, 7 if n_labels < 4 else 6, TOGETHER)
        edges = []
        for n in sizes.tolist():
            every = np.stack(np.triu_indices(n, 1), axis=1)
            edges.append(every[rng.random(len(every)) < rng.choice([0.3, 0.6, 1.0])].reshape(-1, 2))
        structure = mm.Graph(pairs=kind, classes=list(range(n_labels)), inference=inference, relaxed=False)
        X = [(np.ones((n, 1)), e) for n, e in zip(sizes.tolist(), edges, strict=True)]
        structure.fit(X, Y := [np.arange(n) % n_labels for n in sizes.tolist()])
        classes = structure.classes_of_pairs_
        n_classes = int(classes.max()) + 1
        nodes = [rng.normal(size=(n, n_labels)) for n in sizes.tolist()]
        pairs = [2.0 * rng.normal(size=(len(e), n_classes)) for e in edges]
        flat = [np.concatenate([table.ravel() for table in tables]) for tables in (nodes, pairs)]
        found, upper, _ = decoded(structure, X, Y, *flat)
        for i, (u, p, e) in enumerate(zip(nodes, pairs, edges, strict=True)):
            every = labellings(len(u), n_labels)
            totals = u[np.arange(len(u)), every].sum(axis=1)
            if len(e):
                own = classes[every[:, e[:, 0]], every[:, e[:, 1]]]
                totals = totals + np.where(own >= 0, p[np.arange(len(e)), own], 0.0).sum(axis=1)
            best, room = totals.max(), 1e-9 * (1.0 + np.abs(totals).max())
            counts["optimal"] += found[i] >= best - room
            counts["proven"] += upper[i] <= best + 1e-6 * (1.0 + abs(best))
            counts["bounds too low"] += upper[i] < best - room
            counts["scores too high"] += found[i] > best + room
        counts["graphs"] += TOGETHER
    return {name: int(count) for name, count in counts.items()}


GRIDS = [(kind, n_labels, sweeps, branches) for kind in ("potts", "full") for n_labels in (2, 5, 21)
         for sweeps, branches in ((5, 0), (20, 0), (100, 0))]  # fmt: skip


def run() -> dict[str, Any]:
    """Measure every problem in a process of its own."""
    return {
        "grids": {f"{kind}, {k} labels, {sweeps} sweeps": isolated(grid, kind, k, sweeps, branches)
                  for kind, k, sweeps, branches in GRIDS},
        "small": {name: isolated(small_graphs, name) for name in ("auto", "trws")},
    }  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    """Return two tables."""
    grids = [
        [name, row["cpu"], f"{row['value']:.1f}", f"{row['gap']:.2%}", row.get("peer"),
         f"{row['peer value']:.1f}" if "peer" in row else None]
        for name, row in result["grids"].items()
    ]  # fmt: skip
    small = [
        [name, *(row[key] for key in ("graphs", "optimal", "proven", "bounds too low", "scores too high"))]
        for name, row in result["small"].items()
    ]
    return (
        f"# Labels of graphs: inference\n\n{SIDE} × {SIDE} grids with normal scores of nodes, and of edges: uniform "
        f"rewards of equal labels (Potts), or normal scores of all pairs (full). Two labels are solved by cuts or roof "
        f"duality first, so sweeps are not needed for Potts. The gap is (upper bound − score found) / upper bound.\n\n"
        + table(["grid", "CPU s", "score found", "gap", "PyMaxflow CPU s", "its score"], grids)
        + f"\n\n{MANY} random graphs of up to 6 nodes and 4 labels, compared with enumeration of all labellings:\n\n"
        + table(["inference", "graphs", "best found", "proven", "bounds too low", "scores too high"], small)
    )
