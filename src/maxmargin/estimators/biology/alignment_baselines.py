"""Aligners to compare with: a substitution matrix with tuned gaps, and log odds of aligned letters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin._base.checks import finite_number, positive_number, whole_number
from maxmargin._base.errors import Place, error_at
from maxmargin._base.input import example_weights, paired_examples
from maxmargin._base.types import FloatArray
from maxmargin.estimators.biology.aligned_input import aligned_examples, pairs_of, spelt_alignments
from maxmargin.estimators.biology.substitution import matched_frequencies
from maxmargin.features.biology.aligned import N_ORDERS, empty_code, strings_of_code
from maxmargin.features.biology.annotated import read_pair
from maxmargin.features.biology.position_fields import RESIDUE
from maxmargin.formats.biopython import biopython, named_matrix
from maxmargin.metrics.alignments import alignment_recall, q_score
from maxmargin.structures.alignment.recursion import MODES
from maxmargin.structures.alignment.structure import AMINO_ACIDS, Alignment


class _TunedAligner(BaseEstimator, ABC):
    """An aligner whose scores of gaps are chosen from a grid."""

    mode: str
    loss: str
    tolerance: int
    opens: Sequence[float]
    extends: Sequence[float]
    n_tune: int | None

    def _check(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode must be {', '.join(map(repr, MODES))}, found {self.mode!r}")
        if self.loss not in ("recall", "q4"):
            raise ValueError(f"loss must be 'recall' or 'q4', found {self.loss!r}")
        whole_number(self.tolerance, "tolerance", 0)
        if self.n_tune is not None:
            whole_number(self.n_tune, "n_tune")
        for name in ("opens", "extends"):
            values = np.asarray(getattr(self, name))
            if values.ndim != 1 or values.dtype.kind not in "iuf" or not np.isfinite(values).all() or not len(values):
                raise ValueError(f"{name} must be a sequence of finite numbers, found {getattr(self, name)!r:.60}")

    @abstractmethod
    def _learn(self, X: Any, Y: list[tuple[str, str]], weights: FloatArray) -> None:
        """Learn the scores of matches."""

    @abstractmethod
    def _prepared(self, X: Any) -> Any:
        """Return the pairs encoded for `_align`, whatever the scores of gaps."""

    @abstractmethod
    def _align(self, prepared: Any, opening: float, extending: float) -> list[tuple[str, str]]:
        """Return the best alignments with these scores of gaps."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from aligned pairs, and choose the scores of gaps that align these pairs best.

        Parameters
        ----------
        X, y : sequence
            Pairs of sequences and their alignments, as in `PairwiseAligner`; or an aligned FASTA file, without y.
        sample_weight : array-like of shape (n,), default=None
            Weight of each pair; 1 by default.

        Returns
        -------
        self
            The fitted aligner.
        """
        self._check()
        X, Y = paired_examples(*aligned_examples(X, y))
        weights = example_weights(sample_weight, len(Y))
        Y = spelt_alignments(X, Y, self.mode)
        self._learn(X, Y, weights)
        self._tune(X, Y, weights)
        return self

    def _tune(self, X: Any, Y: list[tuple[str, str]], weights: FloatArray) -> None:
        """Choose the scores of gaps that align the first pairs best."""
        pairs = [(float(a), float(b)) for a, b in product(self.opens, self.extends) if a <= b]
        if not pairs:
            raise ValueError("opens and extends have no pair with open ≤ extend")
        some = slice(None) if self.n_tune is None else slice(self.n_tune)
        prepared = self._prepared(X[some])
        qualities = [self._quality(Y[some], self._align(prepared, *pair)) for pair in pairs]
        scores = [float(np.average(quality, weights=weights[some])) for quality in qualities]
        best = int(np.argmax(scores))
        (self.gap_open_, self.gap_extend_), self.training_score_ = pairs[best], scores[best]
        self._finish()

    def _finish(self) -> None:
        """Set what follows from the scores of gaps; by default nothing."""

    def _quality(self, Y: Any, aligned: Any) -> FloatArray:
        return q_score(Y, aligned, self.tolerance) if self.loss == "q4" else alignment_recall(Y, aligned)

    def predict(self, X: Any) -> list[tuple[str, str]]:
        """Return the best alignment of each pair.

        Parameters
        ----------
        X : sequence of pairs, str or path-like
            Pairs of sequences; or a FASTA file.

        Returns
        -------
        list of (str, str)
            Pairs of aligned strings.
        """
        check_is_fitted(self, "gap_open_")
        return self._align(self._prepared(pairs_of(X)), self.gap_open_, self.gap_extend_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the mean recall of the predicted alignments, or their mean Q-score if ``loss="q4"``.

        Parameters
        ----------
        X, y : sequence
            Pairs of sequences and their true alignments; or an aligned FASTA file, without y.
        sample_weight : array-like of shape (n,), default=None
            Weight of each pair; 1 by default.

        Returns
        -------
        float
            The score, between 0 and 1.
        """
        X, Y = paired_examples(*aligned_examples(X, y))
        weights = example_weights(sample_weight, len(Y))
        return float(np.average(self._quality(spelt_alignments(X, Y, self.mode), self.predict(X)), weights=weights))


class MatrixAligner(_TunedAligner):
    """Alignments with a substitution matrix, by Biopython (extra ``bio``); the scores of gaps are tuned.

    Parameters
    ----------
    matrix : str or Array, default="BLOSUM62"
        Name of a substitution matrix of Biopython, or an Array. Letters that the matrix lacks are read as X, or as N if
        it has no X.
    mode : {"global", "local", "semiglobal"}, default="global"
        Kind of alignments.
    loss : {"recall", "q4"}, default="recall"
        What the scores of gaps are chosen for, and what `score` returns.
    tolerance : int, default=4
        Greatest shift, with ``loss="q4"``.
    opens, extends : sequences of float
        Scores of the first and of the other positions opposite a gap, to choose from; pairs with open > extend are
        left out.
    n_tune : int or None, default=200
        Number of pairs, the first ones, on which they are chosen; None for all.

    Attributes
    ----------
    gap_open_, gap_extend_ : float
        The scores chosen.
    training_score_ : float
        Their score on the pairs they were chosen on.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X = [("HEAGAWGHEE", "PAWHEAE"), ("MKVLAT", "MKLAT")]
    >>> Y = [("HEAGAWGHE-E", "---PAW-HEAE"), ("MKVLAT", "MK-LAT")]
    >>> aligner = mm.MatrixAligner(opens=(-6.0, -9.0), extends=(-1.0,)).fit(X, Y)
    >>> aligner.predict([("MKVLATW", "MKLATW")])
    [('MKVLATW', 'MK-LATW')]

    Read on: "Alignments" in the documentation.
    """

    def __init__(
        self,
        *,
        matrix: Any = "BLOSUM62",
        mode: str = "global",
        loss: str = "recall",
        tolerance: int = 4,
        opens: Sequence[float] = (-6.0, -9.0, -12.0, -15.0),
        extends: Sequence[float] = (-0.5, -1.0, -2.0, -3.0),
        n_tune: int | None = 200,
    ) -> None:
        self.matrix, self.mode, self.loss, self.tolerance = matrix, mode, loss, tolerance
        self.opens, self.extends, self.n_tune = opens, extends, n_tune

    def _learn(self, X: Any, Y: list[tuple[str, str]], weights: FloatArray) -> None:
        self.matrix_ = named_matrix(self.matrix)

    def _prepared(self, X: Any) -> list[tuple[tuple[str, str], tuple[str, str]]]:
        """Return the letters of each pair, and the same as letters of the matrix."""
        prepared = []
        for i, x in enumerate(X):
            first, second = (sequence.text for sequence in read_pair(x, Place("X", i)))
            prepared.append(((first, second), (self._known(first, i), self._known(second, i))))
        return prepared

    def _known(self, text: str, i: int) -> str:
        known = set(self.matrix_.alphabet)
        other = next((letter for letter in "XN" if letter in known), None)
        for letter in text.upper():
            if letter not in known and other is None:
                raise error_at(Place("X", i), f"the substitution matrix has no letter {letter!r}, nor X or N")
        return "".join(letter if letter in known else str(other) for letter in text.upper())

    def _align(self, prepared: Any, opening: float, extending: float) -> list[tuple[str, str]]:
        aligner = biopython("MatrixAligner").PairwiseAligner(mode="local" if self.mode == "local" else "global")
        aligner.substitution_matrix = self.matrix_
        aligner.open_gap_score, aligner.extend_gap_score = opening, extending
        if self.mode == "semiglobal":
            aligner.end_gap_score = 0.0
        return [_aligned(aligner, *pair) for pair in prepared]


def _aligned(aligner: Any, texts: tuple[str, str], known: tuple[str, str]) -> tuple[str, str]:
    """Return the first of the best alignments; of a local alignment that does not exist, no matches."""
    code = empty_code(len(texts[0]))
    if all(known):
        for alignment in aligner.align(*known):
            for (i, stop), (j, _) in zip(*alignment.aligned, strict=True):
                code[N_ORDERS + i : N_ORDERS + stop] = np.arange(j, j + stop - i)
            break
    return strings_of_code(code, *texts)


class LogOddsAligner(_TunedAligner):
    """Generative alignments: log odds of aligned letters, with tuned scores of gaps.

        s(a, b) = log (P(a, b) / (P(a) P(b)))

    P(a, b) is the share of matched pairs of letters in the true alignments and P(a), P(b) those of their letters, with
    Laplace's estimates (Tsochantaridis et al. 2004, section 5.4). For amino acids the estimates begin with the
    frequencies of BLOSUM62 (Henikoff and Henikoff 1992) in place of equal ones, so a few pairs are enough. Annotations
    that are classes or numbers add their own log odds, as if they were independent.

    Parameters
    ----------
    mode : {"global", "local", "semiglobal"}, default="global"
        Kind of alignments.
    loss : {"recall", "q4"}, default="recall"
        What the scores of gaps are chosen for, and what `score` returns.
    tolerance : int, default=4
        Greatest shift, with ``loss="q4"``.
    alphabet : str, default="ACDEFGHIKLMNPQRSTVWY"
        The letters.
    symmetric : bool or "auto", default="auto"
        Whether s(a, b) = s(b, a), by the mean of the counts of both; see `Alignment`.
    smoothing : float, default=1.0
        Number added to all counts.
    background : float, default=1000.0
        Number of matches whose letters have the frequencies of BLOSUM62, added to those of the training pairs if the
        alphabet consists of the amino acids; 0 for none.
    opens, extends : sequences of float
        Scores of the first and of the other positions opposite a gap, to choose from; pairs with open > extend are
        left out.
    n_tune : int or None, default=200
        Number of pairs, the first ones, on which they are chosen; None for all.

    Attributes
    ----------
    coef_ : ndarray of shape (n_weights,)
        Weights of the structure `structure_`, an `Alignment`.
    gap_open_, gap_extend_, training_score_ : float
        As in `MatrixAligner`.

    Examples
    --------
    >>> import maxmargin as mm
    >>> X, Y = mm.datasets.toy.alignments()
    >>> aligner = mm.LogOddsAligner(alphabet="ACGT").fit(X, Y)
    >>> aligner.predict([("ACGTTGCA", "ACGTGCA")])
    [('ACGTTGCA', 'ACG-TGCA')]

    Read on: "Alignments" in the documentation.
    """

    def __init__(
        self,
        *,
        mode: str = "global",
        loss: str = "recall",
        tolerance: int = 4,
        alphabet: str = AMINO_ACIDS,
        symmetric: Any = "auto",
        smoothing: float = 1.0,
        background: float = 1000.0,
        opens: Sequence[float] = (-0.5, -1.0, -2.0, -3.0, -5.0),
        extends: Sequence[float] = (-0.05, -0.1, -0.2, -0.5, -1.0),
        n_tune: int | None = 200,
    ) -> None:
        self.mode, self.loss, self.tolerance, self.alphabet = mode, loss, tolerance, alphabet
        self.symmetric, self.smoothing, self.opens, self.extends = symmetric, smoothing, opens, extends
        self.n_tune, self.background = n_tune, background

    def _learn(self, X: Any, Y: list[tuple[str, str]], weights: FloatArray) -> None:
        positive_number(self.smoothing, "smoothing")
        finite_number(self.background, "background")
        self.structure_ = self._fitted_structure(X, Y)
        self.coef_ = log_odds(self.structure_, X, Y, float(self.smoothing), float(self.background), weights)

    def _fitted_structure(self, X: Any, Y: list[tuple[str, str]]) -> Alignment:
        return Alignment(mode=self.mode, alphabet=self.alphabet, symmetric=self.symmetric).fit(X, Y)

    def fit_counts(
        self, of: Alignment, counts: FloatArray, X: Any, y: list[tuple[str, str]], sample_weight: FloatArray
    ) -> Self:
        """Learn from the counts of aligned letters of many pairs, and choose the scores of gaps by the first pairs.

        Parameters
        ----------
        of : Alignment
            A structure of these pairs, without annotations.
        counts : ndarray
            Its `matched_counts`.
        X, y : sequence
            The first `n_tune` pairs, without annotations, and their alignments.
        sample_weight : ndarray
            Their weights.

        Returns
        -------
        self
            The fitted aligner, as `fit` returns it for all pairs.
        """
        self._check()
        y = spelt_alignments(X, y, self.mode)
        self.structure_ = self._fitted_structure(X, y)
        ((letters, numbers),) = self.structure_.positions_.template_weights().items()
        own = np.zeros(int(self.structure_.size or 0))
        own[numbers] = counts[of.positions_.template_weights()[letters]]
        self.coef_ = odds_of_counts(self.structure_, own, float(self.smoothing), float(self.background))
        self._tune(X, y, sample_weight)
        return self

    def _finish(self) -> None:
        self.coef_[-2:] = self.gap_open_, self.gap_extend_

    def _prepared(self, X: Any) -> Any:
        return self.structure_.encode(X)

    def _align(self, prepared: Any, opening: float, extending: float) -> list[tuple[str, str]]:
        w, answers = self.coef_.copy(), prepared.empty_answers()
        w[-2:] = opening, extending
        prepared.decode(w, np.arange(prepared.n_examples), np.zeros(prepared.n_examples), answers)
        aligned: list[tuple[str, str]] = prepared.outputs(answers)
        return aligned


def log_odds(
    structure: Alignment, X: Any, Y: Any, smoothing: float = 1.0, background: float = 0.0, sample_weight: Any = None
) -> FloatArray:
    """Return weights of matches: log odds of equal fields, from counts in true alignments; 0 for gaps."""
    counts = matched_counts(structure.encode(X, Y), example_weights(sample_weight, len(X)))
    return odds_of_counts(structure, counts, smoothing, background)


def matched_counts(examples: Any, weights: FloatArray) -> FloatArray:
    """Return the sum over all pairs of weights times the features of the matches in the true alignment."""
    counts, nothing = np.zeros(examples.dim), examples.empty_answers()
    lengths = np.diff(examples.code_offsets) - N_ORDERS
    nothing.codes[:] = np.concatenate([empty_code(n) for n in lengths.tolist()])
    examples.aggregate(np.arange(examples.n_examples), nothing, weights, counts)
    return counts


def odds_of_counts(structure: Alignment, counts: FloatArray, smoothing: float, background: float) -> FloatArray:
    """Return weights of matches: log odds of equal fields, from their counts; 0 for gaps."""
    weights = np.zeros(len(counts))
    for (a, b), numbers in structure.positions_.template_weights().items():
        if a == b and a.size > 1:
            known = numbers[:-1, :-1]  # the last key is unknown
            pairs = counts[known]
            if structure.positions_.symmetric:  # off the diagonal, both orders have been counted
                pairs = 0.5 * (pairs + np.diag(np.diag(pairs)))
            expected = matched_frequencies(structure.alphabet) if a.parts == ((RESIDUE, 0),) else None
            pairs = pairs + (smoothing if expected is None or not background else background * expected)
            shares = pairs / pairs.sum()
            weights[known] = np.log(shares / np.outer(shares.sum(axis=1), shares.sum(axis=0)))
    return weights
