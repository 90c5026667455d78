"""Where the default solver is: weights, a centre and working sets, which one equation holds together (`proximal`)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.core.problem import Problem
from maxmargin.solvers._composed import ComposedState
from maxmargin.solvers.working_sets import WorkingSets

#: ρ where weights are given and the centre follows from them.
LEAST_RHO = 1.0 + 1e-3
#: Share by which weights may be longer than need be.
ROUNDING = 1e-10


class ProximalState(ComposedState):
    """Weights, centre and working sets."""

    _saved: ClassVar[tuple[str, ...]] = ("z",)
    _parts: ClassVar[tuple[str, ...]] = ("sets",)
    _counters: ClassVar[tuple[str, ...]] = (
        "rho", "clock", "spent", "decoded", "first_left", "first_budget",
        "effort", "in_vain", "solved_few", "marked_gap", "marked_at", "passes", "centre_primal", "novelty",
    )  # fmt: skip

    def __init__(
        self, problem: Problem, seed: int, start: FloatArray | None, most_slots: int, first_sweeps: int
    ) -> None:
        super().__init__(problem, seed, start)
        self.z = self.w.copy()
        self.sets = WorkingSets(problem, most_slots)
        self.rho, self.clock = np.inf, 0
        self.spent, self.decoded = 0.0, 0.0  # operations of decode and insert; sweeps they were for
        self.novelty = 1.0  # share of the planes found last that were new
        self.first_left = first_sweeps if start is None else 0  # sweeps in mini-batches still to come
        self.passes = 0  # over cached planes since the centre moved
        self.effort, self.marked_gap, self.marked_at = 1.0, np.inf, 0  # see ProximalWorkingSets.patience
        self.solved_few = False  # whether the planes held were solved for in the last round
        self.in_vain = 0.0  # effort at which the planes held were not few, or not to be solved for
        self.centre_primal = 0.0  # objective at the centre, once all examples are worked on together
        self.first_budget = 0.0  # hard margin or large C: where growing budgets began

    @property
    def thoroughness(self) -> float:
        """How much better than at first inner problems are solved."""
        return float(np.sqrt(self.effort))

    def dual_sum(self) -> FloatArray:
        """u, by (*) of `proximal`."""
        if np.isinf(self.rho):
            return np.zeros_like(self.w)
        return self.rho * self.w - (self.rho - 1.0) * self.z

    def sum_anew(self) -> FloatArray:
        """u from the planes themselves, and w by (*), so that rounding neither gathers nor enters a certificate."""
        u = self.sets.combination()
        if np.isfinite(self.rho):
            self.w = ((self.rho - 1.0) * self.z + u) / self.rho
        return u

    def move_centre(self, rho: float, move: bool = True) -> None:
        """z := w (or stays) and a new ρ at fixed α; w follows from (*)."""
        u = self.dual_sum()
        if move:
            self.z, self.passes = self.w, 0
        self.rho = rho
        self.w = ((rho - 1.0) * self.z + u) / rho

    def place(self, w: FloatArray, rho: float) -> None:
        """These weights, with the centre at which (*) holds for them."""
        self.rho = max(rho, LEAST_RHO)
        self.w, self.z = w, (self.rho * w - self.sets.combination()) / (self.rho - 1.0)

    def begin_at_solution(self) -> None:
        """Weights that solve for the planes held, a trifle longer: large C makes much of margins lost in rounding."""
        self.sets.touch(self.clock)
        self.place((1.0 + ROUNDING) * self.sets.combination(), LEAST_RHO)

    def support(self, problem: Problem) -> dict[str, Any]:
        return self.sets.support(problem)
