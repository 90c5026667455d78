"""Labels as tables of 0 and 1, and one problem for each label."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from maxmargin._callers import callers_level
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.certificate import Certificate
from maxmargin.encoding.labels import Labels
from maxmargin.engines import Local
from maxmargin.estimators.base import TrainingData


class Targets(NamedTuple):
    """Labels of all rows.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The labels, or the numbers of the columns of a table.
    table : ndarray of int8 of shape (n, 1) or (n, K)
        Labels 0 and 1: of the second of two classes, or of every class.
    multilabel : bool
        Whether the labels were given as a table.
    """

    classes: AnyArray
    table: AnyArray
    multilabel: bool


def label_table(y: Any) -> AnyArray:
    """Return a table of labels as booleans; raise ValueError for a value other than 0 and 1."""
    table = np.ascontiguousarray(y.toarray() if sp.issparse(y) else y)
    other = np.flatnonzero((table != 0) & (table != 1))
    if len(other):
        row, column = np.unravel_index(other[0], table.shape)
        raise ValueError(f"y[{row}, {column}]: a table of labels has 0 and 1, found {table[row, column]!s:.60}")
    return table != 0


def targets_of(y: Any) -> Targets:
    """Return labels as a table; raise ValueError if there is one class only."""
    check_classification_targets(y)
    if type_of_target(y) == "multilabel-indicator":
        table = label_table(y)
        return Targets(np.arange(table.shape[1]), table.astype(np.int8), True)
    y = column_or_1d(y, warn=True)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[:1].tolist()[0]!r}: a measure of positive and negative rows needs rows "
            f"of two classes"
        )
    table = codes[:, None] == (np.arange(len(classes)) if len(classes) > 2 else np.array([1]))
    return Targets(classes, table.astype(np.int8), False)


class OneVersusRest:
    """The examples of one problem for each label, made when they are needed.

    Parameters
    ----------
    X : {ndarray, CSR matrix} of shape (n, d)
        Rows, which all problems share.
    table : ndarray of shape (n, K)
        Labels 0 and 1.
    weights : ndarray of shape (n,) or None
        Weights of rows.
    factor : float
        Weight of every example in its objective.
    dim : int
        Number of weights of all labels.
    positions : ndarray of int
        Index in the user's data of each row that a kernel may have as a point.
    """

    def __init__(
        self, X: Any, table: AnyArray, weights: FloatArray | None, factor: float, dim: int, positions: IntArray
    ) -> None:
        self.X, self.table, self.weights, self.factor, self.dim = X, table, weights, factor, dim
        self.positions = positions

    def learn(self, estimator: Any, structure: Any, engine: Local, start: FloatArray | None) -> None:
        """Learn each label with a copy of the estimator, and set the fitted attributes of the estimator."""
        K = self.table.shape[1]
        weights, thresholds = np.zeros((self.dim // K, K)), np.zeros(K)
        models = []
        for k in range(K):
            labels = np.ascontiguousarray(self.table[:, k])
            if labels.min() == labels.max():
                thresholds[k] = -1.0 if labels[0] else 1.0
                warnings.warn(
                    f"label {k}: all rows have the value {labels[0]}, which is then always predicted",
                    UserWarning,
                    stacklevel=callers_level(),
                )
                continue
            model = clone(estimator)
            only = model._make_structure()
            examples = only.fit_rows(self.X, labels, self.weights, Labels([0, 1]))
            first = np.zeros(1, np.int64)
            data = TrainingData(self.X, labels, only, examples, np.full(1, self.factor), first, first)
            model.classes_, model.multilabel_ = np.arange(2), False
            begin = None if start is None else np.ascontiguousarray(start.reshape(-1, K)[:, k])
            model._learn(data, engine, begin)
            weights[:, k], thresholds[k] = model._flat_weights(), model.threshold_[0]
            models.append((k, model))
        structure, found = structure.expanded(weights.ravel(), self.positions)
        for name, value in estimator._fitted_attributes(found, structure).items():
            setattr(estimator, name, value)
        estimator._set_thresholds(thresholds)
        estimator.certificate_ = _together([model.certificate_ for _, model in models])
        estimator.history_ = [{**step, "label": k} for k, model in models for step in model.history_]
        reasons = [model.stop_reason_ for _, model in models]
        estimator.stop_reason_ = next((reason for reason in reasons if reason != "tol"), "tol")
        estimator.n_iter_ = max((model.n_iter_ for _, model in models), default=0)
        estimator.support_ = None


def _together(certificates: list[Certificate]) -> Certificate:
    """Return the certificate of the sum of independent problems."""
    return Certificate(
        sum(c.primal for c in certificates), sum(c.dual for c in certificates),
        sum(c.oracle_calls for c in certificates), sum(c.seconds for c in certificates),
        all(c.exact for c in certificates), sum(c.primal_bound for c in certificates),
    )  # fmt: skip
