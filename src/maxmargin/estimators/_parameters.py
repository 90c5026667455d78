"""Checks of the parameters of estimators, before any data are read."""

from __future__ import annotations

import errno
import os
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin._checked import check_flag, finite_number, positive_number, whole_number
from maxmargin.estimators._callbacks import callback_list
from maxmargin.estimators._nonnegative import check_nonnegative
from maxmargin.io.formats.streams import check_writable
from maxmargin.solvers.registry import resolve

#: Parameters that are True or False in every estimator.
_FLAGS = ("fit_intercept", "start_end", "transition_features", "both_strands", "drop_empty", "warm_start")


def check_parameters(estimator: Any) -> None:
    """Raise ValueError for the first parameter of a fit that is invalid."""
    for name, choices in (("bound", estimator._bounds), ("slack", ("linear", "quadratic"))):
        value = getattr(estimator, name)
        if not (isinstance(value, str) and value in choices):
            raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, found {value!r}")
    positive_number(estimator.tol, "tol")
    check_nonnegative(estimator.nonnegative)
    estimator._check_prior()
    for name in _FLAGS:
        if hasattr(estimator, name):
            check_flag(getattr(estimator, name), name)
    if estimator.max_seconds is not None:
        positive_number(estimator.max_seconds, "max_seconds")
    if estimator.max_iter is not None:
        positive_number(whole_number(estimator.max_iter, "max_iter"), "max_iter")  # if a float can represent it
    resolve(estimator.solver).check_parameters()
    _check_n_jobs(estimator.n_jobs)
    _check_seed(estimator.random_state)
    if estimator.checkpoint_every != float("inf"):
        finite_number(estimator.checkpoint_every, "checkpoint_every")
    callback_list(estimator.callbacks)
    estimator._check_kernel()
    if not estimator._convex:
        _check_not_convex(estimator)
    check_trade_off(estimator)


def check_trade_off(estimator: Any) -> None:
    """Raise ValueError if C is invalid, or if the solver or the bound needs a finite C."""
    C = positive_number(estimator.C, "C")
    resolve(estimator.solver).check_trade_off(C)
    if not estimator._convex and float("inf") == C:
        raise ValueError(f"{_with_bound(estimator)} needs a finite C, found {estimator.C!r}")


def _check_not_convex(estimator: Any) -> None:
    """Raise ValueError for parameters that the concave-convex procedure does not support."""
    if estimator.slack != "linear":
        raise ValueError(f"{_with_bound(estimator)} needs slack='linear', found {estimator.slack!r}")
    if estimator.checkpoint is not None:
        raise ValueError(
            f"{_with_bound(estimator)} writes no checkpoints: they are for convex bounds; set checkpoint=None"
        )


def _with_bound(estimator: Any) -> str:
    return f"{type(estimator).__name__}(bound={estimator.bound!r})"


def seed_of(random_state: Any) -> int:
    """Return a seed for NumPy's generators from any `random_state` that scikit-learn accepts."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _check_n_jobs(n_jobs: Any) -> None:
    if n_jobs is None:
        return
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be None, -1 (all cores) or a positive number, found {n_jobs!r}")


def _check_seed(random_state: Any) -> None:
    if isinstance(random_state, int | np.integer):
        whole_number(int(random_state), "random_state", 0)
        return
    try:
        check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be a whole number ≥ 0, a numpy.random.RandomState or None, found {random_state!r}"
        ) from None


def check_files(checkpoint: Any, resume: Any = None) -> None:
    """Raise an error if a checkpoint cannot be written, or if there is none to resume from."""
    for name, path in (("checkpoint", checkpoint), ("path", resume)):
        if path is not None and not isinstance(path, str | os.PathLike):
            raise ValueError(f"{name} must be the path of a file, found {path!r}")
    if checkpoint is not None:
        check_writable(checkpoint)
    if resume is not None and not os.path.exists(resume):
        raise FileNotFoundError(errno.ENOENT, "the checkpoint to resume from does not exist", os.fspath(resume))
