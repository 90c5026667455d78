"""Working sets: planes of each example with their dual values.

Steps on one example at a time are exact. The dual of example i is stored in its slots: α of slot 0, the truth, is the
rest of the budget C c_i; each further slot holds a plane. With s_j = b_j − a_j·w − ridge_i · (mass of the planes),
moving mass g from slot j to slot k gains

    g (s_k − s_j) − ½ g² (‖a_k − a_j‖² / curvature + ridge_i [j = 0 or k = 0])

in the dual, where ``curvature`` is the strength of the regulariser (1, or more around a proximal centre), and w changes
by g (a_k − a_j) / curvature. Linear slack has ridge 0; quadratic slack has ridge 1/(C c_i) and an unlimited budget.

Layout: the slots of example i are ``first[i] … first[i] + room[i]``, of which `count[i]` are in use; the capacity
`room` doubles when needed. The entries of all planes are in one pool, in which a slot owns ``start:stop``; the code of
its output is stored just before ``start``. Memory is O(entries of the held planes + Σ room²).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from maxmargin._base.ragged import batches, offsets_of, places
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import TRUTH, Planes, float32_exact, gathered
from maxmargin.problem import Problem, References
from maxmargin.solvers.base import Decodable
from maxmargin.solvers.saved_states import check_array, check_names, check_working_sets
from maxmargin.solvers.working_sets import _jit

#: Age of a plane to be dropped, and a key that no plane has.
FORGOTTEN, UNKNOWN = -2, -1
#: Age that no plane has reached.
ANY_AGE = int(np.iinfo(np.int32).max)
#: Initial capacity of the pool, in planes per example.
PLANES_AT_FIRST = 3
#: Size of another pool, as a multiple of what it must hold: pages are in memory only when they are written to.
GROWTH = 2.0
#: Share of the limit of planes that are refused before others are dropped for new ones.
REFUSED = 0.125
#: Size in bytes up to which a pool is kept for reuse.
LARGEST_SPARE = 1 << 28
#: α of slot 0 if the budget is unlimited: so large that no move changes it.
UNLIMITED = 1e300


class WorkingSets:
    """The dual of a problem, restricted to the planes seen.

    Parameters
    ----------
    problem : Problem
        The problem with its sizes, budgets and ridges.
    most_slots : int, default=16
        Maximum number of slots of an example, including the truth. In a full working set the oldest inactive plane is
        replaced by a new one.
    most_bytes : int, default=0
        Maximum size of the pools of planes; 0 for no limit. See `within_limit`.
    """

    _saved = (
        "first", "room", "count", "gram_first", "gap", "alpha", "value", "start", "stop", "age", "key", "gram",
        "index", "entry", "budget",
    )  # fmt: skip

    def __init__(self, problem: Problem, most_slots: int = 16, most_bytes: int = 0) -> None:
        n, room = problem.n_examples, 2
        self.most_slots, self.most_bytes = most_slots, most_bytes
        self.ridge, self.unlimited = problem.objective.ridges, problem.objective.quadratic
        limited = not (self.unlimited or problem.objective.hard)
        self.most_budget = problem.objective.budgets if limited else None
        self.code_length = np.diff(problem.examples.code_offsets)
        self.code_offsets = problem.examples.code_offsets
        self.dim, self.engine = problem.dim, problem.engine
        self.first, self.gram_first = np.arange(n) * room, np.arange(n) * room * room
        self.room, self.count = np.full(n, room, np.int32), np.ones(n, np.int32)
        self.gap = np.zeros(n)
        self.alpha, self.value = np.zeros(n * room), np.zeros(n * room)
        self.start, self.stop = np.zeros(n * room, np.int64), np.zeros(n * room, np.int64)
        self.age, self.key = np.zeros(n * room, np.int32), np.zeros(n * room, np.int64)
        self.gram = np.zeros(n * room * room)
        one_each = int(problem.examples.plane_entries.sum() + problem.examples.code_offsets[-1])
        self.index: AnyArray = np.empty(0, np.uint32)
        self.entry: AnyArray = np.empty(0, problem.entry_type)
        pool = min(max(PLANES_AT_FIRST * one_each, 1 << 12), self.most_entries)
        # The system provides memory only when it is written to.
        self.index, self.entry = np.empty(pool, np.uint32), np.empty(pool, problem.entry_type)
        self.slots_end, self.gram_end, self.end = n * room, n * room * room, 0
        self._spare: tuple[AnyArray, AnyArray] | None = None
        self.ordered = 0  # planes of the same example are contiguous up to this position
        self.refused = 0  # entries of planes that exceeded the limit of memory, since planes were last dropped for them
        self.scratch = np.zeros(problem.dim)
        self.budget = np.zeros(n)
        self.set_budgets(np.full(n, np.inf) if self.unlimited else problem.objective.budgets)

    @property
    def _slots(self) -> tuple[AnyArray, ...]:
        return self.first, self.count, self.alpha, self.value, self.start, self.stop, self.age

    @property
    def _masses(self) -> tuple[AnyArray, ...]:
        return self.first, self.count, self.alpha, self.budget

    @property
    def _blocks(self) -> tuple[AnyArray, ...]:
        return (*self._slots, self.room, self.gram_first, self.gram, self.gap, self.ridge, self.budget)

    @property
    def most_entries(self) -> int:
        """Maximum number of entries of a pool: half of the limit, because there are two while planes are moved."""
        if not self.most_bytes:
            return int(np.iinfo(np.int64).max)
        return self.most_bytes // (2 * (self.index.itemsize + self.entry.itemsize))

    # ------------------------------------------------------------------ steps

    def match(self, ids: IntArray, keys: IntArray, oldest: int) -> IntArray:
        """Drop inactive planes of ids older than `oldest` and return the slot of each example's key.

        The slot is −1 if the key is new.
        """
        slot = np.empty(len(ids), np.int64)
        _jit.match_keys(ids, keys, oldest, slot, *self._slots, self.key, self.room, self.gram_first, self.gram)
        return slot

    def parts(self, problem: Problem, ids: IntArray) -> list[slice]:
        """Return runs of ids whose new planes take no more memory than a pool."""
        examples = problem.examples
        return batches(examples.plane_entries[ids], max(1, int(self.most_entries / examples.plane_share)))

    def within_limit(
        self, problem: Problem, ids: IntArray, slot: IntArray, planes: Planes
    ) -> tuple[IntArray, IntArray, Planes]:
        """Return the arguments of `insert` without the planes that exceed the limit of memory.

        If they do not all fit, inactive planes are dropped first, of all examples; then the planes of the first
        examples of ids are kept. Neither changes dual values, so the lower bound stays true: only progress is lost.
        Dropping looks at all examples and moves all planes, so it waits until enough planes have been refused.
        """
        new = np.flatnonzero(slot < 0)
        ends = planes.indptr[1:] + np.cumsum(self.code_length[ids[new]])
        if len(new) == 0 or self.end + ends[-1] <= self.most_entries:
            return ids, slot, planes
        self.refused += int(ends[-1])
        if self.refused >= REFUSED * self.most_entries:
            self.refused = 0
            if self._live() + ends[-1] > self.most_entries:
                self.match(problem.everyone, problem.keys, ANY_AGE)
                slot = self.match(ids, problem.keys, ANY_AGE)
            self.compact()
        kept = int(np.searchsorted(ends, self.most_entries - self.end, "right"))
        stays = np.ones(len(ids), bool)
        stays[new[kept:]] = False
        used = int(planes.indptr[kept])
        return ids[stays], slot[stays], Planes(planes.indptr[: kept + 1], planes.indices[:used], planes.values[:used])

    def insert(
        self, ids: IntArray, slot: IntArray, planes: Planes, problem: Problem, w: FloatArray, curvature: float,
        clock: int, moves: int,
    ) -> int:  # fmt: skip
        """Add the planes of the ids with slot −1, with a block step on each example in ids, in this order.

        A plane that is not violated at the current w is dropped. Return the operations spent.
        """
        new = ids[slot < 0]
        problem.hold(new)
        self.make_room(new)
        self._reserve(int(planes.indptr[-1] + self.code_length[new].sum()), planes.values)
        self.end, operations = _jit.insert_planes(
            ids, slot, planes.indptr, planes.indices, planes.values, problem.values, problem.keys,
            problem.answers.codes, self.code_offsets, self.scratch, self.end, w, curvature, clock, moves,
            self.key, *self._blocks, self.index, self.entry,
        )  # fmt: skip
        return operations

    def sweep(
        self, order: IntArray, skip_below: float, since: int, w: FloatArray, curvature: float, clock: int, moves: int
    ) -> tuple[float, int]:
        """Make a block step on each example of `order` whose last gap is above `skip_below`.

        Only planes that are active or not older than `since` are used. Return the sum of all block gaps and the
        operations spent.
        """
        return _jit.block_pass(
            order, skip_below, since, w, curvature, clock, moves, *self._blocks, self.index, self.entry
        )

    def raise_hinges(self, problem: Problem, w: FloatArray) -> None:
        """Raise the hinges of the problem to those of the held planes.

        If argmaxes are found by search, a held plane may be more violated at w than the plane just found.
        """
        if problem.searches:
            np.maximum(problem.hinges, self.hinges(problem.everyone, w), out=problem.hinges)

    def hinges(self, ids: IntArray, w: FloatArray) -> FloatArray:
        """Return the greatest violation at w of the held planes of each example in ids, at least 0."""
        return self.best_held(ids, w)[0]

    def best_held(self, ids: IntArray, w: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return `hinges` and the slots at which they are attained (0 for the truth)."""
        return _jit.best_slots(
            ids, self.first, self.count, self.value, self.start, self.stop, self.index, self.entry, w
        )

    def replace_alpha(self, kept: float, choices: Iterable[tuple[IntArray, FloatArray]]) -> None:
        """Set α to kept · α + Σ masses; each of `choices` is a slot and a mass per example."""
        _jit.scale_alpha(np.full(len(self.count), kept), *self._masses, UNLIMITED)
        for slots, masses in choices:
            _jit.add_mass(slots, masses, self.first, self.alpha)
        self.scale_alpha(1.0)

    # ------------------------------------------------------------------ sums

    def masses(self) -> FloatArray:
        """Return Σ_j α_ij of each example, without the truth."""
        return _jit.plane_masses(self.first, self.count, self.alpha)

    def gain(self) -> float:
        """Return Σ α b."""
        return _jit.dual_gain(self.first, self.count, self.alpha, self.value)

    def largest_values(self) -> FloatArray:
        """Return the largest b of the planes of each example, at least 0."""
        return _jit.largest_values(self.first, self.count, self.value)

    def combination(self, out: FloatArray | None = None) -> FloatArray:
        """Return u = Σ α a, summed over the planes again, in `out` if that is of the right length."""
        out = np.empty(self.dim) if out is None or len(out) != self.dim else out
        out[:] = 0.0
        _jit.add_planes(self.first, self.count, self.alpha, self.start, self.stop, self.index, self.entry, out)
        return out

    def sum_of(self, slots: IntArray, coefficients: FloatArray) -> FloatArray:
        """Return Σ_i coefficients[i] a of the plane in slots[i]."""
        out = np.zeros(self.dim)
        _jit.sum_slots(slots, coefficients, self.first, self.start, self.stop, self.index, self.entry, out)
        return out

    def touch(self, clock: int) -> None:
        """Record that planes with positive mass are active now."""
        self.age[self.alpha > 0.0] = clock

    def norm_per_value(self, ids: IntArray, by_alpha: bool) -> float:
        """Return Σ g ‖a‖² / Σ g b over the planes of ids, with g = α or 1."""
        squares, values = self.weighted_norms(ids, by_alpha)
        return squares / values if values > 0 else np.inf

    def weighted_norms(self, ids: IntArray, by_alpha: bool) -> tuple[float, float]:
        """Return Σ g ‖a‖² and Σ g b over the planes of ids, with g = α or 1."""
        squares, values = _jit.weighted_norms(
            ids, by_alpha, self.first, self.count, self.alpha, self.value, self.gram_first, self.gram
        )
        return float(squares), float(values)

    # ------------------------------------------------------------------ steps that are taken in part

    def copied_alpha(self, ids: IntArray) -> FloatArray:
        """Return the dual values in all slots of ids, for `keep_share` and `add_changes`."""
        out = np.empty(int(self.room[ids].sum()))
        _jit.copy_alpha(ids, self.first, self.room, self.alpha, out)
        return out

    def keep_share(self, ids: IntArray, before: FloatArray, share: float) -> None:
        """Set α of ids to before + share · (α − before), which is feasible for shares from 0 to 1."""
        _jit.mix_alpha(ids, before, share, self.first, self.room, self.alpha)

    def add_changes(
        self, ids: IntArray, before: FloatArray, touched: AnyArray, n_touched: int, marks: AnyArray, out: FloatArray
    ) -> tuple[float, float, float, int]:
        """Add Σ (α − before) a of ids to `out`.

        Returns Σ (α − before) b, with masses m before and δ more of them now Σ ridge m δ and Σ ridge δ², and the number
        of entries of `touched`, which has the indices of weights that were added to; those have a mark. Without
        marks (of length 0) no index is noted.
        """
        return _jit.add_changes(
            ids, before, touched, n_touched, marks, self.first, self.count, self.room, self.alpha, self.value,
            self.start, self.stop, self.ridge, self.index, self.entry, out,
        )  # fmt: skip

    # ------------------------------------------------------------------ upkeep

    def set_budgets(self, budgets: FloatArray) -> None:
        """Set the budgets C c_i; dual values above them are scaled down."""
        self.budget[:] = budgets
        masses = self.masses()
        with np.errstate(divide="ignore", invalid="ignore"):
            shrink = np.where(masses > budgets, budgets / masses, 1.0)
        self.scale_alpha(shrink)

    def scale_alpha(self, factors: FloatArray | float) -> None:
        """Multiply α of the planes by the factors; the truth gets the rest of the budget."""
        factors = np.full(len(self.count), factors, float)  # always the same type, so it is compiled once
        _jit.scale_alpha(factors, *self._masses, UNLIMITED)

    def rebase(self, problem: Problem, before: References) -> None:
        """Make the planes relative to the problem's references instead of `before`, without changing dual values.

        A plane that is now the reference is dropped, and its mass goes to the slot of the truth.
        """
        after, everyone = problem.references, problem.everyone
        assert after is not None
        changed = before.keys != after.keys
        shifts = before.planes.minus(after.planes, everyone, everyone, problem.scratch)
        examples, slots = self._held()
        moved = changed[examples]
        examples, slots = examples[moved], slots[moved]
        self.key[slots] = after.swapped(before.swapped(self.key[slots], examples), examples)
        levels = before.values + before.fixed - after.values - after.fixed
        self.value[slots] += levels[examples]
        self._replace_planes(examples, slots, shifts, problem.scratch)
        now_reference = self.key[slots] == TRUTH
        self.alpha[slots[now_reference]] = 0.0
        self.age[slots[now_reference]] = FORGOTTEN
        self.scale_alpha(1.0)
        nothing = np.full(problem.n_examples, UNKNOWN, np.int64)
        self.match(np.flatnonzero(changed), nothing, FORGOTTEN + 1)
        _jit.recompute_gram(
            np.flatnonzero(changed), self.first, self.count, self.start, self.stop, self.room, self.gram_first,
            self.gram, self.index, self.entry, problem.scratch,
        )  # fmt: skip

    def _replace_planes(self, examples: IntArray, slots: IntArray, shifts: Planes, scratch: FloatArray) -> None:
        """Add the shift of its example to each of these slots, at the end of the pool."""
        negative = Planes(shifts.indptr, shifts.indices, -shifts.values)
        rows = self._planes(slots).minus(negative, np.arange(len(slots)), examples, scratch)
        lengths, codes = np.diff(rows.indptr), self.code_length[examples]
        self._reserve(int(lengths.sum() + codes.sum()), rows.values[: rows.indptr[-1]])
        stops = self.end + np.cumsum(lengths + codes)
        old, new = self.start[slots] - codes, stops - lengths - codes
        within = places(offsets_of(codes))
        self.index[np.repeat(new, codes) + within] = self.index[np.repeat(old, codes) + within]
        self.entry[np.repeat(new, codes) + within] = 0.0
        at = np.repeat(stops - lengths - rows.indptr[:-1], lengths) + np.arange(rows.indptr[-1])
        self.index[at], self.entry[at] = rows.indices[: rows.indptr[-1]], rows.values[: rows.indptr[-1]]
        self.start[slots], self.stop[slots] = stops - lengths, stops
        self.end = int(stops[-1]) if len(stops) else self.end

    def make_room(self, ids: IntArray) -> None:
        """Double the slots of the ids that are full, up to `most_slots`."""
        full = np.unique(ids[(self.count[ids] == self.room[ids]) & (self.room[ids] < self.most_slots)])
        if len(full) == 0:
            return
        room = np.minimum(2 * self.room[full].astype(np.int64), self.most_slots)
        slots, grams = int(room.sum()), int((room * room).sum())
        for name in ("alpha", "value", "start", "stop", "age", "key"):
            setattr(self, name, _grown(getattr(self, name), self.slots_end, slots))
        self.gram = _grown(self.gram, self.gram_end, grams)
        self.slots_end, self.gram_end = _jit.move_blocks(
            full, room, self.slots_end, self.gram_end, *self._slots, self.key, self.room, self.gram_first, self.gram
        )

    def _reserve(self, entries: int, values: AnyArray) -> None:
        """Make space for more entries in the pool, in a data type in which these values are exact."""
        if self.entry.dtype == np.float32 != values.dtype and not float32_exact(values):
            held, self.entry = self.entry[: self.end], np.empty(len(self.entry))
            self.entry[: self.end] = held
        if self.end + entries > len(self.index):
            self.compact(entries)

    def compact_if_scattered(self) -> None:
        """Call `compact` if a third of the pool is unused, or apart from its example's planes."""
        if self.ordered < 0.67 * self.end or self._live() < 0.67 * self.end:
            self.compact()

    def _live(self) -> int:
        return int(self._live_ends()[-1])

    def _live_ends(self) -> IntArray:
        return _jit.live_ends(self.first, self.count, self.start, self.stop, self.code_length)

    def compact(self, extra: int = 0) -> None:
        """Move the held planes to the front of another pool, ordered by example, with space for `extra` entries.

        A small pool is kept for the next call, because allocating memory is slow.
        """
        ends = self._live_ends()
        live = int(ends[-1])
        index, entry, spare = self.index, self.entry, self._spare
        if spare is None or len(spare[0]) < 1.25 * (live + extra) or spare[1].dtype != entry.dtype:
            size = max(min(int(GROWTH * (live + extra)), self.most_entries), live + extra, 1 << 12)
            spare = np.empty(size, np.uint32), np.empty(size, entry.dtype)
        self.index, self.entry = spare
        moved = self.first, self.count, self.start, self.stop, self.code_length, index, entry, self.index, self.entry
        self.engine.map_range(lambda a, b: _jit.move_planes(a, b, ends, *moved), 0, len(self.count))
        self.ordered = self.end = live
        self._spare = (index, entry) if index.nbytes + entry.nbytes <= LARGEST_SPARE else None

    def release_outputs(self, problem: Problem) -> None:
        """Release the outputs of dropped planes, if these are at least half of all outputs."""
        if problem.examples.outputs_held > 2 * int(self.count.sum()):
            examples, slots = self._held()
            keys = self.key[slots]
            if problem.references is not None:
                keys = problem.references.swapped(keys, examples)
            problem.examples.forget(examples, keys)

    def live_keys(self) -> list[tuple[int, int]]:
        """Return (example, key) of every held plane."""
        examples, slots = self._held()
        return list(zip(examples.tolist(), self.key[slots].tolist(), strict=True))

    def entries_held(self) -> int:
        """Return the number of entries of all held planes."""
        return int((self.stop - self.start)[self._held()[1]].sum())

    def _held(self) -> tuple[IntArray, IntArray]:
        """Return the example and slot of every held plane."""
        return self.planes_in_use(self.first, self.count)

    @staticmethod
    def planes_in_use(first: IntArray, count: AnyArray) -> tuple[IntArray, IntArray]:
        """Return the example and slot of every plane, by the arrays `first` and `count` of working sets."""
        planes = count.astype(np.int64) - 1
        examples = np.repeat(np.arange(len(planes)), planes)
        return examples, first[examples] + 1 + places(offsets_of(planes))

    def support(self, problem: Problem) -> dict[str, Any]:
        """Return the active planes: example, alpha, value, key, code, and the planes' CSR rows.

        The dual values are those of the multiple of α with the greatest dual objective, as in a certificate.
        """
        u = self.combination()
        multiple = problem.objective.best_multiple(self.gain(), u, self.masses())
        examples, slots = self._held()
        active = self.alpha[slots] * multiple > 0
        examples, slots = examples[active], slots[active]
        return {
            "example": examples, "alpha": multiple * self.alpha[slots], "value": self.value[slots],
            "key": self.key[slots], "codes": self._codes(examples, slots), "planes": self._planes(slots),
        }  # fmt: skip

    def _codes(self, examples: IntArray, slots: IntArray) -> list[CodeArray]:
        """Return the codes of these slots."""
        stops = self.start[slots]
        codes = gathered(stops - self.code_length[examples], stops, self.index, self.entry)
        symbols = codes.indices.astype(np.int32)
        return [symbols[p:q] for p, q in pairwise(codes.indptr.tolist())]

    def check_outputs(self, problem: Problem) -> None:
        """Raise an error if the code of a held plane does not represent an output."""
        examples, slots = self._held()
        problem.examples.outputs_of(examples, self.key[slots], self._codes(examples, slots))

    def held_planes(self) -> tuple[Planes, FloatArray, FloatArray]:
        """Return all held planes, their values b and their dual values."""
        _, slots = self._held()
        return self._planes(slots), self.value[slots], self.alpha[slots]

    def examples_held(self) -> IntArray:
        """Return the example of each held plane, in the order of `held_planes`."""
        return self._held()[0]

    def set_alpha(self, alpha: FloatArray) -> None:
        """Set the dual values of all held planes, in the order of `held_planes`."""
        _, slots = self._held()
        self.alpha[slots] = alpha
        self.scale_alpha(1.0)

    def _planes(self, slots: IntArray) -> Planes:
        """Return the entries of these slots, one row each."""
        return gathered(self.start[slots], self.stop[slots], self.index, self.entry)

    def nbytes(self) -> int:
        """Return the memory in use, in bytes."""
        spare = sum(array.nbytes for array in self._spare or ())
        return sum(getattr(self, name).nbytes for name in self._saved) + self.scratch.nbytes + spare

    # ------------------------------------------------------------------ saving

    def arrays(self) -> dict[str, AnyArray]:
        """Return all that is needed to continue, as plain arrays."""
        saved = {name: getattr(self, name) for name in self._saved}
        saved["index"], saved["entry"] = self.index[: self.end], self.entry[: self.end]
        if self.most_bytes:
            saved["refused"] = np.array([self.refused])
        return {**saved, "ends": np.array([self.slots_end, self.gram_end, self.end, len(self.index)])}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        check_working_sets(self, arrays)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Restore the saved arrays."""
        for name in self._saved:
            setattr(self, name, np.array(arrays[name]))
        self.slots_end, self.gram_end, self.end, size = (int(v) for v in arrays["ends"])
        self.refused = int(arrays["refused"][0]) if self.most_bytes else 0
        self.ordered = 0
        self.index, self.entry = (
            _grown(self.index, self.end, size - self.end),
            _grown(self.entry, self.end, size - self.end),
        )


def _grown(array: AnyArray, used: int, extra: int) -> AnyArray:
    """Return the array if it has space for `extra` entries after `used`, otherwise a larger copy."""
    if used + extra <= len(array):
        return array
    larger = np.zeros(max(used + extra, used + used // 2), array.dtype)
    larger[:used] = array[:used]
    return larger


class Floor:
    """Lift of the current weights; empty if the objective has no lower bounds.

    Lower bounds are one more block of the dual. With multipliers β ≥ 0 of the bounds w ≥ l, the weights around a
    proximal centre are

        w = ((ρ − 1) z + u + β) / ρ,      β ≥ 0,      β_j > 0 only if w_j = l_j,

    and w = max(free, l) with free = ((ρ − 1) z + u) / ρ. Steps on examples treat β as constant and change w and `free`
    equally; afterwards β is set to its optimum again. The **lift** w − free = β / ρ is stored, because it does not
    change when α and ρ are scaled together.

    Parameters
    ----------
    problem : Decodable
        The problem with the lower bounds.
    """

    def __init__(self, problem: Decodable) -> None:
        self.lower = problem.objective.lower
        self.lift: FloatArray = np.zeros(0 if self.lower is None else problem.dim)

    def raised(self, free: FloatArray) -> FloatArray:
        """Return max(free, l) and store the lift."""
        if self.lower is None:
            return free
        w = np.maximum(free, self.lower)
        self.lift = w - free
        return w

    def free(self, w: FloatArray) -> FloatArray:
        """Return the weights without their lift."""
        return w if self.lower is None else w - self.lift

    def settle(self, w: FloatArray) -> None:
        """Set the multipliers of the bounds to their optimum, and w, which steps have changed, in place."""
        if self.lower is not None:
            w[:] = self.raised(w - self.lift)

    def conjugate(self, w: FloatArray) -> float:
        """Return h(u) for the weights w = u + β without a centre (ρ = 1)."""
        half_square = 0.5 * float(w @ w)
        return half_square if self.lower is None else half_square - float(self.lift @ w)

    def arrays(self) -> dict[str, AnyArray]:
        """Return the lift as a plain array."""
        return {"lift": self.lift}

    def check_saved(self, arrays: dict[str, AnyArray]) -> None:
        """Raise ValueError if `restore` cannot use these arrays."""
        check_names(arrays, ["lift"])
        check_array("lift", arrays["lift"], self.lift)

    def restore(self, arrays: dict[str, AnyArray]) -> None:
        """Set the lift."""
        self.lift = np.array(arrays["lift"])
