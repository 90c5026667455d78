"""`RNAFolder`: the secondary structure of RNA sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from maxmargin._input import either, paired_examples
from maxmargin.core.structure import Structure
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.metrics.base_pairs import base_pair_scores
from maxmargin.structures.folding.structure import Folding, check_cost


class RNAFolder(MaxMarginEstimator):
    """Secondary structure of RNA, learnt from sequences with known structures (Do et al. 2008).

    Sequences are strings of A, C, G and U, or Biopython's `Seq` and `SeqRecord`; T is read as U, lower case as upper
    case, and N and the other letters that stand for several bases as unknown bases. Structures are strings in
    dot-bracket notation without pseudoknots. The weights are those of the terms of energy models; `Folding` lists them.
    `maxmargin.formats` reads and writes FASTA, dot-bracket and CT files.

    Parameters
    ----------
    loss : "recall" or dict, default="recall"
        The loss: 1 − recall, the fraction of true pairs that are missed; or ``{"missed": a, "false": b}``, the costs of
        each missed and of each false pair. 1 − recall does not penalise false pairs, so that more pairs are predicted.
    canonical : bool, default=True
        Whether only A–U, C–G and G–U pair; otherwise all bases do.
    min_hairpin : int, default=3
        Least number of bases in a hairpin.
    max_loop : int, default=30
        Greatest number of unpaired bases in a bulge or an interior loop.
    impossible : {"error", "drop"}, default="error"
        What to do with true structures that cannot be predicted: raise an error, or drop pairs and warn; see `Folding`.
    C : float, default=1.0
        Trade-off.
    bound : {"margin", "slack", "ramp", "ramp-slack"}, default="margin"
        Margin or slack re-scaling, or the ramp of either; slack re-scaling searches, with a proven bound.
    prior : array-like of shape (n_weights,) or None, default=None
        Weights w₀ that the regulariser ½‖w − w₀‖² prefers, for example those of a model of other data.
    tol : float, default=1e-3
        Relative gap at which training stops. With ``loss="recall"`` and real data the least objective may be within 1 %
        of that of w = 0, which predicts no pairs, so that a fit with a larger gap may end there.
    slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        The weights; `feature_names_out` names them, and `weights_frame` has them as a table.
    structure_ : Folding
        The structure; ``structure_.split_weights(coef_)`` has the weights by kind of term.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = ["GGGAAAACCC", "GCGAAAGCAA"], ["(((....)))", "((....)).."]
    >>> model = mm.RNAFolder(C=10.0).fit(X, Y)
    >>> model.predict(["ggcaaaagcc"])
    ['(((....)))']
    """

    def __init__(
        self,
        *,
        loss: Any = "recall",
        canonical: bool = True,
        min_hairpin: int = 3,
        max_loop: int = 30,
        impossible: str = "error",
        C: float = 1.0,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        prior: Any = None,
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
        self.loss, self.canonical, self.min_hairpin = loss, canonical, min_hairpin
        self.max_loop, self.impossible = max_loop, impossible
        self.C, self.bound, self.slack, self.solver = C, bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative, self.prior = nonnegative, prior
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        return Folding(
            cost=self.loss, canonical=self.canonical, min_hairpin=self.min_hairpin, max_loop=self.max_loop,
            impossible=self.impossible,
        )  # fmt: skip

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_cost(self.loss, "loss")
        self._make_structure().check_parameters()  # type: ignore[attr-defined]

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return F1 of base pairs, pooled over all sequences.

        `maxmargin.metrics.base_pair_scores` has sensitivity and selectivity.

        Parameters
        ----------
        X, Y : sequence of str
            Sequences and their true structures, which may have pairs that cannot be predicted.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence, for all of its pairs.
        y : sequence of str, default=None
            Another name of Y.

        Returns
        -------
        float
            Between 0 and 1; 0 if there are neither true nor predicted pairs.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(X, either(Y, y, "Y", "y"))
        return base_pair_scores(Y, self.predict(X), sample_weight=sample_weight).f1
