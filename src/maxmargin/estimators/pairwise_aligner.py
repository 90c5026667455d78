"""`PairwiseAligner`: alignments of two sequences, learnt from examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._input import either, example_weights, paired_examples
from maxmargin._types import FloatArray, IntArray
from maxmargin.core.structure import Structure
from maxmargin.encoding.position_fields import RESIDUE
from maxmargin.estimators._aligned_input import aligned_examples, pairs_of, spelt_alignments
from maxmargin.estimators._substitution import (
    check_substitution_prior,
    is_log_odds,
    matrix_prior,
    substitution_centre,
)
from maxmargin.estimators.alignment_baselines import LogOddsAligner
from maxmargin.estimators.base import MaxMarginEstimator, TrainingData
from maxmargin.io.formats.biopython import alignment_of_strings, biopython, matrix_of_weights
from maxmargin.metrics.alignments import alignment_recall, q_score
from maxmargin.structures.alignment.structure import AMINO_ACIDS, Alignment


class PairwiseAligner(MaxMarginEstimator):
    """Alignments of pairs of sequences, with weights of matches and gaps learnt from aligned pairs.

        ½‖w‖² + C Σ c_i max_ŷ [Δ(y_i, ŷ) + w·Ψ(x_i, ŷ) − w·Ψ(x_i, y_i)]

    Each x is a pair of sequences: strings, records with annotations of their positions, or records of Biopython, as
    `Alignment` describes. Each y is a pair of aligned strings with gaps ``"-"``, or an Alignment of Biopython. `fit`
    also takes the path of an aligned FASTA file, whose records 1 and 2, 3 and 4, … are pairs.

    Parameters
    ----------
    mode : {"global", "local", "semiglobal"}, default="global"
        Whether unaligned ends are gaps, are free, or are free in one sequence; see `Alignment`.
    features : {"simple", "anova2", "tensor", "window", "profile"}, default="simple"
        Features of matches (Joachims et al. 2009, section 3.2); see `Alignment`.
    loss : {"recall", "q4", "precision", "columns"}, default="recall"
        The loss of an alignment; see `Alignment`.
    tolerance : int, default=4
        Greatest shift that ``loss="q4"`` allows.
    gaps : {"affine", "linear"}, default="affine"
        Whether the first position opposite a gap has a weight of its own.
    gap_features : bool, default=False
        Whether weights of gaps depend on the position opposite the gap.
    window : int, default=3
        Greatest distance of neighbouring positions, for ``features="window"`` and ``"profile"``.
    alphabet : str, default="ACDEFGHIKLMNPQRSTVWY"
        The letters; ``"ACGT"`` for DNA.
    C : float, default=0.01
        Trade-off; the loss of each pair is between 0 and 1 (``"precision"`` may exceed 1). Features count matches, of
        which there are hundreds, so that small values are usual (benchmarks/results/p2_alignment.md).
    bound : {"margin", "slack", "ramp", "ramp-slack"}, default="margin"
        As in `StructuralSVM`; ``"ramp"`` is that of Do et al. (2008).
    prior : str, Array, dict, array-like of shape (n_weights,) or None, default=None
        Weights w₀ that the regulariser ½‖w − w₀‖² prefers. ``"log-odds"``: those of a `LogOddsAligner` of the training
        pairs. The name of a substitution matrix, such as ``"BLOSUM62"``, or an Array of Biopython (extra ``bio``): its
        scores of pairs of letters. A dict may set ``"matrix"``, which is one of these, ``"open"`` and ``"extend"`` (−11
        and −1; tuned, with log odds) and ``"scale"`` (0.1), the factor of all these scores.
    tol : float, default=1e-2
        Relative gap at which training stops.
    slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `StructuralSVM`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    gap_open_, gap_extend_ : float
        Weights of the first and of the other positions opposite a gap (with `gap_features`, for a position without
        features).

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [("ACGGT", "ACGT"), ("TTGCA", "TGCA")]
    >>> Y = [("ACGGT", "AC-GT"), ("TTGCA", "-TGCA")]
    >>> aligner = mm.PairwiseAligner(alphabet="ACGT", C=10.0).fit(X, Y)
    >>> aligner.predict([("ATGCA", "TGCA")])
    [('ATGCA', '-TGCA')]
    """

    def __init__(
        self,
        mode: str = "global",
        features: str = "simple",
        loss: str = "recall",
        *,
        tolerance: int = 4,
        gaps: str = "affine",
        gap_features: bool = False,
        window: int = 3,
        alphabet: str = AMINO_ACIDS,
        C: float = 0.01,
        bound: str = "margin",
        slack: str = "linear",
        nonnegative: Any = False,
        prior: Any = None,
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
        self.mode, self.features, self.loss, self.tolerance = mode, features, loss, tolerance
        self.gaps, self.gap_features, self.window, self.alphabet = gaps, gap_features, window, alphabet
        self.C, self.bound, self.slack, self.solver = C, bound, slack, solver
        self.tol, self.max_iter, self.max_seconds = tol, max_iter, max_seconds
        self.nonnegative, self.prior = nonnegative, prior
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    def _make_structure(self) -> Structure:
        return Alignment(
            mode=self.mode,
            features=self.features,
            gaps=self.gaps,
            gap_features=self.gap_features,
            window=self.window,
            alphabet=self.alphabet,
            cost=self.loss,
            tolerance=self.tolerance,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        try:
            self._make_structure().check_parameters()  # type: ignore[attr-defined]
        except ValueError as error:
            raise ValueError(str(error).replace("cost must be", "loss must be")) from None

    def _check_prior(self) -> None:
        check_substitution_prior(self.prior)

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences; or an aligned FASTA file, gzip or not, without Y.
        Y : sequence of pairs of str, default=None
            Their alignments.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each pair in the objective; 1 by default. Pairs of weight 0 are left out.
        y : sequence, default=None
            Another name of Y, for scikit-learn's tools.

        Returns
        -------
        self
            The fitted aligner.
        """
        return self._fit(X, either(Y, y, "Y", "y"), sample_weight)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X, Y = aligned_examples(X, Y)
        return super()._prepare(X, Y, sample_weight, groups)

    def _centre(self, data: TrainingData) -> FloatArray | None:
        return substitution_centre(self.prior, data.structure, data.examples.dim, self._log_odds(data))

    def _log_odds(self, data: TrainingData) -> LogOddsAligner | None:
        """Return the generative aligner that the prior asks for; its gaps are tuned for the score of this one."""
        settings = matrix_prior(self.prior)
        if settings is None or not is_log_odds(settings["matrix"]):
            return None
        loss = "q4" if self.loss == "q4" else "recall"
        odds = LogOddsAligner(mode=self.mode, loss=loss, tolerance=self.tolerance, alphabet=self.alphabet)
        return odds.fit(data.X, data.Y)

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        opening, extending = structure.gap_weights(weights)
        return {**super()._fitted_attributes(weights, structure), "gap_open_": opening, "gap_extend_": extending}

    # ------------------------------------------------------------------ use

    @property
    def _alignment(self) -> Alignment:
        check_is_fitted(self, "coef_")
        assert isinstance(self.structure_, Alignment)
        return self.structure_

    def predict(self, X: Any) -> list[tuple[str, str]]:
        """Return the best alignment of each pair.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences; or a FASTA file, whose gaps are ignored.

        Returns
        -------
        list of (str, str)
            Pairs of aligned strings, which spell the whole sequences in every mode.
        """
        check_is_fitted(self, "coef_")
        found: list[tuple[str, str]] = super().predict(pairs_of(X))
        return found

    def predict_alignments(self, X: Any) -> list[Any]:
        """Return the best alignment of each pair as an Alignment of Biopython (extra ``bio``).

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences.

        Returns
        -------
        list of Bio.Align.Alignment
            The alignments; in local mode, from the first to the last match.
        """
        biopython("an Alignment")
        return [alignment_of_strings(*pair, local=self.mode == "local") for pair in self.predict(X)]

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the mean recall of the predicted alignments, or their mean Q-score if ``loss="q4"``.

        Recall is the share of true matches that are predicted; the Q-score allows shifts by `tolerance` positions.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences; or an aligned FASTA file, without Y.
        Y : sequence of pairs of str, default=None
            Their true alignments.
        sample_weight : array-like of shape (n,), default=None
            Weight of each pair in the mean; 1 by default.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        float
            The score, between 0 and 1.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(*aligned_examples(X, either(Y, y, "Y", "y")))
        weights = example_weights(sample_weight, len(Y))
        Y = spelt_alignments(X, Y, self.mode)
        found = self.predict(X)
        scores = q_score(Y, found, self.tolerance) if self.loss == "q4" else alignment_recall(Y, found)
        return float(np.average(scores, weights=weights))

    def substitution_matrix(self) -> Any:
        """Return the weights of pairs of letters as a substitution matrix of Biopython (extra ``bio``).

        Returns
        -------
        Bio.Align.substitution_matrices.Array
            Rows are letters of the first sequence, columns letters of the second.
        """
        structure = self._alignment
        return matrix_of_weights(structure.substitution_weights(self.coef_), structure.alphabet)

    def biopython_aligner(self) -> Any:
        """Return a PairwiseAligner of Biopython with the learnt weights (extra ``bio``).

        The matches must have no other features than their letters, and gaps none. Biopython assumes that opening a gap
        does not score better than extending it.

        Returns
        -------
        Bio.Align.PairwiseAligner
            An aligner with the same scores.
        """
        structure, module = self._alignment, biopython("an aligner")
        if len(structure.positions_.templates) > 1 or structure.positions_.products or structure.gap_features:
            raise ValueError(
                "an aligner of Biopython has scores of pairs of letters and of gaps only: this one has more"
            )
        symbols = structure.positions_.values(RESIDUE)
        letters = "".join(symbols if len(symbols[-1]) == 1 else symbols[:-1])  # with the unknown letter, if it has one
        aligner = module.PairwiseAligner(mode="local" if self.mode == "local" else "global")
        aligner.substitution_matrix = matrix_of_weights(structure.substitution_weights(self.coef_), letters)
        aligner.open_gap_score, aligner.extend_gap_score = self.gap_open_, self.gap_extend_
        if self.mode == "semiglobal":
            aligner.end_gap_score = 0.0
        return aligner
