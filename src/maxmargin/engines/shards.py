"""Examples in other processes: every worker reads and encodes its own shards of the data, and keeps them.

A **shard** is a part of the data that is read as a whole, such as a file. A **recipe** says how to make the examples of
a shard; it is pure, so a shard that is lost with its worker is made again in another one, and has the same bits. This
process holds neither inputs nor features: it sends weights and questions, and receives codes and planes. Batches so
small that sending weights would take longer are fetched as examples and answered here (`FETCHED`).

What solvers must know about all examples is merged by a rule for each fact:

| fact | rule |
|---|---|
| lengths of codes, `plane_entries`, `rounding_units` | of each example, concatenated |
| `operations` | sum of numbers that floats represent exactly; of `shared_operations` only those of one shard |
| `float32_exact` | whether it holds for all shards |
| `digest` | digest of the digests of the shards, in order |
| all others, such as `dim`, `lower`, `exact` | must be the same for all shards |
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np

from maxmargin._base.errors import ExampleError
from maxmargin._base.ragged import offsets_of, spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import TRUTH, Answers, Planes
from maxmargin.core.polytopes import CertificatePolytope, Polytope
from maxmargin.engines.engine import Question
from maxmargin.engines.shard_worker import (
    Facts,
    Recipe,
    Request,
    Sent,
    Subset,
    aggregated,
    answered,
    closed,
    digest,
    evaluated,
    exact_for,
    facts,
    fetched,
    forget,
    hashes,
    outputs,
    planes,
    release,
    serve,
    unpickled_examples,
)
from maxmargin.engines.tasks import Found, Tasks, pickled

#: Largest batch whose examples are fetched, instead of sending the weights to them.
FETCHED = 64


def balanced(sizes: Sequence[int], n_slots: int) -> IntArray:
    """Return a slot for each shard, such that the sums of sizes are about equal: the largest first."""
    slots, loads = np.zeros(len(sizes), np.int64), np.zeros(n_slots)
    for shard in np.argsort(-np.asarray(sizes), kind="stable").tolist():
        slots[shard] = int(np.argmin(loads))
        loads[slots[shard]] += max(sizes[shard], 1)
    return slots


def groups_of(sizes: Sequence[int], n_groups: int) -> list[list[int]]:
    """Return the shards of each of at most `n_groups` groups of about equal size."""
    slots = balanced(sizes, min(n_groups, len(sizes)))
    return [np.flatnonzero(slots == slot).tolist() for slot in np.unique(slots)]


class Shards:
    """Shards in the workers of an engine.

    Parameters
    ----------
    engine : Tasks
        The engine.
    recipe : Recipe
        How to make them.
    slots : ndarray of int
        Slot of the engine that has each shard.
    sizes : sequence of int
        About how large each shard is, in any unit.
    """

    def __init__(self, engine: Tasks, recipe: Recipe, slots: IntArray, sizes: Sequence[int]) -> None:
        self.engine, self.recipe, self.slots, self.sizes = engine, recipe, slots, sizes
        self.key = uuid4().hex
        self._shared: tuple[int, Any] | None = None
        self._weights: tuple[int, FloatArray | None, Any] | None = None

    def __len__(self) -> int:
        return len(self.slots)

    def call(
        self,
        requests: Sequence[Request],
        w: FloatArray | None = None,
        before: Callable[[], None] | None = None,
    ) -> list[Any]:
        """Return the answers of requests, which workers find at the same time: one message to each.

        `before` is called repeatedly, and may raise an exception.
        """
        slots = self.slots[[shard for _, shard, _ in requests]]
        used = np.unique(slots).tolist()
        mine = [np.flatnonzero(slots == slot).tolist() for slot in used]
        results: list[Any] = [None] * len(requests)

        def call(k: int) -> tuple[Any, ...]:
            return serve, self.key, self._recipe(), self._sent(w), [requests[r] for r in mine[k]]

        for some, (answers, joined) in zip(mine, self.engine.gather(used, call, before), strict=True):
            self.engine.welcome(joined)
            for r, answer in zip(some, answers, strict=True):
                results[r] = answer
        self._weights = None
        return results

    def each(self, function: Callable[..., Any], before: Callable[[], None] | None = None) -> Iterator[Any]:
        """Yield the result of a function for each shard in order, one message for each."""

        def call(k: int) -> tuple[Any, ...]:
            return serve, self.key, self._recipe(), None, [(function, k, ())]

        for (result,), joined in self.engine.gather(self.slots.tolist(), call, before):
            self.engine.welcome(joined)
            yield result

    def _recipe(self) -> Any:
        if self._shared is None or self._shared[0] != self.engine.losses:
            self._shared = self.engine.losses, self.engine.share(pickled(self.recipe))
        return self._shared[1]

    def _sent(self, w: FloatArray | None) -> Any:
        if w is None:
            return None
        if self._weights is None or self._weights[0] != self.engine.losses:
            self._weights = self.engine.losses, w, self.engine.share_weights(w)
        return self._weights[2]

    def gather(self, groups: Sequence[Sequence[int]]) -> None:
        """Have the shards of a group in the same worker; those that move are released where they were."""
        slots, places = self.slots.copy(), balanced([sum(self.sizes[s] for s in some) for some in groups], self.n_slots)
        for slot, some in zip(places, groups, strict=True):
            slots[list(some)] = slot
        moved = np.flatnonzero(slots != self.slots)
        if len(moved):
            self.call([(release, int(shard), ()) for shard in moved])
            self.slots = slots

    @property
    def n_slots(self) -> int:
        """Number of workers."""
        return int(self.engine.n_jobs)

    def close(self) -> None:
        """Release the shards."""
        slots = np.unique(self.slots).tolist()
        with suppress(OSError, RuntimeError):  # workers that are gone have nothing
            for _ in self.engine.gather(slots, lambda k: (forget, [self.key])):
                pass


@dataclass
class _Near:
    """Examples that were fetched: ids, and for each part of them the places among ids, and the examples."""

    ids: IntArray = field(default_factory=lambda: np.zeros(0, np.int64))
    parts: list[tuple[IntArray, Examples]] = field(default_factory=list)


class ShardedExamples(Examples):
    """Examples in shards, in the order of the shards unless `merged` has changed it.

    Parameters
    ----------
    shards : Shards
        The shards.
    before : callable, optional
        Called repeatedly while shards are made; it may raise an exception.
    """

    elsewhere = True
    portable = parallel = False

    def __init__(self, shards: Shards, before: Callable[[], None] | None = None) -> None:
        all_facts: list[Facts] = []
        with placing_errors(lambda error: sum(part.n_examples for part in all_facts) + error.example):
            for part in shards.each(facts, before):
                all_facts.append(part)
        counts = offsets_of([part.n_examples for part in all_facts])
        self._set(shards, all_facts, [np.arange(a, b) for a, b in pairwise(counts)])

    def _set(self, shards: Shards, facts: list[Facts], ids: list[IntArray]) -> None:
        """Set the facts; ``ids[s][i]`` is the number of example i of shard s."""
        self.shards, self._ids = shards, ids
        self.n_examples = sum(part.n_examples for part in facts)
        self.shard_of, self.place = (np.zeros(self.n_examples, np.int64) for _ in range(2))
        for number, mine in enumerate(ids):
            self.shard_of[mine], self.place[mine] = number, np.arange(len(mine))
        first = facts[0]
        for number, part in enumerate(facts):
            for name, value in part.same.items():
                if not _equal(value, first.same[name]):
                    raise ValueError(f"shard {number} of the data: {name} is {value}, expected {first.same[name]}")
            if not _equal(part.lower, first.lower):
                raise ValueError(f"shard {number} of the data has other lower bounds on weights than the first")
        for name, value in first.same.items():
            if name not in ("parallel", "smallest_chunk"):
                setattr(self, name, value)
        if self.latent or not self.coded:
            raise TypeError("examples with latent variables or with outputs of any type cannot be in shards")
        self.lower = first.lower
        self.code_offsets = offsets_of(self._ordered([part.code_lengths for part in facts]))
        self.plane_entries = self._ordered([part.plane_entries for part in facts])
        self._rounding_units = self._ordered([part.rounding_units for part in facts])
        self.operations = first.shared + float(sum(part.operations - part.shared for part in facts))
        self.float32_exact = all(part.float32_exact for part in facts)
        self._sums_planes = first.sums_planes
        self._near, self._exact_for = _Near(), dict[Any, bool]()

    def _ordered(self, parts: list[AnyArray]) -> AnyArray:
        out = np.empty(self.n_examples, np.result_type(*parts))
        for mine, part in zip(self._ids, parts, strict=True):
            out[mine] = part
        return out

    def ids_of(self, shard: int) -> IntArray:
        """Return the examples of a shard."""
        return self._ids[shard]

    def rounding_units(self) -> FloatArray:
        return self._rounding_units

    def digest(self) -> str:
        if self._digest is None:
            self._digest = f"{zlib.crc32(' '.join(self.shards.each(digest)).encode()):08x}"
        return self._digest

    def digest_arrays(self) -> tuple[AnyArray, ...]:
        return (np.frombuffer(self.digest().encode(), np.uint8),)

    # ------------------------------------------------------------------ answers and planes

    def _by_shard(self, ids: IntArray) -> list[tuple[int, IntArray]]:
        """Return each shard that has some of ids, and their places among ids."""
        shards = self.shard_of[ids]
        order = np.argsort(shards, kind="stable")
        cuts = np.flatnonzero(np.diff(shards[order])) + 1
        return [(int(shards[some[0]]), some) for some in np.split(order, cuts) if len(some)]

    def ask(
        self, question: Question, ids: IntArray, answers: Answers, before: Callable[[], None] | None = None
    ) -> None:
        """Write the answers of ids to a question; `before` is called repeatedly, and may raise an exception."""
        if len(ids) <= FETCHED:
            self._answer_here(question, ids, answers, before)
            return
        self._near = _Near()
        parts = self._by_shard(ids)
        requests: list[Request] = []
        for shard, at in parts:
            some = question.argument[at] if isinstance(question.argument, np.ndarray) else question.argument
            requests.append((answered, shard, (question.method, some, self.place[ids[at]])))
        with self._placing_errors():
            for (_, at), reply in zip(parts, self.shards.call(requests, question.w, before), strict=True):
                reply.write(self, ids[at], answers)

    def _answer_here(
        self, question: Question, ids: IntArray, answers: Answers, before: Callable[[], None] | None
    ) -> None:
        """Fetch the examples and write their answers."""
        if not np.array_equal(ids, self._near.ids):
            self._near = _Near(ids.copy(), self.fetch(ids, before))
        for at, part in self._near.parts:
            some, everyone = part.empty_answers(), np.arange(len(at))
            argument = question.argument[at] if isinstance(question.argument, np.ndarray) else question.argument
            part.engine = self.engine
            part.begin(everyone)
            Question(question.method, question.w, argument).ask(part, everyone, slice(0, len(at)), some)
            Found.of(part, everyone, some).write(self, ids[at], answers)

    def fetch(self, ids: IntArray, before: Callable[[], None] | None = None) -> list[tuple[IntArray, Examples]]:
        """Return some of the examples, in parts: their places among ids, and the examples."""
        parts = self._by_shard(ids)
        requests: list[Request] = [(fetched, shard, (self.place[ids[at]],)) for shard, at in parts]
        blobs = self.shards.call(requests, None, before)
        structure = self.shards.recipe.structure
        return [(at, unpickled_examples(blob, structure)) for (_, at), blob in zip(parts, blobs, strict=True)]

    def decode(self, w: FloatArray, ids: IntArray, scales: FloatArray, answers: Answers) -> None:
        self.ask(Question("decode", w, scales), ids, answers)

    def decode_bound(self, w: FloatArray, ids: IntArray, bound: Any, answers: Answers) -> None:
        self.ask(Question("decode_bound", w, bound), ids, answers)

    def complete(self, w: FloatArray, ids: IntArray, answers: Answers) -> None:
        self.ask(Question("complete", w), ids, answers)

    def exact_for(self, bound: Any) -> bool:
        known = self._exact_for.get(bound)
        if known is None:
            requests: list[Request] = [(exact_for, shard, (bound,)) for shard in range(len(self.shards))]
            known = self._exact_for[bound] = all(self.shards.call(requests))
        return known

    def close(self, w: FloatArray, ids: IntArray, bound: Any, answers: Answers, upper: FloatArray) -> FloatArray:
        parts, out = self._by_shard(ids), upper.copy()
        requests: list[Request] = [
            (closed, shard, (bound, self.place[ids[at]], Found.of(self, ids[at], answers), upper[at]))
            for shard, at in parts
        ]
        with self._placing_errors():
            for (_, at), (reply, bounds) in zip(parts, self.shards.call(requests, w), strict=True):
                reply.write(self, ids[at], answers)
                out[at] = bounds
        return out

    def planes(self, ids: IntArray, answers: Answers) -> Planes:
        near = self._places_near(ids)
        if near is not None:
            parts = self._planes_near(ids, near, answers)
        else:
            at_shards = self._by_shard(ids)
            requests: list[Request] = [
                (planes, shard, (self.place[ids[at]], answers.codes[spans(ids[at], self.code_offsets)]))
                for shard, at in at_shards
            ]
            with self._placing_errors():
                by_shard = self.shards.call(requests)
            parts = [(at, rows) for (_, at), rows in zip(at_shards, by_shard, strict=True)]
            del by_shard
        return self._in_order(len(ids), parts)

    def _places_near(self, ids: IntArray) -> IntArray | None:
        """Return the places of ids among the examples that were fetched last; None if some of them were not."""
        known = self._near.ids
        if len(ids) > len(known):
            return None
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], ids), len(known) - 1)
        return order[at] if len(ids) == 0 or np.array_equal(known[order[at]], ids) else None

    def _planes_near(self, ids: IntArray, near: IntArray, answers: Answers) -> list[tuple[IntArray, Planes]]:
        """Return the planes of examples that were fetched: their places among ids, and rows."""
        parts = []
        for at, part in self._near.parts:
            inside = np.full(len(self._near.ids), -1)
            inside[at] = np.arange(len(at))
            mine = np.flatnonzero(inside[near] >= 0)
            if len(mine):
                some, own = part.empty_answers(), inside[near[mine]]
                some.codes[spans(own, part.code_offsets)] = answers.codes[spans(ids[mine], self.code_offsets)]
                some.keys[own] = TRUTH + 1
                parts.append((mine, part.planes(own, some)))
        return parts

    def _in_order(self, n: int, parts: list[tuple[IntArray, Planes]]) -> Planes:
        """Return rows of several batches, given their places among n rows."""
        lengths: IntArray = np.zeros(n, np.int64)
        for at, rows in parts:
            lengths[at] = np.diff(rows.indptr)
        indptr = offsets_of(lengths)
        out = Planes(indptr, np.empty(indptr[-1], np.uint32), np.empty(indptr[-1], self.value_type))
        while parts:  # each is released when it has been copied
            at, rows = parts.pop()
            where = spans(at, indptr)
            out.indices[where], out.values[where] = rows.indices, rows.values
        return out

    def aggregate(self, ids: IntArray, answers: Answers, coefficients: FloatArray, out: FloatArray) -> None:
        if self._sums_planes:
            super().aggregate(ids, answers, coefficients, out)
            return
        # The sum passes through the shards in the order of ids, so it is added up as in one process.
        cuts = np.flatnonzero(np.diff(self.shard_of[ids])) + 1
        for some in np.split(np.arange(len(ids)), cuts):
            if len(some):
                mine = ids[some]
                codes = answers.codes[spans(mine, self.code_offsets)]
                arguments = self.place[mine], codes, coefficients[some]
                (total,) = self.shards.call([(aggregated, int(self.shard_of[mine[0]]), arguments)], out)
                out[:] = total

    def evaluate(
        self,
        w: FloatArray,
        function: Callable[..., Any],
        budgets: FloatArray,
        before: Callable[[], None] | None = None,
    ) -> Iterator[tuple[IntArray, Any]]:
        """Yield ids and ``function(examples, w, ids, budgets)`` for the examples of each shard, in order."""
        requests: list[Request] = [(evaluated, shard, (function, budgets[ids])) for shard, ids in enumerate(self._ids)]
        with self._placing_errors():
            values = self.shards.call(requests, w, before)
        return iter(zip(self._ids, values, strict=True))

    def example(self, i: int) -> Examples:
        """Return one of the examples, fetched."""
        ((_, part),) = self.fetch(np.array([i]))
        return part

    def output(self, example: int, key: int, code: CodeArray) -> Any:
        return self.outputs_of(np.array([example]), np.array([key]), [code])[0]

    def outputs_of(self, examples: IntArray, keys: IntArray, codes: list[CodeArray]) -> list[Any]:
        parts = self._by_shard(examples)
        requests: list[Request] = [
            (outputs, shard, (self.place[examples[at]], keys[at], [codes[r] for r in at.tolist()]))
            for shard, at in parts
        ]
        collected: list[Any] = [None] * len(examples)
        for (_, at), some in zip(parts, self.shards.call(requests), strict=True):
            for r, output in zip(at.tolist(), some, strict=True):
                collected[r] = output
        return collected

    # ------------------------------------------------------------------ others

    def merged(self, weights: FloatArray) -> tuple[ShardedExamples, FloatArray, IntArray]:
        """Merge equal examples into one with the sum of their weights, in the order of their hashes.

        Of examples that define `example_hashes`, two independent hashes. Returns as `MulticlassExamples.merged`.
        """
        pairs = [self._ordered(list(part)) for part in zip(*self.shards.each(hashes), strict=True)]
        _, first, group = np.unique(pairs[0], return_index=True, return_inverse=True)
        if not np.array_equal(pairs[1][first][group], pairs[1]):
            raise RuntimeError("two different examples have the same hash of 64 bits; use engine='threads'")
        numbers = renumbered_in_shards(self.shard_of[first], len(self.shards))
        kept = [self.place[first[mine]] for mine in numbers]
        recipe = Subset(self.shards.recipe, self.shards.key, kept)
        shards = Shards(self.shards.engine, recipe, self.shards.slots, self.shards.sizes)
        part = object.__new__(ShardedExamples)
        part._set(shards, list(shards.each(facts)), numbers)
        part.shuffled = True
        self.shards.close()
        return part, np.bincount(group, weights, len(first)).astype(float), first.astype(np.int64)

    def take(self, ids: IntArray) -> Examples:
        raise TypeError("examples in shards cannot be divided into halves or folds; use engine='threads'")

    def polytope(self, example: int) -> Polytope:
        raise TypeError("examples in shards have no polytopes in this process; use solver='auto' or engine='threads'")

    def certificate_polytope(self, example: int, form: str) -> CertificatePolytope:
        raise TypeError("examples in shards have no polytopes in this process; use solver='auto' or engine='threads'")

    def _placing_errors(self) -> AbstractContextManager[None]:
        return placing_errors(lambda error: self._ids[error.shard][error.example])


@contextmanager
def placing_errors(number: Callable[[Any], Any]) -> Iterator[None]:
    """Move errors about examples of shards to their numbers among all, which a function of the error returns."""
    try:
        yield
    except ExampleError as error:
        if error.example is not None and hasattr(error, "shard"):
            error.move_to(int(number(error)))
        raise


def sent_shards(engine: Tasks, examples: Examples, ids: list[IntArray]) -> Shards:
    """Return shards of examples of this process, which workers are sent.

    Shards of other examples that the engine was sent before are released.
    """
    last = engine.sent
    if last is not None:
        recipe = last.recipe
        if recipe.whole is examples and all(map(np.array_equal, recipe.ids, ids)) and len(recipe.ids) == len(ids):
            return last
        last.close()
    sizes = [int(examples.plane_entries[mine].sum()) for mine in ids]
    engine.sent = Shards(engine, Sent(examples, ids), balanced(sizes, engine.n_jobs), sizes)
    return engine.sent


def renumbered_in_shards(shard_of: IntArray, n_shards: int) -> list[IntArray]:
    """Return the numbers of the examples of each shard, ascending."""
    return [np.flatnonzero(shard_of == number) for number in range(n_shards)]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return one is not None and other is not None and np.array_equal(one, other)
    return bool(one == other)
