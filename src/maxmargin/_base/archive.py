"""Model files and checkpoints: a zip file of one JSON document and arrays, checked when it is read, replaced whole."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from maxmargin._base.memory import available_bytes
from maxmargin._base.types import AnyArray

#: Names of the documents of model files and of checkpoints, and the member that checkpoints of format 3 have instead.
MODEL, CHECKPOINT, CHECKPOINT_3 = "model.json", "checkpoint.json", "header.npy"

_KINDS = {
    MODEL: ("a model file of maxmargin", "maxmargin.load reads it"),
    CHECKPOINT: ("a checkpoint of maxmargin", "fit(resume=path) reads it"),
    CHECKPOINT_3: ("a checkpoint of maxmargin", "fit(resume=path) reads it"),
}

#: Allowed types of arrays: numbers, booleans, strings and dates; not objects, which would need pickle.
ARRAY_KINDS = "biufcSUmM"

#: A member is compressed if a sample of it shrinks at least to this fraction.
WORTHWHILE = 0.7

#: The maximum compression ratio of deflate, with some overhead.
DEFLATE_RATIO, DEFLATE_ENDS = 1032, 64

#: Memory that every document may take when it is parsed, and the maximum as a multiple of its bytes in the file.
PARSED_BYTES, PARSED_RATIO = 1 << 26, 256

#: Bytes of memory per byte of JSON (text and numbers), and more for each character that begins or separates values.
JSON_BYTE = 10.0
JSON_MARKS = {b"[": 64.0, b"{": 240.0, b",": 10.0, b":": 100.0, b'"': 32.0}

#: Bytes of an array that are decompressed at a time.
CHUNK = 1 << 22

_SIGNATURES = (
    (b"\x93NUMPY", "a NumPy array (.npy)"),
    (b"\x1f\x8b", "a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x80", "a pickle, which could run code and is therefore never loaded"),
)


class BadFileError(ValueError):
    """A fault of a file; the message is preceded by the name of the file."""


def write_archive(
    file: BinaryIO, name: str, document: Any, arrays: Mapping[str, AnyArray], compressed: bool = True
) -> None:
    """Write the document and the arrays; equal contents give equal bytes.

    Parameters
    ----------
    file : file
        The file, open for writing.
    name : str
        Name of the document, `MODEL` or `CHECKPOINT`.
    document : object
        What the document holds, as JSON can.
    arrays : dict of str to ndarray
        The arrays.
    compressed : bool, default=True
        Whether to compress members that become much smaller.
    """
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    with zipfile.ZipFile(file, "w", compresslevel=1) as archive:
        deflated = {True: zipfile.ZIP_DEFLATED, False: zipfile.ZIP_STORED}
        archive.compression = deflated[compressed and not _shrinks_too_much(text)]
        with archive.open(name, "w") as member:
            member.write(text)
        for key, array in arrays.items():
            archive.compression = deflated[compressed and _shrinks(array)]
            with archive.open(f"{key}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, array, allow_pickle=False)


def parsed_bytes(text: bytes) -> float:
    """Return an upper estimate of the memory of a JSON document while it is parsed."""
    return JSON_BYTE * len(text) + sum(size * text.count(mark) for mark, size in JSON_MARKS.items())


def most_parsed_bytes(stored: int) -> float:
    """Return the memory that a document of this many bytes in a file may take."""
    return max(float(PARSED_BYTES), PARSED_RATIO * float(stored))


def _shrinks_too_much(text: bytes) -> bool:
    """Return whether a document would be refused by a reader if it was compressed."""
    planned = parsed_bytes(text)
    return planned > PARSED_BYTES and planned > most_parsed_bytes(len(zlib.compress(text, 1)))


def _shrinks(array: AnyArray) -> bool:
    """Return whether 16 pieces of the array compress well, as names and zeros do and dense weights do not."""
    flat = array.ravel(order="K")
    piece = max(1, 4096 // flat.itemsize)
    if len(flat) > 16 * piece:
        flat = np.concatenate([flat[a : a + piece] for a in np.linspace(0, len(flat) - piece, 16).astype(int)])
    sample = flat.tobytes()
    return len(zlib.compress(sample, 1)) < WORTHWHILE * len(sample)


class Archive:
    """Reader of files written by `write_archive` with one of these documents; any other file raises BadFileError.

    Sizes are checked before memory is allocated: a member cannot claim more than its bytes in the file can decompress
    to, an array not more than its member, and all together not more than the free memory. The memory that JSON takes
    when it is parsed is limited by its bytes in the file, since a few kB can decompress to millions of empty lists.
    """

    def __init__(self, file: BinaryIO, *documents: str) -> None:
        self._kind = _KINDS[documents[0]][0]
        self._check_signature(file.read(16))
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, ValueError, OSError) as error:
            raise BadFileError(f"is truncated or damaged: it begins like a zip file, but {error}") from None
        members = self._zip.infolist()
        names = [member.filename for member in members]
        self._check_contents(names, documents)
        #: The document that it has.
        self.holds = next(name for name in documents if name in names)
        self._check_sizes(members, os.fstat(file.fileno()).st_size)
        self._unread = {member.filename for member in members}
        #: Bytes of the largest member.
        self.largest = max(member.file_size for member in members)

    def _check_contents(self, names: list[str], documents: tuple[str, ...]) -> None:
        if not set(documents) & set(names):
            shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
            what = f"another zip file: it contains {shown or 'nothing'}"
            if names and all(name.endswith(".npy") for name in names):
                what = f"a NumPy npz file: it contains {shown}"
            other = next((kind for name, kind in _KINDS.items() if name in names), None)
            if other is not None:
                what = ": ".join(other)
            raise BadFileError(f"is not {self._kind}, it is {what}")
        if len(set(names)) < len(names):
            raise BadFileError("is damaged: it has two members of the same name")

    def _check_signature(self, head: bytes) -> None:
        if head.startswith(b"PK\x03\x04"):
            return
        if not head:
            raise BadFileError(f"is empty, it is not {self._kind}")
        content = next((what for signature, what in _SIGNATURES if head.startswith(signature)), None)
        if content is None and re.match(rb"\s*[{\[]", head):
            content = "JSON or other text"
        content = content or f"another file, which begins with {head!r}"
        raise BadFileError(f"is not {self._kind}, it is {content}")

    @staticmethod
    def _check_sizes(members: list[zipfile.ZipInfo], file_size: int) -> None:
        for member in members:
            most = {zipfile.ZIP_STORED: member.compress_size,
                    zipfile.ZIP_DEFLATED: DEFLATE_RATIO * member.compress_size + DEFLATE_ENDS}  # fmt: skip
            if member.flag_bits & 1 or member.compress_type not in most:
                raise BadFileError(f"is damaged: {member.filename} is encrypted or compressed by an unknown method")
            if member.file_size > most[member.compress_type]:
                raise BadFileError(
                    f"is damaged: {member.filename} claims {member.file_size} bytes, "
                    f"but {member.compress_size} bytes in the file cannot hold them"
                )
        if sum(member.compress_size for member in members) > file_size:
            raise BadFileError("is damaged: its members claim more bytes than the file has")
        needed, free = sum(member.file_size for member in members), available_bytes()
        if needed > free:
            raise BadFileError(f"unpacks to {needed / 1e9:.3g} GB, and only {free / 1e9:.3g} GB of memory are free")

    def document(self) -> Any:
        """Return the JSON document."""
        info, old = self._zip.getinfo(self.holds), self.holds == CHECKPOINT_3
        self._check_parsing(JSON_BYTE * info.file_size, info.compress_size)
        content = bytes(self.array("header")) if old else self._read(self.holds)
        self._check_parsing(parsed_bytes(content), info.compress_size)
        try:
            return json.loads(content.decode(), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise BadFileError(f"is damaged: {self.holds} is not JSON ({error})") from None

    def _check_parsing(self, planned: float, stored: int) -> None:
        most = min(most_parsed_bytes(stored), available_bytes())
        if planned > most:
            raise BadFileError(
                f"is damaged, or made to exhaust memory: {self.holds} has {stored} bytes in the file and would take "
                f"about {planned / 1e6:.0f} MB of memory, expected at most {most / 1e6:.0f} MB"
            )

    def _read(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, RuntimeError) as error:
            raise BadFileError(f"is damaged: {name} cannot be read ({error})") from None

    def arrays(self) -> dict[str, AnyArray]:
        """Return all arrays that have not been read."""
        names = sorted(name for name in self._unread if name.endswith(".npy"))
        return {name: self.array(name) for name in (name.removesuffix(".npy") for name in names)}

    def array(self, name: str) -> AnyArray:
        """Return the array of this name; each array can be read once."""
        member = f"{name}.npy"
        if member not in self._unread:
            raise BadFileError(f"is damaged: the array {member} is missing")
        self._unread.remove(member)
        try:
            return self._read_array(self._zip.getinfo(member))
        except BadFileError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, OSError, RuntimeError) as error:
            raise BadFileError(f"is damaged: {member} cannot be read ({error})") from None

    def _read_array(self, info: zipfile.ZipInfo) -> AnyArray:
        with self._zip.open(info) as member:
            version = npy.read_magic(member)
            read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
            if read_header is None:
                raise ValueError(f"version {version} of the npy format is unknown")
            shape, by_columns, dtype = read_header(member)
            if dtype.kind not in ARRAY_KINDS or dtype.itemsize == 0:
                raise ValueError(f"arrays of {dtype} are not allowed")
            size, left = math.prod(shape) * dtype.itemsize, info.file_size - member.tell()
            if size != left or min(shape, default=0) < 0:
                raise ValueError(f"an array of shape {shape} and type {dtype} takes {size} bytes, found {left}")
            content, at = np.empty(size, np.uint8), 0
            while chunk := member.read(CHUNK):  # to the end, where the checksum is verified
                content[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
                at += len(chunk)
            if at < size:
                raise EOFError(f"it ends after {at} of {size} bytes")
        _check_bits(content, dtype)
        return content.view(dtype).reshape(shape, order="F" if by_columns else "C")


def _check_bits(content: AnyArray, dtype: np.dtype[Any]) -> None:
    """Raise ValueError if bytes do not encode values of the type."""
    if dtype.kind == "b" and (content > 1).any():
        raise ValueError("a boolean is neither 0 nor 1")
    if dtype.kind == "U" and (content.view(np.dtype(np.uint32).newbyteorder(dtype.byteorder)) > 0x10FFFF).any():
        raise ValueError("a string contains an invalid character")


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


# ---------------------------------------------------------------------- atomic writing of files


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
