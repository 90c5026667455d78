"""Argmaxes on small clusters of this machine give the same bits; tests start and end the clusters."""

import os

import numpy as np
import pytest

import maxmargin as mm
from tests.engines.test_processes import Failing, Signs, bits, signs


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'maxmargin[dask]'")
    folder = str(tmp_path_factory.mktemp("dask"))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, local_directory=folder
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_errors_on_a_cluster_name_the_example(client):
    X, Y = signs(20)
    X[13][0, 0] = 7.0
    with pytest.raises(mm.exceptions.StructureError, match=r"X\[13\]: loss_augmented_argmax raised RuntimeError"):
        mm.StructuralSVM(Failing(), engine="dask").fit(X, Y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_bits(tmp_path, monkeypatch):
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'maxmargin[ray]'")
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray writes its token
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        X, Y = signs()
        there = mm.StructuralSVM(Signs(), engine="ray").fit(X, Y)
        assert bits(mm.StructuralSVM(Signs()).fit(X, Y)) == bits(there)
        X[13][0, 0] = 7.0
        with pytest.raises(mm.exceptions.StructureError, match=r"X\[13\]: loss_augmented_argmax raised RuntimeError"):
            mm.StructuralSVM(Failing(), engine="ray").fit(X, Y)
        rows = np.random.default_rng(1).normal(size=(200, 5))
        labels = (rows[:, 0] > 0).astype(int)
        assert bits(mm.MulticlassSVM().fit(rows, labels)) == bits(mm.MulticlassSVM(engine="ray").fit(rows, labels))
    finally:
        ray.shutdown()


def test_a_missing_package_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[dask\]'"):
        mm.engines.Dask()
