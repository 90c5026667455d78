"""Subgradient methods with certificates.

Each iterate is a sum of planes, and therefore also a dual point.

``step_rule="pegasos"`` visits the examples in a new random order in each epoch, in k mini-batches. With the share g = k
Σ_i slope_i a_i of the batch in minus the subgradient of the risk,

    w ← (1 − η) w + η g,      η = 1 / (t₀ + t),      so      w = Σ_r g_r / (t₀ + t)

(Shalev-Shwartz, Singer and Srebro 2007; Ratliff, Bagnell and Zinkevich 2007). After complete epochs no example has
received more than its budget C c_i, so w is dual feasible. Two rules keep the first epochs stable if C is large: t₀ is
chosen so that the first step has about the size of Polyak's, and no step goes further than to where the planes of the
batch predict a risk of 0. The result is the average of all iterates with weights t (t₀ + t) (compare Lacoste-Julien,
Schmidt and Bach 2012; Shamir and Zhang 2013); the same average of the dual points proves the lower bound.

``step_rule="polyak"`` takes one step per sweep along the whole subgradient h = w − Σ_i slope_i a_i, of length

    η = (P(w) − level) / ‖h‖²,      level = max(best dual, best primal − δ),

where δ grows when a step finds better weights and shrinks otherwise (Polyak 1969; Nedić and Bertsekas 2001; used by Do
et al. 2008).

With lower bounds l of the weights, both rules keep the sums u unchanged and use w = max(u, l), as in dual averaging
(Nesterov 2009; Xiao 2010): the dual point remains a sum of planes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.problem import Problem
from maxmargin.solvers.base import Solver
from maxmargin.solvers.primal.dual_points import GAIN, SHARE, PointState, empty_point, lower_bound


class SubgradientState(PointState):
    """Sum of all steps, and what the step sizes depend on.

    Attributes
    ----------
    delay : float
        t₀.
    taken : int
        Number t of steps.
    norm : float
        Σ_t t (t₀ + t).
    drop : float
        δ.
    """

    _counters: ClassVar[tuple[str, ...]] = ("past", "delay", "taken", "norm", "drop")

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None) -> None:
        super().__init__(problem, seed, start)
        self.delay, self.taken, self.norm = 0.0, 0, 0.0
        self.drop = 0.0


@dataclass(frozen=True)
class Subgradient(Solver):
    """Stochastic or Polyak-like subgradient steps (``solver="subgradient"``).

    The rule ``"pegasos"`` follows Shalev-Shwartz, Singer and Srebro 2007, the rule ``"polyak"`` Nedić and Bertsekas
    2001.

    Parameters
    ----------
    step_rule : {"pegasos", "polyak"}, default="pegasos"
        Steps on mini-batches of decreasing length, or one step per sweep whose length depends on the gap.
    batch : int, default=16
        Number of examples in a mini-batch (pegasos).
    calm : float, default=0.1
        Delay t₀ of the step sizes, as a share of ‖g‖² / risk of the first batch; t₀ is at least one epoch (pegasos).
    expand : float, default=1.2
        Factor of δ after a step to better weights (polyak).
    contract : float, default=0.95
        Factor of δ after any other step (polyak).

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.Subgradient(batch=4), tol=0.2).fit(X, Y)
    >>> tagger.certificate_.gap <= 0.2
    True
    """

    name: ClassVar[str] = "subgradient"
    default_max_iter: ClassVar[int] = 100
    lower_bounds: ClassVar[bool] = True

    step_rule: str = "pegasos"
    batch: int = 16
    calm: float = 0.1
    expand: float = 1.2
    contract: float = 0.95

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.step_rule not in ("pegasos", "polyak"):
            raise ValueError(f"Subgradient: step_rule must be 'pegasos' or 'polyak', found {self.step_rule!r}")

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> SubgradientState:
        return SubgradientState(problem, seed, start)

    def planned_bytes(self, problem: Problem) -> float:
        return super().planned_bytes(problem) + 3.0 * 8 * (problem.dim + problem.n_examples)

    def step(self, problem: Problem, state: SubgradientState) -> None:
        if self.step_rule == "polyak":
            self._polyak_step(problem, state)
        else:
            self._epoch(problem, state)

    # ------------------------------------------------------------------ pegasos

    def _epoch(self, problem: Problem, state: SubgradientState) -> None:
        if state.taken == 0 and state.origin.any():
            problem.decode(state.w, problem.everyone)
            state.offer(problem, state.w)
        order = state.rng.permutation(problem.n_examples)
        batches = [order[k : k + self.batch] for k in range(0, len(order), self.batch)]
        for ids in batches:
            if state.taken > 0:
                state.w = problem.objective.raised(state.weights(state.total, 1.0 / (state.delay + state.taken)))
            self._batch_step(problem, state, ids, len(batches))
        average = state.summed()
        state.w = problem.objective.raised(state.weights(average, 1.0 / state.norm))
        state.raise_dual(lower_bound(problem, state.total))
        state.raise_dual(lower_bound(problem, average))
        problem.decode(state.w, problem.everyone)
        state.offer(problem, state.w)

    def _batch_step(self, problem: Problem, state: SubgradientState, ids: IntArray, n_batches: int) -> None:
        problem.decode(state.w, ids)
        objective = replace(problem.objective, weights=problem.objective.weights[ids])
        slopes = n_batches * objective.slopes(problem.hinges[ids])
        risk = n_batches * float(objective.penalties(problem.hinges[ids]).sum())
        hit = slopes > 0.0
        ids, slopes = ids[hit], slopes[hit]
        planes = problem.planes(ids)
        g = planes.weighted_sum(slopes, np.zeros(problem.dim))
        square = float(g @ g)
        if state.taken == 0:
            state.delay = max(float(n_batches), self.calm * square / risk if risk > 0.0 else 0.0)
            state.total[SHARE] = state.delay
        state.taken += 1
        scale = state.delay + state.taken
        if square > risk * scale:
            slopes *= risk * scale / square
        state.grow(ids, planes, slopes, slopes, float(slopes @ problem.values[ids]))
        state.past += state.taken
        state.norm += state.taken * scale

    # ------------------------------------------------------------------ polyak

    def _polyak_step(self, problem: Problem, state: SubgradientState) -> None:
        problem.decode(state.w, problem.everyone)
        before, value = state.best_primal, state.offer(problem, state.w)
        if state.taken == 0:
            state.total[SHARE], state.drop = 1.0, 0.5 * value
        else:
            state.drop *= self.expand if value < before else self.contract
        level = max(state.best_dual, state.best_primal - state.drop)
        target = self._subgradient_point(problem)
        away = state.w - target[: problem.dim]
        square = float(away @ away)
        rate = min(1.0, (value - level) / square) if square > 0.0 else 1.0
        state.total = (1.0 - rate) * state.total + rate * target
        state.w = problem.objective.raised(state.weights(state.total, 1.0))
        state.taken += 1
        state.raise_dual(lower_bound(problem, state.total))

    @staticmethod
    def _subgradient_point(problem: Problem) -> FloatArray:
        """Return the dual point Σ_i slope_i a_i of the planes found last."""
        point, slopes = empty_point(problem), problem.objective.slopes(problem.hinges)
        point[: problem.dim] = problem.aggregate(slopes)
        point[problem.dim : GAIN] = slopes
        point[GAIN] = float(slopes @ problem.values)
        return point
