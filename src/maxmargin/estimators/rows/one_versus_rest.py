"""Labels as tables of 0 and 1, one problem for each label, and thresholds of scores."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from maxmargin._base.errors import callers_level
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.core.certificate import Certificate
from maxmargin.engines.engine import Engine
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.starts import given_weights, with_given
from maxmargin.estimators.training_data import TrainingData
from maxmargin.features.rows.labels import Labels, with_positive_last
from maxmargin.structures.measures.measures import AtSize, Measure


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


def targets_of(y: Any, positive_label: Any = None) -> Targets:
    """Return labels as a table; raise ValueError if there is one class only.

    Of two classes the positive one, by default the second in sorted order, is the last.
    """
    check_classification_targets(y)
    if type_of_target(y) == "multilabel-indicator":
        table = label_table(y)
        if positive_label is not None:
            raise ValueError(f"positive_label is for labels, not for a table of {table.shape[1]} labels; leave it out")
        return Targets(np.arange(table.shape[1]), table.astype(np.int8), True)
    y = column_or_1d(y, warn=True)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[:1].tolist()[0]!r}: a measure of positive and negative rows needs rows "
            f"of two classes"
        )
    if len(classes) > 2:
        if positive_label is not None:
            raise ValueError(
                f"positive_label is for two labels, found {len(classes)}, each of which is positive in turn; leave it "
                f"out, or pass y == {positive_label!r}"
            )
        return Targets(classes, (codes[:, None] == np.arange(len(classes))).astype(np.int8), False)
    ordered = with_positive_last(classes, positive_label)
    return Targets(ordered, (classes[codes] == ordered[1]).astype(np.int8)[:, None], False)


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

    def learn(self, estimator: Any, structure: Any, engine: Engine, last: FloatArray | None) -> None:
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
            model.start = with_given(model.start, partial(self._weights_of_label, estimator, k))
            only = model._make_structure()
            examples = only.fit_rows(self.X, labels, model._row_weights(labels, self.weights), Labels([0, 1]))
            first = np.zeros(1, np.int64)
            data = TrainingData(self.X, labels, only, examples, np.full(1, self.factor), first, first)
            model.classes_, model.multilabel_ = np.arange(2), False
            begin = None if last is None else np.ascontiguousarray(last.reshape(-1, K)[:, k])
            scores = model._training_scores(examples, MaxMarginEstimator._learn(model, data, engine, begin))
            estimator._warn_if_constant(scores - model.threshold_[0], k)
            weights[:, k], thresholds[k] = model._flat_weights(), model.threshold_[0]
            models.append((k, model))
        structure, expanded = structure.expanded(weights.ravel(), self.positions)
        for name, value in estimator._fitted_attributes(expanded, structure).items():
            setattr(estimator, name, value)
        estimator._set_thresholds(thresholds)
        estimator.certificate_ = _together([model.certificate_ for _, model in models])
        estimator.history_ = [{**step, "label": k} for k, model in models for step in model.history_]
        reasons = [model.stop_reason_ for _, model in models]
        estimator.stop_reason_ = next((reason for reason in reasons if reason != "tol"), "tol")
        estimator.n_iter_ = max((model.n_iter_ for _, model in models), default=0)
        estimator.support_ = None

    def _weights_of_label(self, estimator: Any, k: int, start: Any) -> FloatArray:
        """Return the weights of label k of a start that is given for all labels."""
        return np.ascontiguousarray(given_weights(estimator, start, self.dim).reshape(-1, self.table.shape[1])[:, k])


def _together(certificates: list[Certificate]) -> Certificate:
    """Return the certificate of the sum of independent problems."""
    return Certificate(
        sum(c.primal for c in certificates), sum(c.dual for c in certificates),
        sum(c.oracle_calls for c in certificates), sum(c.seconds for c in certificates),
        all(c.exact for c in certificates), sum(c.primal_bound for c in certificates),
        start=" / ".join(dict.fromkeys(c.start for c in certificates if c.start)),
    )  # fmt: skip


def true_table(y: Any, classes: AnyArray | None, shape: tuple[int, ...]) -> AnyArray:
    """Return true labels as a table of booleans; raise ValueError if its shape is not the given one.

    Parameters
    ----------
    y : array-like or sparse matrix
        Labels, or a table of 0 and 1.
    classes : ndarray or None
        The labels, of which a table of one column has the second; None if y is a table.
    shape : tuple of int
        Number of rows, and 1 or the number of labels.
    """
    if classes is None:
        table = label_table(y)
        if table.shape != shape:
            raise ValueError(f"y: expected a table of shape {shape}, found {table.shape}")
        return table
    labels = column_or_1d(y)
    if len(labels) != shape[0]:
        raise ValueError(f"X has {shape[0]} rows but y has {len(labels)}")
    of_class = labels[:, None] == classes
    if not np.any(of_class):
        shown = ", ".join(map(repr, classes.tolist()[:5]))
        raise ValueError(f"y: no label is one of the classes {shown}, found {labels.tolist()[0]!r:.60}")
    return of_class[:, 1:] if shape[1] == 1 else of_class


def table_value(measure: Measure, true: AnyArray, chosen: AnyArray, scores: FloatArray, weights: FloatArray) -> float:
    """Return the measure of predicted labels, or of the rows of the highest scores if their number is given."""
    if isinstance(measure, AtSize):
        if (weights != weights[0]).any():
            raise ValueError("sample_weight: a measure of the k best rows counts rows, so they have no weights")
        positive = int(np.count_nonzero(true))
        best = np.argsort(-scores, kind="stable")[: measure.size(positive, len(true))]
        hits = int(np.count_nonzero(true[best]))
        return float(measure.value(hits, len(best) - hits, positive, len(true) - positive))
    a, predicted, p = float(weights @ (true & chosen)), float(weights @ chosen), float(weights @ true)
    return float(measure.value(a, predicted - a, p, float(weights.sum()) - p))


def between(ordered: FloatArray, size: int) -> float:
    """Return a threshold with the first `size` scores above it, in descending order; ties are not divided."""
    if size <= 0:
        return float(ordered[0]) + 1.0
    if size >= len(ordered):
        return float(ordered[-1]) - 1.0
    return 0.5 * float(ordered[size - 1]) + 0.5 * float(ordered[size])


def counted_threshold(scores: FloatArray, size: int) -> float:
    """Return a threshold with `size` scores above it."""
    return between(np.sort(scores)[::-1], size)


def tuned_threshold(measure: Measure, scores: FloatArray, labels: AnyArray, weights: FloatArray | None) -> float:
    """Return the threshold of the greatest measure on these scores; ties go to the fewest positive rows.

    Parameters
    ----------
    measure : Measure
        A measure of contingency tables.
    scores : ndarray of shape (n,)
        Scores.
    labels : ndarray of shape (n,)
        Labels 0 and 1.
    weights : ndarray of shape (n,) or None
        Weight of each row.
    """
    order = np.argsort(-scores, kind="stable")
    ordered, weight = scores[order], np.ones(len(order)) if weights is None else weights[order]
    positive = weight * (labels[order] == 1)
    a = np.concatenate([[0.0], np.cumsum(positive)])
    b = np.concatenate([[0.0], np.cumsum(weight - positive)])
    possible = np.concatenate([[True], ordered[1:] < ordered[:-1], [True]])  # equal scores have equal labels
    values = np.where(possible, measure.value(a, b, float(a[-1]), float(b[-1])), -np.inf)
    return between(ordered, int(np.argmax(values)))
