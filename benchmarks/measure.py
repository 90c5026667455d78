"""Time and memory of a task in a process of its own, and what CRFsuite does with the same data."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any


def isolated(task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run task in a new process: its result with CPU and wall seconds and peak memory (MB) of the whole process.

    The task may return a dict, whose entries stand beside these.
    """
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(send, task, arguments))
    process.start()
    send.close()
    result = receive.recv()
    process.join()
    if isinstance(result, BaseException):
        raise result
    return result


def _child(send: Any, task: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        result = dict(task(*arguments))
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        send.send(result)
    except BaseException as error:
        send.send(error)


class Clock:
    """CPU and wall seconds since it was made."""

    def __init__(self) -> None:
        self.cpu_began, self.wall_began = time.process_time(), time.perf_counter()

    @property
    def cpu(self) -> float:
        return time.process_time() - self.cpu_began

    @property
    def wall(self) -> float:
        return time.perf_counter() - self.wall_began


def train_crfsuite(X: list[Any], Y: list[Any], path: str, **parameters: Any) -> Clock:
    """L-BFGS with CRFsuite's defaults; the clock runs over appending (its encoding) and training."""
    import pycrfsuite

    clock = Clock()
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for x, y in zip(X, Y, strict=True):
        trainer.append(x, y)
    trainer.set_params(parameters)
    trainer.train(path)
    clock.cpu_total, clock.wall_total = clock.cpu, clock.wall  # type: ignore[attr-defined]
    return clock


def tag_crfsuite(X: list[Any], path: str) -> tuple[list[list[str]], Clock]:
    import pycrfsuite

    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    clock = Clock()
    tags = [tagger.tag(x) for x in X]
    clock.cpu_total = clock.cpu  # type: ignore[attr-defined]
    return tags, clock
