"""Tests of one instance that run on many, and what structures must refuse if they do not declare it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin._base.extras import missing_package
from maxmargin.core.examples import CAPABILITIES
from maxmargin.testing.instance import Instance

try:
    import pytest as pytest
except ImportError as error:
    raise missing_package("the conformance kit needs", "pytest", "testing") from error

#: How each capability is used: what a structure that does not declare it must refuse.
USES: dict[str, Callable[[Any], Any]] = {
    "topk": lambda case: case.structure.topk(case.w, next(iter(case.inputs())), 1),
    "max_marginals": lambda case: case.structure.encode(case.unlabelled()).max_marginals(case.w, np.arange(case.n)),
    "latent": lambda case: case.structure.complete(case.w, next(iter(case.inputs())), case.Y[0]),
    "polytope": lambda case: case.examples.polytope(0),
    "sums": lambda case: case.examples.sums(case.examples.scores(case.w, np.arange(case.n)), np.arange(case.n)),
}


#: Joint features of the instances of the class that is tested, by seed.
_psis: dict[type, dict[int, Any]] = {}


def _psis_by_seed(kind: type) -> dict[int, Any]:
    """Return the joint features of the instances of a test class, kept until another class is tested.

    Every test makes its own instances, and enumerates the same outputs; that takes longer than most tests.
    """
    if kind not in _psis:
        _psis.clear()
    return _psis.setdefault(kind, {})


#: What a test returns if it cannot check an instance, because it is too large or its loss is not one for the test.
NOT_CHECKED = object()


def every_case(test: Any = None, *, needs: str | None = None) -> Any:
    """Make a test of one instance a test of many, whose failure names the seed.

    Parameters
    ----------
    test : callable
        A method of a subclass of `StructureConformance`, with an `Instance` as its argument.
    needs : str, default=None
        The capability that is tested. A structure that does not declare it must refuse it instead.

    Examples
    --------
    >>> import maxmargin as mm
    >>> class Numbers:
    ...     n_cases = 3
    ...     def instance(self, seed):
    ...         return mm.testing.Instance(seed)
    ...     @mm.testing.every_case
    ...     def test_draws(self, case):
    ...         assert case.draw(2).shape == (2,)
    >>> Numbers().test_draws()  # three instances
    """
    if test is None:
        return functools.partial(every_case, needs=needs)

    @functools.wraps(test)
    def run(self: Any) -> None:
        n_checked = 0
        for seed in range(self.n_cases):
            case, known = self.instance(seed), _psis_by_seed(type(self))
            if seed in known:
                vars(case)["psis"] = known[seed]
            try:
                if needs is None or _can(case, needs):
                    n_checked += test(self, case) is not NOT_CHECKED
                else:
                    check_refused(case, needs)
                    n_checked += 1
            except BaseException as error:
                error.add_note(f"instance {seed} of {type(self).__name__}")
                raise
            if "psis" in vars(case):
                known[seed] = case.psis
        assert n_checked, "no instance could be checked: make smaller ones"

    del run.__wrapped__  # or pytest would ask for a fixture named case
    return run


def _can(case: Instance, capability: str) -> bool:
    """Return whether a structure declares a capability; sums may depend on the data besides."""
    declared = capability in case.structure.capabilities
    return declared and (capability != "sums" or case.examples.summable)


def check_refused(case: Instance, capability: str) -> None:
    """Check that a structure has an error for a capability that it does not declare."""
    try:
        USES[capability](case)
    except (TypeError, ValueError) as error:
        assert f"no {CAPABILITIES[capability]}" in str(error)
    else:
        raise AssertionError(f"{type(case.structure).__name__} can do {capability!r}: declare it in capabilities")
