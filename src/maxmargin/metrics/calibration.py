"""Calibration: whether decisions of confidence p are right with frequency p."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._base.checks import whole_number
from maxmargin._base.types import AnyArray, FloatArray, IntArray


def calibration_bins(confidences: Any, right: Any, n_bins: int = 10) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return mean confidence, frequency of right decisions and number of decisions in bins of equal width.

    Parameters
    ----------
    confidences : array-like of shape (n,)
        Probability of each decision, from 0 to 1.
    right : array-like of bool of shape (n,)
        Whether each decision was right.
    n_bins : int, default=10
        Number of bins of [0, 1].

    Returns
    -------
    confidence, frequency : ndarray of shape (n_bins,)
        Means over the decisions of each bin; NaN for empty bins.
    counts : ndarray of shape (n_bins,)
        Number of decisions of each bin.

    Examples
    --------
    >>> confidence, frequency, counts = calibration_bins([0.9, 0.8, 0.3], [True, False, False], n_bins=2)
    >>> frequency.tolist(), counts.tolist()
    ([0.0, 0.5], [1, 2])
    """
    n_bins = whole_number(n_bins, "n_bins")
    p, hits = np.asarray(confidences, float), np.asarray(right)
    if p.ndim != 1 or p.shape != hits.shape:
        raise ValueError(f"confidences of shape {p.shape}, but right of shape {hits.shape}; expected one of each")
    if not len(p):
        raise ValueError("there are no decisions to judge")
    if not ((p >= 0.0) & (p <= 1.0 + 1e-9)).all():
        raise ValueError(f"confidences must be from 0 to 1, found {p[~((p >= 0.0) & (p <= 1.0 + 1e-9))][0]}")
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(bins, p, n_bins) / counts
        frequency = np.bincount(bins, hits.astype(float), n_bins) / counts
    return confidence, frequency, counts


def expected_calibration_error(confidences: Any, right: Any, n_bins: int = 10) -> float:
    """Return the mean difference between confidence and frequency of right decisions, over bins (Naeini et al. 2015).

    Parameters
    ----------
    confidences : array-like of shape (n,)
        Probability of each decision, from 0 to 1.
    right : array-like of bool of shape (n,)
        Whether each decision was right.
    n_bins : int, default=10
        Number of bins of [0, 1].

    Returns
    -------
    float
        ``Σ_bins (share of the decisions) · |mean confidence − frequency|``.

    Examples
    --------
    >>> round(expected_calibration_error([0.9, 0.9, 0.9, 0.9], [True, True, True, False]), 3)
    0.15
    """
    confidence, frequency, counts = calibration_bins(confidences, right, n_bins)
    filled = counts > 0
    return float(np.abs(confidence - frequency)[filled] @ counts[filled] / counts.sum())


def decision_confidences(estimator: Any, X: Any, y: Any) -> tuple[FloatArray, AnyArray]:
    """Return the probability of each predicted label or head, and whether it was right.

    Parameters
    ----------
    estimator : estimator
        A fitted tagger, classifier of rows, or dependency parser.
    X, y : sequence
        Inputs and their true outputs.

    Returns
    -------
    confidences : ndarray of shape (n,)
        The probability of what is predicted for each row, or for each token of all sequences: its label or head.
    right : ndarray of bool of shape (n,)
        Whether it is the true one.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, y = mm.datasets.make_multiclass(200, random_state=0)
    >>> model = mm.MulticlassSVM(bound="likelihood").fit(X[:100], y[:100])
    >>> confidences, right = mm.metrics.decision_confidences(model, X[100:], y[100:])
    >>> confidences.shape, bool(confidences[right].mean() > confidences[~right].mean())
    ((100,), True)
    """
    tables, predicted = estimator.predict_marginals(X), estimator.predict(X)
    if isinstance(tables, np.ndarray):
        tables, predicted, y = [tables], [predicted], [y]
    if hasattr(estimator, "classes_"):
        code = {label: k for k, label in enumerate(np.asarray(estimator.classes_).tolist())}
    elif all(
        np.ndim(table) == 2 and len(table) == len(y_hat) + 1 for table, y_hat in zip(tables, predicted, strict=True)
    ):
        tables = [np.asarray(table)[:, 1:].T for table in tables]  # words × heads
        code = {head: head for head in range(max(map(len, predicted), default=0) + 1)}
    else:
        raise TypeError(
            f"{type(estimator).__name__} predicts neither labels nor heads: compare predict_marginals with its parts"
        )
    confidences, right = [np.zeros(0)], [np.zeros(0, bool)]
    for table, prediction, true in zip(tables, predicted, y, strict=True):
        labels = np.asarray(prediction, object).tolist()
        confidences.append(np.asarray(table)[np.arange(len(labels)), [code[label] for label in labels]])
        right.append(np.array([a == b for a, b in zip(labels, np.asarray(true, object).tolist(), strict=True)], bool))
    return np.concatenate(confidences), np.concatenate(right)
