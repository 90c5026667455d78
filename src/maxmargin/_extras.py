"""The error for an optional package that is not installed."""

from __future__ import annotations


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
