"""Workers of a Dask or Ray cluster. The packages are extras, imported when an engine is made."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from maxmargin._base.extras import needed
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.engines.tasks import Tasks

#: Seconds to wait for another worker of a Dask cluster after all have been lost.
WAIT = 60
#: Seconds that data may take to be sent to workers of a Dask cluster, and bytes per second of the slowest network.
DELIVERY, SLOWEST = 15.0, 1e6
#: Seconds after which the workers of slots are compared with those that the scheduler has.
LOOK = 1.0


class NotDelivered(Exception):
    """Data were not delivered to workers in time; one of them may have been lost."""


class Dask(Tasks):
    """Run argmaxes on the workers of a Dask cluster (extra ``dask``).

    Experimental: this engine may change in any minor version.

    Examples are sent to every worker once, weights once per sweep.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The client; None for the current one.

    Examples
    --------
    >>> import maxmargin as mm
    >>> from distributed import Client  # doctest: +SKIP
    >>> client = Client(n_workers=2, threads_per_worker=1)  # doctest: +SKIP
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(engine=mm.engines.Dask(client)).fit(X, Y)  # doctest: +SKIP
    """

    def __init__(self, client: Any = None) -> None:
        distributed = needed("distributed", "dask")
        self.client = distributed.get_client() if client is None else client
        super().__init__(max(1, sum(self.client.nthreads().values())))
        self.lost = (
            distributed.KilledWorker, CancelledError, distributed.comm.CommClosedError, NotDelivered,
        )  # fmt: skip
        self._timeout = distributed.TimeoutError
        self._addresses: dict[int, str] = {}
        self._looked = -np.inf

    @property
    def copies(self) -> int:
        return 1  # the workers may be elsewhere

    def share(self, blob: bytes) -> Any:
        return self._scattered(np.frombuffer(blob, np.uint8), broadcast=True)

    def share_weights(self, w: AnyArray) -> Any:
        return self._scattered(w, broadcast=False)

    def _scattered(self, data: AnyArray, broadcast: bool) -> Any:
        """Send data to all workers or to one, which others ask for them.

        Dask may wait for ever for a worker that was lost meanwhile, so there is a time limit.
        """
        send = partial(self.client.scatter, data, broadcast=broadcast, hash=False, asynchronous=True)
        limit = DELIVERY + data.nbytes / SLOWEST
        with self._reaching_the_scheduler(self.lost):
            try:
                return self.client.sync(send, asynchronous=False, callback_timeout=limit)
            except self._timeout as error:
                raise NotDelivered(f"{data.nbytes} bytes were not delivered in {limit:.0f} s") from error

    def submit(self, slot: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
        where = None if slot is None else [self._address(slot)]
        return self.client.submit(
            function, *arguments, pure=False, retries=0, workers=where, allow_other_workers=where is not None
        )

    def _address(self, slot: int) -> str:
        """Return the worker of a slot, which stays the same for as long as the worker lives."""
        if slot not in self._addresses or time.monotonic() - self._looked > LOOK:
            with self._reaching_the_scheduler(lost=()):
                workers = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
            self._looked = time.monotonic()
            if not workers:
                raise NotDelivered("the Dask cluster has no worker")
            self._addresses = {k: address for k, address in self._addresses.items() if address in workers}
            if slot not in self._addresses:
                used = list(self._addresses.values())
                self._addresses[slot] = min(workers, key=used.count)
        return self._addresses[slot]

    def recover(self, slot: int | None = None) -> None:
        """Wait for a worker: the scheduler starts or finds them."""
        super().recover(slot)
        self._looked = -np.inf
        with self._reaching_the_scheduler(lost=()):
            self.client.wait_for_workers(1, timeout=WAIT)

    @contextmanager
    def _reaching_the_scheduler(self, lost: tuple[type[BaseException], ...]) -> Iterator[None]:
        """Raise ConnectionError if the scheduler does not answer, or has no worker, within the time limits of Dask.

        Errors `lost` pass: they tell of a worker that was lost, as far as is known.
        """
        try:
            yield
        except lost:
            raise
        except OSError as error:  # errors of connections and of time limits
            raise ConnectionError(
                f"the Dask scheduler or its workers do not answer ({error}): start them again, and continue from a "
                f"checkpoint, fit(X, y, resume=path), with the new client"
            ) from error

    def result(self, future: Any, seconds: float) -> Any:
        try:
            return future.result(timeout=seconds)
        except self._timeout as error:
            raise TimeoutError from error
        except UnboundLocalError as error:  # of Dask: a wait that was cancelled as it ended has no result and no error
            raise (CancelledError(future.key) if future.cancelled() else TimeoutError()) from error

    def __reduce__(self) -> Any:
        return Dask, ()


class Ray(Tasks):
    """Run argmaxes on the workers of a Ray cluster (extra ``ray``).

    Experimental: this engine may change in any minor version.

    Examples and weights are put into the object store, which each node reads once.

    Parameters
    ----------
    address : str or None, default=None
        Address of the cluster; None for the current session, or a new one on this machine.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> tagger = mm.SequenceTagger(engine=mm.engines.Ray()).fit(X, Y)  # doctest: +SKIP
    """

    def __init__(self, address: str | None = None) -> None:
        self._ray = needed("ray", "ray")
        if not self._ray.is_initialized():
            self._ray.init(address=address, include_dashboard=False, log_to_driver=False)
        super().__init__(max(1, int(self._ray.cluster_resources().get("CPU", 1))))
        errors = self._ray.exceptions
        self.lost = (
            errors.WorkerCrashedError, errors.OutOfMemoryError, errors.ObjectLostError, errors.NodeDiedError,
            errors.RayActorError,
        )  # fmt: skip
        self._task = self._ray.remote(max_retries=0)(_called)
        self._actor, self._actors = self._ray.remote(_Caller), dict[int, Any]()

    @property
    def copies(self) -> int:
        return 1

    def share(self, blob: bytes) -> Any:
        return self._ray.put(np.frombuffer(blob, np.uint8))  # an array is read without a copy

    def share_weights(self, w: FloatArray) -> Any:
        return self._ray.put(w)

    def submit(self, slot: int | None, function: Callable[..., Any], *arguments: Any) -> Any:
        if slot is None:
            return self._task.remote(function, *arguments)
        if slot not in self._actors:
            self._actors[slot] = self._actor.remote()
        return self._actors[slot].call.remote(function, *arguments)

    def recover(self, slot: int | None = None) -> None:
        super().recover(slot)
        if slot in self._actors:
            self._ray.kill(self._actors.pop(slot))

    def result(self, future: Any, seconds: float) -> Any:
        try:
            return self._ray.get(future, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError as error:
            raise TimeoutError from error
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def cancel(self, futures: list[Any]) -> None:
        for future in futures:
            self._ray.cancel(future)

    def drop(self, future: Any) -> None:
        """Let the task of an actor run to its end."""

    def close(self) -> None:
        for slot in list(self._actors):
            self._ray.kill(self._actors.pop(slot))
        super().close()


def _called(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a worker; Ray has replaced references among the arguments by what they refer to."""
    return function(*arguments)


class _Caller:
    """Ray actor of a slot."""

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return function(*arguments)
