"""The parameters `kernel`, `degree`, `gamma`, `coef0`, `n_components` and `kernel_method` of estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.core.problem import Problem
from maxmargin.core.structure import Compiled
from maxmargin.estimators._parameters import seed_of
from maxmargin.kernel_features.kernel import PartKernel
from maxmargin.solvers.base import State

#: Shares of the coefficients of the best weights that parts without a dual value may lose, tried in turn.
SHARES = (1.0, 0.03, 0.003)


def check_kernel(estimator: Any) -> None:
    """Raise ValueError if a parameter of the kernel is invalid, or another one has no meaning with a kernel."""
    if not hasattr(estimator, "kernel"):
        return
    kernel = _given(estimator, 0)
    kernel.check()
    if not kernel.linear:
        check_no_weights(estimator, f"kernel={kernel.kernel!r:.60}")


def check_no_weights(estimator: Any, what: str) -> None:
    """Raise ValueError if a parameter refers to single weights, which kernels do not have."""
    for name, unset in (("nonnegative", False), ("prior", None), ("warm_start", False)):
        value = getattr(estimator, name, unset)
        if value is not unset and not (name != "prior" and value is np.False_):
            raise ValueError(
                f"{name} refers to the weights of features, which a kernel replaces: {what} needs {name}={unset}, "
                f"found {value!r:.60}"
            )


def precomputed(estimator: Any) -> bool:
    """Return whether rows are kernel values with all rows of the training data."""
    kernel = getattr(estimator, "kernel", "linear")
    return isinstance(kernel, str) and kernel == "precomputed"


def part_kernel(estimator: Any) -> PartKernel | None:
    """Return the kernel on parts; None if features are used as they are."""
    if not hasattr(estimator, "kernel") or _given(estimator, 0).linear:
        return None
    return _given(estimator, 0 if estimator.n_components is None else seed_of(estimator.random_state))


def _given(estimator: Any, seed: int) -> PartKernel:
    e = estimator
    return PartKernel(e.kernel, e.degree, e.gamma, e.coef0, e.n_components, e.kernel_method, seed)


def prefer_support(structure: Compiled, problem: Problem, state: State, tol: float) -> None:
    """Replace the best weights by sums over the parts of support planes, if these are within `tol` as well.

    The best weights also contain parts of planes that were dropped on the way, so that the expansion of the model would
    be longer than necessary. They are projected onto the parts of u = Σ α a, at first alone, then also onto those whose
    coefficients are large.
    """
    if state.cut_short or problem.references is not None or problem.objective.hard:
        return
    found = state.support(problem)
    if found is None or not structure.kernel_weights(state.best_w):
        return
    u, rows = np.zeros(problem.dim), found["planes"]
    np.add.at(u, rows.indices, rows.values * np.repeat(found["alpha"], np.diff(rows.indptr)))
    for share in SHARES:
        w = state.best_w.copy()
        for (features, weights), (_, support) in zip(
            structure.kernel_weights(w), structure.kernel_weights(u), strict=True
        ):
            weights[:] = features.projected(weights, support, share)
        w = problem.objective.raised(w)
        problem.decode(w, problem.everyone)
        primal, bound = problem.primal(w)
        state.oracle_calls = problem.oracle_calls
        if primal - state.best_dual <= tol * primal and bound - state.best_dual <= tol * bound:
            state.best_w, state.best_primal, state.best_bound = w, primal, bound
            return
