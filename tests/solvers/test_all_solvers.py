"""One test for every solver: what it certifies is true, and it can be stopped, saved and repeated."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest

from maxmargin.solvers.base import Limits
from maxmargin.solvers.cutting.bundle import ProximalBundle
from maxmargin.solvers.registry import SOLVERS, resolve
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from tests.helpers.problems import FACTORIES, INSTANCES, Case
from tests.helpers.solvers import CONVEX, ENTRIES, PROGRAMS, assert_same, check_certificate

#: Structures besides the first ones are solved in two formulations: solvers see planes only.
TWO_FORMS = (("margin", "linear"), ("slack", "quadratic"))
CASES = [
    Case(structure, rescaling, slack, weighted)
    for structure, rescaling, slack, weighted in itertools.product(
        FACTORIES, ("margin", "slack"), ("linear", "quadratic"), (False, True)
    )
    if structure not in INSTANCES or (not weighted and (rescaling, slack) in TWO_FORMS)
]
FEW = [
    Case(structure, *form) for structure in FACTORIES for form in (("margin", "linear"), ("slack", "quadratic", True))
]

every_solver = pytest.mark.parametrize("name", ENTRIES)


def solvable(name, case):
    """Whether a solver supports a structure and a bound, and minimises the objective itself."""
    if name not in PROGRAMS:
        return True
    labels = case.structure in ("dense", "csr")  # √Δ is a sum over parts if outputs are single parts
    return case.structure in PROGRAMS[name] and case.rescaling == "margin" and (case.slack == "linear" or labels)


def pairs(cases):
    """Every solver with every case that it supports."""
    found = [(name, case) for name in ENTRIES for case in cases if solvable(name, case)]
    return pytest.mark.parametrize(("name", "case"), found, ids=lambda value: str(value))


def first_case(name):
    return next(case for case in CASES if solvable(name, case))


@pairs(CASES)
def test_the_certificate_is_true_and_the_optimum_is_reached(name, case):
    check_certificate(name, case)


@pairs(FEW)
def test_a_saved_state_goes_on_bit_for_bit(name, case):
    solver, problem = ENTRIES[name].solver, case.problem()
    whole = solver.init(problem, seed=3)
    saved = []

    def save(state, _):
        buffer = io.BytesIO()
        np.savez(buffer, **state.arrays())
        saved.append(buffer)

    solver.run(problem, whole, Limits(0.0, 7), save)
    for buffer in saved:
        buffer.seek(0)
        fresh = case.problem()
        restored = solver.init(fresh, seed=99)
        with np.load(buffer, allow_pickle=False) as arrays:
            restored.restore(dict(arrays))
        solver.run(fresh, restored, Limits(0.0, 7))
        assert_same(whole, restored)


@every_solver
def test_the_same_seed_gives_the_same_run(name):
    solver, case = ENTRIES[name].solver, first_case(name)
    states = []
    for _ in range(2):
        problem = case.problem()
        states.append(solver.init(problem, seed=5))
        solver.run(problem, states[-1], Limits(0.0, 6))
    assert_same(*states)


@every_solver
def test_an_interrupt_keeps_the_best_weights(name, monkeypatch):
    solver, case = ENTRIES[name].solver, first_case(name)
    seen, problem = [], case.problem()
    solver.run(
        problem, solver.init(problem), Limits(0.0, 6), lambda _, certificate: seen.append(certificate.oracle_calls)
    )
    problem, calls, decoded = case.problem(), (seen[-2] + seen[-1]) // 2, [0]
    decode = type(problem.examples).decode

    def interrupted(self, w, ids, *arguments):
        decoded[0] += len(ids)
        if decoded[0] >= calls:
            raise KeyboardInterrupt
        decode(self, w, ids, *arguments)

    monkeypatch.setattr(type(problem.examples), "decode", interrupted)
    state = solver.init(problem)
    assert solver.run(problem, state, Limits(0.0, 6)) == "interrupted"
    assert state.iteration == len(seen) - 1
    monkeypatch.undo()
    assert state.certificate(problem).primal == pytest.approx(case.primal(state.best_w), rel=1e-9)
    assert state.oracle_calls >= seen[-2]


@every_solver
def test_a_callback_and_the_limits_stop_a_run(name):
    solver, problem = ENTRIES[name].solver, first_case(name).problem()
    state = solver.init(problem)
    assert solver.run(problem, state, Limits(0.0), lambda state, certificate: state.iteration == 2) == "callback"
    assert solver.run(problem, state, Limits(0.0, max_iter=3)) == "max_iter"
    assert state.iteration == 3
    assert solver.run(problem, state, Limits(0.0, max_seconds=0.0)) == "max_seconds"


@every_solver
def test_weights_to_start_from(name):
    """The bounds hold from any start; one near the optimum does not end worse after the same number of steps."""
    entry, case = ENTRIES[name], first_case(name)
    problem = case.problem()
    good = ProximalWorkingSets().init(problem)
    ProximalWorkingSets().run(problem, good, Limits(1e-5, 100))
    for start in (good.best_w, np.random.default_rng(0).normal(size=problem.dim)):
        problem = case.problem()
        state = entry.solver.init(problem, start=start)
        entry.solver.run(problem, state, Limits(entry.tol or 0.0, 3 * entry.max_iter))
        certificate = state.certificate(problem)
        assert certificate.primal == pytest.approx(case.primal(state.best_w), rel=1e-9)
        assert certificate.dual <= case.optimum() * (1 + 2e-6)
        if entry.tol is not None:
            assert certificate.primal <= case.optimum() * (1 + entry.tol + 2e-6)


@pytest.mark.parametrize("name", CONVEX)
def test_nothing_to_learn(name):
    """Where no output has a loss, w = 0 is optimal and its objective 0."""
    solver, problem = ENTRIES[name].solver, Case("own").problem()
    problem.examples.structure.loss = lambda y, y_hat: 0.0
    state = solver.init(problem)
    solver.run(problem, state, Limits(1e-3, 3))
    assert state.certificate(problem).primal == 0.0
    assert not state.best_w.any()


@pytest.mark.parametrize("name", [name for name, solver in SOLVERS.items() if not solver.hard_margin])
def test_solvers_without_hard_margin_say_so(name):
    with pytest.raises(ValueError, match=f"solver='{name}' needs a finite C"):
        SOLVERS[name]().check_trade_off(np.inf)


def test_every_solver_is_tested():
    """Those of smooth bounds are tested in `test_likelihood.py`."""
    assert {type(entry.solver) for entry in ENTRIES.values()} == {kind for kind in SOLVERS.values() if not kind.smooth}


def test_solvers_by_name():
    planes = ["proximal", "nslack", "sharded", "oneslack", "bundle", "subgradient", "perceptron"]
    assert list(SOLVERS) == [*planes, "lbfgs", "minmax", "certificate"]
    assert isinstance(resolve("bundle"), ProximalBundle)
    mine = NSlack(epsilon=0.5)
    assert resolve(mine) is mine
    with pytest.raises(ValueError, match=r"solver must be one of 'auto', 'proximal', 'nslack'.*found 'svm'"):
        resolve("svm")


@pytest.mark.parametrize("name", SOLVERS)
def test_planned_memory_grows_with_the_weights(name):
    small, large = Case("own").problem(), Case("csr").problem()
    solver = SOLVERS[name]()
    assert 0 < solver.planned_bytes(small) < solver.planned_bytes(large) < 1e6
