"""What min-max programs refuse, before any work."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin as mm
from maxmargin._base import memory as _memory
from maxmargin.solvers.minmax.solver import CertificateProgram, MinMax
from maxmargin.structures.tree import _polytope as tree_polytopes

X, Y = [np.random.default_rng(i).normal(size=(3, 3, 2)) for i in range(4)], [[1, 2, 0]] * 4


@pytest.fixture
def never_decoded(monkeypatch):
    from maxmargin.problem import Problem

    def decode(self, w, ids):
        raise AssertionError("an argmax ran")

    monkeypatch.setattr(Problem, "decode", decode)


def test_structures_without_polytopes(never_decoded):
    x, y = (np.ones((3, 1)), [1, 2, 3], 3), [1, 1, 0]
    with pytest.raises(ValueError, match=r"solver='minmax' cannot solve Knapsack: .*no polytope.*use solver='auto'"):
        mm.StructuralSVM(mm.Knapsack(), solver="minmax").fit([x], [y])
    with pytest.raises(ValueError, match=r"solver='minmax' cannot solve Ranking: Ranking has no polytope"):
        mm.StructuredRanker(measure="pairwise", solver="minmax").fit(np.eye(3), [0, 1, 1], [0, 0, 0])


def test_latent_structures():
    with pytest.raises(ValueError, match=r"solver='minmax' cannot solve Motif"):
        mm.MotifFinder(length=2, solver="minmax").fit(["ACGT", "TTTT"], [1, -1])


def test_a_structure_of_the_user():
    class Bits(mm.Structure):
        def joint_feature(self, x, y):
            return np.array([float(y) * x])

        def loss(self, y, y_hat):
            return float(y != y_hat)

        def argmax(self, w, x):
            return int(w[0] * x > 0)

        def loss_augmented_argmax(self, w, x, y, scale=1.0):
            return max((0, 1), key=lambda k: w[0] * k * x + scale * (k != y))

    for solver in ("minmax", "certificate"):
        with pytest.raises(ValueError, match=f"solver='{solver}' cannot solve Custom"):
            mm.StructuralSVM(Bits(), solver=solver).fit([1.0, -1.0], [1, 0])


def test_certificates_need_trees_or_matchings(never_decoded):
    with pytest.raises(ValueError, match=r"certificates are known for undirected trees .* matchings of general graphs"):
        mm.StructuralSVM(mm.BipartiteMatching(), solver="certificate").fit(X, Y)
    with pytest.raises(ValueError, match=r"solver='certificate' needs undirected trees"):
        mm.StructuralSVM(mm.Tree(), solver="certificate").fit(X, [[0, 1]] * 4)


def test_slack_rescaling_ramps_and_latent_variables(never_decoded):
    with pytest.raises(ValueError, match=r"solver='minmax' needs bound='margin', found 'slack'"):
        mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax", bound="slack").fit(X, Y)


def test_a_ramp():
    with pytest.raises(ValueError, match=r"solver='minmax' needs a convex bound"):
        mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax", bound="ramp").fit(X, Y)


def test_losses_that_are_not_sums_over_parts(never_decoded):
    sequences, labels = mm.datasets.make_chains(4, random_state=0)
    with pytest.raises(ValueError, match=r"the zero-one loss is not a sum over tokens; use solver='auto'"):
        mm.SequenceTagger(loss="zero-one", solver="minmax").fit(sequences, labels)
    with pytest.raises(ValueError, match=r"projective trees have no polytope"):
        mm.StructuralSVM(mm.Tree(projective=True), solver="minmax").fit(X, [[0, 1]] * 4)


def test_quadratic_slack_with_costs_that_are_not_multiples():
    costs = [mm.PartCosts(y, np.linspace(1.0, 2.0, 9).reshape(3, 3) ** 0.5) for y in Y]
    with (
        pytest.warns(UserWarning, match="upper bound on the objective"),
        pytest.raises(ValueError, match=r"losses that are multiples of one number"),
    ):
        mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax", slack="quadratic").fit(X, costs)


def test_large_trees(monkeypatch, never_decoded):
    monkeypatch.setattr(tree_polytopes, "MOST_FLOWS", 10)
    big = np.random.default_rng(0).normal(size=(12, 12, 2))
    with pytest.raises(ValueError, match=r"X\[0\]: a tree over 12 nodes with 121 arcs has no small polytope"):
        mm.StructuralSVM(mm.Tree(), solver="minmax").fit([big], [[0] * 11])


@pytest.mark.parametrize("solver", [MinMax(), CertificateProgram()])
def test_programs_too_large_for_memory(solver, monkeypatch, never_decoded):
    rows = sp.csr_array(sp.eye_array(16, 300))  # sparse features are dense in the program
    graphs, matchings = [rows] * 8, [[1, 0, 3, 2]] * 8
    monkeypatch.setattr(_memory, "available_bytes", lambda: 5e4)
    with pytest.raises(MemoryError, match=r"training 300 weights needs about .* GB of memory"):
        mm.StructuralSVM(mm.Matching(), solver=solver, C=1.0).fit(graphs, matchings)


@pytest.mark.parametrize(
    ("solver", "what"),
    [
        (MinMax(method="simplex"), r"MinMax: method must be one of 'auto', 'interior', 'general', found 'simplex'"),
        (CertificateProgram(form="cycles"), r"form must be one of 'prices', 'distances', 'odd-sets', found 'cycles'"),
        (MinMax(accuracy=0.0), r"MinMax: accuracy must be .*1e-14.*found 0"),
        (MinMax(accuracy=np.nan), r"MinMax: accuracy must be"),
    ],
)
def test_parameters(solver, what):
    with pytest.raises(ValueError, match=what):
        mm.StructuralSVM(mm.BipartiteMatching(), solver=solver).fit(X, Y)


def test_the_general_solver_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    with pytest.raises(ImportError, match=r"pip install 'maxmargin\[convex\]'"):
        mm.StructuralSVM(mm.BipartiteMatching(), solver=MinMax(method="general")).fit(X, Y)


def test_scores_that_are_not_finite():
    with pytest.raises(ValueError, match=r"X\[1\]"):
        mm.StructuralSVM(mm.BipartiteMatching(), solver="minmax").fit([X[0], X[1] * np.nan], Y[:2])
