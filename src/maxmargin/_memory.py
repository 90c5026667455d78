"""Memory is planned before work starts."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

#: Above this share of what is free the plan is told; above all of it the fit is refused.
TOLD_SHARE = 0.5
#: Bytes that a nonzero of a dense matrix and an entry of a sparse one take while they become the rows that kernels read
#: (measured), and a number while dense matrices are stacked.
DENSE_ENTRY, SPARSE_ENTRY, STACKED_NUMBER = 40.0, 32.0, 9.0


def available_bytes() -> float:
    """Memory that is free now; infinite where the system does not tell."""
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
    """Warn when a plan takes much of the memory that is free; refuse it when there is not enough."""
    free = available_bytes()
    sentence = f"{what} needs about {planned / 1e9:.3g} GB of memory, {free / 1e9:.3g} GB are free"
    if planned > free:
        raise MemoryError(f"{sentence}; {remedy}")
    if planned > TOLD_SHARE * free:
        warnings.warn(sentence, UserWarning, stacklevel=3)


def check_rows(matrices: Sequence[Any], what: str) -> None:
    """`check_memory` for matrices of features, dense or sparse, that are stacked and copied as sparse rows."""
    planned = 0.0
    for matrix in matrices:
        if sp.issparse(matrix):
            planned += SPARSE_ENTRY * matrix.nnz
        else:
            planned += DENSE_ENTRY * np.count_nonzero(matrix)
            planned += STACKED_NUMBER * matrix.size if len(matrices) > 1 else 0.0
    check_memory(planned, what)
