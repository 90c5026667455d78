"""Methods of one input that are given a list of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maxmargin._checked import is_list
from maxmargin.core.structure import Compiled


@contextmanager
def one_input(estimator: Any, x: Any, method: str) -> Iterator[None]:
    """A sentence of its own where a method fails because x is a list of inputs."""
    try:
        yield
    except ValueError:
        n = _n_inputs(estimator, x)
        if n:
            raise ValueError(f"{method} takes one input x, found a list of {n} of them") from None
        raise


def _n_inputs(estimator: Any, x: Any) -> int:
    """How many inputs x is a list of; 0 where it is none, or where that cannot be told."""
    if not isinstance(estimator.structure_, Compiled) or not is_list(x):
        return 0
    try:
        return estimator.structure_.encode(estimator._features(x)).n_examples
    except (TypeError, ValueError):
        return 0
