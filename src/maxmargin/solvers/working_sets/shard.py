"""One shard of the sharded solver: examples with their planes and dual values, and a copy of the weights.

A shard decodes its examples, adds planes, and takes block steps, all at its own copy of w. What it sends is a
`Change`: the sum Δu = Σ Δα a of its steps, and what they add to the dual. The driver (`sharded`) decides which share of
the steps is kept; the shard learns it with the next request (`Update`), together with the weights that result from the
steps of all shards. A shard is in a thread of the driver's process, or in a worker that has its examples (`perform`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin._base.errors import ExampleError
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.bounds import Bound
from maxmargin.core.examples import Examples
from maxmargin.core.objective import Objective
from maxmargin.core.planes import Planes
from maxmargin.engines.engine import Local
from maxmargin.engines.shard_worker import Held
from maxmargin.engines.tasks import writable
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import arrays_of_part
from maxmargin.solvers.working_sets import _changes
from maxmargin.solvers.working_sets.proximal import batch_size, busy, chunked_order, fresh_order
from maxmargin.solvers.working_sets.sets import WorkingSets

#: Rounds after which unused space in pools of planes is reclaimed, and outputs of dropped planes are released.
COMPACT_EVERY, RELEASE_EVERY = 4, 8
#: Operations for each weight from which nearly all weights are likely to change.
DENSE = 8


@dataclass(frozen=True)
class Setup:
    """What a shard is made of, besides its examples.

    Attributes
    ----------
    number : int
        Number of the shard.
    bound : Bound
        The bound.
    C, slack : float, str
        As in `Objective`.
    weights : list of ndarray
        c_i of the examples of each part.
    references : list of References, or None
        References of the examples of each part.
    centre : ndarray of shape (dim,) or None
        w₀ of the regulariser.
    most_slots, keep_rounds, moves : int
        Hyper-parameters of the solver.
    """

    number: int
    bound: Bound
    C: float
    slack: str
    weights: list[FloatArray]
    references: list[References] | None
    centre: FloatArray | None
    most_slots: int
    keep_rounds: int
    moves: int


@dataclass(frozen=True)
class Update:
    """What has happened since the last request to a shard.

    Attributes
    ----------
    share : float
        Share of the last steps of the shard that is kept.
    w : ndarray of shape (dim,) or None
        The weights; None if they changed only at `indices`.
    indices, values : ndarray or None
        The weights that changed, and their values.
    factor : float, default=1.0
        Factor by which all dual values are multiplied.
    clock : int, default=0
        Number of steps so far.
    seed : int, default=0
        Seed of the random orders of the step.
    deadline : float, default=inf
        `Problem.deadline`, for shards in threads.
    """

    share: float
    w: FloatArray | None
    indices: AnyArray | None = None
    values: FloatArray | None = None
    factor: float = 1.0
    clock: int = 0
    seed: int = 0
    deadline: float = np.inf


@dataclass(frozen=True)
class Change:
    """Steps of a shard, all of which it has taken on its copy of the weights.

    Attributes
    ----------
    indices : ndarray of uint32, or None
        Indices of weights; None if `values` has all.
    values : ndarray
        Δu = Σ Δα a at these.
    gain : float
        Σ Δα b.
    rise, square : float
        w·Δu at the weights before the steps, and ‖Δu‖².
    slope, curve : float
        Σ ridge m δ and Σ ridge δ², for masses m before the steps and δ more of them after: with quadratic slack, a
        share t of the steps costs t slope + ½ t² curve.
    gaps : float
        Sum of the block gaps of the piece, or of all examples after their planes were added.
    operations : float
        Operations spent.
    planes, new : int
        Number of planes that argmaxes found, and of those among them that were new.
    norms : tuple of (float, float)
        Σ α ‖a‖² and Σ α b of the examples that were visited in a sweep in mini-batches.
    decoded, calls : int
        Number of examples decoded, and of argmaxes.
    """

    indices: AnyArray | None
    values: FloatArray
    gain: float
    rise: float
    square: float
    slope: float
    curve: float
    gaps: float = 0.0
    operations: float = 0.0
    planes: int = 0
    new: int = 0
    norms: tuple[float, float] = (0.0, 0.0)
    decoded: int = 0
    calls: int = 0


@dataclass(frozen=True)
class Sums:
    """Sums over the examples of a shard at weights at which all have been decoded.

    Attributes
    ----------
    penalties, upper : float
        Σ of the penalties of the hinges, and of proven upper bounds on them (infinite if nothing is proven).
    at_zero : float
        Σ of the penalties of the largest b of known planes: a lower bound on what w = 0 costs.
    blocks : float
        Σ_i penalty_i + ½ ridge m², to which the gap of the blocks is Σ α b − u·w less.
    calls : int
        Number of argmaxes.
    noted : list
        What argmaxes have shown besides their answers (`Examples.noted`), by part.
    fault : tuple of int and str, or None
        `Examples.fault`; the example is numbered within the shard.
    """

    penalties: float
    upper: float
    at_zero: float
    blocks: float
    calls: int
    noted: list[Any]
    fault: tuple[int, str] | None


@dataclass(eq=False)
class Part:
    """Examples that were encoded together, as the files of a worker are one by one."""

    problem: Problem
    sets: WorkingSets
    orders: dict[tuple[int, ...], IntArray] = field(default_factory=dict)


class Shard:
    """Examples of a shard with their planes, and its copy of the weights.

    Parameters
    ----------
    setup : Setup
        What the shard is made of.
    examples : sequence of Examples
        Its examples, in parts.
    """

    def __init__(self, setup: Setup, examples: Sequence[Examples]) -> None:
        self.setup, self.parts = setup, list[Part]()
        for at, some in enumerate(examples):
            objective = Objective(setup.C, setup.weights[at], setup.slack)
            problem = Problem(some, setup.bound, objective, Local(1), setup.centre)
            problem.references = None if setup.references is None else setup.references[at]
            sets = WorkingSets(problem, setup.most_slots)
            if self.parts:
                sets.scratch = self.parts[0].sets.scratch
            self.parts.append(Part(problem, sets))
        self.dim = self.parts[0].problem.dim
        self.w: FloatArray = np.zeros(self.dim)
        self.clock = self.seed = 0
        self._marks = np.zeros(0, np.uint8)
        #: Steps whose share is not known yet: part, examples, and dual values before.
        self._open: list[tuple[Part, IntArray, FloatArray]] = []

    @property
    def _scratch(self) -> FloatArray:
        """Array of zeros, one for each weight."""
        return self.parts[0].sets.scratch

    def update(self, update: Update) -> None:
        """Keep the given share of the last steps, and take over the weights."""
        if update.share < 1.0:
            for part, ids, before in self._open:
                part.sets.keep_share(ids, before, update.share)
        self._open.clear()
        self.clock, self.seed = update.clock, update.seed
        if update.factor != 1.0:
            for part in self.parts:
                part.sets.scale_alpha(update.factor)
        if update.w is not None:
            np.copyto(self.w, update.w)
        elif update.indices is not None and update.values is not None:
            _changes.set_values(update.indices, update.values, self.w)
        for part in self.parts:
            part.problem.deadline = update.deadline

    # ------------------------------------------------------------------ steps

    def sample(self, size: int) -> tuple[float, float, float, int, int]:
        """Decode about `size` examples and add their planes without steps.

        Returns Σ ‖a‖² and Σ b over these planes, Σ of the values found, and the numbers of examples and argmaxes.
        """
        squares = values = levels = 0.0
        n = calls = 0
        total = sum(part.problem.n_examples for part in self.parts)
        for part in self.parts:
            problem = part.problem
            some = max(1, -(-size * problem.n_examples // total))
            ids = np.sort(self._order(part, -1)[:some])
            calls += self._decode(part, ids)
            self._insert(part, busy(problem, part.sets, ids), 1.0, 0)
            more = part.sets.weighted_norms(ids, False)
            squares, values = squares + more[0], values + more[1]
            levels, n = levels + float(problem.values[ids].sum()), n + len(ids)
        self._open.clear()
        return squares, values, levels, n, calls

    def batches(self, piece: int, pieces: int, curvature: float) -> Change:
        """Decode one of several pieces of the examples in mini-batches, with a block step on each of them."""
        operations, planes, new, decoded, calls, visited = 0.0, 0, 0, 0, 0, []
        for part in self.parts:
            ids, size = _piece(self._order(part, 0), piece, pieces), batch_size(part.problem)
            for k in range(0, len(ids), size):
                some = ids[k : k + size]
                calls += self._decode(part, some)
                spent, novel = self._insert(part, busy(part.problem, part.sets, some), curvature, self.setup.moves)
                operations, planes, new = operations + spent, planes + len(some), new + novel
            decoded += len(ids)
            visited.append((part, ids))
        norms = np.sum([part.sets.weighted_norms(ids, True) for part, ids in visited], axis=0)
        return self._change(
            operations, curvature, planes=planes, new=new, decoded=decoded, calls=calls, gaps=self._gaps(),
            norms=(float(norms[0]), float(norms[1])),
        )  # fmt: skip

    def take_in(self, piece: int, pieces: int, curvature: float) -> Change:
        """Add the planes found last, of one of several pieces of the examples, with a block step on each of them."""
        operations, planes, new = 0.0, 0, 0
        for part in self.parts:
            ids = _piece(busy(part.problem, part.sets, self._order(part, 0)), piece, pieces)
            spent, novel = self._insert(part, ids, curvature, self.setup.moves)
            operations, planes, new = operations + spent, planes + len(ids), new + novel
            if piece == pieces - 1:
                self._tidy(part)
        return self._change(operations, curvature, planes=planes, new=new, gaps=self._gaps())

    def sweep(self, number: int, piece: int, pieces: int, skip_below: float, since: int, curvature: float) -> Change:
        """Make a block step on one of several pieces of the examples, as `WorkingSets.sweep`."""
        operations, gaps = 0.0, 0.0
        for part in self.parts:
            sets, everyone = part.sets, _piece(self._order(part, number), piece, pieces)
            ids = everyone[(sets.count[everyone] > 1) & (sets.gap[everyone] > skip_below)]
            self._open.append((part, ids, sets.copied_alpha(ids)))
            _, spent = sets.sweep(ids, skip_below, since, self.w, curvature, self.clock, self.setup.moves)
            operations, gaps = operations + spent, gaps + float(sets.gap[everyone].sum())
        return self._change(operations, curvature, gaps=gaps)

    def _order(self, part: Part, number: int) -> IntArray:
        """Return a random order of the examples of a part, the same whenever it is asked for."""
        key = self.clock, number
        if key not in part.orders:
            part.orders.clear()
            rng = np.random.default_rng([self.seed, self.setup.number, self.parts.index(part), number + 1])
            n = part.problem.n_examples
            part.orders[key] = chunked_order(rng, n) if number > 0 else fresh_order(part.problem, rng)
        return part.orders[key]

    def _decode(self, part: Part, ids: IntArray) -> int:
        """Decode some examples of a part, and return the number of argmaxes."""
        before = part.problem.oracle_calls
        try:
            part.problem.decode(self.w, ids)
        except ExampleError as error:
            if error.example is not None:  # number it within the shard
                others = self.parts[: self.parts.index(part)]
                error.move_to(int(error.example) + sum(other.problem.n_examples for other in others))
            raise
        return part.problem.oracle_calls - before

    def _insert(self, part: Part, ids: IntArray, curvature: float, moves: int) -> tuple[int, int]:
        """Add the planes found for ids; return the operations and the number of new planes.

        A full working set, all of whose planes have dual values, takes no other plane: a share of what it would lose
        could not be kept.
        """
        problem, sets = part.problem, part.sets
        slot = sets.match(ids, problem.keys, self.clock - self.setup.keep_rounds)
        full = np.flatnonzero((slot < 0) & (sets.count[ids] >= sets.most_slots))
        for r in full.tolist():
            first = sets.first[ids[r]]
            if sets.alpha[first + 1 : first + sets.count[ids[r]]].all():
                slot[r] = 0
        new = ids[slot < 0]
        planes = problem.planes(new)
        sets.make_room(new)
        self._open.append((part, ids, sets.copied_alpha(ids)))
        return sets.insert(ids, slot, planes, problem, self.w, curvature, self.clock, moves), len(new)

    def _gaps(self) -> float:
        return sum(float(part.sets.gap.sum()) for part in self.parts)

    def _change(self, operations: float, curvature: float, **others: Any) -> Change:
        """Return the steps since the last request, and leave the array of zeros as it was."""
        out = self._scratch
        noting = operations < DENSE * self.dim
        if noting and len(self._marks) == 0:
            self._marks = np.zeros(self.dim, np.uint8)
        marks = self._marks if noting else np.zeros(0, np.uint8)
        touched = np.empty(self.dim if noting else 0, np.uint32)  # pages that are not written take no memory
        gain = slope = curve = 0.0
        n = 0
        for part, ids, before in self._open:
            more, steep, curved, n = part.sets.add_changes(ids, before, touched, n, marks, out)
            gain, slope, curve = gain + more, slope + steep, curve + curved
        indices = touched[:n].copy() if noting and 2 * n < self.dim else None
        if indices is None:
            values = out.copy()
            out[:] = 0.0
            self._marks[:] = 0
            product = float(values @ self.w)
        else:
            values = np.empty(n)
            product = _changes.take_changes(indices, marks, out, values, self.w)
        square = float(values @ values)  # w has moved by Δu / curvature
        return Change(
            indices, values, gain, product - square / curvature, square, slope, curve, operations=operations, **others
        )

    def _tidy(self, part: Part) -> None:
        if self.clock % COMPACT_EVERY == 0:
            part.sets.compact_if_scattered()
        if self.clock % RELEASE_EVERY == 0:
            part.sets.release_outputs(part.problem)

    # ------------------------------------------------------------------ sums

    def total(self) -> tuple[AnyArray | None, FloatArray, float, float]:
        """Return u = Σ α a, summed over the planes again, as in `Change`; Σ α b; and Σ ridge m²."""
        u, gain, curve = np.zeros(self.dim), 0.0, 0.0
        for part in self.parts:
            u += part.sets.combination()
            gain += part.sets.gain()
            curve += float((part.sets.ridge * part.sets.masses() ** 2).sum())
        at = np.flatnonzero(u)
        return (None, u, gain, curve) if 2 * len(at) > self.dim else (at.astype(np.uint32), u[at], gain, curve)

    def certify(self, closing: bool) -> Sums:
        """Decode all examples and return what a certificate needs of them."""
        penalties = upper = at_zero = blocks = 0.0
        calls, first, noted, fault = 0, 0, [], None
        for part in self.parts:
            problem, sets, objective = part.problem, part.sets, part.problem.objective
            problem.closing = closing
            calls += self._decode(part, problem.everyone)
            sets.raise_hinges(problem, self.w)
            penalties += float(objective.penalties(problem.hinges).sum())
            proven = problem.proven_hinges(self.w)
            with np.errstate(over="ignore"):
                upper += np.inf if proven is None else float(objective.penalties(proven).sum())
            known = np.maximum(problem.values, sets.largest_values())
            at_zero += float(objective.penalties(known).sum())
            blocks += float(objective.penalties(problem.hinges).sum())
            blocks += 0.5 * float((sets.ridge * sets.masses() ** 2).sum())
            noted.append(problem.examples.noted(problem.everyone))
            if fault is None and problem.examples.fault is not None:
                fault = first + problem.examples.fault[0], problem.examples.fault[1]
            first += problem.n_examples
        return Sums(penalties, upper, at_zero, blocks, calls, noted, fault)

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, AnyArray]:
        """Return all that is needed to continue, as plain arrays."""
        return {
            f"{at}.{name}": array
            for at, part in enumerate(self.parts)
            for name, array in part.sets.arrays().items()
        }  # fmt: skip

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        for at, part in enumerate(self.parts):
            part.sets.check_saved(arrays_of_part(str(at), arrays))

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Set the planes and dual values to what `arrays` returned."""
        self._open.clear()
        for at, part in enumerate(self.parts):
            part.sets.restore(arrays_of_part(str(at), arrays))

    def write(self, folder: str, step: int) -> bool:
        """Write the planes and dual values to a file; return whether that was possible.

        Those of the step before stay in another file until the next one, for shards that were lost meanwhile.
        """
        path = self._path(folder, step)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(f"{path}.part", "wb") as file:
                np.savez(file, step=step, **self.arrays())  # type: ignore[arg-type]
            os.replace(f"{path}.part", path)
        except OSError:
            return False
        return True

    def read(self, folder: str, step: int) -> bool:
        """Set the planes and dual values to those written after a step; return whether they were found.

        If not, they are those at the beginning: no planes, and all dual values at the truth.
        """
        try:
            with np.load(self._path(folder, step), allow_pickle=False) as file:
                arrays = dict(file)
            if int(arrays.pop("step")) == step:
                self.restore(arrays)
                return True
        except (OSError, ValueError, KeyError):
            pass
        self._open.clear()
        for part in self.parts:
            sets = WorkingSets(part.problem, self.setup.most_slots)
            sets.scratch, part.sets = part.sets.scratch, sets
        return False

    def _path(self, folder: str, step: int) -> Path:
        return Path(folder, f"{self.setup.number}-{step % 2}.npz")


def _piece(ids: IntArray, piece: int, pieces: int) -> IntArray:
    """Return one of several pieces of about equal length."""
    return ids[len(ids) * piece // pieces : len(ids) * (piece + 1) // pieces]


def rows_of(references: References, ids: IntArray) -> References:
    """Return the references of some examples."""
    planes = references.planes
    some = Planes(planes.indptr, planes.indices, planes.values).rows(ids)
    return References(references.keys[ids], references.values[ids], some, references.fixed[ids])


#: Result of a request to a worker that does not have the shard: another worker had it, and was lost.
LOST = "lost"


def perform(
    held: Held, number: int, w: FloatArray | None, token: str, parts: Sequence[int], setup: Setup | None,
    update: Update, method: str, arguments: tuple[Any, ...],
) -> Any:  # fmt: skip
    """Call a method of a shard in the worker that has it; return `LOST` if it does not.

    Parameters
    ----------
    held : Held
        What the worker has of the data.
    number : int
        The first of the shards of the data that belong to this shard.
    w : ndarray of shape (dim,) or None
        The weights of the update, if it has all.
    token : str
        Name of the run.
    parts : sequence of int
        The shards of the data that belong to this shard.
    setup : Setup or None
        Makes a new shard; None for the one that is there.
    update, method, arguments
        What to do.
    """
    if setup is not None:
        held.kept[number] = token, Shard(setup, [held.shard(part)[0] for part in parts])
    known, shard = held.kept.get(number, ("", None))
    if known != token or shard is None:
        return LOST
    shard.update(replace(update, w=w, indices=writable(update.indices), values=writable(update.values)))
    return getattr(shard, method)(*arguments)
