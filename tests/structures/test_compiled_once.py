"""Compiled functions receive arrays of one layout: for another one they are compiled again, which takes seconds."""

import networkx as nx
import numpy as np
import pytest
from numba import types

import maxmargin as mm
from maxmargin.structures.alignment import _cell_scores
from maxmargin.structures.alignment import _jit as alignment
from maxmargin.structures.bipartite_matching import _jit as assignment
from maxmargin.structures.path import _jit as path

RNG = np.random.default_rng(0)


def layouts(function):
    """The layouts of all arrays that a function was called with, and whether it could write to them."""
    return {(a.layout, a.mutable) for s in function.signatures for a in s if isinstance(a, types.Array)}


def road(seed):
    rng, graph = np.random.default_rng(seed), nx.DiGraph()
    for edge in [(0, 1), (1, 3), (0, 2), (2, 3)]:
        graph.add_edge(*edge, features=rng.normal(size=2))
    return graph, 0, 3


def alignments(n):
    X = [("GATTACA", "GATACA"), ("ACCGT", "ACGT"), ("TTAGC", "TAGC")][:n]
    Y = [("GATTACA", "GAT-ACA"), ("ACCGT", "A-CGT"), ("TTAGC", "-TAGC")][:n]
    model = mm.PairwiseAligner(features="simple", bound="margin", prior=None, C=1.0)
    model.fit(X, Y).predict(X)


def assignments(n):
    for capacity, y in ((1, [0, 2]), ([2, 1], [[0, 2], [1]])):
        X = [RNG.normal(size=(2, 3, 2)) for _ in range(n)]
        mm.StructuralSVM(mm.BipartiteMatching(per_left=capacity), C=1.0).fit(X, [y] * n).decision_scores(X)


def paths(n):
    X = [road(seed) for seed in range(n)]
    mm.StructuralSVM(mm.Path(), C=1.0).fit(X, [[0, 1, 3]] * n).predict(X)


@pytest.mark.parametrize(
    ("use", "functions"),
    [
        (alignments, [alignment.decode_pairs, _cell_scores.score_tables, _cell_scores.sum_cells]),
        (assignments, [assignment.best_matchings, assignment.best_pairs, assignment.best_flow]),
        (paths, [path.best_acyclic_paths]),
    ],
)
def test_one_example_and_several_need_the_same_code(use, functions):
    use(1)
    use(3)
    for function in functions:
        assert layouts(function) <= {("C", True)}, function.py_func.__name__
    assert any(function.signatures for function in functions)
