"""Files and standard streams: gzip by its magic bytes, UTF-8 text, atomic writing."""

from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from maxmargin._base.archive import replacing

Source = str | os.PathLike[str]

GZIP_MAGIC = b"\x1f\x8b"
#: A byte order mark, with which some texts begin.
MARK = b"\xef\xbb\xbf"
#: Byte order marks of UTF-16, which some programs of Windows write.
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_BLOCK = 1 << 20


class FormatError(ValueError):
    r"""A file does not follow its format: ``file:line: what was expected and what was found``.

    Parameters
    ----------
    source : str or path-like
        The file.
    line : int or None
        Number of the line; None if the error is about the whole file.
    message : str
        What was expected and what was found.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import maxmargin as mm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "rows.svmlight"
    ...     _ = path.write_text("1 1:0.5\n2 one:0.5\n")
    ...     try:
    ...         mm.formats.read_svmlight(path)
    ...     except mm.exceptions.FormatError as error:
    ...         print(str(error).removeprefix(folder)[1:], error.line)
    rows.svmlight:2: expected FEATURE:VALUE, both finite numbers, found 'one:0.5' 2
    """

    def __init__(self, source: Source, line: int | None, message: str) -> None:
        self.source, self.line = shown_name(source), line_in_file(source, line)
        self.message = message
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        super().__init__(f"{place}: {message}")

    def __reduce__(self) -> Any:
        """Return what pickles need, for errors of workers."""
        return FormatError, (self.source, self.line, self.message)


def shown_name(source: Source) -> str:
    """Return the name of a file for messages."""
    return "standard input" if is_standard(source) else os.fspath(source)


def is_standard(source: Source) -> bool:
    """Return whether a name means standard input or output."""
    return os.fspath(source) == "-"


# ---------------------------------------------------------------------- reading


@dataclass(frozen=True)
class Piece(os.PathLike[str]):
    """Some of the bytes of a file that is not packed, in the place of its name; its lines are counted from its start.

    Attributes
    ----------
    path : str
        The file.
    start, stop : int
        The first byte, and the first one after the last.
    """

    path: str
    start: int
    stop: int

    def __fspath__(self) -> str:
        return self.path


class _Span(io.RawIOBase):
    """The bytes of a file up to a number of them."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file, self._start, self._size, self._left = file, file.tell(), size, size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._size - self._left, io.SEEK_END: self._size}[whence]
        place = min(max(place, 0), self._size)
        self._file.seek(self._start + place)
        self._left = self._size - place
        return place

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(len(buffer), self._left))
        buffer[: len(data)] = data
        self._left -= len(data)
        return len(data)


def line_in_file(source: Source, line: int | None) -> int | None:
    """Return the number in the file of a line of a piece, by reading the file up to the piece; others stay."""
    if not isinstance(source, Piece) or line is None:
        return line
    with open_bytes(Piece(source.path, 0, source.start)) as file:
        return line + sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


@contextmanager
def open_bytes(source: Source) -> Iterator[BinaryIO]:
    """Open the bytes of a file or, for ``"-"``, of standard input, unpacked if they are gzip."""
    with _raw(source) as raw:
        if isinstance(source, Piece):
            raw.seek(source.start)
            yield io.BufferedReader(_Span(raw, source.stop - source.start))
            return
        if raw.peek(2)[:2] != GZIP_MAGIC:
            yield raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield unpacked  # type: ignore[misc]
        except EOFError:
            raise FormatError(
                source, None, "the gzip file is truncated: it ends before its end-of-stream marker"
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(source, None, f"the gzip file is damaged ({error})") from None


@contextmanager
def _raw(source: Source) -> Iterator[io.BufferedReader]:
    if not is_standard(source):
        with open(source, "rb") as file:
            yield file
        return
    standard = _standard_input()
    if isinstance(standard, io.BufferedReader):
        yield standard
        return
    reader: Any = io.BufferedReader(standard)
    try:
        yield reader
    finally:
        reader.detach()  # otherwise standard input would be closed too


def _standard_input() -> Any:
    """Return the bytes of standard input; raise OSError if the program was started without it."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed", "standard input")
    return sys.stdin.buffer


def first_bytes(source: Source, size: int = 8192) -> bytes:
    """Return about the first `size` bytes, unpacked; the next reader of standard input still gets them."""
    if not is_standard(source):
        with open_bytes(source) as file:
            return file.read(size)
    standard = _standard_input()
    if hasattr(standard, "peek"):
        head: bytes = standard.peek(size)
    else:
        at = standard.tell()
        head = standard.read(size)
        standard.seek(at)
    if head[:2] == GZIP_MAGIC:
        with suppress(zlib.error):  # the reader of a damaged file raises the error
            return zlib.decompressobj(31).decompress(head, size)
    return head


def read_bytes(source: Source) -> bytes:
    """Return all bytes, unpacked."""
    with open_bytes(source) as file:
        return file.read()


def line_blocks(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of a UTF-8 text without their ends, in batches with the number of their first line.

    Lines end with LF or CRLF, and nowhere else. Lines that have arrived on a pipe are yielded without waiting for more.
    """
    number, rest = 1, b""
    with open_bytes(source) as file:
        read = getattr(file, "read1", file.read)
        while True:
            block = read(_BLOCK)
            whole, newline, rest = (rest + block).rpartition(b"\n") if block else (rest, b"", b"")
            if number == 1 and whole.startswith(MARK):
                whole = whole[3:]
            if newline or (not block and whole):
                text = decode(whole, source, number)
                lines = text.replace("\r\n", "\n").removesuffix("\r").split("\n")
                yield number, lines
                number += len(lines)
            if not block:
                return


def decode(data: bytes, source: Source, first_line: int = 1) -> str:
    """Return UTF-8 text; raise FormatError with the line of the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if first_line == 1 and data.startswith(_UTF16_MARKS):
            raise FormatError(
                source, None, "expected UTF-8 text, found UTF-16; convert it: iconv -f utf-16 -t utf-8"
            ) from None
        line = first_line + data.count(b"\n", 0, error.start)
        raise FormatError(
            source, line,
            f"expected UTF-8 text, found the byte 0x{data[error.start]:02x}; if the file is in Latin-1, convert it: "
            f"iconv -f latin1 -t utf-8",
        ) from None  # fmt: skip


# ---------------------------------------------------------------------- writing


@contextmanager
def write_text(target: Source) -> Iterator[TextIO]:
    """Open a UTF-8 text file that replaces an existing one only when complete; standard output for ``"-"``."""
    if is_standard(target):
        check_standard_output()
        sys.stdout.flush()
        output: Any = getattr(sys.stdout, "buffer", None)
        if output is None:  # standard output has been replaced by an object that accepts only text
            yield sys.stdout
            return
        with _text(output) as text:
            yield text
        output.flush()
        return
    check_writable(target)
    if _is_device(target):
        with open(target, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    with replacing(target) as raw, _text(raw) as text:
        yield text


@contextmanager
def _text(raw: Any) -> Iterator[TextIO]:
    """Return a UTF-8 text stream over a binary file that stays open, whatever the locale."""
    text = io.TextIOWrapper(raw, encoding="utf-8", newline="\n")
    try:
        yield text
        text.flush()
    finally:
        with suppress(OSError, ValueError):
            text.detach()


def check_standard_output() -> None:
    """Raise OSError if the program was started without standard output."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "standard output")


def check_writable(target: Source) -> None:
    """Raise the error of a later write before hours of work."""
    path, name = Path(os.path.realpath(target)), os.fspath(target)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "cannot be written, it is a directory", name)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, f"cannot be written, the directory {path.parent} does not exist", name)
    if not os.access(path if _is_device(target) else path.parent, os.W_OK):
        raise PermissionError(errno.EACCES, "cannot be written, permission denied", name)


def _is_device(target: Source) -> bool:
    """Return whether a path exists and cannot be replaced by renaming: /dev/null, a pipe."""
    return os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode)
