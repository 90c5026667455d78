"""Weights of 0, which count as seen in every fit.

Solvers that begin with mini-batches never decode all examples at w = 0, and a fit that stops early could end above the
objective there. A sweep at w = 0 is rarely needed to rule that out: the hinge of a plane at w = 0 is its value b, so
the planes found so far bound the objective at w = 0 from below.
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.base import State


def offer_zero(problem: Problem, state: State) -> bool:
    """Offer weights of 0 (or the lower bounds above 0), unless planes prove that they are not better.

    Return whether a sweep was needed. Argmaxes that are not exact may miss losses at w = 0, so they get no sweep.
    """
    objective = problem.objective
    if objective.hard or not problem.examples.exact:
        return False
    zero, values = objective.raised(np.zeros(problem.dim)), problem.values
    if hasattr(state, "sets"):
        values = np.maximum(values, state.sets.largest_values())
    if not zero.any() and state.best_primal <= objective.primal(zero, values):
        return False
    problem.decode(zero, problem.everyone)
    state.offer(problem, zero)
    state.oracle_calls = problem.oracle_calls
    return True
