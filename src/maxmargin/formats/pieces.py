"""Pieces of large files, which workers read by themselves: where records begin, found without reading the whole file.

From a target on, a file is read up to the next place where a record is sure to begin, and has a record before it and
after it. Files that are packed stay whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.extras import needed
from maxmargin._base.ragged import batches
from maxmargin.formats.streams import GZIP_MAGIC, MARK, FormatError, Piece, Source, first_bytes, open_bytes

#: Units of sizes in words.
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}
#: Bytes that are searched for the end of a tree: longer than any tree.
TREES = 1 << 20

#: Like `map`: calls a function for each element, perhaps in other processes.
Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]


@dataclass(frozen=True)
class RowGroups(os.PathLike[str]):
    """Some row groups of a Parquet file, in the place of its name.

    Attributes
    ----------
    path : str
        The file.
    start, stop : int
        The first group, and the first one after the last.
    size : int
        Their bytes.
    """

    path: str
    start: int
    stop: int
    size: int

    def __fspath__(self) -> str:
        return self.path

    def table(self, columns: Sequence[str] | None) -> Any:
        """Return these rows as a data frame, with some of the columns or all."""
        file = _parquet_file(self.path)
        groups, columns = list(range(self.start, self.stop)), None if columns is None else list(columns)
        return file.read_row_groups(groups, columns=columns, use_pandas_metadata=True).to_pandas()


def checked_size(size: Any) -> int | None:
    """Return a number of bytes, which may be given as text such as ``"64MB"``; None stays."""
    if size is None:
        return None
    if not isinstance(size, str):
        return whole_number(size, "split")
    number, unit = size[:-2].strip(), size[-2:].upper()
    if unit not in UNITS or not (number.isascii() and number.isdecimal() and int(number)):
        raise ValueError(f"split must be a number of bytes, a text such as '64MB', or None, found {size!r}")
    return int(number) * UNITS[unit]


def source_size(source: Source) -> int:
    """Return the number of bytes of a file, or of a piece of one."""
    if isinstance(source, Piece):
        return source.stop - source.start
    return source.size if isinstance(source, RowGroups) else os.path.getsize(source)


def pieces(path: str, format: str, size: int, run: Run = map) -> list[Source]:
    """Return a file in pieces of about `size` bytes that begin with a record; the file itself if there is only one.

    `run` counts the records of the pieces of a FASTA file, whose pairs cannot be recognised otherwise.
    """
    if format == "parquet":
        return _runs_of_groups(path, size)
    length, head = os.path.getsize(path), first_bytes(path)
    with open(path, "rb") as file:
        packed = file.read(2) == GZIP_MAGIC
        if length <= size or packed or (format == "conllu" and b"# global.columns" in head):
            return [path]
        step = -(-length // -(-length // size))
        starts = [0, *_starts(file, _NEXT[format], step)]
    parts = [Piece(path, start, stop) for start, stop in pairwise([*starts, length])]
    if format == "fasta" and len(parts) > 1:
        parts = _with_whole_pairs(parts, list(run(titles, parts)))
    return [path] if len(parts) == 1 else list(parts)


def _starts(file: BinaryIO, after: Callable[[BinaryIO, int], int | None], step: int) -> Iterator[int]:
    """Yield the starts of all pieces but the first, which has a record too."""
    last, at = 0, after(file, 0)
    while at is not None:
        at = after(file, max(at + 1, last + step))
        if at is not None:
            yield at
            last = at


# ---------------------------------------------------------------------- records in lines


def _next_line(file: BinaryIO, at: int) -> bytes:
    """Move to the first line that begins at a byte or later, and return what precedes it."""
    file.seek(max(at - 1, 0))
    return file.readline() if at else b""


def _next_sentence(file: BinaryIO, at: int) -> int | None:
    """Return where a sentence of columns begins: after a blank line, with a line that is sure to be a token."""
    _next_line(file, at)
    place = file.tell()
    start = None if at else 0
    for line in file:
        place += len(line)
        if line.strip(b" \t") in (b"\n", b"\r\n"):
            start = place
        elif start is not None and not line.startswith((b"#", MARK)) and not line.lstrip().startswith(b"-DOCSTART-"):
            return start
    return None


def _next_row(file: BinaryIO, at: int) -> int | None:
    """Return where a row of svmlight begins: with a line that is neither blank nor a comment."""
    return _next_such_line(file, at, lambda line: bool(line.partition(b"#")[0].strip()))


def _next_title(file: BinaryIO, at: int) -> int | None:
    """Return where a record of FASTA begins."""
    return _next_such_line(file, at, _is_title)


def _next_such_line(file: BinaryIO, at: int, is_record: Callable[[bytes], bool]) -> int | None:
    _next_line(file, at)
    place = file.tell()
    for line in file:
        if is_record(line):
            return place
        place += len(line)
    return None


def _is_title(line: bytes) -> bool:
    return b">" in line and line.decode(errors="replace").strip().startswith(">")


def titles(piece: Piece) -> tuple[int, int]:
    """Return the number of records of a piece of a FASTA file, and where the second one begins in the file."""
    count, second, place = 0, piece.stop, piece.start
    with open_bytes(piece) as file:
        for line in file:
            if _is_title(line):
                count += 1
                second = place if count == 2 else second
            place += len(line)
    return count, second


def _with_whole_pairs(parts: Sequence[Piece], counted: Sequence[tuple[int, int]]) -> list[Piece]:
    """Return pieces that begin with records 1, 3, 5, … of the file."""
    path, total = parts[0].path, sum(count for count, _ in counted)
    if total % 2:
        raise FormatError(path, None, f"expected pairs of records, found {total} records")
    starts, before = [], 0
    for piece, (count, second) in zip(parts, counted, strict=True):
        start = second if before % 2 else piece.start
        if start < piece.stop:
            starts.append(start)
        before += count
    return [Piece(path, start, stop) for start, stop in pairwise([*starts, parts[-1].stop])]


# ---------------------------------------------------------------------- trees, and groups of rows


def _next_tree(file: BinaryIO, at: int) -> int | None:
    """Return the first end of a tree: where most brackets are closed, of those of the next `TREES` bytes."""
    if at == 0:
        return 0
    file.seek(at)
    text = np.frombuffer(file.read(TREES), np.uint8)
    closing, opening = text == ord(")"), text == ord("(")
    depths = np.cumsum(opening.astype(np.int32) - closing)
    ends = np.flatnonzero(closing & (depths == depths.min(initial=0)))
    if len(ends) == 0 or not opening[ends[0] :].any():
        return None
    return int(at + ends[0] + 1)


def _runs_of_groups(path: str, size: int) -> list[Source]:
    metadata = _parquet_file(path).metadata
    sizes = np.array([metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups)], np.int64)
    if sizes.sum() <= size:
        return [path]
    runs = batches(sizes, size)
    return [RowGroups(path, some.start, some.stop, int(sizes[some].sum())) for some in runs]


def _parquet_file(path: str) -> Any:
    needed("pyarrow", "parquet", "Parquet files need")
    return needed("pyarrow.parquet", "parquet", "Parquet files need").ParquetFile(path)


_NEXT = {
    "conll": _next_sentence,
    "conllu": _next_sentence,
    "svmlight": _next_row,
    "fasta": _next_title,
    "trees": _next_tree,
}
