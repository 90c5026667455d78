"""Rounds: alternative ways to improve the state of a solver.

The first round that applies is run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from maxmargin.core.problem import Problem
from maxmargin.solvers.feasibility import solve_exactly
from maxmargin.solvers.few_planes import solve_few


class Round(ABC):
    """One way to improve a state."""

    #: Name in ``history_``.
    name: ClassVar[str]

    @abstractmethod
    def applies(self, problem: Problem, state: Any) -> bool:
        """Return whether the round is worth trying, at little cost and without changing the state."""

    @abstractmethod
    def run(self, problem: Problem, state: Any) -> bool:
        """Improve the state and return True, or leave the state unchanged and return False."""


class Exact(Round):
    """Exact solution for the held planes, if they are few.

    A hard margin that no weights satisfy raises `NotSeparableError`. The state has working sets, and its method
    `begin_at_solution` sets the weights to those of the dual values.
    """

    name = "exact"

    def applies(self, problem: Problem, state: Any) -> bool:
        return True

    def run(self, problem: Problem, state: Any) -> bool:
        solve = solve_exactly if problem.objective.hard else solve_few
        if not solve(problem, state, state.sets):
            return False
        state.begin_at_solution()
        return True


def run_first(rounds: Iterable[Round], problem: Problem, state: Any) -> str:
    """Run the first round that applies and does not decline; return its name, or an empty string."""
    return next((each.name for each in rounds if each.applies(problem, state) and each.run(problem, state)), "")
