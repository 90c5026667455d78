"""Paths against all paths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from conformance import StructureConformance
from graph_instances import PathGraphs
from scipy.sparse.csgraph import shortest_path

import maxmargin as mm

EDGES = np.array([[0, 1], [1, 2], [0, 2]])
ROWS = np.ones((3, 2))


class TestShortestPath(StructureConformance):
    bad_input = (
        (mm.Path(), [EDGES], [[2]], "X[0]: expected (edges, features[, source, target][, allowed]), found ndarray"),
        (mm.Path(), [(EDGES, ROWS), (EDGES,)], [[2]] * 2, "X[1]: expected (edges, features[, source, target]"),
        (mm.Path(), [(EDGES.astype(float), ROWS)], [[2]], "X[0]: expected edges as an array of whole numbers of shape"),
        (mm.Path(), [([[0, 1, 2]], ROWS)], [[0]], "X[0]: expected edges as an array of whole numbers of shape (m, 2)"),
        (mm.Path(), [([], ROWS)], [[0]], "X[0]: expected at least one edge, found none"),
        (mm.Path(), [(EDGES - 1, ROWS)], [[2]], "X[0]: edge 0 is (-1, 0), expected nodes from 0"),
        (mm.Path(), [([[0, 1], [1, 1]], ROWS[:2])], [[0]], "X[0]: edge 1 joins node 1 with itself"),
        (mm.Path(), [(EDGES, ROWS[:, 0])], [[2]], "X[0]: expected features of edges as an array (edges, d), a sparse"),
        (
            mm.Path(),
            [(EDGES, ROWS[:, 0])],
            [[2]],
            "found an array of shape (3,); if it is one feature of each edge, use",
        ),
        (mm.Path(), [(EDGES, ROWS[:2])], [[2]], "X[0]: 2 rows of edge features but 3 edges"),
        (mm.Path(), [(EDGES, ROWS), (EDGES, ROWS[:, :1])], [[2]] * 2, "X[1]: 1 features per edge, expected 2"),
        (mm.Path(), [(EDGES, np.where(np.eye(3, 2), np.nan, 1))], [[2]], "X[0], edge 0: features must be finite"),
        (mm.Path(), [([[0, 1], [1, 0]], ROWS[:2])], [[0]], "X[0]: the graph has a cycle; use Path(cycles=True)"),
        (mm.Path(), [(EDGES, ROWS, 0, 5)], [[2]], "X[0]: the target must be a node from 0 to 2, found 5"),
        (mm.Path(), [(EDGES, ROWS, 1, 1)], [[2]], "X[0]: source and target are the same node, 1"),
        (mm.Path(), [(EDGES, ROWS, np.array([1, 0, 0], bool))], [[2]], "Y[0]: edge 2 is forbidden by X"),
        (mm.Path(), [(EDGES, ROWS, np.array([0, 1, 0], bool))], [[]], "it ends at node 0"),
        (mm.Path(), [(EDGES, ROWS, np.ones(2, bool))], [[2]], "X[0]: the allowed edges must be an array of bool of"),
        (mm.Path(), [(EDGES, ROWS)], [[2], [2]], "X has 1 examples but Y has 2"),
        (mm.Path(), [(EDGES, ROWS)], [[0]], "Y[0]: not a path from node 0 to node 2: it ends at node 1"),
        (mm.Path(), [(EDGES, ROWS)], [[0, 2]], "Y[0]: not a path: edges 0 and 2 both leave node 0"),
        (mm.Path(), [(EDGES, ROWS)], [[1, 2]], "Y[0]: not a path from node 0 to node 2: edges [1] are not on it"),
        (mm.Path(), [(EDGES, ROWS)], [[3]], "Y[0]: edge 3 does not exist: X has edges 0 to 2"),
        (mm.Path(), [(EDGES, ROWS)], [[2, 2]], "Y[0]: expected distinct numbers of edges from 0 on"),
        (mm.Path(), [(EDGES, ROWS)], [[2.0]], "Y[0]: expected the numbers of the edges of a path, found [2.0]"),
        (mm.Path(), [(EDGES, ROWS)], [mm.PartCosts([2], [1.0])], "Y[0]: false costs have shape (1,), expected (3,)"),
        (mm.Path(), [(EDGES, ROWS)], [mm.PartCosts(mm.PartCosts([2]))], "PartCosts of PartCosts"),
        (mm.Path(sense="longest"), [(EDGES, ROWS)], [[2]], "sense must be 'min' or 'max', found 'longest'"),
        (mm.Path(cycles=True, sense="max"), [(EDGES, ROWS)], [[2]], "cycles=True needs sense='min'"),
        (mm.Path(cycles=1), [(EDGES, ROWS)], [[2]], "cycles must be True or False, found 1"),
    )

    def instance(self, seed):
        return PathGraphs(seed, cycles=False)


class TestLongestPath(StructureConformance):
    n_checked = 1

    def instance(self, seed):
        return PathGraphs(seed, cycles=False, sense="max")


class TestPathWithCycles(StructureConformance):
    n_checked = 1
    bad_input = (
        (
            mm.Path(cycles=True),
            [(EDGES, ROWS), (EDGES, -np.eye(3, 2))],
            [[2]] * 2,
            "X[1], edge 0: a feature is -1, but cycles=True needs features ≥ 0",
        ),
        (
            mm.Path(cycles=True),
            [(EDGES, sp.csr_array(-np.eye(3, 2)))],
            [[2]],
            "X[0], edge 0: a feature is -1, but cycles=True needs features ≥ 0",
        ),
        (mm.Path(cycles=True), [(EDGES, ROWS)], [mm.PartCosts([2])], "Y[0]: false costs must be 0 with cycles=True"),
    )

    def instance(self, seed):
        return PathGraphs(seed, cycles=True)


def grid(side, rng):
    """Edges of a grid in all four directions."""
    node = np.arange(side * side).reshape(side, side)
    pairs = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    there = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
    return np.concatenate([there, there[:, ::-1]])


@pytest.mark.parametrize("cycles", [False, True])
def test_larger_paths_are_those_of_scipy(cycles):
    rng = np.random.default_rng(0)
    for side in (4, 9, 15):
        edges = grid(side, rng)
        edges = edges if cycles else edges[: len(edges) // 2]
        costs = rng.random(len(edges))
        x = (edges, costs[:, None])
        structure = mm.Path(cycles=cycles)
        start = mm.Path(cycles=cycles)
        structure.fit([x], [next(iter(start.enumerate(x)))])
        path = structure.argmax(np.ones(1), x)
        matrix = sp.csr_array((costs, edges.T), (side**2, side**2))
        assert costs[path].sum() == pytest.approx(shortest_path(matrix, indices=0)[-1], rel=1e-12)
        for (_, score), (_, worse) in zip(ranked := structure.topk(np.ones(1), x, 5), ranked[1:], strict=False):
            assert score >= worse


def test_a_graph_without_a_path_is_refused():
    structure = mm.Path().fit([(EDGES, ROWS)], [[2]])
    with pytest.raises(ValueError, match=r"X\[1\]: no path of allowed edges from node 2 to node 0"):
        structure.encode([(EDGES, ROWS), (EDGES, ROWS, 2, 0)])
    with pytest.raises(ValueError, match=r"X\[0\]: no path of allowed edges from node 0 to node 2"):
        structure.encode([(EDGES, ROWS, np.array([0, 1, 0], bool))])


def test_negative_weights_are_refused_where_cycles_are_allowed():
    x = ([(0, 1), (1, 0)], np.ones((2, 1)))
    structure = mm.Path(cycles=True).fit([x], [[0]])
    with pytest.raises(mm.StructureError, match=r"X\[0\]: an edge has a negative cost; cycles=True needs weights ≥ 0"):
        structure.argmax(np.array([-1.0]), x)


@pytest.mark.parametrize("cycles", [False, True])
def test_costs_of_edges_are_learnt(tmp_path, cycles):
    rng = np.random.default_rng(1)
    edges = grid(5, rng)
    edges = edges if cycles else edges[: len(edges) // 2]
    w = np.array([1.0, 0.2, 3.0])
    X = [(edges, rng.random((len(edges), 3))) for _ in range(60)]
    teacher = mm.Path(cycles=cycles)
    teacher.fit(X[:1], [next(iter(teacher.enumerate(X[0])))])
    Y = [teacher.argmax(w, x) for x in X]
    model = mm.StructuralSVM(mm.Path(cycles=cycles), C=10.0).fit(X[:40], Y[:40])
    assert model.certificate_.gap <= 1e-3 and model.certificate_.exact
    assert not cycles or (model.coef_ >= 0).all()
    regret = [
        w @ x[1][p].sum(axis=0) / (w @ x[1][y].sum(axis=0)) for x, y, p in zip(X, Y, model.predict(X), strict=True)
    ]
    assert 1.0 <= np.mean(regret[40:]) < 1.02
    assert model.explain(X[0]).margin > 0
    model.save(tmp_path / "path.mm", support=True)
    again = mm.load(tmp_path / "path.mm")
    assert again.predict(X) == model.predict(X)
    assert again.support_.outputs == model.support_.outputs
    assert model.feature_names_out.tolist() == ["x0", "x1", "x2"]
