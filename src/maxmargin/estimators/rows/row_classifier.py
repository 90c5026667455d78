"""Mixin of estimators that classify rows of features, with scikit-learn's names of arguments."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import validate_data

from maxmargin._base.input import checked_rows, naming_rows
from maxmargin._base.types import AnyArray
from maxmargin.estimators.kernelised import precomputed


class RowClassifier(ClassifierMixin):
    """Mixin before `MaxMarginEstimator`: X is a matrix, and the names of its columns are used."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, resume: Any = None) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features; or `Files` of svmlight rows, without y.
        y : array-like of shape (n,), or of shape (n, L) for label sets
            The label of each row; for label sets a matrix, which may be sparse, of 1 for each label of a row and 0 for
            others.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each row; 1 by default.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight, resume=resume)

    def _check_loaded(self, structure: Any) -> None:
        for name in ("classes_", "n_features_in_"):
            if not hasattr(self, name):
                raise ValueError(f"it has no {name}")
        super()._check_loaded(structure)

    def _checked(self, X: Any) -> Any:
        """Return rows to predict as an array or a CSR matrix with the columns of the fit."""
        with naming_rows(X, OverflowError):  # scikit-learn has its own message for values that are not numbers
            return validate_data(self, checked_rows(X), accept_sparse="csr", dtype=np.float64, reset=False)

    def _checked_inputs(self, X: Any) -> Any:
        return self._checked(X)

    def _weight_names(self, structure: Any, size: int) -> AnyArray:
        """Return the name of each weight, by the names of the columns if X had some."""
        names: AnyArray = structure.feature_names(getattr(self, "feature_names_in_", None))
        return names

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = precomputed(self)
        return tags
