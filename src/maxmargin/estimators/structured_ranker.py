"""`StructuredRanker`: rankings of documents that optimise a measure of rankings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from maxmargin._checked import positive_number
from maxmargin._input import either
from maxmargin._types import AnyArray, FloatArray
from maxmargin.bounds import Bound
from maxmargin.bounds.references import References
from maxmargin.core.problem import Problem
from maxmargin.estimators._kernel import part_kernel
from maxmargin.estimators._queries import QueryRanker
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.metrics.gains import gains
from maxmargin.metrics.ranking import mean_average_precision, ndcg_at_k, pair_accuracy, precision_at_k
from maxmargin.solvers.base import State
from maxmargin.structures.ranking.structure import Ranking, parsed_measure
from maxmargin.training.cccp import ConcaveConvex
from maxmargin.training.run import Run

#: Measures whose labels leave several rankings equally good.
_WITH_TIES = ("ndcg", "precision")


class StructuredRanker(QueryRanker):
    """Ranking of the documents of queries by scores w·x, learnt for a measure of rankings.

        ½‖w‖² + C Σ_q H_q(w)

    H_q bounds the loss of query q, between 0 and 1, whatever the number of its documents:

    ============== ============================================== =======================================
    measure        loss                                           reference
    ============== ============================================== =======================================
    "pairwise"     share of pairs of documents of different       Joachims 2002, 2006: the ranking SVM
                   relevance in the wrong order
    "ndcg@k"       1 − NDCG@k; "ndcg" for all positions           Do et al. 2008
    "ap"           1 − average precision                          Yue et al. 2007
    "precision@k"  greatest possible precision@k minus its own    Yu and Joachims 2009 (`PrecisionAtK`)
    ============== ============================================== =======================================

    All pairs of a query are one example, found by sorting, so that differences of documents are never formed.

    Features should be comparable between queries (LETOR's are scaled to [0, 1] query by query).

    Parameters
    ----------
    measure : str, default="ndcg@10"
        The measure, as above. With the other defaults, ``"ndcg@10"`` has the best NDCG, average precision and
        precision@10 on the validation data of OHSUMED; ``"pairwise"`` and ``"ap"``, which are convex, are 0.006 and
        0.014 behind in NDCG@10 (benchmarks/results/p4_ndcg.md).
    bound : {"auto", "margin", "ties", "ramp"}, default="auto"
        How the loss is bounded. ``"margin"`` is convex, and compares with one best ranking. If labels are tied, many
        rankings are best, and asking for a certain one often leaves w = 0 (Do et al. 2008). ``"ties"`` compares with
        the one of them that has the best score, and ``"ramp"`` with the ranking that is predicted; both are not convex,
        so that the result depends on the start. ``"auto"`` is ``"margin"`` for ``"pairwise"`` and ``"ap"``, in which
        ties do not count, ``"ties"`` for ``"precision@k"``, and ``"ramp"`` for ``"ndcg@k"``.
    C : float, default=1.0
        Trade-off; the loss of each query is between 0 and 1.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of relevance r for NDCG: 2^r − 1, or r.
    discount : {"log2", "letor"}, default="log2"
        Discount of position p for NDCG: 1/log2(p + 1), or LETOR's 1/log2(max(p, 2)).
    start : {"auto", "pairwise", "classifier"} or array-like of shape (d,), default="auto"
        The weights that ``"ties"`` and ``"ramp"`` start with: those of ``measure="pairwise"``, of a classifier of
        relevant documents, or given. ``"auto"`` is the classifier for ``"precision@k"``, as in `PrecisionAtK`, and
        ``"pairwise"`` for NDCG.
    start_C : float, default=1.0
        Trade-off of the start.
    drop_empty : bool, default=False
        Whether to leave out queries that cannot be learnt from, which are an error otherwise: those without a relevant
        document or, for ``"pairwise"``, without two documents of different relevance.
    max_outer : int, default=100
        Greatest number of outer steps of ``"ties"`` and ``"ramp"``.
    slack, nonnegative, kernel, degree, gamma, coef0, n_components, kernel_method, solver, tol, max_iter, \
    max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights; with a kernel, the coefficients of the training rows that `feature_names_out` names.
    start_coef_ : ndarray of shape (d,) or None
        The weights that training started with, for ``"ties"`` and ``"ramp"``; None with a kernel.
    certificate_, history_, stop_reason_, support_ : object
        As in `StructuralSVM`; with ``"ties"`` and ``"ramp"`` as in `LatentStructuralSVM`.
    n_features_in_, feature_names_in_ : object
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> X = np.array([[1.0, 0.2], [0.8, 0.9], [0.1, 0.4], [0.9, 0.5], [0.2, 0.3], [0.4, 0.8]])
    >>> y, queries = [2, 1, 0, 2, 0, 0], ["q1", "q1", "q1", "q2", "q2", "q2"]
    >>> ranker = mm.StructuredRanker(measure="ndcg@2", C=10.0).fit(X, y, groups=queries)
    >>> ranker.score(X, y, groups=queries)
    1.0
    """

    _bounds: ClassVar[tuple[str, ...]] = ("auto", "margin", "ties", "ramp")

    def __init__(
        self,
        *,
        measure: str = "ndcg@10",
        bound: str = "auto",
        C: float = 1.0,
        gain: str = "exponential",
        discount: str = "log2",
        start: Any = "auto",
        start_C: float = 1.0,
        drop_empty: bool = False,
        max_outer: int = 100,
        slack: str = "linear",
        nonnegative: Any = False,
        kernel: Any = "linear",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        n_components: int | None = None,
        kernel_method: str = "auto",
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
        self.measure, self.bound, self.C, self.gain, self.discount = measure, bound, C, gain, discount
        self.start, self.start_C, self.drop_empty, self.max_outer = start, start_C, drop_empty, max_outer
        self.slack, self.nonnegative, self.solver, self.tol = slack, nonnegative, solver, tol
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.max_iter, self.max_seconds, self.n_jobs, self.random_state = max_iter, max_seconds, n_jobs, random_state
        self.warm_start, self.verbose, self.callbacks = warm_start, verbose, callbacks
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every

    # ------------------------------------------------------------------ parameters

    @property
    def _name(self) -> str:
        return parsed_measure(self.measure)[0]

    @property
    def _bound_used(self) -> str:
        """What ``"auto"`` stands for."""
        if self.bound != "auto":
            return self.bound
        return {"ndcg": "ramp", "precision": "ties"}.get(self._name, "margin")

    @property
    def _convex(self) -> bool:
        return self._bound_used == "margin"

    @property
    def _completes(self) -> bool:
        return self._bound_used == "ties"

    def _bound(self) -> Bound:
        return Bound("margin", self.slack)

    def _check_parameters(self) -> None:
        self._make_structure().form()
        super()._check_parameters()
        positive_number(self.start_C, "start_C")
        if isinstance(self.start, str) and self.start not in ("auto", "pairwise", "classifier"):
            raise ValueError(f"start must be 'auto', 'pairwise', 'classifier' or weights, found {self.start!r}")
        if self._bound_used == "ties" and self._name not in _WITH_TIES:
            raise ValueError(
                f"bound='ties' is for measures in which the order of documents of equal relevance matters (ndcg, "
                f"precision), and measure={self.measure!r} is not: use bound='margin'"
            )

    def _make_structure(self) -> Ranking:
        return Ranking(measure=self.measure, gain=self.gain, discount=self.discount)

    # ------------------------------------------------------------------ fit

    def resume(  # type: ignore[override]
        self, path: str | os.PathLike[str], X: Any, y: Any, groups: Any = None, *, qid: Any = None
    ) -> Self:
        """Resume a fit from a checkpoint; the result is bit for bit that of an uninterrupted fit.

        Only ``bound="margin"`` writes checkpoints. Data and parameters must be those of the fit that wrote the
        checkpoint, except the stopping criteria `tol`, `max_iter` and `max_seconds`.

        Parameters
        ----------
        path : str or path-like
            File of the checkpoint.
        X, y, groups, qid : object
            As in `fit`.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, groups=either(groups, qid, "groups", "qid"), resume=path)

    def _check_labels(self, labels: FloatArray) -> None:
        if self._name == "ndcg":
            gains(labels, self.gain, lambda row: f"y[{row}]")

    def _useful(self, labels: FloatArray) -> bool:
        return bool(labels.min() < labels.max()) if self._name == "pairwise" else super()._useful(labels)

    def _useless(self) -> tuple[str, str]:
        if self._name != "pairwise":
            return super()._useless()
        return (
            "no query has two documents of different relevance, so that there is no pair to order",
            "has no two documents of different relevance",
        )

    def _shown(self) -> int | None:
        name, k = parsed_measure(self.measure)
        return k if name == "precision" else None

    def _decides(self, labels: FloatArray) -> bool:
        return bool(labels.min() < labels.max()) if self._name in ("ndcg", "pairwise") else super()._decides(labels)

    def _train(
        self, problem: Problem, run: Run, start: FloatArray | None = None, resume: Any = None, state: Any = None
    ) -> State:
        if self._convex:
            return MaxMarginEstimator._train(self, problem, run, start, resume, state)
        if self._name not in _WITH_TIES:  # their convex bound is a good start
            start = start if state is None else state.best_w
            return ConcaveConvex(run, False, self.max_outer).go(problem, References.truths(problem.n_examples), start)
        return super()._train(problem, run, start, resume, state)

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        """Return completions of the truth at the start; for a ramp of NDCG the rankings predicted there."""
        if self._completes or self._name == "precision" or start is None:
            return super()._references(problem, rng, start)
        self.start_coef_ = start if part_kernel(self) is None else None
        problem.references = References.truths(problem.n_examples)
        return problem.references_at(start, latent=False)

    def _first_weights(self, problem: Problem, restart: int) -> FloatArray | None:
        examples: Any = problem.examples
        if not isinstance(self.start, str):
            return self._given(examples.dim)
        kind = {"precision": "classifier"}.get(self._name, "pairwise") if self.start == "auto" else self.start
        rows, sizes = examples.blocks[0].matrix(), np.diff(examples.offsets)
        if kind == "classifier":
            return self._classifier(rows, examples.labels > 0, sizes, self.start_C)
        return self._pairwise(rows, examples.labels, sizes)

    def _pairwise(self, rows: Any, labels: FloatArray, sizes: Any) -> FloatArray:
        """Return the weights of the ranking SVM; 0 if no query has a pair."""
        queries = np.repeat(np.arange(len(sizes)), sizes)
        firsts = np.cumsum(sizes) - sizes
        if (np.maximum.reduceat(labels, firsts) == np.minimum.reduceat(labels, firsts)).all():
            return np.zeros(rows.shape[1])
        ranker = StructuredRanker(measure="pairwise", C=self.start_C, drop_empty=True, tol=self.tol, n_jobs=self.n_jobs)
        return ranker.fit(rows, labels, groups=queries).coef_

    # ------------------------------------------------------------------ use

    def _measured(self, y: AnyArray, scores: FloatArray, groups: Any) -> float:
        name, k = parsed_measure(self.measure)
        if name == "ndcg":
            self._check_labels(np.asarray(y, float))
            return ndcg_at_k(y, scores, groups, k, gain=self.gain, discount=self.discount)
        if name == "precision":
            assert k is not None
            return precision_at_k(y, scores, groups, k)
        return mean_average_precision(y, scores, groups) if name == "ap" else pair_accuracy(y, scores, groups)
