"""Paths against all paths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import shortest_path

import maxmargin as mm
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.exceptions import StructureError
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.graphs import PathGraphs

EDGES = np.array([[0, 1], [1, 2], [0, 2]])
ROWS = np.ones((3, 2))


class TestShortestPath(StructureConformance):
    bad_input = (
        (mm.Path(), [EDGES], [[2]], "X[0]: expected (edges, features[, source, target][, allowed]), found ndarray"),
        (mm.Path(), [(EDGES, ROWS), (EDGES,)], [[2]] * 2, "X[1]: expected (edges, features[, source, target]"),
        (mm.Path(), [(EDGES.astype(float), ROWS)], [[2]], "X[0]: expected edges as an array of integers of shape"),
        (mm.Path(), [([[0, 1, 2]], ROWS)], [[0]], "X[0]: expected edges as an array of integers of shape (m, 2)"),
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
        (mm.Path(decision="indices"), [(EDGES, ROWS)], [[0, 2]], "Y[0]: not a path: edges 0 and 2 both leave node 0"),
        (mm.Path(decision="nodes"), [(EDGES, ROWS)], [[1, 2]], "Y[0]: not a path from node 0 to node 2"),
        (mm.Path(decision="nodes"), [(EDGES, ROWS)], [[2, 0]], "Y[0]: no allowed edge leads from node 2 to node 0"),
        (mm.Path(), [(EDGES, ROWS)] * 2, [[0, 1], [1, 1, 0]], "Y[1]: outputs have different forms: this is one of 0/1"),
        (mm.Path(), [(EDGES, ROWS)], [[1, 2]], "Y[0]: not a path from node 0 to node 2: edges [1] are not on it"),
        (mm.Path(), [(EDGES, ROWS)], [[3]], "Y[0]: edge 3 does not exist: X has edges 0 to 2"),
        (mm.Path(), [(EDGES, ROWS)], [[2, 2]], "Y[0]: expected distinct indices from 0 on"),
        (mm.Path(), [(EDGES, ROWS)], [[2.0]], "Y[0]: expected the indices of the chosen edges, found [2.0]"),
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
        matrix = sp.csr_array((costs, edges.T.astype(np.int32)), (side**2, side**2))
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
    with pytest.raises(StructureError, match=r"X\[0\]: an edge has a negative cost; cycles=True needs weights ≥ 0"):
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


def test_decision_scores_are_those_of_paths_through_each_edge():
    x = [(0, 1), (1, 3), (0, 2), (2, 3)], [[1.0], [1.0], [2.0], [4.0]]
    model = mm.StructuralSVM(mm.Path(), C=1.0).fit([x], [[0, 1]])
    w = model.coef_[0]
    np.testing.assert_allclose(model.decision_scores([x])[0], -w * np.array([2.0, 2.0, 6.0, 6.0]))


def test_paths_through_edges_of_graphs_with_cycles_repeat_no_node():
    """From a dead end nothing leads on, and the way back to node 1 must go around."""
    edges = [(0, 1), (1, 4), (1, 2), (2, 1), (0, 2), (1, 3), (3, 1)]
    costs = np.array([1.0, 1.0, 1.0, 2.0, 8.0, 1.0, 1.0])
    structure = mm.Path(cycles=True).fit([(edges, costs[:, None], 0, 4)], [[0, 1]])
    found = structure.encode([(edges, costs[:, None], 0, 4)]).max_marginals(np.ones(1), np.zeros(1, int))[0]
    np.testing.assert_array_equal(found, [-2.0, -2.0, -np.inf, -11.0, -11.0, -np.inf, -np.inf])


def test_searches_that_are_long_end_without_an_answer():
    """No path leads back along the border of a grid, but to see that takes all paths; into a dead end it is seen."""
    edges = np.concatenate([grid(5, None), [(12, 25), (25, 12)]])
    x = edges, np.ones((len(edges), 1)), 0, 24
    structure = mm.Path(cycles=True)
    structure.fit([x], [next(iter(structure.enumerate(x)))])
    found = structure.encode([x]).max_marginals(np.ones(1), np.zeros(1, int))[0]
    assert (found[-2:] == -np.inf).all() and np.nanmax(found) == -8.0
    back = [e for e, (a, b) in enumerate(edges.tolist()) if (a, b) in ((2, 1), (3, 2), (9, 4))]
    assert np.isnan(found[back]).all() and np.isfinite(found).sum() >= 60


def test_paths_that_are_too_many_for_a_float():
    """Two edges from each node to the next: 2^n paths, and each edge with the same odds against its twin."""
    n = 1500
    edges = np.repeat(np.stack([np.arange(n), np.arange(1, n + 1)], axis=1), 2, axis=0)
    examples = mm.Path(sense="max").fit_encode([(edges, np.tile([[0.0], [1.0]], (n, 1)))], [list(range(0, 2 * n, 2))])
    for w in (0.0, 2.0, -300.0):
        scores = examples.scores(np.array([w]), np.arange(1))
        sums = examples.sums(scores, np.arange(1))
        assert sums.log_partitions[0] == pytest.approx(n * np.logaddexp(0.0, w), rel=1e-10)
        share = 1.0 / (1.0 + np.exp(-w))
        np.testing.assert_allclose(sums.marginals[0].reshape(n, 2), np.tile([1.0 - share, share], (n, 1)), rtol=1e-9)
        codes = examples.samples(scores, np.arange(1), 4, np.array([3], np.uint64))
        assert (codes // 2 == np.arange(n)).all()
        assert (codes % 2).mean() == pytest.approx(share, abs=0.03)


def test_graphs_with_cycles_have_no_sums():
    examples = mm.Path(cycles=True).fit_encode([(EDGES, ROWS)], [[2]])
    with pytest.raises(TypeError, match=r"Path has no probabilities: to count the paths of a graph with cycles .* #P"):
        examples.sums(examples.scores(np.ones(2), np.arange(1)), np.arange(1))


def test_sums_of_a_graph_without_allowed_paths():
    examples, ids = mm.Path().fit_encode([(EDGES, ROWS)] * 2, [[2]] * 2), np.arange(2)
    scores = examples.scores(np.ones(2), ids)
    scores[0].values[:3] = [0.0, -np.inf, -np.inf]
    sums = examples.sums(scores, ids)
    assert sums.log_partitions.tolist() == [-np.inf, pytest.approx(np.logaddexp(-4.0, -2.0))]
    assert sums.expected_scores[0] == 0.0 and not sums.marginals[0][:3].any()
    codes = examples.samples(scores, ids, 2, np.arange(2, dtype=np.uint64))
    assert (codes[:, 0] == NO_OUTPUT).all() and (codes[:, 2] >= 0).all()
