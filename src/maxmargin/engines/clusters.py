"""Workers of a Dask or Ray cluster. The packages are extras, imported when an engine is made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from maxmargin._base.extras import needed
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.engines.tasks import Found, Tasks, answer

#: Seconds to wait for another worker of a Dask cluster after all have been lost.
WAIT = 60
#: Seconds that data may take to be sent to workers of a Dask cluster, and bytes per second of the slowest network.
DELIVERY, SLOWEST = 15.0, 1e6


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
            distributed.KilledWorker, distributed.client.FutureCancelledError, distributed.comm.CommClosedError,
            NotDelivered,
        )  # fmt: skip
        self._timeout = distributed.TimeoutError

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

    def submit(self, key: str, read: Any, *arguments: Any) -> Any:
        return self.client.submit(_answer_of_bytes, key, read, *arguments, pure=False, retries=0)

    def recover(self) -> None:
        """Wait for a worker: the scheduler starts or finds them."""
        super().recover()
        with self._reaching_the_scheduler(lost=()):
            self.client.wait_for_workers(1, timeout=WAIT)

    @contextmanager
    def _reaching_the_scheduler(self, lost: tuple[type[BaseException], ...]) -> Iterator[None]:
        """Raise ConnectionError if there is no scheduler, or no worker, within the time limits of Dask.

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

    def result(self, future: Any, seconds: float) -> Found:
        try:
            return future.result(timeout=seconds)
        except self._timeout as error:
            raise TimeoutError from error

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
        )  # fmt: skip
        self._task = self._ray.remote(max_retries=0)(_answer_of_bytes)

    @property
    def copies(self) -> int:
        return 1

    def share(self, blob: bytes) -> Any:
        return self._ray.put(np.frombuffer(blob, np.uint8))  # an array is read without a copy

    def share_weights(self, w: FloatArray) -> Any:
        return self._ray.put(w)

    def submit(self, *arguments: Any) -> Any:
        return self._task.remote(*arguments)

    def result(self, future: Any, seconds: float) -> Found:
        try:
            return self._ray.get(future, timeout=seconds)
        except self._ray.exceptions.GetTimeoutError as error:
            raise TimeoutError from error
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error

    def cancel(self, futures: list[Any]) -> None:
        for future in futures:
            self._ray.cancel(future)


def _answer_of_bytes(key: str, blob: AnyArray, *arguments: Any) -> Found:
    """Answer in a worker to which the scheduler has sent the pickled examples."""
    return answer(key, partial(bytes, blob), *arguments)
