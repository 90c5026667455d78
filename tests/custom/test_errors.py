"""A user's structure that fails: every error names the example."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.core.structure import StructureError
from maxmargin.custom.examples import CustomExamples
from maxmargin.problem import Problem
from tests.helpers.own_tables import FORMS, SIZE, Table, decoded, tables


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
    examples = CustomExamples(Broken(psis, losses), range(5), [[0, i] for i in range(5)])
    return decoded(examples, np.zeros(SIZE), np.ones(5))


def raising(self, *_):
    raise KeyError("oops")


BAD_FEATURES = {
    "raises": (raising, "X[3]: joint_feature raised KeyError: 'oops'"),
    "wrong length": (lambda *_: np.ones(SIZE + 1), "X[3]: joint_feature has 9 entries, expected 8"),
    "wrong sparse length": (lambda *_: sp.csr_array(np.ones((1, 3))), "X[3]: joint_feature has 3 entries, expected 8"),
    "nan": (lambda *_: np.full(SIZE, np.nan), "X[3]: joint_feature has the value nan, expected finite numbers"),
    "inf": (lambda *_: {1: np.inf}, "X[3]: joint_feature has the value inf, expected finite numbers"),
    "too large": (
        lambda *_: np.full(SIZE, -1e308),
        "X[3]: joint_feature has the value -1e+308, expected numbers within ±1e+150, whose squares can be added up",
    ),
    "index too high": (lambda *_: {SIZE: 1.0}, "X[3]: joint_feature has index 8, expected 0 to 7"),
    "index negative": (lambda *_: ([0, -1], [1.0, 1.0]), "X[3]: joint_feature has index -1, expected 0 to 7"),
    "pair of two lengths": (lambda *_: ([0, 1], [1.0]), "X[3]: joint_feature has 2 indices but 1 values"),
    "flat pairs": (lambda *_: ([[0], [1]], [[1.0], [2.0]]), "X[3]: joint_feature cannot be read: "),
    "complex": (lambda *_: ([0], [1j]), "X[3]: joint_feature cannot be read: values must be real numbers"),
    "whole indices": (lambda *_: ([0.5], [1.0]), "X[3]: joint_feature cannot be read: indices must be integers"),
    "whole keys": (lambda *_: {0.5: 1.0}, "X[3]: joint_feature returned dict: keys must be integers, found float"),
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
    "indices that are digits": (
        lambda *_: (["1"], [2.0]),
        "X[3]: joint_feature cannot be read: indices must be integers",
    ),
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
        examples = CustomExamples(Broken(psis, losses), range(5), [[0, i] for i in range(5)])
        problem = Problem(examples, bound, Objective(1.0, np.ones(5), bound.slack))
        with pytest.raises(StructureError, match=rf"X\[3\]: expected a finite score and a loss ≥ 0, .* loss {value}"):
            problem.decode(w, problem.everyone)


def test_argmaxes_that_raise_name_the_example():
    with pytest.raises(StructureError, match=r"X\[3\]: loss_augmented_argmax raised KeyError: 'oops'") as error:
        failing(False, loss_augmented_argmax=raising)
    assert isinstance(error.value.__cause__, KeyError)
    with pytest.raises(StructureError, match=r"X\[3\]: joint_feature raised TypeError"):
        failing(False, loss_augmented_argmax=lambda *_: 7)  # an output that Ψ cannot read


def test_an_argmax_without_an_answer_is_the_culprit_unless_none_is_an_output():
    wording = r"^X\[3\]: loss_augmented_argmax returned None, expected an output$"
    with pytest.raises(StructureError, match=wording):
        failing(False, loss_augmented_argmax=lambda *_: None)
    psis, losses, w, _ = tables(0)
    losses[:, 1:] += 10.0

    class Nothing(Table):
        """The output 1 is None."""

        def joint_feature(self, x, y):
            return self.psis[x, 1 if y is None else y[0]]

        def loss(self, y, y_hat):
            return self.losses[y[1], 1 if y_hat is None else y_hat[0]]

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return None

    class WithoutLoss(Nothing):
        loss = Table.loss

    Y = [[0, i] for i in range(5)]
    answers = decoded(CustomExamples(Nothing(psis, losses), range(5), Y), w, np.ones(5))
    np.testing.assert_array_equal(answers.losses, losses[:, 1])
    with pytest.raises(StructureError, match=wording.replace("3", "0")):
        decoded(CustomExamples(WithoutLoss(psis, losses), range(5), Y), w, np.ones(5))


@pytest.mark.parametrize("size", ["5", 0, 8.0, True])
def test_sizes_that_are_no_number_of_weights(size):
    psis, losses, _, _ = tables(0)
    structure = Table(psis, losses)
    structure.size = size
    with pytest.raises(ValueError, match=r"^the attribute `size` must be an integer ≥ 1, found "):
        CustomExamples(structure, range(5), [[0, i] for i in range(5)])


@pytest.mark.parametrize("value", [1e150, -1e150, 1e-320])
def test_values_that_can_be_trained_with(value):
    psis, losses, _, _ = tables(0)
    psis[:, 1], losses[:, 1] = value, 100.0
    examples = CustomExamples(Table(psis, losses), range(5), [[0, i] for i in range(5)])
    answers = decoded(examples, np.zeros(SIZE), np.ones(5))
    planes = examples.planes(np.arange(5), answers).matrix(SIZE).toarray()
    np.testing.assert_array_equal(planes, psis[:, 0] - psis[:, 1])


def test_size_must_be_told_where_the_features_do_not():
    class Unsized(Table):
        size = None

    psis, losses, _, _ = tables(0)
    Y = [[0, i] for i in range(5)]
    assert CustomExamples(Unsized(psis, losses), range(5), Y).dim == SIZE
    for form in ("pair", "dict"):
        with pytest.raises(StructureError, match="set the attribute `size`"):
            CustomExamples(Unsized(psis, losses, FORMS[form]), range(5), Y)


def test_the_loss_of_a_truth_is_zero():
    """Slack re-scaling did not notice it, and the fit ended at weights that separate nothing."""
    psis, losses, _, _ = tables(0)
    losses[3, 0] = 0.5
    with pytest.raises(StructureError, match=r"Y\[3\]: loss\(y, y\) is 0\.5, expected 0"):
        CustomExamples(Table(psis, losses), range(5), [[0, i] for i in range(5)])
