"""The concave-convex procedure with latent variables, against enumeration of all outputs (y, h)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.custom.examples import CustomExamples
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.registry import resolve
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.training import cccp
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run
from tests.helpers.latent_bags import Bag, PairedBag, bags, objective


@pytest.mark.parametrize("solver", ["auto", "bundle", NSlack(epsilon=1e-7), "oneslack"], ids=str)
@pytest.mark.parametrize("structure", [Bag(), PairedBag()], ids=["h", "pair"])
def test_the_objective_falls_and_is_the_formulas(structure, solver):
    for seed, C in ((0, 0.1), (1, 1.0), (2, 10.0), (3, 100.0)):
        X, Y = bags(seed)
        weights = np.random.default_rng(seed).uniform(0.2, 3.0, len(Y))
        model = mm.StructuralSVM(structure, C=C, solver=solver, tol=1e-4, max_iter=2000, random_state=seed)
        model.fit(X, Y, sample_weight=weights)
        objectives = np.array([row["objective"] for row in model.history_])
        assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()
        assert objectives[-1] == pytest.approx(objective(model.coef_, X, Y, C * weights), rel=1e-9)
        assert model.stop_reason_ in ("tol", "converged")
        assert model.certificate_.outer_steps == len(model.history_)


def test_history_tells_the_convex_bound_and_the_true_one():
    X, Y = bags(0)
    model = mm.StructuralSVM(Bag(), C=1.0, tol=1e-3).fit(X, Y)
    for row in model.history_:
        assert set(row) == {
            "step", "objective", "convex", "bound", "loss", "inner_gap", "changes", "oracle_calls", "seconds",
        }  # fmt: skip
    last, w = model.history_[-1], model.coef_
    assert last["objective"] == pytest.approx(0.5 * w @ w + len(Y) * last["bound"])
    assert [row["step"] for row in model.history_] == list(range(len(model.history_)))
    calls = [row["oracle_calls"] for row in model.history_]
    assert calls == sorted(calls)
    assert calls[0] >= len(Y)


@pytest.mark.parametrize("solver", ["auto", "bundle", "nslack", "oneslack"])
def test_the_certificate_of_the_last_convex_problem_is_true(solver):
    for seed in range(3):
        X, Y = bags(seed)
        weights = np.random.default_rng(seed).uniform(0.2, 3.0, len(Y))
        problem = Problem(CustomExamples(Bag(), X, Y, latent=True), Bound(), Objective(1.0, weights))
        run = Run(resolve(solver), Limits(1e-3, 2000))
        first = problem.first_references(np.random.default_rng(0))
        state = ConcaveConvex(run, latent=True).go(problem, first)
        certificate, optimum = state.certificate(problem), convex_optimum(problem, X, Y)
        assert certificate.exact
        assert certificate.dual <= optimum * (1 + 1e-6)
        assert certificate.primal >= optimum * (1 - 1e-6)
        assert certificate.gap <= 1e-3


def convex_optimum(problem, X, Y):
    """min ½‖w‖² + Σ C c_i (ξ_i − w·Ψ(x_i, y_i, h*_i)) with ξ_i ≥ w·Ψ + Δ of every output, by SLSQP."""
    bag, budgets, (n, d) = Bag(), problem.objective.budgets, (len(Y), 3)
    known = np.array([bag.joint_feature(x, z) for x, z in zip(X, problem.examples.outputs_known, strict=True)])
    completed = known - problem.references.planes.matrix(d).toarray()
    slope = budgets @ completed
    planes = np.array([-bag.joint_feature(x, z) for x in X for z in bag.outputs()])
    least = np.array([bag.loss(y, z) for y in Y for z in bag.outputs()])
    matrix = np.hstack([planes, np.eye(n)[np.repeat(np.arange(n), 6)]])
    return minimize(
        lambda v: 0.5 * v[:d] @ v[:d] - slope @ v[:d] + budgets @ v[d:],
        np.concatenate([np.zeros(d), np.full(n, 2.0)]),
        jac=lambda v: np.concatenate([v[:d] - slope, budgets]),
        constraints={"type": "ineq", "fun": lambda v: matrix @ v - least, "jac": lambda v: matrix},
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    ).fun  # fmt: skip


def test_the_end_is_a_fixed_point():
    """No completion is better than the one the last problem was solved for, beyond what the tolerance allows."""
    X, Y = bags(1)
    model = mm.StructuralSVM(Bag(), C=1.0, tol=1e-6, max_iter=5000).fit(X, Y)
    assert model.stop_reason_ == "tol"
    assert model.certificate_.primal - model.history_[-1]["objective"] <= 1e-5 * model.certificate_.primal


def test_restarts_keep_the_best():
    found = []
    for n_restarts in (1, 8):
        X, Y = bags(4)
        model = mm.StructuralSVM(PairedBag(), C=10.0, n_restarts=n_restarts, tol=1e-4).fit(X, Y)
        found.append(model.history_[-1]["objective"])
        assert found[-1] == pytest.approx(objective(model.coef_, X, Y, np.full(len(Y), 10.0)), rel=1e-9)
        assert model.certificate_.outer_steps == len(model.history_)
    assert found[1] <= found[0]


def test_first_completions_are_the_structures_own():
    seen = []

    class Noting(PairedBag):
        def initial_completion(self, x, y, rng):
            seen.append(super().initial_completion(x, y, rng))
            return seen[-1]

    X, Y = bags(0)
    mm.StructuralSVM(Noting(), max_outer=1, tol=0.5, random_state=3).fit(X, Y)
    first = list(seen)
    seen.clear()
    mm.StructuralSVM(Noting(), max_outer=1, tol=0.5, random_state=3).fit(X, Y)
    assert first == seen
    assert len(set(first)) > 1


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_weights_are_repetitions(C, monkeypatch):
    monkeypatch.setattr(cccp, "FIRST_GAP", 1e-7)  # steps from loose solutions may end elsewhere
    X, Y = bags(5)
    times = np.resize([1, 3, 0, 2], len(Y))
    again = np.repeat(np.arange(len(Y)), times)
    model = mm.StructuralSVM(Bag(), C=C, tol=1e-7, max_iter=5000)
    weighted = model.fit(X, Y, sample_weight=times).history_[-1]["objective"]
    repeated = model.fit([X[i] for i in again], [Y[i] for i in again]).history_[-1]["objective"]
    assert weighted == pytest.approx(repeated, rel=1e-5)


def test_ramp_and_latent_variables():
    """The best output of all is taken away, whatever its label."""
    X, Y = bags(2)
    model = mm.StructuralSVM(Bag(), C=1.0, bound="ramp", tol=1e-4).fit(X, Y)
    bag, w, bounds = Bag(), model.coef_, []
    for x, y in zip(X, Y, strict=True):
        psi = {z: w @ bag.joint_feature(x, z) for z in bag.outputs()}
        bounds.append(max(psi[z] + bag.loss(y, z) for z in psi) - max(psi.values()))
    assert model.history_[-1]["objective"] == pytest.approx(0.5 * w @ w + sum(bounds), rel=1e-9)
    assert max(bounds) <= 1.4 + 1e-9
