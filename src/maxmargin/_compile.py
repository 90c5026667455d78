"""How kernels are compiled: cached on disk where the disk allows it, never failing where it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

#: Re-association lets dots vectorise; no flag here changes what minus infinity means.
_FASTMATH = {"nsz", "contract", "reassoc", "nnan"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a free function over arrays that releases the interpreter lock.

    The compiled code is kept in numba's cache. Where no cache directory can be written (read-only installations),
    the function is compiled once per process instead.
    """
    options = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "cannot cache function ...: no locator available"
        return njit(**options)(function)


inlined = njit(inline="always", error_model="numpy")
