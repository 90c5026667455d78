"""State of the default solver: weights, a centre and working sets.

The weights w, the centre z and the dual values α satisfy

    ρ w = (ρ − 1) z + u,      u = Σ α a.                                                                         (*)

Lower bounds on weights add their multipliers β to the right-hand side (`floor`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.types import FloatArray
from maxmargin.problem import Problem
from maxmargin.solvers.base import ComposedState, Part
from maxmargin.solvers.hard_margin import GrowingBudgets
from maxmargin.solvers.working_sets.sets import Floor, WorkingSets

#: Minimum ρ if the centre is derived from given weights: for ρ = 1, (*) does not determine a centre.
LEAST_RHO = 1.0 + 1e-3
#: Relative excess length of weights: with large C a margin lost in rounding is expensive.
ROUNDING = 1e-10
#: Share of the gap that may be left after `patience` rounds; if more is left, the effort doubles.
PROGRESS = 0.7
#: Maximum effort: inner problems are then solved 64 times as precisely, close to the precision of doubles.
MOST_EFFORT = 4096.0
#: Number of multiply-adds of a decoder that take as long as one nonzero of a plane (measured on chains and multiclass).
VECTOR_SPEED = 4.0
#: Fixed costs of a round and of a pass in operations (calls and arrays), which matter for small problems.
ROUND_OPERATIONS, PASS_OPERATIONS = 2e5, 3e4
#: Number of weights from which on steps over all of them are divided among threads.
MANY_WEIGHTS = 1 << 18


@dataclass
class Centre(Part):
    """The proximal term ½(ρ − 1)‖w − z‖².

    Attributes
    ----------
    z : ndarray of shape (dim,)
        Centre.
    rho : float, default=inf
        Strength ρ; infinite until planes are found.
    next_rho : float, default=inf
        ρ of the next move, computed before planes are added.
    passes : int, default=0
        Number of passes over held planes since the centre moved.
    primal : float, default=0.0
        Objective at the centre of the last held round; 0 before the first one.
    """

    _ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"rho": (1.0, np.inf), "next_rho": (1.0, np.inf)}

    z: FloatArray
    rho: float = np.inf
    next_rho: float = np.inf
    passes: int = 0
    primal: float = 0.0


@dataclass
class Effort(Part):
    """Effort spent on inner problems, which doubles whenever the gap no longer decreases.

    Attributes
    ----------
    level : float, default=1.0
        The centre moves 1/level times as often, and inner problems are solved √level times as precisely.
    marked_gap : float, default=inf
        Gap with which the next ones are compared.
    marked_at : int, default=0
        Round of `marked_gap`.
    declined_at : float, default=0.0
        Level at which the held planes were too many, or could not be solved for.
    """

    _ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"level": (1.0, MOST_EFFORT)}

    level: float = 1.0
    marked_gap: float = np.inf
    marked_at: int = 0
    declined_at: float = 0.0

    @property
    def thoroughness(self) -> float:
        """Precision of inner solutions, relative to the first ones."""
        return float(np.sqrt(self.level))

    def watch(self, gap: float, clock: int, patience: int) -> None:
        """Double the level if `patience` rounds have not lowered the gap enough."""
        if gap < PROGRESS * self.marked_gap or not np.isfinite(gap):
            self.marked_gap, self.marked_at = gap, clock
        elif clock - self.marked_at >= patience:
            self.level = min(2.0 * self.level, MOST_EFFORT)
            self.marked_gap, self.marked_at = gap, clock


@dataclass
class Work(Part):
    """Cost of argmaxes and insertions, counted in operations.

    Counts make runs reproducible bit for bit.

    Attributes
    ----------
    spent : float, default=0.0
        Operations of decoding and inserting.
    decoded : float, default=0.0
        Number of sweeps that these operations were for.
    novelty : float, default=1.0
        Share of the planes found last that were new.
    """

    spent: float = 0.0
    decoded: float = 0.0
    novelty: float = 1.0

    def allowed(self, cheap_share: float) -> float:
        """Return the operations to spend on held planes in one round."""
        return cheap_share * (ROUND_OPERATIONS + self.spent / max(self.decoded, 1e-9))


class ProximalState(ComposedState):
    """Weights, centre, working sets and their progress.

    Attributes
    ----------
    centre : Centre
        The proximal term.
    floor : Floor
        The lift of the weights to their lower bounds.
    sets : WorkingSets
        The planes with their dual values.
    effort : Effort
        The effort spent on inner problems.
    work : Work
        The counted operations.
    budgets : GrowingBudgets
        Start of the growing budgets.
    clock : int
        Number of rounds so far, the unit of the age of planes.
    first_left : int
        Number of remaining sweeps in mini-batches.
    """

    _parts: ClassVar[tuple[str, ...]] = ("centre", "floor", "sets", "effort", "work", "budgets")
    _counters: ClassVar[tuple[str, ...]] = ("clock", "first_left")

    def __init__(
        self, problem: Problem, seed: int, start: FloatArray | None, most_slots: int, first_sweeps: int,
        most_bytes: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, start)
        self.centre = Centre(np.zeros(problem.dim) if start is None else self.w.copy())
        self.floor = Floor(problem)
        self.w = self.floor.raised(self.centre.z.copy())
        self.sets = WorkingSets(problem, most_slots, most_bytes)
        self.effort, self.work, self.budgets = Effort(), Work(), GrowingBudgets()
        self._objective, self._engine, self._sum = problem.objective, problem.engine, np.zeros(0)
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
        if self.floor.lower is None:
            self._over_weights(partial(weights_of, u, z, rho, self.w))
        else:
            self.w = self.floor.raised(((rho - 1.0) * z + u) / rho)

    def products(self) -> tuple[float, float]:
        """Return the distance of w from u (`Objective.distance`), and u·w."""
        z, rho = self.centre.z, self.centre.rho
        if self.floor.lower is None and np.isfinite(rho):
            return products(self.w, z, rho)
        u = self.dual_sum()
        return self._objective.distance(self.w, u), float(u @ self.w)

    def count_decoded(self, problem: Problem, n: int) -> None:
        """Count the operations of a decode of n examples."""
        share = n / problem.n_examples
        self.work.decoded += share
        self.work.spent += share * problem.operations / VECTOR_SPEED

    def sum_again(self) -> FloatArray:
        """Return u summed over the planes, and set w by (*) so that rounding errors do not accumulate.

        The next call overwrites the array that is returned.
        """
        u = self._sum = self.sets.combination(self._sum)
        if np.isfinite(self.centre.rho):
            self.follow(u)
        return u

    def _over_weights(self, task: Callable[[int, int], None]) -> None:
        """Call ``task(a, b)`` for ranges of weights, in threads if there are many."""
        if len(self.w) < MANY_WEIGHTS:
            task(0, len(self.w))
        else:
            self._engine.map_range(task, 0, len(self.w))

    def move_centre(self, rho: float, move: bool = True) -> None:
        """Set z to w (unless `move` is False) and ρ, at fixed α; w follows from (*)."""
        centre = self.centre
        if move:
            centre.passes = 0
        if self.floor.lower is None and np.isfinite(centre.rho):
            self._over_weights(partial(move_to, self.w, centre.z, centre.rho, rho, move))
            centre.rho = rho
            return
        u = self.dual_sum()
        if move:
            centre.z = self.w.copy()
        centre.rho = rho
        self.follow(u)

    def place(self, w: FloatArray, rho: float) -> None:
        """Set w, with the centre for which (*) holds.

        For weights at a lower bound the centre is w itself.
        """
        centre, lower, u = self.centre, self.floor.lower, self.sets.combination()
        centre.rho = max(rho, LEAST_RHO)
        self.w, centre.z = w, (centre.rho * w - u) / (centre.rho - 1.0)
        if lower is not None:
            held = (w <= lower) & (u < w)
            centre.z[held] = w[held]
            self.floor.lift = np.where(held, (w - u) / centre.rho, 0.0)

    def begin_at_solution(self) -> None:
        """Continue from the weights of the dual values.

        These solve the problem over the held planes.
        """
        self.sets.touch(self.clock)
        self.place(self.floor.raised((1.0 + ROUNDING) * self.sets.combination()), LEAST_RHO)

    def support(self, problem: Problem) -> dict[str, Any]:
        return self.sets.support(problem)


@jit
def move_to(w, z, rho, new_rho, move, first, stop):
    """Set z to w if `move`, then w = ((ρ' − 1) z + u) / ρ' for the u of the present w, z and ρ, from first to stop."""
    for j in range(np.uint64(first), np.uint64(stop)):
        u = rho * w[j] - (rho - 1.0) * z[j]
        if move:
            z[j] = w[j]
        w[j] = ((new_rho - 1.0) * z[j] + u) / new_rho


@jit
def weights_of(u, z, rho, w, first, stop):
    """Set w = ((ρ − 1) z + u) / ρ, from first to stop."""
    for j in range(np.uint64(first), np.uint64(stop)):
        w[j] = ((rho - 1.0) * z[j] + u[j]) / rho


@jit
def products(w, z, rho):
    """Return ½‖u − w‖² and u·w for u = ρ w − (ρ − 1) z."""
    square, product = 0.0, 0.0
    for j in range(len(w)):
        u = rho * w[j] - (rho - 1.0) * z[j]
        square += (u - w[j]) * (u - w[j])
        product += u * w[j]
    return 0.5 * square, product
