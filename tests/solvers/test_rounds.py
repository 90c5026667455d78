"""The rounds of the default solver: which one does the work, and that declining leaves no trace."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from sklearn.datasets import load_wine

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers import few_planes
from maxmargin.solvers.held_planes import Round, run_first
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import EXACT_AFTER, SLOW, Exact, ProximalWorkingSets
from maxmargin.structures.multiclass import Multiclass


def separable(n=30, width=4):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, width))
    return X, (X @ rng.normal(size=(width, 3))).argmax(axis=1)


def rounds_of(model):
    return [row["round"] for row in model.history_]


def made(C, slack="linear"):
    X, y = separable()
    return Problem(Multiclass().fit_encode(X, y), Bound("margin", slack), Objective(C, np.ones(len(y)), slack))


def after_steps(problem, n_steps):
    solver = ProximalWorkingSets()
    state = solver.init(problem)
    for _ in range(n_steps):
        solver.step(problem, state)
        state.iteration += 1
    return solver, state


def assert_unchanged(before, state):
    after = state.arrays()
    assert before.keys() == after.keys()
    for name, array in before.items():
        assert np.array_equal(array, after[name]), name


def copied(state):
    return {name: np.array(array) for name, array in state.arrays().items()}


def test_history_begins_with_batches_and_goes_on_with_blocks():
    model = mm.SequenceTagger(C=1.0).fit(*mm.datasets.make_chains(80, random_state=0))
    names = rounds_of(model)
    assert names[:2] == ["batches", "batches"]
    assert set(names[2:]) == {"blocks"}


def test_history_names_the_start_from_weights():
    X, Y = mm.datasets.make_chains(80, random_state=0)
    model = mm.SequenceTagger(C=1.0, warm_start=True, tol=0.1).fit(X, Y)
    assert rounds_of(model.set_params(tol=1e-3).fit(X, Y))[0] == "start"


def test_history_names_exact_rounds_of_hard_margins_and_large_C():
    X, y = separable()
    assert rounds_of(mm.MulticlassSVM(C=np.inf, tol=1e-9).fit(X, y))[-1] == "exact"
    assert "exact" in rounds_of(mm.MulticlassSVM(C=1e6, tol=1e-6).fit(X, y))


def test_history_names_held_rounds_on_unscaled_features():
    assert "held" in rounds_of(mm.MulticlassSVM().fit(*load_wine(return_X_y=True)))


@pytest.mark.parametrize("solver", ["nslack", "oneslack", "bundle", "subgradient", "perceptron"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_solvers_are_named_themselves(solver):
    model = mm.SequenceTagger(solver=solver, max_iter=3).fit(*mm.datasets.make_chains(20, random_state=0))
    assert set(rounds_of(model)) == {solver}


@pytest.mark.parametrize("problem", [made(5.0), made(np.inf), made(5.0, "quadratic")])
def test_to_ask_whether_a_round_applies_changes_nothing(problem):
    solver, state = after_steps(problem, EXACT_AFTER)
    state.effort.level = SLOW
    before = copied(state)
    answers = [[each.applies(problem, state) for each in solver.rounds] for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0][-1]
    assert_unchanged(before, state)


@pytest.mark.parametrize("problem", [made(5.0), made(np.inf), made(5.0, "quadratic")])
def test_an_exact_round_that_declines_changes_nothing(problem, monkeypatch):
    solver, state = after_steps(problem, EXACT_AFTER)
    monkeypatch.setattr(few_planes, "MOST_DENSE", 0)
    before = copied(state)
    assert not Exact(solver).run(problem, state)
    assert_unchanged(before, state)


def test_an_exact_round_is_not_tried_again_at_the_effort_at_which_it_declined(monkeypatch):
    problem = made(5.0)
    solver, state = after_steps(problem, 4)
    monkeypatch.setattr(few_planes, "MOST_DENSE", 0)
    state.effort.level = SLOW
    assert Exact(solver).applies(problem, state)
    solver.step(problem, state)
    assert state.round != "exact"
    assert not Exact(solver).applies(problem, state)
    state.effort.level *= 2.0
    assert Exact(solver).applies(problem, state)


class Named(Round):
    def __init__(self, name, applies, does):
        self.name, self._applies, self._does, self.ran = name, applies, does, 0

    def applies(self, problem, state):
        return self._applies

    def run(self, problem, state):
        self.ran += 1
        return self._does


def test_the_first_round_that_applies_and_does_not_decline_does_the_work():
    rounds = [Named("a", False, True), Named("b", True, False), Named("c", True, True), Named("d", True, True)]
    assert run_first(rounds, None, None) == "c"
    assert [each.ran for each in rounds] == [0, 1, 1, 0]
    assert run_first(rounds[:2], None, None) == ""


def test_few_public_parameters():
    assert len(fields(ProximalWorkingSets)) <= 13
    assert len(fields(NSlack)) <= 12
