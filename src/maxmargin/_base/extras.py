"""Optional packages, and the error if one is not installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def missing_package(need: str, package: str, extra: str) -> ImportError:
    """Return the error for a missing package, with advice that holds for a clone and for a released version.

    Parameters
    ----------
    need : str
        What needs it, up to the name of the package: ``"plots need"``.
    package : str
        The package to install.
    extra : str
        The extra of this library that contains the package.
    """
    return ImportError(f"{need} {package}: pip install {package}, or the whole extra: pip install 'maxmargin[{extra}]'")


def needed(package: str, extra: str, need: str = "this engine needs") -> Any:
    """Return a package of an extra, imported; raise ImportError that names the extra if it is missing."""
    try:
        return import_module(package)
    except ImportError as error:
        raise missing_package(need, package, extra) from error
