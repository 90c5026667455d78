"""Certificates: what a solver proves about the weights it returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite

#: Relative excess of a lower bound over the objective that rounding can cause.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal objective: ``dual ≤ optimum ≤ primal``.

    Attributes
    ----------
    primal : float
        Objective value of the best weights found. If `exact` is false, it is computed from the best outputs that the
        argmax found, and only `primal_bound` is proven.
    dual : float
        Best proven lower bound on the optimum.
    oracle_calls : int
        Number of loss-augmented argmaxes so far.
    seconds : float
        Wall-clock time so far, without the time for compiling functions.
    exact : bool, default=True
        Whether every argmax used for `primal` was exact; then the gap is proven. A fit reports False if the lower
        bound is above the objective, or an argmax is beaten (see `contradicted`), even if the structure declares its
        argmaxes exact.
    primal_bound : float, default=inf
        Proven upper bound on the objective at the best weights, rounding errors of scores included; infinite if there
        is none.
    outer_steps : int, default=0
        Number of outer steps, for bounds that are not convex (ramp, latent variables). All other attributes are then
        about the convex problem of the last outer step. The result is a point where outer steps end, not necessarily
        the optimum.
    outer_decrease : float, default=nan
        Relative decrease of the non-convex objective in the last outer step.
    beaten : bool, default=False
        Whether a known output was better than the result of an argmax when a few examples were asked again after the
        fit (user-defined structures).
    relaxation : float or None, default=None
        Proven lower bound on the optimum of the relaxation that was minimised instead of the objective, by a min-max
        program or on relaxed answers (`Graph`).
        The optimum of a relaxation is an upper bound on that of the objective. None if the objective itself was
        minimised.
    assumed : bool, default=False
        Whether objective and lower bound hold only if argmaxes that are the user's code return what they should. No
        call of such code can prove that: only for structures with few outputs that `enumerate` lists, all of them
        are compared after a fit.
    start : str, default=""
        The weights that the fit started with, if they were not the solver's own: the name of a start, ``"weights"``,
        the class of an estimator, or ``"last fit"``. Of several starts, the one with the best objective.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.chains()
    >>> certificate = mm.SequenceTagger(tol=0.01).fit(X, Y).certificate_
    >>> certificate.dual <= certificate.primal <= certificate.primal_bound
    True
    >>> certificate.gap <= 0.01, certificate.exact
    (True, True)
    """

    primal: float
    dual: float
    oracle_calls: int
    seconds: float
    exact: bool = True
    primal_bound: float = float("inf")
    outer_steps: int = 0
    outer_decrease: float = float("nan")
    beaten: bool = False
    relaxation: float | None = None
    start: str = ""
    assumed: bool = False

    def about_objective(self, primal: float, primal_bound: float) -> Certificate:
        """Return the certificate of the objective after a fit whose planes are those of a relaxation.

        The upper bound on the relaxation is one on the objective; its lower bound is not, and becomes `relaxation`.

        Parameters
        ----------
        primal, primal_bound : float
            The objective of the weights by outputs, and a proven upper bound on it.
        """
        bound = min(self.primal_bound, primal_bound)
        exact = isfinite(bound) and bound <= primal * (1.0 + ROUNDING)
        return replace(
            self, primal=primal, dual=0.0, exact=exact, primal_bound=max(bound, primal), relaxation=self.dual
        )

    @property
    def relaxed_gap(self) -> float:
        """Relative gap between `primal_bound` and the lower bound on the relaxation; infinite if there is none."""
        if self.relaxation is None or not isfinite(self.primal_bound) or self.primal_bound <= 0.0:
            return float("inf")
        return max(self.primal_bound - self.relaxation, 0.0) / self.primal_bound

    @property
    def crossed(self) -> bool:
        """Whether the lower bound is above the objective, which is impossible if argmaxes are exact."""
        return self.dual > self.primal * (1.0 + ROUNDING)

    @property
    def contradicted(self) -> bool:
        """Whether an argmax cannot be exact: `crossed` or `beaten`."""
        return self.beaten or self.crossed

    def reconsidered(self) -> Certificate:
        """Return the certificate, with `exact` set to False if the certificate is contradicted."""
        return replace(self, exact=False, primal_bound=float("inf")) if self.contradicted else self

    @property
    def gap(self) -> float:
        """Relative gap (primal − dual) / primal, which is compared with ``tol``."""
        if self.primal == float("inf"):
            return float("inf")
        return max(self.primal - self.dual, 0.0) / self.primal if self.primal > 0 else 0.0

    @property
    def unproven(self) -> float:
        """Relative difference between `primal_bound` and `primal`: how much larger the objective may be."""
        if not isfinite(self.primal_bound):
            return float("inf")
        return max(self.primal_bound - self.primal, 0.0) / self.primal_bound if self.primal_bound > 0 else 0.0

    @property
    def proven_gap(self) -> float:
        """Relative gap (primal_bound − dual) / primal_bound, which must be at most ``tol`` for a fit to end by it."""
        if not isfinite(self.primal_bound):
            return float("inf")
        return max(self.primal_bound - self.dual, 0.0) / self.primal_bound if self.primal_bound > 0 else 0.0

    @property
    def proven(self) -> bool:
        """Whether objective and lower bound are proven; all messages say so if and only if this is True.

        It is False for user-defined structures and optimisers whose argmaxes could not be compared with all outputs
        (`assumed`).
        """
        return self.standing == "proven"

    @property
    def standing(self) -> str:
        """Short description of how reliable the gap is."""
        if self.primal == float("inf"):
            return "not known yet"
        if self.crossed:
            return "contradicted: the lower bound is above the objective"
        if self.beaten:
            return "contradicted: an argmax returned a wrong output"
        if not self.exact:
            return "estimated: the argmax is not exact"
        if self.unproven > ROUNDING:
            return "estimated: the scores have rounding errors"
        return "holds if the argmax is correct" if self.assumed else "proven"

    def __str__(self) -> str:
        if self.primal == float("inf"):
            state = f"the objective is not known yet, lower bound {self.dual:.6g}"
        elif self.relaxation is not None and self.dual == 0.0:
            about = "estimated" if not self.exact else "holds if the argmax is correct" if self.assumed else "proven"
            state = f"objective {self.primal:.6g} ({about}), no lower bound"
            if not self.exact and isfinite(self.primal_bound):
                state += f", the objective is proven to be at most {self.primal_bound:.6g}"
        else:
            gap = f"relative gap {self.gap:.2g} ({self.standing})"
            state = f"objective {self.primal:.6g}, lower bound {self.dual:.6g}, {gap}"
        if isfinite(self.primal_bound) and self.standing.startswith("estimated") and "no lower" not in state:
            state += f", the objective is proven to be at most {self.primal_bound:.6g}"
        if self.relaxation is not None:
            state += f"; a relaxation was minimised, an upper bound on the objective (at least {self.relaxation:.6g})"
        work = f"{self.oracle_calls} argmaxes in {self.seconds:.3g} s"
        return f"last convex problem: {state}; {self.end}; {work}" if self.outer_steps else f"{state}; {work}"

    @property
    def end(self) -> str:
        """Description of where the outer steps ended; empty if there were none."""
        if not self.outer_steps:
            return ""
        steps = "1 outer step" if self.outer_steps == 1 else f"{self.outer_steps} outer steps"
        fell = (
            f" (the last lowered the objective by {self.outer_decrease:.2g})" if isfinite(self.outer_decrease) else ""
        )
        begun = f" from the start {self.start!r}" if self.start else ""
        return f"after {steps}{begun}{fell}, a local solution at best"
