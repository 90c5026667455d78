"""Aligners to compare with: a substitution matrix with tuned gaps, and log odds of aligned letters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from maxmargin._checked import positive_number, whole_number
from maxmargin._input import either, example_weights, indexable, paired_examples
from maxmargin._types import FloatArray
from maxmargin.core.errors import Place
from maxmargin.encoding.aligned import strings_of_code
from maxmargin.encoding.annotated import read_pair
from maxmargin.estimators.pairwise_aligner import spelt_alignments
from maxmargin.io.formats.biopython import biopython, named_matrix
from maxmargin.metrics.alignments import alignment_recall, q_score
from maxmargin.structures.alignment._recursion import MODES
from maxmargin.structures.alignment.structure import AMINO_ACIDS, Alignment


class _TunedAligner(BaseEstimator):
    """An aligner whose scores of gaps are chosen from a grid; a subclass defines `_learn` and `_align`."""

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

    def _learn(self, X: Any, Y: list[tuple[str, str]]) -> None:
        raise NotImplementedError

    def _align(self, X: Any) -> list[tuple[str, str]]:
        raise NotImplementedError

    def fit(self, X: Any, Y: Any = None, *, y: Any = None) -> Self:
        """Learn from aligned pairs, and choose the scores of gaps that align these pairs best.

        Parameters
        ----------
        X, Y : sequence
            Pairs of sequences and their alignments, as in `PairwiseAligner`.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        self
            The fitted aligner.
        """
        self._check()
        X, Y = paired_examples(X, either(Y, y, "Y", "y"))
        Y = spelt_alignments(X, Y, self.mode)
        self._learn(X, Y)
        some = slice(None) if self.n_tune is None else slice(self.n_tune)
        best = -np.inf
        for opening, extending in product(self.opens, self.extends):
            if opening > extending:
                continue
            self.gap_open_, self.gap_extend_ = float(opening), float(extending)
            quality = float(self._quality(Y[some], self._align(X[some])).mean())
            if quality > best:
                best, chosen = quality, (self.gap_open_, self.gap_extend_)
        if best == -np.inf:
            raise ValueError("opens and extends have no pair with open ≤ extend")
        (self.gap_open_, self.gap_extend_), self.training_score_ = chosen, best
        return self

    def _quality(self, Y: Any, found: Any) -> FloatArray:
        return q_score(Y, found, self.tolerance) if self.loss == "q4" else alignment_recall(Y, found)

    def predict(self, X: Any) -> list[tuple[str, str]]:
        """Return the best alignment of each pair.

        Parameters
        ----------
        X : sequence of pairs
            Pairs of sequences.

        Returns
        -------
        list of (str, str)
            Pairs of aligned strings.
        """
        check_is_fitted(self, "gap_open_")
        return self._align(indexable(X, "X"))

    def score(self, X: Any, Y: Any = None, sample_weight: Any = None, *, y: Any = None) -> float:
        """Return the mean recall of the predicted alignments, or their mean Q-score if ``loss="q4"``.

        Parameters
        ----------
        X, Y : sequence
            Pairs of sequences and their true alignments.
        sample_weight : array-like of shape (n,), default=None
            Weight of each pair; 1 by default.
        y : sequence, default=None
            Another name of Y.

        Returns
        -------
        float
            The score, between 0 and 1.
        """
        X, Y = paired_examples(X, either(Y, y, "Y", "y"))
        weights = example_weights(sample_weight, len(Y))
        return float(np.average(self._quality(spelt_alignments(X, Y, self.mode), self.predict(X)), weights=weights))


class MatrixAligner(_TunedAligner):
    """Alignments with a substitution matrix, by Biopython (extra ``bio``); the scores of gaps are tuned.

    Parameters
    ----------
    matrix : str or Array, default="BLOSUM62"
        Name of a substitution matrix of Biopython, or an Array. Letters that the matrix lacks are read as X.
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

    def _learn(self, X: Any, Y: list[tuple[str, str]]) -> None:
        self.matrix_ = named_matrix(self.matrix)

    def _align(self, X: Any) -> list[tuple[str, str]]:
        aligner = biopython("MatrixAligner").PairwiseAligner(mode="local" if self.mode == "local" else "global")
        aligner.substitution_matrix = self.matrix_
        aligner.open_gap_score, aligner.extend_gap_score = self.gap_open_, self.gap_extend_
        if self.mode == "semiglobal":
            aligner.end_gap_score = 0.0
        return [self._aligned(aligner, x, Place("X", i)) for i, x in enumerate(X)]

    def _aligned(self, aligner: Any, x: Any, where: Place) -> tuple[str, str]:
        first, second = (sequence.text for sequence in read_pair(x, where))
        code = np.full(2 + len(first), -1, np.int32)
        code[:2] = 0
        if first and second:
            known = set(self.matrix_.alphabet)
            a, b = ("".join(c if c in known else "X" for c in text.upper()) for text in (first, second))
            for alignment in aligner.align(a, b):  # the first of the best; a local alignment may not exist
                for (i, stop), (j, _) in zip(*alignment.aligned, strict=True):
                    code[2 + i : 2 + stop] = np.arange(j, j + stop - i)
                break
        return strings_of_code(code, first, second)


class LogOddsAligner(_TunedAligner):
    """Generative alignments: log odds of aligned letters, with tuned scores of gaps.

        s(a, b) = log (P(a, b) / (P(a) P(b)))

    P(a, b) is the share of matched pairs of letters in the true alignments and P(a), P(b) those of their letters, with
    Laplace's estimates (Tsochantaridis et al. 2004, section 5.4). Annotations that are classes or numbers add their own
    log odds, as if they were independent.

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
    smoothing : float, default=1.0
        Number added to all counts.
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
    """

    def __init__(
        self,
        *,
        mode: str = "global",
        loss: str = "recall",
        tolerance: int = 4,
        alphabet: str = AMINO_ACIDS,
        smoothing: float = 1.0,
        opens: Sequence[float] = (-0.5, -1.0, -2.0, -3.0, -5.0),
        extends: Sequence[float] = (-0.05, -0.1, -0.2, -0.5, -1.0),
        n_tune: int | None = 200,
    ) -> None:
        self.mode, self.loss, self.tolerance, self.alphabet = mode, loss, tolerance, alphabet
        self.smoothing, self.opens, self.extends, self.n_tune = smoothing, opens, extends, n_tune

    def _learn(self, X: Any, Y: list[tuple[str, str]]) -> None:
        positive_number(self.smoothing, "smoothing")
        self.structure_ = Alignment(mode=self.mode, alphabet=self.alphabet).fit(X, Y)
        self.coef_ = log_odds(self.structure_, X, Y, float(self.smoothing))

    def _align(self, X: Any) -> list[tuple[str, str]]:
        w = self.coef_.copy()
        w[-2:] = self.gap_open_, self.gap_extend_
        examples = self.structure_.encode(X)
        answers = examples.empty_answers()
        examples.decode(w, np.arange(examples.n_examples), np.zeros(examples.n_examples), answers)
        self.coef_ = w
        return examples.outputs(answers)


def log_odds(structure: Alignment, X: Any, Y: Any, smoothing: float = 1.0) -> FloatArray:
    """Return weights of matches: log odds of equal fields, from counts in true alignments; 0 for gaps."""
    examples = structure.encode(X, Y)
    everyone, counts = np.arange(examples.n_examples), np.zeros(examples.dim)
    nothing = examples.empty_answers()
    for i in range(examples.n_examples):
        first = examples.code_offsets[i]
        nothing.codes[first : examples.code_offsets[i + 1]] = -1
        nothing.codes[first : first + 2] = 0
    examples.aggregate(everyone, nothing, np.ones(len(everyone)), counts)
    weights, at = np.zeros(examples.dim), 0
    for a, b in structure.positions_.templates:
        table, size = counts[at : at + a.size * b.size].reshape(a.size, b.size), a.size
        if a == b:
            known = size - 1  # the last key is unknown
            pairs = table[:known, :known] + smoothing
            joint = pairs / pairs.sum()
            odds = np.zeros((size, size))
            odds[:known, :known] = np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
            weights[at : at + size * size] = odds.ravel()
        at += a.size * b.size
    return weights
