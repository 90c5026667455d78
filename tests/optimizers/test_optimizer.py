"""`Optimizer`: what a function may return, ready optimisers against enumeration, and errors."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pytest
from networkx import Graph

import maxmargin as mm
from maxmargin.exceptions import StructureError
from maxmargin.optimizers.optimizer import as_optimizer
from tests.helpers.deciders import all_paths, cheapest_two, fits, grid, within

RNG = np.random.default_rng(0)


def best(optimizer, costs, decisions):
    """Check that the optimiser is as good as the best of all decisions, and feasible, for every row of costs."""
    found = optimizer.decide(optimizer.sign * costs, None, np.arange(len(costs))).decisions
    for row, z in zip(costs, found, strict=True):
        assert (decisions == z).all(axis=1).any()
        assert optimizer.sign * (row @ z) == pytest.approx((optimizer.sign * decisions @ row).min())


def test_shortest_paths():
    arcs = grid(4, 3)
    best(mm.Optimizer.shortest_path(arcs, (0, 0), (3, 2)), RNG.normal(size=(60, 17)), all_paths(arcs, (0, 0), (3, 2)))
    loose = [("a", "b"), ("c", "d"), ("b", "d"), ("a", "c"), ("a", "d"), ("d", "e"), ("z", "a")]
    best(mm.Optimizer.shortest_path(loose, "a", "d"), RNG.normal(size=(60, 7)), all_paths(loose, "a", "d"))


def test_assignments():
    tables = np.array([np.eye(4)[list(p)].ravel() for p in itertools.permutations(range(4))])
    best(mm.Optimizer.assignment(4), RNG.normal(size=(40, 16)), tables)


@pytest.mark.parametrize("n_dims", [1, 2, 3])
def test_knapsacks(n_dims):
    every = np.array(list(itertools.product((0.0, 1.0), repeat=9)))
    for seed in range(15):
        rng = np.random.default_rng(seed)
        weights = rng.integers(0, 9, (n_dims, 9)) if seed % 2 else rng.random((n_dims, 9))
        capacity = 0.4 * weights.sum(axis=1)
        allowed = every[(every @ weights.T <= capacity + 1e-9).all(axis=1)]
        best(mm.Optimizer.knapsack(weights, capacity), rng.normal(size=(20, 9)), allowed)
        best(mm.Optimizer.knapsack(weights, capacity), rng.integers(-2, 4, (20, 9)).astype(float), allowed)


def test_programs():
    every = np.array(list(itertools.product((0.0, 1.0), repeat=5)))
    A, b = RNG.normal(size=(2, 5)), np.array([0.5, 1.0])
    for sense in ("min", "max"):
        best(mm.Optimizer.milp(A, high=b, sense=sense), RNG.normal(size=(10, 5)), every[(every @ A.T <= b).all(axis=1)])
    own = mm.Optimizer.milp(A, high=b).solve([-1.0] * 5, (np.ones((1, 5)), -np.inf, [3]))
    assert own.sum() == 3
    mixed = mm.Optimizer.milp(np.ones((1, 2)), high=[1.5], integer=[True, False]).solve([-2.0, -1.0])
    assert mixed == pytest.approx([1.0, 0.5])


def test_forms_of_decisions():
    for found in ([0, 1, 1], np.array([False, True, True]), {1, 2}, [2, 1], np.array([1, 2]), (0.0, 1.0, 1.0 - 1e-9)):
        assert mm.Optimizer(lambda c, found=found: found, 3).solve(np.zeros(3)).tolist() == [0.0, 1.0, 1.0]
    assert mm.Optimizer(lambda c: [], 3).solve(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_a_buffer_that_is_used_again():
    buffer = np.zeros(2)

    def solve(costs):
        buffer[:] = costs < 0
        return buffer

    found = mm.Optimizer(solve, 2).decide(np.array([[-1.0, 1.0], [1.0, -1.0]]), None, np.arange(2)).decisions
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([1, 3], r"X\[0\]: solve returned 2 numbers, expected a decision: 3 numbers, or distinct indices"),
        ([0.5, 1], r"X\[0\]: solve returned 2 numbers, expected a decision"),
        ([7], r"X\[0\]: solve returned 1 numbers"),
        ([1, 1], r"X\[0\]: solve returned 2 numbers"),
        (None, r"X\[0\]: solve returned None, expected a decision"),
        ("ab", r"X\[0\]: solve returned 'ab', expected a decision"),
        ([np.nan, 0, 1], r"X\[0\]: solve returned nan for variable 0"),
        (np.zeros((3, 3)), r"X\[0\]: solve returned an array of shape \(3, 3\)"),
    ],
)
def test_what_is_not_a_decision(found, message):
    with pytest.raises(ValueError, match=message):
        mm.Optimizer(lambda c: found, 3).solve(np.zeros(3))


def test_errors_of_the_function_name_the_example():
    def broken(costs):
        raise RuntimeError("no licence")

    with pytest.raises(StructureError, match=r"X\[0\]: broken raised RuntimeError: no licence"):
        mm.Optimizer(broken, 3).solve(np.zeros(3))
    with pytest.raises(StructureError, match=r"shape \(3,\) for costs of shape \(1, 3\).*needs batch=False"):
        mm.Optimizer(lambda c: np.zeros(3), 3, batch=True).solve(np.zeros(3))
    with pytest.raises(StructureError, match=r"solve returned \[\{0, 1\}\], expected an array .* needs batch=False"):
        mm.Optimizer(lambda c: [cheapest_two(row) for row in c], 3, batch=True).solve(np.arange(3.0))
    with pytest.raises(ValueError, match=r"X\[0\]: solve returned an infeasible decision, variables \[0, 1, 2\]"):
        mm.Optimizer(lambda c, i: np.ones(3), 3, feasible=fits).solve(np.zeros(3), (np.ones(3), 2))
    with pytest.raises(ValueError, match="the optimizer has 3 variables, found 2 costs"):
        mm.Optimizer(cheapest_two, 3).solve(np.zeros(2))


@pytest.mark.parametrize("ready", [mm.Optimizer.shortest_path([(0, 1)] * 2, 0, 1), mm.Optimizer.knapsack([1, 1], 1)])
@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([np.nan, 1.0], "costs must be finite, found nan for variable 0"),
        ([1.0, np.inf], "costs must be finite, found inf for variable 1"),
        ([[1.0, 2.0]], "expected a vector of costs"),
        (["low", "high"], "expected a vector of costs"),
        (None, "expected a vector of costs, a number for each variable, found None"),
    ],
)
def test_costs_that_no_decision_is_best_for(ready, costs, message):
    with pytest.raises(ValueError, match=message):
        ready.solve(costs)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mm.Optimizer(3), "solve must be a function"),
        (lambda: mm.Optimizer(within, sense="low"), "sense must be 'min' or 'max', found 'low'"),
        (lambda: mm.Optimizer(within, 0), "n_variables must be an integer ≥ 1"),
        (lambda: mm.Optimizer(within, batch=2), "batch must be True or False"),
        (lambda: mm.Optimizer(within, feasible=1), "feasible must be a function"),
        (lambda: mm.Optimizer.shortest_path([(0, 1), (1, 0)], 0, 1), "the arcs form a cycle"),
        (lambda: mm.Optimizer.shortest_path([(0, 1), (2, 3)], 0, 3), "there is no path from 0 to 3"),
        (lambda: mm.Optimizer.shortest_path([], 0, 3), "at least one"),
        (lambda: mm.Optimizer.shortest_path({0: {1: {}}, 1: {}}, 0, 1), r"found {0: .*; for a graph of networkx"),
        (lambda: mm.Optimizer.shortest_path(Graph([(0, 1)]), 0, 1), "for a graph of networkx pass its edges"),
        (lambda: mm.Optimizer.shortest_path(["ab"], "a", "b"), r"list of pairs \(from, to\)"),
        (lambda: mm.Optimizer.shortest_path(7, 0, 3), "found 7"),
        (lambda: mm.Optimizer.knapsack([[1.0, 2.0]], [1.0, 2.0]), "a capacity for each row of weights"),
        (lambda: mm.Optimizer.knapsack([-1.0], 1.0), "finite numbers ≥ 0"),
        (lambda: mm.Optimizer.milp([[1.0, 2.0]], high=[1.0, 2.0]), "high must be a number or 1 numbers"),
        (
            lambda: mm.Optimizer.milp([[1.0]], high=[-1.0]).solve([1.0]),
            r"^X\[0\]: the program has no feasible decision",
        ),
        (lambda: mm.Optimizer.milp([[1.0]], high=[1.0], lower=-np.inf).solve([1.0]), "is unbounded"),
        (lambda: as_optimizer(mm.Optimizer), "must be a maxmargin.Optimizer or an object with solve"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_instances_that_do_not_fit_the_function():
    with pytest.raises(ValueError, match=r"missing 1 .* 'm'; it was called without an instance: instances= passes one"):
        mm.Optimizer(lambda costs, m: [m], 3).solve(np.ones(3))
    with pytest.raises(ValueError, match="it was called with an instance: add a parameter for it"):
        mm.Optimizer(cheapest_two, 4).solve(np.ones(4), instance=1)
    with pytest.raises(ValueError, match=r"raised TypeError: object of type 'int' has no len\(\)$"):
        mm.Optimizer(lambda costs: len(3), 3).solve(np.ones(3))


@pytest.mark.parametrize("optimizer", [mm.Optimizer(cheapest_two, 4), mm.Optimizer.knapsack([1.0, 2.0], 2.0)])
def test_copies(optimizer):
    assert copy.deepcopy(optimizer) is optimizer
    again = pickle.loads(pickle.dumps(optimizer))
    costs = RNG.normal(size=optimizer.n_variables)
    assert np.array_equal(again.solve(costs), optimizer.solve(costs))
