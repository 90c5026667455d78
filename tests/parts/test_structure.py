"""What a structure on parts must say of itself."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.core.structure import WeightTable

X, Y = [np.ones((3, 3, 2))], [[0, 0]]


class Undescribed(mm.Tree):
    """Says less about its weights than there are."""

    def tables(self):
        return {"arcs": WeightTable(["x0"])}


def test_tables_must_describe_all_weights():
    with pytest.raises(TypeError, match=r"Undescribed.tables\(\) describes 1 weights, but its blocks have 2; override"):
        Undescribed().fit(X, Y)


@pytest.mark.parametrize("attribute", ["nested", "bounded", "lower", "whole_counts"])
def test_attributes_of_examples_are_not_ignored(attribute):
    kind = type("Misplaced", (mm.Tree,), {attribute: True})
    with pytest.raises(TypeError, match=f"Misplaced.{attribute} has no effect; set it on the class of its examples"):
        kind().fit(X, Y)


def test_weights_of_several_outputs_are_named_and_split():
    table = WeightTable(["a", "b"], ["x", "y", "z"])
    assert table.names() == ["a → x", "a → y", "a → z", "b → x", "b → y", "b → z"]
    assert table.shape == (2, 3)


def test_declared_data_are_taken_and_part_of_the_fingerprint():
    items = [(np.ones((n, 1)), [1.0] * n, capacity) for n, capacity in ((2, 1.0), (3, 2.0), (1, 1.0))]
    truths = [[1, 0], [1, 1, 0], [1]]
    examples = mm.Knapsack().fit_encode(items, truths)
    examples.weights[:] = np.arange(6.0)
    some = examples.take(np.array([2, 1]))
    assert some.weights.tolist() == [5.0, 2.0, 3.0, 4.0]
    assert some.capacities.tolist() == [1.0, 2.0]
    assert len(some.tabled) == 2
    other = mm.Knapsack().fit_encode([(x, weights, capacity + 1.0) for x, weights, capacity in items], truths)
    assert mm.Knapsack().fit_encode(items, truths).digest() != other.digest()


class Relabelled(mm.Multiclass):
    """Keeps its encoder under a key of its own."""

    state_keys = {"rows_": "matrix"}  # noqa: RUF012


def test_encoders_are_saved_under_the_declared_keys():
    rows, labels = np.eye(2), ["a", "b"]
    assert mm.Multiclass().fit(rows, labels).get_state()["learnt"] == {"labels": labels, "n_features": 2}
    state = Relabelled().fit(rows, labels).get_state()
    assert state["learnt"] == {"labels": labels, "matrix": {"n_features": 2}}
    again = Relabelled.from_state(state)
    assert (again.size, again.n_features_) == (6, 2)
    assert {name: table.shape for name, table in again.split_weights(np.zeros(6)).items()} == {"rows": (3, 2)}
