"""Base class of estimators that rank the documents of queries: rows, labels and the query of each row."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from maxmargin._base.checks import beyond_floats
from maxmargin._base.errors import callers_level
from maxmargin._base.input import checked_rows, indexable, naming_rows
from maxmargin._base.types import AnyArray, FloatArray, IntArray
from maxmargin.estimators.kernelised import part_kernel, precomputed
from maxmargin.estimators.latent import LatentEstimator
from maxmargin.estimators.rows.multiclass import MulticlassSVM
from maxmargin.estimators.training_data import TrainingData
from maxmargin.metrics.queries import checked_groups, rows_by_query, sizes_hint
from maxmargin.problem import Problem, References


def check_drop_empty(value: Any, name: str) -> None:
    """Raise ValueError unless the value is True, False or "note"."""
    if not (isinstance(value, bool | np.bool_) or value == "note"):
        raise ValueError(f"{name} must be 'note', True or False, found {value!r:.60}")


class QueryRanker(LatentEstimator):
    """Base class of estimators whose `fit` takes rows, their relevance and the query of each row.

    A subclass defines `_measured`, the metric of `score`, and may define `_useful`, which queries can be learnt from.
    """

    @abstractmethod
    def _measured(self, y: AnyArray, scores: FloatArray, groups: Any) -> float:
        """Return the metric of scores."""

    def _useful(self, labels: FloatArray) -> bool:
        """Return whether a query with these labels can be learnt from."""
        return bool((labels > 0).any())

    def _useless(self) -> tuple[str, str]:
        """Return why no query can be learnt from, and why one query cannot."""
        return (
            "no document is relevant: expected labels above 0 in y",
            "has no relevant document (no label above 0)",
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if precomputed(self):
            raise ValueError(
                "kernel='precomputed' has a column for each row in the order of queries, which X does not have: use a "
                "function, or StructuralSVM(Ranking()) with a table for each query"
            )
        if part_kernel(self) is not None and not isinstance(self.start, str):
            raise ValueError("start refers to the weights of features, which a kernel replaces: pass its name")

    def _check_labels(self, labels: FloatArray) -> None:
        """Raise ValueError for the first label that the measure cannot use."""
        return None

    def fit(  # type: ignore[override]
        self, X: Any, y: Any, groups: Any = None, *, qid: Any = None, resume: Any = None, group: Any = None
    ) -> Self:
        """Learn from documents.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.
        y : array-like of shape (n,)
            Relevance of each row, higher for more relevant documents; above 0 means relevant.
        groups : sequence of length n
            Query of each row, by any hashable names; the rows of a query need not be adjacent.
        qid : sequence of length n, default=None
            Another name of `groups`, as LETOR's files have it.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`. Only
            ``bound="margin"`` writes checkpoints.
        group : None
            Sizes of queries, as LightGBM and XGBoost take them, raise a TypeError that says how to pass `groups`.

        Returns
        -------
        self
            The fitted estimator.
        """
        if group is not None:
            raise TypeError(
                f"{type(self).__name__}.fit takes the query of each row, not the sizes of queries: in place of group=, "
                f"pass groups=np.repeat(np.arange(len(sizes)), sizes)"
            )
        return self._fit(X, y, groups=given_queries(groups, qid), resume=resume)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        if sample_weight is not None:
            raise TypeError(f"{type(self).__name__} does not accept sample_weight, only groups")
        y = Y if Y is None else checked_relevance(Y)
        with naming_rows(X):
            X, y = validate_data(self, checked_rows(X), y, accept_sparse="csr", dtype=np.float64, y_numeric=True)
        self._check_labels(y)
        queries = self._kept_queries(y, groups)
        self._queries = queries
        return super()._prepare([X[rows] for rows in queries], [y[rows] for rows in queries], None)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        data = super()._training_data(X, Y, sample_weight, groups=groups)
        rows = np.concatenate(self._queries)
        del self._queries
        structure: Any = data.structure
        examples: Any = data.examples
        structure.name_points(rows, examples.offsets)
        return replace(data, X=X, Y=Y, encoded=np.arange(rows.max() + 1))

    def _kept_queries(self, y: FloatArray, groups: Any) -> list[IntArray]:
        """Return the rows of each query that can be learnt from."""
        names, members = rows_by_query(given_groups(groups, len(y), type(self).__name__))
        useful = [self._useful(y[rows]) for rows in members]
        self.n_dropped_ = useful.count(False)
        if not any(useful):
            raise ValueError(self._useless()[0])
        if self.n_dropped_ and self.drop_empty is not True:
            name = names[useful.index(False)]
            if not self.drop_empty:
                raise ValueError(
                    f"query {name!r} {self._useless()[1]}, so it cannot be learnt from; "
                    f"leave its rows out, or set drop_empty=True to leave out all such queries ({self.n_dropped_} here)"
                )
            warnings.warn(
                f"{self.n_dropped_} of {len(names)} queries are left out, since they cannot be learnt from: query "
                f"{name!r} {self._useless()[1]}; drop_empty=True leaves them out without this note, and "
                f"drop_empty=False makes them an error",
                UserWarning,
                stacklevel=callers_level(),
            )
        kept = [rows for rows, fine in zip(members, useful, strict=True) if fine]
        self._check_choice([y[rows] for rows in kept])
        return kept

    def _check_choice(self, labels: list[FloatArray]) -> None:
        """Raise ValueError if k leaves nothing to choose; warn if all rankings of all queries are equally good."""
        k, largest = self._shown(), max(map(len, labels))
        if k is not None and largest <= k:
            raise ValueError(
                f"no query has more than {k} documents (the largest has {largest}), so showing {k} of them leaves "
                f"no choice; use a smaller k"
            )
        if not any(self._decides(own) for own in labels):
            warnings.warn(
                "no query has two documents of different relevance, so all rankings are equally good, and all "
                "weights are 0",
                UserWarning,
                stacklevel=callers_level(),
            )

    def _shown(self) -> int | None:
        """Return the number of documents of a set that is shown without an order; None if their order counts."""
        return None

    def _decides(self, labels: FloatArray) -> bool:
        """Return whether rankings of documents with these labels differ in the measure."""
        return bool(0 < np.count_nonzero(labels > 0) < len(labels))

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        self.start_coef_ = start if part_kernel(self) is None else None
        return super()._references(problem, rng, start)

    def _classifier(self, rows: Any, relevant: AnyArray, sizes: IntArray, C: float) -> FloatArray:
        """Return weights that separate relevant documents from others; a document of n has weight 1/n."""
        if relevant.all():
            return np.zeros(rows.shape[1])
        classifier = MulticlassSVM(C=C, tol=self.tol, n_jobs=self.n_jobs)
        classifier.fit(rows, relevant, sample_weight=np.repeat(1.0 / sizes, sizes))
        weights: FloatArray = classifier.coef_[0]
        return weights

    # ------------------------------------------------------------------ use

    _no_single_inputs = "an input is a row, and a ranking one of many: use predict, which returns the scores of rows"

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
        return self._row_scores(X, self.coef_)

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

    def rank(self, X: Any, groups: Any = None, *, qid: Any = None, documents: Any = None) -> dict[Any, list[Any]]:
        """Return the documents of each query, best first.

        `maxmargin.formats.write_trec_run` writes a ranking to a file.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.
        groups : sequence of length n
            Query of each row.
        qid : sequence of length n, default=None
            Another name of `groups`, as LETOR's files have it.
        documents : sequence of length n, default=None
            Name of each row; its position by default.

        Returns
        -------
        dict of list
            The documents of each query from the highest score to the lowest; ties go to the earlier row. Queries are in
            the order of their first rows.
        """
        scores = self.predict(X)
        groups = given_groups(given_queries(groups, qid), len(scores), type(self).__name__)
        names, members = rows_by_query(groups)
        if documents is not None and len(documents) != len(scores):
            raise ValueError(f"X has {len(scores)} rows but documents has {len(documents)}")
        ranked = [rows[np.argsort(-scores[rows], kind="stable")].tolist() for rows in members]
        if documents is not None:
            documents = indexable(documents, "documents")
            ranked = [[documents[row] for row in rows] for rows in ranked]
        return dict(zip(names, ranked, strict=True))

    def score(self, X: Any, y: Any, groups: Any = None, *, qid: Any = None) -> float:
        """Return the mean over queries of the measure.

        A query without a relevant document counts as 0, as in LETOR; for pairs, a query without pairs is left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            A row for each document and query.
        y : array-like of shape (n,)
            Relevance of each row; above 0 means relevant.
        groups : sequence of length n
            Query of each row.
        qid : sequence of length n, default=None
            Another name of `groups`, as LETOR's files have it.

        Returns
        -------
        float
            The mean, between 0 and 1.
        """
        scores, groups = self.predict(X), given_queries(groups, qid)
        return self._measured(checked_relevance(y), scores, given_groups(groups, len(scores), type(self).__name__))

    def _weight_names(self, structure: Any, size: int) -> AnyArray:
        """Return the name of each weight, by the names of the columns if X had some."""
        if structure.features_ is not None or not hasattr(self, "feature_names_in_"):
            return np.asarray(structure.feature_names(), object)
        return np.asarray(self.feature_names_in_, object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def given_groups(groups: Any, n: int, estimator: str) -> Any:
    """Return the query of each of n rows; raise ValueError if they are not given."""
    if groups is None:
        raise ValueError(
            "groups= is required: the query of each row (qid= is another name). In a search or a cross-validation, "
            "sklearn.set_config(enable_metadata_routing=True), "
            f"{estimator}().set_fit_request(groups=True).set_score_request(groups=True), and pass groups as "
            "cross_val_score(…, params={'groups': groups}) or GridSearchCV(…).fit(X, y, groups=groups)"
        )
    groups = checked_groups(groups)
    if len(groups) != n:
        raise ValueError(f"X has {n} rows but groups has {len(groups)}{sizes_hint(groups, n)}")
    return groups


def given_queries(groups: Any, qid: Any) -> Any:
    """Return the query of each row by either of its names; raise TypeError if both were given."""
    if groups is not None and qid is not None:
        raise TypeError("groups and qid are the same argument: pass one of them")
    return qid if groups is None else groups


def checked_relevance(y: Any) -> AnyArray:
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
