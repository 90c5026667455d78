"""Every solver with the gap that it must reach, and what is checked of any of them."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pytest

from maxmargin.solvers.base import Limits, Solver
from maxmargin.solvers.cutting.bundle import ProximalBundle
from maxmargin.solvers.cutting.oneslack import OneSlack
from maxmargin.solvers.minmax.solver import CertificateProgram, MinMax
from maxmargin.solvers.primal.perceptron import AveragedPerceptron
from maxmargin.solvers.primal.subgradient import Subgradient
from maxmargin.solvers.working_sets.nslack import NSlack
from maxmargin.solvers.working_sets.proximal import ProximalWorkingSets
from maxmargin.solvers.working_sets.sharded import Sharded


@dataclass(frozen=True)
class Entry:
    """A solver and the gap it must reach in a number of steps; None if it does not minimise the objective."""

    solver: Solver
    tol: float | None
    max_iter: int


ENTRIES = {
    "proximal": Entry(ProximalWorkingSets(), 1e-5, 300),
    "nslack": Entry(NSlack(epsilon=1e-6), 1e-5, 50),
    "sharded": Entry(Sharded(n_shards=3), 1e-5, 300),
    "oneslack": Entry(OneSlack(), 1e-5, 200),
    "bundle": Entry(ProximalBundle(), 1e-5, 200),
    "pegasos": Entry(Subgradient(batch=4), 0.05, 400),
    "polyak": Entry(Subgradient(step_rule="polyak"), 0.02, 1000),
    "perceptron": Entry(AveragedPerceptron(), None, 5),
    "minmax": Entry(MinMax(), 1e-5, 60),
    "certificate": Entry(CertificateProgram(form="odd-sets"), 1e-5, 60),
}
#: Solvers of min-max programs: structures with a polytope, or with a certificate that is exact with slack.
PROGRAMS = {
    "minmax": (
        "dense", "csr", "chain", "chain without ends", "chain of shares", "tree", "undirected tree", "path",
        "assignment", "matching",
    ),
    "certificate": ("matching",),
}  # fmt: skip
#: Solvers that combine planes, of any structure.
PLANES = {name: entry for name, entry in ENTRIES.items() if name not in PROGRAMS}
#: Those that minimise the objective.
CONVEX = {name: entry for name, entry in PLANES.items() if entry.tol is not None}


def check_certificate(name, case):
    """Check that what a solver certifies is true, and that it reaches the optimum."""
    entry, problem = ENTRIES[name], case.problem()
    state = entry.solver.init(problem, seed=1)
    reason = entry.solver.run(problem, state, Limits(entry.tol or 0.0, entry.max_iter))
    certificate, optimum = state.certificate(problem), case.optimum()

    exact_argmax = (case.rescaling, case.slack) == ("margin", "linear") or problem.examples.exact_for(problem.bound)
    assert problem.exact == exact_argmax
    assert certificate.oracle_calls >= problem.n_examples
    assert certificate.dual <= optimum * (1 + 2e-6)
    if not certificate.exact:  # outputs may have been missed, but no more than the certificate says
        assert not exact_argmax
        assert case.primal(state.best_w) <= certificate.primal_bound * (1 + 1e-9)
        return
    assert certificate.primal == pytest.approx(case.primal(state.best_w), rel=2e-6 if problem.searches else 1e-9)
    assert certificate.primal >= optimum * (1 - 2e-6)
    assert certificate.dual > 0.0 or (name == "perceptron" and not state.provable)
    if entry.tol is not None:
        assert reason == "tol"
        assert certificate.primal <= optimum * (1 + entry.tol + 2e-6)


def snapshot(state):
    """All that the next steps depend on or the user sees, but for the clock."""
    arrays = state.arrays()
    meta = json.loads(bytes(arrays["meta"]).decode())
    meta["counters"].pop("seconds")
    return {name: array for name, array in arrays.items() if name != "meta" and not name.startswith("sets.")}, meta


def assert_same(state, other):
    arrays, meta = snapshot(state)
    others, other_meta = snapshot(other)
    assert meta == other_meta
    for key, array in arrays.items():
        assert np.array_equal(array, others[key]), key
