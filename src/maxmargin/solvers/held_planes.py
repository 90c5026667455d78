"""Solution of the dual over all held planes, and rounds: alternative ways to improve the state of a solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.problem import Problem
from maxmargin.solvers.cutting.bundle import ProximalBundle
from maxmargin.solvers.few_planes import solve_few
from maxmargin.solvers.hard_margin import solve_exactly
from maxmargin.solvers.working_sets.sets import WorkingSets


class HeldProblem:
    """Objective over the held planes around a centre, as a `Decodable` for `ProximalBundle`.

    ½‖w‖² + ½(ρ − 1)‖w − z‖² + R(w) is, up to a constant, ½‖v‖² + R(c + v/√ρ) with c = (1 − 1/ρ) z: a problem in v.
    Lower bounds l of w are √ρ (l − c) for v.

    Parameters
    ----------
    problem : Problem
        The original problem.
    sets : WorkingSets
        The held planes.
    centre : ndarray of shape (dim,)
        z.
    rho : float
        ρ.
    """

    def __init__(self, problem: Problem, sets: WorkingSets, centre: FloatArray, rho: float) -> None:
        self.dim, self.n_examples = problem.dim, problem.n_examples
        self.everyone, self.sets = problem.everyone, sets
        self.centre, self.root = (1.0 - 1.0 / rho) * centre, float(np.sqrt(rho))
        self.objective, self.raised = problem.objective, problem.objective.raised
        if problem.objective.lower is not None:
            self.objective = replace(problem.objective, lower=self.root * (problem.objective.lower - self.centre))
        self.hinges: FloatArray = np.zeros(self.n_examples)
        self.slots: IntArray = np.zeros(self.n_examples, np.int32)
        self.choices: list[tuple[IntArray, FloatArray]] = []
        self.oracle_calls, self.sum_errors = 0, 0.0

    def weights(self, v: FloatArray) -> FloatArray:
        """Return w for v."""
        return self.raised(self.centre + v / self.root)

    def decode(self, v: FloatArray, ids: IntArray) -> None:
        """Find the most violated held plane of each example in ids, at v."""
        self.hinges, self.slots = self.sets.best_held(ids, self.weights(v))

    def aggregate(self, slopes: FloatArray) -> FloatArray:
        """Return Σ slopes a over the planes chosen last, and store the choice."""
        self.choices.append((self.slots, slopes))
        return self.sets.sum_of(self.slots, slopes) / self.root

    def primal(self, v: FloatArray) -> tuple[float, float]:
        value = self.objective.primal(v, self.hinges)
        return value, value

    def present(self) -> tuple[FloatArray, float]:
        """Return the current dual values as one aggregate plane."""
        u, sets = self.sets.combination(), self.sets
        gain = sets.gain() - 0.5 * float((sets.ridge * sets.masses() ** 2).sum())
        return u / self.root, gain - float(u @ self.centre)


def solve_together(
    problem: Problem, sets: WorkingSets, start: FloatArray, centre: FloatArray, rho: float, share: float, most_cuts: int
) -> FloatArray:
    """Set the dual values of the held planes to a solution around the centre and return its weights.

    Parameters
    ----------
    problem : Problem
        The problem.
    sets : WorkingSets
        The held planes; their dual values are the starting point.
    start : ndarray of shape (dim,)
        Initial weights.
    centre : ndarray of shape (dim,)
        Proximal centre z.
    rho : float
        Strength ρ of the proximal term.
    share : float
        The method stops when the gap is at most this share of the initial gap.
    most_cuts : int
        Maximum number of passes over the planes.
    """
    held = HeldProblem(problem, sets, centre, rho)
    bundle = ProximalBundle(most_planes=most_cuts + 3, keep_rounds=most_cuts)
    state = bundle.init(held, 0, held.root * (start - held.centre))
    state.model.insert(*held.present())
    first = np.inf
    for _ in range(most_cuts):
        if problem.out_of_time and np.isfinite(first):
            break
        bundle.step(held, state)
        gap = state.best_primal - state.best_dual
        first = min(first, gap) if np.isinf(first) else first
        if gap <= share * first:
            break
    weight = state.model.weight
    held.sets.replace_alpha(
        float(weight[1]), [(at, beta * slopes) for (at, slopes), beta in zip(held.choices, weight[2:], strict=False)]
    )
    return held.weights(state.best_w)


class Round(ABC):
    """One way to improve a state."""

    #: Name in ``history_``.
    name: ClassVar[str]

    @abstractmethod
    def applies(self, problem: Problem, state: Any) -> bool:
        """Return whether the round is worth trying, at little cost and without changing the state."""

    @abstractmethod
    def run(self, problem: Problem, state: Any) -> bool:
        """Improve the state and return True, or leave the state unchanged and return False."""


class Exact(Round):
    """Exact solution for the held planes, if they are few.

    A hard margin that no weights satisfy raises `NotSeparableError`. The state has working sets, and its method
    `begin_at_solution` sets the weights to those of the dual values.
    """

    name = "exact"

    def applies(self, problem: Problem, state: Any) -> bool:
        return True

    def run(self, problem: Problem, state: Any) -> bool:
        solve = solve_exactly if problem.objective.hard else solve_few
        if not solve(problem, state, state.sets):
            return False
        state.begin_at_solution()
        return True


def run_first(rounds: Iterable[Round], problem: Problem, state: Any) -> str:
    """Run the first round that applies and does not decline; return its name, or an empty string."""
    return next((each.name for each in rounds if each.applies(problem, state) and each.run(problem, state)), "")
