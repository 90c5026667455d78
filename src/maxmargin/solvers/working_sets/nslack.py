"""n-slack cutting planes: algorithm 1 of Tsochantaridis et al. 2004, section 4.

Each example i has a working set S_i of outputs. In a pass over the examples, the most violated output ŷ at the current
weights w = Σ α a is added to S_i if

    H_i(ŷ) > ξ_i + ε,      ξ_i = max(0, max_{y ∈ S_i} H_i(y)),

and the dual is optimised over S_i at once, and over all of S from time to time. The algorithm ends when no output is
violated by more than ε: then the slacks ξ_i + ε are feasible, and their objective is at most C Σ c_i ε above the
optimum (linear slack), plus the remaining gap over S. The number of outputs added is polynomial, however many outputs
there are. Zero-one margins, slack and margin re-scaling, linear and quadratic slack follow from bound and objective; C
= inf is the hard margin SVM₀.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.problem import Problem
from maxmargin.solvers.base import ComposedState, Solver
from maxmargin.solvers.hard_margin import BUDGET_FACTOR, GrowingBudgets, check_separable, feasible_scale
from maxmargin.solvers.held_planes import Exact, Round, run_first, solve_together
from maxmargin.solvers.saved_states import check_array, check_within
from maxmargin.solvers.working_sets.sets import Floor, WorkingSets

#: Number of slots per example; planes are never dropped.
NO_LIMIT = 1 << 30


class NSlackState(ComposedState):
    """Weights and working sets.

    Attributes
    ----------
    sets : WorkingSets
        The outputs in S with their dual values.
    violated : ndarray of int64
        The examples with an output violated by more than ε, at the last check.
    restricted_gap : float
        Upper bound on what the dual over S can still gain.
    budgets : GrowingBudgets
        Start of the growing budgets of a hard margin.
    largest : float
        The largest value b of a plane found so far.
    """

    _parts: ClassVar[tuple[str, ...]] = ("sets", "budgets", "floor")
    _saved: ClassVar[tuple[str, ...]] = ("violated",)
    _counters: ClassVar[tuple[str, ...]] = (
        "clock", "restricted_gap", "largest", "marked_gap", "marked_at",
    )  # fmt: skip

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None) -> None:
        super().__init__(problem, seed, start)
        self.sets, self.violated = WorkingSets(problem, NO_LIMIT), problem.everyone
        self.clock, self.restricted_gap, self.largest = 0, 0.0, 0.0
        self.budgets, self.floor = GrowingBudgets(), Floor(problem)
        self.marked_gap, self.marked_at = np.inf, 0  # see NSlack.patience

    @property
    def n_constraints(self) -> int:
        """Number of outputs in all working sets."""
        return int(self.sets.count.sum()) - len(self.sets.count)

    def slacks(self, ids: IntArray) -> FloatArray:
        """Return ξ_i over the working sets of ids, at the current weights."""
        return self.sets.hinges(ids, self.w)

    def decode(self, problem: Problem, ids: IntArray) -> None:
        """Find the most violated outputs of ids at the current weights."""
        problem.decode(self.w, ids)
        self.largest = max(self.largest, float(problem.values[ids].max(initial=0.0)))

    def begin_at_solution(self) -> None:
        """Set the weights to those of the dual values."""
        self.w = self.floor.raised(self.sets.combination())

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        everyone, violated = self.violated, arrays.get("violated", self.violated)
        check_array("violated", violated, everyone, (None,))
        check_within("violated", violated, 0, len(self.sets.count) - 1)
        check_within("violated", np.diff(violated), 1, len(everyone))
        super().check_saved({**arrays, "violated": everyone} if "violated" in arrays else arrays)

    def support(self, problem: Problem) -> dict[str, Any]:
        return self.sets.support(problem)


@dataclass(frozen=True)
class AllOfS(Round):
    """Solution for all of S at once (`held_planes`).

    It is used if steps on one S_i undo those on another.

    Attributes
    ----------
    share : float
        Share of the restricted gap to which S is solved.
    most_cuts : int
        Maximum number of aggregate planes.
    """

    name = "held"

    share: float
    most_cuts: int

    def applies(self, problem: Problem, state: NSlackState) -> bool:
        return not problem.objective.hard

    def run(self, problem: Problem, state: NSlackState) -> bool:
        solve_together(problem, state.sets, state.w, state.w, 1.0, self.share, self.most_cuts)
        state.begin_at_solution()
        return True


@dataclass(frozen=True)
class NSlack(Solver):
    """n-slack cutting planes (``solver="nslack"``).

    Algorithm 1 of Tsochantaridis et al. 2004. A step is a pass over the examples that the last sweep found violated (in
    the first step: over all examples), followed by a sweep over all examples at the final weights of the pass. The
    sweep gives the certificate and the stopping criterion.

    Parameters
    ----------
    epsilon : float, default=3e-4
        Tolerated violation, in units of the loss, or of the largest loss if that is below 1. In the publication it is
        absolute, which for very small losses would accept w = 0.
    batch : int, default=8
        Number of examples whose argmaxes are computed at the same weights. Outputs are still added one by one, each
        only if it is still violated; 1 is the published order, at the cost of one call per example.
    full_every : int, default=100
        Number of added outputs after which all of S is optimised; 1 in the publication.
    moves : int, default=10
        Maximum number of moves of mass in one step on an S_i.
    quick_passes : int, default=5
        Maximum number of passes over S during a pass over the examples.
    most_passes : int, default=200
        Maximum number of passes over S at the end of a pass over the examples.
    rounds_together : int, default=3
        Maximum number of solutions for all of S at once (`held_planes`). They are used after `most_passes` passes if
        the relative gap is still above `far`, or has not decreased by a third in `patience` steps.
    far : float, default=0.1
        Relative gap above which they are used.
    patience : int, default=8
        Number of steps without sufficient progress after which they are used.
    most_cuts : int, default=100
        Maximum number of aggregate planes of a solution for all of S.
    inner_gap : float, default=0.1
        Share of the current gap to which S is optimised as long as outputs are violated.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.NSlack(batch=1)).fit(X, Y)  # Algorithm 1, example by example
    >>> tagger.certificate_.gap <= tagger.tol
    True
    """

    name: ClassVar[str] = "nslack"
    lowest: ClassVar[Mapping[str, int | float]] = {"rounds_together": 0}
    hard_margin: ClassVar[bool] = True
    lower_bounds: ClassVar[bool] = True
    stricter: ClassVar[str] = "lower the epsilon of NSlack"

    epsilon: float = 3e-4
    batch: int = 8
    full_every: int = 100
    moves: int = 10
    quick_passes: int = 5
    most_passes: int = 200
    rounds_together: int = 3
    far: float = 0.1
    patience: int = 8
    most_cuts: int = 100
    inner_gap: float = 0.1

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> NSlackState:
        return NSlackState(problem, seed, start)

    def planned_bytes(self, problem: Problem) -> float:
        planes = 4.0 * float(problem.examples.plane_entries.mean()) * problem.n_examples
        return super().planned_bytes(problem) + (4 + np.dtype(problem.entry_type).itemsize) * planes

    def step(self, problem: Problem, state: NSlackState) -> None:
        if state.clock == 0 and state.w.any():
            self._begin_from_weights(problem, state)
        state.clock += 1
        self._visit(problem, state)
        grown = False
        if not (problem.objective.hard and Exact().run(problem, state)):
            self._optimise(problem, state, self.most_passes)
            grown = problem.objective.hard and self._grow(problem, state)
        if state.clock % 8 == 0:
            state.sets.release_outputs(problem)
        self._check(problem, state)
        solved = state.restricted_gap <= self._worth(state)
        state.finished = solved and not grown and len(state.violated) == 0

    def _begin_from_weights(self, problem: Problem, state: NSlackState) -> None:
        """Add the outputs that are most violated at the given weights (warm start).

        The weights start from 0, because no plane has a dual value yet.
        """
        state.decode(problem, problem.everyone)
        if not problem.objective.hard:
            state.offer(problem, state.w)
        state.w = state.floor.raised(np.zeros(problem.dim))
        self._insert(problem, state, np.flatnonzero(problem.keys))

    def _visit(self, problem: Problem, state: NSlackState) -> None:
        """Perform lines 4 to 12 of the algorithm for the examples that were violated."""
        added = 0
        for k in range(0, len(state.violated), self.batch):
            ids = state.violated[k : k + self.batch]
            state.decode(problem, ids)
            before = state.n_constraints
            self._insert(problem, state, ids[problem.hinges[ids] > state.slacks(ids) + self._tolerated(state)])
            added += state.n_constraints - before
            if added >= self.full_every:
                self._optimise(problem, state, self.quick_passes)
                added = 0

    def _insert(self, problem: Problem, state: NSlackState, ids: IntArray) -> None:
        """Add the outputs found for ids, each with a step on its S_i."""
        if len(ids) == 0:
            return
        sets, unbounded = state.sets, problem.objective.hard and state.budgets.first == 0.0
        slot = sets.match(ids, problem.keys, 0)
        planes, moves = problem.planes(ids[slot < 0]), 0 if unbounded else self.moves
        sets.insert(ids, slot, planes, problem, state.w, 1.0, state.clock, moves)
        state.floor.settle(state.w)
        norm = sets.norm_per_value(ids, by_alpha=False) if unbounded else np.inf
        if np.isfinite(norm):
            state.budgets.begin(problem, sets, 1.0 / max(norm, 1e-12))

    def _optimise(self, problem: Problem, state: NSlackState, most_passes: int) -> None:
        """Pass over S until the restricted gap is small enough.

        That is the value of ε in every margin or, as long as outputs are violated, a share of the gap.
        """
        n = problem.n_examples
        for k in range(most_passes):
            skip_below = 0.1 * state.restricted_gap / n if k % 5 else -1.0
            self._pass(state, state.rng.permutation(n), skip_below, self.moves)
            if self._optimal(problem, state) or problem.out_of_time:
                return
        for _ in range(self.rounds_together if self._stuck(problem, state) and most_passes == self.most_passes else 0):
            self._optimise_together(problem, state)
            if self._optimal(problem, state):
                return

    def _stuck(self, problem: Problem, state: NSlackState) -> bool:
        """Return whether the gap is large, or has not decreased by a third in `patience` steps."""
        gap = state.best_primal - state.best_dual
        if gap < 0.67 * state.marked_gap or not np.isfinite(gap):
            state.marked_gap, state.marked_at = gap, state.clock
        patient = problem.searches or state.clock - state.marked_at < self.patience
        return gap > self.far * state.best_primal or not patient

    def _optimal(self, problem: Problem, state: NSlackState) -> bool:
        """Return whether S is solved well enough.

        The weights change during a pass, so the restricted gap is computed again at fixed weights.
        """
        if state.restricted_gap <= self._needed(state):
            self._pass(state, problem.everyone, -1.0, 0)
        return state.restricted_gap <= self._needed(state)

    def _optimise_together(self, problem: Problem, state: NSlackState) -> None:
        """Solve for all of S at once, if steps on one S_i undo those on another."""
        if problem.objective.hard:
            return
        share = 0.3 * self._needed(state) / max(state.restricted_gap, 1e-300)
        run_first((Exact(), AllOfS(share, self.most_cuts)), problem, state)
        self._pass(state, problem.everyone, -1.0, 0)

    @staticmethod
    def _pass(state: NSlackState, order: IntArray, skip_below: float, moves: int) -> None:
        state.restricted_gap, _ = state.sets.sweep(order, skip_below, 0, state.w, 1.0, state.clock, moves)
        state.floor.settle(state.w)

    @staticmethod
    def _grow(problem: Problem, state: NSlackState) -> bool:
        """Increase the budgets of a hard margin if they are used up or if a multiple of α is far better.

        If no weights satisfy all margins, that is always the case, and `NotSeparableError` is raised soon.
        """
        if state.clock >= 4 and state.clock & (state.clock - 1) == 0:
            check_separable(problem, state, state.sets)
        sets, u = state.sets, state.floor.free(state.w)
        multiple = problem.objective.best_multiple(sets.gain(), u, sets.masses())
        far = multiple > 2.0
        grown = state.budgets.grow(problem, sets, at_once=far)
        if far:
            factor = min(multiple, BUDGET_FACTOR)
            sets.scale_alpha(factor)
            state.w = state.floor.raised(factor * u)
        return grown

    def _tolerated(self, state: NSlackState) -> float:
        """Return ε, relative to the largest loss if that is below 1."""
        return self.epsilon * min(1.0, state.largest)

    def _worth(self, state: NSlackState) -> float:
        """Return the value ε Σ α of ε in every margin."""
        return self._tolerated(state) * float(state.sets.masses().sum())

    def _needed(self, state: NSlackState) -> float:
        if len(state.violated) == 0:
            return self._worth(state)
        dual = state.sets.gain() - state.floor.conjugate(state.w)
        return max(self._worth(state), self.inner_gap * min(state.best_primal - state.best_dual, dual))

    def _check(self, problem: Problem, state: NSlackState) -> None:
        """Decode all examples at fixed weights for the certificate and the violated examples."""
        objective, sets = problem.objective, state.sets
        u = sets.combination()
        state.w = state.floor.raised(u)
        state.decode(problem, problem.everyone)
        state.raise_dual(objective.dual(sets.gain(), u, sets.masses()))
        if objective.hard:
            feasible_scale(problem, state, state.sets.largest_values())
        else:
            state.sets.raise_hinges(problem, state.w)
            state.offer(problem, state.w)
        state.violated = np.flatnonzero(problem.hinges > state.slacks(problem.everyone) + self._tolerated(state))
