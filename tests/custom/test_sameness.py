"""Answers of a user's method, whatever they are made of: whether two are the same, and copies that stay."""

import enum
from array import array
from collections import namedtuple

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.custom.any_values import equal, flat_copy, is_flat, own_copy, same


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


Span = namedtuple("Span", "marks length")


def filled_anew(work):
    """Everything that it holds is set to 9."""
    for member in work.values() if isinstance(work, dict) else work if isinstance(work, tuple | list) else ():
        if not isinstance(member, int):
            filled_anew(member)
    if isinstance(work, dict):
        work.update(dict.fromkeys(work, 9))
    elif sp.issparse(work):
        work.data[:] = 9
    elif isinstance(work, set):
        work.add(9)
    elif isinstance(work, np.ndarray | list | bytearray | array):
        for k in range(len(work)):
            work[k] = 9


@pytest.mark.parametrize(
    "work",
    [
        np.zeros(3),
        np.zeros(4)[1:],
        np.array([1, [2, 3]], object),
        [1, 2],
        [[1], [2]],
        {"a": 1},
        {"a": [1], "b": np.zeros(2)},
        {1, 2},
        bytearray(b"ab"),
        array("d", [1.0]),
        (1, np.zeros(2)),
        (1, [(2, [3])]),
        Span(np.zeros(2), 2),
        sp.csr_array([[1.0, 2.0]]),
    ],
    ids=repr,
)
def test_a_copy_stays_what_it_is(work):
    kept, alike = own_copy(work), own_copy(work)
    assert type(kept) is type(work) and same(kept, work)
    filled_anew(work)
    assert not same(kept, work)
    assert same(kept, alike)


def test_what_is_known_by_identity_is_not_copied():
    class Thing:
        pass

    thing = Thing()
    for value in (thing, Colour.RED, (1, "a"), (thing, 1), Span(thing, 0), None):
        assert own_copy(value) is value
    assert own_copy([thing])[0] is thing
    assert own_copy({"a": thing})["a"] is thing


def test_copies_of_lists_that_hold_themselves_or_are_nested_deeply():
    tree = [0, []]
    tree[1].append(tree)
    kept = own_copy(tree)
    assert kept is not tree and kept[1][0] is kept
    deep = []
    for _ in range(100000):
        deep = [deep]
    assert own_copy(deep) is deep


def test_flat_lists_are_copied_and_others_as_always():
    numbers, nested = [1, 2.0, "c"], [[1], 2]
    assert is_flat(numbers)
    assert not is_flat(nested)
    assert not is_flat((1, 2))
    for value in (numbers, np.arange(3)):
        found = flat_copy(value)
        assert found is not value
        assert list(found) == list(value)
    assert flat_copy("text") == "text"
