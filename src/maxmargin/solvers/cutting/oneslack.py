"""1-slack cutting planes: one aggregate plane per sweep.

The n slacks are replaced by one, ξ ≥ R(w) = Σ penalty_i(H_i(w)). Each sweep of argmaxes at the current weights adds the
plane of R that is tight there, and the next weights minimise ½‖w‖² + max_k (B_k − A_k·w) over the planes so far
(Joachims, Finley and Yu 2009; see also Joachims et al. 2009, section 2.4). The number of planes needed does not depend
on the number of examples. Without a proximal term the steps are long and oscillate: `bundle` needs far fewer sweeps if
C is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.problem import Problem
from maxmargin.solvers.base import ComposedState, Decodable, Solver
from maxmargin.solvers.cutting.aggregate import AggregateModel

#: Rounding error of a dot product, relative to the sum of the sizes of its terms.
ROUNDING = 1e-14


class CuttingState(ComposedState):
    """Weights and the model of the risk.

    Attributes
    ----------
    model : AggregateModel
        The aggregate planes.
    trade_off : float
        C of the problem that the planes belong to.
    """

    _parts: ClassVar[tuple[str, ...]] = ("model",)

    def __init__(
        self, problem: Decodable, seed: int, start: FloatArray | None, most_planes: int, keep_rounds: int
    ) -> None:
        super().__init__(problem, seed, start)
        self.model, self.trade_off = AggregateModel(problem.dim, most_planes, keep_rounds), problem.objective.C


@dataclass(frozen=True)
class CuttingPlanes(Solver):
    """Base of solvers with aggregate planes.

    Parameters
    ----------
    most_planes : int, default=200
        Maximum number of aggregate planes, at least 3; each has one number per weight.
    keep_rounds : int, default=50
        Number of sweeps after which an inactive plane may be dropped.
    inner_gap : float, default=1e-3
        The quadratic program over the planes is solved to this share of the current gap.
    """

    lower_bounds: ClassVar[bool] = True
    smooth: ClassVar[bool | None] = None
    lowest: ClassVar[Mapping[str, int | float]] = {"most_planes": 3, "keep_rounds": 0}

    most_planes: int = 200
    keep_rounds: int = 50
    inner_gap: float = 1e-3

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> Any:
        """Return a state for another C with the planes of a solved problem: the risk is proportional to C."""
        new: Any = super().adapt(problem, state, seed)
        both = isinstance(new, CuttingState) and isinstance(state, CuttingState)
        if both and new.model.row.shape == state.model.row.shape:
            new.model.take_over(state.model, new.trade_off / state.trade_off)
        return new

    def planned_bytes(self, problem: Problem) -> float:
        return super().planned_bytes(problem) + 8.0 * self.most_planes * (problem.dim + self.most_planes)

    def _inner_tolerance(self, state: CuttingState) -> float:
        return self.inner_gap * (state.best_primal - state.best_dual)

    @staticmethod
    def _cut(problem: Decodable, state: CuttingState) -> float:
        """Decode at the current weights and add the plane that is tight there.

        Return the objective at these weights.
        """
        problem.decode(state.w, problem.everyone)
        add_plane(problem, state)
        return state.offer(problem, state.w)


def add_plane(problem: Decodable, state: CuttingState) -> None:
    """Add the plane of the risk that is tight at the current weights, where all examples have just been decoded.

    Its value at weights of 0 is the difference of numbers that may be large, and is reduced by their rounding errors.
    """
    objective, w = problem.objective, state.w
    row = problem.aggregate(objective.slopes(problem.hinges))
    risk = float(objective.penalties(problem.hinges).sum())
    errors = ROUNDING * float(np.abs(row) @ np.abs(w)) + problem.sum_errors
    state.model.insert(row, risk + float(row @ w) - errors)


@dataclass(frozen=True)
class OneSlack(CuttingPlanes):
    """1-slack cutting planes (``solver="oneslack"``).

    Each sweep adds one plane of the whole risk, and the weights minimise ½‖w‖² plus the maximum of the planes
    (Joachims, Finley and Yu 2009).

    Parameters
    ----------
    most_planes : int, default=200
        Maximum number of aggregate planes, at least 3; each has one number per weight.
    keep_rounds : int, default=50
        Number of sweeps after which an inactive plane may be dropped.
    inner_gap : float, default=1e-3
        The quadratic program over the planes is solved to this share of the current gap.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.OneSlack(most_planes=50)).fit(X, Y)
    >>> tagger.certificate_.gap <= tagger.tol
    True
    """

    name: ClassVar[str] = "oneslack"

    def init(self, problem: Decodable, seed: int = 0, start: FloatArray | None = None) -> CuttingState:
        return CuttingState(problem, seed, start, self.most_planes, self.keep_rounds)

    def step(self, problem: Decodable, state: CuttingState) -> None:
        self._cut(problem, state)
        model, lower = state.model, problem.objective.lower
        state.w = model.solve(self._inner_tolerance(state), lower=lower)
        state.raise_dual(model.dual(model.sum, lower))
