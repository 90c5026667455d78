"""Memory: estimates, checked before work starts, and space that is used again and again."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._base.types import FloatArray

#: Warn if the estimate exceeds this fraction of the free memory; raise MemoryError if it exceeds all of it.
WARNING_FRACTION = 0.5
#: Bytes per nonzero of a dense matrix and per entry of a sparse matrix while they are converted to rows
#: (measured), and bytes per number while dense matrices are stacked.
DENSE_ENTRY, SPARSE_ENTRY, STACKED_NUMBER = 40.0, 32.0, 9.0


def available_bytes() -> float:
    """Return the free memory; infinity if the system does not report it."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return float("inf")


def check_memory(planned: float, what: str, remedy: str = "use fewer features (or labels), or sparse ones") -> None:
    """Warn if the estimated memory exceeds half of the free memory; raise MemoryError if it exceeds all of it."""
    free = available_bytes()
    sentence = f"{what} needs about {planned / 1e9:.3g} GB of memory, {free / 1e9:.3g} GB are free"
    if planned > free:
        raise MemoryError(f"{sentence}; {remedy}")
    if planned > WARNING_FRACTION * free:
        warnings.warn(sentence, UserWarning, stacklevel=3)


def check_rows(matrices: Sequence[Any], what: str) -> None:
    """Check the memory of feature matrices, dense or sparse, that are stacked and copied as sparse rows."""
    stacked = STACKED_NUMBER if len(matrices) > 1 else 0.0
    most = sum(SPARSE_ENTRY * m.nnz if sp.issparse(m) else (DENSE_ENTRY + stacked) * m.size for m in matrices)
    if most <= WARNING_FRACTION * available_bytes():  # even without a zero; counting zeros takes longer
        return
    planned = 0.0
    for matrix in matrices:
        if sp.issparse(matrix):
            planned += SPARSE_ENTRY * matrix.nnz
        else:
            planned += DENSE_ENTRY * np.count_nonzero(matrix)
            planned += stacked * matrix.size
    check_memory(planned, what)


class Scratch(threading.local):
    """A row of zeros and a row of any content for each thread so that functions may run in several threads at once.

    Fresh memory would cost more than a recursion over it. Pickles and copies are empty.
    """

    def __init__(self) -> None:
        self._row: FloatArray = np.zeros(0)
        self._room: FloatArray = np.zeros(0)

    def zeros(self, size: int) -> FloatArray:
        """Return a row of `size` zeros of this thread; the caller must leave it zero."""
        if len(self._row) < size:
            self._row = np.zeros(size)
        return self._row[:size]

    def room(self, *shape: int) -> FloatArray:
        """Return an array of this thread with any content; the next call returns the same memory."""
        size = int(np.prod(shape))
        if len(self._room) < size:
            self._room = np.empty(size)
        return self._room[:size].reshape(shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, ()
