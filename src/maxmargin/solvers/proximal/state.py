"""Where the default solver is: weights, a centre and working sets, which one equation holds together,

    ρ w = (ρ − 1) z + u,      u = Σ α a.                                                                         (*)

Lower bounds of weights add their multipliers β to the right-hand side (`floor`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.core.problem import Problem
from maxmargin.solvers._composed import ComposedState, Part
from maxmargin.solvers.budgets import GrowingBudgets
from maxmargin.solvers.floor import Floor
from maxmargin.solvers.working_sets import WorkingSets

#: ρ where weights are given and the centre follows from them: (*) has no centre at ρ = 1.
LEAST_RHO = 1.0 + 1e-3
#: Share by which weights may be longer than necessary: with large C a margin lost in rounding is expensive.
ROUNDING = 1e-10
#: Share to which `patience` rounds must lower the gap; the effort doubles otherwise.
PROGRESS = 0.7
#: Effort at which doubling ends: inner problems are then solved 64 times as well, near what doubles can tell.
MOST_EFFORT = 4096.0
#: Multiply-adds of a decoder that take as long as one nonzero of a plane (measured on chains and multiclass).
VECTOR_SPEED = 4.0
#: Operations that a round and a pass cost besides their nonzeros (calls and arrays), which matters for small problems.
ROUND_OPERATIONS, PASS_OPERATIONS = 2e5, 3e4


@dataclass
class Centre(Part):
    """The proximal term ½(ρ − 1)‖w − z‖².

    Attributes
    ----------
    z, rho : centre and strength; ρ is infinite until planes are found.
    next_rho : ρ of the next move, settled before planes are taken in.
    passes : passes over cached planes since the centre moved.
    primal : objective at the centre of the last joint round; 0 before the first one.
    """

    z: FloatArray
    rho: float = np.inf
    next_rho: float = np.inf
    passes: int = 0
    primal: float = 0.0


@dataclass
class Effort(Part):
    """How hard to work on inner problems: twice as hard whenever the gap no longer falls.

    Attributes
    ----------
    level : the centre moves 1/level as often, and inner problems are solved √level times as well.
    marked_gap, marked_at : gap that the next ones are compared with, and its round.
    declined_at : level at which the planes held were not few, or could not be solved for.
    """

    level: float = 1.0
    marked_gap: float = np.inf
    marked_at: int = 0
    declined_at: float = 0.0

    @property
    def thoroughness(self) -> float:
        """How much better than at first inner problems are solved."""
        return float(np.sqrt(self.level))

    def watch(self, gap: float, clock: int, patience: int) -> None:
        """Double the level where `patience` rounds have not lowered the gap enough."""
        if gap < PROGRESS * self.marked_gap or not np.isfinite(gap):
            self.marked_gap, self.marked_at = gap, clock
        elif clock - self.marked_at >= patience:
            self.level = min(2.0 * self.level, MOST_EFFORT)
            self.marked_gap, self.marked_at = gap, clock


@dataclass
class Work(Part):
    """What argmaxes and insertions have cost, counted in operations so that runs repeat bit for bit.

    Attributes
    ----------
    spent, decoded : operations of decoding and inserting, and the sweeps they were for.
    novelty : share of the planes found last that were new.
    """

    spent: float = 0.0
    decoded: float = 0.0
    novelty: float = 1.0

    def allowed(self, cheap_share: float) -> float:
        """Return the operations to spend on planes held, in one round."""
        return cheap_share * (ROUND_OPERATIONS + self.spent / max(self.decoded, 1e-9))


class ProximalState(ComposedState):
    """Weights, centre, working sets and the watch over their progress.

    Attributes
    ----------
    clock : rounds so far; the age of planes is counted by it.
    first_left : sweeps in mini-batches still to come.
    """

    _parts: ClassVar[tuple[str, ...]] = ("centre", "floor", "sets", "effort", "work", "budgets")
    _counters: ClassVar[tuple[str, ...]] = ("clock", "first_left")

    def __init__(
        self, problem: Problem, seed: int, start: FloatArray | None, most_slots: int, first_sweeps: int
    ) -> None:
        super().__init__(problem, seed, start)
        self.centre = Centre(np.zeros(problem.dim) if start is None else self.w.copy())
        self.floor = Floor(problem)
        self.w = self.floor.raised(self.centre.z.copy())
        self.sets = WorkingSets(problem, most_slots)
        self.effort, self.work, self.budgets = Effort(), Work(), GrowingBudgets()
        self.clock = 0
        self.first_left = first_sweeps if start is None else 0

    def dual_sum(self) -> FloatArray:
        """Return u by (*)."""
        z, rho = self.centre.z, self.centre.rho
        if np.isinf(rho):
            return np.zeros_like(self.w)
        return rho * self.floor.free(self.w) - (rho - 1.0) * z

    def follow(self, u: FloatArray) -> None:
        """Set w by (*)."""
        z, rho = self.centre.z, self.centre.rho
        self.w = self.floor.raised(((rho - 1.0) * z + u) / rho)

    def sum_again(self) -> FloatArray:
        """Return u from the planes themselves, with w by (*), so that rounding errors do not accumulate."""
        u = self.sets.combination()
        if np.isfinite(self.centre.rho):
            self.follow(u)
        return u

    def move_centre(self, rho: float, move: bool = True) -> None:
        """Set z to w (unless `move` is False) and ρ, at fixed α; w follows from (*)."""
        u, centre = self.dual_sum(), self.centre
        if move:
            centre.z, centre.passes = self.w, 0
        centre.rho = rho
        self.follow(u)

    def place(self, w: FloatArray, rho: float) -> None:
        """Set w, with the centre at which (*) holds; where a lower bound holds w up, that is w itself."""
        centre, lower, u = self.centre, self.floor.lower, self.sets.combination()
        centre.rho = max(rho, LEAST_RHO)
        self.w, centre.z = w, (centre.rho * w - u) / (centre.rho - 1.0)
        if lower is not None:
            held = (w <= lower) & (u < w)
            centre.z[held] = w[held]
            self.floor.lift = np.where(held, (w - u) / centre.rho, 0.0)

    def begin_at_solution(self) -> None:
        """Go on from the weights of the dual values, which solve the problem over the planes held."""
        self.sets.touch(self.clock)
        self.place(self.floor.raised((1.0 + ROUNDING) * self.sets.combination()), LEAST_RHO)

    def support(self, problem: Problem) -> dict[str, Any]:
        return self.sets.support(problem)
