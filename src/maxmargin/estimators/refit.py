"""Fitted attributes of an estimator: removed before a new fit, and restored if the fit fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any


@contextmanager
def refitting(estimator: Any) -> Iterator[Any]:
    """Remove the attributes that the last fit set, and yield a copy of the estimator with them.

    No attribute of an earlier fit remains next to new ones, and a fit that fails leaves the estimator unchanged.
    Attributes that a derived estimator sets before it calls the fit of its base class are kept.
    """
    before = copy(estimator)
    for name in names_learnt(estimator):
        vars(estimator).pop(name, None)
    own = _fitted(estimator)
    try:
        yield before
    except BaseException:
        for name in _fitted(estimator) - own:
            delattr(estimator, name)
        take_over(estimator, before)
        raise
    remember(estimator, _fitted(estimator) - own)


def names_learnt(estimator: Any) -> list[str]:
    """Return the names of the attributes that the last fit set, without those of a derived class."""
    return sorted(vars(estimator).get("_names_learnt", ()))


def remember(estimator: Any, names: Iterable[str]) -> None:
    """Store the names of the attributes that the last fit set."""
    estimator._names_learnt = frozenset(names)


def take_over(estimator: Any, other: Any) -> None:
    """Copy the fitted attributes of another estimator."""
    vars(estimator).update({name: vars(other)[name] for name in _fitted(other)})


def _fitted(estimator: Any) -> set[str]:
    """Return the names of fitted attributes, by scikit-learn's convention."""
    parameters = estimator.get_params(deep=False)
    return {name for name in vars(estimator) if name.endswith("_") and name[0] != "_" and name not in parameters}
