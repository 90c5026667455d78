"""State of solvers with a proximal centre: weights, the centre, effort and work, and how the centre moves.

The weights w, the centre z and the dual values α satisfy

    ρ w = (ρ − 1) z + u,      u = Σ α a.                                                                         (*)

Lower bounds on weights add their multipliers β to the right-hand side (`floor`).
"""

from __future__ import annotations

from abc import abstractmethod
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


@dataclass(frozen=True)
class Tuning:
    """Hyper-parameters of `ProximalWorkingSets`, which documents them; `Sharded` has the first nine too."""

    first_sweeps: int = 2
    most_slots: int = 64
    keep_rounds: int = 4
    moves: int = 6
    inner_gap: float = 0.2
    cheap_share: float = 1.3
    most_passes: int = 50
    passes_per_move: int = 3
    patience: int = 8
    large: float = 1e4
    held_share: float = 4.0
    most_cuts: int = 100
    most_bytes: int = 0


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

    def count_decoded(self, problem: Problem, n: int) -> None:
        """Count the operations of a decode of n examples."""
        share = n / problem.n_examples
        self.decoded += share
        self.spent += share * problem.operations / VECTOR_SPEED

    def allowed(self, cheap_share: float) -> float:
        """Return the operations to spend on held planes in one round."""
        return cheap_share * (ROUND_OPERATIONS + self.spent / max(self.decoded, 1e-9))


class CentredState(ComposedState):
    """Weights around a proximal centre, wherever the planes are held.

    Attributes
    ----------
    centre : Centre
        The proximal term.
    effort : Effort
        The effort spent on inner problems.
    work : Work
        The counted operations.
    clock : int
        Number of rounds so far, the unit of the age of planes.
    first_left : int
        Number of remaining sweeps in mini-batches.
    """

    centre: Centre

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None, first_sweeps: int) -> None:
        super().__init__(problem, seed, start)
        self.effort, self.work, self.clock = Effort(), Work(), 0
        self.first_left = first_sweeps if start is None else 0

    @abstractmethod
    def move_centre(self, rho: float, move: bool = True) -> None:
        """Set z to w (unless `move` is False) and ρ, at fixed α; w follows from (*)."""


#: Range of proximal gap / block gap in which ρ does not change; block gaps are kept larger, as they are cheap to lower.
BALANCE = 0.3, 1.0
#: Factor by which ρ changes in one round; with larger factors ρ oscillates.
BALANCE_STEP = 1.3


def balanced(rho: float, thoroughness: float, proximal_gap: float, block_gap: float) -> float:
    """Return the next ρ.

    If the proximal gap is many times too large, ρ is divided by the eighth root of the excess.
    """
    low, high = (bound / thoroughness for bound in BALANCE)
    if proximal_gap > high * block_gap:
        excess = proximal_gap / max(high * block_gap, 1e-300)
        return max(1.0, rho / max(BALANCE_STEP, min(excess, 1e12) ** 0.125))
    return rho * BALANCE_STEP if proximal_gap < low * block_gap else rho


#: Blocks with less than this share of the mean gap are visited only in every fifth pass, because they gain little.
SKIP_SHARE, ALL_EVERY = 0.3, 5


def cheap_passes(
    tuning: Tuning, problem: Problem, state: CentredState, mean_gap: float,
    sweep: Callable[[int, float, int], tuple[float, float]],
) -> None:  # fmt: skip
    """Pass over the held planes; after the first pass only over active ones.

    The centre moves after every few passes. The passes end when the restricted gap is at most `inner_gap` times its
    initial value (up to twice that if all planes found last were new, because the held planes then say little about the
    next argmaxes), or when they have used up their operations.

    Parameters
    ----------
    mean_gap : float
        Mean of the block gaps before the passes.
    sweep : callable
        ``sweep(number, skip_below, since)`` makes a pass over the blocks whose last gap is above `skip_below`, with
        planes that are active or not older than `since`. It returns the sum of the block gaps and the operations spent.
    """
    centre, effort = state.centre, state.effort
    first_gap, allowed, spent = mean_gap, effort.thoroughness * state.work.allowed(tuning.cheap_share), 0.0
    needed = tuning.inner_gap * (1.0 + state.work.novelty**3) / effort.thoroughness
    for number in range(int(tuning.most_passes * effort.thoroughness)):
        skip_below, since = SKIP_SHARE * mean_gap if number % ALL_EVERY else -1.0, state.clock if number else 0
        total, operations = sweep(number, skip_below, since)
        mean_gap, spent = total / problem.n_examples, spent + operations + PASS_OPERATIONS
        centre.passes += 1
        if centre.passes >= tuning.passes_per_move * effort.level and state.first_left == 0:
            state.move_centre(centre.rho)
        if mean_gap <= needed * first_gap or (spent > allowed and number > 0) or problem.out_of_time:
            return


class ProximalState(CentredState):
    """Weights, centre, working sets and their progress, besides what every `CentredState` has.

    Attributes
    ----------
    floor : Floor
        The lift of the weights to their lower bounds.
    sets : WorkingSets
        The planes with their dual values.
    budgets : GrowingBudgets
        Start of the growing budgets.
    """

    _parts: ClassVar[tuple[str, ...]] = ("centre", "floor", "sets", "effort", "work", "budgets")
    _counters: ClassVar[tuple[str, ...]] = ("clock", "first_left")

    def __init__(
        self, problem: Problem, seed: int, start: FloatArray | None, most_slots: int, first_sweeps: int,
        most_bytes: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(problem, seed, start, first_sweeps)
        self.centre = Centre(np.zeros(problem.dim) if start is None else self.w.copy())
        self.floor = Floor(problem)
        self.w = self.floor.raised(self.centre.z.copy())
        self.sets = WorkingSets(problem, most_slots, most_bytes)
        self.budgets = GrowingBudgets()
        self._objective, self._engine, self._sum = problem.objective, problem.engine, np.zeros(0)

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
