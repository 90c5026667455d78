"""`StructuralSVM`: an estimator of any structure."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from maxmargin._base.checks import changed, choice, declared, parameter
from maxmargin.bounds import BOUNDS
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Compiled, Structure
from maxmargin.custom.examples import CustomExamples
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.latent import Restarted
from maxmargin.estimators.probabilities import ProbabilisticSets
from maxmargin.estimators.starts import check_prior


@declared
class StructuralSVM(Kernelised, ProbabilisticSets, Restarted):
    """Max-margin estimator for any structure, user-defined or built in.

        ½‖w‖² + C Σ c_i ξ_i,    ξ_i ≥ Δ(y_i, ŷ) + w·Ψ(x_i, ŷ) − w·Ψ(x_i, y_i) for all ŷ (`bound="margin"`)

    If the structure has latent variables h, parts of outputs that are not observed, they are estimated as well:

        ½‖w‖² + C Σ c_i (max_{ŷ,ĥ} [w·Ψ(x_i, ŷ, ĥ) + Δ(y_i, ŷ, ĥ)] − max_h w·Ψ(x_i, y_i, h))

    It is minimised by the concave-convex procedure (Yu and Joachims 2009): complete every y_i with its best h, solve
    the convex problem, repeat. The objective decreases in every step; the local optimum depends on the first
    completions, so `n_restarts` may help.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights; with a kernel, the coefficients β of scores Σ_p β_p k(p, ·), with points p as named by
        `feature_names_out`.
    structure_ : Structure
        The structure, with the sizes that it learnt.
    certificate_ : Certificate
        What is proven about the weights.
    history_ : list of dict
        A row per step: iteration, round (of the solver), oracle_calls, seconds, primal, dual, gap; of a resumed fit
        only new steps. Primal value and gap are NaN before the first certificate. For ramps and latent variables, a row
        per outer step: step, objective, convex, bound, loss, inner_gap, changes (of references or completions),
        oracle_calls, seconds.
    n_iter_ : int
        Number of steps of the solver.
    stop_reason_ : str
        ``"tol"``, ``"converged"``, ``"max_iter"``, ``"max_seconds"``, ``"callback"``, ``"interrupted"``, and for ramps
        and latent variables ``"max_outer"``.
    support_ : Support or None
        The planes with dual values, examples and outputs; None for solvers that keep only sums of planes.

    Examples
    --------
    A built-in structure:

    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.assignments()
    >>> model = mm.StructuralSVM(mm.BipartiteMatching(), C=1.0).fit(X, Y)
    >>> model.predict(X[:1])
    [[1, 0, 2]]
    >>> model.certificate_.gap <= model.tol
    True

    A user-defined structure has four methods; `toy.Sign` is the smallest:

    >>> X, y = mm.datasets.toy.signs()
    >>> model = mm.StructuralSVM(mm.datasets.toy.Sign(), C=1.0).fit(X[:40], y[:40])
    >>> model.predict(X[40:46]), y[40:46]
    ([1, -1, -1, -1, -1, 1], [-1, -1, -1, -1, -1, 1])

    Read on: "Your own structure" in the documentation.
    """

    structure: Structure = parameter(
        "A user-defined structure with four methods, or a built-in one such as `Chain` or `Multiclass`. Structures "
        "with latent variables are `Motif`, `Forest`, `LatentGraph`, `Decoys` without alignments, `Ranking` of NDCG "
        "and precision@k, and user-defined structures whose outputs are pairs (y, h) and that have "
        "``complete(w, x, y)``, which returns the best h for a known y (or the pair). Their ``loss(y, (ŷ, ĥ))`` must "
        "be 0 for every completion of y. They start with ``initial_completion(x, y, rng)``, which returns an h, random "
        "or not, if they have this method, otherwise with ``complete(0, x, y)``.",
        kw_only=False,
    )
    prior: Any = parameter(
        "Weights w₀ that the regulariser ½‖w − w₀‖² prefers, for example `coef_` of a model of other data. "
        "None means 0.",
        check_prior,
        default=None,
        kind="array-like of shape (n_weights,) or None",
    )
    bound: str = changed(
        "Margin or slack re-scaling (Tsochantaridis et al. 2004), or the ramp of either (Do et al. 2008): tighter if "
        'labels are wrong, but not convex, so a local optimum is found. With latent variables ``"margin"``, or '
        '``"ramp"``, which compares with the best output of all instead of the best completion.',
        choice(*BOUNDS),
        default="margin",
        kind='{"margin", "slack", "ramp", "ramp-slack"}',
    )
    max_outer: int = changed(
        "Maximum number of outer steps, for ramps and latent variables. With 1, latent variables keep their first "
        "values, so the problem is convex.",
        default=100,
    )
    n_restarts: int = changed(
        "Number of runs from each named start, of which the one with the best objective is kept. They differ if the "
        "first completions of the latent variables, or the start, are random.",
        default=1,
    )

    @property
    def _convex(self) -> bool:
        """Whether the bound is convex without latent variables, which are not known before the data are read."""
        return BOUNDS[self.bound].convex

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.structure, Compiled):
            self.structure.check_parameters()

    def _make_structure(self) -> Structure:
        if isinstance(self.structure, type):
            raise TypeError(f"structure must be an object, not the class: pass {self.structure.__name__}()")
        return self.structure

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters, also of the structure (``structure__name=…``) if it is a scikit-learn `BaseEstimator`.

        Parameters
        ----------
        **parameters : dict
            Parameters by name.

        Returns
        -------
        self
            The estimator.
        """
        nested = [name for name in parameters if name.startswith("structure__")]
        structure = parameters.get("structure", self.structure)
        if nested and not hasattr(structure, "set_params"):
            raise ValueError(
                f"{nested[0]}: {type(structure).__name__} has no set_params; derive it from sklearn.base.BaseEstimator "
                f"as well so that its parameters can be set and searched over"
            )
        if nested and structure is getattr(self, "structure_", None):  # a fitted structure stays unchanged
            parameters["structure"] = copy(structure)
        return super().set_params(**parameters)

    def _own_examples(self, structure: Structure, X: Any, Y: Any) -> Examples:
        return CustomExamples(structure, X, Y, latent=callable(getattr(self.structure, "complete", None)))
