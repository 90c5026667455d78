"""The concave-convex procedure with latent variables, against enumeration of all outputs (y, h)."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin import cccp
from maxmargin.bounds import Bound
from maxmargin.cccp import ConcaveConvex, InexactArgmaxWarning
from maxmargin.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.nslack import NSlack
from maxmargin.solvers.registry import resolve
from maxmargin.structures.base import StructureError
from maxmargin.structures.own import OwnExamples
from maxmargin.training import Run


class Bag(mm.Structure):
    """A bag of three rows with a label y of ±1, which one row h gives away; a wrong label costs more in later rows."""

    size = 3

    def joint_feature(self, x, output):
        y, h = output
        return np.append(y * x[h], y)

    def loss(self, y, output):
        return (1.0 + 0.2 * output[1]) * (y != output[0])

    def outputs(self):
        return [(y, h) for y in (-1, 1) for h in range(3)]

    def argmax(self, w, x):
        return self.loss_augmented_argmax(w, x, 1, 0.0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max(self.outputs(), key=lambda z: w @ self.joint_feature(x, z) + scale * self.loss(y, z))

    def complete(self, w, x, y):
        return max(range(3), key=lambda h: w @ self.joint_feature(x, (y, h)))


class PairedBag(Bag):
    """Gives the pair (y, h), and begins at random."""

    def complete(self, w, x, y):
        return y, super().complete(w, x, y)

    def initial_completion(self, x, y, rng):
        return int(rng.integers(3))


def bags(seed, n=12):
    """Labels that one row of three decides, in part wrong."""
    rng = np.random.default_rng(seed)
    X = list(rng.normal(size=(n, 3, 2)))
    Y = [int(np.sign(x[rng.integers(3)] @ [1.0, -1.0] + 0.5 * rng.normal())) for x in X]
    return X, Y


def objective(w, X, Y, budgets, structure=None):
    """½‖w‖² + C Σ c_i (max_{ŷ,ĥ} [w·Ψ + Δ] − max_h w·Ψ(x_i, y_i, h))."""
    bag = structure or Bag()
    bounds = []
    for x, y in zip(X, Y, strict=True):
        psi = {z: w @ bag.joint_feature(x, z) for z in bag.outputs()}
        bounds.append(max(psi[z] + bag.loss(y, z) for z in psi) - max(psi[y, h] for h in range(3)))
    return 0.5 * float(w @ w) + float(np.dot(budgets, bounds))


# ---------------------------------------------------------------------- the procedure


@pytest.mark.parametrize("solver", ["auto", "bundle", NSlack(epsilon=1e-7), "oneslack"], ids=str)
@pytest.mark.parametrize("structure", [Bag(), PairedBag()], ids=["h", "pair"])
def test_the_objective_falls_and_is_the_formulas(structure, solver):
    for seed, C in ((0, 0.1), (1, 1.0), (2, 10.0), (3, 100.0)):
        X, Y = bags(seed)
        weights = np.random.default_rng(seed).uniform(0.2, 3.0, len(Y))
        model = mm.LatentStructuralSVM(structure, C=C, solver=solver, tol=1e-4, max_iter=2000, random_state=seed)
        model.fit(X, Y, sample_weight=weights)
        objectives = np.array([row["objective"] for row in model.history_])
        assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()
        assert objectives[-1] == pytest.approx(objective(model.coef_, X, Y, C * weights), rel=1e-9)
        assert model.stop_reason_ in ("tol", "converged")
        assert model.certificate_.outer_steps == len(model.history_)


def test_history_tells_the_convex_bound_and_the_true_one():
    X, Y = bags(0)
    model = mm.LatentStructuralSVM(Bag(), C=1.0, tol=1e-3).fit(X, Y)
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
        problem = Problem(OwnExamples(Bag(), X, Y, latent=True), Bound(), Objective(1.0, weights))
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
    model = mm.LatentStructuralSVM(Bag(), C=1.0, tol=1e-6, max_iter=5000).fit(X, Y)
    assert model.stop_reason_ == "tol"
    assert model.certificate_.primal - model.history_[-1]["objective"] <= 1e-5 * model.certificate_.primal


def test_restarts_keep_the_best():
    found = []
    for n_restarts in (1, 8):
        X, Y = bags(4)
        model = mm.LatentStructuralSVM(PairedBag(), C=10.0, n_restarts=n_restarts, tol=1e-4).fit(X, Y)
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
    mm.LatentStructuralSVM(Noting(), max_outer=1, tol=0.5, random_state=3).fit(X, Y)
    first = list(seen)
    seen.clear()
    mm.LatentStructuralSVM(Noting(), max_outer=1, tol=0.5, random_state=3).fit(X, Y)
    assert first == seen
    assert len(set(first)) > 1


@pytest.mark.parametrize("C", [0.3, 3.0])
def test_weights_are_repetitions(C, monkeypatch):
    monkeypatch.setattr(cccp, "FIRST_GAP", 1e-7)  # steps from loose solutions may end elsewhere
    X, Y = bags(5)
    times = np.resize([1, 3, 0, 2], len(Y))
    again = np.repeat(np.arange(len(Y)), times)
    model = mm.LatentStructuralSVM(Bag(), C=C, tol=1e-7, max_iter=5000)
    weighted = model.fit(X, Y, sample_weight=times).history_[-1]["objective"]
    repeated = model.fit([X[i] for i in again], [Y[i] for i in again]).history_[-1]["objective"]
    assert weighted == pytest.approx(repeated, rel=1e-5)


def test_ramp_and_latent_variables():
    """The best output of all is taken away, whatever its label."""
    X, Y = bags(2)
    model = mm.LatentStructuralSVM(Bag(), C=1.0, bound="ramp", tol=1e-4).fit(X, Y)
    bag, w, bounds = Bag(), model.coef_, []
    for x, y in zip(X, Y, strict=True):
        psi = {z: w @ bag.joint_feature(x, z) for z in bag.outputs()}
        bounds.append(max(psi[z] + bag.loss(y, z) for z in psi) - max(psi.values()))
    assert model.history_[-1]["objective"] == pytest.approx(0.5 * w @ w + sum(bounds), rel=1e-9)
    assert max(bounds) <= 1.4 + 1e-9


# ---------------------------------------------------------------------- structures that do what they must not


class Swapping(Bag):
    def complete(self, w, x, y):
        return -y, super().complete(w, x, y)


class SwappingLater(Bag):
    """Keeps y as long as there are no weights."""

    def complete(self, w, x, y):
        return (-y if w.any() else y), super().complete(w, x, y)


class ListBag(Bag):
    """y in a list."""

    def loss(self, y, output):
        return super().loss(y[0], (output[0][0], output[1]))

    def joint_feature(self, x, output):
        return super().joint_feature(x, (output[0][0], output[1]))

    def outputs(self):
        return [([y], h) for y, h in super().outputs()]


class Mutating(ListBag):
    def complete(self, w, x, y):
        h = super().complete(w, x, y)
        y[0] = -y[0]
        return h


class MutatingLater(ListBag):
    def complete(self, w, x, y):
        h = super().complete(w, x, y)
        if w.any():
            y[0] = -y[0]
        return h


class Costly(Bag):
    """The loss of a completion is not 0."""

    def loss(self, y, output):
        return super().loss(y, output) + 0.1 * (output[1] == 2)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Swapping(), r"^X\[2\]: complete raised ValueError: it changed y: expected -?1, found -?1"),
        (SwappingLater(), r"^X\[\d+\]: complete raised ValueError: it changed y: expected -?1, found -?1"),
        (Mutating(), r"^X\[2\]: complete raised ValueError: it changed y itself"),
        (MutatingLater(), r"^X\[\d+\]: complete raised ValueError: it changed y itself"),
        (Costly(), r"^X\[\d+\]: complete must keep y, but the loss between y and its completion is 0\.1, expected 0"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, mm.Structure) else "",
)
def test_a_completion_must_keep_y(structure, message):
    X, Y = bags(0)
    Y = [[y] for y in Y] if isinstance(structure, ListBag) else Y
    weights = np.r_[0.0, 0.0, np.ones(len(Y) - 2)]  # places are told as the user counts
    with pytest.raises(StructureError, match=message):
        mm.LatentStructuralSVM(structure, C=5.0).fit(X, Y, sample_weight=weights)


class WithoutComplete(mm.Structure):
    size = 1

    def joint_feature(self, x, y):
        return np.array([float(y)])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return int(w[0] > 0)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((0, 1), key=lambda k: w[0] * k + scale * (k != y))


def test_structures_without_latent_variables_are_told_apart():
    with pytest.raises(TypeError, match=r"WithoutComplete has no complete\(w, x, y\).*StructuralSVM"):
        mm.LatentStructuralSVM(WithoutComplete()).fit([0, 1], [0, 1])
    with pytest.raises(TypeError, match="no latent variables; it is one for StructuralSVM"):
        mm.LatentStructuralSVM(mm.Multiclass()).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match=r"give an object, not the class: Bag\(\)"):
        mm.LatentStructuralSVM(Bag).fit(*bags(0))


class Careless(Bag):
    """Forgets now and then to look at all completions."""

    def __init__(self):
        self.calls = 0

    def complete(self, w, x, y):
        self.calls += 1
        return super().complete(w, x, y) if self.calls % 5 else self.calls % 2


class CarelessArgmax(Bag):
    """Forgets now and then to look at all outputs."""

    def __init__(self):
        self.calls = 0

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.calls += 1
        best = super().loss_augmented_argmax(w, x, y, scale)
        return best if self.calls % 4 else (y, 0)


def test_an_inexact_completion_is_told_once_and_training_ends():
    X, Y = bags(0)
    with pytest.warns(InexactArgmaxWarning, match=r"X\[\d+\]: complete found an output of lower score") as told:
        model = mm.LatentStructuralSVM(Careless(), C=10.0, tol=1e-3).fit(X, Y)
    assert len([w for w in told if w.category is InexactArgmaxWarning]) == 1
    assert len(model.history_) <= 100
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("solver", ["auto", "nslack", "oneslack", "bundle"])
def test_an_inexact_argmax_ends_too(solver):
    X, Y = bags(0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = mm.LatentStructuralSVM(CarelessArgmax(), C=10.0, tol=1e-3, solver=solver, max_iter=100).fit(X, Y)
    assert len([w for w in told if w.category is InexactArgmaxWarning]) <= 1
    assert len(model.history_) <= 100
    assert np.isfinite(model.coef_).all()


def test_the_place_in_a_warning_is_the_users():
    X, Y = bags(0)

    class OneCareless(Bag):
        def complete(self, w, x, y):
            worst = x is X[7] and w.any()
            return (min if worst else max)(range(3), key=lambda h: w @ self.joint_feature(x, (y, h)))

    weights = np.r_[0.0, 0.0, np.ones(len(Y) - 2)]
    with pytest.warns(InexactArgmaxWarning, match=r"^X\[7\]: complete"):
        mm.LatentStructuralSVM(OneCareless(), C=10.0).fit(X, Y, sample_weight=weights)


def test_an_inexact_argmax_of_a_ramp_is_told_by_the_users_place():
    X, y = list(np.random.default_rng(0).normal(size=(12, 2))), [0, 1, 2] * 4

    class OneCareless(mm.Structure):
        def joint_feature(self, x, y):
            return np.kron(np.eye(3)[y], x)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return self.loss_augmented_argmax(w, x, 0, 0.0)

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            worst = x is X[7] and scale == 0.0 and w.any()
            return (min if worst else max)(
                range(3), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k)
            )

    weights = np.r_[0.0, 0.0, np.ones(10)]
    with pytest.warns(InexactArgmaxWarning, match=r"^X\[7\]: argmax"):
        mm.StructuralSVM(OneCareless(), C=10.0, bound="ramp").fit(X, y, sample_weight=weights)


# ---------------------------------------------------------------------- the estimator


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slack": "quadratic"}, "needs slack='linear', found 'quadratic'"),
        ({"C": np.inf}, "needs a finite C, found inf"),
        ({"checkpoint": "run.ckpt"}, "writes no checkpoints"),
        ({"bound": "nope"}, "bound must be 'margin' or 'ramp', found 'nope'"),
        ({"bound": "slack"}, "bound must be 'margin' or 'ramp', found 'slack'"),
        ({"bound": None}, "bound must be 'margin' or 'ramp', found None"),
        ({"n_restarts": 0}, "n_restarts must be"),
        ({"n_restarts": 1.5}, "n_restarts must be"),
        ({"max_outer": 0}, "max_outer must be"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_parameters(parameters, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        mm.LatentStructuralSVM(Bag(), **parameters).fit(*bags(0))


def test_no_checkpoint_to_resume_from(tmp_path):
    path = tmp_path / "run.ckpt"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="no checkpoints to resume from"):
        mm.LatentStructuralSVM(Bag()).resume(path, *bags(0))


def test_max_outer_is_kept_and_told():
    X, Y = bags(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = mm.LatentStructuralSVM(Bag(), C=100.0, tol=1e-6, max_outer=2).fit(X, Y)
    assert len(model.history_) == model.certificate_.outer_steps == 2
    assert model.stop_reason_ == "max_outer"


def test_interrupted():
    def interrupt(step):
        raise KeyboardInterrupt

    X, Y = bags(0)
    for n_restarts in (1, 3):
        model = mm.LatentStructuralSVM(PairedBag(), C=1.0, n_restarts=n_restarts, callbacks=[interrupt]).fit(X, Y)
        assert model.stop_reason_ == "interrupted"
        assert np.isfinite(model.coef_).all()
        assert len(model.predict(X)) == len(Y)
        assert np.isfinite(model.history_[-1]["objective"])


def test_interrupted_in_the_second_outer_step():
    X, Y = bags(3)
    seen = []

    def interrupt(step):
        seen.append(step.certificate.oracle_calls)
        if len(seen) == 12:
            raise KeyboardInterrupt

    model = mm.LatentStructuralSVM(Bag(), C=100.0, tol=1e-7, callbacks=[interrupt]).fit(X, Y)
    assert model.stop_reason_ == "interrupted"
    objectives = [row["objective"] for row in model.history_]
    assert (np.diff(objectives) <= 1e-9).all()
    assert objectives[-1] == pytest.approx(objective(model.coef_, X, Y, np.full(len(Y), 100.0)), rel=1e-9)


def test_a_path_ends_with_ctrl_c():
    def interrupt(step):
        raise KeyboardInterrupt

    X, Y = bags(0)
    models = mm.regularization_path(mm.LatentStructuralSVM(Bag(), callbacks=[interrupt]), X, Y, [0.1, 1.0])
    assert [model.stop_reason_ for model in models] == ["interrupted"]


def test_path():
    X, Y = bags(1)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
    for model in mm.regularization_path(mm.LatentStructuralSVM(Bag(), tol=1e-4), X, Y, [0.1, 1.0, 10.0], weights):
        objectives = [row["objective"] for row in model.history_]
        assert (np.diff(objectives) <= 1e-9).all()
        assert objectives[-1] == pytest.approx(objective(model.coef_, X, Y, model.C * weights), rel=1e-9)


def test_warm_start_begins_with_the_completions_of_the_last_fit():
    X, Y = bags(3)
    model = mm.LatentStructuralSVM(PairedBag(), C=10.0, tol=1e-5, warm_start=True).fit(X, Y)
    before = model.history_[-1]["objective"]
    model.set_params(random_state=9).fit(X, Y)
    assert model.history_[-1]["objective"] <= before * (1 + 1e-4)
    assert model.history_[0]["objective"] <= before * (1 + 0.06)


def test_saved_and_loaded(tmp_path):
    X, Y = forest_data()
    model = mm.LatentStructuralSVM(mm.Forest(), C=1.0).fit(X, Y)
    model.save(tmp_path / "model.mm", support=True)
    again = mm.load(tmp_path / "model.mm")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.certificate_ == model.certificate_
    assert [row["objective"] for row in again.history_] == [row["objective"] for row in model.history_]
    assert np.isnan(again.history_[0]["loss"])
    assert again.predict(X) == model.predict(X)
    assert [plane.output for plane in again.support_] == [plane.output for plane in model.support_]


def test_own_structures_saved_and_loaded(tmp_path):
    X, Y = bags(0)
    model = mm.LatentStructuralSVM(Bag(), C=1.0, n_restarts=2).fit(X, Y)
    model.save(tmp_path / "own.mm")
    again = mm.load(tmp_path / "own.mm")
    assert again.predict(X) == model.predict(X)
    assert again.n_restarts == 2


def forest_data():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, n, 2)) for n in (3, 4, 5)], [[0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1, 1]]


def test_bit_for_bit_whatever_the_threads():
    X, Y = forest_data()
    first, second = (mm.LatentStructuralSVM(mm.Forest(), n_jobs=jobs).fit(X, Y).coef_ for jobs in (1, 2))
    np.testing.assert_array_equal(first, second)


def test_max_seconds_is_for_all_restarts_together():
    X, Y = bags(0)

    class Slow(Bag):
        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            time.sleep(0.001)
            return super().loss_augmented_argmax(w, x, y, scale)

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mm.LatentStructuralSVM(Slow(), C=10.0, tol=1e-9, n_restarts=500, max_seconds=0.2).fit(X, Y)
    assert model.stop_reason_ == "max_seconds"
    assert time.perf_counter() - began < 100 * 0.2  # 500 restarts would take as many times 0.2
