"""With few examples ``solver="auto"`` is the bundle, in fits, paths, outer steps and checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.cutting.bundle import ProximalBundle
from maxmargin.solvers.registry import resolve
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.structures.multiclass import Multiclass
from maxmargin.training.run import Run


def chains(n):
    return mm.datasets.make_chains(n, min_length=10, max_length=30, random_state=1)


def used(model):
    return {row["round"] for row in model.history_}


@pytest.mark.parametrize(("n", "bundle"), [(1, True), (4, True), (5, False)])
def test_up_to_four_examples_are_solved_by_the_bundle(n, bundle):
    X, Y = chains(n)
    model = mm.SequenceTagger().fit(X, Y)
    assert model.stop_reason_ == "tol"
    assert (used(model) == {"bundle"}) == bundle
    if bundle:
        same = mm.SequenceTagger(solver="bundle").fit(X, Y)
        np.testing.assert_array_equal(model.coef_, same.coef_)


def test_a_solver_that_the_user_gives_is_used():
    assert "bundle" not in used(mm.SequenceTagger(solver=ProximalWorkingSets()).fit(*chains(3)))


def test_a_hard_margin_is_not_for_the_bundle():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 2]
    assert "bundle" not in used(mm.MulticlassSVM(C=np.inf).fit(X, y))


def test_resumed_bit_for_bit(tmp_path):
    X, Y = chains(3)
    whole = mm.SequenceTagger(tol=1e-5).fit(X, Y)
    mm.SequenceTagger(tol=1e-1, checkpoint=tmp_path / "c.npz").fit(X, Y)
    resumed = mm.SequenceTagger(tol=1e-5).fit(X, Y, resume=tmp_path / "c.npz")
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert resumed.certificate_.oracle_calls == whole.certificate_.oracle_calls


def test_a_path_that_ends_with_a_hard_margin():
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), [0, 1, 2]
    models = mm.regularization_path(mm.MulticlassSVM(), X, y, Cs=[0.1, 10.0, np.inf, 1.0])
    assert [used(model) == {"bundle"} for model in models] == [True, True, False, True]
    for model in models:
        fresh = mm.MulticlassSVM(C=model.C).fit(X, y).certificate_
        assert model.certificate_.gap <= 1e-3
        assert model.certificate_.primal == pytest.approx(fresh.primal, rel=2e-3)


def test_outer_steps():
    X, Y = chains(4)
    model = mm.SequenceTagger(bound="ramp").fit(X, Y)
    same = mm.SequenceTagger(bound="ramp", solver="bundle").fit(X, Y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert (np.diff([row["objective"] for row in model.history_]) <= 1e-9).all()


def test_an_interrupt_keeps_the_best_weights():
    def strike(step):
        if step.iteration == 4:
            raise KeyboardInterrupt

    X, Y = chains(3)
    model = mm.SequenceTagger(tol=1e-9, callbacks=[strike]).fit(X, Y)
    assert model.stop_reason_ == "interrupted"
    assert used(model) == {"bundle"}
    assert model.certificate_.primal == min(row["primal"] for row in model.history_) < model.history_[0]["primal"]


def test_the_run_knows_the_solver_that_was_chosen():
    rng = np.random.default_rng(0)
    for rows, solver in ((4, ProximalBundle()), (8, ProximalWorkingSets())):
        X, y = rng.normal(size=(rows, 3)), np.arange(rows) % 3
        problem = Problem(Multiclass().fit_encode(X, y), Bound(), Objective(1.0, np.ones(rows)))
        run = Run(resolve("auto"), Limits(1e-3))
        run.go(problem)
        assert run.solver == solver


def test_auto_and_proximal_are_two_things():
    X, Y = chains(3)
    proximal = mm.SequenceTagger(solver="proximal").fit(X, Y)
    assert "bundle" not in used(proximal)
    np.testing.assert_array_equal(proximal.coef_, mm.SequenceTagger(solver=ProximalWorkingSets()).fit(X, Y).coef_)
    assert (resolve("proximal").name, resolve("auto").name) == ("proximal", "auto")
