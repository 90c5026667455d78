"""Proximal working sets, the default solver: dual block-coordinate ascent in a proximal-point iteration.

The regulariser ½‖w‖² is replaced by ½‖w‖² + ½(ρ − 1)‖w − z‖² around a centre z, which moves to w every few passes over
the held planes. With ρ > 1 the blocks of the dual hardly interact, and many steps can be taken between two rounds
of argmaxes. At all times

    ρ w = (ρ − 1) z + u,      u = Σ α a                                                                          (*)

so u is never stored (`proximal_state`), and the gap of the original problem splits into a part for the centre and a
part for the blocks, which ρ balances (`balanced`). The solver works on held planes until that costs about as much as
the argmaxes did. Costs are counted in operations and not in time so that runs are reproducible bit for bit.

A step adds the planes found last, lets the first round that applies improve the state (`proximal_rounds`), and
decodes all examples for a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.types import FloatArray
from maxmargin.bounds.references import References
from maxmargin.problem import Problem
from maxmargin.solvers.base import Solver, State
from maxmargin.solvers.hard_margin import feasible_scale
from maxmargin.solvers.working_sets.proximal_rounds import (
    Batches,
    Blocks,
    Exact,
    Held,
    ProximalRound,
    Start,
    Tuning,
    take_in,
)
from maxmargin.solvers.working_sets.proximal_state import ProximalState
from maxmargin.solvers.working_sets.sets import PLANES_AT_FIRST


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
        state.count_decoded(problem, problem.n_examples)
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
