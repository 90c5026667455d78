"""Choices of items against all choices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import maxmargin as mm
from maxmargin.structures.knapsack import structure as knapsack
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.graphs import Items

ROWS = np.ones((2, 3))
X, WIDE = (ROWS, [1, 2], 2), (ROWS, [1, 2], 9)
LONG = (np.ones((3, 3)), [1, 2, 1], 3)


class TestKnapsack(StructureConformance):
    bad_input = (
        (mm.Knapsack(), [ROWS], [[1, 0]], "X[0]: expected (features, weights, capacity[, allowed]), found ndarray"),
        (mm.Knapsack(), [(ROWS, [1, 2])], [[1, 0]], "found tuple of 2"),
        (mm.Knapsack(), [X, (ROWS, [1, -2], 2)], [[1, 0]] * 2, "X[1]: weights must be finite numbers ≥ 0"),
        (mm.Knapsack(), [(ROWS, [1, np.nan], 2)], [[1, 0]], "X[0]: weights must be finite numbers ≥ 0"),
        (mm.Knapsack(), [(ROWS, ["a", "b"], 2)], [[1, 0]], "X[0]: weights must be finite numbers ≥ 0"),
        (mm.Knapsack(), [(ROWS[:, 0], [1, 2], 2)], [[1, 0]], "X[0]: expected features of items as an array (items, d)"),
        (mm.Knapsack(), [(ROWS, [], 2)], [[]], "X[0]: expected at least one item, found none"),
        (mm.Knapsack(), [(ROWS, [1, 2], -1)], [[1, 0]], "X[0]: the capacity must be a number ≥ 0, found -1"),
        (mm.Knapsack(), [(ROWS, [1, 2], None)], [[1, 0]], "X[0]: the capacity must be a number ≥ 0, found None"),
        (mm.Knapsack(), [(ROWS, [1, 2, 3], 2)], [[1, 0, 0]], "X[0]: 2 rows of item features but 3 weights"),
        (mm.Knapsack(), [(*X, [1, 1])], [[1, 0]], "X[0]: the allowed items must be an array of bool of shape (2,)"),
        (mm.Knapsack(), [(*X, np.array([False, True]))], [[1, 0]], "Y[0]: item 0 is forbidden by X"),
        (mm.Knapsack(), [X], [[1, 1]], "Y[0]: the chosen items weigh 3, but the capacity is 2"),
        (mm.Knapsack(decision="vector"), [X], [[1]], "Y[0]: 1 numbers, but X has 2 items"),
        (mm.Knapsack(decision="indices"), [X], [[2]], "Y[0]: item 2 does not exist: X has items 0 to 1"),
        (mm.Knapsack(decision="indices"), [X], [[0, 0]], "Y[0]: expected distinct indices from 0 on, found [0, 0]"),
        (mm.Knapsack(decision="both"), [X], [[0]], "decision must be one of 'auto', 'vector', 'indices', 'set', found"),
        (mm.Knapsack(), [WIDE], [[1, 0]], "Y can be read as lists of indices and as 0/1 vectors: pass decision="),
        (mm.Knapsack(), [LONG, X], [[1, 0, 0], {0}], "Y[1]: outputs have different forms: this is one of sets of ind"),
        (mm.Knapsack(), [LONG, LONG], [[1, 0, 0], [2]], "but outputs before it are 0/1 vectors; use one form for all"),
        (mm.Knapsack(), [X], [[1, 0.5]], "Y[0]: expected 0 or 1 for each item, found [1, 0.5]"),
        (mm.Knapsack(), [X], ["10"], "Y[0]: expected 0 or 1 for each item, found '10'"),
        (mm.Knapsack(), [X], [mm.PartCosts([1, 0], np.ones(3))], "Y[0]: false costs have shape (3,), expected (2,)"),
        (mm.Knapsack(), [X, X], [[1, 0]], "X has 2 examples but Y has 1"),
    )

    def instance(self, seed):
        return Items(seed)


class TestKnapsackOfFractions(StructureConformance):
    def instance(self, seed):
        return Items(seed, fractional=True)


def best_by_milp(values, weights, capacity):
    m = len(values)
    found = milp(-values, integrality=np.ones(m), bounds=Bounds(0, 1), options={"mip_rel_gap": 0.0},
                 constraints=LinearConstraint(weights[None], -np.inf, capacity))  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("way", ["table", "list", "highs"])
def test_larger_knapsacks_are_those_of_a_solver_of_programs(way, monkeypatch):
    if way != "table":
        monkeypatch.setattr(knapsack, "LARGEST_TABLE", 0)
    if way == "highs":
        monkeypatch.setattr(knapsack, "MOST_STATES", 1)
    rng = np.random.default_rng(0)
    for m in (20, 40):
        values, weights = rng.normal(size=m) + 1.0, rng.integers(1, 60, m)
        x = (values[:, None], weights, int(weights.sum() // 3))
        structure = mm.Knapsack()
        examples = structure.fit_encode([x], [[0] * m])
        assert examples.tabled.all() == (way == "table")
        chosen = structure.argmax(np.ones(1), x)
        assert weights @ chosen <= x[2]
        assert values @ chosen == pytest.approx(best_by_milp(values, weights, x[2]), rel=1e-9)


def test_fractions_within_the_tolerances_of_solvers():
    """HiGHS takes constraints as met that are broken by a millionth, and drops small coefficients."""
    rng, every = np.random.default_rng(0), np.array(list(itertools.product((0, 1), repeat=7)))
    structure = mm.Knapsack().fit([(np.eye(7), np.ones(7), 1)], [[0] * 7])
    for case in range(60):
        weights = np.abs(rng.normal(size=7)) * 10.0 ** rng.integers(-7, 8, 7) if case % 2 else 1 + rng.integers(0, 3, 7)
        within = rng.random(7) < 0.5
        capacity = float(weights @ within) * (1.0 - [0.0, 1e-7, 1e-10][case % 3])
        values = 1.0 + 1e-7 * rng.normal(size=7) if case % 4 else rng.normal(size=7) * 10.0 ** rng.integers(-6, 7, 7)
        chosen = np.array(structure.argmax(values, (np.eye(7), weights, capacity)))
        feasible = every[every @ weights <= capacity * (1.0 + knapsack.ROUNDING)]
        assert (feasible == chosen).all(axis=1).any()
        assert values @ chosen == pytest.approx((feasible @ values).max(), rel=1e-14, abs=1e-14 * np.abs(values).sum())


def test_a_list_of_states_that_is_too_long_is_given_up(monkeypatch):
    """The solver of programs may exceed the capacity by its tolerance; its choices are cut back."""
    monkeypatch.setattr(knapsack, "MOST_STATES", 1)
    x = (np.eye(2), [0.5000003, 0.5], 1.0)
    assert mm.Knapsack().fit([x], [[0, 0]]).argmax(np.array([1.0, 2.0]), x) == [0, 1]


def test_values_are_learnt(tmp_path):
    rng = np.random.default_rng(1)
    w = np.array([1.0, 2.0, -0.5])
    X = [(rng.random((15, 3)), rng.integers(1, 20, 15), 60) for _ in range(60)]
    teacher = mm.Knapsack().fit(X[:1], [[0] * 15])
    Y = [teacher.argmax(w, x) for x in X]
    model = mm.StructuralSVM(mm.Knapsack(), C=10.0).fit(X[:40], Y[:40])
    assert model.certificate_.gap <= 1e-3 and model.certificate_.exact
    assert -model.score(X[40:], Y[40:]) < 0.5, "less than half an item is wrong"
    model.save(tmp_path / "items.mm", support=True)
    again = mm.load(tmp_path / "items.mm")
    assert again.predict(X) == model.predict(X)
    assert again.support_.outputs == model.support_.outputs
    assert again.topk(X[0], 4) == model.topk(X[0], 4)


def test_weights_that_are_not_whole_have_no_sums(monkeypatch):
    Y, ids = [[1, 0]] * 2, np.arange(2)
    examples = mm.Knapsack(decision="vector").fit_encode([X, (ROWS, [0.5, 2], 2)], Y)
    assert not examples.summable and examples.take(np.array([0])).summable
    assert examples.sums(examples.scores(np.zeros(3), ids[:1]), ids[:1]).log_partitions == pytest.approx(np.log(3))
    with pytest.raises(TypeError, match=r"X\[1\]: its weights are not integers; multiply weights and capacity"):
        examples.sums(examples.scores(np.zeros(3), ids), ids)
    with pytest.raises(TypeError, match="Knapsack has no probabilities: sums over choices need weights that are"):
        examples.samples(examples.scores(np.zeros(3), ids), ids, 1, np.zeros(2, np.uint64))
    monkeypatch.setattr(knapsack, "LARGEST_TABLE", 4)
    with pytest.raises(TypeError, match=r"X\[0\]: a table over its capacities has 6 entries, more than 4; use coarser"):
        examples = mm.Knapsack(decision="vector").fit_encode([X], Y[:1])
        examples.sums(examples.scores(np.zeros(3), ids[:1]), ids[:1])
