"""`PrecisionAtK`: rankings whose first k documents are relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxmargin._checked import positive_number, whole_number
from maxmargin._types import AnyArray, FloatArray
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Structure
from maxmargin.estimators._queries import QueryRanker
from maxmargin.metrics.ranking import precision_at_k
from maxmargin.structures.ranking.top_k import TopK


class PrecisionAtK(QueryRanker):
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
    slack, nonnegative, kernel, degree, gamma, coef0, n_components, kernel_method, solver, tol, max_iter, \
    max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, checkpoint, checkpoint_every : optional
        As in `LatentStructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The weights; with a kernel, the coefficients of the training rows that `feature_names_out` names.
    start_coef_ : ndarray of shape (d,) or None
        The weights that training started with: those of the classifier, those given, or those of the last fit; None
        with a kernel.
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
        self.k, self.C, self.start, self.start_C, self.drop_empty = k, C, start, start_C, drop_empty
        self.bound, self.max_outer, self.slack, self.solver, self.tol = bound, max_outer, slack, solver, tol
        self.max_iter, self.max_seconds, self.n_jobs, self.random_state = max_iter, max_seconds, n_jobs, random_state
        self.nonnegative = nonnegative
        self.kernel, self.degree, self.gamma, self.coef0 = kernel, degree, gamma, coef0
        self.n_components, self.kernel_method = n_components, kernel_method
        self.warm_start, self.verbose, self.callbacks = warm_start, verbose, callbacks
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every

    def _check_parameters(self) -> None:
        super()._check_parameters()
        whole_number(self.k, "k")
        positive_number(self.start_C, "start_C")
        if isinstance(self.start, str) and self.start != "classifier":
            raise ValueError(f"start must be 'classifier' or weights, found {self.start!r}")

    def _make_structure(self) -> Structure:
        return TopK(k=self.k)

    def _shown(self) -> int:
        return self.k

    def _first_weights(self, problem: Problem, restart: int) -> FloatArray | None:
        examples: Any = problem.examples
        if not isinstance(self.start, str):
            return self._given(examples.dim)
        rows, sizes = examples.blocks[0].matrix(), np.diff(examples.offsets)
        return self._classifier(rows, examples.labels > 0, sizes, self.start_C)

    def _measured(self, y: AnyArray, scores: FloatArray, groups: Any) -> float:
        return precision_at_k(y, scores, groups, self.k)
