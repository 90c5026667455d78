"""Estimates of memory, checked before work starts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

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
