"""Argmaxes on small clusters of this machine give the same bits; tests start and end the clusters."""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import maxmargin as mm
from tests.engines.test_processes import Delayed, Failing, Killed, Signs, Slow, bits, signs
from tests.engines.test_shards import bits as shard_bits
from tests.engines.test_shards import chains_of, write_columns, write_parquet, write_rows

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'maxmargin[dask]'")
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", local_directory=folder
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def ray_session(tmp_path_factory):
    """A session of Ray whose token and files are in temporary folders; paths of sockets must be short."""
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'maxmargin[ray]'")
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as short,
    ):
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=short)
        try:
            yield ray
        finally:
            ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask_gives_the_same_bits(client):
    X, Y = signs()
    here = mm.StructuralSVM(Signs()).fit(X, Y)
    there = mm.StructuralSVM(Signs(), engine="dask").fit(X, Y)
    assert bits(here) == bits(there)
    assert here.predict(X) == there.predict(X)
    chains = mm.datasets.make_chains(300, random_state=0)
    assert bits(mm.SequenceTagger().fit(*chains)) == bits(mm.SequenceTagger(engine="dask").fit(*chains))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_dask_worker_that_is_killed_in_a_fit(client):
    X, Y = signs()
    plain, killed = mm.StructuralSVM(Signs()).fit(X, Y), []

    def kill(step):
        if step.iteration == 2 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], 9)

    with mm.engines.Dask(client) as engine:
        model = mm.StructuralSVM(Signs(), engine=engine, callbacks=[kill]).fit(X, Y)
    assert killed and bits(model) == bits(plain)


def check_faults(engine, tmp_path):
    """A worker killed in mid-sweep, a slow one, and a time limit."""
    X, Y = signs()
    plain, path = bits(mm.StructuralSVM(Signs()).fit(X, Y)), tmp_path / "kill"
    path.touch()
    assert bits(mm.StructuralSVM(Killed(str(path), os.getpid()), engine=engine).fit(X, Y)) == plain
    assert not path.exists()
    assert bits(mm.StructuralSVM(Delayed(str(tmp_path / "pid"), os.getpid()), engine=engine).fit(X, Y)) == plain
    with pytest.warns(ConvergenceWarning):
        model = mm.StructuralSVM(Slow(), engine=engine, max_seconds=0.3, tol=1e-9).fit(*signs(100))
    assert model.stop_reason_ == "max_seconds"
    assert bits(mm.StructuralSVM(Signs(), engine=engine).fit(X, Y)) == plain


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_faults_of_dask_workers(client, tmp_path):
    with mm.engines.Dask(client) as engine:
        check_faults(engine, tmp_path)


def check_shards(engine, tmp_path):
    """Workers read their own files of columns and rows; one of them is killed in a fit."""
    (tmp_path / "columns").mkdir()
    columns = write_columns(tmp_path / "columns", 5)
    assert shard_bits(mm.ColumnTagger().fit(columns)) == shard_bits(mm.ColumnTagger(engine=engine).fit(columns))
    rows = write_rows(tmp_path)
    assert shard_bits(mm.MulticlassSVM().fit(rows)) == shard_bits(mm.MulticlassSVM(engine=engine).fit(rows))
    killed = []

    def kill(step):
        if step.iteration == 2:
            killed.extend(engine.gather([0], lambda k: (os.getpid,)))
            os.kill(killed[0], 9)

    there = mm.ColumnTagger(engine=engine, callbacks=kill).fit(columns)
    assert killed and shard_bits(mm.ColumnTagger().fit(columns)) == shard_bits(there)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_dask_workers_read_their_own_files(client, tmp_path):
    with mm.engines.Dask(client) as engine:
        check_shards(engine, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_bags_and_data_frames_of_dask(client, tmp_path):
    bags = pytest.importorskip("dask.bag")
    X, Y = chains_of(0)
    bag = mm.Partitions(bags.from_sequence(list(zip(X, Y, strict=True)), npartitions=3))
    here = shard_bits(mm.ColumnTagger().fit(X, Y))
    assert here == shard_bits(mm.ColumnTagger(engine="dask").fit(bag)) == shard_bits(mm.ColumnTagger().fit(bag))
    table = write_parquet(tmp_path)
    frames = pytest.importorskip(
        "dask.dataframe", reason="dask.dataframe is not installed: pip install 'dask[dataframe]'", exc_type=ImportError
    )
    parts = mm.Partitions(frames.from_pandas(table, npartitions=3), target="kind")
    files = mm.MulticlassSVM().fit(mm.Files(tmp_path / "*.parquet", format="parquet", target="kind"))
    assert shard_bits(files) == shard_bits(mm.MulticlassSVM(engine="dask").fit(parts))
    with pytest.raises(ValueError, match="a table needs target="):
        mm.Partitions(frames.from_pandas(table, npartitions=3))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_a_scheduler_that_is_killed_and_resume(client, tmp_path, monkeypatch):
    """The error says what to do, and the resumed fit on another cluster has the bits of one without a stop."""
    import dask
    import distributed

    monkeypatch.setattr("maxmargin.engines.clusters.WAIT", 5)
    monkeypatch.setattr("maxmargin.engines.clusters.DELIVERY", 3.0)
    X, Y = signs()
    address, checkpoint = tmp_path / "scheduler.json", tmp_path / "fit.npz"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    # Not LocalCluster, whose scheduler is a part of this process.
    commands = [
        ["scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(address)],
        ["worker", "--scheduler-file", str(address), "--nthreads", "1", "--nworkers", "2", "--no-dashboard",
         "--local-directory", str(tmp_path), "--death-timeout", "20"],
    ]  # fmt: skip
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{command}", *options],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for command, *options in commands
    ]  # fmt: skip

    def kill(step):
        if step.iteration == 2:
            started[0].kill()

    try:
        end = time.monotonic() + 60
        while not address.exists() and time.monotonic() < end:
            time.sleep(0.05)
        with dask.config.set({"distributed.comm.timeouts.connect": "2s"}):
            other = distributed.Client(scheduler_file=str(address), timeout=10, set_as_default=False)
            other.wait_for_workers(2, timeout=60)
            stopped = mm.StructuralSVM(
                Signs(), engine=mm.engines.Dask(other), tol=1e-5, callbacks=[kill],
                checkpoint=mm.Checkpoint(checkpoint, every=0.0),
            )  # fmt: skip
            with pytest.raises(ConnectionError, match=r"do not answer .* fit\(X, y, resume=path\)"):
                stopped.fit(X, Y)
            other.close(timeout=1)
    finally:
        for process in started:
            process.terminate()
            process.wait()
    resumed = mm.StructuralSVM(Signs(), engine=mm.engines.Dask(client), tol=1e-5).fit(X, Y, resume=checkpoint)
    assert resumed.n_iter_ > 2
    assert bits(resumed)[:3] == bits(mm.StructuralSVM(Signs(), tol=1e-5).fit(X, Y))[:3]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_errors_on_a_cluster_name_the_example(client):
    X, Y = signs(20)
    X[13][0, 0] = 7.0
    with pytest.raises(mm.exceptions.StructureError, match=r"X\[13\]: loss_augmented_argmax raised RuntimeError"):
        mm.StructuralSVM(Failing(), engine="dask").fit(X, Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_bits(ray_session, tmp_path):
    X, Y = signs()
    there = mm.StructuralSVM(Signs(), engine="ray").fit(X, Y)
    assert bits(mm.StructuralSVM(Signs()).fit(X, Y)) == bits(there)
    X[13][0, 0] = 7.0
    with pytest.raises(mm.exceptions.StructureError, match=r"X\[13\]: loss_augmented_argmax raised RuntimeError"):
        mm.StructuralSVM(Failing(), engine="ray").fit(X, Y)
    rows = np.random.default_rng(1).normal(size=(200, 5))
    labels = (rows[:, 0] > 0).astype(int)
    assert bits(mm.MulticlassSVM().fit(rows, labels)) == bits(mm.MulticlassSVM(engine="ray").fit(rows, labels))
    with mm.engines.Ray() as engine:
        check_faults(engine, tmp_path)
        check_shards(engine, tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_datasets_of_ray(ray_session, tmp_path):
    """Blocks are read by workers of Ray, or by this process; an empty one is left out."""
    table = write_parquet(tmp_path)
    data = pytest.importorskip("ray.data")
    blocks = [data.from_pandas(table.iloc[rows]) for rows in np.array_split(np.arange(len(table)), 4)]
    whole = blocks[0].union(*blocks[1:], data.from_pandas(table[:5]).filter(lambda row: row["kind"] == "none"))
    parts = mm.Partitions(whole, target="kind")
    assert len(parts.parts()) >= 4
    X, y = parts.read()
    here = shard_bits(mm.MulticlassSVM().fit(X, y))
    assert sorted(map(tuple, X.toarray().tolist())) == sorted(map(tuple, table[["a", "b", "c"]].to_numpy().tolist()))
    assert here == shard_bits(mm.MulticlassSVM(engine="ray").fit(parts)) == shard_bits(mm.MulticlassSVM().fit(parts))
    with pytest.raises(ValueError, match="a table needs target="):
        mm.Partitions(whole)
    with pytest.raises(RuntimeError, match="can be read by workers of Ray only: use engine='ray'"):
        mm.MulticlassSVM(engine="processes", n_jobs=2).fit(parts)


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[dask\]'"):
        mm.engines.Dask()


@pytest.mark.parametrize(("cancelled", "error"), [(False, TimeoutError), (True, CancelledError)])
def test_a_wait_whose_result_dask_has_lost(client, cancelled, error):
    """`distributed.utils.sync` has neither a result nor an error if the wait is cancelled at the moment it ends."""

    def result(timeout):
        raise UnboundLocalError("cannot access local variable 'result'")

    future = SimpleNamespace(result=result, cancelled=lambda: cancelled, key="answer-1")
    with pytest.raises(error):
        mm.engines.Dask(client).result(future, 0.1)
