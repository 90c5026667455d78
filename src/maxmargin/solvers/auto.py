"""Choice of the solver for ``solver="auto"``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.core.problem import Problem
from maxmargin.solvers.base import Solver, State
from maxmargin.solvers.bundle import ProximalBundle
from maxmargin.solvers.proximal import ProximalWorkingSets

#: Largest number of examples for which the bundle is chosen. Steps on one example at a time gain nothing if there are
#: hardly any, and aggregate planes of a few examples contain as much information as the planes of each example.
FEW_EXAMPLES = 4


@dataclass(frozen=True)
class Automatic(ProximalWorkingSets):
    """Proximal working sets, or the proximal bundle for a problem with few examples."""

    def for_problem(self, problem: Problem) -> Solver:
        few = problem.n_examples <= FEW_EXAMPLES and not problem.objective.hard
        return ProximalBundle() if few else ProximalWorkingSets()

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> State:
        return self.for_problem(problem).adapt(problem, state, seed)
