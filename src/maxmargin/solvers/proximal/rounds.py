"""Rounds of the default solver after the first ones: exact, joint, blocks."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers import rounds
from maxmargin.solvers.feasibility import check_separable
from maxmargin.solvers.proximal.balance import balanced_jointly, first_joint_rho
from maxmargin.solvers.proximal.passes import cheap_passes
from maxmargin.solvers.proximal.state import ProximalState
from maxmargin.solvers.proximal.tuning import Tuning
from maxmargin.solvers.together import solve_together

#: Effort at which progress counts as slow: two doublings, because the first may be due to chance.
SLOW = 4.0
#: Relative gap below which joint rounds, whose steps are slower, wait for a multiple of the effort.
NEAR, NEAR_FACTOR = 0.1, 256.0
#: Share of the gap to which joint rounds solve; better solutions are lost when the next planes are added.
JOINT_GAP = 0.05
#: Minimum number of aggregate planes that makes a joint round worthwhile.
FEWEST_CUTS = 20
#: Round at which a hard margin is first solved exactly; before, most of its planes are still unknown.
EXACT_AFTER = 6
#: First round at which the existence of a hard margin is checked, and again at every power of two.
CHECK_AFTER = 16


@dataclass(frozen=True)
class ProximalRound(rounds.Round):
    """Round over the held planes.

    The solver has added the planes found last to them.

    Attributes
    ----------
    tuning : Tuning
        Hyper-parameters of the solver.
    """

    tuning: Tuning

    @abstractmethod
    def moves(self, problem: Problem) -> int | None:
        """Return the moves of mass per example while planes are added.

        None means that the round adds planes itself.
        """


@dataclass(frozen=True)
class Exact(ProximalRound, rounds.Exact):
    """Exact solution for the held planes.

    It serves hard margins, and all problems after much effort with little progress. Large C is such a case, because the
    smallest violation is expensive. The round is tried again whenever the effort doubles, and as long as new planes are
    found.
    """

    def moves(self, problem: Problem) -> int:
        return self.tuning.moves if problem.objective.hard else 0

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        if problem.objective.hard:
            return state.clock >= EXACT_AFTER
        return state.effort.level >= SLOW and state.effort.level != state.effort.declined_at

    def run(self, problem: Problem, state: ProximalState) -> bool:
        solved_last = state.round == self.name and not problem.objective.hard
        if solved_last and state.work.novelty == 0.0:
            return False
        return super().run(problem, state)


@dataclass(frozen=True)
class Joint(ProximalRound):
    """Joint solution for all examples (`together`) around the best weights so far.

    The round is used when examples undo each other's steps.
    """

    name = "joint"

    def moves(self, problem: Problem) -> int:
        return 0

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        if problem.objective.hard:
            return False
        far = state.best_primal - state.best_dual > NEAR * state.best_primal
        stuck = state.centre.primal > 0.0 or state.effort.level >= SLOW * (1.0 if far else NEAR_FACTOR)
        return stuck and self.affordable_cuts(problem, state) >= FEWEST_CUTS

    def affordable_cuts(self, problem: Problem, state: ProximalState) -> int:
        """Return the number of aggregate planes that a joint round can afford.

        It is the k for which k (entries of all planes + k dim) operations are `joint_share` times those of a round.
        """
        allowed = self.tuning.joint_share * state.work.allowed(self.tuning.cheap_share)
        entries = state.sets.entries_held()
        cuts = (np.sqrt(entries**2 + 4.0 * problem.dim * allowed) - entries) / (2.0 * problem.dim)
        return min(int(cuts), self.tuning.most_cuts)

    def run(self, problem: Problem, state: ProximalState) -> bool:
        sets, centre = state.sets, state.centre
        rho = first_joint_rho(problem, state) if centre.primal == 0.0 else balanced_jointly(problem, state)
        centre.primal = state.best_primal
        if not problem.objective.quadratic:
            sets.set_budgets(problem.objective.budgets)
        share, cuts = JOINT_GAP / state.effort.thoroughness, self.affordable_cuts(problem, state)
        w = solve_together(problem, sets, state.w, state.best_w, rho, share, cuts)
        sets.touch(state.clock)
        state.place(w, rho)
        return True


@dataclass(frozen=True)
class Blocks(ProximalRound):
    """Steps on one example at a time: the normal round.

    The centre moves every few passes.
    """

    name = "blocks"

    def moves(self, problem: Problem) -> int:
        return self.tuning.moves

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        return True

    def run(self, problem: Problem, state: ProximalState) -> bool:
        centre = state.centre
        if problem.objective.hard and state.clock >= CHECK_AFTER and state.clock & (state.clock - 1) == 0:
            check_separable(problem, state, state.sets)
        state.move_centre(centre.next_rho, centre.passes >= self.tuning.passes_per_move * state.effort.level)
        cheap_passes(self.tuning, problem, state)
        if state.budgets.first > 0.0:
            state.budgets.grow(problem, state.sets)
        return True
