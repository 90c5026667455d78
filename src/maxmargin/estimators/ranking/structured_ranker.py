"""`StructuredRanker`: rankings of documents that optimise a measure of rankings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from maxmargin._base.checks import changed, choice, declared, parameter, positive_number
from maxmargin._base.types import AnyArray, FloatArray
from maxmargin.bounds import Bound
from maxmargin.estimators.kernelised import Kernelised, part_kernel
from maxmargin.estimators.ranking.queries import QueryRanker, check_drop_empty
from maxmargin.estimators.starts import CONVEX, NamedStart
from maxmargin.metrics.gains import gains
from maxmargin.metrics.ranking import mean_average_precision, ndcg_at_k, pair_accuracy, precision_at_k
from maxmargin.problem import Problem, References
from maxmargin.structures.ranking.structure import Ranking, parsed_measure

#: Measures whose labels leave several rankings equally good.
_WITH_TIES = ("ndcg", "precision")


@declared
class StructuredRanker(Kernelised, QueryRanker):
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
    "precision@k"  greatest possible precision@k minus its own    Yu and Joachims 2009
    ============== ============================================== =======================================

    All pairs of a query are one example, found by sorting, so differences of documents are never formed.

    Features should be comparable between queries (LETOR's are scaled to [0, 1] query by query).

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights; with a kernel, the coefficients of the training rows that `feature_names_out` names.
    start_coef_ : ndarray of shape (d,) or None
        The weights that training started with, for ``"ties"`` and ``"ramp"``; None with a kernel.
    certificate_, history_, stop_reason_, support_ : object
        As in `StructuralSVM`; with ``"ties"`` and ``"ramp"`` as there with latent variables.
    n_dropped_ : int
        Number of queries that were left out.
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

    Read on: "Rankings and diverse selections" in the documentation.
    """

    measure: str = parameter(
        'The measure, as above. With the other defaults, ``"ndcg@10"`` has the best NDCG, average precision '
        'and precision@10 on the validation data of OHSUMED; ``"pairwise"`` and ``"ap"``, which are convex, '
        "are 0.006 and 0.014 behind in NDCG@10 (benchmarks/results/p4_ndcg.md).",
        default="ndcg@10",
    )
    bound: str = changed(
        'How the loss is bounded. ``"margin"`` is convex, and compares with one best ranking. If labels are '
        "tied, many rankings are best, and asking for a certain one often leaves w = 0 (Do et al. 2008). "
        '``"ties"`` compares with the one of them that has the best score, and ``"ramp"`` with the ranking '
        'that is predicted; both are not convex, so the result depends on the start. ``"auto"`` is '
        '``"margin"`` for ``"pairwise"`` and ``"ap"``, in which ties do not count, ``"ties"`` for '
        '``"precision@k"``, and ``"ramp"`` for ``"ndcg@k"``.',
        choice("auto", "margin", "ties", "ramp"),
        default="auto",
        kind='{"auto", "margin", "ties", "ramp"}',
    )
    C: float = changed("Trade-off; the loss of each query is between 0 and 1.", default=1.0)
    gain: str = parameter(
        "Gain of relevance r for NDCG: 2^r − 1, or r.", default="exponential", kind='{"exponential", "linear"}'
    )
    discount: str = parameter(
        "Discount of position p for NDCG: 1/log2(p + 1), or LETOR's 1/log2(max(p, 2)).",
        default="log2",
        kind='{"log2", "letor"}',
    )
    start: Any = changed(
        'The weights that ``"ties"`` and ``"ramp"`` start with: those of ``measure="pairwise"``, of a '
        '``"classifier"`` of relevant documents, ``"convex"`` (those of ``bound="margin"``), ``"perceptron"``, given '
        "weights, those of a fitted estimator, or a list of several of these, of which the one with the best objective "
        'is kept. ``"auto"`` is the classifier for ``"precision@k"`` (Yu and Joachims 2009), and ``"pairwise"`` for '
        "NDCG.",
        default="auto",
    )
    start_C: float = parameter("Trade-off of the start.", positive_number, default=1.0)
    drop_empty: Any = parameter(
        "Whether to leave out queries that cannot be learnt from: those without a relevant document or, for "
        '``"pairwise"``, without two documents of different relevance. ``"note"`` leaves them out with a '
        "warning that says how many, True without, and for False they are an error.",
        check_drop_empty,
        default="note",
        kind='{"note", True, False}',
    )
    max_outer: int = changed('Maximum number of outer steps of ``"ties"`` and ``"ramp"``.', default=100)

    # ------------------------------------------------------------------ parameters

    _structure = Ranking

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
        self._make_structure().form()  # type: ignore[attr-defined]
        super()._check_parameters()
        if self._bound_used == "ties" and self._name not in _WITH_TIES:
            raise ValueError(
                f"bound='ties' is for measures in which the order of documents of equal relevance matters (ndcg, "
                f"precision), and measure={self.measure!r} is not: use bound='margin'"
            )

    # ------------------------------------------------------------------ fit

    def _check_labels(self, labels: FloatArray) -> None:
        if self._name == "ndcg":
            gains(labels, self.gain, lambda row: f"y[{row}]")

    def _useful(self, labels: FloatArray) -> bool:
        return bool(labels.min() < labels.max()) if self._name == "pairwise" else super()._useful(labels)

    def _useless(self) -> tuple[str, str]:
        if self._name != "pairwise":
            return super()._useless()
        return (
            "no query has two documents of different relevance, so there is no pair to order",
            "has no two documents of different relevance",
        )

    def _shown(self) -> int | None:
        name, k = parsed_measure(self.measure)
        return k if name == "precision" else None

    def _decides(self, labels: FloatArray) -> bool:
        return bool(labels.min() < labels.max()) if self._name in ("ndcg", "pairwise") else super()._decides(labels)

    def _references(self, problem: Problem, rng: np.random.Generator, start: FloatArray | None) -> References:
        """Return completions of the truth at the start; for a ramp of NDCG the rankings predicted there."""
        if self._completes or self._name == "precision" or start is None:
            return super()._references(problem, rng, start)
        self.start_coef_ = start if part_kernel(self) is None else None
        problem.references = References.truths(problem.n_examples)
        return problem.references_at(start, latent=False)

    @property
    def _auto_start(self) -> str:
        if self._convex or self._name not in _WITH_TIES:
            return CONVEX
        return {"precision": "classifier"}.get(self._name, "pairwise")

    def _classifier_start(self, data: Any, problem: Problem, restart: int) -> FloatArray:
        """Return weights that separate relevant documents from others."""
        examples: Any = problem.examples
        rows, sizes = examples.blocks[0].matrix(), np.diff(examples.offsets)
        return self._classifier(rows, examples.labels > 0, sizes, self.start_C)

    def _pairwise_start(self, data: Any, problem: Problem, restart: int) -> FloatArray:
        """Return the weights of the ranking SVM; 0 if no query has a pair."""
        examples: Any = problem.examples
        rows, labels, sizes = examples.blocks[0].matrix(), examples.labels, np.diff(examples.offsets)
        queries = np.repeat(np.arange(len(sizes)), sizes)
        firsts = np.cumsum(sizes) - sizes
        if (np.maximum.reduceat(labels, firsts) == np.minimum.reduceat(labels, firsts)).all():
            return np.zeros(rows.shape[1])
        ranker = StructuredRanker(measure="pairwise", C=self.start_C, drop_empty=True, tol=self.tol, n_jobs=self.n_jobs)
        return ranker.fit(rows, labels, groups=queries).coef_

    named_starts: ClassVar[Mapping[str, NamedStart]] = {
        **QueryRanker.named_starts,
        "pairwise": _pairwise_start,
        "classifier": _classifier_start,
    }

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
