"""`DiverseSelector`: few candidates that together cover most (Joachims et al. 2009, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, declared, parameter, positive_number
from maxmargin._base.errors import ExampleError, Place
from maxmargin._base.input import example_weights, one_example, paired_examples
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.held_out import held_out_losses, keep_to_prior
from maxmargin.estimators.parameters import is_auto, positive_or_auto
from maxmargin.estimators.starts import check_prior
from maxmargin.estimators.training_data import TrainingData
from maxmargin.features.text.candidates import is_one_input, kind_of_candidates
from maxmargin.metrics.coverage import subtopic_coverage
from maxmargin.structures.coverage.structure import Coverage
from maxmargin.training.run import seed_of

#: Name of the prior of which all elements are worth the same.
UNWEIGHTED = "unweighted"
#: Number of held-out folds, and of inputs from which there are any.
N_FOLDS, LEAST_HELD_OUT = 3, 9
#: Standard errors by which learning must be worse than the prior on held-out inputs for the prior to be the model.
CLEARLY = 2.0


def check_worths(prior: Any, name: str) -> None:
    """Raise ValueError unless the prior is ``"unweighted"``, a vector or None."""
    if not isinstance(prior, str):
        check_prior(prior, name)
    elif prior != UNWEIGHTED:
        raise ValueError(f"{name} must be {UNWEIGHTED!r}, a vector of weights or None, found {prior!r:.60}")


@declared
class DiverseSelector(MaxMarginEstimator):
    """Choice of k candidates, such as documents, that cover as many subtopics as possible.

    Subtopics are known in training only. What can be seen of new candidates are their elements, such as words: the
    estimator learns how much covering an element is worth, from its frequency among the candidates of its input; then
    the candidates whose elements are worth most cover many subtopics too (Joachims et al. 2009; Yue and Joachims
    2008).
    The candidates are chosen one after the other, each the one that adds most to those before (`Coverage`).

    The regulariser ½‖w − w₀‖² prefers elements that are all worth the same: the greedy choice that covers most elements
    needs no training, and without a prior a fit may be worse. No weight is negative, so elements of more candidates are
    worth no less. If learning is clearly worse than the prior on held-out inputs, the prior is the model, and a
    warning says so.

    Attributes
    ----------
    coef_ : ndarray of shape (n_levels · n_thresholds + d,)
        The weights.
    C_ : float
        The trade-off.
    held_out_losses_ : dict of str to float
        Mean losses on held-out folds, ``"prior"`` of the prior and ``"learnt"`` of weights that other inputs teach;
        empty if C was given, if there is no prior, or if there were fewer than 9 inputs.
    candidates_ : {"texts", "lists", "rows"}
        What the candidates of the training data were.
    certificate_ : Certificate
        Objective and bounds. The argmax is greedy, so the objective is an estimate; `primal_bound` is proven.
    history_, stop_reason_, support_ : object
        As in `StructuralSVM`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> texts = ["river bank water", "river water fish", "bank money loan", "money loan credit"]
    >>> topics = [{"river"}, {"river"}, {"money"}, {"money"}]
    >>> model = mm.DiverseSelector(k=2, C=0.1).fit([texts] * 3, [topics] * 3)
    >>> model.score([texts], [topics])
    1.0

    Read on: "Rankings and diverse selections" in the documentation.
    """

    k: int = parameter("Number of candidates to choose; all, if an input has fewer.", default=5)
    C: Any = changed(
        'Trade-off; the loss of each input is between 0 and 1. ``"auto"`` is the square of `prior_scale`; '
        "but if weights learnt from other inputs are worse than the prior on held-out inputs, by more than a standard "
        "error, it is so small that the prior is the model, and a warning says so.",
        positive_or_auto,
        default="auto",
        kind='float or "auto"',
    )
    bound: str = changed(default="ramp")
    nonnegative: Any = changed(default=True)
    prior: Any = parameter(
        "Weights w₀ that the regulariser ½‖w − w₀‖² prefers: all elements that reach the lowest threshold worth the "
        "same, those of a model of other data, or 0 (None).",
        check_worths,
        default=UNWEIGHTED,
        kind='"unweighted", array-like of shape (n_weights,) or None',
    )
    prior_scale: float = parameter('Worth of each element, for ``prior="unweighted"``.', positive_number, default=1.0)
    thresholds: Sequence[float] = parameter(
        "Shares of the candidates, ascending: each is a feature of an element, whether at least this share "
        "contains it.",
        default=(0.0, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5),
        kind="sequence of float",
    )
    levels: Sequence[float] = parameter(
        "Richer features: how often a candidate must contain an element to cover it at a level. Each level "
        "has weights of its own for all thresholds.",
        default=(1.0,),
        kind="sequence of float",
    )
    features: Any = parameter(
        "More features of elements, such as where or how rare they are, as in `Coverage`: a function of an "
        "element that returns numbers, or a table with a row for each column of matrices.",
        default=None,
        kind="callable, array-like of shape (n_elements, d) or None",
    )
    loss: str = parameter(
        "Weights of subtopics, also in `score`: the number of candidates that have them, or 1.",
        default="popularity",
        kind='{"popularity", "uniform"}',
    )
    bound_steps: int = parameter(
        "Subgradient steps that tighten the proven bound on each argmax, as in `Coverage`.", default=30
    )

    _structure = Coverage

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        if is_one_input(X):
            raise one_example("X", "input")
        return super()._prepare(X, Y, sample_weight, groups)

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        structure, examples = super()._encode(X, Y)
        sizes: Any = np.diff(examples.offsets)  # type: ignore[attr-defined]
        if (sizes <= self.k).all():
            raise ValueError(
                f"k={self.k}: no input has more than {self.k} candidates (the largest has {sizes.max()}), so "
                f"there is nothing to choose; use a smaller k"
            )
        self.candidates_ = kind_of_candidates(X[0])
        return structure, examples

    # ------------------------------------------------------------------ training

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        data = super()._training_data(X, Y, sample_weight, groups=groups)
        self._choose(data)
        return data

    def _choose(self, data: TrainingData) -> None:
        """Set C; if it is not given, keep to the prior where learning is worse on held-out folds."""
        unit = float(self.prior_scale) ** 2 if isinstance(self.prior, str) else 1.0
        self.C_, losses = unit if is_auto(self.C) else float(self.C), dict[str, float]()
        n = data.examples.n_examples
        if is_auto(self.C) and self.prior is not None and n >= LEAST_HELD_OUT:
            order = np.random.default_rng(seed_of(self.random_state)).permutation(n)
            folds = [np.sort(fold) for fold in np.array_split(order, N_FOLDS)]
            (learnt,), prior, (error,) = held_out_losses(self, data, folds, [{"scale": 1.0, "C": unit}])
            losses = {"prior": prior, "learnt": float(learnt)}
            if learnt - prior > CLEARLY * error:
                keep_to_prior(self, "inputs", learnt, prior, "more inputs, levels or features may help")
        self.held_out_losses_ = losses

    def _shorter(self) -> dict[str, Any]:
        """Return parameters of fits that only serve the comparison with the prior."""
        limit = None if self.max_seconds is None else float(self.max_seconds) / N_FOLDS
        return {"bound_steps": 0, "max_seconds": limit}

    def _trade_off(self) -> float:
        return float(self.C_) if is_auto(self.C) else float(self.C)

    def _centre(self, data: TrainingData) -> FloatArray | None:
        return super()._centre(data) if self.prior is None else self._unscaled_centre(data)

    def _unscaled_centre(self, data: TrainingData) -> FloatArray:
        """Return the weights of the prior."""
        if not isinstance(self.prior, str):
            centre = super()._centre(data)
            assert centre is not None
            return centre
        weights = np.zeros(data.examples.dim)
        weights[0] = float(self.prior_scale)
        return weights

    def _finish(self, problem: Any, run: Any, state: Any, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        self.C_ = self._trade_off()

    # ------------------------------------------------------------------ use

    def _check_loaded(self, structure: Any) -> None:
        super()._check_loaded(structure)
        if self.candidates_ not in ("texts", "lists", "rows"):
            raise ValueError(f"candidates_ must be 'texts', 'lists' or 'rows', found {self.candidates_!r:.60}")

    def _inputs(self, X: Any) -> Any:
        """Return inputs whose candidates are of the kind of the training data."""
        if is_one_input(X):
            raise one_example("X", "input")
        X = super()._inputs(X)
        for i, x in enumerate(X):
            kind = kind_of_candidates(x)
            if {kind, self.candidates_} == {"texts", "lists"}:  # each member of a list would be a text, or a word
                kinds = {"texts": "texts", "lists": "lists of elements"}
                raise ExampleError.at(
                    Place("X", i), f"expected candidates that are {kinds[self.candidates_]}, as in the training data, "
                    f"found {kinds[kind]}; X is a list of inputs, and an input a list of candidates",
                )  # fmt: skip
        return X

    def predict(self, X: Any) -> list[Any]:
        """Return the chosen candidates of each input, best first.

        Parameters
        ----------
        X : sequence
            For each input its candidates: a list of texts, a list of lists of elements, or a matrix (candidates,
            elements) of counts, dense or sparse.

        Returns
        -------
        list of tuple of int
            Positions of the chosen candidates, in the order in which they were chosen.
        """
        return [tuple(selection) for selection in super().predict(X)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the mean weighted share of subtopics that the chosen candidates cover.

        Parameters
        ----------
        X : sequence
            Candidates of each input.
        y : sequence
            For each input a list with the set of subtopics of each candidate.
        sample_weight : array-like of shape (n,), default=None
            Weight of each input in the mean; 1 by default.

        Returns
        -------
        float
            The mean coverage, between 0 and 1; inputs without subtopics are left out.
        """
        check_is_fitted(self, "coef_")
        if is_one_input(X):
            raise one_example("X", "input")
        X, Y = paired_examples(X, y)
        weights = example_weights(sample_weight, len(Y))
        covered = subtopic_coverage(Y, self.predict(X), weights=self.loss)
        known = ~np.isnan(covered)
        if not weights[known].any():
            raise ValueError("no input has a subtopic, so there is nothing to cover")
        return float(np.average(covered[known], weights=weights[known]))
