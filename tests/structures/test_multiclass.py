"""Multiclass against plain enumeration of the labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.core.planes import Answers
from maxmargin.features.rows.rows import Rows
from maxmargin.structures.multiclass import Multiclass
from maxmargin.testing.conformance import BOUNDS, StructureConformance, every_case
from tests.helpers.instances.rows_and_sequences import LabelledRows


class TestMulticlass(StructureConformance):
    def instance(self, seed):
        return LabelledRows(seed)

    @every_case
    def test_every_bound_is_exact(self, case):
        assert all(case.examples.exact_for(bound) for bound in BOUNDS)


def test_prediction_without_truth_takes_the_first_of_equals():
    X = np.eye(2)
    structure = Multiclass(fit_intercept=False).fit(X, ["b", "a"])
    answers = Answers.empty(2, 2)
    examples = structure.encode(X)
    examples.decode(np.zeros(4), np.arange(2), np.zeros(2), answers)
    assert examples.outputs(answers) == ["a", "a"]
    examples.decode(np.array([0.0, 1.0, 0.0, 0.0]), np.arange(2), np.zeros(2), answers)
    assert examples.outputs(answers) == ["b", "a"]


def test_entries_of_a_sparse_row_that_stand_twice_add_up():
    twice = sp.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    structure = Multiclass(fit_intercept=False).fit(twice, [0, 1])
    row = sp.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 2))
    np.testing.assert_array_equal(structure.joint_feature(row, 1), [0, 3, 0, 0])


def test_plane_values_are_float32_only_where_that_is_exact():
    whole = Multiclass().fit([[1.0], [2.0]], [0, 1]).encode([[1.0], [2.0]], [0, 1])
    broken = Multiclass().fit([[1.0], [0.1]], [0, 1]).encode([[1.0], [0.1]], [0, 1])
    assert whole.value_type is np.float32
    assert broken.value_type is np.float64
    assert Multiclass().fit([[1.0], [1e300]], [0, 1]).encode([[1e300]], [0]).value_type is np.float64


@pytest.mark.parametrize(
    ("parameters", "X", "Y", "message"),
    [
        ({}, [[1.0], [2.0]], ["a", "a"], "expected at least two classes, found one class: ['a']"),
        ({"cost": "hamming"}, [[1.0], [2.0]], [0, 1], "cost must be 'zero-one', a matrix or a dict, found 'hamming'"),
        ({"cost": np.ones((2, 2))}, [[1.0], [2.0]], [0, 1], "the diagonal of a cost matrix must be 0"),
        ({"cost": np.zeros((3, 3))}, [[1.0], [2.0]], [0, 1], "expected a 2 × 2 cost matrix (classes [0, 1])"),
        ({"cost": [[0, -1], [1, 0]]}, [[1.0], [2.0]], [0, 1], "costs must be finite and not negative"),
        ({"cost": [[0, np.nan], [1, 0]]}, [[1.0], [2.0]], [0, 1], "costs must be finite and not negative"),
        ({"cost": {"z": 2.0}}, [[1.0], [2.0]], ["a", "b"], "costs for labels that do not occur: ['z']"),
        ({}, [[1.0], [np.nan]], [0, 1], "NaN"),
        ({}, [[1.0], [np.inf]], [0, 1], "infinity"),
        ({}, [[1], [10**400]], [0, 1], "X[1]: features must be numbers between ±1.8e308, found a larger one"),
        ({}, np.array([[1], [10**5000]], object), [0, 1], "X[1]: features must be numbers between ±1.8e308"),
        ({}, [[1.0], [2j]], [0, 1], "X[1]: features must be real numbers, found [2j]"),
    ],
)
def test_bad_input_to_fit(parameters, X, Y, message):
    with pytest.raises(ValueError) as error:
        Multiclass(**parameters).fit(X, Y)
    assert message in str(error.value)


def test_bad_input_to_encode():
    structure = Multiclass().fit([[1.0, 0.0], [0.0, 1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="X has 3 features, expected 2"):
        structure.encode([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"X has 2 rows but Y has 1$"):
        structure.encode(np.eye(2), ["a"])
    with pytest.raises(ValueError, match=r"Y\[1\]: unknown label 'c'; the classes are 'a', 'b'"):
        structure.encode(np.eye(2), ["a", "c"])


def test_topk_needs_a_whole_number():
    structure = Multiclass().fit(np.eye(2), ["a", "b"])
    for k in (0, -1, 2.5):
        with pytest.raises(ValueError, match=f"k must be an integer ≥ 1, found {k}"):
            structure.topk(np.zeros(6), np.ones(2), k)


@pytest.mark.parametrize("collision", [False, True])
def test_only_equal_rows_are_merged_whatever_their_hashes(monkeypatch, collision):
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 2, (60, 3)).astype(float), rng.integers(0, 2, 60)
    X[X == 0.0] = rng.choice([0.0, -0.0], (X == 0.0).sum())
    weights = rng.random(60)
    if collision:
        monkeypatch.setattr(Rows, "hashes", lambda self: np.arange(len(self.indptr) - 1) % 1)
    merged, totals, first = Multiclass().fit(X, Y).encode(X, Y).merged(weights)
    expected = {}
    for x, y, weight in zip(X.tolist(), Y.tolist(), weights, strict=True):
        expected[*x, y] = expected.get((*x, y), 0.0) + weight
    found = {(*X[i].tolist(), int(Y[i])): total for i, total in zip(first, totals, strict=True)}
    assert found == pytest.approx(expected)
    np.testing.assert_array_equal(merged.truths, Y[first])
    order = rng.permutation(60)
    again, shuffled, _ = Multiclass().fit(X, Y).encode(X[order], Y[order]).merged(weights[order])
    np.testing.assert_array_equal(again.truths, merged.truths)
    np.testing.assert_array_equal(again.rows.indices, merged.rows.indices)
    np.testing.assert_allclose(shuffled, totals)
