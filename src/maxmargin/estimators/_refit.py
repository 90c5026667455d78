"""What an estimator has learnt: set aside while it learns anew, and brought back where that fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any


@contextmanager
def learning_anew(estimator: Any) -> Iterator[Any]:
    """The estimator without what its last fit taught it; yields a copy of what it was before.

    Nothing of an earlier fit is left beside what is learnt now, and a fit that fails leaves the estimator as it was.
    What a derived estimator learns by itself, before it calls the fit of its base, is its own and stays.
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
    """What the last fit set, beside what a derived class may have set itself."""
    return sorted(vars(estimator).get("_names_learnt", ()))


def remember(estimator: Any, names: Iterable[str]) -> None:
    """These are the names that the last fit set."""
    estimator._names_learnt = frozenset(names)


def take_over(estimator: Any, other: Any) -> None:
    """Give the estimator what another one of its kind has learnt."""
    vars(estimator).update({name: vars(other)[name] for name in _fitted(other)})


def _fitted(estimator: Any) -> set[str]:
    """Names of fitted attributes, by scikit-learn's convention."""
    parameters = estimator.get_params(deep=False)
    return {name for name in vars(estimator) if name.endswith("_") and name[0] != "_" and name not in parameters}
