"""`MeasureSVC`: a linear classifier that optimises a measure of the whole training set."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin._base.checks import changed, check_flag, choice, declared, parameter, stored_array
from maxmargin._base.input import check_labels_of_one_kind, checked_rows, example_weights, naming_rows, with_int32
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.bounds import BOUNDS, Bound
from maxmargin.engines.engine import Engine
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.kernelised import Kernelised, part_kernel
from maxmargin.estimators.rows.one_versus_rest import (
    OneVersusRest,
    counted_threshold,
    table_value,
    targets_of,
    true_table,
    tuned_threshold,
)
from maxmargin.estimators.rows.row_classifier import RowClassifier
from maxmargin.estimators.starts import AUTO, CONVEX, NamedStart, refers_to_weights
from maxmargin.estimators.training_data import TrainingData
from maxmargin.estimators.warnings import warn_of_constant
from maxmargin.features.mercer.kernel import KernelFeatures
from maxmargin.features.rows.labels import Labels
from maxmargin.problem import Problem
from maxmargin.solvers.base import State
from maxmargin.structures.measures.contingency import Contingency
from maxmargin.structures.measures.measures import AtSize, Linear, Measure
from maxmargin.structures.measures.names import measure_of, parsed_measure
from maxmargin.structures.measures.orders import AveragePrecision, ROCArea
from maxmargin.structures.measures.row_sets import RowSets
from maxmargin.training.run import Run, seed_of

#: Folds of the threshold by cross-validation.
FOLDS = 3
#: Difference of scores that counts as none.
SAME = 1e-6
#: Measures of an order of rows, and all names that are not measures of `Contingency`.
_ORDERS = ("roc_auc", "average_precision")
_OTHERS = ("balanced", *_ORDERS, "roc_auc@fpr=0.1")


@declared
class MeasureSVC(Kernelised, RowClassifier, MaxMarginEstimator):
    """Linear classifier that maximises F1, ROC area or another measure of all rows at once (Joachims 2005).

    The whole training set is one example of a structural SVM:

        ½‖w‖² + C max_ŷ [Δ(y, ŷ) + w·Ψ(x, ŷ) − w·Ψ(x, y)]        Ψ(x, y) = ½ Σ_i ±x_i

    where Δ is p · (1 − measure), p the number of positive rows (for ``"error"`` n times the error). Both count in rows,
    so C has the scale of `sklearn.svm.LinearSVC`; ``"error"`` is exactly the linear SVM with hinge loss,
    ``"balanced"`` the same with ``class_weight="balanced"``: n/2p for positive rows and n/2q for the q negative rows.
    See `Contingency`, `ROCArea` and `AveragePrecision`. By default the maximum is bounded by a ramp, which starts from
    a plain SVM (`bound`, `start`): the convex bound may have w = 0 as its optimum if positive rows are rare.

    The second of two labels in sorted order is the positive one, unless `positive_label` names the other. More than two
    labels, or a table of labels (multi-label), are learnt one versus rest.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The labels, of two the positive one last; the numbers of the columns for a table of labels.
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
    A `sample_weight` of integers means repeated rows, for any measure. ``"error"`` and ``"balanced"`` accept any
    weights. For other measures the best labels of weighted rows are a knapsack problem, so weights with fractions
    are an error.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[2.0], [1.0], [0.5], [-1.0], [-2.0], [0.2]])
    >>> model = mm.MeasureSVC(measure="f1", C=10.0).fit(X, ["yes", "yes", "no", "no", "no", "no"])
    >>> model.predict([[1.5], [-0.5]]).tolist()
    ['yes', 'no']

    Read on: "Measures of whole sets: F1, ROC area, average precision" in the documentation.
    """

    measure: Any = parameter(
        '``"f1"`` (F_β with any β in the name: ``"f2"``, ``"f0.5"``), ``"prbep"`` (precision/recall break-even point), '
        '``"precision@10"``, ``"recall@10"`` (of the 10 best rows), ``"recall@precision=0.9"`` (the recall if the '
        'precision is at least 0.9, otherwise 0), ``"roc_auc"``, ``"roc_auc@fpr=0.1"`` (the area up to this false '
        "positive rate; `score` returns the standardised area of `sklearn.metrics.roc_auc_score`, which is 0.5 for "
        'random scores), ``"error"``, ``"balanced"``, ``"mcc"``, ``"jaccard"``, ``"average_precision"``, or a function '
        "of (tp, fp, fn, tn), of any scale, that is greater for better tables. A function that does not accept arrays "
        'works too, but slower. ``"accuracy"``, ``"balanced_accuracy"``, ``"auc"`` and ``"matthews_corrcoef"`` are '
        'other names of ``"error"``, ``"balanced"``, ``"roc_auc"`` and ``"mcc"``.',
        default="f1",
        kind="str or callable",
    )
    threshold: str = parameter(
        '``"learned"`` is the threshold of the trained model: the weight of a constant feature for measures '
        "of the predicted labels; for measures of the order of rows, which have none, the threshold above "
        'which there are as many training rows as are positive (10 of them for ``"precision@10"`` and '
        '``"recall@10"``). ``"tuned"`` is the threshold of the greatest measure on the training scores, ``"cv"`` on '
        "scores of 3-fold cross-validation.",
        choice("learned", "tuned", "cv"),
        default="learned",
        kind='{"learned", "tuned", "cv"}',
    )
    bound: str = changed(
        '``"margin"`` is convex (Joachims 2005). For a rare class with weak features its optimum may be w = 0, no '
        'better than no model. ``"ramp"`` (Do et al. 2008) is tighter, and starts from a plain SVM (`start`). '
        '``"auto"`` is the ramp for measures of labels that are not sums over rows. It is convex for measures of '
        'orders, ``"error"`` and ``"balanced"``; and with C=inf, quadratic slack or a checkpoint, which ramps '
        "do not have.",
        choice("auto", "margin", "slack", "ramp", "ramp-slack"),
        default="auto",
        kind='{"auto", "margin", "slack", "ramp", "ramp-slack"}',
    )
    start: Any = changed(
        'The weights that a ramp starts with: ``"plain"``, which is ``"auto"``, is `sklearn.svm.LinearSVC` with this C '
        'at the threshold of the greatest measure, ``"balanced"`` the same with balanced classes; ``"convex"``, '
        '``"perceptron"``, weights, a fitted linear classifier, or a list of several of these.',
        default="auto",
    )
    average: str = parameter(
        "What is maximised, and what `score` returns, if there are more than two labels: the mean of the "
        "measures of all labels, which are then learnt independently, or the measure of one table (one order) "
        "of all labels of all rows.",
        choice("macro", "micro"),
        default="macro",
        kind='{"macro", "micro"}',
    )
    fit_intercept: bool = parameter(
        "Whether to add a constant feature of value 1, whose weight is regularised like the others.",
        check_flag,
        default=True,
    )
    positive_label: Any = parameter(
        'The label of two whose rows the measure is about, such as ``"fraud"``; by default the second in sorted order.',
        default=None,
        kind="label or None",
    )
    tol: float = changed(default=0.01)

    # ------------------------------------------------------------------ parameters

    @property
    def _bound_used(self) -> str:
        """What ``"auto"`` stands for."""
        if self.bound != "auto":
            return self.bound
        measure = self._table_measure()
        without_ramp = float("inf") == self.C or self.slack != "linear" or self.checkpoint is not None
        return "margin" if measure is None or isinstance(measure, Linear) or without_ramp else "ramp"

    @property
    def _convex(self) -> bool:
        return BOUNDS[self._bound_used].convex

    def _bound(self) -> Bound:
        return Bound(BOUNDS[self._bound_used].rescaling, self.slack)

    @property
    def _auto_start(self) -> str:
        return CONVEX if self._convex else "plain"

    @property
    def _ranks(self) -> bool:
        """Whether the measure is one of an order of rows."""
        return self._name in _ORDERS

    @property
    def _name(self) -> str:
        """The usual name of the measure; empty for a function."""
        return parsed_measure(self.measure)[0].removesuffix("@fpr=") if isinstance(self.measure, str) else ""

    @property
    def _max_fpr(self) -> float | None:
        """The false positive rate up to which the ROC area counts; None for the whole area."""
        number = parsed_measure(self.measure)[1]
        return float(number) if number else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._table_measure()
        self._make_structure().check_parameters()
        if self._ranks and self.threshold != "learned":
            raise ValueError(
                f"threshold={self.threshold!r} needs a measure of predicted labels, but measure={self.measure!r} "
                f"does not depend on a threshold; use threshold='learned'"
            )

    def _make_structure(self, n_labels: int = 1) -> RowSets:
        if self._name == "roc_auc":
            return ROCArea(max_fpr=self._max_fpr, n_labels=n_labels)
        if self._name == "average_precision":
            return AveragePrecision(n_labels=n_labels)
        measure = "error" if self._name == "balanced" else self.measure
        return Contingency(measure=measure, fit_intercept=self.fit_intercept, n_labels=n_labels)

    def _table_measure(self) -> Measure | None:
        """Return the measure of contingency tables; None for measures of orders."""
        return None if self._ranks else measure_of(self.measure, _OTHERS)

    def _row_weights(self, labels: AnyArray, weights: FloatArray | None) -> FloatArray | None:
        """Return the weights of rows in the loss."""
        measure = self._table_measure()
        return measure.row_weights(labels, weights) if isinstance(measure, Linear) else weights

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
        self.classes_, labels, self.multilabel_ = targets_of(Y, self.positive_label)
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
            flat = self._row_weights(labels.ravel(), flat)
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
        if isinstance(measure, Linear):
            return rows, weights, 1.0
        fractions = np.flatnonzero(np.rint(weights) != weights)
        if len(fractions):
            raise ValueError(
                f"sample_weight[{kept[fractions[0]]}] is {weights[fractions[0]]}: measure={self.measure!r} takes "
                f"integers, each meaning repetitions of a row; measure='error' and measure='balanced' take any weights"
            )
        return np.repeat(kept, weights.astype(np.int64)), None, 1.0

    def _learn(
        self,
        data: TrainingData,
        engine: Engine,
        last: FloatArray | None = None,
        resume: Any = None,
        before: State | None = None,
    ) -> Any:
        if not isinstance(data.examples, OneVersusRest):
            state = super()._learn(data, engine, last, resume, before)
            self._warn_if_constant(self._training_scores(data.examples, state) - self.threshold_[0])
            return state
        if self.checkpoint is not None or resume is not None:
            raise ValueError(
                "one label versus rest is a problem for each label, which has no checkpoint in common; use "
                "average='micro', or set checkpoint=None"
            )
        data.examples.learn(self, data.structure, engine, last)
        return None

    def _finish(self, problem: Problem, run: Run, state: State, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        structure: Any = data.structure
        examples: Any = problem.examples
        scores = self._training_scores(examples, state)
        self._set_thresholds(
            np.full(structure.n_labels, self._threshold(scores, examples.labels, getattr(examples, "weights", None)))
        )
        if self.threshold == "cv" and not (self._ranks or isinstance(self._table_measure(), AtSize)):
            self._set_thresholds(np.full(structure.n_labels, self._threshold_of_folds(examples)))

    def _threshold_of_folds(self, examples: Any) -> float:
        """Return the best threshold of scores of rows by models of the other folds; 0 if a class has too few rows."""
        rows, labels = with_int32(examples.blocks[0].matrix()), examples.labels
        K = examples.structure.n_labels
        fewest = min(np.count_nonzero(labels), np.count_nonzero(labels == 0))
        n_folds, scores = min(FOLDS, int(fewest)), np.zeros((rows.shape[0], K))
        if n_folds < 2:
            return 0.0
        table, weights = labels.reshape(-1, K), examples.weights
        y, one_per_row = (table[:, 0], table[:, 0]) if K == 1 else (table, table.any(axis=1))
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=seed_of(self.random_state))
        for some, others in folds.split(rows, one_per_row):
            model = clone(self).set_params(threshold="learned", kernel="linear", warm_start=False, verbose=0)
            model.set_params(callbacks=None, checkpoint=None, start=self._start_of_folds())
            given = None if weights is None or K > 1 or self._name == "balanced" else weights[some]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores[others] = model.fit(rows[some], y[some], given)._table_scores(rows[others])
        measure = self._table_measure()
        assert measure is not None
        return tuned_threshold(measure, scores.ravel(), labels, weights)

    def _start_of_folds(self) -> Any:
        """Return the start, if it is not of weights that all rows were used for."""
        return AUTO if refers_to_weights(self.start) else self.start

    def _warn_if_degenerate(self, problem: Problem, state: State) -> None:
        """Do nothing: `_warn_if_constant` says more when thresholds are known."""

    @staticmethod
    def _training_scores(examples: Any, state: State) -> FloatArray:
        """Return the score of each training row, or of each of its labels."""
        values: FloatArray = examples.scores(state.best_w, np.zeros(1, np.int64))[0].values
        return values

    def _warn_if_constant(self, decisions: FloatArray, label: int | None = None) -> None:
        """Warn if all rows are predicted alike, or if one label of several is the same for all rows."""
        zero, positive = float(np.ptp(decisions)) <= SAME, decisions > 0
        single = len(self.classes_) == 2 and not self.multilabel_
        alike = positive.min() == positive.max() and (
            single or self.multilabel_
        )  # of more classes, the best one counts
        if not (zero or alike):
            return
        is_positive = bool(positive[0])
        if single:
            decision = repr(self.classes_.tolist()[is_positive])
        elif label is None:
            decision = "with all labels" if is_positive else "without labels"
        else:
            decision = f"{'with' if is_positive else 'without'} label {self.classes_.tolist()[label]!r}"
        warn_of_constant("all rows", f"predicted {decision}", zero, self._remedy())

    def _remedy(self) -> str:
        """Return what to do about equal predictions."""
        if self._name == "error":
            return "errors in a rare class are cheaper than margins for it; use measure='balanced'"
        advice = "use measure='balanced' or measure='roc_auc'"
        if self._name == "balanced":
            advice = "raise C"
        elif self._convex and not self._ranks:
            advice = "use bound='ramp' with start='plain', measure='balanced' or measure='roc_auc'"
        return f"the classes overlap too much for the bound on measure={self.measure!r}; {advice}"

    def _set_thresholds(self, thresholds: FloatArray) -> None:
        self.threshold_ = thresholds
        self.intercept_ = self.bias_ - thresholds

    def _threshold(self, scores: FloatArray, labels: AnyArray, weights: FloatArray | None) -> float:
        """Return the threshold of the scores of training rows."""
        measure, p = self._table_measure(), int(np.count_nonzero(labels))
        if measure is None:
            return counted_threshold(scores, p)
        if isinstance(measure, AtSize):
            return counted_threshold(scores, measure.size(p, len(scores)))
        return tuned_threshold(measure, scores, labels, weights) if self.threshold == "tuned" else 0.0

    def _plain_start(self, data: Any, problem: Problem, restart: int) -> FloatArray:
        return self._linear_svc(problem, None)

    def _balanced_start(self, data: Any, problem: Problem, restart: int) -> FloatArray:
        return self._linear_svc(problem, "balanced")

    named_starts: ClassVar[Mapping[str, NamedStart]] = {
        **MaxMarginEstimator.named_starts,
        "plain": _plain_start,
        "balanced": _balanced_start,
    }

    def _linear_svc(self, problem: Problem, class_weight: str | None) -> FloatArray:
        """Return the weights of scikit-learn's linear SVM, of which the constant makes the measure the greatest."""
        from sklearn.svm import LinearSVC  # a slow import

        examples: Any = problem.examples
        rows, structure, weights = (
            with_int32(examples.blocks[0].matrix()),
            examples.structure,
            getattr(examples, "weights", None),
        )
        K = structure.n_labels
        table, scores = np.zeros((rows.shape[1] + 1, K)), np.zeros((rows.shape[0], K))
        for k, labels in enumerate(examples.labels.reshape(-1, K).T):
            if labels.min() == labels.max():
                table[-1, k] = 2.0 * labels[0] - 1.0
                continue
            # The primal problem is solved without random numbers: equal rows in another order make no difference.
            model = LinearSVC(C=float(problem.objective.budgets[0]), class_weight=class_weight, dual=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # a start need not be an optimum
                model.fit(rows, labels, None if weights is None else weights.reshape(-1, K)[:, k])
            table[:-1, k], table[-1, k] = model.coef_[0], model.intercept_[0]
            scores[:, k] = model.decision_function(rows)
        measure = self._table_measure()
        if measure is not None and not isinstance(measure, AtSize):
            table[-1] -= tuned_threshold(measure, scores.ravel(), examples.labels, weights)
        return np.ascontiguousarray(table if structure.constant else table[:-1]).ravel()

    def _check_loaded(self, structure: Any) -> None:
        super()._check_loaded(structure)
        stored_array(self.threshold_, "threshold_", np.float64, (structure.n_labels,))
        check_flag(self.multilabel_, "multilabel_")

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        table = weights.reshape(-1, structure.n_labels).T.copy()
        coef, bias = (table[:, :-1], table[:, -1].copy()) if structure.constant else (table, np.zeros(len(table)))
        intercept = bias - getattr(self, "threshold_", np.zeros(len(table)))
        return {"structure_": structure, "coef_": coef, "bias_": bias, "intercept_": intercept}

    def _flat_weights(self) -> FloatArray:
        structure: Any = self.structure_
        table = np.column_stack([self.coef_, self.bias_]) if structure.constant else self.coef_
        return np.ascontiguousarray(table.T).ravel()

    def _weights_of(self, other: Any) -> FloatArray:
        """Return weights and intercepts of a linear classifier: of this class, or of scikit-learn."""
        table = np.atleast_2d(np.asarray(other.coef_, float))
        if self._make_structure().constant:
            intercepts = np.broadcast_to(np.asarray(getattr(other, "intercept_", 0.0), float), len(table))
            table = np.column_stack([table, intercepts])
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
        """Return the score of each row, as `decision_function` does.

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
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
        predicted = scores > 0
        if scores.shape[1] > 1 and not self.multilabel_:
            predicted = scores.argmax(axis=1)[:, None] == np.arange(scores.shape[1])
        if self.average == "micro":
            weights = np.repeat(weights, scores.shape[1])
            true, predicted, scores = true.reshape(-1, 1), predicted.reshape(-1, 1), scores.reshape(-1, 1)
        columns = zip(true.T, predicted.T, scores.T, strict=True)
        return float(np.mean([self._value(*column, weights) for column in columns]))

    def _value(self, true: AnyArray, predicted: AnyArray, scores: FloatArray, weights: FloatArray) -> float:
        """Return the measure of one column of labels."""
        if self._name == "roc_auc":
            return float(roc_auc_score(true, scores, max_fpr=self._max_fpr, sample_weight=weights))
        if self._name == "average_precision":
            return float(average_precision_score(true, scores, sample_weight=weights))
        measure = self._table_measure()
        assert measure is not None
        return table_value(measure, true, predicted, scores, weights)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags
