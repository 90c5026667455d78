"""`PrecisionAtK`: rankings whose first k documents are relevant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from maxmargin._checked import beyond_floats, is_list, positive_number, whole_number
from maxmargin._input import either, naming_rows
from maxmargin._types import AnyArray, FloatArray, IntArray
from maxmargin.bounds.references import References
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Structure
from maxmargin.encoding.sparse import checked_rows
from maxmargin.estimators.base import TrainingData
from maxmargin.estimators.latent import LatentEstimator
from maxmargin.estimators.multiclass import MulticlassSVM
from maxmargin.metrics.ranking import precision_at_k, rows_by_query
from maxmargin.structures.top_k.structure import TopK, TopKExamples


class PrecisionAtK(LatentEstimator):
    """Ranking of documents by scores w·x that put relevant ones among the best k (Yu and Joachims 2009, section 5.3).

    The k documents of a query that are ranked first are latent: labels define which documents are relevant, not which
    of them come first.

        ½‖w‖² + C Σ_q (max_ĥ [w·Ψ(x_q, ĥ) + Δ(y_q, ĥ)] − max_{h: relevant first} w·Ψ(x_q, h)),    Ψ = (1/k) Σ_{j∈h} x_j

    The loss Δ is the greatest possible precision at k minus that of ĥ. Training starts with a classifier of relevant
    against other documents, every query with the same weight, as Yu and Joachims do: its scores determine which
    relevant documents come first. The result depends on this start.

    On OHSUMED, with the folds of Yu and Joachims, the mean of precision@1, 3, 5 and 10 is 0.035 ± 0.014 (one standard
    error) above that of the classifier it starts with; a plain ranking SVM is as good (−0.008 ± 0.012). See
    benchmarks/results/p5_precision_at_k.md.

    Features should be comparable between queries (LETOR's are scaled to [0, 1] query by query).

    Parameters
    ----------
    k : int, default=10
        Number of documents that are shown.
    C : float, default=1.0
        Trade-off; the loss of each query is between 0 and 1.
    start : "classifier" or array-like of shape (d,), default="classifier"
        The weights to start with.
    start_C : float, default=1.0
        Trade-off of the classifier for each query, divided among its documents.
    drop_empty : bool, default=False
        Whether to leave out queries without a relevant document, which are an error otherwise.
    bound : {"margin", "ramp"}, default="margin"
        As in `LatentStructuralSVM`.
    max_outer : int, default=100
        Greatest number of outer steps.
    slack, nonnegative, solver, tol, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `LatentStructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights.
    start_coef_ : ndarray of shape (d,)
        The weights that training started with: those of the classifier, those given, or those of the last fit.
    n_features_in_, feature_names_in_ : object
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[1.0, 0.2], [0.8, 0.9], [0.1, 0.4], [0.9, 0.5], [0.2, 0.3], [0.4, 0.8]])
    >>> queries = ["q1", "q1", "q1", "q2", "q2", "q2"]
    >>> ranker = mm.PrecisionAtK(k=1, C=10.0).fit(X, [1, 0, 0, 1, 0, 0], groups=queries)
    >>> ranker.score(X, [1, 0, 0, 1, 0, 0], groups=queries)
    1.0
    """

    n_restarts: ClassVar[int] = 1

    def __init__(
        self,
        *,
        k: int = 10,
        C: float = 1.0,
        start: Any = "classifier",
        start_C: float = 1.0,
        drop_empty: bool = False,
        bound: str = "margin",
        max_outer: int = 100,
        slack: str = "linear",
        nonnegative: Any = False,
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
        self.k, self.C, self.start, self.start_C, self.drop_empty = k, C, start, start_C, drop_empty
        self.bound, self.max_outer, self.slack, self.solver, self.tol = bound, max_outer, slack, solver, tol
        self.max_iter, self.max_seconds, self.n_jobs, self.random_state = max_iter, max_seconds, n_jobs, random_state
        self.nonnegative = nonnegative
        self.warm_start, self.verbose, self.callbacks = warm_start, verbose, callbacks
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole_number(self.k, "k")
        positive_number(self.start_C, "start_C")
        if isinstance(self.start, str) and self.start != "classifier":
            raise ValueError(f"start must be 'classifier' or weights, found {self.start!r}")

    def _make_structure(self) -> Structure:
        return TopK(k=self.k)

    def fit(self, X: Any, y: Any, groups: Any = None, *, qid: Any = None) -> Self:  # type: ignore[override]
        """Learn from documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.
        y : array-like of shape (n,)
            Relevance of each row; above 0 means relevant.
        groups : sequence of length n
            Query of each row, by any hashable names; the rows of a query need not be adjacent.
        qid : sequence of length n, default=None
            Another name of `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, groups=either(groups, qid, "groups", "qid"))

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        if sample_weight is not None:
            raise TypeError("PrecisionAtK does not accept sample_weight, only groups")
        y = Y if Y is None else _checked_relevance(Y)
        with naming_rows(X):
            X, y = validate_data(self, checked_rows(X), y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        queries = self._kept_queries(y, groups)
        return super()._prepare([X[rows] for rows in queries], [y[rows] for rows in queries], None)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        return replace(super()._training_data(X, Y, sample_weight, groups=groups), X=X, Y=Y)

    def _kept_queries(self, y: FloatArray, groups: Any) -> list[IntArray]:
        """Return the rows of each query that has a relevant document."""
        names, members = rows_by_query(_checked_groups(groups, len(y)))
        kept = [rows for rows in members if (y[rows] > 0).any()]
        if not kept:
            raise ValueError("no document is relevant: expected labels above 0 in y")
        if len(kept) < len(members) and not self.drop_empty:
            empty = [name for name, rows in zip(names, members, strict=True) if not (y[rows] > 0).any()]
            raise ValueError(
                f"query {empty[0]!r} has no relevant document (no label above 0), so it cannot be learnt from; "
                f"leave its rows out, or set drop_empty=True to leave out all such queries ({len(empty)} here)"
            )
        return kept

    def _first_weights(self, problem: Problem, restart: int) -> FloatArray | None:
        examples: Any = problem.examples
        return self._classifier(examples) if isinstance(self.start, str) else self._given(examples.dim)

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        self.start_coef_ = start
        return super()._references(problem, rng, start)

    def _given(self, dim: int) -> FloatArray:
        weights = np.array(self.start, float)
        if weights.shape != (dim,) or not np.isfinite(weights).all():
            raise ValueError(f"start must be {dim} finite weights, one for each feature, found shape {weights.shape}")
        return weights

    def _classifier(self, examples: TopKExamples) -> FloatArray:
        """Return weights that separate relevant documents from others; a document of n has weight 1/n."""
        relevant = examples.relevance > 0
        if relevant.all():
            return np.zeros(examples.dim)
        sizes = np.diff(examples.offsets)
        rows = examples.blocks[0].matrix()
        classifier = MulticlassSVM(C=self.start_C, tol=self.tol, n_jobs=self.n_jobs)
        classifier.fit(rows, relevant, sample_weight=np.repeat(1.0 / sizes, sizes))
        return classifier.coef_[1] - classifier.coef_[0]

    # ------------------------------------------------------------------ use

    def predict(self, X: Any) -> FloatArray:
        """Return the score of each row; among the documents of a query, those of the highest scores come first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.

        Returns
        -------
        ndarray of shape (n,)
            Scores.
        """
        check_is_fitted(self, "coef_")
        with naming_rows(X):
            X = validate_data(self, checked_rows(X), accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_)

    def decision_scores(self, X: Any) -> FloatArray:
        """Return the score of each row, as `predict` does.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.

        Returns
        -------
        ndarray of shape (n,)
            Scores.
        """
        return self.predict(X)

    def score(self, X: Any, y: Any, groups: Any = None, *, qid: Any = None) -> float:  # type: ignore[override]
        """Return the mean over queries of the precision at k (`maxmargin.metrics.precision_at_k`).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.
        y : array-like of shape (n,)
            Relevance of each row; above 0 means relevant.
        groups : sequence of length n
            Query of each row.
        qid : sequence of length n, default=None
            Another name of `groups`.

        Returns
        -------
        float
            The mean precision, between 0 and 1.
        """
        scores, groups = self.predict(X), either(groups, qid, "groups", "qid")
        return precision_at_k(_checked_relevance(y), scores, _checked_groups(groups, len(scores)), self.k)

    def _weight_names(self, structure: Any, size: int) -> AnyArray:
        """Return the name of each weight, by the names of the columns if X had some."""
        return np.asarray(getattr(self, "feature_names_in_", structure.feature_names()), object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _checked_groups(groups: Any, n: int) -> Any:
    """Return the query of each of n rows; raise ValueError if they are not given."""
    if groups is None:
        raise ValueError(
            "groups= is required: the query of each row (qid= is another name). In a search or a cross-validation, "
            "sklearn.set_config(enable_metadata_routing=True), "
            "PrecisionAtK().set_fit_request(groups=True).set_score_request(groups=True), and pass groups as "
            "cross_val_score(…, params={'groups': groups}) or GridSearchCV(…).fit(X, y, groups=groups)"
        )
    groups = groups.to_numpy() if hasattr(groups, "to_numpy") else groups
    shape = getattr(groups, "shape", None)
    if not is_list(groups) or (shape is not None and len(shape) != 1):
        found = type(groups).__name__ if shape is None else f"an array of shape {shape}"
        raise ValueError(f"groups: expected a sequence with the query of each row, found {found}")
    if len(groups) != n:
        raise ValueError(f"X has {n} rows but groups has {len(groups)}")
    if not isinstance(groups, np.ndarray) or groups.dtype == object:
        for i, query in enumerate(groups):
            _check_name(query, f"groups[{i}]")
    return groups


def _check_name(query: Any, where: str) -> None:
    """Raise ValueError if a query is not hashable."""
    try:
        hash(query)
    except TypeError:
        raise ValueError(
            f"{where}: a query must be hashable (a string, a number), found {type(query).__name__} {query!r:.60}"
        ) from None


def _checked_relevance(y: Any) -> AnyArray:
    """Return finite relevance labels; raise ValueError for the first that is not finite."""
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind in "biuf" and np.isfinite(labels).all():
        return labels
    return np.array([_finite_label(label, f"y[{i}]") for i, label in enumerate(labels.tolist())])


def _finite_label(label: Any, where: str) -> float:
    try:
        value = math.nan if isinstance(label, str | bytes) else float(label)
    except OverflowError:
        raise beyond_floats(f"{where}: relevance must be a number") from None
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(
            f"{where}: relevance must be a finite number (above 0 means relevant), found {type(label).__name__} "
            f"{label!r:.60}"
        )
    return value
