"""`MulticlassSVM`: one of K labels for each row of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from maxmargin._input import check_labels_of_one_kind, example_weights, naming_rows
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.structure import Structure
from maxmargin.encoding.class_weights import check_class_weight, class_weights
from maxmargin.encoding.costs import check_costs
from maxmargin.encoding.labels import Labels, named_classes
from maxmargin.encoding.sparse import checked_rows
from maxmargin.estimators._margins import label_margins
from maxmargin.estimators._rows import RowClassifier
from maxmargin.estimators._warnings import warn_of_unknown_labels
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.structures.multiclass import Multiclass


class MulticlassSVM(RowClassifier, MaxMarginEstimator):  # type: ignore[misc]
    """Multiclass support vector machine (Crammer and Singer 2001).

    The objective is ½‖W‖² + C Σ c_i max_k [Δ(y_i, k) + (w_k − w_{y_i})·x_i]. Equal rows with equal labels are merged
    and their weights added, so that the result depends neither on the order of the rows nor on repetition.

    Labels are all strings or all numbers; ``StructuralSVM(Multiclass())`` accepts other labels too.

    Parameters
    ----------
    C : float, default=1.0
        Trade-off; larger values fit the training data more closely.
    loss : "zero-one", array-like of shape (K, K) or dict, default="zero-one"
        The loss: a name, a cost matrix in the order of `classes_` (row: true class), or a dict of costs by true class
        (default 1).
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1, whose weight is regularised like the others.
    classes : list or None, default=None
        All labels, in case some do not occur in the training data; None for the labels of the data.
    class_weight : dict, "balanced" or None, default=None
        Factor of the sample weights of each class, by label (default 1), or ``"balanced"`` for n / (K · n_k), as in
        scikit-learn.
    kernel, degree, gamma, coef0, n_components, kernel_method : optional
        Kernel on rows, as in `StructuralSVM`. With ``kernel="precomputed"``, X is the table of kernel values with all
        training rows: (n, n) in `fit`, (m, n) in `predict`, as in scikit-learn.
    bound, slack, nonnegative, solver, tol, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, \
    callbacks, checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the rows of `coef_`.
    coef_ : ndarray of shape (K, d)
        Weights, also for two classes; with a kernel, the coefficients of the kernel values with p points, (K, p).
    intercept_ : ndarray of shape (K,)
        Intercepts; 0 without `fit_intercept`.
    n_features_in_ : int
        Number of features d.
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: Any = "zero-one",
        fit_intercept: bool = True,
        classes: Any = None,
        class_weight: Any = None,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        n_components: int | None = None,
        kernel_method: str = "auto",
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
        self.C, self.loss, self.fit_intercept, self.classes = C, loss, fit_intercept, classes
        self.class_weight = class_weight
        self.bound, self.slack, self.solver = bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_costs(self.loss, Multiclass.cost_names, "loss")
        check_class_weight(self.class_weight)

    def _make_structure(self) -> Structure:
        return Multiclass(cost=self.loss, fit_intercept=self.fit_intercept, classes=self.classes_.tolist())

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        named = None if self.classes is None else named_classes(self.classes).array()
        check_labels_of_one_kind(Y)
        with naming_rows(X, OverflowError):  # scikit-learn has its own message for values that are not numbers
            X, y = validate_data(self, checked_rows(X), Y, accept_sparse="csr", dtype=np.float64)
        check_classification_targets(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        if self.class_weight is not None:
            sample_weight = self._class_factors(y, example_weights(sample_weight, len(y)))
        X, y, weights, positions = super()._prepare(X, y, sample_weight, groups)
        self.classes_ = np.unique(y) if named is None else named
        return X, y, weights, positions

    def _class_factors(self, y: AnyArray, weights: FloatArray) -> FloatArray:
        """Return the sample weights multiplied by the weights of the classes."""
        kept = weights > 0
        labels, at = np.unique(y[kept], return_inverse=True)
        counts = dict(zip(labels.tolist(), np.bincount(at, weights[kept]).tolist(), strict=True))
        found = class_weights(self.class_weight, counts)
        factors: FloatArray = np.zeros(len(y))
        factors[kept] = weights[kept] * np.array(list(found.values()))[at]
        return factors

    def _merged(self, examples: Any, weights: FloatArray, positions: IntArray) -> tuple[Any, FloatArray, IntArray]:
        examples, weights, first = examples.merged(weights)
        return examples, weights, positions[first]

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        table = weights.reshape(-1, len(self.classes_)).T.copy()
        if structure.fit_intercept:
            return {"structure_": structure, "coef_": table[:, :-1], "intercept_": table[:, -1].copy()}
        return {"structure_": structure, "coef_": table, "intercept_": np.zeros(len(self.classes_))}

    def _flat_weights(self) -> FloatArray:
        structure: Any = self.structure_
        table = np.column_stack([self.coef_, self.intercept_]) if structure.fit_intercept else self.coef_
        return np.ascontiguousarray(table.T).ravel()

    def _weight_columns(self) -> dict[str, AnyArray]:
        structure: Any = self.structure_
        columns: dict[str, AnyArray] = structure.weight_columns(getattr(self, "feature_names_in_", None))
        return columns

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of every label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, K), or (n,) for two classes
            Scores; for two classes positive for the second.
        """
        scores = self.decision_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def decision_scores(self, X: Any) -> FloatArray:
        """Return the score of every label, also for two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, K)
            Scores w_k·x + b_k, in the order of `classes_`; with a kernel Σ_p β_kp k(p, x) + b_k.
        """
        check_is_fitted(self, "coef_")
        return self._row_scores(self._checked(X), self.coef_.T) + self.intercept_

    def decision_margins(self, X: Any) -> FloatArray:
        """Return how clear each decision is: the best minus the second best score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n,)
            Margins ≥ 0. They grow with C and are not probabilities.
        """
        return label_margins(self.decision_scores(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the label of best score for each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Return the fraction of correct labels.

        A label that is not a class, as in a fold that lacks it, is a wrong prediction.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        labels: Labels = self.structure_.labels_  # type: ignore[attr-defined]
        if not (labels.find(column_or_1d(y)) >= 0).any():
            warn_of_unknown_labels(labels)
        return float(ClassifierMixin.score(self, X, y, sample_weight))
