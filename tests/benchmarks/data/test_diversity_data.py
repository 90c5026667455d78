"""Loaders of queries with subtopics, if the data are present."""

import os

import numpy as np
import pytest

from benchmarks.data.diversity import load_ambient, load_reuters_places
from benchmarks.papers.p2_diversity import greedy

needs_data = pytest.mark.skipif("MAXMARGIN_DATA" not in os.environ, reason="MAXMARGIN_DATA is not set")


@needs_data
def test_ambient_is_as_its_readme_tells():
    data = load_ambient()
    assert len(data.queries) == len(data.X) == 44
    assert sum(map(len, data.X)) == 2224
    assert min(map(len, data.X)) == 18 and max(map(len, data.X)) == 86
    assert len(set().union(*(topics for y in data.Y for topics in y))) == 349
    assert data.queries[0].lower() == "aida"


@needs_data
def test_reuters_places_are_as_their_readme_tells():
    data = load_reuters_places()
    assert len(data.X) == 45 and sum(map(len, data.X)) == 3860
    assert np.mean([len(set().union(*y)) for y in data.Y]) == pytest.approx(28.9, abs=0.05)
    assert all(len(text.split()) >= 30 for x in data.X for text in x)


def test_greedy_covers_what_is_left():
    rows = np.array([[1.0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]])
    assert greedy(rows, np.array([1.0, 1.0, 0.5, 9.0]), 2) == [0, 2]
