"""`SequenceTagger`: a label for every token of a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._checked import check_flag, whole_number
from maxmargin._input import example_weights, paired_examples
from maxmargin._types import FloatArray
from maxmargin.core.errors import ExampleError, Place
from maxmargin.core.structure import Structure
from maxmargin.encoding.costs import check_costs
from maxmargin.encoding.labels import Labels
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.structures.chain.structure import Chain, label_sequence


class SequenceTagger(MaxMarginEstimator):
    """Sequence tagger: a first-order chain trained for a large margin.

    Each x is an array (T, d), a sparse matrix, or a list of tokens, each a dict ``{"word": "casa", "caps": False}``
    or a list of strings, as in CRF packages; each y is a sequence of T labels of any type. `predict` returns
    lists of labels.

    Parameters
    ----------
    C : float, default=0.3
        Trade-off; the default was chosen for losses that count wrong tokens (docs/defaults.md).
    loss : str, array-like of shape (K, K) or dict, default="hamming"
        ``"hamming"`` (number of wrong tokens), ``"hamming-share"``, ``"zero-one"`` (whole sequences), a cost matrix per
        token in the order of `classes_` (row: true label), or a dict of costs by true label (default 1).
    constraints : "bio", "bioes", Constraints, list of pairs or None, default=None
        Transitions that are never predicted.
    fit_intercept : bool, default=True
        Whether to add a constant feature to every token.
    start_end : bool, default=True
        Whether first and last labels have weights.
    transition_features : bool, default=False
        Whether each x is a pair (tokens, transitions), the second with T − 1 rows of features.
    classes : list or None, default=None
        All labels, in case some do not occur in the training data; None for the labels of the data.
    min_count : int, default=1
        Named features (dicts, strings) that occur fewer times in the training data are left out.
    seen_pairs : bool, default=False
        Whether a feature has weights only for the labels with which it occurs in the training data, as in CRF packages.
        The model is several times as small, but cannot learn that a feature speaks against a label.
    tol : float, default=1e-2
        Relative gap at which training stops.
    bound, slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the tables below.
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    transitions_ : ndarray of shape (K, K)
        Weights of label pairs (row: previous label).
    start_, end_ : ndarray of shape (K,)
        Weights of first and of last labels.
    """

    def __init__(
        self,
        *,
        C: float = 0.3,
        loss: Any = "hamming",
        constraints: Any = None,
        fit_intercept: bool = True,
        start_end: bool = True,
        transition_features: bool = False,
        classes: Any = None,
        min_count: int = 1,
        seen_pairs: bool = False,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        solver: Any = "auto",
        tol: float = 1e-2,
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
        self.C, self.loss, self.constraints, self.fit_intercept = C, loss, constraints, fit_intercept
        self.start_end, self.transition_features, self.classes = start_end, transition_features, classes
        self.min_count, self.seen_pairs = min_count, seen_pairs
        self.bound, self.slack, self.solver = bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_costs(self.loss, Chain.cost_names, "loss")
        whole_number(self.min_count, "min_count")
        check_flag(self.seen_pairs, "seen_pairs")

    def _make_structure(self) -> Structure:
        return Chain(
            cost=self.loss,
            constraints=self.constraints,
            fit_intercept=self.fit_intercept,
            start_end=self.start_end,
            transition_features=self.transition_features,
            classes=self.classes,
            min_count=self.min_count,
            seen_pairs=self.seen_pairs,
        )

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        attributes = super()._fitted_attributes(weights, structure)
        parts = structure.transition_weights(attributes["coef_"])
        attributes["classes_"] = structure.labels_.array()
        attributes |= {f"{name}_": parts[name].copy() for name in ("transitions", "start", "end")}
        if not structure.tokens_.named:
            attributes["n_features_in_"] = structure.tokens_.width
        return attributes

    def score(self, X: Any, Y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of tokens with the correct label.

        A label that is not a class is an error; pass ``classes=`` if a label may be absent from the training data, or
        from a fold of a cross-validation.

        Parameters
        ----------
        X, Y : sequence
            Sequences and their true labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence, for all of its tokens.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, Y)
        weights = example_weights(sample_weight, len(Y))
        labels: Labels = self.structure_.labels_  # type: ignore[attr-defined]
        right, total = np.zeros(len(Y)), np.zeros(len(Y))
        for i, (y, y_hat) in enumerate(zip(Y, self.predict(X), strict=True)):
            place = Place("Y", i)
            true = label_sequence(y, place)
            if len(true) != len(y_hat):
                raise ExampleError.at(Place("X", i), f"{len(y_hat)} rows of features but {len(true)} labels")
            codes = labels.encode(true, place)
            right[i] = sum(labels.values[c] == v for c, v in zip(codes, y_hat, strict=True))
            total[i] = len(y_hat)
        if not weights @ total > 0:
            raise ValueError("every sequence is empty, or has the sample_weight 0: there is nothing to score")
        return float(weights @ right / (weights @ total))
