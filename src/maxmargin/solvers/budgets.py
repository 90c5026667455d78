"""Budgets that start small and grow, for hard margins and large C.

A hard margin has no budgets of its own. Dual values within smaller budgets are feasible, so certificates stay valid
while budgets grow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers._composed import Part
from maxmargin.solvers.working_sets import WorkingSets

#: Factor by which budgets grow: 2 takes twice as many rounds, 10 exceeds what the dual needs.
BUDGET_FACTOR = 4.0
#: Total growth after which a dual counts as unbounded; beyond that, small budgets are lost in rounding.
MOST_GROWTH = 1e18
#: A budget counts as used up if less than this share is left.
USED_UP = 0.1


@dataclass
class GrowingBudgets(Part):
    """Start of growing budgets.

    Attributes
    ----------
    first : float, default=0.0
        Initial budget of an example of weight 1; 0 if budgets are those of the objective.
    """

    first: float = 0.0

    def begin(self, problem: Problem, sets: WorkingSets, first: float) -> None:
        """Set all budgets to `first` times the example's weight, at most that of the objective."""
        self.first = first
        sets.set_budgets(np.minimum(first * problem.objective.weights, problem.objective.budgets))

    def grow(self, problem: Problem, sets: WorkingSets, at_once: bool = False) -> bool:
        """Increase all budgets, up to those of the objective, if one is used up (or if `at_once`).

        Return whether the budgets grew. A hard margin has no limit of budgets: unlimited growth indicates an unbounded
        dual (see `feasibility.check_separable`).
        """
        if not at_once and (sets.alpha[sets.first] > USED_UP * sets.budget).all():
            return False
        growth = sets.budget.max() / (self.first * problem.objective.weights.max())
        if growth > MOST_GROWTH:
            return False
        sets.set_budgets(np.minimum(BUDGET_FACTOR * sets.budget, problem.objective.budgets))
        return True
