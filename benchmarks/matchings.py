"""Decoders of matchings beside scipy, networkx, rustworkx and OR-tools, on the same graphs in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import maxmargin as mm
from benchmarks.measure import isolated
from benchmarks.report import table

ASSIGNMENTS, PERFECT, LOOSE = (10, 20, 50, 100), (6, 10, 20, 50, 100), (10, 20, 50)
#: (left nodes, right nodes, R, P)
FLOWS = ((20, 30, 3, 4), (8, 8, 2, 2), (100, 60, 3, 6))
RUNS, SLOW = 5, 1.0
SCALE = 10**6


def rate(call: Callable[[], Any], count: int) -> float:
    """Return graphs per CPU second of the fastest of several calls; one call if it takes long."""
    call()
    seconds: list[float] = []
    while len(seconds) < RUNS and sum(seconds) < SLOW:
        began = time.process_time()
        call()
        seconds.append(time.process_time() - began)
    return count / min(seconds)


def ours(structure: Any, tables: np.ndarray, y: Any, weights: list[float]) -> tuple[Callable[[], Any], Any]:
    """Return a decode of all graphs as one batch of scores, and its answers."""
    examples = structure.fit([tables[0][:, :, None]], [y]).encode([t[:, :, None] for t in tables])
    ids, answers, scales = np.arange(len(tables)), examples.empty_answers(), np.zeros(len(tables))
    scores = examples.scores(np.array(weights), ids)
    return lambda: examples.decode_scores(scores, ids, scales, answers), answers


def agree(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def assignments(n: int) -> dict[str, float]:
    import networkx
    from ortools.graph.python import linear_sum_assignment as ortools_assignment
    from scipy.optimize import linear_sum_assignment

    count = 200 if n <= 20 else 40
    tables = np.random.default_rng(n).normal(size=(count, n, n))
    decode, answers = ours(mm.BipartiteMatching(), tables, list(range(n)), [1.0])
    left, right = (side.ravel() for side in np.indices((n, n)))

    def ortools(t: np.ndarray) -> Any:
        solver = ortools_assignment.SimpleLinearSumAssignment()
        solver.add_arcs_with_cost(left, right, np.rint(-SCALE * t.ravel()).astype(np.int64))
        assert solver.solve() == solver.OPTIMAL
        return solver.optimal_cost() / -SCALE

    def by_networkx(t: np.ndarray) -> Any:
        graph = networkx.Graph()
        graph.add_weighted_edges_from((i, n + k, -t[i, k]) for i in range(n) for k in range(n))
        return networkx.bipartite.minimum_weight_full_matching(graph, range(n))

    found = {"maxmargin": rate(decode, count)}
    expected = [t[linear_sum_assignment(t, maximize=True)].sum() for t in tables]
    agree(answers.rises, expected)
    np.testing.assert_allclose([ortools(t) for t in tables[:5]], expected[:5], atol=n / SCALE)
    found["scipy"] = rate(lambda: [linear_sum_assignment(t, maximize=True) for t in tables], count)
    found["OR-tools"] = rate(lambda: [ortools(t) for t in tables], count)
    found["networkx"] = rate(lambda: [by_networkx(t) for t in tables[:5]], 5)
    return found


def flows(n_left: int, n_right: int, R: int, P: int) -> dict[str, float]:
    from ortools.graph.python import min_cost_flow
    from scipy.optimize import linprog

    rng, count = np.random.default_rng(n_left), 40
    tables = rng.normal(size=(count, n_left, n_right)) + 0.7 * rng.normal(size=(count, 1, n_right))
    y = [sorted((i * R + r) % n_right for r in range(R)) for i in range(n_left)]
    structure = mm.BipartiteMatching(per_left=R, per_right=P)
    decode, answers = ours(structure, tables, y, [1.0])
    lefts, rights = np.kron(np.eye(n_left), np.ones(n_right)), np.kron(np.ones(n_left), np.eye(n_right))
    left, right = (side.ravel() for side in np.indices((n_left, n_right)))
    sink = n_left + n_right
    ends = np.concatenate([left, n_left + np.arange(n_right)]), np.concatenate([n_left + right, np.full(n_right, sink)])
    room = np.concatenate([np.ones(len(left), np.int64), np.full(n_right, P)])
    supply = np.concatenate([np.full(n_left, R), np.zeros(n_right, np.int64), [-n_left * R]])

    def program(t: np.ndarray) -> float:
        return -linprog(-t.ravel(), rights, np.full(n_right, P), lefts, np.full(n_left, R), (0, 1)).fun

    def ortools(t: np.ndarray) -> float:
        solver = min_cost_flow.SimpleMinCostFlow()
        costs = np.concatenate([np.rint(-SCALE * t.ravel()).astype(np.int64), np.zeros(n_right, np.int64)])
        solver.add_arcs_with_capacity_and_unit_cost(*ends, room, costs)
        solver.set_nodes_supplies(np.arange(sink + 1), supply)
        assert solver.solve() == solver.OPTIMAL
        return solver.optimal_cost() / -SCALE

    found = {"maxmargin": rate(decode, count)}
    agree(answers.rises[:5], [program(t) for t in tables[:5]])
    np.testing.assert_allclose([ortools(t) for t in tables[:5]], answers.rises[:5], atol=n_left * R / SCALE)
    found["OR-tools"] = rate(lambda: [ortools(t) for t in tables], count)
    found["scipy linprog (HiGHS)"] = rate(lambda: [program(t) for t in tables[:5]], 5)
    return found


def general(n: int, perfect: bool) -> dict[str, float]:
    """Compare with rustworkx (integers of at most 10⁶, graphs built before) and networkx."""
    import networkx
    import rustworkx

    count = 200 if n <= 20 else 40
    tables = np.random.default_rng(n).normal(size=(count, n, n))
    tables = np.rint(SCALE * tables) / SCALE
    y = [v + 1 - 2 * (v % 2) for v in range(n)]
    decode, answers = ours(mm.Matching(perfect=perfect), tables, y, [1.0] if perfect else [1.0, 0.0])
    pairs = list(zip(*(side.tolist() for side in np.triu_indices(n, 1)), strict=True))

    def edges(t: np.ndarray) -> list[tuple[int, int, int]]:
        return [(a, b, round(SCALE * t[a, b])) for a, b in pairs]

    def rust_graph(t: np.ndarray) -> Any:
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(edges(t))
        return graph

    def rust(graph: Any) -> set[tuple[int, int]]:
        return rustworkx.max_weight_matching(graph, max_cardinality=perfect, weight_fn=int)

    def by_networkx(t: np.ndarray) -> Any:
        graph = networkx.Graph()
        graph.add_weighted_edges_from(edges(t))
        return networkx.max_weight_matching(graph, maxcardinality=perfect)

    found = {"maxmargin": rate(decode, count)}
    graphs = [rust_graph(t) for t in tables]
    agree(answers.rises, [sum(t[min(e), max(e)] for e in rust(g)) for t, g in zip(tables, graphs, strict=True)])
    found["rustworkx, graph built before"] = rate(lambda: [rust(graph) for graph in graphs], count)
    found["rustworkx"] = rate(lambda: [rust(rust_graph(t)) for t in tables], count)
    found["networkx"] = rate(lambda: [by_networkx(t) for t in tables[:3]], 3)
    return found


def run() -> dict[str, Any]:
    """Measure every size in a process of its own."""
    return {
        "assignment": {f"{n} × {n}": isolated(assignments, n) for n in ASSIGNMENTS},
        "flow": {f"{n} × {m}, R = {R}, P = {P}": isolated(flows, n, m, R, P) for n, m, R, P in FLOWS},
        "perfect matching": {f"n = {n}": isolated(general, n, True) for n in PERFECT},
        "matching that need not be perfect": {f"n = {n}": isolated(general, n, False) for n in LOOSE},
    }


def markdown(result: dict[str, Any]) -> str:
    """Return a table for each kind of matching."""
    texts = [
        "# Matchings\n\nBest matchings per CPU second of one thread, on the same random graphs; in brackets, how many "
        "times slower than ours. All answers were compared. Ours decode a batch of scores."
    ]
    for kind, sizes in result.items():
        if kind == "about":
            continue
        peers = [name for name in next(iter(sizes.values())) if name != "peak_mb"]
        rows = [
            [size, *(f"{cell[p]:,.0f}" + ("" if p == "maxmargin" else f" ({cell['maxmargin'] / cell[p]:.1f})")
                     for p in peers)]
            for size, cell in sizes.items()
        ]  # fmt: skip
        texts.append(f"{kind.capitalize()}:\n\n{table(['graph', *peers], rows)}")
    return "\n\n".join(texts)
