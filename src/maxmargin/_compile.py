"""How kernels are compiled: cached on disk where the disk allows it, never stale, never failing where it does not."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from numbers import Number
from pathlib import Path
from time import perf_counter
from typing import Any

from numba import njit
from numba.core import event

#: Re-association lets dots vectorise; no flag here changes what minus infinity means.
_FASTMATH = {"nsz", "contract", "reassoc", "nnan"}


#: How long this process has been compiling.
_compiling = event.TimingListener()
event.register("numba:compile", _compiling)


def working_seconds() -> float:
    """A clock that stands still while kernels are compiled, which happens once on a machine."""
    return perf_counter() - (_compiling.duration if _compiling.done else 0.0)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a free function over arrays that releases the interpreter lock.

    The compiled code is kept in numba's cache. Where no cache directory can be written (read-only installations),
    the function is compiled once per process instead.
    """
    options = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "cannot cache function ...: no locator available"
        return njit(**options)(function)
    with suppress(AttributeError):  # where a numba to come keeps its stamp elsewhere, that stamp must do
        file = compiled._cache._cache_file
        file._source_stamp = (file._source_stamp, tuple(sorted(_compiled_in(function).items())))
    return compiled


def _compiled_in(function: Callable[..., Any]) -> dict[str, Any]:
    """What is compiled into a function: fingerprints of its file and of those it calls into, and constants it names.

    Numba itself only looks at the time and size of the function's own file to tell whether its cache is stale: an
    edit of a called function in another file, or an upgrade to a file of the same size and packaging date, would go
    on with the old code.
    """
    found: dict[str, Any] = {function.__module__: _fingerprint(function.__code__.co_filename)}
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        called = getattr(named, "py_func", None)
        if called is not None and called is not function:
            found |= _compiled_in(called)
        elif isinstance(named, Number):
            found[f"{function.__module__}.{name}"] = repr(named)
    return found


@cache
def _fingerprint(path: str) -> int:
    try:
        return zlib.crc32(Path(path).read_bytes())
    except OSError:
        return 0


inlined = njit(inline="always", error_model="numpy")
