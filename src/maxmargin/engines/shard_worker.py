"""Shards of the data in a worker: it makes them by a recipe when it is first asked for them, and keeps them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from maxmargin._base.errors import ExampleError
from maxmargin._base.ragged import spans
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.planes import TRUTH, Answers, Planes
from maxmargin.engines.engine import Local, Question, one_blas_thread
from maxmargin.engines.processor import fingerprint
from maxmargin.engines.tasks import Found, own_weights, unpickled, writable

#: Facts that must be the same for all shards.
SAME = (
    "dim", "plane_share", "parallel", "smallest_chunk", "exact", "bounded", "coded", "fixed_scores", "latent",
    "closes", "integral", "one_part", "summable", "marginals_apart", "why_not_summable", "optional_parts", "relaxed",
    "perturbable",
)  # fmt: skip


class Recipe(Protocol):
    """How to make shards in any process; picklable."""

    @property
    def structure(self) -> Any:
        """What the examples refer to, and what is not sent with them."""

    def survey(self, shard: int) -> Any:
        """Return what a shard contributes to what is learnt from all data."""

    def examples(self, shard: int) -> Examples:
        """Return the encoded examples of a shard."""


@dataclass(frozen=True)
class Subset:
    """Recipe of some of the examples of each shard.

    Attributes
    ----------
    recipe : Recipe
        The recipe of all examples.
    key : str
        The key under which workers may still have these.
    ids : list of ndarray of int64
        The examples of each shard that are kept, in this order.
    """

    recipe: Recipe
    key: str
    ids: list[IntArray]

    @property
    def structure(self) -> Any:
        return self.recipe.structure

    def survey(self, shard: int) -> Any:
        return self.recipe.survey(shard)

    def examples(self, shard: int) -> Examples:
        known = _held[self.key].shards.pop(shard, None) if self.key in _held else None
        whole = self.recipe.examples(shard) if known is None else known[0]
        return whole.take(self.ids[shard])


@dataclass(frozen=True)
class Sent:
    """Recipe of shards of examples that the fitting process has, and sends.

    Attributes
    ----------
    whole : Examples
        All examples.
    ids : list of ndarray of int64
        The examples of each shard.
    """

    whole: Examples
    ids: list[IntArray]

    @property
    def structure(self) -> Any:
        return None

    def survey(self, shard: int) -> Any:
        return None

    def examples(self, shard: int) -> Examples:
        return self.whole.take(self.ids[shard])


class Held:
    """What a worker has of one recipe: the shards that it was asked for, and space for their answers."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.shards: dict[int, tuple[Examples, Answers]] = {}
        #: What solvers keep beside the examples: the name of a run and an object, by shard.
        self.kept: dict[int, tuple[str, Any]] = {}

    def shard(self, number: int) -> tuple[Examples, Answers]:
        """Return the examples of a shard, which are made when they are first asked for."""
        if number not in self.shards:
            examples = self.recipe.examples(number)
            examples.engine = Local(1)
            self.shards[number] = examples, examples.empty_answers()
        return self.shards[number]


#: What this worker has, by the key of the recipe.
_held: dict[str, Held] = {}

#: A request to a shard: a function of this module, the shard, and further arguments.
Request = tuple[Callable[..., Any], int, tuple[Any, ...]]


def serve(key: str, read: Any, w: Any, requests: Sequence[Request]) -> tuple[list[Any], dict[str, str] | None]:
    """Return the answers of requests in the worker that has the shards, or makes them now.

    The second result is the fingerprint of the worker (`engines.processor`), if it gets the recipe now.

    Parameters
    ----------
    key : str
        Name of the recipe.
    read : callable or bytes-like
        The pickled recipe, for a worker that does not have it.
    w : ndarray, callable that returns it, or None
        Weights.
    requests : sequence of Request
        What to do.
    """
    joins = key not in _held
    if joins:
        _held[key] = Held(unpickled(read))
    held, weights = _held[key], None if w is None else own_weights(w)
    results = []
    with one_blas_thread():
        for function, shard, arguments in requests:
            try:
                results.append(function(held, shard, weights, *writable(arguments)))
            except ExampleError as error:
                error.shard = shard  # type: ignore[attr-defined]
                raise
    return results, fingerprint() if joins else None


def forget(keys: Sequence[str]) -> None:
    """Release the shards of recipes in a worker."""
    for key in keys:
        _held.pop(key, None)


def release(held: Held, shard: int, w: None) -> None:
    """Release a shard, which another worker is to have."""
    held.shards.pop(shard, None)
    held.kept.pop(shard, None)


def survey(held: Held, shard: int, w: None) -> Any:
    """Return what a shard contributes to what is learnt."""
    return held.recipe.survey(shard)


@dataclass
class Facts:
    """What solvers must know about the examples of a shard."""

    n_examples: int
    code_lengths: IntArray
    plane_entries: IntArray
    rounding_units: FloatArray
    operations: float
    shared: float
    float32_exact: bool
    lower: FloatArray | None
    sums_planes: bool
    same: dict[str, Any]


def facts(held: Held, shard: int, w: None) -> Facts:
    """Return the facts about a shard."""
    examples, _ = held.shard(shard)
    return Facts(
        examples.n_examples, np.diff(examples.code_offsets), examples.plane_entries, examples.rounding_units(),
        float(examples.operations), float(examples.shared_operations), bool(examples.float32_exact), examples.lower,
        type(examples).aggregate is Examples.aggregate, {name: getattr(examples, name) for name in SAME},
    )  # fmt: skip


def answered(held: Held, shard: int, w: FloatArray, method: str, argument: Any, ids: IntArray) -> Found:
    """Return the answers of ids to a question."""
    examples, answers = held.shard(shard)
    examples.begin(ids)
    Question(method, w, argument).ask(examples, ids, slice(0, len(ids)), answers)
    return Found.of(examples, ids, answers)


def closed(
    held: Held, shard: int, w: FloatArray, bound: Any, ids: IntArray, before: Found, upper: FloatArray
) -> tuple[Found, FloatArray]:
    """Return better answers of ids than those before, as `Examples.close` finds them, and its upper bounds."""
    examples, answers = held.shard(shard)
    before.write(examples, ids, answers)
    proven = examples.close(w, ids, bound, answers, upper)
    return Found.of(examples, ids, answers), proven


def planes(held: Held, shard: int, w: None, ids: IntArray, codes: CodeArray) -> Planes:
    """Return the planes of ids for outputs with these codes."""
    examples, answers = _with_codes(held, shard, ids, codes)
    rows = examples.planes(ids, answers).trimmed()
    return Planes(rows.indptr, rows.indices.copy(), rows.values.copy())


def aggregated(
    held: Held, shard: int, w: FloatArray, ids: IntArray, codes: CodeArray, coefficients: FloatArray
) -> FloatArray:
    """Return w plus the sum of the planes of ids times coefficients."""
    examples, answers = _with_codes(held, shard, ids, codes)
    examples.aggregate(ids, answers, coefficients, w)
    return w


def _with_codes(held: Held, shard: int, ids: IntArray, codes: CodeArray) -> tuple[Examples, Answers]:
    examples, answers = held.shard(shard)
    answers.codes[spans(ids, examples.code_offsets)] = codes
    answers.keys[ids] = TRUTH + 1
    return examples, answers


def evaluated(held: Held, shard: int, w: FloatArray, function: Callable[..., Any], budgets: FloatArray) -> Any:
    """Return ``function(examples, w, ids, budgets)`` of all examples of a shard."""
    examples, _ = held.shard(shard)
    return function(examples, w, np.arange(examples.n_examples), budgets)


def outputs(held: Held, shard: int, w: None, ids: IntArray, keys: IntArray, codes: list[CodeArray]) -> list[Any]:
    """Return outputs as the user's objects."""
    return held.shard(shard)[0].outputs_of(ids, keys, codes)


def digest(held: Held, shard: int, w: None) -> str:
    """Return the digest of a shard."""
    return held.shard(shard)[0].digest()


def hashes(held: Held, shard: int, w: None) -> Any:
    """Return hashes of examples, equal if examples are; of those that define `example_hashes`."""
    examples: Any = held.shard(shard)[0]
    return examples.example_hashes()


def fetched(held: Held, shard: int, w: None, ids: IntArray) -> bytes:
    """Return some examples, pickled without the structure."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    pickler.structure = held.recipe.structure
    pickler.dump(held.shard(shard)[0].take(ids))
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """Pickler of examples without their structure."""

    structure: Any = None

    def persistent_id(self, value: Any) -> str | None:
        return "structure" if value is self.structure and value is not None else None


class _Unpickler(pickle.Unpickler):
    """The inverse of `_Pickler`."""

    structure: Any = None

    def persistent_load(self, name: Any) -> Any:
        return self.structure


def exact_for(held: Held, shard: int, w: None, bound: Any) -> bool:
    """Return whether the examples of a shard have an exact argmax for a bound."""
    return held.shard(shard)[0].exact_for(bound)


def unpickled_examples(blob: bytes, structure: Any) -> Examples:
    """Return examples that were fetched, with their structure."""
    unpickler = _Unpickler(io.BytesIO(blob))
    unpickler.structure = structure
    examples: Examples = unpickler.load()
    return examples
