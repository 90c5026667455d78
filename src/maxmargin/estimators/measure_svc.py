"""`MeasureSVC`: a linear classifier that optimises a measure of the whole training set."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin._callers import callers_level
from maxmargin._input import check_labels_of_one_kind, example_weights, naming_rows
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.core.problem import Problem
from maxmargin.encoding.labels import Labels
from maxmargin.encoding.sparse import checked_rows
from maxmargin.engines import Local
from maxmargin.estimators._kernel import part_kernel
from maxmargin.estimators._one_versus_rest import OneVersusRest, targets_of
from maxmargin.estimators._rows import RowClassifier
from maxmargin.estimators._tables import table_value, true_table
from maxmargin.estimators._thresholds import counted_threshold, tuned_threshold
from maxmargin.estimators.base import MaxMarginEstimator, TrainingData
from maxmargin.kernel_features.kernel import KernelFeatures
from maxmargin.solvers.base import State
from maxmargin.structures.measures.contingency import Contingency
from maxmargin.structures.measures.measures import Measure
from maxmargin.structures.measures.names import measure_of
from maxmargin.structures.measures.orders import AveragePrecision, ROCArea
from maxmargin.structures.measures.row_sets import RowSets
from maxmargin.training.run import Run

#: Difference of scores that counts as none.
SAME = 1e-6
#: Measures of an order of rows.
_ORDERS = ("roc_auc", "average_precision")


class MeasureSVC(RowClassifier, MaxMarginEstimator):  # type: ignore[misc]
    """Linear classifier that maximises F1, ROC area or another measure of all rows at once (Joachims 2005).

    The whole training set is one example of a structural SVM:

        ½‖w‖² + C max_ŷ [Δ(y, ŷ) + w·Ψ(x, ŷ) − w·Ψ(x, y)]        Ψ(x, y) = ½ Σ_i ±x_i

    where Δ is p · (1 − measure), p the number of positive rows (for ``"error"`` and ``"balanced"`` n times the error).
    Both count in rows, so that C has the scale of `sklearn.svm.LinearSVC`; ``"error"`` is exactly the linear SVM with
    hinge loss, ``"balanced"`` the same with margins n/2p and n/2q instead of 1. See `Contingency`, `ROCArea` and
    `AveragePrecision`.

    The second of two labels in sorted order is the positive one. More than two labels, or a table of labels
    (multi-label), are learnt one versus rest.

    Parameters
    ----------
    measure : str or callable, default="f1"
        ``"f1"``, ``"fbeta"``, ``"prbep"`` (precision/recall break-even point), ``"roc_auc"``, ``"precision@k"``,
        ``"recall@k"`` (with a number in the name, as in ``"precision@5"``, or the parameter `k`), ``"error"``,
        ``"balanced"``, ``"mcc"``, ``"jaccard"``, ``"average_precision"``, ``"recall_at_precision"``, or a function of
        (tp, fp, fn, tn), of any scale, that is greater for better tables. A function that does not accept arrays works
        too, but slower.
    C : float, default=1.0
        Trade-off; larger values fit the training data more closely.
    threshold : {"learned", "tuned"}, default="learned"
        ``"learned"`` is the threshold of the trained model: the weight of a constant feature for measures of the
        predicted labels; for measures of the order of rows, which have none, the threshold above which there are as
        many training rows as are positive (k of them for ``"precision@k"`` and ``"recall@k"``). ``"tuned"`` is the
        threshold of the greatest measure on the training scores.
    beta : float, default=1.0
        β of ``"fbeta"``.
    k : int, default=10
        k of ``"precision@k"`` and ``"recall@k"``.
    precision : float, default=0.9
        The precision that ``"recall_at_precision"`` requires.
    max_fpr : float or None, default=None
        False positive rate up to which ``"roc_auc"`` counts; None for the whole area. `score` then returns the
        standardised area of `sklearn.metrics.roc_auc_score`, which is 0.5 for random scores.
    average : {"macro", "micro"}, default="macro"
        What is maximised, and what `score` returns, if there are more than two labels: the mean of the measures of all
        labels, which are then learnt independently, or the measure of one table (one order) of all labels of all rows.
    fit_intercept : bool, default=True
        Whether to add a constant feature of value 1, whose weight is regularised like the others.
    bound, slack, nonnegative, kernel, degree, gamma, coef0, n_components, kernel_method, solver, tol, max_iter, \
    max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, checkpoint, checkpoint_every : optional
        As in `StructuralSVM`. The solver ``"auto"`` is the bundle. The default of `tol` is 0.01: smaller gaps take
        several times as long, and gave no better measures on test data.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels; the numbers of the columns for a table of labels.
    coef_ : ndarray of shape (1, d) or (K, d)
        Weights; one row for two labels. With a kernel, coefficients of the points that `feature_names_out` names.
    intercept_ : ndarray of shape (1,) or (K,)
        `bias_` − `threshold_`.
    bias_, threshold_ : ndarray of shape (1,) or (K,)
        Weights of the constant feature, and thresholds of the scores.
    multilabel_ : bool
        Whether `fit` was given a table of labels.
    n_features_in_ : int
        Number of features d.

    Notes
    -----
    A `sample_weight` of whole numbers means repeated rows, for any measure. ``"error"`` and ``"balanced"`` accept any
    weights. For other measures the best labels of weighted rows are a knapsack problem, so that weights with fractions
    are an error.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[2.0], [1.0], [0.5], [-1.0], [-2.0], [0.2]])
    >>> model = mm.MeasureSVC(measure="f1", C=10.0).fit(X, ["yes", "yes", "no", "no", "no", "no"])
    >>> model.predict([[1.5], [-0.5]]).tolist()
    ['yes', 'no']
    """

    def __init__(
        self,
        *,
        measure: Any = "f1",
        C: float = 1.0,
        threshold: str = "learned",
        beta: float = 1.0,
        k: int = 10,
        precision: float = 0.9,
        max_fpr: float | None = None,
        average: str = "macro",
        fit_intercept: bool = True,
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
        self.measure, self.C, self.threshold, self.beta, self.k = measure, C, threshold, beta, k
        self.precision, self.max_fpr, self.average, self.fit_intercept = precision, max_fpr, average, fit_intercept
        self.bound, self.slack, self.nonnegative, self.solver = bound, slack, nonnegative, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    # ------------------------------------------------------------------ parameters

    @property
    def _ranks(self) -> bool:
        """Whether the measure is one of an order of rows."""
        return isinstance(self.measure, str) and self.measure in _ORDERS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, choices in (("threshold", ("learned", "tuned")), ("average", ("macro", "micro"))):
            value = getattr(self, name)
            if not (isinstance(value, str) and value in choices):
                raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, found {value!r}")
        self._table_measure()
        self._make_structure().check_parameters()
        if self._ranks and self.threshold == "tuned":
            raise ValueError(
                f"threshold='tuned' needs a measure of predicted labels, but measure={self.measure!r} does not depend "
                f"on a threshold; use threshold='learned'"
            )

    def _make_structure(self, n_labels: int = 1) -> RowSets:
        if self.measure == "roc_auc":
            return ROCArea(max_fpr=self.max_fpr, n_labels=n_labels)
        if self.measure == "average_precision":
            return AveragePrecision(n_labels=n_labels)
        return Contingency(
            measure=self.measure, beta=self.beta, k=self.k, precision=self.precision, fit_intercept=self.fit_intercept,
            n_labels=n_labels,
        )  # fmt: skip

    def _table_measure(self) -> Measure | None:
        """Return the measure of contingency tables; None for measures of orders."""
        return None if self._ranks else measure_of(self.measure, self.beta, self.k, self.precision, _ORDERS)

    # ------------------------------------------------------------------ fit

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        if groups is not None:
            raise TypeError("MeasureSVC takes no groups")
        if not sp.issparse(Y) and getattr(Y, "ndim", 1) == 1:
            check_labels_of_one_kind(Y)
        with naming_rows(X, OverflowError):  # scikit-learn has its own message for values that are not numbers
            X, Y = validate_data(self, checked_rows(X), Y, accept_sparse="csr", dtype=np.float64, multi_output=True)
        rows, weights, factor = self._weighted_rows(X, sample_weight)
        X, Y = (X, Y) if rows is None else (X[rows], Y[rows])
        mapped, features, positions = self._mapped(X, rows)
        self.classes_, labels, self.multilabel_ = targets_of(Y)
        K = labels.shape[1]
        structure, classes = self._make_structure(K), Labels(self.classes_.tolist(), given=True)
        structure.kernel_ = part_kernel(self)
        if K > 1 and self.average == "macro":
            structure.set_width(X.shape[1], classes, float(labels.mean()), features)
            examples: Any = OneVersusRest(mapped, labels, weights, factor, int(structure.size or 0), positions)
        else:
            flat = None if weights is None else np.repeat(weights, K)
            if K > 1 and labels.min() == labels.max():
                raise ValueError(f"y has one class only, {int(labels.flat[0])}: expected positive and negative labels")
            examples = structure.fit_rows(mapped, labels.ravel(), flat, classes, features)
        return TrainingData(X, Y, structure, examples, np.full(1, factor), np.zeros(1, np.int64), positions)

    def _mapped(self, X: Any, rows: IntArray | None) -> tuple[Any, KernelFeatures | None, IntArray]:
        """Return the features of a kernel on rows, what new rows need, and the position of each row without copies."""
        kernel = part_kernel(self)
        if kernel is None:
            return X, None, np.zeros(1, np.int64)
        positions = np.arange(X.shape[0]) if rows is None else rows
        kept, first, copies = np.unique(positions, return_index=True, return_inverse=True)
        alone = len(kept) == len(positions)
        mapped, features = kernel.fit(X if alone else X[first], np.arange(len(kept) + 1), "")
        return (mapped if alone else mapped[copies]), features, kept

    def _weighted_rows(self, X: Any, sample_weight: Any) -> tuple[IntArray | None, FloatArray | None, float]:
        """Return the rows to use if not all, the weights that remain, and a factor of all weights.

        Rows of weight 0 are left out; whole weights of other measures than sums repeat rows.
        """
        if sample_weight is None:
            return None, None, 1.0
        weights = example_weights(_check_sample_weight(sample_weight, X), X.shape[0])
        kept = np.flatnonzero(weights)
        rows, weights = (None if len(kept) == len(weights) else kept), weights[kept]
        if (weights == weights[0]).all():
            return rows, None, float(weights[0])
        measure = self._table_measure()
        if measure is not None and measure.linear:
            return rows, weights, 1.0
        fractions = np.flatnonzero(np.rint(weights) != weights)
        if len(fractions):
            raise ValueError(
                f"sample_weight[{kept[fractions[0]]}] is {weights[fractions[0]]}: measure={self.measure!r} takes whole "
                f"numbers, each meaning repetitions of a row; measure='error' and measure='balanced' take any weights"
            )
        return np.repeat(kept, weights.astype(np.int64)), None, 1.0

    def _learn(
        self,
        data: TrainingData,
        engine: Local,
        start: FloatArray | None = None,
        resume: Any = None,
        before: State | None = None,
    ) -> Any:
        if not isinstance(data.examples, OneVersusRest):
            return super()._learn(data, engine, start, resume, before)
        if self.checkpoint is not None or resume is not None:
            raise ValueError(
                "one label versus rest is a problem for each label, which has no checkpoint in common; set "
                "checkpoint=None or average='micro'"
            )
        data.examples.learn(self, data.structure, engine, start)
        return None

    def _finish(self, problem: Problem, run: Run, state: State, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        structure: Any = data.structure
        examples: Any = problem.examples
        scores = examples.scores(problem.weights(state.best_w), np.zeros(1, np.int64))[0].values
        if scores.max() - scores.min() <= SAME:
            warnings.warn(
                f"all rows have the same score: the classes overlap so much that no weights are better than 0 for the "
                f"bound of measure={self.measure!r}; measure='roc_auc' or measure='error' depend less on overlap, with "
                f"a threshold set afterwards",
                UserWarning,
                stacklevel=callers_level(),
            )
        self._set_thresholds(
            np.full(structure.n_labels, self._threshold(scores, examples.labels, getattr(examples, "weights", None)))
        )

    def _set_thresholds(self, thresholds: FloatArray) -> None:
        self.threshold_ = thresholds
        self.intercept_ = self.bias_ - thresholds

    def _threshold(self, scores: FloatArray, labels: AnyArray, weights: FloatArray | None) -> float:
        """Return the threshold of the scores of training rows."""
        measure, p = self._table_measure(), int(np.count_nonzero(labels))
        if measure is None:
            return counted_threshold(scores, p)
        if measure.fixed:
            return counted_threshold(scores, measure.size(p, len(scores)))
        return tuned_threshold(measure, scores, labels, weights) if self.threshold == "tuned" else 0.0

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        table = weights.reshape(-1, structure.n_labels).T.copy()
        coef, bias = (table[:, :-1], table[:, -1].copy()) if structure.constant else (table, np.zeros(len(table)))
        intercept = bias - getattr(self, "threshold_", np.zeros(len(table)))
        return {"structure_": structure, "coef_": coef, "bias_": bias, "intercept_": intercept}

    def _flat_weights(self) -> FloatArray:
        structure: Any = self.structure_
        table = np.column_stack([self.coef_, self.bias_]) if structure.constant else self.coef_
        return np.ascontiguousarray(table.T).ravel()

    # ------------------------------------------------------------------ use

    def decision_function(self, X: Any) -> FloatArray:
        """Return scores minus thresholds.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            One number for each row, above 0 for the second of two labels; one for each label if there are more.
        """
        scores = self._table_scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _table_scores(self, X: Any) -> FloatArray:
        check_is_fitted(self, "coef_")
        return self._row_scores(self._checked(X), self.coef_.T) + self.intercept_

    def _features(self, X: Any) -> Any:
        """Return each row as a set of one row."""
        return [row if sp.issparse(row) else np.asarray(row, float).reshape(1, -1) for row in X]

    def decision_scores(self, X: Any) -> FloatArray:
        """Return what `decision_function` returns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            Scores.
        """
        return self.decision_function(X)

    def predict(self, X: Any) -> AnyArray:
        """Return the label of each row, or a table of 0 and 1 if `fit` was given one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            Labels: the one of two labels by the threshold, the one of the highest score of more labels.
        """
        scores = self._table_scores(X)
        if self.multilabel_:
            return (scores > 0).astype(int)
        return self.classes_[(scores[:, 0] > 0).astype(int) if scores.shape[1] == 1 else scores.argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Return the measure of the predictions, or of the scores for measures of an order.

        ``"error"`` and ``"balanced"`` return the accuracy and the balanced accuracy. With more than two labels it is
        the `average` over all labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows of features.
        y : array-like of shape (n,) or (n, K)
            True labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row.

        Returns
        -------
        float
            The measure; greater is better.
        """
        scores = self._table_scores(X)
        true = true_table(y, None if self.multilabel_ else self.classes_, scores.shape)
        weights = example_weights(sample_weight, len(scores))
        found = scores > 0
        if scores.shape[1] > 1 and not self.multilabel_:
            found = scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1])
        if self.average == "micro":
            weights = np.repeat(weights, scores.shape[1])
            true, found, scores = true.reshape(-1, 1), found.reshape(-1, 1), scores.reshape(-1, 1)
        columns = zip(true.T, found.T, scores.T, strict=True)
        return float(np.mean([self._value(*column, weights) for column in columns]))

    def _value(self, true: AnyArray, found: AnyArray, scores: FloatArray, weights: FloatArray) -> float:
        """Return the measure of one column of labels."""
        if self.measure == "roc_auc":
            return float(roc_auc_score(true, scores, max_fpr=self.max_fpr, sample_weight=weights))
        if self.measure == "average_precision":
            return float(average_precision_score(true, scores, sample_weight=weights))
        measure = self._table_measure()
        assert measure is not None
        return table_value(measure, true, found, scores, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
