"""Matchings of general graphs against all matchings, and blossoms against the recursion over subsets."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import maxmargin as mm
from maxmargin.algorithms.blossom import NO_EDGE, best_perfect_matching
from maxmargin.structures.matching import _jit
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.matching import Partners

SQUARE, TRIANGLE = np.ones((4, 4, 2)), np.ones((3, 3, 2))
LOOSE, PERFECT = mm.Matching(perfect=False), mm.Matching()
STAR = np.array([[0, 1, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], bool)


class TestPerfectMatching(StructureConformance):
    bad_input = (
        (mm.Matching(perfect=1), [SQUARE], [[1, 0, 3, 2]], "perfect must be True or False, found 1"),
        (PERFECT, [np.ones((4, 4))], [[1, 0, 3, 2]], "X[0]: expected an array (nodes, nodes, d), a sparse matrix"),
        (
            PERFECT,
            [SQUARE, TRIANGLE],
            [[1, 0, 3, 2], [1, 0, -1]],
            "X[1]: 3 nodes, but a perfect matching needs an",
        ),
        (PERFECT, [(SQUARE, STAR)], [[1, 0, 3, 2]], "X[0]: the allowed edges contain no perfect matching; allow more"),
        (PERFECT, [SQUARE], [[1, 0]], "Y[0]: 2 partners, expected 4 as X has 4 nodes"),
        (PERFECT, [SQUARE], [[1, 0, 3, 4]], "Y[0], node 3: expected another node from 0 to 3, or −1, found 4"),
        (PERFECT, [SQUARE], [[0, 1, 3, 2]], "Y[0], node 0: expected another node from 0 to 3, or −1, found 0"),
        (PERFECT, [SQUARE], [[1, 2, 0, 0]], "Y[0]: the partner of node 0 is 1, but that of node 1 is 2"),
        (PERFECT, [SQUARE], [[1, 0, -1, -1]], "Y[0], node 2: no partner, but every node has one if perfect=True"),
        (PERFECT, [SQUARE], [[1.0, 0.0, 3.0, 2.0]], "Y[0]: expected the partner of each node, an integer"),
        (PERFECT, [SQUARE], [7], "Y[0]: expected the partner of each node, an integer, found 7"),
        (PERFECT, [(SQUARE, ~np.eye(4, k=1, dtype=bool))], [[1, 0, 3, 2]], "Y[0]: the edge (0, 1) is not allowed by X"),
        (PERFECT, [(SQUARE, None, SQUARE)], [[1, 0, 3, 2]], "or a pair (features, allowed), found a tuple of 3"),
        (PERFECT, [SQUARE], [mm.PartCosts([1, 0, 3, 2], np.ones(6))], "Y[0]: false costs have shape (6,), expected (4"),
        (
            PERFECT,
            [np.tril(np.ones((4, 4)))[:, :, None]],
            [[1, 0, 3, 2]],
            "X[0]: the features of all pairs i < j are",
        ),
        (PERFECT, [mm.EdgeFeatures([(0, 1), (1, 0)], np.ones((2, 1)))], [[1, 0]], "X[0]: the edge (0, 1) occurs twice"),
        (PERFECT, [mm.EdgeFeatures([(0, 1)], np.ones((2, 1)))], [[1, 0]], "X[0]: 2 rows of features but 1 edges"),
        (PERFECT, [mm.EdgeFeatures([(0, 0)], np.ones((1, 1)))], [[1, 0]], "X[0]: edge 0 joins node 0 with itself"),
        (PERFECT, [mm.EdgeFeatures([(0, 2)], np.ones((1, 1)), 2)], [[1, 0]], "X[0]: edge 0 is (0, 2), expected nodes"),
        (PERFECT, [mm.EdgeFeatures([(1, 0)], [[np.nan]])], [[1, 0]], "X[0], edge (0, 1): features must be finite"),
        (
            PERFECT,
            [(mm.EdgeFeatures([(0, 1)], [[1.0]]), np.ones((2, 2), bool))],
            [[1, 0]],
            "X[0]: EdgeFeatures lists the allowed edges; expected None as second entry",
        ),
        (
            PERFECT,
            [mm.EdgeFeatures([(0, 1), (0, 2), (0, 3)], sp.csr_array(np.ones((3, 1))))],
            [[1, 0, 3, 2]],
            "X[0]: the allowed edges contain no perfect matching",
        ),
    )

    def instance(self, seed):
        return Partners(seed, True)


class TestMatchingThatNeedNotBePerfect(StructureConformance):
    bad_input = (
        (LOOSE, [(TRIANGLE, None, np.ones((2, 1)))], [[1, 0, -1]], "X[0][2]: features of 2 nodes, expected 3"),
        (LOOSE, [(TRIANGLE,)], [[1, 0, -1]], "(features, allowed, features of unmatched nodes), found a tuple of 1"),
    )

    def instance(self, seed):
        return Partners(seed, False, 5)


def random_weights(rng, n, high, density):
    weights = np.triu(4 * rng.integers(-high, high + 1, (n, n)), 1)
    missing = np.triu(rng.random((n, n)) > density, 1)
    weights = weights + weights.T
    weights[missing | missing.T | np.eye(n, dtype=bool)] = NO_EDGE
    return weights


def total(weights, mate):
    assert (mate[mate] == np.arange(len(mate))).all()
    return sum(int(weights[a, b]) for a, b in enumerate(mate) if a < b)


def test_blossoms_find_what_the_recursion_over_subsets_finds():
    rng, feasible = np.random.default_rng(0), 0
    for _ in range(3000):
        n = 2 * int(rng.integers(1, 6))
        weights = random_weights(rng, n, rng.choice([1, 3, 30, 10**6]), rng.choice([0.3, 0.5, 0.8, 1.0]))
        table, mate, other = np.where(weights == NO_EDGE, -np.inf, weights), np.empty(n, int), np.empty(n, int)
        found = best_perfect_matching(weights, mate)
        assert found == _jit.best_of_subsets(table, other)
        if found:
            feasible += 1
            assert total(weights, mate) == total(weights, other)
    assert feasible > 1500


@pytest.mark.parametrize("high", [1, 20, 1000])
def test_more_nodes_and_nested_blossoms(high):
    """Clusters of odd size with better edges inside are what makes blossoms, and blossoms of blossoms."""
    rng = np.random.default_rng(high)
    for case in range(40):
        n = 16
        weights = random_weights(rng, n, high, (0.25, 0.5, 1.0)[case % 3])
        cluster = rng.integers(0, 5, n)
        weights = np.where((cluster[:, None] == cluster) & (weights != NO_EDGE), weights + 8 * high, weights)
        table, mate, other = np.where(weights == NO_EDGE, -np.inf, weights), np.empty(n, int), np.empty(n, int)
        found = best_perfect_matching(weights, mate)
        assert found == _jit.best_of_subsets(table, other)
        assert not found or total(weights, mate) == total(weights, other)


def test_two_triangles_and_a_bridge():
    """The best matching of this graph has no certificate by distances: fractional matchings are better."""
    table = np.zeros((6, 6))
    for a, b in [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)]:
        table[a, b] = 3.0
    table[2, 3] = 2.0
    x = table[:, :, None]
    assert mm.Matching().fit([x], [[1, 0, 3, 2, 5, 4]]).argmax(np.ones(1), x) == [1, 0, 3, 2, 5, 4]


@pytest.mark.parametrize("n", [7, 12])
def test_larger_matchings_that_need_not_be_perfect(n):
    """The matching of a graph and its copy, nodes joined with their copies, is perfect (Taskar et al. 2005)."""
    rng = np.random.default_rng(n)
    structure = mm.Matching(perfect=False).fit([np.ones((2, 2, 1))], [[1, 0]])
    doubled = mm.Matching().fit([np.ones((2, 2, 1))], [[1, 0]])
    for _ in range(25):
        table = np.triu(rng.normal(size=(n, n)), 1)
        found = structure.argmax(np.array([1.0, 0.3]), table[:, :, None])
        worth = sum(table[a, b] for a, b in enumerate(found) if a < b) + 0.3 * found.count(-1)
        copies = np.block([[table, 0.6 * np.eye(n)], [np.zeros((n, n)), table]])
        allowed = np.block([[np.ones((n, n)), np.eye(n)], [np.zeros((n, n)), np.ones((n, n))]]).astype(bool)
        both = doubled.argmax(np.ones(1), (copies[:, :, None], allowed))
        assert 2 * worth == pytest.approx(sum(copies[a, b] for a, b in enumerate(both) if a < b), rel=1e-12)


def test_scores_of_any_size():
    """Integers inside the algorithm are scaled to the scores."""
    rng = np.random.default_rng(5)
    table = rng.normal(size=(12, 12))
    structure = mm.Matching().fit([np.ones((2, 2, 1))], [[1, 0]])
    expected = structure.argmax(np.ones(1), table[:, :, None])
    for size in (1e-300, 1e-9, 1e9, 1e290):
        assert structure.argmax(np.ones(1), size * table[:, :, None]) == expected
    assert sorted(structure.argmax(np.zeros(1), table[:, :, None])) == list(range(12))


def test_learns_saves_and_explains(tmp_path):
    rng = np.random.default_rng(0)
    w, X = np.array([1.0, -2.0, 0.5, 0.0]), [rng.normal(size=(n, n, 4)) for n in 2 * rng.integers(2, 6, 60)]
    maker = mm.Matching().fit([np.ones((2, 2, 4))], [[1, 0]])
    Y = [maker.argmax(w, x) for x in X]
    model = mm.StructuralSVM(mm.Matching(), C=10.0).fit(X[:40], Y[:40])
    assert model.certificate_.gap <= 1e-3 and model.certificate_.exact
    assert model.score(X[40:], Y[40:]) > -0.5
    decision = model.explain(X[0])
    assert decision.margin > 0 and decision.runner_up != decision.prediction
    model.save(tmp_path / "matching.mm", support=True)
    again = mm.load(tmp_path / "matching.mm")
    assert again.predict(X) == model.predict(X)
    assert again.support_.outputs == model.support_.outputs
    assert again.topk(X[0], 3) == model.topk(X[0], 3)


def test_weights_have_the_names_of_features():
    x = mm.EdgeFeatures([(1, 0), (1, 2)], [{"near": 1.0}, {"far": 2.0}], 3)
    structure = mm.Matching(perfect=False).fit([(x, None, [{"old": 1.0}, {}, {}])], [[-1, 2, 1]])
    assert structure.feature_names().tolist() == ["near", "far", "unmatched, old", "unmatched"]
    np.testing.assert_array_equal(structure.joint_feature((x, None, [{"old": 3.0}, {}, {}]), [-1, 2, 1]), [0, 2, 3, 1])
    assert list(structure.split_weights(np.arange(4.0))) == ["edges", "unmatched"]
    assert clone(structure).get_params() == {"perfect": False, "decision": "auto"}


def test_losses_count_wrong_edges():
    assert mm.Matching().loss([1, 0, 3, 2], [2, 3, 0, 1]) == 2.0
    assert mm.Matching(perfect=False).loss([1, 0, -1, -1], [-1, -1, -1, -1]) == 0.5
    costs = mm.PartCosts([1, 0, 3, 2], false=np.full((4, 4), 3.0), missed=0.25)
    assert mm.Matching().loss(costs, [3, 2, 1, 0]) == 6.5
    with pytest.raises(ValueError, match="y has 2 nodes but y_hat has 4"):
        mm.Matching().loss([1, 0], [1, 0, 3, 2])
