"""What the bits of results depend on besides data and parameters: the processor, and the packages that compute."""

from __future__ import annotations

import platform
import warnings
import zlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import llvmlite.binding as llvm
from threadpoolctl import threadpool_info

from maxmargin._base.errors import callers_level

#: Packages whose versions may change bits.
PACKAGES = ("maxmargin", "numpy", "scipy", "numba")


@cache
def fingerprint() -> dict[str, str]:
    """Return the processor, as compiled functions see it, the kernels of BLAS, and versions of packages."""
    features = ",".join(sorted(name for name, has in llvm.get_host_cpu_features().items() if has))
    libraries = [library for library in threadpool_info() if library.get("user_api") == "blas"]
    of_numpy = [library for library in libraries if "numpy" in library.get("filepath", "")] or libraries
    blas = {
        f"{library.get('internal_api')} {library.get('version')} for {library.get('architecture', 'any processor')}"
        for library in of_numpy  # other packages may have their own, which only some processes have loaded
    }
    return {
        "processor": f"{platform.machine()} {llvm.get_host_cpu_name()}",
        "instructions": f"{zlib.crc32(features.encode()):08x}",
        "BLAS": ", ".join(sorted(blas)) or "none",
        **{name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a folder
        return "unknown"


def warn_of_difference(other: dict[str, str]) -> None:
    """Warn if the fingerprint of a worker differs from that of this process."""
    own = fingerprint()
    different = [name for name in own if own[name] != other.get(name)]
    if different:
        shown = "; ".join(f"{name}: {own[name]} here, {other.get(name)} there" for name in different)
        warnings.warn(
            f"a worker has another processor or other packages than this process ({shown}): results may differ in "
            f"their last bits from those of one machine, and from run to run",
            UserWarning,
            stacklevel=callers_level(),
        )
