"""`MotifFinder`: classification of strings by a motif, and the position of the motif."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from maxmargin._input import check_labels_of_one_kind, indexable
from maxmargin._types import AnyArray, CodeArray, FloatArray, IntArray
from maxmargin.core.problem import Problem
from maxmargin.core.structure import Structure
from maxmargin.encoding.labels import named_classes
from maxmargin.estimators._warnings import warn_of_unknown_labels
from maxmargin.estimators.latent import LatentEstimator
from maxmargin.solvers.base import State
from maxmargin.structures.motif.structure import Motif, MotifSite
from maxmargin.structures.motif.words import start_from_word
from maxmargin.training.run import Run

_STARTS = ("words", "random")
#: Position in sequences of weight 0, which are not read.
_LEFT_OUT = -1


class MotifFinder(ClassifierMixin, LatentEstimator):
    """Classifier of strings by a motif that those of one class contain (Yu and Joachims 2009, section 5.1).

    A site at h scores Σ_j w_j[x_{h+j}] minus the background's weights in its window (a Markov model of order k); a
    sequence is positive if its best site scores above 0. The sites of the training sequences are latent:

        ½‖w‖² + C Σ c_i (max_{ŷ,ĥ} [w·Ψ(x_i, ŷ, ĥ) + [ŷ ≠ y_i]] − max_h w·Ψ(x_i, y_i, h))

    Parameters
    ----------
    length : int, default=11
        Length l of the motif.
    background_order : int, default=3
        Order k of the Markov background. 3 is that of Yu and Joachims; cross-validation on yeast's replication origins
        chose 0 in every fold (benchmarks/results/p5_motifs.md).
    alphabet : str, default="ACGT"
        The characters; lower case is read as upper case. For RNA use ``"ACGU"``. N in DNA and RNA, and X in proteins,
        stand for an unknown character: it scores 0 in the motif and in the background, and the k characters after it
        have no full context. A string with any other character is an error.
    both_strands : bool, default=False
        Whether the motif may also be on the other strand of DNA or RNA, read as the reverse complement.
    classes : list or None, default=None
        The negative and the positive label, in this order. None for those of the data, the greater one positive: 1 for
        0 and 1, and the last in sorted order for strings. With the labels "with" and "without", the finder would search
        for a motif of the strings "without": pass ``positive_label="with"``.
    positive_label : label or None, default=None
        The label of strings that contain the motif; the other label is negative. None for the last of `classes`.
    C : float, default=0.1
        Trade-off. The default is from yeast's replication origins, where errors from 0.1 to 1 differ by less than the
        folds do; it was chosen with those errors in view and not tested on other data. Choose it by cross-validation.
    start : {"words", "random"}, default="words"
        ``"words"``: run r starts at the r-th of the words that separate the classes best, which finds a motif in
        yeast's replication origins. ``"random"``: at random positions, as Yu and Joachims do; most such runs end
        without a motif in any sequence. It needs short sequences and a strong motif.
    n_restarts : int, default=5
        Number of runs, of which the one with the best objective is kept. Five cover the neighbours of the best word: a
        run hardly ever moves a motif along the sequence, and the best word may be off its middle.
    bound : {"margin", "ramp"}, default="margin"
        As in `LatentStructuralSVM`.
    max_outer : int, default=100
        Greatest number of outer steps.
    tol : float, default=1e-2
        Tolerance of the inner gap and the outer decrease, both relative. On parts of the yeast data 0.001 predicted no
        better than 0.01, at twice the time.
    slack, nonnegative, solver, max_iter, max_seconds, n_jobs, random_state, warm_start, verbose, callbacks, \
    checkpoint, checkpoint_every : optional
        As in `LatentStructuralSVM`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The negative and the positive label.
    motif_ : ndarray of shape (l, A)
        Matrix like log odds: what a character at a position adds to the score of a site, minus its mean background.
    consensus_ : str
        The character of greatest weight at each position.
    positions_ : ndarray of shape (n,)
        First position of the best site of each training sequence; −1 for sequences of weight 0, which are not read.
    coef_ : ndarray of shape (n_weights,)
        All weights (`feature_names_out`), those of the motif first.
    history_, certificate_, stop_reason_ : object
        As in `LatentStructuralSVM`, of the best run.

    Examples
    --------
    >>> import numpy as np
    >>> import maxmargin as mm
    >>> rng = np.random.default_rng(0)
    >>> without = ["".join(rng.choice(list("ACGT"), 20)) for _ in range(30)]
    >>> holding = [x[:h] + "TTGACC" + x[h + 6 :] for x, h in zip(without, rng.integers(0, 15, 30))]
    >>> finder = mm.MotifFinder(length=6, background_order=0).fit(without + holding, [0] * 30 + [1] * 30)
    >>> finder.consensus_
    'TTGACC'
    >>> finder.predict(["ACATTGACCGA", "ACAGGTCTAGA"])
    array([1, 0])
    >>> finder.sites(["ACATTGACCGA"])
    [MotifSite(label=1, position=3, strand='+')]
    """

    def __init__(
        self,
        *,
        length: int = 11,
        background_order: int = 3,
        alphabet: str = "ACGT",
        both_strands: bool = False,
        classes: Any = None,
        positive_label: Any = None,
        C: float = 0.1,
        start: str = "words",
        n_restarts: int = 5,
        bound: str = "margin",
        max_outer: int = 100,
        slack: str = "linear",
        nonnegative: Any = False,
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
        self.length, self.background_order, self.alphabet = length, background_order, alphabet
        self.both_strands, self.classes, self.positive_label = both_strands, classes, positive_label
        self.C, self.start, self.n_restarts, self.bound, self.max_outer = C, start, n_restarts, bound, max_outer
        self.slack, self.solver, self.tol, self.max_iter, self.max_seconds = slack, solver, tol, max_iter, max_seconds
        self.nonnegative = nonnegative
        self.n_jobs, self.random_state, self.warm_start, self.verbose = n_jobs, random_state, warm_start, verbose
        self.callbacks, self.checkpoint, self.checkpoint_every = callbacks, checkpoint, checkpoint_every

    # ------------------------------------------------------------------ fit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.start not in _STARTS:
            raise ValueError(f"start must be {' or '.join(map(repr, _STARTS))}, found {self.start!r}")

    def _make_structure(self) -> Structure:
        return Motif(
            length=self.length,
            background_order=self.background_order,
            alphabet=self.alphabet,
            both_strands=self.both_strands,
            classes=self.classes_.tolist(),
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # type: ignore[override]
        """Learn from strings with one of two labels each.

        Sequences that are only presumed to have no motif can be passed as negative ones of small `sample_weight`: they
        determine the background (Yu and Joachims give 6,460 of them a weight of 1/50 each).

        Parameters
        ----------
        X : sequence of str
            Sequences; also `Seq` and `SeqRecord` of Biopython.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            c_i ≥ 0 of each sequence; 1 by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, sample_weight)

    def _prepare(self, X: Any, Y: Any, sample_weight: Any, groups: Any = None) -> tuple[Any, Any, FloatArray, IntArray]:
        named = None if self.classes is None else named_classes(self.classes).array()
        check_labels_of_one_kind(Y)
        y = column_or_1d(Y)
        check_classification_targets(y)
        self.positions_ = np.full(len(y), _LEFT_OUT)
        X, y, weights, positions = super()._prepare(X, y, sample_weight, groups)
        found = np.unique(y)
        if len(found) == 1:
            only = found.tolist()[0]
            raise ValueError(f"y has one class only, {only!r}: expected sequences with and without the motif")
        self.classes_ = self._with_positive_last(found if named is None else named)
        return X, y.tolist(), weights, positions

    def _with_positive_last(self, classes: AnyArray) -> AnyArray:
        """Return the classes with `positive_label` last."""
        if self.positive_label is None:
            return classes
        values = classes.tolist()
        if self.positive_label not in values:
            raise ValueError(f"positive_label must be one of the labels {values!r:.60}, found {self.positive_label!r}")
        if self.classes is not None and values[-1] != self.positive_label:
            raise ValueError(
                f"positive_label={self.positive_label!r} contradicts classes={self.classes!r:.60}, whose last label is "
                f"the positive one: pass one of the two"
            )
        positive = classes == self.positive_label
        return np.concatenate([classes[~positive], classes[positive]])

    def _first_weights(self, problem: Problem, restart: int) -> FloatArray | None:
        if self.start == "random":
            return None
        examples: Any = problem.examples
        return start_from_word(examples, problem.objective.weights, restart)

    def _train(
        self, problem: Problem, run: Run, start: FloatArray | None = None, resume: Any = None, state: Any = None
    ) -> State:
        found = super()._train(problem, run, start, resume, state)
        examples: Any = problem.examples
        codes, _, _ = examples.best_sites(found.best_w, np.arange(examples.n_examples))
        self.positions_ = self.positions_.copy()  # the models of a path start with the same array
        self.positions_[problem.positions] = codes // examples.structure.n_strands_
        return found

    def _fitted_attributes(self, weights: FloatArray, structure: Any) -> dict[str, Any]:
        motif = structure.motif(weights)
        consensus = "".join(structure.alphabet[a] for a in motif.argmax(axis=1))
        return {**super()._fitted_attributes(weights, structure), "motif_": motif, "consensus_": consensus}

    # ------------------------------------------------------------------ use

    @property
    def _motif(self) -> Motif:
        assert isinstance(self.structure_, Motif)
        return self.structure_

    def _best_sites(self, X: Any) -> tuple[CodeArray, FloatArray]:
        """Return the code of the best site of each sequence, and its score above no motif."""
        check_is_fitted(self, "coef_")
        X = indexable(X, "X")
        codes, scores, _ = self._motif.encode(X).best_sites(self.coef_, np.arange(len(X)))
        return codes, scores

    def decision_function(self, X: Any) -> FloatArray:
        """Return the score of the best site of each sequence.

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        ndarray of shape (n,)
            Scores, above 0 for the positive class.
        """
        return self._best_sites(X)[1]

    def predict(self, X: Any) -> AnyArray:
        """Return the label of each sequence.

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        ndarray of shape (n,)
            Labels.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def sites(self, X: Any) -> list[MotifSite]:
        """Return the best site of each sequence, also of sequences that are predicted to be negative.

        Parameters
        ----------
        X : sequence of str
            Sequences.

        Returns
        -------
        list of MotifSite
            Label, position and strand.
        """
        codes, scores = self._best_sites(X)
        negative, positive = self._motif.labels_.values
        sites = map(self._motif.site, codes.tolist())
        return [site._replace(label=positive if s > 0 else negative) for site, s in zip(sites, scores, strict=True)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # type: ignore[override]
        """Return the fraction of correct labels; a label that is not a class is a wrong prediction.

        Parameters
        ----------
        X : sequence of str
            Sequences.
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), default=None
            Weight of each sequence.

        Returns
        -------
        float
            The accuracy.
        """
        check_is_fitted(self, "coef_")
        labels = self._motif.labels_
        if not (labels.find(column_or_1d(y)) >= 0).any():
            warn_of_unknown_labels(labels)
        return float(ClassifierMixin.score(self, X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags
