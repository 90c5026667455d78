"""Sharded working sets: block steps where the examples are, merged by an exact maximisation of the dual.

The examples are divided into K shards. Each has the planes and dual values of its own examples, and takes the block
steps of the default solver (`proximal`) on its own copy of the weights, around the same proximal centre. For shard k
let Δu_k = Σ Δα a be the sum of its steps since all copies were equal, Δg_k what they add to Σ α b, and p_k, q_k what
they add to the price of squared slack. Sums of all steps may overshoot, since every shard moves the weights of features
that others have too. So a **merge** keeps a share t_k of the steps of each shard, with t the maximum over [0, 1]^K of

    D(t) = Σ t_k (Δg_k − w·Δu_k − p_k) − ½ ‖Σ t_k Δu_k‖² / ρ − ½ Σ t_k² q_k,

the dual of the proximal problem along these K directions. All shares are feasible, because an example is in one shard
and its dual values before and after are feasible; and D(t) is at least what the best common step (one t for all) gains.
Then w += Σ t_k Δu_k / ρ, and all copies of the weights are equal again.

Steps that are taken as if all shards moved the weights as one does are never too long together, and many are too short
(Ma et al. 2015, who add such steps). With σ times instead of K times, 1 ≤ σ ≤ K, a merge takes most of them whole. So
shards work with the curvature ρ / σ.

Only sums pass between shards and this process, which holds a few vectors of the size of the weights. The result
depends on the number of shards, not on where they are. The certificate is true as that of other solvers: the objective
is that at weights at which all shards have decoded their examples, and the lower bound is that of the dual values of
all shards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.core.examples import Examples
from maxmargin.core.objective import half_square
from maxmargin.engines.tasks import MOST_LOSSES, Tasks
from maxmargin.problem import Problem
from maxmargin.solvers.base import Solver
from maxmargin.solvers.working_sets._changes import add_values, best_shares, dot_values
from maxmargin.solvers.working_sets.proximal import SMALLEST_BATCH, START_SAMPLE, first_rho
from maxmargin.solvers.working_sets.proximal_state import (
    LEAST_RHO,
    Centre,
    CentredState,
    Tuning,
    balanced,
    cheap_passes,
    move_to,
    products,
    weights_of,
)
from maxmargin.solvers.working_sets.sets import PLANES_AT_FIRST
from maxmargin.solvers.working_sets.shard import Change, Sums, Update
from maxmargin.solvers.working_sets.teams import ShardLost, Team, team_of

#: Number of merges in a sweep in mini-batches.
BATCH_MERGES = 16


class ShardedState(CentredState):
    """Weights, centre and what the shards are to know with the next request, besides what every `CentredState` has.

    Attributes
    ----------
    team : Team
        The shards.
    seed : int
        Seed of the random orders of the step.
    gap : float
        Σ of the block gaps last seen.
    proximal_gap, block_gap : float
        The two parts of the gap at the weights of the last certificate.
    at_zero : float
        Lower bound on the objective at w = 0, from the planes known.
    """

    _parts: ClassVar[tuple[str, ...]] = ("centre", "effort", "work")
    _counters: ClassVar[tuple[str, ...]] = (
        "clock", "seed", "first_left", "gap", "proximal_gap", "block_gap", "at_zero",
    )  # fmt: skip

    def __init__(self, problem: Problem, seed: int, start: FloatArray | None, team: Team, first_sweeps: int) -> None:
        super().__init__(problem, seed, start, first_sweeps)
        self.team, self.seed = team, 0
        self.centre = Centre(self.w.copy())
        self.gap = self.proximal_gap = self.block_gap = self.at_zero = 0.0
        self._shares: FloatArray = np.ones(len(team))
        self._factor, self._complete = 1.0, True
        self._changed: AnyArray = np.zeros(0, np.uint32)
        self._scratch = np.zeros(0)

    # ------------------------------------------------------------------ shards

    def ask(self, problem: Problem, method: str, *arguments: Any) -> list[Any]:
        """Return the results of a method of all shards, which first learn what the last merge has changed."""
        w = self.w if self._complete else None
        indices = None if self._complete else self._changed
        values = None if indices is None else self.w[indices]
        common = Update(1.0, w, indices, values, self._factor, self.clock, self.seed, problem.deadline)
        updates = [replace(common, share=float(share)) for share in self._shares]
        results = self.team.ask(updates, method, [arguments] * len(self.team))
        self._shares[:], self._factor, self._complete = 1.0, 1.0, False
        self._changed = np.zeros(0, np.uint32)
        return results

    def merge(self, changes: Sequence[Change], curvature: float) -> None:
        """Keep the shares of the steps of all shards that maximise the dual, and move the weights."""
        linear = np.array([change.gain - change.rise - change.slope for change in changes])
        square = np.diag([change.square / curvature + change.curve for change in changes])
        for k, one in enumerate(changes[:-1]):
            dense = one.values if one.indices is None else self._spread(one)
            for m in range(k + 1, len(changes)):
                square[k, m] = square[m, k] = _dot(changes[m], dense) / curvature
            if one.indices is not None:
                self._scratch[one.indices] = 0.0
        self._shares = best_shares(linear, square)
        for share, one in zip(self._shares, changes, strict=True):
            _add(one, float(share) / curvature, self.w)
        self._complete = any(change.indices is None for change in changes)
        if not self._complete:
            self._changed = np.concatenate([change.indices for change in changes])
            self._complete = 2 * len(self._changed) > len(self.w)

    def _spread(self, change: Change) -> FloatArray:
        """Return the sum of a shard's steps with an entry for each weight, in an array that is zero before."""
        if len(self._scratch) == 0:
            self._scratch = np.zeros(len(self.w))
        _add(change, 1.0, self._scratch)
        return self._scratch

    def scale(self, factor: float) -> None:
        """Multiply all dual values and ρ by a factor, which leaves the weights as they are around the centre 0."""
        self._factor *= factor
        self.centre.rho *= factor

    def move_centre(self, rho: float, move: bool = True) -> None:
        if move:
            self.centre.passes = 0
        move_to(self.w, self.centre.z, self.centre.rho, rho, move, 0, len(self.w))
        self.centre.rho = rho
        self._complete = True

    def sum_again(self, problem: Problem) -> tuple[float, float]:
        """Sum u = Σ α a over the planes of all shards, set w by it, and return Σ α b and ‖u‖² + Σ ridge m²."""
        u, gain, curve = np.zeros(len(self.w)), 0.0, 0.0
        for indices, values, more, ridge in self.ask(problem, "total"):
            if indices is None:
                u += values
            else:
                u[indices] += values
            gain, curve = gain + more, curve + ridge
        weights_of(u, self.centre.z, self.centre.rho, self.w, 0, len(self.w))
        self._complete = True
        return gain, curve + float(u @ u)

    def least_at_zero(self, problem: Problem, zero: FloatArray) -> float:
        return self.at_zero

    def offer_again(self, problem: Problem) -> None:
        self.best_primal, self.best_bound = np.inf, np.inf
        for w in (self.best_w.copy(), self.w):
            here, self.w, self._complete = self.w, w, True
            certify(problem, self, offer=w is not here)
            self.w, self._complete = here, True

    # ------------------------------------------------------------------ saving

    def own_arrays(self) -> dict[str, AnyArray]:
        """Return the state without that of the shards, as copies."""
        return {name: array.copy() for name, array in super().arrays().items()}

    def restore_own(self, arrays: dict[str, AnyArray]) -> None:
        """Restore the arrays of `own_arrays`."""
        super().restore(arrays)
        self._shares, self._factor, self._complete = np.ones(len(self.team)), 1.0, True

    def arrays(self) -> dict[str, AnyArray]:
        saved = super().arrays()
        for number, arrays in enumerate(self._of_all("arrays")):
            saved.update({f"sets.{number}.{name}": array for name, array in arrays.items()})
        return saved

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        super().check_saved(arrays)
        self._of_all("check_saved", _by_shard(arrays, len(self.team)))

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        self.restore_own({name: array for name, array in arrays.items() if not name.startswith("sets.")})
        self._of_all("restore", _by_shard(arrays, len(self.team)))

    def _of_all(self, method: str, arguments: Sequence[Any] | None = None) -> list[Any]:
        """Return the results of a method of all shards, with an argument for each."""
        each = [()] * len(self.team) if arguments is None else [(argument,) for argument in arguments]
        update = Update(1.0, None)
        return self.team.ask([update] * len(self.team), method, each)


def _by_shard(arrays: Mapping[str, AnyArray], n: int) -> list[dict[str, AnyArray]]:
    """Return the arrays of each shard, by their names within it."""
    by_shard: list[dict[str, AnyArray]] = [{} for _ in range(n)]
    for name, array in arrays.items():
        if name.startswith("sets."):
            _, number, rest = name.split(".", 2)
            by_shard[int(number)][rest] = array
    return by_shard


def _dot(change: Change, w: FloatArray) -> float:
    return float(change.values @ w if change.indices is None else dot_values(change.indices, change.values, w))


def _add(change: Change, factor: float, out: FloatArray) -> None:
    if change.indices is None:
        out += factor * change.values
    else:
        add_values(change.indices, change.values, factor, out)


def certify(problem: Problem, state: ShardedState, offer: bool = True) -> list[Sums]:
    """Decode all examples at w in the shards, and offer w as primal point."""
    state._complete = True
    all_sums: list[Sums] = state.ask(problem, "certify", problem.closing)
    examples = problem.examples
    for ids, sums in zip(state.team.ids, all_sums, strict=True):
        problem.oracle_calls += sums.calls
        at = 0
        for noted in sums.noted:
            if noted is not None:
                examples.note(ids[at : at + len(noted)], noted)
                at += len(noted)
        if sums.fault is not None and examples.fault is None:
            examples.fault = int(ids[sums.fault[0]]), sums.fault[1]
    if offer:
        half = 0.5 * float(state.w @ state.w)
        state.keep(
            half + sum(sums.penalties for sums in all_sums), half + sum(sums.upper for sums in all_sums), state.w
        )
    return all_sums


@dataclass(frozen=True)
class Sharded(Solver):
    """Working sets in shards (``solver="sharded"``), for data whose planes and block steps exceed one process.

    Each shard holds the planes and dual values of its examples and takes block steps on its own copy of the weights;
    the steps of all shards are merged with the shares that maximise the dual (see the documentation of solvers). The
    result depends on `n_shards`, and is the same for any number of workers or threads. Without an engine of other
    processes, shards are threads of this process.

    Parameters
    ----------
    n_shards : int, default=2
        Number of shards. With `Files` and an engine of other processes, at most the number of files, which are divided
        into shards of about the same size.
    merges : int, default=4
        Number of merges in a pass over the planes.
    damping : float, default=0.65
        A shard takes its steps as if `damping` times all shards, and at least one, moved the weights as it does: with
        1 the sum of all steps never overshoots, with less they are longer.
    first_sweeps, most_slots, keep_rounds, moves, inner_gap, cheap_share, most_passes, passes_per_move, patience
        As in `ProximalWorkingSets`. A full working set takes no other plane as long as all of its planes have dual
        values.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(solver=mm.solvers.Sharded(n_shards=2)).fit(X, Y)
    >>> tagger.certificate_.gap <= tagger.tol
    True
    """

    name: ClassVar[str] = "sharded"

    n_shards: int = 2
    merges: int = 4
    damping: float = 0.65
    first_sweeps: int = 2
    most_slots: int = 256
    keep_rounds: int = 4
    moves: int = 6
    inner_gap: float = 0.2
    cheap_share: float = 1.3
    most_passes: int = 50
    passes_per_move: int = 3
    patience: int = 8

    @property
    def _tuning(self) -> Tuning:
        """The hyper-parameters that `ProximalWorkingSets` has too."""
        return Tuning(
            self.first_sweeps, self.most_slots, self.keep_rounds, self.moves, self.inner_gap, self.cheap_share,
            self.most_passes, self.passes_per_move, self.patience,
        )  # fmt: skip

    def check(self, problem: Problem) -> None:
        super().check(problem)
        examples, engine = problem.examples, problem.engine
        if examples.elsewhere:
            return
        if not examples.portable or type(examples).take is Examples.take:
            raise ValueError(
                f"solver='sharded' divides the examples, which {type(examples).__name__} do not support: use 'auto'"
            )
        if engine.remote and not isinstance(engine, Tasks):
            raise ValueError(
                f"solver='sharded' needs an engine that is derived from Tasks or runs threads, found "
                f"{type(engine).__name__}"
            )

    def init(self, problem: Problem, seed: int = 0, start: FloatArray | None = None) -> ShardedState:
        team = team_of(problem, self.n_shards, self._tuning)
        return ShardedState(problem, seed, start, team, self.first_sweeps)

    def planned_bytes(self, problem: Problem) -> float:
        examples, copies = problem.examples, min(self.n_shards, problem.n_examples)
        if problem.engine.remote or examples.elsewhere:
            return super().planned_bytes(problem) + 4.0 * 8 * problem.dim
        planes = PLANES_AT_FIRST * examples.plane_share * float(examples.plane_entries.sum())
        held = (4 + np.dtype(problem.entry_type).itemsize) * planes
        return super().planned_bytes(problem) + 3.0 * 8 * problem.dim * copies + held

    def resume(self, problem: Problem, state: ShardedState) -> None:
        """Find again the planes that were found last, and after an interrupt the weights that belong to them."""
        state._complete = True
        self._find_planes_again(problem, state, sum_again=state.cut_short and bool(np.isfinite(state.centre.rho)))

    # ------------------------------------------------------------------ steps

    def step(self, problem: Problem, state: ShardedState) -> None:
        """Take a step; if a worker is lost in it, continue from the state before the step, and take it again."""
        if not state.team.remote:
            self._advance(problem, state)
            return
        before, calls = state.own_arrays(), problem.oracle_calls
        for attempt in range(MOST_LOSSES):
            try:
                if attempt:
                    state.restore_own(before)
                    problem.oracle_calls = calls
                    self._recover(problem, state)
                self._advance(problem, state)
                state.ask(problem, "write", state.team.folder, state.clock)
                return
            except ShardLost:
                continue
        raise RuntimeError(f"workers of engine {type(problem.engine).__name__} were lost {MOST_LOSSES} times in a row")

    def _recover(self, problem: Problem, state: ShardedState) -> None:
        """Read the dual values that the shards had before the step.

        Where they cannot be read, as on another machine, a shard begins without planes; the weights are then those of
        the dual values that are left.
        """
        read = state.ask(problem, "read", state.team.folder, state.clock)
        if state.clock > 0:
            self._find_planes_again(problem, state, sum_again=not all(read))

    @staticmethod
    def _find_planes_again(problem: Problem, state: ShardedState, sum_again: bool) -> None:
        """Find the planes that were found last, without counting argmaxes, at the weights of the dual values.

        The weights are computed from the dual values again if `sum_again`.
        """
        calls = problem.oracle_calls
        if sum_again:
            state.sum_again(problem)
        if state.first_left == 0:
            certify(problem, state, offer=False)
        problem.oracle_calls = calls

    def _advance(self, problem: Problem, state: ShardedState) -> None:
        """Add the planes found last, pass over the planes held, and certify the weights that result."""
        state.clock, state.seed = state.clock + 1, int(state.rng.integers(2**31))
        if np.isinf(state.centre.rho):
            self._begin(problem, state)
        if state.first_left > 0:
            self._batches(problem, state)
            state.round = "batches"
            if state.first_left > 0:
                return
        elif state.iteration == 0:
            state.round = "start"
        else:
            self._blocks(problem, state)
            state.round = "blocks"
        gain, cost = state.sum_again(problem)
        all_sums = certify(problem, state)
        state.work.count_decoded(problem, problem.n_examples)
        longest = np.inf if problem.objective.quadratic else 1.0
        multiple = min(gain / cost if cost > 0.0 else np.inf, longest) if gain > 0.0 else 0.0
        state.raise_dual(multiple * gain - half_square(multiple, cost))
        state.at_zero = sum(sums.at_zero for sums in all_sums)
        state.proximal_gap, product = products(state.w, state.centre.z, state.centre.rho)
        state.block_gap = sum(sums.blocks for sums in all_sums) - gain + product
        state.effort.watch(state.best_primal - state.best_dual, state.clock, self.patience)

    def _begin(self, problem: Problem, state: ShardedState) -> None:
        """Estimate ρ from the planes of some examples, such that a first step moves about half of a budget."""
        start = state.w.copy()
        for size in (START_SAMPLE, problem.n_examples):
            samples = state.ask(problem, "sample", -(-size // len(state.team)))
            squares, values, levels, n, calls = (float(sum(column)) for column in zip(*samples, strict=True))
            problem.oracle_calls += int(calls)
            state.work.count_decoded(problem, int(n))
            if values > 0.0:
                state.centre.rho = self._estimate(problem, squares / values, levels / n)
                break
        else:
            state.centre.rho = 1.0
        if start.any():
            state.centre.rho = max(LEAST_RHO, state.centre.rho)
            state.centre.z = state.centre.rho / (state.centre.rho - 1.0) * start

    @staticmethod
    def _estimate(problem: Problem, norm: float, level: float) -> float:
        mass = float(problem.objective.budgets.mean()) * (level if problem.objective.quadratic else 1.0)
        return first_rho(mass, norm)

    def _batches(self, problem: Problem, state: ShardedState) -> None:
        """Sweep in mini-batches, with a merge after each of several pieces, and then pass over the planes held."""
        pieces, level = max(1, min(BATCH_MERGES, min(map(len, state.team.ids)) // SMALLEST_BATCH)), 0.0
        squares = values = 0.0
        for piece in range(pieces):
            changes = state.ask(problem, "batches", piece, pieces, self._curvature(state))
            state.merge(changes, state.centre.rho)
            for change in changes:
                problem.oracle_calls += change.calls
                state.work.count_decoded(problem, change.decoded)
                state.work.spent += change.operations
                squares, values = squares + change.norms[0], values + change.norms[1]
            state.gap = sum(change.gaps for change in changes)
            if state.clock == 1 and values > 0.0 and not problem.objective.quadratic:
                estimate = self._estimate(problem, squares / values, level)
                if estimate < state.centre.rho:
                    state.scale(estimate / state.centre.rho)
        state.work.novelty = 1.0
        self._passes(problem, state)
        state.first_left -= 1

    def _blocks(self, problem: Problem, state: ShardedState) -> None:
        """Add the planes found last with block steps, move the centre, and pass over the planes held."""
        centre, effort = state.centre, state.effort
        rho = balanced(centre.rho, effort.thoroughness, state.proximal_gap, state.block_gap)
        pieces, planes, new = self._pieces(state), 0, 0
        for piece in range(pieces):
            changes = state.ask(problem, "take_in", piece, pieces, self._curvature(state))
            state.merge(changes, centre.rho)
            for change in changes:
                state.work.spent += change.operations
                planes, new = planes + change.planes, new + change.new
            state.gap = sum(change.gaps for change in changes)
        state.work.novelty = new / planes if planes else 0.0
        state.move_centre(rho, centre.passes >= self.passes_per_move * effort.level)
        self._passes(problem, state)

    def _curvature(self, state: ShardedState) -> float:
        """Return the curvature for steps of a shard."""
        return state.centre.rho / max(1.0, self.damping * len(state.team))

    def _pieces(self, state: ShardedState) -> int:
        return max(1, min(self.merges, min(map(len, state.team.ids))))

    def _passes(self, problem: Problem, state: ShardedState) -> None:
        """Pass over the held planes, with a merge after each of several pieces."""
        pieces, curvature = self._pieces(state), self._curvature(state)

        def sweep(number: int, skip_below: float, since: int) -> tuple[float, float]:
            total = spent = 0.0
            for piece in range(pieces):
                changes = state.ask(problem, "sweep", number + 1, piece, pieces, skip_below, since, curvature)
                state.merge(changes, state.centre.rho)
                total += sum(change.gaps for change in changes)
                spent += sum(change.operations for change in changes)
            return total, spent

        cheap_passes(self._tuning, problem, state, state.gap / problem.n_examples, sweep)
