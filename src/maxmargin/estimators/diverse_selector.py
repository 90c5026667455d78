"""`DiverseSelector`: few candidates that together cover most (Joachims et al. 2009, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._input import either, example_weights, paired_examples
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.metrics.coverage import subtopic_coverage
from maxmargin.structures.coverage.structure import Coverage


class DiverseSelector(MaxMarginEstimator):
    """Choice of k candidates, such as documents, that cover as many subtopics as possible.

    Subtopics are known in training only. What can be seen of new candidates are their elements, such as words: the
    estimator learns how much covering an element is worth, from its frequency among the candidates of its input, so
    that the candidates whose elements are worth most cover many subtopics too (Joachims et al. 2009; Yue and Joachims
    2008).
    The candidates are chosen one after the other, each the one that adds most to those before (`Coverage`).

    Parameters
    ----------
    k : int, default=5
        Number of candidates to choose; all, if an input has fewer.
    C : float, default=1.0
        Trade-off; the loss of each input is between 0 and 1.
    thresholds : sequence of float, default=(0.0, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5)
        Shares of the candidates, ascending: each is a feature of an element, whether at least this share contains it.
    levels : sequence of float, default=(1.0,)
        Richer features: how often a candidate must contain an element to cover it at a level. Each level has weights of
        its own for all thresholds.
    features : callable, array-like of shape (n_elements, d) or None, default=None
        More features of elements, such as where or how rare they are, as in `Coverage`: a function of an element that
        returns numbers, or a table with a row for each column of matrices.
    loss : {"popularity", "uniform"}, default="popularity"
        Weights of subtopics, also in `score`: the number of candidates that have them, or 1.
    bound : {"margin", "slack", "ramp", "ramp-slack"}, default="margin"
        As in `StructuralSVM`.
    bound_steps : int, default=30
        Subgradient steps that tighten the proven bound of each argmax, as in `Coverage`.
    nonnegative : bool or list, default=False
        As in `StructuralSVM`.
    slack, solver, tol, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, checkpoint, \
    checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_levels · n_thresholds + d,)
        The weights.
    certificate_ : Certificate
        Objective and bounds. The argmax is greedy, so that the objective is an estimate; `primal_bound` is proven.
    history_, stop_reason_, support_ : object
        As in `StructuralSVM`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> texts = ["river bank water", "river water fish", "bank money loan", "money loan credit"]
    >>> topics = [{"river"}, {"river"}, {"money"}, {"money"}]
    >>> model = mm.DiverseSelector(k=2).fit([texts] * 3, [topics] * 3)
    >>> model.score([texts], [topics])
    1.0
    """

    def __init__(
        self,
        *,
        k: int = 5,
        C: float = 1.0,
        thresholds: Sequence[float] = (0.0, 0.05, 0.1, 0.15, 0.25, 0.35, 0.5),
        levels: Sequence[float] = (1.0,),
        features: Any = None,
        loss: str = "popularity",
        bound: str = "margin",
        bound_steps: int = 30,
        slack: str = "linear",
        nonnegative: Any = False,
        solver: Any = "auto",
        tol: float = 1e-3,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        verbose: int = 0,
        callbacks: Sequence[Any] | None = None,
        checkpoint: Any = None,
        checkpoint_every: float = 60.0,
    ) -> None:
        self.k, self.C, self.thresholds, self.levels, self.features = k, C, thresholds, levels, features
        self.loss = loss
        self.bound, self.bound_steps, self.slack, self.nonnegative = bound, bound_steps, slack, nonnegative
        self.solver, self.tol, self.max_iter, self.max_seconds = solver, tol, max_iter, max_seconds
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _check_parameters(self) -> None:
        super()._check_parameters()
        try:
            self._make_structure().check_parameters()
        except ValueError as error:
            raise ValueError(str(error).replace("cost must be", "loss must be")) from None

    def _make_structure(self) -> Coverage:
        return Coverage(
            k=self.k, thresholds=self.thresholds, levels=self.levels, features=self.features, cost=self.loss,
            bound_steps=self.bound_steps,
        )  # fmt: skip

    def _encode(self, X: Any, Y: Any) -> tuple[Structure, Examples]:
        structure, examples = super()._encode(X, Y)
        sizes: Any = np.diff(examples.offsets)  # type: ignore[attr-defined]
        if (sizes <= self.k).all():
            raise ValueError(
                f"k={self.k}: no input has more than {self.k} candidates (the largest has {sizes.max()}), so that "
                f"there is nothing to choose; use a smaller k"
            )
        return structure, examples

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

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the mean weighted share of subtopics that the chosen candidates cover.

        Parameters
        ----------
        X : sequence
            Candidates of each input.
        Y : sequence
            For each input a list with the set of subtopics of each candidate.
        sample_weight : array-like of shape (n,), default=None
            Weight of each input in the mean; 1 by default.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        float
            The mean coverage, between 0 and 1; inputs without subtopics are left out.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, either(Y, y, "Y", "y"))
        weights = example_weights(sample_weight, len(Y))
        covered = subtopic_coverage(Y, self.predict(X), weights=self.loss)
        known = ~np.isnan(covered)
        if not weights[known].any():
            raise ValueError("no input has a subtopic, so that there is nothing to cover")
        return float(np.average(covered[known], weights=weights[known]))
