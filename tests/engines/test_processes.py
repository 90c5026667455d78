"""Argmaxes in other processes give the same bits, whatever happens to the workers."""

import os
import pickle
import signal
import sys
import time
from types import ModuleType

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from maxmargin.core.structure import StructureError
from maxmargin.engines.engine import Question
from maxmargin.engines.processor import fingerprint
from maxmargin.engines.tasks import answer, writable


@pytest.fixture(scope="module")
def engine():
    with mm.engines.Processes(2) as engine:
        yield engine


class Signs(mm.Structure):
    """Signs of numbers, in Python."""

    size = 3

    def joint_feature(self, x, y):
        return np.asarray(x).T @ np.asarray(y, float)

    def loss(self, y, y_hat):
        return float(np.sum(np.asarray(y) != np.asarray(y_hat)))

    def argmax(self, w, x):
        return [1 if s > 0 else -1 for s in x @ w]

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        gains = x @ w - 0.5 * scale * np.asarray(y)
        return [1 if g > 0 else -1 for g in gains]


class Slow(Signs):
    """The same, slowly."""

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        time.sleep(0.01)
        return super().loss_augmented_argmax(w, x, y, scale)


class Failing(Signs):
    """Raises an error at one example."""

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        if x[0, 0] == 7.0:
            raise RuntimeError("no solution")
        return super().loss_augmented_argmax(w, x, y, scale)


class Killed(Signs):
    """Kills its own process once, at the example and while the file is there."""

    def __init__(self, path, pid):
        self.path, self.pid = path, pid

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        if os.getpid() != self.pid and os.path.exists(self.path):
            os.remove(self.path)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().loss_augmented_argmax(w, x, y, scale)


class Delayed(Signs):
    """Much slower in the first process that makes the file, as on a busy machine."""

    def __init__(self, path, pid):
        self.path, self.pid = path, pid

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        try:
            with open(self.path, "x") as file:
                file.write(str(os.getpid()))
        except FileExistsError:
            pass
        with open(self.path) as file:
            if os.getpid() != self.pid and file.read() == str(os.getpid()):
                time.sleep(0.01)
        return super().loss_augmented_argmax(w, x, y, scale)


def signs(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(4, 3)) for _ in range(n)]
    return X, [[1 if s > 0 else -1 for s in x @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=4)] for x in X]


def bits(model):
    certificate = model.certificate_
    return model.coef_.tobytes(), certificate.primal, certificate.dual, certificate.primal_bound, certificate.exact


def cases():
    chains = mm.datasets.make_chains(300, random_state=0)
    yield "tagger", mm.SequenceTagger(), chains
    yield "slack", mm.SequenceTagger(bound="slack", loss="hamming", tol=0.1), tuple(part[:150] for part in chains)
    yield "ramp", mm.SequenceTagger(bound="ramp"), tuple(part[:150] for part in chains)
    yield "bundle", mm.SequenceTagger(solver="bundle", tol=0.05), tuple(part[:150] for part in chains)
    yield "own", mm.StructuralSVM(Signs()), signs()
    yield "own, slack", mm.StructuralSVM(Signs(), bound="slack"), signs()
    rows = np.random.default_rng(1).normal(size=(200, 5))
    yield "rows", mm.MulticlassSVM(), (rows, (rows[:, 0] > 0).astype(int) + (rows[:, 1] > 0.5))
    pairs = [("GATTACA", "GATACA"), ("ACCGT", "ACGT"), ("TTAGC", "TAGC")] * 12
    truths = [("GATTACA", "GAT-ACA"), ("ACCGT", "A-CGT"), ("TTAGC", "-TAGC")] * 12
    yield "alignments", mm.PairwiseAligner(prior=None, bound="margin", C=0.1), (pairs, truths)


@pytest.mark.filterwarnings("ignore:the objective found")  # of slack re-scaling, whose argmaxes are searched
@pytest.mark.parametrize(("model", "data"), [pytest.param(m, d, id=name) for name, m, d in cases()])
def test_the_same_bits_as_in_threads(model, data, engine):
    here = clone(model).fit(*data)
    there = clone(model).set_params(engine=engine).fit(*data)
    assert bits(here) == bits(there)
    assert here.certificate_.oracle_calls == there.certificate_.oracle_calls


def test_costs_of_an_optimiser_in_python(engine):
    rng = np.random.default_rng(0)
    X, costs = rng.normal(size=(40, 4)), rng.uniform(1, 3, size=(40, 6))

    def solve(c):
        z = np.zeros(len(c))
        z[np.argsort(c)[:2]] = 1
        return z

    here = mm.CostLearner(mm.Optimizer(solve)).fit(X, costs)
    there = mm.CostLearner(mm.Optimizer(solve), engine=engine).fit(X, costs)
    assert bits(here) == bits(there)
    assert np.array_equal(here.predict(X), there.predict(X))


def test_large_weights_travel_by_a_file(engine, monkeypatch):
    monkeypatch.setattr("maxmargin.engines.processes.LARGE", 8)
    X, Y = signs()
    assert bits(mm.StructuralSVM(Signs(), engine=engine).fit(X, Y)) == bits(mm.StructuralSVM(Signs()).fit(X, Y))


def test_argmaxes_run_in_other_processes(engine):
    X, Y = signs(6)
    seen = mm.StructuralSVM(Reporting(), engine=engine).fit(X, Y).predict(X)
    assert os.getpid() not in {pid for pid, _ in seen}


class Reporting(Signs):
    """Outputs carry the process that made them."""

    def joint_feature(self, x, y):
        return super().joint_feature(x, y[1] if isinstance(y, tuple) else y)

    def loss(self, y, y_hat):
        return super().loss(y, y_hat[1] if isinstance(y_hat, tuple) else y_hat)

    def argmax(self, w, x):
        return os.getpid(), super().argmax(w, x)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return os.getpid(), super().loss_augmented_argmax(w, x, y, scale)


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(tmp_path):
    path = tmp_path / "kill"
    path.touch()
    X, Y = signs()
    plain = mm.StructuralSVM(Signs()).fit(X, Y)
    with mm.engines.Processes(2) as engine:
        model = mm.StructuralSVM(Killed(str(path), os.getpid()), engine=engine).fit(X, Y)
    assert not path.exists()
    assert bits(model) == bits(plain)


def test_a_slow_worker(engine, tmp_path):
    X, Y = signs(20)
    slow = Delayed(str(tmp_path / "pid"), os.getpid())
    assert bits(mm.StructuralSVM(slow, engine=engine).fit(X, Y)) == bits(mm.StructuralSVM(Signs()).fit(X, Y))


def test_a_fit_continues_in_threads_where_processes_stopped(engine, tmp_path):
    X, Y = signs()
    path = tmp_path / "fit.npz"
    checkpoint, stop = mm.Checkpoint(path, every=0.0), [lambda step: step.iteration == 2]
    mm.StructuralSVM(Signs(), engine=engine, tol=1e-5, checkpoint=checkpoint, callbacks=stop).fit(X, Y)
    resumed = mm.StructuralSVM(Signs(), tol=1e-5).fit(X, Y, resume=path)
    assert resumed.n_iter_ > 2
    assert bits(resumed)[:3] == bits(mm.StructuralSVM(Signs(), tol=1e-5).fit(X, Y))[:3]


def test_errors_of_a_structure_name_the_example(engine):
    X, Y = signs(20)
    X[13][0, 0] = 7.0
    with pytest.raises(StructureError, match=r"X\[13\]: loss_augmented_argmax raised RuntimeError: no solution"):
        mm.StructuralSVM(Failing(), engine=engine).fit(X, Y)


def test_a_time_limit_ends_a_fit(engine):
    X, Y = signs(100)
    with pytest.warns(ConvergenceWarning):
        model = mm.StructuralSVM(Slow(), engine=engine, max_seconds=0.3, tol=1e-9).fit(X, Y)
    assert model.stop_reason_ == "max_seconds"


def test_objects_that_cannot_be_sent():
    X, Y = signs(20)
    structure = Signs()
    structure.handle = (i for i in range(3))  # generators cannot be pickled
    with pytest.raises(TypeError, match=r"cannot be pickled.*use engine='threads'"):
        mm.StructuralSVM(structure, engine="processes", n_jobs=2).fit(X, Y)


def test_modules_that_workers_lack_are_named_and_no_worker_stays(monkeypatch):
    module = ModuleType("only_here")
    exec("class Other(Signs): pass", vars(module) | {"Signs": Signs}, vars(module))
    module.Other.__module__ = "only_here"
    monkeypatch.setitem(sys.modules, "only_here", module)
    X, Y = signs(20)
    with mm.engines.Processes(2) as engine:
        with pytest.raises(ImportError, match=r"a worker cannot import .*only_here.*: make the module importable"):
            mm.StructuralSVM(module.Other(), engine=engine).fit(X, Y)
        assert all(engine.submit(None, os.getpid).result() for _ in range(2))
        assert bits(mm.StructuralSVM(Signs(), engine=engine).fit(X, Y)) == bits(mm.StructuralSVM(Signs()).fit(X, Y))


def test_joint_kernels_stay_in_this_process(engine):
    class Kernel(mm.Structure):
        def joint_kernel(self, x, y, x2, y2):
            return float(np.dot(x, x2)) * (y == y2)

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return max((0, 1), key=lambda y: w.score(x, y)) if hasattr(w, "score") else 0

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return 1 - y

    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(10, 2)))
    model = mm.StructuralSVM(Kernel(), engine=engine)
    model._check_parameters()
    _, examples = model._encode(X, [0, 1] * 5)
    assert not examples.portable


@pytest.mark.parametrize("engine", ["cluster", 3, object()])
def test_invalid_engines(engine):
    with pytest.raises(ValueError, match="engine must be None, 'threads', 'processes', 'dask', 'ray' or an engine"):
        mm.SequenceTagger(engine=engine).fit([[[1.0]]], [[0]])


def test_engines_are_shared_by_clones_and_not_saved(engine, tmp_path):
    X, Y = mm.datasets.make_chains(20, random_state=0)
    model = mm.SequenceTagger(engine=engine)
    assert clone(model).engine is engine
    model.fit(X, Y).save(tmp_path / "model.mm")
    assert mm.load(tmp_path / "model.mm").engine is None


def test_a_worker_reads_examples_once():
    X, Y = signs(8)
    from maxmargin.custom.examples import CustomExamples

    examples, reads = CustomExamples(Signs(), X, Y), []
    answers, w, ids = examples.empty_answers(), np.ones(3), np.arange(8)
    Question("decode", w, np.ones(8)).ask(examples, ids, slice(0, 8), answers)

    def read():
        reads.append(1)
        return pickle.dumps(examples)

    for _ in range(2):
        (found,), _ = answer("some key", read, w, "decode", [np.ones(8)], [ids])
    assert len(reads) == 1
    assert np.array_equal(found.rises, answers.rises) and np.array_equal(found.keys, answers.keys)


def test_a_worker_with_another_processor_is_named_once(engine):
    same = fingerprint()
    engine.welcome(same)
    with pytest.warns(UserWarning, match=r"another processor .*processor: .* here, riscv there.*last bits"):
        engine.welcome({**same, "processor": "riscv"})
    engine.welcome({**same, "processor": "riscv"})
    assert next(engine.gather([None], lambda k: (fingerprint,))) == same


def test_tasks_get_arrays_that_can_be_written():
    """Compiled functions would be compiled once more for others."""
    fixed = np.arange(3)
    fixed.flags.writeable = False
    own = np.arange(3)
    found = writable([fixed, (fixed, 1.0), own, "text"])
    assert found[0].flags.writeable and found[1][0].flags.writeable
    assert found[2] is own and found[1][1] == 1.0 and found[3] == "text"
