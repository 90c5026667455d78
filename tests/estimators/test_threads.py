"""Fits in several threads: the same bits as in one."""

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.features.text import arc_templates
from maxmargin.solvers.working_sets import proximal_state
from maxmargin.solvers.working_sets.sets import WorkingSets


def assert_same(one, many):
    np.testing.assert_array_equal(one.coef_, many.coef_)
    assert (one.certificate_.primal, one.certificate_.dual) == (many.certificate_.primal, many.certificate_.dual)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_do_not_change_a_bit(n_jobs):
    X, Y = mm.datasets.make_chains(300, random_state=5)
    assert_same(*(mm.SequenceTagger(n_jobs=jobs).fit(X, Y) for jobs in (1, n_jobs)))
    X, y = mm.datasets.make_multiclass(700, n_features=30, random_state=5)
    assert_same(*(mm.MulticlassSVM(n_jobs=jobs, max_iter=200).fit(X, y) for jobs in (1, n_jobs)))


def sentences(n, rng):
    """Sentences of words with tags, a label for each word, and the head of each word."""
    X, labels, heads = [], [], []
    for _ in range(n):
        tags = rng.integers(5, size=rng.integers(2, 9))
        X.append([(f"w{tag}{rng.integers(40)}", f"t{tag}") for tag in tags])
        labels.append([f"l{rng.choice([tag, 4 - tag], p=[0.8, 0.2])}" for tag in tags])
        heads.append([max(0, m - int(rng.integers(1, 3))) for m in range(1, len(tags) + 1)])
        heads[-1][1:] = [max(1, h) for h in heads[-1][1:]]  # one root
    return X, labels, heads


@pytest.mark.parametrize("bound", ["margin", "ramp"])
@pytest.mark.parametrize("n_jobs", [2, 3])
def test_text_is_encoded_and_planes_are_made_moved_and_inserted_by_threads(monkeypatch, n_jobs, bound):
    """Chunks are so small here that every phase of a fit has several."""
    monkeypatch.setattr(arc_templates, "_ARCS_TOGETHER", 64)
    monkeypatch.setattr(proximal_state, "MANY_WEIGHTS", 1)
    moved = []
    compact = WorkingSets.compact
    monkeypatch.setattr(WorkingSets, "compact", lambda self, extra=0: moved.append(self.end) or compact(self, extra))
    X, labels, heads = sentences(300, np.random.default_rng(3))
    for estimator, Y in ((mm.ColumnTagger, labels), (mm.DependencyParser, heads)):
        moved.clear()
        assert_same(*(estimator(C=1.0, tol=1e-3, bound=bound, n_jobs=jobs).fit(X, Y) for jobs in (1, n_jobs)))
        assert moved
