"""The parameters of every fit with their constraints, and what `nonnegative` means for single weights."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from maxmargin._base.checks import (
    check_flag,
    choice,
    declared,
    is_list,
    optional,
    parameter,
    positive_number,
    whole_number,
)
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.bounds import BOUNDS
from maxmargin.engines.engine import check_engine
from maxmargin.estimators.starts import AUTO, check_start
from maxmargin.formats.streams import check_writable
from maxmargin.solvers.registry import resolve
from maxmargin.training.run import Checkpoint, callback_list


def check_together(estimator: Any) -> None:
    """Raise ValueError for parameters of a fit that are valid one by one but not together."""
    if not estimator._convex:
        check_not_convex(estimator, _with_bound(estimator))
    if _smooth(estimator) and estimator.slack != "linear":
        raise ValueError(f"{_with_bound(estimator)} needs slack='linear', found {estimator.slack!r}")
    check_trade_off(estimator)


def check_trade_off(estimator: Any) -> None:
    """Raise ValueError if the solver or the bound needs a finite C."""
    if not is_auto(estimator.C):
        resolve(estimator.solver).check_trade_off(positive_number(estimator.C, "C"))
    if not estimator._convex or _smooth(estimator):
        _check_finite(estimator, _with_bound(estimator))


def is_auto(value: Any) -> bool:
    """Return whether the value of a parameter is chosen from the training data."""
    return isinstance(value, str) and value == "auto"


def positive_or_auto(value: Any, name: str) -> None:
    """Raise ValueError unless a value is a number > 0 or ``"auto"``."""
    if isinstance(value, str) and not is_auto(value):
        raise ValueError(f'{name} must be a number > 0 or "auto", found {value!r:.60}')
    if not is_auto(value):
        positive_number(value, name)


def check_not_convex(estimator: Any, what: str) -> None:
    """Raise ValueError for parameters that the concave-convex procedure does not support."""
    if estimator.slack != "linear":
        raise ValueError(f"{what} needs slack='linear', found {estimator.slack!r}")
    if estimator.checkpoint is not None:
        raise ValueError(f"{what} writes no checkpoints: they are for convex bounds; set checkpoint=None")


def check_latent(estimator: Any, structure: Any) -> None:
    """Raise ValueError for parameters of a fit that estimates latent variables, which other structures support."""
    what = f"{type(estimator).__name__} of {type(structure).__name__}, which has latent variables,"
    bound = BOUNDS.get(estimator.bound)
    if bound is not None and (bound.smooth or bound.rescaling != "margin"):
        raise ValueError(f"{what} needs bound='margin' or bound='ramp', found {estimator.bound!r}")
    check_not_convex(estimator, what)
    _check_finite(estimator, what)


def _check_finite(estimator: Any, what: str) -> None:
    if float("inf") == estimator.C:
        raise ValueError(f"{what} needs a finite C, found {estimator.C!r}")


def _smooth(estimator: Any) -> bool:
    """Return whether the bound is a sum over outputs; an unknown name is reported elsewhere."""
    return estimator.bound in BOUNDS and BOUNDS[estimator.bound].smooth


def _with_bound(estimator: Any) -> str:
    return f"{type(estimator).__name__}(bound={estimator.bound!r})"


def check_solver(solver: Any, name: str) -> None:
    """Raise ValueError unless a solver is known and its parameters are valid."""
    resolve(solver).check_parameters()


def check_max_iter(max_iter: Any, name: str) -> None:
    """Raise ValueError unless it is None, or an integer ≥ 1 that a float can represent."""
    if max_iter is not None:
        positive_number(whole_number(max_iter, name), name)


def check_checkpoint(checkpoint: Any, name: str) -> None:
    """Raise ValueError unless it is None, a path or a valid `Checkpoint`."""
    file = Checkpoint.of(checkpoint)
    if file is not None:
        file.check()


def check_callbacks(callbacks: Any, name: str) -> None:
    """Raise ValueError unless it is None, a function or several of them."""
    callback_list(callbacks)


def check_n_jobs(n_jobs: Any, name: str) -> None:
    """Raise ValueError unless it is None, −1 or an integer ≥ 1."""
    if n_jobs is None:
        return
    whole = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not whole or n_jobs == 0 or n_jobs < -1:
        raise ValueError(f"n_jobs must be None, -1 (all cores) or a positive number, found {n_jobs!r}")


def check_seed(random_state: Any, name: str) -> None:
    """Raise ValueError unless it is a seed, a generator of random numbers or None."""
    if isinstance(random_state, int | np.integer):
        whole_number(int(random_state), "random_state", 0)
        return
    try:
        check_random_state(random_state)
    except ValueError:
        raise ValueError(
            f"random_state must be an integer ≥ 0, a numpy.random.RandomState or None, found {random_state!r}"
        ) from None


def check_files(checkpoint: Any, resume: Any = None) -> None:
    """Raise an error if a checkpoint cannot be written, or if there is none to resume from."""
    if resume is not None and not isinstance(resume, str | os.PathLike):
        raise ValueError(f"resume must be the path of a file, found {resume!r}")
    file = Checkpoint.of(checkpoint)
    if file is not None:
        check_writable(file.path)
    if resume is not None and not os.path.exists(resume):
        raise FileNotFoundError(errno.ENOENT, "the checkpoint to resume from does not exist", os.fspath(resume))


#: Separator of feature and output in the names of weights.
_ARROW = " → "


def check_nonnegative(nonnegative: Any, name: str) -> None:
    """Raise ValueError unless it is True, False, or a list of indices or names of weights."""
    if isinstance(nonnegative, bool | np.bool_):
        return
    fine = is_list(nonnegative) and all(_is_index(member) or isinstance(member, str) for member in nonnegative)
    if not fine:
        raise ValueError(
            f"{name} must be True, False, or a list of indices or feature names, found {nonnegative!r:.60}"
        )


def lower_bounds(nonnegative: Any, size: int, names: Callable[[], AnyArray]) -> FloatArray | None:
    """Return 0 for the weights that must not be negative and −∞ for the others; None if there are none."""
    if isinstance(nonnegative, bool | np.bool_):
        return np.zeros(size) if nonnegative else None
    lower = np.full(size, -np.inf)
    lower[_indices([m for m in nonnegative if _is_index(m)], size)] = 0.0
    wanted = [member for member in nonnegative if isinstance(member, str)]
    if wanted:
        lower[_named(wanted, names())] = 0.0
    return lower if np.isfinite(lower).any() else None


def joined(lower: FloatArray | None, other: FloatArray | None) -> FloatArray | None:
    """Return the greater of two lower bounds on each weight."""
    if lower is None or other is None:
        return other if lower is None else lower
    return np.maximum(lower, other)


def _is_index(member: Any) -> bool:
    return isinstance(member, Integral) and not isinstance(member, bool | np.bool_)


def _indices(members: Iterable[Any], size: int) -> IntArray:
    indices = np.array([int(member) for member in members], np.int64)
    outside = indices[(indices < -size) | (indices >= size)]
    if len(outside):
        raise ValueError(f"nonnegative: there are {size} weights, found index {outside[0]}")
    return indices


def _named(wanted: list[str], names: AnyArray) -> IntArray:
    """Return the weights of these names: one weight, or all weights of a feature."""
    indices: list[int] = []
    listed = [str(name) for name in names]
    for name in wanted:
        matches = [j for j, other in enumerate(listed) if other == name]
        matches = matches or [j for j, other in enumerate(listed) if other.startswith(name + _ARROW)]
        if not matches:
            raise ValueError(f"nonnegative: unknown weight or feature {name!r}; names are like {', '.join(listed[:3])}")
        indices += matches
    return np.array(indices, np.int64)


@declared
class FitParameters:
    """The parameters of every fit."""

    C: float = parameter(
        "Trade-off between margin and losses; ``inf`` allows no losses at all (hard margin).",
        positive_number,
        default=1.0,
    )
    bound: str = parameter(
        "Margin or slack re-scaling (Tsochantaridis et al. 2004), or the ramp of either (Do et al. 2008): tighter if "
        "labels are wrong, but not convex, so a local optimum is found. Or sums over all outputs in place of the "
        "maximum, for probabilities: the likelihood (a conditional random field), or the softmax-margin, which adds "
        "the loss (Gimpel and Smith 2010).",
        choice(*BOUNDS),
        default="margin",
        kind='{"margin", "slack", "ramp", "ramp-slack", "likelihood", "softmax-margin"}',
    )
    slack: str = parameter(
        "Penalty of slacks: C Σ c_i ξ_i, or ½ C Σ c_i ξ_i².",
        choice("linear", "quadratic"),
        default="linear",
        kind='{"linear", "quadratic"}',
    )
    nonnegative: Any = parameter(
        "Weights that must not be negative: all (True), or those with these indices or names. The name of a feature "
        "means all its weights.",
        check_nonnegative,
        default=False,
        kind="bool or list of int or str",
    )
    solver: Any = parameter(
        '``"auto"`` (``"proximal"``, or ``"bundle"`` for up to 4 examples), '
        '``"proximal"`` (proximal working sets), ``"nslack"``, ``"sharded"``, ``"oneslack"``, ``"bundle"``, '
        '``"subgradient"``, ``"perceptron"``, ``"minmax"``, ``"certificate"`` (one min-max program, for some '
        "structures), or a solver object.",
        check_solver,
        default="auto",
        kind="str or Solver",
    )
    tol: float = parameter(
        "Relative gap between the objective and its proven lower bound at which training stops.",
        positive_number,
        default=1e-3,
    )
    max_iter: int | None = parameter(
        "Maximum number of steps of the solver; None for the solver's default.", check_max_iter, default=None
    )
    max_seconds: float | None = parameter(
        "Time limit of the fit; None for no limit.", optional(positive_number), default=None
    )
    n_jobs: int | None = parameter(
        "Threads for the argmaxes. None means all cores for compiled structures and one for user-defined structures, "
        "whose methods should release the interpreter lock if `n_jobs` is set; -1 means all cores. Results do not "
        "depend on `n_jobs`.",
        check_n_jobs,
        default=None,
    )
    engine: Any = parameter(
        'Where the argmaxes run: ``"threads"`` (None is the same); ``"processes"``, for argmaxes in Python, which '
        'threads cannot run side by side, in `n_jobs` processes; ``"dask"`` or ``"ray"``, the current client or '
        "session; or an engine of `maxmargin.engines`, whose workers serve several fits. Results do not depend on it.",
        check_engine,
        default=None,
        kind='{"threads", "processes", "dask", "ray"}, engine or None',
    )
    random_state: Any = parameter(
        "Seed of everything random.", check_seed, default=0, kind="int, RandomState instance or None"
    )
    start: Any = parameter(
        "The first weights: those with which a ramp or latent variables begin, which decide what local optimum is "
        'found; for convex bounds only the first point. ``"convex"`` is the optimum of the convex form of the bound, '
        '``"perceptron"`` a few epochs of the averaged perceptron (Collins 2002); some structures have more names. Or '
        "weights, in the order of `feature_names_out`, or a fitted estimator; or a list of several of these, of which "
        'the one with the best objective is kept (`Certificate.start`). ``"auto"`` is what is best for the estimator.',
        check_start,
        default=AUTO,
        kind="str, array-like of shape (n_weights,), estimator or list of these",
    )
    warm_start: bool = parameter(
        "Whether to start from the weights of the last fit; `start` is then for the first fit.",
        check_flag,
        default=False,
    )
    verbose: int = parameter(
        "1 shows progress on standard error: a line on a terminal, plain lines at growing intervals elsewhere.",
        default=0,
    )
    callbacks: Sequence[Any] | None = parameter(
        "Functions called with a `Step` after every step; a true return value stops the fit.",
        check_callbacks,
        default=None,
        kind="callable, list of callables or None",
    )
    checkpoint: Any = parameter(
        "File to which the state is written every minute while the fit runs, or a `Checkpoint` with another interval; "
        "``fit(X, y, resume=path)`` continues from it.",
        check_checkpoint,
        default=None,
        kind="str, path-like, Checkpoint or None",
    )
