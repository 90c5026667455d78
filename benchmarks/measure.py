"""Time and memory of a task in its own process, and training and tagging with CRFsuite."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from typing import Any


def isolated(task: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Run a task in a new process; return its dict with the peak memory of the whole process (MB) added."""
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
    """CPU and wall seconds since its creation."""

    def __init__(self) -> None:
        self.cpu_began, self.wall_began = time.process_time(), time.perf_counter()

    @property
    def cpu(self) -> float:
        return time.process_time() - self.cpu_began

    @property
    def wall(self) -> float:
        return time.perf_counter() - self.wall_began


def train_crfsuite(X: list[Any], Y: list[Any], path: str, **parameters: Any) -> Clock:
    """Train by L-BFGS with CRFsuite's defaults; the clock includes appending (its encoding) and training."""
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
