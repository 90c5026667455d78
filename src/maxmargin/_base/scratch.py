"""Space that compiled functions use again and again, since fresh memory costs more than a recursion over it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from maxmargin._base.types import FloatArray


class Scratch(threading.local):
    """A row of zeros and a row of any content for each thread so that functions may run in several threads at once.

    Pickles and copies are empty.
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
