"""`CostLearner`: SPO+ and inverse optimisation against enumeration, the two-stage baseline, forms of input, files."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import maxmargin as mm
from tests.helpers.deciders import PATHS, M, cheapest_two, data, fits, paths, within


def spo_plus(predicted, costs, decisions=PATHS):
    """SPO+ of Elmachtoub and Grigas 2022, Definition 3, for each row: max_z (c − 2ĉ)·z + 2ĉ·z* − c·z*."""
    total = []
    for p, c in zip(predicted, costs, strict=True):
        best = decisions[np.argmin(decisions @ c)]
        total.append((decisions @ (c - 2 * p)).max() + (2 * p - c) @ best)
    return np.array(total)


def regrets(predicted, costs, decisions=PATHS):
    taken = decisions[np.argmin(predicted @ decisions.T, axis=1)]
    best = (costs @ decisions.T).min(axis=1)
    return ((taken * costs).sum(axis=1) - best).sum() / np.abs(best).sum()


# ---------------------------------------------------------------------- costs known


@pytest.mark.parametrize("prior", [None, "least-squares"])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_objective_is_spo_plus(prior, standardize):
    X, costs = data()
    model = mm.CostLearner(paths(), C=0.7, tol=1e-5, prior=prior, standardize=standardize).fit(X, costs=costs)
    scale = np.abs(costs).mean() if standardize else 1.0
    away = model.coef_ - (0.0 if prior is None else model.two_stage_coef_)
    hinges = spo_plus(model.predict_costs(X), costs) / scale
    assert model.certificate_.primal == pytest.approx(0.5 * away @ away + 0.7 * hinges.sum(), rel=1e-9)
    assert model.certificate_.exact
    assert model.certificate_.gap <= 1e-5


def test_no_other_weights_have_a_lower_spo_plus():
    X, costs = data(15, 1)
    model = mm.CostLearner(paths(), C=1.0, tol=1e-6, standardize=False).fit(X, costs=costs)

    def objective(w):
        return 0.5 * w @ w + spo_plus(np.hstack([X, np.ones((15, 1))]) @ w.reshape(2, M), costs).sum()

    assert objective(model.coef_) == pytest.approx(model.certificate_.primal, rel=1e-9)
    found = minimize(objective, np.zeros(2 * M), method="Powell", options={"maxiter": 5, "maxfev": 4000})
    assert model.certificate_.dual <= found.fun
    assert model.certificate_.primal <= found.fun * (1 + 1e-9)


def test_scores_are_minus_the_normalised_regret():
    X, costs = data(80)
    model = mm.CostLearner(paths(), C=10.0).fit(X[:40], costs=costs[:40])
    assert model.train_score_ == pytest.approx(-regrets(model.predict_costs(X[:40]), costs[:40]), abs=1e-12)
    assert model.train_score_ == pytest.approx(model.score(X[:40], costs[:40]), abs=1e-12)
    expected = -regrets(model.predict_costs(X[40:]), costs[40:])
    assert model.score(X[40:], costs=costs[40:]) == pytest.approx(expected, abs=1e-12)
    judged = mm.metrics.regret(costs[40:], model.predict(X[40:]), paths())
    assert judged == pytest.approx(-expected, abs=1e-12)
    mean = mm.metrics.regret(costs[40:], model.predict(X[40:]), paths(), normalize=False)
    assert mean == pytest.approx(-expected * (costs[40:] @ PATHS.T).min(axis=1).mean())


def test_the_two_stage_baseline_is_least_squares():
    X, costs = data(80)
    model = mm.CostLearner(paths()).fit(X[:40], costs=costs[:40])
    wide = np.hstack([X, np.ones((80, 1))])
    predicted = wide[40:] @ np.linalg.lstsq(wide[:40], costs[:40], rcond=None)[0]
    assert model.two_stage_score(X[40:], costs[40:]) == pytest.approx(-regrets(predicted, costs[40:]), abs=1e-12)
    assert model.two_stage_score_ == pytest.approx(model.two_stage_score(X[:40], costs[:40]), abs=1e-12)
    near = mm.CostLearner(paths(), prior="least-squares", C=1e-6).fit(X[:40], costs=costs[:40])
    assert near.predict_costs(X[40:]) == pytest.approx(predicted, abs=1e-3)


def test_units_do_not_matter():
    X, costs = data()
    model = mm.CostLearner(paths(), tol=1e-6).fit(X, costs=costs)
    other = mm.CostLearner(paths(), tol=1e-6).fit(1000.0 * X + 7.0, costs=100.0 * costs)
    assert other.predict_costs(1000.0 * X + 7.0) == pytest.approx(100.0 * model.predict_costs(X), rel=0.05, abs=2.0)
    assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-5)
    slopes = X @ model.cost_coef_.T + model.cost_intercept_
    assert slopes == pytest.approx(model.predict_costs(X))


def test_free_intercepts():
    """With a large constant feature, costs far from 0 are learnt as well as costs around 0."""
    X, costs = data()
    far = mm.CostLearner(paths(), C=1e-3, intercept_scaling=100.0).fit(X, costs=costs)
    near = mm.CostLearner(paths(), C=1e-3, intercept_scaling=1.0).fit(X, costs=costs)
    bare = mm.CostLearner(paths(), fit_intercept=False).fit(X, costs=costs)
    assert far.certificate_.primal < near.certificate_.primal
    assert np.abs(far.cost_intercept_).mean() > 5.0 * np.abs(near.cost_intercept_).mean()
    assert len(bare.coef_) == 3 * M
    assert not np.any(bare.predict_costs(X.mean(axis=0)[None]) > 1e-9)


def test_values_are_maximised():
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(50, 3)), np.array([3.0, 4.0, 5.0, 6.0, 3.0])
    values = np.exp(0.5 * X @ rng.normal(size=(3, 5)) + 0.2 * rng.normal(size=(50, 5)))
    optimizer = mm.Optimizer.knapsack(weights, 10.0)
    model = mm.CostLearner(optimizer, C=10.0, tol=1e-5).fit(X, costs=values)
    every = np.array([z for z in np.ndindex(*[2] * 5) if z @ weights <= 10.0], float)
    hinges = spo_plus(-model.predict_costs(X), -values, every) / np.abs(values).mean()
    primal = 0.5 * model.coef_ @ model.coef_ + 10.0 * hinges.sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.score(X, values) == pytest.approx(-regrets(-model.predict_costs(X), -values, every), abs=1e-12)
    assert model.score(X, values) > -0.1


def test_known_costs_are_added():
    X, costs = data()
    known = np.random.default_rng(2).random((40, M)) * 3.0
    model = mm.CostLearner(paths(), C=0.5, tol=1e-5).fit(X, costs=costs + known, known_costs=known)
    hinges = spo_plus(model.predict_costs(X, known_costs=known), costs + known) / np.abs(costs + known).mean()
    primal = 0.5 * model.coef_ @ model.coef_ + 0.5 * hinges.sum()
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.certificate_.gap <= 1e-5
    informed, uninformed = (model.score(X, costs + known, known_costs=k) for k in (known, None))
    assert informed > uninformed
    assert np.array_equal(model.predict(X, known_costs=known) @ np.ones(M), np.full(40, 4.0))


@pytest.mark.filterwarnings("ignore:the objective found is:maxmargin.exceptions.InexactArgmaxWarning")
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
@pytest.mark.parametrize("bound", ["margin", "slack", "ramp"])
def test_other_formulations(bound, slack):
    if bound == "ramp" and slack == "quadratic":
        return
    X, costs = data()
    model = mm.CostLearner(paths(), bound=bound, slack=slack, tol=0.02, C=3.0).fit(X, costs=costs)
    assert model.train_score_ > -0.15


# ---------------------------------------------------------------------- decisions known


def test_experts_without_noise_are_imitated_with_a_hard_margin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, M, 4))
    truth = np.array([1.0, -2.0, 0.5, 0.0])
    decisions = PATHS[np.argmin((X @ truth) @ PATHS.T, axis=1)]
    model = mm.CostLearner(paths(), weights="shared", C=np.inf, fit_intercept=False, standardize=False)
    model.fit(X[:60], decisions=decisions[:60])
    assert model.score(X[:60], decisions=decisions[:60]) == 0.0
    assert model.score(X[60:], decisions=decisions[60:]) > -1.0
    assert model.coef_ @ truth / np.linalg.norm(model.coef_) / np.linalg.norm(truth) > 0.97
    assert model.two_stage_coef_ is None
    assert np.isnan(model.two_stage_score_)


@pytest.mark.parametrize("loss", ["auto", "hamming", lambda z: 3.0 * (1.0 - 2.0 * z)])
def test_the_objective_of_known_decisions(loss):
    X, costs = data()
    decisions = PATHS[np.argmin(costs @ PATHS.T, axis=1)]
    model = mm.CostLearner(paths(), C=0.3, tol=1e-5, loss=loss).fit(X, decisions=decisions)
    factor, total = (3.0 if callable(loss) else 1.0), 0.0
    for p, z in zip(model.predict_costs(X), decisions, strict=True):
        total += (factor * np.abs(PATHS - z).sum(axis=1) - (PATHS - z) @ p).max()
    assert model.certificate_.primal == pytest.approx(0.5 * model.coef_ @ model.coef_ + 0.3 * total, rel=1e-9)
    wrong = np.abs(model.predict(X) - decisions).sum(axis=1).mean()
    assert model.score(X, decisions=decisions) == pytest.approx(-factor * wrong)


def test_indices_instances_and_a_function():
    rng = np.random.default_rng(4)
    instances = [(rng.random(5), 1.2) for _ in range(40)]
    X = rng.normal(size=(40, 3))
    costs = X @ rng.normal(size=(3, 5)) - 0.2
    decisions = [set(np.flatnonzero(within(c, i)).tolist()) for c, i in zip(costs, instances, strict=True)]
    optimizer = mm.Optimizer(within, 5, feasible=fits)
    model = mm.CostLearner(optimizer, C=10.0).fit(X, decisions=decisions, instances=instances)
    assert model.score(X, decisions=decisions, instances=instances) > -0.5
    found = model.predict(X, instances=instances)
    assert all(w[list(z)].sum() <= c for z, (w, c) in zip(found, instances, strict=True))
    threads = mm.CostLearner(optimizer, C=10.0, n_jobs=2).fit(X, decisions=decisions, instances=instances)
    assert np.array_equal(threads.coef_, model.coef_)


def test_an_object_with_solve():
    class Two:
        n_variables = 4

        def solve(self, costs, instance=None):
            return cheapest_two(costs)

    X = np.random.default_rng(5).normal(size=(30, 2))
    costs = X @ np.random.default_rng(6).normal(size=(2, 4))
    model = mm.CostLearner(Two(), C=10.0).fit(X, costs)
    same = mm.CostLearner(mm.Optimizer(cheapest_two, 4), C=10.0).fit(X, costs)
    assert np.array_equal(model.coef_, same.coef_)


@pytest.mark.parametrize("weights", ["per-variable", "shared", "both"])
def test_the_structure_itself(weights):
    """The four methods agree with each other and with enumeration, and any estimator takes the structure."""
    rng = np.random.default_rng(10)
    first, second = rng.normal(size=(12, 2)), rng.normal(size=(12, M, 2))
    X = {"per-variable": first, "shared": second, "both": (first, second)}[weights]
    Y = PATHS[rng.integers(0, len(PATHS), 12)].astype(int)
    structure = mm.Decisions(paths(), weights=weights)
    model = mm.CostLearner(paths(), weights=weights).fit(X, decisions=Y)
    if weights == "both":
        assert len(model.coef_) == 3 * M + 2
        return
    assert mm.check_structure(structure, list(X), list(Y), n_trials=4).ok
    same = mm.StructuralSVM(structure).fit(X, list(Y))
    assert np.array_equal(same.coef_, model.coef_)


# ---------------------------------------------------------------------- features


def test_shared_weights_and_inputs_of_different_sizes():
    rng = np.random.default_rng(7)
    X = [rng.normal(size=(m, 3)) for m in rng.integers(4, 8, 30)]
    costs = [x @ [1.0, -1.0, 0.5] + 2.0 for x in X]
    model = mm.CostLearner(mm.Optimizer(cheapest_two), weights="shared", C=100.0).fit(X, costs=costs)
    assert model.score(X, costs=costs) == pytest.approx(0.0, abs=1e-3)
    assert [len(z) for z in model.predict(X)] == [len(c) for c in costs]
    predicted = model.predict_costs(X)
    assert predicted[0] == pytest.approx(X[0] @ model.cost_coef_ + model.cost_intercept_)


def test_both_kinds_of_weights():
    rng = np.random.default_rng(8)
    first, second = rng.normal(size=(50, 2)), rng.normal(size=(50, M, 2))
    costs = first @ rng.normal(size=(2, M)) + second @ [1.0, 2.0] + 3.0
    model = mm.CostLearner(paths(), weights="both", C=10.0).fit((first[:30], second[:30]), costs=costs[:30])
    assert len(model.coef_) == 3 * M + 2
    assert model.score((first[30:], second[30:]), costs=costs[30:]) > -0.1
    assert model.two_stage_score((first[30:], second[30:]), costs[30:]) == pytest.approx(0.0, abs=1e-6)
    (a, b), (c, d) = model.cost_coef_, model.cost_intercept_
    assert first @ a.T + c + second @ b + d == pytest.approx(model.predict_costs((first, second)))


def test_data_frames_and_named_features():
    pandas = pytest.importorskip("pandas")
    X, costs = data()
    frame = pandas.DataFrame(X, columns=["rain", "hour", "load"])
    model = mm.CostLearner(paths()).fit(frame, costs=pandas.DataFrame(costs))
    plain = mm.CostLearner(paths()).fit(X, costs=costs)
    assert np.array_equal(model.coef_, plain.coef_)
    assert model.feature_names_out[0] == "rain → 0"
    assert model.feature_names_out[-1] == f"intercept → {M - 1}"
    with pytest.raises(ValueError, match="expected those of the fit"):
        model.predict(frame[["hour", "rain", "load"]])
    named = [dict(zip(frame.columns, x, strict=True)) for x in X]
    assert mm.CostLearner(paths()).fit(named, costs=costs).score(named, costs) == pytest.approx(
        plain.train_score_, abs=0.1
    )


def test_nonnegative_weights():
    rng = np.random.default_rng(9)
    X = rng.random((40, M, 3))
    costs = X @ [1.0, 0.0, 2.0] + 0.3 * rng.random((40, M))
    model = mm.CostLearner(paths(), weights="shared", nonnegative=True, C=10.0).fit(X, costs=costs)
    assert (model.coef_ >= 0).all()
    assert (model.two_stage_coef_ >= 0).all()
    assert (model.predict_costs(X) >= 0).all()


def test_explanations():
    X, costs = data()
    model = mm.CostLearner(paths(), C=1.0).fit(X, costs=costs)
    scores = np.sort(-2.0 * (model.predict_costs(X[:1]) / np.abs(costs).mean()) @ PATHS.T)[0][::-1]
    found = model.topk(X[0], 4)
    assert [score for _, score in found] == pytest.approx(scores[:4])
    why = model.explain(X[0], n_features=3)
    assert np.array_equal(why.prediction, model.predict(X[:1])[0])
    assert why.margin == pytest.approx(scores[0] - scores[1])
    assert sum(amount for _, amount in why.contributions) + why.rest == pytest.approx(why.margin)


# ---------------------------------------------------------------------- conventions


def test_search_over_C_and_a_path():
    X, costs = data()
    search = GridSearchCV(mm.CostLearner(paths(), tol=1e-2), {"C": [0.01, 1.0]}, cv=4).fit(X, costs)
    assert search.best_score_ > -0.2
    models = mm.regularization_path(mm.CostLearner(paths(), tol=1e-3), X, costs, Cs=[0.1, 1.0])
    single = mm.CostLearner(paths(), tol=1e-3).fit(X, costs)
    assert models[1].certificate_.primal == pytest.approx(single.certificate_.primal, rel=2e-3)


@pytest.mark.parametrize(
    "optimizer",
    [
        paths(),
        mm.Optimizer(cheapest_two, M),
        mm.Optimizer.milp(np.ones((1, M)), low=3),
        mm.Optimizer.knapsack(np.ones(M), 3.0),
    ],
    ids=["path", "function", "milp", "knapsack"],
)
def test_saving_and_pickling(optimizer, tmp_path):
    X, costs = data(8)
    model = mm.CostLearner(optimizer, prior="least-squares", tol=0.1).fit(X, costs=costs)
    model.save(tmp_path / "m.mm", support=True)
    functions = {} if optimizer.kind else {"solve": cheapest_two}
    for loaded in (mm.load(tmp_path / "m.mm", functions=functions), pickle.loads(pickle.dumps(model))):
        assert np.array_equal(loaded.coef_, model.coef_)
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert loaded.two_stage_score(X, costs) == model.two_stage_score(X, costs)
        assert str(loaded.certificate_) == str(model.certificate_)
        assert all(np.array_equal(a.output, b.output) for a, b in zip(loaded.support_, model.support_, strict=True))
        loaded.fit(X, costs=costs)
        assert np.array_equal(loaded.coef_, model.coef_)


def test_an_optimizer_of_a_class_of_the_user_is_not_saved(tmp_path):
    class Mine(mm.Optimizer):
        pass

    X, costs = data(10)
    model = mm.CostLearner(Mine(cheapest_two, M), tol=0.1).fit(X, costs=costs)
    with pytest.raises(ValueError, match=r"parameters.optimizer cannot be saved: .* class Mine; .* functions=…"):
        model.save(tmp_path / "m.mm")


def test_resuming(tmp_path):
    X, costs = data()
    with pytest.warns(ConvergenceWarning):
        mm.CostLearner(paths(), prior="least-squares", checkpoint=tmp_path / "c.npz", max_iter=3).fit(X, costs=costs)
    whole = mm.CostLearner(paths(), prior="least-squares").fit(X, costs=costs)
    resumed = mm.CostLearner(paths(), prior="least-squares").fit(X, costs=costs, resume=tmp_path / "c.npz")
    assert np.array_equal(resumed.coef_, whole.coef_)


@pytest.mark.parametrize("form", [set, list, np.array])
def test_predictions_have_the_form_of_the_known_decisions(form, tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 3))
    cheapest = mm.Optimizer.milp(np.ones((1, 3)), low=1, high=1)
    vectors = np.eye(3, dtype=int)[X.argmin(axis=1)]
    chosen = [form(np.flatnonzero(z).tolist()) for z in vectors]
    expected = mm.CostLearner(cheapest).fit(X, decisions=vectors)
    model = mm.CostLearner(cheapest).fit(X, decisions=chosen)
    model.save(tmp_path / "m.mm")
    assert np.array_equal(model.coef_, expected.coef_)
    kind = set if form is set else list
    for some in (model, mm.load(tmp_path / "m.mm")):
        found = some.predict(X)
        assert found == [kind(np.flatnonzero(z).tolist()) for z in expected.predict(X)]
        assert some.topk(X[0], 2)[0][0] == found[0]


@pytest.mark.parametrize("decisions", [[[0, 1, 1], {0, 1}, [1, 0, 1]], [{0}, [0], {1}]])
def test_known_decisions_have_one_form(decisions):
    with pytest.raises(ValueError, match=r"decisions\[1\]: decisions have different forms: this is a"):
        mm.CostLearner(mm.Optimizer.knapsack([1, 1, 1], 2)).fit(np.eye(3), decisions=decisions)
