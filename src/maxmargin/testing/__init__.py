"""Tests that authors of structures and estimators inherit and run; the conformance kit needs pytest."""

import sys

import lazy_loader

if sys.modules.get("pytest"):  # failures of the kit then show values, as those of test files do
    sys.modules["pytest"].register_assert_rewrite(
        *(f"{__name__}.{name}" for name in ("instance", "cases", "sums", "conformance"))
    )

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
