"""Dependency trees of sentences against all trees, with features made one by one."""

import maxmargin as mm
from maxmargin.testing.conformance import StructureConformance
from tests.helpers.instances.sentences import Sentences


class TestDependencyTree(StructureConformance):
    bad_input = (
        (mm.DependencyTree(), ["a b"], [[0, 1]], "X[0]: expected a list of words"),
        (mm.DependencyTree(), [["a", "b"]], [[2, 1]], "Y[0]: not a tree, the heads form a cycle"),
        (mm.DependencyTree(min_count=0), [["a"]], [[0]], "min_count must be an integer ≥ 1"),
        (mm.DependencyTree(tags=["a", "a"]), [["a"]], [[0]], "tags must be distinct columns besides form"),
    )

    def instance(self, seed):
        return Sentences(seed, projective=seed % 3 == 0)


def test_costs_of_arcs():
    X, Y = [["a", "b", "c"]], [mm.PartCosts([2, 0, 2], false=3.0, missed=1.0)]
    model = mm.StructuralSVM(mm.DependencyTree(), C=10.0).fit(X, Y)
    assert model.predict(X) == [[2, 0, 2]]
    assert model.score(X, [mm.PartCosts([0, 1, 2], 3.0, 1.0)]) == -2 * 4.0


def test_distances_and_tags_between_in_long_sentences():
    """Every bucket of distances, and more distinct tags between head and child than a small sentence has."""
    n = 30
    x, y = [(f"w{m}", f"t{m % 12}") for m in range(n)], [0, *(1 for _ in range(n - 1))]
    structure = mm.DependencyTree().fit([x], [y])
    names = set(structure.feature_names())
    assert {f"any arc, right {d}" for d in ("1", "2", "3", "4", "5–9", "10+")} <= names
    assert {f"upos: t0 … t{k} … t11, right" for k in range(12)} <= names
    mirrored = mm.DependencyTree().fit([x[::-1]], [[n] * (n - 1) + [0]])
    counts, other = structure.joint_feature(x, y), mirrored.joint_feature(x[::-1], [n] * (n - 1) + [0])
    between, back = (
        {name: v for name, v in zip(s.feature_names(), psi, strict=True) if "…" in name and "<root>" not in name}
        for s, psi in ((structure, counts), (mirrored, other))
    )
    assert {name.replace("right", "left"): v for name, v in between.items()} == back
    assert sum(between.values()) == sum(min(d - 1, 12) for d in range(1, n))
