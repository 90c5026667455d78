"""Dual points that primal methods maintain, and their averages.

Weights that are a sum of planes, u = Σ α a, prove a lower bound if the gain Σ α b and the masses Σ_y α_iy are also
known. All of these are linear in α, so they are stored in one array, the **point**: u (d numbers), the masses (n), the
gain, and the share of the initial weights, which do not belong to any plane.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.planes import Planes
from maxmargin.problem import Problem
from maxmargin.solvers.base import State

GAIN, SHARE = -2, -1


class PointState(State):
    """State with a growing point V and the sum Σ_t z_t V_t.

    V grows by sparse steps g_t. With Z_t = z_1 + … + z_t, Σ_t z_t V_t = Z V − Σ_r Z_{r−1} g_r. The last sum is
    maintained together with V, so the cost is proportional to the nonzeros of the steps (Daumé 2006, section 2.1, for
    the averaged perceptron).

    Attributes
    ----------
    total : ndarray
        V.
    late : ndarray
        Σ_r Z_{r−1} g_r.
    past : float
        Z.
    origin : ndarray of shape (dim,)
        Weights at the start of training.
    """

    _saved: ClassVar[tuple[str, ...]] = ("total", "late", "origin")
    _counters: ClassVar[tuple[str, ...]] = ("past",)

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None) -> None:
        super().__init__(problem, seed, start)
        self.total, self.late = empty_point(problem), empty_point(problem)
        self.past, self.origin = 0.0, self.w.copy()

    def grow(self, ids: IntArray, planes: Planes, coefficients: FloatArray, masses: FloatArray, gain: float) -> None:
        """Add Σ_r coefficients[r] a_r to V, with the corresponding masses of ids and the gain."""
        for point, factor in ((self.total, 1.0), (self.late, self.past)):
            planes.weighted_sum(factor * coefficients, point[: len(self.w)])
            point[len(self.w) + ids] += factor * masses
            point[GAIN] += factor * gain

    def summed(self) -> FloatArray:
        """Return Σ_t z_t V_t."""
        return self.past * self.total - self.late

    def weights(self, point: FloatArray, scale: float) -> FloatArray:
        """Return the weights of scale · point."""
        w = scale * point[: len(self.w)]
        if point[SHARE] != 0.0 and self.origin.any():
            w += scale * point[SHARE] * self.origin
        return w


def empty_point(problem: Problem) -> FloatArray:
    """Return the point of α = 0."""
    return np.zeros(problem.dim + problem.n_examples + 2)


def lower_bound(problem: Problem, point: FloatArray) -> float:
    """Return the largest D(t α) over the feasible multiples t α."""
    objective, u, masses = problem.objective, point[: problem.dim], point[problem.dim : GAIN]
    held = masses > 0.0
    longest = float((objective.budgets[held] / masses[held]).min()) if held.any() else 1.0
    return objective.dual(float(point[GAIN]), u, masses, longest)
