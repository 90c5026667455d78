"""The parameter `kernel` of estimators."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Self

import numpy as np

from maxmargin._base.checks import declared, parameter
from maxmargin.core.structure import Compiled
from maxmargin.estimators.starts import AUTO, refers_to_weights
from maxmargin.features.mercer.kernel import Kernel, PartKernel
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.training.run import seed_of


@declared
class Kernelised:
    """Mixin of estimators whose features of parts may be those of a kernel."""

    kernel: Any = parameter(
        "Kernel on the features of parts (tokens, arcs, edges, rows …): a `Kernel`, or its name or function if its "
        'parameters have their defaults. ``"rbf"`` is exp(−gamma ‖a − b‖²), ``"poly"`` is (gamma a·b + coef0)^degree. '
        "Weights that do not belong to features of parts (transitions, constants) stay as they are. A user-defined "
        "structure has `joint_kernel` instead.",
        default="linear",
        kind='Kernel, {"linear", "poly", "rbf", "precomputed"} or callable',
    )

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name; ``kernel__gamma`` is `gamma` of the kernel, which may be given by its name.

        Parameters
        ----------
        **parameters : object
            Values by name.

        Returns
        -------
        self
            The estimator.
        """
        own = {name: value for name, value in parameters.items() if not name.startswith(_OF_KERNEL)}
        inner = {name.removeprefix(_OF_KERNEL): parameters[name] for name in parameters if name not in own}
        super().set_params(**own)  # type: ignore[misc]
        if inner:
            known = {one.name for one in fields(Kernel)}
            unknown = sorted(set(inner) - known)
            if unknown:
                raise ValueError(f"Kernel has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
            self.kernel = replace(Kernel.of(self.kernel), **inner)
        return self


#: Prefix of the parameters of the kernel in `set_params`.
_OF_KERNEL = "kernel__"
#: Shares of the coefficients of the best weights that parts without a dual value may lose, tried in turn.
SHARES = (1.0, 0.03, 0.003)


def check_kernel(estimator: Any) -> None:
    """Raise ValueError if a parameter of the kernel is invalid, or another one has no meaning with a kernel."""
    if not isinstance(estimator, Kernelised):
        return
    kernel = Kernel.of(estimator.kernel)
    kernel.check()
    if not kernel.linear:
        check_no_weights(estimator, f"kernel={estimator.kernel!r:.60}")


def check_no_weights(estimator: Any, what: str) -> None:
    """Raise ValueError if a parameter refers to single weights, which kernels do not have."""
    start = estimator.start if refers_to_weights(estimator.start) else AUTO
    for name, unset in (("nonnegative", False), ("prior", None), ("warm_start", False), ("start", AUTO)):
        value = start if name == "start" else getattr(estimator, name, unset)
        if value is not unset and not (name != "prior" and value is np.False_):
            raise ValueError(
                f"{name} refers to the weights of features, which a kernel replaces: {what} needs {name}={unset!r}, "
                f"found {value!r:.60}"
            )


def precomputed(estimator: Any) -> bool:
    """Return whether rows are kernel values with all rows of the training data."""
    return not estimator._plain_features and Kernel.of(estimator.kernel).precomputed


def part_kernel(estimator: Any) -> PartKernel | None:
    """Return the kernel on parts; None if features are used as they are."""
    kernel = Kernel.of(getattr(estimator, "kernel", "linear"))
    if kernel.linear:
        return None
    return PartKernel.seeded(kernel, 0 if kernel.n_components is None else seed_of(estimator.random_state))


def prefer_support(structure: Compiled, problem: Problem, state: State, tol: float) -> None:
    """Replace the best weights by sums over the parts of support planes, if these are within `tol` as well.

    The best weights also contain parts of planes that were dropped on the way, so the expansion of the model would
    be longer than necessary. They are projected onto the parts of u = Σ α a, at first alone, then also onto those whose
    coefficients are large.
    """
    if state.cut_short or problem.references is not None or problem.objective.hard:
        return
    held = state.support(problem)
    if held is None or not structure.kernel_weights(state.best_w):
        return
    u, rows = np.zeros(problem.dim), held["planes"]
    np.add.at(u, rows.indices, rows.values * np.repeat(held["alpha"], np.diff(rows.indptr)))
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
