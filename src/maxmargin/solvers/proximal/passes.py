"""Passes over held planes, the inexpensive part of the default solver's work."""

from __future__ import annotations

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.solvers.proximal.planes import chunked_order
from maxmargin.solvers.proximal.state import PASS_OPERATIONS, ProximalState
from maxmargin.solvers.proximal.tuning import Tuning

#: Blocks with less than this share of the mean gap are visited only in every fifth pass, because they gain little.
SKIP_SHARE, ALL_EVERY = 0.3, 5


def cheap_passes(tuning: Tuning, problem: Problem, state: ProximalState) -> None:
    """Pass over the held planes; after the first pass only over active ones.

    The centre moves after every few passes. The passes end when the restricted gap is at most `inner_gap` times its
    initial value (up to twice that if all planes found last were new, because the held planes then say little about the
    next argmaxes), or when they have used up their operations.
    """
    sets, centre, effort, n = state.sets, state.centre, state.effort, problem.n_examples
    if np.isinf(centre.rho):
        return
    mean_gap = first_gap = float(sets.gap.mean())
    allowed, spent = effort.thoroughness * state.work.allowed(tuning.cheap_share), 0.0
    needed = tuning.inner_gap * (1.0 + state.work.novelty**3) / effort.thoroughness
    for k in range(int(tuning.most_passes * effort.thoroughness)):
        total, operations = sets.sweep(
            chunked_order(state, n), SKIP_SHARE * mean_gap if k % ALL_EVERY else -1.0, state.clock if k else 0,
            state.w, centre.rho, state.clock, tuning.moves,
        )  # fmt: skip
        state.floor.settle(state.w)
        mean_gap, spent = total / n, spent + operations + PASS_OPERATIONS
        centre.passes += 1
        if centre.passes >= tuning.passes_per_move * effort.level and state.first_left == 0:
            state.move_centre(centre.rho)
        if mean_gap <= needed * first_gap or (spent > allowed and k > 0) or problem.out_of_time:
            return
