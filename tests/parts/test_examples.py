"""The parts layer: blocks of every kind, threads inside one example, bounds on approximate argmaxes, wrong parts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.core.planes import NO_OUTPUT
from maxmargin.core.structure import StructureError
from maxmargin.engines import Local
from maxmargin.parts import blocks
from maxmargin.parts.blocks import Block
from maxmargin.parts.examples import PartExamples, counted_once
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from maxmargin.solvers.registry import SOLVERS


class Choice(PartExamples):
    """Choose exactly `k` of the rows of each example, each under one of K outputs: parts are rows × outputs."""

    def argmax(self, scores, ids, codes):
        (values, starts), k = scores[0], int(self.settings[0])
        for r, i in enumerate(ids.tolist()):
            table = values[starts[r] : starts[r + 1]].reshape(-1, self.blocks[0].n_outputs)
            best = table.max(axis=1)
            rows = np.sort(np.argsort(-best, kind="stable")[:k])
            at = self.code_offsets[i]
            codes[at : at + k] = rows * table.shape[1] + table[rows].argmax(axis=1)
            if np.isinf(best[rows]).any():
                codes[at] = NO_OUTPUT

    def parts(self, ids, codes):
        k = int(self.settings[0])
        return [counted_once(k * np.arange(len(ids) + 1), codes.reshape(-1, k)[ids].ravel())]


def choices(rng, sizes, width, n_outputs, k, kind=Choice, sparse=False, costs=(1.0,), **block):
    rows = rng.normal(size=(sum(sizes), width)) * (rng.random((sum(sizes), width)) < 0.6)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    truths = [np.sort(rng.choice(n, k, replace=False)) * n_outputs + rng.integers(0, n_outputs, k) for n in sizes]
    matrix = sp.csr_array(rows) if sparse else rows
    return kind(
        None, [Block(matrix, offsets, n_outputs, **block)], k * np.arange(len(sizes) + 1),
        [truth.astype(np.int32) for truth in truths], costs, (k,),
    ), rows  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scores_and_sums_of_blocks(n_outputs, constant, sparse):
    rng = np.random.default_rng(0)
    examples, rows = choices(rng, [4, 2, 5], 3, n_outputs, 2, sparse=sparse, constant=constant)
    wide = np.hstack([rows, np.ones((len(rows), 1))]) if constant else rows
    w, block = rng.normal(size=examples.dim), examples.blocks[0]
    assert examples.dim == wide.shape[1] * n_outputs
    for ids in (np.arange(3), np.array([2, 0]), np.array([1]), np.zeros(0, np.int64)):
        (scores,) = examples.scores(w, ids)
        expected = [wide[block.offsets[i] : block.offsets[i + 1]] @ w.reshape(-1, n_outputs) for i in ids]
        np.testing.assert_allclose(scores.values, np.concatenate([*map(np.ravel, expected), []]), atol=1e-12)
    answers = examples.empty_answers()
    examples.decode(w, np.arange(3), np.ones(3), answers)
    planes = examples.planes(np.arange(3), answers).matrix(examples.dim).toarray()
    for i in range(3):
        expected = np.zeros((wide.shape[1], n_outputs))
        for code, sign in ((examples.truths, 1.0), (answers.codes, -1.0)):
            for part in code[2 * i : 2 * i + 2]:
                expected[:, part % n_outputs] += sign * wide[block.offsets[i] + part // n_outputs]
        np.testing.assert_allclose(planes[i], expected.ravel(), atol=1e-12)


def codes(*symbols):
    """Codes of one symbol each."""
    return [np.array([symbol], np.int32) for symbol in symbols]


class Tables(PartExamples):
    """One part of a table that all examples share."""

    def argmax(self, scores, ids, codes):
        codes[ids] = scores[0].values.argmax()

    def parts(self, ids, codes):
        return [counted_once(np.arange(len(ids) + 1), codes[ids])]


def test_tables_are_shared_and_forbidden_parts_have_no_score():
    forbidden = np.array([False, False, True, False])
    examples = Tables(None, [Block.table(4, forbidden)], np.arange(3), codes(0, 1), [None])
    w = np.array([1.0, 2.0, 9.0, 3.0])
    scores = examples.scores(w, np.array([1, 0]))[0]
    assert scores.values.tolist() == [1.0, 2.0, -np.inf, 3.0] and not scores.starts.any()
    answers = examples.empty_answers()
    examples.decode(w, np.arange(2), np.zeros(2), answers)
    assert answers.codes.tolist() == [3, 3]
    np.testing.assert_array_equal(answers.rises, [2.0, 1.0])
    np.testing.assert_array_equal(examples.planes(np.arange(2), answers).dot(w), [-2.0, -1.0])
    features = Block(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), None)
    shared = Tables(None, [features], np.arange(2), codes(2), [None])
    assert shared.scores(np.array([3.0, 5.0]), np.zeros(1, np.int64))[0].values.tolist() == [3.0, 10.0, 8.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_one_large_example_is_worked_on_by_several_threads(monkeypatch, sparse):
    """The same bits for any number of threads: chunks depend on the rows alone."""
    monkeypatch.setattr(blocks, "MANY", 64)
    found = []
    for n_jobs in (1, 2, 3):
        rng = np.random.default_rng(1)
        examples, _ = choices(rng, [500], 4, 1, 100, sparse=sparse)
        with Local(n_jobs) as engine:
            problem = Problem(examples, Bound(), Objective(0.1, np.ones(1)), engine)
            assert examples.engine is engine
            solver = SOLVERS["bundle"]()
            state = solver.init(problem)
            assert solver.run(problem, state, Limits(1e-6, 200)) == "tol"
        found.append((state.best_w, state.best_primal, state.best_dual))
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        assert other[1:] == found[0][1:]
    monkeypatch.setattr(blocks, "MANY", 1 << 60)
    rng = np.random.default_rng(1)
    examples, _ = choices(rng, [500], 4, 1, 100, sparse=sparse)
    problem = Problem(examples, Bound(), Objective(0.1, np.ones(1)))
    state = SOLVERS["bundle"]().init(problem)
    SOLVERS["bundle"]().run(problem, state, Limits(1e-6, 200))
    assert state.best_primal == pytest.approx(found[0][1], rel=1e-5)


def test_chunks_inside_of_tasks_run_one_after_the_other():
    """Threads that wait for threads of the same pool would wait for ever."""
    done = []
    with Local(2) as engine:
        engine.map(lambda ids, _: engine.map_range(lambda a, b: done.append((a, b)), 0, 40), np.arange(200), 10)
    chunks = [(a, min(a + 3, 40)) for a in range(0, 40, 3)]
    assert sorted(done) == sorted(chunks * 16)


class Greedy(Choice):
    """Rounds scores before it chooses, and proves how much that may cost."""

    exact: ClassVar[Any] = False
    bounded: ClassVar[Any] = True

    def argmax(self, scores, ids, codes):
        (values, starts), k = scores[0], int(self.settings[0])
        super().argmax([scores[0]._replace(values=np.round(values))], ids, codes)
        return np.array([np.sort(values[a:b])[-k:].sum() for a, b in pairwise(starts)]) + 0.1


def hinge_by_hand(examples, rows, i, w, k):
    first, n = examples.blocks[0].offsets[i], np.diff(examples.blocks[0].offsets)[i]
    true = set(examples.truths[k * i : k * i + k].tolist())
    scores = rows[first : first + n] @ w
    values = [
        sum(scores[p] + (p not in true) for p in chosen) - sum(scores[p] for p in true)
        for chosen in combinations(range(n), k)
    ]
    return max(values)


@pytest.mark.parametrize("name", ["proximal", "bundle", "nslack", "oneslack", "subgradient"])
def test_bounds_of_an_approximate_argmax_keep_the_objective_bounded(name):
    rng = np.random.default_rng(2)
    examples, rows = choices(rng, [5, 6, 4, 5, 6, 5], 3, 1, 2, kind=Greedy)
    problem = Problem(examples, Bound(), Objective(1.0, np.ones(6)))
    assert problem.bounded and not problem.exact
    solver = SOLVERS[name]()
    state = solver.init(problem)
    solver.run(problem, state, Limits(1e-3, 30))
    certificate, w = state.certificate(problem), state.best_w
    true = 0.5 * w @ w + sum(max(0.0, hinge_by_hand(examples, rows, i, w, 2)) for i in range(6))
    assert not certificate.exact
    assert certificate.dual <= true <= certificate.primal_bound * (1 + 1e-12)
    assert certificate.primal <= certificate.primal_bound < true + 6 * 0.1 + 6 * 1.0


def test_bounds_that_close_are_a_proof():
    class Proven(Greedy):
        def argmax(self, scores, ids, codes):
            Choice.argmax(self, scores, ids, codes)
            (values, starts), k = scores[0], int(self.settings[0])
            return np.array([np.sort(values[a:b])[-k:].sum() for a, b in pairwise(starts)])

    examples, _ = choices(np.random.default_rng(3), [5, 6, 4], 3, 1, 2, kind=Proven)
    problem = Problem(examples, Bound(), Objective(1.0, np.ones(3)))
    state = SOLVERS["bundle"]().init(problem)
    SOLVERS["bundle"]().run(problem, state, Limits(1e-6, 100))
    assert state.certificate(problem).exact


def test_parts_that_are_not_there_are_refused():
    """A wrong `parts` must not make a kernel read or write beyond its arrays."""
    examples, _ = choices(np.random.default_rng(0), [4, 2], 3, 1, 2)
    answers = examples.empty_answers()
    answers.codes[:] = [0, 1, 0, 2]
    with pytest.raises(StructureError, match=r"X\[1\]: an output has a part of block 0 out of range, expected 0 to 1"):
        examples.planes(np.arange(2), answers)
    answers.codes[:] = [0, -1, 0, 1]
    with pytest.raises(StructureError, match=r"X\[0\]: an output has a part of block 0 out of range, expected 0 to 3"):
        examples.planes(np.arange(2), answers)

    class TooMany(Choice):
        def parts(self, ids, codes):
            return [counted_once(4 * np.arange(len(ids) + 1), np.zeros(4 * len(ids)))]

    with pytest.raises(StructureError, match=r"X\[0\]: an output has 4 parts of block 0, expected at most 2"):
        choices(np.random.default_rng(0), [4, 2], 3, 1, 2, kind=TooMany)


def test_no_output_is_an_error_that_names_the_example():
    examples, _ = choices(np.random.default_rng(0), [4, 3], 3, 1, 2, forbidden=np.array([0, 0, 0, 0, 0, 1, 1], bool))
    with pytest.raises(StructureError, match=r"X\[1\]: the allowed parts form no output"):
        examples.decode(np.ones(3), np.arange(2), np.zeros(2), examples.empty_answers())


def test_sums_of_whole_numbers_are_float32_only_where_that_is_exact():
    rows = np.array([[1.0], [2.0]])
    for scale, kind in ((1.0, np.float32), (0.5, np.float64), (2.0**22, np.float64)):
        examples = Choice(None, [Block(scale * rows, np.array([0, 2]))], np.array([0, 1]), codes(0), [1.0], (1,))
        assert examples.value_type is kind


def test_the_memory_of_scores_is_planned():
    examples, _ = choices(np.random.default_rng(0), [400, 300], 3, 1, 2)
    planned, what = examples.planned_decoding(Bound(), 2)
    assert planned == 3 * 8 * 2 * 700
    assert what == "scores of up to 400 parts of one example, in 2 threads,"


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ((), "expected costs for each of 1 blocks, found 0"),
        ((1.0, 1.0), "expected costs for each of 1 blocks, found 2"),
        ((np.ones(5),), "the costs of block 0 must be 6 finite floats, one for each part"),
        ((np.full(6, np.nan),), "the costs of block 0 must be 6 finite floats"),
        (([1.0] * 6,), "the costs of block 0 must be an array, a number ≥ 0 or None"),
        ((-1.0,), "the costs of block 0 must be an array, a number ≥ 0 or None, found -1.0"),
        ((np.ones(6),), r"X\[0\]: a part of the true output has a positive cost in block 0"),
    ],
)
def test_costs_of_the_wrong_size_or_sign_are_refused(costs, message):
    with pytest.raises(StructureError, match=message):
        choices(np.random.default_rng(0), [4, 2], 3, 1, 2, costs=costs)


def test_truths_of_the_wrong_length_are_refused():
    block = Block(np.ones((6, 1)), np.array([0, 4, 6]))
    offsets = np.array([0, 2, 4])
    with pytest.raises(ValueError, match=r"Y\[1\]: an output with 3 symbols in its code, expected 2"):
        Choice(None, [block], offsets, [np.arange(2, dtype=np.int32), np.arange(3, dtype=np.int32)], [1.0], (2,))
    with pytest.raises(ValueError, match="expected the codes of 2 true outputs, found 1"):
        Choice(None, [block], offsets, [np.arange(2, dtype=np.int32)], [1.0], (2,))


def test_blocks_of_the_wrong_size_are_refused():
    with pytest.raises(ValueError, match="a block has 6 rows, but its offsets end at 5"):
        Block(np.ones((6, 1)), np.array([0, 4, 5]))
    with pytest.raises(ValueError, match=r"forbidden has shape \(5,\), expected \(12,\)"):
        Block(np.ones((6, 1)), np.array([0, 6]), 2, forbidden=np.zeros(5, bool))
    with pytest.raises(StructureError, match="block 0 is shared by all examples, so it cannot have costs"):
        Tables(None, [Block.table(4)], np.arange(3), codes(0, 1), [1.0])
    with pytest.raises(StructureError, match="block 0 has rows for 1 examples, not 2"):
        Choice(None, [Block(np.ones((6, 1)), np.array([0, 6]))], np.array([0, 1, 2]), codes(0, 1), [1.0], (1,))


def test_planes_can_be_made_in_several_threads_at_once():
    rng = np.random.default_rng(0)
    examples, _ = choices(rng, [6] * 400, 300, 3, 4, sparse=True)
    w = rng.normal(size=examples.dim)
    answers, ids = examples.empty_answers(), np.arange(400)
    examples.decode(w, ids, np.ones(400), answers)
    expected = examples.planes(ids, answers)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: examples.planes(ids, answers), range(40)):
            for name in ("indptr", "indices", "values"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
