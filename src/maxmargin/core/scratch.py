"""Rows of zeros that kernels use and leave zero."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from maxmargin._types import FloatArray


class Scratch(threading.local):
    """A row of zeros for each thread, so that functions that use it may run in several threads at once.

    Pickles and copies are empty.
    """

    def __init__(self) -> None:
        self._row: FloatArray = np.zeros(0)

    def zeros(self, size: int) -> FloatArray:
        """Return a row of `size` zeros of this thread; the caller must leave it zero."""
        if len(self._row) < size:
            self._row = np.zeros(size)
        return self._row[:size]

    def __reduce__(self) -> tuple[Any, ...]:
        return Scratch, ()
