"""Atomic writing of files."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a new file that replaces `path` if the block succeeds; otherwise an existing file is left unchanged.

    The file is written to the same directory, flushed to the disk, and renamed so that a reader or a crash at any time
    finds the old file or the new one. A killed process may leave a hidden file with the suffix ``.part``, never an
    incomplete `path`.
    """
    target = Path(os.path.realpath(path))  # follows links, as open() does
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)} cannot be written: {target.parent} is not a directory")
    if target.exists() and not target.is_file():
        raise ValueError(f"{os.fspath(path)} cannot be written: it exists and is not a regular file")
    aside = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.part"
    # Not mkstemp: only the owner may read its files, whereas a model is shared according to the user's umask.
    handle = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, aside)
        os.replace(aside, target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def _sync_directory(directory: Path) -> None:
    """Flush the renaming to the disk, if the system supports it."""
    with contextlib.suppress(OSError):  # Windows cannot open directories, and some file systems cannot sync them
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
