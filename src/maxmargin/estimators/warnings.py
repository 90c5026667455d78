"""Warnings at the end of a fit: a contradicted argmax or certificate, a gap above `tol`, equal decisions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from maxmargin._base.errors import callers_level
from maxmargin.core.planes import TRUTH
from maxmargin.core.structure import Compiled
from maxmargin.features.rows.labels import Labels
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.training.cccp import InexactArgmaxWarning
from maxmargin.training.run import Run

#: Number of planes whose features are compared, and the ratio of their sizes above which scaling is advised.
MOST_PLANES, LARGE_SPREAD = 500, 1e4
#: Share of its proven upper bound by which an objective may be too low before a warning, for approximate argmaxes.
FAR = 2 / 3
#: Share of the objective, and of the losses of predictions, at w = 0 above which weights have learnt nothing.
LITTLE = 0.99


def warn_of_contradiction(certificate: Any, fault: str | None) -> None:
    """Warn if an argmax is contradicted by a known output, or if the lower bound is above the objective."""
    faults = [] if fault is None else [fault]
    if certificate.crossed:
        faults.append(
            f"the lower bound {certificate.dual:.6g} is above the objective {certificate.primal:.6g}, which is "
            f"impossible if every argmax is exact"
        )
    if faults:
        warnings.warn(
            f"{'; '.join(faults)}; so the certificate is not proven: correct the argmax (maxmargin.check_structure "
            f"looks for more faults on a few examples), or set exact=False if it is approximate",
            InexactArgmaxWarning,
            stacklevel=callers_level(),
        )


def warn_of_estimate(estimator: Any, problem: Problem) -> None:
    """Warn if the gap is within `tol` but not proven.

    Argmaxes that are declared approximate cause a warning only if what they prove is far from what they found.
    """
    certificate = estimator.certificate_
    if certificate.contradicted:
        return
    most = f"may be up to {certificate.primal_bound:.6g}" if np.isfinite(certificate.primal_bound) else "is not known"
    summary = f"the objective found is {certificate.primal:.6g}, the true one {most}"
    if not problem.examples.exact:
        compared = vars(estimator).get("held_out_losses_")  # by which the advice is followed already
        if FAR < certificate.unproven < np.inf and not compared:
            warnings.warn(
                f"{summary}: the argmax is approximate, and its bounds are loose; compare the score on other data with "
                f"that of simpler models, or give the argmax more time or a better bound",
                InexactArgmaxWarning,
                stacklevel=callers_level(),
            )
        return
    limit = estimator.stop_reason_ if estimator.stop_reason_ in ("max_seconds", "max_iter") else ""
    if limit and certificate.gap <= estimator.tol < certificate.proven_gap and not problem.examples.relaxed:
        summary = f"the fit was ended by {limit} with a gap within tol that is not proven: {summary}"
    elif estimator.stop_reason_ != "estimated":
        return
    if problem.searches:
        own = not isinstance(estimator.structure_, Compiled)
        warnings.warn(
            f"{summary}: the structure has no exact argmax for {problem.bound}, and a search may have missed outputs; "
            f"use bound='margin' with linear slack{', or add bound_argmax to the structure' if own else ''}",
            InexactArgmaxWarning,
            stacklevel=callers_level(),
        )
    else:
        warnings.warn(
            f"{summary} because of rounding errors, so tol={estimator.tol:g} is out of reach at this scale of the "
            f"features and this C; scale the features to values of about 1, or lower C",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )


def warn_of_gap(estimator: Any, run: Run, state: State, problem: Problem) -> None:
    """Warn if a fit ended above `tol`, unless the user or a callback ended it.

    Solvers that close no gap cause a warning only if they ended before the objective was known.
    """
    what, remedy = _end(estimator, run, state)
    left, unknown = _left(estimator, run), bool(np.isinf(estimator.certificate_.gap))
    if what and left and (run.solver.certifies or unknown):
        if unknown:
            above, advice = "", remedy or "allow more steps"
        else:
            above = f", above tol={estimator.tol:g}"
            advice = f"{remedy}, or accept it by raising tol" if remedy else "raise tol to accept it"
        spread = _feature_spread(problem)
        if spread > LARGE_SPREAD:
            advice = f"the features differ in size by a factor of {spread:.1g}, which is slow: scale them; or {advice}"
        warnings.warn(f"{what} {left}{above}; {advice}", ConvergenceWarning, stacklevel=callers_level())


def _feature_spread(problem: Problem) -> float:
    """Return the largest size of a feature divided by the smallest, in the planes of some examples.

    It is 1 for sums over outputs, which find no single output whose plane could be computed.
    """
    if problem.smooth:
        return 1.0
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
        f"none of the true labels is a class of the model, so all predictions are wrong; the classes are {shown}",
        UserWarning,
        stacklevel=callers_level(),
    )


class DegenerateWarning(UserWarning):
    """Warning that a fit has learnt nothing.

    The weights are 0, or predictions are the same for all training examples although the true outputs differ. It may be
    the proven optimum of a bound that is loose.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = mm.MulticlassSVM(C=1.0).fit(np.zeros((4, 2)), [0, 1, 0, 1])  # rows without any information
    >>> [found.category.__name__ for found in caught]
    ['DegenerateWarning']
    """


def warn_of_degenerate(estimator: Any, problem: Problem, state: State, convex: bool) -> None:
    """Warn if the weights are 0, or so small that the optimum may be 0, and predict no better than 0.

    Only such weights cost further argmaxes. Weights that equal a prior are not degenerate.
    """
    w, certificate, objective = state.best_w, estimator.certificate_, problem.objective
    near = 0.5 * float(w @ w) <= max(certificate.primal - certificate.dual, (1.0 - LITTLE) * certificate.primal)
    if (
        not near
        or certificate.gap > max(estimator.tol, 1.0 - LITTLE)
        or state.cut_short
        or problem.centre is not None
        or objective.hard
        or problem.smooth
    ):
        return
    zero, calls = objective.raised(np.zeros(problem.dim)), problem.oracle_calls
    references, problem.references = problem.references, None
    try:
        problem.decode(zero, problem.everyone)
        at_zero, budgets = problem.primal(zero)[0], objective.budgets
        learnt = at_zero <= 0.0 or certificate.primal < LITTLE * at_zero
        if w.any() and not learnt:
            before, after = (float(budgets @ problem.prediction_losses(at)) for at in (zero, w))
            learnt = after < LITTLE * before or before == 0.0
    finally:
        problem.references, problem.oracle_calls = references, calls
    if not learnt:
        size = "0" if not w.any() else f"nearly 0 (norm {np.linalg.norm(w):.2g}), and predict no better than 0"
        ways = "a loss that counts wrong parts, a prior (if the estimator has one), or a larger C"
        ways = f"bound='ramp' with start=, {ways}" if convex else f"another start=, {ways}"
        warnings.warn(
            f"nothing was learnt: the weights are {size}; the objective is {certificate.primal:.6g} there and "
            f"{at_zero:.6g} for weights of 0, and at least {certificate.dual:.6g} for any others: losses are small "
            f"compared with the margins that the bound asks for; use {ways}",
            DegenerateWarning,
            stacklevel=callers_level(),
        )


def warn_of_constant(what: str, decision: str, zero: bool, advice: str) -> None:
    """Warn that a fitted model decides the same for all training examples.

    Parameters
    ----------
    what : str
        The examples, as in "all 300 rows".
    decision : str
        The decision, as in "predicted 'no'".
    zero : bool
        Whether the weights are (almost) 0, so all scores are equal.
    advice : str
        What to do.
    """
    why = " have the same score, since the weights are 0, and" if zero else ""
    warnings.warn(f"{what}{why} are {decision}: {advice}", DegenerateWarning, stacklevel=callers_level())


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
    certificate = estimator.certificate_
    gap = certificate.relaxed_gap if certificate.relaxation is not None and certificate.dual == 0 else certificate.gap
    if np.isinf(gap):
        return "before the objective was known"
    return f"with a relative gap of {gap:.2g}" if gap > estimator.tol else ""
