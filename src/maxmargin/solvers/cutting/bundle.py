"""Proximal bundle: 1-slack cutting planes around a centre.

The centre moves only to better weights. The method is due to Kiwiel 1990; Yu and Joachims 2009 apply it to structural
SVMs with latent variables. The trial weights minimise the model of `aggregate` plus ½(ρ − 1)‖w − z‖². If the objective
decreases by at least a given share of the decrease that the model predicts, the centre moves there (serious step);
otherwise only the model improves (null step). With u = Σ β A, the gap of the original problem at the trial weights
splits into a part that a smaller ρ would close and a part that more planes would close:

    P(w) − D = ½‖u − w‖² + (R(w) − max_k (B_k − A_k·w)),

and ρ is adapted to the larger part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.core.objective import Objective
from maxmargin.problem import Problem
from maxmargin.solvers.base import Decodable
from maxmargin.solvers.cutting.oneslack import CuttingPlanes, CuttingState


class BundleState(CuttingState):
    """Trial weights w, centre z and proximal weight ρ.

    Attributes
    ----------
    z : ndarray of shape (dim,)
        Centre.
    u : ndarray of shape (dim,)
        Σ β A of the last solve.
    rho : float
        ρ; 0 before the first step.
    centre_value : float
        Objective at the centre.
    promised : float
        Objective that the model predicts at the trial weights.
    """

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

    The trial weights minimise ½‖w‖² + ½(ρ − 1)‖w − z‖² plus a cutting-plane model of the risk; the centre z moves only
    to better weights (Kiwiel 1990).

    Parameters
    ----------
    most_planes : int, default=200
        Maximum number of aggregate planes, at least 3; each has one number per weight.
    keep_rounds : int, default=50
        Number of sweeps after which an inactive plane may be dropped.
    inner_gap : float, default=1e-3
        The quadratic program over the planes is solved to this share of the current gap.
    sufficient : float, default=0.01
        Share of the predicted decrease above which the centre moves.
    balance : tuple of (float, float), default=(1.0, 3.0)
        Range of the ratio proximal part / model part of the gap in which ρ does not change.
    balance_step : float, default=1.3
        Factor by which ρ is divided or multiplied if the ratio is outside of this range.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.ProximalBundle()).fit(X, Y)
    >>> tagger.certificate_.gap <= tagger.tol
    True
    """

    name: ClassVar[str] = "bundle"

    sufficient: float = 0.01
    balance: tuple[float, float] = (1.0, 3.0)
    balance_step: float = 1.3

    def init(self, problem: Decodable, seed: int = 0, start: FloatArray | None = None) -> BundleState:
        return BundleState(problem, seed, start, self.most_planes, self.keep_rounds)

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> Any:
        new = super().adapt(problem, state, seed)
        if isinstance(new, BundleState) and isinstance(state, BundleState) and new.model.count > 1:
            new.u, new.rho = new.model.sum, max(1.0, state.rho * new.trade_off / state.trade_off)
        return new

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
        """Return ρ of a first step to about where the first plane predicts the objective 0."""
        away = state.model.row[1] - state.w
        return max(1.0, 0.5 * float(away @ away) / value) if value > 0.0 else 1.0

    def _next_rho(self, objective: Objective, state: BundleState, value: float) -> float:
        """Return the ρ that balances the two parts of the gap at the trial weights."""
        low, high = self.balance
        proximal, model = objective.distance(state.w, state.u), value - state.promised
        if proximal > high * model:
            return max(1.0, state.rho / self.balance_step)
        return state.rho * self.balance_step if proximal < low * model else state.rho
