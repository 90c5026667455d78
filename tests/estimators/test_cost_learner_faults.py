"""`CostLearner`: faults of optimisers, of known decisions and of input; heuristics and their bounds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import OptimizeResult

import maxmargin as mm
from maxmargin.algorithms import highs
from maxmargin.exceptions import DegenerateWarning, InexactArgmaxWarning, StructureError
from tests.helpers.deciders import PATHS, M, data, paths


def test_a_heuristic_warns_with_both_values():
    X, costs = data()

    def greedy(c):
        """Always the first path, except for true costs."""
        return PATHS[np.argmin(PATHS @ c)] if (np.abs(costs - c) < 1e-12).all(axis=1).any() else PATHS[0]

    message = (
        r"X\[\d+\]: solve returned a decision with total \S+, but another one that is known, or that it returned for "
        r"other costs, has \S+; if it cannot handle negative costs, pass costs='nonnegative' to the Optimizer; so the"
    )
    with pytest.warns(InexactArgmaxWarning, match=message):
        mm.CostLearner(mm.Optimizer(greedy, M), max_iter=2, tol=0.9).fit(X, costs=costs)
    assert not mm.CostLearner(mm.Optimizer(greedy, M, exact=False)).fit(X, costs=costs).certificate_.exact


def test_costs_of_the_wrong_sign_warn():
    X, values = np.arange(6.0)[:, None], 1.0 + np.random.default_rng(0).random((6, 3))
    sack = mm.Optimizer.knapsack([1.0, 2.0, 3.0], 3.0)
    message = "same decision is best for the costs of all 6 examples; no variable is chosen in it: .* sense='max' means"
    with pytest.warns(DegenerateWarning, match=message):
        model = mm.CostLearner(sack).fit(X, costs=-values)
    assert not model.predict(X).any()
    with pytest.warns(DegenerateWarning, match="of all 6 examples: there is nothing to learn"):
        mm.CostLearner(sack).fit(X, costs=np.tile(values[:1], (6, 1)))
    mm.CostLearner(sack).fit(X, costs=values * [[1.0, 1.0, 9.0]] * (-1.0) ** X)  # differing decisions: no warning


def test_known_decisions_that_are_not_optimal_warn():
    X, costs = data()
    worst = PATHS[np.argmax(costs @ PATHS.T, axis=1)]
    with pytest.warns(InexactArgmaxWarning, match="worse than another with total"):
        mm.CostLearner(paths(), tol=0.5).fit(X, costs=costs, decisions=worst)


def test_bounds_of_a_heuristic_are_in_the_certificate():
    X, costs = data()

    def bounded(c):
        z = PATHS[np.argmin(PATHS @ c)]
        return mm.Bounded(z, float(c @ z) - 0.01)

    model = mm.CostLearner(mm.Optimizer(bounded, M, exact=False), C=0.1).fit(X, costs=costs)
    exact = mm.CostLearner(paths(), C=0.1).fit(X, costs=costs)
    assert model.certificate_.primal < model.certificate_.primal_bound <= model.certificate_.primal + 0.1 * 40 * 0.0101
    assert model.certificate_.primal == pytest.approx(exact.certificate_.primal, rel=2e-3)


def test_fractional_decisions():
    X, costs = data(20)
    half = 0.5 * (PATHS[0] + PATHS[1])

    def relaxed(c):
        return PATHS[np.argmin(PATHS @ c)] if c.min() > 0 else half

    with pytest.raises(ValueError, match=r"fractional value 0.5 of variable \d+, but all known decisions are integers"):
        mm.CostLearner(mm.Optimizer(relaxed, M)).fit(X, costs=costs)
    simplex = mm.Optimizer.milp(-np.ones((1, 3)), high=[-1.0], integer=False, upper=0.7)
    values = np.random.default_rng(0).random((20, 3))
    model = mm.CostLearner(simplex, C=10.0).fit(values, costs=values)
    assert sorted(model.predict(values)[0]) == pytest.approx([0.0, 0.3, 0.7])
    assert model.score(values, values) > -0.01


X0, COSTS0 = data(6)


@pytest.mark.parametrize(
    ("parameters", "given", "message"),
    [
        ({}, {}, "there is nothing to learn from: pass costs= or decisions="),
        ({}, {"costs": COSTS0[:5]}, "X has 6 examples but costs has 5"),
        ({}, {"costs": COSTS0[:, :5]}, r"costs\[0\]: expected 12 costs, one for each variable, found 5"),
        ({}, {"costs": [*COSTS0[:4], COSTS0[4, :3], COSTS0[5]]}, r"costs\[4\]: expected 12 costs, .* found 3"),
        (
            {},
            {"costs": np.where(COSTS0.min() < COSTS0, COSTS0, np.nan)},
            r"costs\[\d\]: costs must be finite, found nan",
        ),
        ({}, {"costs": COSTS0, "known_costs": COSTS0[:3]}, "X has 6 examples but known_costs has 3"),
        ({}, {"costs": COSTS0, "known_costs": COSTS0[:, 1:]}, r"known_costs\[0\]: expected 12 costs"),
        ({}, {"costs": COSTS0, "instances": [1]}, "X has 6 examples but instances has 1"),
        (
            {},
            {"decisions": np.ones((6, 12))},
            r"decisions\[0\]: expected a feasible decision, found .* that is not a path",
        ),
        (
            {},
            {"decisions": [[0, 1, 20]] * 6},
            r"decisions\[0\]: found 3 numbers, expected a decision: 12 numbers, or distinct",
        ),
        ({"loss": "regret"}, {"decisions": PATHS}, "loss='regret' needs the true costs"),
        ({"loss": "hamming"}, {"costs": COSTS0}, "with known costs the loss is the regret"),
        (
            {"loss": "l1"},
            {"costs": COSTS0},
            "loss must be 'auto', 'regret', 'hamming', 'missed', 'false' or a function, found 'l1'",
        ),
        ({"prior": "ridge"}, {"costs": COSTS0}, "prior must be None, 'least-squares' or a vector of weights"),
        ({"prior": "least-squares"}, {"decisions": PATHS}, "prior='least-squares' needs the true costs"),
        ({"prior": [1.0]}, {"costs": COSTS0}, "prior has 1 weights, but these data have 48"),
        ({"weights": "each"}, {"costs": COSTS0}, "weights must be 'per-variable' or 'shared' or 'both', found 'each'"),
        ({"weights": "both"}, {"costs": COSTS0}, "weights='both' needs X = "),
        ({"weights": "shared"}, {"costs": COSTS0}, r"X must have shape \(n, m, d\)"),
        ({"intercept_scaling": -1.0}, {"costs": COSTS0}, "intercept_scaling must be a number"),
        ({"standardize": 3}, {"costs": COSTS0}, "standardize must be True or False"),
        ({"optimizer": 3}, {"costs": COSTS0}, "optimizer must be a maxmargin.Optimizer"),
        (
            {"solver": "perceptron"},
            {"costs": COSTS0, "known_costs": COSTS0},
            "supports neither a prior nor known costs",
        ),
    ],
)
def test_bad_input(parameters, given, message):
    with pytest.raises((TypeError, ValueError), match=message):
        mm.CostLearner(**{"optimizer": paths(), **parameters}).fit(X0, **given)


def test_decisions_as_y_are_not_silently_costs():
    """Tools of scikit-learn pass Y by position."""
    chosen = [PATHS[np.argmin(PATHS @ c)] for c in COSTS0]
    with pytest.warns(UserWarning, match="y has only 0 and 1 and is read as costs: set loss='hamming'"):
        mm.CostLearner(paths()).fit(X0, chosen)
    with pytest.raises(ValueError, match=r"Y\[0\]: expected 12 costs, found .*; for decisions, set loss='hamming'"):
        mm.CostLearner(paths()).fit(X0, [set(np.flatnonzero(z).tolist()) for z in chosen])
    expected = mm.CostLearner(paths()).fit(X0, decisions=chosen).coef_
    assert np.array_equal(mm.CostLearner(paths(), loss="hamming").fit(X0, chosen).coef_, expected)


def test_hamming_needs_binary_decisions():
    optimizer = mm.Optimizer(lambda c: np.where(c < 0, 2, 0), 3)
    X, decisions = np.eye(4)[:, :2], np.array([[2, 0, 0]] * 4)
    with pytest.raises(
        ValueError, match=r"decisions\[0\]: the loss 'hamming' needs 0/1 decisions, found 2 for variable 0"
    ):
        mm.CostLearner(optimizer).fit(X, decisions=decisions)
    model = mm.CostLearner(optimizer, loss=lambda z: 1.0 - z, C=10.0).fit(X, decisions=decisions)
    assert np.array_equal(model.predict(X), decisions)


def test_bad_costs_of_the_metric():
    with pytest.raises(ValueError, match="2 rows of costs but 1 decisions"):
        mm.metrics.regret(COSTS0[:2], PATHS[:1], paths())
    with pytest.raises(ValueError, match=r"decisions\[0\]: found 3 numbers, expected a decision"):
        mm.metrics.regret(COSTS0[:1], [[0.5, 1, 2]], paths())
    with pytest.raises(ValueError, match=r"decisions\[0\]: found a decision that is not a path: variables \[0\]"):
        mm.metrics.regret(COSTS0[:1], [[0]], paths())


def test_a_loss_of_the_wrong_sign():
    with pytest.raises(
        ValueError, match=r"decisions\[0\]: the loss of the decision variables \[.*\] is -\d, but losses must be"
    ):
        mm.CostLearner(paths(), loss=lambda z: 2.0 * z - 1.0).fit(X0, decisions=PATHS[:6])


def test_numbers_beyond_the_codes():
    optimizer = mm.Optimizer(lambda c: np.where(c < 0, 3e9, 0.0), 3)
    with pytest.raises(
        ValueError, match=r"costs\[1\]: found the value 3e\+09 of variable 2, but integers .* 2147483647"
    ):
        mm.CostLearner(optimizer).fit(np.eye(2), costs=[[1.0, 1.0, 1.0], [1.0, 2.0, -1.0]])
    with pytest.raises(ValueError, match=r"X\[0\]: solve returned the value 3e\+09 of variable 0"):
        mm.CostLearner(optimizer).fit(np.eye(2), costs=np.ones((2, 3)))
    any_number = mm.Optimizer(optimizer.function, 3, integral=False)
    model = mm.CostLearner(any_number, C=1e-18, tol=0.5).fit(np.eye(2), costs=[[1.0, 1.0, 1.0], [1.0, 2.0, -1.0]])
    assert model.predict(np.eye(2)).shape == (2, 3)


def test_places_of_bad_features():
    X = X0.copy()
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"^X\[4\]: features must be finite, found nan"):
        mm.CostLearner(paths()).fit(X, costs=COSTS0)
    with pytest.raises(ValueError, match=r"^X\[4\], variable 4: features must be finite, found nan"):
        mm.CostLearner(paths(), weights="shared").fit(np.repeat(X, 4, axis=1)[:, :, None], costs=COSTS0)


def test_hinges_of_zero_are_not_rounding_errors():
    """Known costs of half of the true ones make all hinges 0 at w = 0, up to the rounding of sums."""
    X, costs = data()
    model = mm.CostLearner(paths()).fit(X, costs=costs, known_costs=0.5 * costs)
    assert model.certificate_.primal == 0.0 and model.stop_reason_ == "tol"
    assert model.n_iter_ < 20


def test_a_tie_under_predicted_costs_is_not_resolved_by_the_truth():
    """All predicted costs are 0: training must not count the decision of the optimiser as right."""
    rng = np.random.default_rng(0)
    X, costs = np.zeros((10, 1)), rng.random((10, M))
    model = mm.CostLearner(paths(), C=1e-12, fit_intercept=False, tol=0.5).fit(X, costs=costs)
    assert not model.coef_.any()
    assert model.train_score_ == pytest.approx(model.score(X, costs=costs)) and model.train_score_ < -0.05


def test_programs_with_sparse_constraints(tmp_path):
    X, costs = data(4)
    A, b = np.vstack([np.ones(M), np.arange(M)]), [4.0, 20.0]
    dense, sparse = (mm.Optimizer.milp(rows, high=b, sense="max") for rows in (A, sp.csr_array(A)))
    for row in costs:
        assert np.array_equal(sparse.solve(row), dense.solve(row))
        assert np.array_equal(dense.solve(row, (sp.csc_array(A), -np.inf, b)), dense.solve(row))
    model = mm.CostLearner(sparse, max_iter=1, tol=1.0).fit(X, costs=costs)
    model.save(tmp_path / "m.mm")
    assert np.array_equal(mm.load(tmp_path / "m.mm").predict(X), model.predict(X))


def test_the_bound_of_a_linear_program_with_a_time_limit_is_its_optimum():
    X, costs = data(4)
    optimizer = mm.Optimizer.milp(np.ones((1, M)), low=3.0, integer=False, time_limit=60.0)
    certificate = mm.CostLearner(optimizer, tol=0.5).fit(X, costs=costs).certificate_
    assert certificate.primal_bound == pytest.approx(certificate.primal, rel=1e-6)


def test_without_a_decision_in_time_the_known_one_is_used():
    X, costs = data(6)
    exact, late = paths(), []

    def hurried(c):
        z = exact.solve(c)
        late.append(len(late) % 3 == 2)
        return mm.Bounded(None if late[-1] else z, float(c @ z) - 0.01)

    optimizer = mm.Optimizer(hurried, M, exact=False)
    decisions = [exact.solve(c) for c in costs]
    model = mm.CostLearner(optimizer, tol=0.5).fit(X, decisions=decisions)
    assert any(late) and model.certificate_.primal < model.certificate_.primal_bound < np.inf
    with pytest.raises(StructureError, match=r"X\[\d\]: solve found no decision in time; raise its time limit"):
        model.predict(X)


def test_a_program_without_a_decision_in_time(monkeypatch):
    nothing = OptimizeResult(x=None, status=1, mip_dual_bound=-2.0, message="Time limit reached.")
    monkeypatch.setattr(highs, "milp", lambda *args, **kwargs: nothing)
    optimizer = mm.Optimizer.milp(np.ones((1, 3)), high=1.0, sense="max", time_limit=1e-3)
    with pytest.raises(StructureError, match=r"X\[0\]: solve found no decision in time"):
        optimizer.solve([1.0, 2.0, 5e4])
    found = optimizer.decide(np.array([[1.0, 2.0, 1e4]]), None, np.zeros(1, np.int64), np.eye(3)[:1])
    assert found.decisions.tolist() == [[1.0, 0.0, 0.0]] and found.lower.tolist() == [-2.0]


def dijkstra(costs):
    """The cheapest path, for costs ≥ 0 only."""
    if (costs < 0).any():
        raise ArithmeticError("a cost is negative")
    return PATHS[np.argmin(PATHS @ costs)]


def clipped(costs):
    return PATHS[np.argmin(PATHS @ np.maximum(costs, 0.0))]


@pytest.mark.parametrize("given", ["costs", "decisions"])
@pytest.mark.parametrize(
    ("optimizer", "why"),
    [
        (mm.Optimizer(lambda c: PATHS[np.argmin(PATHS @ c)], M, sense="max"), "is its sense 'min'?"),
        (mm.Optimizer(lambda c: PATHS[np.argmax(PATHS @ c)], M), "is its sense 'max'?"),
        (mm.Optimizer(clipped, M), "pass costs='nonnegative' to the Optimizer"),
    ],
)
def test_a_wrong_sense_and_clipped_costs_prove_nothing(optimizer, why, given):
    X, costs = data()
    known = {"costs": costs} if given == "costs" else {"decisions": PATHS[np.argmin(costs @ PATHS.T, axis=1)]}
    with pytest.warns(InexactArgmaxWarning) as caught:
        model = mm.CostLearner(optimizer, tol=0.1).fit(X, **known)
    assert why in str(caught[-1].message)
    assert not model.certificate_.proven and "proven" not in str(model.certificate_)


def test_a_solver_that_needs_nonnegative_costs():
    X, costs = data()
    decisions = PATHS[np.argmin(costs @ PATHS.T, axis=1)]
    with pytest.raises(StructureError, match=r"a cost is negative; some of the costs are negative.*costs='nonneg"):
        mm.CostLearner(mm.Optimizer(dijkstra, M)).fit(X, decisions=decisions)
    needy, X = mm.Optimizer(dijkstra, M, costs="nonnegative"), np.hstack([np.maximum(X, 0), np.maximum(-X, 0)])
    model = mm.CostLearner(needy, C=10.0).fit(X, decisions=decisions)
    free = mm.CostLearner(paths(), loss="missed", nonnegative=True, C=10.0).fit(X, decisions=decisions)
    assert model.certificate_.assumed and (model.coef_ >= 0).all()
    assert model.certificate_.primal == pytest.approx(free.certificate_.primal, rel=2e-3)
    ranked = [(tuple(z), round(score, 9)) for z, score in model.topk(X[0], 4)]
    predicted = model.predict_costs(X[:1])[0]
    assert [score for _, score in ranked] == pytest.approx(sorted(-PATHS @ predicted, reverse=True)[:4])
    assert len({z for z, _ in ranked}) == 4
    for parameters, given, message in (
        ({}, {"costs": costs}, "learning from costs asks it about 2ĉ − c, which may be negative"),
        ({"loss": "hamming"}, {"decisions": decisions}, "the loss must be 'missed', which never makes a cost negative"),
        (
            {"loss": lambda z: 1 - 2 * z},
            {"decisions": decisions},
            r"decisions\[0\]: .* must be ≤ 0 where the decision is 1",
        ),
        ({}, {"decisions": decisions, "known_costs": -np.ones_like(costs)}, r"known_costs\[0\]: costs must be ≥ 0"),
    ):
        with pytest.raises(ValueError, match=message):
            mm.CostLearner(needy, **parameters).fit(X, **given)
    with pytest.raises(ValueError, match=r"X\[0\]: .* features must be ≥ 0, found -\S+ for x\d; shift it"):
        mm.CostLearner(needy).fit(-X, decisions=decisions)
    with pytest.raises(ValueError, match=r"costs='nonnegative', found the cost -1"):
        needy.solve([-1.0] * M)


def test_the_indices_of_both_of_two_variables_may_be_a_vector():
    def cheaper(c):
        return [1, 0] if c[0] < c[1] else [0, 1]

    def single(z):
        return z.sum() == 1

    X, Y = np.ones((6, 1)), [[0, 1]] * 6
    with pytest.warns(
        UserWarning, match=r"all decisions are \[0, 1\], .* pass decision='vector' or decision='indices'"
    ):
        assert mm.CostLearner(mm.Optimizer(cheaper, 2)).fit(X, decisions=Y).predict(X).tolist() == Y
    for optimizer in (mm.Optimizer(cheaper, 2, decision="vector"), mm.Optimizer(cheaper, 2, feasible=single)):
        assert mm.CostLearner(optimizer).fit(X, decisions=Y).predict(X).tolist() == Y
    assert mm.CostLearner(mm.Optimizer(cheaper, 2)).fit(X, decisions=[[0, 1], [1, 0]] * 3).predict(X).shape == (6, 2)


def test_a_list_of_indices_is_not_a_vector():
    X, costs = np.ones((6, 1)), np.arange(18.0).reshape(6, 3) - 9.0

    def chosen(c):
        return np.flatnonzero(c < 0).tolist()

    with pytest.raises(ValueError, match=r"\[0.0, 1.0, 2.0\], either 3 numbers or the indices of all variables: pass"):
        mm.CostLearner(mm.Optimizer(chosen, 3)).fit(X, costs=costs)
    with pytest.raises(ValueError, match=r"lists of two kinds, .* pass decision='vector' or decision='indices'"):
        mm.CostLearner(mm.Optimizer(lambda c: [0, 1] if c[0] < 0 else [0, 0, 1], 3)).fit(X, costs=costs)
    mixed = [[0, 1, 1], [0, 1], {2}, [1, 0, 0], [], [2]]
    with pytest.raises(ValueError, match=r"decisions\[1\]: found lists of two kinds"):
        mm.CostLearner(mm.Optimizer(lambda c: c < 0, 3)).fit(X, decisions=mixed)
    declared = mm.Optimizer(chosen, 3, decision="indices")
    assert declared.solve([-1.0, -2.0, -3.0]).tolist() == [1, 1, 1]
    model = mm.CostLearner(declared, C=0.1).fit(X, costs=costs)
    assert model.predict(X).shape == (6, 3)
    with pytest.raises(ValueError, match="expected a decision: 3 numbers"):
        mm.Optimizer(lambda c: [0, 1], 3, decision="vector").solve([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="decision must be 'auto' or 'vector' or 'indices', found 'set'"):
        mm.Optimizer(chosen, 3, decision="set")


def test_regrets_below_zero_are_an_error():
    _, costs = data(4)
    every = mm.Optimizer(lambda c: PATHS[np.argmin(PATHS @ c)], M)
    with pytest.raises(ValueError, match=r"decisions\[2\]: its total 0 is better than \S+ of the decision"):
        mm.metrics.regret(costs, [*PATHS[:2], np.zeros(M), PATHS[0]], every)
    heuristic = mm.Optimizer(lambda c: PATHS[0], M, exact=False)
    best = [PATHS[np.argmin(PATHS @ c)] for c in costs]
    assert mm.metrics.regret(costs, best, heuristic) <= 0.0
