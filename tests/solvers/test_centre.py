"""A centre w₀ of the regulariser in every convex solver: values of planes of either sign, the optimum by SLSQP."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import nnls

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import Limits
from maxmargin.solvers.hard_margin import NotSeparableError
from maxmargin.solvers.primal.perceptron import AveragedPerceptron
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run, load_checkpoint, save_checkpoint
from tests.helpers.bounded_problems import bounded, bounds, dim, margins, multiclass, optimum, rows
from tests.helpers.problems import Case
from tests.helpers.solvers import CONVEX, assert_same, check_certificate

EXACT = ["proximal", "nslack", "oneslack", "bundle"]
CASES = [
    Case(structure, rescaling, slack, structure in ("dense", "chain"), centred=1.0)
    for structure, rescaling, slack in itertools.product(
        ("dense", "csr", "own", "chain", "tree", "knapsack"), ("margin", "slack"), ("linear", "quadratic")
    )
]

every_convex_solver = pytest.mark.parametrize("name", CONVEX)


@every_convex_solver
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_optimum_around_the_centre_is_reached(name, case):
    values = case.stacked()[1]
    assert values.min() < 0.0 < values.max()  # of either sign, unlike losses
    check_certificate(name, case)


def test_values_and_hinges_are_those_of_the_planes():
    case = Case("chain", "slack", centred=1.0)
    problem, rng = case.problem(), np.random.default_rng(0)
    for _ in range(5):
        v = rng.normal(size=problem.dim)
        problem.decode(v, problem.everyone)
        planes, found = case.planes(), problem.planes(problem.everyone).matrix(problem.dim).toarray()
        for i in np.flatnonzero(problem.keys):
            a, b = planes[i]
            row = np.flatnonzero(np.isclose(a, found[i], atol=1e-12).all(axis=1) & np.isclose(b, problem.values[i]))
            assert len(row) > 0
            assert problem.hinges[i] == pytest.approx(b[row[0]] - a[row[0]] @ v)


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("C", [0.01, 30.0, 1e3])
@pytest.mark.parametrize("size", [0.1, 3.0])
def test_small_and_large_C(name, C, size):
    case, entry = Case("chain", C=C, centred=size), CONVEX[name]
    problem = case.problem()
    state = entry.solver.init(problem)
    assert entry.solver.run(problem, state, Limits(entry.tol, 4 * entry.max_iter)) == "tol"
    best = optimum(case, np.full(dim(case), -np.inf))
    assert state.best_dual <= best * (1 + 1e-5)
    assert state.best_primal == pytest.approx(best, rel=1e-4)


@pytest.mark.parametrize("kind", ["some 0", "mixed"])
@pytest.mark.parametrize(
    "case", [Case("dense", centred=0.5), Case("chain", "slack", "quadratic", centred=0.5)], ids=str
)
def test_lower_bounds_are_those_of_the_weights_and_not_of_the_difference(case, kind):
    lower = bounds(kind, dim(case))
    best = optimum(case, lower)
    for entry in (one for one in CONVEX.values() if one.solver.lower_bounds):
        problem = bounded(case, lower)
        state = entry.solver.init(problem, seed=1)
        assert entry.solver.run(problem, state, Limits(entry.tol, 2 * entry.max_iter)) == "tol"
        assert (problem.weights(state.best_w) >= lower - 1e-12).all()
        assert best * (1 - 1e-6) <= state.best_primal <= best * (1 + entry.tol + 1e-6)


def hard_around(A: np.ndarray, centre: np.ndarray) -> float:
    """The least ½‖w − w₀‖² with A w ≥ 1, as a least-distance problem (Lawson and Hanson 1974, chapter 23)."""
    rows = np.vstack([A.T, 1.0 - A @ centre])
    multipliers, residual = nnls(rows, np.eye(len(rows))[-1])
    assert residual > 1e-8  # otherwise there are no such weights
    miss = rows @ multipliers - np.eye(len(rows))[-1]
    v = -miss[:-1] / miss[-1]
    assert (A @ (centre + v) >= 1 - 1e-9).all()
    return 0.5 * float(v @ v)


@pytest.mark.parametrize("name", ["proximal", "nslack"])
@pytest.mark.parametrize("C", [np.inf, 1e6])
@pytest.mark.parametrize("size", [0.3, 3.0])
def test_hard_margins(name, C, size):
    for seed in (0, 1, 3):
        X, y = rows(seed)
        centre = size * np.random.default_rng(seed).normal(size=12)
        examples = multiclass(X, y, 1.0, None).examples
        problem = Problem(examples, Bound(), Objective(C, np.ones(len(y))), centre=centre)
        state, A = CONVEX[name].solver.init(problem), margins(X, y)
        best = hard_around(A, centre)
        CONVEX[name].solver.run(problem, state, Limits(1e-5, 200))
        assert state.certificate(problem).gap <= 1e-5
        assert (A @ problem.weights(state.best_w) >= 1 - 1e-4).all()
        assert state.best_primal == pytest.approx(best, rel=3e-5)


@pytest.mark.parametrize("name", ["proximal", "nslack"])
def test_a_hard_margin_that_does_not_exist(name):
    X, y = np.array([[1.0], [1.0], [2.0]]), np.array([0, 1, 2])
    examples = multiclass(X, y, 1.0, None).examples
    problem = Problem(examples, Bound(), Objective(np.inf, np.ones(3)), centre=np.arange(6.0))
    with pytest.raises(NotSeparableError):
        CONVEX[name].solver.run(problem, CONVEX[name].solver.init(problem), Limits(1e-3, 200))


@every_convex_solver
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_a_centre_that_meets_all_margins_is_the_solution(name, C):
    X, y = rows(0)
    plain = multiclass(X, y, np.inf, None)
    state = ProximalWorkingSets().init(plain)
    ProximalWorkingSets().run(plain, state, Limits(1e-6, 200))
    if np.isinf(C) and not CONVEX[name].solver.hard_margin:
        return
    problem = Problem(plain.examples, Bound(), Objective(C, np.ones(len(y))), centre=1.01 * state.best_w)
    around = CONVEX[name].solver.init(problem)
    assert CONVEX[name].solver.run(problem, around, Limits(1e-3, 10)) in ("tol", "converged")
    assert around.certificate(problem).primal == 0.0
    assert not around.best_w.any()


@every_convex_solver
def test_given_weights_and_a_path_over_C(name):
    entry, case = CONVEX[name], Case("csr", C=0.1, centred=0.7)
    problem = case.problem()
    state = entry.solver.init(problem, start=problem.relative(np.random.default_rng(3).normal(size=problem.dim)))
    entry.solver.run(problem, state, Limits(entry.tol, 3 * entry.max_iter))
    for C in (0.5, 0.2):
        case = Case("csr", C=C, centred=0.7)
        problem = case.problem()
        state = entry.solver.adapt(problem, state)
        entry.solver.run(problem, state, Limits(entry.tol, 2 * entry.max_iter))
        assert state.best_dual <= case.optimum() * (1 + 2e-6)
        assert state.best_primal <= case.optimum() * (1 + entry.tol + 2e-6)


@every_convex_solver
def test_a_saved_state_goes_on_bit_for_bit(name):
    case, solver, saved = Case("dense", centred=0.5), CONVEX[name].solver, []
    problem = case.problem()
    whole = solver.init(problem, seed=3)
    solver.run(
        problem, whole, Limits(0.0, 7), lambda s, _: saved.append({k: np.array(a) for k, a in s.arrays().items()})
    )
    for arrays in saved:
        fresh = case.problem()
        restored = solver.init(fresh, seed=99)
        restored.restore(arrays)
        solver.run(fresh, restored, Limits(0.0, 7))
        assert_same(whole, restored)


@pytest.mark.parametrize("name", ["proximal", "nslack", "bundle"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_outer_steps_minimise_the_ramp_around_the_centre(name, rescaling):
    case = Case("own", rescaling, C=2.0, centred=0.5)
    problem, run = case.problem(), Run(CONVEX[name].solver, Limits(1e-4, 500))
    state = ConcaveConvex(run, latent=False).go(problem, References.truths(problem.n_examples))
    objectives = [row["objective"] for row in run.history]
    assert len(objectives) > 1
    assert (np.diff(objectives) <= 1e-9).all()
    assert objectives[-1] == pytest.approx(ramp(case, state.best_w), rel=1e-9)


def ramp(case: Case, v: np.ndarray) -> float:
    """½‖v‖² + C Σ (max (b − a·w) − max (−a·w)), by enumeration."""
    total = 0.5 * float(v @ v)
    plain = Case(case.structure, case.rescaling, case.slack)
    for budget, (a, b) in zip(case.budgets, plain.planes(), strict=True):
        rises = -a @ (v + case.centre)
        total += budget * ((b + rises).max(initial=0.0) - rises.max(initial=0.0))
    return total


def test_checkpoints_know_the_centre(tmp_path):
    case, solver = Case("dense", centred=0.5), ProximalWorkingSets()
    problem = case.problem()
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 3))
    save_checkpoint(tmp_path / "c.npz", problem, solver, state, {})
    load_checkpoint(tmp_path / "c.npz", case.problem(), solver, solver.init(problem), {})
    for other in (Case("dense"), Case("dense", centred=0.6)):
        with pytest.raises(ValueError, match="belongs to another run: its prior is"):
            load_checkpoint(tmp_path / "c.npz", other.problem(), solver, solver.init(other.problem()), {})


def test_the_perceptron_has_no_regulariser():
    with pytest.raises(ValueError, match="solver='perceptron' supports neither a prior nor known costs"):
        AveragedPerceptron().check(Case("dense", centred=0.5).problem())
