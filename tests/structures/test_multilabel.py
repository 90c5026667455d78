"""Sets of labels against plain enumeration."""

from __future__ import annotations

from maxmargin.testing.conformance import BOUNDS, StructureConformance, every_case
from tests.helpers.instances.taxonomy import LabelSets


class TestAllPairs(StructureConformance):
    pairs, n_checked = "all", 1
    n_cases = -(-StructureConformance.n_cases // 2)

    def instance(self, seed):
        return LabelSets(seed, self.pairs)

    @every_case
    def test_every_bound_is_exact(self, case):
        assert all(case.examples.exact_for(bound) for bound in BOUNDS)


class TestTreeOfPairs(TestAllPairs):
    pairs = "tree"


class TestNoPairs(TestAllPairs):
    pairs = None
    n_cases = -(-StructureConformance.n_cases // 5)
