"""Arrays in files that are mapped into memory, for those that do not fit into it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._base.types import AnyArray


def check_folder(folder: Any, name: str) -> None:
    """Raise ValueError unless it is a folder in which files can be made."""
    if not isinstance(folder, str | os.PathLike) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise ValueError(f"{name} must be a folder that can be written to, found {folder!r}")


class Growing:
    """Numbers that are appended: in memory, or in a file of a folder that is then mapped into it.

    Parameters
    ----------
    folder : str or path-like, optional
        The folder; None for memory.
    dtype : dtype
        Type of the numbers.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, dtype: Any) -> None:
        self._dtype, self._parts = np.dtype(dtype), list[AnyArray]()
        self._file = None if folder is None else tempfile.TemporaryFile(dir=folder)  # noqa: SIM115

    def append(self, values: Any) -> None:
        """Add numbers at the end."""
        part = np.asarray(values, self._dtype)
        if self._file is None:
            self._parts.append(part)
        else:
            self._file.write(part.data)

    def array(self) -> AnyArray:
        """Return all numbers; nothing can be added any more."""
        if self._file is None:
            return np.concatenate([*self._parts, np.zeros(0, self._dtype)])
        with self._file as file:
            size = file.tell() // self._dtype.itemsize
            if size == 0:
                return np.zeros(0, self._dtype)
            file.flush()
            return np.memmap(file, self._dtype, "r+", shape=(size,)).view(np.ndarray)


def empty_in(folder: str | os.PathLike[str]) -> Callable[[int, Any], AnyArray]:
    """Return a function (size, type) that makes arrays in files of a folder; they go when the arrays do."""

    def empty(size: int, dtype: Any) -> AnyArray:
        needed, free = size * np.dtype(dtype).itemsize, shutil.disk_usage(folder).free
        if needed > free:
            raise OSError(f"{os.fspath(folder)}: {needed / 1e9:.3g} GB are needed, {free / 1e9:.3g} GB are free")
        with tempfile.TemporaryFile(dir=folder) as file:  # without a name on most systems, so a crash leaves nothing
            mapped = np.memmap(file, dtype, "w+", shape=(max(size, 1),))
        # A plain array over the mapping: compiled functions are compiled once for all arrays.
        return mapped.view(np.ndarray)[:size]

    return empty
