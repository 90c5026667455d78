"""What an engine is, threads as the engine of this process, and the parameter `engine` of estimators."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from threading import Lock, local
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
from threadpoolctl import ThreadpoolController

from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.planes import Answers

T = TypeVar("T")

#: Size of chunks if argmaxes are compiled; one in Python is slow enough for a task of its own.
SMALLEST_CHUNK, MOST_CHUNKS = 64, 16
#: Results that `ahead` keeps for later, per thread: enough for threads not to wait for each other.
AHEAD = 2


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries with their own threads; cached, because the lookup takes longer than a small fit."""
    return ThreadpoolController()


class OneBlasThread:
    """Context in which BLAS uses one thread.

    The engine's threads divide the work, so sums are reproducible and `n_jobs` is the number of threads in use.
    The number of BLAS threads is a setting of the whole process: if several fits run at the same time, the first to
    begin sets the number and the last to end restores it.
    """

    def __init__(self) -> None:
        self._inside, self._lock = 0, Lock()
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limit.restore_original_limits()


_one_blas_thread = OneBlasThread()


def one_blas_thread() -> OneBlasThread:
    """Return the context of this process in which BLAS uses one thread."""
    return _one_blas_thread


def chunks_of(ids: IntArray, smallest: int | None = None, most: int = MOST_CHUNKS) -> list[slice]:
    """Return the chunks of a batch, which depend on nothing but its number of examples and the limits on chunks."""
    size = max(SMALLEST_CHUNK if smallest is None else smallest, -(-len(ids) // most), 1)
    return [slice(k, min(k + size, len(ids))) for k in range(0, len(ids), size)]


class _Thread(local):
    """Whether this thread belongs to an engine, so calls must not wait for others in the queue behind it."""

    of_engine = False


_thread = _Thread()


def _begin_thread() -> None:
    _thread.of_engine = True


class Local:
    """Run tasks over chunks of examples in threads of this process.

    Chunks do not depend on the number of threads, so results do not depend on it either.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads; None or −1 means all cores that this process may use.
    most_chunks : int, default=16
        Maximum number of chunks of a batch.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> two = mm.SequenceTagger(engine=mm.engines.Local(2)).fit(X, Y)
    >>> one = mm.SequenceTagger(n_jobs=1).fit(X, Y)
    >>> bool((one.coef_ == two.coef_).all())
    True
    """

    #: Whether `ask` sends argmaxes to other processes.
    remote = False

    def __init__(self, n_jobs: int | None = None, most_chunks: int = MOST_CHUNKS) -> None:
        self.most_chunks = most_chunks
        self.n_jobs = available_cores() if n_jobs in (None, -1) else int(n_jobs)
        self._pool: ThreadPoolExecutor | None = None

    def map(
        self,
        task: Callable[[IntArray, slice], None],
        ids: IntArray,
        smallest: int | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Call ``task(ids[s], s)`` for every chunk s of the batch, of at least `smallest` examples.

        `before` is called before every chunk, and may raise an exception.
        """
        chunks = chunks_of(ids, smallest, self.most_chunks)
        if not self._alone(len(chunks)):
            self._submit([partial(_after, before, task, ids[chunk], chunk) for chunk in chunks])
            return
        for chunk in chunks:
            if before is not None:
                before()
            task(ids[chunk], chunk)

    def ask(
        self,
        examples: Any,
        question: Any,
        ids: IntArray,
        answers: Any,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Write the answers of ids to a question, in threads."""
        self.map(partial(question.ask, examples, answers=answers), ids, examples.smallest_chunk, before)

    def map_range(self, task: Callable[[int, int], None], first: int, stop: int) -> None:
        """Call ``task(a, b)`` for chunks [a, b) of [first, stop): the rows of one large example.

        Within a task of `map` the chunks run one after the other, because the threads are busy with other examples.
        """
        size = max(1, -(-(stop - first) // self.most_chunks))
        calls = [partial(task, a, min(a + size, stop)) for a in range(first, stop, size)]
        if not self._alone(len(calls)):
            self._submit(calls)
            return
        for call in calls:
            call()

    def ahead(self, calls: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the results of calls in order, while the threads are busy with the next few of them."""
        if self._alone(len(calls)):
            for call in calls:
                yield call()
            return
        pool, waiting = self._threads(), deque[Future[T]]()
        try:
            for call in calls:
                waiting.append(pool.submit(call))
                if len(waiting) > AHEAD * self.n_jobs:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

    def _alone(self, n_calls: int) -> bool:
        """Return whether calls run in this thread: it is the only one, has one call, or belongs to the engine."""
        return self.n_jobs == 1 or n_calls <= 1 or _thread.of_engine

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.n_jobs, "maxmargin", _begin_thread)
        return self._pool

    def _submit(self, calls: Sequence[Callable[[], None]]) -> None:
        """Run calls in this thread and in others, each of which takes the next one; raise the error of the first."""
        left, errors = iter(enumerate(calls)), list[tuple[int, BaseException]]()

        def work() -> None:
            for number, call in left:
                try:
                    call()
                except BaseException as error:
                    errors.append((number, error))
                    deque(left, 0)  # calls that have not begun are dropped

        others = [self._threads().submit(work) for _ in range(min(self.n_jobs, len(calls)) - 1)]
        _thread.of_engine = True
        try:
            work()
        finally:
            _thread.of_engine = False
            for other in others:
                other.result()
        if errors:
            raise min(errors, key=itemgetter(0))[1]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _after(before: Callable[[], None] | None, task: Callable[..., None], *arguments: Any) -> None:
    """Call a task, and another function first."""
    if before is not None:
        before()
    task(*arguments)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Askable(Protocol):
    """What an engine needs of examples, or of inputs without outputs, to send them to workers."""

    n_examples: int
    code_offsets: IntArray
    smallest_chunk: int | None
    fault: tuple[int, str] | None
    engine: Any

    def begin(self, ids: IntArray) -> None:
        """Prepare for a batch."""

    def noted(self, ids: IntArray) -> Any:
        """Return what argmaxes of ids have shown besides their answers."""

    def note(self, ids: IntArray, noted: Any) -> None:
        """Take over what argmaxes of ids have shown in another process."""

    def empty_answers(self) -> Answers:
        """Return answers with space for all examples."""


@dataclass(frozen=True)
class Question:
    """A question to examples, asked of some of them at a time.

    Attributes
    ----------
    method : {"decode", "decode_bound", "complete"}
        Method of the examples that answers it.
    w : ndarray of shape (dim,)
        Weights.
    argument : ndarray with an entry for each example of the batch, any other object, or None
        What the method takes between ids and answers; None for nothing.
    """

    method: str
    w: FloatArray
    argument: Any = None

    def ask(self, examples: Askable, ids: IntArray, chunk: slice, answers: Answers) -> None:
        """Write the answers of ids, which are this chunk of the batch."""
        argument = self.argument[chunk] if isinstance(self.argument, np.ndarray) else self.argument
        between = () if argument is None else (argument,)
        getattr(examples, self.method)(self.w, ids, *between, answers)


#: Names that the parameter `engine` takes besides engine objects.
ENGINES = ("threads", "processes", "dask", "ray")


@runtime_checkable
class Engine(Protocol):
    """Where the argmaxes of a fit run.

    Attributes
    ----------
    n_jobs : int
        Number of threads or workers.
    remote : bool
        Whether `ask` is used; otherwise argmaxes run in threads, by `map`.
    most_chunks : int
        Maximum number of chunks of a batch.

    Examples
    --------
    >>> import maxmargin as mm
    >>> isinstance(mm.engines.Local(2), mm.engines.Engine)
    True
    """

    n_jobs: int
    remote: bool
    most_chunks: int

    def map(
        self,
        task: Callable[[IntArray, slice], None],
        ids: IntArray,
        smallest: int | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Call ``task(ids[s], s)`` for every chunk s of the batch, in threads of this process."""

    def map_range(self, task: Callable[[int, int], None], first: int, stop: int) -> None:
        """Call ``task(a, b)`` for chunks [a, b) of [first, stop), in threads of this process."""

    def ahead(self, calls: Sequence[Callable[[], T]]) -> Iterator[T]:
        """Yield the results of calls in order, while threads of this process are busy with the next ones."""

    def ask(
        self,
        examples: Askable,
        question: Question,
        ids: IntArray,
        answers: Answers,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Write the answers of ids to a question, wherever they are found."""

    def close(self) -> None:
        """End threads and workers."""


def check_engine(engine: Any, name: str) -> None:
    """Raise ValueError unless it is None, a name or an engine."""
    if engine is not None and engine not in ENGINES and not isinstance(engine, Engine):
        names = ", ".join(map(repr, ENGINES))
        raise ValueError(f"{name} must be None, {names} or an engine such as engines.Processes(2), found {engine!r}")


_ONE_THREAD = Local(1)
_running: ContextVar[Engine] = ContextVar("engine", default=_ONE_THREAD)


def running_engine() -> Engine:
    """Return the engine of the fit that is running, for data to be encoded in its threads; otherwise one thread."""
    return _running.get()


@contextmanager
def engine_of(engine: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Return the engine of a fit: a new one, which ends with the fit, or that of the user, which goes on.

    While the context lasts, it is the `running_engine`.
    """
    with _made(engine, n_jobs) as made:
        token = _running.set(made)
        try:
            yield made
        finally:
            _running.reset(token)


@contextmanager
def _made(engine: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Return the engine with this name, and close it afterwards; or the engine of the user."""
    if engine in (None, "threads"):
        made: Engine = Local(n_jobs)
    elif engine == "processes":
        from maxmargin.engines.processes import Processes

        made = Processes(n_jobs)
    elif engine == "dask":
        from maxmargin.engines.clusters import Dask

        made = Dask()
    elif engine == "ray":
        from maxmargin.engines.clusters import Ray

        made = Ray()
    else:
        yield engine
        return
    try:
        yield made
    finally:
        made.close()
