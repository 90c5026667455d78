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
