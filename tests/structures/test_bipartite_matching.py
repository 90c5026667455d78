"""Bipartite matchings against all matchings, and larger ones against other algorithms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment, linprog
from sklearn.base import clone

import maxmargin as mm
from maxmargin.structures.bipartite_matching import _jit
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.matching import Assignments

WIDE = np.ones((2, 3, 2))
NO_COLUMN = np.array([[1, 0, 0], [1, 0, 0]], bool)
PLAIN, PAIRS, LOOSE = (
    mm.BipartiteMatching(),
    mm.BipartiteMatching(per_left=2, per_right=2),
    mm.BipartiteMatching(unassigned=True),
)


class TestAssignment(StructureConformance):
    bad_input = (
        (mm.BipartiteMatching(per_left=0), [WIDE], [[0, 1]], "per_left must be an integer ≥ 1, found 0"),
        (mm.BipartiteMatching(per_left=[1, -1]), [WIDE], [[0, 1]], "per_left must be an integer ≥ 1, or an array"),
        (mm.BipartiteMatching(per_left=[1, 1, 1]), [WIDE], [[0, 1]], "X[0]: per_left has 3 numbers, but X has 2 left"),
        (mm.BipartiteMatching(per_right=[1, 0, 0]), [WIDE], [[0, 1]], "per_right=[1, 0, 0] have 1; raise per_right"),
        (
            mm.BipartiteMatching(per_right=[1, 0, 1]),
            [WIDE],
            [[0, 1]],
            "Y[0]: right node 1 has 1 left nodes, but per",
        ),
        (
            PLAIN,
            [mm.PairFeatures(WIDE, per_left=[1, 2])],
            [[0, 1]],
            "X[0]: per_left of left node 1 is 2, but the",
        ),
        (
            PLAIN,
            [mm.PairFeatures(WIDE, per_right=0.5)],
            [[0, 1]],
            "X[0]: per_right must be an integer ≥ 0 or",
        ),
        (
            PLAIN,
            [mm.PairFeatures(WIDE, None, WIDE)],
            [[0, 1]],
            "X[0]: features of unassigned nodes need unass",
        ),
        (mm.BipartiteMatching(per_right=1.5), [WIDE], [[0, 1]], "per_right must be an integer ≥ 1, found 1.5"),
        (mm.BipartiteMatching(unassigned="no"), [WIDE], [[0, 1]], "unassigned must be True or False, found 'no'"),
        (PLAIN, [np.ones((2, 3))], [[0, 1]], "X[0]: expected an array (n_left, n_right, d), a list of n_left sparse"),
        (PLAIN, [np.ones((2, 3, 0))], [[0, 1]], "found an array of shape (2, 3, 0)"),
        (PLAIN, [np.ma.array(WIDE, mask=WIDE > 2)], [[0, 1]], "X[0]: masked arrays are not supported"),
        (PLAIN, [WIDE * 1j], [[0, 1]], "X[0]: features must be real numbers, found complex128"),
        (PLAIN, [WIDE, np.ones((2, 3, 4))], [[0, 1]] * 2, "X[1]: 4 features per pair, expected 2"),
        (PLAIN, [np.where(np.eye(2, 3)[:, :, None], 1, np.nan)], [[0, 1]], "X[0], pair (0, 1): features must be"),
        (PLAIN, [[[["a"]], [["a"], ["b"]]]], [[0, 1]], "X[0]: expected an array (n_left, n_right, d)"),
        (PLAIN, [[[[1.0], [1.0, 2.0]]]], [[0]], "X[0], pair (0, 1): expected 1 numbers, found [1.0, 2.0]"),
        (PLAIN, [5], [[0]], "X[0]: expected an array (n_left, n_right, d)"),
        (PLAIN, [sp.csr_array(np.ones((6, 2)))], [[0, 1]], "X[0]: a sparse matrix of 6 pairs does not say how many"),
        (PLAIN, [[sp.csr_array(np.ones((k, 2))) for k in (2, 3)]], [[0, 1]], "sparse matrices of shapes [(2, 2),"),
        (PLAIN, [(WIDE, None, WIDE)], [[0, 1]], "X[0]: expected features, or a pair (features, allowed), found a"),
        (
            PLAIN,
            [(WIDE, np.ones((2, 3)))],
            [[0, 1]],
            "X[0]: the allowed pairs must be an array of bool of shape (2",
        ),
        (PLAIN, [WIDE], [[0, 1], [0, 1]], "X has 1 examples but Y has 2"),
        (PLAIN, [WIDE], [[0]], "Y[0]: 1 left nodes, expected 2 as in X"),
        (PLAIN, [WIDE], [[0, 3]], "Y[0], left node 1: expected right nodes from 0 to 2, found 3"),
        (PLAIN, [WIDE], [[0, 0]], "Y[0]: right node 0 has 2 left nodes, but per_right=1"),
        (
            PLAIN,
            [WIDE[:, :, 0]],
            [[0, 1]],
            "found an array of shape (2, 3); if each pair has one feature, pass x[:, :, No",
        ),
        (
            PLAIN,
            [WIDE],
            [(np.array([0, 1]), np.array([1, 0]))],
            "expected exactly 1 right node, found 2; y has one for each left node, as the second array of scipy's",
        ),
        (PLAIN, [WIDE], [[0, -1]], "Y[0], left node 1: expected exactly 1 right nodes, found 0; fewer need unassigned"),
        (PLAIN, [WIDE], [[0, -2]], "Y[0], left node 1: expected a right node, an integer, or −1, found [-2]"),
        (PLAIN, [WIDE], [[0.0, 1.0]], "Y[0], left node 0: expected a right node, an integer, or −1, found [0.0]"),
        (PLAIN, [WIDE], [5], "Y[0]: expected the right node of each left node, found 5"),
        (
            PLAIN,
            [WIDE, WIDE.transpose(1, 0, 2)],
            [[0, 1], [0, 1, 0]],
            "X[1]: 3 left nodes with per_left=1 need 3 places, but 2 right nodes with per_right=1 have 2; raise "
            "per_right or set unassigned=True",
        ),
        (
            PLAIN,
            [WIDE, (WIDE, NO_COLUMN)],
            [[0, 1]] * 2,
            "X[1]: the allowed pairs contain no matching with per_left=1 and per_right=1; allow more pairs",
        ),
        (PLAIN, [(WIDE, ~np.eye(2, 3, dtype=bool))], [[1, 1]], "Y[0]: right node 1 has 2 left nodes"),
        (PLAIN, [(WIDE, ~np.eye(2, 3, dtype=bool))], [[2, 1]], "Y[0]: the pair (1, 1) is forbidden by X"),
        (PLAIN, [WIDE], [mm.PartCosts([0, 1], np.ones(3))], "Y[0]: false costs have shape (3,), expected (2, 3)"),
        (PLAIN, [WIDE], [mm.PartCosts([0, 1], 1.0, -1.0)], "Y[0]: missed costs must be finite numbers ≥ 0"),
    )

    def instance(self, seed):
        return Assignments(seed, 1, 1, False)


class TestAssignmentWithNone(StructureConformance):
    bad_input = (
        (LOOSE, [(WIDE, None, np.ones((3, 1)))], [[0, 1]], "X[0][2]: features of 3 nodes, expected 2"),
        (
            LOOSE,
            [(WIDE,)],
            [[0, 1]],
            "(features, allowed, features of unassigned nodes), found a tuple of 1",
        ),
        (
            LOOSE,
            [(WIDE, None, np.ones((2, 1))), WIDE],
            [[0, 1]] * 2,
            "X[1][2]: 0 features per node, expected 1",
        ),
    )

    def instance(self, seed):
        return Assignments(seed, 1, 1, True)


class TestTwoPerLeft(StructureConformance):
    bad_input = (
        (PAIRS, [WIDE], [[0, 1]], "Y[0], left node 0: expected a list of right nodes, integers, found 0"),
        (PAIRS, [WIDE], [[[0, 0], [1, 2]]], "Y[0], left node 0: the same right node twice: [0, 0]"),
        (PAIRS, [WIDE], [[[0], [1, 2]]], "Y[0], left node 0: expected exactly 2 right nodes, found 1; fewer need"),
        (PAIRS, [WIDE], [[[0, 1, 2], [1, 2]]], "Y[0], left node 0: expected exactly 2 right nodes, found 3"),
        (PAIRS, [np.ones((1, 1, 2))], [[[0]]], "X[0]: per_left=2 needs 2 right nodes, found 1; lower per_left"),
    )

    def instance(self, seed):
        return Assignments(seed, 2, 2, False)


class TestUpToTwoPerLeft(StructureConformance):
    def instance(self, seed):
        return Assignments(seed, 2, 1, True)


class TestManyToOne(StructureConformance):
    def instance(self, seed):
        return Assignments(seed, 1, 2, True)


class TestCapacitiesOfNodes(StructureConformance):
    """Some left nodes need no right node, some right nodes take none."""

    def instance(self, seed):
        return Assignments(seed, 2, 2, bool(seed % 2), own=True)


def test_capacities_of_the_structure_are_those_of_each_example():
    """Hospitals of different sizes: the same as capacities that each example has."""
    rng = np.random.default_rng(0)
    rights, X = [2, 0, 1, 3], [rng.normal(size=(5, 4, 2)) for _ in range(3)]
    shared = mm.BipartiteMatching(per_right=rights)
    Y = [[0, 0, 2, 3, 3]] * 3
    examples = shared.fit_encode(X, Y)
    own = mm.BipartiteMatching().fit_encode([mm.PairFeatures(x, per_right=rights) for x in X], Y)
    assert examples.digest() == own.digest()
    for x in X:
        loads = np.bincount(shared.argmax(np.array([1.0, -1.0]), x), minlength=4)
        assert (loads <= rights).all() and loads.sum() == 5
    again = type(shared).from_state(shared.get_state())
    assert again.argmax(np.array([1.0, -1.0]), X[0]) == shared.argmax(np.array([1.0, -1.0]), X[0])


@pytest.mark.parametrize(("n_left", "n_right"), [(1, 1), (7, 7), (20, 30), (40, 40)])
def test_larger_assignments_are_those_of_scipy(n_left, n_right):
    rng = np.random.default_rng(n_left)
    for whole in (False, True) * 15:
        table = rng.integers(-3, 4, (n_left, n_right)).astype(float) if whole else rng.normal(size=(n_left, n_right))
        table[rng.random((n_left, n_right)) < 0.1] = -np.inf
        match = np.empty(n_left, np.int32)
        if not _jit.best_assignment(table, np.full(n_left, -np.inf), match):
            with pytest.raises(ValueError, match="infeasible"):
                linear_sum_assignment(table, maximize=True)
            continue
        assert len(set(match.tolist())) == n_left
        rows, columns = linear_sum_assignment(table, maximize=True)
        assert table[np.arange(n_left), match].sum() == pytest.approx(table[rows, columns].sum(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("n_left", "n_right", "R", "P", "none"), [(12, 15, 3, 4, False), (9, 6, 2, 2, True)])
def test_larger_flows_are_those_of_a_linear_program(n_left, n_right, R, P, none):
    """A pair is used at most once: copies of nodes for an assignment would use good pairs several times."""
    rng = np.random.default_rng(n_left)
    lefts, rights = np.kron(np.eye(n_left), np.ones(n_right)), np.kron(np.ones(n_left), np.eye(n_right))
    for _ in range(15):
        table = rng.normal(size=(n_left, n_right)) + rng.normal(size=n_right)
        alone = rng.normal(size=n_left) if none else np.full(n_left, -np.inf)
        used = np.empty(table.shape, bool)
        assert _jit.best_flow(table, alone, np.full(n_left, R), np.full(n_right, P), used)
        assert (used.sum(axis=0) <= P).all() and (used.sum(axis=1) <= R).all()
        missing = R - used.sum(axis=1)
        assert none or not missing.any()
        value = table[used].sum() + (missing @ alone if none else 0.0)
        costs = -(table - (alone[:, None] if none else 0.0)).ravel()
        sums = {"A_ub": np.vstack([rights, lefts]), "b_ub": [P] * n_right + [R] * n_left} if none else {
            "A_ub": rights, "b_ub": [P] * n_right, "A_eq": lefts, "b_eq": [R] * n_left,
        }  # fmt: skip
        expected = -linprog(costs, bounds=(0, 1), **sums).fun + (R * alone.sum() if none else 0.0)
        assert value == pytest.approx(expected, rel=1e-9)


def test_a_left_node_without_allowed_pairs_leaves_no_matching():
    """Its price of −∞ must not become NaN, which would count as unassigned."""
    allowed = np.array([[True, True, True], [False, False, False]])
    for R, P in ((1, 1), (1, 2), (2, 2), (2, 1)):
        structure = mm.BipartiteMatching(per_left=R, per_right=P).fit(
            [np.ones((1, 3, 1))], [[list(range(R))] if R > 1 else [0]]
        )
        with pytest.raises(ValueError, match="need 4 places" if (R, P) == (2, 1) else "contain no matching"):
            structure.argmax(np.ones(1), (WIDE[:, :, :1], allowed))
        table, used = np.where(allowed, 0.0, -np.inf), np.empty((2, 3), bool)
        sides = np.full(2, R), np.full(3, P)
        assert not _jit.best_flow(table, np.full(2, -np.inf), *sides, used)
        assert _jit.best_flow(table, np.array([-np.inf, -1.0]), *sides, used) and not used[1].any()


def test_learns_saves_and_explains(tmp_path):
    rng = np.random.default_rng(0)
    w, X = np.array([1.0, -2.0, 0.5, 0.0]), [rng.normal(size=(5, 7, 4)) for _ in range(60)]
    maker = mm.BipartiteMatching(per_left=2, per_right=2).fit(X[:1], [[[0, 1], [0, 1], [2, 3], [2, 3], [4, 5]]])
    Y = [maker.argmax(w, x) for x in X]
    model = mm.StructuralSVM(mm.BipartiteMatching(per_left=2, per_right=2), C=10.0).fit(X[:40], Y[:40])
    assert model.certificate_.gap <= 1e-3 and model.certificate_.exact
    assert model.score(X[40:], Y[40:]) > -1.0
    assert np.corrcoef(model.coef_, w)[0, 1] > 0.98
    decision = model.explain(X[0])
    assert decision.margin > 0 and decision.runner_up != decision.prediction
    model.save(tmp_path / "matching.mm", support=True)
    again = mm.load(tmp_path / "matching.mm")
    assert again.predict(X) == model.predict(X)
    assert again.support_.outputs == model.support_.outputs
    assert again.topk(X[0], 3) == model.topk(X[0], 3)


def test_the_k_best_where_non_assignment_counts_three_times():
    rng = np.random.default_rng(3)
    structure = mm.BipartiteMatching(per_left=3, unassigned=True).fit([np.ones((2, 3, 1))], [[[0], [1]]])
    for scale in (0.1, 10.0):
        x, w = rng.normal(size=(2, 3, 1)), np.array([1.0, scale])
        totals = sorted((float(w @ structure.joint_feature(x, y)) for y in structure.enumerate(x)), reverse=True)
        np.testing.assert_allclose([score for _, score in structure.topk(w, x, len(totals) + 1)], totals, atol=1e-9)


def test_weights_have_the_names_of_features():
    x = [[["a", "b"], ["c"]], [["b"], None]]
    structure = mm.BipartiteMatching(unassigned=True).fit([(x, None, [{"old": 1.0}, {}])], [[0, -1]])
    assert structure.feature_names().tolist() == ["a", "b", "c", "unassigned, old", "unassigned"]
    np.testing.assert_array_equal(structure.joint_feature((x, None, [{}, {"old": 2.0}]), [1, -1]), [0, 0, 1, 2, 1])
    assert list(structure.split_weights(np.arange(5.0))) == ["pairs", "unassigned"]
    assert clone(structure).get_params() == {
        "per_left": 1, "per_right": 1, "unassigned": True, "decision": "auto",
    }  # fmt: skip


def test_losses_count_wrong_pairs():
    plain, loose = mm.BipartiteMatching(), mm.BipartiteMatching(unassigned=True)
    assert plain.loss([0, 1, 2], [1, 0, 2]) == 2.0
    assert loose.loss([0, 1, -1], [0, 2, 1]) == 1.5  # one missed, two false
    assert loose.loss(mm.PartCosts([0, -1], false=3.0, missed=0.25), [-1, 0]) == 3.25
    with pytest.raises(ValueError, match="y has 1 left nodes but y_hat has 2"):
        plain.loss([0], [0, 1])


def test_what_is_not_learnt_can_still_be_left_out():
    """An unassigned node needs no features: its weight alone says when a poor pair is better than none."""
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(4, 4, 1)) for _ in range(80)]
    maker = mm.BipartiteMatching(unassigned=True).fit(X[:1], [[-1] * 4])
    Y = [maker.argmax(np.array([1.0, 0.5]), x) for x in X]
    model = mm.StructuralSVM(mm.BipartiteMatching(unassigned=True), C=1.0).fit(X[:60], Y[:60])
    assert model.coef_[1] / model.coef_[0] == pytest.approx(0.5, abs=0.1)
    assert model.score(X[60:], Y[60:]) > -0.3
