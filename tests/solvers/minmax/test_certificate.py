"""Certificates of trees and matchings: what they prove, and which objective their programs minimise."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest

import maxmargin as mm
from maxmargin.solvers.minmax.solver import CertificateProgram, MinMax, RelaxationWarning
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from tests.helpers.instances.matching import Partners
from tests.helpers.instances.trees import Graphs
from tests.helpers.minmax_problems import problem_of, solved


def two_triangles():
    """K6 with two triangles of score 3 and a bridge of 2: the best matching, (0 1)(2 3)(4 5), has no certificate."""
    x = np.zeros((6, 6, 1))
    for triangle in ((0, 1, 2), (3, 4, 5)):
        for a, b in combinations(triangle, 2):
            x[a, b] = 3.0
    x[2, 3] = 2.0
    return [x], [[1, 0, 3, 2, 5, 4]]


def fitted(solver, X, Y, structure=None, tol=1e-7, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mm.StructuralSVM(structure or mm.Matching(), solver=solver, tol=tol, **parameters).fit(X, Y)


def test_two_triangles_are_a_better_fractional_matching():
    X, Y = two_triangles()
    planes = fitted("auto", X, Y, C=100.0).certificate_
    exact = fitted(CertificateProgram(form="odd-sets"), X, Y, C=100.0).certificate_
    assert exact.primal == pytest.approx(planes.primal, rel=1e-6)
    assert exact.gap <= 1e-7 and exact.relaxation is None
    assert fitted("minmax", X, Y, C=100.0).certificate_.primal == pytest.approx(planes.primal, rel=1e-6)
    relaxed = {form: fitted(CertificateProgram(form=form), X, Y, C=100.0) for form in ("prices", "distances")}
    for model in relaxed.values():
        found = model.certificate_
        assert model.stop_reason_ == "converged"
        assert found.relaxation > 10 * planes.primal  # every weight has a better fractional matching
        assert found.dual <= planes.primal <= found.primal
        assert "an upper bound on the objective" in str(found)
    first, second = (model.certificate_.relaxation for model in relaxed.values())
    assert first == pytest.approx(second, rel=1e-6)


def test_two_triangles_have_a_hard_margin_but_no_certificate():
    X, Y = two_triangles()
    planes = fitted("auto", X, Y, C=np.inf).certificate_
    assert fitted("minmax", X, Y, C=np.inf).certificate_.primal == pytest.approx(planes.primal, rel=1e-6)
    for form in ("prices", "distances"):
        with pytest.raises(ValueError, match=r"no weights satisfy all margins of the relaxation.*solver='auto'"):
            fitted(CertificateProgram(form=form), X, Y, C=np.inf)


@pytest.mark.parametrize("form", ["prices", "distances"])
def test_what_is_solved_is_said_before_work_starts(form):
    X, Y = two_triangles()
    with pytest.warns(RelaxationWarning, match=f"upper bound on the objective: form='{form}' proves optimality"):
        mm.StructuralSVM(mm.Matching(), solver=CertificateProgram(form=form), tol=1.0).fit(X, Y)


@pytest.mark.parametrize("form", ["prices", "distances"])
def test_graphs_of_four_nodes_and_bipartite_graphs_have_exact_certificates(form):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(4, 4, 3)) for _ in range(15)]
    Y = [[[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]][k] for k in rng.integers(0, 3, 15)]
    sides = np.array([0, 0, 0, 1, 1, 1])
    for _ in range(5):
        X.append((rng.normal(size=(6, 6, 3)), sides[:, None] != sides))
        Y.append([3, 4, 5, 0, 1, 2])
    for C in (0.1, 10.0):
        model = mm.StructuralSVM(mm.Matching(), C=C, solver=CertificateProgram(form=form), tol=1e-7).fit(X, Y)
        planes = mm.StructuralSVM(mm.Matching(), C=C, tol=1e-7).fit(X, Y).certificate_
        assert model.stop_reason_ == "tol"
        assert model.certificate_.primal == pytest.approx(planes.primal, rel=1e-5)


@pytest.mark.parametrize("perfect", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_prices_and_distances_have_the_same_optimum(perfect, seed):
    """Distances in a graph with a copy are prices of nodes that may stay alone."""
    case = Partners(seed, perfect, 6 if perfect else 5)
    found = []
    for form in ("prices", "distances"):
        certificate = solved(CertificateProgram(form=form), problem_of(case, 3.0), 1e-9)[1]
        found.append(certificate.dual if certificate.relaxation is None else certificate.relaxation)
    exact = solved(MinMax(), problem_of(case, 3.0), 1e-8)[1]
    assert found[0] == pytest.approx(found[1], rel=1e-6)
    assert found[0] >= exact.dual * (1 - 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_certificates_of_trees(seed):
    """With slack, exchanges of edges are an upper bound; without, they decide whether a tree is best."""
    case = Graphs(seed, False, False)
    planes = solved(ProximalWorkingSets(), problem_of(case, 1.0), 1e-7, 2000)[1]
    _, certificate, state = solved(CertificateProgram(), problem_of(case, 1.0))
    assert certificate.relaxation >= planes.dual * (1 - 1e-6)
    assert certificate.dual <= planes.primal * (1 + 1e-9)
    assert certificate.primal >= planes.dual * (1 - 1e-9)
    problem = problem_of(case, 1.0)
    problem.decode(state.best_w, problem.everyone)
    assert certificate.primal == pytest.approx(problem.primal(state.best_w)[0], rel=1e-9)


def test_certificates_of_trees_are_exact_without_slack():
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(n, n, 4)) for n in (3, 4, 5, 6, 5, 4)]
    truth, maker = np.array([1.0, -1.0, 0.5, 0.0]), mm.Tree(directed=False)
    maker.fit(X[:1], [[(0, 1), (1, 2)]])
    Y = [maker.argmax(truth, x) for x in X]
    planes = fitted("auto", X, Y, mm.Tree(directed=False), C=np.inf).certificate_
    model = mm.StructuralSVM(mm.Tree(directed=False), C=np.inf, solver="certificate", tol=1e-6).fit(X, Y)
    assert model.stop_reason_ == "tol"
    assert model.certificate_.primal == pytest.approx(planes.primal, rel=1e-5)


def test_odd_sets_of_large_graphs_are_too_many():
    X, Y = [np.ones((12, 12, 1))], [list(range(6, 12)) + list(range(6))]
    for solver in ("minmax", CertificateProgram(form="odd-sets")):
        with pytest.raises(ValueError, match=r"X\[0\]: 12 nodes, but the odd sets .* at most 10; use solver='auto'"):
            mm.StructuralSVM(mm.Matching(), solver=solver).fit(X, Y)
