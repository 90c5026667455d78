"""Ramp bounds against the formulas of Do et al. 2008, by enumeration of all outputs of small random problems."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.core.structure import Compiled
from maxmargin.custom.examples import CustomExamples
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import Limits
from maxmargin.solvers.registry import resolve
from maxmargin.training import cccp
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run

COSTS = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [3.0, 1.0, 0.0]])


class TwoBits(mm.Structure):
    """Two bits that like to agree, over all four outputs."""

    outputs = tuple(product((0, 1), repeat=2))

    def joint_feature(self, x, y):
        return np.concatenate([y[0] * x, y[1] * x, [float(y[0] == y[1])]])

    def loss(self, y, y_hat):
        return 1.0 * (y[0] != y_hat[0]) + 0.5 * (y[1] != y_hat[1])

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, (0, 0), 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(self.outputs, key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))


class ExactTwoBits(TwoBits):
    """With the argmax of every bound."""

    def bound_argmax(self, w, x, y, bound):
        score = w @ self.joint_feature(x, y)
        return max(self.outputs, key=lambda k: bound.violation(w @ self.joint_feature(x, k) - score, self.loss(y, k)))


@dataclass(frozen=True)
class Data:
    """A structure with random, partly wrong labels, and the outputs of each input."""

    structure: Any
    X: Any
    Y: Any
    outputs: list[list[Any]]

    def examples(self) -> Any:
        if isinstance(self.structure, Compiled):
            return self.structure.fit_encode(self.X, self.Y)
        return CustomExamples(self.structure, self.X, self.Y)


def multiclass(rng):
    X = rng.normal(size=(14, 3))
    Y = (X @ rng.normal(size=(3, 3)) + 1.5 * rng.normal(size=(14, 3))).argmax(axis=1).tolist()
    Y[:3] = [0, 1, 2]
    return Data(mm.Multiclass(cost=COSTS), X, Y, [[0, 1, 2]] * 14)


def chain(rng, cost="hamming"):
    X = [rng.normal(size=(length, 2)) for length in (1, 2, 3, 2, 3, 1, 3, 2)]
    Y = [(x @ [1.0, -0.5] + 1.5 * rng.normal(size=len(x)) > 0).astype(int).tolist() for x in X]
    outputs = [list(map(list, product((0, 1), repeat=len(x)))) for x in X]
    return Data(mm.Chain(cost=cost, classes=[0, 1]), X, Y, outputs)


def own(rng, structure=TwoBits):
    X = list(rng.normal(size=(10, 2)))
    Y = [tuple(rng.integers(0, 2, 2).tolist()) for _ in X]
    return Data(structure(), X, Y, [list(TwoBits.outputs)] * 10)


DATA = {
    "multiclass": multiclass,
    "chain": chain,
    "chain zero-one": lambda rng: chain(rng, "zero-one"),
    "own": own,
    "own with every argmax": lambda rng: own(rng, ExactTwoBits),
}
RAMPS = ("ramp", "ramp-slack")


def random_data(name: str, seed: int, weighted: bool) -> tuple[Data, np.ndarray]:
    rng = np.random.default_rng(seed)
    data = DATA[name](rng)
    if isinstance(data.structure, Compiled):
        data.structure.fit(data.X, data.Y)
    return data, rng.uniform(0.3, 2.0, len(data.Y)) if weighted else np.ones(len(data.Y))


# ---------------------------------------------------------------------- by enumeration


@dataclass(frozen=True)
class Enumerated:
    """Rows Ψ(x_i, ŷ) − Ψ(x_i, y_i) and losses of all outputs ŷ, the truth among them."""

    rows: list[np.ndarray]
    losses: list[np.ndarray]
    slack: bool

    @classmethod
    def of(cls, data: Data, bound: str) -> Enumerated:
        psi, loss = data.structure.joint_feature, data.structure.loss
        triples = list(zip(data.X, data.Y, data.outputs, strict=True))
        rows = [np.array([psi(x, k) - psi(x, y) for k in outputs]) for x, y, outputs in triples]
        return cls(rows, [np.array([loss(y, k) for k in outputs]) for _, y, outputs in triples], bound == "ramp-slack")

    def betas(self, w: np.ndarray) -> list[np.ndarray]:
        """Γ(Δ) (f(x, ŷ) − f(x, y))."""
        rises = [rows @ w for rows in self.rows]
        return [b * m for b, m in zip(self.losses, rises, strict=True)] if self.slack else rises

    def convex(self, w: np.ndarray) -> np.ndarray:
        """max [β + Δ] of each example."""
        return np.array([(beta + b).max() for beta, b in zip(self.betas(w), self.losses, strict=True)])

    def ramp(self, w: np.ndarray) -> np.ndarray:
        """max [β + Δ] − max β."""
        return self.convex(w) - np.array([beta.max() for beta in self.betas(w)])

    def loss_of_violators(self, w: np.ndarray) -> np.ndarray:
        """The least Δ(y, ȳ) of all ȳ = argmax [β + Δ]."""
        found = zip(self.betas(w), self.losses, strict=True)
        return np.array([b[beta + b >= (beta + b).max() - 1e-12].min() for beta, b in found])

    def loss_of_predictions(self, w: np.ndarray) -> np.ndarray:
        """Δ(y, y*)."""
        return np.array([b[(rows @ w).argmax()] for rows, b in zip(self.rows, self.losses, strict=True)])

    def objective(self, w: np.ndarray, budgets: np.ndarray) -> float:
        return 0.5 * float(w @ w) + float(budgets @ self.ramp(w))


@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize("name", DATA)
def test_the_bound_lies_between_two_losses(name, bound):
    """Δ(y, ȳ) ≥ ℓ ≥ Δ(y, y*), and the library's ℓ is the formula's."""
    rng = np.random.default_rng(1)
    data, weights = random_data(name, 2, False)
    examples, by_hand = data.examples(), Enumerated.of(data, bound)
    problem = Problem(examples, Bound("slack" if bound == "ramp-slack" else "margin"), Objective(1.0, weights))
    for scale in (0.1, 1.0, 5.0) * 5:
        w = scale * rng.normal(size=examples.dim)
        ramp = by_hand.ramp(w)
        assert (by_hand.loss_of_violators(w) >= ramp - 1e-9).all()
        assert (ramp >= by_hand.loss_of_predictions(w) - 1e-9).all()
        assert (by_hand.convex(w) >= ramp - 1e-9).all()
        if exact(name, bound):
            problem.decode(w, problem.everyone)
            found = problem.hinges - problem.references_at(w, latent=False).rises(w)
            np.testing.assert_allclose(found, ramp, atol=1e-9)


def exact(name: str, bound: str) -> bool:
    """Whether both argmaxes are exact: slack re-scaling is searched for where a structure knows no better."""
    return not (name == "own" and bound == "ramp-slack")


# ---------------------------------------------------------------------- the procedure


def trained(data: Data, bound: str, weights: np.ndarray, C: float, solver: str, tol: float) -> tuple[Any, Any, Run]:
    """Problem, state and run of the concave-convex procedure."""
    rescaling = "slack" if bound == "ramp-slack" else "margin"
    problem = Problem(data.examples(), Bound(rescaling), Objective(C, weights))
    run = Run(resolve(solver), Limits(tol, 2000))
    state = ConcaveConvex(run, latent=False).go(problem, References.truths(problem.n_examples))
    return problem, state, run


@pytest.mark.parametrize("solver", ["auto", "bundle", "nslack", "oneslack"])
@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize("name", DATA)
def test_the_objective_falls_and_is_the_formulas(name, bound, solver):
    for seed, C, weighted in ((0, 0.3, False), (1, 2.0, True), (2, 20.0, True)):
        data, weights = random_data(name, seed, weighted)
        problem, state, run = trained(data, bound, weights, C, solver, 1e-4)
        by_hand, history, w = Enumerated.of(data, bound), run.history, state.best_w
        objectives = np.array([row["objective"] for row in history])
        if exact(name, bound):
            assert (np.diff(objectives) <= 1e-9 * np.abs(objectives[:-1])).all()
            assert objectives[-1] == pytest.approx(by_hand.objective(w, C * weights), rel=1e-9)
            total = weights.sum()
            assert history[-1]["convex"] == pytest.approx(weights @ by_hand.convex(w) / total, abs=1e-9)
            assert history[-1]["bound"] == pytest.approx(weights @ by_hand.ramp(w) / total, abs=1e-9)
        assert run.stop_reason in ("tol", "converged", "estimated")
        assert history[-1]["inner_gap"] == state.certificate(problem).gap


@pytest.mark.parametrize(
    ("name", "bound"),
    [
        *((name, "ramp") for name in DATA),
        ("chain zero-one", "ramp-slack"),
        *((name, "ramp-slack") for name in ("multiclass", "own", "own with every argmax")),
    ],
)
def test_the_loss_in_the_history_is_that_of_predictions(name, bound):
    for seed in range(12):
        data, weights = random_data(name, seed, True)
        _, state, run = trained(data, bound, weights, 1.0, "auto", 1e-3)
        last = run.history[-1]
        expected = weights @ Enumerated.of(data, bound).loss_of_predictions(state.best_w) / weights.sum()
        assert last["loss"] == pytest.approx(expected, abs=1e-9)
        assert last["loss"] <= last["bound"] + 1e-9 <= last["convex"] + 2e-9


@pytest.mark.parametrize("solver", ["auto", "bundle", "nslack", "oneslack"])
@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize("name", ["multiclass", "chain", "own with every argmax"])
def test_the_certificate_of_the_last_convex_problem_is_true(name, bound, solver):
    for seed in range(2):
        data, weights = random_data(name, seed, True)
        problem, state, _ = trained(data, bound, weights, 1.0, solver, 1e-3)
        certificate = state.certificate(problem)
        optimum = convex_optimum(Enumerated.of(data, bound), problem)
        assert certificate.exact
        assert certificate.dual <= optimum + 1e-5 * abs(optimum)
        assert certificate.primal >= optimum - 1e-5 * abs(optimum)
        assert certificate.gap <= 1e-3


def convex_optimum(by_hand: Enumerated, problem: Problem) -> float:
    """min ½‖w‖² + Σ C c_i (ξ_i + ã_i·w) with ξ_i ≥ β + Δ of every output, by SLSQP."""
    references, budgets = problem.references, problem.objective.budgets
    d, n = problem.dim, problem.n_examples
    slope = budgets @ references.planes.matrix(d).toarray()
    factors = [b[:, None] if by_hand.slack else np.ones((len(b), 1)) for b in by_hand.losses]
    planes = np.vstack([-f * rows for f, rows in zip(factors, by_hand.rows, strict=True)])
    owner = np.repeat(np.arange(n), list(map(len, by_hand.losses)))
    least = np.concatenate(by_hand.losses)
    matrix = np.hstack([planes, np.eye(n)[owner]])
    return minimize(
        lambda v: 0.5 * v[:d] @ v[:d] + slope @ v[:d] + budgets @ v[d:],
        np.concatenate([np.zeros(d), np.full(n, least.max())]),
        jac=lambda v: np.concatenate([v[:d] + slope, budgets]),
        constraints={"type": "ineq", "fun": lambda v: matrix @ v - least, "jac": lambda v: matrix},
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    ).fun  # fmt: skip


def test_the_first_point_is_the_convex_solution():
    data, weights = random_data("multiclass", 0, True)
    ramp = mm.StructuralSVM(data.structure, C=1.0, bound="ramp", tol=1e-6).fit(data.X, data.Y, weights)
    convex = mm.StructuralSVM(data.structure, C=1.0, tol=1e-6).fit(data.X, data.Y, weights)
    first = ramp.history_[0]
    by_hand = Enumerated.of(data, "ramp")
    expected = weights @ by_hand.convex(convex.coef_) / weights.sum()
    assert first["convex"] == pytest.approx(expected, rel=0.2)  # the first problem is solved loosely
    assert ramp.history_[-1]["objective"] < by_hand.objective(convex.coef_, weights)


# ---------------------------------------------------------------------- estimators


@pytest.mark.filterwarnings("ignore:the objective found is:maxmargin.exceptions.InexactArgmaxWarning")
@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize("name", ["multiclass", "own", "own with every argmax"])
def test_weights_are_repetitions(name, bound, monkeypatch):
    """Where losses differ: outputs of equal loss may tie at a convex solution, and then either may be the next ỹ."""
    monkeypatch.setattr(cccp, "FIRST_GAP", 1e-7)  # steps from loose solutions may end elsewhere
    data, _ = random_data(name, 3, False)
    times = np.resize([1, 3, 2], len(data.Y))
    again = np.repeat(np.arange(len(data.Y)), times)
    model = mm.StructuralSVM(data.structure, C=0.5, bound=bound, tol=1e-7, max_iter=3000)
    weighted = model.fit(data.X, data.Y, sample_weight=times).history_[-1]["objective"]
    repeated = model.fit([data.X[i] for i in again], [data.Y[i] for i in again]).history_[-1]["objective"]
    # where outputs are searched for, what is found depends on the weights on the way, and so may the optimum
    assert weighted == pytest.approx(repeated, rel=1e-4 if exact(name, bound) else 0.02)


@pytest.mark.filterwarnings("ignore:the objective found is:maxmargin.exceptions.InexactArgmaxWarning")
@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize("name", ["multiclass", "chain", "own"])
def test_a_path_has_true_objectives(name, bound):
    data, weights = random_data(name, 4, True)
    model = mm.StructuralSVM(data.structure, bound=bound, tol=1e-4)
    for one in mm.regularization_path(model, data.X, data.Y, [0.1, 1.0, 5.0], weights):
        objectives = [row["objective"] for row in one.history_]
        if exact(name, bound):
            assert (np.diff(objectives) <= 1e-9).all()
            expected = Enumerated.of(data, bound).objective(one.coef_, one.C * weights)
            assert objectives[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bound", RAMPS)
def test_saved_and_loaded(tmp_path, bound):
    data, _ = random_data("chain", 0, False)
    model = mm.SequenceTagger(bound=bound).fit(data.X, data.Y)
    model.save(tmp_path / "model.mm", support=True)
    again = mm.load(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.bound == bound
    assert again.certificate_ == model.certificate_
    assert again.history_ == model.history_
    assert again.predict(data.X) == model.predict(data.X)
    assert [plane.output for plane in again.support_] == [plane.output for plane in model.support_]


@pytest.mark.parametrize("bound", RAMPS)
def test_support_makes_the_weights(bound):
    """w = Σ α a − Σ C c_i ã_i as the gap closes: planes are relative to the references."""
    data, weights = random_data("multiclass", 5, True)
    model = mm.StructuralSVM(data.structure, bound=bound, C=1.0, tol=1e-9, max_iter=5000)
    model.fit(data.X, data.Y, weights)
    np.testing.assert_allclose(model.support_.planes.T @ model.support_.alphas, model.coef_, atol=1e-3)


def test_shuffled_labels_hurt_the_ramp_less():
    rng = np.random.default_rng(0)
    centres = 3.0 * rng.normal(size=(5, 2))
    y = rng.integers(0, 5, 600)
    X = centres[y] + rng.normal(size=(600, 2))
    noisy = y.copy()
    wrong = rng.permutation(300)[:90]
    noisy[wrong] = noisy[rng.permutation(wrong)]
    right = {
        bound: mm.MulticlassSVM(C=1.0, bound=bound).fit(X[:300], noisy[:300]).score(X[300:], y[300:])
        for bound in ("margin", "ramp")
    }
    assert right["ramp"] > right["margin"]


def test_bit_for_bit_whatever_the_threads():
    X, y = mm.datasets.make_multiclass(300, random_state=0)
    first, second = (mm.MulticlassSVM(bound="ramp", n_jobs=jobs).fit(X, y).coef_ for jobs in (1, 2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slack": "quadratic"}, "needs slack='linear', found 'quadratic'"),
        ({"C": np.inf}, "needs a finite C, found inf"),
        ({"C": 0.0}, "C must be"),
        ({"checkpoint": "run.ckpt"}, "writes no checkpoints"),
    ],
)
def test_what_a_ramp_cannot_do(bound, parameters, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, _ = random_data("multiclass", 0, False)
    with pytest.raises(ValueError, match=message):
        mm.MulticlassSVM(bound=bound, **parameters).fit(data.X, data.Y)
    with pytest.raises(ValueError, match=message):
        mm.regularization_path(mm.MulticlassSVM(bound=bound, **parameters), data.X, data.Y, Cs=[parameters.get("C", 1)])


def test_outer_steps_are_limited():
    X, Y = mm.datasets.make_chains(20, random_state=0)
    whole = mm.StructuralSVM(mm.Chain(), bound="ramp", C=0.3, tol=1e-6).fit(X, Y)
    assert len(whole.history_) > 2
    with pytest.warns(ConvergenceWarning, match="stopped after 2 outer steps"):
        short = mm.StructuralSVM(mm.Chain(), bound="ramp", C=0.3, tol=1e-6, max_outer=2).fit(X, Y)
    assert (len(short.history_), short.stop_reason_) == (2, "max_outer")
    assert short.history_[1]["objective"] == whole.history_[1]["objective"]


def test_no_checkpoint_to_resume_from(tmp_path):
    data, _ = random_data("multiclass", 0, False)
    path = tmp_path / "run.ckpt"
    mm.MulticlassSVM(checkpoint=path).fit(data.X, data.Y)
    with pytest.raises(ValueError, match="bound='ramp' has no checkpoints to resume from"):
        mm.MulticlassSVM(bound="ramp").fit(data.X, data.Y, resume=path)


def test_unknown_bounds_are_named():
    data, _ = random_data("multiclass", 0, False)
    expected = "bound must be 'margin' or .* or 'softmax-margin', found 'nope'"
    with pytest.raises(ValueError, match=expected):
        mm.MulticlassSVM(bound="nope").fit(data.X, data.Y)
    with pytest.raises(ValueError, match="found 3"):
        mm.MulticlassSVM(bound=3).fit(data.X, data.Y)


@pytest.mark.parametrize("bound", RAMPS)
@pytest.mark.parametrize("name", ["multiclass", "own"])
def test_interrupted(name, bound):
    data, _ = random_data(name, 0, False)

    def interrupt(step):
        raise KeyboardInterrupt

    model = mm.StructuralSVM(data.structure, bound=bound, callbacks=[interrupt]).fit(data.X, data.Y)
    assert model.stop_reason_ == "interrupted"
    assert np.isfinite(model.coef_).all()
    assert len(model.predict(data.X)) == len(data.Y)
    assert np.isfinite(model.history_[-1]["objective"])


def test_stopped_by_a_callback_and_by_time():
    data, _ = random_data("multiclass", 0, False)
    model = mm.StructuralSVM(data.structure, bound="ramp", callbacks=[lambda step: True]).fit(data.X, data.Y)
    assert model.stop_reason_ == "callback"
    with pytest.warns(UserWarning, match="stopped after"):
        late = mm.StructuralSVM(data.structure, bound="ramp", max_seconds=1e-9, tol=1e-9).fit(data.X, data.Y)
    assert late.stop_reason_ == "max_seconds"


def test_few_steps_for_each_convex_problem_end_with_a_warning():
    data, _ = random_data("chain", 0, False)
    with pytest.warns(UserWarning, match="raise max_iter"):
        model = mm.StructuralSVM(data.structure, bound="ramp", max_iter=1, tol=1e-6, C=5.0).fit(data.X, data.Y)
    assert (np.diff([row["objective"] for row in model.history_]) <= 1e-9).all()


@pytest.mark.parametrize("solver", ["subgradient", "perceptron"])
def test_solvers_that_close_no_gap_end_too(solver):
    data, _ = random_data("multiclass", 0, False)
    model = mm.StructuralSVM(data.structure, bound="ramp", solver=solver, tol=0.1, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.Y)
    assert np.isfinite(model.coef_).all()
    assert len(model.history_) <= 100
