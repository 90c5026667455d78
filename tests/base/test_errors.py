"""Errors know their example, also after they were moved, pickled or raised in a fit."""

import pickle

import numpy as np
import pytest

import maxmargin as mm
from maxmargin._base.errors import ExampleError, Place, error_at, inside
from maxmargin.exceptions import StructureError


@pytest.mark.parametrize("kind", [ExampleError, StructureError])
def test_an_error_names_its_example_and_moves_to_another(kind):
    error = kind.at(inside(Place("X", np.int64(3), "[1]"), "token 2"), "expected a word, found X[0]")
    assert str(error) == "X[3][1], token 2: expected a word, found X[0]"
    assert (error.name, error.example, type(error.example)) == ("X", 3, int)
    error.move_to(17)
    assert str(error) == "X[17][1], token 2: expected a word, found X[0]"
    assert error.example == 17


@pytest.mark.parametrize("error", [ExampleError.at(Place("Y", 3), "no label"), StructureError("no size")])
def test_pickled_errors_keep_message_and_example(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert (again.name, again.example) == (error.name, error.example)
    if again.example is not None:
        again.move_to(5)
        assert str(again) == "Y[5]: no label"


def test_a_value_outside_of_the_data_has_no_example():
    error = error_at(inside("y_hat", "item 2"), "expected a cluster, found None")
    assert type(error) is ValueError
    assert str(error) == "y_hat, item 2: expected a cluster, found None"


class Picky(mm.Structure):
    """Fails for inputs below 0."""

    def joint_feature(self, x, y):
        if x < 0:
            raise ArithmeticError("negative")
        return np.array([x * y])

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def argmax(self, w, x):
        return max((-1, 1), key=lambda y: w[0] * x * y)

    def loss_augmented_argmax(self, w, x, y, scale=1.0):
        return max((-1, 1), key=lambda k: w[0] * x * k + scale * (k != y))


@pytest.mark.parametrize(
    ("estimator", "X", "Y", "name", "message"),
    [
        (
            mm.StructuralSVM(Picky()),
            [1.0, 2.0, -1.0],
            [1, -1, 1],
            "X",
            "joint_feature raised ArithmeticError: negative",
        ),
        (
            mm.SequenceTagger(classes=["a", "b"]),
            [np.ones((1, 2))] * 3,
            [["a"], ["b"], ["c"]],
            "Y",
            "unknown label 'c'; the classes are 'a', 'b'. Pass classes= to include labels that do not "
            "occur in the training data",
        ),
        (mm.MotifFinder(length=2), ["ACG", "CCG", "CC?"], [0, 0, 1], "X", "is not in the alphabet"),
    ],
    ids=["own", "tagger", "motif"],
)
def test_a_fit_raises_errors_with_the_position_in_the_users_data(estimator, X, Y, name, message):
    X, Y = [X[0], *X], [Y[0], *Y]
    with pytest.raises(ExampleError) as raised:
        estimator.fit(X, Y, sample_weight=[0, 1, 1, 1])
    assert (raised.value.name, raised.value.example) == (name, 3)
    assert str(raised.value).startswith(f"{name}[3]")
    assert message in str(raised.value)
