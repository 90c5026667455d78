"""The quadratic program over aggregate planes against enumeration, and the model against the risk it bounds."""

from __future__ import annotations

import copy
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from maxmargin.core.lower_bounds import conjugate
from maxmargin.solvers.base import Limits
from maxmargin.solvers.cutting.aggregate import AggregateModel, maximise_on_simplex
from maxmargin.solvers.cutting.bundle import ProximalBundle
from maxmargin.solvers.cutting.oneslack import OneSlack
from tests.helpers.problems import Case


def value(gram, linear, beta):
    return float(linear @ beta - 0.5 * beta @ gram @ beta)


def best_by_enumeration(gram, linear):
    """The best stationary point among all supports, each by least squares."""
    n, best = len(linear), -np.inf
    for size in range(1, n + 1):
        for support in map(list, itertools.combinations(range(n), size)):
            system = np.block(
                [[gram[np.ix_(support, support)], np.ones((size, 1))], [np.ones((1, size)), np.zeros((1, 1))]]
            )
            x = np.linalg.lstsq(system, np.append(linear[support], 1.0), rcond=None)[0][:size]
            if x.min() >= -1e-12 and abs(x.sum() - 1.0) < 1e-9:
                beta = np.zeros(n)
                beta[support] = np.maximum(x, 0.0) / np.maximum(x, 0.0).sum()
                best = max(best, value(gram, linear, beta))
    return best


def random_program(seed, n, rank, twins):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, rank)) * 10.0 ** rng.uniform(-1, 2)
    linear = rng.normal(size=n) * 10.0 ** rng.uniform(-1, 2)
    rows[0], linear[0] = 0.0, 0.0
    if twins:
        rows[-1], linear[-1] = rows[1], linear[1]
    return rows @ rows.T, linear, rng


@given(st.integers(0, 10**6), st.integers(2, 7), st.integers(1, 7), st.booleans())
def test_simplex_program_against_all_supports(seed, n, rank, twins):
    gram, linear, rng = random_program(seed, n, rank, twins)
    best, scale = best_by_enumeration(gram, linear), 1e-8 * (np.abs(linear).max() + np.abs(gram).max())
    starts = [np.eye(n)[0], np.eye(n)[-1], rng.dirichlet(np.ones(n))]
    for start in starts:
        beta = maximise_on_simplex(gram, linear, start, 0.0)
        assert beta.min() >= 0.0
        assert beta.sum() == pytest.approx(1.0, abs=1e-12)
        assert value(gram, linear, beta) == pytest.approx(best, abs=scale)


@pytest.mark.parametrize("n, rank", [(60, 40), (60, 5), (80, 100)])
def test_simplex_program_against_slsqp(n, rank):
    gram, linear, _ = random_program(n + rank, n, rank, True)
    beta = maximise_on_simplex(gram, linear, np.eye(n)[0], 0.0)
    found = minimize(
        lambda b: -value(gram, linear, b), np.full(n, 1.0 / n), jac=lambda b: gram @ b - linear, method="SLSQP",
        bounds=[(0.0, 1.0)] * n, options={"maxiter": 300, "ftol": 1e-12},
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1.0, "jac": lambda b: np.ones(n)},
    )  # fmt: skip
    gradient = linear - gram @ beta
    assert gradient.max() - gradient @ beta <= 1e-9 * (np.abs(linear).max() + np.abs(gram).max())
    theirs = np.maximum(found.x, 0.0) / np.maximum(found.x, 0.0).sum()
    assert value(gram, linear, beta) >= value(gram, linear, theirs) - 1e-9 * abs(found.fun)
    assert value(gram, linear, beta) == pytest.approx(-found.fun, rel=1e-5)


def test_a_looser_tolerance_is_kept():
    rows = np.random.default_rng(0).normal(size=(60, 40))
    gram, linear, start = rows @ rows.T, np.ones(60), np.eye(60)[0]
    best, rough = (value(gram, linear, maximise_on_simplex(gram, linear, start, tolerance)) for tolerance in (0.0, 0.1))
    assert best - 0.1 <= rough < best - 1e-6


def test_a_larger_gram_matrix_is_read_in_its_corner():
    gram, linear, _ = random_program(3, 6, 4, False)
    larger = np.full((9, 9), np.nan)
    larger[:6, :6] = gram
    start = np.eye(6)[0]
    expected = maximise_on_simplex(gram, linear, start, 0.0)
    assert np.array_equal(maximise_on_simplex(larger, linear, start, 0.0), expected)


def filled(dim=4, planes=6, most=10, keep=100, seed=0):
    rng, model = np.random.default_rng(seed), AggregateModel(dim, most, keep)
    for _ in range(planes):
        model.insert(rng.normal(size=dim), rng.normal())
    return model, rng


@pytest.mark.parametrize("rho", [1.0, 3.0])
def test_the_model_is_minimised(rho):
    """No weights near those found are better, and the two sides of the program meet."""
    model, rng = filled()
    centre = rng.normal(size=4)
    w = model.solve(0.0, centre, rho)

    def objective(v):
        return 0.5 * v @ v + 0.5 * (rho - 1.0) * (v - centre) @ (v - centre) + model.level(v)

    for _ in range(200):
        assert objective(w + 10.0 ** rng.uniform(-6, 0) * rng.normal(size=4)) >= objective(w) - 1e-12
    u, n = model.combination(), model.count
    assert rho * w == pytest.approx((rho - 1.0) * centre + u, abs=1e-12)
    assert model.level(w) == pytest.approx(float(model.weight[:n] @ (model.value[:n] - model.row[:n] @ w)), abs=1e-10)


def test_the_dual_is_the_best_multiple():
    model, _ = filled()
    model.solve(0.0, np.full(4, 2.0), 5.0)  # far from the solution without a centre
    u, n = model.combination(), model.count
    gain, used = float(model.weight[:n] @ model.value[:n]), float(model.weight[1:n].sum())
    multiples = np.linspace(0.0, 1.0 / used, 2001)
    best = (multiples * gain - 0.5 * multiples**2 * float(u @ u)).max()
    assert model.dual(u) == pytest.approx(best, abs=1e-6)
    lower = np.array([0.2, -np.inf, -0.1, 0.0])
    best = max(t * gain - conjugate(t * u, lower) for t in multiples)
    assert model.dual(u, lower) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("rho", [1.0, 3.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_model_is_minimised_within_lower_bounds(rho, seed):
    model, rng = filled(seed=seed)
    centre, lower = rng.normal(size=4), np.where(rng.random(4) < 0.7, rng.normal(size=4), -np.inf)
    w = model.solve(1e-12, centre, rho, lower)

    def objective(v):
        return 0.5 * v @ v + 0.5 * (rho - 1.0) * (v - centre) @ (v - centre) + model.level(v)

    assert (w >= lower).all()
    for _ in range(200):
        near = np.maximum(w + 10.0 ** rng.uniform(-6, 0) * rng.normal(size=4), lower)
        assert objective(near) >= objective(w) - 1e-10


def test_merging_leaves_the_solution_as_it_is():
    model, rng = filled(dim=30, planes=5, most=6)
    model.weight[:6] = rng.dirichlet(np.ones(6))
    before, gain = model.combination(), float(model.weight @ model.value)
    model.insert(rng.normal(size=30), 1.0)
    assert model.count == 6
    assert model.combination() == pytest.approx(before, abs=1e-12)
    assert float(model.weight @ model.value) == pytest.approx(gain)
    assert model.gram[:6, :6] == pytest.approx(model.row @ model.row.T, abs=1e-10)


def test_planes_that_are_long_inactive_make_room():
    model, rng = filled(planes=2, keep=3)
    model.weight[:] = np.eye(10)[1]
    model.rounds, model.active[:3] = 10, (10, 10, 6)
    row = rng.normal(size=4)
    model.insert(row, 1.0)
    assert model.count == 3
    assert np.array_equal(model.row[2], row)
    assert model.gram[:3, :3] == pytest.approx(model.row[:3] @ model.row[:3].T)
    model.insert(rng.normal(size=4), 1.0)
    assert model.count == 4


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("solver", [OneSlack(), ProximalBundle()])
def test_every_plane_is_below_the_risk(slack, solver):
    case = Case("dense", slack=slack, weighted=True)
    problem, rng = case.problem(), np.random.default_rng(0)
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 12))
    assert state.model.count > 5
    for _ in range(100):
        w = rng.normal(size=problem.dim) * 10.0 ** rng.uniform(-2, 1)
        risk = case.primal(w) - 0.5 * float(w @ w)
        assert state.model.level(w) <= risk + 1e-9 * (1.0 + risk)


@pytest.mark.parametrize("solver", [OneSlack(most_planes=12, keep_rounds=1), ProximalBundle(most_planes=5)])
def test_a_model_that_drops_and_merges_is_saved_whole(solver):
    problem, saved = Case("csr").problem(), []
    whole = solver.init(problem)
    solver.run(problem, whole, Limits(0.0, 25), lambda state, _: saved.append(copy.deepcopy(state.arrays())))
    for arrays in saved:
        problem = Case("csr").problem()
        state = solver.init(problem)
        state.restore(arrays)
        solver.run(problem, state, Limits(0.0, 25))
        assert np.array_equal(state.w, whole.w)
        assert np.array_equal(state.model.weight, whole.model.weight)


def test_the_centre_of_the_bundle_only_moves_to_better_weights():
    case = Case("csr", C=30.0)
    problem, solver, values = case.problem(), ProximalBundle(), []

    def check(state, _):
        assert state.centre_value == pytest.approx(case.primal(state.z))
        values.append(state.centre_value)

    solver.run(problem, solver.init(problem), Limits(0.0, 60), check)
    steps = -np.diff(values)
    assert steps.min() >= 0.0
    assert 5 < (steps > 0).sum() < 55  # serious steps, and null steps too


@pytest.mark.parametrize("solver", [OneSlack(most_planes=5), ProximalBundle(most_planes=5)])
def test_few_planes_still_converge(solver):
    case = Case("csr")
    problem = case.problem()
    state = solver.init(problem)
    assert solver.run(problem, state, Limits(0.05, 500)) == "tol"
    assert state.model.count == 5
    assert state.best_dual <= case.optimum() * (1 + 2e-6)


def test_the_bundle_needs_fewer_sweeps_than_one_slack():
    rounds = []
    for solver in (OneSlack(), ProximalBundle()):
        problem = Case("csr", C=30.0).problem()
        state = solver.init(problem)
        assert solver.run(problem, state, Limits(1e-3, 500)) == "tol"
        rounds.append(state.iteration)
    assert rounds[1] < 0.8 * rounds[0]


def test_planned_memory_is_that_of_the_planes():
    problem = Case("csr").problem()
    more, less = OneSlack(most_planes=101).planned_bytes(problem), OneSlack(most_planes=100).planned_bytes(problem)
    assert more - less == 8 * (problem.dim + 101**2 - 100**2)
