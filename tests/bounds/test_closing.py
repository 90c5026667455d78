"""Outputs that a search over scale misses, found by ranking; bounds on what is still missed."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.bounds import Bound
from maxmargin.bounds.remaining_outputs import Ranked, best_ranked, is_closed, tangent_scale
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.structures.chain.structure import Chain
from maxmargin.structures.tree.structure import Tree

NONLINEAR = [Bound("margin", "quadratic"), Bound("slack"), Bound("slack", "quadratic"), Bound("slack", valued=False)]


@pytest.mark.parametrize("bound", NONLINEAR, ids=str)
def test_greatest_violation_on_a_line(bound):
    losses = np.linspace(0.0, 30.0, 300_001)
    for level in (-2.0, -0.5, 0.0, 1.3):
        for scale in (0.3, 1.0, 4.0):
            on_line = bound.violation(level - scale * losses, losses)
            assert bound.greatest_on_line(level, scale) == pytest.approx(max(on_line.max(), 0.0), abs=1e-6) or (
                bound.rescaling == "margin" and bound.greatest_on_line(level, scale) == pytest.approx(on_line.max())
            )


@pytest.mark.parametrize("bound", NONLINEAR, ids=str)
@pytest.mark.parametrize("seed", range(20))
def test_ranking_finds_the_best_point_of_a_cloud(bound, seed):
    rng = np.random.default_rng(seed)
    rises, losses = rng.normal(size=50), rng.exponential(size=50)
    violations = bound.violation(rises, losses)
    start = int(rng.integers(50))
    scale = tangent_scale(bound, rises[start], losses[start])
    order = np.argsort(-(rises + scale * losses))
    points = [Ranked(rises[k], losses[k], np.array([k])) for k in order]
    known = max(float(violations[start]), 0.0)
    for n in (1, 3, 50):
        best, upper = best_ranked(bound, points[:n], scale, known, np.inf, complete=n == 50)
        found = known if best is None else float(bound.violation(best.rise, best.loss))
        assert found <= max(violations.max(), known) + 1e-12
        assert upper >= max(violations.max(), 0.0) - 1e-12
        if n == 50:
            assert found == pytest.approx(max(violations.max(), known))
            assert is_closed(found, upper)


def chains(rng):
    X = [rng.normal(size=(int(rng.integers(1, 5)), 2)) for _ in range(6)]
    costs = rng.random((3, 3)) * (1.0 - np.eye(3))
    return Chain(cost=costs, classes=range(3)), X, [rng.integers(0, 3, len(x)) for x in X]


def trees(rng):
    X = [rng.normal(size=(n, n, 2)) for n in (3, 4, 4)]
    structure = Tree()
    outputs = [list(structure.enumerate(x)) for x in X]
    return structure, X, [some[int(rng.integers(len(some)))] for some in outputs]


def programs(rng):
    """Free and constrained programs of integers, whose decisions are not nested and have counts above 1."""
    X, Y = [], []
    for _ in range(4):
        m, capacity = 3, rng.integers(2, 9)
        upper = float(rng.integers(1, 4))
        A = rng.integers(1, 4, (1, m))
        X.append(mm.ProgramInput(rng.normal(size=(m, 2)), A, high=capacity, upper=upper))
        Y.append([0] * m if A.sum() * upper > capacity else [int(upper)] * m)
    return mm.Program(), X, Y


@pytest.mark.parametrize("make", [chains, trees, programs])
@pytest.mark.parametrize("bound", NONLINEAR[:3], ids=str)
def test_closed_searches_find_the_most_violated_output(make, bound):
    """Small structures have few outputs, so that ranking always ends with a proof."""
    opened = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        structure, X, Y = make(rng)
        examples = structure.fit_encode(X, Y)
        problem = Problem(examples, bound, Objective(1.0, np.ones(len(X)), bound.slack))
        w = rng.normal(size=examples.dim) * rng.choice([0.3, 1.0, 3.0])
        problem.decode(w, problem.everyone)
        searched, before = problem.hinges.copy(), problem.upper_hinges.copy()
        assert problem.close_searches() and not problem.close_searches()
        problem.decode(w, problem.everyone)
        opened += int((before > searched + 1e-6).sum())
        found = problem.values - problem.planes(problem.everyone).dot(w)
        for i, (x, y) in enumerate(zip(X, Y, strict=True)):
            truth = w @ structure.joint_feature(x, y)
            best = max(
                float(bound.violation(w @ structure.joint_feature(x, o) - truth, structure.loss(y, o)))
                for o in structure.enumerate(x)
            )
            assert problem.hinges[i] == pytest.approx(max(best, 0.0), abs=1e-9)
            assert problem.upper_hinges[i] == pytest.approx(max(best, 0.0), abs=1e-7)
            if problem.keys[i] != 0:
                assert found[i] == pytest.approx(problem.hinges[i], abs=1e-9)
    assert opened > 0, "no search left a gap, so that nothing was tested"
