"""Shards: optimum and certificate do not depend on where they are, nor on workers that are lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.solvers.base import Limits
from maxmargin.solvers.working_sets._changes import best_shares
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.solvers.working_sets.sharded import Sharded
from maxmargin.solvers.working_sets.teams import divided
from tests.helpers.problems import Case

CASES = [
    Case(structure, rescaling, slack, True, centred=centred)
    for structure in ("chain", "dense", "undirected tree", "own")
    for rescaling, slack, centred in (
        ("margin", "linear", 0.0), ("slack", "quadratic", 0.0), ("margin", "quadratic", 0.7),
    )
]  # fmt: skip


def dual_value(problem, state):
    """The dual objective of the dual values of all shards, from their planes alone, at the best multiple."""
    u, gain, price = np.zeros(problem.dim), 0.0, 0.0
    for shard in state.team.shards:
        for part in shard.parts:
            rows, values, alpha = part.sets.held_planes()
            examples = part.sets.examples_held()
            masses = np.bincount(examples, alpha, part.problem.n_examples)
            assert (alpha >= 0).all()
            if problem.objective.slack == "linear":
                assert (masses <= part.problem.objective.budgets * (1 + 1e-12)).all()
            else:
                price += float((masses**2 / part.problem.objective.budgets).sum())
            u += rows.matrix(problem.dim).T @ alpha
            gain += float(alpha @ values)
    cost = float(u @ u) + price
    t = gain / cost if problem.objective.slack == "quadratic" else min(gain / cost, 1.0)
    return t * gain - 0.5 * t * t * cost


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("n_shards", [2, 5])
def test_the_certificate_is_that_of_weights_and_dual_values(case, n_shards):
    problem, solver = case.problem(), Sharded(n_shards=n_shards, merges=3)
    state = solver.init(problem, seed=2)
    best = [0.0]

    def check(state, certificate):
        if np.isfinite(certificate.primal):
            best[0] = max(best[0], dual_value(problem, state))
            assert certificate.primal == pytest.approx(case.primal(state.best_w), rel=2e-6)
            assert certificate.dual == pytest.approx(best[0], rel=1e-9)

    solver.run(problem, state, Limits(1e-5, 300), check)
    other, default = case.problem(), ProximalWorkingSets()
    there = default.init(other)
    default.run(other, there, Limits(1e-5, 300))
    certificate = state.certificate(problem)
    assert certificate.gap <= 1e-5 or not certificate.exact
    assert certificate.primal == pytest.approx(there.best_primal, rel=3e-5)


def test_shares_are_the_best_of_their_box():
    rng = np.random.default_rng(0)
    for _ in range(30):
        rows = rng.normal(size=(4, 6))
        square, linear = rows @ rows.T + 1e-3 * np.eye(4), rng.normal(size=4)
        shares = best_shares(linear, square)

        def value(t, square=square, linear=linear):
            return linear @ t - 0.5 * t @ square @ t

        assert (shares >= 0).all() and (shares <= 1).all()
        common = np.linspace(0.0, 1.0, 101)
        assert value(shares) >= max(value(np.full(4, t)) for t in common) - 1e-9
        for t in np.clip(shares + 0.05 * rng.normal(size=(50, 4)), 0.0, 1.0):
            assert value(shares) >= value(t) - 1e-7


def test_every_merge_raises_the_dual(monkeypatch):
    """Of the problem around the centre, even with steps that are too long together."""
    X, Y = mm.datasets.make_chains(60, random_state=1)
    merge, gains = type(Sharded().init(Case("chain").problem())).merge, []

    def watched(self, changes, curvature):
        linear = np.array([change.gain - change.rise - change.slope for change in changes])
        before = self.w.copy()
        merge(self, changes, curvature)
        t = self._shares
        moved = curvature * (self.w - before)
        gains.append(float(linear @ t) - 0.5 * float(moved @ moved) / curvature)
        assert ((t >= 0) & (t <= 1)).all()

    monkeypatch.setattr("maxmargin.solvers.working_sets.sharded.ShardedState.merge", watched)
    mm.SequenceTagger(solver=Sharded(n_shards=4, merges=1, damping=0.0), tol=1e-4).fit(X, Y)
    assert len(gains) > 10 and min(gains) >= -1e-10


def bits(model):
    c = model.certificate_
    return model.coef_.tobytes(), c.primal, c.dual, c.primal_bound, c.oracle_calls, model.stop_reason_


@pytest.fixture(scope="module")
def engine():
    with mm.engines.Processes(2) as engine:
        yield engine


@pytest.mark.parametrize("parameters", [{}, {"bound": "slack", "slack": "quadratic"}, {"bound": "ramp"}], ids=str)
def test_bits_do_not_depend_on_threads_and_workers(parameters, engine):
    X, Y = mm.datasets.make_chains(100, random_state=0)
    model = mm.SequenceTagger(solver=Sharded(n_shards=3), tol=1e-3, **parameters)
    one, two = (bits(model.set_params(n_jobs=n).fit(X, Y)) for n in (1, 2))
    assert one == two
    if parameters.get("bound") != "slack":
        assert bits(model.set_params(engine=engine).fit(X, Y)) == one


def test_argmaxes_of_the_user_in_workers(engine):
    X, y = mm.datasets.toy.signs()
    model = mm.StructuralSVM(mm.datasets.toy.Sign(), solver="sharded", tol=1e-4)
    here = model.fit(X, y)
    assert here.certificate_.gap <= 1e-4
    assert here.certificate_.primal_bound < np.inf
    first = bits(here)
    assert bits(model.set_params(engine=engine).fit(X, y)) == first


def sentences(folder, n_files):
    X, Y = mm.datasets.make_chains(120, random_state=3)
    for k, part in enumerate(np.array_split(np.arange(len(X)), n_files)):
        blocks = [
            "\n".join(f"{'ab'[int(x[0] > 0)]}{'cd'[int(x[1] > 0)]} {y}" for x, y in zip(X[i], Y[i], strict=True))
            for i in part
        ]
        (folder / f"{k}.conll").write_text("\n\n".join(blocks) + "\n")
    return mm.Files(folder / "*.conll", format="conll")


def test_files_that_workers_read(engine, tmp_path):
    """Several files are a shard; planes stay in the workers, whatever their number."""
    files = sentences(tmp_path, 5)
    tagger = mm.ColumnTagger(label_column=1, solver=Sharded(n_shards=2), tol=1e-3)
    two = bits(tagger.set_params(engine=engine).fit(files))
    with mm.engines.Processes(1) as one:
        assert bits(tagger.set_params(engine=one).fit(files)) == two
    assert tagger.support_ is None
    default = mm.ColumnTagger(label_column=1, tol=1e-3).fit(files)
    assert tagger.certificate_.primal == pytest.approx(default.certificate_.primal, rel=2e-3)


def test_a_worker_is_killed(engine, tmp_path, monkeypatch):
    """Its shards are read again; where their dual values cannot be read, the certificate stays true."""
    files, folders, init = sentences(tmp_path, 4), [], Sharded.init
    tagger = mm.ColumnTagger(label_column=1, solver="sharded", tol=1e-3)
    here = bits(tagger.set_params(engine=engine).fit(files))

    def watched(self, *arguments, **others):
        state = init(self, *arguments, **others)
        folders.append(Path(state.team.folder))
        return state

    monkeypatch.setattr(Sharded, "init", watched)
    optimum = mm.ColumnTagger(label_column=1, tol=1e-5).fit(files).certificate_
    for readable in (True, False):
        killed: list[int] = []

        def kill(step, killed=killed, readable=readable):
            if step.iteration == 4 and not killed:
                for path in () if readable else folders[-1].glob("*.npz"):
                    path.unlink()
                killed.append(engine.worker_ids()[0])
                os.kill(killed[0], signal.SIGKILL)

        there = tagger.set_params(callbacks=kill).fit(files)
        assert killed and killed[0] not in engine.worker_ids()
        assert (bits(there) == here) == readable
        assert there.certificate_.gap <= 1e-3
        assert there.certificate_.dual <= optimum.primal * (1 + 1e-9)
        assert there.certificate_.primal >= optimum.dual * (1 - 1e-9)


def test_a_checkpoint_of_shards_in_workers(engine, tmp_path):
    X, Y = mm.datasets.make_chains(80, random_state=0)
    path = tmp_path / "fit.npz"
    tagger = mm.SequenceTagger(solver="sharded", tol=1e-4)
    whole = bits(tagger.fit(X, Y))
    stop = [lambda step: step.iteration == 4]
    checkpoint = mm.Checkpoint(path, every=0.0)
    tagger.set_params(engine=engine, checkpoint=checkpoint, callbacks=stop).fit(X, Y)
    resumed = tagger.set_params(engine=None, checkpoint=None, callbacks=None).fit(X, Y, resume=path)
    assert resumed.n_iter_ > 4
    assert bits(resumed) == whole


def test_a_time_limit(engine):
    X, Y = mm.datasets.make_chains(200, random_state=0)
    for where in (None, engine):
        with pytest.warns(ConvergenceWarning, match="max_seconds"):
            model = mm.SequenceTagger(solver="sharded", engine=where, max_seconds=0.05, tol=1e-12).fit(X, Y)
        assert model.certificate_.dual <= model.certificate_.primal


def test_errors_name_the_example(engine):
    class Late(mm.datasets.toy.Sign):
        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            if np.array_equal(x, X[7]):
                raise ValueError("late")
            return super().loss_augmented_argmax(w, x, y, scale)

    X, y = mm.datasets.toy.signs()
    for where in (None, engine):
        with pytest.raises(mm.exceptions.StructureError, match=r"X\[7\].*late"):
            mm.StructuralSVM(Late(), solver="sharded", engine=where).fit(X, y)


def test_what_is_not_supported_is_refused():
    X, Y = mm.datasets.toy.chains()
    for parameters, message in (
        ({"C": np.inf}, "needs a finite C"),
        ({"nonnegative": True}, "does not support lower bounds"),
        ({"bound": "likelihood"}, "needs planes of single outputs"),
    ):
        with pytest.raises(ValueError, match=message):
            mm.SequenceTagger(solver="sharded", **parameters).fit(X, Y)

    class Kernel(mm.Structure):
        def joint_kernel(self, x, y, x2, y2):
            return float(y * y2 * np.dot(x, x2))

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return max((-1, 1), key=lambda y: w @ self.joint_feature(x, y))

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return max((-1, 1), key=lambda k: w @ self.joint_feature(x, k) + scale * self.loss(y, k))

    with pytest.raises(ValueError, match="solver='sharded' divides the examples"):
        mm.StructuralSVM(Kernel(), solver="sharded").fit([np.ones(1), -np.ones(1)], [1, -1])


@pytest.mark.parametrize(("n", "n_shards"), [(1, 4), (3, 4), (10, 4), (100, 7)])
def test_examples_are_divided(n, n_shards):
    class Few:
        n_examples = n
        plane_entries = np.random.default_rng(0).integers(0, 50, n)

    parts = divided(Few(), n_shards)
    assert np.array_equal(np.concatenate(parts), np.arange(n))
    assert 1 <= len(parts) <= min(n, n_shards) and all(map(len, parts))
