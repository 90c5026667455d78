"""One test for every solver: what it certifies is true, and it can be stopped, saved and repeated."""

from __future__ import annotations

import io
import itertools
import json
from dataclasses import dataclass

import numpy as np
import pytest
from problems import FACTORIES, INSTANCES, Case

from maxmargin.solvers.base import Limits, Solver
from maxmargin.solvers.bundle import ProximalBundle
from maxmargin.solvers.joint.solver import CertificateProgram, MinMax
from maxmargin.solvers.nslack import NSlack
from maxmargin.solvers.oneslack import OneSlack
from maxmargin.solvers.perceptron import AveragedPerceptron
from maxmargin.solvers.proximal import ProximalWorkingSets
from maxmargin.solvers.registry import SOLVERS, resolve
from maxmargin.solvers.subgradient import Subgradient


@dataclass(frozen=True)
class Entry:
    """A solver and the gap it must reach in a number of steps; None if it does not minimise the objective."""

    solver: Solver
    tol: float | None
    max_iter: int


ENTRIES = {
    "auto": Entry(ProximalWorkingSets(), 1e-5, 300),
    "nslack": Entry(NSlack(epsilon=1e-6), 1e-5, 50),
    "oneslack": Entry(OneSlack(), 1e-5, 200),
    "bundle": Entry(ProximalBundle(), 1e-5, 200),
    "pegasos": Entry(Subgradient(batch=4), 0.05, 400),
    "polyak": Entry(Subgradient(step_rule="polyak"), 0.02, 1000),
    "perceptron": Entry(AveragedPerceptron(), None, 5),
    "minmax": Entry(MinMax(), 1e-5, 60),
    "certificate": Entry(CertificateProgram(form="odd-sets"), 1e-5, 60),
}
#: Solvers of joint programs: structures with a polytope, or with a certificate that is exact with slack.
JOINT = {
    "minmax": (
        "dense", "csr", "chain", "chain without ends", "chain of shares", "tree", "undirected tree", "path",
        "assignment", "matching",
    ),
    "certificate": ("matching",),
}  # fmt: skip
#: Solvers that combine planes, of any structure.
PLANES = {name: entry for name, entry in ENTRIES.items() if name not in JOINT}

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
    if name not in JOINT:
        return True
    labels = case.structure in ("dense", "csr")  # √Δ is a sum over parts if outputs are single parts
    return case.structure in JOINT[name] and case.rescaling == "margin" and (case.slack == "linear" or labels)


def pairs(cases):
    """Every solver with every case that it supports."""
    found = [(name, case) for name in ENTRIES for case in cases if solvable(name, case)]
    return pytest.mark.parametrize(("name", "case"), found, ids=lambda value: str(value))


def first_case(name):
    return next(case for case in CASES if solvable(name, case))


@pairs(CASES)
def test_the_certificate_is_true_and_the_optimum_is_reached(name, case):
    entry, problem = ENTRIES[name], case.problem()
    state = entry.solver.init(problem, seed=1)
    reason = entry.solver.run(problem, state, Limits(entry.tol or 0.0, entry.max_iter))
    certificate, optimum = state.certificate(problem), case.optimum()

    exact_argmax = (case.rescaling, case.slack) == ("margin", "linear") or problem.examples.exact_for(problem.bound)
    assert problem.exact == exact_argmax
    assert certificate.oracle_calls >= problem.n_examples
    assert certificate.dual <= optimum * (1 + 2e-6)
    if not certificate.exact:  # outputs may have been missed, but no more than the certificate says
        assert not exact_argmax
        assert case.primal(state.best_w) <= certificate.primal_bound * (1 + 1e-9)
        return
    assert certificate.primal == pytest.approx(case.primal(state.best_w), rel=2e-6 if problem.searches else 1e-9)
    assert certificate.primal >= optimum * (1 - 2e-6)
    assert certificate.dual > 0.0 or (name == "perceptron" and not state.provable)
    if entry.tol is not None:
        assert reason == "tol"
        assert certificate.primal <= optimum * (1 + entry.tol + 2e-6)


def snapshot(state):
    """All that the next steps depend on or the user sees, but for the clock."""
    arrays = state.arrays()
    meta = json.loads(bytes(arrays["meta"]).decode())
    meta["counters"].pop("seconds")
    return {name: array for name, array in arrays.items() if name != "meta" and not name.startswith("sets.")}, meta


def assert_same(state, other):
    arrays, meta = snapshot(state)
    others, other_meta = snapshot(other)
    assert meta == other_meta
    for key, array in arrays.items():
        assert np.array_equal(array, others[key]), key


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
def test_an_interrupt_keeps_the_best_weights(name):
    solver, case = ENTRIES[name].solver, first_case(name)
    seen, problem = [], case.problem()
    solver.run(
        problem, solver.init(problem), Limits(0.0, 6), lambda _, certificate: seen.append(certificate.oracle_calls)
    )
    problem, calls = case.problem(), (seen[-2] + seen[-1]) // 2
    decode = problem.examples.decode

    def interrupted(*arguments):
        if problem.oracle_calls >= calls:
            raise KeyboardInterrupt
        decode(*arguments)

    problem.examples.decode = interrupted
    state = solver.init(problem)
    assert solver.run(problem, state, Limits(0.0, 6)) == "interrupted"
    assert state.iteration == len(seen) - 1
    assert state.certificate(problem).primal == pytest.approx(case.primal(state.best_w), rel=1e-9)
    assert state.oracle_calls >= calls


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


@pytest.mark.parametrize("name", PLANES)
def test_nothing_to_learn(name):
    """Where no output has a loss, w = 0 is optimal and its objective 0."""
    solver, problem = ENTRIES[name].solver, Case("own").problem()
    problem.examples.structure.loss = lambda y, y_hat: 0.0
    state = solver.init(problem)
    solver.run(problem, state, Limits(1e-3, 3))
    if name != "perceptron":
        assert state.certificate(problem).primal == 0.0
        assert not state.best_w.any()


@pytest.mark.parametrize("name", [name for name, solver in SOLVERS.items() if not solver.hard_margin])
def test_solvers_without_hard_margin_say_so(name):
    with pytest.raises(ValueError, match=f"solver='{name}' needs a finite C"):
        SOLVERS[name]().check_trade_off(np.inf)


def test_solvers_by_name():
    planes = ["auto", "nslack", "oneslack", "bundle", "subgradient", "perceptron"]
    assert list(SOLVERS) == [*planes, "minmax", "certificate"]
    assert isinstance(resolve("bundle"), ProximalBundle)
    mine = NSlack(epsilon=0.5)
    assert resolve(mine) is mine
    with pytest.raises(ValueError, match=r"solver must be one of 'auto', 'nslack'.*found 'svm'"):
        resolve("svm")


@pytest.mark.parametrize("name", SOLVERS)
def test_planned_memory_grows_with_the_weights(name):
    small, large = Case("own").problem(), Case("csr").problem()
    solver = SOLVERS[name]()
    assert 0 < solver.planned_bytes(small) < solver.planned_bytes(large) < 1e6
