"""What an estimator has learnt: set aside while it learns anew, and brought back where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any


@contextmanager
def learning_anew(estimator: Any) -> Iterator[Any]:
    """The estimator as if it had never been fitted; yields a copy of what it was before.

    Nothing of an earlier fit is left beside what is learnt now, and a fit that fails leaves the estimator as it was.
    """
    before = copy(estimator)
    _forget(estimator)
    try:
        yield before
    except BaseException:
        _forget(estimator)
        take_over(estimator, before)
        raise


def take_over(estimator: Any, other: Any) -> None:
    """Give the estimator what another one of its kind has learnt."""
    vars(estimator).update({name: vars(other)[name] for name in _learnt(other)})


def _forget(estimator: Any) -> None:
    for name in _learnt(estimator):
        delattr(estimator, name)


def _learnt(estimator: Any) -> list[str]:
    """Names of fitted attributes, by scikit-learn's convention."""
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]
