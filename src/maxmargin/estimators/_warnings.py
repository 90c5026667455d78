"""Warnings at the end of a fit: an argmax or the certificate is contradicted, or its gap is above `tol`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._callers import callers_level
from maxmargin.core.codes import TRUTH
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Compiled
from maxmargin.encoding.labels import Labels
from maxmargin.solvers.base import State
from maxmargin.training.cccp import InexactArgmaxWarning
from maxmargin.training.run import Run

#: Number of planes whose features are compared, and the ratio of their sizes above which scaling is advised.
MOST_PLANES, LARGE_SPREAD = 500, 1e4


def warn_of_contradiction(certificate: Any, fault: str | None) -> None:
    """Warn if an argmax is contradicted by a known output, or if the lower bound is above the objective."""
    found = [] if fault is None else [fault]
    if certificate.crossed:
        found.append(
            f"the lower bound {certificate.dual:.6g} is above the objective {certificate.primal:.6g}, which is "
            f"impossible if every argmax is exact"
        )
    if found:
        warnings.warn(
            f"{'; '.join(found)}; so the certificate is not proven: call maxmargin.check_structure on a few examples, "
            f"or set exact = False if the argmax is approximate",
            InexactArgmaxWarning,
            stacklevel=callers_level(),
        )


def warn_of_estimate(estimator: Any, problem: Problem) -> None:
    """Warn if the gap is within `tol` but not proven, unless the user declared the argmax approximate."""
    certificate = estimator.certificate_
    if estimator.stop_reason_ != "estimated" or certificate.contradicted or not problem.examples.exact:
        return
    most = f"may be up to {certificate.primal_bound:.6g}" if np.isfinite(certificate.primal_bound) else "is not known"
    found = f"the objective found is {certificate.primal:.6g}, the true one {most}"
    if problem.searches:
        own = not isinstance(estimator.structure_, Compiled)
        warnings.warn(
            f"{found}: the structure has no exact argmax for {problem.bound}, and a search may have missed outputs; "
            f"use bound='margin' with linear slack{', or add bound_argmax to the structure' if own else ''}",
            InexactArgmaxWarning,
            stacklevel=callers_level(),
        )
    else:
        warnings.warn(
            f"{found} because of rounding errors, so that tol={estimator.tol:g} is out of reach at this scale of the "
            f"features and this C; scale the features to values of about 1, or lower C",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )


def warn_of_gap(estimator: Any, run: Run, state: State, problem: Problem) -> None:
    """Warn if a fit ended above `tol`, unless the user or a callback ended it or the solver closes no gap."""
    what, remedy = _end(estimator, run, state)
    left = _left(estimator, run)
    if what and left and run.solver.certifies:
        advice = f"{remedy}, or accept it by raising tol" if remedy else "raise tol to accept it"
        spread = _feature_spread(problem)
        if spread > LARGE_SPREAD:
            advice = f"the features differ in size by a factor of {spread:.1g}, which is slow: scale them; or {advice}"
        warnings.warn(
            f"{what} {left}, above tol={estimator.tol:g}; {advice}", ConvergenceWarning, stacklevel=callers_level()
        )


def _feature_spread(problem: Problem) -> float:
    """Return the largest size of a feature divided by the smallest, in the planes of some examples."""
    ids = problem.everyone[: 2 * MOST_PLANES][problem.answers.keys[: 2 * MOST_PLANES] != TRUTH][:MOST_PLANES]
    planes = problem.examples.planes(ids, problem.answers)
    sizes = np.zeros(problem.dim)
    np.maximum.at(sizes, planes.indices, np.abs(planes.values))
    sizes = sizes[sizes > 0]
    return float(sizes.max() / sizes.min()) if len(sizes) else 1.0


def warn_of_unknown_labels(labels: Labels) -> None:
    """Warn that no label to score with is a class: the labels are probably of another kind."""
    shown = ", ".join(map(repr, labels.values[:5])) + (", …" if len(labels) > 5 else "")
    warnings.warn(
        f"none of the true labels is a class of the model, so that all predictions are wrong; the classes are {shown}",
        UserWarning,
        stacklevel=callers_level(),
    )


def _end(estimator: Any, run: Run, state: State) -> tuple[str, str]:
    """Return what ended the fit, if a warning is due, and what to do about it."""
    ends = {
        "max_iter": (f"stopped after {state.iteration} steps", "raise max_iter"),
        "max_seconds": (f"stopped after {state.seconds:.3g} seconds", "raise max_seconds"),
        "max_outer": (
            f"stopped after {run.outer_steps} outer steps",
            "raise max_outer" if hasattr(estimator, "max_outer") else "",
        ),
        "converged": (f"solver {run.solver.name!r} stopped by its own criterion", run.solver.stricter),
    }
    return ends.get(run.stop_reason, ("", ""))


def _left(estimator: Any, run: Run) -> str:
    """Return the remaining gap or decrease above `tol`."""
    if run.stop_reason == "max_outer" and estimator.tol < run.outer_decrease < np.inf:
        return f"of which the last lowered the objective by a fraction of {run.outer_decrease:.2g}"
    gap = estimator.certificate_.gap
    if np.isinf(gap):
        return "before the objective was known"
    return f"with a relative gap of {gap:.2g}" if gap > estimator.tol else ""
