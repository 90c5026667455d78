"""Files that are written whole or not at all."""

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
    """A new file that takes the place of `path` when the block ends well; else what was there stands and nothing else.

    It is written beside `path`, brought to the disk, and renamed, so that a reader or a crash at any moment finds the
    old file or the new one. A killed process may leave a hidden file that ends in ``.part``, never half a `path`.
    """
    target = Path(os.path.realpath(path))  # through a link, as open() would write
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(path)} cannot be written: {target.parent} is no directory")
    if target.exists() and not target.is_file():
        raise ValueError(f"{os.fspath(path)} cannot be written: it is there, and it is no regular file")
    aside = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.part"
    # Not mkstemp: its files are for their owner alone, and a model is shared as the user's umask says.
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
    """Bring the renaming to the disk, where the system can."""
    with contextlib.suppress(OSError):  # Windows opens no directories, and some file systems do not sync them
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
