"""`MulticlassSVM`: one of K labels for each row of features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from maxmargin._base.checks import changed, check_flag, declared, parameter
from maxmargin._base.input import check_labels_of_one_kind, checked_rows, example_weights, naming_rows
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.examples import Examples
from maxmargin.core.structure import Compiled, Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.files import FilePredictor
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.parameters import lower_bounds
from maxmargin.estimators.predictor import label_margins
from maxmargin.estimators.probabilities import Probabilistic
from maxmargin.estimators.rows.row_classifier import RowClassifier
from maxmargin.estimators.warnings import warn_of_unknown_labels
from maxmargin.features.rows.labels import Labels, check_class_weight, check_costs, class_weights, named_classes
from maxmargin.formats.svmlight import read_svmlight, whole_numbers, with_width
from maxmargin.structures.multiclass import Multiclass


@declared
class MulticlassSVM(FilePredictor, Kernelised, RowClassifier, Probabilistic, MaxMarginEstimator):
    """Classifier of rows: a multiclass support vector machine (Crammer and Singer 2001).

    The objective is ½‖W‖² + C Σ c_i max_k [Δ(y_i, k) + (w_k − w_{y_i})·x_i]. Equal rows with equal labels are merged
    and their weights added, so the result depends neither on the order of the rows nor on repetition. For two
    classes it is the linear SVM with hinge loss at twice this C.

    Labels are all strings or all numbers; ``StructuralSVM(Multiclass())`` accepts other labels too.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, in the order of the rows of `coef_`.
    coef_ : ndarray of shape (1, d) or (K, d)
        Weights w_k; for two classes w_2 − w_1 in one row. With a kernel, the coefficients of the kernel values with p
        points, (K, p).
    intercept_ : ndarray of shape (1,) or (K,)
        Intercepts; 0 without `fit_intercept`.
    class_weight_ : dict
        The weight of each class.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.make_multiclass(200, random_state=0)
    >>> model = mm.MulticlassSVM(C=1.0).fit(X[:100], y[:100])
    >>> model.predict(X[100:105])
    array([1, 0, 2, 1, 0])
    >>> model.score(X[100:], y[100:])
    0.74
    >>> model.certificate_.gap <= model.tol
    True

    Read on: "Formulations" in the documentation.
    """

    loss: Any = parameter(
        "The loss: a name, a cost matrix in the order of `classes_` (row: true class), or a dict of costs by "
        "true class (default 1).",
        default="zero-one",
        kind='"zero-one", array-like of shape (K, K) or dict',
    )
    fit_intercept: bool = parameter(
        "Whether to add a constant feature of value 1, whose weight is regularised like the others.",
        check_flag,
        default=True,
    )
    classes: Any = parameter(
        "All labels, in case some do not occur in the training data; None for the labels of the data.",
        default=None,
        kind="list or None",
    )
    class_weight: Any = parameter(
        'Factor of the sample weights of each class, by label (default 1), or ``"balanced"`` for n / (K · '
        "n_k), as in scikit-learn.",
        default=None,
        kind='dict, "balanced" or None',
    )
    kernel: Any = changed(
        'Kernel on rows, as in `StructuralSVM`. With ``kernel="precomputed"``, X is the table of kernel '
        "values with all training rows: (n, n) in `fit`, (m, n) in `predict`, as in scikit-learn.",
        default="linear",
    )

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
        by_class: dict[Any, float] = {}
        if self.class_weight is not None:
            sample_weight, by_class = self._class_factors(y, example_weights(sample_weight, len(y)))
        X, y, weights, positions = super()._prepare(X, y, sample_weight, groups)
        self.classes_ = np.unique(y) if named is None else named
        self.class_weight_ = {label: by_class.get(label, 1.0) for label in self.classes_.tolist()}
        return X, y, weights, positions

    def _survey(self, X: Any, Y: Any) -> dict[str, Any]:
        return {**super()._survey(X, Y), "labels": np.asarray(Y)}

    def _learn_from(self, surveys: Sequence[dict[str, Any]], weights: FloatArray) -> tuple[Compiled, FloatArray]:
        y = np.concatenate([survey["labels"] for survey in surveys])
        y = whole_numbers(y) if y.dtype.kind == "f" else y
        by_class: dict[Any, float] = {}
        if self.class_weight is not None:
            weights, by_class = self._class_factors(y, weights)
        self.classes_ = np.unique(y) if self.classes is None else named_classes(self.classes).array()
        self.class_weight_ = {label: by_class.get(label, 1.0) for label in self.classes_.tolist()}
        structure, weights = super()._learn_from(surveys, weights)
        assert isinstance(structure, Multiclass)
        self.n_features_in_ = structure.n_features_
        return structure, weights

    def _encode_part(self, structure: Any, X: Any, Y: Any) -> Examples:
        return super()._encode_part(structure, with_width(X, structure.n_features_), Y)

    def _class_factors(self, y: AnyArray, weights: FloatArray) -> tuple[FloatArray, dict[Any, float]]:
        """Return the sample weights multiplied by the weights of the classes, and these."""
        kept = weights > 0
        labels, at = np.unique(y[kept], return_inverse=True)
        counts = dict(zip(labels.tolist(), np.bincount(at, weights[kept]).tolist(), strict=True))
        by_class = class_weights(self.class_weight, counts)
        factors: FloatArray = np.zeros(len(y))
        factors[kept] = weights[kept] * np.array(list(by_class.values()))[at]
        return factors, by_class

    def _merged(self, examples: Any, weights: FloatArray, positions: IntArray) -> tuple[Any, FloatArray, IntArray]:
        examples, weights, first = examples.merged(weights)
        return examples, weights, positions[first]

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        table = weights.reshape(-1, len(self.classes_)).T.copy()
        if len(table) == 2:
            table = table[1:] - table[:1]
        if structure.fit_intercept:
            return {"structure_": structure, "coef_": table[:, :-1], "intercept_": table[:, -1].copy()}
        return {"structure_": structure, "coef_": table, "intercept_": np.zeros(len(table))}

    def _flat_weights(self) -> FloatArray:
        structure: Any = self.structure_
        table = np.column_stack([self.coef_, self.intercept_]) if structure.fit_intercept else self.coef_
        if len(self.classes_) == 2:
            table = self._two_rows(table[0])
        return np.ascontiguousarray(table.T).ravel()

    def _two_rows(self, difference: FloatArray) -> FloatArray:
        """Return the shortest weights of two classes with this difference, within the lower bounds on weights.

        Only the difference enters scores and hinges, so these are the weights of the optimum: half of it each
        without bounds.
        """
        size = 2 * len(difference)
        lower = lower_bounds(self.nonnegative, size, partial(self._weight_names, self.structure_, size))
        if lower is None:
            return np.stack([-0.5 * difference, 0.5 * difference])
        first, second = lower.reshape(-1, 2).T
        second = np.maximum(0.5 * difference, np.maximum(second, first + difference))
        return np.stack([second - difference, second]) + 0.0  # no −0, which a saved model would not have

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
        table = self._flat_weights().reshape(-1, len(self.classes_))
        width = self.coef_.shape[1]
        return self._row_scores(self._checked(X), table[:width]) + table[width:].sum(axis=0)

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
        """Return the label of best score for each row, or that of least expected loss (``decode="risk"``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        if self.decode == "risk":
            costs: FloatArray = self.structure_.costs_  # type: ignore[attr-defined]
            return self.classes_[(self.predict_proba(X) @ costs).argmin(axis=1)]
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _predicted_text(self, source: str) -> Iterator[str]:
        rows, _ = read_svmlight(source, n_features=self.n_features_in_)
        yield from (f"{label}\n" for label in self.predict(rows).tolist())

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of every label, exp(score / T) in proportion.

        They are calibrated if the model was trained by likelihood, or with ``temperature="auto"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities, in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of every label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, K)
            Logarithms, in the order of `classes_`.
        """
        logs: FloatArray = log_softmax(self.decision_scores(X) / self.temperature_, axis=1)
        return logs

    def predict_marginals(self, X: Any) -> FloatArray:
        """Return the probability of every label, as `predict_proba` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, K)
            Probabilities, in the order of `classes_`.
        """
        return self.predict_proba(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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
