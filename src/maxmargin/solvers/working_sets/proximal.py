"""Proximal working sets, the default solver: dual block-coordinate ascent in a proximal-point iteration.

The regulariser ½‖w‖² is replaced by ½‖w‖² + ½(ρ − 1)‖w − z‖² around a centre z, which moves to w every few passes over
the held planes. With ρ > 1 the blocks of the dual hardly interact, and many steps can be taken between two rounds
of argmaxes. At all times

    ρ w = (ρ − 1) z + u,      u = Σ α a                                                                          (*)

so u is never stored (`proximal_state`), and the gap of the original problem splits into a part for the centre and a
part for the blocks, which ρ balances (`balanced`). The solver works on held planes until that costs about as much as
the argmaxes did. Costs are counted in operations and not in time so that runs are reproducible bit for bit.

A step adds the planes found last, lets the first round that applies improve the state, and decodes all examples for a
certificate. The rounds are batches, start, exact, held and blocks. The first sweep in mini-batches from w = 0, or a
start from given weights, reaches a useful point sooner than full sweeps. It also estimates the strength ρ of the
proximal term, such that a first step moves about half of an example's budget, and decides whether C is so large that
budgets start small. Later, ρ balances the two parts of the gap

    P − D = ½‖u − w‖² + Σ_i (penalty_i − Σ_j α_ij (b_ij − a_ij·w)).

With lower bounds on weights the first part is ½‖w‖² + h(u) − u·w (`core.lower_bounds`). Passes over the planes held are
the inexpensive part of the work. Parameters that are worth tuning are in `Tuning`, all others are constants.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.planes import TRUTH, Planes
from maxmargin.problem import Problem, References
from maxmargin.solvers import held_planes
from maxmargin.solvers.base import Solver, State
from maxmargin.solvers.hard_margin import check_separable, feasible_scale
from maxmargin.solvers.held_planes import solve_together
from maxmargin.solvers.working_sets.proximal_state import (
    LEAST_RHO,
    VECTOR_SPEED,
    ProximalState,
    Tuning,
    balanced,
    cheap_passes,
)
from maxmargin.solvers.working_sets.sets import PLANES_AT_FIRST, WorkingSets

#: Effort at which progress counts as slow: two doublings, because the first may be due to chance.
SLOW = 4.0
#: Relative gap below which held rounds, whose steps are slower, wait for a multiple of the effort.
NEAR, NEAR_FACTOR = 0.1, 256.0
#: Share of the gap to which held rounds solve; better solutions are lost when the next planes are added.
HELD_GAP = 0.05
#: Minimum number of aggregate planes that makes a held round worthwhile.
FEWEST_CUTS = 20
#: Round at which a hard margin is first solved exactly; before, most of its planes are still unknown.
EXACT_AFTER = 6
#: First round at which the existence of a hard margin is checked, and again at every power of two.
CHECK_AFTER = 16


@dataclass(frozen=True)
class ProximalRound(held_planes.Round):
    """Round over the held planes.

    The solver has added the planes found last to them.

    Attributes
    ----------
    tuning : Tuning
        Hyper-parameters of the solver.
    """

    tuning: Tuning

    @abstractmethod
    def moves(self, problem: Problem) -> int | None:
        """Return the moves of mass per example while planes are added.

        None means that the round adds planes itself.
        """


@dataclass(frozen=True)
class Exact(ProximalRound, held_planes.Exact):
    """Exact solution for the held planes.

    It serves hard margins, and all problems after much effort with little progress. Large C is such a case, because the
    smallest violation is expensive. The round is tried again whenever the effort doubles, and as long as new planes are
    found.
    """

    def moves(self, problem: Problem) -> int:
        return self.tuning.moves if problem.objective.hard else 0

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        if problem.objective.hard:
            return state.clock >= EXACT_AFTER
        return state.effort.level >= SLOW and state.effort.level != state.effort.declined_at

    def run(self, problem: Problem, state: ProximalState) -> bool:
        solved_last = state.round == self.name and not problem.objective.hard
        if solved_last and state.work.novelty == 0.0:
            return False
        return super().run(problem, state)


@dataclass(frozen=True)
class Held(ProximalRound):
    """Solution over the held planes of all examples at once (`held_planes`), around the best weights.

    The round is used when examples undo each other's steps.
    """

    name = "held"

    def moves(self, problem: Problem) -> int:
        return 0

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        if problem.objective.hard:
            return False
        far = state.best_primal - state.best_dual > NEAR * state.best_primal
        stuck = state.centre.primal > 0.0 or state.effort.level >= SLOW * (1.0 if far else NEAR_FACTOR)
        return stuck and self.affordable_cuts(problem, state) >= FEWEST_CUTS

    def affordable_cuts(self, problem: Problem, state: ProximalState) -> int:
        """Return the number of aggregate planes that a held round can afford.

        It is the k for which k (entries of all planes + k dim) operations are `held_share` times those of a round.
        """
        allowed = self.tuning.held_share * state.work.allowed(self.tuning.cheap_share)
        entries = state.sets.entries_held()
        cuts = (np.sqrt(entries**2 + 4.0 * problem.dim * allowed) - entries) / (2.0 * problem.dim)
        return min(int(cuts), self.tuning.most_cuts)

    def run(self, problem: Problem, state: ProximalState) -> bool:
        sets, centre = state.sets, state.centre
        rho = first_held_rho(problem, state) if centre.primal == 0.0 else balanced_over_held(problem, state)
        centre.primal = state.best_primal
        if not problem.objective.quadratic:
            sets.set_budgets(problem.objective.budgets)
        share, cuts = HELD_GAP / state.effort.thoroughness, self.affordable_cuts(problem, state)
        w = solve_together(problem, sets, state.w, state.best_w, rho, share, cuts)
        sets.touch(state.clock)
        state.place(w, rho)
        return True


@dataclass(frozen=True)
class Blocks(ProximalRound):
    """Steps on one example at a time: the normal round.

    The centre moves every few passes.
    """

    name = "blocks"

    def moves(self, problem: Problem) -> int:
        return self.tuning.moves

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        return True

    def run(self, problem: Problem, state: ProximalState) -> bool:
        centre = state.centre
        if problem.objective.hard and state.clock >= CHECK_AFTER and state.clock & (state.clock - 1) == 0:
            check_separable(problem, state, state.sets)
        state.move_centre(centre.next_rho, centre.passes >= self.tuning.passes_per_move * state.effort.level)
        passes_over_sets(self.tuning, problem, state)
        if state.budgets.first > 0.0:
            state.budgets.grow(problem, state.sets)
        return True


#: `BALANCE` and `BALANCE_STEP` of held rounds, which almost close the block gap, so the proximal gap may be larger.
HELD_BALANCE, HELD_STEP = (1.0, 3.0), 1.6
#: Excess of the ratio above which ρ of held rounds decreases even without progress.
HOPELESS = 100.0
#: Maximum factor by which ρ increases at the first held round.
LARGEST_JUMP = 1e6
#: Relative difference up to which two objectives count as equal.
STANDSTILL = 1e-9


def gaps(problem: Problem, state: ProximalState) -> tuple[float, float]:
    """Return the proximal part of the gap and the part of the blocks."""
    objective, masses = problem.objective, state.sets.masses()
    proximal_gap, product = state.products()
    price = 0.5 * float((objective.ridges * masses**2).sum())
    if objective.quadratic:
        penalties = float(objective.penalties(problem.hinges).sum())
    else:
        penalties = float((state.sets.budget * problem.hinges).sum())
    return proximal_gap, penalties + price - state.sets.gain() + product


def balanced_over_held(problem: Problem, state: ProximalState) -> float:
    """Return the next ρ of held rounds.

    It decreases only after steps that lowered the objective, or that were far too small to lower it.
    """
    proximal_gap, block_gap = gaps(problem, state)
    rho, (low, high) = state.centre.rho, HELD_BALANCE
    ratio = max(proximal_gap, 1e-300) / max(block_gap, 1e-300)
    if ratio < low:
        return rho * min(np.sqrt(low / ratio), HELD_STEP)
    stands_still = problem.primal(state.w)[0] <= (1.0 + STANDSTILL) * state.centre.primal
    if ratio > high and (stands_still or ratio > HOPELESS * high):
        return max(LEAST_RHO, rho / min(np.sqrt(ratio / high), HELD_STEP))
    return rho


def first_held_rho(problem: Problem, state: ProximalState) -> float:
    """Return ρ of a step to about where the planes found last predict the objective 0.

    ρ is limited, because it would be too large for large C.
    """
    slopes = problem.objective.slopes(problem.hinges)
    slopes[problem.keys == TRUTH] = 0.0  # a search may have missed planes that are held
    away = problem.aggregate(slopes) - state.w
    rho = 0.5 * float(away @ away) / problem.primal(state.w)[0]
    return max(LEAST_RHO, min(rho, LARGEST_JUMP * state.centre.rho))


#: Number of neighbours visited together in a pass, for faster memory access; more make the order less random.
CHUNK = 32
#: Minimum number of chunks or mini-batches in a sweep so that the order is still random.
FEWEST_BATCHES = 64
#: Curvature if ρ is infinite; no step is taken then, but compiled functions divide by the curvature.
LARGEST_CURVATURE = 1e12


def insert(tuning: Tuning, problem: Problem, state: ProximalState, ids: IntArray, moves: int) -> None:
    """Add the planes found for ids, each with a block step of up to `moves` moves."""
    sets, work, new, visited, operations = state.sets, state.work, 0, 0, 0
    curvature = min(state.centre.rho, LARGEST_CURVATURE)
    for some, slot, planes in with_planes(problem, sets, ids, state.clock - tuning.keep_rounds):
        new, visited = new + int((slot < 0).sum()), visited + len(slot)
        operations += sets.insert(some, slot, planes, problem, state.w, curvature, state.clock, moves)
    work.novelty, work.spent = new / max(visited, 1), work.spent + operations
    state.floor.settle(state.w)


def with_planes(
    problem: Problem, sets: WorkingSets, ids: IntArray, oldest: int
) -> Iterator[tuple[IntArray, IntArray, Planes]]:
    """Yield chunks of ids with their slots and their new planes, which threads compute while others are inserted."""
    if sets.most_bytes:  # which planes fit depends on all before them
        for part in sets.parts(problem, ids):
            some = ids[part]
            slot = sets.match(some, problem.keys, oldest)
            yield sets.within_limit(problem, some, slot, problem.planes(some[slot < 0]))
        return
    slot, chunks = sets.match(ids, problem.keys, oldest), problem.plane_chunks(ids)
    planes = problem.engine.ahead([partial(problem.planes, ids[chunk][slot[chunk] < 0]) for chunk in chunks])
    for chunk, new in zip(chunks, planes, strict=True):
        yield ids[chunk], slot[chunk], new


def take_in(tuning: Tuning, problem: Problem, state: ProximalState, moves: int) -> None:
    """Add the planes found last for all examples.

    Without moves, dual values and weights do not change, unless a full working set drops a plane. With moves, ρ of the
    next move of the centre is computed first, from the gap at the weights of the last decode.
    """
    if moves == 0:
        insert(tuning, problem, state, problem.everyone, 0)
    else:
        state.centre.next_rho = balanced(state.centre.rho, state.effort.thoroughness, *gaps(problem, state))
        insert(tuning, problem, state, busy(problem, state.sets, fresh_order(problem, state.rng)), moves)
    if state.clock % 4 == 0:
        state.sets.compact_if_scattered()
    if state.clock % 8 == 0:
        state.sets.release_outputs(problem)


def busy(problem: Problem, sets: WorkingSets, ids: IntArray) -> IntArray:
    """Return those of ids that have planes or have just found one; there is nothing to do for the others."""
    return ids[(problem.keys[ids] != TRUTH) | (sets.count[ids] > 1)]


def fresh_order(problem: Problem, rng: np.random.Generator) -> IntArray:
    """Return a random order of the examples, in chunks if neighbouring examples are unrelated."""
    n = problem.n_examples
    return chunked_order(rng, n) if problem.examples.shuffled else rng.permutation(n)


def chunked_order(rng: np.random.Generator, n: int) -> IntArray:
    """Return all examples in random order, in chunks of neighbours."""
    size = max(1, min(CHUNK, n // FEWEST_BATCHES))
    chunks = np.arange(-(-n // size) * size).reshape(-1, size)
    order = rng.permutation(chunks).ravel()
    return order[order < n]


def passes_over_sets(tuning: Tuning, problem: Problem, state: ProximalState) -> None:
    """Pass over the held planes of all examples, in random orders."""
    if np.isinf(state.centre.rho):
        return

    def sweep(number: int, skip_below: float, since: int) -> tuple[float, float]:
        order, rho = chunked_order(state.rng, problem.n_examples), state.centre.rho
        gaps_and_operations = state.sets.sweep(order, skip_below, since, state.w, rho, state.clock, tuning.moves)
        state.floor.settle(state.w)
        return gaps_and_operations

    cheap_passes(tuning, problem, state, float(state.sets.gap.mean()), sweep)


#: Minimum number of examples in a mini-batch; with fewer, calls cost more than argmaxes.
SMALLEST_BATCH = 16
#: Operations of argmaxes that justify the calls for a mini-batch.
BATCH_OPERATIONS = 5e4
#: Share of the budget that a first step should move; a full budget is too much if examples are similar.
START_FACTOR = 0.5
#: Approximate number of estimates of ρ in the first sweep.
ESTIMATES = 20
#: Number of examples from which the first ρ is estimated before a sweep.
START_SAMPLE = 16 * SMALLEST_BATCH


def batch_size(problem: Problem) -> int:
    """Return the number of examples in a mini-batch."""
    n = problem.n_examples
    worth = int(BATCH_OPERATIONS * n * VECTOR_SPEED / max(problem.operations, 1.0))
    return max(SMALLEST_BATCH, min(worth, -(-n // FEWEST_BATCHES)))


def first_rho(mass: float, norm: float) -> float:
    """Return ρ such that a first step moves about half of an example's mass, for planes of ‖a‖² = norm · b."""
    return max(1.0, START_FACTOR * mass * norm)


@dataclass(frozen=True)
class FirstRound(ProximalRound):
    """Round that decodes and adds planes itself."""

    def moves(self, problem: Problem) -> None:
        return None

    def lower_rho(self, problem: Problem, state: ProximalState, ids: IntArray, by_alpha: bool) -> None:
        """Estimate ρ from the planes of ids.

        If the estimate is lower than ρ, α is scaled with it, so w does not change (z is still 0).
        """
        norm, centre = state.sets.norm_per_value(ids, by_alpha), state.centre
        if not np.isfinite(norm):
            return
        if np.isinf(centre.rho):
            self._begin_budgets(problem, state, norm)
        estimate = first_rho(self._typical_mass(problem, state), norm)
        if estimate < centre.rho:
            if np.isfinite(centre.rho):
                state.sets.scale_alpha(estimate / centre.rho)
            centre.rho = estimate

    def _begin_budgets(self, problem: Problem, state: ProximalState, norm: float) -> None:
        """Start with small budgets if C is infinite or large.

        The first budgets are what one step can use.
        """
        objective, first = problem.objective, 1.0 / (START_FACTOR * max(norm, 1e-12))
        if objective.hard or (self.tuning.large * first < objective.C and not objective.quadratic):
            state.budgets.begin(problem, state.sets, first)

    @staticmethod
    def _typical_mass(problem: Problem, state: ProximalState) -> float:
        """Return the dual mass that an example is expected to hold.

        It is the budget of the example, or with quadratic slack the slope of its penalty at w = 0.
        """
        if problem.objective.quadratic:
            return float(problem.objective.budgets.mean()) * float(problem.values.mean())
        return float(state.sets.budget.mean())


@dataclass(frozen=True)
class Batches(FirstRound):
    """Sweep in mini-batches, each decoded at the weights after the previous ones."""

    name = "batches"

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        return state.first_left > 0

    def run(self, problem: Problem, state: ProximalState) -> bool:
        state.clock += 1
        n, first, centre, size = problem.n_examples, state.clock == 1, state.centre, batch_size(problem)
        order, estimated = fresh_order(problem, state.rng), 0
        for k in range(0, n, size):
            ids = order[k : k + size]
            problem.decode(state.w, ids)
            state.work.count_decoded(problem, len(ids))
            moves = 0 if np.isinf(centre.rho) else self.tuning.moves
            insert(self.tuning, problem, state, busy(problem, state.sets, ids), moves)
            if np.isinf(centre.rho):
                self.lower_rho(problem, state, ids, by_alpha=False)
            elif first and k - estimated >= n // ESTIMATES:
                self.lower_rho(problem, state, order[estimated:k], by_alpha=True)
                estimated = k
        self.lower_rho(problem, state, order, by_alpha=True)
        passes_over_sets(self.tuning, problem, state)
        state.first_left -= 1
        return True


@dataclass(frozen=True)
class Start(FirstRound):
    """First step from given weights, or from another problem's planes.

    Planes of another problem only need a decode.
    """

    name = "start"

    def applies(self, problem: Problem, state: ProximalState) -> bool:
        return state.iteration == 0

    def run(self, problem: Problem, state: ProximalState) -> bool:
        if np.isinf(state.centre.rho):
            self._begin_from_weights(problem, state)
        return True

    def _begin_from_weights(self, problem: Problem, state: ProximalState) -> None:
        """Estimate ρ from planes found at the given weights, and choose z so that w does not change."""
        start = state.w.copy()
        sample = state.rng.permutation(problem.n_examples)[:START_SAMPLE]
        problem.decode(state.w, sample)
        state.work.count_decoded(problem, len(sample))
        insert(self.tuning, problem, state, sample, 0)
        self.lower_rho(problem, state, sample, by_alpha=False)
        state.place(start, 1.0 if np.isinf(state.centre.rho) else state.centre.rho)


@dataclass(frozen=True)
class ProximalWorkingSets(Tuning, Solver):
    """Working sets with a proximal centre (``solver="proximal"``).

    Dual block-coordinate ascent over the planes of each example, with the regulariser ½‖w‖² + ½(ρ − 1)‖w − z‖² around a
    centre z that moves to w every few passes. ``solver="auto"`` uses it too, except
    for problems with at most 4 examples and a finite C.

    Parameters
    ----------
    first_sweeps : int, default=2
        Number of sweeps in mini-batches before the first full sweep.
    most_slots : int, default=64
        Maximum number of planes per example, including the truth.
    keep_rounds : int, default=4
        Number of rounds for which an inactive plane is kept.
    moves : int, default=6
        Maximum number of moves of mass in one step on an example.
    inner_gap : float, default=0.2
        Passes over held planes end when the restricted gap is below this share of its initial value.
    cheap_share : float, default=1.3
        Passes over held planes also end when they have used this multiple of the operations of decoding and inserting.
    most_passes : int, default=50
        Maximum number of passes over held planes in a round, times the square root of the effort.
    passes_per_move : int, default=3
        Number of passes after which the centre moves, times the effort.
    patience : int, default=8
        Number of rounds in which the gap must fall below 70 % of its value; otherwise the effort doubles: the centre
        moves half as often, inner problems are solved √2 times as precisely, and the balance favours smaller ρ.
    large : float, default=1e4
        C counts as large above this multiple of the budget that a first step moves; budgets then start there and grow.
    held_share : float, default=4.0
        Operations of a held round, as a multiple of the operations allowed for passes over held planes.
    most_cuts : int, default=100
        Maximum number of aggregate planes of a held round.
    most_bytes : int, default=0
        Maximum memory of held planes in bytes; 0 for no limit. If planes do not fit, those with dual value 0 are
        dropped, and then new ones are not added. The certificate stays true, but the fit may end with a larger gap.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.ProximalWorkingSets(first_sweeps=1)).fit(X, Y)
    >>> tagger.certificate_.gap <= tagger.tol
    True
    """

    name: ClassVar[str] = "proximal"
    hard_margin: ClassVar[bool] = True
    lower_bounds: ClassVar[bool] = True
    lowest: ClassVar[Mapping[str, int | float]] = {"most_bytes": 0}

    @property
    def rounds(self) -> tuple[ProximalRound, ...]:
        """The rounds, in the order in which they are tried."""
        return tuple(kind(self) for kind in (Batches, Start, Exact, Held, Blocks))

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> ProximalState:
        if problem.objective.hard:  # no warm start, because budgets grow from the planes of the first mini-batches
            start = None
        return ProximalState(problem, seed, start, self.most_slots, self.first_sweeps, self.most_bytes)

    def adapt(self, problem: Problem, state: Any, seed: int = 0) -> State:
        """Return a state for another C with the working sets of a solved problem.

        Dual values, u and ρ are scaled in proportion to C, unless budgets started small and depend little on the
        previous C; then dual values do not change, as far as the new C allows.
        """
        if problem.objective.hard or not isinstance(state, ProximalState) or not np.isfinite(state.centre.rho):
            return super().adapt(problem, state, seed)
        new, old = self._successor(problem, state, seed), state.sets
        sets, budgets, factors = new.sets, problem.objective.budgets, np.ones(problem.n_examples)
        if state.budgets.first == 0.0:
            factors = budgets / (1.0 / old.ridge if old.unlimited else old.budget)
        sets.budget[:] = np.inf
        sets.scale_alpha(factors)
        if not sets.unlimited:
            sets.set_budgets(budgets)
        new.centre.rho = max(1.0, state.centre.rho * float(factors.mean()))
        new.sum_again()
        return new

    def rebase(self, problem: Problem, state: Any, before: References, seed: int = 0) -> State:
        """Return a state with the held planes relative to the new references, at the best weights."""
        if not isinstance(state, ProximalState) or not np.isfinite(state.centre.rho):
            return super().rebase(problem, state, before, seed)
        new = self._successor(problem, state, seed)
        new.sets.rebase(problem, before)
        new.budgets.first = state.budgets.first
        new.place(state.best_w.copy(), state.centre.rho)
        return new

    def _successor(self, problem: Problem, state: ProximalState, seed: int) -> ProximalState:
        """Return a new state at the best weights, with the planes and counters of another one."""
        new = ProximalState(problem, seed, state.best_w, self.most_slots, self.first_sweeps, self.most_bytes)
        new.sets.restore(state.sets.arrays())
        new.work.spent, new.work.decoded, new.clock = state.work.spent, state.work.decoded, state.clock
        return new

    def planned_bytes(self, problem: Problem) -> float:
        examples = problem.examples
        planes = PLANES_AT_FIRST * examples.plane_share * float(examples.plane_entries.mean()) * problem.n_examples
        held = (4 + np.dtype(problem.entry_type).itemsize) * planes
        return super().planned_bytes(problem) + (min(held, self.most_bytes) if self.most_bytes else held)

    def resume(self, problem: Problem, state: ProximalState) -> None:
        calls = problem.oracle_calls
        if state.first_left == 0:
            problem.decode(state.w, problem.everyone)
            state.sets.raise_hinges(problem, state.w)
            problem.oracle_calls = calls

    def step(self, problem: Problem, state: ProximalState) -> None:
        """Run the first round that applies and does not decline, then certify the weights.

        The planes found last are added before, with the number of moves that the round asks for.
        """
        taken: int | None = None
        for each in self.rounds:
            if not each.applies(problem, state):
                continue
            moves = each.moves(problem)
            if moves is not None and moves != taken:
                take_in(self, problem, state, moves)
                taken = moves
            if each.run(problem, state):
                state.round = each.name
                break
            state.effort.declined_at = state.effort.level
        if state.first_left > 0:  # a certificate would cost as much as the next sweep
            return
        state.clock += 1
        u = state.sum_again()
        problem.decode(state.w, problem.everyone)
        state.work.count_decoded(problem, problem.n_examples)
        self._certify(problem, state, u)

    def _certify(self, problem: Problem, state: ProximalState, u: FloatArray) -> None:
        """Offer w as primal point and the best multiple of α as dual point.

        The effort is updated with the new gap.
        """
        objective = problem.objective
        state.sets.raise_hinges(problem, state.w)
        state.raise_dual(objective.dual(state.sets.gain(), u, state.sets.masses()))
        if not objective.hard:
            state.offer(problem, state.w)
        if objective.hard or (state.sets.budget < objective.budgets).all():
            feasible_scale(problem, state, state.sets.largest_values())
        state.effort.watch(state.best_primal - state.best_dual, state.clock, self.patience)
