"""maxmargin learns the objective of any argmax: max-margin structured prediction with a certificate.

Public names are listed once, in the stub next to this file, and imported when they are first used so that
``import maxmargin`` takes almost no time.
"""

from typing import Any

import lazy_loader

__version__ = "0.1.0"

#: What to use in place of names that older programs and model files have.
_REPLACED = {
    "LatentStructuralSVM": "StructuralSVM",
    "PrecisionAtK": 'StructuredRanker(measure="precision@k")',
    "structured_estimator_checks": "testing.structured_estimator_checks",
    "TopK": 'Ranking(measure="precision@k")',
}

#: Public modules whose names older programs have at the top level.
_MODULES = ("exceptions", "outputs", "plots", "solvers")

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name; raise AttributeError, with the name to use in its place if there is one."""
    try:
        return _public(name)
    except AttributeError as error:
        other = _REPLACED.get(name) or _with_module(name)
        if other is None:
            raise
        raise AttributeError(f"maxmargin has no {name}: use {other}") from error


def _with_module(name: str) -> str | None:
    """Return the name of a class with the public module that has it."""
    modules = _MODULES if name[:1].isupper() else ()
    return next((f"maxmargin.{module}.{name}" for module in modules if name in _public(module).__all__), None)
