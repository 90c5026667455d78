"""Costs between labels, from any of the forms people give."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.features.rows.labels import Labels, check_costs, cost_levels, cost_matrix

LABELS = Labels(["a", "b", "c"])


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ("zero-one", [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        ({"b": 2.5}, [[0, 1, 1], [2.5, 0, 2.5], [1, 1, 0]]),
        ({"a": 0, "c": np.float32(3)}, [[0, 0, 0], [1, 0, 1], [3, 3, 0]]),
        ([[0, 1, 2], [3, 0, 4], [5, 6, 0]], [[0, 1, 2], [3, 0, 4], [5, 6, 0]]),
    ],
)
def test_what_costs_stand_for(costs, expected):
    check_costs(costs, ["zero-one"], "loss")
    table = cost_matrix(costs, LABELS)
    assert table.dtype == float and table.tolist() == expected


def test_a_matrix_is_copied():
    given = np.zeros((3, 3))
    cost_matrix(given, LABELS)[0, 1] = 1.0
    assert not given.any()


@pytest.mark.parametrize("costs", ["f1", abs, None, 1.0, [1.0, 2.0], [[1.0], [2.0, 3.0]], [["a"]], np.zeros((1, 1, 1))])
def test_what_can_be_no_costs(costs):
    with pytest.raises(ValueError, match=r"^loss must be 'hamming', 'zero-one', a matrix or a dict, found "):
        check_costs(costs, ["hamming", "zero-one"], "loss")


@pytest.mark.parametrize("cost", ["1", None, [1.0], 1j, 10**400])
def test_what_can_be_no_cost_of_a_label(cost):
    with pytest.raises(ValueError, match=r"^cost: the cost of label 'a' must be a number, found "):
        check_costs({"a": cost}, ["zero-one"], "cost")


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan])
def test_costs_that_are_not_finite_or_negative(bad):
    table = 1.0 - np.eye(3)
    table[2, 0] = bad
    wording = f"^costs must be finite and not negative, found {bad} for 'a' if 'c' is true$"
    with pytest.raises(ValueError, match=wording):
        cost_matrix(table, LABELS)


@pytest.mark.parametrize(
    ("costs", "unit"),
    [
        ([0.0, 1.0], 1.0),
        ([0.0, 2.0, 6.0], 2.0),
        ([0.0, 0.5, 0.75], 0.25),
        ([0.1, 0.3, 1.2], 0.1),
        ([0.0, 1 / 3], 1 / 3),
    ],
)
def test_costs_as_multiples_of_one_number(costs, unit):
    steps, found = cost_levels(np.array(costs))
    assert found == pytest.approx(unit)
    np.testing.assert_allclose(steps * found, costs, atol=1e-12)


@pytest.mark.parametrize("costs", [[1.0, np.pi], [1.0, 65.0], [0.001, 1.0], [1e-300, 1.0]])
def test_costs_that_are_no_small_multiples_of_one_number(costs):
    assert cost_levels(np.array(costs)) is None


def test_costs_of_zero_have_one_level():
    steps, unit = cost_levels(np.zeros((2, 2)))
    assert not steps.any() and unit == 1.0
