"""The min-max program reaches the same optimum as planes, with a certificate that is as true."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.hard_margin import NotSeparableError
from maxmargin.solvers.minmax.program import MinMaxProgram, Reduced
from maxmargin.solvers.minmax.solver import MinMax, RelaxationWarning
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from tests.helpers.minmax_problems import INSTANCES, problem_of, solved
from tests.helpers.problems import Case


def assert_same_optimum(problem, again, method="auto", tol=1e-7):
    reason, found, _ = solved(MinMax(method=method), problem, tol)
    _, planes, _ = solved(ProximalWorkingSets(), again, 1e-7, 3000)
    assert reason in ("tol", "converged", "estimated")
    assert found.primal == pytest.approx(planes.primal, rel=1e-5, abs=1e-9)
    assert found.gap <= 1e-5
    assert found.dual <= planes.primal * (1 + 1e-6) + 1e-9
    assert planes.dual <= found.primal * (1 + 1e-6) + 1e-9


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", INSTANCES)
def test_minmax_program_and_planes_reach_the_same_objective(name, seed):
    case = INSTANCES[name](seed)
    weights = np.random.default_rng(seed).uniform(0.3, 2.0, case.n)
    for C in (0.1, 10.0):
        assert_same_optimum(problem_of(case, C, weights=weights), problem_of(case, C, weights=weights))


@pytest.mark.parametrize("name", ["assignment", "chain", "tree", "path with cycles"])
def test_a_centre_and_lower_bounds(name):
    case = INSTANCES[name](1)
    dim, rng = case.examples.dim, np.random.default_rng(0)
    centre = 0.5 * np.abs(rng.normal(size=dim))
    lower = np.where(rng.random(dim) < 0.5, -0.05, -np.inf)
    lower = lower if case.examples.lower is None else np.maximum(lower, case.examples.lower)
    for given in ({"centre": centre}, {"lower": lower}, {"centre": centre, "lower": lower}):
        assert_same_optimum(problem_of(case, 1.0, **given), problem_of(case, 1.0, **given))
    _, _, state = solved(MinMax(), problem_of(case, 1.0, lower=lower))
    assert (state.best_w >= lower).all()


@pytest.mark.parametrize("name", ["undirected tree", "matching"])
def test_a_hard_margin_is_the_limit_of_large_C(name):
    """Data that a linear rule made are separable, so that C = inf has a solution."""
    found = {}
    for C in (np.inf, 1e4):
        problem = Case("undirected tree" if "tree" in name else "matching", C=C).problem()
        reason, certificate, state = solved(MinMax(), problem, 1e-7)
        assert reason == "tol"
        found[C] = certificate.primal
        if np.isinf(C):
            problem.decode(state.best_w, problem.everyone)
            assert problem.hinges.max() <= 1e-8
    assert found[np.inf] == pytest.approx(found[1e4], rel=1e-6)


@pytest.mark.parametrize("method", ["interior", "general"])
def test_data_that_are_not_separable(method):
    with pytest.raises(NotSeparableError, match=r"C=inf has no solution; set a finite C"):
        solved(MinMax(method=method), Case("dense", C=np.inf).problem())


@pytest.mark.parametrize("name", ["chain", "assignment", "tree", "cut", "path"])
def test_the_general_solver_agrees(name):
    case = INSTANCES[name](3)
    for C in (0.1, 10.0):
        assert_same_optimum(problem_of(case, C), problem_of(case, C), "general", 1e-6)


def test_quadratic_slack_is_exact_for_labels_and_an_upper_bound_for_others():
    case = INSTANCES["multiclass"](0)
    assert_same_optimum(problem_of(case, 2.0, "quadratic"), problem_of(case, 2.0, "quadratic"))
    for name in ("chain", "path", "matching"):
        case = Case(name, "margin", "quadratic")
        with pytest.warns(RelaxationWarning, match=r"√Δ is not a sum over parts"):
            MinMax().check(case.problem())
        _, found, state = solved(MinMax(), case.problem())
        optimum = case.optimum()
        assert found.dual <= optimum * (1 + 2e-6) <= found.primal * (1 + 4e-6)
        assert found.primal == pytest.approx(case.primal(state.best_w), rel=1e-6)
        assert found.relaxation >= optimum * (1 - 2e-6)
        assert found.relaxation <= found.primal * 1.05


def test_programs_with_integers():
    """Assignments written as programs are whole; a knapsack is not, and its relaxation an upper bound."""
    rng = np.random.default_rng(0)
    A = np.zeros((6, 9))
    A[np.repeat(np.arange(3), 3), np.arange(9)] = 1.0
    A[3 + np.tile(np.arange(3), 3), np.arange(9)] = 1.0
    truth = rng.normal(size=4)
    tables = rng.normal(size=(12, 3, 3, 4))
    X = [mm.ProgramInput(table.reshape(9, 4), A, 1.0, 1.0) for table in tables]
    maker = mm.BipartiteMatching().fit(list(tables), [[0, 1, 2]] * 12)
    Y = [maker.argmax(truth + 0.4 * rng.normal(size=4), table) for table in tables]
    Z = [np.eye(3)[y].ravel() for y in Y]
    minmax = mm.StructuralSVM(mm.Program(), C=1.0, solver="minmax", tol=1e-7).fit(X, Z)
    assert minmax.certificate_.gap <= 1e-7
    scaled = mm.StructuralSVM(mm.BipartiteMatching(), C=1.0, tol=1e-7).fit(
        list(tables),
        [mm.PartCosts(y, 1.0, 1.0) for y in Y],  # a program counts both entries of a wrong pair
    )
    assert minmax.certificate_.primal == pytest.approx(scaled.certificate_.primal, rel=1e-5)
    X = [mm.ProgramInput(np.eye(3) + 0.1 * k, [[2.0, 3.0, 4.0]], high=5.0) for k in range(5)]
    with pytest.warns(RelaxationWarning, match=r"upper bound on the objective"):
        model = mm.StructuralSVM(mm.Program(), C=1.0, solver="minmax", tol=0.5).fit(X, [[1, 1, 0]] * 5)
    exact = mm.StructuralSVM(mm.Program(), C=1.0, tol=1e-3).fit(X, [[1, 1, 0]] * 5).certificate_
    assert model.certificate_.primal >= exact.dual
    assert model.certificate_.dual <= exact.primal
    assert "relaxation" in str(model.certificate_)


def test_more_features_than_parts():
    """Features are replaced by as many columns as there are parts; without that, d × d matrices would be huge."""
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=(3, 3, 500)) for _ in range(5)], [rng.permutation(3).tolist() for _ in range(5)]
    examples = mm.BipartiteMatching().fit_encode(X, Y)
    problem = Problem(examples, Bound(), Objective(1.0, np.ones(5)))
    reduced = Reduced(MinMaxProgram(problem, MinMax().polytope, dense=True), None)
    assert reduced.features.shape[1] <= 46
    assert_same_optimum(problem, Problem(examples, Bound(), Objective(1.0, np.ones(5))))


def test_history_and_limits():
    rng = np.random.default_rng(0)
    X, Y = [rng.normal(size=(4, 4, 5)) for _ in range(20)], [rng.permutation(4).tolist() for _ in range(20)]
    model = mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax", tol=1e-8).fit(X, Y)
    assert model.stop_reason_ == "tol"
    gaps = [row["gap"] for row in model.history_]
    assert 4 < len(gaps) < 30 and gaps[-1] <= 1e-8 < gaps[len(gaps) // 2]
    assert all(a["dual"] <= b["dual"] for a, b in zip(model.history_, model.history_[1:], strict=False))
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        few = mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax", max_iter=3).fit(X, Y)
    assert few.n_iter_ == 3 and few.certificate_.dual <= model.certificate_.primal
    with pytest.warns(ConvergenceWarning, match=r"raise max_seconds"):
        mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax", max_seconds=1e-9).fit(X, Y)


@pytest.mark.parametrize("method", ["interior", "general"])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.filterwarnings("ignore::maxmargin.solvers.minmax.solver.RelaxationWarning")
def test_features_that_are_all_zero(method, slack):
    """All outputs have the score 0, so that the largest loss of each example is its hinge."""
    X, Y = [np.zeros((3, 3, 2))] * 2, [[0, 1, 2], [2, 1, 0]]
    for kernel in ("linear", "poly"):  # the homogeneous kernel has no features at all
        given = {"kernel": kernel, "slack": slack, "solver": MinMax(method=method), "tol": 0.9}
        model = mm.StructuralSVM(mm.BipartiteMatching(), C=2.0, **given).fit(X, Y)
        assert model.certificate_.primal == pytest.approx(12.0 if slack == "linear" else 6.0)
        assert (model.coef_ == 0).all()


def test_examples_without_parts_and_of_weight_zero():
    X, Y = [np.zeros((0, 0, 2)), np.ones((1, 2, 2))], [[], [1]]
    model = mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax").fit(X, Y)
    assert model.certificate_.primal == pytest.approx(1.0)
    X, Y = mm.datasets.make_chains(6, random_state=0)
    model = mm.SequenceTagger(solver="minmax", tol=1e-6).fit(X, Y, sample_weight=[1, 0, 2, 1, 1, 1])
    other = mm.SequenceTagger(tol=1e-6).fit(X, Y, sample_weight=[1, 0, 2, 1, 1, 1])
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-5)
