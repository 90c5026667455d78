"""What a structure on parts must say of itself."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.parts.structure import WeightTable

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
