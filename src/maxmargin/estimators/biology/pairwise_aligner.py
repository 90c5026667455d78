"""`PairwiseAligner`: alignments of two sequences, learnt from examples."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import changed, check_flag, declared, parameter
from maxmargin._base.errors import Place, callers_level
from maxmargin._base.input import example_weights, paired_examples
from maxmargin._base.types import FloatArray, IntArray
from maxmargin.engines.shards import ShardedExamples
from maxmargin.estimators.base import MaxMarginEstimator
from maxmargin.estimators.biology.aligned_input import aligned_examples, pairs_of, spelt_alignments
from maxmargin.estimators.biology.alignment_baselines import LogOddsAligner, matched_counts
from maxmargin.estimators.biology.substitution import (
    LOG_ODDS,
    AlignmentParameters,
    IntegerScores,
    check_substitution_prior,
    is_log_odds,
    letter_scores,
    matrix_prior,
    nats_of,
    prior_scores,
    scale_of,
    substitution_centre,
)
from maxmargin.estimators.held_out import held_out_losses, keep_to_prior, mean_loss, related_folds, some_of
from maxmargin.estimators.parameters import is_auto, positive_or_auto
from maxmargin.estimators.probabilities import ProbabilisticSets
from maxmargin.estimators.training_data import TrainingData
from maxmargin.features.biology.annotated import read_pair
from maxmargin.features.biology.position_fields import RESIDUE
from maxmargin.formats.biopython import alignment_of_strings, biopython, matrix_of_weights, matrix_values
from maxmargin.formats.matrices import write_substitution_matrix
from maxmargin.metrics.alignments import q_score
from maxmargin.structures.alignment.structure import Alignment
from maxmargin.training.run import seed_of

#: Scales of log odds to choose from: the margin is 1, and the scores of two alignments differ by tens or hundreds.
SCALES = (0.01, 0.02, 0.04)
#: Number of held-out folds, and the numbers of pairs from which and up to which there are any.
N_FOLDS, LEAST_HELD_OUT, MOST_HELD_OUT = 3, 20, 300
#: What may help where pairs teach less than the prior knows.
REMEDY = "more pairs, annotations of positions or other features may help"
#: A value that is chosen from the training pairs.
AUTO = "auto"


@declared
class PairwiseAligner(AlignmentParameters, ProbabilisticSets, MaxMarginEstimator):
    """Alignments of pairs of sequences, with weights of matches and gaps learnt from aligned pairs.

        ½‖w‖² + C Σ c_i max_ŷ [Δ(y_i, ŷ) + w·Ψ(x_i, ŷ) − w·Ψ(x_i, y_i)]

    Each x is a pair of sequences: strings, records with annotations of their positions, or records of Biopython, as
    `Alignment` describes. Each y is a pair of aligned strings with gaps ``"-"``, or an Alignment of Biopython. `fit`
    also takes the path of an aligned FASTA file, whose records 1 and 2, 3 and 4, … are pairs.

    By default the regulariser prefers log odds of the training pairs, and the ramp of the loss is minimised (Do et al.
    2008): true alignments that no scores can explain would dominate the convex bound. The scale of the log odds and C
    are chosen together, by the loss on held-out folds. If no choice is better there than the log odds, these are the
    model, and a warning says so.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        All weights; `feature_names_out` names them.
    C_, prior_scale_ : float
        The trade-off, and the factor of the scores of the prior (1 if the prior is a vector or None).
    held_out_losses_ : dict of str to float
        Mean losses on held-out folds by which they were chosen, ``"prior"`` for the prior alone; empty if they were
        given, or if there were fewer than 20 pairs.
    gap_open_, gap_extend_ : float
        Weights of the first and of the other positions opposite a gap (with `gap_features`, for a position without
        features).

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [("ACGGT", "ACGT"), ("TTGCA", "TGCA")]
    >>> Y = [("ACGGT", "AC-GT"), ("TTGCA", "-TGCA")]
    >>> aligner = mm.PairwiseAligner(alphabet="ACGT").fit(X, Y)
    >>> aligner.predict([("ATGCA", "TGCA")])
    [('ATGCA', '-TGCA')]

    Read on: "Alignments" in the documentation.
    """

    mode: str = parameter(
        "Whether unaligned ends are gaps, are free, or are free in one sequence; see `Alignment`.",
        default="global",
        kind='{"global", "local", "semiglobal"}',
        kw_only=False,
    )
    features: str = parameter(
        "Features of matches (Joachims et al. 2009, section 3.2); see `Alignment`.",
        default="window",
        kind='{"simple", "anova2", "tensor", "window", "profile"}',
        kw_only=False,
    )
    loss: str = parameter(
        "The loss of an alignment; see `Alignment`.",
        default="recall",
        kind='{"recall", "q4", "precision", "columns"}',
        kw_only=False,
    )
    tolerance: int = parameter('Greatest shift that ``loss="q4"`` allows.', default=4)
    core: bool = parameter(
        "Whether loss and `score` count the matches of reliable columns only (core blocks): those without a "
        'lower-case letter in y, or those that a third string of y marks with ``"*"``.',
        check_flag,
        default=False,
    )
    gaps: str = parameter(
        "Whether the first position opposite a gap has a weight of its own.",
        default="affine",
        kind='{"affine", "linear"}',
    )
    window: int = changed(default=8)
    bound: str = changed(default="ramp")
    C: Any = changed(
        'Trade-off; the loss of each pair is between 0 and 1 (``"precision"`` may exceed 1). Features count '
        'matches, of which there are hundreds, so small values are usual. ``"auto"`` is the square of the scale '
        "of the prior, with which it is chosen, and 0.01 if the prior is a vector or None.",
        positive_or_auto,
        default="auto",
        kind='float or "auto"',
    )
    prior: Any = parameter(
        'Weights w₀ that the regulariser ½‖w − w₀‖² prefers. ``"log-odds"``: those of a `LogOddsAligner` of '
        'the training pairs. The name of a substitution matrix, such as ``"BLOSUM62"``, or an Array of '
        'Biopython (extra ``bio``): its scores of pairs of letters. A dict may set ``"matrix"``, which is one '
        'of these, ``"open"`` and ``"extend"`` (−11 and −1; tuned, with log odds) and ``"scale"``, the '
        'factor of all these scores: it decides what a margin of 1 means. By default it is ``"auto"``, one of 0.01, '
        "0.02 and 0.04 times the scores as log odds, by the loss on held-out folds.",
        check_substitution_prior,
        default=LOG_ODDS,
        kind="str, Array, dict, array-like of shape (n_weights,) or None",
    )
    tol: float = changed(default=0.01)

    _structure = Alignment

    # ------------------------------------------------------------------ training

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None, resume: Any = None) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences; or an aligned FASTA file, gzip or not, without y.
        y : sequence of pairs of str, default=None
            Their alignments.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each pair in the objective; 1 by default. Pairs of weight 0 are left out.
        groups : array-like of shape (n,), default=None
            Family or fold of each pair. Pairs of one group are in the same fold when `C` or the scale of the prior are
            chosen; by default those that have a sequence in common.
        resume : str or path-like, default=None
            Checkpoint to continue from; the result is bit for bit that of an uninterrupted fit. Data and parameters
            must be those of the fit that wrote it, except for `tol`, `max_iter` and `max_seconds`.

        Returns
        -------
        self
            The fitted aligner.
        """
        return self._fit(X, y, sample_weight, groups=groups, resume=resume)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        X, Y = aligned_examples(X, Y)
        if groups is not None and len(groups) != len(X):
            raise ValueError(f"groups has {len(groups)} entries but X has {len(X)} examples")
        return super()._prepare(X, Y, sample_weight)

    def _training_data(self, X: Any, Y: Any, sample_weight: Any = None, *, groups: Any = None) -> TrainingData:
        data = super()._training_data(X, Y, sample_weight, groups=groups)
        self._choose(data, groups)
        return data

    def _choose_in_shards(self, data: TrainingData, groups: Any) -> None:
        if groups is not None and len(groups) != data.examples.n_examples:
            raise ValueError(f"groups has {len(groups)} entries but X has {data.examples.n_examples} examples")
        self._choose(data, groups)

    def _choose(self, data: TrainingData, groups: Any) -> None:
        """Set the scale of the prior and C, by the loss on held-out folds if they are not given."""
        settings, losses = matrix_prior(self.prior, AUTO), dict[str, float]()
        unit = 1.0 if settings is None else self._unit(settings, data.structure)
        scales = [unit * scale for scale in SCALES]
        if settings is not None and not is_auto(settings["scale"]):
            scales = [float(settings["scale"])]
        elif settings is None:
            scales = [1.0]
        self.prior_scale_, self.C_ = scales[len(scales) // 2], self._matching_C(scales[len(scales) // 2], unit)
        chooses = settings is not None and (len(scales) > 1 or is_auto(self.C))
        some, folds = self._folds(data, groups) if chooses else (data, [])
        if len(folds) > 1:
            candidates = [{"scale": scale, "C": self._matching_C(scale, unit)} for scale in scales]
            scale_losses, prior, _ = held_out_losses(self, some, folds, candidates)
            losses = {"prior": prior} | {
                f"scale {s:g}": float(loss) for s, loss in zip(scales, scale_losses, strict=True)
            }
            best = int(np.argmin(scale_losses))
            self.prior_scale_, self.C_ = scales[best], candidates[best]["C"]
            if scale_losses[best] > prior:
                keep_to_prior(self, "pairs", scale_losses[best], prior, REMEDY)
        self.held_out_losses_ = losses

    def _matching_C(self, scale: float, unit: float) -> float:
        """Return C for a scale of the prior."""
        if not is_auto(self.C):
            return float(self.C)
        return 0.01 if matrix_prior(self.prior, AUTO) is None else (scale / unit) ** 2

    def _unit(self, settings: dict[str, Any], structure: Any) -> float:
        """Return the factor with which the scores of the prior are log odds, in units of e."""
        if is_log_odds(settings["matrix"]):
            return 1.0
        scores = matrix_values(settings["matrix"], structure.alphabet)[:-1, :-1]
        return nats_of(scores, structure.alphabet) or 1.0 / max(float(scores.std()), 1e-12)

    def _folds(self, data: TrainingData, groups: Any) -> tuple[TrainingData, list[IntArray]]:
        """Return held-out folds of at most `MOST_HELD_OUT` pairs, and these pairs; none if there are too few pairs."""
        n = data.examples.n_examples
        if n < LEAST_HELD_OUT:
            return data, []
        chosen = np.sort(np.random.default_rng(seed_of(self.random_state)).permutation(n)[:MOST_HELD_OUT])
        some = self._fetched(data, chosen) if data.examples.elsewhere else some_of(data, chosen)
        positions = some.positions.tolist()
        if groups is None:
            used = np.searchsorted(some.encoded, some.positions).tolist()
            pairs = zip(used, positions, strict=True)
            members: list[Any] = [{s.key() for s in read_pair(some.X[i], Place("X", at))} for i, at in pairs]
        else:
            members = [[np.asarray(groups)[at].item()] for at in positions]
        return some, related_folds(members, N_FOLDS)

    @staticmethod
    def _fetched(data: TrainingData, ids: IntArray) -> TrainingData:
        """Return some pairs of examples in shards as data of this process."""
        assert isinstance(data.examples, ShardedExamples)
        X, Y = list[Any]([None] * len(ids)), list[Any]([None] * len(ids))
        for at, part in data.examples.fetch(ids):
            for k, x, y in zip(at.tolist(), *part.pairs_of_strings(), strict=True):  # type: ignore[attr-defined]
                X[k], Y[k] = x, y
        positions = data.positions[ids]
        return replace(
            data, X=X, Y=Y, examples=data.structure.encode(X, Y), weights=data.weights[ids],  # type: ignore[attr-defined]
            positions=positions, encoded=positions,
        )  # fmt: skip

    def _shorter(self) -> dict[str, Any]:
        """Return parameters of fits that only serve the choice of a prior."""
        limit = None if self.max_seconds is None else float(self.max_seconds) / (N_FOLDS * len(SCALES))
        return {"tol": max(float(self.tol), 0.03), "max_seconds": limit, "temperature": 1.0}

    def _trade_off(self) -> float:
        return float(self.C_) if is_auto(self.C) else float(self.C)

    def _centre(self, data: TrainingData) -> FloatArray | None:
        if matrix_prior(self.prior) is None:
            return substitution_centre(self.prior, data.structure, data.examples.dim)
        return self.prior_scale_ * self._unscaled_centre(data)

    def _unscaled_centre(self, data: TrainingData) -> FloatArray:
        """Return the scores of a prior that is a substitution matrix or log odds of the pairs."""
        settings = matrix_prior(self.prior, AUTO)
        assert settings is not None
        odds = self._log_odds(data) if is_log_odds(settings["matrix"]) else None
        return prior_scores(settings, data.structure, data.examples.dim, odds)

    def _log_odds(self, data: TrainingData) -> LogOddsAligner:
        """Return the generative aligner of the encoded pairs; its gaps are tuned for the score of this one."""
        loss = "q4" if self.loss == "q4" else "recall"
        odds = LogOddsAligner(
            mode=self.mode, loss=loss, tolerance=self.tolerance, alphabet=self.alphabet, symmetric=self.symmetric
        )
        if data.examples.elsewhere:
            n = data.examples.n_examples
            first = self._fetched(data, np.arange(n if odds.n_tune is None else min(n, odds.n_tune)))
            counts = matched_counts(data.examples, data.weights)
            return odds.fit_counts(data.structure, counts, first.X, first.Y, first.weights)  # type: ignore[arg-type]
        used = np.searchsorted(data.encoded, data.positions).tolist()
        return odds.fit([data.X[i] for i in used], [data.Y[i] for i in used], data.weights)

    def _finish(self, problem: Any, run: Any, state: Any, data: TrainingData) -> None:
        super()._finish(problem, run, state, data)
        self.C_ = self._trade_off()
        centre = problem.centre
        if vars(self).get("held_out_losses_") != {} or centre is None:  # compared on held-out folds, or part of that
            return
        learnt, before = (mean_loss(data.examples, w, data.weights, problem.engine) for w in (self.coef_, centre))
        if learnt > before:
            warnings.warn(
                f"the weights learnt are worse than their prior, on the training pairs: mean loss {learnt:.3f} against "
                f"{before:.3f}; choose another C or scale of the prior, or 'auto' for both",
                UserWarning,
                stacklevel=callers_level(),
            )

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
        alignments: list[tuple[str, str]] = super().predict(pairs_of(X))
        return alignments

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

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean recall of the predicted alignments, or their mean Q-score if ``loss="q4"``.

        Recall is the share of true matches that are predicted; the Q-score allows shifts by `tolerance` positions.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences; or an aligned FASTA file, without y.
        y : sequence of pairs of str, default=None
            Their true alignments.
        sample_weight : array-like of shape (n,), default=None
            Weight of each pair in the mean; 1 by default.

        Returns
        -------
        float
            The score, between 0 and 1.
        """
        check_is_fitted(self, "coef_")
        X, Y = paired_examples(*aligned_examples(X, y))
        weights = example_weights(sample_weight, len(Y))
        Y = spelt_alignments(X, Y, self.mode)
        predicted = self.predict(X)
        tolerance = self.tolerance if self.loss == "q4" else 0
        return float(np.average(q_score(Y, predicted, tolerance, core=self.core), weights=weights))

    def substitution_matrix(self) -> Any:
        """Return the weights of pairs of letters as a substitution matrix of Biopython (extra ``bio``).

        If matches have other weights besides (``features="window"``, annotations), the matrix is a part of the model
        only, and a warning says so.

        Returns
        -------
        Bio.Align.substitution_matrices.Array
            Rows are letters of the first sequence, columns letters of the second.
        """
        structure = self._alignment
        return matrix_of_weights(letter_scores(structure, self.coef_), structure.alphabet)

    def integer_scores(self, scale: Any = "half-bits") -> IntegerScores:
        """Return the weights of pairs of letters and of gaps as integers, for other programs.

        Parameters
        ----------
        scale : "half-bits" or float, default="half-bits"
            The factor of the weights before they are rounded. ``"half-bits"``: 2 λ / ln 2, where λ is that of Karlin
            and Altschul (1990) for the frequencies of amino acids in BLAST, or for equal frequencies of other letters;
            BLOSUM62 has this unit.

        Returns
        -------
        IntegerScores
            Matrix, letters, scores of gaps, and the factor.
        """
        structure = self._alignment
        scores = letter_scores(structure, self.coef_)
        factor = scale_of(scores, structure.alphabet, scale)
        letters = self._letters()
        rounded = np.rint(factor * scores[: len(letters), : len(letters)]).astype(np.int64)
        opening, extending = (round(factor * value) for value in structure.gap_weights(self.coef_))
        return IntegerScores(rounded, letters, opening, extending, factor)

    def write_matrix(self, path: Any, scale: Any = "half-bits") -> None:
        """Write the substitution matrix as integers in the format of NCBI, with scores of gaps in its comments.

        Parameters
        ----------
        path : str or path-like
            The file; ``"-"`` for standard output.
        scale : "half-bits" or float, default="half-bits"
            As in `integer_scores`.
        """
        table = self.integer_scores(scale)
        comments = [
            f"learnt by maxmargin, {self.mode} alignments; scores are weights times {table.scale:.6g}, rounded",
            f"gaps: {table.gap_open} for the first position, {table.gap_extend} for each other",
        ]
        write_substitution_matrix(path, table.matrix, table.letters, comments=comments)

    def _letters(self) -> str:
        """Return the letters, with the unknown letter if it has one."""
        symbols = self._alignment.positions_.values(RESIDUE)
        return "".join(symbols if len(symbols[-1]) == 1 else symbols[:-1])

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
        aligner = module.PairwiseAligner(mode="local" if self.mode == "local" else "global")
        aligner.substitution_matrix = matrix_of_weights(structure.substitution_weights(self.coef_), self._letters())
        aligner.open_gap_score, aligner.extend_gap_score = self.gap_open_, self.gap_extend_
        if self.mode == "semiglobal":
            aligner.end_gap_score = 0.0
        return aligner
