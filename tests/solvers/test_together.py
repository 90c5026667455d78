"""Problems on which examples undo each other's steps: unscaled features, few long sequences, outliers."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.core.planes import TRUTH
from maxmargin.custom.examples import CustomExamples
from maxmargin.problem import Problem
from maxmargin.solvers.held_planes import solve_together
from maxmargin.solvers.working_sets.proximal import NEAR_FACTOR, SLOW, Held, ProximalWorkingSets, first_held_rho
from maxmargin.solvers.working_sets.sets import WorkingSets
from maxmargin.structures.multiclass import Multiclass


def far_from_zero():
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 4)) + 1000.0, rng.integers(0, 3, 60)


@pytest.mark.parametrize("solver", ["auto", "nslack", "bundle"])
@pytest.mark.parametrize(
    "data", [lambda: load_wine(return_X_y=True), lambda: load_breast_cancer(return_X_y=True), far_from_zero],
    ids=["wine", "breast cancer", "far from zero"],
)  # fmt: skip
def test_unscaled_features(data, solver):
    model = mm.MulticlassSVM(solver=solver, tol=1e-3).fit(*data())
    assert model.stop_reason_ in ("tol", "converged")
    assert model.certificate_.gap <= 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_few_long_sequences(slack):
    X, Y = mm.datasets.make_chains(12, min_length=400, max_length=400, random_state=0)
    model = mm.SequenceTagger(slack=slack, tol=1e-2, max_iter=300).fit(X, Y)
    assert model.stop_reason_ == "tol"
    support = model.support_
    u = support.planes.T @ support.alphas
    masses = np.bincount(support.examples, support.alphas, len(X))
    dual = support.alphas @ support.values - 0.5 * u @ u
    dual -= 0.5 * (masses**2).sum() / model.C if slack == "quadratic" else 0.0
    assert dual <= model.certificate_.primal
    assert dual == pytest.approx(model.certificate_.dual, rel=2e-2)


@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("rho", [1.0, 7.0])
def test_the_problem_over_planes_held_is_solved(slack, rho):
    """Primal and dual of the restricted problem around a centre, recomputed from the planes themselves."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(25, 3)) + 5.0, rng.integers(0, 3, 25)
    problem = Problem(
        Multiclass().fit_encode(X, y), Bound("margin", slack), Objective(0.7, rng.random(25) + 0.5, slack)
    )
    sets = WorkingSets(problem)
    for _ in range(4):
        problem.decode(rng.normal(size=problem.dim), problem.everyone)
        slot = sets.match(problem.everyone, problem.keys, 0)
        planes = problem.planes(problem.everyone[slot < 0])
        sets.insert(problem.everyone, slot, planes, problem, np.zeros(problem.dim), 1.0, 1, 3)
    centre = rng.normal(size=problem.dim)
    w = solve_together(problem, sets, centre, centre, rho, 1e-9, 400)
    masses, u = sets.masses(), sets.combination()
    if slack == "linear":
        assert (masses <= problem.objective.budgets * (1 + 1e-12)).all()
    price = 0.5 * (problem.objective.ridges * masses**2).sum()
    at = ((rho - 1.0) * centre + u) / rho
    dual = sets.gain() - price - u @ at + 0.5 * at @ at + 0.5 * (rho - 1.0) * (at - centre) @ (at - centre)
    hinges = sets.hinges(problem.everyone, w)
    primal = problem.objective.primal(w, hinges) + 0.5 * (rho - 1.0) * (w - centre) @ (w - centre)
    assert dual <= primal * (1 + 1e-9)
    assert primal - dual <= 1e-5 * primal


def test_very_many_weights_are_worked_on_one_by_one():
    X, y = load_wine(return_X_y=True)
    problem = Problem(Multiclass().fit_encode(X, y), Bound(), Objective(1.0, np.ones(len(y))))
    solver, few = ProximalWorkingSets(), ProximalWorkingSets(held_share=1e-6)
    state = solver.init(problem)
    for _ in range(3):
        solver.step(problem, state)
        state.iteration += 1
    state.effort.level = SLOW * NEAR_FACTOR
    assert Held(solver).applies(problem, state)
    assert not Held(few).applies(problem, state)


class Costs(mm.Structure):
    """Labels with costs of very different sizes."""

    def __init__(self, costs):
        self.costs = costs

    def joint_feature(self, x, y):
        psi = np.zeros((len(self.costs), len(x)))
        psi[y] = x
        return psi.ravel()

    def loss(self, y, y_hat):
        return self.costs[y, y_hat]

    def argmax(self, w, x):
        return int((w.reshape(len(self.costs), -1) @ x).argmax())

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return int((w.reshape(len(self.costs), -1) @ x + scale * self.costs[y]).argmax())


def test_a_plane_held_that_a_search_does_not_find_again():
    X, Y = [np.array([1.0]), np.array([-1.0])], [0, 1]
    examples = CustomExamples(Costs(np.array([[0.0, 0.01], [100.0, 0.0]])), X, Y)
    problem = Problem(examples, Bound("slack"), Objective(1.0, np.ones(2)))
    solver = ProximalWorkingSets()
    state = solver.init(problem)
    state.w = np.array([1.0, -1.0])
    problem.decode(state.w, problem.everyone)
    assert problem.keys.tolist() == [TRUTH, TRUTH]
    problem.hinges[:] = 0.0, 0.1  # as `raise_hinges` leaves it where a plane held is violated
    assert np.isfinite(first_held_rho(problem, state))
