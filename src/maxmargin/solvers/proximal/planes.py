"""Decoding and adding planes, for all rounds of the default solver."""

from __future__ import annotations

import numpy as np

from maxmargin._types import IntArray
from maxmargin.core.codes import TRUTH
from maxmargin.core.problem import Problem
from maxmargin.solvers.proximal.balance import balanced
from maxmargin.solvers.proximal.state import VECTOR_SPEED, ProximalState
from maxmargin.solvers.proximal.tuning import Tuning

#: Number of neighbours visited together in a pass, for faster memory access; more make the order less random.
CHUNK = 32
#: Minimum number of chunks or mini-batches in a sweep, so that the order is still random.
FEWEST_BATCHES = 64
#: Curvature if ρ is infinite; no step is taken then, but kernels divide by the curvature.
LARGEST_CURVATURE = 1e12


def decode(problem: Problem, state: ProximalState, ids: IntArray) -> None:
    """Find the most violated planes of ids at the current weights and count the operations."""
    problem.decode(state.w, ids)
    share = len(ids) / problem.n_examples
    state.work.decoded += share
    state.work.spent += share * problem.operations / VECTOR_SPEED


def insert(tuning: Tuning, problem: Problem, state: ProximalState, ids: IntArray, moves: int) -> None:
    """Add the planes found for ids, each with a block step of up to `moves` moves."""
    sets, work = state.sets, state.work
    slot = sets.match(ids, problem.keys, state.clock - tuning.keep_rounds)
    planes = problem.planes(ids[slot < 0])
    work.novelty = float((slot < 0).mean()) if len(slot) else 0.0
    curvature = min(state.centre.rho, LARGEST_CURVATURE)
    work.spent += sets.insert(ids, slot, planes, problem, state.w, curvature, state.clock, moves)
    state.floor.settle(state.w)


def take_in(tuning: Tuning, problem: Problem, state: ProximalState, moves: int) -> None:
    """Add the planes found last for all examples.

    Without moves, dual values and weights do not change, unless a full working set drops a plane. With moves, ρ of the
    next move of the centre is computed first, from the gap at the weights of the last decode.
    """
    if moves == 0:
        insert(tuning, problem, state, problem.everyone, 0)
    else:
        state.centre.next_rho = balanced(problem, state)
        insert(tuning, problem, state, busy(problem, state, fresh_order(problem, state)), moves)
    if state.clock % 4 == 0:
        state.sets.compact_if_scattered()
    if state.clock % 8 == 0:
        state.sets.release_outputs(problem)


def busy(problem: Problem, state: ProximalState, ids: IntArray) -> IntArray:
    """Return those of ids that have planes or have just found one; there is nothing to do for the others."""
    return ids[(problem.keys[ids] != TRUTH) | (state.sets.count[ids] > 1)]


def fresh_order(problem: Problem, state: ProximalState) -> IntArray:
    """Return a random order of the examples, in chunks if neighbouring examples are unrelated."""
    n = problem.n_examples
    return chunked_order(state, n) if problem.examples.shuffled else state.rng.permutation(n)


def chunked_order(state: ProximalState, n: int) -> IntArray:
    """Return all examples in random order, in chunks of neighbours."""
    size = max(1, min(CHUNK, n // FEWEST_BATCHES))
    chunks = np.arange(-(-n // size) * size).reshape(-1, size)
    order = state.rng.permutation(chunks).ravel()
    return order[order < n]
