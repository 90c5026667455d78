"""A user's structure as encoded examples: the same planes from every form of Ψ."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.core.structure import Structure, StructureError
from maxmargin.custom.examples import CustomExamples
from maxmargin.custom.joint_features import sparse_vector
from maxmargin.problem import Problem
from tests.helpers.own_tables import FORMS, SIZE, Table, as_pair, decoded, encoded, tables


@settings(derandomize=True, deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_form_of_features_gives_the_planes_of_the_formula(seed):
    psis, losses, w, rng = tables(seed)
    n = len(psis)
    ids, scales = rng.permutation(n)[: rng.integers(1, n + 1)], rng.choice([0.0, 0.5, 1.0, 4.0], n)
    best = np.argmax(psis @ w + scales[:, None] * losses, axis=1)
    a = psis[:, 0] - psis[np.arange(n), best]
    b = losses[np.arange(n), best]
    keys = {}
    for name, form in FORMS.items():
        examples = encoded(psis, losses, form)
        assert examples.dim == SIZE
        answers = decoded(examples, w, scales[ids], ids)
        planes = examples.planes(ids, answers)
        examples.hold(ids, answers)
        np.testing.assert_allclose(planes.matrix(SIZE).toarray(), a[ids], err_msg=name)
        np.testing.assert_allclose(planes.dot(w), -answers.rises[ids], atol=1e-12)
        np.testing.assert_allclose(answers.rises[ids], -(a @ w)[ids], atol=1e-12)
        np.testing.assert_array_equal(answers.losses[ids], b[ids])
        np.testing.assert_array_equal(answers.keys[ids] == 0, (a[ids] == 0).all(axis=1) & (b[ids] == 0))
        assert planes.indices.dtype == np.uint32
        keys[name] = answers.keys[ids].tolist()
        for i in ids.tolist():
            output = examples.output(i, int(answers.keys[i]), answers.codes)
            if answers.keys[i] != 0:
                assert output == [best[i], i]
            else:
                assert output is examples.Y[i]
    assert keys["csr_array row"] == keys["dense"] == keys["dict"]


def test_planes_that_cancel_are_the_truth_and_scratch_is_left_clean():
    psis = np.ones((2, 2, SIZE))
    examples = encoded(psis, np.zeros((2, 2)))
    for _ in range(3):
        answers = decoded(examples, -np.ones(SIZE), np.ones(2))
        assert answers.keys.tolist() == [0, 0]
        assert len(examples.planes(np.arange(2), answers).indices) == 0


def test_the_same_features_with_another_loss_are_another_plane():
    psis, keys = np.ones((3, 2, SIZE)), []
    for loss in (1.0, 2.0, 0.0):
        losses = np.full((3, 2), loss)
        losses[:, 0] = 0.0
        keys.append(int(decoded(encoded(psis, losses), np.ones(SIZE), np.ones(3)).keys[0]))
    assert len(set(keys)) == 3 and keys[2] == 0


def test_features_that_are_empty_in_some_examples():
    class Sometimes(Table):
        def joint_feature(self, x, y):
            return ([], []) if y[0] == 0 else ([x], [1.0])

    examples = CustomExamples(
        Sometimes(np.zeros((3, 2, SIZE)), np.array([[0.0, 1.0]] * 3)), range(3), [[0, i] for i in range(3)]
    )
    answers = decoded(examples, np.zeros(SIZE), np.ones(3))
    np.testing.assert_array_equal(examples.planes(np.arange(3), answers).matrix(SIZE).toarray(), -np.eye(3, SIZE))


def test_outputs_are_retained_until_they_are_forgotten():
    psis, losses, w, _ = tables(0)
    losses[:, 1:] += 1.0
    examples, ids = encoded(psis, losses), np.arange(len(psis))
    first = decoded(examples, w, np.full(len(psis), 1e3))
    examples.hold(ids, first)
    kept = {i: examples.output(i, int(first.keys[i]), first.codes) for i in ids}
    second = decoded(examples, -w, np.full(len(psis), 1e-3))
    different = [i for i in ids if second.keys[i] not in (0, first.keys[i])]
    assert different
    assert all(examples.output(i, int(second.keys[i]), second.codes) is None for i in different)  # no plane was taken
    assert all(examples.output(i, int(first.keys[i]), first.codes) is kept[i] for i in ids)
    examples.hold(np.array(different), second)
    assert examples.outputs_held == len(ids) + len(different)
    examples.forget(np.array([0, 1, 3]), np.array([*first.keys[:2], 12345]))
    assert [examples.output(i, int(first.keys[i]), first.codes) is not None for i in ids] == [
        True,
        True,
        False,
        False,
        False,
    ]
    examples.forget(np.zeros(0, np.int64), np.zeros(0, np.int64))
    assert examples.outputs_held == 0
    assert examples.output(0, int(first.keys[0]), first.codes) is None
    assert examples.output(0, 0, first.codes) is examples.Y[0]


def test_several_decodes_of_a_search_are_all_at_hand():
    """Between two calls of begin, planes of any answer found may be asked for."""
    psis, losses, w, rng = tables(3, n=6, n_outputs=6)
    examples, ids = encoded(psis, losses), np.arange(6)
    examples.begin(ids)
    found = []
    for scale in (0.0, 0.5, 2.0, 8.0):
        some = rng.permutation(6)[:4]
        answers = examples.empty_answers()
        examples.decode(w, some, np.full(4, scale), answers)
        found.append((some, answers, scale))
    for some, answers, scale in found:
        best = np.argmax(psis[some] @ w + scale * losses[some], axis=1)
        expected = psis[some, 0] - psis[some, best]
        np.testing.assert_allclose(examples.planes(some, answers).matrix(SIZE).toarray(), expected)


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("slack", ["linear", "quadratic"])
def test_every_bound_by_search_or_by_bound_argmax(rescaling, slack):
    class Exact(Table):
        def bound_argmax(self, w, x, y, bound):
            rises = (self.psis[x] - self.psis[x, 0]) @ w
            return [int(np.argmax(bound.violation(rises, self.losses[x]))), x]

    bound = Bound(rescaling, slack)
    for seed in range(20):
        psis, losses, w, _ = tables(seed)
        best = np.maximum(bound.violation((psis - psis[:, :1]) @ w, losses).max(axis=1), 0.0)
        for kind in (Table, Exact):
            examples = CustomExamples(kind(psis, losses), range(5), [[0, i] for i in range(5)])
            problem = Problem(examples, bound, Objective(1.0, np.ones(5), slack))
            problem.decode(w, problem.everyone)
            ids = np.flatnonzero(problem.keys != 0)
            np.testing.assert_allclose(problem.values[ids] - problem.planes(ids).dot(w), problem.hinges[ids], atol=1e-9)
            if kind is Exact or bound.form == 0:
                assert problem.exact
                np.testing.assert_allclose(problem.hinges, best, atol=1e-9)
            else:
                assert problem.searches and not problem.exact
                assert (problem.hinges <= best + 1e-9).all() and (best <= problem.upper_hinges + 1e-9).all()


def test_the_weights_given_to_methods_cannot_be_written_to():
    class Writer(Table):
        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            w[0] = 1.0

    psis, losses, w, _ = tables(0)
    examples = CustomExamples(Writer(psis, losses), range(5), [[0, i] for i in range(5)])
    with pytest.raises(
        StructureError, match=r"X\[0\]: loss_augmented_argmax raised ValueError: assignment destination"
    ):
        decoded(examples, w, np.ones(5))
    assert w.flags.writeable


def test_inexact_structures_say_so():
    class Greedy(Table):
        exact = False

    psis, losses, _, _ = tables(0)
    assert encoded(psis, losses).exact
    assert not CustomExamples(Greedy(psis, losses), range(5), [[0, i] for i in range(5)]).exact


def test_what_a_vector_is_read_as():
    indices, values, length = sparse_vector(np.array([0.0, 2.0, 0.0, -1.0]))
    assert indices.tolist() == [1, 3] and values.tolist() == [2, -1] and length == 4
    indices, values, length = sparse_vector({5: 1, 2: 3.5})
    assert indices.tolist() == [5, 2] and values.tolist() == [1, 3.5] and length is None
    indices, values, length = sparse_vector([0, 1])
    assert indices.tolist() == [1] and values.tolist() == [1] and length == 2


def test_the_cost_of_an_argmax_is_what_the_structure_says():
    psis, losses, _, _ = tables(0)
    structure = Table(psis, losses)
    Y = [[0, i] for i in range(len(psis))]
    assert CustomExamples(structure, range(len(psis)), Y).operations == len(psis) * Structure.argmax_operations
    structure.argmax_operations = 1e6
    assert CustomExamples(structure, range(len(psis)), Y).operations == len(psis) * 1e6
    for bad in (0, -1.0, np.inf, np.nan, "many"):
        structure.argmax_operations = bad
        with pytest.raises(ValueError, match="argmax_operations must be a number ≥ 1, found"):
            CustomExamples(structure, range(len(psis)), Y)


def test_answers_come_in_batches_of_any_size(monkeypatch):
    """Planes, rises, keys and outputs do not depend on how many answers are made planes of together."""
    psis, losses, w, rng = tables(3)
    ids = rng.permutation(len(psis))
    found = []
    for together in (1, 2, 1000):
        monkeypatch.setattr("maxmargin.custom.examples.TOGETHER", together)
        examples = encoded(psis, losses, as_pair)
        for _ in range(3):  # batches are used again
            answers = decoded(examples, w, np.ones(len(psis)), ids)
        planes = examples.planes(ids, answers)
        examples.hold(ids, answers)
        outputs = [examples.output(i, int(answers.keys[i]), answers.codes) for i in ids.tolist()]
        found.append((planes.matrix(SIZE).toarray(), answers.rises, answers.keys, outputs))
    for other in found[1:]:
        for mine, others in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(mine, others)


class ReusedOutputs(Table):
    """Every output is written into the same list or array, which is given again and again, or a part of it."""

    def __init__(self, psis, losses, work):
        super().__init__(psis, losses)
        self.work = work

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        self.work[:2] = super().loss_augmented_argmax(w, x, y, scale)
        return self.work if isinstance(self.work, list) else self.work[:2]


@pytest.mark.parametrize("work", [[0, 0], np.zeros(3, int)], ids=["list", "parts of an array"])
@pytest.mark.parametrize("together", [1, 1000])
def test_outputs_that_are_one_object_filled_anew(work, together, monkeypatch):
    monkeypatch.setattr("maxmargin.custom.examples.TOGETHER", together)
    psis, losses, w, _ = tables(0)
    losses[:, 1:] += 1.0
    ids = np.arange(len(psis))
    examples = CustomExamples(ReusedOutputs(psis, losses, work), range(len(psis)), [[0, i] for i in ids])
    for weights, scale in ((w, 1e3), (-w, 1e3), (w, 1e-3)):
        answers = decoded(examples, weights, np.full(len(psis), scale))
        examples.hold(ids, answers)
        found = [list(examples.output(i, int(answers.keys[i]), answers.codes)) for i in ids]
        assert found == [[k, i] for i, k in enumerate(np.argmax(psis @ weights + scale * losses, axis=1))]
    decoded(examples, -w, np.full(len(psis), 1e-3))
    assert found == [list(examples.output(i, int(answers.keys[i]), answers.codes)) for i in ids]


def test_reused_joint_features_of_reused_outputs():
    psis, losses, w, _ = tables(0)
    losses[:, 1:] += 1.0
    structure = ReusedOutputs(psis, losses, [0, 0])
    ids, rows = np.arange(len(psis)), np.zeros(SIZE)
    examples = CustomExamples(structure, range(len(psis)), [[0, i] for i in ids])

    def reused(psi):
        rows[:] = psi
        return rows

    structure.form = reused
    answers = decoded(examples, w, np.ones(len(psis)))
    best = np.argmax(psis @ w + losses, axis=1)
    np.testing.assert_array_equal(examples.planes(ids, answers).matrix(SIZE).toarray(), psis[:, 0] - psis[ids, best])


def test_completions_that_are_one_object_filled_anew():
    work = [0]

    class Latent(Table):
        def joint_feature(self, x, y):
            return self.psis[x, y[1][0]]

        def loss(self, y, y_hat):
            return float(y_hat[1][0] > 1)

        def complete(self, w, x, y):
            work[0] = int(np.argmax(self.psis[x, :2] @ w + 1e-9 * self.losses[x, :2]))
            return work

    psis, losses, _, _ = tables(0)
    losses[:, 1] = [1, 0, 1, 0, 1]
    examples = CustomExamples(Latent(psis, losses), range(5), list(range(5)), latent=True)
    assert examples.outputs_known == [(i, [losses[i, 1]]) for i in range(5)]
    np.testing.assert_array_equal(
        examples.true_rows.matrix(SIZE).toarray(), psis[np.arange(5), losses[:, 1].astype(int)]
    )
