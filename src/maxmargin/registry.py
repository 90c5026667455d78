"""The structures and estimators of the library by name.

They are the public classes of the stub `__init__.pyi`: a structure or an estimator that is listed there can be saved,
loaded, checked and documented, and is listed nowhere else.
"""

from __future__ import annotations

import maxmargin


def public_class(name: str) -> type | None:
    """Return the public class of this name; None if there is none."""
    found = getattr(maxmargin, name) if name in maxmargin.__all__ else None
    return found if isinstance(found, type) else None


def public_structures() -> list[type]:
    """Return the compiled structures of the library, by name."""
    from maxmargin.core.structure import Compiled

    return _public_subclasses(Compiled)


def public_estimators() -> list[type]:
    """Return the estimators of the library, by name."""
    from maxmargin.estimators.base import MaxMarginEstimator

    return _public_subclasses(MaxMarginEstimator)


def _public_subclasses(base: type) -> list[type]:
    classes = filter(None, map(public_class, sorted(maxmargin.__all__)))
    return [found for found in classes if issubclass(found, base)]
