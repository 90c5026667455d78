"""Proximal working sets, the default solver: dual block-coordinate ascent inside a proximal-point iteration.

The regulariser ½‖w‖² is replaced by ½‖w‖² + ½(ρ − 1)‖w − z‖² around a centre z, which moves to w every few passes over
the cached planes. With ρ > 1 the blocks of the dual hardly disturb each other, so many steps can be taken between two
rounds of argmaxes; all the while

    ρ w = (ρ − 1) z + u,      u = Σ α a                                                                          (*)

so that u is never stored, and the gap of the original problem splits into a part for the centre and one for the blocks,

    P − D = ½‖u − w‖² + Σ_i (penalty_i − Σ_j α_ij (b_ij − a_ij·w)),

which ρ keeps in balance. Cached planes are worked on until that costs about as much as the argmaxes did, counted in
operations and never by the clock, so that runs repeat bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import FloatArray, IntArray
from maxmargin.bounds.references import References
from maxmargin.core.codes import TRUTH
from maxmargin.core.problem import Problem
from maxmargin.solvers._proximal_state import LEAST_RHO, ProximalState
from maxmargin.solvers.base import Solver, State
from maxmargin.solvers.few_planes import solve_few
from maxmargin.solvers.hard_margin import check_separable, feasible_scale, grow_budgets, solve_exactly
from maxmargin.solvers.together import solve_together
from maxmargin.solvers.working_sets import PLANES_AT_FIRST

#: Times by which ρ may rise when all examples are worked on together.
LARGEST_JUMP = 1e6
#: By this share an objective may be above another one and count as the same.
STANDSTILL = 1e-9


@dataclass(frozen=True)
class ProximalWorkingSets(Solver):
    """Working sets with a proximal centre (``solver="auto"``).

    Parameters
    ----------
    first_sweeps : sweeps in mini-batches, which reach a useful point sooner than full sweeps from w = 0.
    smallest_batch, fewest_batches, batch_operations : a mini-batch has at least so many examples, and as many as it
        takes for its argmaxes to be worth the call, as long as a sweep has at least so many mini-batches.
    start_factor : share of the budget that a first step should move; sets the first ρ.
    large : C is large from so many times the budget that a first step moves; then budgets begin there, and grow.
    balance : ρ is divided or multiplied by `balance_step` to keep proximal gap / block gap between these; where the
        proximal gap is many times too large, it is divided by the eighth root of that.
    moves : moves of mass in one block step.
    keep_rounds : rounds for which an inactive plane is kept.
    most_slots : planes per example, the truth included.
    inner_gap : cached planes are left when the restricted gap is below this share of what it was (twice that where all
        planes found last were new: what is held says little then about what the next argmaxes find) …
    cheap_share : … or when they have cost this many times the operations of decoding and inserting …
    most_passes : … or after so many passes, times the root of the effort.
    vector_speed : multiply-adds of a decoder that take as long as one nonzero of a plane, by which operations of both
        kinds are counted together.
    round_operations, pass_operations : what a round and a pass cost beside their nonzeros, which matters for small
        problems.
    chunk : neighbours visited together in a pass, where there are enough of them.
    passes_per_move : the centre moves after so many passes, times the effort.
    patience, progress : when so many rounds have not brought the gap below that share of what it was, the effort
        doubles, up to `most_effort`: the centre moves half as often, inner problems are solved √2 times as well, and
        the balance favours smaller ρ.
    together_effort : from this effort on (256 times as much once the gap is below 10 %), the planes held are worked on
        for all examples together (`together`), around the best weights so far. Slower by the step, but examples that
        undo each other's steps no longer matter.
    together_gap, most_cuts, together_share : to this share of the gap there is, with so many aggregate planes at most,
        and at so many times the operations that cached planes may cost. Where that does not allow for `fewest_cuts`
        (very many weights), examples are still worked on one by one. `together_balance` takes the place of `balance`,
        with steps of at most `together_step`, and falls without progress only where the ratio is `hopeless` times too
        large.
    exact_after : rounds after which a hard margin over the planes held is solved for exactly, where they are few.
    skip_share : blocks with less than this share of the mean gap wait for every fifth pass.
    """

    name: ClassVar[str] = "auto"
    hard_margin: ClassVar[bool] = True

    first_sweeps: int = 2
    smallest_batch: int = 16
    fewest_batches: int = 64
    batch_operations: float = 5e4
    start_factor: float = 0.5
    large: float = 1e4
    balance: tuple[float, float] = (0.3, 1.0)
    balance_step: float = 1.3
    moves: int = 6
    keep_rounds: int = 4
    most_slots: int = 64
    inner_gap: float = 0.2
    cheap_share: float = 1.3
    chunk: int = 32
    skip_share: float = 0.3
    most_passes: int = 50
    passes_per_move: int = 3
    patience: int = 8
    progress: float = 0.7
    most_effort: float = 4096.0
    together_effort: float = 4.0
    together_gap: float = 0.05
    together_share: float = 4.0
    most_cuts: int = 100
    fewest_cuts: int = 20
    exact_after: int = 6
    together_balance: tuple[float, float] = (1.0, 3.0)
    together_step: float = 1.6
    hopeless: float = 100.0
    vector_speed: float = 4.0
    round_operations: float = 2e5
    pass_operations: float = 3e4

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> ProximalState:
        if problem.objective.hard:  # budgets grow from the planes of the first mini-batches: no warm start
            start = None
        return ProximalState(problem, seed, start, self.most_slots, self.first_sweeps)

    def adapt(self, problem: Problem, state: ProximalState, seed: int = 0) -> State:
        """The working sets of a solved problem for another C: dual values, u and ρ grow in proportion, unless budgets
        began small and say nothing of the C before; then dual values stay, as far as the new C allows."""
        if problem.objective.hard or not np.isfinite(state.rho):
            return super().adapt(problem, state, seed)
        new = ProximalState(problem, seed, state.best_w, self.most_slots, self.first_sweeps)
        old, sets = state.sets, new.sets
        sets.restore(old.arrays())
        budgets, factors = problem.objective.budgets, np.ones(problem.n_examples)
        if state.first_budget == 0.0:
            factors = budgets / (1.0 / old.ridge if old.unlimited else old.budget)
        sets.budget[:] = np.inf
        sets.scale_alpha(factors)
        if not sets.unlimited:
            sets.set_budgets(budgets)
        new.rho = max(1.0, state.rho * float(factors.mean()))
        new.spent, new.decoded, new.clock = state.spent, state.decoded, state.clock
        new.w = ((new.rho - 1.0) * new.z + sets.combination()) / new.rho
        return new

    def rebase(self, problem: Problem, state: ProximalState, before: References, seed: int = 0) -> State:
        """The planes held, moved to the new references; the best weights stay where they are."""
        if not np.isfinite(state.rho):
            return super().rebase(problem, state, before, seed)
        new = ProximalState(problem, seed, state.best_w, self.most_slots, self.first_sweeps)
        new.sets.restore(state.sets.arrays())
        new.sets.rebase(problem, before)
        new.spent, new.decoded, new.clock = state.spent, state.decoded, state.clock
        new.first_budget = state.first_budget
        new.place(state.best_w.copy(), state.rho)
        return new

    def planned_bytes(self, problem: Problem) -> float:
        planes = PLANES_AT_FIRST * float(problem.examples.plane_entries.mean()) * problem.n_examples
        return super().planned_bytes(problem) + (4 + np.dtype(problem.entry_type).itemsize) * planes

    def resume(self, problem: Problem, state: ProximalState) -> None:
        calls = problem.oracle_calls
        if state.first_left == 0:
            problem.decode(state.w, problem.everyone)
            state.sets.raise_hinges(problem, state.w)
            problem.oracle_calls = calls

    # ------------------------------------------------------------------ a step

    def step(self, problem: Problem, state: ProximalState) -> None:
        if state.first_left > 0:
            state.clock += 1
            self._batched_sweep(problem, state)
            self._cheap_passes(problem, state)
            state.first_left -= 1
            if state.first_left > 0:
                return
        elif state.iteration > 0:
            self._improve(problem, state)
        elif np.isinf(state.rho):
            self._begin_from_weights(problem, state)
        state.clock += 1
        u = state.sum_anew()
        self._decode(problem, state, problem.everyone)
        self._certify(problem, state, u)

    def _improve(self, problem: Problem, state: ProximalState) -> None:
        """Insert the planes found last, move the centre, work on what is cached."""
        if not problem.objective.hard and self._improve_few(problem, state):
            return
        if self._stuck(state) and not problem.objective.hard:
            cuts = self._affordable_cuts(problem, state)
            if cuts >= self.fewest_cuts:
                self._improve_together(problem, state, cuts)
                return
        rho = self._balanced(problem, state)
        self._insert(problem, state, self._busy(problem, state, self._fresh_order(problem, state)), self.moves)
        self._clean_up(problem, state)
        if problem.objective.hard and self._improve_exactly(problem, state):
            return
        state.move_centre(rho, state.passes >= self.passes_per_move * state.effort)
        self._cheap_passes(problem, state)
        if state.first_budget > 0.0:
            grow_budgets(problem, state.sets, state.first_budget)

    def _improve_few(self, problem: Problem, state: ProximalState) -> bool:
        """Where little has come of much effort, solve exactly over the planes held, if they are few.

        That is what large C asks for: it makes much of the least violation. Tried anew whenever the effort doubles, and
        again and again as long as it goes well.
        """
        solved, state.solved_few = state.solved_few, False
        if state.effort < self.together_effort or state.effort == state.in_vain:
            return False
        self._insert(problem, state, problem.everyone, 0)
        nothing_new = solved and state.novelty == 0.0
        if nothing_new or not solve_few(problem, state, state.sets):
            state.in_vain = state.effort
            return False
        state.solved_few = True
        self._clean_up(problem, state)
        state.begin_at_solution()
        return True

    def _improve_exactly(self, problem: Problem, state: ProximalState) -> bool:
        """A hard margin over few planes; where there are many, it is asked ever more rarely whether there is one."""
        if state.clock >= self.exact_after and solve_exactly(problem, state, state.sets):
            state.begin_at_solution()
            return True
        if state.clock >= 16 and state.clock & (state.clock - 1) == 0:
            check_separable(problem, state, state.sets)
        return False

    @staticmethod
    def _clean_up(problem: Problem, state: ProximalState) -> None:
        if state.clock % 4 == 0:
            state.sets.compact_if_scattered()
        if state.clock % 8 == 0:
            state.sets.release_outputs(problem)

    def _stuck(self, state: ProximalState) -> bool:
        """Whether examples undo each other's steps: they did once, or little has come of much effort."""
        far = state.best_primal - state.best_dual > 0.1 * state.best_primal
        return state.centre_primal > 0.0 or state.effort >= self.together_effort * (1.0 if far else 256.0)

    def _affordable_cuts(self, problem: Problem, state: ProximalState) -> int:
        """The k for which k (entries of all planes + k dim) operations are `together_share` times those of a round."""
        entries, allowed = state.sets.entries_held(), self.together_share * self._allowed(state)
        cuts = (np.sqrt(entries**2 + 4.0 * problem.dim * allowed) - entries) / (2.0 * problem.dim)
        return min(int(cuts), self.most_cuts)

    def _allowed(self, state: ProximalState) -> float:
        """Operations to spend on planes held, in this round."""
        return self.cheap_share * (self.round_operations + state.spent / max(state.decoded, 1e-9))

    def _improve_together(self, problem: Problem, state: ProximalState, cuts: int) -> None:
        """Insert the planes found last and solve for all examples together, around the best weights so far."""
        rho = self._first_rho(problem, state) if state.centre_primal == 0.0 else self._balanced_together(problem, state)
        state.centre_primal = state.best_primal
        if not problem.objective.quadratic:
            state.sets.set_budgets(problem.objective.budgets)
        self._insert(problem, state, problem.everyone, 0)
        self._clean_up(problem, state)
        w = solve_together(
            problem, state.sets, state.w, state.best_w, rho, self.together_gap / state.thoroughness, cuts
        )
        state.sets.touch(state.clock)
        state.place(w, rho)

    @staticmethod
    def _first_rho(problem: Problem, state: ProximalState) -> float:
        """ρ of a step to about where the planes found last say that the objective is 0; large C would overdo it."""
        slopes = problem.objective.slopes(problem.hinges)
        slopes[problem.keys == TRUTH] = 0.0  # a search may have missed what is held
        away = problem.aggregate(slopes) - state.w
        rho = 0.5 * float(away @ away) / problem.primal(state.w)[0]
        return max(LEAST_RHO, min(rho, LARGEST_JUMP * state.rho))

    def _balanced_together(self, problem: Problem, state: ProximalState) -> float:
        """The next ρ; it falls only after steps that made the objective fall, or that were far too small for that."""
        proximal_gap, block_gap = self._gaps(problem, state)
        low, high = self.together_balance
        ratio = max(proximal_gap, 1e-300) / max(block_gap, 1e-300)
        if ratio < low:
            return state.rho * min(np.sqrt(low / ratio), self.together_step)
        stands_still = problem.primal(state.w)[0] <= (1.0 + STANDSTILL) * state.centre_primal
        if ratio > high and (stands_still or ratio > self.hopeless * high):
            return max(LEAST_RHO, state.rho / min(np.sqrt(ratio / high), self.together_step))
        return state.rho

    def _decode(self, problem: Problem, state: ProximalState, ids: IntArray) -> None:
        problem.decode(state.w, ids)
        share = len(ids) / problem.n_examples
        state.decoded += share
        state.spent += share * problem.operations / self.vector_speed

    @staticmethod
    def _busy(problem: Problem, state: ProximalState, ids: IntArray) -> IntArray:
        """Those of ids that have planes or just found one; the others have nothing to do."""
        return ids[(problem.keys[ids] != TRUTH) | (state.sets.count[ids] > 1)]

    def _insert(self, problem: Problem, state: ProximalState, ids: IntArray, moves: int) -> None:
        slot = state.sets.match(ids, problem.keys, state.clock - self.keep_rounds)
        planes = problem.planes(ids[slot < 0])
        state.novelty = float((slot < 0).mean()) if len(slot) else 0.0
        rho = min(state.rho, 1e12)
        state.spent += state.sets.insert(ids, slot, planes, problem, state.w, rho, state.clock, moves)

    def _fresh_order(self, problem: Problem, state: ProximalState) -> IntArray:
        """The order in which new planes are taken in: any, unless neighbours have nothing in common anyway."""
        n = problem.n_examples
        return self._order(state, n) if problem.examples.shuffled else state.rng.permutation(n)

    def _order(self, state: ProximalState, n: int) -> IntArray:
        """All examples, in chunks of neighbours, which is where memory is faster."""
        size = max(1, min(self.chunk, n // self.fewest_batches))
        chunks = np.arange(-(-n // size) * size).reshape(-1, size)
        order = state.rng.permutation(chunks).ravel()
        return order[order < n]

    def _begin_from_weights(self, problem: Problem, state: ProximalState) -> None:
        """Warm start: planes found at the given weights set ρ; z is chosen so that w stays where it is."""
        start = state.w.copy()
        sample = state.rng.permutation(problem.n_examples)[: 16 * self.smallest_batch]
        self._decode(problem, state, sample)
        self._insert(problem, state, sample, 0)
        self._lower_rho(problem, state, sample, by_alpha=False)
        state.place(start, 1.0 if np.isinf(state.rho) else state.rho)

    def _batched_sweep(self, problem: Problem, state: ProximalState) -> None:
        """Decode and insert in mini-batches; the first sweep finds ρ on the way, from its first batch on."""
        n, first = problem.n_examples, state.clock == 1
        worth = int(self.batch_operations * n * self.vector_speed / max(problem.operations, 1.0))
        size = max(self.smallest_batch, min(worth, -(-n // self.fewest_batches)))
        order, estimated = self._fresh_order(problem, state), 0
        for k in range(0, n, size):
            ids = order[k : k + size]
            self._decode(problem, state, ids)
            self._insert(problem, state, self._busy(problem, state, ids), 0 if np.isinf(state.rho) else self.moves)
            if np.isinf(state.rho):
                self._lower_rho(problem, state, ids, by_alpha=False)
            elif first and k - estimated >= n // 20:
                self._lower_rho(problem, state, order[estimated:k], by_alpha=True)
                estimated = k
        self._lower_rho(problem, state, order, by_alpha=True)

    def _lower_rho(self, problem: Problem, state: ProximalState, ids: IntArray, by_alpha: bool) -> None:
        """Estimate ρ from the planes of ids. When it is lower, α is scaled with it, so that w stays (z is still 0)."""
        norm = state.sets.norm_per_value(ids, by_alpha)
        if not np.isfinite(norm):
            return
        if np.isinf(state.rho):
            self._begin_budgets(problem, state, norm)
        estimate = max(1.0, self.start_factor * self._typical_mass(problem, state) * norm)
        if estimate < state.rho:
            if np.isfinite(state.rho):
                state.sets.scale_alpha(estimate / state.rho)
            state.rho = estimate

    def _begin_budgets(self, problem: Problem, state: ProximalState, norm: float) -> None:
        """Budgets begin where one step may use them up, if there are none or they are far larger."""
        first = 1.0 / (self.start_factor * max(norm, 1e-12))
        if problem.objective.hard or (self.large * first < problem.objective.C and not problem.objective.quadratic):
            state.first_budget = first
            state.sets.set_budgets(np.minimum(first * problem.objective.weights, problem.objective.budgets))

    @staticmethod
    def _typical_mass(problem: Problem, state: ProximalState) -> float:
        """Dual mass that an example may come to hold: its budget, or the slope of its penalty at w = 0."""
        if problem.objective.quadratic:
            largest = float(problem.values.mean())
            return float(problem.objective.budgets.mean()) * largest
        return float(state.sets.budget.mean())

    # ------------------------------------------------------------------ certificate

    def _certify(self, problem: Problem, state: ProximalState, u: FloatArray) -> None:
        """Primal at w, dual at α (scaled as is best); keeps the best of both."""
        objective = problem.objective
        state.sets.raise_hinges(problem, state.w)
        state.raise_dual(objective.dual(state.sets.gain(), float(u @ u), state.sets.masses()))
        if not objective.hard:
            state.offer(problem, state.w)
        if objective.hard or (state.sets.budget < objective.budgets).all():
            feasible_scale(problem, state, state.sets)
        self._watch_progress(state)

    def _watch_progress(self, state: ProximalState) -> None:
        gap = state.best_primal - state.best_dual
        if gap < self.progress * state.marked_gap or not np.isfinite(gap):
            state.marked_gap, state.marked_at = gap, state.clock
        elif state.clock - state.marked_at >= self.patience:
            state.effort = min(2.0 * state.effort, self.most_effort)
            state.marked_gap, state.marked_at = gap, state.clock

    def _balanced(self, problem: Problem, state: ProximalState) -> float:
        """The next ρ, from the two parts of the gap at present."""
        proximal_gap, block_gap = self._gaps(problem, state)
        low, high = (bound / state.thoroughness for bound in self.balance)
        if proximal_gap > high * block_gap:
            excess = proximal_gap / max(high * block_gap, 1e-300)
            return max(1.0, state.rho / max(self.balance_step, min(excess, 1e12) ** 0.125))
        return state.rho * self.balance_step if proximal_gap < low * block_gap else state.rho

    @staticmethod
    def _gaps(problem: Problem, state: ProximalState) -> tuple[float, float]:
        """½‖u − w‖², and what the blocks lack."""
        objective, w, u, masses = problem.objective, state.w, state.dual_sum(), state.sets.masses()
        proximal_gap = 0.5 * float((u - w) @ (u - w))
        price = 0.5 * float((objective.ridges * masses**2).sum())
        if objective.quadratic:
            penalties = float(objective.penalties(problem.hinges).sum())
        else:
            penalties = float((state.sets.budget * problem.hinges).sum())
        return proximal_gap, penalties + price - state.sets.gain() + float(u @ w)

    # ------------------------------------------------------------------ cached planes

    def _cheap_passes(self, problem: Problem, state: ProximalState) -> None:
        """Passes over cached planes, from the second on only active ones; the centre moves after every few."""
        if np.isinf(state.rho):
            return
        sets, n = state.sets, problem.n_examples
        mean_gap = first_gap = float(sets.gap.mean())
        allowed, spent = state.thoroughness * self._allowed(state), 0.0
        needed = self.inner_gap * (1.0 + state.novelty**3) / state.thoroughness
        for k in range(int(self.most_passes * state.thoroughness)):
            total, operations = sets.sweep(
                self._order(state, n), self.skip_share * mean_gap if k % 5 else -1.0, state.clock if k else 0, state.w,
                state.rho, state.clock, self.moves,
            )  # fmt: skip
            mean_gap, spent = total / n, spent + operations + self.pass_operations
            state.passes += 1
            if state.passes >= self.passes_per_move * state.effort and state.first_left == 0:
                state.move_centre(state.rho)
            if mean_gap <= needed * first_gap or (spent > allowed and k > 0):
                return
