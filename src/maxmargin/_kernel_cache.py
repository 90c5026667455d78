"""Numba's cache on disk, made safe: what cannot be read or written there never makes a call fail."""

from __future__ import annotations

import hashlib
import pickle
import warnings
from typing import Any

from numba.core.caching import IndexDataCacheFile, NullCache

#: Bytes of the digest at the beginning of every file.
_DIGEST = 16

_warned = False


class KernelCache(NullCache):
    """The cache of one kernel: Numba's, except that a fault of the disk counts as a kernel that is not cached.

    A damaged file is replaced after the kernel is compiled again. If the kernel cannot be written (disk full, directory
    not writable), it is compiled once per process, and the first such failure is a warning.

    Parameters
    ----------
    cache : numba.core.caching.Cache
        The cache that Numba made.
    fingerprints : tuple
        Fingerprints of everything that is compiled into the kernel; a file with others is stale.
    """

    def __init__(self, cache: Any, fingerprints: tuple[Any, ...]) -> None:
        self._cache, file = cache, cache._cache_file
        stamp = file._source_stamp, fingerprints
        cache._cache_file = CheckedFiles(file._cache_path, f"{cache._impl.filename_base}.checked", stamp)

    @property
    def cache_path(self) -> Any:
        """Directory of the files."""
        return self._cache.cache_path

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

    Numba writes its index before the data, so that a process that ends in between, or two that write at the same time,
    leave an index that refers to the code of another signature.
    """

    def save(self, key: Any, data: Any) -> None:
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

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
            f"compiled kernels cannot be kept in {directory} ({error}), so that every process compiles them again; "
            f"set NUMBA_CACHE_DIR to a directory that can be written",
            UserWarning,
            stacklevel=2,
        )
