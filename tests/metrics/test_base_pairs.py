"""Sensitivity, selectivity and F1 of base pairs."""

from __future__ import annotations

import pytest

import maxmargin as mm


def test_counts_are_pooled():
    scores = mm.metrics.base_pair_scores(["((...))", "(((...)))"], ["(.....)", "((.....))"])
    assert scores == (3, 3, 5, 3)
    assert (scores.sensitivity, scores.selectivity, scores.f1) == (0.6, 1.0, pytest.approx(0.75))
    weighted = mm.metrics.base_pair_scores(["((...))", "(....)"], ["(.....)", "......"], sample_weight=[3, 1])
    assert weighted == (3, 3, 7, 3)


def test_pairs_may_cross_and_slip():
    true, found = ["(([[))]]......"], ["((..))........"]
    assert mm.metrics.base_pair_scores(true, found).sensitivity == 0.5
    shifted = mm.metrics.base_pair_scores(["(....)."], ["(.....)"])
    assert shifted.f1 == 0.0
    near = mm.metrics.base_pair_scores(["(....)."], ["(.....)"], slip=1)
    assert (near.sensitivity, near.selectivity) == (1.0, 1.0)
    assert mm.metrics.base_pair_scores([".(....)"], ["(....)."], slip=1).f1 == 0.0


def test_nothing_to_find():
    scores = mm.metrics.base_pair_scores(["...."], ["...."])
    assert (scores.sensitivity, scores.selectivity, scores.f1) == (0.0, 0.0, 0.0)
    assert mm.metrics.base_pair_scores([], []).f1 == 0.0


def test_bad_input():
    with pytest.raises(ValueError, match="2 true structures but 1 predicted ones"):
        mm.metrics.base_pair_scores(["..", ".."], [".."])
    with pytest.raises(ValueError, match=r"true\[1\]: 2 positions, but the predicted structure has 3"):
        mm.metrics.base_pair_scores(["..", ".."], ["..", "..."])
    with pytest.raises(ValueError, match=r"predicted\[0\], position 1: unbalanced"):
        mm.metrics.base_pair_scores([".."], [".)"])
    with pytest.raises(ValueError, match="true: expected a sequence of examples, found str"):
        mm.metrics.base_pair_scores("(...)", "(...)")
