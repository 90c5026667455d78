"""`MultilabelSVM`: a set of labels for each row of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin._base.checks import changed, check_flag, declared, parameter
from maxmargin._base.input import checked_rows, example_weights, naming_rows
from maxmargin._base.types import CodeArray, FloatArray, IntArray
from maxmargin.engines.engine import Local, one_blas_thread
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.kernelised import Kernelised
from maxmargin.estimators.probabilities import ProbabilisticSets
from maxmargin.estimators.rows.row_classifier import RowClassifier
from maxmargin.features.rows.matrices import label_matrix
from maxmargin.structures.multilabel.structure import Multilabel, check_loss_and_pairs


@declared
class MultilabelSVM(Kernelised, RowClassifier, ProbabilisticSets, MaxMarginEstimator):
    """Support vector machine for sets of labels, with weights of pairs of labels (Finley and Joachims 2008).

        score(x, y) = Σ_k y_k (w_k·x + b_k) + Σ_{j<k} y_j y_k w_jk

    The prediction is the set of labels with the best score, and training minimises ½‖w‖² + C Σ c_i max_ŷ [Δ(y_i, ŷ) +
    score(x_i, ŷ) − score(x_i, y_i)], where all argmaxes are exact. Without pairs and with the Hamming loss this is one
    support vector machine for each label.

    Attributes
    ----------
    coef_ : ndarray of shape (L, d)
        Weights of the features for each label; with a kernel, coefficients of its points.
    intercept_ : ndarray of shape (L,)
        Intercepts; 0 without `fit_intercept`.
    pairs_ : ndarray of shape (n_pairs, 2)
        The pairs of labels that have a weight.
    pair_coef_ : ndarray of shape (n_pairs,)
        Weight of each pair: positive for labels that occur together.
    classes_ : ndarray of shape (L,)
        The numbers of the labels.
    n_features_in_ : int
        Number of features d.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    >>> Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    >>> mm.MultilabelSVM(loss="f1", pairs="tree", C=10.0).fit(X, Y).predict(X).tolist()
    [[1, 0], [0, 1], [1, 1], [0, 0]]

    Read on: "Taxonomies and label sets" in the documentation.
    """

    loss: str = parameter(
        "The loss Δ: the number of wrong labels of a row, or 1 − F1 of its true and predicted labels (0 if "
        "both are empty).",
        default="hamming",
        kind='{"hamming", "f1"}',
    )
    pairs: str | None = parameter(
        "Pairs of labels with a weight: all (at most 15 labels); the edges of the tree of greatest mutual "
        "information between the labels of the training data (Chow and Liu 1968), for any number of labels; "
        "or none.",
        default="all",
        kind='{"all", "tree"} or None',
    )
    C: float = changed(
        'Trade-off; larger values fit the training data more closely. It multiplies losses, of which ``"f1"`` '
        'is at most 1 for a row and ``"hamming"`` at most the number of labels.',
        default=1.0,
    )
    fit_intercept: bool = parameter(
        "Whether to add a constant feature of value 1, whose weights are regularised like the others.",
        check_flag,
        default=True,
    )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_loss_and_pairs(self.loss, self.pairs, "loss")

    _structure = Multilabel

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        with naming_rows(X, OverflowError):  # scikit-learn has its own message for values that are not numbers
            X = validate_data(self, checked_rows(X), accept_sparse="csr", dtype=np.float64)
        y = label_matrix(Y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X)
        if X.shape[0] != len(y):
            raise ValueError(f"X has {X.shape[0]} rows but y has {len(y)}")
        weights = example_weights(sample_weight, len(y))
        kept = np.flatnonzero(weights)
        self.classes_ = np.arange(y.shape[1])
        return X[kept], y[kept], weights[kept], kept

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        tables = structure.split_weights(weights)
        table = tables["labels"].T.copy()
        intercept = table[:, -1].copy() if structure.fit_intercept else np.zeros(len(table))
        return {
            "structure_": structure,
            "coef_": table[:, :-1] if structure.fit_intercept else table,
            "intercept_": intercept,
            "pairs_": structure.edges_,
            "pair_coef_": tables.get("pairs", np.zeros(0)).copy(),
        }

    def _flat_weights(self) -> FloatArray:
        structure: Any = self.structure_
        table = np.column_stack([self.coef_, self.intercept_]) if structure.fit_intercept else self.coef_
        return np.concatenate([np.ascontiguousarray(table.T).ravel(), self.pair_coef_])

    def predict(self, X: Any) -> CodeArray:
        """Return the best set of labels for each row, or that of least expected loss (``decode="risk"``).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, L)
            1 for each label of a row, 0 for others.
        """
        check_is_fitted(self, "coef_")
        codes = [self._answers(part).codes for part in self._encoded(self._checked(X))]
        return np.concatenate(codes).reshape(-1, len(self.classes_)).astype(np.int64)

    def decision_function(self, X: Any) -> FloatArray:
        """Return how much better the best set with a label is than the best set without it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, L)
            Differences of scores, positive for the predicted labels; w_k·x + b_k if there are no pairs.
        """
        check_is_fitted(self, "coef_")
        return np.concatenate([self._differences(part) for part in self._encoded(self._checked(X))])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability that a row has each label, the sum over all sets with this label.

        They are calibrated if the model was trained by likelihood, or with ``temperature="auto"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, L)
            Probabilities, one column for each label as in scikit-learn's multilabel classifiers; rows do not sum to 1.
        """
        tables = [np.array(self._marginals(part)) for part in self._summable(X)]
        return np.concatenate(tables).reshape(-1, len(self.classes_))

    def predict_marginals(self, X: Any) -> FloatArray:
        """Return the probability that a row has each label, as `predict_proba` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n, L)
            Probabilities.
        """
        return self.predict_proba(X)

    def _differences(self, examples: Any) -> FloatArray:
        w, differences = self._flat_weights(), np.empty((examples.n_examples, len(self.classes_)))

        def ask(ids: IntArray, chunk: slice) -> None:
            present, absent = examples.marginals(w, ids)
            differences[chunk] = present - absent

        with Local(self.n_jobs) as engine, one_blas_thread():
            engine.map(ask, np.arange(examples.n_examples))
        return differences

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the subset accuracy, as scikit-learn's classifiers do: the fraction of rows without a wrong label.

        Hamming loss and F1 are ``hamming_loss`` and ``f1_score(average="samples")`` of ``sklearn.metrics``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.
        y : {array-like, sparse matrix} of shape (n, L)
            True labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        float
            The subset accuracy.
        """
        check_is_fitted(self, "coef_")
        true, predicted = label_matrix(y), self.predict(X)
        if true.shape != predicted.shape:
            raise ValueError(f"y has shape {true.shape}, expected {predicted.shape}")
        right = (true == predicted).all(axis=1)
        return float(np.average(right, weights=example_weights(sample_weight, len(right))))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags
