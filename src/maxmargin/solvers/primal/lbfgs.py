"""L-BFGS with certificates, for smooth bounds (Liu and Nocedal 1989; Nocedal and Wright 2006, algorithms 7.4 and 3.5).

Every evaluation yields a plane of the risk (`cutting.aggregate`): the objective is at least ½‖w‖² plus the maximum of
these planes, and the best combination of the last ones bounds the optimum from below. A combination of gradients is
much shorter than each of them, so this bound is far above P(w) − ½‖∇P(w)‖², which the last plane alone proves.

Features of text differ by orders of magnitude in how often they occur, so the inverse Hessian begins with the inverse
of an estimate of its diagonal in the place of a multiple of the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.likelihood import SmoothProblem
from maxmargin.problem import Problem
from maxmargin.solvers.base import ComposedState, Solver
from maxmargin.solvers.cutting.aggregate import AggregateModel
from maxmargin.solvers.cutting.oneslack import add_plane

#: Share of the slope by which a step must decrease the objective, and share of the slope that may be left (Wolfe).
DECREASE, CURVATURE = 1e-4, 0.9
#: Maximum number of evaluations of one line search.
MOST_TRIALS = 20
#: Steps after which curvatures are computed again; later five times as many.
REFRESHED = 10
#: The quadratic program over the planes is solved to this share of the current gap.
INNER_GAP = 0.01


class LBFGSState(ComposedState):
    """Weights, gradient, and the last steps.

    Attributes
    ----------
    gradient : ndarray of shape (dim,)
        Gradient of the objective at w.
    steps, changes : ndarray of shape (memory, dim)
        The last differences of weights and of gradients, in a ring.
    n_pairs : int
        Number of differences so far.
    scales : ndarray of shape (dim,)
        Inverse curvatures, with which the inverse Hessian begins.
    value : float
        Objective at w; infinite before the first evaluation.
    model : AggregateModel
        Planes of the risk, for the lower bound.
    trade_off : float
        C of the problem that the planes belong to.
    """

    _saved: ClassVar[tuple[str, ...]] = ("gradient", "steps", "changes", "scales")
    _counters: ClassVar[tuple[str, ...]] = ("n_pairs", "value")
    _parts: ClassVar[tuple[str, ...]] = ("model",)

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None, memory: int, most_planes: int) -> None:
        super().__init__(problem, seed, start)
        self.gradient = np.zeros(problem.dim)
        self.steps, self.changes = np.zeros((memory, problem.dim)), np.zeros((memory, problem.dim))
        self.n_pairs, self.value, self.scales = 0, np.inf, np.ones(problem.dim)
        self.model, self.trade_off = AggregateModel(problem.dim, most_planes, most_planes), problem.objective.C

    def remember(self, step: FloatArray, change: FloatArray) -> None:
        """Keep a pair of differences, if it has positive curvature."""
        if float(step @ change) > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            k = self.n_pairs % len(self.steps)
            self.steps[k], self.changes[k] = step, change
            self.n_pairs += 1

    def direction(self) -> FloatArray:
        """Return −H ∇P, with the inverse Hessian H that the remembered differences imply."""
        memory = len(self.steps)
        order = [k % memory for k in range(max(0, self.n_pairs - memory), self.n_pairs)]
        q, factors = self.gradient.copy(), {}
        for k in reversed(order):
            factors[k] = float(self.steps[k] @ q) / float(self.steps[k] @ self.changes[k])
            q -= factors[k] * self.changes[k]
        q *= self.scales
        if order:
            step, change = self.steps[order[-1]], self.changes[order[-1]]
            q *= float(step @ change) / float(change @ (self.scales * change))
        for k in order:
            q += (factors[k] - float(self.changes[k] @ q) / float(self.steps[k] @ self.changes[k])) * self.steps[k]
        return -q


@dataclass(frozen=True)
class LBFGS(Solver):
    """L-BFGS (``solver="lbfgs"``), for the smooth bounds "likelihood" and "softmax-margin".

    Parameters
    ----------
    memory : int, default=10
        Number of differences of weights and gradients that are kept.
    most_planes : int, default=12
        Number of planes from which the lower bound is computed, at least 3.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(bound="likelihood", solver=mm.solvers.LBFGS(memory=20)).fit(X, Y)
    >>> tagger.certificate_.gap <= tagger.tol
    True
    """

    name: ClassVar[str] = "lbfgs"
    smooth: ClassVar[bool | None] = True
    default_max_iter: ClassVar[int] = 2000
    lowest: ClassVar[Mapping[str, int | float]] = {"most_planes": 3}

    memory: int = 10
    most_planes: int = 12

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> LBFGSState:
        return LBFGSState(problem, seed, start, self.memory, self.most_planes)

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> Any:
        """Return a state for another C with the planes of a solved problem: the risk is proportional to C."""
        new: Any = super().adapt(problem, state, seed)
        if isinstance(state, LBFGSState) and state.model.row.shape == new.model.row.shape:
            new.model.take_over(state.model, new.trade_off / state.trade_off)
        return new

    def planned_bytes(self, problem: Problem) -> float:
        return super().planned_bytes(problem) + 8.0 * (2 * self.memory + self.most_planes + 5) * problem.dim

    def step(self, problem: Problem, state: LBFGSState) -> None:
        assert isinstance(problem, SmoothProblem)
        if np.isinf(state.value):
            self._evaluate(problem, state, state.w)
        else:
            self._search(problem, state)
        if state.iteration % (REFRESHED if state.iteration < 10 * REFRESHED else 5 * REFRESHED) == 0:
            state.scales = 1.0 / problem.curvatures(state.w)
        model = state.model
        model.solve(INNER_GAP * max(state.best_primal - state.best_dual, 0.0))
        state.raise_dual(model.dual(model.sum, None))

    @staticmethod
    def _evaluate(problem: SmoothProblem, state: LBFGSState, w: FloatArray) -> None:
        """Move to w: compute value and gradient there, and add its plane to the model."""
        state.w = w
        problem.decode(w, problem.everyone)
        state.value, state.gradient = state.offer(problem, w), problem.gradient(w)
        add_plane(problem, state)  # type: ignore[arg-type]

    def _search(self, problem: SmoothProblem, state: LBFGSState) -> None:
        """Take a step along the direction that satisfies the strong Wolfe conditions.

        A step is bracketed, and the bracket shrinks by cubic interpolation. If no step decreases the objective,
        rounding errors dominate: the differences are forgotten, and the solver ends if steepest descent fails too.
        """
        w, value, gradient, direction = state.w, state.value, state.gradient, state.direction()
        slope = float(gradient @ direction)
        if not slope < 0.0:
            state.n_pairs, direction = 0, -gradient
            slope = float(gradient @ direction)
        low, low_value, low_slope = 0.0, value, slope
        high, high_value, high_slope = np.inf, np.inf, 0.0
        best, step = (w, value, gradient), 1.0
        for _ in range(MOST_TRIALS):
            self._evaluate(problem, state, w + step * direction)
            new_slope = float(state.gradient @ direction)
            if state.value < best[1]:
                best = state.w, state.value, state.gradient
            if state.value > value + DECREASE * step * slope or (state.value >= low_value and low > 0.0):
                high, high_value, high_slope = step, state.value, new_slope
            elif abs(new_slope) <= -CURVATURE * slope:
                best = state.w, state.value, state.gradient
                break
            elif new_slope >= 0.0:
                high, high_value, high_slope = step, state.value, new_slope
            else:
                low, low_value, low_slope = step, state.value, new_slope
            if np.isinf(high):
                step *= 4.0
            else:
                step = _between(low, low_value, low_slope, high, high_value, high_slope)
                if high - low <= 1e-12 * high:
                    break
        state.w, state.value, state.gradient = best
        if state.value < value:
            state.remember(state.w - w, state.gradient - gradient)
        elif state.n_pairs > 0:
            state.n_pairs = 0
        else:
            state.finished = True


def _between(
    low: float, low_value: float, low_slope: float, high: float, high_value: float, high_slope: float
) -> float:
    """Return the minimum of the cubic through two points with these slopes, kept away from both."""
    width = high - low
    d = low_slope + high_slope - 3.0 * (low_value - high_value) / (low - high)
    root = d * d - low_slope * high_slope
    step = low + 0.5 * width
    if root >= 0.0:
        root = float(np.sqrt(root))
        denominator = high_slope - low_slope + 2.0 * root
        if denominator != 0.0:
            step = high - width * (high_slope + root - d) / denominator
    return float(min(max(step, low + 0.1 * width), high - 0.1 * width))
