"""Taxonomies against plain enumeration of the classes."""

from __future__ import annotations

import numpy as np
import pytest
from conformance import BOUNDS, StructureConformance, every_case
from taxonomy_instances import ClassesInATree

import maxmargin as mm


class TestTaxonomy(StructureConformance):
    n_checked = 2

    def instance(self, seed):
        return ClassesInATree(seed)

    @every_case
    def test_every_bound_is_exact(self, case):
        assert all(case.examples.exact_for(bound) for bound in BOUNDS)


class TestSeenPairs(TestTaxonomy):
    n_checked, n_cases = 1, -(-StructureConformance.n_cases // 3)

    def instance(self, seed):
        return ClassesInATree(seed, seen_pairs=True)


def test_a_joint_program_reaches_the_same_optimum():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.choice(["a/x", "a/y", "b/z"], 30)
    objectives = []
    for seen_pairs in (False, True):
        for solver in ("auto", "minmax"):
            model = mm.StructuralSVM(mm.Taxonomy(hierarchy="/", seen_pairs=seen_pairs), solver=solver, tol=1e-6)
            objectives.append(model.fit(X, y).certificate_.primal)
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-5)


def test_kernels_are_refused():
    model = mm.StructuralSVM(mm.Taxonomy(hierarchy="/"), kernel="rbf")
    with pytest.raises(ValueError, match="Taxonomy takes no kernel: its weights belong to pairs of nodes and features"):
        model.fit(np.eye(3), ["a/x", "a/y", "b/z"])
