"""What an engine is, and the parameter `engine` of estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from maxmargin._base.types import IntArray
from maxmargin.core.codes import Answers
from maxmargin.engines.local import Local
from maxmargin.engines.tasks import Askable, Question

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


@contextmanager
def engine_of(engine: Any, n_jobs: int | None) -> Iterator[Engine]:
    """Return the engine of a call: a new one, which ends with the call, or that of the user, which goes on."""
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
