"""Compilation of functions over arrays: cached on disk if possible, never stale, with messages while it lasts.

What cannot be read or written in Numba's cache never makes a call fail. Compiling takes up to a minute once per machine
and is silent otherwise.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from numbers import Number
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils, event
from numba.core.caching import IndexDataCacheFile, NullCache
from numba.extending import intrinsic

#: Bytes of the digest at the beginning of every file.
_DIGEST = 16

_warned = False


class JitCache(NullCache):
    """The cache of one kernel: Numba's, except that a fault of the disk counts as a kernel that is not cached.

    A damaged file is replaced after the function is compiled again. If the code cannot be written (disk full, directory
    not writable), it is compiled once per process, and the first such failure is a warning.

    Parameters
    ----------
    cache : numba.core.caching.Cache
        The cache that Numba made.
    fingerprints : tuple
        Fingerprints of everything that is compiled into the compiled function; a file with others is stale.
    """

    def __init__(self, cache: Any, fingerprints: tuple[Any, ...]) -> None:
        self._cache, file = cache, cache._cache_file
        stamp = file._source_stamp, fingerprints
        cache._cache_file = CheckedFiles(file._cache_path, f"{cache._impl.filename_base}.checked", stamp)

    @property
    def cache_path(self) -> Any:
        """Directory of the files."""
        return self._cache.cache_path

    def has(self, sig: Any, target_context: Any) -> bool:
        """Return whether there is compiled code for a signature."""
        try:
            target_context.refresh()
            return self._cache._index_key(sig, target_context.codegen()) in self._cache._cache_file._load_index()
        except Exception:  # a later Numba may have another index
            return True

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if there is none or if it cannot be read."""
        try:
            return self._cache.load_overload(sig, target_context)
        except Exception:  # any error that a damaged file may cause
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the compiled code for a signature; warn once per process if that fails."""
        try:
            self._cache.save_overload(sig, data)
        except Exception as error:
            _warn_once(self.cache_path, error)


class CheckedFiles(IndexDataCacheFile):
    """Files that begin with a digest of their content and of the key they belong to.

    Numba writes its index before the data, so a process that ends in between, or two that write at the same time,
    leave an index that refers to the code of another signature.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        entry = super().load(key)
        return entry[1] if entry is not None and entry[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        try:
            content = self._read(self._index_path)
            version, stamp, overloads = pickle.loads(content)
        except Exception:  # no index, or a damaged one
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return pickle.loads(self._read(self._data_path(name)))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            digest, content = file.read(_DIGEST), file.read()
        if digest != self._digest(content):
            raise OSError(f"{path} is damaged or stale")
        return content

    def _write(self, path: str, value: Any) -> None:
        content = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._digest(content))
            file.write(content)

    def _digest(self, content: bytes) -> bytes:
        digest = hashlib.blake2b(repr((self._version, self._source_stamp)).encode(), digest_size=_DIGEST)
        digest.update(content)
        return digest.digest()


def _warn_once(directory: Any, error: Exception) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"compiled functions cannot be kept in {directory} ({error}), so every process compiles them again; "
            f"set NUMBA_CACHE_DIR to a directory that can be written",
            UserWarning,
            stacklevel=2,
        )


#: No flag here changes the value of a result or the meaning of minus infinity. Reassociated sums and fused products
#: would: a function that several others call is compiled with each of them, differently, and which of these copies runs
#: depends on what was loaded first, so a process that compiles would get other bits than one that reads the cache.
_FASTMATH = {"nsz", "nnan"}


#: Seconds that this process has spent compiling.
_compiling = event.TimingListener()
event.register("numba:compile", _compiling)


def working_seconds() -> float:
    """Return the time of a clock that is stopped while functions are compiled, once per machine."""
    return perf_counter() - (_compiling.duration if _compiling.done else 0.0)


def jit(function: Callable[..., Any]) -> Any:
    """Compile a free function over arrays that releases the interpreter lock.

    The compiled code is kept in Numba's cache. If no cache directory is writable (read-only installations), or if the
    files there cannot be read or written (damaged, disk full), the function is compiled once per process instead.
    """
    options = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # Numba: "cannot cache function ...: no locator available"
        return njit(**options)(function)
    with suppress(AttributeError):  # a later Numba may keep its files elsewhere; its own cache is then used
        stamp = *sorted(_compiled_in(function).items()), ("options", repr(sorted(_FASTMATH)))
        compiled._cache = JitCache(compiled._cache, stamp)
    return compiled


def _compiled_in(function: Callable[..., Any]) -> dict[str, Any]:
    """Return fingerprints of a function's file, of the files it calls into, and of the constants it refers to.

    Numba compares only the time and size of the function's own file to decide whether its cache is stale. After an edit
    of a called function in another file, or an upgrade to a file of the same size and date, it would keep using the old
    code.
    """
    fingerprints: dict[str, Any] = {function.__module__: _fingerprint(function.__code__.co_filename)}
    for name in function.__code__.co_names:
        named = function.__globals__.get(name)
        called = getattr(named, "py_func", None)
        if called is not None and called is not function:
            fingerprints |= _compiled_in(called)
        elif isinstance(named, Number):
            fingerprints[f"{function.__module__}.{name}"] = repr(named)
    return fingerprints


@cache
def _fingerprint(path: str) -> int:
    try:
        return zlib.crc32(Path(path).read_bytes())
    except OSError:
        return 0


inlined = njit(inline="always", error_model="numpy")


@inlined
def largest(values):
    """Return the largest of some integers, at least 0: `max()` of numpy takes ten times as long to compile."""
    most = 0
    for value in values:
        most = max(most, value)
    return most


@inlined
def copy_into(target, source):
    """Copy `source` to the beginning of `target`.

    A slice that is assigned to would compile code that formats error messages, for more than a CPU second.
    """
    for k in range(len(source)):
        target[k] = source[k]


@intrinsic
def prefetch(typingctx: Any, array: Any, k: Any) -> Any:
    """Load the cache line of ``array[k]`` in the background. No value depends on it, so no result does."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte, whole = ir.IntType(8).as_pointer(), ir.IntType(32)
        entries = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        kind = ir.FunctionType(ir.VoidType(), [byte, whole, whole, whole])
        load = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        line = builder.bitcast(builder.gep(entries, [arguments[1]]), byte)
        builder.call(load, [line, whole(0), whole(3), whole(1)])  # to read, to keep, data
        return context.get_dummy_value()

    return types.void(array, k), codegen


#: Products of a `row_dot` that are added at the same time.
_LANES = 8


@intrinsic
def _dot_of_lanes(typingctx: Any, table: Any, row: Any, weights: Any, stop: Any) -> Any:
    """Return table[row]·weights of the entries before `stop`, a multiple of `_LANES`: a sum for each lane, then of all.

    The order of the sums is fixed, so every processor and every caller gets the same bits: a compiler may change it by
    flags only that we do not set (`_FASTMATH`).
    """
    if not all(
        isinstance(of, types.Array) and of.layout == "C" and of.dtype == types.float64 for of in (table, weights)
    ):
        return None

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes, number = ir.VectorType(ir.DoubleType(), _LANES), context.get_value_type(types.intp)
        rows, w = (context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2))
        first = builder.mul(arguments[1], builder.extract_value(rows.shape, 1))
        entries = builder.gep(rows.data, [first]), w.data
        sums = cgutils.alloca_once_value(builder, ir.Constant(lanes, [0.0] * _LANES))
        with cgutils.for_range_slice(builder, number(0), arguments[3], number(_LANES)) as (at, _):
            some = [builder.bitcast(builder.gep(of, [at]), lanes.as_pointer()) for of in entries]
            product = builder.fmul(*(builder.load(of, align=8) for of in some))
            builder.store(builder.fadd(builder.load(sums), product), sums)
        last = builder.load(sums)
        parts = [builder.extract_element(last, ir.IntType(32)(k)) for k in range(_LANES)]
        while len(parts) > 1:
            parts = [builder.fadd(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float64(table, types.intp, weights, types.intp), codegen


@inlined
def row_dot(table, row, weights):
    """Return the product of a row of a contiguous table with weights; a slice of the table would count references."""
    width = table.shape[1]
    stop = width - width % _LANES
    total = _dot_of_lanes(table, row, weights, stop)
    for k in range(stop, width):
        total += table[row, k] * weights[k]
    return total


@inlined
def copy_table(target, source):
    """Copy a table of two dimensions into another of the same shape, as `copy_into`."""
    for r in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[r, k] = source[r, k]


#: Environment variable that silences the messages.
QUIET = "MAXMARGIN_QUIET"
#: Seconds of compilation before the first line, and between lines.
_SHORT, _BETWEEN = 1.0, 10.0


class CompileMessages(event.Listener):
    """Listener that writes to standard error when compilation takes long, how far it is, and when it has ended."""

    def __init__(self) -> None:
        self.silent = self.paused = False
        self._depth, self._timer = 0, Timer(0.0, lambda: None)
        self._forget()

    def _forget(self) -> None:
        self.count, self.seconds, self.announced, self._shown_at = 0, 0.0, False, 0.0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1 and _ours(event):
            self._began = perf_counter()
            if not self.announced and not self.paused:
                self._timer = Timer(max(_SHORT - self.seconds, 0.0), self._announce)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and _ours(event):
            self._timer.cancel()
            if self.paused:
                return
            self.count += 1
            self.seconds += perf_counter() - self._began
            if self.announced and perf_counter() - self._shown_at >= _BETWEEN:
                self.say(f"compiled {self._jit()} so far, {self.seconds:.0f} s")

    def _announce(self) -> None:
        self.announced = True
        self.say("compiling functions, once per machine (`maxmargin warmup` compiles ahead) …")

    def finish(self) -> None:
        """Write how many functions were compiled, if a line was written before, and count from 0 again."""
        if self.announced:
            self.say(f"compiled {self._jit()} in {self.seconds:.0f} s")
        self._forget()

    def _jit(self) -> str:
        return "1 function" if self.count == 1 else f"{self.count} functions"

    def say(self, text: str) -> None:
        """Write a line, unless messages are silenced or the environment variable `QUIET` is set."""
        self._shown_at = perf_counter()
        if not self.silent and os.environ.get(QUIET, "0") in ("", "0") and sys.stderr is not None:
            print(f"maxmargin: {text}", file=sys.stderr, flush=True)


def _ours(event: Any) -> bool:
    """Return whether a compiled function of this library is compiled, not a function of a user."""
    dispatcher = (event.data or {}).get("dispatcher")
    return str(getattr(getattr(dispatcher, "py_func", None), "__module__", "")).startswith("maxmargin.")


messages = CompileMessages()
event.register("numba:compile", messages)


@contextmanager
def silent_compilation(silent: bool = True) -> Iterator[None]:
    """Write no messages in this block, if `silent` is true."""
    before = messages.silent
    messages.silent = before or silent
    try:
        yield
    finally:
        messages.silent = before


@contextmanager
def paused_messages() -> Iterator[None]:
    """Write and count nothing of what is compiled in this block, which writes its own messages."""
    before, messages.paused = messages.paused, True
    try:
        yield
    finally:
        messages.paused = before
