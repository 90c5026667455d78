"""Labellings of graphs against all labellings."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import maximum_flow

import maxmargin as mm
from maxmargin.algorithms import max_flow
from maxmargin.exceptions import StructureError
from maxmargin.testing.conformance import SCALES, StructureConformance
from tests.helpers.instances.graphs import LabelledGraphs

ROWS = np.ones((3, 2))
EDGES = np.array([[0, 1], [1, 2]])
Y = ["a", "b", "a"]


class TestCut(StructureConformance):
    bad_input = (
        (mm.Cut(), [ROWS], [Y], "X[0]: expected (nodes, edges[, features[, allowed]]), found ndarray"),
        (mm.Cut(), [(ROWS,)], [Y], "found tuple of 1"),
        (mm.Cut(), [(ROWS, EDGES), (ROWS, EDGES + 1)], [Y] * 2, "X[1]: edge 1 is (2, 3), expected nodes from 0 to 2"),
        (mm.Cut(), [(ROWS, [[0, 0]])], [Y], "X[0]: edge 0 joins node 0 with itself"),
        (mm.Cut(), [(ROWS, EDGES * 0.5)], [Y], "X[0]: expected edges as an array of integers of shape (m, 2)"),
        (mm.Cut(), [(ROWS, EDGES, ROWS)], [Y], "X[0]: 3 rows of edge features but 2 edges"),
        (
            mm.Cut(),
            [(ROWS, EDGES, ROWS[:2]), (ROWS, EDGES, -np.eye(2))],
            [Y] * 2,
            "X[1], edge 0: a feature is -1, but features of edges must be ≥ 0",
        ),
        (mm.Cut(), [(ROWS, EDGES, sp.csr_array(-np.eye(2)))], [Y], "X[0], edge 0: a feature is -1, but features of"),
        (mm.Cut(), [(ROWS, EDGES), (ROWS[:0], [])], [Y, []], "X[1]: expected at least one node, found none"),
        (mm.Cut(), [(ROWS, EDGES)], [Y[:2]], "X[0]: 3 rows of node features but 2 labels"),
        (mm.Cut(), [(ROWS, EDGES)], [["a"] * 3], "expected at least two classes, found one class: ['a']"),
        (mm.Cut(), [(ROWS, EDGES)], [5], "Y[0]: expected a sequence of labels, found int 5"),
        (mm.Cut(), [(ROWS, EDGES)], [["a", None, float("nan")]], "Y[0], node 1: expected a label, found None"),
        (mm.Cut(classes=["a", "c"]), [(ROWS, EDGES)], [Y], "Y[0], node 1: unknown label 'b'; the classes are 'a', 'c'"),
        (mm.Cut(), [(ROWS, EDGES, None, np.ones((3, 3), bool))], [Y], "X[0]: the allowed labels must be an array of"),
        (mm.Cut(), [(ROWS, EDGES, None, np.eye(3, 2, dtype=bool))], [Y], "X[0]: node 2 has no allowed label"),
        (
            mm.Cut(),
            [(ROWS, EDGES, None, np.array([[1, 1], [1, 0], [1, 1]], bool))],
            [Y],
            "Y[0], node 1: the label 'b' is forbidden by X",
        ),
        (
            mm.Cut(),
            [(ROWS, EDGES)],
            [mm.PartCosts(Y, np.ones(3))],
            "Y[0]: false costs have shape (3,), expected (3, 2)",
        ),
        (mm.Cut(cost="zero-one"), [(ROWS, EDGES)], [Y], "cost must be 'hamming', 'hamming-share', a matrix or a dict"),
        (mm.Cut(bound_steps=-1), [(ROWS, EDGES)], [Y], "bound_steps must be an integer ≥ 0, found -1"),
    )

    def instance(self, seed):
        return LabelledGraphs(seed)


class TestFlows:
    """The flow kernel alone."""

    @staticmethod
    def cut(edges, terminal, capacity):
        n, side = len(terminal), np.empty(len(terminal), np.int32)
        first, leaving = np.empty(n + 1, np.int64), np.empty(2 * len(edges), np.int64)
        max_flow.arcs_by_node(edges, n, first, leaving)
        max_flow.minimum_cut(edges, first, leaving, terminal.copy(), capacity.copy(), side)
        return side

    @staticmethod
    def value(edges, terminal, capacity, side):
        total = terminal[(terminal > 0) & (side == 0)].sum() - terminal[(terminal < 0) & (side == 1)].sum()
        tail, head = edges.T
        forth, back = (side[tail] == 1) & (side[head] == 0), (side[head] == 1) & (side[tail] == 0)
        return total + capacity[::2][forth].sum() + capacity[1::2][back].sum()

    @pytest.mark.parametrize("whole", [True, False])
    def test_small_graphs(self, whole):
        rng = np.random.default_rng(0)
        for _ in range(200):
            n = int(rng.integers(2, 8))
            edges = np.array([rng.choice(n, 2, replace=False) for _ in range(rng.integers(1, 15))])
            terminal = rng.integers(-4, 5, n).astype(float) if whole else rng.normal(size=n)
            capacity = rng.integers(0, 4, 2 * len(edges)).astype(float) if whole else rng.random(2 * len(edges))
            side = self.cut(edges, terminal, capacity)
            sides = [np.array([number >> v & 1 for v in range(n)]) for number in range(2**n)]
            values = [self.value(edges, terminal, capacity, s) for s in sides]
            assert self.value(edges, terminal, capacity, side) == pytest.approx(min(values), abs=1e-9)
            ties = [s for s, v in zip(sides, values, strict=True) if v <= min(values) + 1e-9]
            assert (side <= np.min(ties, axis=0)).all() or not whole, "of equal cuts that with the fewest nodes"

    def test_grids_have_the_flow_of_scipy(self):
        rng = np.random.default_rng(1)
        for side in (8, 20):
            node = np.arange(side * side).reshape(side, side)
            pairs = ((node[:, :-1], node[:, 1:]), (node[:-1], node[1:]))
            edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
            terminal, capacity = rng.integers(-50, 51, side**2) * 1.0, rng.integers(0, 40, 2 * len(edges)) * 1.0
            n, (tail, head), (up, down) = side**2, edges.T, (terminal > 0, terminal < 0)
            rows = np.concatenate([tail, head, np.full(up.sum(), n), np.flatnonzero(down)])
            into = np.concatenate([head, tail, np.flatnonzero(up), np.full(down.sum(), n + 1)])
            limits = np.concatenate([capacity[::2], capacity[1::2], terminal[up], -terminal[down]]).astype(np.int32)
            rows, into = rows.astype(np.int32), into.astype(np.int32)  # as SciPy 1.12 needs
            expected = maximum_flow(sp.csr_array((limits, (rows, into)), (n + 2, n + 2)), n, n + 1).flow_value
            found = self.cut(edges, terminal, capacity)
            assert self.value(edges, terminal, capacity, found) == expected


def test_more_labels_have_proven_bounds():
    """Values are at most the best of all labellings, bounds at least; both are close."""
    attained, tight, n = 0, 0, 0
    for seed in range(60):
        case = LabelledGraphs(seed, n_labels=3)
        assert (case.examples.exact, case.examples.bounded, case.structure.exact) == (False, True, False)
        ids, scales = case.rng.permutation(case.n), case.rng.choice(SCALES, case.n)
        answers = case.decoded(ids, scales)
        case.check_planes(answers, ids)
        for r, i in enumerate(ids.tolist()):
            found = case.found(answers, i)
            rise, loss = case.rise(i, found), case.loss(i, found)
            best = case.best(i, lambda m, b, scale=scales[r]: m + scale * b)
            assert answers.rises[i] == pytest.approx(rise, abs=1e-9)
            assert answers.losses[i] == pytest.approx(loss, abs=1e-12)
            assert rise + scales[r] * loss <= best + 1e-9 <= answers.upper[i] + 2e-9 * (1 + abs(best))
            attained += rise + scales[r] * loss >= best - 1e-9
            tight += answers.upper[i] <= best + 1e-6
            n += 1
    assert attained >= 0.95 * n and tight >= 0.6 * n, f"{attained} and {tight} of {n}"


def test_steps_lower_the_bound():
    rng = np.random.default_rng(2)
    node = np.arange(64).reshape(8, 8)
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1)
                            for a, b in ((node[:, :-1], node[:, 1:]), (node[:-1], node[1:]))])  # fmt: skip
    x, y = (rng.normal(size=(64, 4)), edges), rng.integers(0, 4, 64)
    w = np.concatenate([np.eye(4).ravel(), [0.7]])
    bounds = []
    for steps in (0, 3, 30):
        examples = mm.Cut(fit_intercept=False, bound_steps=steps).fit_encode([x], [y])
        answers = examples.empty_answers()
        examples.decode(w, np.zeros(1, int), np.ones(1), answers)
        bounds.append(answers.upper[0])
    value = answers.rises[0] + answers.losses[0]
    assert bounds[0] > bounds[1] > bounds[2] >= value
    assert bounds[2] - value < 0.2 * (bounds[0] - value)


@pytest.mark.parametrize("n_labels", [2, 3])
def test_no_reward_is_greater_than_the_cost_of_a_forbidden_label(n_labels):
    """Also where 1 + reward is the reward in floating point."""
    allowed = np.eye(2, n_labels, dtype=bool)
    structure = mm.Cut().fit([(np.ones((n_labels, 1)), [(0, 1)])], [list(range(n_labels))])
    w = np.zeros(structure.size)
    w[-1] = 1e17
    assert structure.argmax(w, (np.ones((2, 1)), [(0, 1)], None, allowed)) == [0, 1]


def test_edges_must_not_reward_different_labels():
    x = (ROWS, EDGES)
    structure = mm.Cut().fit([x], [Y])
    with pytest.raises(StructureError, match=r"X\[0\]: an edge rewards different labels, which a cut cannot do"):
        structure.argmax(np.array([0.0] * 6 + [-1.0]), x)


def chain_graphs(rng, n_graphs, names):
    """Noisy colours of chains of equal labels."""
    X, Y = [], []
    for _ in range(n_graphs):
        labels = np.repeat(rng.integers(0, len(names), 5), 5)
        rows = np.eye(len(names))[labels] + rng.normal(size=(25, len(names)))
        X.append((rows, np.stack([np.arange(24), np.arange(1, 25)], axis=1)))
        Y.append([names[k] for k in labels])
    return X, Y


@pytest.mark.parametrize("names", [["x", "y"], ["x", "y", "z"]])
def test_neighbours_help(tmp_path, names):
    X, Y = chain_graphs(np.random.default_rng(0), 80, names)
    model = mm.StructuralSVM(mm.Cut(), C=0.1, tol=1e-2).fit(X[:50], Y[:50])
    alone = mm.StructuralSVM(mm.Cut(), C=0.1, tol=1e-2).fit([(x[0], []) for x in X[:50]], Y[:50])
    assert model.score(X[50:], Y[50:]) > 0.6 * alone.score([(x[0], []) for x in X[50:]], Y[50:])
    assert model.structure_.split_weights(model.coef_)["edges"][0] > 0
    certificate = model.certificate_
    assert certificate.exact == (len(names) == 2)
    assert certificate.primal <= certificate.primal_bound < 1.2 * certificate.primal
    model.save(tmp_path / "cut.mm", support=True)
    again = mm.load(tmp_path / "cut.mm")
    assert again.predict(X) == model.predict(X)
    assert again.support_.outputs == model.support_.outputs
    assert again.feature_names_out[-1] == "agree: x0"


def test_nodes_without_costs_do_not_count():
    X, Y = chain_graphs(np.random.default_rng(1), 4, ["x", "y"])
    structure = mm.Cut().fit(X, Y)
    wrong = [{"x": "y", "y": "x"}[label] for label in Y[0]]
    counts = np.zeros((25, 2))
    counts[:7] = 1.0
    assert structure.loss(mm.PartCosts(Y[0], counts), wrong) == 7.0
    assert structure.loss(Y[0], wrong) == 25.0


def test_decision_scores_of_nodes_and_edges():
    x = np.array([[2.0], [0.5], [-1.0]]), [(0, 1), (1, 2)]
    model = mm.StructuralSVM(mm.Cut(), C=10.0).fit([x], [["in", "in", "out"]])
    found = model.decision_scores([x])[0]
    every = {y: float(model.coef_ @ model.structure_.joint_feature(x, y)) for y in product(("in", "out"), repeat=3)}
    for v, k in np.ndindex(3, 2):
        best = max(score for y, score in every.items() if y[v] == ("in", "out")[k])
        assert found["nodes"][v, k] == pytest.approx(best)
    for e, (a, b) in enumerate(x[1]):
        assert found["edges"][e] == pytest.approx(max(score for y, score in every.items() if y[a] == y[b]))


def test_decision_scores_of_more_labels_are_lower_bounds():
    n, tight = 0, 0
    for seed in range(30):
        case = LabelledGraphs(seed, n_labels=3)
        for i, found in enumerate(case.structure.encode(case.X).max_marginals(case.w, np.arange(case.n))):
            expected = case.max_marginals(i, found)
            for name in ("nodes", "edges"):
                assert (found[name] <= expected[name] + 1e-9).all()
                np.testing.assert_array_equal(np.isinf(found[name]), np.isinf(expected[name]))
                n, tight = n + found[name].size, tight + np.isclose(found[name], expected[name]).sum()
    assert tight >= 0.95 * n, f"{tight} of {n}"


def test_the_k_best_of_more_labels_are_distinct_and_sorted():
    for seed in range(10):
        case = LabelledGraphs(seed, n_labels=3)
        for i, x in enumerate(case.X):
            ranked = case.structure.topk(case.w, x, len(case.outputs(i)) + 1)
            assert sorted(map(repr, case.outputs(i))) == sorted(repr(y) for y, _ in ranked)
            expected = [float(case.w @ case.psis[i][case.name(y)]) for y, _ in ranked]
            np.testing.assert_allclose([score for _, score in ranked], expected, atol=1e-9)


def test_large_grids_are_ranked_by_few_cuts():
    """Of each node, the best labelling that changes it, compared with an argmax of its own."""
    rng = np.random.default_rng(0)
    node = np.arange(400).reshape(20, 20)
    edges = np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1)
                            for a, b in ((node[:, :-1], node[:, 1:]), (node[:-1], node[1:]))])  # fmt: skip
    rows, w = rng.normal(size=(400, 1)), np.array([0.0, 1.0, 0.8])
    structure = mm.Cut(fit_intercept=False).fit([(rows, edges)], [np.arange(400) % 2])
    found = structure.encode([(rows, edges)]).max_marginals(w, np.zeros(1, int))[0]["nodes"]
    best = structure.argmax(w, (rows, edges))
    for v in range(0, 400, 37):
        allowed = np.ones((400, 2), bool)
        allowed[v, best[v]] = False
        x = rows, edges, None, allowed
        changed = structure.argmax(w, x)
        assert found[v, changed[v]] == pytest.approx(float(w @ structure.joint_feature(x, changed)), abs=1e-9)
    (_, first), (second, score), *_ = structure.topk(w, (rows, edges), 3)
    assert score == pytest.approx(np.sort(found.min(axis=1))[-1]) and score < first and second != best
