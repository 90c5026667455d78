"""Labellings of any graphs against all labellings."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.exceptions import StructureError
from maxmargin.structures.graph._pairs import incident_edges
from maxmargin.structures.graph._tree_reweighted import log_partition_bound
from maxmargin.testing.conformance import SCALES, StructureConformance, linear_maximum
from tests.helpers.instances.graphs import HiddenLabels, PairwiseGraphs

ROWS = np.ones((3, 2))
EDGES = np.array([[0, 1], [1, 2]])
Y = ["a", "b", "a"]
DENSE = np.array([(a, b) for a in range(40) for b in range(a)])


class TestGraph(StructureConformance):
    bad_input = (
        (mm.Graph(), [ROWS], [Y], "X[0]: expected (nodes, edges[, features[, allowed]]), found ndarray"),
        (mm.Graph(), [(ROWS, EDGES), (ROWS, EDGES + 1)], [Y] * 2, "X[1]: edge 1 is (2, 3), expected nodes from 0 to 2"),
        (mm.Graph(), [(ROWS, [[0, 0]])], [Y], "X[0]: edge 0 joins node 0 with itself"),
        (mm.Graph(), [(ROWS, EDGES, ROWS)], [Y], "X[0]: 3 rows of edge features but 2 edges"),
        (mm.Graph(), [(ROWS, EDGES), (ROWS[:0], [])], [Y, []], "X[1]: expected at least one node, found none"),
        (mm.Graph(), [(ROWS[:0], [])], [[]], "expected at least two classes, found none: no node has a label"),
        (mm.Graph(), [(ROWS, EDGES)], [Y[:2]], "X[0]: 3 rows of node features but 2 labels"),
        (mm.Graph(classes=["a", "c"]), [(ROWS, EDGES)], [Y], "Y[0], node 1: unknown label 'b'; the classes are"),
        (mm.Graph(pairs="all"), [(ROWS, EDGES)], [Y], "pairs must be 'full' or 'symmetric' or 'diagonal' or 'potts'"),
        (mm.Graph(inference="lp"), [(ROWS, EDGES)], [Y], "inference must be 'auto' or 'exact' or 'trws'"),
        (mm.Graph(sweeps=0), [(ROWS, EDGES)], [Y], "sweeps must be an integer ≥ 1, found 0"),
        (mm.Graph(branches=-1), [(ROWS, EDGES)], [Y], "branches must be an integer ≥ 0, found -1"),
        (mm.Graph(forbidden=[("a", "z")]), [(ROWS, EDGES)], [Y], "forbidden must list pairs of labels, found ('a',"),
        (
            mm.Graph(forbidden=[("b", "a")]), [(ROWS, EDGES)], [Y],
            "Y[0]: nodes 1 and 2 have the labels ('b', 'a'), a forbidden pair",
        ),
        (
            mm.Graph(inference="exact"), [(np.ones((40, 1)), DENSE)], [Y * 13 + ["a"]],
            "X[0]: the graph of 40 nodes and 780 edges has a treewidth of about 39: tables of 2^40",
        ),
    )  # fmt: skip

    def instance(self, seed):
        return PairwiseGraphs(seed, 2 + seed % 2)


class TestLatentGraph(StructureConformance):
    bad_input = (
        (mm.LatentGraph(), [(ROWS, EDGES)], [["a", None, None]], "expected at least two classes, found one"),
        (mm.LatentGraph(unknown=-1, classes=[0, 1]), [(ROWS, EDGES)], [[0, -1]], "X[0]: 3 rows of node"),
        (mm.Graph(), [(ROWS, EDGES)], [["a", None, "b"]], "Y[0], node 1: expected a label, found None"),
        (
            mm.LatentGraph(forbidden=[("a", "a"), ("b", "a"), ("a", "b")], pairs="full"), [(ROWS, EDGES)],
            [["a", None, "b"]], "Y[0]: no labels of the unknown nodes are without forbidden pairs",
        ),
    )  # fmt: skip

    def instance(self, seed):
        return HiddenLabels(seed, 2 + seed % 2)


@pytest.mark.parametrize("n_labels", [2, 3])
@pytest.mark.parametrize("inference", ["trws", "expansion", "milp"])
def test_other_ways_have_proven_bounds(inference, n_labels):
    """Scores are at most the best of all labellings, bounds at least; both are close."""
    attained, tight, n = 0, 0, 0
    for seed in range(8 if inference == "milp" else 40):
        case = PairwiseGraphs(seed, n_labels, inference=inference, branches=0)
        assert (case.examples.exact, case.examples.bounded, case.structure.exact) == (False, True, False)
        ids, scales = case.rng.permutation(case.n), case.rng.choice(SCALES, case.n)
        answers = case.decoded(ids, scales)
        case.check_planes(answers, ids)
        for r, i in enumerate(ids.tolist()):
            found = case.found(answers, i)
            rise, loss = case.rise(i, found), case.loss(i, found)
            best = case.best(i, lambda m, b, scale=scales[r]: m + scale * b)
            assert answers.rises[i] == pytest.approx(rise, abs=1e-9)
            assert rise + scales[r] * loss <= best + 1e-9 <= answers.upper[i] + 2e-6 * (1 + abs(best))
            attained += rise + scales[r] * loss >= best - 1e-6
            tight += answers.upper[i] <= best + 1e-6 * (1 + abs(best))
            n += 1
    assert attained >= 0.97 * n and tight >= (1.0 if inference == "milp" else 0.8) * n, f"{attained}, {tight} of {n}"


def dense_graphs(seed, n_labels, n_graphs=4, size=7):
    """Frustrated graphs, whose linear relaxation is not tight."""
    rng = np.random.default_rng(seed)
    edges = np.array([(a, b) for a in range(size) for b in range(a)])
    X = [(rng.normal(size=(size, 2)), edges, rng.normal(size=(len(edges), 2))) for _ in range(n_graphs)]
    return X, [rng.integers(0, n_labels, size) for _ in range(n_graphs)]


@pytest.mark.parametrize("pairs", ["full", "symmetric", "diagonal", "potts"])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_relaxed_answers_are_between_labellings_and_the_linear_relaxation(n_labels, pairs):
    """With two labels they attain it."""
    fractional = 0
    for seed in range(4):
        X, Y = dense_graphs(seed, n_labels)
        structure = mm.Graph(pairs=pairs, relaxed=True, inference="trws", branches=1000, classes=list(range(n_labels)))
        examples = structure.fit_encode(X, Y)
        plain, ids = examples.unrelaxed(), np.arange(len(X))
        w, scales = np.random.default_rng(seed).normal(size=examples.dim), np.ones(len(X))
        answers, labels = examples.empty_answers(), plain.empty_answers()
        examples.decode(w, ids, scales, answers)
        plain.decode(w, ids, scales, labels)
        found, best = answers.rises + answers.losses, labels.rises + labels.losses
        planes = examples.planes(ids, answers)
        np.testing.assert_allclose(planes.dot(w), -answers.rises, atol=1e-9)
        linear = [linear_maximum(plain, i, w, plain.polytope(i)) for i in ids]
        assert (found >= best - 1e-9).all() and (found <= np.array(linear) + 1e-6).all()
        if n_labels == 2:
            assert examples.exact
            np.testing.assert_allclose(found, linear, atol=1e-6)
        else:
            assert (answers.upper >= np.array(linear) - 1e-6).all()
        again = examples.take(ids[::-1])
        other = again.empty_answers()
        again.decode(w, ids, scales, other)
        np.testing.assert_array_equal(other.keys[::-1], answers.keys)
        fractional += int((found > best + 1e-6).sum())
    assert fractional > 0, "nothing was tested"


def test_a_relaxed_fit_does_not_claim_a_lower_bound():
    """The lower bound of the relaxation may be above the optimum of the objective."""
    X, Y = dense_graphs(5, 2, 6)
    teacher = mm.Graph(inference="exact").fit(X, Y)
    w = 2.0 * np.random.default_rng(1).normal(size=teacher.size)
    Y = [teacher.argmax(w, x) for x in X]
    relaxed = mm.StructuralSVM(mm.Graph(relaxed=True, inference="trws", branches=1000), C=1.0, tol=1e-3).fit(X, Y)
    exact = mm.StructuralSVM(mm.Graph(inference="exact"), C=1.0, tol=1e-3).fit(X, Y)
    certificate = relaxed.certificate_
    assert relaxed.stop_reason_ == "tol" and exact.certificate_.proven
    assert certificate.dual == 0.0 and certificate.relaxation is not None and "relaxation" in str(certificate)
    assert certificate.relaxation > exact.certificate_.primal, "the case does not show it"
    assert certificate.primal <= certificate.primal_bound
    assert certificate.primal >= exact.certificate_.dual
    assert relaxed.history_[-1]["dual"] == pytest.approx(certificate.relaxation)
    assert all(isinstance(y, list) and set(y) <= {0, 1} for y in relaxed.predict(X))
    halves = [y for y in relaxed.support_.outputs if any(isinstance(label, tuple) for label in y)]
    assert halves, "no plane is fractional"
    assert mm.Graph(relaxed=False).fit_encode(X, Y).relaxed is False


def grid(height, width):
    node = np.arange(height * width).reshape(height, width)
    pairs = ((node[:, :-1], node[:, 1:]), (node[:-1], node[1:]))
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])


def scored(structure, x, y, w):
    examples = structure.fit_encode([x], [y])
    answers = examples.empty_answers()
    examples.decode(w, np.zeros(1, np.int64), np.ones(1), answers)
    return examples, answers.rises[0] + answers.losses[0], answers.upper[0]


@pytest.mark.parametrize("n_labels", [2, 3])
def test_larger_grids_by_elimination_cuts_messages_and_programs(n_labels):
    """Too many labellings to enumerate: the ways agree."""
    rng, edges = np.random.default_rng(n_labels), grid(4, 8)
    x, y = (rng.normal(size=(32, 2)), edges, rng.normal(size=(len(edges), 2))), rng.integers(0, n_labels, 32)
    classes = list(range(n_labels))
    w = rng.normal(size=3 * n_labels + 2 * n_labels**2)
    examples, best, _ = scored(mm.Graph(classes=classes, inference="exact"), x, y, w)
    assert examples.exact and examples.summable
    for inference in ("milp", "trws", "expansion"):
        _, found, upper = scored(mm.Graph(classes=classes, inference=inference, branches=5000), x, y, w)
        assert found <= best + 1e-9 and upper >= best - 1e-6
        if inference != "expansion":
            assert found == pytest.approx(best, abs=1e-6) and upper == pytest.approx(best, rel=1e-5)
    _, fewer, loose = scored(mm.Graph(classes=classes, inference="trws", sweeps=1, branches=0), x, y, w)
    assert fewer <= best + 1e-9 and loose >= best - 1e-9


def test_parallel_edges_add_up_and_isolated_nodes_stay_alone():
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(5, 2)), [0, 1, 0, 1, 1]
    once = (rows, [(0, 1), (1, 2)], np.array([[3.0], [1.0]]))
    twice = (rows, [(0, 1), (1, 2), (0, 1)], np.array([[1.0], [1.0], [2.0]]))
    w = rng.normal(size=10)
    assert scored(mm.Graph(), once, y, w)[1] == pytest.approx(scored(mm.Graph(), twice, y, w)[1], abs=1e-12)
    alone = scored(mm.Graph(), (rows, []), y, w)[1]
    structure = mm.Multiclass().fit(rows, y)
    singles = [structure.loss_augmented_argmax(w[:6], row, label, 1.0) for row, label in zip(rows, y, strict=True)]
    total = sum(
        float(w[:6] @ (structure.joint_feature(row, found) - structure.joint_feature(row, label))) + (found != label)
        for row, label, found in zip(rows, y, singles, strict=True)
    )
    assert alone == pytest.approx(total, abs=1e-12)


def test_no_labelling_is_left():
    """Three labels that must all differ cannot colour four nodes that are all joined."""
    edges = np.array([(a, b) for a in range(4) for b in range(a)])
    same = [(k, k) for k in range(3)]
    structure = mm.Graph(forbidden=same, classes=[0, 1, 2]).fit([(np.ones((3, 1)), edges[:3])], [[0, 1, 2]])
    for inference in ("auto", "trws", "milp"):
        structure.inference = inference
        assert sorted(structure.argmax(np.zeros(structure.size), (np.ones((3, 1)), edges[:3]))) == [0, 1, 2]
        with pytest.raises(StructureError, match="the allowed parts form no output"):
            structure.argmax(np.zeros(structure.size), (np.ones((4, 1)), edges))


def test_fits_do_not_depend_on_threads():
    X, Y = dense_graphs(3, 3, 6)
    fits = [mm.StructuralSVM(mm.Graph(inference="trws"), C=1.0, n_jobs=jobs).fit(X, Y).coef_ for jobs in (1, 2)]
    np.testing.assert_array_equal(*fits)


def test_forests_are_exact_whatever_their_size():
    rng, n = np.random.default_rng(0), 20_000
    trees = np.stack([[rng.integers(v) for v in range(1, n // 2)], np.arange(1, n // 2)], axis=1)
    star = np.stack([np.zeros(n - 1, int), np.arange(1, n)], axis=1)
    for edges in (trees, star, trees[:3]):
        examples = mm.Graph(classes=[0, 1]).fit_encode([(np.ones((n, 1)), edges)], [np.arange(n) % 2])
        assert examples.exact and examples.integral and not examples.relaxed


@pytest.mark.parametrize("pairs", ["full", "potts", "diagonal"])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_bounds_on_log_partitions(n_labels, pairs):
    """They are at least the log-sum over all labellings, close to it for weak edges, and exact by elimination."""
    rng, size, gaps, falls = np.random.default_rng(n_labels), 7, [], []
    edges = np.array([(a, b) for a in range(size) for b in range(a) if rng.random() < 0.7])
    classes = list(range(n_labels))
    for strength in (0.1, 1.0, 4.0):
        x = rng.normal(size=(size, 2)), edges, rng.normal(size=(len(edges), 2)) / 2
        structure = mm.Graph(pairs=pairs, classes=classes, inference="trws").fit([x], [rng.integers(0, n_labels, 7)])
        w = rng.normal(size=structure.size)
        w[3 * n_labels :] *= strength
        totals = [float(w @ structure.joint_feature(x, y)) for y in structure.enumerate(x)]
        exact = float(np.logaddexp.reduce(totals))
        bound = structure.log_partition_bound(w, x)
        gaps.append((bound - exact) / abs(exact))
        examples, ids = structure.encode([x]), np.zeros(1, np.int64)
        scores = examples.scores(w, ids)
        tables = scores[0].values.reshape(size, n_labels), examples._pair_scores(scores[1], ids)[0]
        first = log_partition_bound(*tables, edges, *incident_edges(edges, size), 0)
        assert first >= bound
        falls.append((first - exact) / (bound - exact))
        structure.inference = "exact"
        assert structure.log_partition_bound(w, x) == pytest.approx(exact, rel=1e-9)
    assert min(gaps) >= -1e-12 and gaps[0] < 0.01 and gaps[1] < 0.2, gaps
    assert max(falls) > 1.5, falls
    structure.inference = "trws"
    path = x[0], [(v, v + 1) for v in range(size - 1)], x[2][: size - 1]
    totals = [float(w @ structure.joint_feature(path, y)) for y in structure.enumerate(path)]
    assert structure.log_partition_bound(w, path) == pytest.approx(np.logaddexp.reduce(totals), rel=1e-9)


@pytest.mark.parametrize("w", [np.full(10, np.nan), np.zeros(9), np.full(10, np.inf), np.zeros((1, 10))])
def test_a_bound_on_the_log_partition_needs_all_weights(w):
    """NaN gave −∞, which is not a bound."""
    X, Y = mm.datasets.toy.graphs(3)
    structure = mm.StructuralSVM(mm.Graph(pairs="potts", fit_intercept=False), max_iter=2, tol=1.0).fit(X, Y).structure_
    assert structure.size == 10
    with pytest.raises(ValueError, match="w must be 10 finite numbers, found"):
        structure.log_partition_bound(w, X[0])
