"""Budgets that begin small and grow, for hard margins (which have none) and large C.

Dual values within smaller budgets are feasible, so certificates stay true while budgets grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers._composed import Part
from maxmargin.solvers.working_sets import WorkingSets

#: Factor by which budgets grow: 2 takes twice as many rounds, 10 overshoots what the dual needs.
BUDGET_FACTOR = 4.0
#: Total growth after which a dual counts as unbounded; doubles lose the small budgets beyond that.
MOST_GROWTH = 1e18
#: Budgets count as used up when less than this share of one is left.
USED_UP = 0.1


@dataclass
class GrowingBudgets(Part):
    """Where growing budgets began; 0 where budgets are those of the objective.

    Attributes
    ----------
    first : first budget of an example of weight 1.
    """

    first: float = 0.0

    def begin(self, problem: Problem, sets: WorkingSets, first: float) -> None:
        """Set all budgets to `first` times the example's weight, or to that of the objective where it is smaller."""
        self.first = first
        sets.set_budgets(np.minimum(first * problem.objective.weights, problem.objective.budgets))

    def grow(self, problem: Problem, sets: WorkingSets, at_once: bool = False) -> bool:
        """Let all budgets grow, up to those of the objective, where one is used up (or at once).

        Returns whether they grew. A hard margin has no budgets to grow up to: growth without end is the sign of an
        unbounded dual (see `feasibility.check_separable`).
        """
        if not at_once and (sets.alpha[sets.first] > USED_UP * sets.budget).all():
            return False
        growth = sets.budget.max() / (self.first * problem.objective.weights.max())
        if growth > MOST_GROWTH:
            return False
        sets.set_budgets(np.minimum(BUDGET_FACTOR * sets.budget, problem.objective.budgets))
        return True
