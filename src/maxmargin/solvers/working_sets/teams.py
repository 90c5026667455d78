"""Teams: where the shards of the sharded solver live, and how all of them are asked the same.

Shards are in threads of this process (`Threads`), or in the workers of an engine (`Workers`), which may be lost with
all that their shards had. `team_of` chooses by the engine, and by where the data are.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from maxmargin._base.errors import ExampleError
from maxmargin._base.types import IntArray
from maxmargin.core.examples import Examples
from maxmargin.engines.shard_worker import Request
from maxmargin.engines.shards import Shards, groups_of, placing_errors, sent_shards
from maxmargin.engines.tasks import Tasks
from maxmargin.problem import OutOfTime, Problem
from maxmargin.solvers.working_sets.proximal_state import Tuning
from maxmargin.solvers.working_sets.shard import LOST, Setup, Shard, Update, perform, rows_of


class ShardLost(Exception):
    """A worker was lost, and with it what its shards had."""


class Team(ABC):
    """The shards of a run, wherever they are.

    Attributes
    ----------
    ids : list of ndarray of int64
        The examples of each shard.
    """

    #: Whether shards can be lost.
    remote: ClassVar[bool] = False
    #: Folder in which shards that can be lost write their dual values after every step.
    folder: str = ""

    ids: list[IntArray]

    def __len__(self) -> int:
        return len(self.ids)

    def ask(self, updates: Sequence[Update], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results of a method of all shards, after an update of each."""
        with placing_errors(lambda error: self.ids[error.shard][error.example]):
            return self._ask(updates, method, arguments)

    @abstractmethod
    def _ask(self, updates: Sequence[Update], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Implement `ask`; errors of examples have the number of their shard, and that of the example within it."""


class Threads(Team):
    """Shards in threads of this process."""

    def __init__(self, problem: Problem, ids: list[IntArray], setups: list[Setup]) -> None:
        self.ids, self._engine = ids, problem.engine
        self._side_by_side = problem.examples.parallel
        self.shards = [Shard(setup, [problem.examples.take(mine)]) for setup, mine in zip(setups, ids, strict=True)]

    def _ask(self, updates: Sequence[Update], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        results: list[Any] = [None] * len(self)
        errors: dict[int, BaseException] = {}

        def work(numbers: IntArray, _: slice) -> None:
            for number in numbers.tolist():
                try:
                    self.shards[number].update(updates[number])
                    results[number] = getattr(self.shards[number], method)(*arguments[number])
                except BaseException as error:  # raised when all shards are done, for shards must not run on
                    if isinstance(error, ExampleError):
                        error.shard = number  # type: ignore[attr-defined]
                    errors[number] = error

        everyone = np.arange(len(self))
        if self._side_by_side:
            self._engine.map(work, everyone, 1)
        else:
            work(everyone, slice(None))
        if errors:
            raise errors[min(errors)]
        return results


class Workers(Team):
    """Shards in the workers of an engine.

    Parameters
    ----------
    problem : Problem
        The problem, whose time limit ends requests.
    shards : Shards
        The shards of the data.
    parts : list of list of int
        The shards of the data that belong to each shard of the solver.
    ids, setups
        As in `Threads`.
    """

    remote = True

    def __init__(
        self, problem: Problem, shards: Shards, parts: list[list[int]], ids: list[IntArray], setups: list[Setup]
    ) -> None:
        self.ids, self._shards, self._parts, self._setups = ids, shards, parts, setups
        self._number = {some[0]: number for number, some in enumerate(parts)}
        self._token, self._new = uuid4().hex, [True] * len(ids)
        self._out_of_time: Callable[[], bool] = lambda: problem.out_of_time
        self.folder = tempfile.mkdtemp(prefix="maxmargin-")
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def _ask(self, updates: Sequence[Update], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        requests: list[Request] = []
        for number, (parts, update, some) in enumerate(zip(self._parts, updates, arguments, strict=True)):
            setup = self._setups[number] if self._new[number] else None
            small = replace(update, w=None, deadline=np.inf)
            requests.append((perform, parts[0], (self._token, parts, setup, small, method, some)))
        try:
            answers = self._shards.call(requests, updates[0].w, self._check_time)
        except ExampleError as error:
            if hasattr(error, "shard"):
                error.shard = self._number[error.shard]
            raise
        self._new = [isinstance(answer, str) and answer == LOST for answer in answers]
        if any(self._new):
            raise ShardLost
        return answers

    def _check_time(self) -> None:
        if self._out_of_time():
            raise OutOfTime


def team_of(problem: Problem, n_shards: int, tuning: Tuning) -> Team:
    """Return the shards: those of the data, or of examples that this process divides."""
    examples, engine = problem.examples, problem.engine
    if examples.elsewhere:
        shards: Shards = examples.shards  # type: ignore[attr-defined]
        parts = groups_of(shards.sizes, n_shards)
        shards.gather(parts)
        own = [[examples.ids_of(part) for part in some] for some in parts]  # type: ignore[attr-defined]
        ids = [np.concatenate(some) for some in own]
        return Workers(problem, shards, parts, ids, _setups(problem, own, tuning))
    ids = divided(examples, n_shards)
    setups = _setups(problem, [[mine] for mine in ids], tuning)
    if not engine.remote:
        return Threads(problem, ids, setups)
    assert isinstance(engine, Tasks)
    return Workers(problem, sent_shards(engine, examples, ids), [[k] for k in range(len(ids))], ids, setups)


def _setups(problem: Problem, ids: list[list[IntArray]], tuning: Tuning) -> list[Setup]:
    """Return what each shard is made of, by the examples of its parts."""
    objective, references = problem.objective, problem.references
    return [
        Setup(
            number, problem.bound, objective.C, objective.slack, [objective.weights[part] for part in parts],
            None if references is None else [rows_of(references, part) for part in parts], problem.centre,
            tuning.most_slots, tuning.keep_rounds, tuning.moves,
        )
        for number, parts in enumerate(ids)
    ]  # fmt: skip


def divided(examples: Examples, n_shards: int) -> list[IntArray]:
    """Return the examples of each shard: neighbours, with about as many entries of planes in every shard."""
    n = examples.n_examples
    sizes = np.cumsum(np.asarray(examples.plane_entries, float) + 1.0)
    cuts = np.searchsorted(sizes, sizes[-1] * np.arange(1, n_shards) / n_shards)
    return [part for part in np.split(np.arange(n), np.unique(cuts)) if len(part)]
