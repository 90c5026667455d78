"""Engines that send argmaxes to other processes as tasks.

A task is pure: a chunk of examples, weights, and a question such as ``decode``; its result is the answers of the chunk.
A worker keeps the examples it was sent, so only weights and answers travel. Chunks are those of threads, so results are
the same, bit for bit, for any number of workers (of equal processors). A task that is lost with its worker is sent
again. Schedulers and transports are those of the package behind an engine: loky, Dask or Ray.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np

from maxmargin._base.memory import check_memory
from maxmargin._base.ragged import spans
from maxmargin._base.types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.planes import Answers
from maxmargin.engines.engine import Askable, Local, Question, chunks_of, one_blas_thread
from maxmargin.engines.processor import fingerprint, warn_of_difference

try:
    import cloudpickle
except ImportError:  # joblib before 1.6 has a copy of its own
    from joblib.externals import cloudpickle

#: Seconds between two looks at the clock while results are awaited.
PATIENCE = 0.2
#: Seconds that a task should take at least: a message takes a millisecond, and several on a busy machine.
TASK_SECONDS = 0.03
#: Number of times that tasks are sent again, without any result in between, before an error is raised.
MOST_LOSSES = 5
#: Number of sets of examples that a worker keeps.
MOST_KEPT = 4


@dataclass(frozen=True)
class Found:
    """Answers of some examples, and what else their argmaxes have shown.

    Attributes
    ----------
    codes, losses, rises, keys, upper, outputs : ndarray
        As in `Answers`, of the examples of a task alone.
    noted : object
        Result of `Askable.noted`.
    fault : tuple of int and str, or None
        `Askable.fault`.
    joined : dict or None
        `processor.fingerprint` of the worker, in its first answer about these examples.
    """

    codes: CodeArray
    losses: FloatArray
    rises: FloatArray
    keys: IntArray
    upper: FloatArray
    outputs: AnyArray
    noted: Any
    fault: tuple[int, str] | None
    joined: dict[str, str] | None = None

    @classmethod
    def of(cls, examples: Askable, ids: IntArray, answers: Answers) -> Found:
        """Return the answers of ids."""
        outputs = answers.outputs[ids] if len(answers.outputs) else answers.outputs
        return cls(
            answers.codes[spans(ids, examples.code_offsets)], answers.losses[ids], answers.rises[ids],
            answers.keys[ids], answers.upper[ids], outputs, examples.noted(ids), examples.fault,
        )  # fmt: skip

    def write(self, examples: Askable, ids: IntArray, answers: Answers) -> None:
        """Write the answers of ids where a decode in this process would have written them."""
        answers.codes[spans(ids, examples.code_offsets)] = self.codes
        answers.losses[ids], answers.rises[ids], answers.keys[ids] = self.losses, self.rises, self.keys
        answers.upper[ids] = self.upper
        if len(answers.outputs):
            answers.outputs[ids] = self.outputs
        examples.note(ids, self.noted)
        if examples.fault is None and self.fault is not None:
            examples.fault = self.fault


#: Examples of this worker, with space for their answers, by the key they were sent with.
_kept: OrderedDict[str, tuple[Askable, Answers]] = OrderedDict()


def answer(
    key: str, read: Any, w: Any, method: str, arguments: Sequence[Any], chunks: Sequence[IntArray]
) -> tuple[list[Found], float]:
    """Answer a question about some chunks in a worker, and return the answers and the seconds that they took.

    Parameters
    ----------
    key : str
        Name of the examples.
    read : callable or bytes-like
        The pickled examples, or a function that returns them, for a worker that does not have them.
    w : ndarray of shape (dim,), or callable that returns it
        Weights. They are copied, because compiled functions are compiled again for arrays that are read-only.
    method : str
        As in `Question`.
    arguments : sequence
        For each chunk the argument, as in `Question`, of its examples alone.
    chunks : sequence of ndarray of int64
        The examples of each chunk.
    """
    joins = key not in _kept
    examples, answers = _known_examples(key, read)
    weights, written = own_weights(w), list[Found]()
    began = time.perf_counter()
    with one_blas_thread():
        for ids, argument in zip(writable(chunks), writable(arguments), strict=True):
            examples.begin(ids)
            Question(method, weights, argument).ask(examples, ids, slice(0, len(ids)), answers)
            written.append(Found.of(examples, ids, answers))
    if joins:
        written[0] = replace(written[0], joined=fingerprint())
    return written, time.perf_counter() - began


def _known_examples(key: str, read: Any) -> tuple[Askable, Answers]:
    """Return examples of this worker, which reads them when they are first asked for."""
    if key not in _kept:
        examples: Askable = unpickled(read)
        examples.engine = Local(1)
        _kept[key] = examples, examples.empty_answers()
        while len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return _kept[key]


def evaluate(key: str, read: Any, w: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return ``function(examples, w, *arguments)`` in a worker."""
    examples, _ = _known_examples(key, read)
    with one_blas_thread():
        return function(examples, own_weights(w), *writable(arguments))


def writable(values: Any) -> Any:
    """Return an array, or arrays in a list or tuple, as copies if they are read-only.

    Functions are compiled again for read-only arrays, as Ray returns them.
    """
    if isinstance(values, np.ndarray):
        return values if values.flags.writeable else values.copy()
    return type(values)(map(writable, values)) if type(values) in (list, tuple) else values


def own_weights(w: Any) -> FloatArray:
    """Return the weights of a task: a copy, because functions are compiled again for arrays that are read-only."""
    return np.array(w() if callable(w) else w)


def pickled(value: Any) -> bytes:
    """Return the pickle of a value, with the classes and functions of scripts and notebooks."""
    blob: bytes = cloudpickle.dumps(value)
    return blob


def unpickled(read: Any) -> Any:
    """Return the value of a pickle that was shared with all workers; raise ImportError if its code is missing here."""
    blob = read() if callable(read) else bytes(read)
    try:
        return cloudpickle.loads(blob)
    except ImportError as error:
        raise ImportError(
            f"a worker cannot import the code of the examples ({error}): make the module importable there, or define "
            f"the structure in the script or notebook itself, whose classes are sent along"
        ) from error


class Tasks(Local):
    """Base class of engines whose workers are other processes.

    Sums over outputs, planes and rows of one large example stay in threads of this process.
    """

    remote = True
    #: Errors that mean that a worker was lost, and its tasks with it.
    lost: tuple[type[BaseException], ...] = ()

    def __init__(self, n_jobs: int | None = None) -> None:
        super().__init__(n_jobs)
        self._shared: dict[int, tuple[Askable, str, Any]] = {}
        #: Number of times that workers were replaced; what was shared before may be lost with them.
        self.losses = 0
        self._known: list[dict[str, str]] = []
        self._pace = 0.0  # seconds per example of the last question
        #: Shards of the examples that workers were sent last (`shards.sent_shards`).
        self.sent: Any = None

    @abstractmethod
    def share(self, blob: bytes) -> Any:
        """Make bytes available to all workers, and return them there, or a picklable function that returns them."""

    @abstractmethod
    def share_weights(self, w: FloatArray) -> Any:
        """Return weights, or a picklable function that returns them in a worker."""

    @abstractmethod
    def submit(self, slot: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
        """Start ``function(*arguments)`` in a worker, and return its future.

        Tasks of the same slot, a number below `n_jobs`, run in the same worker for as long as it lives, one after the
        other; None means any worker.
        """

    @abstractmethod
    def result(self, future: Any, seconds: float) -> Any:
        """Return the result of a future; raise TimeoutError after this number of seconds."""

    def welcome(self, joined: dict[str, str] | None) -> None:
        """Warn, once, of workers whose bits may differ; `joined` is the fingerprint of a new worker."""
        if joined is not None and joined not in self._known:
            self._known.append(joined)
            warn_of_difference(joined)

    def recover(self, slot: int | None = None) -> None:
        """Replace workers that were lost, of all tasks without a slot or of one slot."""
        self._shared.clear()
        self.losses += 1

    def cancel(self, futures: list[Any]) -> None:
        """Drop tasks whose results are not needed."""
        for future in futures:
            future.cancel()

    def ask(
        self,
        examples: Askable,
        question: Question,
        ids: IntArray,
        answers: Answers,
        before: Callable[[], None] | None = None,
    ) -> None:
        """Write the answers of ids to a question; `before` is called repeatedly, and may raise an exception."""
        chunks = chunks_of(ids, examples.smallest_chunk)
        if not chunks:
            return
        if len(chunks) == 1:
            question.ask(examples, ids, chunks[0], answers)
            return
        groups = self._grouped(chunks)
        futures: dict[int, Any] = {}
        done = losses = 0
        seconds = 0.0
        try:
            while done < len(groups):
                try:
                    if not futures:
                        futures = self._sent(examples, question, ids, groups, done)
                    results, took = self._await(futures[done], before)
                    for part, chunk in zip(results, groups[done], strict=True):
                        self.welcome(part.joined)
                        part.write(examples, ids[chunk], answers)
                    done, losses, seconds = done + 1, 0, seconds + took
                except self.lost as error:
                    losses += 1
                    if losses > MOST_LOSSES:
                        lost = ids[groups[done][0].start], ids[groups[done][-1].stop - 1]
                        raise RuntimeError(
                            f"workers of engine {type(self).__name__} were lost {losses} times in a row while they "
                            f"answered for examples {lost[0]} to {lost[1]}: {error}"
                        ) from error
                    futures = {}
                    self.recover()
        finally:
            self.cancel([future for k, future in futures.items() if k >= done])
        self._pace = seconds / len(ids)

    def _grouped(self, chunks: list[slice]) -> list[list[slice]]:
        """Return chunks in runs, one for each task: of about `TASK_SECONDS`, but one for each worker at least.

        Answers do not depend on it, so the clock may decide.
        """
        size = max(1, int(TASK_SECONDS / max(self._pace * (chunks[0].stop - chunks[0].start), 1e-9)))
        size = min(size, -(-len(chunks) // self.n_jobs))
        return [chunks[k : k + size] for k in range(0, len(chunks), size)]

    def _sent(
        self, examples: Askable, question: Question, ids: IntArray, groups: list[list[slice]], first: int
    ) -> dict[int, Any]:
        """Send the groups from one on, and return their futures."""
        key, read = self._sent_examples(examples)
        w, argument = self.share_weights(question.w), question.argument
        split = isinstance(argument, np.ndarray)
        return {
            k: self.submit(
                None, answer, key, read, w, question.method,
                [argument[chunk] if split else argument for chunk in groups[k]], [ids[chunk] for chunk in groups[k]],
            )
            for k in range(first, len(groups))
        }  # fmt: skip

    def evaluate(
        self,
        examples: Any,
        w: FloatArray,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        before: Callable[[], None] | None = None,
    ) -> Iterator[Any]:
        """Yield ``function(examples, w, *some)`` for each tuple of arguments, in order."""
        weights: dict[int, Any] = {}

        def call(k: int) -> tuple[Any, ...]:
            if self.losses not in weights:
                weights[self.losses] = self.share_weights(w)
            return evaluate, *self._sent_examples(examples), weights[self.losses], function, arguments[k]

        return self.gather([None] * len(arguments), call, before)

    def gather(
        self,
        slots: Sequence[int | None],
        call: Callable[[int], tuple[Any, ...]],
        before: Callable[[], None] | None = None,
    ) -> Iterator[Any]:
        """Yield the results of one call for each slot, in order; calls that are lost with a worker are made again.

        Parameters
        ----------
        slots : sequence of int or None
            Slot of each call, as in `submit`; a slot may occur several times.
        call : callable
            Returns function and arguments of call k; called again if it is lost.
        before : callable, optional
            Called repeatedly while results are awaited; it may raise an exception.
        """
        futures: dict[int, Any] = {}
        try:
            for k in range(len(slots)):
                lost, slot = 0, slots[k]
                while True:
                    try:
                        for j in range(k, len(slots)):
                            if j not in futures:
                                slot = slots[j]
                                futures[j] = self.submit(slot, *call(j))
                        slot = slots[k]
                        results = self._await(futures[k], before)
                        break
                    except self.lost as error:
                        lost += 1
                        if lost > MOST_LOSSES:
                            raise RuntimeError(
                                f"workers of engine {type(self).__name__} were lost {lost} times in a row: {error}"
                            ) from error
                        self.recover(slot)
                        futures = {j: future for j, future in futures.items() if slots[j] != slot}
                del futures[k]
                yield results
        finally:
            for future in futures.values():
                self.drop(future)

    def drop(self, future: Any) -> None:
        """Cancel a task of `gather` whose result is not needed, if it has not begun; workers keep what they have."""
        future.cancel()

    def _sent_examples(self, examples: Askable) -> tuple[str, Any]:
        known = self._shared.get(id(examples))
        if known is None:
            try:
                blob = pickled(examples)
            except Exception as error:
                raise TypeError(
                    f"engine {type(self).__name__} sends examples to other processes, but they cannot be pickled "
                    f"({type(error).__name__}: {error}); use engine='threads'"
                ) from error
            check_memory(
                float(len(blob)) * self.copies, f"{self.copies} workers with a copy of the examples each", "use fewer"
            )
            known = self._shared[id(examples)] = examples, uuid4().hex, self.share(blob)
        return known[1:]

    @property
    def copies(self) -> int:
        """Number of copies of the examples on this machine."""
        return self.n_jobs

    def _await(self, future: Any, before: Callable[[], None] | None) -> Any:
        while True:
            if before is not None:
                before()
            try:
                return self.result(future, PATIENCE)
            except TimeoutError:
                continue

    def close(self) -> None:
        """Forget the examples of this engine, and end the threads."""
        self._shared.clear()
        self.sent = None
        super().close()

    def __deepcopy__(self, memo: Any) -> Tasks:
        """Return the engine itself: copies of an estimator share its workers."""
        return self
