"""Taxonomies against plain enumeration of the classes."""

from __future__ import annotations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.testing.conformance import BOUNDS, StructureConformance, every_case
from tests.helpers.instances.taxonomy import ClassesInATree


class TestTaxonomy(StructureConformance):
    n_checked = 2

    def instance(self, seed):
        return ClassesInATree(seed)

    @every_case
    def test_every_bound_is_exact(self, case):
        assert all(case.examples.exact_for(bound) for bound in BOUNDS)

    @every_case(needs="sums")
    def test_arranged_marginals_are_the_probabilities_of_classes(self, case):
        for i in range(case.n):
            ids = np.array([i])
            marginals = case.examples.sums(case.examples.scores(case.w, ids), ids).marginals
            found = case.examples.arranged_marginals(marginals, i)
            np.testing.assert_allclose(found, self._enumerated(case, i, case.w)[3], atol=1e-9)


class TestSeenPairs(TestTaxonomy):
    n_checked, n_cases = 1, -(-StructureConformance.n_cases // 3)

    def instance(self, seed):
        return ClassesInATree(seed, seen_pairs=True)


def test_a_minmax_program_reaches_the_same_optimum():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.choice(["a/x", "a/y", "b/z"], 30)
    objectives = []
    for seen_pairs in (False, True):
        for solver in ("auto", "minmax"):
            model = mm.StructuralSVM(mm.Taxonomy(hierarchy="/", seen_pairs=seen_pairs), solver=solver, tol=1e-6)
            objectives.append(model.fit(X, y).certificate_.primal)
    np.testing.assert_allclose(objectives, objectives[0], rtol=1e-5)


def test_a_kernel_of_inner_products_is_the_linear_score():
    X, Y = np.random.default_rng(0).normal(size=(20, 3)), ["a/x", "a/y", "b/z", "b/w"] * 5
    plain = mm.StructuralSVM(mm.Taxonomy(hierarchy="/"), tol=1e-6).fit(X, Y)
    model = mm.StructuralSVM(mm.Taxonomy(hierarchy="/"), tol=1e-6, kernel=lambda a, b: a @ b.T).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=1e-5)
    found, expected = model.predict(X), plain.predict(X)
    for i, x in enumerate(X):  # two classes may have equal scores at the optimum
        (_, best), (_, second) = plain.topk(x, 2)
        assert found[i] == expected[i] or best - second < 1e-2
    assert "(X[" in str(model.feature_names_out[0]) and len(model.coef_) == len(model.feature_names_out)
