"""Aggregate planes: a model of the whole penalty from below, and the small quadratic program over its planes.

One plane of every example, taken together at weights v with slopes s_i of the penalties, bounds the risk
R(w) = Σ penalty_i(H_i(w)) for all w:

    R(w) ≥ B − A·w,      A = Σ s_i a_i,      B = R(v) + A·v

(linear slack: s_i = C c_i, so B = Σ C c_i b_i; quadratic slack: s_i = C c_i ξ_i). Plane 0 says R ≥ 0. Around a centre z
with weight ρ ≥ 1 (ρ = 1: no centre), the weights that minimise the model,

    min_w  ½‖w‖² + ½(ρ − 1)‖w − z‖² + max_k B_k − A_k·w,

are w = ((ρ − 1) z + u) / ρ with u = Σ β_k A_k, where β maximises, over the simplex,

    Σ β_k (ρ B_k − (ρ − 1) A_k·z) − ½‖u‖².

Any such β bounds the original objective from below by Σ β B − ½‖u‖². Memory: K rows of d numbers, and their K × K
inner products.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.problem import Problem

#: Examples whose planes are held at once while they are summed.
CHUNK = 4096
#: Relative to the diagonal: damps the Newton step where planes depend on each other.
_DAMPING = 1e-13
#: Relative to the terms of the gradient: what is lost in rounding.
_ROUNDING = 1e-15
#: A vertex is let in when the gradient is even on the support, up to this share of the gap.
_SETTLED = 0.1


def sum_planes(problem: Problem, ids: IntArray, coefficients: FloatArray, out: FloatArray) -> FloatArray:
    """out += Σ coefficients[r] a of ids[r], over the planes found last; they are not kept."""
    for k in range(0, len(ids), CHUNK):
        problem.planes(ids[k : k + CHUNK]).weighted_sum(coefficients[k : k + CHUNK], out)
        problem.examples.forget(())
    return out


class AggregateModel:
    """Up to `most_planes` aggregate planes, the zero plane among them, with weights β on the simplex.

    A new plane takes the place of one that has been inactive for more than `keep_rounds` solves; in a full model, of
    the one inactive for longest; where all are active the two of least weight are merged into their mean, which leaves
    u and Σ β B as they are.
    """

    _saved = ("value", "weight", "active", "gram")

    def __init__(self, dim: int, most_planes: int, keep_rounds: int) -> None:
        self.keep_rounds, self.count, self.rounds = keep_rounds, 1, 0
        self.row = np.zeros((most_planes, dim))
        self.value, self.weight = np.zeros(most_planes), np.zeros(most_planes)
        self.active = np.zeros(most_planes, np.int64)  # last round with weight > 0
        self.gram = np.zeros((most_planes, most_planes))
        self.weight[0] = 1.0

    def insert(self, row: FloatArray, value: float) -> None:
        """Take in the plane value − row·w, with weight 0."""
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
        """Put the mean of two planes, by weight, in the place of the first."""
        n, pair = self.count, [into, gone]
        share = self.weight[pair] / self.weight[pair].sum()
        self.row[into] = share @ self.row[pair]
        self.value[into], self.weight[into] = share @ self.value[pair], self.weight[pair].sum()
        self.gram[into, :n] = self.gram[:n, into] = self.row[:n] @ self.row[into]

    def solve(self, tolerance: float, centre: FloatArray | None = None, rho: float = 1.0) -> FloatArray:
        """Find β; the weights w that minimise the model around the centre, up to the tolerance, come back."""
        n, linear = self.count, rho * self.value[: self.count]
        if centre is not None:
            linear = linear - (rho - 1.0) * (self.row[:n] @ centre)
        self.rounds += 1
        self.weight[:n] = maximise_on_simplex(self.gram[:n, :n], linear, self.weight[:n], rho * tolerance)
        self.active[:n][self.weight[:n] > 0.0] = self.rounds
        u = self.combination()
        return u if centre is None else ((rho - 1.0) * centre + u) / rho

    def combination(self) -> FloatArray:
        """u = Σ β A."""
        return self.weight[: self.count] @ self.row[: self.count]

    def level(self, w: FloatArray) -> float:
        """max_k B_k − A_k·w: what the model says of R(w)."""
        n = self.count
        return float((self.value[:n] - self.row[:n] @ w).max())

    def dual(self, square: float) -> float:
        """Best lower bound of the objective that β proves, with ‖u‖² given: the zero plane may give its share away."""
        gain, used = float(self.weight[: self.count] @ self.value[: self.count]), float(self.weight[1:].sum())
        if gain <= 0.0 or used <= 0.0:
            return 0.0
        t = min(gain / square if square > 0.0 else np.inf, 1.0 / used)
        return t * gain - 0.5 * t * t * square

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to go on, as plain arrays."""
        saved = {name: getattr(self, name) for name in self._saved}
        return {**saved, "row": self.row[: self.count], "rounds": np.array([self.rounds])}

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """The inverse of `arrays`."""
        for name in self._saved:
            getattr(self, name)[:] = arrays[name]
        self.count, self.rounds = len(arrays["row"]), int(arrays["rounds"][0])
        self.row[: self.count] = arrays["row"]


def maximise_on_simplex(
    gram: FloatArray, linear: FloatArray, start: FloatArray, tolerance: float = 0.0
) -> FloatArray:
    """The β that maximises linear·β − ½ β·gram β over β ≥ 0, Σ β = 1, from a feasible start.

    An active set method: move to the optimum of the affine hull of the support, stopping where a weight vanishes, then
    let in the vertex of steepest ascent (Wolfe 1976; Lawson and Hanson 1974). The Newton step is slightly damped and
    repeated, so dependent rows of the Gram matrix do no harm. Ends when the gap max_k g_k − g·β of the gradient g, which
    bounds what is missing, is below `tolerance` or lost in rounding.
    """
    beta, norms, largest = start / start.sum(), np.sqrt(np.diagonal(gram)), float(np.abs(linear).max())
    best, best_gap = beta.copy(), np.inf
    for _ in range(20 + 10 * len(beta)):
        support = np.flatnonzero(beta)
        gradient = linear - gram @ beta
        gap = float(gradient.max() - gradient @ beta)
        if gap < best_gap:
            best, best_gap = beta.copy(), gap
        if gap <= max(tolerance, _ROUNDING * (largest + norms.max() * float(norms @ beta))):
            break
        steepest = int(np.argmax(gradient))
        entering = beta[steepest] == 0.0 and np.ptp(gradient[support]) <= _SETTLED * gap
        _ascend(gram, gradient, beta, np.append(support, steepest) if entering else support)
        if entering and beta[steepest] == 0.0:  # a gain that is lost in rounding
            break
    return best


def _ascend(gram: FloatArray, gradient: FloatArray, beta: FloatArray, support: IntArray) -> None:
    """Newton steps on the support, each cut where a weight vanishes, until one is not."""
    while len(support) > 1:
        step = _newton_step(gram[np.ix_(support, support)], gradient[support])
        present = beta[support]
        falling = present + step <= 0.0
        if not falling.any():
            beta[support] = present + step
            break
        lengths = np.full(len(step), np.inf)
        lengths[falling] = present[falling] / -step[falling]
        first = int(np.argmin(lengths))
        moved = np.maximum(present + lengths[first] * step, 0.0)
        moved[first] = 0.0
        gradient = gradient - gram[:, support] @ (moved - present)
        beta[support] = moved
        support = support[moved > 0.0]
    beta /= beta.sum()


def _newton_step(gram: FloatArray, gradient: FloatArray) -> FloatArray:
    """p with Σ p = 0 that maximises gradient·p − ½ p·gram p, damped.

    On Σ p = 0 a constant added to the matrix changes nothing; it makes the matrix definite for independent planes.
    """
    diagonal = np.diagonal(gram)
    constant = float(diagonal.max())
    matrix = gram + (constant if constant > 0.0 else 1.0)
    matrix[np.diag_indices_from(matrix)] += _DAMPING * np.diagonal(matrix)
    sides = np.stack([gradient, np.ones_like(gradient)], axis=1)
    try:
        free, ones = scipy.linalg.cho_solve(scipy.linalg.cho_factor(matrix, check_finite=False), sides).T
    except scipy.linalg.LinAlgError:
        free, ones = np.linalg.lstsq(matrix, sides, rcond=_DAMPING)[0].T
    return free - ones * (free.sum() / ones.sum())
