"""Generated data: lengths as requested, and an error message if they are invalid."""

from __future__ import annotations

import pytest

import maxmargin as mm


def test_chains_may_be_empty():
    X, Y = mm.datasets.make_chains(50, n_features=3, min_length=0, max_length=2)
    assert {len(y) for y in Y} == {0, 1, 2}
    assert [x.shape for x in X] == [(len(y), 3) for y in Y]
    model = mm.SequenceTagger(max_iter=2, tol=1.0).fit(X, Y)
    assert [len(y) for y in model.predict(X)] == [len(y) for y in Y]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"min_length": -1}, "min_length must be an integer ≥ 0, found -1"),
        ({"min_length": 1.5}, "min_length must be an integer ≥ 0, found 1.5"),
        ({"min_length": 5, "max_length": 4}, "max_length must be an integer ≥ 5, found 4"),
        ({"n_labels": 0}, "n_labels must be an integer ≥ 1, found 0"),
    ],
)
def test_chains_that_cannot_be(parameters, message):
    with pytest.raises(ValueError, match=message):
        mm.datasets.make_chains(**parameters)
