"""Labels of graphs: time and bounds on grids, beside PyMaxflow and toulbar2; small graphs by enumeration."""

from __future__ import annotations

import resource
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
#: The reward of equal labels where it is the same for all edges.
UNIFORM = 0.5
#: CPU seconds that toulbar2 has for a grid.
LIMIT = 30


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


def problem(kind: str, n_labels: int) -> tuple[Any, Any, Any]:
    """Return scores of nodes and of pairs, and edges, of one large grid.

    Equal labels are rewarded by random amounts (Potts) or all the same (uniform), or all pairs have random scores.
    """
    rng, edges = np.random.default_rng(0), grid_edges(SIDE, SIDE)
    nodes = rng.normal(size=(SIDE * SIDE, n_labels))
    if kind == "full":
        return nodes, rng.normal(size=(len(edges), n_labels**2)), edges
    return nodes, rng.random((len(edges), 1)) if kind == "potts" else np.full((len(edges), 1), UNIFORM), edges


def grid(kind: str, n_labels: int, sweeps: int, branches: int) -> dict[str, Any]:
    """Return time and bound for one large grid."""
    nodes, pairs, edges = problem(kind, n_labels)
    structure = mm.Graph(
        pairs="full" if kind == "full" else "potts", classes=list(range(n_labels)), sweeps=sweeps, branches=branches,
        relaxed=False,
    )  # fmt: skip
    X, Y = [(np.ones((SIDE * SIDE, 1)), edges)], [np.arange(SIDE * SIDE) % n_labels]
    value, upper, seconds = decoded(structure, X, Y, nodes.ravel(), pairs.ravel())
    return {"cpu": seconds, "value": float(value[0]), "gap": float(max(upper[0] - value[0], 0.0) / abs(upper[0]))}


def peer(kind: str, n_labels: int) -> dict[str, Any]:
    """Return what the fastest other solver finds: exact cuts, expansions of labels, or branch and bound."""
    nodes, pairs, edges = problem(kind, n_labels)
    if kind == "potts" and n_labels == 2:
        return by_cut(nodes, pairs[:, 0], edges)
    return by_expansion(nodes, edges) if kind == "uniform" else by_toulbar2(nodes, pairs, edges)


def by_cut(nodes: Any, rewards: Any, edges: Any) -> dict[str, Any]:
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
    value = total(nodes, rewards[:, None], edges, np.where(sink, 0, 1))
    return {"solver": "PyMaxflow", "cpu": best, "value": value, "gap": 0.0}


def by_expansion(nodes: Any, edges: Any) -> dict[str, Any]:
    """Return the time and the value of PyMaxflow's expansions, for grids whose edges have the same reward."""
    from maxflow.fastmin import aexpansion_grid

    n_labels = nodes.shape[1]
    began = time.process_time()
    found = aexpansion_grid(-nodes.reshape(SIDE, SIDE, n_labels), UNIFORM * (1.0 - np.eye(n_labels)))
    seconds = time.process_time() - began
    value = total(nodes, np.full((len(edges), 1), UNIFORM), edges, found.ravel())
    return {"solver": "PyMaxflow, expansion", "cpu": seconds, "value": value}


def by_toulbar2(nodes: Any, pairs: Any, edges: Any) -> dict[str, Any]:
    """Return the time, the value and the bound for toulbar2; nothing if it does not end within `LIMIT` CPU seconds."""
    import pytoulbar2

    n_labels = nodes.shape[1]
    if pairs.shape[1] == 1:
        pairs = pairs * np.eye(n_labels).ravel()
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT + 30, LIMIT + 30))  # it may not look at its own limit
    began = time.process_time()
    model = pytoulbar2.CFN(1e6, 4, verbose=-1)
    for v in range(len(nodes)):
        model.AddVariable(f"x{v}", range(n_labels))
    for v, row in enumerate(nodes):
        model.AddFunction([v], (row.max() - row).tolist())
    for (a, b), row in zip(edges.tolist(), pairs, strict=True):
        model.AddFunction([a, b], (row.max() - row).tolist())
    found = model.Solve(timeLimit=LIMIT)
    seconds = time.process_time() - began
    if found is None:
        return {"solver": "toulbar2", "cpu": seconds}
    value = total(nodes, pairs, edges, np.array(found[0]))
    upper = float(nodes.max(axis=1).sum() + pairs.max(axis=1).sum() - model.GetDDualBound())
    return {"solver": "toulbar2", "cpu": seconds, "value": value, "gap": max(upper - value, 0.0) / abs(upper)}


def total(nodes: Any, pairs: Any, edges: Any, labels: Any) -> float:
    """Return the score of labels."""
    first, second = labels[edges].T
    own = np.where(first == second, pairs[:, 0], 0.0)
    if pairs.shape[1] > 1:
        own = pairs[np.arange(len(edges)), first * nodes.shape[1] + second]
    return float(nodes[np.arange(len(nodes)), labels].sum() + own.sum())


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


PROBLEMS = [(kind, n_labels) for kind in ("potts", "full") for n_labels in (2, 5, 21)]
PROBLEMS += [("uniform", 5), ("uniform", 21)]


def answered(kind: str, n_labels: int) -> dict[str, Any]:
    """Return what another solver finds, without a value if its process was ended."""
    try:
        return isolated(peer, kind, n_labels)
    except EOFError:
        return {"solver": "toulbar2", "cpu": float(LIMIT + 30)}


def run() -> dict[str, Any]:
    """Measure every problem in a process of its own."""
    return {
        "grids": {f"{kind}, {k} labels, {sweeps} sweeps": isolated(grid, kind, k, sweeps, 0)
                  for kind, k in PROBLEMS for sweeps in (5, 20, 100)},
        "peers": {f"{kind}, {k} labels": answered(kind, k) for kind, k in PROBLEMS},
        "small": {name: isolated(small_graphs, name) for name in ("auto", "trws")},
    }  # fmt: skip


def markdown(result: dict[str, Any]) -> str:
    """Return two tables."""
    grids = []
    for kind, k in PROBLEMS:
        for sweeps in (5, 20, 100):
            row = result["grids"][f"{kind}, {k} labels, {sweeps} sweeps"]
            grids.append([f"{kind}, {k} labels", f"{sweeps} sweeps", row["cpu"], f"{row['value']:.1f}",
                          f"{row['gap']:.2%}"])  # fmt: skip
        other = result["peers"][f"{kind}, {k} labels"]
        grids.append([f"{kind}, {k} labels", other["solver"], other["cpu"],
                      f"{other['value']:.1f}" if "value" in other else "none found",
                      f"{other['gap']:.2%}" if "gap" in other else None])  # fmt: skip
    small = [
        [name, *(row[key] for key in ("graphs", "optimal", "proven", "bounds too low", "scores too high"))]
        for name, row in result["small"].items()
    ]
    return (
        f"# Labels of graphs: inference\n\n{SIDE} × {SIDE} grids with normal scores of nodes, and of edges: uniformly "
        f"random rewards of equal labels (Potts), rewards of {UNIFORM} for all edges (uniform), or normal scores of "
        f"all pairs (full). Two labels are solved by cuts or roof duality first, so sweeps are not needed for Potts. "
        f"The gap is (upper bound − score found) / upper bound. toulbar2 has {LIMIT} CPU seconds, and its model is "
        f"built from Python; PyMaxflow's expansions prove no bound.\n\n"
        + table(["grid", "solver", "CPU s", "score found", "gap"], grids)
        + f"\n\n{MANY} random graphs of up to 6 nodes and 4 labels, compared with enumeration of all labellings:\n\n"
        + table(["inference", "graphs", "best found", "proven", "bounds too low", "scores too high"], small)
    )
