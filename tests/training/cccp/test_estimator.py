"""`StructuralSVM` with latent variables: parameters, interruption, paths, warm starts, files and threads."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from tests.helpers.latent_bags import Bag, PairedBag, bags, objective


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"slack": "quadratic"}, "needs slack='linear', found 'quadratic'"),
        ({"C": np.inf}, "needs a finite C, found inf"),
        ({"checkpoint": "run.ckpt"}, "writes no checkpoints"),
        (
            {"bound": "nope"},
            "bound must be 'margin' or .* or 'softmax-margin', found 'nope'",
        ),
        ({"bound": "slack"}, "Bag, which has latent variables, needs bound='margin' or bound='ramp', found 'slack'"),
        (
            {"bound": None},
            "bound must be 'margin' or .* or 'softmax-margin', found None",
        ),
        ({"n_restarts": 0}, "n_restarts must be"),
        ({"n_restarts": 1.5}, "n_restarts must be"),
        ({"max_outer": 0}, "max_outer must be"),
        ({"tol": 0.0}, "tol must be"),
    ],
)
def test_parameters(parameters, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        mm.StructuralSVM(Bag(), **parameters).fit(*bags(0))


def test_no_checkpoint_to_resume_from(tmp_path):
    path = tmp_path / "run.ckpt"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="no checkpoints to resume from"):
        mm.StructuralSVM(Bag()).fit(*bags(0), resume=path)


def test_max_outer_is_kept_and_told():
    X, Y = bags(3)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 outer steps .*, above tol=1e-06; raise max_outer"):
        model = mm.StructuralSVM(Bag(), C=100.0, tol=1e-6, max_outer=2).fit(X, Y)
    assert len(model.history_) == model.certificate_.outer_steps == 2
    assert model.stop_reason_ == "max_outer"


def test_one_outer_step_solves_the_convex_problem_of_the_first_completions():
    X, Y = bags(3)
    model = mm.StructuralSVM(Bag(), tol=1e-6, max_outer=1, max_iter=5000).fit(X, Y)

    class First(Bag):
        """The first completion is part of the truth, so that nothing is latent."""

        complete = None

        def loss(self, y, output):
            return super().loss(y[0], output)

    first = [(y, Bag().complete(np.zeros(3), x, y)) for x, y in zip(X, Y, strict=True)]
    convex = mm.StructuralSVM(First(), tol=1e-6, max_iter=5000).fit(X, first)
    assert model.certificate_.gap <= 1e-6
    assert model.certificate_.primal == pytest.approx(convex.certificate_.primal, rel=2e-6)


def test_interrupted():
    def interrupt(step):
        raise KeyboardInterrupt

    X, Y = bags(0)
    for n_restarts in (1, 3):
        model = mm.StructuralSVM(PairedBag(), C=1.0, n_restarts=n_restarts, callbacks=[interrupt]).fit(X, Y)
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

    model = mm.StructuralSVM(Bag(), C=100.0, tol=1e-7, callbacks=[interrupt]).fit(X, Y)
    assert model.stop_reason_ == "interrupted"
    objectives = [row["objective"] for row in model.history_]
    assert (np.diff(objectives) <= 1e-9).all()
    assert objectives[-1] == pytest.approx(objective(model.coef_, X, Y, np.full(len(Y), 100.0)), rel=1e-9)


def test_a_path_ends_with_ctrl_c():
    def interrupt(step):
        raise KeyboardInterrupt

    X, Y = bags(0)
    models = mm.regularization_path(mm.StructuralSVM(Bag(), callbacks=[interrupt]), X, Y, [0.1, 1.0])
    assert [model.stop_reason_ for model in models] == ["interrupted"]


def test_path():
    X, Y = bags(1)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, len(Y))
    for model in mm.regularization_path(mm.StructuralSVM(Bag(), tol=1e-4), X, Y, [0.1, 1.0, 10.0], weights):
        objectives = [row["objective"] for row in model.history_]
        assert (np.diff(objectives) <= 1e-9).all()
        assert objectives[-1] == pytest.approx(objective(model.coef_, X, Y, model.C * weights), rel=1e-9)


def test_warm_start_begins_with_the_completions_of_the_last_fit():
    X, Y = bags(3)
    model = mm.StructuralSVM(PairedBag(), C=10.0, tol=1e-5, warm_start=True).fit(X, Y)
    before = model.history_[-1]["objective"]
    model.set_params(random_state=9).fit(X, Y)
    assert model.history_[-1]["objective"] <= before * (1 + 1e-4)
    assert model.history_[0]["objective"] <= before * (1 + 0.06)


class ScaledBag(Bag, BaseEstimator):
    """Rows in units of one's own."""

    def __init__(self, unit=1.0):
        self.unit = unit

    def joint_feature(self, x, output):
        return super().joint_feature(np.asarray(x) / self.unit, output)


def test_parameters_of_a_structure_set_after_a_fit_are_for_the_next():
    X, Y = bags(0)
    model = mm.StructuralSVM(ScaledBag()).fit(X, Y)
    predicted = model.predict(X)
    model.set_params(structure__unit=100.0)
    assert (model.structure.unit, model.structure_.unit) == (100.0, 1.0)
    assert model.predict(X) == predicted
    assert model.fit(X, Y).structure_.unit == 100.0


def test_a_structure_whose_parameters_cannot_be_set():
    with pytest.raises(ValueError, match=r"structure__unit: Bag has no set_params; derive it from .*BaseEstimator"):
        mm.StructuralSVM(Bag()).set_params(structure__unit=2.0)


def test_saved_and_loaded(tmp_path):
    X, Y = forest_data()
    model = mm.StructuralSVM(mm.Forest(), C=1.0, solver=mm.solvers.ProximalWorkingSets()).fit(X, Y)
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
    model = mm.StructuralSVM(Bag(), C=1.0, n_restarts=2).fit(X, Y)
    model.save(tmp_path / "own.mm")
    again = mm.load(tmp_path / "own.mm", classes=Bag)
    assert again.predict(X) == model.predict(X)
    assert again.n_restarts == 2


def forest_data():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(n, n, 2)) for n in (3, 4, 5)], [[0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1, 1]]


def test_bit_for_bit_whatever_the_threads():
    X, Y = forest_data()
    first, second = (mm.StructuralSVM(mm.Forest(), n_jobs=jobs).fit(X, Y).coef_ for jobs in (1, 2))
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
        model = mm.StructuralSVM(Slow(), C=10.0, tol=1e-9, n_restarts=500, max_seconds=0.2).fit(X, Y)
    assert model.stop_reason_ == "max_seconds"
    assert time.perf_counter() - began < 100 * 0.2  # 500 restarts would take as many times 0.2
