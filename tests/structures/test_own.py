"""A user's structure as encoded examples: the same planes from every form of Ψ, and errors that name the example."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.bounds import Bound
from maxmargin.objective import Objective
from maxmargin.planes import Answers
from maxmargin.problem import Problem
from maxmargin.structures._joint_features import sparse_vector
from maxmargin.structures.base import Structure, StructureError
from maxmargin.structures.own import OwnExamples

SIZE = 8


def as_pair(psi):
    return np.flatnonzero(psi), psi[np.flatnonzero(psi)]


def reusing(buffer, given):
    """A form that writes every joint feature into the same work array, and gives what `given` makes of that."""

    def form(psi):
        buffer[:] = psi
        return given(buffer)

    return form


def reused_dict(psi, work={}):  # noqa: B006
    work.clear()
    work.update(enumerate(psi.tolist()))
    return work


def reused_bytes(psi, work=bytearray(8 * SIZE)):  # noqa: B008
    view = np.frombuffer(work)
    view[:] = psi
    return view


def reused_python_array(psi, work=array("d", [0.0] * SIZE)):  # noqa: B008
    work[:] = array("d", psi.tolist())
    return work


def reused_csr(psi, work=sp.csr_array(np.ones((1, SIZE)))):  # noqa: B008
    work.data[:] = psi
    return work


FORMS = {
    "one array again and again": reusing(np.zeros(SIZE), lambda buffer: buffer),
    "parts of one array": reusing(np.zeros(SIZE), lambda buffer: buffer[:SIZE]),
    "pair with one array": reusing(np.zeros(SIZE), lambda buffer: (np.arange(SIZE), buffer)),
    "pair of lists with one list": reusing([0.0] * SIZE, lambda buffer: (list(range(SIZE)), buffer)),
    "new csr rows of one array": reusing(
        np.zeros(SIZE), lambda buffer: sp.csr_array((buffer, np.arange(SIZE), [0, SIZE]), shape=(1, SIZE))
    ),
    "views of one bytearray": reused_bytes,
    "one array.array again and again": reused_python_array,
    "one dict again and again": reused_dict,
    "one csr row again and again": reused_csr,
    "dok": lambda psi: sp.dok_array(psi[None]),
    "dense": lambda psi: psi,
    "float32": lambda psi: psi.astype(np.float32),
    "whole numbers": lambda psi: psi.astype(np.int16),
    "list": lambda psi: psi.tolist(),
    "csr_array row": lambda psi: sp.csr_array(psi[None]),
    "csr_array vector": lambda psi: sp.coo_array(psi).tocsr(),
    "csr_matrix": lambda psi: sp.csr_matrix(psi),
    "csr with stored zeros": lambda psi: sp.csr_array((psi, np.arange(SIZE), [0, SIZE]), shape=(1, SIZE)),
    "coo_array": lambda psi: sp.coo_array(psi),
    "coo_matrix": lambda psi: sp.coo_matrix(psi[None]),
    "csc": lambda psi: sp.csc_array(psi[None]),
    "lil": lambda psi: sp.lil_array(psi[None]),
    "pair": as_pair,
    "pair of lists": lambda psi: tuple(part.tolist() for part in as_pair(psi)),
    "pair of int32": lambda psi: (as_pair(psi)[0].astype(np.int32), as_pair(psi)[1]),
    "pair of uint64": lambda psi: (as_pair(psi)[0].astype(np.uint64), as_pair(psi)[1]),
    "pair, unsorted and in halves": lambda psi: (
        np.tile(as_pair(psi)[0][::-1], 2),
        np.tile(as_pair(psi)[1][::-1] / 2, 2),
    ),
    "dict": lambda psi: {int(j): psi[j] for j in np.flatnonzero(psi)},
    "dict of numpy ints": lambda psi: {j: psi[j] for j in np.flatnonzero(psi)},
}


class Table(Structure):
    """Output k of example i has the features and the loss that are written in tables; x is i, the truth is 0."""

    size = SIZE

    def __init__(self, psis, losses, form=FORMS["dense"]):
        self.psis, self.losses, self.form = psis, losses, form

    def joint_feature(self, x, y):
        return self.form(self.psis[x, y[0]])

    def loss(self, y, y_hat):
        return self.losses[y[1], y_hat[0]]

    def argmax(self, w, x):
        return [int(np.argmax(self.psis[x] @ w)), x]

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return [int(np.argmax(self.psis[x] @ w + scale * self.losses[x])), x]  # a list: outputs need no hash


def tables(seed, n=5, n_outputs=4):
    rng = np.random.default_rng(seed)
    psis = rng.integers(-2, 3, (n, n_outputs, SIZE)) * (rng.random((n, n_outputs, SIZE)) < 0.5) * 1.0
    losses = rng.integers(0, 4, (n, n_outputs)) * 1.0
    losses[:, 0] = 0.0
    w = rng.normal(size=SIZE)
    return psis, losses, w, rng


def encoded(psis, losses, form=FORMS["dense"]):
    n = len(psis)
    return OwnExamples(Table(psis, losses, form), range(n), [[0, i] for i in range(n)])


def decoded(examples, w, scales, ids=None):
    ids = np.arange(examples.n_examples) if ids is None else ids
    answers = Answers.empty(examples.n_examples, 0)
    examples.begin(ids)
    examples.decode(w, ids, scales, answers)
    return answers


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

    examples = OwnExamples(
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
        answers = Answers.empty(6, 0)
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
            examples = OwnExamples(kind(psis, losses), range(5), [[0, i] for i in range(5)])
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
    examples = OwnExamples(Writer(psis, losses), range(5), [[0, i] for i in range(5)])
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
    assert not OwnExamples(Greedy(psis, losses), range(5), [[0, i] for i in range(5)]).exact


# ---------------------------------------------------------------------- errors


def failing(truth_too, **methods):
    """Five examples of which number 3 goes wrong: by the methods given, for the truth as well or for outputs only."""
    psis, losses, _, _ = tables(0)
    losses[:, 1:] += 10.0

    class Broken(Table):
        pass

    for name, method in methods.items():

        def patched(self, first, second, *rest, name=name, method=method):
            at = second if name == "loss_augmented_argmax" else first if name == "joint_feature" else first[1]
            is_truth = name == "joint_feature" and second[0] == 0
            if at == 3 and (truth_too or not is_truth):
                return method(self, first, second, *rest)
            return getattr(Table, name)(self, first, second, *rest)

        setattr(Broken, name, patched)
    examples = OwnExamples(Broken(psis, losses), range(5), [[0, i] for i in range(5)])
    return decoded(examples, np.zeros(SIZE), np.ones(5))


def raising(self, *_):
    raise KeyError("oops")


BAD_FEATURES = {
    "raises": (raising, "X[3]: joint_feature raised KeyError: 'oops'"),
    "wrong length": (lambda *_: np.ones(SIZE + 1), "X[3]: joint_feature has 9 entries, expected 8"),
    "wrong sparse length": (lambda *_: sp.csr_array(np.ones((1, 3))), "X[3]: joint_feature has 3 entries, expected 8"),
    "nan": (lambda *_: np.full(SIZE, np.nan), "X[3]: joint_feature has the value nan, expected finite numbers"),
    "inf": (lambda *_: {1: np.inf}, "X[3]: joint_feature has the value inf, expected finite numbers"),
    "index too high": (lambda *_: {SIZE: 1.0}, "X[3]: joint_feature has index 8, expected 0 to 7"),
    "index negative": (lambda *_: ([0, -1], [1.0, 1.0]), "X[3]: joint_feature has index -1, expected 0 to 7"),
    "pair of two lengths": (lambda *_: ([0, 1], [1.0]), "X[3]: joint_feature has 2 indices but 1 values"),
    "flat pairs": (lambda *_: ([[0], [1]], [[1.0], [2.0]]), "X[3]: joint_feature cannot be read: "),
    "complex": (lambda *_: ([0], [1j]), "X[3]: joint_feature cannot be read: values must be real numbers"),
    "whole indices": (lambda *_: ([0.5], [1.0]), "X[3]: joint_feature cannot be read: indices must be whole numbers"),
    "whole keys": (lambda *_: {0.5: 1.0}, "X[3]: joint_feature returned dict: keys must be whole numbers, found float"),
    "huge key": (lambda *_: {2**70: 1.0}, "X[3]: joint_feature returned dict: "),
    "huge index": (lambda *_: ([2**70], [1.0]), "X[3]: joint_feature cannot be read: "),
    "two rows": (lambda *_: sp.csr_array(np.ones((2, SIZE))), "X[3]: joint_feature returned csr_array: "),
    "matrix": (lambda *_: np.ones((2, SIZE)), "X[3]: joint_feature returned ndarray: "),
    "number": (lambda *_: 1.0, "X[3]: joint_feature returned float: "),
    "None": (lambda *_: None, "X[3]: joint_feature returned NoneType: "),
    "string": (lambda *_: "abc", "X[3]: joint_feature returned str: "),
    "keys that are no numbers": (lambda *_: {"a": 1.0}, "X[3]: joint_feature returned dict: "),
    "indices that are not whole": (lambda *_: ([0.5], [1.0]), "X[3]"),
    "values that are no numbers": (lambda *_: ([1], ["a"]), "X[3]"),
    "indices that are no numbers": (lambda *_: (["a"], [1.0]), "X[3]"),
    "pair of numbers": (lambda *_: (1, 1.0), "X[3]"),
    "values that are digits": (lambda *_: ([1], ["2"]), "X[3]: joint_feature cannot be read: values must be real"),
    "indices that are digits": (lambda *_: (["1"], [2.0]), "X[3]: joint_feature cannot be read: indices must be whole"),
}


@pytest.mark.parametrize("truth_too", [True, False], ids=["truth", "output"])
@pytest.mark.parametrize(("method", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_bad_joint_features_name_the_example(method, message, truth_too):
    with pytest.raises(StructureError) as error:
        failing(truth_too, joint_feature=method)
    assert str(error.value).startswith(message), str(error.value)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (raising, "X[3]: loss raised KeyError: 'oops'"),
        (lambda *_: "much", "X[3]: loss returned 'much', expected a number"),
        (lambda *_: None, "X[3]: loss returned None, expected a number"),
        (lambda *_: [1.0], "X[3]: loss returned [1.0], expected a number"),
        (lambda *_: [1.0, 2.0], "X[3]: loss returned [1.0, 2.0], expected a number"),
        (lambda *_: 1j, "X[3]: loss returned 1j, expected a number"),
    ],
)
def test_bad_losses_name_the_example(method, message):
    with pytest.raises(StructureError) as error:
        failing(False, loss=method)
    assert str(error.value).startswith(message), str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_losses_out_of_range_are_named_by_the_problem(value):
    psis, losses, w, _ = tables(0)
    losses[:, 1:] += 10.0

    class Broken(Table):
        def loss(self, y, y_hat):
            return value if y[1] == 3 else super().loss(y, y_hat)

    for bound in (Bound(), Bound("slack", "quadratic")):
        examples = OwnExamples(Broken(psis, losses), range(5), [[0, i] for i in range(5)])
        problem = Problem(examples, bound, Objective(1.0, np.ones(5), bound.slack))
        with pytest.raises(StructureError, match=rf"X\[3\]: expected a finite score and a loss ≥ 0, .* loss {value}"):
            problem.decode(w, problem.everyone)


def test_argmaxes_that_raise_name_the_example():
    with pytest.raises(StructureError, match=r"X\[3\]: loss_augmented_argmax raised KeyError: 'oops'") as error:
        failing(False, loss_augmented_argmax=raising)
    assert isinstance(error.value.__cause__, KeyError)
    with pytest.raises(StructureError, match=r"X\[3\]: joint_feature raised TypeError"):
        failing(False, loss_augmented_argmax=lambda *_: None)  # an output that Ψ cannot read


def test_size_must_be_told_where_the_features_do_not():
    class Unsized(Table):
        size = None

    psis, losses, _, _ = tables(0)
    Y = [[0, i] for i in range(5)]
    assert OwnExamples(Unsized(psis, losses), range(5), Y).dim == SIZE
    for form in ("pair", "dict"):
        with pytest.raises(StructureError, match="set its attribute `size`"):
            OwnExamples(Unsized(psis, losses, FORMS[form]), range(5), Y)


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
    assert OwnExamples(structure, range(len(psis)), Y).operations == len(psis) * Structure.argmax_operations
    structure.argmax_operations = 1e6
    assert OwnExamples(structure, range(len(psis)), Y).operations == len(psis) * 1e6
    for bad in (0, -1.0, np.inf, np.nan, "many"):
        structure.argmax_operations = bad
        with pytest.raises(ValueError, match="argmax_operations must be a number ≥ 1, found"):
            OwnExamples(structure, range(len(psis)), Y)


def test_answers_come_in_batches_of_any_size(monkeypatch):
    """Planes, rises, keys and outputs do not depend on how many answers are made planes of together."""
    psis, losses, w, rng = tables(3)
    ids = rng.permutation(len(psis))
    found = []
    for together in (1, 2, 1000):
        monkeypatch.setattr("maxmargin.structures.own.TOGETHER", together)
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
