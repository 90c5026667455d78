"""Whether two answers of a user's method are the same, whatever they are made of."""

import enum

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.structures._same import equal, same


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True),
        (np.array([1.0]), np.array([2.0]), False),
        (np.array([1]), np.array([1, 1]), False),
        (np.array([[1, "a"], [None, []]], object), np.array([[1, "a"], [None, []]], object), True),
        (np.array([[1, "a"], [None, []]], object), np.array([[1, "a"], [None, [0]]], object), False),
        (sp.csr_array([[1.0, 0.0]]), sp.csr_array([[1.0, 0.0]]), True),
        (sp.csr_array([[1.0, 0.0]]), sp.csr_array([[0.0, 1.0]]), False),
        ({"a": [1, (2, {3})]}, {"a": [1, (2, {3})]}, True),
        ({"a": [1, (2, {3})]}, {"a": [1, (2, {4})]}, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        (True, False, False),
        (1, 1.0, False),
        (float("nan"), float("nan"), True),
        (Colour.RED, Colour.BLUE, False),
        (object(), object(), True),
    ],
)
def test_deep_comparison(a, b, equal):
    assert same(a, b) == equal


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, np.int64(1), True),
        ([0, 1], (0, 1), True),
        ([0, 1], np.array([0, 1]), True),
        ([0, 1], [0, 2], False),
        ([0, 1], [0, 1, 1], False),
        ([1], 1, False),
        ("a", "b", False),
    ],
)
def test_equal_whatever_the_types(a, b, expected):
    assert equal(a, b) is expected
