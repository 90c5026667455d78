"""The structures and estimators of the library by name.

They are the public classes of the stub `__init__.pyi`: a structure or an estimator that is listed there can be saved,
loaded, checked and documented, and is listed nowhere else.
"""

from __future__ import annotations

import maxmargin

#: What to use in place of names that the library does not have.
REPLACED = maxmargin._REPLACED


def public_class(name: str) -> type | None:
    """Return the public class of this name; None if there is none."""
    kind = getattr(maxmargin, name) if name in maxmargin.__all__ else None
    return kind if isinstance(kind, type) else None


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
    return [kind for kind in classes if issubclass(kind, base)]
