"""Arithmetic of sparse rows, and planes that move to other references."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.core.planes import Planes
from maxmargin.problem import Problem, References
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.structures.multiclass import Multiclass

DIM = 7


def rows(rng, n):
    dense = rng.integers(-2, 3, (n, DIM)) * (rng.random((n, DIM)) < 0.5).astype(float)
    parts = [np.flatnonzero(row) for row in dense]
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    indices = np.concatenate(parts).astype(np.uint32)
    return Planes(indptr, indices, np.concatenate([row[part] for row, part in zip(dense, parts, strict=True)])), dense


@given(seed=st.integers(0, 2**32 - 1))
def test_difference_of_rows(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 6)
    (left, left_dense), (right, right_dense) = rows(rng, n), rows(rng, n + 1)
    some, others = rng.integers(-1, n, 8), rng.integers(-1, n + 1, 8)
    scratch = np.zeros(DIM)
    found = left.minus(right, some, others, scratch)
    left_dense, right_dense = np.vstack([left_dense, np.zeros(DIM)]), np.vstack([right_dense, np.zeros(DIM)])
    np.testing.assert_array_equal(found.matrix(DIM).toarray(), left_dense[some] - right_dense[others])
    assert (found.values[: found.indptr[-1]] != 0).all()
    assert not scratch.any()


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_planes_held_move_with_the_references(rescaling):
    """After a change of references, every plane held is the one that a fresh start at these references would find."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 4, 30)
    costs = rng.random((4, 4)) + 0.5
    np.fill_diagonal(costs, 0.0)
    problem = Problem(Multiclass(cost=costs).fit_encode(X, y), Bound(rescaling), Objective(1.0, np.ones(30)))
    solver = ProximalWorkingSets()
    problem.references = before = References.truths(30)
    state = solver.init(problem)
    for _ in range(4):
        solver.step(problem, state)
        state.iteration += 1
    for _ in range(2):  # from the truths, and from one set of references to another
        after = problem.references_at(rng.normal(size=problem.dim), latent=False)
        assert (after.keys != before.keys).any()
        problem.references = after
        state = solver.rebase(problem, state, before)
        before = after
        check_planes(problem, state.sets, costs, y, X)


def check_planes(problem, sets, costs, y, X):
    wide = np.hstack([X, np.ones((len(X), 1))])
    known = {}
    for i in range(len(y)):
        base = None
        for k in range(4):
            a = np.kron(wide[i], np.eye(4)[y[i]] - np.eye(4)[k])
            plane = np.append(a * (costs[y[i], k] if problem.bound.rescaling == "slack" else 1.0), costs[y[i], k])
            known[i, k] = plane
            reference = np.append(
                problem.references.planes.matrix(problem.dim)[[i]].toarray().ravel(), problem.references.values[i]
            )
            base = reference
        known[i, "base"] = base
    examples, slots = sets._held()
    planes = sets._planes(slots).matrix(problem.dim).toarray()
    for i, slot, a in zip(examples, slots, planes, strict=True):
        found = np.append(a, sets.value[slot])
        assert any(np.allclose(found, known[i, k] - known[i, "base"], atol=1e-9) for k in range(4))
        assert np.abs(found).max() > 0  # the reference itself has no plane
        j = slot - sets.first[i]
        at = sets.gram_first[i] + j * sets.room[i] + j
        assert sets.gram[at] == pytest.approx(a @ a)
    np.testing.assert_allclose(sets.combination(), sets.alpha[slots] @ planes, atol=1e-9)
    assert (sets.masses() <= problem.objective.budgets * (1 + 1e-9)).all()
