"""Problems of instances of conformance tests, and their solutions, for tests of min-max programs."""

from __future__ import annotations

import numpy as np

from maxmargin.bounds import Bound
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.base import Limits
from tests.helpers.instances.graphs import LabelledGraphs, PairwiseGraphs, PathGraphs
from tests.helpers.instances.matching import Assignments, Partners
from tests.helpers.instances.rows_and_sequences import LabelledRows, Sequences
from tests.helpers.instances.sentences import Sentences
from tests.helpers.instances.trees import Graphs

#: Structures with a polytope.
INSTANCES = {
    "multiclass": LabelledRows,
    "chain": Sequences,
    "chain of seen pairs": lambda seed: Sequences(seed, seen_pairs=True),
    "tree": lambda seed: Graphs(seed, True, False),
    "tree with one root": lambda seed: Graphs(seed, True, True),
    "undirected tree": lambda seed: Graphs(seed, False, False),
    "dependency tree": Sentences,
    "path": lambda seed: PathGraphs(seed, cycles=False),
    "path with cycles": lambda seed: PathGraphs(seed, cycles=True),
    "assignment": lambda seed: Assignments(seed, 1, 1, False),
    "assignment of two": lambda seed: Assignments(seed, 2, 2, False),
    "unassigned": lambda seed: Assignments(seed, 1, 2, True),
    "two or fewer": lambda seed: Assignments(seed, 2, 2, True),
    "matching": lambda seed: Partners(seed, True),
    "partners or none": lambda seed: Partners(seed, False, 5),
    "cut": LabelledGraphs,
    "graph without cycles": lambda seed: PairwiseGraphs(seed, cycles=False),
}


def problem_of(case, C, slack="linear", centre=None, lower=None, weights=None):
    examples = case.examples
    weights = np.ones(case.n) if weights is None else weights
    lower = examples.lower if lower is None else lower
    return Problem(examples, Bound("margin", slack), Objective(C, weights, slack, lower), centre=centre)


def solved(solver, problem, tol=1e-8, max_iter=None):
    state = solver.init(problem, seed=0)
    reason = solver.run(problem, state, Limits(tol, max_iter))
    return reason, state.certificate(problem), state
