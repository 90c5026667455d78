"""Aggregate planes, which model the risk from below.

One plane of every example, combined at weights v with slopes s_i of the penalties, bounds the risk R(w) = Σ
penalty_i(H_i(w)) for all w:

    R(w) ≥ B − A·w,      A = Σ s_i a_i,      B = R(v) + A·v

(linear slack: s_i = C c_i, so B = Σ C c_i b_i; quadratic slack: s_i = C c_i ξ_i). Plane 0 states R ≥ 0. Around a centre
z with weight ρ ≥ 1 (ρ = 1: no centre), the weights that minimise the model,

    min_w  ½‖w‖² + ½(ρ − 1)‖w − z‖² + max_k B_k − A_k·w,

are w = ((ρ − 1) z + u) / ρ with u = Σ β_k A_k, where β maximises, over the simplex,

    Σ β_k (ρ B_k − (ρ − 1) A_k·z) − ½‖u‖².

Any such β bounds the original objective from below by Σ β B − ½‖u‖². With lower bounds l of the weights, w is max(((ρ −
1) z + u) / ρ, l), and the lower bound on the objective is Σ β B − h(u) (`core.lower_bounds`).

Memory: K rows of d numbers, and their K × K inner products.
"""

from __future__ import annotations

import numpy as np

from maxmargin._base.jit import jit
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.lower_bounds import best_step, conjugate
from maxmargin.core.objective import half_square
from maxmargin.solvers.saved_states import check_model

#: Damping of the Newton step, relative to the diagonal, for planes that depend on each other.
_DAMPING = 1e-13
#: Rounding error of the gradient, relative to its terms.
_ROUNDING = 1e-15
#: A vertex is added when the gradient is constant on the support, up to this share of the gap.
_SETTLED = 0.1
#: Maximum number of times that the set of weights at their bounds changes in one solve; the next solve continues from
#: there.
_MOST_TURNS = 30
#: Share of the tolerance for the program with fixed weights; the rest is for the set of fixed weights.
_INNER = 0.1
#: Change of β below which the change is rounding error.
_STILL = 1e-15


class AggregateModel:
    """Up to `most_planes` aggregate planes with weights β on the simplex.

    The zero plane is one of them. A new plane replaces one that has been inactive for more than `keep_rounds` solves.
    In a full model it replaces the plane that has been inactive for longest; if all are active, the two planes of least
    weight are merged into their mean, which does not change u and Σ β B.

    Parameters
    ----------
    dim : int
        Number of weights.
    most_planes : int
        Maximum number of planes.
    keep_rounds : int
        Number of solves after which an inactive plane may be replaced.
    """

    _saved = ("value", "weight", "active", "gram")

    def __init__(self, dim: int, most_planes: int, keep_rounds: int) -> None:
        self.keep_rounds, self.count, self.rounds = keep_rounds, 1, 0
        self.row = np.zeros((most_planes, dim))
        self.value, self.weight = np.zeros(most_planes), np.zeros(most_planes)
        self.active = np.zeros(most_planes, np.int64)  # the last round in which the weight was positive
        self.gram = np.zeros((most_planes, most_planes))
        self.weight[0] = 1.0
        self.sum: FloatArray = np.zeros(dim)  # u of the last solve

    def insert(self, row: FloatArray, value: float) -> None:
        """Add the plane value − row·w, with weight 0."""
        k = self._free_slot()
        self.row[k], self.value[k], self.weight[k], self.active[k] = row, value, 0.0, self.rounds
        self.count = max(self.count, k + 1)
        self.gram[k, : self.count] = self.gram[: self.count, k] = self.row[: self.count] @ row

    def _free_slot(self) -> int:
        n, full = self.count, self.count == len(self.row)
        idle = np.flatnonzero(self.weight[1:n] == 0.0) + 1
        if len(idle):
            oldest = int(idle[np.argmin(self.active[idle])])
            if full or self.active[oldest] < self.rounds - self.keep_rounds:
                return oldest
        if not full:
            return n
        into, gone = (int(k) + 1 for k in np.argsort(self.weight[1:n], kind="stable")[:2])
        self._merge(into, gone)
        return gone

    def _merge(self, into: int, gone: int) -> None:
        """Replace the first of two planes by their weighted mean."""
        n, pair = self.count, [into, gone]
        share = self.weight[pair] / self.weight[pair].sum()
        self.row[into] = share @ self.row[pair]
        self.value[into], self.weight[into] = share @ self.value[pair], self.weight[pair].sum()
        self.gram[into, :n] = self.gram[:n, into] = self.row[:n] @ self.row[into]

    def solve(
        self, tolerance: float, centre: FloatArray | None = None, rho: float = 1.0, lower: FloatArray | None = None
    ) -> FloatArray:
        """Find β and return the weights that minimise the model around the centre, up to the tolerance."""
        n, linear = self.count, rho * self.value[: self.count]
        self.rounds += 1
        if lower is not None:
            pull = np.zeros(self.row.shape[1]) if centre is None else (rho - 1.0) * centre
            self.weight[:n] = self._weights_above(tolerance, pull, rho, lower)
        else:
            if centre is not None:
                linear = linear - (rho - 1.0) * (self.row[:n] @ centre)
            self.weight[:n] = maximise_on_simplex(self.gram, linear, self.weight[:n], rho * tolerance)
        self.active[:n][self.weight[:n] > 0.0] = self.rounds
        u = self.sum = self.combination()
        w = u if centre is None else ((rho - 1.0) * centre + u) / rho
        return w if lower is None else np.maximum(w, lower)

    def _weights_above(self, tolerance: float, pull: FloatArray, rho: float, lower: FloatArray) -> FloatArray:
        """Return the β of weights max((pull + u) / ρ, l).

        If the weights at their bounds are fixed, the others are free, and the program is again one over the simplex.
        Its solution is a direction in which the dual increases; a line search determines the step.
        """
        n, rows, value = self.count, self.row[: self.count], self.value[: self.count]
        beta = self.weight[:n] / self.weight[:n].sum()
        for _ in range(_MOST_TURNS):
            free = (pull + beta @ rows) / rho
            gradient = value - rows @ np.maximum(free, lower)
            if gradient.max() - gradient @ beta <= tolerance:
                break
            fixed = free <= lower
            held, loose = rows[:, fixed], rows[:, ~fixed]
            gram = loose @ loose.T if 2 * held.shape[1] > len(lower) else self.gram[:n, :n] - held @ held.T
            linear = rho * (value - held @ lower[fixed]) - loose @ pull[~fixed]
            change = maximise_on_simplex(gram, linear, beta, rho * _INNER * tolerance) - beta
            t = best_step(float(change @ value) / rho, 0.0, free, (change @ rows) / rho, lower, 1.0)
            if t * float(np.abs(change).max()) <= _STILL:
                break
            beta = np.maximum(beta + t * change, 0.0)
            beta /= beta.sum()
        return beta

    def combination(self) -> FloatArray:
        """Return u = Σ β A."""
        return self.weight[: self.count] @ self.row[: self.count]

    def level(self, w: FloatArray) -> float:
        """Return max_k B_k − A_k·w, the model's value of R(w)."""
        n = self.count
        return float((self.value[:n] - self.row[:n] @ w).max())

    def dual(self, u: FloatArray, lower: FloatArray | None = None) -> float:
        """Return the best lower bound on the objective that β proves.

        The share of the zero plane may be given to the other planes.
        """
        gain, used = float(self.weight[: self.count] @ self.value[: self.count]), float(self.weight[1:].sum())
        if lower is not None:
            t = best_step(gain, 0.0, np.zeros_like(u), u, lower, 1.0 / used) if used > 0.0 else 0.0
            return t * gain - conjugate(t * u, lower)
        square = float(u @ u)
        if gain <= 0.0 or used <= 0.0:
            return 0.0
        t = min(gain / square if square > 0.0 else np.inf, 1.0 / used)
        return t * gain - half_square(t, square)

    def take_over(self, other: AggregateModel, factor: float) -> None:
        """Hold the planes of another model of the same size for a risk that is `factor` times as large."""
        n = self.count = other.count
        self.row[:n], self.value[:n] = factor * other.row[:n], factor * other.value[:n]
        self.gram[:n, :n] = factor * factor * other.gram[:n, :n]
        self.weight[:n], self.active[:n], self.rounds = other.weight[:n], other.active[:n], other.rounds
        self.sum = factor * other.sum

    def arrays(self) -> dict[str, AnyArray]:
        """Return all that is needed to continue, as plain arrays."""
        saved = {name: getattr(self, name) for name in self._saved}
        return {**saved, "row": self.row[: self.count], "rounds": np.array([self.rounds])}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        check_model(self, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Restore the saved arrays."""
        for name in self._saved:
            getattr(self, name)[:] = arrays[name]
        self.count, self.rounds = len(arrays["row"]), int(arrays["rounds"][0])
        self.row[: self.count] = arrays["row"]


@jit
def maximise_on_simplex(gram, linear, start, tolerance):
    """Return the β that maximises linear·β − ½ β·gram β over β ≥ 0, Σ β = 1, from a feasible start.

    An active set method: move to the optimum over the affine hull of the support, stopping where a weight vanishes,
    then add the vertex of steepest ascent (Wolfe 1976; Lawson and Hanson 1974). The Newton step is slightly damped and
    repeated, so dependent rows of the Gram matrix are harmless. The method ends when the gap max_k g_k − g·β of
    the gradient g, which bounds the distance to the maximum, is below `tolerance` or lost in rounding. `gram` may be
    larger than the other arrays.
    """
    n = len(linear)
    beta, gradient, support = start / start.sum(), np.empty(n), np.empty(n, np.int64)
    factor, step, ones = np.empty((n, n)), np.empty(n), np.empty(n)
    longest, largest = 0.0, 0.0
    for k in range(n):
        longest, largest = max(longest, np.sqrt(gram[k, k])), max(largest, abs(linear[k]))
    best, best_gap = beta.copy(), np.inf
    for _ in range(20 + 10 * n):
        size, mean, length = 0, 0.0, 0.0
        for k in range(n):
            if beta[k] > 0.0:
                support[size] = k
                size += 1
        steepest, low = 0, np.inf
        for k in range(n):
            gradient[k] = linear[k]
            for j in range(size):
                gradient[k] -= gram[k, support[j]] * beta[support[j]]
            if gradient[k] > gradient[steepest]:
                steepest = k
            if beta[k] > 0.0:
                mean += beta[k] * gradient[k]
                length += beta[k] * np.sqrt(gram[k, k])
                low = min(low, gradient[k])
        gap = gradient[steepest] - mean
        if gap < best_gap:
            best_gap = gap
            best[:] = beta
        if gap <= max(tolerance, _ROUNDING * (largest + longest * length)):
            break
        entering = False
        if beta[steepest] == 0.0:
            high = low
            for j in range(size):
                high = max(high, gradient[support[j]])
            entering = high - low <= _SETTLED * gap
        if entering:
            support[size] = steepest
            size += 1
        while size > 1:  # Newton steps, each shortened to where a weight vanishes, until one is not shortened
            newton_step(gram, gradient, support, size, factor, step, ones)
            share, first = 1.0, -1
            for j in range(size):
                present = beta[support[j]]
                if present + step[j] <= 0.0 and present <= -share * step[j]:
                    share, first = present / -step[j], j
            for j in range(size):
                beta[support[j]] = max(0.0, beta[support[j]] + share * step[j])
            if first < 0:
                break
            beta[support[first]] = 0.0
            for k in range(n):
                for j in range(size):
                    gradient[k] -= share * step[j] * gram[k, support[j]]
            left = 0
            for j in range(size):
                if beta[support[j]] > 0.0:
                    support[left] = support[j]
                    left += 1
            size = left
        beta /= beta.sum()
        if entering and beta[steepest] == 0.0:  # a gain that is lost in rounding
            break
    return best


@jit
def newton_step(gram, gradient, support, size, factor, step, ones):
    """Write to `step` the p on the support with Σ p = 0 that maximises gradient·p − ½ p·gram p.

    The system is damped and solved by Cholesky factorisation. If Σ p = 0, a constant added to the matrix does not
    change the result; it makes the matrix definite for independent planes.
    """
    constant = 0.0
    for j in range(size):
        constant = max(constant, gram[support[j], support[j]])
    if constant == 0.0:
        constant = 1.0
    for i in range(size):
        for j in range(i + 1):
            entry = gram[support[i], support[j]] + constant
            s = 0.0
            for m in range(j):
                s += factor[i, m] * factor[j, m]
            if i == j:
                factor[i, i] = np.sqrt(max((1.0 + _DAMPING) * entry - s, _DAMPING * entry))
            else:
                factor[i, j] = (entry - s) / factor[j, j]
        free, one = gradient[support[i]], 1.0
        for m in range(i):
            free -= factor[i, m] * step[m]
            one -= factor[i, m] * ones[m]
        step[i], ones[i] = free / factor[i, i], one / factor[i, i]
    total, units = 0.0, 0.0
    for i in range(size - 1, -1, -1):
        step[i] /= factor[i, i]
        ones[i] /= factor[i, i]
        for m in range(i):
            step[m] -= factor[i, m] * step[i]
            ones[m] -= factor[i, m] * ones[i]
        total += step[i]
        units += ones[i]
    for i in range(size):
        step[i] -= ones[i] * total / units
