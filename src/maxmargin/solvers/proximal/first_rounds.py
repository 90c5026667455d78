"""First rounds of the default solver.

They are sweeps in mini-batches from w = 0, or a start from given weights. Mini-batches reach a useful point sooner than
full sweeps from w = 0. The first sweep also estimates ρ, such that a first step moves about half of an example's
budget, and decides whether C is so large that budgets start small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import IntArray
from maxmargin.core.problem import Problem
from maxmargin.solvers.proximal.passes import cheap_passes
from maxmargin.solvers.proximal.planes import FEWEST_BATCHES, busy, decode, fresh_order, insert
from maxmargin.solvers.proximal.rounds import ProximalRound
from maxmargin.solvers.proximal.state import VECTOR_SPEED, ProximalState

#: Minimum number of examples in a mini-batch; with fewer, calls cost more than argmaxes.
SMALLEST_BATCH = 16
#: Operations of argmaxes that justify the calls for a mini-batch.
BATCH_OPERATIONS = 5e4
#: Share of the budget that a first step should move; a full budget is too much if examples are similar.
START_FACTOR = 0.5
#: Approximate number of estimates of ρ in the first sweep.
ESTIMATES = 20


@dataclass(frozen=True)
class FirstRound(ProximalRound):
    """Round that decodes and adds planes itself."""

    def moves(self, problem: Problem) -> None:
        return None

    def lower_rho(self, problem: Problem, state: ProximalState, ids: IntArray, by_alpha: bool) -> None:
        """Estimate ρ from the planes of ids.

        If the estimate is lower than ρ, α is scaled with it, so that w does not change (z is still 0).
        """
        norm, centre = state.sets.norm_per_value(ids, by_alpha), state.centre
        if not np.isfinite(norm):
            return
        if np.isinf(centre.rho):
            self._begin_budgets(problem, state, norm)
        estimate = max(1.0, START_FACTOR * self._typical_mass(problem, state) * norm)
        if estimate < centre.rho:
            if np.isfinite(centre.rho):
                state.sets.scale_alpha(estimate / centre.rho)
            centre.rho = estimate

    def _begin_budgets(self, problem: Problem, state: ProximalState, norm: float) -> None:
        """Start with small budgets if C is infinite or large.

        The first budgets are what one step can use.
        """
        objective, first = problem.objective, 1.0 / (START_FACTOR * max(norm, 1e-12))
        if objective.hard or (self.tuning.large * first < objective.C and not objective.quadratic):
            state.budgets.begin(problem, state.sets, first)

    @staticmethod
    def _typical_mass(problem: Problem, state: ProximalState) -> float:
        """Return the dual mass that an example is expected to hold.

        It is the budget of the example, or with quadratic slack the slope of its penalty at w = 0.
        """
        if problem.objective.quadratic:
            return float(problem.objective.budgets.mean()) * float(problem.values.mean())
        return float(state.sets.budget.mean())


@dataclass(frozen=True)
class Batches(FirstRound):
    """Sweep in mini-batches, each decoded at the weights after the previous ones."""

    name = "batches"

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        return state.first_left > 0

    def run(self, problem: Problem, state: ProximalState) -> bool:
        state.clock += 1
        self._sweep(problem, state)
        cheap_passes(self.tuning, problem, state)
        state.first_left -= 1
        return True

    def _sweep(self, problem: Problem, state: ProximalState) -> None:
        n, first, centre = problem.n_examples, state.clock == 1, state.centre
        worth = int(BATCH_OPERATIONS * n * VECTOR_SPEED / max(problem.operations, 1.0))
        size = max(SMALLEST_BATCH, min(worth, -(-n // FEWEST_BATCHES)))
        order, estimated = fresh_order(problem, state), 0
        for k in range(0, n, size):
            ids = order[k : k + size]
            decode(problem, state, ids)
            moves = 0 if np.isinf(centre.rho) else self.tuning.moves
            insert(self.tuning, problem, state, busy(problem, state, ids), moves)
            if np.isinf(centre.rho):
                self.lower_rho(problem, state, ids, by_alpha=False)
            elif first and k - estimated >= n // ESTIMATES:
                self.lower_rho(problem, state, order[estimated:k], by_alpha=True)
                estimated = k
        self.lower_rho(problem, state, order, by_alpha=True)


@dataclass(frozen=True)
class Start(FirstRound):
    """First step from given weights, or from another problem's planes.

    Planes of another problem only need a decode.
    """

    name = "start"

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        return state.iteration == 0

    def run(self, problem: Problem, state: ProximalState) -> bool:
        if np.isinf(state.centre.rho):
            self._begin_from_weights(problem, state)
        return True

    def _begin_from_weights(self, problem: Problem, state: ProximalState) -> None:
        """Estimate ρ from planes found at the given weights, and choose z so that w does not change."""
        start = state.w.copy()
        sample = state.rng.permutation(problem.n_examples)[: 16 * SMALLEST_BATCH]
        decode(problem, state, sample)
        insert(self.tuning, problem, state, sample, 0)
        self.lower_rho(problem, state, sample, by_alpha=False)
        state.place(start, 1.0 if np.isinf(state.centre.rho) else state.centre.rho)
