"""Structures of users in pieces and in other processes."""

from __future__ import annotations

import pickle
from multiprocessing import get_context

import numpy as np
import pytest

from maxmargin.bounds import Bound
from maxmargin.core.examples import Examples
from maxmargin.core.objective import Objective
from maxmargin.core.planes import Answers, Planes
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.registry import SOLVERS
from tests.helpers.own_tables import answer_through, decoded, picklable, tables


class Sharded(Examples):
    """Examples in pieces that were pickled, each of which answers for its own; planes are made of answers alone."""

    parallel, coded = False, False

    def __init__(self, examples, n_shards, serve=lambda part: pickle.loads(pickle.dumps(part))):
        for name in ("n_examples", "dim", "code_offsets", "operations", "plane_entries", "float32_exact", "exact"):
            setattr(self, name, getattr(examples, name))
        self.owner = np.arange(self.n_examples) * n_shards // self.n_examples
        self.first = np.searchsorted(self.owner, np.arange(n_shards))
        self.shards = [serve(examples.take(np.flatnonzero(self.owner == k))) for k in range(n_shards)]
        self.whole = examples

    def _each(self, ids):
        for k, shard in enumerate(self.shards):
            at = np.flatnonzero(self.owner[ids] == k)
            if len(at):
                yield shard, at, ids[at] - self.first[k]

    def decode(self, w, ids, scales, answers):
        for shard, at, own in self._each(ids):
            found = shard.empty_answers()
            shard.begin(own)
            shard.decode(w, own, scales[at], found)
            self._copy(found, own, answers, ids[at])

    @staticmethod
    def _copy(found: Answers, own, answers: Answers, ids):
        for name in ("losses", "rises", "keys", "outputs", "upper"):
            getattr(answers, name)[ids] = getattr(found, name)[own]

    def planes(self, ids, answers):
        rows = [None] * len(ids)
        for shard, at, own in self._each(ids):
            mine = shard.empty_answers()
            self._copy(answers, ids[at], mine, own)
            shard.begin(own)  # nothing of the last decode is left: planes come from the answers sent
            matrix = shard.planes(own, mine)
            for r, place in enumerate(at.tolist()):
                span = slice(matrix.indptr[r], matrix.indptr[r + 1])
                rows[place] = matrix.indices[span], matrix.values[span]
        indptr = np.concatenate([[0], np.cumsum([len(index) for index, _ in rows])]).astype(np.int64)
        if not rows:
            return Planes(indptr, np.zeros(0, np.uint32), np.zeros(0))
        return Planes(indptr, np.concatenate([i for i, _ in rows]), np.concatenate([v for _, v in rows]))

    def output(self, example, key, code):
        return None

    def digest_arrays(self):
        return self.whole.digest_arrays()


def solved(examples, name, bound):
    problem = Problem(examples, bound, Objective(0.5, np.ones(examples.n_examples), bound.slack))
    solver = SOLVERS[name]()
    state = solver.init(problem, seed=3)
    solver.run(problem, state, Limits(1e-4, 60))
    return state


@pytest.mark.parametrize("name", ["proximal", "bundle"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_shards_give_the_same_as_the_whole(name, rescaling):
    """Slack re-scaling searches: answers that are kept are older than the last decode of the shard."""
    psis, losses, *_ = tables(5, n=12, n_outputs=6)
    bound = Bound(rescaling, "linear")
    whole = solved(picklable(psis, losses), name, bound)
    parts = solved(Sharded(picklable(psis, losses), 3), name, bound)
    assert parts.oracle_calls == whole.oracle_calls
    np.testing.assert_allclose(parts.best_w, whole.best_w, atol=1e-9)
    assert parts.best_primal == pytest.approx(whole.best_primal, rel=1e-9)


def test_another_process_answers_the_same():
    psis, losses, w, _ = tables(6, n=8, n_outputs=5)
    examples = picklable(psis, losses).take(np.array([1, 4, 6]))
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=answer_through, args=(there,))
    process.start()
    here.send_bytes(pickle.dumps((examples, w)))
    keys, rises, planes = here.recv()
    process.join()
    answers, ids = decoded(examples, w, np.ones(3)), np.arange(3)
    np.testing.assert_array_equal(keys, answers.keys)
    np.testing.assert_array_equal(rises, answers.rises)
    np.testing.assert_array_equal(planes.values, examples.planes(ids, answers).values)
