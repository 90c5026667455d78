"""A primal-dual interior-point method for min-max programs (predictor and corrector steps of Mehrotra 1992).

With s, t the multipliers of z ≥ 0 and z ≤ upper and λ those of w ≥ lower, the conditions of optimality are

    F w + gains − Aᵀu − curvature z + s − t = 0        A z = b        w = c − Fᵀz + λ
    z s = 0        (upper − z) t = 0        (w − lower) λ = 0.

Newton steps towards products τ instead of 0 eliminate z and u: with Θ = 1 / (curvature + s / z + t / (upper − z)) and
the QR factors of √Θ Aᵀ, which are small and independent for each example, P = I − QQᵀ and

    (I + λ / (w − lower) + Fᵀ√Θ P √Θ F) dw = …

is one d × d system, solved by Cholesky's method. Fᵀ√Θ P √Θ F is the product of Nᵀ√ΘF with itself, where N spans the
complement of Q: as many rows as the polytope has dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from maxmargin._base.types import FloatArray
from maxmargin.problem import OutOfTime, Problem
from maxmargin.solvers.minmax.program import ROUNDING, Group, MinMaxProgram, Reduced

#: Distance of the first masses from their limits, relative to their size, and the least size of gains.
INSIDE, SMALL_GAIN = 0.1, 1e-8
#: Share of the longest feasible step that is taken.
SHARE = 0.995
#: Rows of features whose products are added at a time.
TOGETHER = 1 << 12
#: Diagonal of a triangular factor, relative to its largest entry, that is not made smaller.
SMALLEST = 1e-14
#: Least distance of a mass from its upper limit, relative to the limit.
NEAREST = 1e-15
#: Maximum number of corrections of masses that do not satisfy their constraints.
REPAIRS = 4


@dataclass
class Point:
    """Iterate of the method: weights v, masses z, prices u, multipliers s, t of their limits and λ of lower bounds."""

    v: FloatArray
    z: FloatArray
    u: FloatArray
    s: FloatArray
    t: FloatArray
    lift: FloatArray

    def moved(self, by: Point, step: float) -> Point:
        """Return the point at a step in a direction."""
        return Point(*(getattr(self, name) + step * getattr(by, name) for name in vars(self)))


class Interior:
    """Steps of the interior-point method for one program."""

    def __init__(self, program: MinMaxProgram, reduced: Reduced) -> None:
        self.program, self.reduced = program, reduced
        self.F, self.lower = reduced.features, reduced.lower
        self.limited = np.isfinite(program.upper)
        self.bounded = np.zeros(self.F.shape[1], bool) if self.lower is None else np.isfinite(self.lower)
        self.with_features = np.diff(program.features.indptr) > 0
        self.factors: list[tuple[FloatArray, FloatArray]] = []
        self.root = np.zeros(0)

    def start(self) -> Point:
        """Return a point within the limits, its masses near the solution of A z = b that is nearest to 0 (or 1)."""
        program, gains = self.program, self.program.gains
        z = np.full(len(gains), float(program.by_mass))  # equations in masses are homogeneous
        rest, least = program.b - program.constraints(z), np.zeros(len(gains))
        for group in program.groups:
            if group.variables.size:
                Q, R = np.linalg.qr(np.swapaxes(group.A, 1, 2))
                back = np.linalg.solve(np.swapaxes(R, 1, 2), rest[group.prices][..., None])
                z[group.variables] += (Q @ back)[..., 0]
                least[group.variables] = INSIDE * np.abs(z[group.variables]).mean(axis=1, keepdims=True)
        z = np.maximum(z, np.maximum(least, 1e-3 * least.max(initial=0.0)))
        z = np.where(self.limited, np.clip(z, INSIDE * program.upper, (1.0 - INSIDE) * program.upper), z)
        multiplier = np.full(len(gains), max(float(np.abs(gains).max(initial=0.0)), SMALL_GAIN))
        v, lift = np.zeros(self.F.shape[1]), np.zeros(self.F.shape[1])
        if self.lower is not None:
            v[self.bounded] = np.maximum(0.0, self.lower[self.bounded]) + 1.0
            lift[self.bounded] = 1.0
        return Point(v, z, np.zeros(len(program.b)), multiplier, np.where(self.limited, multiplier, 0.0), lift)

    # ------------------------------------------------------------------ one iteration

    def complementarity(self, point: Point) -> float:
        """Return Σ z s + Σ (upper − z) t + Σ (w − lower) λ, which is the gap of a feasible point."""
        return sum(float(a @ b) for a, b in self._products(point))

    def _products(self, point: Point) -> list[tuple[FloatArray, FloatArray]]:
        some, free = self.limited, self.bounded
        pairs = [(point.z, point.s), (self._room(point)[some], point.t[some])]
        if self.lower is not None:
            pairs.append((point.v[free] - self.lower[free], point.lift[free]))
        return pairs

    def _room(self, point: Point) -> FloatArray:
        """Return upper − z, at least the rounding error of upper; 1 where z is unlimited."""
        upper = np.where(self.limited, self.program.upper, 1.0)
        return np.where(self.limited, np.maximum(upper - point.z, NEAREST * upper), 1.0)

    def residuals(self, point: Point) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the residuals of the three equations."""
        program = self.program
        stationary = (
            self.F @ point.v + program.gains - program.priced(point.u) - program.curvature * point.z
            + point.s - point.t
        )  # fmt: skip
        return (
            stationary,
            program.b - program.constraints(point.z),
            self.reduced.centre - self.F.T @ point.z + point.lift - point.v,
        )

    def step(self, problem: Problem, point: Point) -> tuple[Point, float]:
        """Return the next point and the length of the step.

        Raise LinAlgError if rounding errors leave no step.
        """
        with np.errstate(all="ignore"):
            moved, length = self._step(problem, point)
        if not all(np.isfinite(values).all() for values in vars(moved).values()):
            raise np.linalg.LinAlgError("the step is not finite")
        return moved, length

    def _step(self, problem: Problem, point: Point) -> tuple[Point, float]:
        self._factorise(problem, point)
        lacking = self.residuals(point)
        pairs = self._products(point)
        count = sum(len(a) for a, _ in pairs)
        mean = sum(float(a @ b) for a, b in pairs) / count
        ahead = self._direction(point, lacking, 0.0, None)
        length = self._longest(point, ahead)
        after = self._products(point.moved(ahead, length))
        target = (sum(float(a @ b) for a, b in after) / count / mean) ** 3 * mean
        by = self._direction(point, lacking, target, ahead)
        length = min(1.0, SHARE * self._longest(point, by))
        return point.moved(by, length), length

    def _factorise(self, problem: Problem, point: Point) -> None:
        """Set √Θ, Q and R⁻¹ of all examples and the Cholesky factor."""
        program, some = self.program, self.limited
        inverse = program.curvature + point.s / point.z
        inverse[some] += point.t[some] / self._room(point)[some]
        self.root = 1.0 / np.sqrt(inverse)
        size = self.F.shape[1]
        S = np.zeros((size, size), order="F")
        self.factors = []
        for group in program.groups:
            self.factors.append(self._factor(problem, group, S))
        diagonal = np.ones(size)
        if self.lower is not None:
            free = self.bounded
            diagonal[free] += point.lift[free] / (point.v[free] - self.lower[free])
        S[np.diag_indices(size)] += diagonal
        self.cholesky = sl.cholesky(S, lower=True, overwrite_a=True, check_finite=False) if size else S

    def _factor(self, problem: Problem, group: Group, S: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return Q and R⁻¹ of a group, and add its Fᵀ√Θ P √Θ F to S."""
        n, k, m = group.A.shape
        Q, R = np.empty((n, m, k)), np.empty((n, k, k))
        at_once = max(1, TOGETHER // max(m, 1))
        for a in range(0, n, at_once):
            if problem.out_of_time:
                raise OutOfTime
            chunk = slice(a, a + at_once)
            variables = group.variables[chunk]
            root = self.root[variables][..., None]
            basis, triangle = np.linalg.qr(root * np.swapaxes(group.A[chunk], 1, 2), mode="complete")
            Q[chunk], R[chunk] = basis[:, :, :k], triangle[:, :k]
            with_features = self.with_features[variables].any(axis=0)
            rest = np.swapaxes(basis[:, with_features, k:], 1, 2)  # P = N Nᵀ, N being the other columns of the basis
            rows = rest @ (root[:, with_features] * self.F[variables[:, with_features]])
            if rows.size:
                sl.blas.dsyrk(1.0, rows.reshape(-1, rows.shape[-1]).T, beta=1.0, c=S, lower=1, overwrite_c=1)
        place = np.arange(k)
        diagonal = R[:, place, place]
        least = SMALLEST * np.abs(diagonal).max(axis=1, initial=0.0, keepdims=True) + 1e-300
        R[:, place, place] = np.where(np.abs(diagonal) < least, least, diagonal)
        for r in range(n if k else 0):
            R[r] = sl.lapack.dtrtri(R[r])[0]
        return Q, R

    def _direction(
        self, point: Point, lacking: tuple[FloatArray, FloatArray, FloatArray], target: float, ahead: Point | None
    ) -> Point:
        """Return the Newton direction towards products equal to `target`, with the corrections of `ahead`."""
        program, some, free = self.program, self.limited, self.bounded
        stationary, rest, tie = lacking
        below = target - point.z * point.s
        room = self._room(point)
        above = np.where(some, target - room * point.t, 0.0)
        if ahead is not None:
            below = below - ahead.z * ahead.s
            above = above + np.where(some, ahead.z * ahead.t, 0.0)
        r = stationary + below / point.z - above / room
        third = tie
        if self.lower is not None:
            distance = np.where(free, point.v - self.lower, 1.0)
            lifted = np.where(free, target - distance * point.lift, 0.0)
            if ahead is not None:
                lifted = lifted - np.where(free, ahead.v * ahead.lift, 0.0)
            third = tie + lifted / distance
        scaled = self.root * r
        known = self.root * self._projected(scaled, rest)
        dv = third - self.F.T @ known
        if len(dv):
            dv = sl.cho_solve((self.cholesky, True), dv, check_finite=False)
        scaled = scaled + self.root * (self.F @ dv)
        dz = self.root * self._projected(scaled, rest)
        dz += self.root * self._least(rest - program.constraints(dz))
        du = self._prices(scaled, rest)
        ds = (below - point.s * dz) / point.z
        dt = np.where(some, (above + point.t * dz) / room, 0.0)
        lift = np.zeros_like(dv)
        if self.lower is not None:
            lift = np.where(free, (lifted - point.lift * dv) / distance, 0.0)
        return Point(dv, dz, du, ds, dt, lift)

    def _projected(self, scaled: FloatArray, rest: FloatArray) -> FloatArray:
        """Return P scaled + Q R⁻ᵀ rest."""
        out = np.empty_like(scaled)
        for group, (Q, inverse) in zip(self.program.groups, self.factors, strict=True):
            x = scaled[group.variables]
            back = np.matmul(rest[group.prices][:, None], inverse)[:, 0] - np.matmul(x[:, None], Q)[:, 0]
            out[group.variables] = x + np.matmul(Q, back[..., None])[..., 0]
        return out

    def _least(self, rest: FloatArray) -> FloatArray:
        """Return Q R⁻ᵀ rest, which corrects A z by `rest`."""
        out = np.zeros(len(self.root))
        for group, (Q, inverse) in zip(self.program.groups, self.factors, strict=True):
            back = np.matmul(rest[group.prices][:, None], inverse)[:, 0]
            out[group.variables] = np.matmul(Q, back[..., None])[..., 0]
        return out

    def _prices(self, scaled: FloatArray, rest: FloatArray) -> FloatArray:
        """Return R⁻¹ (Qᵀ scaled − R⁻ᵀ rest)."""
        out = np.zeros(len(rest))
        for group, (Q, inverse) in zip(self.program.groups, self.factors, strict=True):
            back = np.matmul(scaled[group.variables][:, None], Q)[:, 0]
            back = back - np.matmul(rest[group.prices][:, None], inverse)[:, 0]
            out[group.prices] = np.matmul(inverse, back[..., None])[..., 0]
        return out

    def _longest(self, point: Point, by: Point) -> float:
        """Return the longest step, up to 1, that keeps all products positive."""
        longest = 1.0
        some, free = self.limited, self.bounded
        pairs = [(point.z, by.z), (point.s, by.s), (point.t[some], by.t[some]),
                 (self._room(point)[some], -by.z[some])]  # fmt: skip
        if self.lower is not None:
            pairs += [(point.v[free] - self.lower[free], by.v[free]), (point.lift[free], by.lift[free])]
        for value, change in pairs:
            falls = change < 0
            if falls.any():
                longest = min(longest, float((-value[falls] / change[falls]).min()))
        return longest

    # ------------------------------------------------------------------ feasible masses

    def repaired(self, point: Point) -> FloatArray | None:
        """Return masses near z that satisfy all constraints up to rounding, or None if that fails.

        The correction of least norm in the metric Θ, which hardly moves masses near their limits.
        """
        program, z = self.program, point.z
        for _ in range(REPAIRS):
            left = program.b - program.constraints(z)
            if not np.isfinite(left).all():
                return None
            if np.abs(left).max(initial=0.0) <= ROUNDING * program.size(z):
                return z
            z = np.clip(z + self.root * self._least(left), 0.0, program.upper)
        return None
