"""Worker processes of this machine, for argmaxes in Python, which threads cannot run side by side."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.process_executor import BrokenProcessPool

from maxmargin._base.types import FloatArray
from maxmargin.engines.tasks import Tasks

#: Weights of more bytes than this travel by a file, which all workers read, and not with each task.
LARGE = 1 << 17


class Processes(Tasks):
    """Run argmaxes in worker processes of this machine (loky, which comes with joblib).

    Each worker has a copy of the examples. A worker that is killed is replaced, and its tasks are sent again: results
    stay the same. As a context manager it serves several fits, which start its workers once.

    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of workers; None or −1 means all cores that this process may use.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.make_chains(40, random_state=0)
    >>> with mm.engines.Processes(2) as engine:
    ...     model = mm.SequenceTagger(engine=engine).fit(X, y)
    >>> model.certificate_.proven
    True
    """

    lost = (BrokenProcessPool,)

    def __init__(self, n_jobs: int | None = None) -> None:
        super().__init__(n_jobs)
        self._workers: dict[int | None, ProcessPoolExecutor] = {}  # by slot; those of None are all alike
        self._folder: Path | None = None
        self._files = 0
        self._weights: Path | None = None

    def share(self, blob: bytes) -> Any:
        path = self._new_file()
        path.write_bytes(blob)
        return partial(_read, str(path))

    def share_weights(self, w: FloatArray) -> Any:
        if w.nbytes <= LARGE:
            return w
        if self._weights is not None:
            self._weights.unlink(missing_ok=True)
        self._weights = self._new_file(".npy")
        np.save(self._weights, w)
        return partial(np.load, str(self._weights))

    def _new_file(self, suffix: str = "") -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="maxmargin-"))
        self._files += 1
        return self._folder / f"{self._files}{suffix}"

    def submit(self, slot: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
        if slot not in self._workers:
            self._workers[slot] = ProcessPoolExecutor(self.n_jobs if slot is None else 1)
        return self._workers[slot].submit(function, *arguments)

    def result(self, future: Any, seconds: float) -> Any:
        try:
            return future.result(seconds)
        except FutureTimeoutError as error:
            raise TimeoutError from error

    def cancel(self, futures: list[Any]) -> None:
        """Kill the workers if tasks are under way.

        loky then sees a broken pool, which it handles. If a future was cancelled, or if it is asked to kill workers
        itself, its thread may fail and leave workers behind.
        """
        if None in self._workers and not all(future.done() for future in futures):
            for worker in list(self._workers[None]._processes.values()):
                with suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
            self._end_workers(None)

    def drop(self, future: Any) -> None:
        """Let the task run to its end; loky's thread may fail if a future was cancelled."""

    def recover(self, slot: int | None = None) -> None:
        self._end_workers(slot)
        super().recover(slot)

    def worker_ids(self) -> list[int]:
        """Return the process ids of all workers."""
        return [pid for workers in self._workers.values() for pid in list(workers._processes)]

    def _end_workers(self, slot: int | None) -> None:
        workers = self._workers.pop(slot, None)
        if workers is not None:
            workers.shutdown(wait=True)

    def close(self) -> None:
        """End the workers and remove their files."""
        for slot in list(self._workers):
            self._end_workers(slot)
        super().close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = self._weights = None


def _read(path: str) -> bytes:
    return Path(path).read_bytes()
