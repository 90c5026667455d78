"""Strength ρ of the proximal term.

ρ balances the two parts of the gap

    P − D = ½‖u − w‖² + Σ_i (penalty_i − Σ_j α_ij (b_ij − a_ij·w)).

With lower bounds of weights the first part is ½‖w‖² + h(u) − u·w (`core.lower_bounds`).
"""

from __future__ import annotations

import numpy as np

from maxmargin.core.codes import TRUTH
from maxmargin.core.problem import Problem
from maxmargin.solvers.proximal.state import LEAST_RHO, ProximalState

#: Range of proximal gap / block gap in which ρ does not change; block gaps are kept larger, as they are cheap to lower.
BALANCE = 0.3, 1.0
#: Factor by which ρ changes in one round; with larger factors ρ oscillates.
BALANCE_STEP = 1.3
#: The same for joint rounds, which almost close the block gap, so that the proximal gap may be larger.
JOINT_BALANCE, JOINT_STEP = (1.0, 3.0), 1.6
#: Excess of the ratio above which ρ of joint rounds decreases even without progress.
HOPELESS = 100.0
#: Maximum factor by which ρ increases at the first joint round.
LARGEST_JUMP = 1e6
#: Relative difference up to which two objectives count as equal.
STANDSTILL = 1e-9


def gaps(problem: Problem, state: ProximalState) -> tuple[float, float]:
    """Return the proximal part of the gap and the part of the blocks."""
    objective, masses = problem.objective, state.sets.masses()
    proximal_gap, product = state.products()
    price = 0.5 * float((objective.ridges * masses**2).sum())
    if objective.quadratic:
        penalties = float(objective.penalties(problem.hinges).sum())
    else:
        penalties = float((state.sets.budget * problem.hinges).sum())
    return proximal_gap, penalties + price - state.sets.gain() + product


def balanced(problem: Problem, state: ProximalState) -> float:
    """Return the next ρ.

    If the proximal gap is many times too large, ρ is divided by the eighth root of the excess.
    """
    proximal_gap, block_gap = gaps(problem, state)
    rho, (low, high) = state.centre.rho, (bound / state.effort.thoroughness for bound in BALANCE)
    if proximal_gap > high * block_gap:
        excess = proximal_gap / max(high * block_gap, 1e-300)
        return max(1.0, rho / max(BALANCE_STEP, min(excess, 1e12) ** 0.125))
    return rho * BALANCE_STEP if proximal_gap < low * block_gap else rho


def balanced_jointly(problem: Problem, state: ProximalState) -> float:
    """Return the next ρ of joint rounds.

    It decreases only after steps that lowered the objective, or that were far too small to lower it.
    """
    proximal_gap, block_gap = gaps(problem, state)
    rho, (low, high) = state.centre.rho, JOINT_BALANCE
    ratio = max(proximal_gap, 1e-300) / max(block_gap, 1e-300)
    if ratio < low:
        return rho * min(np.sqrt(low / ratio), JOINT_STEP)
    stands_still = problem.primal(state.w)[0] <= (1.0 + STANDSTILL) * state.centre.primal
    if ratio > high and (stands_still or ratio > HOPELESS * high):
        return max(LEAST_RHO, rho / min(np.sqrt(ratio / high), JOINT_STEP))
    return rho


def first_joint_rho(problem: Problem, state: ProximalState) -> float:
    """Return ρ of a step to about where the planes found last predict the objective 0.

    ρ is limited, because it would be too large for large C.
    """
    slopes = problem.objective.slopes(problem.hinges)
    slopes[problem.keys == TRUTH] = 0.0  # a search may have missed planes that are held
    away = problem.aggregate(slopes) - state.w
    rho = 0.5 * float(away @ away) / problem.primal(state.w)[0]
    return max(LEAST_RHO, min(rho, LARGEST_JUMP * state.centre.rho))
