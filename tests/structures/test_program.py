"""Decisions of programs against all decisions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.algorithms import highs as highs
from maxmargin.exceptions import StructureError
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.graphs import Programs, made_of_tuple

ROWS = np.ones((2, 3))


def given(**changes):
    return mm.ProgramInput(ROWS, **{"A": [[1.0, 1.0]], "high": 1.0, **changes})


class TestBinaryProgram(StructureConformance):
    n_cases = -(-StructureConformance.n_cases // 6)  # HiGHS takes milliseconds
    n_checked = 1
    bad_input = (
        (mm.Program(), [ROWS], [[1, 0]], "X[0]: expected x to be a ProgramInput, found ndarray"),
        (mm.Program(len), [ROWS], [[1, 0]], "X[0]: expected build(x) to be a ProgramInput, found int"),
        (mm.Program(len), [given(), 5], [[1, 0]] * 2, "X[0]: expected build(x) to be a ProgramInput, found int"),
        (mm.Program(made_of_tuple), [(), 5], [[1, 0]] * 2, "X[0]: build raised TypeError:"),
        (mm.Program(3), [given()], [[1, 0]], "build must be a function, or None, found 3"),
        (mm.Program(sense="best"), [given()], [[1, 0]], "sense must be 'min' or 'max', found 'best'"),
        (mm.Program(time_limit=0), [given()], [[1, 0]], "time_limit must be a number > 0, found 0"),
        (mm.Program(gap=-1), [given()], [[1, 0]], "gap must be a number ≥ 0, found -1"),
        (
            mm.Program(),
            [given(), given(A=[[1.0]])],
            [[1, 0]] * 2,
            "X[1]: A has shape (1, 1), but there are",
        ),
        (mm.Program(), [given(A=[["a", "b"]])], [[1, 0]], "X[0]: A must be a matrix of numbers"),
        (mm.Program(), [given(A=[[np.inf, 1.0]])], [[1, 0]], "X[0]: A must have finite numbers only"),
        (mm.Program(), [given(high=[1.0, 2.0])], [[1, 0]], "X[0]: high must be a number or 1 numbers"),
        (mm.Program(), [given(upper=np.nan)], [[1, 0]], "X[0]: upper must be a number or 2 numbers, found nan"),
        (mm.Program(), [given(low=2.0)], [[1, 0]], "X[0]: infeasible: constraint 0 must be at least 2 and at most 1"),
        (
            mm.Program(),
            [given(lower=[0, 2])],
            [[1, 0]],
            "X[0]: infeasible: variable 1 must be at least 2 and",
        ),
        (mm.Program(), [given(integer=1)], [[1, 0]], "X[0]: integer must be True, False or 2 bools, found 1"),
        (mm.Program(), [given()], [[1, 0, 0]], "Y[0]: 3 numbers, but the program has 2 variables"),
        (
            mm.Program(),
            [given()],
            [[1, 1]],
            "Y[0]: the decision breaks the constraints of its program: constraint 0 is 2, expected -inf to 1",
        ),
        (mm.Program(), [given()], [[2, 0]], "variable 0 is 2, above its upper bound 1"),
        (mm.Program(), [given()], [[-1, 0]], "variable 0 is -1, below its lower bound 0"),
        (mm.Program(), [given()], [[0.5, 0]], "variable 0 is 0.5, not an integer"),
        (mm.Program(), [given()], [["a", "b"]], "Y[0]: expected a decision, a list of finite numbers"),
        (mm.Program(), [given()], [[np.inf, 0]], "Y[0]: expected a decision, a list of finite numbers"),
        (mm.Program(), [given(upper=4, high=9)], [[2, 3]], "Y[0]: all variables are strictly between their bounds"),
        (mm.Program(), [given()], [mm.PartCosts([1, 0], "x")], "Y[0]: false costs must be numbers, found 'x'"),
    )

    def instance(self, seed):
        return Programs(seed)


class TestIntegerProgram(StructureConformance):
    n_cases = -(-StructureConformance.n_cases // 8)
    n_checked = 1

    def instance(self, seed):
        return Programs(seed, binary=False)


def test_linear_programs_have_fractional_decisions():
    """A diet: the cheapest amounts that meet two needs, from prices that depend on two features."""
    rng = np.random.default_rng(0)
    A = rng.uniform(0.5, 2.0, (2, 5))
    X = [mm.ProgramInput(rng.uniform(0.2, 1.0, (5, 2)), A, low=[1.0, 1.5], upper=4.0, integer=False) for _ in range(30)]
    teacher = mm.Program(sense="min").fit(X[:1], [[4.0] * 5])
    w = np.array([1.0, 3.0])
    Y = [teacher.argmax(w, x) for x in X]
    assert any(v != round(v) for y in Y for v in y)
    model = mm.StructuralSVM(mm.Program(sense="min"), C=10.0).fit(X[:20], Y[:20])
    assert model.certificate_.gap <= 1e-3
    costs, best = (
        [float(np.array(z) @ x.features @ w) for x, z in zip(X[20:], decisions, strict=True)]
        for decisions in (model.predict(X[20:]), Y[20:])
    )
    assert len(model.topk(X[0], 3)) == 1, "no integers to tell decisions apart"
    assert sum(best) * (1 - 1e-9) <= sum(costs) <= 1.02 * sum(best)


def test_unbounded_and_infeasible_programs_are_named():
    unbounded = mm.ProgramInput(ROWS, [[1.0, -1.0]], high=1.0, upper=np.inf, integer=False)
    structure = mm.Program().fit([unbounded], [[0, 0]])
    with pytest.raises(StructureError, match=r"X\[0\]: the program is unbounded under the present weights; give bo"):
        structure.argmax(np.ones(3), unbounded)
    infeasible = given(A=[[1.0, 1.0], [1.0, 1.0]], low=[0.0, 2.0], high=[1.0, 2.0])
    model = mm.StructuralSVM(mm.Program()).fit([given(), given()], [[1, 0], [0, 1]])
    with pytest.raises(StructureError, match=r"X\[1\]: the program is infeasible: no decision meets"):
        model.predict([given(), infeasible])


def hard(rng, m):
    A = rng.integers(1, 100, (8, m))
    return A, A.sum(axis=1) // 3


def test_a_search_that_stops_early_proves_a_bound():
    rng = np.random.default_rng(3)
    X, Y, exact = [], [], mm.Program()
    for _ in range(3):
        A, room = hard(rng, 30)
        X.append(mm.ProgramInput(rng.normal(size=(30, 4)) + 1.0, A, high=room))
    exact.fit(X[:1], [[0] * 30])
    Y = [exact.argmax(rng.normal(size=4), x) for x in X]
    rough = mm.Program(gap=0.2)
    examples, proven = rough.fit_encode(X, Y), mm.Program().fit_encode(X, Y)
    assert (examples.exact, examples.bounded) == (False, True) and proven.exact
    w, ids, ones = rng.random(4), np.arange(3), np.ones(3)
    found, best = examples.empty_answers(), proven.empty_answers()
    examples.decode(w, ids, ones, found)
    proven.decode(w, ids, ones, best)
    values, optima = found.rises + found.losses, best.rises + best.losses
    room = 1e-6 * (1 + np.abs(optima))
    assert (values <= optima + room).all() and (optima <= found.upper + room).all()
    assert (found.upper > values + room).any(), "the search stopped early"
    assert (values < optima - room).any()
    model = mm.StructuralSVM(rough, C=0.1, max_iter=30, tol=0.1).fit(X, Y)
    assert not model.certificate_.exact and np.isfinite(model.certificate_.primal_bound)
    assert model.certificate_.primal_bound >= model.certificate_.primal


def test_without_a_decision_in_time_the_truth_is_used(monkeypatch):
    def nothing(*_):
        return highs.Solution(None, 7.0, highs.LIMIT, "Time limit reached")

    monkeypatch.setattr("maxmargin.structures.program.structure.solve", nothing)
    structure = mm.Program(time_limit=1e-3)
    examples = structure.fit_encode([given()], [[1, 0]])
    answers = examples.empty_answers()
    examples.decode(np.ones(3), np.zeros(1, int), np.zeros(1), answers)
    assert examples.outputs(answers) == [[1, 0]]
    assert answers.keys[0] == 0
    assert answers.upper[0] == pytest.approx(7.0 - 3.0), "relative to the score of the truth"
    with pytest.raises(StructureError, match=r"X\[0\]: no decision found within time_limit=0.001: Time"):
        structure.argmax(np.ones(3), given())


def test_scores_of_any_size_are_optimised():
    """The tolerances of HiGHS are absolute."""
    x = mm.ProgramInput(np.diag([3.0, 2.0, 2.0]), [[3.0, 2.0, 2.0]], high=4.0)
    structure = mm.Program().fit([x], [[1, 0, 0]])
    for scale in (1e-9, 1.0, 1e9):
        assert structure.argmax(np.full(3, scale), x) == [0, 1, 1]


def test_nearly_equal_scores_and_coefficients_of_any_size():
    """HiGHS' tolerances are absolute: 10⁻⁶ for gaps and constraints."""
    rng, every = np.random.default_rng(0), np.array(list(itertools.product((0, 1), repeat=6)))
    program = mm.Program().fit([mm.ProgramInput(np.eye(6))], [[0] * 6])
    for case in range(60):
        A = rng.normal(size=(2, 6)) * [1.0, 1e-9, 1e12][case % 3]
        high = A @ rng.integers(0, 2, 6)
        scores = 1.0 + 1e-8 * rng.normal(size=6) if case % 2 else rng.normal(size=6)
        found = program.argmax(scores, mm.ProgramInput(np.eye(6), A, high=high))
        feasible = every[(every @ A.T <= high + 1e-9 * np.abs(A).sum(axis=1)).all(axis=1)]
        assert scores @ found == pytest.approx((feasible @ scores).max(), rel=1e-10)


def test_saved_without_a_function(tmp_path):
    X, Y = [given(), given()], [[1, 0], [0, 1]]
    model = mm.StructuralSVM(mm.Program(sense="min", gap=0.1)).fit(X, Y)
    model.save(tmp_path / "program.mm", support=True)
    again = mm.load(tmp_path / "program.mm")
    assert again.predict(X) == model.predict(X)
    assert again.structure_.get_params() == {
        "build": None, "sense": "min", "gap": 0.1, "time_limit": None, "decision": "auto",
    }  # fmt: skip
