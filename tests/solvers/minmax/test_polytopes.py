"""Special cases of polytopes; the conformance kit compares those of every structure with its argmax."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin.algorithms.highs import Polyhedron
from maxmargin.structures.matching._polytope import fractional_is_whole
from maxmargin.structures.program._integral import has_whole_vertices
from maxmargin.structures.tree import _polytope as tree_polytopes
from maxmargin.testing.conformance import linear_maximum
from tests.helpers.instances.graphs import Programs
from tests.helpers.instances.trees import Graphs


def enumerated_maximum(case, i: int, w: np.ndarray) -> float:
    true = case.name(case.truth(i))
    best = max(w @ case.psis[i][case.name(y)] + case.loss(i, y) for y in case.outputs(i))
    return float(best - w @ case.psis[i][true] - case.loss(i, case.truth(i)))


def test_cuts_with_three_labels_are_whole_in_graphs_without_cycles():
    rng = np.random.default_rng(0)
    tree, cycle = [(0, 1), (1, 2), (1, 3)], [(0, 1), (1, 2), (2, 0)]
    for edges, whole in ((tree, True), (cycle, False)):
        X = [(rng.normal(size=(4, 2)), edges) for _ in range(3)]
        structure = mm.Cut(classes=[0, 1, 2])
        examples = structure.fit_encode(X, [rng.integers(0, 3, 4).tolist() for _ in X])
        assert examples.integral == whole
        for i in range(3):
            w = rng.normal(size=examples.dim)
            w[-1] = abs(w[-1]) * 3
            outputs = [np.array(y) for y in structure.enumerate(X[i])]
            found = linear_maximum(examples, i, w, examples.polytope(i))
            y = [examples.structure.labels_.values[c] for c in examples.truths[4 * i : 4 * i + 4]]
            psi = structure.joint_feature
            best = max(
                w @ psi(X[i], z.tolist()) + (z != y).sum() for z in outputs
            ) - w @ psi(X[i], y)  # fmt: skip
            assert found >= best - 1e-8
            if whole:
                assert found == pytest.approx(best, abs=1e-8)


def test_flows_and_subsets_give_the_same_trees(monkeypatch):
    for directed, single_root in ((True, False), (True, True), (False, False)):
        case = Graphs(7, directed, single_root)
        by_subsets = [case.examples.polytope(i) for i in range(case.n)]
        with monkeypatch.context() as patch:
            patch.setattr(tree_polytopes, "MOST_NODES", 0)
            by_flows = [case.examples.polytope(i) for i in range(case.n)]
        for i, (subsets, flows) in enumerate(zip(by_subsets, by_flows, strict=True)):
            for w in (case.w, 2.0 * case.weights()):
                expected = linear_maximum(case.examples, i, w, subsets)
                assert linear_maximum(case.examples, i, w, flows) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(
    ("matrix", "limits", "whole"),
    [
        ([[1, 1, 0], [0, 1, 1]], 1.0, True),  # consecutive ones
        ([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]], 1.0, True),  # bipartite
        ([[1, -1, 0], [0, 1, -1], [-1, 0, 1]], 0.0, True),  # a flow
        ([[1, 1, 0], [0, 1, 1], [1, 0, 1]], 1.0, False),  # an odd cycle
        ([[1, 1, 0], [0, 1, 1]], 1.5, False),  # limits that are not whole
        ([[2, 1], [1, 1]], 2.0, False),  # a knapsack
    ],
)
def test_which_programs_have_whole_solutions(matrix, limits, whole):
    A = sp.csr_array(np.array(matrix, float))
    k, m = A.shape
    integer = np.ones(m, bool)
    space = Polyhedron(A, np.full(k, -np.inf), np.full(k, limits), np.zeros(m), np.ones(m), integer)
    assert has_whole_vertices(space) == whole
    assert has_whole_vertices(space._replace(integer=~integer))


@pytest.mark.parametrize("seed", range(20))
def test_programs_that_pass_the_test_are_whole(seed):
    case = Programs(seed)
    for i, space in enumerate(case.examples.polyhedra):
        found = linear_maximum(case.examples, i, case.w, case.examples.polytope(i))
        best = enumerated_maximum(case, i, case.w)
        assert found >= best - 1e-8
        if has_whole_vertices(space):
            assert found == pytest.approx(best, abs=1e-8)


def test_which_fractional_matchings_are_whole():
    triangle = np.array([(0, 1), (1, 2), (0, 2)])
    square = np.array([(0, 1), (1, 2), (2, 3), (0, 3)])
    complete = np.array([(a, b) for a in range(6) for b in range(a)])
    assert fractional_is_whole(triangle, 4, perfect=True) and not fractional_is_whole(triangle, 3, perfect=False)
    assert fractional_is_whole(square, 4, perfect=False)
    assert not fractional_is_whole(complete, 6, perfect=True)
