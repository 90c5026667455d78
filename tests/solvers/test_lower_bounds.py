"""Lower bounds on weights in every convex solver: true certificates, feasible weights, the optimum by SLSQP."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import Limits
from maxmargin.solvers.held_planes import solve_together
from maxmargin.solvers.primal.perceptron import AveragedPerceptron
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.solvers.working_sets.sets import WorkingSets
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run, load_checkpoint, save_checkpoint
from tests.helpers.bounded_problems import bounded, bounds, dim, multiclass, optimum, rows
from tests.helpers.problems import Case
from tests.helpers.solvers import PLANES, assert_same

CONVEX = {name: entry for name, entry in PLANES.items() if name != "perceptron" and entry.solver.lower_bounds}
EXACT = ["proximal", "nslack", "oneslack", "bundle"]
KINDS = ["all 0", "some 0", "mixed", "above 0"]

every_convex_solver = pytest.mark.parametrize("name", CONVEX)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "case",
    [
        Case(structure, rescaling, slack, True)
        for structure, rescaling in (("dense", "margin"), ("csr", "slack"), ("own", "margin"), ("chain", "slack"))
        for slack in ("linear", "quadratic")
    ],
    ids=str,
)
def test_the_optimum_within_the_bounds_is_reached(case, kind):
    lower = bounds(kind, dim(case))
    best = optimum(case, lower)
    assert best > case.optimum() * (1 + 1e-3)  # the bounds matter
    for name, entry in CONVEX.items():
        problem = bounded(case, lower)
        state = entry.solver.init(problem, seed=1)
        reason = entry.solver.run(problem, state, Limits(entry.tol, entry.max_iter))
        certificate = state.certificate(problem)
        assert reason == "tol", name
        assert (state.best_w >= lower).all()
        assert certificate.primal == pytest.approx(case.primal(state.best_w), rel=1e-9)
        assert certificate.dual <= best * (1 + 1e-6)
        assert best * (1 - 1e-6) <= certificate.primal <= best * (1 + entry.tol + 1e-6), name


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("C", [0.05, 30.0])
def test_small_and_large_C(name, C):
    case, entry = Case("chain", C=C), CONVEX[name]
    lower = bounds("mixed", dim(case), seed=3)
    problem = bounded(case, lower)
    state = entry.solver.init(problem)
    assert entry.solver.run(problem, state, Limits(entry.tol, 2 * entry.max_iter)) == "tol"
    assert state.best_primal == pytest.approx(optimum(case, lower), rel=2e-5)


@pytest.mark.slow
@every_convex_solver
def test_no_dual_value_is_above_the_optimum_at_any_step(name):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        slack = "linear" if seed % 2 else "quadratic"
        case = Case(["dense", "csr", "chain"][seed % 3], "margin", slack, C=10.0 ** rng.uniform(-1.5, 1.5))
        lower = np.where(rng.random(dim(case)) < rng.random(), rng.normal(size=dim(case)), -np.inf)
        problem, best = bounded(case, lower), optimum(case, lower)
        state = CONVEX[name].solver.init(problem, seed=seed)

        def check(state, certificate, best=best, lower=lower):
            assert certificate.dual <= best * (1 + 1e-6)
            assert certificate.primal >= best * (1 - 1e-6)
            assert (state.best_w >= lower).all()

        CONVEX[name].solver.run(problem, state, Limits(1e-6, 15), check)


@every_convex_solver
def test_every_point_that_is_decoded_is_within_the_bounds(name):
    """Lower bounds may be what makes an argmax possible (costs that are never negative)."""
    case = Case("own", C=3.0)
    lower = bounds("some 0", dim(case))
    problem = bounded(case, lower)
    decode = problem.examples.decode

    def watched(w, *arguments):
        assert (w >= lower).all()
        decode(w, *arguments)

    problem.examples.decode = watched
    start = np.full(dim(case), -1.0)
    for state in (CONVEX[name].solver.init(problem), CONVEX[name].solver.init(problem, start=start)):
        CONVEX[name].solver.run(problem, state, Limits(1e-6, 20))
        assert state.iteration > 0


@every_convex_solver
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_a_saved_state_goes_on_bit_for_bit(name, slack):
    case, solver, saved = Case("dense", "margin", slack), CONVEX[name].solver, []
    lower = bounds("mixed", dim(case))
    problem = bounded(case, lower)
    whole = solver.init(problem, seed=3)
    solver.run(problem, whole, Limits(0.0, 7), lambda state, _: saved.append(copied(state)))
    for arrays in saved:
        fresh = bounded(case, lower)
        restored = solver.init(fresh, seed=99)
        restored.restore(arrays)
        solver.run(fresh, restored, Limits(0.0, 7))
        assert_same(whole, restored)


def copied(state):
    return {name: np.array(array) for name, array in state.arrays().items()}


@every_convex_solver
def test_weights_below_the_bounds_to_start_from(name):
    case, entry = Case("dense"), CONVEX[name]
    lower = bounds("mixed", dim(case))
    best, start = optimum(case, lower), -3.0 * np.random.default_rng(0).random(dim(case))
    problem = bounded(case, lower)
    state = entry.solver.init(problem, start=start)
    entry.solver.run(problem, state, Limits(entry.tol, 3 * entry.max_iter))
    assert (state.best_w >= lower).all()
    assert state.best_dual <= best * (1 + 1e-6)
    assert state.best_primal <= best * (1 + entry.tol + 1e-6)


@every_convex_solver
def test_a_path_over_C(name):
    entry, case = CONVEX[name], Case("csr", C=0.1)
    lower = bounds("some 0", dim(case))
    problem = bounded(case, lower)
    state = entry.solver.init(problem)
    entry.solver.run(problem, state, Limits(entry.tol, entry.max_iter))
    for C in (0.5, 0.2):
        case = Case("csr", C=C)
        problem = bounded(case, lower)
        state = entry.solver.adapt(problem, state)
        entry.solver.run(problem, state, Limits(entry.tol, 2 * entry.max_iter))
        best = optimum(case, lower)
        assert (state.best_w >= lower).all()
        assert state.best_dual <= best * (1 + 1e-6)
        assert state.best_primal <= best * (1 + entry.tol + 1e-6)


@every_convex_solver
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_bounds_that_bound_nothing_change_no_bit(name, slack):
    case, solver, states = Case("chain", "margin", slack), CONVEX[name].solver, []
    for lower in (None, np.full(dim(case), -np.inf)):
        problem = bounded(case, lower)
        states.append(solver.init(problem))
        solver.run(problem, states[-1], Limits(0.0, 6))
    assert_same(*states)


@pytest.mark.parametrize("name", EXACT)
def test_bounds_far_below_change_no_optimum(name):
    case, entry = Case("chain"), CONVEX[name]
    problem = bounded(case, np.full(dim(case), -100.0))
    state = entry.solver.init(problem)
    assert entry.solver.run(problem, state, Limits(entry.tol, entry.max_iter)) == "tol"
    assert state.best_primal == pytest.approx(case.optimum(), rel=2e-5)


@pytest.mark.parametrize("rho", [1.0, 7.0])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_the_problem_over_planes_held_is_solved(slack, rho):
    """Primal and dual of the restricted problem around a centre, recomputed from the planes themselves."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(25, 3)) + 2.0, rng.integers(0, 3, 25)
    lower = bounds("mixed", 12)
    problem = multiclass(X, y, 0.7, lower, slack)
    sets = WorkingSets(problem)
    for _ in range(4):
        problem.decode(rng.normal(size=problem.dim), problem.everyone)
        slot = sets.match(problem.everyone, problem.keys, 0)
        planes = problem.planes(problem.everyone[slot < 0])
        sets.insert(problem.everyone, slot, planes, problem, np.zeros(problem.dim), 1.0, 1, 3)
    centre = rng.normal(size=problem.dim)
    w = solve_together(problem, sets, centre, centre, rho, 1e-9, 400)
    masses, u = sets.masses(), sets.combination()
    at = np.maximum(((rho - 1.0) * centre + u) / rho, lower)
    price = 0.5 * (problem.objective.ridges * masses**2).sum()
    dual = sets.gain() - price - u @ at + 0.5 * at @ at + 0.5 * (rho - 1.0) * (at - centre) @ (at - centre)
    hinges = sets.hinges(problem.everyone, w)
    primal = problem.objective.primal(w, hinges) + 0.5 * (rho - 1.0) * (w - centre) @ (w - centre)
    assert (w >= lower).all()
    assert dual <= primal * (1 + 1e-9)
    assert primal - dual <= 1e-5 * primal


@pytest.mark.parametrize("name", ["proximal", "bundle"])
def test_unscaled_features(name):
    """All examples pull at the same few weights: with the default solver, held rounds keep the bounds too."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)) + 1000.0, rng.integers(0, 3, 60)
    lower, names = bounds("mixed", 15), set()
    problem, solver = multiclass(X, y, 1.0, 0.1 * lower), CONVEX[name].solver
    state = solver.init(problem)
    assert solver.run(problem, state, Limits(1e-3, 200), lambda state, _: names.add(state.round)) == "tol"
    assert (state.best_w >= 0.1 * lower).all()
    assert ("held" in names) == (name == "proximal")


@pytest.mark.parametrize("name", ["proximal", "nslack", "bundle"])
def test_outer_steps_keep_the_bounds(name):
    case = Case("chain")
    lower = bounds("some 0", dim(case))
    problem, run = bounded(case, lower), Run(CONVEX[name].solver, Limits(1e-3, 500))
    state = ConcaveConvex(run, latent=False).go(problem, References.truths(problem.n_examples))
    objectives = [row["objective"] for row in run.history]
    assert (state.best_w >= lower).all()
    assert len(objectives) > 1
    assert (np.diff(objectives) <= 1e-9).all()


def test_checkpoints_know_the_bounds(tmp_path):
    case, solver = Case("dense"), ProximalWorkingSets()
    lower = bounds("some 0", dim(case))
    problem = bounded(case, lower)
    state = solver.init(problem)
    solver.run(problem, state, Limits(0.0, 3))
    save_checkpoint(tmp_path / "c.npz", problem, solver, state, {})
    load_checkpoint(tmp_path / "c.npz", bounded(case, lower), solver, solver.init(problem), {})
    for other in (None, lower + 0.1):
        with pytest.raises(ValueError, match="belongs to another run: its lower is"):
            load_checkpoint(tmp_path / "c.npz", bounded(case, other), solver, solver.init(bounded(case, other)), {})


def test_the_perceptron_keeps_bounds():
    case = Case("dense")
    lower = bounds("some 0", dim(case))
    problem, best = bounded(case, lower), bounded(case, lower)
    solver, state = AveragedPerceptron(), AveragedPerceptron().init(problem)
    solver.run(problem, state, Limits(0.0, 5))
    assert (state.best_w >= lower).all()
    optimal = ProximalWorkingSets().init(best)
    ProximalWorkingSets().run(best, optimal, Limits(1e-6, 500))
    assert 0.0 < state.best_dual <= optimal.best_primal <= state.best_primal


@pytest.mark.parametrize(
    ("structure", "data"), [(mm.Cut(), mm.datasets.toy.graphs()), (mm.Path(cycles=True), mm.datasets.toy.paths())]
)
def test_structures_with_bounds_of_their_own_start_with_the_perceptron(structure, data):
    """Its weights were outside of the bounds, and errors blamed the features."""
    X, Y = data
    if isinstance(structure, mm.Path):
        X = [(arcs, np.abs(costs)) for arcs, costs in X]
    for C in (0.01, 1.0, 100.0):
        model = mm.StructuralSVM(structure, C=C, start="perceptron").fit(X, Y)
        assert model.certificate_.start == "perceptron" and model.certificate_.gap <= model.tol
    trained = mm.StructuralSVM(structure, solver="perceptron").fit(X, Y)
    assert trained.predict(X[:1]) is not None


@pytest.mark.parametrize("name", EXACT)
def test_as_many_bounds_as_weights(name):
    X, y = rows(0)
    examples = multiclass(X, y, 1.0, None).examples
    problem = Problem(examples, Bound(), Objective(1.0, np.ones(len(y)), lower=np.zeros(5)))
    with pytest.raises(ValueError, match=r"lower must have one number per weight, 12, found shape \(5,\)"):
        CONVEX[name].solver.check(problem)
