"""Base classes of estimators with latent variables: parts of outputs that are not observed (Yu and Joachims 2009)."""

from __future__ import annotations

import numpy as np

from maxmargin._base.checks import changed, choice, declared, parameter, whole_number
from maxmargin._base.types import FloatArray
from maxmargin.bounds import BOUNDS
from maxmargin.engines.engine import Engine
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.parameters import check_latent
from maxmargin.estimators.training_data import TrainingData
from maxmargin.problem import Problem, References


@declared
class LatentEstimator(MaxMarginEstimator):
    """Base class of estimators with latent variables: completions of the truth, outer steps, restarts.

    A subclass defines `_make_structure`.
    """

    bound: str = changed(
        '``"ramp"`` compares with the best output of all instead of the best completion.',
        choice("margin", "ramp"),
        default="margin",
        kind='{"margin", "ramp"}',
    )
    max_outer: int = parameter("Maximum number of outer steps.", whole_number, default=100)

    @property
    def _convex(self) -> bool:
        return False

    @property
    def _max_outer(self) -> int:
        return self.max_outer

    @property
    def _completes(self) -> bool:
        return BOUNDS[self.bound].convex

    def _problem(self, data: TrainingData, engine: Engine) -> Problem:
        if data.examples.latent:
            check_latent(self, data.structure)
        return super()._problem(data, engine)

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        """Return the first completions, also of a ramp: they are consistent with the observed part of the truth."""
        if not problem.examples.latent:
            return super()._references(problem, rng, start)
        return problem.first_references(rng) if start is None else problem.references_at(start, latent=True)


@declared
class Restarted(LatentEstimator):
    """Base class of estimators with latent variables whose first completions differ between runs."""

    n_restarts: int = parameter(
        "Number of runs, of which the one with the best objective is kept. They differ if the first "
        "completions of the structure are random.",
        whole_number,
        default=1,
    )

    @property
    def _n_runs(self) -> int:
        return self.n_restarts
