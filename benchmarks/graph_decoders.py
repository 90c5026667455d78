"""Cuts, paths and knapsacks decoded per CPU second, beside PyMaxflow, SciPy, networkx and OR-tools."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse.csgraph import dijkstra, maximum_flow

import maxmargin as mm
from benchmarks.measure import isolated
from benchmarks.report import table
from maxmargin.features.graphs.images import grid_edges

RUNS = 5
#: Capacities of SciPy's flows are integers.
WHOLE = 1e6


def rate(call: Callable[[], Any], count: int) -> float:
    """Return problems per CPU second, of the fastest of several calls."""
    call()
    best = np.inf
    for _ in range(RUNS):
        began = time.process_time()
        call()
        best = min(best, time.process_time() - began)
    return count / best


def decoding(structure: Any, X: list[Any], Y: list[Any], w: Any) -> Callable[[], Any]:
    """Return a call that decodes encoded examples."""
    examples = structure.fit_encode(X, Y)
    ids, answers, zeros = np.arange(len(X)), examples.empty_answers(), np.zeros(len(X))
    return lambda: examples.decode(w, ids, zeros, answers)


def cuts(height: int, width: int, count: int) -> dict[str, Any]:
    """Grids with smooth preferences and random rewards of neighbours."""
    import maxflow
    import networkx as nx

    rng, edges, n = np.random.default_rng(0), grid_edges(height, width), height * width
    fields = [rng.normal(size=n) for _ in range(count)]
    rewards = [rng.random(len(edges)) for _ in range(count)]
    X = [(field[:, None], edges, reward[:, None]) for field, reward in zip(fields, rewards, strict=True)]
    Y = [(field > 0).astype(int) for field in fields]
    ours = decoding(mm.Cut(fit_intercept=False), X, Y, np.array([0.0, 1.0, 1.0]))

    def pymaxflow() -> None:
        for field, reward in zip(fields, rewards, strict=True):
            graph = maxflow.GraphFloat(n, len(edges))
            nodes = graph.add_nodes(n)
            graph.add_edges(edges[:, 0], edges[:, 1], reward, reward)
            graph.add_grid_tedges(nodes, np.maximum(field, 0), np.maximum(-field, 0))
            graph.maxflow()
            graph.get_grid_segments(nodes)

    def scipy() -> None:
        for field, reward in zip(fields, rewards, strict=True):
            up, down = np.flatnonzero(field > 0), np.flatnonzero(field < 0)
            rows = np.concatenate([edges[:, 0], edges[:, 1], np.full(len(up), n), down])
            into = np.concatenate([edges[:, 1], edges[:, 0], up, np.full(len(down), n + 1)])
            limits = np.concatenate([reward, reward, field[up], -field[down]])
            maximum_flow(sp.csr_array(((limits * WHOLE).astype(np.int32), (rows, into)), (n + 2, n + 2)), n, n + 1)

    def networkx() -> None:
        graph = nx.DiGraph()
        for (a, b), reward in zip(edges.tolist(), rewards[0].tolist(), strict=True):
            graph.add_edge(a, b, capacity=reward)
            graph.add_edge(b, a, capacity=reward)
        for v, value in enumerate(fields[0].tolist()):
            graph.add_edge("s", v, capacity=max(value, 0.0))
            graph.add_edge(v, "t", capacity=max(-value, 0.0))
        nx.minimum_cut(graph, "s", "t", flow_func=nx.algorithms.flow.boykov_kolmogorov)

    found = {"maxmargin": rate(ours, count), "PyMaxflow": rate(pymaxflow, count), "SciPy": rate(scipy, count)}
    return {**found, "networkx": rate(networkx, 1) if n <= 1024 else None}


def paths(side: int, count: int, cycles: bool) -> dict[str, Any]:
    """Grids with random costs, from one corner to the other."""
    import networkx as nx

    rng, there = np.random.default_rng(1), grid_edges(side, side)
    edges = np.concatenate([there, there[:, ::-1]]) if cycles else there
    costs = [rng.random(len(edges)) for _ in range(count)]
    right = list(range(side - 1)) + [side * (side - 1) + side * k + side - 1 for k in range(side - 1)]
    X = [(edges, cost[:, None]) for cost in costs]
    ours = decoding(mm.Path(cycles=cycles), X, [right] * count, np.ones(1))

    def scipy() -> None:
        for cost in costs:
            dijkstra(sp.csr_array((cost, edges.T), (side**2, side**2)), indices=0, return_predecessors=True)

    def networkx() -> None:
        graph = nx.DiGraph()
        graph.add_weighted_edges_from(zip(*edges.T.tolist(), costs[0].tolist(), strict=True))
        nx.dijkstra_path(graph, 0, side**2 - 1)

    return {"maxmargin": rate(ours, count), "SciPy": rate(scipy, count), "networkx": rate(networkx, 1)}


def knapsacks(m: int, count: int) -> dict[str, Any]:
    """Random values, and weights up to 100."""
    from ortools.algorithms.python import knapsack_solver

    rng = np.random.default_rng(2)
    values, weights = rng.random((count, m)), rng.integers(1, 101, (count, m))
    rooms = weights.sum(axis=1) // 3
    X = [(v[:, None], w, int(room)) for v, w, room in zip(values, weights, rooms, strict=True)]
    ours = decoding(mm.Knapsack(), X, [[0] * m] * count, np.ones(1))

    def ortools() -> None:
        kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
        for v, w, room in zip(values, weights, rooms, strict=True):
            solver = knapsack_solver.KnapsackSolver(kind, "items")
            solver.init((v * WHOLE).astype(int).tolist(), [w.tolist()], [int(room)])
            solver.solve()

    few = min(count, 20)

    def scipy() -> None:
        for v, w, room in zip(values[:few], weights[:few], rooms[:few], strict=True):
            milp(-v, integrality=np.ones(m), bounds=Bounds(0, 1), constraints=LinearConstraint(w[None], -np.inf, room))

    return {"maxmargin": rate(ours, count), "OR-tools": rate(ortools, count), "SciPy": rate(scipy, few)}


PROBLEMS: tuple[tuple[str, Any, tuple[Any, ...]], ...] = (
    ("cut, grid 6 × 6", cuts, (6, 6, 400)),
    ("cut, grid 16 × 16", cuts, (16, 16, 100)),
    ("cut, grid 64 × 48", cuts, (64, 48, 10)),
    ("cut, grid 256 × 256", cuts, (256, 256, 2)),
    ("path without cycles, grid 5 × 5", paths, (5, 1000, False)),
    ("path without cycles, grid 30 × 30", paths, (30, 100, False)),
    ("path with cycles, grid 5 × 5", paths, (5, 1000, True)),
    ("path with cycles, grid 30 × 30", paths, (30, 100, True)),
    ("knapsack, 20 items", knapsacks, (20, 300)),
    ("knapsack, 100 items", knapsacks, (100, 30)),
)


def run() -> dict[str, Any]:
    """Measure every problem in a process of its own."""
    return {name: isolated(task, *arguments) for name, task, arguments in PROBLEMS}


def markdown(result: dict[str, Any]) -> str:
    """Return one table."""
    others = ("PyMaxflow", "SciPy", "OR-tools", "networkx")
    rows = [
        [name, round(result[name]["maxmargin"]),
         *(f"{result[name]['maxmargin'] / result[name][other]:.3g}" if result[name].get(other) else None
           for other in others)]
        for name, _, _ in PROBLEMS
    ]  # fmt: skip
    return (
        "# Cuts, paths and knapsacks\n\nProblems per CPU second of one thread (scores included), and how many times as "
        "fast that is as other packages on the same problems (their graphs built from arrays each time, as scores "
        "change with the weights).\n\n"
        + table(["problem", "maxmargin per s", *(f"times {other}" for other in others)], rows)
    )
