"""Compilation of kernels, cached on disk if possible and never stale."""

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

from maxmargin._kernel_cache import KernelCache

#: Reassociation allows dot products to be vectorised; no flag here changes the meaning of minus infinity.
_FASTMATH = {"nsz", "contract", "reassoc", "nnan"}


#: Seconds that this process has spent compiling.
_compiling = event.TimingListener()
event.register("numba:compile", _compiling)


def working_seconds() -> float:
    """Return the time of a clock that is stopped while kernels are compiled, once per machine."""
    return perf_counter() - (_compiling.duration if _compiling.done else 0.0)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a free function over arrays that releases the interpreter lock.

    The compiled code is kept in Numba's cache. If no cache directory is writable (read-only installations), or if the
    files there cannot be read or written (damaged, disk full), the function is compiled once per process instead.
    """
    options = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # Numba: "cannot cache function ...: no locator available"
        return njit(**options)(function)
    with suppress(AttributeError):  # a later Numba may keep its files elsewhere; its own cache is then used
        compiled._cache = KernelCache(compiled._cache, tuple(sorted(_compiled_in(function).items())))
    return compiled


def _compiled_in(function: Callable[..., Any]) -> dict[str, Any]:
    """Return fingerprints of a function's file, of the files it calls into, and of the constants it refers to.

    Numba compares only the time and size of the function's own file to decide whether its cache is stale. After an edit
    of a called function in another file, or an upgrade to a file of the same size and date, it would keep using the old
    code.
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
