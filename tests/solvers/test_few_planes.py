"""Few planes are solved for exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers import few_planes
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.solvers.working_sets.proximal_state import ROUNDING
from maxmargin.solvers.working_sets.sets import WorkingSets
from maxmargin.structures.multiclass import Multiclass


def rows(seed, n=8, width=3):
    """Points that weights can tell apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    y = (X @ rng.normal(size=(width, 3))).argmax(axis=1)
    y[:3] = [0, 1, 2]
    return X, y


def held(X, y, C, slack):
    """A problem, and working sets with two rounds of its planes."""
    problem = Problem(Multiclass().fit_encode(X, y), Bound("margin"), Objective(C, np.ones(len(X)), slack))
    sets, rng = WorkingSets(problem), np.random.default_rng(0)
    for _ in range(2):
        w = rng.normal(size=problem.dim)
        problem.decode(w, problem.everyone)
        slot = sets.match(problem.everyone, problem.keys, 0)
        sets.insert(problem.everyone, slot, problem.planes(problem.everyone[slot < 0]), problem, w, 1.0, 1, 0)
    return problem, sets


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 1.0, 100.0, 1e8]), st.sampled_from(["linear", "quadratic"]))
def test_primal_and_dual_over_the_planes_held_are_equal(seed, C, slack):
    X, y = rows(seed)
    problem, sets = held(X, y, C, slack)
    planes, values, _ = sets.held_planes()
    found = few_planes.dual_values(problem, ProximalWorkingSets().init(problem), sets)
    if found is None:
        assert slack == "linear" or len(values) == 0
        return
    A, examples = planes.matrix(problem.dim).toarray(), sets.examples_held()
    w, hinges, masses = (1.0 + ROUNDING) * found @ A, np.zeros(len(X)), np.bincount(examples, found, len(X))
    np.maximum.at(hinges, examples, values - A @ w)
    assert (found >= 0).all()
    price = 0.0
    if slack == "linear":
        assert (masses <= C).all()
        penalty = C * hinges.sum()
    else:
        penalty, price = 0.5 * C * (hinges**2).sum(), 0.5 * (masses**2).sum() / C
    primal, dual = 0.5 * w @ w + penalty, found @ values - 0.5 * w @ w - price
    assert primal == pytest.approx(dual, rel=1e-6)


def test_linear_slack_that_is_needed_is_left_to_others():
    X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])  # nothing tells the classes apart
    problem, sets = held(X, y, 1.0, "linear")
    assert few_planes.dual_values(problem, ProximalWorkingSets().init(problem), sets) is None


def test_many_planes_are_left_to_others(monkeypatch):
    problem, sets = held(*rows(0), 1e6, "linear")
    assert few_planes.are_few(problem, sets)
    monkeypatch.setattr(few_planes, "MOST_DENSE", 10)
    assert not few_planes.are_few(problem, sets)
    assert few_planes.dual_values(problem, ProximalWorkingSets().init(problem), sets) is None
