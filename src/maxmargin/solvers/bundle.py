"""Proximal bundle: 1-slack cutting planes around a centre that only moves to better weights (Kiwiel 1990; paper 5).

The trial weights minimise the model of `aggregate` plus ½(ρ − 1)‖w − z‖². Where the objective falls by at least a share
of what the model promised, the centre moves there (serious step), else only the model gets better (null step). With
u = Σ β A, the gap of the original problem at the trial weights splits into a part that a smaller ρ would close and one
that more planes would:

    P(w) − D = ½‖u − w‖² + (R(w) − max_k B_k − A_k·w),

and ρ follows whichever is larger.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import FloatArray
from maxmargin.core.objective import Objective
from maxmargin.solvers.oneslack import CuttingPlanes, CuttingState
from maxmargin.solvers.protocol import Decodable


class BundleState(CuttingState):
    """Trial weights w, centre z, proximal weight ρ."""

    _saved: ClassVar[tuple[str, ...]] = ("z", "u")
    _counters: ClassVar[tuple[str, ...]] = ("rho", "centre_value", "promised")

    def __init__(
        self, problem: Decodable, seed: int, start: FloatArray | None, most_planes: int, keep_rounds: int
    ) -> None:
        super().__init__(problem, seed, start, most_planes, keep_rounds)
        self.z, self.u = self.w.copy(), np.zeros_like(self.w)
        self.rho, self.centre_value, self.promised = 0.0, np.inf, 0.0


@dataclass(frozen=True)
class ProximalBundle(CuttingPlanes):
    """Proximal bundle (``solver="bundle"``).

    Parameters
    ----------
    most_planes, keep_rounds, inner_gap : as in `CuttingPlanes`.
    sufficient : share of the promised decrease that makes a step serious.
    balance : ρ is divided or multiplied by `balance_step` to keep proximal part / model part between these.
    """

    name: ClassVar[str] = "bundle"

    sufficient: float = 0.01
    balance: tuple[float, float] = (1.0, 3.0)
    balance_step: float = 1.3

    def init(self, problem: Decodable, seed: int = 0, start: FloatArray | None = None) -> BundleState:
        return BundleState(problem, seed, start, self.most_planes, self.keep_rounds)

    def step(self, problem: Decodable, state: BundleState) -> None:
        value, model, objective = self._cut(problem, state), state.model, problem.objective
        if state.rho == 0.0:
            state.rho, serious = self._first_rho(state, value), True
        else:
            state.rho = self._next_rho(objective, state, value)
            serious = state.centre_value - value >= self.sufficient * (state.centre_value - state.promised)
        if serious:
            state.z, state.centre_value = state.w, value
        state.w = model.solve(self._inner_tolerance(state), state.z, state.rho, objective.lower)
        state.u = model.sum
        state.promised = 0.5 * float(state.w @ state.w) + model.level(state.w)
        state.raise_dual(model.dual(state.u, objective.lower))

    @staticmethod
    def _first_rho(state: BundleState, value: float) -> float:
        """ρ of a first step to about where the first plane says that the objective is 0."""
        away = state.model.row[1] - state.w
        return max(1.0, 0.5 * float(away @ away) / value) if value > 0.0 else 1.0

    def _next_rho(self, objective: Objective, state: BundleState, value: float) -> float:
        """Return the ρ that keeps the two parts of the gap at the trial weights in balance."""
        low, high = self.balance
        proximal, model = objective.distance(state.w, state.u), value - state.promised
        if proximal > high * model:
            return max(1.0, state.rho / self.balance_step)
        return state.rho * self.balance_step if proximal < low * model else state.rho
