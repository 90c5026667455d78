"""Planes in limited memory: the limit is kept, and the certificate stays true."""

import pytest

import maxmargin as mm
from maxmargin.solvers import ProximalWorkingSets
from maxmargin.solvers.working_sets.sets import WorkingSets


def data():
    return mm.datasets.make_chains(300, random_state=0)


def test_a_limit_that_is_not_reached_changes_nothing():
    plain = mm.SequenceTagger().fit(*data())
    limited = mm.SequenceTagger(solver=ProximalWorkingSets(most_bytes=1 << 30)).fit(*data())
    assert plain.coef_.tobytes() == limited.coef_.tobytes()
    assert plain.certificate_.dual == limited.certificate_.dual


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("share", [0.7, 0.3, 0.05])
def test_certificates_are_true_in_limited_memory(share, monkeypatch):
    pools, compact = [], WorkingSets._reserve

    def reserve(self, entries, values):
        compact(self, entries, values)
        pools.append((len(self.index), self._live() + entries, self))

    monkeypatch.setattr(WorkingSets, "_reserve", reserve)
    plain = mm.SequenceTagger(tol=1e-4).fit(*data())
    held = max(live for _, live, _ in pools)
    limit = int(share * held * 2 * 12)
    pools.clear()
    solver = ProximalWorkingSets(most_bytes=limit)
    model = mm.SequenceTagger(tol=1e-4, max_iter=60, solver=solver).fit(*data())
    sets = pools[-1][2]
    per_entry = sets.index.itemsize + sets.entry.itemsize
    assert max(size for size, _, _ in pools) <= max(limit // (2 * per_entry), 1 << 12)
    assert max(live for _, live, _ in pools) <= limit // (2 * per_entry)
    certificate, optimum = model.certificate_, plain.certificate_
    assert certificate.dual <= optimum.primal * (1 + 1e-12)
    assert certificate.primal >= optimum.dual * (1 - 1e-12)
    assert 0 < certificate.dual <= certificate.primal
    if share == 0.7:
        assert certificate.gap <= 1e-4  # inactive planes are dropped earlier, and the fit converges nevertheless


def test_invalid_limits():
    with pytest.raises(ValueError, match="ProximalWorkingSets: most_bytes must be"):
        mm.SequenceTagger(solver=ProximalWorkingSets(most_bytes=-1)).fit(*data())


@pytest.mark.filterwarnings("ignore")
def test_a_resumed_fit_in_limited_memory_has_the_same_bits(tmp_path):
    path, solver = tmp_path / "fit.npz", ProximalWorkingSets(most_bytes=60_000)
    limits = {"tol": 1e-9, "solver": solver}
    mm.SequenceTagger(max_iter=4, checkpoint=mm.Checkpoint(path, every=0.0), **limits).fit(*data())
    resumed = mm.SequenceTagger(max_iter=9, **limits).fit(*data(), resume=path)
    assert resumed.coef_.tobytes() == mm.SequenceTagger(max_iter=9, **limits).fit(*data()).coef_.tobytes()


@pytest.mark.filterwarnings("ignore")
def test_planes_are_dropped_only_when_many_have_been_refused(monkeypatch):
    """Each look at all examples waits until planes of a share of the limit have been refused."""
    looks, match = [], WorkingSets.match

    def counted(self, ids, keys, oldest):
        looks.append(len(ids))
        return match(self, ids, keys, oldest)

    monkeypatch.setattr(WorkingSets, "match", counted)
    found = {}
    for share in (0.0, 0.125, 1.0):
        monkeypatch.setattr("maxmargin.solvers.working_sets.sets.REFUSED", share)
        looks.clear()
        mm.SequenceTagger(max_iter=2, tol=1e-9, solver=ProximalWorkingSets(most_bytes=200_000)).fit(*data())
        found[share] = sum(size == 300 for size in looks)
    assert found[0.0] > found[0.125] > 2 * found[1.0] > 0
