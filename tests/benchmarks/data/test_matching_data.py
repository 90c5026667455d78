"""Loaders of data with known matchings, if the data are present."""

import os
from collections import Counter

import pytest

from benchmarks.data.matchings import load_disulfide, load_hansards, load_hansards_bitext, load_house

needs_data = pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set")


@needs_data
def test_disulfide_bonds_join_cysteines():
    chains = load_disulfide()
    assert Counter(len(chain.bonds) for chain in chains) == {2: 189, 3: 136, 4: 69, 5: 31}
    assert Counter(chain.fold for chain in chains) == {0: 107, 1: 106, 2: 106, 3: 106}
    for chain in chains:
        ends = [c for bond in chain.bonds for c in bond]
        assert len(set(ends)) == len(ends) and max(ends) < len(chain.cysteines)
    assert chains[0].name == "1aye_A" and [chains[0].cysteines[c] + 1 for c in chains[0].bonds[0]] == [230, 253]


@needs_data
def test_word_alignments_are_as_their_readme_says():
    test, trial = load_hansards("test"), load_hansards("trial")
    assert [len(test), len(trial)] == [447, 37]
    assert sum(len(pair.sure) for pair in test) == 4038
    assert sum(len(pair.possible) for pair in test) == 4038 + 13400
    assert all(pair.sure <= pair.possible for pair in test)
    assert all(e < len(pair.english) and f < len(pair.french) for pair in test for e, f in pair.possible)
    english, french = load_hansards_bitext()
    assert len(english) == len(french) == 25000


@needs_data
def test_house_pairs_have_the_stated_separation():
    house = load_house()
    assert house.contexts.shape == (111, 30, 60)
    assert len(house.pairs) == 30
    for (separation, _), pairs in house.pairs.items():
        assert (abs(pairs[:, 1] - pairs[:, 0]) == separation).all()
    assert len(house.pairs[90, "test"]) == 7
